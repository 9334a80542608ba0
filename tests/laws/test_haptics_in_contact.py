"""A hand feels what the body it holds rests on: contacts and joint limits of the last step, and their response to it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.hands import FIRM, at_point, felt_by_reactions
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.model.layout import INERTIA
from linkwork.spatial.matrices import rigid_matrix

KINDS = ("full", "adaptive")
G = 9.81


def simulate(kind, model, state, contact=None):
    if kind == "full":
        return lw.FullDynamics(model, state, contact=contact)
    return lw.AdaptiveDynamics(model, state, tolerance=0.0, contact=contact)


def box_on_a_table(joint):
    linkage = lw.Linkage("box on a table")
    shape = lw.Box((0.2, 0.2, 0.1))
    linkage.add_body("box", joint=joint, inertia=lw.Inertia.box(1.5, (0.2, 0.2, 0.1)), shapes=[shape])
    linkage.add_obstacle("table", lw.Plane(), lw.Pose((0, 0, -0.05)))
    return linkage.compile()


def lying_chain(links=6):
    """A chain whose links lie on a table, hinged to a post beside it."""
    linkage = lw.Linkage("lying chain")
    parent = "world"
    size = (0.2, 0.05, 0.04)
    for k in range(links):
        joint = lw.Revolute((0, 1, 0) if k % 2 == 0 else (0, 0, 1), damping=0.02)
        place = lw.Pose((0.22 if k else 0.0, 0.0, 0.0))
        body = lw.Inertia.box(0.3, size).at(lw.Pose((0.11, 0, 0)))
        linkage.add_body(
            f"link_{k}", parent, joint, place, body, shapes=[lw.Box(size, placement=lw.Pose((0.11, 0, 0)))]
        )  # fmt: skip
        parent = f"link_{k}"
    linkage.add_obstacle("table", lw.Plane(), lw.Pose((0, 0, -0.02)))
    return linkage.compile()


@pytest.mark.parametrize("kind", KINDS)
def test_a_hand_that_presses_a_body_onto_a_table_feels_the_table(kind):
    """At rest it feels minus its own force; what it does more before the next snapshot, the table resists at once."""
    model = box_on_a_table(lw.Prismatic((0, 0, 1)))
    sim = simulate(kind, model, model.neutral(), lw.Contact())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, "box", device, stiffness=500.0, damping=2.0, watchdog=60.0)
    session = grasp.session
    device.move((0.0, 0.0, -0.02))
    for _ in range(200):
        session.move_on(1e-3)
    session.rest()
    pressed = 500.0 * 0.02
    carried = sum(point.force[2] for point in sim.contacts)
    assert carried == pytest.approx(1.5 * G + pressed, rel=1e-6)  # the residual of the contact solver: 1e-8
    assert grasp.wrench[5] == pytest.approx(-pressed, rel=1e-6)
    assert grasp.felt[5] == pytest.approx(pressed, rel=1e-6)
    before = grasp.felt[5]
    device.move((0.0, 0.0, -0.03))  # no step in between: the snapshot is the old one
    session.tick()
    assert -grasp.wrench[5] > pressed + 1.0
    assert grasp.felt[5] - before == pytest.approx(-grasp.wrench[5] - pressed, rel=1e-6)


def test_a_body_is_lifted_off_the_table():
    """The table does not hold what is pulled up: with the weight in hand, the hand feels the weight."""
    model = box_on_a_table(lw.Prismatic((0, 0, 1)))
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, "box", device, stiffness=500.0, damping=30.0, watchdog=60.0)
    for k in range(4000):
        device.move((0.0, 0.0, min(0.2, 1e-4 * k)))
        grasp.session.move_on(1e-3)
    assert sim.contacts == ()
    sag = 1.5 * G / 500.0
    assert sim.state.q[0] == pytest.approx(0.2 - sag, abs=1e-6)
    assert grasp.felt[5] == pytest.approx(-1.5 * G, rel=1e-6)


def dense_responses(model, state, bodies):
    """J M⁻¹ Jᵀ of bodies, 6 rows each in their frames, from the mass matrix: (6 m, 6 m)."""
    J = np.vstack([lw.body_jacobian(model, state, body) for body in bodies])
    return J @ np.linalg.solve(lw.mass_matrix(model, state), J.T)


def contact_rows(sim, poses):
    """Of all contacts that press: bodies, unit wrenches of their closed directions, forces of the last step on bodies."""
    bodies, rows = [], []
    others = np.zeros((sim.model.n_bodies, 6))
    for point in sim.contacts:
        if point.state == "apart":
            continue
        i = sim.model.body(point.body)
        R, p = poses[i, :3, :3], poses[i, :3, 3]
        at = R.T @ (np.array(point.point) - p)
        normal = np.array(point.normal)
        axes = np.eye(3) if point.state == "sticking" else [normal]
        for axis in axes:
            bodies.append(i)
            rows.append(np.concatenate([np.cross(at, R.T @ axis), R.T @ axis]))
        force = R.T @ np.array(point.force)
        others[i] += np.concatenate([np.cross(at, force), force])
    return bodies, np.array(rows), others


@pytest.mark.parametrize("kind", KINDS)
def test_contacts_respond_as_the_mass_matrix_says(kind):
    """A chain that lies on a table, held by two hands: joint reactions with the table's forces in response to the hands."""
    model = lying_chain()
    sim = simulate(kind, model, model.neutral(), lw.Contact(friction=0.8))
    devices = [lw.haptics.Pointer(), lw.haptics.Pointer()]
    grasps = [
        lw.haptics.grasp(sim, "link_3", devices[0], (0.1, 0.0, 0.02), **FIRM),
        lw.haptics.grasp(sim, "link_5", devices[1], (0.2, 0.0, 0.0), **FIRM),
    ]
    session = grasps[0].session
    devices[0].move((0.0, 0.0, -0.01))
    for _ in range(300):
        session.move_on(1e-3)
    assert {point.state for point in sim.contacts} & {"sticking", "sliding"}
    before = {grasp.number: np.concatenate([grasp.load.torque[0], grasp.load.force[0]]) for grasp in grasps}
    devices[0].move((0.004, 0.0, -0.015))
    devices[1].move((0.0, 0.003, 0.002))
    session.tick()
    poses = lw.body_poses(model, sim.state)
    bodies, rows, others = contact_rows(sim, poses)
    held = [grasp.body for grasp in grasps]
    K = dense_responses(model, sim.state, bodies + held)
    p = len(bodies)
    C = np.zeros((p, K.shape[0]))
    for r in range(p):
        C[r, 6 * r : 6 * r + 6] = rows[r]
    change = np.concatenate(
        [at_point(grasp.wrench - before[grasp.number], poses[grasp.body, :3, :3], grasp.at) for grasp in grasps]
    )
    A = C @ K @ C.T
    force = -np.linalg.pinv(A, rcond=1e-9, hermitian=True) @ (C @ K[:, 6 * p :] @ change)
    for r in range(p):
        others[bodies[r]] += force[r] * rows[r]
    assert np.abs(force).max() > 0.1
    # as for loops; the chain is at rest, so that contacts are where the last step found them. 4e-15 is seen
    allowed = rounding(condition=1e4)
    for order in (grasps, grasps[::-1]):
        expected = felt_by_reactions(sim, order, others)
        assert np.abs(order[0].felt - expected).max() <= allowed * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("joint", ["revolute", "universal"])
