"""`linkwork plot` and `linkwork export` as people meet them: pictures and tables, and what they refuse."""

import csv

import numpy as np
import pytest
from tests.helpers.command_runs import command_line

from linkwork.cli.exit_codes import DONE, REFUSED
from linkwork.record.recording import Recording
from linkwork.scene import run_scene


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs `linkwork ...` in a folder of its own that holds small.toml; gives exit code, stdout, stderr."""
    return command_line(capsys, monkeypatch, tmp_path)


def test_plot(run, tmp_path):
    run("run", "small.toml", "--quiet")
    code, out, _ = run("plot", "out/small")
    assert code == DONE
    assert (tmp_path / "out" / "small.png").stat().st_size > 20_000
    assert "energy" in out
    assert "paths" in out
    code, *_ = run("plot", "out/small", "--joint", "link_[12]", "--body", "link_3", "--out", "pictures/two.svg")
    assert code == DONE
    drawn = (tmp_path / "pictures" / "two.svg").read_text()
    assert "<svg" in drawn
    for words, message in (
        (["--joint", "elbow"], "no joint is called 'elbow'"),
        (["--body", "hand"], "has no body 'hand'"),
        (["--out", "picture.doc"], "not a kind of picture"),
    ):
        code, _, err = run("plot", "out/small", "--force", *words)
        assert code == REFUSED
        assert message in err


def test_pictures_are_not_replaced_unasked(run, tmp_path):
    run("run", "small.toml", "--quiet", "--out", "out/a.v1")
    assert run("plot", "out/a.v1")[0] == DONE
    picture = tmp_path / "out" / "a.v1.png"
    picture.write_text("mine")
    code, _, err = run("plot", "out/a.v1")
    assert code == REFUSED
    assert "'out/a.v1.png' exists already" in err
    assert "--force" in err
    code, *_ = run("plot", "out/a.v1", "--force", "--joint", "elbow")  # fails on the way
    assert code == REFUSED
    assert picture.read_text() == "mine"
    assert run("plot", "out/a.v1", "--force")[0] == DONE
    assert picture.stat().st_size > 20_000
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.v1", "a.v1.png"]  # no other file is left
    (tmp_path / "pictures.png").mkdir()
    code, _, err = run("plot", "out/a.v1", "--force", "--out", "pictures.png")
    assert code == REFUSED
    assert "is a folder" in err


@pytest.mark.parametrize("name", ["compass_walker", "crowd", "molecule_one_force", "falling_humanoid"])
def test_plots_of_builtin_scenes(run, tmp_path, name):
    """Scenes without chosen joints, with floating bases, balls, steps and bounds: each draws what it has."""
    settings = {
        "compass_walker": {"run.duration": 1.6},
        "crowd": {"model.copies": 2, "run.duration": 0.02, "method.max_active_joints": 20},
        "molecule_one_force": {"model.parameters.joints": 300, "run.steps": 60, "record.points": []},
        "falling_humanoid": {"run.duration": 0.05, "record.joints": ["head"]},
    }[name]
    run_scene(name, "run", settings, progress=False)
    code, out, err = run("plot", "run", "--out", "run.png")
    assert (code, err) == (DONE, "")
    expected = {"compass_walker": "steps", "crowd": "joints active", "molecule_one_force": "bound"}.get(name, "joints")
    assert expected in out


def test_export_csv(run):
    run("run", "small.toml", "--quiet")
    code, out, _ = run("export", "out/small", "--csv", "--every", "2", "--joint", "link_[07]")
    assert code == DONE
    assert "6 frames" in out
    with open("out/small.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    recording = Recording("out/small")
    assert list(rows[0])[:6] == ["time", "step", "q.link_0", "q.link_7", "v.link_0", "v.link_7"]
    assert [float(row["time"]) for row in rows] == recording.times[::2].tolist()  # every digit
    assert [float(row["q.link_7"]) for row in rows] == recording.joint("link_7")[::2, 0].tolist()
    assert [float(row["v.link_0"]) for row in rows] == recording.joint_velocity("link_0")[::2, 0].tolist()
    assert [float(row["energy"]) for row in rows] == recording.scalars["energy"][::2].tolist()
    code, _, err = run("export", "out/small", "--csv")
    assert code == REFUSED
    assert "exists already" in err
    assert run("export", "out/small", "--csv", "--force")[0] == DONE


def test_export_npz(run):
    run("run", "small.toml", "--quiet")
    code, *_ = run("export", "out/small", "--npz", "--out", "all.npz")
    assert code == DONE
    recording = Recording("out/small")
    with np.load("all.npz") as found:
        assert found["q_names"].tolist() == list(recording.model.joint_names)
        for k in range(len(recording)):
            assert (found["q"][k] == recording.state(k).q).all()
            assert (found["v"][k] == recording.state(k).v).all()
        assert (found["energy"] == recording.scalars["energy"]).all()


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_large_recordings_are_exported_state_by_state(run, monkeypatch, kind):
    """The two ways of reading give the same file, and the slow one never asks for frames that are left out."""
    run("run", "small.toml", "--quiet")
    words = ["export", "out/small", f"--{kind}", "--every", "3", "--joint", "link_[27]"]
    assert run(*words, "--out", "quick")[0] == DONE
    asked = []
    state = Recording.state
    monkeypatch.setattr(Recording, "state", lambda self, k: asked.append(k) or state(self, k))
    monkeypatch.setattr(Recording, "coordinates", None)
    monkeypatch.setattr("linkwork.cli.commands.export.AT_ONCE", 0)
    assert run(*words, "--out", "slow")[0] == DONE
    assert asked == [0, 3, 6, 9]
    if kind == "csv":
        with open("quick", encoding="utf-8") as quick, open("slow", encoding="utf-8") as slow:
            assert quick.read() == slow.read()
    else:
        with np.load("quick") as quick, np.load("slow") as slow:
            assert set(quick) == set(slow)
            for name in quick:
                assert np.array_equal(quick[name], slow[name], equal_nan=quick[name].dtype.kind == "f")


def test_the_limit_of_arrays_counts_what_is_chosen(run, monkeypatch):
    """11 frames of 16 numbers: all of them are too many for 600 bytes, every third frame of them is not."""
    run("run", "small.toml", "--quiet")
    monkeypatch.setattr("linkwork.cli.commands.export.NPZ_BYTES", 600)
    code, _, err = run("export", "out/small", "--npz")
    assert code == REFUSED
    assert "fewer frames with --every" in err
    assert run("export", "out/small", "--npz", "--every", "3")[0] == DONE
    assert run("export", "out/small", "--csv")[0] == DONE  # written row by row


def test_an_export_that_fails_leaves_the_old_file(run, monkeypatch, tmp_path):
    run("run", "small.toml", "--quiet", "--out", "out/a.v1")
    assert run("export", "out/a.v1", "--csv")[0] == DONE
    before = (tmp_path / "out" / "a.v1.csv").read_text()

    def fail(*_):
        raise OSError(28, "No space left on device", "a.v1.csv")

    monkeypatch.setattr("linkwork.cli.commands.export._rows", fail)
    code, _, err = run("export", "out/a.v1", "--csv", "--force")
    assert code == REFUSED
    assert "No space left" in err
    assert (tmp_path / "out" / "a.v1.csv").read_text() == before
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.v1", "a.v1.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--csv"], "choose joints with --joint"),
        (["--csv", "--joint", "elbow"], "no joint is called 'elbow'"),
        (["--npz", "--every", "0"], "--every is 0"),
    ],
)
def test_export_refuses(run, words, message):
    """3,000 joints make 6,000 columns: no table for people."""
    settings = {"model.parameters.joints": 3000, "run.steps": 3}
    run_scene("molecule_one_force", "run", settings, progress=False)
    code, _, err = run("export", "run", *words)
    assert code == REFUSED
    assert message in err
