"""How many digits an algorithm has left: measured where a model gives reason to ask, and what to do about it.

`aba` and `dense` magnify roundings by the inertia a joint meets before cancellation over what is left of it (LOSS).
`dca` and `virtual_work` begin with inverse inertias, which are large numbers for points and needles and differences of
large numbers along stretches that hardly move. Models with such parts are delicate: there the accelerations are put back
into inverse dynamics, O(n), and what they miss of the efforts, relative to what the joints carry, must be small.
Theory: docs/theory/forward_dynamics.md, "Digits that are kept".
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.node_table import SOLID
from linkwork.assembly.plan import assemble_model
from linkwork.core.arrays import FloatArray
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.remembered import remembered
from linkwork.dynamics.rnea import ACCELERATION, BODY_WORK, P_, TWIST, WRENCH, Body, rnea
from linkwork.errors import LinkworkWarning, StateError
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DAMPING, DOF, HELICAL, INERTIA, KIND, PARENT, STIFFNESS, Q, V
from linkwork.model.model import Model
from linkwork.spatial.memory import load6, load10
from linkwork.spatial.rotations import dot3
from linkwork.spatial.vectors import angular, linear

EPS = float(np.finfo(float).eps)
# Effort that accelerations may miss, relative to what the joints carry: a thousand times what sound models leave (1e-13).
MISSED = 1e-10
POOR_LOSS = 1e-6 / EPS  # roundings magnified so far leave six digits
# When a model is delicate. A part of 1e-5 costs inverse inertias five digits; a mass a million times its neighbour six;
# each held joint adds one rounding of what a stretch weighs, and roundings of a dozen still stay below MISSED.
NEARLY_POINT = 1e-5
UNEQUAL = 1e6
HEAVY_ROTOR = 10.0
MANY_ROTORS = 12
TURNING, PUSHING = (Body.place[name][1].start for name in ("turning", "pushing"))  # columns of the workspace of `rnea`


def is_delicate(model: Model, merges_welds: bool = False) -> bool:
    """Whether inverse inertias of this model may lose digits; looked up once a model and thread.

    merges_welds: for an algorithm that adds the inertias of welded stretches, as divide and conquer does.
    """
    name = "delicate but for welds" if merges_welds else "delicate"
    return remembered(model, name, lambda model: _find_delicate(model, merges_welds))


def _find_delicate(model: Model, merges_welds: bool) -> bool:
    if model.n_bodies == 0:
        return False
    ten = model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]
    mass, h = ten[:, 0], ten[:, 1:4]
    if not (mass > 0.0).all() or mass.max() > UNEQUAL * mass.min():
        return True
    about_origin = ten[:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(-1, 3, 3)
    trace = np.trace(about_origin, axis1=1, axis2=2)
    outer = h[:, :, None] * h[:, None, :]
    shift = (np.trace(outer, axis1=1, axis2=2)[:, None, None] * np.eye(3) - outer) / mass[:, None, None]
    if (np.linalg.eigvalsh(about_origin - shift)[:, 0] < NEARLY_POINT * trace).any():
        return True
    kinds, dofs = model.arrays.tree[:, layout.KIND], model.arrays.tree[:, layout.DOF]
    own = np.repeat(
        np.maximum(trace, mass), dofs
    )  # in one number, metres for radians: a rough size is all that is asked
    geared = model.arrays.dof[:, layout.ARMATURE] > HEAVY_ROTOR * own
    welded = kinds == layout.FIXED
    welds = _welds_eliminated(model, welded) if merges_welds else int(welded.sum())
    return welds + int(geared.sum()) >= MANY_ROTORS


def _welds_eliminated(model: Model, welded: NDArray[np.bool_]) -> int:
    """Welds that divide and conquer eliminates as joints: those it does not merge into rigid stretches."""
    if not welded.any():
        return 0
    assembly = assemble_model(model)
    return int((assembly.nodes[assembly.joint[welded], SOLID] == 0).sum())


@kernel
def largest_miss(arrays, q, v, qdd, wrenches, work, S, effort, found):
    """Largest difference of two efforts, each relative to the sizes of what its joint carries, none of them cancelled.

    Sizes of a body: |I| (|a_λ| + |S q̈| + |a| + |g|), gyroscopic and external wrenches; they add up leaf to root. Reads and
    uses the workspace of `rnea`.
    """
    tree, body, dof, gravity = arrays.tree, arrays.body, arrays.dof, arrays.gravity
    g = np.sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2])
    for i in range(tree.shape[0]):
        own_sizes(tree, body, g, qdd, wrenches, work, S, i)
    worst = 0.0
    for i in range(tree.shape[0] - 1, -1, -1):
        turning, pushing = work[i, TURNING], work[i, PUSHING]
        j = tree[i, V]
        for d in range(tree[i, DOF]):
            w, u = freedom_sizes(tree, body, S, i, d)
            carried = w * turning + u * pushing + abs(dof[j + d, ARMATURE] * qdd[j + d]) + abs(effort[j + d])
            carried += abs(dof[j + d, DAMPING] * v[j + d])
            if tree[i, KIND] == HELICAL:
                carried += abs(dof[j, STIFFNESS] * q[tree[i, Q]])
            miss = abs(found[j + d] - effort[j + d])
            if not miss <= worst * carried:  # NaN must not pass
                worst = miss / carried if carried > 0.0 else np.inf
        parent = tree[i, PARENT]
        if parent >= 0:
            work[parent, TURNING] += turning + length3(work, i, P_) * pushing
            work[parent, PUSHING] += pushing
    return worst


@inlined
def length3(a, i, k):
    return math.sqrt(a[i, k] * a[i, k] + a[i, k + 1] * a[i, k + 1] + a[i, k + 2] * a[i, k + 2])


@inlined
def freedom_sizes(tree, body, S, i, d):
    s = helical_twist(body, i) if tree[i, KIND] == HELICAL else load6(S, tree[i, V] + d, 0)
    return math.sqrt(dot3(angular(s), angular(s))), math.sqrt(dot3(linear(s), linear(s)))


@inlined
def own_sizes(tree, body, g, qdd, wrenches, work, S, i):
    """Moment and force a body's own motion may take, as sums of sizes."""
    alpha = length3(work, i, ACCELERATION)
    beta = length3(work, i, ACCELERATION + 3) + g
    for d in range(tree[i, DOF]):
        w, u = freedom_sizes(tree, body, S, i, d)
        alpha += w * abs(qdd[tree[i, V] + d])
        beta += u * abs(qdd[tree[i, V] + d])
    parent = tree[i, PARENT]
    if parent >= 0:
        alpha += length3(work, parent, ACCELERATION)
        beta += length3(work, parent, ACCELERATION + 3) + length3(work, i, P_) * length3(work, parent, ACCELERATION)
    spin, speed = length3(work, i, TWIST), length3(work, i, TWIST + 3)
    m, x, y, z, xx, _, _, yy, _, zz = load10(body, i, INERTIA)
    h = math.sqrt(x * x + y * y + z * z)
    alpha += spin * spin
    beta += spin * speed
    work[i, TURNING] = (xx + yy + zz) * alpha + h * beta
    work[i, PUSHING] = h * alpha + m * beta
    if wrenches.shape[0] > 0:
        work[i, TURNING] += length3(wrenches, i, 0)
        work[i, PUSHING] += length3(wrenches, i, 3)


