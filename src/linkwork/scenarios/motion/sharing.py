"""How two feet share the reaction of the ground, which inverse dynamics gives only in sum.

With both feet down the problem is indeterminate. The split here is smooth in place and time, so that no joint effort jumps
when a foot lands or leaves:

    c_k   contact of foot k, from 1 (low and slow) to 0 (high or fast), smoothed over 20 ms
    a_k   the point of foot k, from heel to tip, nearest to the centre of pressure P of the whole reaction
    d_k   the distance from there to P
    s_k   ~ c_k / d_k                                                        the share, in sum one
    f_k   = s_k F,    n_k = s_k N + s_k (a_k - Σ s a) × F                    wrench of foot k

(F, N) is the whole reaction. While P lies under a foot, that foot carries all; between the feet they share as a beam on
two props would, the rear foot at its tip, the front one at its heel. So a share begins and ends at zero. The last term lets
each share act at its own foot; it cancels in sum, and fades out where the ground hardly pushes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.scenarios.motion.support import Support

FloatArray = NDArray[np.float64]

DOWN, OFF = 0.1, 0.25  # [m] heights, with 0.1 s of speed added, between which a foot's contact fades from 1 to 0
BLUR = 0.02  # [s] standard deviation over which contact is smoothed: a few frames of a usual recording
NEAR = 0.01  # [m] distances below this count as none: the share of the other foot goes smoothly to zero
PUSHING = (0.05, 0.25)  # parts of the weight between which shares begin to act at their own feet


def smooth_step(x: FloatArray) -> FloatArray:
    """0 below 0, 1 above 1, with level ends between."""
    t = np.clip(x, 0.0, 1.0)
    return np.asarray(t * t * (3.0 - 2.0 * t))


def shares_of_feet(support: Support, pressure: FloatArray, frame_time: float) -> tuple[FloatArray, FloatArray]:
    """s of both feet, shape (frames, 2), summing to one, and where they act, a, shape (frames, 2, 3) [m].

    pressure: centre of pressure of the whole reaction [m], shape (frames, 3), NaN where the ground does not push.
    """
    contact = _blurred(1.0 - smooth_step((support.lift - DOWN) / (OFF - DOWN)), frame_time)
    heel, along = support.soles[:, :, 0], support.soles[:, :, 1] - support.soles[:, :, 0]
    known = np.where(np.isnan(pressure), support.soles.mean(axis=(1, 2)), pressure)[:, None]
    part = ((known - heel) * along).sum(axis=2) / np.maximum((along**2).sum(axis=2), 1e-12)
    place = heel + np.clip(part, 0.0, 1.0)[:, :, None] * along
    away = np.linalg.norm((known - place)[:, :, :2], axis=2)
    away = away * away / (away + NEAR)  # level at zero, so that shares end without a kink
    weight = contact * (away[:, ::-1] + 1e-9)
    lost = contact.sum(axis=1) < 1e-3  # nobody is down: the nearer foot, so that what is left of a reaction has a place
    weight[lost] = away[lost, ::-1] + 1e-9
    return weight / weight.sum(axis=1, keepdims=True), place


def _blurred(values: FloatArray, frame_time: float) -> FloatArray:
    """Each column smoothed by a Gauss curve of BLUR, ends continued."""
    half = max(1, round(3.0 * BLUR / frame_time))
    kernel = np.exp(-0.5 * (np.arange(-half, half + 1) * frame_time / BLUR) ** 2)
    padded = np.pad(values, ((half, half), (0, 0)), mode="edge")
    columns = [np.convolve(column, kernel / kernel.sum(), mode="valid") for column in padded.T]
    return np.stack(columns, axis=1)


def split_wrench(
    share: FloatArray, place: FloatArray, moment: FloatArray, force: FloatArray, weight: float
) -> FloatArray:
    """Wrenches [n; f] of both feet about the world's origin, shape (2, 6), whose sum is (moment, force).

    share: (2,); place: of the feet on the ground, shape (2, 3) [m]; weight: of the figure [N].
    """
    low, high = PUSHING
    fade = float(smooth_step(np.array((force[2] / weight - low) / (high - low))))
    middle = share @ place
    own = [fade * s * np.cross(a - middle, force) for s, a in zip(share, place, strict=True)]
    return np.array([np.concatenate([s * moment + extra, s * force]) for s, extra in zip(share, own, strict=True)])