def test_a_joint_at_its_limit_feels_like_a_wall(kind, joint):
    """Pushed against a limit, a hand feels what the linkage with that coordinate held would do; not the free joint."""
    linkage = lw.Linkage("door", gravity=(0, 0, 0))
    stop = lw.Revolute((0, 0, 1), limits=(-0.5, 0.5), damping=0.5)
    if joint == "universal":
        stop = lw.Universal((0, 0, 1), (0, 1, 0), limits=[(-0.5, 0.5), (-3.0, 3.0)], damping=0.5)
    body = lw.Inertia.box(2.0, (1.0, 0.1, 0.1)).at(lw.Pose((0.5, 0, 0)))
    linkage.add_body("post", joint=lw.Revolute((0, 0, 1), stiffness=1e3, damping=30.0), inertia=body)
    linkage.add_body("door", "post", stop, inertia=body)
    model = linkage.compile()
    q = model.neutral().q
    q[1] = 0.5
    sim = simulate(kind, model, lw.State(q, np.zeros(model.nv)))
    device = lw.haptics.Pointer()
    across = lw.body_poses(model, sim.state)[model.body("door"), :3, 1]
    at = (1.0, 0.0, 0.0)
    grasp = lw.haptics.grasp(sim, "door", device, at, stiffness=200.0, damping=4.0, passive=False, watchdog=60.0)
    device.move(0.05 * across)
    for _ in range(3000):
        grasp.session.move_on(1e-3)
    assert sim.contact_report.limits == 1
    grasp.session.rest()
    before, force = grasp.felt.copy(), grasp.wrench.copy()
    assert np.abs(force).max() > 5.0
    assert np.abs(before + force).max() <= 1e-6 * np.abs(force).max()  # at rest, up to the motion that is left
    device.move(0.06 * across + (0.0, 0.0, 0.01 if joint == "universal" else 0.0))
    grasp.session.tick()
    change, more = grasp.felt - before, grasp.wrench - force
    J = lw.body_jacobian(model, sim.state, "door", frame="world", at=at)
    M = lw.mass_matrix(model, sim.state)
    R = lw.body_poses(model, sim.state)[model.body("door"), :3, :3]
    to_body = np.zeros((6, 6))  # twist at the point, axes of the world → of the body
    to_body[:3, :3] = to_body[3:, 3:] = R.T
    to_body[3:, :3] = np.cross(at, R.T, axisa=0, axisb=0, axisc=0)
    inertia = to_body.T @ rigid_matrix(model.arrays.body[model.body("door"), INERTIA : INERTIA + 10]) @ to_body
    moves = np.arange(model.nv) != 1
    held = J[:, moves] @ np.linalg.solve(M[np.ix_(moves, moves)], J[:, moves].T)
    free = J @ np.linalg.solve(M, J.T)
    scale = np.abs(more).max()
    assert np.abs(change - (inertia @ held @ more - more)).max() <= rounding(condition=1e4, scale=scale)
    assert np.abs(change - (inertia @ free @ more - more)).max() > 0.05 * scale
