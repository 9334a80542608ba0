"""Linkwork and Pinocchio agree: real robots read by both, and random trees of every joint kind both can express.

Pinocchio's conventions, met only here: quaternions are x y z w, a continuous joint is (cos q, sin q), a free-flyer's
velocity is [v; ω]. All of them are permutations of our velocities, so mass matrices and efforts permute alike.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.helpers.robots import NEEDED, URDFS

import linkwork as lw
from linkwork.model import layout

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

STATES = 3

# Both compute in doubles (ε = 1e-16). Quantities that are sums of products keep that times the depth of the tree;
# accelerations lose the condition number of the mass matrix, up to some 1e6 for a robot of kilograms with grams at its
# ends. That leaves 1e-10 at worst; 1e-9 is ten times that (seen: 7e-13).
TOLERANCE = 1e-9


def assert_close(ours, theirs, what: str) -> None:
    """Relative to the size of the whole vector or matrix: single entries may cancel to nothing."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape, what
    assert np.isfinite(ours).all(), what
    assert np.linalg.norm(ours - theirs) <= TOLERANCE * np.linalg.norm(theirs), what


class Counterpart:
    """A Pinocchio model and, for each of our degrees of freedom, where Pinocchio keeps it."""

    def __init__(self, model: lw.Model, theirs, ids: list[list[int]]):
        """ids[i]: the Pinocchio joints that make our joint i, in order."""
        self.model, self.theirs, self.ids = model, theirs, ids
        self.data = theirs.createData()
        self.order = np.concatenate([self._velocity_order(i) for i in range(model.n_bodies)]).astype(int)
        assert sorted(self.order) == list(range(theirs.nv)), "every degree of freedom has one counterpart"

    def _velocity_order(self, i: int) -> list[int]:
        starts = [self.theirs.joints[j].idx_v for j in self.ids[i]]
        if isinstance(self.model.joints[i], lw.Free):
            return [starts[0] + k for k in (3, 4, 5, 0, 1, 2)]
        if isinstance(self.model.joints[i], lw.Spherical):
            return [starts[0] + k for k in range(3)]
        return starts

    def q(self, q: np.ndarray) -> np.ndarray:
        out = pin.neutral(self.theirs)
        for i, joint in enumerate(self.model.joints):
            mine = q[self.model.q_slice(i)]
            if isinstance(joint, lw.Free | lw.Spherical):
                start = self.theirs.joints[self.ids[i][0]].idx_q
                w, x, y, z = mine[-4:]
                out[start : start + joint.nq] = [*mine[:-4], x, y, z, w]
                continue
            for j, value in zip(self.ids[i], mine, strict=True):
                joint = self.theirs.joints[j]
                out[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        return out

    def v(self, v: np.ndarray) -> np.ndarray:
        """Velocities, accelerations and efforts alike."""
        out = np.empty(self.theirs.nv)
        out[self.order] = v
        return out


def check_agreement(counterpart: Counterpart, seed: int) -> None:
    model, theirs, data, order = counterpart.model, counterpart.theirs, counterpart.data, counterpart.order
    rng = np.random.default_rng(seed)
    # Limits are for controllers; the two must agree everywhere.
    q = np.concatenate([_anywhere(joint, rng) for joint in model.joints])
    state = lw.State(q, rng.normal(size=model.nv))
    pq, pv = counterpart.q(q), counterpart.v(state.v)
    effort, acceleration = rng.normal(size=(2, model.nv))
    # Pinocchio's algorithms know no damping; ours is part of the model.
    drag = model.arrays.dof[:, layout.DAMPING] * state.v

    M = pin.crba(theirs, data, pq)
    M = np.triu(M) + np.triu(M, 1).T
    assert_close(lw.mass_matrix(model, state), M[np.ix_(order, order)], "mass matrix")
    qdd = pin.aba(theirs, data, pq, pv, counterpart.v(effort - drag))[order]
    assert_close(lw.forward_dynamics(model, state, effort), qdd, "accelerations")
    tau = pin.rnea(theirs, data, pq, pv, counterpart.v(acceleration))[order] + drag
    assert_close(lw.inverse_dynamics(model, state, acceleration), tau, "inverse dynamics")
    check_derivatives(counterpart, state, pq, pv, effort, acceleration, drag)
    energy = lw.energy(model, state)
    assert_close(energy.kinetic, pin.computeKineticEnergy(theirs, data, pq, pv), "kinetic energy")
    assert_close(energy.potential, pin.computePotentialEnergy(theirs, data, pq), "potential energy")
    hg = pin.computeCentroidalMomentum(theirs, data, pq, pv)
    com = lw.center_of_mass(model, state)
    momentum = lw.momentum(model, state, about=com)
    assert_close(com, data.com[0], "centre of mass")
    assert_close(momentum.linear, hg.linear, "linear momentum")
    assert_close(momentum.angular, hg.angular, "angular momentum")


def check_derivatives(counterpart: Counterpart, state: lw.State, pq, pv, effort, acceleration, drag) -> None:
    """All partial derivatives. What damping adds to ours is known: diag d to those of efforts, M⁻¹ diag d to the others."""
    model, theirs, data, order = counterpart.model, counterpart.theirs, counterpart.data, counterpart.order
    both = np.ix_(order, order)
    damping = np.diag(model.arrays.dof[:, layout.DAMPING])
    pin.computeRNEADerivatives(theirs, data, pq, pv, counterpart.v(acceleration))
    ours = lw.jacobians(lw.inverse_dynamics, model, state, acceleration)
    assert_close(ours.q, data.dtau_dq[both], "efforts by coordinates")
    assert_close(ours.v, data.dtau_dv[both] + damping, "efforts by velocities")
    pin.computeABADerivatives(theirs, data, pq, pv, counterpart.v(effort - drag))
    found = lw.jacobians(lw.forward_dynamics, model, state, effort)
    inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    assert_close(found.effort, inverse[both], "inverse of the mass matrix")
    assert_close(found.q, data.ddq_dq[both], "accelerations by coordinates")
    assert_close(found.v, data.ddq_dv[both] - inverse[both] @ damping, "accelerations by velocities")


def _anywhere(joint: lw.Joint, rng: np.random.Generator) -> np.ndarray:
    if isinstance(joint, lw.Free | lw.Spherical):
        return joint.random(rng)
    return rng.uniform(-2.0, 2.0, joint.nq)


def robot_counterpart(path: Path, floating: bool) -> Counterpart:
    model = lw.load(path, floating=floating, missing_meshes="skip").compile().without_loops
    theirs = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    # Joints without mass behind them are welded by us, with a warning; Pinocchio's ABA divides by zero there.
    ours = set(model.joint_names)
    locked = [j for j in range(1, theirs.njoints) if theirs.names[j] not in ours]
    if locked:
        theirs = pin.buildReducedModel(theirs, locked, pin.neutral(theirs))
    return Counterpart(model, theirs, [[theirs.getJointId(name)] for name in model.joint_names])


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", URDFS)
def test_robots(name, floating):
    counterpart = robot_counterpart(URDFS[name], floating)
    for seed in range(STATES):
        check_agreement(counterpart, seed)


def test_only_romeo_needs_welding():
    """The comparison above must not quietly lock joints that could move."""
    if not URDFS:
        pytest.skip(reason=NEEDED)
    expected = dict.fromkeys(URDFS, 0) | ({"romeo": 24} if "romeo" in URDFS else {})  # romeo's fingers weigh nothing
    for name, count in expected.items():
        model = lw.load(URDFS[name], missing_meshes="skip").compile()
        theirs = pin.buildModelFromUrdf(str(URDFS[name]))
        assert theirs.nv - model.nv == count, name


def pinocchio_tree(linkage: lw.Linkage, model: lw.Model) -> Counterpart:
    """The same tree built in Pinocchio: one joint per screw, with massless bodies between the screws of one joint."""
    theirs = pin.Model()
    theirs.gravity = pin.Motion(np.array([*linkage.gravity, 0.0, 0.0, 0.0]))
    last = {"world": (0, pin.SE3.Identity())}  # of each body: its Pinocchio joint, and the body's pose in its frame
    ids: dict[str, list[int]] = {}
    for body in _depth_first(linkage):  # Pinocchio's algorithms need the joints of a subtree in a row
        j, here = last[body.parent]
        here = here * pin.SE3(body.placement.matrix)
        made = []
        center = np.zeros(3)
        for k, (kind, point) in enumerate(_primitives(body.joint)):
            here = here * _shift(np.asarray(point) - center)
            center = np.asarray(point)
            j = theirs.addJoint(j, kind, here, f"{body.joint_name}.{k}")
            here = pin.SE3.Identity()
            made.append(j)
        here = here * _shift(-center)
        com, moments = np.array(body.inertia.com), body.inertia.matrix
        theirs.appendBodyToJoint(j, pin.Inertia(body.inertia.mass, com, moments), here)
        last[body.name] = (j, here)
        ids[body.name] = made
    return Counterpart(model, theirs, [ids[name] for name in model.body_names])


def _depth_first(linkage: lw.Linkage) -> list[lw.Body]:
    children: dict[str, list[lw.Body]] = {}
    for body in linkage:
        children.setdefault(body.parent, []).append(body)
    order, waiting = [], children["world"][:]
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(order[-1].name, [])
    return order


def _shift(xyz: np.ndarray):
    return pin.SE3(np.eye(3), np.asarray(xyz, dtype=float))


def _primitives(joint: lw.Joint):
    """Pinocchio joints in a row, each with the point of the zero frame where its frame stands."""
    if isinstance(joint, lw.Free):
        return [(pin.JointModelFreeFlyer(), np.zeros(3))]
    if isinstance(joint, lw.Spherical):
        return [(pin.JointModelSpherical(), joint.point)]
    made = []
    for axis, slide, center in joint.screws:
        if not any(axis):
            made.append((pin.JointModelPrismaticUnaligned(np.array(slide)), center))
        elif not any(slide):
            made.append((pin.JointModelRevoluteUnaligned(np.array(axis)), center))
        else:
            made.append((pin.JointModelHelicalUnaligned(np.array(axis), float(np.dot(axis, slide))), center))
    return made


KINDS = ["revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free", "compound"]


@pytest.mark.parametrize("kind", KINDS)
def test_random_trees_of_one_kind(kind):
    linkage = lw.library.random_tree(12, seed=3, branching=0.4, kinds=(kind,))
    check_agreement(pinocchio_tree(linkage, linkage.compile()), seed=5)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_of_all_kinds(seed):
    linkage = lw.library.random_tree(40, seed=seed, branching=0.5, kinds=(*KINDS, "fixed"), floating=seed % 2 == 0)
    check_agreement(pinocchio_tree(linkage, linkage.compile()), seed)


def test_planar_joint_of_a_urdf(tmp_path):
    """A URDF planar joint moves across its axis: the positions both libraries reach are the same."""
    path = tmp_path / "slab.urdf"
    inertial = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    path.write_text(
        f'<robot name="slab"><link name="base"/><link name="slab">{inertial}</link><joint name="slide" type="planar">'
        '<parent link="base"/><child link="slab"/><origin xyz="1 2 3" rpy="0.3 0.2 0.1"/><axis xyz="0 0 1"/></joint>'
        "</robot>"
    )
    model = lw.load(path).compile()
    theirs = pin.buildModelFromUrdf(str(path))
    data = theirs.createData()
    x, y, angle = 0.3, -0.4, 0.7
    pin.forwardKinematics(theirs, data, np.array([x, y, np.cos(angle), np.sin(angle)]))
    T = lw.body_poses(model, model.state([x, y, angle]))[0]
    assert_close(T, data.oMi[1].homogeneous, "pose")
