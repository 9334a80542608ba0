"""Water around bodies: terminal speeds, thick fluids, the angle of a towed cable, and what is refused."""

import math
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.environment.wetted import fluid_wrenches
from linkwork.errors import StateError

RADIUS, LENGTH, MASS, DENSITY = 0.01, 1.0, 2.0, 1000.0
DEEP = {"surface": 1e9}


def falling():
    """A rod across its fall, on a slider."""
    linkage = lw.Linkage("falling")
    shape = lw.Capsule(RADIUS, LENGTH, placement=lw.Pose(rpy=(0.0, 0.5 * math.pi, 0.0)))
    body = lw.Inertia(MASS, (0, 0, 0), (1, 1, 1))
    linkage.add_body("rod", joint=lw.Prismatic((0, 0, 1)), inertia=body, shapes=[shape])
    return linkage.compile()


def test_a_falling_rod_follows_its_closed_form():
    model = falling()
    water = lw.Water(DENSITY, drag=(1.2, 0.02), added_mass=1.0, **DEEP)
    displaced = DENSITY * math.pi * RADIUS**2 * LENGTH
    weight = (MASS - displaced) * 9.81
    top = math.sqrt(weight / (0.5 * DENSITY * 1.2 * 2 * RADIUS * LENGTH))
    rate = weight / ((MASS + displaced) * top)
    errors = []
    for h in (4e-3, 2e-3):
        sim = lw.FullDynamics(model, model.neutral(), water=water)
        sim.step(h, round(0.3 / h))
        errors.append(-sim.state.v[0] - top * math.tanh(0.3 * rate))
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)  # order 1
    assert abs(errors[1]) < 3e-3 * top
    sim.step(1e-2, 600)
    assert -sim.state.v[0] == pytest.approx(top, rel=1e-6)


def test_no_fluid_is_too_thick_for_a_step():
    model = falling()
    sim = lw.FullDynamics(model, model.state(v=[1000.0]), water=lw.Water(1e6, drag=(50.0, 50.0), **DEEP))
    speeds = []
    for _ in range(30):
        sim.step(0.1)
        speeds.append(abs(sim.state.v[0]))
    assert all(later <= earlier * 1.01 for earlier, later in pairwise(speeds))
    assert speeds[-1] < 0.1


def test_a_towed_cable_hangs_at_the_angle_where_weight_and_drag_balance():
    weight, thick, speed = 3.0, 0.02, 1.0
    cable = lw.rod(100.0, 20, EI=1e-3, GJ=1e-3, mass_per_length=weight / 9.81 + 1025.0 * math.pi * 1e-4, radius=0.01)
    cable.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 1.4, 0.0)))
    model = cable.compile()
    rest = lw.settle(model, model.neutral(), water=lw.Water(1025.0, (speed, 0, 0), (1.2, 0.0), surface=1e3))
    along = lw.body_poses(model, rest.state)[model.body(cable.on.bodies[10]), :3, 0]
    angle = math.asin(-along[2])
    drag = 0.5 * 1025.0 * 1.2 * thick * speed**2
    assert weight * math.cos(angle) == pytest.approx(drag * math.sin(angle) ** 2, rel=1e-4)
    # and its motion rests there
    sim = lw.FullDynamics(model, rest.state, water=lw.Water(1025.0, (speed, 0, 0), (1.2, 0.0), surface=1e3))
    assert np.abs(sim.acceleration).max() < 1e-3


def swimming(seed):
    """A random tree whose bodies have capsules, at a random state near the surface and the seabed."""
    linkage = lw.library.random_tree(14, seed=seed, floating=seed % 2 == 1)
    for k, body in enumerate(list(linkage)):
        pose = lw.Pose(rpy=(0.3 * k, 0.2 * k, 0.0))
        linkage.edit_body(body.name, shapes=[lw.Capsule(0.03, 0.3, placement=pose)])
    model = linkage.compile()
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral().q, rng.normal(size=model.nv))
    return model, lw.State(q, 0.5 * rng.normal(size=model.nv))


def swirl(places, time):
    return np.column_stack([0.3 * np.sin(places[:, 2] + time), 0.5 * np.cos(places[:, 0]), 0.0 * places[:, 0]])


