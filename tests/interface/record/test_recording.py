"""What a recording refuses, and what it keeps when the disk or the user gets in its way."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.recordings import contents, record, simulation

import linkwork as lw
from linkwork.cli import main
from linkwork.record import Recorder, Recording, place
from linkwork.record.store import container, lock
from linkwork.simulation.run import resume_run, run_simulation

pytest.importorskip("zarr", reason="the extra `record` is not installed")


@pytest.fixture(scope="module")
def model():
    return lw.library.chain(joints=8).compile()


# ------------------------------------------------------------------------------------------------------- existing output


def test_existing_output_is_refused_and_untouched(tmp_path, model):
    path = record(tmp_path / "run", model)
    before = contents(path)
    for refuse in (
        lambda: Recorder(path),
        lambda: simulation(model).run(1e-3, 10, record=path),
        lambda: simulation(model).run(1e-3, 10, record=str(path)),
    ):
        with pytest.raises(lw.LinkworkError, match=r"exists already.*force=True \(--force\)"):
            refuse()
    assert contents(path) == before


def test_force_replaces_when_the_new_one_stands(tmp_path, model, monkeypatch):
    path = record(tmp_path / "run", model)
    before = contents(path)
    recorder = Recorder(path, force=True)
    assert contents(path) == before

    def fail(*anything):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("linkwork.record.beginning.write_model", fail)
        with pytest.raises(lw.LinkworkError, match="No space left"):
            recorder.begin(model)
    assert contents(path) == before
    assert os.listdir(tmp_path) == ["run"]
    record(path, model, frames=2, force=True)
    assert len(Recording(path)) == 2
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.parametrize("what", ["folder", "file"])
def test_force_replaces_nothing_but_recordings(tmp_path, model, what):
    path = tmp_path / "precious"
    if what == "folder":
        path.mkdir()
        (path / "thesis.txt").write_text("years of work")
    else:
        path.write_text("years of work")
    with pytest.raises(lw.LinkworkError, match="not a recording that could be replaced"):
        Recorder(path, force=True)
    assert path.exists()


def test_an_empty_folder_is_no_obstacle(tmp_path, model):
    (tmp_path / "run").mkdir()
    record(tmp_path / "run", model)
    assert len(Recording(tmp_path / "run")) == 5


def test_an_empty_folder_is_no_obstacle_where_nothing_is_renamed_onto_folders(tmp_path, model, monkeypatch):
    """As on Windows."""
    real = os.rename

    def rename(old, new):
        if Path(new).exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        real(old, new)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "replace", lambda old, new: rename(old, new) if Path(old).is_dir() else real(old, new))
    (tmp_path / "run").mkdir()
    record(tmp_path / "run", model)
    record(tmp_path / "run", model, frames=2, force=True)
    assert len(Recording(tmp_path / "run")) == 2


def test_what_appears_meanwhile_is_not_replaced(tmp_path, model):
    recorder = Recorder(tmp_path / "run")
    record(tmp_path / "run", model, frames=3)
    with pytest.raises(lw.LinkworkError, match="exists already"):
        recorder.begin(model)
    assert len(Recording(tmp_path / "run")) == 3


def test_missing_parents_are_made(tmp_path, model):
    record(tmp_path / "a" / "b" / "run", model)
    assert len(Recording(tmp_path / "a" / "b" / "run")) == 5


def test_beginnings_of_killed_runs_are_cleared_away(tmp_path, model):
    stale = tmp_path / ".run.999999.partial"
    stale.mkdir()
    (stale / "zarr.json").write_text("{}")
    aside = tmp_path / ".run.999999.old.partial"
    aside.mkdir()
    with pytest.raises(lw.FormatError, match=r"no recording.*cut short.*\.old\.partial"):
        Recording(tmp_path / "run")
    record(tmp_path / "run", model)
    assert not stale.exists()
    assert aside.exists()  # it may be all that is left of somebody's recording


def test_beginnings_of_other_runs_stay(tmp_path, model):
    """A run that is just beginning has its folder to itself, also before it wrote anything into it."""
    ours = tmp_path / f".run.{os.getpid()}.partial"
    alike = [tmp_path / ".run.b.999999.partial", tmp_path / ".run.5.999999.partial"]  # of recordings run.b and run.5
    for folder in alike:
        folder.mkdir()
    beginning = lock.WriterLock(tmp_path / "run")
    ours.mkdir()
    for second in (lambda: Recorder(tmp_path / "run"), lambda: begin_late(tmp_path / "run", model)):
        with pytest.raises(lw.LinkworkError, match="being written by another run"):
            second()
    assert ours.exists()
    beginning.release()
    record(tmp_path / "run", model)
    assert not ours.exists()
    assert all(folder.exists() for folder in alike)
    assert place.left_beside(tmp_path / "run.5") == [alike[1]]


def begin_late(path, model):
    """Begins although somebody else came between the check and the beginning."""
    recorder = Recorder.__new__(Recorder)
    recorder.__dict__.update(Recorder(path.with_name("elsewhere")).__dict__, path=path)
    recorder.begin(model)


# -------------------------------------------------------------------------------------------------------------- the disk


def test_read_only_folders_are_named(tmp_path, model):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip(reason="this user may write everywhere")
        with pytest.raises(lw.LinkworkError, match=r"cannot begin recording '.*run': Permission denied") as refusal:
            record(folder / "run", model)
        assert "resume" not in str(refusal.value)
        assert os.listdir(folder) == []
    finally:
        folder.chmod(0o700)


def test_a_refused_write_names_the_place(tmp_path, model, monkeypatch):
    """The same as above for users who may write everywhere: the system refuses."""

    def refuse(*anything, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(lw.LinkworkError, match=r"cannot begin recording '.*run': Permission denied") as refusal:
        record(tmp_path / "run", model)
    assert "Nothing was recorded" in str(refusal.value)
    assert "resume" not in str(refusal.value)


@pytest.mark.parametrize("where", ["recorder.write_bundle", "beginning.write_model"])
def test_a_run_that_cannot_begin_is_not_advised_to_resume(tmp_path, model, monkeypatch, where):
    """Also when the disk is full at its first frame or checkpoint, before the recording stands."""

    def refuse(*anything, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"linkwork.record.{where}", refuse)
    with pytest.raises(lw.LinkworkError, match=r"cannot begin .*No space left.*Nothing was recorded") as refusal:
        simulation(model).run(1e-3, 10, record=tmp_path / "run")
    assert "resume" not in str(refusal.value)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_reported_and_what_was_committed_stays(tmp_path, model):
    """The system itself refuses to let files grow beyond a limit, as a full disk would, in the middle of a run."""
    pytest.importorskip("resource", reason="this system limits no files")
    program = f"""
