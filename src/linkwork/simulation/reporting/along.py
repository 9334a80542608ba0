"""What flows along rods in motion: in simulations as they are now, and in the frames of recordings.

Joints are balanced at one state, with the accelerations that everything that acts there gives. Added mass of a fluid is
left out of them; contact forces are those of the step before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.inputs import as_wrenches
from linkwork.dynamics.kinematics import world_poses
from linkwork.dynamics.quantities.reactions import joint_reactions
from linkwork.dynamics.quantities.rod_forces import RodForces
from linkwork.environment.water import Water
from linkwork.environment.wetted import fluid_wrenches, rod_forces_in_fluid
from linkwork.errors import StateError
from linkwork.loops.constrained import constrained_dynamics
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.record.contacts import contact_wrenches_at
from linkwork.record.recording import Recording
from linkwork.simulation.loading.load_wrenches import load_wrenches


def along(
    recording: Recording,
    frame: int,
    rod: str | None = None,
    *,
    water: Water | None = None,
    wrenches: ArrayLike | None = None,
) -> RodForces:
    """Tension, shear, moments, twist and curvature along a rod in a frame of a recording.

    frame: its number, negative from the end. rod: its name; the only one by default.
    water, wrenches: what acted on bodies besides gravity, joints and contact, which a recording does not hold: the fluid,
    and loads as [n; f] in each body's frame at its origin [N·m, N], shape (n, 6).
    In a simulation: `sim.along()`; at rest: `rest.along()`. Added mass is left out. Cost: O(n), and that of loops.
    """
    if not isinstance(recording, Recording):
        raise StateError(
            f"along takes a lw.Recording, not {type(recording).__name__}; simulations have sim.along(), settled linkages "
            "rest.along()."
        )
    model, state = recording.model, recording.state(frame)
    k = range(len(recording))[frame]
    total = np.zeros((model.n_bodies, 6)) if wrenches is None else np.array(as_wrenches(model, wrenches))
    if water is not None:
        total += fluid_wrenches(model, water, state.q, state.v, float(recording.times[k]))
    if recording.has_contacts:
        total += _in_bodies(model, state, contact_wrenches_at(recording, k))
    effort = None
    if recording.has_efforts:
        parts = recording.efforts(k)
        effort = parts.given + parts.motors + parts.limits
    return _rod_forces(model, state, effort, total, rod, water, float(recording.times[k]))


def along_now(sim: Any, water: Water | None, rod: str | None) -> RodForces:
    """The same in a simulation, with all that acts on it."""
    model, state = sim.model, sim.state
    tree, body, screws, *_ = model.arrays
    total = load_wrenches(sim.view.loads, world_poses(tree, body, screws, state.q))
    if water is not None:
        total += fluid_wrenches(model, water, state.q, state.v, float(sim.time))
    total += _in_bodies(model, state, sim.contact_wrenches())
    parts = sim.efforts
    return _rod_forces(model, state, parts.given + parts.motors + parts.limits, total, rod, water, float(sim.time))


def _rod_forces(
    model: Model,
    state: State,
    effort: FloatArray | None,
    wrenches: FloatArray,
    rod: str | None,
    water: Water | None,
    time: float,
) -> RodForces:
    loops = None
    if model.is_constrained:
        solution = constrained_dynamics(model, state, effort, wrenches)
        wrenches, loops = solution.wrenches, solution.reactions
    reactions = joint_reactions(model.without_loops, state, effort, wrenches)
    return rod_forces_in_fluid(model, state, reactions, rod, loops, water, time)


def _in_bodies(model: Model, state: State, wrenches: FloatArray) -> FloatArray:
    """Wrenches (n, 6) about the origins of bodies, from the axes of the world to theirs."""
    tree, body, screws, *_ = model.arrays
    R = world_poses(tree, body, screws, state.q)[:, :9].reshape(-1, 3, 3)
    return np.concatenate(
        [np.einsum("kji,kj->ki", R, wrenches[:, :3]), np.einsum("kji,kj->ki", R, wrenches[:, 3:])], axis=1
    )