WATERS = [
    lw.Water(current=(0.5, 0.2, 0.0), surface=0.1),
    lw.Water(current=[(-2, 0.1, 0, 0), (0, 1, 0, 0)], surface=0.2, depth=5.0, waves=lw.Waves(0.2, 2.0, (1.0, 1.0))),
    lw.Water(current=swirl, surface=0.5, depth=0.8, seabed=lw.Seabed(1e3, friction=0.5, damping=10.0)),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("water", range(3))
def test_adaptive_dynamics_with_all_joints_active_are_full_dynamics(seed, water):
    """Poses of groups are exact where every body is its own group: differences are those of fused operations."""
    model, state = swimming(seed)
    full = lw.FullDynamics(model, state, water=WATERS[water])
    all_active = lw.AdaptiveDynamics(model, state, tolerance=0.0, water=WATERS[water])
    few = lw.AdaptiveDynamics(model, state, max_active_joints=4, water=WATERS[water])
    for sim in (full, all_active, few):
        sim.advance(1e-3, 25)
    assert all_active.state.q == pytest.approx(full.state.q, abs=1e-10)
    assert all_active.state.v == pytest.approx(full.state.v, abs=1e-8)
    assert np.isfinite(few.state.q).all()
    assert few.report.n_active <= 5  # and the base of a floating tree


def test_few_active_joints_follow_a_cable_in_a_current_and_rest_where_it_rests():
    cable = lw.rod(20.0, 40, EI=0.5, GJ=0.5, mass_per_length=1.0, radius=0.01)
    cable.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 1.4, 0.0)))
    model, water = cable.compile(), lw.Water(current=(0.5, 0.2, 0.0), surface=1.0)
    full = lw.FullDynamics(model, model.neutral(), water=water)
    few = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=20, water=water)
    for sim in (full, few):
        sim.advance(1e-2, 300)
    tips = [lw.body_poses(model, sim.state)[-1, :3, 3] for sim in (full, few)]
    moved = np.linalg.norm(tips[0] - lw.body_poses(model, model.neutral())[-1, :3, 3])
    assert np.linalg.norm(tips[1] - tips[0]) < 0.05 * moved
    rest = lw.settle(model, model.neutral(), water=water)
    still = lw.AdaptiveDynamics(model, rest.state, max_active_joints=10, water=water)
    still.advance(1e-2, 100)
    assert np.abs(model.difference(rest.state.q, still.state.q)).max() < 1e-8
    saved = few.checkpoint()
    few.advance(1e-2, 15)
    again = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=20, water=water)
    again.restore(saved)
    again.advance(1e-2, 15)
    assert np.array_equal(again.state.q, few.state.q)


def test_a_body_without_mass_of_its_own_follows_waves():
    """Where drag holds a point to the fluid, it moves with Airy's velocity: a ω e^{kz}, across and up alike."""
    waves = lw.Waves(0.02, 4.0)
    linkage = lw.Linkage("float", gravity=(0.0, 0.0, 0.0))
    slides = lw.Compound((lw.Prismatic((1, 0, 0)), lw.Prismatic((0, 0, 1))))
    linkage.add_body("ball", joint=slides, inertia=lw.Inertia.sphere(1e-3, 0.01), shapes=[lw.Sphere(0.01)])
    model = linkage.compile()
    start = model.state(q=[0.0, -2.0])
    sim = lw.FullDynamics(model, start, water=lw.Water(drag=(500.0, 500.0), waves=waves))
    k = waves.number(math.inf)
    assert waves.rate**2 == pytest.approx(9.81 * k)
    sim.advance(2e-3, 2000)  # a period, past the start
    speeds = []
    for _ in range(200):
        sim.advance(2e-3, 10)
        speeds.append(sim.state.v.copy())
    size = 0.5 * np.ptp(np.array(speeds), axis=0)
    assert size == pytest.approx(0.02 * waves.rate * math.exp(-2.0 * k), rel=0.03)  # ka = 0.005, and steps of 2 ms
    shallow = lw.Waves(0.1, 10.0)
    depth = 2.0
    assert shallow.rate**2 == pytest.approx(9.81 * shallow.number(depth) * math.tanh(shallow.number(depth) * depth))


