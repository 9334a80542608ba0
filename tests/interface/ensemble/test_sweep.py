"""Sweeps: their tables; what is left after faults; the command line."""

import csv
import errno
import json
import math
import os
import signal
from pathlib import Path

import pytest
from tests.helpers.command_runs import SMALL, command_line

import linkwork as lw
from linkwork.cli.exit_codes import DONE, INTERRUPTED, REFUSED
from linkwork.ensemble import journal, work
from linkwork.ensemble.design import run_seed

FAST = ("run.duration=0.01", "model.parameters.joints=3", "load.0.body=link_2", "record.points.0.body=link_2",
        "record.joints=")  # fmt: skip


def square(x, seed):
    if x == 3:
        raise ValueError("three\nis refused")
    return {"y": x * x, "drawn": seed % 1000, "text": "even" if x % 2 == 0 else "odd"}


@pytest.fixture
def scene_file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def bytes_of(folder) -> bytes:
    return (Path(folder) / "table.csv").read_bytes()


def test_a_fault_of_the_first_scene_is_found_before_anything_runs(scene_file):
    with pytest.raises(lw.FormatError, match=r"run\.h"):
        lw.Sweep(scene_file, {"run.h": [-1.0]})


# ------------------------------------------------------------------------------------------------------------------- table


def test_a_function_and_its_failures(tmp_path):
    table = lw.Sweep(square, {"x": [2, 3, 4]}, seed=9).run(tmp_path / "s", workers=0)
    assert table.columns == ("run", "x", "seed", "y", "drawn", "text", "status", "error", "version")
    assert table["y"][[0, 2]].tolist() == [4, 16]
    assert math.isnan(table["y"][1])
    assert table["drawn"][0] == run_seed(9, 0) % 1000
    assert table.failed == [1]
    assert table.row(1)["error"] == "ValueError: three\nis refused"
    assert table.row(0)["version"] == lw.__version__
    with (tmp_path / "s" / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["done", "failed", "done"]
    assert rows[1]["error"] == "ValueError: three\nis refused"
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert pandas.read_csv(tmp_path / "s" / "table.csv")["y"].tolist()[::2] == [4, 16]


def test_recordings_and_scalars_give_the_same_table(scene_file, tmp_path):
    for keep in ("recordings", "scalars"):
        sweep = lw.Sweep(scene_file, {"load.force[2]": [0.5, 1.0]}, settings=FAST, keep=keep)
        sweep.run(tmp_path / keep, workers=0)
    assert bytes_of(tmp_path / "recordings") == bytes_of(tmp_path / "scalars")
    table = lw.SweepTable(tmp_path / "recordings")
    recording = table.recording(1)
    assert recording.status == "finished"
    assert table["energy"][1] == recording.scalars["energy"][-1]
    end = recording.path_of("link_2", (0, 0, -0.1))[-1]
    # the same product of three rotations in another order of operations: rounding of metres
    assert [table[f"point_0.{axis}"][1] for axis in "xyz"] == pytest.approx(end, abs=1e-14)


def test_chosen_results_are_reduced_over_frames(scene_file, tmp_path):
    wanted = ("kinetic_energy.max", "energy.mean", "energy.first")
    sweep = lw.Sweep(scene_file, {"load.force[2]": [0.5]}, settings=FAST, results=wanted)
    table = sweep.run(tmp_path / "s", workers=0)
    scalars = table.recording(0).scalars
    assert table["kinetic_energy.max"][0] == scalars["kinetic_energy"].max()
    assert table["energy.mean"][0] == pytest.approx(scalars["energy"].mean(), rel=1e-14)  # three frames
    assert table["energy.first"][0] == scalars["energy"][0]
    assert "energy" not in table.columns


def test_seeds_reach_the_scene(scene_file, tmp_path):
    sweep = lw.Sweep(
        scene_file, settings=(*FAST, "state.kind=random"), repeat=3, seed_keys=["state.seed"], keep="scalars"
    )
    table = sweep.run(tmp_path / "s", workers=0)
    assert len(set(table["energy"].tolist())) == 3


# ------------------------------------------------------------------------------------------------------------------ faults


class Stop(KeyboardInterrupt):
    pass


def test_resume_does_what_is_missing_and_nothing_twice(tmp_path):
    calls = tmp_path / "calls"

    def counted(x):
        with calls.open("a") as file:
            file.write(f"{x}\n")
        if stop and x == 4:
            raise Stop
        return x / 3

    stop = True
    sweep = lw.Sweep(counted, {"x": range(8)})
    with pytest.raises(lw.SweepInterrupted) as stopped:
        sweep.run(tmp_path / "s", workers=0)
    assert len(stopped.value.table) == 4
    assert stopped.value.table.missing == 4
    with pytest.raises(lw.LinkworkError, match="go on with it"):
        sweep.run(tmp_path / "s", workers=0)
    stop = False
    table = sweep.run(tmp_path / "s", workers=0, resume=True)
    assert sorted(map(int, calls.read_text().split())) == [0, 1, 2, 3, 4, 4, 5, 6, 7]  # 4 was stopped in the middle
    lw.Sweep(counted, {"x": range(8)}).run(tmp_path / "whole", workers=0)
    assert bytes_of(tmp_path / "s") == bytes_of(tmp_path / "whole")
    assert len(table) == 8
    before = calls.read_text()
    sweep.run(tmp_path / "s", workers=0, resume=True)
    assert calls.read_text() == before


def test_a_torn_line_counts_as_not_done(tmp_path):
    sweep = lw.Sweep(square, {"x": [1, 2, 4]})
    sweep.run(tmp_path / "s", workers=0)
    whole, path = bytes_of(tmp_path / "s"), tmp_path / "s" / journal.JOURNAL
    lines = path.read_bytes()
    for cut in (1, 30, len(lines) // 2):
        path.write_bytes(lines[:-cut])
        sweep.run(tmp_path / "s", workers=0, resume=True)
        assert bytes_of(tmp_path / "s") == whole
        assert sorted(journal.read_journal(tmp_path / "s", 3)) == [0, 1, 2]


def test_a_full_disk_stops_the_sweep_and_it_goes_on(tmp_path, monkeypatch):
    sweep = lw.Sweep(square, {"x": [1, 2, 4]})
    write, room = os.write, [400]

    def full(handle, data):
        if handle < 3 or room[0] is None:
            return write(handle, data)
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = data[: room[0]]
        room[0] -= len(part)
        return write(handle, part)

    monkeypatch.setattr(journal.os, "write", full)
    with pytest.raises(lw.SweepError, match="No space left"):
        sweep.run(tmp_path / "s", workers=0)
    room[0] = None
    sweep.run(tmp_path / "s", workers=0, resume=True)
    sweep.run(tmp_path / "whole", workers=0)
    assert bytes_of(tmp_path / "s") == bytes_of(tmp_path / "whole")


def test_a_disk_fault_within_a_run_is_not_a_failed_run(tmp_path):
    def no_room(x):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(lw.SweepError, match="run 0"):
        lw.Sweep(no_room, {"x": [1]}).run(tmp_path / "s", workers=0)
    assert len(lw.SweepTable(tmp_path / "s")) == 0


def test_a_run_that_was_stopped_goes_on_from_its_recording(scene_file, tmp_path, monkeypatch):
    """A worker that dies in the middle leaves a recording, which the next one brings to its end: same bits, same table."""
    sweep = lw.Sweep(scene_file, {"load.force[2]": [0.5, 1.0]}, settings=FAST)
    sweep.run(tmp_path / "whole", workers=0)
    from linkwork.record import Recorder

    append, frames = Recorder.append, []

    def dies(self, *frame, **more):
        append(self, *frame, **more)
        frames.append(frame)
        if len(frames) == 5:  # each run has three, so this is the second of the second run
            raise Stop

    monkeypatch.setattr(Recorder, "append", dies)
    with pytest.raises(lw.SweepInterrupted):
        sweep.run(tmp_path / "s", workers=0)
    monkeypatch.setattr(Recorder, "append", append)
    assert lw.Recording(tmp_path / "s" / "runs" / "000001").status != "finished"
    sweep.run(tmp_path / "s", workers=0, resume=True)
    assert bytes_of(tmp_path / "s") == bytes_of(tmp_path / "whole")


def test_failed_runs_can_be_done_again(tmp_path):
    def fragile(x):
        if not (tmp_path / "mended").exists():
            raise ValueError("not yet")
        return x

    sweep = lw.Sweep(fragile, {"x": [1, 2]})
    assert sweep.run(tmp_path / "s", workers=0).failed == [0, 1]
    (tmp_path / "mended").touch()
    assert sweep.run(tmp_path / "s", workers=0, resume=True).failed == [0, 1]
    assert sweep.run(tmp_path / "s", workers=0, retry_failed=True)["result"].tolist() == [1, 2]


def test_another_sweep_is_not_gone_on_with(tmp_path):
    lw.Sweep(square, {"x": [1]}).run(tmp_path / "s", workers=0)
    with pytest.raises(lw.LinkworkError, match="the values of the parameters, the seed"):
        lw.Sweep(square, {"x": [2]}, seed=1).run(tmp_path / "s", workers=0, resume=True)
    with pytest.raises(lw.LinkworkError, match="no sweep"):
        lw.Sweep(square, {"x": [2]}).run(tmp_path / "t", workers=0, resume=True)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine").touch()
    with pytest.raises(lw.LinkworkError, match="not empty"):
        lw.Sweep(square, {"x": [2]}).run(tmp_path / "t", workers=0)
    (tmp_path / "s" / "sweep.json").write_text("{")
    with pytest.raises(lw.FormatError, match="damaged"):
        lw.SweepTable(tmp_path / "s")


# ---------------------------------------------------------------------------------------------------------------- clusters


def kills_its_worker(x, folder):
    """Counts its calls; at chosen counts the whole process is gone before it answers."""
    import os
    import signal
    from pathlib import Path

    count = len(list(Path(folder).iterdir()))
    (Path(folder) / f"{x}-{os.getpid()}-{count}").touch()
    if x in (2, 7, 11) and not any(Path(folder).glob(f"killed-{x}")):
        (Path(folder) / f"killed-{x}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if x == 5:
        raise ValueError("five")
    return {"y": x / 7, "threads": int(os.environ["NUMBA_NUM_THREADS"])}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_workers_change_nothing(tmp_path):
    """Three runs take their workers with them (SIGKILL); the table is that of a sweep in which nobody died."""
    pytest.importorskip("distributed", reason="Dask is not installed (extra `sweep`)")
    calls, quiet = tmp_path / "calls", tmp_path / "quiet"
    for folder in (calls, quiet):
        folder.mkdir()
    for x in (2, 7, 11):
        (quiet / f"killed-{x}").touch()
    vary = {"x": range(14)}
    os.environ["NUMBA_NUM_THREADS"] = "1"
    try:
        lw.Sweep(partial_of(quiet), vary).run(tmp_path / "alone", workers=0)
    finally:
        del os.environ["NUMBA_NUM_THREADS"]
    table = lw.Sweep(partial_of(calls), vary).run(tmp_path / "s", workers=2)
    assert bytes_of(tmp_path / "s") == bytes_of(tmp_path / "alone")
    assert table.failed == [5]
    assert len(list(calls.glob("killed-*"))) == 3
    again = [x for x in range(14) if len(list(calls.glob(f"{x}-*"))) > 1]
    assert set(again) >= {2, 7, 11}


def partial_of(folder):
    def call(x):
        return kills_its_worker(x, str(folder))

    return call


def test_a_scene_on_workers_gives_the_table_of_one_process(scene_file, tmp_path):
    """On two workers of a client that the user brought, whose every socket listens on this machine only."""
    pytest.importorskip("distributed", reason="Dask is not installed (extra `sweep`)")
    psutil = pytest.importorskip("psutil")
    from linkwork.ensemble.engine import local_client

    vary = {"load.force[2]": [0.5, 1.0], "model.joints": [3, 4]}
    lw.Sweep(scene_file, vary, settings=FAST, keep="scalars").run(tmp_path / "alone", workers=0)
    with local_client(2, 1) as client:
        lw.Sweep(scene_file, vary, settings=FAST).run(tmp_path / "s", client=client)
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        heard = [c.laddr.ip for p in processes for c in p.net_connections("tcp") if c.status == "LISTEN"]
    assert bytes_of(tmp_path / "s") == bytes_of(tmp_path / "alone")
    assert heard
    assert set(heard) == {"127.0.0.1"}


def test_no_scheduler_is_an_error_with_advice(tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed (extra `sweep`)")
    from linkwork.ensemble.engine import remote_client

    with pytest.raises(lw.LinkworkError, match="no Dask scheduler answers"), remote_client("tcp://127.0.0.1:9", 0.5):
        pass


def test_what_statuses_of_dask_mean():
    pytest.importorskip("distributed", reason="Dask is not installed (extra `sweep`)")
    from distributed.scheduler import KilledWorker

    from linkwork.ensemble.engine import Task, _outcome

    task = Task(3, {}, 0)
    killed = KilledWorker("x", None, 4)
    outcome = _outcome(task, "error", (KilledWorker, killed, None))
    assert (outcome.status, outcome.run) == (work.FAILED, 3)
    assert "more memory" in outcome.error
    with pytest.raises(lw.SweepError, match="the scheduler went away"):
        _outcome(task, "cancelled", RuntimeError())
    with pytest.raises(lw.SweepError, match="same versions"):
        _outcome(task, "error", (ImportError, ImportError("no module"), None))


# ------------------------------------------------------------------------------------------------------------ command line


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    return command_line(capsys, monkeypatch, tmp_path)


def test_the_command_line(run, tmp_path):
    settings = [word for setting in FAST for word in ("--set", setting)]
    code, out, _ = run("sweep", "small.toml", "--vary", "load.force[2]=1:2:2", "--vary", "model.joints=3,4", *settings,
                       "--keep", "scalars", "--workers", 0)  # fmt: skip
    assert code == DONE
    assert "4 runs, 0 failed" in out
    assert "linkwork plot out/small_sweep" in out
    code, out, _ = run("plot", "out/small_sweep", "--table", "--result", "energy")
    assert (code, "4 runs, 0 failed" in out, "energy" in out) == (DONE, True, True)
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `plots`)")
    for kind in ("auto", "curves", "scatter", "map"):
        code, out, err = run("plot", "out/small_sweep", "--kind", kind, "--out", f"{kind}.png")
        assert (code, err) == (DONE, "")
        assert (tmp_path / f"{kind}.png").stat().st_size > 10_000
    for words in (["--joint", "x"], ["--over", "nothing", "--force"], ["--kind", "pie", "--force"]):
        assert run("plot", "out/small_sweep", "--out", "other.png", *words)[0] == REFUSED
    assert json.loads((tmp_path / "out/small_sweep/sweep.json").read_text())["runs"] == 4


def test_functions_of_files_and_resuming_with_their_name_alone(run, tmp_path):
    pytest.importorskip("cloudpickle", reason="cloudpickle comes with Dask (extra `sweep`)")
    (tmp_path / "study.py").write_text("def reach(length, angle=0.5):\n    return {'x': length * angle}\n")
    words = ("sweep", "study.py:reach", "--vary", "length=1,2", "--workers", 0, "--out", "s")
    assert run(*words)[0] == DONE
    whole = bytes_of("s")
    journal_file = tmp_path / "s" / journal.JOURNAL
    journal_file.write_bytes(journal_file.read_bytes().splitlines(keepends=True)[0])
    assert run("sweep", "study.py:reach", "--resume", "--out", "s", "--workers", 0)[0] == DONE
    assert bytes_of("s") == whole
    for wrong in (["study.py:reac"], ["nothing.py:reach"], [], ["--resume"]):
        assert run("sweep", *wrong, "--vary", "length=1", "--out", "t")[0] == REFUSED


def test_ctrl_c_keeps_everything_and_says_how_to_go_on(run, tmp_path):
    pytest.importorskip("cloudpickle", reason="cloudpickle comes with Dask (extra `sweep`)")
    (tmp_path / "study.py").write_text("def stop(x):\n    if x == 1:\n        raise KeyboardInterrupt\n    return x\n")
    code, _, err = run("sweep", "study.py:stop", "--vary", "x=0,1,2", "--workers", 0, "--out", "s")
    assert code == INTERRUPTED
    assert "linkwork sweep study.py:stop --resume --out s" in err
    assert len(lw.SweepTable("s")) == 1
