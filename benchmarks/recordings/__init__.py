"""Recordings in HDF5 and in Zarr: time to append, size, time to read a frame, and what a killed run leaves behind.

Both write the same stream, laid out alike: a 50,000-joint linkage of which about 100 joints move in each frame, as places
and values of what changed, with ten scalars per frame. Zarr is used as Linkwork uses it (whole files renamed into place,
lengths committed in one more rename); HDF5 in the two ways it offers, plain with a flush after each batch, and single
writer, multiple readers (SWMR), its own answer to crashes. What both read back is compared before anything is timed.
Then what recording adds to the time of a run, and what recordings of adaptive runs take on disk.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.record import Recorder, Recording

from ..harness import Report, Requirement, TableReport, duration, fill_in, progress, take_turns
from .sizes import judge_sizes

JOINTS, QUICK_JOINTS = 50_000, 500
MOVING, SCALARS = 100, 10
BATCH = 100  # frames between two flushes
CHUNK = 65536
APPENDING, READING = f"append {BATCH} frames and flush", "open and read a frame"
DELAY = 0.4  # [s] at most until a kill; the processes write without a pause meanwhile
RECORDING_COST = 1.0  # of the stepping's own time, at a frame every ten steps: recording must not dominate


CASES = ("containers", "run", "sizes")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=CASES, help="which part (all)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")
    parser.add_argument("--kills", type=int, default=60, help="processes to kill for each container (60)")
    parser.add_argument("--batches", type=int, default=10, help=f"batches of {BATCH} frames to write (10)")
    parser.add_argument("--rounds", type=int, default=5, help="turns each contestant takes (5)")


class Stream:
    """Frames of a run in which few joints move: smooth motion, so that it compresses as real motion does."""

    def __init__(self, joints: int):
        self.joints = joints
        self.model = lw.library.chain(joints=joints).compile()
        self._moving = np.sort(np.random.default_rng(1).permutation(joints)[: min(MOVING, joints)])

    def frame(self, k: int) -> np.ndarray:
        q = np.zeros(self.joints)
        q[self._moving] = np.sin(0.01 * k + self._moving) * np.exp(-1e-4 * k)
        return q

    def scalars(self, k: int) -> dict[str, float]:
        return {f"scalar_{s}": float(np.cos(0.01 * k + s)) for s in range(SCALARS)}


class ZarrWriter:
    """Linkwork's own."""

    name = "zarr"

    def __init__(self, folder: Path, stream: Stream):
        self.stream, self.k = stream, 0
        self.still = np.zeros(stream.model.nv)
        self.recorder = Recorder(folder / "run")
        self.recorder.begin(stream.model)

    def batch(self, frames: int = BATCH) -> None:
        for k in range(self.k, self.k + frames):
            self.recorder.append(1e-3 * k, k, lw.State(self.stream.frame(k), self.still), self.stream.scalars(k))
        self.k += frames
        self.recorder.flush()

    def close(self) -> None:
        self.recorder.close()


class Hdf5Writer:
    """The same layout in one HDF5 file: shuffled and deflated chunks, datasets that grow."""

    name, swmr = "hdf5", False

    def __init__(self, folder: Path, stream: Stream):
        import h5py

        self.stream, self.k, self.changes = stream, 0, 0
        self.last = np.full(2 * stream.joints, np.nan)
        options: dict[str, Any] = {"libver": "latest"} if self.swmr else {}
        self.file = h5py.File(folder / "run.h5", "w", **options)
        packed = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
        for name, kind in (("time", "f8"), ("step", "i8"), ("end", "i8")):
            self.file.create_dataset(name, (0,), kind, maxshape=(None,), chunks=(8192,), **packed)
        self.file.create_dataset(
            "scalars", (0, SCALARS), "f8", maxshape=(None, SCALARS), chunks=(8192, SCALARS), **packed
        )
        self.file.create_dataset("index", (0,), "u4", maxshape=(None,), chunks=(CHUNK,), **packed)
        self.file.create_dataset("value", (0,), "f8", maxshape=(None,), chunks=(CHUNK,), **packed)
        self.file.flush()
        if self.swmr:
            self.file.swmr_mode = True

    def batch(self, frames: int = BATCH) -> None:
        steps = np.arange(self.k, self.k + frames)
        places, values, ends, scalars = [], [], [], []
        for k in steps.tolist():
            x = np.concatenate([self.stream.frame(k), np.zeros(self.stream.joints)])
            changed = np.flatnonzero(x.view(np.uint64) != self.last.view(np.uint64))
            places.append(changed)
            values.append(x[changed])
            scalars.append(list(self.stream.scalars(k).values()))
            self.changes += changed.size
            ends.append(self.changes)
            self.last = x
        self._append("index", np.concatenate(places))
        self._append("value", np.concatenate(values))
        self._append("scalars", np.array(scalars))
        for name, rows in (("end", ends), ("step", steps), ("time", 1e-3 * steps)):
            self._append(name, np.array(rows))
        self.k += frames
        self.file.flush()

    def _append(self, name: str, rows: np.ndarray) -> None:
        data = self.file[name]
        data.resize(data.shape[0] + rows.shape[0], axis=0)
        data[-rows.shape[0] :] = rows

    def close(self) -> None:
        self.file.close()


