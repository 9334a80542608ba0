"""Pages of Markdown whose code runs: what README.md and the documentation share in their tests.

Python blocks of a page run one after the other in one namespace. Where a line ends in `# → text`, or `# → text` stands on
lines of its own, that is what the block prints, line by line; a block without such a line may print anything. Lines of
`sh` blocks run as commands; `# → text` below one must be part of what it prints. A block with a title is a file that the
following blocks find beside them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

LONGEST = 180  # [s]: on a slow machine, kernels compiled from nothing
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
ARROW = "# → "


class Block(NamedTuple):
    language: str
    title: str  # a file name, or nothing
    text: str
    line: int  # of the page


class Command(NamedTuple):
    text: str
    expected: list[str]  # what it must print, among other things


def blocks(page: str, *languages: str) -> list[Block]:
    """Code blocks of a page in order; of these languages only, if some are given."""
    found = [Block(m[1], m[2] or "", m[3], page.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(page)]
    return [block for block in found if not languages or block.language in languages]


def commands(block: Block) -> list[Command]:
    """The commands of a `sh` block, without their comments."""
    found: list[Command] = []
    for line in block.text.splitlines():
        text = line.partition("  #")[0].strip()
        if text.startswith(ARROW) and found:
            found[-1].expected.append(text.removeprefix(ARROW))
        elif text and not text.startswith("#"):
            found.append(Command(text, []))
    return found


def expected_output(source: str) -> list[str]:
    """What a Python block says it prints."""
    return re.findall(rf"^(?:\s*|.*\S\s+){ARROW}(.*)$", source, flags=re.MULTILINE)


def run_python(block: Block, page: str, namespace: dict[str, Any]) -> None:
    """Runs a block; it prints what its arrows say."""
    printed = io.StringIO()
    source = "\n" * block.line + block.text  # so that a traceback shows the line of the page
    with contextlib.redirect_stdout(printed):
        exec(compile(source, page, "exec"), namespace)
    expected = expected_output(block.text)
    if expected:
        assert printed.getvalue().splitlines() == expected, f"{page}:{block.line} prints something else"


def run_command(words: list[str], folder: Path) -> str:
    """Runs `linkwork ...` or `python ...` in a folder and returns what it prints; a failure is a failure."""
    assert words[0] in ("linkwork", "python"), f"a page runs {words[0]}, which this test does not know"
    arguments = ["-m", *words] if words[0] == "linkwork" else words[1:]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "Agg"},
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stderr}"
    assert done.stdout.strip(), f"{shlex.join(words)} says nothing"
    return done.stdout


def run_page(text: str, page: str, folder: Path) -> int:
    """Runs every block of a page in order, in a folder of its own; returns how many there were."""
    namespace: dict[str, Any] = {"__name__": "page"}
    count = 0
    with contextlib.chdir(folder):
        for block in blocks(text):
            if block.title:
                Path(block.title).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                run_python(block, page, namespace)
            elif block.language == "sh":
                for command in commands(block):
                    printed = run_command(shlex.split(command.text), folder)
                    missing = [line for line in command.expected if line not in printed]
                    assert not missing, f"{page}: {command.text} does not print {missing}:\n{printed}"
            else:
                continue
            count += 1
    return count
