"""Bad scenes: every fault with file and line, all of them together, and scenes from Python as plain as those from files."""

import re
import tomllib
from functools import partial

import numpy as np
import pytest
from tests.helpers.scene_files import GOOD, faults_of, write_scene

import linkwork as lw
from linkwork.errors import FormatError, ModelError
from linkwork.scene import Scene


@pytest.fixture
def scene_file(tmp_path):
    return partial(write_scene, tmp_path)


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
    "key of another method": ('kind = "full"', 'kind = "full"\nhorizon = 0.5', "belongs to kind = 'adaptive'"),
    "unknown algorithm": ('kind = "full"', 'kind = "full"\nalgorithm = "abba"', "did you mean 'aba'"),
    "unknown integrator": ('kind = "full"', 'kind = "full"\nintegrator = "rk5"', "did you mean 'rk4'"),
    "unknown model": ('library = "chain"', 'library = "chian"', "did you mean 'chain'"),
    "unknown parameter": ("{ joints = 6 }", "{ joint_count = 6 }", "no parameter 'joint_count'"),
    "list for a name": ("{ joints = 6 }", '{ joint = ["spherical"] }', "there is no joint ['spherical']"),
    "a date": ('title = "a chain"', "title = 1979-05-27", "title is a date"),
    "a date for a parameter": ("{ joints = 6 }", "{ joints = 1979-05-27 }", "model.parameters.joints is a date"),
    "endless number": ("h = 0.001", "h = 1" + "0" * 400, "more than 60 digits; it must be a finite number > 0"),
    "endless duration": ("duration = 0.01", "duration = 1e300", "more than 1,000,000,000,000 steps; give a shorter"),
    "endless steps": ("duration = 0.01", "steps = 10000000000000", "at most 1,000,000,000,000"),
    "endless copies": ('library = "chain"', 'library = "chain"\ncopies = 9000000', "more than 10,000,000 bodies"),
    "negative weight": ('kind = "full"', 'kind = "adaptive"\nvelocity_weights = -1', "finite number > 0"),
    "weight of nobody": (
        'kind = "full"', 'kind = "adaptive"\nvelocity_weights = { elbow = 2 }', "no joint is called 'elbow'",
    ),
    "two weights for one": (
        'kind = "full"', 'kind = "adaptive"\nweights = { link_0 = [1, 2] }', "2 weights are given",
    ),
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
    "a table for the kind": ('kind = "full"', "kind = { full = 1 }\nmore = 1", "kind"),
    "velocity in quasi-statics": (
        'kind = "full"', 'kind = "quasi-statics"\n[state.v]\nlink_0 = 1', "begins at rest",
    ),
    "target in quasi-statics": (
        'kind = "full"',
        'kind = "quasi-statics"\n[[motor]]\njoint = "link_0"\nvelocity = 1\ndamping = 1',
        "velocity",
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
    reported = [fault for fault in error.faults if words in fault]
    assert reported, str(error)
    line = int(re.match(re.escape(str(path)) + r":(\d+): ", reported[0])[1])
    start = GOOD[: GOOD.index(old)].count("\n") + 1
    blamed = path.read_text().splitlines()[line - 1]
    near = start <= line <= start + new.count("\n")
    assert near or blamed.startswith("["), f"line {line} is blamed: {blamed}"
    assert "\n" not in reported[0]


LIBRARY_FAULTS = {  # parameter, what it is set to, what the builder says
    "joints": ("chain", "-3", "at least 1"),
    "axes": ("chain", '"crooked"', "alternating"),
    "spine": ("millipede", "2", "one link per segment"),
    "branching": ("random_tree", "7.0", "from 0"),
    "kinds": ("random_tree", '["wheel"]', "unknown joint kinds"),
    "leg_mass": ("compass_biped", "0", "above zero"),
    "lengths": ("double_pendulum", "[1.0]", "two numbers"),
}


@pytest.mark.parametrize("parameter", LIBRARY_FAULTS)
def test_errors_of_library_models_name_the_parameter(scene_file, parameter):
    """A builder's error says which parameter it is about, and the scene points at its line."""
    library, value, words = LIBRARY_FAULTS[parameter]
    path = scene_file(
        f'[model]\nlibrary = "{library}"\n\n[model.parameters]\n# which one is it?\n{parameter} = {value}\n\n'
        '[method]\nkind = "full"\n\n[run]\nh = 1e-3\nsteps = 1\n'
    )
    (fault,) = faults_of(path).faults
    assert fault.startswith(f"{path}:6: ")
    assert words in fault
    with pytest.raises(ModelError) as caught:
        lw.library.MODELS[library](**{parameter: tomllib.loads(f"x = {value}")["x"]})
    assert caught.value.about == parameter


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("stiffness = [1, 2]", "stiffness has 2 numbers"),
        ("rest = [1, 0, 0]", "rest"),
        ("rest = [2, 0, 0, 0]", "unit"),
    ],
)
def test_faults_of_joint_options_point_at_the_option(scene_file, line, words):
    text = GOOD.replace("damping = 0.001", line).replace("{ joints = 6 }", '{ joints = 6, joint = "spherical" }')
    path = scene_file(text.replace("q = { link_0 = 0.3 }\n", ""))
    (fault,) = faults_of(path).faults
    number = path.read_text().splitlines().index(line) + 1
    assert fault.startswith(f"{path}:{number}: ")
    assert words in fault


