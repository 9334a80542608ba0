"""Every single damage to a recording: an error of Linkwork that names it, or the same result; never another one."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import LinkworkWarning
from linkwork.record import layout
from linkwork.simulation.run import resume_run, run_simulation

pytest.importorskip("zarr", reason="recordings need the extra record")

MODEL = lw.library.chain(joints=8).compile()
STEPS = 60
EVERY = 13  # of some 400 damages one is tried here; `linkwork bench adversary` tries as many as one likes


def simulation():
    return lw.QuasiStatics(MODEL, MODEL.neutral(), tolerance=1e-2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in small chunks, so that every array has several, with two checkpoints."""
    kept = layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS
    layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS = 4, 16, 16
    try:
        path = tmp_path_factory.mktemp("damage") / "run"
        sim = simulation()
        run_simulation(sim, 1e-2, STEPS, record=path, every=5)
    finally:
        layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS = kept
    return path


def everything(path):
    """All that can be read of a recording, as plain values."""
    r = lw.Recording(path)
    arrays = [] if not r.has_efforts else [np.concatenate(r.efforts(k)) for k in range(len(r))]
    arrays += [r.times, r.steps, *r.scalars.values(), *r.reports.values(), r.key_frames, *r.model.arrays]
    arrays += [np.concatenate(state) for state in r.states]
    arrays += [r.coordinates([0, 9]), r.path_of(MODEL.body_names[-1])]
    saved, run = r.checkpoint()
    arrays += [np.asarray(value) for value in saved.values() if isinstance(value, np.ndarray)]
    plain = {k: v for k, v in saved.items() if not isinstance(v, np.ndarray)}
    about = (
        r.scene,
        r.settings,
        r.metadata,
        r.versions,
        r.created,
        r.status,
        r.model.joint_names,
        repr(r.model.joints),
    )
    return repr(about) + repr(plain) + repr(run), [a.tobytes() for a in arrays]


def resumed(path):
    """The end of the run when it goes on from its checkpoint for a while."""
    sim = simulation()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinkworkWarning)
        resume_run(sim, path, steps=STEPS + 10)
    return sim.state.q.tobytes()


