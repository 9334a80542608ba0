"""Sensors against closed forms and the functions of dynamics: what they read, how noisy, how late, and in recordings."""

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork import sensors as kinds

G = 9.81
SIMULATIONS = (lw.FullDynamics, lw.AdaptiveDynamics)
SETTLED = 1e-6  # relative: contact comes to rest within the tolerance of its solve


def tower():
    """A block on the floor, with a mast on it that turns about the vertical and looks down, up and to the side."""
    linkage = lw.Linkage("tower")
    linkage.add_body(
        "block", joint=lw.Free(), inertia=lw.Inertia.box(3.0, (0.4, 0.4, 0.2)), shapes=[lw.Box((0.4, 0.4, 0.2))]
    )
    mast = lw.Inertia.box(2.0, (0.1, 0.1, 0.6))
    linkage.add_body("mast", "block", lw.Revolute((0, 0, 1)), lw.Pose((0, 0, 0.5)), mast, joint_name="turn")
    linkage.add_frame("top", "mast", lw.Pose((0.0, 0.0, 0.3)))
    linkage.add_obstacle("floor", lw.Plane())
    linkage.add_obstacle("wall", lw.Box((0.2, 4.0, 4.0)), lw.Pose((1.5, 0.0, 0.0)))
    linkage.sensors += [
        kinds.Imu("imu", "top"),
        kinds.Touch("feet", "block"),
        kinds.ForceTorque("joint", "turn"),
        kinds.Range("ahead", "top", direction=(1, 0, 0)),
        kinds.Range("above", "top", direction=(0, 0, 1), reach=7.0),
        kinds.Position("where", "top"),
        kinds.Encoder("angle", "turn", resolution=0.25),
    ]
    return linkage.compile()


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_a_tower_at_rest_feels_its_weight(simulation):
    model = tower()
    q = model.neutral().q.copy()
    q[model.q_slice("block")][:3] = (0.0, 0.0, 0.1)
    q[model.q_slice("turn")] = 0.3
    sim = simulation(model, model.state(q), contact=lw.Contact())
    sensors = lw.Sensors(sim)
    sensors.step(2e-3, 200)
    read = sensors.read()
    np.testing.assert_allclose(read["imu"], [0, 0, 0, 0, 0, G], atol=SETTLED * G)
    np.testing.assert_allclose(read["feet"], [0, 0, 5 * G, 5 * G], atol=5 * SETTLED * G)
    np.testing.assert_allclose(read["joint"], [0, 0, 0, 0, 0, 2 * G], atol=5 * SETTLED * G)
    np.testing.assert_allclose(read["where"], [0, 0, 0.9], atol=1e-5)  # within the margin of contact
    np.testing.assert_allclose(read["ahead"], 1.4 / math.cos(0.3), rtol=1e-5)
    assert read["above"] == 7.0
    assert read["angle"][0] == 0.25


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_free_fall_feels_nothing(simulation):
    model = tower()
    q = model.neutral().q.copy()
    q[model.q_slice("block")][:3] = (0.0, 0.0, 5.0)
    sim = simulation(model, model.state(q), contact=lw.Contact())
    sensors = lw.Sensors(sim)
    sensors.step(1e-3, 3)
    np.testing.assert_allclose(sensors["imu"][3:], 0.0, atol=rounding(condition=1e3, scale=G))  # differences over 1 ms
    np.testing.assert_allclose(sensors["joint"], 0.0, atol=rounding(condition=1e3, scale=2 * G))


def reactions_of_a_step(model, state, h):
    """What sensors at all joints read after a step under loads of all kinds, and what joints pass on before it."""
    sim = lw.FullDynamics(
        model, state, integrator="semi_implicit_euler", implicit_joints=False, limits=False, keep_momentum=False
    )
    bodies = [model.body_names[k] for k in (3, 7, 11)]
    sim.apply_wrench(bodies[0], (1.0, -2.0, 0.5), (0.1, 0.2, 0.3))
    sim.apply_wrench(bodies[1], (0.3, 0.1, 2.0), frame="body", at=(0.1, 0.0, 0.2))
    sim.apply_spring(bodies[2], (0.2, 0.1, 0.4), 30.0, at=(0.0, 0.1, 0.0))
    efforts = np.random.default_rng(3).normal(size=model.nv)
    sim.set_efforts(efforts)
    sensors = lw.Sensors(sim, [kinds.ForceTorque(name, name) for name in model.joint_names])
    before = sim.state
    sensors.step(h)
    poses = lw.body_poses(model, before)
    wrenches = np.zeros((model.n_bodies, 6))  # the same loads by hand, in the frames of the bodies
    R = poses[3, :3, :3]
    wrenches[3, :3], wrenches[3, 3:] = R.T @ (0.1, 0.2, 0.3), R.T @ (1.0, -2.0, 0.5)
    wrenches[7, :3], wrenches[7, 3:] = np.cross((0.1, 0.0, 0.2), (0.3, 0.1, 2.0)), (0.3, 0.1, 2.0)
    point = poses[11] @ (0.0, 0.1, 0.0, 1.0)
    force = poses[11, :3, :3].T @ (30.0 * (np.array((0.2, 0.1, 0.4)) - point[:3]))
    wrenches[11, :3], wrenches[11, 3:] = np.cross((0.0, 0.1, 0.0), force), force
    meant = lw.joint_reactions(model, before, effort=efforts, wrenches=wrenches)
    return np.array([sensors[name] for name in model.joint_names]), meant


def test_force_and_torque_at_a_frame():
    """The same wrench, in the axes of the frame and about its origin; the frame goes where its body goes."""
    linkage = lw.library.chain(3, length=0.2)
    linkage.add_frame("flange", "link_2", lw.Pose((0.1, 0.05, -0.2), rpy=(0.3, 0.2, 0.1)))
    linkage.sensors += [kinds.ForceTorque("plain", "link_2"), kinds.ForceTorque("there", "link_2", at="flange")]
    linkage.rename_body("link_2", "hand")
    whole = lw.Linkage("whole")
    whole.merge(linkage, prefix="arm_")
    model = whole.compile()
    sensors = lw.Sensors(lw.FullDynamics(model, model.random_state(1)))
    sensors.step(1e-3)
    pose = lw.Pose((0.1, 0.05, -0.2), rpy=(0.3, 0.2, 0.1)).matrix
    torque, force = np.split(sensors["arm_plain"], 2)
    moved = np.concatenate([pose[:3, :3].T @ (torque - np.cross(pose[:3, 3], force)), pose[:3, :3].T @ force])
    np.testing.assert_allclose(sensors["arm_there"], moved, atol=rounding(scale=np.abs(moved).max()))
    elsewhere = kinds.ForceTorque("x", "arm_link_0", at="arm_flange")
    with pytest.raises(lw.ModelError, match="not on the body that joint 'arm_link_0' carries"):
        lw.Sensors(sensors.sim, [elsewhere])
    with pytest.raises(lw.ModelError, match="unknown body or frame 'arm_flang'; did you mean 'arm_flange'"):
        lw.Sensors(sensors.sim, [kinds.ForceTorque("x", "arm_link_0", at="arm_flang")])
    whole.remove_frame("arm_flange")
    with pytest.raises(lw.ModelError, match="unknown body or frame 'arm_flange'"):
        whole.compile()


