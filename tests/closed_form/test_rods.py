"""Rods against the closed forms and published numbers of their field."""

import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.kirchhoff import clamped_arc

UP = lw.Pose(rpy=(0.0, -0.5 * math.pi, 0.0))  # x points upwards
SLIDES = (lw.Prismatic((1, 0, 0)), lw.Prismatic((0, 1, 0)), lw.Prismatic((0, 0, 1)))
TURNS = (lw.Revolute((1, 0, 0)), lw.Revolute((0, 1, 0)), lw.Revolute((0, 0, 1)))

# Tip load P L²/EI: drop, shortening, angle of the tip (elliptic integrals, six digits).
ELASTICA = {
    1: (0.301721, 0.056433, 0.461352),
    2: (0.493457, 0.160642, 0.781750),
    3: (0.603253, 0.254420, 0.986017),
    5: (0.713792, 0.387628, 1.215368),
    10: (0.810609, 0.554996, 1.430286),
}
HEAVY = {1: 0.123471, 5: 0.495905, 10: 0.700200, 20: 0.829881}  # q L³/EI: drop over length


def cantilever(n, at=None, EI=1.0, GJ=1.0, **options):
    options = {"mass_per_length": 1.0, "radius": 1e-3, "gravity": (0.0, 0.0, 0.0)} | options
    rod = lw.rod(1.0, n, EI=EI, GJ=GJ, **options)
    rod.attach_world("start", lw.Clamped(), at=at)
    return rod, rod.compile()


def at_tip(rod, model, force=(0, 0, 0), torque=(0, 0, 0)):
    loads = lw.Loads(model)
    loads.apply_wrench(rod.on.end.body, force=force, torque=torque, at=rod.on.end.frame.xyz)
    return loads


def tip(rod, model, state):
    """Position and direction of the end."""
    T = lw.body_poses(model, state)[model.body(rod.on.end.body)] @ rod.on.end.frame.matrix
    return T[:3, 3], T[:3, 0]


@pytest.mark.parametrize("joints", ["ball", "plane"])
def test_a_moment_at_the_end_bends_a_rod_into_a_circle(joints):
    rod, model = cantilever(40, joints=joints)
    rest = lw.settle(model, model.neutral(), loads=at_tip(rod, model, torque=(0, 2.0 * math.pi, 0)))
    end, along = tip(rod, model, rest.state)
    assert np.abs(end).max() < 1e-8
    assert np.abs(along - (1, 0, 0)).max() < 1e-8
    assert rest.report.sweeps <= 30
    assert np.abs(rest.moment[:, 0] - 2.0 * math.pi).max() < 1e-8
    assert np.abs(rest.curvature[:, 0] - 2.0 * math.pi).max() < 1e-8


@pytest.mark.parametrize("load", ELASTICA)
def test_the_elastica_under_a_load_at_its_tip(load):
    errors = []
    for n in (50, 100):
        rod, model = cantilever(n)
        rest = lw.settle(model, model.neutral(), loads=at_tip(rod, model, force=(0, 0, -load)))
        end, along = tip(rod, model, rest.state)
        found = -end[2], 1.0 - end[0], -math.atan2(along[2], along[0])
        errors.append(np.subtract(found, ELASTICA[load]))
        assert rest.stable
        assert rest.unstable_modes == 0
        assert rest.report.sweeps <= 30
    assert np.abs(errors[1]).max() < 1e-4
    assert errors[0][0] / errors[1][0] == pytest.approx(4.0, rel=0.1)  # order 2, as six digits show


@pytest.mark.parametrize("load", HEAVY)
def test_a_cantilever_under_its_own_weight(load):
    errors = []
    for n in (50, 100):
        rod, model = cantilever(n, gravity=(0, 0, -load))
        rest = lw.settle(model, model.neutral())
        errors.append(-tip(rod, model, rest.state)[0][2] - HEAVY[load])
        assert rest.along().start_force == pytest.approx((0.0, 0.0, load), rel=1e-9, abs=1e-9 * load)
    assert abs(errors[1]) < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def bend(n, load, GJ):
    """The 45° bend of Bathe and Bolourchi: a circular arc in the plane, loaded across it."""
    rod = lw.rod(
        None,
        n,
        EI=1.0,
        GJ=GJ,
        mass_per_length=1.0,
        radius=1e-2,
        gravity=(0, 0, 0),
        curve=lambda u: (math.sin(0.25 * math.pi * u), 1.0 - math.cos(0.25 * math.pi * u), 0.0),
    )
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    rest = lw.settle(model, model.neutral(), loads=at_tip(rod, model, force=(0, 0, load)))
    return tip(rod, model, rest.state)[0]


