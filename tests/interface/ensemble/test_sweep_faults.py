"""Sweeps under faults from outside: workers killed at random moments, Ctrl-C, a scheduler that dies, a full disk.

Afterwards the sweep goes on, and its table is that of a sweep to which nothing happened, byte for byte.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.cli.exit_codes import INTERRUPTED
from linkwork.ensemble import work
from linkwork.ensemble.journal import JOURNAL

pytest.importorskip("distributed", reason="Dask is not installed (extra `sweep`)")
needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")

PATIENCE = 240.0  # [s] for processes to start and answer on a machine that does much else
RUNS = 30
STUDY = """
import time

def slow(x, seed):
    time.sleep(0.1 if x < 4 else 0.3)
    if x == 5:
        raise ValueError("five")
    return {"y": x / 7, "drawn": seed % 1000}
"""


def slow(x, seed):
    """What STUDY has, without the wait."""
    if x == 5:
        raise ValueError("five")
    return {"y": x / 7, "drawn": seed % 1000}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The table of the same sweep, done here by one process."""
    out = tmp_path_factory.mktemp("alone") / "s"
    lw.Sweep(slow, {"x": range(RUNS)}).run(out, workers=0)
    return (out / "table.csv").read_bytes()


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.py").write_text(STUDY)
    return [*linkwork("sweep"), "study.py:slow", "--vary", f"x=0:{RUNS - 1}:{RUNS}", "--out", "s"]


def linkwork(*words):
    return [sys.executable, "-m", "linkwork", *words]


def lines_of(folder: Path) -> int:
    path = folder / JOURNAL
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(what, condition, process=None):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE:.0f} s for {what}"
        assert process is None or process.poll() is None, f"the process ended before {what}: {process.communicate()}"
        time.sleep(0.02)


@contextmanager
def running(words, folder, **more):
    """A program in a session of its own, as a terminal starts it; it is gone afterwards."""
    # Programs that a shell runs in the background ignore Ctrl-C, and hand that on to those they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def resumed(folder: Path) -> bytes:
    subprocess.run(
        linkwork("sweep", "study.py:slow", "--resume", "--out", "s", "--workers", "0", "--quiet"),
        cwd=folder,
        check=True,
        timeout=PATIENCE,
    )
    return (folder / "s" / "table.csv").read_bytes()


@needs_sigkill
@pytest.mark.parametrize("seed", [1])
def test_workers_killed_from_outside_at_random_moments(tmp_path, expected, seed):
    """Four times, whichever worker is there: nothing is lost, nothing fails, no run is twice in the table."""
    psutil = pytest.importorskip("psutil")
    from linkwork.ensemble.engine import local_client

    chance, kills, over = random.Random(seed), [], threading.Event()

    def taking(x, seed):
        time.sleep(0.05)
        return slow(x, seed)

    def kill_now_and_then():
        while len(kills) < 4 and not over.wait(chance.uniform(0.05, 0.4)):
            victims = [p for p in psutil.Process().children() if p.name().startswith("python") and is_worker(p)]
            if victims:
                victim = chance.choice(sorted(victims, key=lambda p: p.pid))
                victim.kill()
                kills.append(victim.pid)

    def is_worker(process):
        try:
            return "spawn_main" in " ".join(process.cmdline())
        except psutil.Error:  # it ended meanwhile
            return False

    with local_client(2, 1) as client:
        killer = threading.Thread(target=kill_now_and_then, daemon=True)
        killer.start()
        try:
            table = lw.Sweep(taking, {"x": range(RUNS)}).run(tmp_path / "s", client=client)
        finally:
            over.set()
            killer.join()
    assert kills, "no worker was killed; the sweep was over before"
    assert table.failed == [5]
    assert (tmp_path / "s" / "table.csv").read_bytes() == expected
    numbers = [json.loads(line)["run"] for line in (tmp_path / "s" / JOURNAL).read_text().splitlines()]
    assert sorted(numbers) == list(range(RUNS))


@needs_sigkill
def test_ctrl_c_on_a_live_cluster(tmp_path, study, expected):
    """As a terminal sends it: to the program and to all its workers at once."""
    with running([*study, "--workers", "2"], tmp_path) as process:
        wait_for("three runs", lambda: lines_of(tmp_path / "s") >= 3, process)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == INTERRUPTED, err
        assert "linkwork sweep study.py:slow --resume --out s" in err
    done = lines_of(tmp_path / "s")
    assert 3 <= done < RUNS
    assert resumed(tmp_path) == expected
    assert lines_of(tmp_path / "s") == RUNS  # nothing was done twice