def test_the_seabed_carries_weight_and_rubs_as_coulomb_says():
    """A rod lies at the depth of its weight over the stiffness, and slides against friction at its coefficient."""
    linkage = lw.Linkage("lying")
    shape = lw.Capsule(RADIUS, LENGTH, placement=lw.Pose(rpy=(0.0, 0.5 * math.pi, 0.0)))
    slides = lw.Compound((lw.Prismatic((0, 1, 0)), lw.Prismatic((0, 0, 1))))
    linkage.add_body("rod", joint=slides, inertia=lw.Inertia(MASS, (0, 0, 0), (1, 1, 1)), shapes=[shape])
    model = linkage.compile()
    bed = lw.Seabed(5e3, friction=0.4, damping=300.0)
    water = lw.Water(DENSITY, drag=(0.0, 0.0), added_mass=0.0, surface=1.0, depth=1.0, seabed=bed)
    weight = (MASS - DENSITY * math.pi * RADIUS**2 * LENGTH) * 9.81
    rest = lw.settle(model, model.state(q=[0.0, 0.0]), water=water)
    assert rest.state.q[1] == pytest.approx(RADIUS - weight / (5e3 * LENGTH), rel=1e-9)
    sim = lw.FullDynamics(model, lw.State(rest.state.q, np.array([1.0, 0.0])), water=water)
    sim.advance(1e-3, 100)
    assert sim.state.v[0] == pytest.approx(1.0 - 0.1 * 0.4 * weight / MASS, rel=5e-3)  # taken where steps end: order 1
    sim.advance(1e-3, 3000)
    assert abs(sim.state.v[0]) < 1e-6
    assert sim.state.q[0] == pytest.approx(0.5 / (0.4 * weight / MASS), rel=1e-2)


def test_a_closed_cable_settles_in_a_current_and_its_motion_rests_there():
    cable = lw.rod(120.0, 30, EI=1e2, GJ=1e2, mass_per_length=20.0, radius=0.03)
    cable.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 1.2, 0.0)))
    cable.attach_world("end", lw.Pinned(), at=(100.0, 0.0, -20.0))
    model = cable.compile()
    for water in (lw.Water(current=(0.0, 1.0, 0.0)), lw.Water(depth=40.0, seabed=lw.Seabed(1e4))):
        rest = lw.settle(model, model.neutral(), water=water)
        assert rest.report.unbalanced_part <= 1e-10
        assert rest.report.sweeps <= 10
        sim = lw.FullDynamics(model, rest.state, water=water)
        sim.advance(1e-2, 50)
        moved = lw.body_poses(model, sim.state)[:, :3, 3] - lw.body_poses(model, rest.state)[:, :3, 3]
        assert np.abs(moved).max() < 1e-4


@pytest.mark.parametrize(("start", "end"), [("pinned", "free"), ("clamped", "free"), ("pinned", "pinned")])
def test_a_tether_comes_to_rest_in_a_current_that_turns_with_depth(start, end):
    """Also where it may roll about its axis, which nothing resists; the motion from there stays."""
    held = {"tip_mass": 80.0, "tip_radius": 0.25} if end == "free" else {"end_at": (60.0, 0.0, -270.0)}
    rod = lw.library.rod(
        300.0, 30, EI=12.0, GJ=8.0, mass_per_length=1.2, radius=0.012, start=start, pitch=0.5 * math.pi, end=end, **held
    )
    model = rod.compile()
    water = lw.Water(current=[[-300.0, 0.0, 0.3, 0.0], [-150.0, 0.4, 0.0, 0.0], [0.0, 0.6, -0.5, 0.0]], depth=350.0)
    rest = lw.settle(model, model.neutral(), water=water)
    assert rest.report.unbalanced_part < 1e-9
    assert rest.report.sweeps <= 40
    before = lw.body_poses(model, rest.state)[:, :3, 3]
    assert np.abs(before[:, 1]).max() > 1.0  # it leaves the plane
    sim = lw.FullDynamics(model, rest.state, water=water)
    sim.advance(0.02, 100)
    # An effort of 1e-9 of the loads moves bodies of 10 kg by micrometres within 2 s.
    assert np.abs(lw.body_poses(model, sim.state)[:, :3, 3] - before).max() < 1e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drag": (-1.0, 0.0)}, "drag across is -1"),
        ({"drag": (1.0, math.nan)}, "drag along is nan"),
        ({"density": 0.0}, "density is 0"),
        ({"added_mass": -0.1}, "added_mass is -0.1"),
        ({"current": (1.0, 2.0)}, "current is"),
        ({"current": [(0, 1, 0, 0), (-5, 1, 0, 0)]}, "must rise"),
        ({"seabed": lw.Seabed(1e4)}, "needs a depth"),
        ({"waves": 1.0}, "waves are"),
        ({"waves": lw.Waves(1.0, 5.0), "surface": math.inf}, "need a surface"),
    ],
)
def test_bad_water_is_refused(options, words):
    with pytest.raises(StateError, match=words):
        lw.Water(**options)


