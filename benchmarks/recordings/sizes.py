"""What recordings of adaptive runs take on disk, beside what the same frames would take in full."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.record import Recording

from ..harness import Requirement, TableReport, progress

ACTIVE = 100  # joints that may move
FRAMES, EVERY, H = 1000, 10, 1e-4  # frames, steps between them, time step [s]
FORCE = 1e-3  # [N], on the last body
PLACE_AND_VALUE = 12  # bytes of a change before compression
MOST_PER_CHANGE = 1.5  # times that, times and scalars included
MOST_OF_A_FRAME = 0.005  # of the same frame in full: 200 of 100,000 entries are 0.2 %, with their places 0.3 %
COLUMNS = [
    "run",
    "entries changed per frame",
    "bytes per frame",
    "in full",
    "key frames",
    "model, once",
    "a checkpoint",
]


def simulations(model: lw.Model, active: int) -> dict[str, Any]:
    start = model.neutral()
    return {
        "adaptive dynamics": lw.AdaptiveDynamics(
            model, start, max_active_joints=active, integrator="semi_implicit_euler"
        ),
        "quasi-statics": lw.QuasiStatics(model, start, max_active_joints=active),
    }


def judge_sizes(report: TableReport, joints: int, quick: bool) -> None:
    """Records a run of either kind and weighs its parts."""
    frames, active = (20, 20) if quick else (FRAMES, ACTIVE)
    model = lw.library.molecule(joints=joints, seed=1).compile()
    rows = []
    for name, sim in simulations(model, active).items():
        progress(f"recording {name}")
        sim.apply_wrench(model.body_names[-1], force=(0.0, 0.0, FORCE), frame="world")
        with tempfile.TemporaryDirectory() as scratch:
            sim.run(H, frames * EVERY, every=EVERY, record=Path(scratch) / "run", progress=False)
            sizes = weigh(Path(scratch) / "run", sim.state)
        report.results.append({"case": "sizes", "contestant": name, "joints": joints, "active": active, **sizes})
        report.requirements += requirements(f"{name}, {joints:,} joints, {active} active", sizes)
        rows.append([
            name, f"{sizes['changed_per_frame']:,.0f}", f"{sizes['bytes_per_frame']:,.0f}", f"{sizes['full_frame']:,}",
            f"{sizes['key_frames']}", f"{sizes['model']:,}", f"{sizes['checkpoint']:,}",
        ])  # fmt: skip
    title = f"{joints:,} joints, at most {active} of them active, {frames:,} frames, one every {EVERY} steps"
    report.add_table("sizes", title, COLUMNS, rows)


def weigh(folder: Path, end: lw.State) -> dict[str, Any]:
    """Bytes of the parts of a recording, which must be one of all that happened."""
    with Recording(folder) as recording:
        frames, model = len(recording) - 1, recording.model  # the first frame is the start, kept in full
        last = recording.state(-1)
        np.testing.assert_array_equal(last.q, end.q)
        np.testing.assert_array_equal(last.v, end.v)
        assert np.isfinite(last.q).all(), "a run that exploded proves nothing"
        assert last.q.any(), "a run in which nothing moved proves nothing"
        changed = sum(count_changed(recording, k) for k in range(1, frames + 1))
        keys = recording.key_frames
    stored = sum(size_of(folder / part) for part in ("frames", "changes", "keys", "scalars", "reports"))
    return {
        "frames": frames,
        "changed_per_frame": changed / frames,
        "bytes_per_frame": stored / frames,
        "full_frame": 8 * (model.nq + model.nv),
        "key_frames": int(keys.size),
        "model": size_of(folder / "model"),
        "checkpoint": max(size_of(slot) for slot in (folder / "checkpoints").iterdir() if slot.is_dir()),
    }


def count_changed(recording: Recording, k: int) -> int:
    before, after = (np.concatenate(recording.state(i)) for i in (k - 1, k))
    return int(np.count_nonzero(before.view(np.uint64) != after.view(np.uint64)))


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def requirements(case: str, sizes: dict[str, Any]) -> list[Requirement]:
    per_change = sizes["bytes_per_frame"] / (PLACE_AND_VALUE * max(1.0, sizes["changed_per_frame"]))
    of_full = sizes["bytes_per_frame"] / sizes["full_frame"]
    return [
        Requirement(
            case, per_change, f"of {PLACE_AND_VALUE} bytes per change", f"≤ {MOST_PER_CHANGE:g}",
            per_change <= MOST_PER_CHANGE,
            detail=f"{sizes['bytes_per_frame']:,.0f} bytes per frame, {sizes['changed_per_frame']:,.0f} entries changed",
        ),
        Requirement(
            case, 100 * of_full, "% of a full frame", f"≤ {100 * MOST_OF_A_FRAME:g} %", of_full <= MOST_OF_A_FRAME,
            detail=f"{1 / of_full:,.0f} times less",
        ),
    ]  # fmt: skip