@pytest.mark.parametrize(
    ("GJ", "published"),
    [
        (0.8436, None),  # a square section of a material with ν = 0: 0.1406 · 12 / 2
        (1.0, (0.4723, 0.1579, 0.5337)),  # J = 2 I, as Simo and Vu-Quoc took it: eight elements
    ],
)
def test_the_bend_of_45_degrees_is_that_of_kirchhoffs_equations(GJ, published):
    found = np.array([bend(n, 7.2, GJ) for n in (20, 40, 80)])
    ratios = (found[0] - found[1]) / (found[1] - found[2])
    assert ratios == pytest.approx(4.0, rel=0.1)  # order 2: joints follow the natural shape
    limit = found[2] + (found[2] - found[1]) / 3.0
    exact = clamped_arc(0.25 * math.pi, 1.0, GJ, np.array([0.0, 0.0, 7.2]))
    assert limit == pytest.approx(exact, abs=2e-6)  # what is left is of order 4: (π/4/80)⁴ times some hundreds
    if published:
        assert exact == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(("angle", "strong", "weak"), [(45.0, 0.008837, 0.108988), (90.0, 0.0, 0.146246)])
def test_the_princeton_beam(angle, strong, weak):
    section = lw.rectangle(3.2024e-3, 12.3777e-3)  # width along y, height along z
    rod = lw.rod(0.508, 60, section=section, material=lw.Material(71.7e9, 0.31, 2700.0), gravity=(0, 0, 0))
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    a = math.radians(angle)
    rest = lw.settle(
        model, model.neutral(), loads=at_tip(rod, model, force=(0, 8.896 * math.sin(a), -8.896 * math.cos(a)))
    )
    end, _ = tip(rod, model, rest.state)
    assert -end[2] == pytest.approx(strong, rel=0.01, abs=1e-9)
    assert end[1] == pytest.approx(weak, rel=0.01)


def test_critical_loads_are_where_a_pivot_changes_its_sign():
    n = 100
    rod, model = cantilever(n, at=UP)
    column = lw.buckling(model, model.neutral(), lambda p: at_tip(rod, model, force=(0, 0, -p)), 0.5, 4.0, steps=4)
    assert column.load == pytest.approx(0.25 * math.pi**2, rel=1e-3)
    assert (column.unstable_below, column.unstable_above) == (0, 2)
    heavy = lw.buckling(
        model, model.neutral(), lambda p: cantilever(n, at=UP, gravity=(0, 0, -p))[1], 2.0, 9.0, steps=4, tolerance=1e-5
    )
    assert heavy.load == pytest.approx(7.8373, rel=1e-3)
    strip, thin = cantilever(n, EI=(1e4, 1.0))
    lateral = lw.buckling(thin, thin.neutral(), lambda p: at_tip(strip, thin, force=(0, 0, -p)), 1.0, 6.0, steps=4)
    assert lateral.load == pytest.approx(4.0126, rel=1e-3)
    assert lateral.unstable_above == 1


def test_a_rod_whose_ends_are_twisted_against_each_other_buckles_at_one_turn_of_torque():
    def twisted(angle):
        rod, _ = cantilever(100, GJ=2.0)
        frames = (lw.Pose(xyz=(1.0, 0.0, 0.0), rpy=(angle, 0.0, 0.0)), rod.on.end.frame)
        rod.add_loop(lw.Compound(SLIDES), "world", rod.on.end.body, frames)  # keeps directions, lets it move aside
        return rod.compile()

    model = twisted(0.0)
    found = lw.buckling(model, model.neutral(), twisted, 2.5, 3.5, steps=2, tolerance=1e-5)
    assert 2.0 * found.load == pytest.approx(2.0 * math.pi, rel=1e-3)


