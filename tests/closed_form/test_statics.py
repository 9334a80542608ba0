"""Equilibria with textbook solutions: catenaries, Euler's elastica, a rod bent into a circle, small linkages by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve
from scipy.special import ellipe, ellipk

import linkwork as lw

GRAVITY = 9.81
LENGTH, MASS = 10.0, 1.0  # of every cable [m, kg]
EPS = np.finfo(float).eps


def cable(links: int, anchor: tuple[float, float, float] | None = None, joint: lw.Joint | None = None) -> lw.Model:
    """A cable along x of hinges about y and z by turns; its far end is held at an anchor, or free."""
    size, m = LENGTH / links, MASS / links
    linkage = lw.Linkage("cable", gravity=(0, 0, -GRAVITY))
    inertia = lw.Inertia.box(m, (size, 1e-3, 1e-3)).at(lw.Pose((size / 2, 0, 0)))
    for i in range(links):
        hinge = joint or lw.Revolute((0, 1, 0) if i % 2 == 0 else (0, 0, 1))
        linkage.add_body(
            f"b{i}", "world" if i == 0 else f"b{i - 1}", hinge, lw.Pose((0 if i == 0 else size, 0, 0)), inertia
        )
    if anchor is not None:
        linkage.add_loop(lw.Spherical(), "world", f"b{links - 1}", (lw.Pose(anchor), lw.Pose((size, 0, 0))), name="far")
    return linkage.compile()


def pulled(model: lw.Model, force) -> lw.Loads:
    """A world-fixed force at the free end of a cable."""
    loads = lw.Loads(model)
    loads.apply_wrench(model.n_bodies - 1, force=force, frame="world", at=(LENGTH / model.n_bodies, 0, 0))
    return loads


def slopes(model: lw.Model, state: lw.State) -> np.ndarray:
    """Vertical over horizontal component of every link's direction."""
    d = lw.body_poses(model, state)[:, :3, 0]
    return d[:, 2] / np.hypot(d[:, 0], d[:, 1])


def free_tip_slopes(links: int, force) -> np.ndarray:
    """The discrete catenary: a link hangs along the force of all beyond it and half its own weight."""
    beyond = MASS * GRAVITY * (links - np.arange(links) - 0.5) / links
    return (force[2] - beyond) / np.hypot(force[0], force[1])


@pytest.mark.parametrize("links", [20, 100, 1000])
def test_a_cable_with_a_free_tip_hangs_in_the_discrete_catenary(links):
    """From level, to rounding: for ball-like cables the equilibrium of every link is known in closed form."""
    force = (3.0, 1.0, 0.0)
    model = cable(links, joint=lw.Spherical())
    rest = lw.settle(model, model.neutral(), loads=pulled(model, force), tolerance=1e-13)
    expected = free_tip_slopes(links, force)
    np.testing.assert_allclose(slopes(model, rest.state), expected, atol=1e-8 * np.abs(expected).max())
    assert rest.report.stable
    assert rest.report.sweeps <= 30


