"""Recorder: writes a recording. Frames wait in memory, are written in chunks, and count once they are committed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.contact.points import ContactRows
from linkwork.core.arrays import FloatArray
from linkwork.core.checks import as_path, flag, integer
from linkwork.core.messages.describe import tabled
from linkwork.core.uncopied import Uncopied
from linkwork.errors import LinkworkError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.record import layout
from linkwork.record.beginning import warn_of_other_kernels, what_it_is_about, write_beginning
from linkwork.record.contacts import ContactLines
from linkwork.record.efforts import EffortLines
from linkwork.record.layout import GROUPS, GROWING
from linkwork.record.place import (
    partial_folder,
    put_in_place,
    refuse_existing,
    refuse_existing_or_written,
    remove_stale,
)
from linkwork.record.recording import Recording
from linkwork.record.samples import SampleLines
from linkwork.record.scalars import KINDS, Scalars, numbers_of
from linkwork.record.store.bundles import write_bundle
from linkwork.record.store.checksums import description_sum, description_sums
from linkwork.record.store.container import (
    ROOT,
    GrowingArray,
    disk_errors,
    read_root,
    remove_partial_files,
    synchronize,
    write_root,
    zarr_library,
)
from linkwork.record.store.lock import WriterLock

FLUSH_BYTES = 4 << 20  # waiting in memory, after which they are written
SLOTS = ("a", "b")  # a checkpoint is written beside the one that counts, and counts with the next commit


@tabled
class Recorder(Uncopied):
    """Writes frames of a simulation into a folder.

    path: the folder; parents are made. An existing recording is refused, or with `force` replaced once the new one stands.
    every: steps between frames in `run`; 0 leaves the choice to the run.
    metadata: anything JSON can hold; scene: text the run was made from; settings: of the simulation, by name.
    """

    def __init__(
        self,
        path: str | Path,
        every: int = 0,
        force: bool = False,
        metadata: dict[str, Any] | None = None,
        scene: str | None = None,
        settings: dict[str, Any] | None = None,
    ):
        zarr_library()
        self.path = as_path(path, "a recording")
        self.every = integer(every, 0, "every")
        self.force = flag(force, "force")
        self._about = what_it_is_about(metadata, scene, settings)
        self._root: dict[str, Any] | None = None
        self._lock: WriterLock | None = None
        with disk_errors(self.path, "begin"):
            refuse_existing_or_written(self.path, self.force)

    # --------------------------------------------------------------------------------------------------------------- begin

    def begin(
        self,
        model: Model,
        settings: dict[str, Any] | None = None,
        first: Callable[[Recorder], object] | None = None,
    ) -> None:
        """Makes the container; from here on it is readable, and nobody else may write it.

        first: called before the container appears at its path, to give it a first frame and a checkpoint; so there is
        no moment at which a run could be killed and neither begin anew nor resume.
        """
        if self._root is not None:
            raise LinkworkError(f"recording '{self.path}' has begun already.")
        self._about["settings"].update(settings or {})
        partial = partial_folder(self.path)
        with disk_errors(self.path, "begin"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(self.path)
            try:
                refuse_existing(self.path, self.force)
                remove_stale(self.path)
                partial.mkdir()
                self._open(partial, model, write_beginning(partial, model, self._about), lock)
                if first is not None:
                    first(self)
                self._write_frames()
                self._commit()
                put_in_place(partial, self.path, self.force)
            except BaseException:
                self._root = self._lock = None
                shutil.rmtree(partial, ignore_errors=True)
                lock.release()
                raise
            assert self._root is not None
            self._open(self.path, model, self._root, lock)

    def _open(self, folder: Path, model: Model, root: dict[str, Any], lock: WriterLock) -> None:
        """Everything a writer keeps, at the lengths that were committed."""
        self._folder, self._lock, self._root, self.model = folder, lock, root, model
        group = zarr_library().open_group(folder, mode="r+")
        self._group = group
        done = root["committed"]
        frames = done["frames"]
        self._frames = {x: self._growing(f"frames/{x}", frames, done) for x in ("time", "step", "changes_end")}
        self._changes = {x: self._growing(f"changes/{x}", done["changes"], done) for x in ("index", "value")}
        self._keys = {x: self._growing(f"keys/{x}", done["keys"], done) for x in ("frame", "state")}
        self._scalars = Scalars(group, folder, done, root["settings"])
        self._efforts = EffortLines(group, folder, done)
        self._contacts = ContactLines(group, folder, done)
        self._samples = SampleLines(group, folder, done)
        described = (*self._contacts.described, *self._samples.described)
        later = (*self._scalars.arrays, *self._efforts.arrays, *described)
        fixed = (*GROUPS, *GROWING, *root["contents"], *later)
        self._described = {name: root["descriptions"][name] for name in fixed}  # others will be made anew
        self._times: list[float] = []
        self._steps: list[int] = []
        self._ends: list[int] = []
        self._last = np.zeros(model.nq + model.nv)
        self._spare = np.empty_like(self._last)
        self._since_key = self._last_step = 0
        if frames:
            with Recording(folder, _root=root) as sofar:
                self._last = np.concatenate(sofar.state(frames - 1))
                self._last_step = int(sofar.steps[-1])
                self._since_key = done["changes"] - sofar._changes_at_last_key()

    def _growing(self, name: str, length: int, done: dict[str, Any]) -> GrowingArray:
        known = {"stored": done["sums"].get(name), "tail": done.get("tails", {}).get(name)}
        return GrowingArray(self._group[name], self._folder / name, length, **known)

    def _growing_arrays(self) -> dict[str, GrowingArray]:
        """All arrays that grow, by path within the recording."""
        named = {"frames": self._frames, "changes": self._changes, "keys": self._keys}
        found = {f"{folder}/{name}": array for folder, arrays in named.items() for name, array in arrays.items()}
        return found | self._scalars.arrays | self._efforts.arrays | self._contacts.arrays | self._samples.arrays

    # -------------------------------------------------------------------------------------------------------------- frames

    def __len__(self) -> int:
        """Frames so far, waiting ones included."""
        return 0 if self._root is None else self._frames["time"].length + len(self._times)

    @property
    def last_step(self) -> int:
        """Steps done at the last frame; 0 before the first."""
        return self._last_step

    @property
    def has_begun(self) -> bool:
        return self._root is not None

    @property
    def settings(self) -> dict[str, Any]:
        """Of the simulation and its run, by name, once it has begun."""
        return dict({} if self._root is None else self._root["settings"])

    def append(
        self,
        time: float,
        step: int,
        state: State,
        scalars: dict[str, float] | None = None,
        report: object | None = None,
        efforts: FloatArray | None = None,
        contacts: ContactRows | None = None,
        samples: FloatArray | None = None,
    ) -> None:
        """One frame. Only coordinates and velocities that differ in any bit from the frame before are kept.

        scalars: numbers by name; report: a dataclass, whose numbers are kept. What is missing in a frame is NaN there.
        efforts: on joints by source, shape (nv, 5) [N·m or N]; contacts: of the last step. Both are kept where the first
        frame has them. samples: readings of sensors since the frame before, as `lw.Sensors` gives them.
        """
        self._require_open()
        if state.q.shape != (self.model.nq,) or state.v.shape != (self.model.nv,):
            raise StateError(
                f"a frame with q of shape {state.q.shape} and v of shape {state.v.shape} does not fit "
                f"{self.model!r}, which is recorded in '{self.path}'."
            )
        numbers = {"scalars": {k: float(v) for k, v in (scalars or {}).items()}, "reports": numbers_of(report)}
        with self._disk_errors():
            self._scalars.prepare(numbers)
            self._efforts.append(len(self), efforts, self.model.nv)
            self._contacts.append(len(self), contacts)
            self._samples.append(samples)
        x = self._spare
        np.concatenate([state.q, state.v], out=x)
        self._append_state(len(self), x)
        self._times.append(float(time))
        self._last_step = int(step)
        self._steps.append(self._last_step)
        self._ends.append(self._changes["index"].length)
        self._scalars.append(numbers)
        self._last, self._spare = x, self._last
        large = (*self._changes.values(), self._keys["state"], *self._efforts.arrays.values())
        large += (*self._contacts.arrays.values(), *self._samples.arrays.values())
        waiting = sum(array.waiting_bytes for array in large)
        if waiting > FLUSH_BYTES or len(self._times) >= layout.FRAME_ROWS:
            self.flush()

    def _append_state(self, frame: int, x: FloatArray) -> None:
        changed = np.flatnonzero(x.view(np.uint64) != self._last.view(np.uint64))
        many = (self._since_key + changed.size) * layout.CHANGE_COST > x.size * layout.KEY_COST
        if many or frame == 0:
            self._keys["frame"].append(np.array([frame], dtype=np.int64))
            self._keys["state"].append(x[None].copy())
            self._since_key = 0
        else:
            self._changes["index"].append(changed.astype(np.uint32))
            self._changes["value"].append(x[changed])
            self._since_key += changed.size

    # -------------------------------------------------------------------------------------------------------------- commit

    def flush(self, status: str = "running") -> None:
        """Writes all frames that wait, then commits them. status: "running" until a run ends; then what it came to."""
        self._require_open()
        with self._disk_errors():
            self._write_frames()
            self._commit(status=status)

    def checkpoint(self, content: dict[str, object], run: dict[str, object] | None = None) -> None:
        """Commits all frames together with what the simulation needs to go on from the last of them.

        content: arrays and plain values by name, as `sim.checkpoint()` gives them; run: what the run itself needs.
        """
        self._require_open()
        assert self._root is not None
        old: dict[str, Any] | None = self._root["committed"]["checkpoint"]
        slot = SLOTS[0] if old is None or old["slot"] == SLOTS[1] else SLOTS[1]
        with self._disk_errors():
            self._write_frames()
            entries = {f"sim.{k}": v for k, v in content.items()} | {f"run.{k}": v for k, v in (run or {}).items()}
            checksum = write_bundle(self._group["checkpoints"], slot, entries)
            at = self._folder / "checkpoints" / slot
            for file in at.rglob("*"):
                synchronize(file)
            tails = {name: array.sums.tail for name, array in self._growing_arrays().items()}
            mark = {"slot": slot, "description": description_sum(at), "content": checksum, "tails": tails}
            self._commit(checkpoint={**mark, **self._lengths()}, earlier=old)

    def _write_frames(self) -> None:
        if not (self._folder / ROOT).is_file():  # Zarr would make the folders again, and leave half a recording there
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._folder / ROOT))
        files: list[Path] = []
        for name, values, kind in (
            ("time", self._times, np.float64),
            ("step", self._steps, np.int64),
            ("changes_end", self._ends, np.int64),
        ):
            if values:
                self._frames[name].append(np.array(values, dtype=kind))
                values.clear()
        for array in (*self._changes.values(), *self._keys.values()):
            files += array.write()
        files += self._scalars.write()
        files += self._efforts.write()
        files += self._contacts.write()
        files += self._samples.write()
        for array in self._frames.values():
            files += array.write()
        for file in files:
            synchronize(file)

    def _lengths(self) -> dict[str, Any]:
        return {
            "frames": self._frames["time"].length,
            "changes": self._changes["index"].length,
            "keys": self._keys["frame"].length,
            "contacts": self._contacts.count,
            "samples": self._samples.count,
            **{kind: self._scalars.names(kind) for kind in KINDS},
        }

    def _commit(self, **more: Any) -> None:
        assert self._root is not None
        arrays = self._growing_arrays()
        described = (*self._contacts.described, *self._samples.described)
        new = [name for name in (*arrays, *described) if name not in self._described]
        self._described |= description_sums(self._folder, new)
        sums = {name: array.sums.stored() for name, array in arrays.items()}
        done = {**self._root["committed"], "status": "running", **self._lengths(), "sums": sums, **more}
        root = {**self._root, "descriptions": dict(self._described), "committed": done}
        write_root(self._folder, root)
        self._root = root

    # --------------------------------------------------------------------------------------------------------------- close

    def close(self, status: str | None = None) -> None:
        """Writes what waits and closes the recording.

        status: "finished", "stopped", "interrupted" or "failed"; by default what its last run came to, or "finished".
        """
        if self._lock is None:
            return
        assert self._root is not None
        came_to = self._root["committed"]["status"]
        ended = "finished" if came_to == "running" or self._times else came_to
        try:
            with self._disk_errors():
                self._write_frames()
                self._commit(status=status or ended)
        finally:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        stopped_by_hand = isinstance(error, KeyboardInterrupt)
        self.close(None if error is None else "interrupted" if stopped_by_hand else "failed")

    def _disk_errors(self) -> AbstractContextManager[None]:
        return disk_errors(self.path, "write" if self._folder == self.path else "begin")

    def _require_open(self) -> None:
        if self._lock is None:
            raise LinkworkError(
                f"recording '{self.path}' is closed." if self._root else f"recording '{self.path}' has not begun."
            )

    # -------------------------------------------------------------------------------------------------------------- resume

    @classmethod
    def resume(cls, path: str | Path) -> Recorder:
        """Opens a recording at its last checkpoint, to go on from there; frames after it will be written anew.

        The result's `saved` is what `sim.restore` takes, its `run` what the run had noted.
        """
        folder = as_path(path, "a recording")
        read_root(folder)  # refuses what is not a recording before anything is made beside it
        with disk_errors(folder, "resume"):
            lock = WriterLock(folder)
        try:
            recorder = cls._resumed(folder, read_root(folder), lock)
        except BaseException:
            lock.release()
            raise
        return recorder

    @classmethod
    def _resumed(cls, folder: Path, root: dict[str, Any], lock: WriterLock) -> Recorder:
        if root["committed"]["checkpoint"] is None:
            raise LinkworkError(
                f"recording '{folder}' holds no checkpoint, so its run cannot go on; run it anew with force=True (--force)."
            )
        recorder = cls.__new__(cls)
        recorder.path, recorder.every, recorder.force = folder, 0, False
        recorder._about = {}
        with Recording(folder) as recording:
            model = recording.model
            mark, recorder.saved, recorder.run = recording._files.last_whole_checkpoint()
        warn_of_other_kernels(folder, root["versions"])
        lengths = {
            name: mark[name]
            for name in ("frames", "changes", "keys", "contacts", "samples", "scalars", "reports", "tails")
        }
        earlier = root["committed"]["earlier"] if mark == root["committed"]["checkpoint"] else None
        done = {**root["committed"], **lengths, "checkpoint": mark, "earlier": earlier, "status": "running"}
        root = {**root, "committed": done}
        with disk_errors(folder, "resume"):
            remove_partial_files(folder)
            recorder._open(folder, model, root, lock)
            del done["tails"]
            recorder._commit()
            recorder._write_frames()  # shortens what lies beyond the checkpoint
        return recorder

    _INSTEAD = "a recording has one writer"
    saved: dict[str, object]
    run: dict[str, object]

    def __repr__(self) -> str:
        state = "not begun" if self._root is None else "open" if self._lock else "closed"
        return f"Recorder('{self.path}', {len(self)} frames, {state})"
