"""What acted on the joints in a step, by source: with everything on bodies it is what the motion asks for."""

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw

H = 1e-3


def robot(limits=None, floating=False, effort_limit=None):
    """Joints of every kind that have springs and dampers, some with limits of effort."""
    inertia = lw.Inertia.box(1.0, (0.1, 0.1, 0.3))
    down = lw.Pose((0, 0, -0.3))
    linkage = lw.Linkage("robot")
    linkage.add_body(
        "base", "world", lw.Free() if floating else lw.Revolute((0, 0, 1), damping=0.3), lw.Pose(), inertia
    )
    linkage.add_body("ball", "base", lw.Spherical(stiffness=3.0, damping=0.2), down, inertia)
    hinge = lw.Revolute((1, 0, 0), stiffness=2.0, damping=0.1, rest=0.2, limits=limits, effort_limit=effort_limit)
    linkage.add_body("knee", "ball", hinge, down, inertia)
    linkage.add_body("slide", "knee", lw.Prismatic((0, 0, 1), stiffness=400.0, damping=5.0), down, inertia)
    linkage.add_body("tip", "slide", lw.Universal((1, 0, 0), (0, 1, 0), damping=0.05), down, inertia)
    return linkage.compile()


def without_springs(model):
    """The same bodies; inverse dynamics of it knows nothing of springs and dampers."""
    bare = lw.Linkage("bare")
    inertia, down = lw.Inertia.box(1.0, (0.1, 0.1, 0.3)), lw.Pose((0, 0, -0.3))
    first = lw.Free() if model.nq > 10 else lw.Revolute((0, 0, 1))
    bare.add_body("base", "world", first, lw.Pose(), inertia)
    bare.add_body("ball", "base", lw.Spherical(), down, inertia)
    bare.add_body("knee", "ball", lw.Revolute((1, 0, 0)), down, inertia)
    bare.add_body("slide", "knee", lw.Prismatic((0, 0, 1)), down, inertia)
    bare.add_body("tip", "slide", lw.Universal((1, 0, 0), (0, 1, 0)), down, inertia)
    return bare.compile()


def drive(sim):
    """Given efforts, a motor within its limits, and one far beyond them."""
    sim.set_efforts(np.linspace(-1.0, 1.0, sim.model.nv))
    sim.set_motor("knee", position=1.5, stiffness=800.0, damping=8.0)
    sim.set_motor("tip", position=(0.3, -0.2), stiffness=30.0, damping=0.5)


def needed(model, state, acceleration):
    """Efforts that the motion asks for, all counted, and the size of what they are made of."""
    bare = without_springs(model)
    tau = lw.inverse_dynamics(bare, lw.State(np.array(state.q), np.array(state.v)), acceleration)
    size = np.abs(lw.mass_matrix(bare, lw.State(np.array(state.q), np.array(state.v)))).max()
    return tau, size * np.abs(acceleration).max() + np.abs(tau).max()


