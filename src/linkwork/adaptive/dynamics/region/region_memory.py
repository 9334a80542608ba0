"""Memory of a new adaptive simulation: for the tree, and for a linkage that may become the whole model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.allocation import allocate
from linkwork.adaptive.dynamics.reduced.reduced import COUNTS, Reduced
from linkwork.adaptive.dynamics.region.loop_joints import loop_joints
from linkwork.adaptive.workspace import Bundles
from linkwork.core.arrays import FloatArray, IntArray, lazy_zeros
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import StateError
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DOF, FREE, HELICAL, KIND, PARENT
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.constrained.constraints import Constraints


def tables_to_gather(model: Model) -> list[NDArray[Any]]:
    """Tables as large as those of the model, which take no memory before they are written to; screws and gravity are
    the model's own."""
    tree, body, screws, dof, rest, gravity = model.arrays
    return [_like(tree), _like(body), screws, _like(dof), _like(rest), gravity]


def _like(array: NDArray[Any]) -> NDArray[Any]:
    return lazy_zeros(array.shape[0], array.shape[1] if array.ndim == 2 else None, array.dtype.type)


def make_bundles(model: Model, state: State, weights: tuple[FloatArray, FloatArray], has_contact: bool) -> Bundles:
    """Bundles of a tree in motion, with room for the forces of contacts behind those of loops, which act on the metrics.

    weights: of squared accelerations and velocities.
    """
    bundles = allocate(model, np.array(state.q), np.array(state.v), *weights, in_motion=True)
    if not has_contact:
        return bundles
    from linkwork.adaptive.dynamics.with_contact import MOST_CONTACT_FORCES

    run = bundles.run
    body = np.concatenate([run.loop_body, np.full(2 * MOST_CONTACT_FORCES, -1, dtype=np.int64)])
    return bundles._replace(run=run._replace(loop_body=body, loop_wrench=np.zeros((body.size, 6))))


def poses_in_rows(model: Model, state: State) -> FloatArray:
    """World poses of all bodies, rotation and position, shape (n, 12)."""
    T = body_poses(model, state)
    return np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))


def count_optional_joints(model: Model) -> int:
    """Joints that may be inactive: all that move, but for the free joints of floating trees."""
    tree = model.arrays.tree
    return int(((tree[:, DOF] > 0) & ~((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0))).sum())


def allocate_reduced(model: Model, nodes: int, base: IntArray, constraints: Constraints) -> Reduced:
    bodies, loops = model.n_bodies, loop_joints(model)

    def integers(size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    return Reduced(
        joint=integers(bodies),
        joint_before=integers(bodies),
        number=integers(bodies),
        group=integers(nodes),
        pose=np.zeros((nodes, 12)),
        last=integers(nodes),
        last_pose=np.zeros((nodes, 12)),
        base=base,
        loop_ends=constraints.ends.copy(),
        loop_frames=constraints.frames.copy(),
        first_in_loop=loops.first_in_loop,
        joints_of_loop=loops.joints_of_loop,
        first_loop=loops.first_loop,
        loops_of_joint=loops.loops_of_joint,
        loop_needs=loops.needs,
        loop_has=np.zeros_like(loops.needs),
        coupled_body=constraints.coupled_body.copy(),
        coupled_freedom=constraints.coupled_freedom.copy(),
        coupled_place=constraints.coupled_place.copy(),
        coupled_dual=_duals(model, constraints),
        offset=constraints.offset.copy(),
        stops=integers(bodies),
        pressed=np.zeros((bodies, 6)),
        at_rest=np.zeros(3),
        counts=integers(COUNTS),
    )


def _duals(model: Model, constraints: Constraints) -> FloatArray:
    """s / s·s of the screw s of each coupled joint, shape (e, 6)."""
    found = np.zeros((constraints.coupled_body.size, 6))
    for e, i in enumerate(constraints.coupled_body.tolist()):
        if model.arrays.tree[i, KIND] != HELICAL:
            raise StateError(
                f"joint '{model.joint_names[i]}' is coupled and has several degrees of freedom; adaptive dynamics couples "
                "hinges, sliders and screws on bodies of their own. Give the bodies between them a mass, or use "
                "lw.FullDynamics."
            )
        screw = np.array(helical_twist(model.arrays.body, i))
        found[e] = screw / (screw @ screw)
    return found
