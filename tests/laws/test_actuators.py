"""Actuators against closed forms, and those of MJCF files against MuJoCo."""

import math

import numpy as np
import pytest

import linkwork as lw

MASS = 2.0
LONG_AFTER = 100.0  # [s] 500 time constants of the slowest actuator


def slider(*actuators, joint=None, gravity=(0.0, 0.0, 0.0)):
    linkage = lw.Linkage("slider", gravity=gravity)
    linkage.add_body(
        "cart", joint=joint or lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.sphere(MASS, 0.1), joint_name="s"
    )
    linkage.actuators += actuators
    return linkage.compile()


@pytest.mark.parametrize("simulation", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_dry_friction_slows_down_stops_and_holds(simulation):
    """v falls by F/m per second to zero, which is where it stays; a push below F does not move it, one above does."""
    model = slider(lw.Actuator("drive", "s", gear=2.0, friction=1.5))  # 3 N at the joint
    sim = simulation(model, model.state(v=[0.6]))
    drives = lw.Actuators(sim)
    drives.step(1e-3, 200)
    assert sim.state.v[0] == pytest.approx(0.6 - 3.0 / MASS * 0.2, abs=1e-12)
    drives.step(1e-3, 400)
    creep = 1e-4  # [m/s] at most, as long as it sticks
    assert abs(sim.state.v[0]) <= 1e-12
    drives["drive"] = 1.4  # 2.8 N
    drives.step(1e-3, 100)
    assert sim.state.v[0] == pytest.approx(creep * 2.8 / 3.0, rel=1e-3)
    drives["drive"] = 2.5  # 5 N: 2 N are left
    before = sim.state.v[0]
    drives.step(1e-3, 100)
    assert sim.state.v[0] == pytest.approx(before + 2.0 / MASS * 0.1, abs=2e-4)
    drives["drive"] = -2.5
    drives.step(1e-3, 300)
    assert sim.state.v[0] < -0.1  # through zero and away


def test_position_and_velocity_actuators_are_motors_behind_their_gears():
    model = slider(lw.Actuator("p", "s", "position", gear=3.0, stiffness=10.0, damping=2.0, effort_limit=5.0))
    sim = lw.FullDynamics(model, model.state(q=[0.1], v=[0.2]))
    drives = lw.Actuators(sim)
    assert drives["p"] == pytest.approx(0.3)  # holds where it is
    drives["p"] = 0.5
    force = 10.0 * (0.5 - 3.0 * 0.1) - 2.0 * 3.0 * 0.2
    assert sim.efforts.motors[0] == pytest.approx(3.0 * force, rel=1e-12)
    drives["p"] = 100.0
    assert sim.efforts.motors[0] == pytest.approx(3.0 * 5.0, rel=1e-12)  # the drive's limit, behind the gear
    model = slider(lw.Actuator("v", "s", "velocity", gear=3.0, damping=2.0, limits=(-1.0, 1.0)))
    sim = lw.FullDynamics(model, model.state(v=[0.2]))
    drives = lw.Actuators(sim)
    drives.control = 7.0  # kept at 1
    assert sim.efforts.motors[0] == pytest.approx(3.0 * 2.0 * (1.0 - 3.0 * 0.2), rel=1e-12)
    drives.step(1e-3, 3000)
    assert sim.state.v[0] == pytest.approx(1.0 / 3.0, rel=1e-6)


def test_a_rotor_counts_with_the_square_of_its_gear():
    model = slider(lw.Actuator("e", "s", gear=5.0, armature=0.04))
    sim = lw.FullDynamics(model, model.neutral())
    drives = lw.Actuators(sim)
    drives["e"] = 0.3
    assert sim.acceleration[0] == pytest.approx(5.0 * 0.3 / (MASS + 25.0 * 0.04), rel=1e-12)


def test_a_lag_follows_its_control_exponentially():
    model = slider(lw.Actuator("e", "s", time_constant=0.05, effort_limit=0.8))
    sim = lw.FullDynamics(model, model.neutral())
    drives = lw.Actuators(sim)
    drives["e"] = 1.0
    for k in range(1, 101):
        drives.step(1e-3)
        assert drives.activation[0] == pytest.approx(1.0 - math.exp(-1e-3 * k / 0.05), rel=1e-9)
    assert sim.efforts.given[0] == pytest.approx(0.8)  # of the drive at most
    other = lw.FullDynamics(model, model.neutral())
    same = lw.Actuators(other)
    same["e"] = 1.0
    other.run(1e-3, 100, on_step=same.update, progress=False)
    assert np.array_equal(other.state.v, sim.state.v)


FAULTY = {
    "joint": (lw.Actuator("a", "nothing"), "unknown"),
    "gear": (lw.Actuator("a", "s", gear=0.0), "gear"),
    "control": (lw.Actuator("a", "s", "voltage"), "control"),
    "no stiffness": (lw.Actuator("a", "s", "position"), "stiffness"),
    "no damping": (lw.Actuator("a", "s", "velocity"), "damping"),
    "idle gain": (lw.Actuator("a", "s", stiffness=1.0), "does nothing"),
    "limits": (lw.Actuator("a", "s", limits=(1.0, -1.0)), "limits"),
    "friction": (lw.Actuator("a", "s", friction=math.nan), "friction"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_what_cannot_act_is_refused(case):
    actuator, words = FAULTY[case]
    with pytest.raises(lw.ModelError, match=words):
        slider(actuator)


def test_balls_and_two_followers_are_refused():
    with pytest.raises(lw.ModelError, match="3 degrees of freedom"):
        slider(lw.Actuator("a", "s"), joint=lw.Spherical())
    follower = lw.Actuator("a", "s", "velocity", damping=1.0)
    with pytest.raises(lw.ModelError, match="already"):
        slider(follower, lw.Actuator("b", "s", "velocity", damping=1.0))
    model = slider()
    with pytest.raises(lw.StateError, match="no actuators"):
        lw.Actuators(lw.FullDynamics(model, model.neutral()))
    sim = lw.FullDynamics(slider(follower), slider(follower).neutral())
    with pytest.raises(lw.StateError, match="finite"):
        lw.Actuators(sim).control = math.nan
    with pytest.raises(lw.StateError, match=r"control of actuator 'a' is \[1.0, 2.0\]; give one"):
        lw.Actuators(sim)["a"] = [1.0, 2.0]


MJCF = """<mujoco model="arm"><option gravity="0 0 -9.81"/><worldbody>
<geom name="floor" type="plane" size="5 5 1" pos="0 0 -3"/>
<body name="upper"><joint name="a" axis="0 1 0" armature="0.1" frictionloss="0.4"/>
<geom type="capsule" size="0.05 0.2" pos="0.2 0 0" contype="0" conaffinity="0"/>
<site name="eye" pos="0.3 0.1 0" euler="10 180 30"/>
<body name="lower" pos="0.5 0 0"><joint name="b" axis="0 0 1"/>
<geom size="0.1" pos="0.1 0.2 0" contype="0" conaffinity="0"/>
<site name="hand" pos="0.1 0 0.2" euler="20 30 40"/></body></body></worldbody>
<actuator><motor name="m" joint="a" gear="3" ctrlrange="-1 1"/>
<position name="p" joint="b" gear="2" kp="7" kv="0.5" forcerange="-4 4"/>
<velocity name="v" joint="a" kv="1.5" gear="0.7"/>
<general name="lag" joint="a" dyntype="filterexact" dynprm="0.2" gear="1.1"/>
<general name="odd" joint="a" gaintype="affine" gainprm="1 2 0"/></actuator>
<sensor><framepos name="where" objtype="site" objname="hand"/><framequat name="turned" objtype="site" objname="hand"/>
<gyro name="gyro" site="hand"/><accelerometer name="acc" site="hand"/><velocimeter name="speed" site="hand"/>
<jointpos name="angle" joint="b"/><jointvel name="rate" joint="b"/><rangefinder name="far" site="eye"/>
<force name="f" site="hand"/><torque name="t" site="hand"/>
<framelinacc name="odd" objtype="site" objname="hand"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path_factory.mktemp("mjcf") / "arm.xml"
    path.write_text(MJCF)
    return mujoco, mujoco.MjModel.from_xml_path(str(path)), lw.load(path)


def test_actuators_of_files_give_what_mujoco_gives(files):
    mujoco, theirs, linkage = files
    model = linkage.compile()
    assert [actuator.name for actuator in model.actuators] == ["m", "p", "v", "lag"]
    assert any("actuator 'odd': not kept" in warning for warning in linkage.warnings)
    assert model.actuators[0].friction == pytest.approx(0.4 / 3.0)
    data = mujoco.MjData(theirs)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v, u = rng.normal(size=2), rng.normal(size=2), rng.normal(size=5)
        data.qpos[:], data.qvel[:], data.ctrl[:], data.act[:] = q, v, u, 0.0
        data.act[0] = u[3]
        mujoco.mj_forward(theirs, data)
        sim = lw.FullDynamics(model, model.state(q, v))
        drives = lw.Actuators(sim)
        sim.motors.friction = 0.0  # MuJoCo counts it among constraints
        drives.control = u[:4]
        sim.time += LONG_AFTER  # by then the activation is the control
        drives.update(sim)
        found = sim.efforts.given + sim.efforts.motors
        others = np.array([data.actuator_force[4], 0.0])
        np.testing.assert_allclose(found, data.qfrc_actuator - others, atol=1e-12)


def test_sensors_of_files_read_what_mujoco_reads(files):
    mujoco, theirs, linkage = files
    model = linkage.compile()
    assert any("odd" in warning for warning in linkage.warnings)
    data = mujoco.MjData(theirs)
    state = model.state(q=[0.3, -0.8], v=[0.7, 1.9])
    sim = lw.FullDynamics(model, state, integrator="semi_implicit_euler", implicit_joints=False)
    sensors = lw.Sensors(sim)
    h = 1e-6
    sensors.step(h)
    data.qpos[:], data.qvel[:] = sim.state.q, sim.state.v
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    mujoco.mj_forward(theirs, data)
    read = {
        name: np.array(data.sensor(name).data) for name in ("where", "turned", "gyro", "acc", "speed", "angle", "far")
    }
    quaternion = read["turned"] if read["turned"][0] >= 0 else -read["turned"]
    np.testing.assert_allclose(sensors["where"], read["where"], atol=1e-12)
    np.testing.assert_allclose(sensors["turned"], quaternion, atol=1e-12)
    for name in sensors:  # channel by channel as there: no sensor of theirs becomes two of ours
        assert sensors[name].shape == data.sensor(name).data.shape, name
    np.testing.assert_allclose(sensors["gyro"], read["gyro"], atol=1e-12)
    np.testing.assert_allclose(sensors["speed"], read["speed"], atol=1e-12)
    np.testing.assert_allclose(sensors["acc"], read["acc"], atol=1e4 * h)  # the mean over the step before
    assert sensors["angle"] == read["angle"]
    assert sensors["rate"] == data.sensor("rate").data
    np.testing.assert_allclose(sensors["far"], read["far"], rtol=1e-9)
    force, torque = data.sensor("f").data, data.sensor("t").data
    np.testing.assert_allclose(sensors["f"], force, atol=1e4 * h)  # at the site, in its axes; theirs of this moment
    np.testing.assert_allclose(sensors["t"], torque, atol=1e4 * h)
