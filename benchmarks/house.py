"""How heavy the house is: forms of one idea, size, and what is reached into, counted over the sources.

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

# Programs that eliminate a tree's matrix and solve it for right sides, and that find forces of loops, by file and function.
# A sweep that takes the part of each joint from one of these is not a form: what it adds is its matrix and its order.
# Whoever writes another form adds it here.
ELIMINATIONS = (
    ("dynamics/aba.py", "inertias_leaf_to_root"),  # inertia and one right side at once, in the axes of bodies
    # Any matrix and one more right side: `tree_elimination`, sweeps of reaching, of statics (with a potential and in
    # streams), of a variational step and its gradients; and `aba` for one more, in responses of loops, couplings,
    # limits and contacts, in derivatives and in corrections of a variational step by inertia.
    ("dynamics/joint_solve.py", "push_freedoms"),
    # Eight right sides: statics, Jacobians of forward dynamics, Λ of contacts. One alone takes as long as eight.
    ("dynamics/joint_lanes.py", "push_lanes"),
    # As they stood before they took their joints from there.
    ("dynamics/tree_factor.py", "add_outer"),
    ("statics/elimination/solve.py", "push_to_root", "combine"),
    ("statics/elimination/sweeps.py", "eliminate_1dof", "dot6"),
    ("statics/elimination/stream_sweeps.py", "eliminate_in_stream", "times"),
    ("reaching/sweeps.py", "eliminate_leaf_to_root", "dot6"),
    ("simulation/integrators/variational/discrete_newton.py", "less_joint", "less_outer"),
    ("simulation/touching/answers.py", "push_up_driven"),
    ("derivatives/sweeps/many_sides.py", "mixed"),
)
LOOP_FORCES = (
    # Of steps, constrained_dynamics, quasi-statics and haptics, whatever they know A and a from.
    ("loops/forces.py", "solve_loops"),
    # With contacts and limits, as rows of their problem; and before the room of the contact step had that name.
    ("simulation/contact_step/problem.py", "assemble_problem"),
    ("simulation/touching/problem.py", "pose_problem"),
    # Of equilibria, whose stiffness need not be positive: its signs are asked for too. In water it is unsymmetric.
    ("statics/constrained.py", "saddle"),
    # In water, and without: as they stood before they were one.
    ("statics/elimination/indefinite_factors.py", "factor_indefinite"),
    ("statics/water.py", "_step", "Closing"),
    # As it stood before it took its solution from there.
    ("simulation/constrained/loop_forces.py", "force_loops_by", "solve_semidefinite"),
)
KERNELS = {  # modules of the kernels that a step calls, before and after they moved
    "full Euler step": ("simulation.stepping.trees.euler", "simulation.advance"),
    "adaptive step with contact": (
        # by Euler's rule and law="coupled"; other integrators and the other law have kernels of their own
        "adaptive.dynamics.with_contact adaptive.dynamics.updating simulation.contact_step.driver "
        "simulation.contact_step.step simulation.contact_step.search.finding "
        "simulation.contact_step.search.path_check simulation.contact_step.sweeps.solve",
        "adaptive.dynamics.touching adaptive.dynamics.updating simulation.touching.driver "
        "simulation.touching.search.finding simulation.touching.search.way simulation.touching.sweeps.solve",
        "adaptive.dynamics.touching simulation.touching.driver simulation.touching.search.finding "
        "simulation.touching.search.way simulation.touching.sweeps.solve",
        "adaptive.dynamics.touching simulation.touching.step",
    ),
}
# Rooms of features that came after the first count of lines, 67,000 at 38a14b6.
ADDED_ROOMS = (
    "derivatives",
    "environment",
    "envs",
    "exporters",
    "model/rods",
    "reaching",
    "sensing",
    "simulation/backward",
)
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


def forms(package: Path, listed: tuple[tuple[str, ...], ...]) -> list[str]:
    """Functions of the list that are there, and call what else is named."""
    return [
        f"{file}: {name}"
        for file, name, *calls in listed
        if (package / file).is_file()
        and any(f.name == name and _names(f).issuperset(calls) for f in functions(package / file))
    ]


def sweeping_files(package: Path) -> list[str]:
    """Files with a sweep that eliminates a tree or solves it for right sides, whoever does the part of each joint.

    As forms were counted at first, before joints had a place of their own: `aba`, and whoever takes them from
    there, from `joint_solve` and from `joint_lanes`; of checkouts before that, all that are listed.
    """
    here = {file for file, *_ in ELIMINATIONS if (package / file).is_file()}
    joints = {file for file in here if file.startswith("dynamics/joint_")}
    users = {
        path.relative_to(package).as_posix()
        for path in sources(package)
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and _takes_joints(node)
    }
    return sorted((users | {"dynamics/aba.py"}) - joints if joints else here)


def _takes_joints(node: ast.ImportFrom) -> bool:
    """Whether an import is of what solves one joint."""
    if node.module in ("linkwork.dynamics.aba", "linkwork.dynamics.one_more_right_side"):  # one joint by itself
        return any(alias.name in ("push_one", "push_several") for alias in node.names)
    return (node.module or "").startswith("linkwork.dynamics.joint_")


def _names(function: ast.FunctionDef) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


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


def has_all(package: Path, modules: str) -> bool:
    return all(package.joinpath(*module.split(".")).with_suffix(".py").is_file() for module in modules.split())


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
        names = next((names for names in modules if has_all(package, names)), "")
        behind[what] = _size(drawn_on(package, names))
        largest[what] = _size(max((drawn_on(package, name) for name in names.split()), key=lines, default=set()))
    everything = sources(package)
    older = [path for path in everything if not path.relative_to(package).as_posix().startswith(ADDED_ROOMS)]
    steps, solves = len(loops_over_steps(package)), len(forms(package, ELIMINATIONS))
    forces = len(forms(package, LOOP_FORCES))
    counted, with_contact = f"{steps} / {solves} / {forces}", behind["adaptive step with contact"]
    tower = len(ancestors(package, "AdaptiveDynamics"))
    crowded, long = len(crowded_rooms(package)), len(long_signatures(package))
    reached, of_tests = (
        len(reached_between_rooms(package)),
        len(private_uses(sources(tests), own_names(sources(tests)))),
    )
    return [
        Row("loops over steps / eliminations of a tree / programs for loop forces", counted, "3 / 3 / 2", "1 / 2 / 1"),
        Row("  files that eliminate a tree or solve it", f"{len(sweeping_files(package))}", "3", "2"),
        Row("classes from AdaptiveDynamics down", f"{tower}", "5", "3"),
        Row("files / lines behind a full Euler step", behind["full Euler step"], "60 / 9,000", "40 / 6,000"),
        Row("files / lines behind an adaptive step with contact", with_contact, "115 / 19,000", "90 / 15,000"),
        Row("  of the largest of its kernels", largest["adaptive step with contact"], "", ""),
        Row("lines of src", f"{lines(everything):,}", "60,000", "55,000"),
        Row("  in rooms that were there at 38a14b6", f"{lines(older):,}", "", ""),
        Row(f"rooms with more than {MOST_FILES} files", f"{crowded}", "0", "0"),
        Row(f"functions with more than {MOST_ARGUMENTS} arguments", f"{long}", "10", "0"),
        Row("names of Numba that are not its interface", f"{len(private_numba(package))}", "12", "0"),
        Row("private attributes reached from other rooms / from tests", f"{reached} / {of_tests}", "0 / 60", "0 / 20"),
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
