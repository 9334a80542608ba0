"""`linkwork warm`: kernels compiled ahead of their first use come from the cache afterwards."""

import subprocess
import sys

import pytest
from tests.helpers.compiled_elsewhere import environment

from linkwork.cli.commands import warm
from linkwork.cli.exit_codes import DONE, REFUSED
from linkwork.cli.program import main

QUERY = """
import linkwork as lw
from linkwork.core import jit
model = lw.library.chain(20).compile()
lw.settle(model, model.state())
used = [kernel for kernel in jit.kernels if kernel.signatures]
print(*sorted(kernel.py_func.__name__ for kernel in used))
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in used))
"""


def run(program, env):
    done = subprocess.run([sys.executable, *program], env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_was_warmed_comes_from_the_cache(tmp_path):
    env = environment(tmp_path / "cache")
    said = run(["-m", "linkwork", "warm", "--only", "statics", "--workers", "1"], env)
    assert said.startswith("1 of 1 sets of kernels are ready")
    used, misses = run(["-c", QUERY], env).splitlines()
    assert "all_finite" in used.split()
    assert len(used.split()) > 4
    assert misses == "0"
    listed = run(["-m", "linkwork", "warm", "--list"], env).splitlines()
    statics = next(line.split() for line in listed if line.split()[:1] == ["statics"])
    assert statics[1] == "yes"
    assert statics[2] != "0"  # how long it took, how long a first call takes now, and what that saves
    files = [path for path in (tmp_path / "cache").rglob("*") if path.suffix == ".nbc"]
    assert files
    said = run(["-m", "linkwork", "warm", "--clear"], env)
    assert said.startswith(f"{len(files)} files of compiled kernels are deleted")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_everything_a_user_may_begin_with_is_among_the_sets(capsys):
    assert main(["warm", "--list"]) == DONE
    shown = capsys.readouterr().out
    listed = [name for name in warm.PROGRAMS if f"{name} " in shown]
    assert listed == list(warm.PROGRAMS)
    wanted = {"molecules", "adaptive dynamics with contact", "haptics", "gpu", "adaptive quasi-statics", "statics"}
    assert wanted <= set(listed)


@pytest.mark.parametrize("name", list(warm.PROGRAMS))
def test_programs_are_python(name):
    compile(warm.PROGRAMS[name], name, "exec")


def test_the_device_on_the_host_is_warmed(monkeypatch, capsys):
    """Without a GPU there is nothing to compile, and that is not a failure."""
    monkeypatch.delenv("LINKWORK_GPU", raising=False)
    assert main(["warm", "--only", "gpu", "--workers", "1"]) == DONE
    monkeypatch.setenv("LINKWORK_GPU", "host")
    assert main(["warm", "--only", "gpu", "--workers", "1"]) == DONE
    assert "1 of 1" in capsys.readouterr().out


def test_a_set_that_fails_is_reported_and_the_others_are_made(monkeypatch, capsys):
    monkeypatch.setattr(warm, "PROGRAMS", {"good": "pass", "bad": "raise SystemExit('no such thing')", "fine": "pass"})
    assert main(["warm", "--workers", "2"]) == REFUSED
    said = capsys.readouterr()
    assert "bad: no such thing" in said.err
    assert said.out.startswith("2 of 3 sets")
    assert main(["warm", "--only", "good", "--only", "fine"]) == DONE
    assert capsys.readouterr().out.startswith("2 of 2 sets")


@pytest.mark.parametrize("words", [["--only", "everything"], ["--workers", "-1"]])
def test_wrong_wishes_are_refused(words, capsys):
    assert main(["warm", *words]) == REFUSED
    assert capsys.readouterr().err.startswith("linkwork: ")


def test_nothing_is_kept_beside_the_sources(tmp_path, monkeypatch):
    """pip removes what it wrote, and no more: kernels go to the user's cache folder."""
    from linkwork.core import cache_folder
    from linkwork.core.kernel_cache import KernelCache
    from linkwork.dynamics.kinematics import world_poses

    monkeypatch.setattr(cache_folder.config, "CACHE_DIR", "")
    monkeypatch.setattr(cache_folder, "user_folder", lambda: tmp_path / "kernels")
    assert KernelCache(world_poses.py_func).cache_path == str(tmp_path / "kernels")


def test_what_is_cleared_is_of_kernels_only(tmp_path, monkeypatch):
    from linkwork.core import cache_folder

    user = tmp_path / "kernels"
    user.mkdir()
    for name in ("x.nbc", "y.nbc", "notes.txt"):
        (user / name).write_bytes(b"12345")
    monkeypatch.setattr(cache_folder.config, "CACHE_DIR", "")
    monkeypatch.setattr(cache_folder, "user_folder", lambda: user)
    assert cache_folder.clear_kernels() == (2, 10)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["notes.txt"]
