"""The static sweeps against dense matrices, and those against differences of the energy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.plain_statics import PlainStatics

import linkwork as lw
import linkwork.statics.settle as settling
from linkwork.model.layout import ARMATURE, INERTIA, STIFFNESS
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET
from linkwork.spatial.matrices import rigid_matrix
from linkwork.statics.balance import Balance
from linkwork.statics.elimination.energy import potential_energy
from linkwork.statics.elimination.forces import place_bodies
from linkwork.statics.elimination.solve import Pushes
from linkwork.statics.elimination.sweeps import eliminate_leaf_to_root
from linkwork.statics.elimination.workspace import make_place
from linkwork.statics.hanging import hang_slack
from linkwork.statics.loads import gather
from linkwork.statics.standing import Standing

EPS = np.finfo(float).eps
SHAPES = {
    "chain": {"branching": 0.0, "seed": 1},
    "tree": {"branching": 0.5, "seed": 2, "base": lw.Free()},
    "bush": {"branching": 1.0, "seed": 3},
}


@pytest.fixture(params=SHAPES)
def case(request, make_tree, rng):
    """A tree of all joint kinds without joint springs, pulled at points, by gravity and by springs to the world."""
    model = make_tree(**SHAPES[request.param], armature=True)
    forces = [(i, rng.normal(size=3), 5.0 * rng.normal(size=3)) for i in (3, 9)]
    anchors = [(i, rng.normal(size=3), rng.normal(size=3), float(rng.uniform(1.0, 4.0))) for i in (6, 13)]
    rows = np.zeros((4, 16))
    for row, (_, at, force) in zip(rows, forces, strict=False):
        row[LOAD_AT : LOAD_AT + 3], row[LOAD_FORCE : LOAD_FORCE + 3] = at, force
    for row, (_, at, target, stiffness) in zip(rows[2:], anchors, strict=True):
        row[LOAD_AT : LOAD_AT + 3], row[LOAD_TARGET : LOAD_TARGET + 3], row[LOAD_STIFFNESS] = at, target, stiffness
    bodies = np.array([forces[0][0], forces[1][0], anchors[0][0], anchors[1][0]])
    acting = gather(model, None, None, None)._replace(rows=rows, row_body=bodies)
    return model, model.random_state(rng).q, acting, PlainStatics(model, forces, anchors)


def test_unbalanced_efforts_are_the_gradient_of_the_energy(case):
    model, q, acting, plain = case
    balance = Balance(model, acting, q)
    scale = balance.scales.effort
    np.testing.assert_allclose(balance.r, -plain.gradient(q), atol=100 * EPS * scale * model.n_bodies)
    assert balance.energy() == pytest.approx(plain.energy(q), abs=100 * EPS * scale * model.n_bodies)


def test_unbalanced_efforts_agree_with_inverse_dynamics(tree, rng):
    """Without loads they are what holds a linkage at rest, with the other sign; springs, rest positions and all."""
    state = lw.State(tree.random_state(rng).q, np.zeros(tree.nv))
    balance = Balance(tree, gather(tree, None, None, None), state.q)
    holding = lw.inverse_dynamics(tree, state, np.zeros(tree.nv))
    np.testing.assert_allclose(balance.r, -holding, atol=100 * EPS * balance.scales.effort * tree.n_bodies)


def test_the_second_derivative_is_the_curvature_of_the_energy(case, rng):
    """Along random directions, by differences: truncation h⁴ and rounding ε/h² meet near 1e-7 at h = 1e-2."""
    model, q, _, plain = case
    H = plain.second_derivative(q)
    np.testing.assert_allclose(H, H.T, atol=1e-12 * np.abs(H).max())
    h = 1e-2
    for _ in range(5):
        x = rng.normal(size=model.nv) / np.sqrt(model.nv)
        U = [plain.energy(model.integrate(q, x, k * h)) for k in (-2, -1, 0, 1, 2)]
        curvature = (-U[0] + 16 * U[1] - 30 * U[2] + 16 * U[3] - U[4]) / (12 * h * h)
        assert x @ H @ x == pytest.approx(curvature, abs=1e-5 * np.abs(H).max())


@pytest.mark.parametrize("rate2", [0.0, 50.0])
def test_an_elimination_solves_the_dense_system(case, rng, rate2):
    model, q, acting, plain = case
    balance = Balance(model, acting, q)
    diagonal = rng.uniform(20.0, 40.0, model.nv)
    M = lw.mass_matrix(model, lw.State(q, np.zeros(model.nv)))
    dense = plain.second_derivative(q) + rate2 * M + np.diag(diagonal)
    negative, _, singular = eliminate_leaf_to_root(
        model.arrays, acting, balance.place, balance.work, 0.0, rate2, 0.0, diagonal
    )
    assert singular == -1
    values = np.linalg.eigvalsh(dense)
    assert negative == (values < 0.0).sum()  # Sylvester's law of inertia
    right = rng.normal(size=model.nv)
    x = np.zeros(model.nv)
    balance.solve(right, x)
    condition = np.linalg.cond(dense)
    expected = np.linalg.solve(dense, right)
    np.testing.assert_allclose(x, expected, atol=1000 * EPS * condition * np.abs(expected).max())


def test_joint_springs_enter_as_the_curvature_of_their_energy(make_tree, rng):
    """Ball and free springs too, by differences of the energy."""
    model = make_tree(seed=5, base=lw.Free(stiffness=4.0, rest=(0.1, 0.2, 0.3, 1, 0, 0, 0)), stiffness=True)
    acting = gather(model, None, None, None)
    q = model.random_state(rng).q
    balance = Balance(model, acting, q)
    rate2 = 100.0
    M = lw.mass_matrix(model, lw.State(q, np.zeros(model.nv)))
    eliminate_leaf_to_root(model.arrays, acting, balance.place, balance.work, 0.0, rate2, 0.0, np.zeros(0))
    trial = make_place(model)

    def energy(x):
        place_bodies(model.arrays, model.integrate(q, x), np.zeros(model.nv), trial)
        return potential_energy(model.arrays, acting, trial)

    h = 1e-2
    for _ in range(5):
        right, solution = rng.normal(size=model.nv), np.zeros(model.nv)
        balance.solve(right, solution)
        unit = solution / np.linalg.norm(solution)
        U = [energy(k * h * unit) for k in (-2, -1, 0, 1, 2)]
        curvature = (-U[0] + 16 * U[1] - 30 * U[2] + 16 * U[3] - U[4]) / (12 * h * h)
        whole = curvature + rate2 * unit @ M @ unit  # unitᵀ (H + rate2 M) unit, where (H + rate2 M) solution = right
        assert right @ unit / np.linalg.norm(solution) == pytest.approx(whole, abs=1e-5 * rate2 * np.abs(M).max())


def test_the_safe_stiffness_is_never_negative(case):
    model, q, acting, _ = case
    balance = Balance(model, acting, q)
    pivots = balance.eliminate(1.0, 1e-3 * balance.scales.rate2)
    assert pivots.negative == 0
    assert pivots.singular == -1


def test_a_negative_pivot_gives_a_direction_in_which_the_energy_falls(rng):
    """A stiff column under three times its buckling load, straight."""
    column = lw.Linkage("column", gravity=(0, 0, 0))
    for i in range(20):
        column.add_body(
            f"b{i}",
            "world" if i == 0 else f"b{i - 1}",
            lw.Revolute((0, 1, 0), stiffness=20.0),
            lw.Pose() if i == 0 else lw.Pose((0, 0, 0.05)),
            lw.Inertia.box(0.05, (0.01, 0.01, 0.05)).at(lw.Pose((0, 0, 0.025))),
        )
    model = column.compile()
    rows = np.zeros((1, 16))
    rows[0, LOAD_AT + 2], rows[0, LOAD_FORCE + 2] = 0.05, -3 * np.pi**2 / 4
    balance = Balance(model, gather(model, None, None, None)._replace(rows=rows, row_body=np.array([19])), np.zeros(20))
    assert (model.arrays.dof[:, STIFFNESS] == 20.0).all()
    pivots = balance.eliminate(0.0)
    assert pivots.negative == 1  # the second mode buckles at nine times the load of the first
    x = np.zeros(20)
    scale = 1e-3 / balance.negative_direction(pivots.deepest, x)  # the body that turns most turns by a milliradian
    balance.place_trial(x, scale)
    assert balance.change(x, scale)[0] < 0.0


def test_mujoco_finds_an_equilibrium_balanced():
    """A hanging cable with a side force: MuJoCo's own sum of efforts at the settled coordinates."""
    mujoco = pytest.importorskip("mujoco")
    links, size, mass = 20, 0.5, 0.05
    bodies = "".join(
        f'<body name="b{i}" pos="{size if i else 0} 0 0"><joint type="hinge" axis="{"0 0 1" if i % 2 else "0 1 0"}"/>'
        f'<inertial pos="{size / 2} 0 0" mass="{mass}" diaginertia="1e-5 1e-3 1e-3"/>'
        for i in range(links)
    )
    other = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}{'</body>' * links}</worldbody></mujoco>")
    linkage = lw.Linkage("cable", gravity=tuple(other.opt.gravity))
    inertia = lw.Inertia(mass=mass, com=(size / 2, 0, 0), moments=(1e-5, 1e-3, 1e-3))
    for i in range(links):
        hinge = lw.Revolute((0, 0, 1) if i % 2 else (0, 1, 0))
        linkage.add_body(f"b{i}", f"b{i - 1}" if i else "world", hinge, lw.Pose((size if i else 0, 0, 0)), inertia)
    model = linkage.compile()
    loads, force = lw.Loads(model), np.array([2.0, 1.0, 0.5])
    loads.apply_wrench("b19", force=force, frame="world", at=(size, 0, 0))
    rest = lw.settle(model, model.neutral(), loads=loads)
    data = mujoco.MjData(other)
    data.qpos[:] = rest.state.q
    mujoco.mj_forward(other, data)
    point = data.xpos[links] + data.xmat[links].reshape(3, 3) @ np.array([size, 0.0, 0.0])
    applied = np.zeros(links)
    mujoco.mj_applyFT(other, data, force, np.zeros(3), point, links, applied)
    scale = rest.report.unbalanced / rest.report.unbalanced_part
    assert np.abs(applied - data.qfrc_bias).max() <= 2e-10 * scale  # twice the tolerance of settling