@pytest.mark.parametrize("kind", ["full", "adaptive", "implicit_euler"])
@pytest.mark.parametrize("strength", [None, 5.0])
def test_implicit_joint_forces_are_those_of_the_end_of_the_step(kind, strength):
    """M (v⁺ - v) / h + bias = given + motors + springs + dampers; on top of the springs they hold at v⁺ and q + h v⁺."""
    model = robot(effort_limit=strength)
    state = model.random_state(3, speed=0.5)
    options = {"tolerance": 0.0} if kind == "adaptive" else {}
    integrator = "implicit_euler" if kind == "implicit_euler" else "semi_implicit_euler"
    make = lw.AdaptiveDynamics if kind == "adaptive" else lw.FullDynamics
    sim = make(model, state, integrator=integrator, **options)
    drive(sim)
    for _ in range(3):
        before = sim.state
        sim.advance(H)
        acted = sim.efforts
        tau, size = needed(model, before, (sim.state.v - before.v) / H)
        if kind == "implicit_euler":  # its equation also holds the stiffness of tension, (∂²U) h v⁺: first order in h
            assert acted.total == pytest.approx(tau, abs=20.0 * H * size)
            continue
        assert acted.total == pytest.approx(tau, abs=rounding(scale=size / H))
        assert sim.applied_effort == pytest.approx(acted.total, abs=rounding(scale=np.abs(acted.total).max()))
    knee = model.v_slice("knee").start
    end = sim.state
    assert acted.dampers[knee] == pytest.approx(-0.1 * end.v[knee], rel=1e-9)
    place = model.q_slice("knee").start
    assert acted.springs[knee] == pytest.approx(-2.0 * (end.q[place] - 0.2), rel=1e-9)
    wish = 800.0 * (1.5 - end.q[place]) - 8.0 * end.v[knee]
    assert acted.motors[knee] == pytest.approx(min(wish, strength or math.inf), rel=1e-9)
    assert np.array_equal(acted.given, np.linspace(-1.0, 1.0, model.nv))
    assert not acted.limits.any()


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint", "kick_drift_kick"])
def test_other_integrators_say_what_acts_where_they_take_it(integrator):
    """Explicit ones at the state they reached; the midpoint rule in the middle, where M q̈ + bias agrees to third order."""
    model = robot()
    state = model.random_state(5, speed=0.5)
    sim = lw.FullDynamics(model, state, integrator=integrator)
    drive(sim)
    before = sim.state
    sim.advance(H)
    acted, end = sim.efforts, sim.state
    if integrator == "implicit_midpoint":
        middle = lw.State(model.integrate(before.q, 0.5 * (before.v + end.v), 0.5 * H), 0.5 * (before.v + end.v))
        tau, size = needed(model, middle, (end.v - before.v) / H)
        assert acted.total == pytest.approx(tau, abs=H * H * 1e3 * size)  # the balance of energy is of third order
        return
    tau, size = needed(model, end, sim.acceleration)
    assert acted.total == pytest.approx(tau, abs=rounding(condition=1e3, scale=size))


@pytest.mark.parametrize("kind", ["full", "adaptive"])
def test_limits_and_contact_are_part_of_the_balance(kind):
    """A motor drives the knee into its limit: the limit's effort closes the balance of the joint."""
    model = robot(limits=(-0.1, 0.3))
    state = model.neutral()
    euler = {"integrator": "semi_implicit_euler"}
    sim = (
        lw.FullDynamics(model, state, **euler)
        if kind == "full"
        else lw.AdaptiveDynamics(model, state, tolerance=0.0, **euler)
    )
    sim.set_motor("knee", position=2.0, stiffness=100.0, damping=2.0)
    knee = model.v_slice("knee").start
    pushed = 0
    for _ in range(200):
        before = sim.state
        sim.advance(H)
        acted = sim.efforts
        tau, size = needed(model, before, (sim.state.v - before.v) / H)
        assert acted.total == pytest.approx(tau, abs=rounding(scale=size / H))
        assert acted.limits[knee] <= 0.0
        assert not np.delete(acted.limits, knee).any()
        pushed += acted.limits[knee] < -1.0
    assert pushed > 10


def test_floating_trees_and_quasi_statics_and_what_acts_before_the_first_step():
    model = robot(floating=True)
    state = model.random_state(2, speed=0.0)
    for sim in (
        lw.FullDynamics(model, state),
        lw.AdaptiveDynamics(model, state, tolerance=1e-3),
        lw.QuasiStatics(model, state),
    ):
        drive(sim)
        now = sim.efforts
        knee, place = model.v_slice("knee").start, model.q_slice("knee").start
        assert now.motors[knee] == pytest.approx(800.0 * (1.5 - state.q[place]), rel=1e-12)
        assert now.springs[knee] == pytest.approx(-2.0 * (state.q[place] - 0.2), rel=1e-12, abs=1e-15)
        assert not now.dampers.any()
        sim.advance(H)
        assert np.isfinite(sim.applied_effort).all()