def test_buckled_columns_are_left_for_the_stable_equilibrium_at_every_load():
    rod, model = cantilever(300, at=UP, joints="plane")
    for part in np.linspace(1.02, 20.0, 12):
        rest = lw.settle(model, model.neutral(), loads=at_tip(rod, model, force=(0, 0, -part * 0.25 * math.pi**2)))
        assert rest.stable
        assert rest.report.saddles_left >= 1


def test_frequencies_of_a_hanging_chain_are_zeros_of_a_laguerre_polynomial():
    n = 10
    chain = lw.Linkage("point masses")
    for i in range(n):
        place = lw.Pose((0, 0, -0.1 if i else 0.0))
        mass = lw.Inertia(1.0, (0, 0, -0.1), (0, 0, 0))
        chain.add_body(f"b{i}", f"b{i - 1}" if i else "world", lw.Revolute((0, 1, 0)), place, mass)
    model = chain.compile()
    found = lw.modes(model, model.neutral(), n)
    zeros = np.sort(np.polynomial.laguerre.lagroots([0.0] * n + [1.0]))
    assert found.rates2 == pytest.approx(98.1 * zeros, rel=1e-10)
    assert 2.0 * math.pi * found.frequencies[:3] / math.sqrt(9.81) == pytest.approx(
        (1.173855, 2.700842, 4.252462), abs=1e-6
    )
    assert found.below == n
    assert found.unstable == 0


@pytest.mark.parametrize(
    ("ends", "roots", "still"),
    [
        ("clamped", (1.87510407, 4.69409113, 7.85475744), 0),
        ("free", (4.73004074, 7.85320462, 10.99560784), 6),
        ("hinged", (math.pi, 2 * math.pi, 3 * math.pi), 1),
    ],
)
def test_frequencies_of_a_rod(ends, roots, still):
    errors = []
    for n in (50, 100):
        rod = lw.rod(1.0, n, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=1e-5, gravity=(0, 0, 0))
        if ends == "clamped":
            rod.attach_world("start", lw.Clamped())
        elif ends == "hinged":
            rod.attach_world("start", lw.Pinned())
            frames = (lw.Pose((1.0, 0.0, 0.0)), rod.on.end.frame)
            rod.add_loop(lw.Compound((SLIDES[0], *TURNS)), "world", rod.on.end.body, frames)
        model = rod.compile()
        found = lw.modes(model, model.neutral(), still + 6)
        assert found.frequencies[:still] == pytest.approx(0.0, abs=1e-4)
        errors.append(2.0 * math.pi * found.frequencies[still:] / np.repeat(np.square(roots), 2) - 1.0)  # both planes
        assert found.below == still + 6
    assert np.abs(errors[1]).max() < 1e-3
    if ends == "clamped":
        assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def hanging(length, span, joints, EA=None, segments=60):
    cable = lw.rod(length, segments, EI=1.0, GJ=100.0, EA=EA, mass_per_length=1.4, radius=0.0095, joints=joints)
    cable.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 0.8 if length > 1.1 * span else 0.15, 0.0)))
    cable.attach_world("end", lw.Pinned(), at=(span, 0.0, 0.0))
    return cable.compile()


def across_a_catenary(length, span, count):
    """Frequencies across its plane: (T w')' = −ω² m w over the arc, T = (H² + (m g s)²)^½; a Galerkin method with sines."""
    a = 0.5 * span  # of the catenary: 2 a sinh(span / 2 a) = length, by bisection
    low, high = 0.05 * span, 50.0 * span
    for _ in range(200):
        a = 0.5 * (low + high)
        low, high = (a, high) if 2.0 * a * math.sinh(0.5 * span / a) > length else (low, a)
    s, weight = np.polynomial.legendre.leggauss(400)
    s, weight = 0.5 * length * (s + 1.0), 0.5 * length * weight
    tension = 9.81 * np.sqrt(a**2 + (s - 0.5 * length) ** 2)  # over m
    k = np.arange(1, 41)[:, None] * math.pi / length
    slope, way = k * np.cos(k * s), np.sin(k * s)
    rates2 = np.linalg.eigvals(np.linalg.solve((way * weight) @ way.T, (slope * tension * weight) @ slope.T)).real
    return np.sqrt(np.sort(rates2)[:count]) / (2.0 * math.pi)


