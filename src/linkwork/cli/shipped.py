"""Folders that a source checkout has beside the package and a wheel brings inside it: benchmarks, examples."""

from __future__ import annotations

import ast
from pathlib import Path

import linkwork
from linkwork.errors import LinkworkError


def shipped_folder(name: str) -> Path:
    """The folder of the source checkout when there is one, or the one that the wheel brought."""
    package = Path(linkwork.__file__).parent
    checkout = package.parents[1]
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    installed = package / f"_{name}"
    if installed.is_dir():
        return installed
    raise LinkworkError(f"this installation has no {name}; run from a source checkout or install a wheel.")


def headline(file: Path) -> str:
    """The first line of a program's docstring, found without running it."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
