"""What a package needs around its code: metadata, a wheel that installs, hints for any shell, runs without extras."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from benchmarks.harness.environment import environment

import linkwork as lw

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WRITTEN = (
    "src/**/*.py",
    "benchmarks/**/*.py",
    "examples/**/*.py",
    "docs/**/*.md",
    "docs/**/*.py",
    "tests/**/*.py",
    "*.md",
)
BARE_EXTRA = re.compile(r"pip install (?:-\S+ )*[\w.]*\[")  # zsh takes brackets for a pattern

# What stands where a package is not installed: importing it fails as it would there.
WITHOUT_EXTRAS = """
import sys
for name in ("zarr", "matplotlib", "mujoco", "coal", "viser", "trimesh", "PIL", "distributed", "scipy", "gemmi", "openmm"):
    sys.modules[name] = None
from linkwork.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(*command, cwd, **environment):
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_type_checkers_of_users_see_the_annotations():
    """PEP 561: without the marker they take every name for `Any`."""
    assert (Path(lw.__file__).parent / "py.typed").is_file()


def test_the_page_of_the_interface_names_every_page_of_it():
    pages = {path.name for path in (ROOT / "docs/api").glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\((\w+\.md)\)", (ROOT / "docs/api/index.md").read_text(encoding="utf-8"))) == pages


def test_metadata():
    assert PROJECT["version"] == lw.__version__


def test_results_name_the_version_that_ran():
    assert environment()["packages"]["linkwork"] == lw.__version__


@pytest.mark.parametrize("pattern", WRITTEN)
def test_extras_are_quoted(pattern):
    """`pip install linkwork[viewer]` fails in zsh; quoted it works everywhere."""
    for path in ROOT.glob(pattern):
        found = BARE_EXTRA.findall(path.read_text(encoding="utf-8"))
        assert not found or path == Path(__file__), f"{path.relative_to(ROOT)}: quote {found[0]}...]"


@pytest.mark.skipif(not importlib.util.find_spec("hatchling"), reason="hatchling is not installed (extra `dev`)")
def test_wheel_installs_runs_and_leaves_nothing(tmp_path):
    """In an environment of its own, away from the sources; numpy, numba and rich are borrowed from this one."""
    built = run("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT), cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("linkwork-*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    assert {"linkwork/py.typed", "linkwork/_benchmarks/dynamics.py", "linkwork/_examples/by_hand.py"} <= names
    tried = run(str(ROOT / "tools" / "try_wheel.py"), str(wheel), "--borrow", "--no-demo", cwd=tmp_path)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "leaves nothing behind" in tried.stdout


def test_run_without_recording_needs_no_extra(tmp_path):
    done = run("-c", WITHOUT_EXTRAS, "run", "snake_robot", "--no-record", "--set", "run.duration=0.01", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "simulated" in done.stdout
    assert "energy" in done.stdout
    assert not list(tmp_path.iterdir())  # nothing was kept
    refused = run("-c", WITHOUT_EXTRAS, "run", "snake_robot", "--set", "run.duration=0.01", cwd=tmp_path)
    assert refused.returncode != 0
    assert "pip install '.[record]'" in refused.stderr + refused.stdout


@pytest.mark.parametrize("other", [["--out", "here"], ["--resume"], ["--force"]])
def test_no_record_refuses_what_is_about_recordings(other, tmp_path, capsys, monkeypatch):
    from linkwork.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["run", "snake_robot", "--no-record", *other]) != 0
    assert "--no-record" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
