"""`linkwork run` as people meet it: results on disk, refusals, Ctrl-C, kills, and going on after both."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.helpers.command_runs import SMALL, command_line, states

from linkwork.cli.exit_codes import DONE, INTERRUPTED, REFUSED, WRONG_USAGE
from linkwork.errors import LinkworkError
from linkwork.record.recording import Recording
from linkwork.scene import Scene, run_scene
from linkwork.scene.builtin_scenes import builtin_scenes


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs `linkwork ...` in a folder of its own that holds small.toml; gives exit code, stdout, stderr."""
    return command_line(capsys, monkeypatch, tmp_path)


# --------------------------------------------------------------------------------------------------------------------- run


def test_list(run):
    code, out, _ = run("run", "--list")
    assert code == DONE
    assert all(name in out for name in builtin_scenes())


def test_a_run_leaves_a_recording_and_a_summary(run, tmp_path):
    code, out, err = run("run", "small.toml")
    assert (code, err) == (DONE, "")
    assert "a small chain" in out
    assert "50 steps" in out
    assert "linkwork plot out/small" in out
    recording = Recording(tmp_path / "out" / "small")
    assert recording.status == "finished"
    assert len(recording) == 11
    assert recording.scene == SMALL
    assert recording.metadata["title"] == "a small chain"


def test_quiet_says_nothing(run):
    assert run("run", "small.toml", "--quiet") == (DONE, "", "")


def test_settings_reach_the_run(run):
    code, *_ = run(
        "run", "small.toml", "--set", "run.steps=4", "--set", "run.duration=", "--set", "method.integrator=rk4"
    )
    assert code == DONE
    assert Recording("out/small").steps[-1] == 4
    code, _, err = run("run", "small.toml", "--set", "run.h=-1", "--out", "other")
    assert code == REFUSED
    assert "--set run.h=-1: run.h is -1" in err


def test_existing_output_is_refused_without_force(run, tmp_path):
    run("run", "small.toml")
    before = states("out/small")
    code, _, err = run("run", "small.toml", "--set", "run.duration=0.01")
    assert code == REFUSED
    assert "exists already" in err
    assert "--force" in err
    assert states("out/small") == before
    assert run("run", "small.toml", "--set", "run.duration=0.01", "--force")[0] == DONE
    assert len(states("out/small")) < len(before)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("dear diary")
    code, _, err = run("run", "small.toml", "--out", "notes", "--force")
    assert code == REFUSED
    assert (tmp_path / "notes" / "diary.txt").read_text() == "dear diary"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "run needs a scene"),
        (["run", "nowhere.toml"], "no such file"),
        (["run", "snake_robo"], "did you mean 'snake_robot'"),
        (["run", "small.toml", "--resume"], "there is no recording 'out/small'"),
        (["run", "small.toml", "--resume", "--force"], "choose one"),
        (["plot", "nowhere"], "nowhere"),
        (["plot", "small.toml"], "small.toml"),
        (["export", "nowhere", "--csv"], "nowhere"),
        (["export", ".", "--npz"], "recording"),
    ],
)
def test_refusals(run, words, message):
    code, out, err = run(*words)
    assert code == REFUSED
    assert message in err
    assert not out


def test_wrong_usage(run):
    assert run("export", "x")[0] == WRONG_USAGE
    assert run("export", "x", "--csv", "--npz")[0] == WRONG_USAGE


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(run, tmp_path):
    shelf = tmp_path / "shelf"
    shelf.mkdir(mode=0o555)
    code, _, err = run("run", "small.toml", "--out", shelf / "run")
    assert code == REFUSED
    assert "ermission" in err


