"""Contacts over time: so many rows in each frame as bodies touched in the step before it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.contact import points
from linkwork.contact.points import ContactPoint, ContactRows, add_contact_wrenches, name_of, points_of
from linkwork.dynamics.kinematics import world_poses
from linkwork.errors import StateError
from linkwork.record import layout
from linkwork.record.store.container import GrowingArray, create_array

if TYPE_CHECKING:
    from linkwork.record.recording import Recording

GROUP = "contacts"
ENDS, ROWS_IDS, ROWS_NUMBERS = "frames/contacts_end", "contacts/ids", "contacts/numbers"
NAMES = (ENDS, ROWS_IDS, ROWS_NUMBERS)


class ContactLines:
    """The arrays of contacts of a recording that is being written; none where the first frame had no list of them."""

    def __init__(self, group: Any, folder: Path, committed: dict[str, Any]):
        """committed: frames and contacts that count, and the sums of arrays that do."""
        self._group, self._folder = group, folder
        self.arrays: dict[str, GrowingArray] = {}  # by path within the recording
        self._end = 0
        if ENDS in committed["sums"]:
            for name in NAMES:
                length = committed["frames"] if name == ENDS else committed["contacts"]
                known = {"stored": committed["sums"][name], "tail": committed.get("tails", {}).get(name)}
                self.arrays[name] = GrowingArray(group[name], folder / name, length, **known)
            self._end = int(committed["contacts"])

    @property
    def described(self) -> tuple[str, ...]:
        """What has a description of its own in the root."""
        return (GROUP, *self.arrays) if self.arrays else ()

    def append(self, frame: int, rows: ContactRows | None) -> None:
        """The contacts of a frame; None, in a recording that has contacts, is none."""
        if not self.arrays:
            if frame > 0 or rows is None:
                return
            self._create()
        if rows is not None and rows.ids.shape[0]:
            self.arrays[ROWS_IDS].append(rows.ids)
            self.arrays[ROWS_NUMBERS].append(rows.numbers)
            self._end += rows.ids.shape[0]
        self.arrays[ENDS].append(np.array([self._end], dtype=np.int64))

    def _create(self) -> None:
        for name in (*NAMES, GROUP):
            if name in self._group:  # left by a run that was killed before it was committed
                del self._group[name]
        rows = layout.CONTACT_ROWS
        create_array(self._group, ENDS, (), "i8", (layout.FRAME_ROWS,), "index")
        create_array(self._group, ROWS_IDS, (points.IDS,), "i4", (rows, points.IDS), "index: body, other; state")
        units = "m, 1, m, N·s, s: point, normal, gap, impulse, step"
        create_array(self._group, ROWS_NUMBERS, (points.NUMBERS,), "f8", (rows, points.NUMBERS), units)
        self.arrays = {name: GrowingArray(self._group[name], self._folder / name, 0) for name in NAMES}

    @property
    def count(self) -> int:
        return self._end

    def write(self) -> list[Path]:
        """Rows before the ends that count them."""
        return [file for name in reversed(NAMES) if name in self.arrays for file in self.arrays[name].write()]


# ----------------------------------------------------------------------------------------------------------------- reading


class ContactEvent(NamedTuple):
    """A pair that begins to press on each other between two frames, or ceases to: each frame shows the step before it."""

    frame: int  # the first frame at which it is so
    time: float  # [s]
    body: str
    other: str
    touches: bool  # False: they part


def rows_between(recording: Recording, first: int, last: int) -> tuple[NDArray[np.int64], ContactRows]:
    """Contacts of frames first to last - 1, and the frame of each, shape (c,)."""
    if not recording.has_contacts:
        raise StateError(
            f"recording '{recording.path}' has no contacts: its simulation had no contact=lw.Contact(...)."
        )
    ends = recording._files.rows(ENDS, last, max(first - 1, 0)) if last > first else np.zeros(0, dtype=np.int64)
    start = int(ends[0]) if first > 0 and ends.size else 0
    ends = ends[1:] if first > 0 else ends
    stop = int(ends[-1]) if ends.size else start
    frames = first + np.searchsorted(ends, np.arange(start, stop), side="right")
    rows = ContactRows(recording._files.rows(ROWS_IDS, stop, start), recording._files.rows(ROWS_NUMBERS, stop, start))
    return frames, rows


def contacts_at(recording: Recording, k: int) -> tuple[ContactPoint, ...]:
    return points_of(recording.model, rows_between(recording, k, k + 1)[1])


def contact_wrenches_at(recording: Recording, k: int) -> NDArray[np.float64]:
    """What contact did to each body in the step before frame k, shape (n, 6), as `sim.contact_wrenches()` says it."""
    total = np.zeros((recording.model.n_bodies, 6))
    tree, body, screws, *_ = recording.model.arrays
    poses = world_poses(tree, body, screws, recording.state(k).q)
    add_contact_wrenches(rows_between(recording, k, k + 1)[1], poses, total)
    return total


def contact_table(recording: Recording) -> dict[str, NDArray[Any]]:
    """Columns by name, each of shape (c,)."""
    frames, (ids, numbers) = rows_between(recording, 0, len(recording))
    names = np.array([name_of(recording.model, k) for k in range(int(ids[:, :2].max(initial=-1)) + 1)], dtype=object)
    step = numbers[:, points.STEP, None]
    force = np.divide(
        numbers[:, points.IMPULSE : points.IMPULSE + 3], step, out=np.zeros((len(frames), 3)), where=step > 0.0
    )
    table: dict[str, NDArray[Any]] = {
        "frame": frames,
        "time": recording.times[frames],
        "body": names[ids[:, points.BODY]],
        "other": names[ids[:, points.OTHER]],
        "state": np.array(points.STATES, dtype=object)[ids[:, points.STATE]],
        "gap": numbers[:, points.GAP],
    }
    vectors = {
        "point": numbers[:, points.POINT :],
        "normal": numbers[:, points.NORMAL :],
        "impulse": numbers[:, points.IMPULSE :],
        "force": force,
    }
    for name, values in vectors.items():
        table |= {f"{name}.{axis}": values[:, k] for k, axis in enumerate("xyz")}
    return table


def contact_events(recording: Recording) -> list[ContactEvent]:
    """Pairs that begin to press or cease to, frame by frame; what bounced in the step before a frame pressed in it, though
    it is apart at its end. Where a pair touches in other steps between two frames only, none is seen."""
    frames, (ids, numbers) = rows_between(recording, 0, len(recording))
    impulse = numbers[:, points.IMPULSE : points.IMPULSE + 3]
    pressing = np.einsum("ij,ij->i", impulse, numbers[:, points.NORMAL : points.NORMAL + 3]) > 0.0
    pairs = np.unique(np.column_stack([frames, ids[:, :2]])[pressing], axis=0)
    found: list[ContactEvent] = []
    before: set[tuple[int, int]] = set()
    model, at = recording.model, 0
    for k in range(len(recording)):
        now: set[tuple[int, int]] = set()
        while at < len(pairs) and pairs[at, 0] == k:
            now.add((int(pairs[at, 1]), int(pairs[at, 2])))
            at += 1
        for pair in sorted(now ^ before):
            names = (name_of(model, pair[0]), name_of(model, pair[1]))
            found.append(ContactEvent(k, float(recording.times[k]), *names, pair in now))
        before = now
    return found
