"""Readings of sensors over time: one row of numbers that grows, (place of the sensor, time, values) reading by reading.

What the sensors are stands in the settings of the recording, under "sensors", in the order of their places.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.errors import StateError
from linkwork.record import layout
from linkwork.record.store.container import GrowingArray, create_array

if TYPE_CHECKING:
    from linkwork.record.recording import Recording

GROUP, NAME, SETTING = "samples", "samples/stream", "sensors"


class SensorRecord(NamedTuple):
    """Readings of one sensor in a recording."""

    name: str
    times: FloatArray  # (k,) when they were taken [s]
    values: FloatArray  # (k, width)
    channels: tuple[str, ...]  # of the columns
    units: tuple[str, ...]
    latency: float  # [s] from then until they are known


class SampleLines:
    """The stream of readings of a recording that is being written; there is none before the first reading."""

    def __init__(self, group: Any, folder: Path, committed: dict[str, Any]):
        """committed: numbers of the stream that count, and the sums of arrays that do."""
        self._group, self._folder = group, folder
        self.arrays: dict[str, GrowingArray] = {}  # by path within the recording
        self.count = int(committed["samples"]) if NAME in committed["sums"] else 0
        if NAME in committed["sums"]:
            known = {"stored": committed["sums"][NAME], "tail": committed.get("tails", {}).get(NAME)}
            self.arrays[NAME] = GrowingArray(group[NAME], folder / NAME, self.count, **known)

    @property
    def described(self) -> tuple[str, ...]:
        """What has a description of its own in the root."""
        return (GROUP, *self.arrays) if self.arrays else ()

    def append(self, stream: FloatArray | None) -> None:
        if stream is None or not stream.size:
            return
        if not self.arrays:
            for name in (NAME, GROUP):
                if name in self._group:  # left by a run that was killed before it was committed
                    del self._group[name]
            unit = "place of the sensor, s, then its channels"
            create_array(self._group, NAME, (), "f8", (layout.CHANGE_ROWS,), unit)
            self.arrays[NAME] = GrowingArray(self._group[NAME], self._folder / NAME, 0)
        self.arrays[NAME].append(np.array(stream))
        self.count += stream.size

    def write(self) -> list[Path]:
        return [file for array in self.arrays.values() for file in array.write()]


# ----------------------------------------------------------------------------------------------------------------- reading


def sensor_names(recording: Recording) -> tuple[str, ...]:
    return tuple(recording.settings.get(SETTING, {}))


def sensor_record(recording: Recording, name: str) -> SensorRecord:
    """All readings of a sensor up to the last frame that is shown."""
    about = recording.settings.get(SETTING, {})
    if not isinstance(name, str) or name not in about:
        if not about:
            raise StateError(f"recording '{recording.path}' has no sensors; record a run with sensors=lw.Sensors(sim).")
        raise StateError(f"recording '{recording.path}' has no sensor '{name}'{did_you_mean_or_list(name, about)}")
    widths = [len(described["channels"]) for described in about.values()]
    place, own = list(about).index(name), about[name]
    stream = np.zeros(0)
    if NAME in recording._files.committed["sums"]:
        stream = np.asarray(recording._files.rows(NAME, recording._files.length(NAME)))
    found, at = [], 0
    while at < stream.size:
        end = at + 2 + widths[int(stream[at])]
        if int(stream[at]) == place:
            found.append(stream[at + 1 : end])
        at = end
    rows = np.array(found).reshape(len(found), 1 + widths[place])
    rows = rows[rows[:, 0] <= recording.times[-1]] if len(recording) else rows[:0]
    return SensorRecord(
        name, rows[:, 0].copy(), rows[:, 1:].copy(), tuple(own["channels"]), tuple(own["units"]), float(own["latency"])
    )