def test_a_place_that_cannot_be_written(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, _, err = run("run", "small.toml", "--out", tmp_path / "file" / "run")
    assert code == REFUSED
    assert "file" in err


# ------------------------------------------------------------------------------------------------------------------ resume


def test_a_resumed_run_needs_only_the_recording(run, tmp_path):
    """Scene and model files are gone; model, loads and settings come from the recording, and so do the bits."""
    robot = """<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 -1"/><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
    (tmp_path / "robot.urdf").write_text(robot)
    text = SMALL.replace('library = "chain"', 'file = "robot.urdf"').replace("parameters = { joints = 8 }", "")
    text = (
        text.replace("link_7", "arm")
        .replace('"link_0", "arm"', '"hinge"')
        .replace("[run]", "[state]\nq.hinge = 1\n[run]")
    )
    (tmp_path / "robot.toml").write_text(text)
    whole = run_scene("robot.toml", "whole", progress=False)
    half = run_scene("robot.toml", "half", callback=lambda sim, report: sim.steps_done >= 20, progress=False)
    assert half.status == "stopped"
    assert half.steps[-1] == 20
    (tmp_path / "robot.toml").unlink()
    (tmp_path / "robot.urdf").unlink()
    code, out, _ = run("run", "--resume", "--out", "half")
    assert code == DONE
    assert "going on from 0.02 s" in out
    assert states("half") == states("whole")
    assert whole.scalars["energy"].tobytes() == Recording("half").scalars["energy"].tobytes()


def test_a_resumed_run_can_become_longer(run):
    run("run", "small.toml")
    assert run("run", "small.toml", "--resume")[0] == DONE  # nothing is left to do
    assert Recording("out/small").steps[-1] == 50
    assert run("run", "small.toml", "--resume", "--set", "run.duration=0.08")[0] == DONE
    assert Recording("out/small").steps[-1] == 80
    code, _, err = run("run", "small.toml", "--resume", "--set", "method.algorithm=dca")
    assert code == REFUSED
    assert "keeps its settings" in err


def test_a_resumed_run_refuses_another_scene(run, tmp_path):
    run("run", "small.toml", "--set", "run.steps=20", "--set", "run.duration=")
    before = states("out/small")
    (tmp_path / "other.toml").write_text(SMALL.replace("0.3*sin", "0.4*sin"))
    code, _, err = run("run", "other.toml", "--out", "out/small", "--resume")
    assert code == REFUSED
    assert "was not recorded from the scene 'other.toml'" in err
    assert "linkwork run --out out/small --resume" in err
    assert "--force" in err
    (tmp_path / "small.toml").write_text(SMALL.replace("0.3*sin", "0.4*sin"))  # edited since
    assert run("run", "small.toml", "--resume")[0] == REFUSED
    with pytest.raises(LinkworkError, match="snake_robot"):
        run_scene("snake_robot", "out/small", resume=True)
    with pytest.raises(LinkworkError, match="was not recorded from"):
        run_scene(Scene.read("small.toml"), "out/small", resume=True)
    assert states("out/small") == before
    (tmp_path / "small.toml").write_text(SMALL)
    assert run("run", "small.toml", "--resume")[0] == DONE
    (tmp_path / "small.toml").unlink()
    assert run("run", "small.toml", "--out", "out/small", "--resume", "--set", "run.steps=30")[0] == DONE
    assert Recording("out/small").steps[-1] == 30


@pytest.mark.parametrize("words", ["run.duration=inf", "run.duration=nan", "run.steps=1.5", "run.steps=true"])
def test_a_resumed_run_refuses_lengths_that_are_none(run, words):
    run("run", "small.toml", "--quiet", "--set", "run.steps=2", "--set", "run.duration=")
    code, _, err = run("run", "small.toml", "--resume", "--set", words)
    assert code == REFUSED
    assert f"--set {words}: " in err


KINDS = {
    "quasi-statics": ("protein_pulled", {"model.parameters.joints": 200, "run.duration": 1.0}),
    "adaptive": ("crowd", {"model.copies": 3, "run.duration": 0.03, "method.max_active_joints": 10}),
    "walker": ("compass_walker", {"run.duration": 1.6}),
    "loops": ("four_bar", {"run.duration": 0.2}),
    "motors": ("snake_robot", {"run.duration": 0.3}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_changes_no_bit(kind, tmp_path):
    """Every kind of simulation, stopped half way and twice more, ends as if it had never been stopped."""
    name, settings = KINDS[kind]
    run_scene(name, tmp_path / "whole", settings, progress=False)
    steps = Scene.read(name, settings).steps
    parts = iter([0.3, 0.55, 0.8])

    def stop(part):
        return lambda sim, report: sim.steps_done >= part * steps

    run_scene(name, tmp_path / "parts", settings, callback=stop(next(parts)), progress=False)
    for part in parts:
        run_scene(None, tmp_path / "parts", resume=True, callback=stop(part), progress=False)
    run_scene(None, tmp_path / "parts", resume=True, progress=False)
    assert states(tmp_path / "parts") == states(tmp_path / "whole")


def start(tmp_path, *words: str, code: str | None = None) -> subprocess.Popen:
    """`linkwork ...`, or Python code, in a process of its own."""
    program = ["-c", code] if code else ["-m", "linkwork", *words]
    return subprocess.Popen(
        [sys.executable, *program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_frames(path, frames: int, process: subprocess.Popen) -> None:
    """Until a recording on its way has so many committed frames, or a checkpoint beyond its first."""
    for _ in range(2400):
        if process.poll() is not None:
            raise AssertionError(f"the run ended by itself:\n{process.communicate()[1]}")
        if (path / "zarr.json").exists() and len(Recording(path)) >= frames:
            return
        time.sleep(0.05)
    process.kill()
    raise AssertionError("no frames within two minutes")


@pytest.fixture
def long_scene(tmp_path):
    """Long enough to be stopped, short enough to be finished; and what it is when nobody stops it.

    It takes ten times as long as the test waits before it interrupts: the signal must not come after the end.
    """
    (tmp_path / "long.toml").write_text(SMALL.replace("duration = 0.05", "duration = 50.0").replace("0.005", "0.1"))
    run_scene(tmp_path / "long.toml", tmp_path / "whole", progress=False)
    return tmp_path


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_ctrl_c_keeps_everything_and_resume_goes_on(long_scene):
    process = start(long_scene, "run", "long.toml", "--out", "run")
    wait_for_frames(long_scene / "run", 1, process)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "Traceback" not in err
    assert "linkwork run long.toml --out run --resume" in err
    stopped = Recording(long_scene / "run")
    assert stopped.status == "interrupted"
    assert 0 < stopped.steps[-1] < 50_000
    again = start(long_scene, "run", "long.toml", "--out", "run", "--resume")
    out, err = again.communicate(timeout=300)
    assert (again.returncode, err) == (DONE, "")
    assert "50,000 steps" in out
    assert states(long_scene / "run") == states(long_scene / "whole")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_killed_runs_resume_to_the_same_bits(long_scene):
    """Killed on the command line and in Python, at moments that nobody chose; each resumed run is killed again."""
    code = "import linkwork as lw; lw.run_scene(None, 'run', resume=True, checkpoint_every=0.05)"
    process = start(long_scene, "run", "long.toml", "--out", "run")
    for k in range(3):
        before = len(Recording(long_scene / "run")) if k else 0
        wait_for_frames(long_scene / "run", before + 1, process)
        time.sleep(0.05 * k)
        process.kill()
        process.communicate()
        killed = Recording(long_scene / "run")  # readable after any kill
        assert killed.status == "running"
        if k < 2:
            process = start(long_scene, code=code)
    done = start(long_scene, "run", "--out", "run", "--resume", "--quiet")
    assert done.communicate(timeout=300) == ("", "")
    assert done.returncode == DONE
    assert states(long_scene / "run") == states(long_scene / "whole")
