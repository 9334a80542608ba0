"""Settings that override keys of a scene, when it is read and when its run goes on."""

from functools import partial

import pytest
from tests.helpers.scene_files import write_scene

from linkwork.errors import LinkworkError
from linkwork.scene import Scene, run_scene
from linkwork.scene.reading.settings import parse_setting


@pytest.fixture
def scene_file(tmp_path):
    return partial(write_scene, tmp_path)


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
        ("load.7.force=[0, 0, 0]", "'7' is not an element of load"),
        ("run.h.x=1", "is a value, not a table"),
        ("run", "write key=value"),
        ("=3", "write key=value"),
        ("run.h=[1", "not TOML"),
        ("[a]#=1", "write key=value"),
        ("[[a]]#=1", "write key=value"),
        ("a]=1", "write key=value"),
        ("#=1", "write key=value"),
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


def test_one_setting_needs_no_list(scene_file):
    path = scene_file()
    assert Scene.read(path, "run.duration=0.02").steps == 20
    with pytest.raises(LinkworkError, match="settings has 3"):
        Scene.read(path, [3])


# ------------------------------------------------------------------------------------------------------------- going on


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A recording of ten steps."""
    pytest.importorskip("zarr", reason="the extra `record` is not installed")
    folder = tmp_path_factory.mktemp("stopped")
    return run_scene(write_scene(folder), folder / "run", progress=False).path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run.duration=inf", "--set run.duration=inf: run.duration is inf; it must be a finite number > 0"),
        ("run.duration=nan", "run.duration is nan"),
        ("run.duration=0", "run.duration is 0"),
        ("run.duration=true", "run.duration is True"),
        ("run.duration=1e300", "more than 1,000,000,000,000 steps"),
        ("run.steps=1.5", "run.steps is 1.5; it must be a whole number"),
        ("run.steps=true", "run.steps is True"),
        ("run.steps=0", "of at least 1"),
        ("run.steps=soon", "run.steps is \"soon\""),
        ("run.h=1", "keeps its settings"),
    ],
)  # fmt: skip
def test_lengths_of_resumed_runs_are_checked_as_in_a_scene(stopped, words, message):
    with pytest.raises(LinkworkError) as caught:
        run_scene(None, stopped, words, resume=True, progress=False)
    assert message in str(caught.value)


def test_a_resumed_run_has_one_length(stopped):
    with pytest.raises(LinkworkError, match="give one of them"):
        run_scene(None, stopped, {"run.steps": 20, "run.duration": 0.02}, resume=True, progress=False)
    # Shorter than it is already: nothing is left to do, and nothing is lost.
    assert run_scene(None, stopped, "run.duration=1e-9", resume=True, progress=False).steps[-1] == 10
    assert run_scene(None, stopped, "run.steps=12", resume=True, progress=False).steps[-1] == 12
