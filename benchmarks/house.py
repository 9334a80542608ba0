"""How heavy the house is: its size, and what is reached into, counted over the sources.

    python benchmarks/house.py [FOLDER]

FOLDER is a checkout; this one if it is left out. Nothing of it is imported or run. How each row is counted stands beside it
in the code. First calls are timed by `linkwork bench start`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

MOST_FILES, MOST_ARGUMENTS = 15, 10  # in a room; of a function

KERNELS = {  # modules of the kernels that a step calls
    "full Euler step": "simulation.stepping.trees.euler",
    # by Euler's rule and law="coupled"; other integrators and the other law have kernels of their own
    "adaptive step with contact": "adaptive.dynamics.with_contact adaptive.dynamics.updating "
    "simulation.contact_step.driver simulation.contact_step.step simulation.contact_step.search.finding "
    "simulation.contact_step.search.path_check simulation.contact_step.sweeps.solve",
}
PUBLIC = {
    "_replace",
    "_fields",
    "_asdict",
    "_make",
    "_repr_html_",
    "_exit",
}  # of tuples, notebooks, os: by their documents
NUMBA = ("numba.core", "numba.np", "numba.cpython", "numba.misc", "llvmlite")  # whose names are not Numba's interface
IMPORT = re.compile(r"^\s*(?:from|import) (linkwork[\w.]*)(?: import (\([^)]*\)|[^\n#]*))?", re.MULTILINE)


class Row(NamedTuple):
    what: str
    now: str
    must: str
    goal: str


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax; several rows look through them."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in nodes_of(path) if isinstance(node, ast.FunctionDef))


def arguments(function: ast.FunctionDef) -> list[str]:
    given = function.args
    return [x.arg for x in (*given.posonlyargs, *given.args, *given.kwonlyargs) if x.arg not in ("self", "cls")]


def loops_over_steps(package: Path) -> list[str]:
    """Functions of h and n with a loop up to n: `while made < n` or `for done in range(n)`."""
    found = []
    for room in ("simulation", "full", "adaptive"):
        for path in sources(package / room):
            for function in functions(path):
                if {"h", "n"} <= set(arguments(function)) and any(_goes_to_n(node) for node in function.body):
                    found.append(f"{path.relative_to(package).as_posix()}: {function.name}")
    return found


def _goes_to_n(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.While):
        return any(isinstance(node, ast.Name) and node.id == "n" for node in ast.walk(statement.test))
    return isinstance(statement, ast.For) and ast.unparse(statement.iter) == "range(n)"


def ancestors(package: Path, name: str) -> set[str]:
    """Names of a class and of all classes of the package that it derives from."""
    bases: dict[str, list[str]] = {}
    for path in sources(package):
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, [ast.unparse(base).split("[")[0] for base in node.bases])
    found, waiting = set(), [name]
    while waiting:
        one = waiting.pop()
        if one in bases and one not in found:
            found.add(one)
            waiting += bases[one]
    return found


def drawn_on(package: Path, modules: str) -> set[Path]:
    """Files of the package that modules import, and those import: what an edit retires from the cache of kernels."""
    found: set[Path] = set()
    seen: set[str] = set()
    waiting = [f"linkwork.{module}" for module in modules.split()]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        place = package.joinpath(*name.split(".")[1:])
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if path.is_file():
            found.add(path)
            for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
                waiting += [module, *(f"{module}.{word}" for word in re.findall(r"\w+", names))]
    return found


def lines(paths: list[Path] | set[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def crowded_rooms(package: Path) -> list[str]:
    """Folders with more files of their own than a room is to have."""
    rooms = {path.parent for path in sources(package)}
    sizes = {room: len([path for path in room.glob("*.py") if path.name != "__init__.py"]) for room in rooms}
    return sorted(f"{room.relative_to(package).as_posix()} ({n})" for room, n in sizes.items() if n > MOST_FILES)


def long_signatures(package: Path) -> list[str]:
    """Functions with more arguments than one is to have; constructors, whose options users give by name, are left out."""
    return [
        f"{path.relative_to(package).as_posix()}: {function.name} ({len(arguments(function))})"
        for path in sources(package)
        for function in functions(path)
        if len(arguments(function)) > MOST_ARGUMENTS and function.name != "__init__"
    ]


def private_numba(package: Path) -> set[str]:
    """Names that are imported from parts of Numba that are not its interface, but for types and configuration."""
    found = set()
    for path in sources(package):
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(NUMBA):
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names if alias.name.startswith(NUMBA)}
    return found - {"numba.core.types", "numba.core.config"}


def own_names(paths: list[Path]) -> set[str]:
    """Private names that files define: functions, attributes of self, fields of classes."""
    return set().union(*map(_own_names, paths))


@cache
def _own_names(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def private_uses(paths: list[Path], own: set[str]) -> list[str]:
    """Uses of private attributes of others, which are not among `own`."""
    return [
        f"{path.name}:{node.lineno} {node.attr}"
        for path in paths
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
        and re.match(r"_[a-z]", node.attr)
        and node.attr not in PUBLIC | own
        and not _is_own(node)
    ]


def parts_reached(paths: list[Path]) -> int:
    """Uses of parts of simulations: `sim.view.part`."""
    return sum(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "view"
        for path in paths
        for node in nodes_of(path)
    )


def reached_between_rooms(package: Path) -> set[str]:
    """Private attributes, by name, of simulations and models that files of other rooms use."""
    found: set[str] = set()
    everything = own_names(sources(package))
    for room in sorted(path for path in package.iterdir() if path.is_dir() and (path / "__init__.py").is_file()):
        uses = private_uses(sources(room), own_names(sources(room)))
        found |= {f"{room.name}: {use.split()[-1]}" for use in uses if use.split()[-1] in everything}
    return found


def table(root: Path) -> list[Row]:
    package, tests = root / "src/linkwork", root / "tests"
    behind, largest = {}, {}
    for what, modules in KERNELS.items():
        behind[what] = _size(drawn_on(package, modules))
        largest[what] = _size(max((drawn_on(package, module) for module in modules.split()), key=lines))
    with_contact = behind["adaptive step with contact"]
    tower = len(ancestors(package, "AdaptiveDynamics"))
    crowded, long = len(crowded_rooms(package)), len(long_signatures(package))
    reached, of_tests = (
        len(reached_between_rooms(package)),
        len(private_uses(sources(tests), own_names(sources(tests)))),
    )
    return [
        Row("loops over steps", f"{len(loops_over_steps(package))}", "3", "1"),
        Row("classes from AdaptiveDynamics down", f"{tower}", "5", "3"),
        Row("files / lines behind a full Euler step", behind["full Euler step"], "60 / 9,000", "40 / 6,000"),
        Row("files / lines behind an adaptive step with contact", with_contact, "115 / 19,000", "90 / 15,000"),
        Row("  of the largest of its kernels", largest["adaptive step with contact"], "", ""),
        Row("lines of src", f"{lines(sources(package)):,}", "60,000", "55,000"),
        Row(f"rooms with more than {MOST_FILES} files", f"{crowded}", "0", "0"),
        Row(f"functions with more than {MOST_ARGUMENTS} arguments", f"{long}", "10", "0"),
        Row("names of Numba that are not its interface", f"{len(private_numba(package))}", "12", "0"),
        Row("private attributes reached from other rooms / from tests", f"{reached} / {of_tests}", "0 / 60", "0 / 20"),
        Row("parts of simulations that tests reach by sim.view", f"{parts_reached(sources(tests))}", "", "0"),
    ]  # fmt: skip


def _size(paths: set[Path]) -> str:
    return f"{len(paths)} / {lines(paths):,}"


def main(words: list[str]) -> int:
    rows = [Row("", "now", "must", "goal"), *table(Path(words[0]) if words else Path(__file__).parents[1])]
    widths = [max(len(row[k]) for row in rows) for k in range(len(Row._fields))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