def test_force_and_torque_at_a_fixed_joint():
    linkage = lw.library.chain(2, length=0.2)
    linkage.add_body(
        "tool", "link_1", lw.Fixed(), lw.Pose((0, 0, -0.2)), lw.Inertia.sphere(2.0, 0.1), joint_name="bolts"
    )
    linkage.sensors.append(kinds.ForceTorque("wrist", "bolts"))
    merged = linkage.compile()
    with pytest.raises(lw.ModelError, match="merge_fixed=False"):
        lw.Sensors(lw.FullDynamics(merged, merged.neutral()))
    model = linkage.compile(merge_fixed=False)
    sensors = lw.Sensors(lw.FullDynamics(model, model.neutral()))
    sensors.step(1e-3, 10)
    np.testing.assert_allclose(sensors["wrist"], [0, 0, 0, 0, 0, 2.0 * G], atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_force_and_torque_are_the_reactions_of_the_step(seed):
    """On random trees: exactly where they hang from the world, to first order in the step where they float."""
    floating = seed % 2 == 1
    model = lw.library.random_tree(12, seed=seed, floating=floating).compile()
    state = model.random_state(seed, 0.5)
    found, meant = reactions_of_a_step(model, state, 1e-4)
    scale = np.abs(meant).max()
    if not floating:
        np.testing.assert_allclose(found, meant, atol=rounding(condition=1e6, scale=scale))  # (v⁺ - v)/h: four digits
        return
    errors = [np.abs(found - meant).max() / scale]
    found, meant = reactions_of_a_step(model, state, 5e-5)
    errors.append(np.abs(found - meant).max() / scale)
    assert errors[0] < 0.01
    assert 0.4 < errors[1] / errors[0] < 0.6


@pytest.mark.parametrize("seed", range(4))
def test_velocities_and_specific_force_are_those_of_the_frame(seed):
    model = lw.library.random_tree(10, seed=seed, floating=seed % 2 == 0).compile()
    last = model.body_names[-1]
    on = [kinds.Imu("imu", last), kinds.Velocity("v", last), kinds.Velocity("own", last, "frame")]
    on += [kinds.Position("p", last), kinds.Orientation("r", last)]
    errors = []
    for h in (1e-4, 5e-5):
        sim = lw.FullDynamics(model, model.random_state(seed, 0.5), integrator="semi_implicit_euler", limits=False)
        sensors = lw.Sensors(sim, on)
        before = sim.state
        sensors.step(h)
        pose = lw.frame_poses(model, sim.state, last)
        twist = lw.body_twists(model, sim.state, frame="world")[-1]
        np.testing.assert_allclose(sensors["p"], pose[:3, 3], atol=rounding(scale=10))
        np.testing.assert_allclose(sensors["v"], twist, atol=rounding(condition=100, scale=np.abs(twist).max()))
        R = pose[:3, :3]
        np.testing.assert_allclose(
            sensors["own"], [*(R.T @ twist[:3]), *(R.T @ twist[3:])], atol=rounding(condition=100, scale=10)
        )
        qdd = (sim.state.v - before.v) / h
        a = lw.body_accelerations(model, before, qdd, frame="world")[-1, 3:] - model.gravity
        w, x = sensors["r"][0], sensors["r"][1:]
        p = np.array((1.0, 2.0, 3.0))
        np.testing.assert_allclose(R @ p, p + 2.0 * np.cross(x, np.cross(x, p) + w * p), atol=1e-12)
        errors.append(np.abs(R @ sensors["imu"][3:] - a).max() / np.abs(a).max())
        np.testing.assert_allclose(sensors["imu"][:3], sensors["own"][:3], atol=1e-12)
    assert errors[0] < 0.02
    assert errors[1] < 0.6 * errors[0]  # of first order in the step: the mean over it, in the axes at its end


def test_noise_has_its_deviation_and_its_seed():
    model = lw.library.pendulum().compile()
    joint, body = model.joint_names[0], model.body_names[0]
    on = [kinds.Encoder("a", joint, noise=0.1), kinds.Orientation("b", body, noise=0.05), kinds.Encoder("c", joint)]
    lines = []
    for seed in (1, 1, 2):
        sim = lw.FullDynamics(model, model.neutral())
        sensors = lw.Sensors(sim, on, seed=seed)
        sensors.step(1e-4, 1000)
        lines.append({name: sensors.history(name).values for name in sensors})
    assert np.array_equal(lines[0]["a"], lines[1]["a"])
    assert not np.array_equal(lines[0]["a"], lines[2]["a"])
    noise = lines[0]["a"] - lines[0]["c"]
    assert abs(noise.std() / 0.1 - 1.0) < 0.08  # 2000 numbers: one in 1e6 runs is off by more
    assert abs(noise.mean()) < 0.02
    np.testing.assert_allclose(np.linalg.norm(lines[0]["b"], axis=1), 1.0, atol=1e-12)
    turns = 2.0 * np.arccos(np.clip(lines[0]["b"][:, 0], -1, 1))
    assert abs(np.sqrt((turns**2).mean() / 3.0) / 0.05 - 1.0) < 0.1


@pytest.mark.parametrize(("latency", "every"), [(0.0, 1), (3e-3, 1), (2.5e-3, 4), (1e-2, 2)])
def test_a_reading_is_known_after_its_latency(latency, every):
    model = lw.library.pendulum().compile()
    state = model.state(q=[0.5])
    sim = lw.FullDynamics(model, state)
    sensors = lw.Sensors(sim, [kinds.Encoder("late", model.joint_names[0], latency=latency, every=every)])
    truth = {0: np.nan}
    for k in range(1, 41):
        sensors.step(1e-3)
        truth[k] = sim.state.q[0] if k % every == 0 else np.nan
        taken = [j for j in range(1, k + 1) if j % every == 0 and j * 1e-3 + latency <= k * 1e-3 + 1e-12]
        expected = truth[taken[-1]] if taken else np.nan
        np.testing.assert_array_equal(sensors["late"][0], expected)


def test_a_run_records_them_and_goes_on_in_the_same_bits(tmp_path):
    model = tower()
    q = model.neutral().q.copy()
    q[2] = 0.2

    def make():
        sim = lw.FullDynamics(model, model.state(q), contact=lw.Contact())
        given = [kinds.Imu("noisy", "top", noise=0.1, latency=5e-3, every=3), *model.sensors[:2]]
        return sim, lw.Sensors(sim, given, seed=5)

    sim, sensors = make()
    report = sim.run(1e-3, 100, record=tmp_path / "whole", every=7, sensors=sensors, progress=False)
    assert set(report.sensors) == {"noisy", "imu", "feet"}
    whole = lw.Recording(tmp_path / "whole")
    assert whole.sensors == ("noisy", "imu", "feet")
    noisy = whole.sensor("noisy")
    np.testing.assert_allclose(noisy.times, 3e-3 * np.arange(1, 34), atol=1e-12)
    np.testing.assert_array_equal(noisy.values, sensors.history("noisy").values)
    assert noisy.channels[3] == "accelerometer.x"
    assert noisy.units == ("rad/s",) * 3 + ("m/s²",) * 3
    assert not whole.check().faults

    stopped, part = make()
    stopped.run(1e-3, 100, record=tmp_path / "part", every=7, sensors=part, progress=False, checkpoint_every_s=0.0,
                callback=lambda sim, report: sim.steps_done >= 49)  # fmt: skip
    again, anew = make()
    lw.resume_run(again, tmp_path / "part", sensors=anew, progress=False)
    resumed = lw.Recording(tmp_path / "part")
    for name in whole.sensors:
        np.testing.assert_array_equal(resumed.sensor(name).values, whole.sensor(name).values)
        np.testing.assert_array_equal(resumed.sensor(name).times, whole.sensor(name).times)
    np.testing.assert_array_equal(anew["noisy"], sensors["noisy"])
    assert resumed.model.sensors == model.sensors
    with pytest.raises(lw.StateError, match="other sensors"):
        lw.resume_run(make()[0], tmp_path / "part", steps=120, progress=False)


def pendulum_read_late():
    """A pendulum with two sensors, of which one is known late."""
    model = lw.library.pendulum().compile()
    sim = lw.FullDynamics(model, model.state(q=[0.5]))
    late = kinds.Encoder("late", model.joint_names[0], latency=3.5e-3, every=2)
    return sim, lw.Sensors(sim, [late, kinds.Position("where", model.body_names[0], every=5)])


def test_a_checkpoint_of_sensors_gives_back_what_is_known_and_what_waits():
    sim, sensors = pendulum_read_late()
    sensors.step(1e-3, 17)
    sensors.fresh()
    sensors.step(1e-3, 3)
    saved, moved = sensors.checkpoint(), sim.checkpoint()
    assert saved["sensor.0"].shape == (3, 3)
    assert saved["sensor.0.told"] == [1.0]
    other, again = pendulum_read_late()
    other.restore(moved)
    again.restore(saved)
    for each in (sensors, again):
        each.step(1e-3, 4)
    np.testing.assert_array_equal(again.fresh(), sensors.fresh())
    for name in sensors:
        np.testing.assert_array_equal(again[name], sensors[name])


NAN_FIRST = np.array([np.nan, 0.0, 0.0])
DAMAGE = {
    "nothing reported": ("sensor.0.told", np.zeros(0)),
    "a number without rows": ("sensor.0.told", np.array(1.0)),
    "no array": ("sensor.0.told", 1.0),
    "text": ("sensor.0.told", "one"),
    "more reported than there are": ("sensor.0.told", np.array([4.0])),
    "fewer than none reported": ("sensor.0.told", np.array([-1.0])),
    "half a reading reported": ("sensor.0.told", np.array([0.5])),
    "not a number reported": ("sensor.0.told", np.array([np.nan])),
    "readings of another width": ("sensor.1", np.zeros((2, 3))),
    "one reading without its row": ("sensor.1", np.zeros(4)),
    "readings that are complex": ("sensor.1", np.zeros((2, 4), dtype=complex)),
    "readings that are nothing": ("sensor.1", None),
    "a reading without a time": ("sensor.0", np.stack([NAN_FIRST] * 3)),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_checkpoints_of_sensors_are_refused_and_change_nothing(case):
    sim, sensors = pendulum_read_late()
    sensors.step(1e-3, 17)
    sensors.fresh()
    sensors.step(1e-3, 3)
    name, other = DAMAGE[case]
    saved, known = sensors.checkpoint(), sensors.read()
    histories = {each: sensors.history(each).values for each in sensors}
    with pytest.raises(lw.StateError):
        sensors.restore({**saved, name: other})
    with pytest.raises(lw.StateError, match=f"lacks {name}"):
        sensors.restore({key: value for key, value in saved.items() if key != name})
    for each in sensors:
        np.testing.assert_array_equal(sensors.read()[each], known[each])
        np.testing.assert_array_equal(sensors.history(each).values, histories[each])
    for key, value in sensors.checkpoint().items():
        np.testing.assert_array_equal(value, saved[key])
    sensors.restore(saved)
    assert sim.steps_done == 20


def test_what_is_no_checkpoint_of_sensors_is_refused():
    sim, sensors = pendulum_read_late()
    for other in (None, [1.0], "checkpoint"):
        with pytest.raises(lw.StateError, match=r"sensors\.checkpoint\(\)"):
            sensors.restore(other)
    with pytest.raises(lw.StateError, match="lacks"):
        sensors.restore(sim.checkpoint())


def test_sensors_do_not_change_the_motion():
    model = tower()
    q = model.neutral().q.copy()
    q[2] = 0.2
    plain = lw.FullDynamics(model, model.state(q), contact=lw.Contact())
    plain.step(1e-3, 60)
    read = lw.FullDynamics(model, model.state(q), contact=lw.Contact())
    lw.Sensors(read, [kinds.Imu("imu", "top", every=7), kinds.Touch("feet", "block", every=4)]).step(1e-3, 60)
    assert np.array_equal(plain.state.q, read.state.q)
    assert np.array_equal(plain.state.v, read.state.v)


def test_scenes_have_sensors(tmp_path):
    scene = lw.Scene(
        {
            "model": {"library": "pendulum"},
            "method": {"kind": "full"},
            "run": {"h": 1e-3, "steps": 50},
            "sensor": [
                {"kind": "encoder", "name": "angle", "on": "bob", "noise": 0.01, "every": 5},
                {"kind": "imu", "name": "imu", "on": "bob", "latency": 0.01},
            ],
        }
        | {"record": {"every_steps": 10, "sensor_seed": 3}}
    )
    recording = lw.run_scene(scene, tmp_path / "run", progress=False)
    assert recording.sensor("angle").values.shape == (10, 2)
    assert set(scene.run(progress=False).sensors) == {"angle", "imu"}


FAULTY = {
    "unknown body": (kinds.Imu("a", "nobody"), "nobody"),
    "unknown joint": (kinds.Encoder("a", "top"), "unknown joint"),
    "noise": (kinds.Imu("a", "top", noise=-1.0), "noise"),
    "noise of another width": (kinds.Imu("a", "top", noise=(0.1, 0.2)), "one, or 6"),
    "latency": (kinds.Imu("a", "top", latency=math.nan), "latency"),
    "every": (kinds.Imu("a", "top", every=0), "every"),
    "direction": (kinds.Range("a", "top", direction=(0, 0, 0)), "direction"),
    "reach": (kinds.Range("a", "top", reach=math.inf), "reach"),
    "touch without contact": (kinds.Touch("a", "block"), "contact"),
    "not a sensor": ("imu", "lw.sensors"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_what_cannot_be_read_is_refused(case):
    model = tower()
    sensor, words = FAULTY[case]
    with pytest.raises(lw.LinkworkError, match=words):
        lw.Sensors(lw.FullDynamics(model, model.neutral()), [sensor])
