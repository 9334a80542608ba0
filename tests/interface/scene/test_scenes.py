"""What scenes mean: time functions, models, states, loads, springs, motors and pins, and the schema against its page."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.rounding import rounding
from tests.helpers.scene_files import GOOD, faults_of, write_scene

import linkwork as lw
from linkwork.model.compile.neighbours import nearest_bodies
from linkwork.scene import Scene
from linkwork.scene.methods import METHODS
from linkwork.scene.reading.schema import BODY, LISTS, METHOD, TABLES, TOP
from linkwork.scene.signals import make_signal


@pytest.fixture
def scene_file(tmp_path):
    return partial(write_scene, tmp_path)


def test_time_functions():
    assert make_signal([1.0, "t^2", {"times": [0, 2], "values": [0, 4]}])(1.0).tolist() == [1.0, 1.0, 2.0]
    whole = make_signal({"times": [1.0, 2.0], "values": [[0, 0, 0], [2, 4, 6]]})
    assert whole(1.5).tolist() == [1.0, 2.0, 3.0]
    assert whole(0.0).tolist() == [0.0, 0.0, 0.0]  # held before the first time and after the last
    assert whole(9.0).tolist() == [2.0, 4.0, 6.0]
    assert make_signal("i/n", 3, 12).is_constant
    assert make_signal("i/n", 3, 12)(5.0).tolist() == [0.25]
    assert not make_signal("t").is_constant


def test_what_the_tables_say_is_what_acts(scene_file):
    """Joint options, gravity, state and loads of a scene against the same simulation made by hand."""
    scene = Scene.read(scene_file())
    linkage = lw.library.chain(joints=6)
    for body in list(linkage):
        linkage.edit_body(body.name, joint=lw.Revolute(body.joint.axis, damping=0.001))
    model = linkage.compile()
    state = model.neutral()
    state.q[0] = 0.3
    from linkwork.full.simulation import FullDynamics

    by_hand = FullDynamics(model, state)
    load = by_hand.apply_wrench("link_5", frame="world")
    sim = scene.build()
    for k in range(10):
        by_hand.change_wrench(load, force=(np.sin((k + 0.5) * 0.001), 0.0, 0.0))
        by_hand.step(0.001)
        sim.step(0.001)
        assert sim.state.q == pytest.approx(
            by_hand.state.q, rel=0, abs=rounding(condition=1e2, steps=10)
        )  # times add up in other orders; angles below one
    assert np.abs(sim.state.q).max() > 0.0


def test_states(scene_file, tmp_path):
    path = scene_file(GOOD.replace("q = { link_0 = 0.3 }", 'kind = "random"\nseed = 5\nspeed = 2.0'))
    scene = Scene.read(path)
    expected = scene.model.random_state(5, 2.0)
    assert (scene.state.q == expected.q).all()
    assert (scene.state.v == expected.v).all()
    half = Scene.read(path, ["state.scale=0.5"])
    assert half.state.q == pytest.approx(0.5 * expected.q)
    np.savez(tmp_path / "state.npz", q=expected.q, v=expected.v)
    read = Scene.read(path, ["state.kind=file", "state.file=state.npz"])
    assert (read.state.q == expected.q).all()
    shaped = Scene.read(scene_file(GOOD.replace("{ link_0 = 0.3 }", '{ "link_*" = "0.1*i", link_2 = -1.0 }')))
    assert shaped.state.q == pytest.approx([0.0, 0.1, -1.0, 0.3, 0.4, 0.5])


def test_copies_and_floating(scene_file):
    scene = Scene.read(
        scene_file(),
        ["model.copies=3", "model.floating=true", "load.0.body=1/link_5", "joint.0.joint=*/link_*", "state.q="],
    )
    assert scene.model.n_bodies == 18
    assert sum(isinstance(joint, lw.Free) for joint in scene.model.joints) == 3
    assert (lw.body_poses(scene.model, scene.state)[:, 0, 3] == np.repeat([0.0, 1.0, 2.0], 6)).all()


def actions(scene):
    return [acting.action for acting in scene.build().acting]


def test_picks_and_neighbours(scene_file):
    path = scene_file(GOOD.replace('body = "link_5"', 'body = "link_*"\npick = "all"'))
    assert [action.body for action in actions(Scene.read(path))] == [f"link_{k}" for k in range(6)]
    for pick, body in (("first", "link_0"), ("middle", "link_3"), ("last", "link_5")):
        assert [action.body for action in actions(Scene.read(path, [f"load.0.pick={pick}"]))] == [body]
    near = Scene.read(path, ["load.0.pick=middle", "load.0.neighbours=3"])
    assert {action.body for action in actions(near)} == {"link_2", "link_3", "link_4"}
    tree = lw.library.binary_tree(joints=15).compile()
    assert set(nearest_bodies(tree, tree.body("branch_0"), 3)) == {tree.body(f"branch_{k}") for k in range(3)}
    random = Scene.read(path, ["load.0.force={ magnitude = 2.0, seed = 1 }"])
    sizes = [np.linalg.norm(action.force(0.0)) for action in actions(random)]
    assert sizes == pytest.approx([2.0] * 6)


def test_a_scene_from_a_model_file(scene_file, tmp_path):
    robot = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    (tmp_path / "robot.urdf").write_text(robot)
    text = 'gravity = [1, 0, 0]\n[model]\nfile = "robot.urdf"\n[method]\nkind = "full"\n[run]\nh = 1e-3\nsteps = 2\n'
    scene = Scene.read(scene_file(text))
    assert scene.model.joint_names == ("hinge",)
    assert scene.model.gravity.tolist() == [1.0, 0.0, 0.0]
    (tmp_path / "robot.urdf").write_text(robot.replace('mass value="1"', 'mass value="heavy"'))
    error = faults_of(scene_file(text))
    assert "robot.urdf" in str(error)
    assert "scene.toml:3" in str(error)


def test_an_expression_without_a_value_stops_with_its_time(scene_file):
    path = scene_file(GOOD.replace('"sin(t)"', '"1/(t - 0.0055)"').replace("duration = 0.01", "steps = 10"))
    sim = Scene.read(path).build()
    with pytest.raises(lw.StateError, match=r"1/\(t - 0.0055\)"):
        sim.step(0.001, 10)


def test_pinned_joints_stay_as_they_are(scene_file):
    """One joint pinned inactive does not move although everything pulls at it; others about the same axis do."""
    text = GOOD.replace(
        'kind = "full"', 'kind = "adaptive"\ntolerance = 0.0\n[[pin]]\njoint = "link_2"\nto = "inactive"'
    )
    sim = Scene.read(scene_file(text)).build()
    sim.step(0.001, 20)
    assert sim.state.q[2] == 0.0
    assert np.abs(sim.state.q[[0, 4]] - [0.3, 0.0]).min() > 1e-4


def test_springs(scene_file):
    """`offset` counts from where the point is: with none nothing pulls, and a given place pulls towards it."""
    quiet = GOOD.replace("gravity = [0, 0, -9.81]", "gravity = [0, 0, 0]").replace('["sin(t)", 0, 0]', "[0, 0, 0]")
    text = quiet + '[[spring]]\nbody = "link_5"\nat = [0, 0, -0.1]\nstiffness = 3.0\n'
    still = Scene.read(scene_file(text)).build()
    still.step(0.001, 10)
    assert still.state.v == pytest.approx(0.0, abs=rounding(condition=1e2, steps=10))
    away = Scene.read(scene_file(text + 'offset = ["t > 0", 0, 0]\n')).build()
    there = Scene.read(scene_file(text)).state
    x, y, z, _ = (lw.body_poses(away.model, there)[5] @ [0.0, 0.0, -0.1, 1.0]).tolist()
    to = f"to = [{x + 1.0!r}, {y!r}, {z!r}]\n"
    same = Scene.read(scene_file(text + to)).build()
    for sim in (away, same):
        sim.step(0.001, 10)
    assert np.abs(away.state.v).max() > 0.01
    assert same.state.q == pytest.approx(away.state.q, rel=0, abs=rounding(condition=1e3, steps=10))


def test_motors_follow_their_targets(scene_file):
    """A stiff, damped motor brings its joint to the target; an effort alone accelerates as forward dynamics says."""
    text = GOOD.replace("duration = 0.01", "steps = 1").replace('["sin(t)", 0, 0]', "[0, 0, 0]")
    by_effort = scene_file(text + '[[motor]]\njoint = "link_0"\neffort = 0.2\n')
    pushed = Scene.read(by_effort, settings={"method.implicit_joints": False})
    sim = pushed.build()
    sim.step(0.001)
    effort = np.array([0.2, 0, 0, 0, 0, 0])
    expected = 0.001 * lw.forward_dynamics(pushed.model, pushed.state, effort)
    assert sim.state.v == pytest.approx(expected, rel=0, abs=rounding(condition=1e3, scale=np.abs(expected).max()))
    motor = '[[motor]]\njoint = "link_*"\nposition = "0.1 * i"\nstiffness = 50.0\ndamping = 1.0\n'
    held = text.replace("damping = 0.001", "armature = 0.02").replace("[0, 0, -9.81]", "[0, 0, 0]") + motor
    sim = Scene.read(scene_file(held)).build()
    sim.step(0.001, 3000)
    assert sim.state.q == pytest.approx(0.1 * np.arange(6), abs=1e-6)


def test_every_key_is_documented():
    """The page of scenes names every table and key of the schema."""
    page = (Path(__file__).parents[3] / "docs" / "scenes.md").read_text(encoding="utf-8")
    methods = {f"method {kind}": method.keys for kind, method in METHODS.items()}
    tables = {**TABLES, **LISTS, "body": BODY, "": TOP, **methods}
    missing = [f"{table}.{key}" for table, keys in tables.items() for key in keys if f"`{key}`" not in page]
    missing += [name for name in (*TABLES, *LISTS, *METHODS, *METHOD) if name not in page]
    assert not missing