import resource, signal, sys
import numpy as np
import linkwork as lw
from linkwork.record import Recorder
model = lw.library.chain(joints=8).compile()
rng = np.random.default_rng(0)
recorder = Recorder({str(tmp_path / "run")!r})
recorder.begin(model)
for k in range(50):
    recorder.append(0.1 * k, k, lw.State(rng.normal(size=8), rng.normal(size=8)))
recorder.flush()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    for k in range(50, 1000):
        recorder.append(0.1 * k, k, lw.State(rng.normal(size=8), rng.normal(size=8)))
    recorder.flush()
except lw.LinkworkError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert "cannot write recording" in run.stdout
    assert "File too large" in run.stdout
    assert "stays readable" in run.stdout
    recording = Recording(tmp_path / "run")
    assert len(recording) == 50
    rng = np.random.default_rng(0)
    for k in range(50):
        assert recording.state(k).q.tolist() == rng.normal(size=8).tolist()
        rng.normal(size=8)


def test_a_run_on_a_full_disk_can_be_resumed(tmp_path, model, monkeypatch):
    """The disk is full at some write of a run; after room was made, the run goes on as if nothing had happened."""
    whole = simulation(model)
    run_simulation(whole, 1e-2, 60, record=tmp_path / "whole", every=5, checkpoint_every_s=0.0)
    calls = []
    real = container.GrowingArray.write

    def sometimes(self):
        calls.append(self)
        if len(calls) > 60:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self)

    with monkeypatch.context() as patch:
        patch.setattr(container.GrowingArray, "write", sometimes)
        with pytest.raises(lw.LinkworkError, match="No space left on device"):
            run_simulation(simulation(model), 1e-2, 60, record=tmp_path / "run", every=5, checkpoint_every_s=0.0)
    assert 0 < len(Recording(tmp_path / "run")) < 13
    again = simulation(model)
    resume_run(again, tmp_path / "run")
    assert again.state.q.tobytes() == whole.state.q.tobytes()
    a, b = Recording(tmp_path / "run"), Recording(tmp_path / "whole")
    assert a.times.tobytes() == b.times.tobytes()
    assert [s.q.tobytes() for s in a.states] == [s.q.tobytes() for s in b.states]


# -------------------------------------------------------------------------------------------------- what is not a recording


def test_strangers_are_refused(tmp_path):
    for name, make, message in (
        ("nothing", lambda path: None, "there is no recording"),
        ("file", lambda path: path.write_text("hello"), "is not a recording of Linkwork"),
        ("folder", lambda path: path.mkdir(), "is not a recording of Linkwork"),
        ("zarr", lambda path: write_root(path, {"attributes": {}, "zarr_format": 3}), "has no 'linkwork_recording'"),
        ("list", lambda path: write_root(path, [1, 2]), "damaged"),
        (
            "newer",
            lambda path: write_root(path, {"attributes": {"linkwork_recording": 99}}),
            "format 99.*version that wrote it",
        ),
    ):
        make(tmp_path / name)
        for opening in (Recording, Recorder.resume):
            with pytest.raises(lw.FormatError, match=message):
                opening(tmp_path / name)


def write_root(path, document):
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps(document))


PARTS = ("zarr.json", "frames/time", "changes/value", "keys/state", "model/description", "model/body", "scalars/energy")
DAMAGE = [(part, how) for part in PARTS for how in ("cut", "gone", "garbled")]
DAMAGE.remove(("scalars/energy", "gone"))  # a chunk without a file lies before the scalar appeared: it reads as NaN


