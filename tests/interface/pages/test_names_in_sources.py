"""What docstrings and comments of the sources name in backticks is there: modules, what stands in them, files."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import linkwork as lw

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "linkwork"
FILES = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
WRITTEN = {"py", "pyi", "md", "cuh"}  # suffixes of files that are ours wherever a comment names one
FOLDERS = ("src/linkwork", "docs", "tests", "benchmarks", "examples", "tools")
# Modules of others, and what stands for something of the user's.
FOREIGN = {"bz2", "copy", "gym", "gzip", "jax", "math", "numba", "openmm", "pickle", "proteins", "scipy"}
FOREIGN |= {"tomllib", "zarr"}
OF_USERS = {"mol", "name_0", "name_1", "run.backward", "contact.sweeps", "coordinate.unit", "velocity.unit"}
OF_FILES = {"ref"}  # an attribute of joints in files of MuJoCo
VECTORS = {"V8"}  # what Numba calls the type of eight numbers
ARGUMENTS = {"bad"}  # of functions that a comment describes before they are there
KNOWN = FOREIGN | OF_USERS | OF_FILES | VECTORS | ARGUMENTS


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings, line by line with their numbers."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and ast.get_docstring(node):
                for k in range(first.lineno, (first.end_lineno or first.lineno) + 1):
                    yield k, lines[k - 1]


def identifiers(text: str) -> set[str]:
    """All names in the code itself."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword):
            found.add(node.arg or "")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found |= {*node.name.split("."), node.asname or ""}
    return found


def definitions(text: str) -> set[str]:
    """Functions and classes, and what is assigned in modules and classes."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.Module | ast.ClassDef):
            for one in node.body:
                targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
                found |= {x.id for target in targets if target for x in ast.walk(target) if isinstance(x, ast.Name)}
    return found


@cache
def names_of(name: str) -> set[str]:
    return identifiers(FILES[name])


@cache
def everywhere() -> tuple[set[str], set[str], set[str]]:
    """Identifiers, definitions and words in quotes of all sources."""
    quoted = {
        node.value
        for text in FILES.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return set().union(*map(names_of, FILES)), set().union(*map(definitions, FILES.values())), quoted


def modules(dotted: str) -> list[str]:
    """Files of the modules whose path ends in these names; folders are modules too."""
    tail = dotted.replace(".", "/")
    return [
        name for name in FILES if f"/linkwork/{name}".removesuffix(".py").removesuffix("/__init__").endswith(f"/{tail}")
    ]


def is_file(path: str) -> bool:
    """Whether a file of the project ends in this path."""
    return any((ROOT / folder / path).exists() for folder in ("", *FOLDERS)) or any(
        f"/{found.as_posix()}".endswith(f"/{path}") for found in our_files()
    )


@cache
def our_files() -> list[Path]:
    return [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix[1:] in WRITTEN]


def is_public(dotted: str) -> bool:
    thing = lw
    for part in dotted.split(".")[1:]:
        if not hasattr(thing, part):
            return False
        thing = getattr(thing, part)
    return True


def leads_somewhere(named: str, where: str) -> bool:
    """named: names with dots between them, in the file `where` of the package."""
    used, defined, quoted = everywhere()
    first, *more = named.split(".")
    if more and more[-1] in WRITTEN:
        return is_file(named)
    if not more:
        return bool(
            named in names_of(where)
            or named in defined
            or named in quoted
            or modules(named)
            or keyword.iskeyword(named)
        )
    if first in ("lw", "linkwork"):
        return is_public(named) or bool(modules(named))
    if modules(named):
        return True
    if found := modules(".".join([first, *more[:-1]])):
        return any(more[-1] in names_of(name) for name in found) or (first in names_of(where) and more[-1] in used)
    if first in defined and first[0].isupper() and not first.isupper():  # a class; what it inherits stands elsewhere
        own = [name for name, text in FILES.items() if re.search(rf"^class {first}\(?.*:", text, flags=re.MULTILINE)]
        inherits = any(
            re.search(rf"^class {first}\((?!NamedTuple|Protocol)", FILES[name], re.MULTILINE) for name in own
        )
        return any(more[0] in names_of(name) for name in own) or (inherits and more[0] in defined)
    return (first in names_of(where) or first in used) and set(more) <= used


def lost(text: str, where: str) -> Iterator[str]:
    """Names in backticks and paths of files that lead nowhere, with their lines."""
    for k, line in prose(text):
        named = [re.sub(r"\(.*\)$", "", words) for words in re.findall(r"`([^`]+)`", line)]
        for name in named:
            if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name) or {name, name.split(".")[0]} & KNOWN:
                continue
            if not leads_somewhere(name, where):
                yield f"{where}:{k}: `{name}`"
        yield from (f"{where}:{k}: {path}" for path in lost_files(line))


def lost_files(line: str) -> list[str]:
    return [x for x in re.findall(r"(?<![\w/.])[\w-]+(?:/[\w-]+)+\.(?:pyi?|md|cuh)\b", line) if not is_file(x)]


@pytest.mark.parametrize("room", sorted({name.split("/")[0] for name in FILES}))
def test_names_lead_somewhere(room):
    found = [line for name in FILES if name.split("/")[0] == room for line in lost(FILES[name], name)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.cuh")), ids=lambda path: path.name)
def test_sources_of_the_device_name_files_that_are_there(path):
    assert not lost_files(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "comment",
    [
        "of `dynamics.path_segments`",
        "`simulation.loop_forces.close_loops`",
        "see `first_bad`",
        "`Model.no_such_thing`",
        "`lw.no_such_thing`",
        "as `strand.py` says",
        "Theory: docs/theory/no_such_page.md",
    ],
)
def test_a_lost_name_is_seen(comment):
    assert list(lost(f"x = 1  # {comment}\n", "joints.py"))
    assert list(lost(f'"""Text.\n\n{comment}\n"""\n', "joints.py"))


@pytest.mark.parametrize(
    "comment",
    [
        "of `paths.path_segments`",
        "`loop_forces.close_loops`",
        "`Model.integrate`",
        "`lw.settle(...)`",
        "`numba.njit`",
        "docs/theory/contact.md",
        "`x + 1`",
    ],
)
def test_names_that_are_there_pass(comment):
    assert not list(lost(f"x = 1  # {comment}\n", "joints.py"))