def test_all_faults_are_reported_together(scene_file):
    text = GOOD.replace("h = 0.001", "h = 0").replace('"sin(t)"', '"sin(x)"').replace("joints = 6", "joints = 0.5")
    path = scene_file(text)
    error = faults_of(path)
    lines = [int(fault.removeprefix(f"{path}:").partition(":")[0]) for fault in error.faults]
    assert len(lines) == 3
    assert lines == sorted(lines)
    assert error.headline.endswith("3 faults")


@pytest.mark.parametrize("text", ["a = ", "[model\n", 'x = "unclosed\n', "a = 1\na = 2\n", "= 3"])
def test_what_is_not_toml(scene_file, text):
    path = scene_file("# first line\n" + text)
    error = faults_of(path)
    assert re.match(re.escape(str(path)) + r":\d+: this is not TOML", error.faults[0])


def test_what_is_not_a_file(tmp_path, scene_file):
    for path, words in (
        (tmp_path / "nowhere.toml", "no such file"),
        (tmp_path, "this is a folder"),
        ("snake_robt", "did you mean 'snake_robot'"),
    ):
        with pytest.raises(FormatError, match=words):
            Scene.read(path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="UTF-8"):
        Scene.read(binary)


def test_a_mark_at_the_beginning_is_no_part_of_the_file(tmp_path):
    path = tmp_path / "marked.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert Scene.read(path).text == GOOD
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("h = 0.001", "h = -1").encode())
    assert f"{path}:23: run.h is -1" in str(faults_of(path))


# ---------------------------------------------------------------------------------------------------------- from Python

GIVEN = {
    "model": {"library": "chain", "parameters": {"joints": 6}},
    "method": {"kind": "full"},
    "run": {"h": 0.001, "steps": 10},
}


def test_numpy_and_tuples_are_as_good_as_plain_values(tmp_path):
    """A scene made of NumPy's numbers can be kept, and is the same as one of plain numbers."""
    pytest.importorskip("zarr", reason="the extra `record` is not installed")
    from linkwork.scene import run_scene

    strange = {
        "gravity": (0.0, 0.0, np.float64(-9.81)),
        "model": {"library": "chain", "parameters": {"joints": np.int64(6)}},
        "state": {"q": {"link_0": np.float32(0.5)}},
        "load": ({"body": "link_5", "force": np.array([1.0, 0.0, 0.0])},),
        "method": {"kind": "full"},
        "run": {"h": np.float64(0.001), "steps": np.int32(10)},
    }
    scene = Scene(strange)
    same = Scene({
        **GIVEN, "gravity": [0.0, 0.0, -9.81], "state": {"q": {"link_0": 0.5}},
        "load": [{"body": "link_5", "force": [1.0, 0.0, 0.0]}],
    })  # fmt: skip
    assert scene.data == same.data
    recording = run_scene(scene, tmp_path / "run", progress=False)
    assert Scene.of_recording(recording).data == scene.data


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": None}, "title is nothing"),
        ({"title": object()}, "title is a object"),
        ({1: 2}, "keys are text"),
        ({"run": {"h": 0.001, "steps": np.float64(1.5)}}, "run.steps is 1.5; it must be a whole number"),
        ({"run": {"h": 10**400, "steps": 1}}, "run.h is a whole number of more than 60 digits; it must be a finite number"),
        ({"gravity": [0, 0, 10**400]}, "3 finite numbers"),
    ],
)  # fmt: skip
def test_what_a_scene_from_python_may_not_hold(changes, message):
    with pytest.raises(FormatError) as caught:
        Scene({**GIVEN, **changes})
    assert message in str(caught.value)


def test_a_scene_is_a_table():
    with pytest.raises(FormatError, match=r"Scene.read\(path\) reads a file"):
        Scene("snake_robot")