def damages(folder, rng):
    """(what, do) for every file: a bit flipped in some places, cut short, emptied, removed, replaced by its neighbour."""
    files = sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())
    for k, name in enumerate(files):
        size = (folder / name).stat().st_size
        for bit in {rng.randrange(8 * size) for _ in range(3)}:
            yield f"{name}: bit {bit}", lambda at, n=name, b=bit: flip(at / n, b)
        yield f"{name}: cut", lambda at, n=name, s=size: (at / n).write_bytes((at / n).read_bytes()[: s // 2])
        yield f"{name}: gone", lambda at, n=name: (at / n).unlink()
        other = files[(k + 1) % len(files)]
        yield f"{name}: replaced by {other}", lambda at, n=name, o=other: shutil.copyfile(at / o, at / n)


def flip(file, bit):
    data = bytearray(file.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)


@pytest.mark.filterwarnings("ignore")
def test_every_single_damage_is_reported_or_harmless(whole, tmp_path):
    rng = random.Random(7)
    truth = everything(whole)
    end = resumed(shutil.copytree(whole, tmp_path / "resumed"))
    refused = harmless = 0
    for number, (what, damage) in enumerate(list(damages(whole, rng))[::EVERY]):
        copy = shutil.copytree(whole, tmp_path / "copy")
        damage(copy)
        try:
            assert everything(copy) == truth, f"{what}: silently another result"
            harmless += 1
        except lw.LinkworkError:
            refused += 1
        if number % 6 == 0:
            with contextlib.suppress(lw.LinkworkError):
                assert resumed(copy) == end, f"{what}: another end after it resumed"
        shutil.rmtree(copy)
    assert refused > 20
    assert harmless < refused / 4  # blanks in descriptions, and the checkpoint that does not count


def chunk(path, name, k):
    return next(f for f in (path / name / "c" / str(k),) if f.exists())


def test_what_is_whole_is_offered(whole, tmp_path):
    assert lw.Recording(whole).check().is_whole
    copy = shutil.copytree(whole, tmp_path / "copy")
    chunk(copy, "frames/time", 1).unlink()
    with pytest.raises(lw.FormatError, match=r"frames/time/c/1 is missing.*check\(\)"):
        lw.Recording(copy).times  # noqa: B018
    found = lw.Recording(copy).check()
    assert (found.whole_frames, found.can_resume, len(found.faults)) == (4, True, 1)
    part = lw.Recording(copy, frames=found.whole_frames)
    assert len(part) == 4
    assert part.times.tolist() == lw.Recording(whole).times[:4].tolist()
    assert [s.q.tobytes() for s in part.states] == [s.q.tobytes() for s in lw.Recording(whole).states[:4]]


def test_a_damaged_checkpoint_falls_back_to_the_one_before(whole, tmp_path):
    end = resumed(shutil.copytree(whole, tmp_path / "resumed"))
    copy = shutil.copytree(whole, tmp_path / "copy")
    slot = json.loads((copy / "zarr.json").read_text())["attributes"]["committed"]["checkpoint"]["slot"]
    flip(next(f for f in (copy / "checkpoints" / slot / "c").rglob("*") if f.is_file()), 77)
    sim = simulation()
    with pytest.warns(LinkworkWarning, match="goes on from the checkpoint before"):
        resume_run(sim, copy, steps=STEPS + 10)
    assert sim.state.q.tobytes() == end
    assert lw.Recording(copy).check().is_whole


def test_a_run_that_resumes_with_other_kernels_says_so(whole, tmp_path, monkeypatch):
    copy = shutil.copytree(whole, tmp_path / "copy")
    monkeypatch.setattr("linkwork.record.beginning.kernel_digest", lambda: "another")
    with pytest.warns(LinkworkWarning, match="the kernels .* to rounding only"):
        resume_run(simulation(), copy)


def test_a_folder_that_vanishes_is_reported(tmp_path):
    path, moved = tmp_path / "run", tmp_path / "moved"

    def callback(sim, report):
        if path.exists() and sim.steps_done >= 20:
            path.rename(moved)

    with pytest.raises(lw.LinkworkError, match=r"cannot write recording .* is gone\. The folder was moved"):
        simulation().run(1e-2, STEPS, record=path, every=5, callback=callback, checkpoint_every_s=0.0)
    assert not path.exists()
    assert len(lw.Recording(moved)) >= 4


def test_force_leaves_files_that_are_not_its_own(whole, tmp_path):
    copy = shutil.copytree(whole, tmp_path / "copy")
    for name in ("thesis.txt", "frames/notes.md", "frames/time/c/README", "mine.partial"):
        file = copy / name
        file.write_text("years of work")
        with pytest.raises(lw.LinkworkError, match=f"not the recording's own: {name}"):
            lw.Recorder(copy, force=True)
        assert file.read_text() == "years of work"
        file.unlink()
    (copy / "later").mkdir()
    with pytest.raises(lw.LinkworkError, match="later"):
        lw.Recorder(copy, force=True)
    (copy / "later").rmdir()
    with lw.Recorder(copy, force=True) as recorder:
        recorder.begin(MODEL)
    assert len(lw.Recording(copy)) == 0


def test_a_commit_writes_what_is_new(tmp_path, monkeypatch):
    """Not the sums of all blocks again: the root is as long after many blocks as after few."""
    monkeypatch.setattr(layout, "FRAME_ROWS", 4)
    monkeypatch.setattr(layout, "CHANGE_ROWS", 8)
    rng, lengths = np.random.default_rng(3), []
    with lw.Recorder(tmp_path / "run") as recorder:
        recorder.begin(MODEL)
        for k in range(1, 401):
            recorder.append(1.0 * k, k, MODEL.random_state(int(rng.integers(99)), speed=1.0), {"energy": 1.0 * k})
            if k % 20 == 0:
                recorder.flush()
                lengths.append((tmp_path / "run" / "zarr.json").stat().st_size)
    assert max(lengths) - lengths[1] < 200  # digits of lengths and sums
    recording = lw.Recording(tmp_path / "run")
    assert recording.times.tolist() == list(range(1, 401))
    assert recording.check().is_whole
    sums = tmp_path / "run" / "frames" / "time" / "sums"
    assert sums.stat().st_size == 400 // 4 * 4
    flip(sums, 1000)
    with pytest.raises(lw.FormatError, match="sums is not what was written"):
        lw.Recording(tmp_path / "run").times  # noqa: B018


@pytest.mark.parametrize("error", [MemoryError(), TypeError("a fault of ours"), IndexError("another")])
def test_what_is_no_damage_is_not_called_so(whole, monkeypatch, error):
    def fails(*given):
        raise error

    monkeypatch.setattr("linkwork.record.store.checked_folder.read_checked", fails)
    with pytest.raises(type(error)):
        lw.Recording(whole).times  # noqa: B018


def test_a_file_that_may_not_be_read_is_not_called_damaged(whole, monkeypatch):
    def fails(*given):
        raise PermissionError(13, "Permission denied", "frames/time/c/0")

    monkeypatch.setattr("linkwork.record.store.checked_folder.read_checked", fails)
    with pytest.raises(
        lw.LinkworkError, match="cannot be read: Permission denied; frames/time/c/0 may be whole"
    ) as caught:
        lw.Recording(whole).times  # noqa: B018
    assert "damaged" not in str(caught.value)
