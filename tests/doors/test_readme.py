"""The README tells the truth: its commands run, its Python runs, its files exist."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LONGEST = 180  # [s]: on a slow machine, kernels compiled from nothing

# What a make target runs, for targets that a test can run itself. The other targets are only looked up.
BEHIND_TARGET = {"demo": "linkwork demo", "bench": "linkwork bench dynamics"}
# Commands whose full size is for people; the tests run them small.
MADE_QUICK = ("linkwork bench ", "linkwork demo")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    lines = [line.partition("  #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_the_first_screen_shows_the_two_commands():
    first_screen = README.splitlines()[:40]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)
    assert any(line.startswith(("|", "![")) for line in first_screen), "no table or picture on the first screen"


@pytest.mark.parametrize("command", commands())
def test_command(command, tmp_path):
    words = shlex.split(command)
    if words[0] == "make":
        _target_exists(words[1])
        if words[1] not in BEHIND_TARGET:
            return
        command = BEHIND_TARGET[words[1]]
        words = shlex.split(command)
    elif words[:2] == ["pip", "install"]:
        pytest.skip(reason="installs over a network; extras are checked below")
    assert words[0] in ("linkwork", "python"), f"the README runs {words[0]}, which this test does not know"
    if command.startswith(MADE_QUICK) and "--quick" not in words:
        words.append("--quick")
    if words[0] == "linkwork":
        words = ["python", "-m", *words]
    # Paths in the README are relative to the repository; whatever a command writes goes to a folder of its own.
    words = [str(ROOT / word) if (ROOT / word).is_file() else word for word in words]
    done = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def _target_exists(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if target in BEHIND_TARGET:
        assert BEHIND_TARGET[target] in done.stdout


def test_extras_of_pip_commands_exist():
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {name for match in re.findall(r"pip install[^\n]*\[([\w,]+)\]", README) for name in match.split(",")}
    assert named <= set(extras)


@pytest.mark.parametrize("block", blocks("python"))
def test_python(block, tmp_path, monkeypatch, capsys):
    """Runs a block; where a line ends in `# → text`, the printed lines must come out as told."""
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    told = re.findall(r"print\(.*\)\s+# → (.*)$", block, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines()[: len(told)] == told


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing
