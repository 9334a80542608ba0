"""An adaptive simulation goes on from another root: same configuration, same loads, same tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dynamics.quantities.reroot import reroot
from linkwork.errors import StateError
from linkwork.model.joints import Free, Joint
from linkwork.model.rerooting.reroot import chain_of_inversion
from linkwork.model.state import State
from linkwork.spatial.pose import Pose

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


def rerooted(
    sim: QuasiStatics, body: str | int, at: ArrayLike | Pose | None, joint: Joint | None, options: dict[str, Any]
) -> QuasiStatics:
    """See `QuasiStatics.reroot`."""
    if not (sim._tree.mechanism.weight == 1.0).all():
        raise StateError(
            "metric weights belong to joints that re-rooting turns round; make a new QuasiStatics with weights."
        )
    if sim.field is not None:
        raise StateError("a field belongs to the model it was made for, and re-rooting makes another one.")
    there = reroot(sim.model, sim.state, body, at, joint, **options)
    after = type(sim)(
        there.model, there.state, tolerance=sim.tolerance, measure=sim.measure, max_active_joints=sim.max_active_joints,
        deadline=sim.deadline,
    )  # fmt: skip
    now = np.argsort(there.old_index)  # bodies keep their frames, so loads keep their numbers
    for load in sim.loads:
        after.view.loads.take_over(load, now[load.bodies], sim.view.loads)
    _carry_efforts(sim, after, body, now)
    return after


def _carry_efforts(sim: QuasiStatics, after: QuasiStatics, body: str | int, now: NDArray[np.int64]) -> None:
    """Efforts of joints between bodies, turned round where the joint was, and of the joint on the world.

    Velocities of a joint follow a linear rule v' = T v; power τᵀv stays what it is, so efforts follow T⁻ᵀ.
    """
    model, effort = sim.model, sim._tree.run.effort
    driven = [i for i in range(model.n_bodies) if effort[model.v_slice(i)].any()]
    if not driven:
        return
    chain = chain_of_inversion(model, model.body(body) if isinstance(body, str) else int(body))
    rules = _velocity_rules(sim, body, driven)
    for i in driven:
        values = effort[model.v_slice(i)]
        if i == chain[-1]:
            _carry_world_effort(sim, after, i, int(now[i]), values)
        else:
            name = model.joint_names[i]
            after.set_effort(name, np.linalg.solve(rules[name].T, values))


def _velocity_rules(sim: QuasiStatics, body: str | int, driven: list[int]) -> dict[str, NDArray[np.float64]]:
    """T of every driven joint by name, shape (nv, nv): column k is what re-rooting makes of its k-th unit velocity."""
    model = sim.model
    widest = max(model.joints[i].nv for i in driven)
    columns: dict[str, list[NDArray[np.float64]]] = {model.joint_names[i]: [] for i in driven}
    for k in range(widest):
        v = np.zeros(model.nv)
        for i in driven:
            if k < model.joints[i].nv:
                v[model.v_slice(i).start + k] = 1.0
        there = reroot(model, State(sim._tree.run.q, v), body, joint_name="rerooted on the world")
        for i in driven:
            name = model.joint_names[i]
            if k < model.joints[i].nv and name in there.model.joint_names:
                columns[name].append(there.state.v[there.model.v_slice(name)].copy())
    return {name: np.array(rows).T for name, rows in columns.items()}


def _carry_world_effort(
    sim: QuasiStatics, after: QuasiStatics, old: int, now: int, values: NDArray[np.float64]
) -> None:
    """The effort of a joint on the world that re-rooting takes away; of a free joint it is a wrench on its body."""
    if not isinstance(sim.model.joints[old], Free):
        raise StateError(
            f"joint '{sim.model.joint_names[old]}' has an effort, and re-rooting removes it from the world; set its effort "
            "to zero first, and apply a wrench to the body if it is to act on."
        )
    if after.model.parent[now] < 0 and isinstance(after.model.joints[now], Free):
        after.set_effort(after.model.joint_names[now], values)
    else:
        after.apply_wrench(now, force=values[3:], torque=values[:3], frame="body")