@pytest.mark.parametrize(("part", "how"), DAMAGE)
def test_damage_is_reported_where_it_is_met(tmp_path, model, part, how):
    path = record(tmp_path / "run", model, frames=5)
    file = path / part
    if file.is_dir():
        file = min(f for f in (file / "c").rglob("*") if f.is_file())
    data = bytearray(file.read_bytes())
    if how == "gone":
        file.unlink()
    elif how == "cut":
        file.write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 2] ^= 0x55
        data[len(data) // 3] ^= 0x55
        file.write_bytes(data)
    with pytest.raises(lw.FormatError, match="recording"):
        look_at_everything(path)


def look_at_everything(path):
    recording = Recording(path)
    recording.model, recording.times, recording.scalars, recording.reports  # noqa: B018
    for state in recording.states:
        assert state.q.shape == (8,)


def test_frames_out_of_reach(tmp_path, model):
    recording = Recording(record(tmp_path / "run", model))
    for k in (5, -6, 1.5, "first"):
        with pytest.raises(IndexError, match="which has 5 frames"):
            recording.state(k)
    with pytest.raises(lw.ModelError, match="no joint 'elbow'"):
        recording.joint("elbow")
    with pytest.raises(lw.StateError, match="does not exist"):
        recording.path_of(99)


def test_wrong_frames_are_refused(tmp_path, model):
    with Recorder(tmp_path / "run") as recorder:
        with pytest.raises(lw.LinkworkError, match="has not begun"):
            recorder.append(0.0, 0, model.neutral())
        recorder.begin(model)
        with pytest.raises(lw.LinkworkError, match="has begun already"):
            recorder.begin(model)
        with pytest.raises(lw.StateError, match="does not fit"):
            recorder.append(0.0, 0, lw.State(np.zeros(3), np.zeros(3)))
        with pytest.raises(lw.StateError, match="cannot name a scalar"):
            recorder.append(0.0, 0, model.neutral(), {"a/b": 1.0})
        with pytest.raises(lw.StateError, match="checkpoint entry 'x' is a set"):
            recorder.checkpoint({"x": {1, 2}})
        recorder.append(0.0, 0, model.neutral(), {"good": 1.0})
    with pytest.raises(lw.LinkworkError, match="is closed"):
        recorder.append(0.0, 0, model.neutral())
    recording = Recording(tmp_path / "run")
    assert len(recording) == 1
    assert recording.scalars["good"].tolist() == [1.0]


def test_runs_that_cannot_go_on(tmp_path, model):
    with Recorder(tmp_path / "plain") as recorder:
        recorder.begin(model)
    with pytest.raises(lw.LinkworkError, match="holds no checkpoint"):
        resume_run(simulation(model), tmp_path / "plain")
    record(tmp_path / "by_hand", model)
    with pytest.raises(lw.StateError, match="was not made by a run"):
        resume_run(simulation(model), tmp_path / "by_hand")
    Recorder.resume(tmp_path / "by_hand").close()  # the refusal let go of it


# --------------------------------------------------------------------------------------------------------- the benchmark


def test_the_benchmark_fills_its_page(tmp_path, capsys):
    """What its page says about sizes is what a run of it measured."""
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- begin sizes -->\nold\n<!-- end sizes -->\n<!-- begin containers -->\nkept\n<!-- end containers -->\n"
    )
    words = ["bench", "recordings", "--quick", "--case", "sizes", "--json", str(tmp_path / "results.json")]
    assert main([*words, "--page", str(page)]) == 0
    results = json.loads((tmp_path / "results.json").read_text())["results"]
    assert [row["contestant"] for row in results] == ["adaptive dynamics", "quasi-statics"]
    for row in results:
        assert 0 < row["changed_per_frame"] <= 2 * row["active"] + 1
        assert row["bytes_per_frame"] < row["full_frame"]
        assert f"| {row['bytes_per_frame']:,.0f} |" in page.read_text()
        assert f"| {row['checkpoint']:,} |" in page.read_text()
    assert "old" not in page.read_text()
    assert "kept" in page.read_text()


def test_the_benchmark_says_that_nothing_can_be_killed(tmp_path, monkeypatch, capsys):
    """As on Windows."""
    monkeypatch.delattr(os, "fork", raising=False)
    assert (
        main(["bench", "recordings", "--quick", "--case", "containers", "--json", str(tmp_path / "results.json")]) == 0
    )
    written = json.loads((tmp_path / "results.json").read_text())
    assert any("no os.fork" in note for note in written["notes"])
    assert not [row for row in written["results"] if row["case"] == "kills"]
    assert "not tried" in str(written["tables"])


def test_missing_zarr_names_the_extra():
    program = (
        "import sys; sys.modules['zarr'] = None\n"
        "import linkwork as lw\n"
        "from linkwork.record import Recorder, Recording\n"
        "for what in (Recorder, Recording):\n"
        "    try: what('run')\n"
        "    except lw.MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.count("pip install '.[record]'") == 2


def test_import_brings_no_zarr():
    program = "import sys, linkwork; print([name for name in sys.modules if name.startswith(('zarr', 'h5py'))])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