def missed_effort(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray, qdd: FloatArray
) -> float:
    """What accelerations miss of the efforts that were to cause them, relative to what the joints carry."""
    if not np.isfinite(qdd).all():
        return float("inf")
    work, S, found = np.empty((model.n_bodies, BODY_WORK)), np.zeros((model.nv, 6)), np.empty(model.nv)
    rnea(*model.arrays, q, v, qdd, wrenches, work, S, found)
    given = effort if effort.size else np.zeros(model.nv)
    return float(largest_miss(model.arrays, q, v, qdd, wrenches, work, S, given, found))


def joint_wrenches(model: Model, q: FloatArray, v: FloatArray, wrenches: FloatArray, qdd: FloatArray) -> FloatArray:
    """The wrench each joint passes to its body at given accelerations, in its frame, shape (n, 6)."""
    work, S, found = np.empty((model.n_bodies, BODY_WORK)), np.empty((model.nv, 6)), np.empty(model.nv)
    rnea(*model.arrays, q, v, qdd, wrenches, work, S, found)
    return work[:, WRENCH : WRENCH + 6].copy()


def refuse_lost_digits(
    model: Model, what: str, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray, qdd: FloatArray
) -> None:
    """For what only divide and conquer can do: accelerations of a delicate model that miss the efforts are refused."""
    if is_delicate(model, merges_welds=True):
        missed = missed_effort(model, q, v, effort, wrenches, qdd)
        if not missed <= MISSED:
            raise StateError(
                f"{what} loses digits on model '{model.name}': its accelerations miss the efforts by a part of "
                f"{missed:.0e}. Give bodies moments about all three axes, merge what is welded "
                "(compile(merge_fixed=True)), or lower armature."
            )


def warn_fallback(algorithm: str, model: Model, why: str) -> None:
    warnings.warn(
        f"{algorithm} would lose digits on model '{model.name}' ({why}); the result is that of aba. "
        "Use algorithm='aba', or give bodies moments about all three axes.",
        LinkworkWarning,
        stacklevel=5,
    )


def warn_poor(algorithm: str, model: Model, joint: int, loss: float) -> None:
    warnings.warn(
        f"{algorithm}: joint '{model.joint_names[joint]}' meets {1.0 / loss:.0e} of the inertia behind it before "
        f"cancellation; accelerations may be off by a part of {EPS * loss:.0e}. Give body '{model.body_names[joint]}' "
        "moments nearer to those of its neighbours, or its joint armature.",
        LinkworkWarning,
        stacklevel=5,
    )
