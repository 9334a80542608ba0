"""Modes against dense eigenvalues of differences of efforts, on trees of all joints, floating ones and closed ones."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.statics.balance import Balance
from linkwork.statics.elimination.solve import Pushes
from linkwork.statics.loads import gather
from linkwork.statics.standing import Standing

EPS = np.finfo(float).eps
STEP = 1e-5  # of differences: rounding 1e-11 of the stiffness, and as much from the third derivative


def dense_pencil(model, q, loads=None):
    """∂²U on closed states and M there, by differences of efforts with the forces of cut joints kept."""
    standing = Standing(model, gather(model, None, None, loads), q)
    nv = model.nv
    K, J = np.zeros((nv, nv)), np.zeros((0 if standing.closed is None else standing.closed.plan.count, nv))
    for k in range(nv):
        unit = np.zeros(nv)
        unit[k] = 1.0
        efforts = []
        for side in (STEP, -STEP):
            standing.move(model.integrate(q, unit, side))
            efforts.append(standing.balance.r.copy())
        K[:, k] = (efforts[1] - efforts[0]) / (2.0 * STEP)
        if standing.closed is not None:
            standing.move(q)
            twists = lw.body_twists(model, lw.State(q, unit))
            bodies = standing.closed.plan.bodies
            J[:, k] = standing.closed.system.C @ np.where(bodies[:, None] >= 0, twists[bodies], 0.0).ravel()
    M = lw.mass_matrix(model, lw.State(q, np.zeros(nv)))
    free = np.eye(nv)
    if J.size:
        _, values, rows = np.linalg.svd(J)
        free = rows[(values > 1e-9 * values[0]).sum() :].T
    return free.T @ (0.5 * (K + K.T)) @ free, free.T @ M @ free


def dense_rates2(K, M):
    L = np.linalg.cholesky(M)
    return np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, K).T))


def agrees(model, q, count, loads=None):
    found = lw.modes(model, lw.State(q, np.zeros(model.nv)), count, loads=loads)
    K, M = dense_pencil(model, q, loads)
    expected = dense_rates2(K, M)
    # Differences leave 1e-9 of the stiffness, which the lightest motions weigh most: the highest rate bounds it.
    np.testing.assert_allclose(found.rates2, expected[:count], atol=1e-8 * np.abs(expected).max(), rtol=1e-6)
    assert found.unstable == (expected < -1e-8 * np.abs(expected).max()).sum()
    dense = lw.mass_matrix(model, lw.State(q, np.zeros(model.nv)))
    np.testing.assert_allclose(found.shapes @ dense @ found.shapes.T, np.eye(count), atol=1e-7)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_modes_of_trees_of_all_joints_are_those_of_dense_matrices(make_tree, seed):
    weak = (0.1, -0.2, -0.9)  # gravity; springs of 2 N/m would let sliders go for tens of metres under the whole of it
    model = make_tree(seed=seed, branching=0.2 * seed, stiffness=True, armature=bool(seed % 2), gravity=weak)
    rest = lw.settle(model, model.neutral())
    agrees(model, rest.state.q, min(8, model.nv))


@pytest.mark.parametrize("links", [5, 9])
def test_modes_about_unstable_rest_count_what_falls(links):
    """Hinges and balls without springs, all standing on end."""
    chain = lw.library.chain(links)
    chain.gravity = (0.0, 0.0, 9.81)
    standing = chain.compile()
    found = agrees(standing, standing.neutral().q, links)
    assert found.unstable == links


def bow():
    rod = lw.rod(1.0, 12, EI=0.5, GJ=0.4, mass_per_length=0.3, radius=0.01)
    rod.attach_world("start", lw.Pinned())
    rod.attach_world("end", lw.Clamped(), at=(0.8, 0.0, 0.1))
    return rod.compile()


def ring():
    import math

    def circle(u):
        return math.sin(2 * math.pi * u), 1.0 - math.cos(2 * math.pi * u), 0.0

    rod = lw.rod(None, 10, EI=1.0, GJ=0.7, mass_per_length=1.0, radius=0.05, curve=circle, gravity=(0, 0, 0))
    rod.attach("end", rod.on.start.body, lw.Clamped(), at=lw.Pose())
    return rod.compile()


def stretching():
    rod = lw.rod(1.0, 8, EI=0.5, GJ=0.4, EA=2e3, mass_per_length=0.3, radius=0.02)
    rod.attach_world("start", lw.Clamped())
    rod.attach_world("end", lw.Pinned(), at=(0.9, 0.1, 0.0))
    return rod.compile()


@pytest.mark.parametrize("make", [bow, ring, stretching])
def test_modes_of_closed_and_floating_rods_are_those_of_dense_matrices(make):
    model = make()
    state = model.neutral() if make is ring else lw.settle(model, model.neutral()).state
    agrees(model, state.q, 12)


def random_rod(rng):
    """A few pieces, of any kind, held anyhow, hanging or standing."""
    n, kind = int(rng.integers(3, 9)), str(rng.choice(["ball", "hinges", "plane"]))
    EA = float(rng.choice([0.0, 500.0])) or None
    rod = lw.rod(1.0, n, EI=float(rng.uniform(0.01, 1.0)), GJ=0.1, EA=EA, mass_per_length=1.0, radius=0.02, joints=kind)
    ends = lw.Pinned(), lw.Clamped()
    pitch = float(rng.uniform(-1.5, 1.5))
    rod.attach_world("start", ends[rng.integers(2)], at=lw.Pose(rpy=(0.0, pitch, 0.0)))
    if rng.integers(2):
        side = 0.0 if kind == "plane" else float(rng.uniform(-0.2, 0.2))
        rod.attach_world("end", ends[0], at=(float(rng.uniform(0.5, 0.85)), side, float(rng.uniform(-0.2, 0.2))))
    return rod.compile()


@pytest.mark.parametrize("seed", range(12))
def test_modes_of_random_rods_are_those_of_dense_matrices(seed):
    """But for the roll of hinges that hold each other: at most one, and resisted. What `settle` says of stability holds."""
    model = random_rod(np.random.default_rng(seed))
    rest = lw.settle(model, model.neutral())
    for state, is_rest in ((rest.state, True), (lw.settle(model, model.neutral(), leave_saddles=False).state, False)):
        found = lw.modes(model, state, min(10, model.nv))
        K, M = dense_pencil(model, state.q)
        expected = dense_rates2(K, M)
        size = np.abs(expected).max()
        left = [x for x in expected[: found.below] if np.abs(found.rates2 - x).min() > 1e-8 * size + 1e-6 * abs(x)]
        assert len(left) <= found.left_out <= 1
        assert all(x > 0.0 for x in left)
        assert found.unstable == (expected < -1e-8 * size).sum()
        assert (found.rates2 < 0.0).sum() == min(found.unstable, found.rates2.size)
        if is_rest:
            assert (found.unstable == 0) == rest.stable


@pytest.mark.parametrize("by", ["joint", "loads"])
def test_a_shaft_of_hinges_rolls_on_a_spring(by):
    """Its roll is real where something else than its pieces resists it."""
    linkage = lw.Linkage("shaft", gravity=(0.0, 0.0, 0.0))
    spring = 2.0 if by == "joint" else 0.0
    linkage.add_body(
        "chuck", "world", lw.Revolute((1, 0, 0), stiffness=spring), lw.Pose(), lw.Inertia.sphere(1e-6, 1e-3)
    )
    rod = lw.rod(1.0, 10, EI=50.0, GJ=1.0, mass_per_length=1.0, radius=0.02, joints="hinges")
    rod.attach_to(linkage, start=("chuck", lw.Clamped(), lw.Pose()))
    model = linkage.compile()
    loads = lw.Loads(model)
    if by == "loads":
        for side in (1.0, -1.0):  # both pull outwards: together 2 k r² where they are slack at the radius r
            loads.apply_spring("chuck", target=(0.0, 0.1 * side, 0.0), stiffness=100.0, at=(0.0, 0.1 * side, 0.0))
    found = lw.modes(model, model.neutral(), 6, loads=loads)
    roll = found.roll > 0.5
    assert found.left_out == 0
    expected = np.sqrt(2.0 / (0.5 * 0.02**2)) / (2.0 * np.pi)
    assert found.frequencies[roll] == pytest.approx([expected], rel=0.01)  # of round sections, and the chuck


@pytest.mark.parametrize(("joints", "root"), [("ball", "rod_5"), ("hinges", "rod_5"), ("hinges", "rod_10")])
def test_modes_are_named_alike_from_any_root(joints, root):
    rod = lw.rod(1.0, 10, EI=1.0, GJ=0.7, mass_per_length=1.0, radius=0.02, joints=joints, gravity=(0, 0, 0))
    model = rod.compile()
    turned = lw.reroot(model, model.neutral(), root)
    found, again = (lw.modes(m, state, 12) for m, state in ((model, model.neutral()), (turned.model, turned.state)))
    np.testing.assert_allclose(again.frequencies, found.frequencies, rtol=1e-6, atol=1e-9)
    moves = found.frequencies > 0.0  # motions that nothing resists may be returned as any of their combinations
    for name in ("roll", "axial"):
        shares, same = getattr(found, name), getattr(again, name)
        assert same[~moves].sum() == pytest.approx(shares[~moves].sum(), abs=1e-6)
        assert same[moves].sum() == pytest.approx(shares[moves].sum(), abs=1e-6)


@pytest.mark.parametrize("current", [(0.3, 0.5, 0.0), (0.0, 0.5, 0.0), (0.4, 0.0, 0.0)])
def test_rolling_in_a_current_is_no_instability(current):
    """Drag leaves efforts unbalanced that a rod which rolls about itself, resisted by nothing, must not be judged by."""
    cable = lw.rod(200.0, 20, EI=200.0, GJ=150.0, mass_per_length=1.4, radius=0.0095)
    cable.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 0.8, 0.0)))
    cable.attach_world("end", lw.Pinned(), at=(150.0, 0.0, 0.0))
    model = cable.compile()
    sea = lw.Water(surface=50.0, current=current)
    rest = lw.settle(model, model.neutral(), water=sea)
    found = lw.modes(model, rest.state, 4, water=sea)
    assert rest.stable
    assert found.unstable == 0
    assert found.frequencies[0] == 0.0
    assert found.roll[0] > 1.0 - 1e-6
    assert (found.frequencies[1:] > 0.05).all()
    assert (found.roll[1:] < 1e-3).all()


@pytest.mark.parametrize("joints", ["ball", "hinges"])
@pytest.mark.parametrize("seed", range(10))
def test_few_modes_of_hanging_cables_are_found_and_agree_with_settling(seed, joints):
    """Of any length, sag and number of pieces, balls in a current too; hinges may stand where the mesh holds them least."""
    rng = np.random.default_rng(seed)
    length = float(rng.uniform(5.0, 300.0))
    span, n = length * float(rng.uniform(0.5, 0.95)), int(rng.integers(10, 150))
    EI = 1.4 * 9.81 * length**3 * 10.0 ** float(rng.uniform(-7.0, -4.0))
    cable = lw.rod(length, n, EI=EI, GJ=EI, mass_per_length=1.4, radius=0.0095, joints=joints)
    cable.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 0.8, 0.0)))
    cable.attach_world("end", lw.Pinned(), at=(span, 0.0, 0.0))
    model = cable.compile()
    water = lw.Water(surface=500.0, current=(0.3, 0.2, 0.0)) if seed % 2 and joints == "ball" else None
    rest = lw.settle(model, model.neutral(), water=water)
    for count in (1, 2, 4):
        found = lw.modes(model, rest.state, count, water=water)
        assert found.frequencies.size == count
        assert found.unstable == rest.unstable_modes
        assert (found.rates2 < 0.0).sum() == min(found.unstable, count)
        assert ((found.rates2 == 0.0) == (found.roll > 0.5))[: count if joints == "ball" else 0].all()


@pytest.mark.parametrize("sides", [1, 5, 8, 19])
@pytest.mark.parametrize("base", [None, lw.Free()])
def test_several_right_sides_are_solved_as_each_alone(make_tree, rng, sides, base):
    model = make_tree(seed=7, branching=0.4, stiffness=True, armature=True, **({} if base is None else {"base": base}))
    balance = Balance(model, gather(model, None, None, None), model.random_state(rng).q)
    balance.eliminate_exactly(30.0)
    right = rng.normal(size=(sides, model.nv))
    alone, together = np.zeros_like(right), np.zeros_like(right)
    for b, x in zip(right, alone, strict=True):
        balance.solve(b, x)
    balance.solve_sides(right, together)
    scale = np.abs(alone).max()
    np.testing.assert_allclose(together, alone, atol=1000 * EPS * scale * model.n_bodies)
    product, still = np.zeros_like(right), np.zeros(model.nv)
    balance.mass_times(together, product)
    M = lw.mass_matrix(model, lw.State(balance.place.q, still))
    np.testing.assert_allclose(product, together @ M, atol=1000 * EPS * np.abs(M).max() * scale * model.n_bodies)


@pytest.mark.parametrize("rows", [3, 11])
@pytest.mark.parametrize("base", [None, lw.Free()])
def test_wrenches_on_bodies_are_solved_for_beside_efforts(make_tree, rng, rows, base):
    """Sides 0 and 1 are efforts; the others push three bodies and the world, which does not move."""
    model = make_tree(seed=8, branching=0.5, stiffness=True, **({} if base is None else {"base": base}))
    q = model.random_state(rng).q
    balance = Balance(model, gather(model, None, None, None), q)
    balance.eliminate_exactly(30.0)
    bodies = np.array([-1, 0, model.n_bodies // 2, model.n_bodies - 1])
    C, right = rng.normal(size=(rows, 24)), rng.normal(size=(2, model.nv))
    x, responses = np.zeros((2 + rows, model.nv)), np.zeros((rows, 2 + rows))
    balance.solve_sides(right, x, Pushes(C.reshape(-1, 6), bodies, 2), responses)
    J = np.zeros((rows, model.nv))
    for k in range(model.nv):
        unit = np.zeros(model.nv)
        unit[k] = 1.0
        J[:, k] = C[:, 6:] @ lw.body_twists(model, lw.State(q, unit))[bodies[1:]].ravel()
    alone = np.zeros_like(x)
    balance.solve_sides(np.concatenate([right, J]), alone)
    scale = np.abs(alone).max()
    np.testing.assert_allclose(x, alone, atol=1000 * EPS * scale * model.n_bodies)
    np.testing.assert_allclose(responses, J @ alone.T, atol=1000 * EPS * scale * np.abs(J).max() * model.nv)
