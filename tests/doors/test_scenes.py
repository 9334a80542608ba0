"""Scene files at the door: lines of keys in nasty files, every kind of bad scene with file and line, all faults together,
settings, time functions, and the schema against its documentation."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.errors import FormatError, LinkworkError
from linkwork.simulate.scene import Scene
from linkwork.simulate.scene.lines import key_lines
from linkwork.simulate.scene.schema import BODY, LISTS, METHOD, METHODS, TABLES, TOP
from linkwork.simulate.scene.settings import parse_setting
from linkwork.simulate.scene.signals import make_signal
from linkwork.simulate.scene.targets import nearest_bodies

GOOD = """\
title = "a chain"
gravity = [0, 0, -9.81]

[model]
library = "chain"
parameters = { joints = 6 }

[state]
q = { link_0 = 0.3 }

[[load]]
body = "link_5"
force = ["sin(t)", 0, 0]

[[joint]]
joint = "link_*"
damping = 0.001

[method]
kind = "full"

[run]
h = 0.001
duration = 0.01
"""


@pytest.fixture
def scene_file(tmp_path):
    def write(text: str = GOOD, name: str = "scene.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def faults_of(path, settings=()):
    with pytest.raises(FormatError) as caught:
        Scene.read(path, settings)
    return caught.value


# ---------------------------------------------------------------------------------------------------------------- lines

NASTY = '''\
# a comment with = and [brackets]
a = 1 # [not.a.table]
"quoted.key" = "text with # no comment and [x] = y"
'literal \\ key' = 'C:\\path'
b.c."d.e" = [ 1, 2,
  3, # a comment with ] in it
  [ 4,
    5 ], "]", """ ] "" """,
]
long = """first
[no.table]
x = 1
"""
literal = \'\'\'
[[nor.this]]
''\'\'\'
table = { x = 1, "y" = { z = [1,
  2] } }
when = 1979-05-27 07:32:00
after = true

[plain]
key = 1

[ spaced . "out table" ]
key = -1.5e+3

[[list]]
x = 1
[list.inner]
y = 2
[[list.deep]]
z = 3
[[list.deep]]
z = 4

[[list]]
x = 5
[[list.deep]]
z = 6
"\\u00e9\\"" = 7
'''


def test_lines_of_nasty_files():
    lines = key_lines(NASTY)
    text = NASTY.splitlines()
    assert lines["a",] == 2
    assert lines["quoted.key",] == 3
    assert lines["literal \\ key",] == 4
    assert lines["b", "c", "d.e"] == 5
    assert lines["b", "c", "d.e", 2] == 6
    assert lines["b", "c", "d.e", 3, 1] == 8
    assert lines["b", "c", "d.e", 5] == 8
    for key in ("long", "literal", "table", "when", "after"):
        assert text[lines[key,] - 1].startswith(f"{key} =")
    assert lines["table", "y", "z", 1] == lines["table",] + 1
    assert text[lines["plain", "key"] - 1] == "key = 1"
    assert text[lines["spaced", "out table", "key"] - 1] == "key = -1.5e+3"
    for path, row in {
        ("list", 0, "x"): "x = 1", ("list", 0, "inner", "y"): "y = 2", ("list", 0, "deep", 1, "z"): "z = 4",
        ("list", 1, "x"): "x = 5", ("list", 1, "deep", 0, "z"): "z = 6",
    }.items():  # fmt: skip
        assert text[lines[path] - 1] == row
    assert lines["list", 1, "deep", 0, 'é"'] == len(text)
    assert text[lines["list", 1] - 1] == "[[list]]"
    assert lines["list", 1] > lines["list", 0]


def paths_of(value, path=()):
    """Every path into parsed TOML."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_of(inner, (*path, key))
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from paths_of(inner, (*path, k))


@pytest.mark.parametrize("text", [NASTY, NASTY.replace("\n", "\r\n"), GOOD])
def test_every_key_that_python_finds_has_a_line(text):
    lines = key_lines(text)
    found = set(paths_of(tomllib.loads(text)))
    assert found == set(lines)


keys = st.from_regex(r"\A[a-z]{1,3}\Z")
values = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)