def test_water_needs_shapes_and_a_fitting_integrator():
    model = falling()
    with pytest.raises(StateError, match="semi_implicit_euler"):
        lw.FullDynamics(model, model.neutral(), integrator="rk4", water=lw.Water())
    bare = lw.Linkage("bare")
    bare.add_body("b", joint=lw.Prismatic((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1))
    with pytest.raises(StateError, match="has a shape"):
        lw.settle(bare.compile(), bare.compile().neutral(), water=lw.Water())


def towed(base, current, anchor=(40.0, 0.0, -50.0), stiffness=None):
    """A vessel on a line of 80 m, which is anchored or hangs freely."""
    sea = lw.Linkage("sea")
    hull = lw.Inertia.box(5e4, (10, 4, 3))
    sea.add_body("vessel", "world", base, lw.Pose(), hull, shapes=(lw.Box((10, 4, 3)),))
    line = lw.rod(80.0, 20, EI=200.0, GJ=150.0, mass_per_length=3.0, radius=0.02)
    held = None if anchor is None else ("world", lw.Pinned(), lw.Pose(anchor))
    line.attach_to(sea, start=("vessel", lw.Pinned(), lw.Pose((0.0, 0.0, -1.5), rpy=(0.0, 1.2, 0.0))), end=held)
    return sea.compile(), lw.Water(current=current, depth=200.0)


@pytest.mark.parametrize("current", [(0.5, 0.0, 0.0), (0.3, 0.2, 0.0)])
@pytest.mark.parametrize("base", [lw.Prismatic((1, 0, 0)), lw.Prismatic((0.8, 0.6, 0))], ids=["along", "slanting"])
def test_a_vessel_that_its_line_alone_holds_comes_to_rest(base, current):
    """The slider resists nothing itself: what its line and the stream do to it is in balance there, and the loop closed."""
    model, water = towed(base, current)
    rest = lw.settle(model, model.neutral(), water=water)
    assert rest.stable
    assert rest.report.gap < 1e-6
    assert rest.report.unbalanced_part < 1e-10
    forces, state = rest.along(), rest.state
    axis = np.array(base.axis) / np.linalg.norm(base.axis)
    drag = fluid_wrenches(model, water, state.q, state.v)[model.body("vessel"), 3:]
    assert axis @ (drag - forces.start_force) == pytest.approx(0.0, abs=1e-6 * np.linalg.norm(forces.start_force))


def test_what_drifts_with_the_stream_is_named():
    model, water = towed(lw.Prismatic((1, 0, 0)), (0.5, 0.0, 0.0), anchor=None)
    with pytest.raises(StateError, match="joint 'vessel' slides on and on, and nothing holds it"):
        lw.settle(model, model.neutral(), water=water, max_sweeps=60)


@pytest.mark.parametrize("kind", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_limits_and_kept_momentum_are_refused_in_water_by_name(kind):
    """They were set to False: a robot went through its limits."""
    arm = lw.Linkage("arm")
    inertia, shape = lw.Inertia.sphere(1.0, 0.1), lw.Capsule(0.05, 0.5)
    arm.add_body("upper", "world", lw.Revolute((0, 1, 0), limits=(-0.5, 0.5)), lw.Pose(), inertia, shapes=(shape,))
    model, free = arm.compile(), falling()
    for limits in (True, None):
        with pytest.raises(
            StateError, match=r"joint limits do not act in water, and joints of this model.*limits=False"
        ):
            kind(model, model.neutral(), water=lw.Water(), limits=limits)
    with pytest.raises(StateError, match="limits do not act in water: leave"):
        kind(free, free.neutral(), water=lw.Water(), limits=True)
    with pytest.raises(StateError, match="keep_momentum=True"):
        kind(free, free.neutral(), water=lw.Water(), keep_momentum=True)
    sim = kind(model, model.neutral(), water=lw.Water(), limits=False, keep_momentum=False)
    assert (sim.limits, sim.keep_momentum) == (False, False)
    assert not kind(free, free.neutral(), water=lw.Water()).keep_momentum
    assert kind(free, free.neutral()).keep_momentum


def test_bad_waves_and_currents_are_refused():
    with pytest.raises(StateError, match="period is 0"):
        lw.Waves(1.0, 0.0)
    with pytest.raises(StateError, match="direction"):
        lw.Waves(1.0, 5.0, (0.0, 0.0))
    model = falling()
    wrong = lw.FullDynamics(model, model.neutral(), water=lw.Water(current=lambda places, time: np.zeros((2, 2))))
    with pytest.raises(StateError, match=r"current\(places, time\) must give"):
        wrong.advance(1e-3)
    infinite = lw.Water(current=lambda places, time: places * np.nan)
    with pytest.raises(StateError, match="current at"):
        lw.FullDynamics(model, model.neutral(), water=infinite).advance(1e-3)


def test_a_stick_swings_in_water_as_weight_and_added_mass_say():
    """Pinned at its end, hanging: ω² = ½ (m − ρV) g L / (⅓ (m + ρV) L²); in a current it must be settled first."""
    linkage = lw.Linkage("stick")
    shape = lw.Capsule(RADIUS, LENGTH, placement=lw.Pose((0.0, 0.0, -0.5 * LENGTH)))
    third = MASS * LENGTH**2 / 12.0
    body = lw.Inertia(MASS, (0, 0, -0.5 * LENGTH), (third, third, 1e-6 * third))
    linkage.add_body("stick", joint=lw.Revolute((0, 1, 0)), inertia=body, shapes=[shape])
    model = linkage.compile()
    still = lw.Water(DENSITY, drag=(1.2, 0.02), added_mass=1.0, **DEEP)
    displaced = DENSITY * math.pi * RADIUS**2 * LENGTH
    found = lw.modes(model, model.neutral(), 1, water=still)
    assert found.rates2[0] == pytest.approx(1.5 * 9.81 * (MASS - displaced) / ((MASS + displaced) * LENGTH), rel=1e-9)
    current = lw.Water(DENSITY, (0.3, 0.0, 0.0), (1.2, 0.02), added_mass=1.0, **DEEP)
    rest = lw.settle(model, model.neutral(), water=current)
    with pytest.raises(lw.StateError, match="same loads and water"):
        lw.modes(model, rest.state, 1)
    assert lw.modes(model, rest.state, 1, water=current).below == 1


@pytest.mark.parametrize("joints", ["ball", "plane"])
def test_a_rod_in_water_vibrates_more_slowly_by_its_added_mass(joints):
    """Weightless: ω² falls by m / (m + ρA), but for motion along the axis of a rod that is bent a little."""
    rod = lw.rod(1.0, 30, EI=1.0, GJ=1.0, mass_per_length=0.5, radius=1e-2, gravity=(0, 0, 0), joints=joints)
    rod.attach_world("start", lw.Clamped())
    rod.attach_world("end", lw.Clamped(), at=(0.97, 0.0, 0.0))
    model = rod.compile()
    start = lw.settle(model, model.neutral()).state
    dry, wet = (lw.modes(model, start, 4, water=water) for water in (None, lw.Water(DENSITY, **DEEP)))
    swings = np.flatnonzero(dry.rates2 > 1e-6 * dry.rates2.max())[:2]  # a round rod rolls about its axis freely
    expected = 1.0 + DENSITY * math.pi * 1e-4 / 0.5
    assert dry.rates2[swings] / wet.rates2[swings] == pytest.approx(expected, rel=2e-2)