def test_the_same_sweep_is_a_linearly_implicit_euler_step(case, rng):
    """(M/h² + ∂²U + d/h) x = r + M v / h, x = h v⁺: momenta enter as wrenches on the bodies, rotors as efforts."""
    model, q, acting, plain = case
    h, v, damping = 1e-2, rng.normal(size=model.nv), rng.uniform(0.1, 1.0, model.nv)
    state = lw.State(q, v)
    balance = Balance(model, acting, q)
    eliminate_leaf_to_root(model.arrays, acting, balance.place, balance.work, 0.0, h**-2, 0.0, damping / h)
    inertia = model.arrays.body[:, INERTIA : INERTIA + 10]
    twists = lw.body_twists(model, state)
    momenta = np.array([rigid_matrix(ten) @ V for ten, V in zip(inertia, twists, strict=True)]) / h
    efforts = balance.r + model.arrays.dof[:, ARMATURE] * v / h
    x = np.zeros(model.nv)
    balance.solve_sides(efforts[None], x[None], Pushes(momenta, np.arange(model.n_bodies), 0))
    M = lw.mass_matrix(model, state)
    dense = M / h**2 + plain.second_derivative(q) + np.diag(damping / h)
    expected = np.linalg.solve(dense, -plain.gradient(q) + M @ v / h)
    np.testing.assert_allclose(x, expected, atol=1000 * EPS * np.linalg.cond(dense) * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(6))
