"""How much of a recording is whole: every file is read and compared with what was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import FormatError
from linkwork.record.contacts import NAMES as CONTACTS
from linkwork.record.efforts import NAME as EFFORTS
from linkwork.record.layout import GROWING
from linkwork.record.samples import NAME as SAMPLES

if TYPE_CHECKING:
    from linkwork.record.recording import Recording


@dataclass(frozen=True, slots=True)
class RecordingCheck:
    """What `Recording.check` found.

    faults: one line per damaged file. whole_frames: of this many frames, from the first on, the states can be read.
    frames: that were committed. can_resume: whether the model and a checkpoint are whole.
    """

    faults: tuple[str, ...]
    whole_frames: int
    frames: int
    can_resume: bool

    @property
    def is_whole(self) -> bool:
        return not self.faults


def check_recording(recording: Recording) -> RecordingCheck:
    """See `Recording.check`."""
    faults: list[str] = []
    done = recording._files.committed

    def tried(look: object) -> bool:
        try:
            look()  # type: ignore[operator]
        except FormatError as error:
            faults.append(_short(error))
            return False
        return True

    model_is_whole = tried(lambda: recording.model)
    rows = {name: _whole_rows(recording, name, faults) for name in GROWING}
    frames = min(rows["frames/time"], rows["frames/step"], rows["frames/changes_end"], done["frames"])
    keys, changes = min(rows["keys/frame"], rows["keys/state"]), min(rows["changes/index"], rows["changes/value"])
    if keys < done["keys"]:
        at = int(recording._files.rows("keys/frame", keys + 1, keys)[0]) if rows["keys/frame"] > keys else 0
        frames = min(frames, at)
    if changes < done["changes"] and frames:
        ends = recording._files.rows("frames/changes_end", frames)
        frames = int(np.searchsorted(ends, changes, side="right"))
    for kind in ("scalars", "reports"):
        for name in done[kind]:
            _whole_rows(recording, f"{kind}/{name}", faults)
    if recording.has_efforts:
        _whole_rows(recording, EFFORTS, faults)
    for name in CONTACTS if recording.has_contacts else ():
        _whole_rows(recording, name, faults)
    if SAMPLES in done["sums"]:
        _whole_rows(recording, SAMPLES, faults)
    marks = [mark for mark in (done["checkpoint"], done["earlier"]) if mark is not None]
    whole = [tried(lambda mark=mark: recording._files.checkpoint(mark)) for mark in marks]
    return RecordingCheck(
        faults=tuple(dict.fromkeys(faults)),
        whole_frames=frames if model_is_whole else 0,
        frames=int(done["frames"]),
        can_resume=model_is_whole and any(whole),
    )


def _whole_rows(recording: Recording, name: str, faults: list[str]) -> int:
    """Rows of an array before the first that is damaged; all blocks are read, so that every fault is named."""
    length = recording._files.length(name)
    whole = length
    try:
        recording._files.check_description(name)
        rows = int(recording._files.group[name].chunks[0])
    except (FormatError, KeyError, ValueError) as error:
        faults.append(_short(error))
        return 0
    for start in range(0, length, rows):
        try:
            recording._files.rows(name, min(start + rows, length), start)
        except FormatError as error:
            faults.append(_short(error))
            whole = min(whole, start)
    return whole


def _short(error: Exception) -> str:
    """The fault itself, without advice."""
    text = str(error).partition("is damaged: ")[2] or str(error)
    return text.partition(". Restore it from a copy")[0]