def test_inactive_joints_report_what_holds_them():
    """Joints that do not move in an adaptive simulation are still pulled by their springs and motors."""
    model = lw.library.chain(40, joint=lw.Revolute((0, 1, 0), stiffness=1.0, damping=0.1)).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(0, speed=0.0), max_active_joints=5)
    sim.motors.stiffness = 2.0
    sim.advance(H, 5)
    idle = np.setdiff1d(np.arange(40), sim.active_bodies)
    assert idle.size >= 30
    q = sim.state.q
    assert sim.efforts.springs[idle] == pytest.approx(-1.0 * q[idle], rel=1e-12)
    assert sim.efforts.motors[idle] == pytest.approx(2.0 * (sim.motors.position - q)[idle], rel=1e-12, abs=1e-15)


# --------------------------------------------------------------------------------------------------------- limits of motors


def turntable(**options):
    """One hinge with a moment of inertia of 0.5 kg·m², no gravity."""
    linkage = lw.Linkage("turntable", gravity=(0, 0, 0))
    linkage.add_body(
        "disc", "world", lw.Revolute((0, 0, 1), **options), inertia=lw.Inertia(1.0, (0, 0, 0), 0.5 * np.eye(3))
    )
    return linkage.compile()


def simulations(model, state):
    """Each with the stiffness it is tried with: explicit ones need h W / (0.1 v_max I) < 2."""
    yield lw.FullDynamics(model, state), 10.0
    yield lw.FullDynamics(model, state, integrator="rk4"), 0.2
    yield lw.FullDynamics(model, state, integrator="implicit_midpoint"), 10.0
    yield lw.FullDynamics(model, state, integrator="implicit_euler"), 10.0
    yield lw.FullDynamics(model, state, algorithm="dense"), 0.2
    yield lw.AdaptiveDynamics(model, state, tolerance=0.0), 10.0


@pytest.mark.parametrize("damping", [0.0, 3.0])
@pytest.mark.parametrize("strength", [None, 20.0])
def test_motors_push_no_faster_than_their_limit_of_speed(damping, strength):
    """A far target: the speed rises to the limit and stays there, without chatter, in every simulation."""
    model = turntable(velocity_limit=2.0, effort_limit=strength)
    for sim, stiffness in simulations(model, model.neutral()):
        sim.set_motor("disc", position=50.0, stiffness=stiffness, damping=damping * stiffness / 10.0)
        speeds = []
        for _ in range(200):
            sim.advance(5e-3)
            speeds.append(float(sim.state.v[0]))
            assert sim.efforts.motors[0] <= (strength or math.inf)
        late = np.array(speeds[100:])
        assert late == pytest.approx(2.0, rel=0.02)
        assert np.abs(np.diff(late)).max() < 1e-3


def test_a_motor_slower_than_its_limit_is_not_changed_by_it_and_holds_with_full_strength():
    free, limited = turntable(), turntable(velocity_limit=30.0)
    runs = []
    for model in (free, limited):
        sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler")
        sim.set_motor("disc", position=1.0, stiffness=20.0, damping=6.0)
        sim.advance(1e-3, 500)
        runs.append(sim.state.q.copy())
    assert np.array_equal(*runs)
    model = turntable(velocity_limit=0.1, effort_limit=7.0)
    sim = lw.FullDynamics(model, model.neutral())
    sim.set_motor("disc", position=1.0, stiffness=1e4, damping=10.0)
    sim.set_effort("disc", -6.5)
    sim.advance(1e-4)
    assert sim.efforts.motors[0] == 7.0  # at rest the limit of speed takes nothing away


