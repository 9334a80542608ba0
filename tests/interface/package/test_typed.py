"""Types: a user's program that touches every public name passes mypy --strict."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import linkwork as lw

PROGRAM = Path(__file__).parents[2] / "helpers" / "every_name.py"


def test_the_program_touches_every_public_name():
    used = set(re.findall(r"\blw\.(\w+)", PROGRAM.read_text(encoding="utf-8")))
    assert sorted(set(lw.__all__) - used) == []
    assert sorted(used - set(lw.__all__)) == []


def test_the_program_calls_every_public_function():
    called = set(re.findall(r"\blw\.(\w+)\(", PROGRAM.read_text(encoding="utf-8")))
    functions = {name for name in lw.__all__ if inspect.isfunction(getattr(lw, name))}
    assert len(functions) > 40
    assert sorted(functions - called) == []


def test_a_users_program_is_typed():
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(PROGRAM)],
        capture_output=True, text=True, cwd=PROGRAM.parent.parent.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