@needs_sigkill
def test_a_sweep_that_was_killed_itself_goes_on(tmp_path, study, expected):
    with running([*study, "--workers", "2", "--quiet"], tmp_path) as process:
        wait_for("three runs", lambda: lines_of(tmp_path / "s") >= 3, process)
        os.killpg(process.pid, signal.SIGKILL)
    assert lines_of(tmp_path / "s") < RUNS
    assert resumed(tmp_path) == expected


@needs_sigkill
def test_a_scheduler_that_goes_away(tmp_path, study, expected):
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = [*dask, "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), "--no-dashboard"]
    helper = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1",
              "--no-dashboard", "--host", "127.0.0.1", "--local-directory", str(tmp_path)]  # fmt: skip
    quick = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
    with running(scheduler, tmp_path, env=quick) as gone:
        wait_for("the scheduler", file.exists, gone)
        address = json.loads(file.read_text())["address"]
        with (
            running(helper, tmp_path, env=quick) as worker,
            running([*study, "--scheduler", address, "--keep", "scalars"], tmp_path, env=quick) as process,
        ):
            wait_for("three runs", lambda: lines_of(tmp_path / "s") >= 3, process)
            assert worker.poll() is None
            os.killpg(gone.pid, signal.SIGKILL)
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode not in (0, INTERRUPTED), err
            assert "the scheduler went away" in err
    assert 3 <= lines_of(tmp_path / "s") < RUNS
    assert resumed(tmp_path) == expected


def test_a_disk_that_is_full_for_a_worker(tmp_path, expected):
    """What a run cannot write says nothing about the run: the sweep stops, and goes on when there is room."""
    full = tmp_path / "full"
    full.touch()

    def writing(x, seed):
        import errno
        from pathlib import Path

        if x == 9 and Path(full).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return slow(x, seed)

    sweep = lw.Sweep(writing, {"x": range(RUNS)})
    with pytest.raises(work.SweepError, match="No space left"):
        sweep.run(tmp_path / "s", workers=1)
    assert lines_of(tmp_path / "s") < RUNS
    full.unlink()
    sweep.run(tmp_path / "s", workers=0, resume=True)
    assert (tmp_path / "s" / "table.csv").read_bytes() == expected


def deadly(x, seed):
    """Takes its worker with it where x is 1."""
    if x == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return slow(x, seed)


@needs_sigkill
def test_the_first_error_of_a_sweep_is_the_one_that_is_raised(tmp_path, monkeypatch):
    """The disk is full: the journal says so, and the tables that cannot be written either do not hide it."""

    def full(self, *given):
        raise work.SweepError("the journal cannot be written")

    def also_full(self):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("linkwork.ensemble.sweep.Journal.append", full)
    monkeypatch.setattr("linkwork.ensemble.sweep.SweepTable.write", also_full)
    with pytest.raises(work.SweepError, match="the journal cannot be written") as caught:
        lw.Sweep(lambda x: x, {"x": [1.0, 2.0]}).run(tmp_path / "out", workers=0, progress=False)
    assert "No space left" in caught.value.__notes__[0]


def test_only_the_run_that_kills_its_workers_fails(tmp_path):
    """Those that waited on the same workers are done again, and not blamed."""
    table = lw.Sweep(deadly, {"x": range(5)}).run(tmp_path / "s", workers=2, progress=False)
    assert table.failed == [1]
    assert "WorkerDied" in list(table["error"])[1]


# ----------------------------------------------------------------------------------------------------------- other programs


def test_polars_and_parquet_read_the_table(tmp_path):
    table = lw.Sweep(slow, {"x": range(8)}).run(tmp_path / "s", workers=0)
    polars = pytest.importorskip("polars", reason="polars is not installed; the dev extra brings it")
    frame = polars.read_csv(tmp_path / "s" / "table.csv")
    assert frame.columns == list(table.columns)
    assert frame["y"].drop_nulls().to_list() == [x / 7 for x in range(8) if x != 5]  # the same bits
    assert frame["status"].to_list() == ["failed" if x == 5 else "done" for x in range(8)]
    pytest.importorskip("pyarrow", reason="pyarrow is not installed; the dev extra brings it")
    table.to_parquet(tmp_path / "s.parquet")
    read = polars.read_parquet(tmp_path / "s.parquet")
    assert read.columns == frame.columns
    for name in ("run", "x", "seed", "drawn", "status", "y"):
        assert read[name].to_list() == frame[name].to_list()
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert pandas.read_parquet(tmp_path / "s.parquet")["run"].tolist() == list(range(8))
