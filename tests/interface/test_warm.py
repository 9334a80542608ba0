"""`linkwork warm`: kernels compiled ahead of their first use come from the cache afterwards."""

import subprocess
import sys

import pytest
from tests.helpers.compiled_elsewhere import environment

from linkwork.cli import warm
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
    assert {"order_depth_first", "normalize_coordinates"} < set(used.split())
    assert len(used.split()) > 5
    assert misses == "0"


def test_everything_a_user_may_begin_with_is_among_the_sets(capsys):
    assert main(["warm", "--list"]) == DONE
    listed = capsys.readouterr().out.splitlines()
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