@pytest.mark.parametrize("joints", ["ball", "hinges"])
def test_frequencies_of_a_cable_with_a_deep_sag(joints):
    """Rolling about itself is named where nothing resists it, and not listed where the pieces of hinges alone do."""
    model = hanging(200.0, 150.0, joints)
    rest = lw.settle(model, model.neutral())
    for count in (2, 3, 4, 8):
        found = lw.modes(model, rest.state, count)
        assert len(found.frequencies) == count
        assert found.unstable == 0
        assert found.left_out == (1 if joints == "hinges" else 0)
        is_roll = found.roll > 0.5
        assert found.frequencies[is_roll].tolist() == ([0.0] if joints == "ball" else [])
    swings = found.frequencies[~is_roll & (found.axial < 1e-3)]
    # segments of 3.3 m, EI, and what the extension leaves out: below 1e-3 for four waves, as (length / segment)² says
    assert swings == pytest.approx(across_a_catenary(200.0, 150.0, len(swings)), rel=1e-2)
    assert swings[:2] == pytest.approx(across_a_catenary(200.0, 150.0, 2), rel=2e-3)


@pytest.mark.parametrize("joints", ["ball", "hinges"])
def test_frequencies_of_a_shallow_cable_are_those_of_irvine(joints):
    """H. M. Irvine, "Cable Structures", 1981: across n c/2l and 2n c/2l, symmetric ones by tan(ω̄/2) = ω̄/2 − 4/λ² (ω̄/2)³."""
    span, stretch = 100.0, 3e5
    model = hanging(100.6, span, joints, EA=stretch)
    rest = lw.settle(model, model.neutral())
    pull, weight = abs(rest.along().start_force[0]), 1.4 * 9.81 * span
    rate = math.sqrt(pull / 1.4) / span
    number = (weight / pull) ** 2 * stretch / pull / (1.0 + weight**2 / (8.0 * pull**2))
    low, high = math.pi + 1e-6, 3.0 * math.pi - 1e-6  # the first symmetric mode here: λ² is above 4π²
    for _ in range(100):
        x = 0.5 * (low + high)
        rises = math.tan(0.5 * x) - 0.5 * x + 4.0 / number * (0.5 * x) ** 3 > 0.0
        low, high = (low, x) if rises else (x, high)
    expected = [0.5 * rate, rate, rate, x * rate / (2.0 * math.pi)]
    found = lw.modes(model, rest.state, 5)
    assert found.unstable == 0
    # sag / span = 0.073: the theory is one of small slopes, whose squares are 0.08
    assert found.frequencies[found.roll < 0.5][:4] == pytest.approx(expected, rel=0.03)


def test_a_cable_between_two_anchors_hangs_in_the_catenary_and_gives_its_tension():
    errors = []
    for n in (100, 1000):
        cable = lw.library.chain(n, length=100.0 / n, mass=100.0 / n, axes="same", radius=1e-3)
        end = (lw.Pose((80.0, 0.0, 0.0)), lw.Pose((0.0, 0.0, -100.0 / n)))
        cable.add_loop(lw.Spherical(), "world", f"link_{n - 1}", end)
        model = cable.compile()
        rest = lw.settle(model, model.neutral())
        pull = np.linalg.norm(rest.report.reactions[0, 3:]) / 981.0
        errors.append((-lw.body_poses(model, rest.state)[:, 2, 3].min() - 26.543750914, pull - 0.603639388))
        forces = np.linalg.norm(lw.joint_reactions(model, rest.state)[:, 3:], axis=1)  # with loops, in motion or not
        assert forces == pytest.approx(np.linalg.norm(rest.wrenches[:, 3:], axis=1), rel=1e-6)
    assert errors[0][1] / errors[1][1] == pytest.approx(100.0, rel=0.05)
    assert abs(errors[1][1]) < 1e-6
    assert abs(errors[1][0]) < 2e-5


