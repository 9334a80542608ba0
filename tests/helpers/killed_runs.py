"""Runs that are killed at random accesses to files until they have ended. As a script: `killed_runs.py PATH KIND`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

from linkwork.record import Recording
from tests.helpers.loaded_runs import EVERY, STEP, go_on, simulate, simulation

KILLS, TORN = {"quasi_statics": 24, "adaptive_dynamics": 16}, 3  # at least so many, so many of them within a write
FILE_EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.listdir", "os.scandir")


def attempt(path, kind):
    """One life of the run: begins or goes on, saving as often as it can, until it is killed."""
    if path.exists():
        go_on(path, checkpoint_every_s=0.0, kind=kind)
    else:
        simulate(path, checkpoint_every_s=0.0, kind=kind)


def count_file_events(last=None):
    """Counts what this process asks of the file system from now on, and kills it at the event with number `last`."""
    counted = [0]

    def hook(event, arguments):
        if event in FILE_EVENTS:
            counted[0] += 1
            if counted[0] == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return counted


def in_a_child(work, last_event=None, count_into=None):
    """Runs `work` in a forked process, which has everything compiled, and kills it at an event. True: it came to its end.

    No clock: a run dies at the same write on any machine. count_into: a file for the number of events.
    """
    child = os.fork()
    if child == 0:
        code = 1
        counted = count_file_events(last_event)
        try:
            work()
            if count_into is not None:
                count_into.write_text(str(counted[0]))
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    if os.WEXITSTATUS(status):
        raise SystemExit("a run failed that nobody killed")
    return True


def read_all(path):
    with Recording(path) as recording:
        for state in recording.states:
            assert np.isfinite(state.q).all()
        assert len(recording.steps) == len(recording)
        assert recording.steps.tolist() == list(range(0, EVERY * len(recording), EVERY))


def is_torn(path):
    """Whether the kill struck within a write: a file under way, or arrays longer than what was committed."""
    committed = json.loads((path / "zarr.json").read_text())["attributes"]["committed"]["frames"]
    frames = [
        json.loads((path / name / "zarr.json").read_text())["shape"][0] for name in ("frames/time", "frames/step")
    ]
    reports = [json.loads(file.read_text())["shape"][0] for file in path.glob("reports/*/zarr.json")]
    return bool(list(path.rglob("*.partial"))) or max(frames + reports) > committed


def raise_and_kill(path, kind):
    """Raises runs and kills them, KILLS times at least and until some kills struck within a write; prints how often."""
    kills = KILLS[kind]
    warm = simulation(kind)
    for k in (0, 60, 120):  # what is compiled here is compiled for all children
        warm.change(k)
        warm.sim.run(STEP[kind], 4)
    warm.sim.restore(warm.sim.checkpoint())
    rng = np.random.default_rng(8)
    count = path.with_name("events")
    in_a_child(lambda: simulate(path.with_name("warm_up"), kind=kind), count_into=count)
    longest = int(count.read_text())  # events of a whole run: none lives longer
    killed, torn, finished = 0, 0, False
    while not finished:
        enough = killed >= kills and (torn >= TORN or killed >= 4 * kills)
        finished = in_a_child(lambda: attempt(path, kind), None if enough else int(rng.integers(1, longest + 1)))
        if finished and not enough:  # it came to its end before: once more, from the beginning
            shutil.rmtree(path)
            longest = max(1, 7 * longest // 10)
            finished = False
            continue
        killed += not finished
        if path.exists():
            in_a_child(lambda: read_all(path))
            torn += is_torn(path)
        else:
            longest = 1 + 6 * longest // 5
    print(json.dumps({"kills": killed, "torn": torn}))


if __name__ == "__main__":
    raise_and_kill(Path(sys.argv[1]), sys.argv[2])