def test_a_cable_of_hinges_tends_to_the_catenary_as_links_get_shorter():
    """Its twist is not free, so links differ from the smooth curve by O(1/n)."""
    force, errors = (3.0, 1.0, 0.0), []
    for links in (50, 100, 200, 400):
        model = cable(links)
        rest = lw.settle(model, model.neutral(), loads=pulled(model, force))
        expected = free_tip_slopes(links, force)
        errors.append(float(np.abs(slopes(model, rest.state) / expected - 1.0)[: links // 2].mean()))
    rates = np.array(errors[:-1]) / np.array(errors[1:])
    assert errors[-1] < 0.05
    assert (rates > 1.7).all()  # 2 for O(1/n)


def test_sweeps_do_not_grow_with_the_number_of_links():
    force = (3.0, 1.0, 0.0)
    counts = []
    for links in (100, 1000, 10_000):
        model = cable(links)
        rest = lw.settle(model, model.neutral(), loads=pulled(model, force))
        counts.append(rest.report.sweeps)
        assert rest.report.unbalanced_part <= 1e-10
    assert max(counts) <= 30
    assert counts[-1] <= 2 * counts[0] + 4


@pytest.mark.parametrize("seed", range(10))
def test_a_crumpled_cable_settles_where_a_level_one_does(seed):
    model = cable(500)
    loads = pulled(model, (3.0, 1.0, 0.0))
    rng = np.random.default_rng(seed)
    start = lw.State(rng.normal(size=500) * (1.0 if seed % 2 else 0.1), np.zeros(500))
    rest = lw.settle(model, start, loads=loads)
    level = lw.settle(model, model.neutral(), loads=loads)
    assert rest.report.stable
    scale = MASS * GRAVITY * LENGTH
    assert rest.report.energy == pytest.approx(level.report.energy, abs=1e-9 * scale)


def hanging_between(span: float, rise: float) -> tuple[float, float]:
    """Horizontal tension [N] and parameter of the catenary of the cable's length over a span."""
    chord = np.sqrt(LENGTH**2 - rise**2)
    a = brentq(lambda a: 2 * a * np.sinh(span / (2 * a)) - chord, span / 60, 1e4 * span)
    return a * MASS * GRAVITY / LENGTH, a


@pytest.mark.parametrize(
    ("span", "rise", "tolerance"),
    [(5.0, 0.0, 1e-3), (1.0, 0.0, 0.2), (3.0, -4.0, 1e-2), (8.0, 3.0, 1e-3), (9.9, 0.0, 1e-4), (9.999, 0.0, 1e-3)],
)
@pytest.mark.parametrize("start", ["straight", "bent"])
def test_a_cable_fixed_at_both_ends_hangs_in_a_catenary(span, rise, tolerance, start, rng):
    """Sagging, with a deep belly, nearly taut: the horizontal force at the anchor.

    A cable of hinges can hang twisted, in more than one way; in a sharp bend of few links the force changes by a tenth.
    """
    links = 200
    model = cable(links, (span, 0.0, rise))
    q = np.zeros(links) if start == "straight" else 0.05 * rng.normal(size=links)
    rest = lw.settle(model, lw.State(q, np.zeros(links)))
    R = lw.body_poses(model, rest.state)[-1, :3, :3]
    pull = R @ rest.report.reactions[0, 3:]  # on the last link, in the world
    assert pull[0] == pytest.approx(hanging_between(span, rise)[0], rel=tolerance)
    assert rest.report.stable
    assert rest.report.gap <= 1e-10 * LENGTH
    assert rest.report.unbalanced_part <= 1e-10
    assert start == "bent" or rest.report.sweeps <= 100  # bent: up to hundreds, by rounding


@pytest.mark.parametrize(("links", "span"), [(200, 1.0), (10_000, 2.0)])
def test_a_slack_cable_of_ball_joints_hangs_in_a_catenary_from_straight(links, span):
    """Its links may roll about their own axes, pushed by rounding: that must not hold up the others."""
    model = cable(links, (span, 0.0, 0.0), joint=lw.Spherical())
    rest = lw.settle(model, model.neutral())
    pull = lw.body_poses(model, rest.state)[-1, :3, :3] @ rest.report.reactions[0, 3:]
    assert pull[0] == pytest.approx(hanging_between(span, 0.0)[0], rel=20.0 / links)
    assert rest.report.stable
    assert rest.report.sweeps <= 300  # some 30 to 60


def test_the_force_at_the_anchor_tends_to_the_catenarys_with_the_number_of_links():
    errors = []
    for links in (50, 100, 200):
        model = cable(links, (5.0, 0.0, 0.0))
        rest = lw.settle(model, model.neutral())
        pull = lw.body_poses(model, rest.state)[-1, :3, :3] @ rest.report.reactions[0, 3:]
        errors.append(abs(pull[0] / hanging_between(5.0, 0.0)[0] - 1.0))
    assert errors[0] / errors[1] > 1.7
    assert errors[1] / errors[2] > 1.7


# ------------------------------------------------------------------------------------------------------------ elastic rods


def elastic_rod(links: int, joint: str = "hinge") -> lw.Model:
    """A rod of unit length and bending stiffness, clamped upright: half a cell of it lies before the first joint."""
    size = 1.0 / links
    linkage = lw.Linkage("rod", gravity=(0, 0, 0))
    inertia = lw.Inertia.box(size, (0.01, 0.01, size)).at(lw.Pose((0, 0, size / 2)))
    for i in range(links):
        k = 2.0 / size if i == 0 else 1.0 / size
        kind = lw.Revolute((0, 1, 0), stiffness=k) if joint == "hinge" else lw.Spherical(stiffness=k)
        linkage.add_body(
            f"b{i}", "world" if i == 0 else f"b{i - 1}", kind, lw.Pose((0, 0, 0 if i == 0 else size)), inertia
        )
    return linkage.compile()


def tip(model: lw.Model, state: lw.State) -> np.ndarray:
    T = lw.body_poses(model, state)[-1]
    return T[:3, 3] + T[:3, 2] / model.n_bodies


def elastica(load: float) -> tuple[float, float]:
    """Sideways and upward position of the tip of a buckled column, by elliptic integrals."""
    angle = brentq(lambda a: ellipk(np.sin(a / 2) ** 2) - np.sqrt(load), 1e-6, np.pi - 1e-9)
    p2 = np.sin(angle / 2) ** 2
    return 2 * np.sqrt(p2 / load), 2 * ellipe(p2) / np.sqrt(load) - 1.0


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("over", [1.05, 1.5, 4.0])
def test_a_buckled_column_is_eulers_elastica(joint, over):
    """From exactly straight, which is an equilibrium, but not a stable one."""
    load, errors = over * np.pi**2 / 4, []
    for links in (100, 200):
        model = elastic_rod(links, joint)
        loads = lw.Loads(model)
        loads.apply_wrench(links - 1, force=(0, 0, -load), frame="world", at=(0, 0, 1.0 / links))
        rest = lw.settle(model, model.neutral(), loads=loads)
        assert rest.report.stable
        assert rest.report.saddles_left >= 1
        x, y, z = tip(model, rest.state)
        side = np.hypot(x, y)
        expected = elastica(load)
        errors.append(max(abs(side - expected[0]), abs(z - expected[1])))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] > 3.5  # 4 for the second order


def test_a_long_column_leaves_the_straight_line_at_every_load_above_its_buckling_load():
    """1,000 links, from exactly straight: rounding hides the unstable direction, and it is left all the same."""
    links = 1000
    model, kept = elastic_rod(links), []
    for over in np.linspace(1.02, 4.0, 51):
        loads = lw.Loads(model)
        loads.apply_wrench(links - 1, force=(0, 0, -over * np.pi**2 / 4), frame="world", at=(0, 0, 1.0 / links))
        rest = lw.settle(model, model.neutral(), loads=loads)
        side = np.hypot(*tip(model, rest.state)[:2])
        if not rest.report.stable or abs(side - elastica(over * np.pi**2 / 4)[0]) > 1e-3:
            kept.append(over)
    assert kept == []


def test_a_straight_column_stays_straight_below_its_buckling_load_and_is_reported_unstable_above():
    model = elastic_rod(50)
    for over, stable in ((0.9, True), (1.1, False)):
        loads = lw.Loads(model)
        loads.apply_wrench(49, force=(0, 0, -over * np.pi**2 / 4), frame="world", at=(0, 0, 0.02))
        rest = lw.settle(model, model.neutral(), loads=loads, leave_saddles=False)
        np.testing.assert_array_equal(rest.state.q, 0.0)
        assert rest.report.stable == stable


@pytest.mark.parametrize("joint", ["hinge", "ball"])
def test_an_end_moment_bends_a_rod_into_a_circle(joint):
    """2π times the bending stiffness per length: every joint turns by the same angle, and the ends meet."""
    model = elastic_rod(100, joint)
    loads = lw.Loads(model)
    loads.apply_wrench(99, torque=(0, 2 * np.pi, 0), frame="world")
    rest = lw.settle(model, model.neutral(), loads=loads)
    np.testing.assert_allclose(tip(model, rest.state), 0.0, atol=1e-8)
    P = lw.body_poses(model, rest.state)[:, :3, 3]
    radius = 0.01 / (2 * np.sin(np.pi / 100))  # of a polygon of 100 sides of 0.01
    middle = P.mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(P - middle, axis=1), radius, rtol=1e-7)


# ---------------------------------------------------------------------------------------------------------- small linkages


def test_a_pendulum_on_a_spring_solves_its_transcendental_equation():
    linkage = lw.Linkage("pendulum")
    bar = lw.Inertia.box(2.0, (0.1, 0.1, 1.0)).at(lw.Pose((0, 0, -0.5)))
    linkage.add_body("bar", "world", lw.Revolute((0, 1, 0), stiffness=3.0, rest=0.4), lw.Pose(), bar)
    model = linkage.compile()
    rest = lw.settle(model, model.state([2.0]))
    q = fsolve(lambda q: 3.0 * (q - 0.4) + 2.0 * GRAVITY * 0.5 * np.sin(q), 0.1)[0]
    assert rest.state.q[0] == pytest.approx(q, abs=1e-9)


def test_a_weight_on_a_slide_stretches_its_spring():
    linkage = lw.Linkage("weight")
    linkage.add_body("w", "world", lw.Prismatic((0, 0, 1), stiffness=50.0), lw.Pose(), lw.Inertia.sphere(2.0, 0.1))
    model = linkage.compile()
    rest = lw.settle(model, model.neutral())
    assert rest.state.q[0] == pytest.approx(-2.0 * GRAVITY / 50.0, rel=1e-9)


def test_a_body_afloat_hangs_from_the_spring_that_holds_it():
    linkage = lw.Linkage("afloat")
    linkage.add_body("a", "world", lw.Free(), lw.Pose(), lw.Inertia.box(2.0, (0.1, 0.2, 0.3)))
    model = linkage.compile()
    loads = lw.Loads(model)
    loads.apply_spring("a", target=(1.0, 2.0, 3.0), stiffness=100.0, at=(0.0, 0.0, 0.15))
    rest = lw.settle(model, model.neutral(), loads=loads)
    np.testing.assert_allclose(rest.state.q[:3], (1.0, 2.0, 3.0 - 0.15 - 2.0 * GRAVITY / 100.0), atol=1e-8)
    assert rest.report.stable


def test_a_four_bar_hangs_where_its_energy_is_least(rng):
    """Against a scan over the crank's angle in closed form."""
    linkage = lw.library.four_bar()
    model = linkage.compile()
    rest = lw.settle(model, lw.close_loops(model, model.neutral()))
    assert rest.report.stable
    for _ in range(20):  # nearby closed states lie higher
        q = model.integrate(rest.state.q, 0.02 * rng.normal(size=model.nv))
        near = lw.close_loops(model, lw.State(q, np.zeros(model.nv)))
        assert lw.energy(model, near).potential >= rest.report.energy - 1e-12


def test_small_motions_away_from_rest_cost_energy(rng):
    """A minimum: in 50 random directions, for a cable with loads of all kinds."""
    model = cable(60)
    loads = pulled(model, (2.0, -1.0, 1.0))
    loads.apply_spring("b30", target=(3.0, 1.0, -2.0), stiffness=4.0)
    rest = lw.settle(model, model.neutral(), loads=loads)

    def energy(q):
        T = lw.body_poses(model, lw.State(q, np.zeros(60)))
        size = LENGTH / 60
        end = T[-1, :3, 3] + size * T[-1, :3, 0]
        gap = T[30, :3, 3] - np.array([3.0, 1.0, -2.0])
        weight = lw.energy(model, lw.State(q, np.zeros(60))).potential
        return weight - np.array([2.0, -1.0, 1.0]) @ end + 2.0 * gap @ gap

    least = energy(rest.state.q)
    assert rest.report.energy == pytest.approx(least, abs=1e3 * EPS * MASS * GRAVITY * LENGTH)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(50):
            x = rng.normal(size=60)
            assert energy(rest.state.q + size * x / np.linalg.norm(x)) > least


def test_loads_fixed_in_a_body_are_balanced_where_they_point_then():
    """A pendulum pushed across its bar by a force that turns with it: 0.5 m g sin q = −F."""
    linkage = lw.Linkage("pushed")
    bar = lw.Inertia.box(2.0, (0.1, 0.1, 1.0)).at(lw.Pose((0, 0, -0.5)))
    linkage.add_body("bar", "world", lw.Revolute((0, 1, 0)), lw.Pose(), bar)
    model = linkage.compile()
    wrench = np.zeros((1, 6))
    wrench[0, 3:] = (4.0, 0.0, 0.0)  # at the hinge: nothing
    assert lw.settle(model, model.neutral(), wrenches=wrench).state.q[0] == pytest.approx(0.0, abs=1e-12)
    loads = lw.Loads(model)
    loads.apply_wrench("bar", force=(4.0, 0.0, 0.0), frame="body", at=(0.0, 0.0, -1.0))
    rest = lw.settle(model, model.neutral(), loads=loads)
    assert np.sin(rest.state.q[0]) == pytest.approx(-4.0 / (2.0 * GRAVITY * 0.5), rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_all_joint_kinds_settle(make_tree, seed):
    """Springs hold them within reach; slides, screws, compound, ball and free joints included."""
    from dataclasses import replace

    model = make_tree(seed=seed, base=lw.Free(stiffness=5.0) if seed % 2 else None, branching=0.5, stiffness=True)
    dof = model.arrays.dof.copy()
    dof[:, 1] *= 100.0  # stiffness
    model = replace(model, arrays=model.arrays._replace(dof=dof))
    rest = lw.settle(model, model.random_state(seed))
    holding = lw.inverse_dynamics(model, rest.state, np.zeros(model.nv))
    assert np.abs(holding).max() == pytest.approx(rest.report.unbalanced, abs=1e-9)
    assert rest.report.unbalanced_part <= 1e-10
    assert rest.report.stable


# ---------------------------------------------------------------------------------------------------------- held by loops


@pytest.mark.parametrize("over", [1.1, 2.0])
def test_a_column_pinned_at_both_ends_buckles_into_half_waves_of_the_elastica(over):
    """Its upper end slides in a guide, closed by a loop. Half of it is a clamped column of half the length."""
    links, size = 80, 1.0 / 80
    linkage = lw.Linkage("pinned", gravity=(0, 0, 0))
    inertia = lw.Inertia.box(size, (0.01, 0.01, size)).at(lw.Pose((0, 0, size / 2)))
    for i in range(links):
        hinge = lw.Revolute((0, 1, 0), stiffness=1.0 / size) if i else lw.Revolute((0, 1, 0))
        parent = f"b{i - 1}" if i else "world"
        linkage.add_body(f"b{i}", parent, hinge, lw.Pose((0, 0, size if i else 0)), inertia)
    guide = lw.Compound([lw.Prismatic((0, 0, 1)), lw.Revolute((0, 1, 0))])
    linkage.add_loop(guide, "world", f"b{links - 1}", (lw.Pose(), lw.Pose((0, 0, size))), name="guide")
    model = linkage.compile()
    loads = lw.Loads(model)
    loads.apply_wrench(links - 1, force=(0, 0, -over * np.pi**2), frame="world", at=(0, 0, size))
    still = lw.settle(model, model.neutral(), loads=loads, leave_saddles=False)
    assert not still.report.stable
    rest = lw.settle(model, model.neutral(), loads=loads)
    assert rest.report.stable
    middle = lw.body_poses(model, rest.state)[links // 2, :3, 3]
    assert abs(middle[0]) == pytest.approx(0.5 * elastica(over * np.pi**2 / 4)[0], abs=1e-3)


def test_a_body_held_by_a_loop_alone_hangs_below_it():
    linkage = lw.Linkage("hook")
    linkage.add_body("a", "world", lw.Free(), lw.Pose(), lw.Inertia.box(2.0, (0.1, 0.2, 0.6)))
    hook = np.array([0.02, 0.0, 0.3])
    linkage.add_loop(lw.Spherical(), "world", "a", (lw.Pose((1, 2, 3)), lw.Pose(tuple(hook))), name="hook")
    model = linkage.compile()
    rest = lw.settle(model, model.neutral())
    np.testing.assert_allclose(rest.state.q[:3], (1.0, 2.0, 3.0 - np.linalg.norm(hook)), atol=1e-8)
    assert np.linalg.norm(rest.report.reactions[0, 3:]) == pytest.approx(2.0 * GRAVITY, rel=1e-9)
    assert rest.report.stable
