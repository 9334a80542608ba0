"""The same mechanism in Exudyn: an `ObjectKinematicTree` in explicit steps of one evaluation; absent if not installed."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

from .peers import Peer, bodies_of

# Its mass matrix is dense: a call costs the cube of the joints, and at 1,000 accelerations differ by 1.0e-8 of the largest.
EXUDYN_MOST_JOINTS = 300
EXUDYN_STEPS = 10  # of a call: one solution has a beginning that is not part of the dynamics
SHORT = 1e-12  # [s] of a step: the state stays


def exudyn_peer(model: lw.Model, state: lw.State, effort: np.ndarray) -> Peer | None:
    """Explicit Euler's steps from the state. Joints turn about z there, so each body's frame is turned to its axis."""
    try:
        import exudyn
        from exudyn.itemInterface import NodeGenericODE2, ObjectKinematicTree
    except ImportError:
        return None
    n = model.n_bodies
    if n > EXUDYN_MOST_JOINTS:
        return None
    bodies = list(bodies_of(model))
    turned = [_turn_to(body.axis) for body in bodies]
    turned.append(np.eye(3))  # of the ground, which is parent -1
    mbs = exudyn.SystemContainer().AddSystem()
    node = mbs.AddNode(
        NodeGenericODE2(
            referenceCoordinates=[0.0] * n,
            initialCoordinates=list(state.q),
            initialCoordinates_t=list(state.v),
            numberOfODE2Coordinates=n,
        )
    )
    mbs.AddObject(
        ObjectKinematicTree(
            nodeNumber=node,
            jointTypes=[exudyn.JointType.RevoluteZ] * n,
            linkParents=[body.parent for body in bodies],
            jointTransformations=exudyn.Matrix3DList(
                [turned[b.parent].T @ b.rotation @ A for b, A in zip(bodies, turned[:-1], strict=True)]
            ),
            jointOffsets=exudyn.Vector3DList([turned[b.parent].T @ b.position for b in bodies]),
            linkInertiasCOM=exudyn.Matrix3DList(
                [A.T @ b.moments @ A for b, A in zip(bodies, turned[:-1], strict=True)]
            ),
            linkCOMs=exudyn.Vector3DList([A.T @ b.com for b, A in zip(bodies, turned[:-1], strict=True)]),
            linkMasses=[body.mass for body in bodies],
            jointForceVector=list(effort),
            gravity=list(model.gravity),
        )
    )
    mbs.Assemble()

    def steps(count: int, ending: bool) -> Any:
        settings = exudyn.SimulationSettings()
        settings.timeIntegration.numberOfSteps = count
        settings.timeIntegration.endTime = count * SHORT
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.explicit.computeEndOfStepAccelerations = ending
        settings.solution.file.write = False
        return lambda: mbs.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.ExplicitEuler)

    evaluated = steps(1, ending=True)

    def acceleration() -> np.ndarray:
        evaluated()
        return np.array(mbs.systemData.GetODE2Coordinates_tt())

    return Peer("exudyn", steps(EXUDYN_STEPS, ending=False), acceleration)


def _turn_to(axis: tuple[float, ...]) -> np.ndarray:
    """A rotation that takes z to an axis."""
    z = np.asarray(axis) / np.linalg.norm(axis)
    aside = np.eye(3)[np.argmin(np.abs(z))]
    x = np.cross(aside, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
