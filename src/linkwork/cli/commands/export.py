"""Writes a recording as a table for other programs, or as an animation.

A table has times, coordinates, velocities and efforts by joint name, and scalars; one of contacts has a row per contact.

linkwork export out/snake_robot --csv
linkwork export out/molecule_hit --csv --joint 'phi_*' --every 10 --out phi.csv
linkwork export out/molecule_hit --npz
linkwork export out/pendulum_pegs --contacts
linkwork export out/snake_robot --gif --speed 0.5
linkwork export out/snake_robot --html       one file, in 3-D, that plays without a network
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.cli.exit_codes import DONE
from linkwork.cli.screen import beside, count, refuse_existing, short, working, written_whole
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork.record.recording import Recording

Columns = list[tuple[str, int]]  # names, and places in q followed by v

NAME = "export"
SUMMARY = "write a recording as CSV, NPZ, GIF, MP4 or HTML"

CSV_COLUMNS = 2000  # more no spreadsheet opens
NPZ_BYTES = 2 << 30  # of the chosen frames and joints, held in memory while they are written
# Reading all frames of the chosen joints in one go is fastest, as long as it takes no more than this [bytes].
AT_ONCE = 128 << 20
READING = 40  # bytes it takes for every number


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="RUN", type=Path, help="folder of a recording")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--csv", action="store_true", help="a table with a header: one row per frame")
    kind.add_argument("--npz", action="store_true", help="arrays for NumPy: time, step, q, v, names, scalars")
    kind.add_argument(
        "--contacts", action="store_true", help="a table (CSV) of contacts: one row per contact and frame"
    )
    kind.add_argument("--gif", action="store_true", help="an animation")
    kind.add_argument("--mp4", action="store_true", help="a film (H.264)")
    kind.add_argument("--html", action="store_true", help="a page in 3-D that plays without a network")
    parser.add_argument("--out", metavar="FILE", type=Path, help="file (RUN.csv, RUN.npz, ...)")
    parser.add_argument("--speed", type=float, default=1.0, help="of animations, times real time (1)")
    parser.add_argument("--rate", type=float, help="frames per second of animations (20 in GIF, 30 in others)")
    parser.add_argument("--size", metavar="WxH", default="640x480", help="of GIF and MP4 in pixels (640x480)")
    parser.add_argument("--every", metavar="K", type=int, default=1, help="every K-th frame only (1)")
    parser.add_argument("--joint", metavar="NAME", action="append", default=[], help="this joint only, or a pattern")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(arguments: argparse.Namespace) -> int:
    from linkwork.record.recording import Recording

    if arguments.every < 1:
        raise LinkworkError(f"--every is {arguments.every}; it must be at least 1.")
    recording = Recording(arguments.recording)
    if arguments.gif or arguments.mp4 or arguments.html:
        return _animate(arguments, recording)
    if arguments.contacts:
        return _write_contacts(arguments, recording)
    suffix = ".csv" if arguments.csv else ".npz"
    out = arguments.out or beside(arguments.recording, suffix)
    refuse_existing(out, arguments.force)
    frames = np.arange(0, len(recording), arguments.every)
    columns = joint_columns(recording, arguments.joint)
    _refuse_size(arguments, len(columns), frames.size)
    with working("writing"), written_whole(out) as partial:
        (_write_csv if arguments.csv else _write_npz)(partial, recording, frames, columns)
    print(f"{count(frames.size)} frames, {count(len(columns))} coordinates and velocities: written to '{short(out)}'")
    return DONE


def _write_contacts(arguments: argparse.Namespace, recording: Recording) -> int:
    """One row per contact of every frame, or of every `--every`-th."""
    if arguments.joint:
        raise LinkworkError("--joint belongs to tables of coordinates; contacts are between bodies.")
    table = recording.contact_table()
    out = arguments.out or beside(arguments.recording, "_contacts.csv")
    refuse_existing(out, arguments.force)
    rows = np.flatnonzero(table["frame"] % arguments.every == 0)
    with working("writing"), written_whole(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column[rows].tolist() for column in table.values()), strict=True))
    print(f"{count(rows.size)} contacts: written to '{short(out)}'")
    return DONE


def _animate(arguments: argparse.Namespace, recording: Recording) -> int:
    """GIF, MP4 or HTML, drawn without a browser."""
    from linkwork.viewer import animation

    kind = next(kind for kind in ("gif", "mp4", "html") if getattr(arguments, kind))
    if arguments.joint or arguments.every != 1:
        raise LinkworkError("--joint and --every belong to tables; animations take --speed, --rate and --size.")
    out = arguments.out or beside(arguments.recording, f".{kind}")
    refuse_existing(out, arguments.force)
    options: dict[str, Any] = {"speed": arguments.speed, "rate": arguments.rate}
    if kind != "html":
        options |= _pixels(arguments.size)
    with working("drawing"), written_whole(out) as partial:
        frames = getattr(animation, f"write_{kind}")(recording, partial, **options)
    print(f"{count(frames)} frames: written to '{short(out)}'")
    return DONE


def _pixels(words: str) -> dict[str, int]:
    width, cross, height = words.lower().partition("x")
    if not (cross and width.isdecimal() and height.isdecimal()):
        raise LinkworkError(f"--size is '{words}'; give width and height in pixels, as 640x480.")
    return {"width": int(width), "height": int(height)}


def joint_columns(recording: Recording, patterns: list[str]) -> Columns:
    """Names of columns and their places in q followed by v: q.hip, v.hip; q.ball.0 ... where a joint has several."""
    from linkwork.scene.targets import choose_joints

    model = recording.model
    joints = choose_joints(model, patterns) if patterns else list(model.joint_names)
    columns: Columns = []
    for vector, offset, part in (("q", 0, model.q_slice), ("v", model.nq, model.v_slice)):
        for joint in joints:
            rows = part(joint)
            single = rows.stop - rows.start == 1
            columns += [
                (f"{vector}.{joint}" + ("" if single else f".{k - rows.start}"), offset + k)
                for k in range(rows.start, rows.stop)
            ]
    return columns


def _refuse_size(arguments: argparse.Namespace, columns: int, frames: int) -> None:
    if arguments.csv and columns > CSV_COLUMNS:
        raise LinkworkError(
            f"this CSV would have {count(columns)} columns and some {columns * frames * 20 / 1e6:,.0f} MB; choose joints "
            f"with --joint (at most {count(CSV_COLUMNS)} columns), or write arrays with --npz."
        )
    if arguments.npz and columns * frames * 8 > NPZ_BYTES:  # CSV is written row by row
        raise LinkworkError(
            f"{count(frames)} frames of {count(columns)} numbers are {columns * frames * 8 / 1e9:.1f} GB; choose joints "
            "with --joint or fewer frames with --every, or read them one by one with lw.Recording."
        )


def _scalars(recording: Recording) -> dict[str, np.ndarray]:
    """Scalars, and the numbers of reports that are not scalars too."""
    return {**{f"report.{name}": v for name, v in recording.reports.items()}, **recording.scalars}


def _rows(recording: Recording, frames: IntArray, places: IntArray) -> Iterator[FloatArray]:
    """The chosen entries of q followed by v, one frame after the other, shape (len(places),) each.

    Much of a large recording is read state by state, so that memory holds a few of them and no more.
    """
    if len(recording) * places.size * READING <= AT_ONCE:
        yield from recording.coordinates(places)[frames]  # type: ignore[arg-type]
        return
    for k in frames.tolist():
        yield np.concatenate(recording.state(k))[places]


def _efforts(recording: Recording, columns: Columns) -> dict[str, FloatArray]:
    """All that acted on the chosen joints over time, by the names of their velocities; nothing where it was not kept."""
    if not recording.has_efforts:
        return {}
    names = [(name, place - recording.model.nq) for name, place in columns if place >= recording.model.nq]
    joints = {recording.model.joint_names[recording.model.joint_of(k)] for _, k in names}
    lines = {joint: recording.joint_effort(joint) for joint in joints}
    found = {}
    for name, k in names:
        joint = recording.model.joint_names[recording.model.joint_of(k)]
        found[f"effort{name[1:]}"] = lines[joint][:, k - recording.model.v_slice(joint).start]
    return found


def _write_csv(out: Path, recording: Recording, frames: IntArray, columns: Columns) -> None:
    scalars = {**_scalars(recording), **_efforts(recording, columns)}
    places = np.array([place for _, place in columns], dtype=np.int64)
    with out.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["time", "step", *(name for name, _ in columns), *scalars])
        for k, row in zip(frames.tolist(), _rows(recording, frames, places), strict=True):
            numbers = [*row.tolist(), *(float(series[k]) for series in scalars.values())]
            table.writerow([repr(float(recording.times[k])), int(recording.steps[k]), *map(repr, numbers)])


def _write_npz(out: Path, recording: Recording, frames: IntArray, columns: Columns) -> None:
    places = np.array([place for _, place in columns], dtype=np.int64)
    coordinates = int((places < recording.model.nq).sum())  # they stand before the velocities
    q, v = np.empty((frames.size, coordinates)), np.empty((frames.size, places.size - coordinates))
    for k, row in enumerate(_rows(recording, frames, places)):
        q[k], v[k] = row[:coordinates], row[coordinates:]
    names = [name[2:] for name, _ in columns]
    arrays: dict[str, Any] = {
        "time": recording.times[frames],
        "step": recording.steps[frames],
        "q": q,
        "v": v,
        "q_names": np.array(names[:coordinates]),
        "v_names": np.array(names[coordinates:]),
        **{name: series[frames] for name, series in _scalars(recording).items()},
    }
    efforts = _efforts(recording, columns)
    if efforts:
        arrays["effort"] = np.stack([line[frames] for line in efforts.values()], axis=1)
    with out.open("wb") as file:
        np.savez_compressed(file, **arrays)