def test_a_motor_that_is_driven_too_fast_brakes():
    model = turntable(velocity_limit=1.0, effort_limit=5.0)
    sim = lw.FullDynamics(model, lw.State(np.zeros(1), np.array([3.0])))
    sim.set_motor("disc", position=100.0, stiffness=1.0, damping=0.1)
    sim.advance(1e-3)
    assert -5.0 <= sim.efforts.motors[0] < 0.0
    sim.advance(1e-3, 2000)
    assert sim.state.v[0] <= 1.0 + 1e-6


def test_quasi_statics_keeps_limits_of_effort():
    model = turntable(effort_limit=5.0)
    sim = lw.QuasiStatics(model, model.neutral())
    sim.set_motor("disc", position=2.0, stiffness=100.0)
    sim.solve()
    assert sim.acceleration[0] == pytest.approx(5.0 / 0.5, rel=1e-12)
    assert sim.applied_effort[0] == 5.0


def test_motors_at_their_limits_bring_light_links_to_rest():
    """d h far above the inertia of the links: motors at limits, their law taken where the step ends, come to rest."""
    joint = lw.Revolute((0, 1, 0), damping=0.02, effort_limit=40.0, velocity_limit=3.0)
    model = lw.library.chain(6, joint=joint, length=0.2, mass=0.5, radius=0.02).compile()
    target = np.array([0.6, -0.4, 0.3, 0.2, -0.2, 0.1])
    sim = lw.FullDynamics(model, model.neutral())
    sim.motors.stiffness, sim.motors.damping = 400.0, 20.0
    sim.motors.position = target
    sim.advance(1e-3, 1200)
    assert np.abs(sim.efforts.motors).max() <= 40.0
    assert np.abs(sim.state.q - target).max() < 0.05
    assert np.abs(sim.state.v).max() < 0.1


@pytest.mark.parametrize("seed", range(12))
def test_motors_at_limits_of_effort_act_as_their_law_says_where_the_step_ends(seed):
    """Light links, several motors at their limits at a time: the end of each step is found, not gone around in circles."""
    rng = np.random.default_rng(seed)
    n, mass, length = int(rng.integers(2, 8)), 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-1.5, -0.3)
    stiffness = 10 ** rng.uniform(0, 4)
    damping, h = stiffness * 10 ** rng.uniform(-3, -0.5), 10 ** rng.uniform(-4, -3)
    gravity = 0.5 * mass * 9.81 * length * n**2  # of the stretched chain, on its first joint
    strength = min(gravity * 10 ** rng.uniform(-0.5, 1), 0.2 * stiffness)
    joint = lw.Revolute((0, 1, 0), effort_limit=strength)
    model = lw.library.chain(n, joint=joint, length=length, mass=mass, radius=0.05 * length).compile()
    sim = lw.FullDynamics(model, model.neutral())
    sim.motors.stiffness, sim.motors.damping = stiffness, damping
    sim.motors.position = target = rng.uniform(-1, 1, n)
    at_limit = 0
    for _ in range(150):
        sim.advance(h)
        q, v = sim.state
        wish = stiffness * (target - q) - damping * v
        efforts, expected = sim.efforts.motors, np.clip(wish, -strength, strength)
        scale = stiffness * (1.0 + np.abs(q).max()) + damping * np.abs(v).max()
        assert np.abs(efforts - expected).max() <= rounding(scale=scale, condition=1e3)
        at_limit += int((np.abs(wish) >= strength).sum())
    assert at_limit > 10


def test_motors_with_limits_of_speed_hold_light_links_still():
    """Two links that flipped from side to side at ten times the limit of speed."""
    joint = lw.Revolute((0, 1, 0), effort_limit=33.0, velocity_limit=0.143)
    model = lw.library.chain(2, joint=joint, length=0.16, mass=0.166, radius=0.008).compile()
    sim = lw.FullDynamics(model, model.neutral())
    sim.motors.stiffness, sim.motors.damping = 7.68, 0.115
    sim.motors.position = [0.5, -0.7]
    speeds = []
    for _ in range(400):
        sim.advance(1.3e-4)
        speeds.append(sim.state.v.copy())
    assert np.abs(speeds).max() <= 0.143 * 1.05
    late = np.array(speeds[200:])
    assert not (np.sign(late[1:]) * np.sign(late[:-1]) < 0).any()


