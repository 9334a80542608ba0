"""An adaptive simulation goes on from another root: same configuration, same loads, same tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.dynamics.reroot import reroot
from linkwork.errors import StateError
from linkwork.model.joints import Joint
from linkwork.model.state import State
from linkwork.spatial.pose import Pose

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


def go_on_from(
    sim: QuasiStatics, body: str | int, at: ArrayLike | Pose | None, joint: Joint | None, options: dict[str, Any]
) -> QuasiStatics:
    """See `QuasiStatics.reroot`."""
    if not (sim._mechanism.weight == 1.0).all():
        raise StateError(
            "metric weights belong to joints that re-rooting turns round; make a new QuasiStatics with weights."
        )
    there = reroot(sim.model, sim.state, body, at, joint, **options)
    after = type(sim)(there.model, there.state, sim.tolerance, sim.measure, sim.max_joints, sim.deadline)
    now = np.argsort(there.old_index)  # bodies keep their frames, so loads keep their numbers
    for load in sim.loads:
        after._take_over(load, int(now[load.body]), sim)
    _carry_efforts(sim, after, body)
    return after


def _carry_efforts(sim: QuasiStatics, after: QuasiStatics, body: str | int) -> None:
    """Efforts of joints between bodies, turned round where the joint was: they follow the rule of its velocities.

    (A hinge changes sign, a ball turns into the other body's frame: orthogonal maps, the same for both.)
    """
    if not sim._live.effort.any():
        return
    probe = reroot(sim.model, State(sim._live.q, sim._live.effort), body)
    for i, name in enumerate(after.model.joint_names):
        if after.model.parent[i] >= 0:
            values = probe.state.v[probe.model.v_slice(name)]
            if values.any():
                after.set_effort(name, values)
