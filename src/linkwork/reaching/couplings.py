"""The couplings that a search has to keep: those with a joint on the way to a target, and what these bring in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.loops.system import CoupledJoint, coupled_joints, largest_coefficient
from linkwork.model.model import Model
from linkwork.reaching import arrays as at

CLOSED = 1e-13  # [rad or m, of the sum] up to which coordinates are brought to keep couplings
KEPT = 1e-9  # [rad or m, of the sum] from which on a coupling is not kept
ROUNDS = 20  # of bringing them there within limits


class Kept(NamedTuple):
    """Σ c q = d of p couplings over the m coordinates they are on; over the largest coefficient of each."""

    joints: list[CoupledJoint]  # numbered by their coupling among the p
    freedoms: IntArray  # (m,)
    places: IntArray  # (m,) in q
    C: FloatArray  # (p, m)
    d: FloatArray  # (p,)

    def gap(self, q: FloatArray) -> float:
        return float(np.abs(self.C @ q[self.places] - self.d).max(initial=0.0))

    def close(self, q: FloatArray, arrays: at.Reaching) -> FloatArray | None:
        """q with the couplings kept within limits, by least motion; None where it is not found."""
        low, high = arrays.lower[self.freedoms], arrays.upper[self.freedoms]
        weight = 1.0 / arrays.dof[self.freedoms, at.METRIC]
        x = np.clip(q[self.places], low, high)
        for _ in range(ROUNDS):
            missed = self.C @ x - self.d
            if np.abs(missed).max(initial=0.0) <= CLOSED * (1.0 + np.abs(x).max(initial=0.0)):
                out = q.copy()
                out[self.places] = x
                return out
            back = self.C.T @ np.linalg.lstsq((self.C * weight) @ self.C.T, missed, rcond=1e-12)[0]
            held = ((x <= low) & (back > 0.0)) | ((x >= high) & (back < 0.0))
            free = np.where(held, 0.0, weight)
            back = free * (self.C.T @ np.linalg.lstsq((self.C * free) @ self.C.T, missed, rcond=1e-12)[0])
            x = np.clip(x - back, low, high)
        return None


def coupled_bodies(model: Model, bodies: IntArray) -> IntArray:
    """Bodies on the joints of couplings that have one on the way to some bodies, and those of what these bring in."""
    joints = coupled_joints(model)
    found: set[int] = set()
    while True:
        on_path = set(at.find_paths(model, np.union1d(bodies, np.array(sorted(found), np.int64))).path.tolist())
        chosen = {one.coupling for one in joints if one.bodies[1] in on_path}
        new = {one.bodies[1] for one in joints if one.coupling in chosen}
        if new <= found:
            return np.array(sorted(found), dtype=np.int64)
        found |= new


def kept_couplings(model: Model, bodies: IntArray) -> Kept:
    """The couplings whose joints carry these bodies."""
    chosen = sorted({one.coupling for one in coupled_joints(model) if one.bodies[1] in set(bodies.tolist())})
    joints = [
        one._replace(coupling=chosen.index(one.coupling)) for one in coupled_joints(model) if one.coupling in chosen
    ]
    freedoms = np.unique(np.array([one.freedom for one in joints], dtype=np.int64))
    place_of = {one.freedom: one.place for one in joints}
    C = np.zeros((len(chosen), freedoms.size))
    for one in joints:
        C[one.coupling, np.searchsorted(freedoms, one.freedom)] += one.coefficient
    d = np.array([model.couplings[k].offset / largest_coefficient(model.couplings[k]) for k in chosen])
    places = np.array([place_of[j] for j in freedoms.tolist()], dtype=np.int64)
    return Kept(joints, freedoms, places, C, d)


def share_limits(kept: Kept, lower: FloatArray, upper: FloatArray) -> None:
    """Of joints that couplings tie in pairs each gets the limits of the other as well; in place."""
    for row, d in zip(kept.C, kept.d.tolist(), strict=True):
        pair = np.flatnonzero(row)
        if pair.size != 2:
            continue
        for mine, its in (pair, pair[::-1]):
            i, j = kept.freedoms[[mine, its]].tolist()
            ends = sorted(((d - row[its] * x) / row[mine]) for x in (float(lower[j]), float(upper[j])))
            low, high = max(float(lower[i]), ends[0]), min(float(upper[i]), ends[1])
            if low <= high:
                lower[i], upper[i] = low, high


def coupling_arrays(kept: Kept, nv: int) -> tuple[NDArray[np.generic], ...]:
    """The last arrays of `Reaching`."""
    p = kept.d.size
    order = sorted(kept.joints, key=lambda one: one.coupling)
    first = np.searchsorted([one.coupling for one in order], np.arange(p + 1)).astype(np.int64)
    return (
        first,
        np.array([one.freedom for one in order], dtype=np.int64),
        np.array([one.place for one in order], dtype=np.int64),
        np.array([one.coefficient for one in order], dtype=np.float64),
        kept.d.copy(),
        np.zeros((p + 1, nv if p else 0)),
        np.zeros((p, p)),
        np.zeros(p),
        np.zeros(p),
        np.zeros(p),
        np.zeros(p),
        np.zeros(p, dtype=np.int64),
        np.zeros(p),
        np.zeros((p, p)),
        np.zeros(1, dtype=np.int64),
    )


NOTHING_KEPT = Kept([], np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros(0))
