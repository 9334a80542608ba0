"""What a kernel is made of, as one digest: the code that Numba compiles, and every value that this code draws on.

The walk begins at the kernel and follows its global names, closures and defaults into subroutines, intrinsics, factories
and constants, wherever they stand. Each object met is written down once, and by its number after that, so that two kernels
have the same digest only if the same objects stand in the same places. Functions count by their bytecode, which is what
Numba compiles: a comment, a docstring, a message or a line further up changes nothing; an edit while the process runs
neither.

What stands outside the package counts by its name; the versions of Numba and Python are in the name of each kernel's file.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, get_type_hints

import numpy as np
from numba.core import types

PACKAGE = Path(__file__).parents[1]  # the folder of the package
NAME = __name__.partition(".")[0]
# How kernels are compiled: part of each of them, though none names it; beside the parts of Numba that are exchanged.
MACHINERY = (
    "core.jit",
    "core.compiling",
    "core.views",
    "core.bundles",
    "core.calls",
    "algebra.tracing",
    "algebra.rows",
)


def content_of(kernel: Callable[..., Any], settings: tuple[Any, ...] = ()) -> str:
    """The digest of a kernel. kernel: the Python function; settings: what else changes its code."""
    walk = _Walk()
    walk.add(kernel)
    text = "\n".join([repr(settings), machinery(), *walk.lines])
    return hashlib.sha256(text.encode()).hexdigest()


def drawn_on(kernel: Callable[..., Any]) -> set[str]:
    """Full names of the functions of this package that a kernel is made of, its own among them."""
    walk = _Walk()
    walk.add(kernel)
    functions = (thing for _, thing in walk.met.values() if isinstance(thing, FunctionType))
    return {f"{x.__module__}.{x.__qualname__}" for x in functions if _is_ours(x.__module__)}


@cache
def machinery() -> str:
    """The digest of the files that decide how anything is compiled."""
    files = [PACKAGE.joinpath(*name.split(".")).with_suffix(".py") for name in MACHINERY]
    files += sorted(PACKAGE.glob("core/numba_patches/*.py"))
    return hashlib.sha256("".join(map(syntax, files)).encode()).hexdigest()


@cache
def syntax(file: Path) -> str:
    """The syntax of a file without comments, docstrings and line numbers."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


class _Walk:
    """Writes down what it meets, in the order in which it meets it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.met: dict[
            int, tuple[int, Any]
        ] = {}  # number of an object; the object itself, so that its id stays its own

    def add(self, thing: Any) -> None:
        """A value by what it is; an object that was met before by its number."""
        if isinstance(thing, (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype)):
            self.lines.append(f"{type(thing).__name__} {thing!r}")
            return
        if type(thing) is tuple:  # whether equal tuples are one object depends on how Python read the file
            self.lines.append(f"tuple of {len(thing)}")
            for part in thing:
                self.add(part)
            return
        if id(thing) in self.met:
            self.lines.append(f"met {self.met[id(thing)][0]}")
            return
        self.met[id(thing)] = (len(self.met), thing)
        for part in self.parts(thing):
            self.add(part)

    def parts(self, thing: Any) -> Iterator[Any]:
        """What an object is made of; numbers and texts, or objects to go on with."""
        if hasattr(thing, "py_func"):  # a kernel or a subroutine
            yield thing.targetoptions
            yield thing.py_func
        elif isinstance(thing, FunctionType) and hasattr(thing, "__wrapped__"):
            yield thing.__wrapped__
        elif isinstance(thing, FunctionType):
            yield f"{thing.__module__}.{thing.__qualname__}"
            if _is_ours(thing.__module__):
                yield from self.given(thing)
                if not _is_machinery(thing.__module__):
                    yield from self.code(thing)
        elif isinstance(thing, (tuple, list)):
            yield type(thing)
            yield from thing
        elif isinstance(thing, (set, frozenset)):
            yield from sorted(map(repr, thing))
        elif isinstance(thing, dict):
            for key in sorted(thing, key=repr):
                yield repr(key)
                yield thing[key]
        elif isinstance(thing, np.ndarray):
            yield f"{thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
        elif isinstance(thing, partial):
            yield from (thing.func, thing.args, thing.keywords)
        elif isinstance(thing, (ModuleType, BuiltinFunctionType)):
            yield thing.__name__
        elif hasattr(thing, "__wrapped__"):  # an intrinsic, or a function whose results are kept
            yield type(thing).__name__
            yield thing.__wrapped__
        elif isinstance(thing, type):
            yield f"{thing.__module__}.{thing.__qualname__}"
            if _is_ours(thing.__module__) and not _is_machinery(thing.__module__):
                yield from self.type(thing)
        elif _is_ours(type(thing).__module__):
            yield type(thing)
            # A type's `_code` is the number under which Numba met it in this process.
            yield {k: v for k, v in vars(thing).items() if k != "_code"} if hasattr(thing, "__dict__") else repr(thing)
        elif isinstance(thing, types.Type):
            yield str(thing)
        else:
            yield f"{type(thing).__module__}.{type(thing).__qualname__} {getattr(thing, '__name__', '')}"

    def given(self, function: FunctionType) -> Iterator[Any]:
        """What a function was made with."""
        yield function.__defaults__
        yield function.__kwdefaults__
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # a name that is not set yet
                yield "empty"

    def code(self, function: FunctionType) -> Iterator[Any]:
        """Its bytecode, and what its global names stand for."""
        yield _code(function.__code__, function.__doc__)
        names = _names(function.__code__)
        for name in names:
            if name in function.__globals__:
                found = function.__globals__[name]
                yield name
                yield found
                if isinstance(found, ModuleType) and _is_ours(found.__name__):
                    for part in names:
                        yield getattr(found, part, None)

    def type(self, kind: type) -> Iterator[Any]:
        if issubclass(kind, types.Type):  # how Numba handles it is registered beside it
            yield syntax(Path(inspect.getfile(kind)))
        elif hasattr(kind, "_fields"):
            hints = get_type_hints(kind, include_extras=True)
            yield [(name, str(hints.get(name))) for name in kind._fields]
        yield kind.__bases__
        for name, value in sorted(vars(kind).items()):
            if not name.startswith("__") or isinstance(value, FunctionType):
                yield name
                yield value.fget if isinstance(value, property) else value


def _is_ours(module: str | None) -> bool:
    """Whether a module is of this package, or of a program or test that has kernels of its own."""
    if module is None:
        return False
    first = module.partition(".")[0]
    if first == NAME or first == "__main__":
        return True
    file = getattr(sys.modules.get(first), "__file__", None)
    return file is not None and "site-packages" not in file and first not in sys.stdlib_module_names


def _is_machinery(module: str) -> bool:
    name = module.partition(".")[2]
    return name in MACHINERY or name.startswith("core.numba_patches")


@cache
def _names(code: CodeType) -> tuple[str, ...]:
    """Names that code asks for, with those of functions inside it."""
    inner = [name for value in code.co_consts if isinstance(value, CodeType) for name in _names(value)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


@cache
def _code(code: CodeType, doc: str | None = None) -> str:
    """Bytecode and its constants without the docstring, names of files and numbers of lines."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return repr((code.co_code, code.co_exceptiontable, counts, names, [_constant(x, doc) for x in code.co_consts]))


def _constant(value: Any, doc: str | None) -> Any:
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    return None if isinstance(value, str) and value == doc else value  # None stands where there is no docstring
