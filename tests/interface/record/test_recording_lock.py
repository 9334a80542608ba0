"""Two writers at one place are one too many, on every system, and a killed one leaves the place open."""

from __future__ import annotations

import errno
import importlib.util
import os
import platform
import subprocess
import sys
import types

import pytest
from tests.helpers.recordings import contents

import linkwork as lw
from linkwork.record import Recorder, Recording
from linkwork.record.store import lock

pytest.importorskip("zarr", reason="the extra `record` is not installed")


@pytest.fixture(scope="module")
def model():
    return lw.library.chain(joints=8).compile()


def test_two_writers_are_one_too_many(tmp_path, model):
    recorder = Recorder(tmp_path / "run")
    recorder.begin(model)
    recorder.checkpoint({})
    for second in (lambda: Recorder.resume(tmp_path / "run"), lambda: Recorder(tmp_path / "run", force=True)):
        with pytest.raises(lw.LinkworkError, match=rf"being written by another run \(process {os.getpid()} "):
            second()
    recorder.close()
    Recorder.resume(tmp_path / "run").close()
    assert os.listdir(tmp_path) == ["run"]  # the lock left nothing


def test_no_name_of_a_machine_stays_in_a_recording(tmp_path, model, monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "somebodys-laptop")
    with Recorder(tmp_path / "run") as recorder:
        recorder.begin(model)
        recorder.checkpoint({})
        with pytest.raises(lw.LinkworkError, match="on somebodys-laptop"):
            Recorder.resume(tmp_path / "run")
    Recorder.resume(tmp_path / "run").close()
    assert not [name for name, data in contents(tmp_path).items() if b"somebodys-laptop" in data]


def test_a_forked_child_does_not_take_the_lock_with_it(tmp_path, model):
    if not hasattr(os, "fork"):
        pytest.skip(reason="this system forks no processes")
    held = lock.WriterLock(tmp_path / "run")
    child = os.fork()
    if child == 0:
        held.release()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(lw.LinkworkError, match="being written"):
        lock.refuse_writer(tmp_path / "run")
    held.release()
    lock.refuse_writer(tmp_path / "run")


def test_a_lock_that_went_while_it_was_waited_for(tmp_path, monkeypatch):
    """The file was removed between opening and locking: what was locked is no longer what others will find."""
    fcntl = pytest.importorskip("fcntl", reason="Windows removes no open file")
    file = lock.lock_file(tmp_path / "run")
    real, calls = fcntl.flock, []

    def slow(handle, operation):
        calls.append(handle)
        if len(calls) == 1:
            file.unlink()
        return real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", slow)
    held = lock.WriterLock(tmp_path / "run")
    assert len(calls) == 2
    assert file.exists()
    with pytest.raises(lw.LinkworkError, match=f"process {os.getpid()}"):
        lock.WriterLock(tmp_path / "run")
    held.release()


class WindowsLocks(types.ModuleType):
    """Stands in for `msvcrt`: a byte of a file is locked by one handle at most, until that is closed."""

    LK_NBLCK = 2

    def __init__(self):
        super().__init__("msvcrt")
        self.held = {}

    def locking(self, handle, mode, count):
        assert (mode, count) == (self.LK_NBLCK, 1)
        assert os.lseek(handle, 0, os.SEEK_CUR) > 100, "the name of the writer must stay readable"
        file = os.fstat(handle).st_ino
        holder = self.held.get(file, handle)  # a number used again is a handle that was closed
        if holder != handle and self.is_open(holder, file):
            raise PermissionError(errno.EACCES, "Permission denied")
        self.held[file] = handle

    @staticmethod
    def is_open(handle, file):
        try:
            return os.fstat(handle).st_ino == file
        except OSError:
            return False


def test_locks_of_windows(tmp_path, monkeypatch):
    """The same lock by other means; and no process is probed by a signal, which on Windows would interrupt it."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        patch.setitem(sys.modules, "msvcrt", WindowsLocks())
        patch.setattr(os, "kill", None)
        spec = importlib.util.spec_from_file_location("lock_of_windows", lock.__file__)
        windows = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(windows)
        assert not hasattr(windows, "fcntl")
        held = windows.WriterLock(tmp_path / "run")
        for second in (windows.WriterLock, windows.refuse_writer):
            with pytest.raises(lw.LinkworkError, match=rf"being written by another run \(process {os.getpid()} on "):
                second(tmp_path / "run")
        held.release()
        assert os.listdir(tmp_path) == []
        windows.refuse_writer(tmp_path / "run")
        windows.lock_file(tmp_path / "run").write_text("process 1 on a machine that went down")
        windows.WriterLock(tmp_path / "run").release()
        assert os.listdir(tmp_path) == []


def test_the_lock_of_a_killed_writer_is_open(tmp_path, model):
    program = f"""
import sys, time
import linkwork as lw
from linkwork.record import Recorder
recorder = Recorder({str(tmp_path / "run")!r})
recorder.begin(lw.library.chain(joints=8).compile())
recorder.checkpoint({{}})
print("ready", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        with pytest.raises(lw.LinkworkError, match=f"process {writer.pid}"):
            Recorder.resume(tmp_path / "run")
        assert len(Recording(tmp_path / "run")) == 0  # readers are welcome
        writer.kill()
        writer.wait()
    Recorder.resume(tmp_path / "run").close()
