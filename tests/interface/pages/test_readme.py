"""What the README says holds: its commands run, its Python runs, its files exist."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.helpers.pages import blocks, commands, run_command, run_python

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")

# What a make target runs, for targets that a test can run itself. The other targets are only looked up.
BEHIND_TARGET = {"demo": "linkwork demo", "bench": "linkwork bench dynamics"}
# Commands whose full size is for people; the tests run them small.
MADE_QUICK = ("linkwork bench ", "linkwork demo")


def test_the_first_screen_shows_the_two_commands():
    first_screen = README.splitlines()[:40]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)
    assert any(line.startswith(("|", "![")) for line in first_screen), "no table or picture on the first screen"


COMMANDS = [
    command.text
    for block in blocks(README, "sh")
    for command in commands(block)
    if not command.text.startswith("pip install")  # over a network; test_extras_of_pip_commands_exist looks at them
]
# Commands that look at what the command before them left.
LOOK_BACK = ("linkwork plot ", "linkwork export ")


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command, tmp_path):
    if command.startswith(LOOK_BACK):
        run_command(shlex.split(next(line for line in COMMANDS if line.startswith("linkwork run four_bar"))), tmp_path)
    words = shlex.split(command)
    if words[0] == "make":
        _target_exists(words[1])
        if words[1] not in BEHIND_TARGET:
            return  # takes long and is looked up only
        command = BEHIND_TARGET[words[1]]
        words = shlex.split(command)
    if command.startswith(MADE_QUICK) and "--quick" not in words:
        words.append("--quick")
    # Paths in the README are relative to the repository; whatever a command writes goes to a folder of its own.
    run_command([str(ROOT / word) if (ROOT / word).is_file() else word for word in words], tmp_path)


def _target_exists(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if target in BEHIND_TARGET:
        assert BEHIND_TARGET[target] in done.stdout


def test_extras_of_pip_commands_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {name for match in re.findall(r"pip install[^\n]*\[([\w,]+)\]", README) for name in match.split(",")}
    assert named <= set(extras)


@pytest.mark.parametrize("block", blocks(README, "python"), ids=lambda block: f"line_{block.line}")
def test_python(block, tmp_path, monkeypatch):
    """Every block runs by itself, and prints what its arrows say."""
    monkeypatch.chdir(tmp_path)
    run_python(block, "README.md", {"__name__": "readme"})


def test_no_figure_is_left_open():
    assert "@@" not in README


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing
