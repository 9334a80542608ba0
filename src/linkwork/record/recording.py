"""Recording: reads what a run left behind, also while it is still running. Everything is read when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import as_path, choice, integer, shown
from linkwork.core.messages.describe import html_table
from linkwork.core.units import UNITS
from linkwork.dynamics.quantities.efforts import IN_JOINTS, Efforts, as_efforts
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.dynamics.quantities.wrench_efforts import efforts_of_wrenches
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.record.efforts import NAME as EFFORTS
from linkwork.record.point_path import time_lines
from linkwork.record.store.checked_folder import CheckedFolder
from linkwork.record.store.container import zarr_library
from linkwork.record.store.model_store import read_model

if TYPE_CHECKING:
    from linkwork.contact.points import ContactPoint
    from linkwork.record.checking import RecordingCheck
    from linkwork.record.contacts import ContactEvent
    from linkwork.record.samples import SensorRecord


CONTACTS = "frames/contacts_end"  # there where contacts were recorded


class FrameIndexError(StateError, IndexError):
    """A frame that a recording does not have."""


class States(Sequence[State]):
    """The states of a recording, each formed when it is asked for."""

    def __init__(self, recording: Recording):
        self._recording = recording

    def __len__(self) -> int:
        return len(self._recording)

    def __repr__(self) -> str:
        return f"States({len(self)} of {self._recording!r})"

    @overload
    def __getitem__(self, k: int) -> State: ...
    @overload
    def __getitem__(self, k: slice) -> list[State]: ...
    def __getitem__(self, k: int | slice) -> State | list[State]:
        if isinstance(k, slice):
            return [self._recording.state(i) for i in range(*k.indices(len(self)))]
        return self._recording.state(k)


class Recording:
    """A recorded run, for reading.

    len(recording): frames. times [s], steps: of each frame, shape (len,). `state(k)`, `states`, `poses(k)`, `joint(name)`,
    `path_of(body)`, `scalars`, `reports`, `model`, `scene`, `settings`, `metadata`, `versions`.
    A recording shows what was committed when it was opened; `refresh()` looks again while a run goes on.
    frames: show the first so many only, such as those that `check()` finds whole in a damaged recording.
    """

    def __init__(self, path: str | Path, *, frames: int | None = None, _root: dict[str, Any] | None = None):
        zarr_library()  # says what to install where it is missing
        self.path = as_path(path, "a recording")
        self._most = None if frames is None else integer(frames, 0, "frames")
        self._files = CheckedFolder(self.path, _root)
        self._kept: tuple[int, FloatArray] | None = None  # the state formed last

    # --------------------------------------------------------------------------------------------------------------- about

    @property
    def scene(self) -> str | None:
        """The text the run was made from, if it was."""
        return self._files.root["scene"]

    @property
    def settings(self) -> dict[str, Any]:
        """How the simulation and its run were set up, by name."""
        return dict(self._files.root["settings"])

    @property
    def metadata(self) -> dict[str, Any]:
        """What the user noted."""
        return dict(self._files.root["metadata"])

    @property
    def versions(self) -> dict[str, str]:
        """Linkwork, NumPy, Numba, Zarr, Python and platform that made it."""
        return dict(self._files.root["versions"])

    @property
    def created(self) -> str:
        """When it began, in UTC (ISO 8601)."""
        return str(self._files.root["created"])

    @property
    def status(self) -> str:
        """ "running" (or killed), "finished", "stopped" by a callback, "interrupted" by Ctrl-C, or "failed"."""
        return str(self._files.committed["status"])

    @cached_property
    def model(self) -> Model:
        """The model, made again from what is stored: equal to the recorded one in every number."""
        with self._files.damage():
            self._files.check_description("model")
            self._files.refuse_missing()
            return read_model(self._files.group["model"], lambda name: self._files.whole_array(f"model/{name}"))

    # -------------------------------------------------------------------------------------------------------------- frames

    def __len__(self) -> int:
        count = int(self._files.committed["frames"])
        return count if self._most is None else min(count, self._most)

    @cached_property
    def times(self) -> FloatArray:
        """[s], shape (len,)."""
        return self._files.rows("frames/time", len(self))

    @cached_property
    def steps(self) -> IntArray:
        """Steps done at each frame, shape (len,)."""
        return self._files.rows("frames/step", len(self))

    @cached_property
    def scalars(self) -> dict[str, FloatArray]:
        """Scalars over time by name, each of shape (len,); NaN where a frame had none."""
        return self._files.scalars("scalars", len(self))

    @cached_property
    def reports(self) -> dict[str, FloatArray]:
        """Numbers of the steps' reports over time by name, each of shape (len,); NaN before the first step."""
        return self._files.scalars("reports", len(self))

    @property
    def states(self) -> States:
        return States(self)

    def state(self, k: int) -> State:
        """The state of frame k (negative: from the end).

        Cost: one key frame and at most as much in changes; less when frames are asked for in order.
        """
        k = self._checked_frame(k)
        key = int(np.searchsorted(self._key_frames, k, side="right")) - 1
        if key < 0:
            raise self._files.explain("its key frames do not begin with the first frame")
        first = int(self._key_frames[key])
        if self._kept is not None and first <= self._kept[0] <= k:
            first, x = self._kept[0], self._kept[1].copy()
        else:
            x = self._files.rows("keys/state", key + 1, key)[0]
        a, b = int(self._changes_end[first]), int(self._changes_end[k])
        if b > a:
            with self._files.damage():
                x[self._files.rows("changes/index", b, a)] = self._files.rows("changes/value", b, a)
        self._kept = (k, x.copy())
        return State(x[: self._nq].copy(), x[self._nq :].copy())

    def poses(self, k: int) -> FloatArray:
        """World poses of all bodies at frame k as homogeneous matrices, shape (n, 4, 4)."""
        return body_poses(self.model, self.state(k))

    def joint(self, name: str) -> FloatArray:
        """Coordinates of a joint over time [rad or m], shape (len, nq of the joint). No state is formed for it."""
        return self.coordinates(range(self.model.nq)[self.model.q_slice(name)])

    def joint_velocity(self, name: str) -> FloatArray:
        """Velocities of a joint over time [rad/s or m/s], shape (len, nv of the joint)."""
        part = self.model.v_slice(name)
        return self.coordinates(range(self._nq + part.start, self._nq + part.stop))

    @property
    def has_efforts(self) -> bool:
        """Whether efforts on joints were recorded."""
        return EFFORTS in self._files.committed["sums"]

    def efforts(self, k: int) -> Efforts:
        """What acted on the joints in the step before frame k, by source, each of shape (nv,) [N·m or N]."""
        k = self._checked_frame(k)
        self._refuse_without_efforts()
        contact = np.zeros(self.model.nv)
        if self.has_contacts:
            from linkwork.record.contacts import contact_wrenches_at

            contact = efforts_of_wrenches(self.model, self.state(k).q, contact_wrenches_at(self, k))
        return as_efforts(self._files.rows(EFFORTS, k + 1, k)[0].reshape(len(IN_JOINTS), -1).T, contact)

    def joint_effort(self, name: str, source: str = "total") -> FloatArray:
        """Efforts on a joint over time [N·m or N], shape (len, nv of the joint).

        source: "given", "motors", "springs", "dampers", "limits", or "total" of them.
        """
        part = self.model.v_slice(name)
        choice(source, ("total", *IN_JOINTS), "source")
        self._refuse_without_efforts()
        lines = self._files.rows(EFFORTS, len(self)).reshape(len(self), len(IN_JOINTS), -1)[:, :, part]
        return np.asarray(lines.sum(axis=1) if source == "total" else lines[:, IN_JOINTS.index(source)])

    def _refuse_without_efforts(self) -> None:
        if not self.has_efforts:
            raise StateError(
                f"recording '{self.path}' has no efforts on joints: it is of a large model, or of a scene without "
                "joints to drive."
            )

    @property
    def has_contacts(self) -> bool:
        """Whether contacts were recorded: where the simulation had `contact`."""
        return CONTACTS in self._files.committed["sums"]

    def contacts(self, k: int) -> tuple[ContactPoint, ...]:
        """Where bodies touched each other or an obstacle in the step before frame k, as `sim.contacts` had it."""
        from linkwork.record.contacts import contacts_at

        return contacts_at(self, self._checked_frame(k))

    def contact_table(self) -> dict[str, NDArray[Any]]:
        """All contacts of all frames as columns by name, one row each, such as a data frame takes them.

        frame, time [s], body, other, state, gap [m], point.x to point.z [m], normal.*, impulse.* [N·s], force.* [N].
        """
        from linkwork.record.contacts import contact_table

        return contact_table(self)

    def contact_events(self) -> list[ContactEvent]:
        """When pairs began to press on each other and when they parted, as far as frames show it: each holds the step
        before it, with bounces early in it."""
        from linkwork.record.contacts import contact_events

        return contact_events(self)

    @property
    def sensors(self) -> tuple[str, ...]:
        """Names of the sensors that were recorded."""
        from linkwork.record.samples import sensor_names

        return sensor_names(self)

    def sensor(self, name: str) -> SensorRecord:
        """All readings of a sensor: times they were taken at, values, names and units of the channels, latency."""
        from linkwork.record.samples import sensor_record

        return sensor_record(self, name)

    def to_pandas(self) -> Any:
        """A DataFrame: one row per frame by time [s], columns ("q", joint), ("v", joint), ("scalar", name); units in
        `attrs["units"]`. Needs pandas.
        """
        from linkwork.record.tables import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> Any:
        """A Dataset of coordinates, velocities, scalars and sensors, with names and units. Needs xarray."""
        from linkwork.record.tables import to_xarray

        return to_xarray(self)

    def path_of(self, body: str | int, at: ArrayLike = (0.0, 0.0, 0.0)) -> FloatArray:
        """Path of a point of a body in the world [m], shape (len, 3). at: the point, in the body's frame [m]."""
        from linkwork.record.point_path import point_path

        return point_path(self, body, at)

    def coordinates(self, places: Sequence[int]) -> FloatArray:
        """Entries of q followed by v over time, shape (len, len(places)), without forming states."""
        width = self.model.nq + self.model.nv
        try:
            wanted = np.asarray(places, dtype=np.int64)
            if wanted.ndim != 1:
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise StateError(f"places must be whole numbers from 0 to {width - 1}, not {shown(places)}.") from None
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < width):
            raise StateError(
                f"places {wanted.tolist()} are not all within q and v, which have {width} entries together."
            )
        with self._files.damage():
            return time_lines(self._files.rows, wanted, width, self._key_frames, self._changes_end)

    @property
    def key_frames(self) -> IntArray:
        """Frames that are kept in full, ascending; the others are what changed since the frame before."""
        return self._key_frames.copy()

    # ---------------------------------------------------------------------------------------------------------- checkpoint

    def checkpoint(self) -> tuple[dict[str, object], dict[str, object]] | None:
        """What the simulation saved last and what its run noted then; None without a checkpoint."""
        mark = self._files.committed["checkpoint"]
        return None if mark is None else self._files.checkpoint(mark)

    def check(self) -> RecordingCheck:
        """Reads everything and says which files are damaged and how many frames are whole. Cost: reading it all."""
        from linkwork.record.checking import check_recording

        return check_recording(self)

    def refresh(self) -> int:
        """Looks again at a recording that is being written; returns the number of frames."""
        self._files = CheckedFolder(self.path)
        for name in ("times", "steps", "scalars", "reports", "_key_frames", "_changes_end"):
            self.__dict__.pop(name, None)
        return len(self)

    # -------------------------------------------------------------------------------------------------------------- inside

    @cached_property
    def _key_frames(self) -> IntArray:
        return self._files.rows("keys/frame", int(self._files.committed["keys"]))

    @cached_property
    def _changes_end(self) -> IntArray:
        """Changes in all frames up to and with each, shape (len,)."""
        return self._files.rows("frames/changes_end", len(self))

    def _changes_at_last_key(self) -> int:
        return int(self._changes_end[self._key_frames[-1]])

    @cached_property
    def _nq(self) -> int:
        with self._files.damage():
            return int(self._files.group["model/rest"].shape[0])

    def _checked_frame(self, k: int) -> int:
        count = len(self)
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not -count <= k < count:
            raise FrameIndexError(f"frame {shown(k)} is not in recording '{self.path}', which has {count} frames.")
        return int(k) % count

    @property
    def units(self) -> Mapping[str, str]:
        """What stands for each SI unit in runs of molecules ({"m": "nm", ...}); empty where SI units hold."""
        return UNITS[self.model.units]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies open the same folder anew."""
        return partial(type(self), frames=self._most), (self.path,)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self._kept = None

    def __repr__(self) -> str:
        s = self.units.get("s", "s")
        span = f", {self.times[0]:g} {s} to {self.times[-1]:g} {s}" if len(self) else ""
        name = self._files.root["model"]
        return f"Recording('{self.path}', model '{name}', {len(self)} frames{span}, {self.status})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        s = self.units.get("s", "s")
        span = f"{self.times[0]:g} {s} to {self.times[-1]:g} {s}" if len(self) else "no frames"
        rows: list[tuple[str, object]] = [
            ("path", self.path),
            ("model", self._files.root["model"]),
            ("frames", f"{len(self):,}, {span}"),
            ("status", self.status),
            ("scalars", ", ".join(self.scalars)),
        ]
        return html_table("Recording", rows, "lw.view(recording) plays it in 3-D")