class SwmrWriter(Hdf5Writer):
    """HDF5 in the mode whose files are meant to stay readable when the writer dies."""

    name, swmr = "hdf5 swmr", True


def read_zarr(folder: Path, k: int) -> np.ndarray:
    return Recording(folder / "run").state(k).q


def read_hdf5(folder: Path, k: int) -> np.ndarray:
    """Frame k from all changes up to it; the first frame counts as a change of everything."""
    import h5py

    with h5py.File(folder / "run.h5", "r", swmr=True, libver="latest") as file:
        q = np.zeros(file["index"][: int(file["end"][0])].max() + 1)
        stop = int(file["end"][k])
        q[file["index"][:stop]] = file["value"][:stop]
        return q[: q.shape[0] // 2]


def read_all_zarr(folder: Path, stream: Stream) -> int:
    """Frames that can be read; raises when any that counts cannot."""
    if not (folder / "run").exists():
        return 0
    with Recording(folder / "run") as recording:
        for k in {0, len(recording) // 2, len(recording) - 1} if len(recording) else ():
            np.testing.assert_array_equal(recording.state(k).q, stream.frame(k))
        assert all(len(values) == len(recording) for values in recording.scalars.values())
        return len(recording)


def read_all_hdf5(folder: Path, stream: Stream) -> int:
    """The same. Lengths of datasets that do not fit each other are a torn frame, and count as unreadable."""
    import h5py

    if not (folder / "run.h5").exists():
        return 0
    with h5py.File(folder / "run.h5", "r", swmr=True, libver="latest") as file:
        count = file["time"].shape[0]
        lengths = {file[name].shape[0] for name in ("time", "step", "end", "scalars")}
        if len(lengths) != 1:
            raise ValueError(f"datasets of {sorted(lengths)} frames in one file")
        if count:
            file["value"][: int(file["end"][-1])]
            file["index"][: int(file["end"][-1])]
        np.testing.assert_array_equal(file["time"][...], 1e-3 * np.arange(count))
        return count


class RecordingsReport(TableReport):
    """A report that shows timings and tables."""

    def _show_timings(self, screen: Any) -> None:
        if any("median_s" in result for result in self.results):
            Report._show_timings(self, screen)
        super()._show_timings(screen)


def run(options: argparse.Namespace) -> RecordingsReport:
    quick, cases = options.quick, (options.case,) if options.case else CASES
    joints, kills = (QUICK_JOINTS, 4) if quick else (JOINTS, options.kills)
    batches = 2 if quick else options.batches
    report = RecordingsReport(
        "recordings",
        {"cases": list(cases), "joints": joints, "moving": MOVING, "kills": kills, "batches": batches},
        is_judged=not quick,
    )
    if "containers" in cases:
        judge_containers(report, joints, kills, batches, 1 if quick else options.rounds)
    if "run" in cases:
        judge_overhead(report, joints, quick)
    if "sizes" in cases:
        judge_sizes(report, joints, quick)
    if options.page is not None:
        fill_in(options.page, report)
    return report


def judge_containers(report: RecordingsReport, joints: int, kills: int, batches: int, rounds: int) -> None:
    stream = Stream(joints)
    writers: list[Any] = [ZarrWriter]
    if importlib.util.find_spec("h5py") is None:
        report.notes.append("h5py is not installed; HDF5 is left out.")
    else:
        writers += [Hdf5Writer, SwmrWriter]
    if hasattr(os, "fork") and hasattr(signal, "SIGKILL"):
        for writer in writers:
            judge_kills(report, writer, kills)
    else:
        report.notes.append("this system has no os.fork or no SIGKILL (Windows has neither); no writer was killed.")
    with tempfile.TemporaryDirectory() as scratch:
        compare(report, stream, writers, Path(scratch), batches, rounds)
    add_containers_table(report, [writer.name for writer in writers], kills)


def add_containers_table(report: RecordingsReport, names: list[str], kills: int) -> None:
    """Everything about the containers in one table, from the results."""
    kinds: tuple[tuple[str, str, str, Callable[[float], str]], ...] = (
        (f"unreadable after SIGKILL, of {kills}", "kills", "unreadable", "{:.0f}".format),
        (f"bytes per frame, flushed every {BATCH} frames", "size", "bytes_per_frame", "{:,.0f}".format),
        (f"append {BATCH} frames and flush", APPENDING, "median_s", duration),
        ("open, and read a frame", READING, "median_s", duration),
    )
    rows = []
    for title, case, key, text in kinds:
        found = {result["contestant"]: result[key] for result in report.results if result["case"] == case}
        rows.append([title, *(text(found[name]) if name in found else "not tried" for name in names)])
    report.add_table("containers", "containers", ["", *names], rows)


# ------------------------------------------------------------------------------------------------------------------- kills


def judge_kills(report: Report, writer: Any, kills: int) -> None:
    """Processes that write without a pause are killed at random; how many leave something that cannot be read?"""
    progress(f"killing {writer.name}")
    rng = np.random.default_rng(7)
    stream = Stream(QUICK_JOINTS)
    unreadable, reasons = 0, set()
    for _ in range(kills):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            kill_one(lambda folder=folder: write_forever(writer, folder, stream), float(rng.uniform(0.02, DELAY)))
            count, reason = in_a_child(lambda folder=folder: reader_of(writer)(folder, stream))
            unreadable += count < 0
            if reason:
                reasons.add(reason[:100])
    report.results.append(
        {"case": "kills", "contestant": writer.name, "kills": kills, "unreadable": unreadable, "why": sorted(reasons)}
    )
    if writer is ZarrWriter:  # nothing is asked of the others
        report.requirements.append(
            Requirement(f"{writer.name}, killed {kills} times", unreadable, "unreadable", "0", unreadable == 0)
        )


def reader_of(writer: Any) -> Callable[[Path, Stream], int]:
    return read_all_zarr if writer is ZarrWriter else read_all_hdf5


def write_forever(writer: Any, folder: Path, stream: Stream) -> None:
    its = writer(folder, stream)
    while True:
        its.batch(5)


def kill_one(work: Callable[[], None], seconds: float) -> None:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def in_a_child(work: Callable[[], int]) -> tuple[int, str]:
    """The number `work` returns, or -1 and why it failed; in a process of its own, which a damaged file may bring down."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = f"{work()}\n"
        except BaseException as error:
            answer = f"-1\n{type(error).__name__}: {error}"
        os.write(theirs, answer.encode()[:1000])
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        count, _, reason = pipe.read().decode().partition("\n")
    os.waitpid(child, 0)
    return (int(count), reason) if count else (-1, "the reader crashed")


# ---------------------------------------------------------------------------------------------------------- time and size


def compare(report: Report, stream: Stream, writers: list[Any], scratch: Path, batches: int, rounds: int) -> None:
    open_ones: dict[str, Any] = {}
    for writer in writers:
        folder = scratch / writer.name.replace(" ", "_")
        folder.mkdir()
        open_ones[writer.name] = (writer(folder, stream), folder)
    progress("appending")
    timings = take_turns({name: its.batch for name, (its, _) in open_ones.items()}, max(rounds, batches))
    report.add_timings(APPENDING, stream.joints, timings)
    reads = {}
    for name, (its, folder) in open_ones.items():
        its.close()
        read = read_zarr if name == "zarr" else read_hdf5
        for k in (0, BATCH // 2, its.k - 1):
            np.testing.assert_array_equal(read(folder, k), stream.frame(k))
        k = its.k // 2
        reads[name] = lambda read=read, folder=folder, k=k: read(folder, k)
        size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and "model" not in f.parts)
        report.results.append({"case": "size", "contestant": name, "bytes_per_frame": size / its.k, "frames": its.k})
    progress("reading")
    report.add_timings(READING, stream.joints, take_turns(reads, rounds))


def judge_overhead(report: RecordingsReport, joints: int, quick: bool) -> None:
    """What recording every ten steps adds to an adaptive run of which about a hundred joints move."""
    progress("recording a run")
    model = lw.library.molecule(joints=joints, seed=1).compile()
    steps = 200 if quick else 40_000
    with tempfile.TemporaryDirectory() as scratch:
        plain, recorded = [], []
        for turn in range(1 if quick else 3):
            sim = lw.QuasiStatics(model, model.neutral(), max_active_joints=MOVING)
            sim.apply_wrench(model.body_names[-1], force=(0.0, 0.0, 1e-3), frame="world")
            sim.step(1e-3, 20)
            sim.scalars()
            start = time.perf_counter()
            sim.run(1e-3, steps, every=10, progress=False)
            middle = time.perf_counter()
            with Recorder(Path(scratch) / f"run{turn}") as recorder:
                recorder.begin(model)
                begun = time.perf_counter()
                sim.run(1e-3, steps, every=10, record=recorder, progress=False)
            plain.append(middle - start)
            recorded.append(time.perf_counter() - begun)
    extra = (min(recorded) - min(plain)) / min(plain)
    times = [
        ["without recording", duration(min(plain) / steps)],
        ["recording every ten", duration(min(recorded) / steps)],
    ]
    report.add_table("run", f"quasi-statics, {joints:,} joints, {MOVING} computed", ["per step", "time"], times)
    report.requirements.append(
        Requirement(
            f"recording {joints:,} joints every 10 steps",
            extra,
            "of the steps' own time",
            f"≤ {RECORDING_COST:g}",
            extra <= RECORDING_COST,
            detail=f"{1e6 * min(plain) / steps:.0f} µs per step without, {1e6 * min(recorded) / steps:.0f} µs with",
        )
    )


if __name__ == "__main__":
    sys.exit("run it with: linkwork bench recordings")