def test_a_branch_is_followed_past_its_fold():
    """A bar on a torsion spring under a dead load: p = (θ₀ − θ)/cos θ is least where (θ₀ − θ) tan θ = 1."""
    slack = 1.8
    bar = lw.Linkage("bar", gravity=(0, 0, 0))
    hinge = lw.Revolute((0, -1, 0), stiffness=1.0, rest=slack)
    bar.add_body("bar", joint=hinge, inertia=lw.Inertia(1.0, (1.0, 0, 0), (0.1, 0.1, 0.1)))
    model = bar.compile()

    def load(p):
        loads = lw.Loads(model)
        loads.apply_wrench("bar", force=(0, 0, -p), at=(1, 0, 0))
        return loads

    branch = lw.continuation(model, model.neutral(), load, 1.75, 1.0, step=0.05)
    angles = np.array([state.q[0] for state in branch.states])
    assert branch.loads == pytest.approx((slack - angles) / np.cos(angles), abs=1e-7)
    low, high = 0.5, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (slack - middle) * math.tan(middle) < 1.0 else (low, middle)
    assert branch.folds == pytest.approx([(slack - low) / math.cos(low)], abs=1e-3)
    assert branch.unstable.tolist() == [int(angle > low) for angle in angles]


def test_the_elastica_is_followed_by_arc_length():
    rod, model = cantilever(30, joints="plane")
    branch = lw.continuation(
        model, model.neutral(), lambda p: at_tip(rod, model, force=(0, 0, -p)), 0.0, 10.0, step=0.2, max_steps=60
    )
    assert branch.loads[-1] >= 10.0
    assert (branch.unstable == 0).all()
    k = int(np.argmin(np.abs(branch.loads - 5.0)))
    loads = at_tip(rod, model, force=(0, 0, -float(branch.loads[k])))
    same = lw.settle(model, model.neutral(), loads=loads).state.q
    assert branch.states[k].q == pytest.approx(same, abs=1e-7)


def test_a_shallow_truss_snaps_through():
    """Two springs from pins to an apex: p = 2 k (l₀/l − 1) y, which turns back where l = ∛(l₀ a²)."""
    a, rise, k = 1.0, 0.3, 100.0
    slack = math.hypot(a, rise)
    slope = math.atan2(rise, a)
    light = lw.Inertia(0.1, (0, 0, 0), (0.01, 0.01, 0.01))
    truss = lw.Linkage("truss", gravity=(0, 0, 0))
    along = lw.Prismatic((1, 0, 0), stiffness=k)
    truss.add_body("left", joint=lw.Revolute((0, -1, 0)), inertia=light, placement=lw.Pose(rpy=(0, -slope, 0)))
    truss.add_body("apex", "left", along, lw.Pose((slack, 0, 0)), light)
    turned = lw.Pose(rpy=(0, 2.0 * slope, 0))
    truss.add_body("right", "apex", lw.Revolute((0, -1, 0)), turned, light)
    truss.add_body("foot", "right", along, lw.Pose((slack, 0, 0)), light)
    truss.add_loop(lw.Spherical(), "world", "foot", (lw.Pose((2.0 * a, 0, 0)), lw.Pose()))
    model = truss.compile()
    apex = model.body("apex")

    def load(p):
        loads = lw.Loads(model)
        loads.apply_wrench("apex", force=(0, 0, -p))
        return loads

    branch = lw.continuation(model, model.neutral(), load, -1.5, 3.0, step=0.05, scale=1.0, max_steps=400)
    y = np.array([lw.body_poses(model, state)[apex, 2, 3] for state in branch.states])
    assert branch.loads == pytest.approx(2.0 * k * (slack / np.hypot(a, y) - 1.0) * y, abs=1e-6)
    turn = (slack * a * a) ** (1.0 / 3.0)
    low = math.sqrt(turn**2 - a * a)
    fold = 2.0 * k * (slack / turn - 1.0) * low
    assert branch.folds == pytest.approx([fold, -fold], rel=1e-3)
    assert y[-1] < -rise  # the other way round
    assert branch.loads[-1] >= 3.0
    assert branch.unstable.tolist() == [int(abs(height) < low) for height in y]
    assert max(np.abs(lw.loop_gaps(model, state).gap).max() for state in branch.states) < 1e-8