def driven_chain():
    """Hinges, with a ball among them after each third, and drives on two of them."""
    linkage = lw.Linkage("driven")
    for k in range(16):
        joint = lw.Spherical() if k % 4 == 3 else lw.Revolute((k % 2, 1 - k % 2, 0))
        inertia = lw.Inertia.box(1.0, (0.1, 0.1, 0.3))
        linkage.add_body(
            f"b{k}", f"b{k - 1}" if k else "world", joint, lw.Pose((0, 0, -0.3)), inertia, joint_name=f"j{k}"
        )
    linkage.actuators += (lw.Actuator("first", "j2", gear=2.0), lw.Actuator("second", "j9"))
    return linkage.compile()


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_efforts_that_act_are_known_however_they_were_given(make, rng):
    """And coordinates at their places are those of the state, moving or held."""
    model = driven_chain()
    sim = make(
        model, model.neutral(), **({"max_active_joints": 5, "update_every": 3} if make is lw.AdaptiveDynamics else {})
    )
    drives, hinges = lw.Actuators(sim), sim.motors[[f"j{k}" for k in (0, 5, 10)]]
    saved = []

    def one():
        joint = rng.choice(model.joint_names)
        rows = model.v_slice(joint)
        sim.set_effort(joint, rng.integers(0, 2) * rng.normal(size=rows.stop - rows.start))

    def drive():
        drives.control = rng.integers(0, 2, size=2)
        drives.update()

    ways = (
        one,
        drive,
        lambda: sim.set_efforts(rng.integers(0, 2, size=model.nv) * rng.normal(size=model.nv)),
        lambda: setattr(hinges, "effort", rng.integers(0, 2, size=3)),
        lambda: setattr(sim.motors[["j4", "j5", "j6"]], "effort", rng.integers(0, 2, size=3)),
        lambda: saved.append(sim.checkpoint()),
        lambda: saved and sim.restore(saved[-1]),
        lambda: sim.reset(clear=bool(rng.integers(0, 2))),
    )
    place, found = np.full(model.nv, -1), 0
    for k, joint in enumerate(model.joint_names):
        if k % 4 != 3:
            place[model.v_slice(joint)] = np.arange(model.q_slice(joint).start, model.q_slice(joint).stop)
    for _ in range(120):
        ways[rng.choice(len(ways), p=(0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05))]()
        sim.step(H)
        driven, efforts = sim.view.joints.driven, sim.view.joints.effort
        acts = np.flatnonzero(efforts)
        tell = acts[place[acts] >= 0]
        np.testing.assert_array_equal(driven.place, place[tell])
        np.testing.assert_array_equal(driven.effort, efforts[tell])
        assert driven.are_all == (tell.size == acts.size)
        np.testing.assert_array_equal(sim._coordinates_at(driven.place), sim.state.q[driven.place])
        found += tell.size
    assert found > 200


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_step_reads_the_coordinates_of_driven_joints_alone(make, monkeypatch):
    """Once, for their work; none where a load acts, whose work nobody counts."""
    model = driven_chain()
    sim, read = make(model, model.neutral()), []
    sim.set_effort("j4", 0.1)
    sim.step(H)
    coordinates_at = sim._coordinates_at
    monkeypatch.setattr(sim, "_coordinates_at", lambda places: read.append(places.tolist()) or coordinates_at(places))
    sim.step(H)
    assert read == [[model.q_slice("j4").start]]
    sim.apply_wrench("b5", force=(1.0, 0.0, 0.0))
    sim.step(H)
    read.clear()
    sim.step(H)
    assert read == []