def as_toml(value) -> str:
    """A value on one or several lines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[\n" + ",\n".join(as_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {as_toml(v)}' for k, v in value.items()) + " }"
    return str(value)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(keys, st.dictionaries(keys, values, max_size=4), min_size=1, max_size=4))
def test_lines_of_generated_files(tables):
    """Values with any strings inside never lead the scanner astray: keys stand on the lines they were written to."""
    text, expected = "", {}
    for name, table in tables.items():
        expected[name,] = text.count("\n") + 1
        text += f"[{name}]\n"
        for key, value in table.items():
            expected[name, key] = text.count("\n") + 1
            text += f"{key} = {as_toml(value)}\n"
    try:
        found = set(paths_of(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:  # JSON writes surrogates apart, which TOML refuses
        return
    lines = key_lines(text)
    assert set(lines) == found
    assert {path: lines[path] for path in expected} == expected


# --------------------------------------------------------------------------------------------------------------- faults

# What to change in GOOD (a line that is replaced, or one that is added), and what the message must say.
BAD = {
    "unknown table": ("[run]", "[runn]", "did you mean 'run'"),
    "unknown key": ("h = 0.001", "h = 0.001\nduraton = 3", "did you mean 'duration'"),
    "wrong type": ("h = 0.001", 'h = "fast"', "run.h is \"fast\"; it must be a finite number > 0"),
    "out of range": ("h = 0.001", "h = -1", "run.h is -1"),
    "boolean for a number": ("h = 0.001", "h = true", "run.h is True"),
    "not finite": ("h = 0.001", "h = inf", "run.h is inf"),
    "wrong size": ("gravity = [0, 0, -9.81]", "gravity = [0, -9.81]", "3 finite numbers"),
    "table for a list": ("[[load]]", "[load]", "list of tables: [[load]]"),
    "list for a table": ("[run]", "[[run]]", "it must be a table: [run]"),
    "missing key": ("kind = \"full\"", "", "method needs 'kind': how the motion is computed: quasi-statics, full"),
    "unknown method": ('kind = "full"', 'kind = "ful"', "did you mean 'full'"),
    "key of another method": ('kind = "full"', 'kind = "full"\nactive_joints = 5', "belongs to kind = 'adaptive'"),
    "unknown algorithm": ('kind = "full"', 'kind = "full"\nalgorithm = "abba"', "did you mean 'aba'"),
    "unknown integrator": ('kind = "full"', 'kind = "full"\nintegrator = "rk5"', "did you mean 'rk4'"),
    "unknown model": ('library = "chain"', 'library = "chian"', "did you mean 'chain'"),
    "unknown parameter": ("{ joints = 6 }", "{ joint_count = 6 }", "no parameter 'joint_count'"),
    "bad parameter": ("{ joints = 6 }", "{ joints = -6 }", "whole number of at least 1"),
    "two models": ('library = "chain"', 'library = "chain"\nfile = "a.urdf"', "either 'library' or 'file'"),
    "missing model file": ('library = "chain"', 'file = "nowhere.urdf"', "no such file"),
    "unknown body": ('body = "link_5"', 'body = "lnk_5"', "did you mean 'link_5'"),
    "several bodies": ('body = "link_5"', 'body = "link_*"', "stands for 6 bodies"),
    "unknown joint": ('joint = "link_*"', 'joint = "elbow"', "no joint is called 'elbow'"),
    "unknown joint in the state": ("{ link_0 = 0.3 }", "{ link_9 = 0.3 }", "no joint is called 'link_9'"),
    "too many coordinates": ("{ link_0 = 0.3 }", "{ link_0 = [0.3, 1] }", "takes 1 number here, not 2"),
    "bad expression": ('"sin(t)"', '"sin(t"', "column 6"),
    "bad table of times": ('"sin(t)"', "{ times = [0, 1, 1], values = [1, 2, 3] }", "must rise"),
    "uneven table": ('"sin(t)"', "{ times = [0, 1], values = [1, 2, 3] }", "2 times and 3 values"),
    "negative damping": ("damping = 0.001", "damping = -0.001", "finite number ≥ 0"),
    "wrong number of springs": ("damping = 0.001", "stiffness = [1, 2]", "it takes one, or 1"),
    "nothing acts": ('force = ["sin(t)", 0, 0]', "", "needs 'force' or 'torque'"),
    "no duration": ("duration = 0.01", "", "needs 'duration' [s] or 'steps'"),
    "duration and steps": (
        "duration = 0.01",
        "duration = 0.01\nsteps = 3",
        "both 'duration' and 'steps'; give one of them (--set run.duration= removes the other)",
    ),
    "pins without adaptive": ("[run]", '[[pin]]\njoint = "link_0"\nto = "active"\n[run]', "only with method.kind = 'ad"),
    "motor without a target": ("[run]", '[[motor]]\njoint = "link_0"\n[run]', "needs 'effort', 'position' or 'velocity'"),
    "motor without a gain": ("[run]", '[[motor]]\njoint = "link_0"\nposition = 1\n[run]', "needs 'stiffness' > 0"),
    "motor of a wrong size": ("[run]", '[[motor]]\njoint = "link_0"\neffort = [1, 2]\n[run]', "1 degrees of freedom"),
    "spring without stiffness": ("[run]", '[[spring]]\nbody = "link_0"\n[run]', "needs 'stiffness'"),
    "spring in two ways": (
        "[run]", '[[spring]]\nbody = "link_0"\nstiffness = 1\nto = [0, 0, 0]\noffset = [0, 0, 0]\n[run]', "not both",
    ),
    "velocity in quasi-statics": (
        'kind = "full"', 'kind = "quasi-statics"\n[state.v]\nlink_0 = 1', "begins at rest",
    ),
    "target in quasi-statics": (
        'kind = "full"',
        'kind = "quasi-statics"\n[[motor]]\njoint = "link_0"\nposition = 1\nstiffness = 1',
        "takes efforts only",
    ),
    "missing state file": ("q = { link_0 = 0.3 }", 'kind = "file"\nfile = "nowhere.npz"', "no state can be read"),
    "unknown point": ("[run]", '[record]\npoints = [{ body = "hand" }]\n[run]', "no body is called 'hand'"),
    "load on a walker": ('kind = "full"', 'kind = "walker"', "a walker has no 'load'"),
    "all of it a word": ("[model]", 'model = "chain"\n[modell]', "it must be a table"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_scenes(scene_file, what):
    """Each fault names file and line of the key it is about, or of the table that lacks one."""
    old, new, words = BAD[what]
    assert GOOD.count(old) == 1
    path = scene_file(GOOD.replace(old, new))
    error = faults_of(path)
    told = [fault for fault in error.faults if words in fault]
    assert told, str(error)
    line = int(re.match(re.escape(str(path)) + r":(\d+): ", told[0])[1])
    start = GOOD[: GOOD.index(old)].count("\n") + 1
    blamed = path.read_text().splitlines()[line - 1]
    near = start <= line <= start + new.count("\n")
    assert near or blamed.startswith("["), f"line {line} is blamed: {blamed}"
    assert "\n" not in told[0]


def test_all_faults_are_told_together(scene_file):
    text = GOOD.replace("h = 0.001", "h = 0").replace('"sin(t)"', '"sin(x)"').replace("joints = 6", "joints = 0.5")
    path = scene_file(text)
    error = faults_of(path)
    lines = [int(fault.removeprefix(f"{path}:").partition(":")[0]) for fault in error.faults]
    assert len(lines) == 3
    assert lines == sorted(lines)
    assert error.headline.endswith("3 faults")


@pytest.mark.parametrize("text", ["a = ", "[model\n", 'x = "unclosed\n', "a = 1\na = 2\n", "= 3"])
def test_what_is_no_toml(scene_file, text):
    path = scene_file("# first line\n" + text)
    error = faults_of(path)
    assert re.match(re.escape(str(path)) + r":\d+: this is no TOML", error.faults[0])


def test_what_is_no_file(tmp_path, scene_file):
    for path, words in (
        (tmp_path / "nowhere.toml", "no such file"),
        (tmp_path, "this is a folder"),
        ("snake_robt", "did you mean snake_robot"),
    ):
        with pytest.raises(FormatError, match=words):
            Scene.read(path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="UTF-8"):
        Scene.read(binary)


# ------------------------------------------------------------------------------------------------------------- settings


def test_settings_override_any_key(scene_file):
    path = scene_file()
    scene = Scene.read(path, ["model.parameters.joints=9", "load.0.body=link_8", "run.steps=7", "run.duration="])
    assert (scene.model.n_bodies, scene.steps) == (9, 7)
    same = Scene.read(
        path, {"model.parameters.joints": 9, "load.0.body": "link_8", "run.steps": 7, "run.duration": None}
    )
    assert same.data == scene.data
    more = Scene.read(path, ['load.1={ body = "link_0", torque = [0, 1, 0] }'])
    assert len(more.data["load"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run.h=-1", "--set run.h=-1: run.h is -1"),
        ("run.hh=1", "--set run.hh=1: run has no key 'hh'"),
        ("load.0.force=[0, 0]", "--set load.0.force=[0, 0]: load[0].force"),
        ("load.7.force=[0, 0, 0]", "'7' is no element of load"),
        ("run.h.x=1", "is a value, not a table"),
        ("run", "write key=value"),
        ("=3", "write key=value"),
        ("run.h=[1", "no TOML"),
    ],
)
def test_faults_of_settings_name_the_setting(scene_file, words, message):
    with pytest.raises(LinkworkError) as caught:
        Scene.read(scene_file(), [words])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("words", "path", "value"),
    [
        ("a.b=1e-4", ("a", "b"), 1e-4),
        ("a = dca", ("a",), "dca"),
        ("a=models/arm.urdf", ("a",), "models/arm.urdf"),
        ("a='1'", ("a",), "1"),
        ("a.'b.c'=[1, 2]", ("a", "b.c"), [1, 2]),
        ("a=true", ("a",), True),
        ("a=", ("a",), None),
    ],
)
def test_words_of_settings(words, path, value):
    setting = parse_setting(words)
    assert (setting.path, setting.value) == (path, value)


# -------------------------------------------------------------------------------------------------------------- meaning


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
    from linkwork.simulate.full_dynamics import FullDynamics

    by_hand = FullDynamics(model, state)
    load = by_hand.apply_wrench("link_5", frame="world")
    sim = scene.build()
    for k in range(10):
        by_hand.change_wrench(load, force=(np.sin((k + 0.5) * 0.001), 0.0, 0.0))
        by_hand.step(0.001)
        sim.step(0.001)
        assert sim.state.q == pytest.approx(by_hand.state.q, rel=1e-12, abs=1e-15)  # times add up in other orders
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


def test_picks_and_neighbours(scene_file):
    path = scene_file(GOOD.replace('body = "link_5"', 'body = "link_*"\npick = "all"'))
    assert [action.body for action in Scene.read(path)._actions] == [f"link_{k}" for k in range(6)]
    for pick, body in (("first", "link_0"), ("middle", "link_3"), ("last", "link_5")):
        assert [action.body for action in Scene.read(path, [f"load.0.pick={pick}"])._actions] == [body]
    near = Scene.read(path, ["load.0.pick=middle", "load.0.neighbours=3"])
    assert {action.body for action in near._actions} == {"link_2", "link_3", "link_4"}
    tree = lw.library.binary_tree(joints=15).compile()
    assert set(nearest_bodies(tree, tree.body("branch_0"), 3)) == {tree.body(f"branch_{k}") for k in range(3)}
    random = Scene.read(path, ["load.0.force={ magnitude = 2.0, seed = 1 }"])
    sizes = [np.linalg.norm(action.force(0.0)) for action in random._actions]
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
    assert still.state.v == pytest.approx(0.0, abs=1e-12)
    away = Scene.read(scene_file(text + 'offset = ["t > 0", 0, 0]\n')).build()
    there = Scene.read(scene_file(text)).state
    x, y, z, _ = (lw.body_poses(away.model, there)[5] @ [0.0, 0.0, -0.1, 1.0]).tolist()
    to = f"to = [{x + 1.0!r}, {y!r}, {z!r}]\n"
    same = Scene.read(scene_file(text + to)).build()
    for sim in (away, same):
        sim.step(0.001, 10)
    assert np.abs(away.state.v).max() > 0.01
    assert same.state.q == pytest.approx(away.state.q, abs=1e-12)


def test_motors_follow_their_targets(scene_file):
    """A stiff, damped motor brings its joint to the target; an effort alone accelerates as forward dynamics says."""
    text = GOOD.replace("duration = 0.01", "steps = 1").replace('["sin(t)", 0, 0]', "[0, 0, 0]")
    pushed = Scene.read(scene_file(text + '[[motor]]\njoint = "link_0"\neffort = 0.2\n'))
    sim = pushed.build()
    sim.step(0.001)
    effort = np.array([0.2, 0, 0, 0, 0, 0])
    expected = 0.001 * lw.forward_dynamics(pushed.model, pushed.state, effort)
    assert sim.state.v == pytest.approx(expected, rel=1e-12)
    motor = '[[motor]]\njoint = "link_*"\nposition = "0.1 * i"\nstiffness = 50.0\ndamping = 1.0\n'
    held = text.replace("damping = 0.001", "armature = 0.02").replace("[0, 0, -9.81]", "[0, 0, 0]") + motor
    sim = Scene.read(scene_file(held)).build()
    sim.step(0.001, 3000)
    assert sim.state.q == pytest.approx(0.1 * np.arange(6), abs=1e-6)


def test_every_key_is_documented():
    """The page of scenes names every table and key of the schema."""
    page = (Path(__file__).parents[2] / "docs" / "scenes.md").read_text(encoding="utf-8")
    tables = {**TABLES, **LISTS, "body": BODY, "": TOP, **{f"method {kind}": keys for kind, keys in METHODS.items()}}
    missing = [f"{table}.{key}" for table, keys in tables.items() for key in keys if f"`{key}`" not in page]
    missing += [name for name in (*TABLES, *LISTS, *METHODS, *METHOD) if name not in page]
    assert not missing