def test_a_chain_without_stiffness_is_at_rest_where_it_starts(seed):
    """Links of any length and weight, hinges or balls, a branch, a load held by the world."""
    rng = np.random.default_rng(seed)
    n, is_flat = int(rng.integers(6, 25)), seed % 2 == 0
    lengths = rng.uniform(0.2, 2.0, size=n)
    chain = lw.Linkage("slack")
    for i in range(n):
        place = lw.Pose((float(lengths[i - 1]) if i else 0.0, 0.0, 0.0))
        mass, at = float(rng.uniform(0.1, 3.0)), float(rng.uniform(0.1, 0.9) * lengths[i])
        joint = lw.Revolute((0, 1, 0)) if is_flat else lw.Spherical()
        inertia = lw.Inertia(mass, (at, 0.0, 0.0), (0.1, 0.1, 0.1))
        chain.add_body(f"b{i}", f"b{i - 1}" if i else "world", joint, place, inertia)
    hung = lw.Pose((0.3 * float(lengths[n // 2]), 0.0, 0.0))
    chain.add_body("weight", f"b{n // 2}", lw.Spherical(), hung, lw.Inertia(5.0, (0, 0, 0), (0.1, 0.1, 0.1)))
    way = rng.normal(size=3) * ((1.0, 0.0, 1.0) if is_flat else (1.0, 1.0, 1.0))
    way[0] = 2.0  # further across than the longest link: no link is slack
    end = way * rng.uniform(0.5, 0.95) * lengths.sum() / np.linalg.norm(way)
    chain.add_loop(lw.Spherical(), "world", f"b{n - 1}", (lw.Pose(tuple(end)), lw.Pose((float(lengths[-1]), 0.0, 0.0))))
    model = chain.compile()
    loads = lw.Loads(model)
    loads.apply_wrench(f"b{n // 3}", force=(0.0, 0.0, -4.0) if is_flat else (1.0, 2.0, -1.0), at=(0.1, 0.0, 0.0))
    acting = gather(model, None, None, loads)
    slack = hang_slack(model, acting, model.neutral().q)
    assert slack is not None
    standing = Standing(model, acting, model.neutral().q, is_closed=False, slack=slack)
    assert standing.closed is not None
    assert standing.unbalanced < 1e-5
    assert np.abs(standing.closed.system.gap).max() < 1e-5 * lengths.sum()
    rest = lw.settle(model, model.neutral(), loads=loads)
    assert rest.stable


@pytest.mark.parametrize("seed", range(8))
def test_rods_between_pins_come_to_rest_no_higher_than_from_where_their_open_tree_hangs(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, length, weight = int(rng.integers(5, 50)), 10.0 ** rng.uniform(-1, 2), 10.0 ** rng.uniform(-2, 1)
    EI = 10.0 ** rng.uniform(-6, 0) * weight * 9.81 * length**3
    joints = ("ball", "hinges", "plane")[seed % 3]
    rod = lw.rod(length, n, EI=EI, GJ=EI, mass_per_length=weight, radius=1e-3 * length, joints=joints)
    tilt = lw.Pose(rpy=(0.0, float(rng.uniform(-1.5, 1.5)), 0.0))
    rod.attach_world("start", lw.Pinned() if seed % 2 else lw.Clamped(), at=tilt)
    way = rng.normal(size=3) * ((1.0, 0.0, 1.0) if joints == "plane" else (1.0, 1.0, 1.0))
    rod.attach_world("end", lw.Pinned(), at=tuple(way * length * rng.uniform(0.1, 0.9) / np.linalg.norm(way)))
    model = rod.compile()
    rest = lw.settle(model, model.neutral())
    assert rest.stable
    assert rest.report.unbalanced_part <= 1e-10
    assert rest.report.gap < 1e-8 * length
    monkeypatch.setattr(settling, "hang_slack", lambda *_: None)
    before = lw.settle(model, model.neutral())
    assert rest.report.energy <= before.report.energy + 1e-9 * weight * 9.81 * length**2
