"""Functions that a sweep calls: which one it was, by name, and where the command line finds one."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linkwork.core.names import did_you_mean_or_list
from linkwork.errors import LinkworkError


def function_subject(function: Callable[..., Any], names: Sequence[str]) -> dict[str, Any]:
    """What a plan keeps of a function: its name, and its file if the command line read it from one."""
    try:
        inspect.signature(function).bind_partial(**dict.fromkeys(names))
        unbound = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            and p.name not in (*names, "seed")
        ]  # fmt: skip
    except (TypeError, ValueError) as error:  # a built-in one tells nothing of what it takes
        raise LinkworkError(f"the function does not take the parameters {list(names)}: {error}.") from None
    if unbound:
        raise LinkworkError(f"the function needs '{unbound[0]}', which is not varied; vary it, or give it a default.")
    file = getattr(sys.modules.get(function.__module__), "_linkwork_sweep_file", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    return {"kind": "function", "name": name, "file": file}


def read_function(words: str) -> Callable[..., Any]:
    """A function by its file and name, `study.py:reach`, as the command line has it."""
    import cloudpickle

    path, _, name = words.rpartition(":")
    file = Path(path).absolute()
    if not file.is_file():
        raise LinkworkError(f"'{words}': there is no file '{path}'; write file.py:function.")
    module_name = f"linkwork_sweep_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise LinkworkError(f"'{path}' is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise LinkworkError(f"'{path}' cannot be imported: {type(error).__name__}: {error}.") from error
    module._linkwork_sweep_file = str(file)  # type: ignore[attr-defined]
    function = getattr(module, name, None)
    if not callable(function):
        known = [word for word, value in vars(module).items() if inspect.isfunction(value)]
        raise LinkworkError(f"'{path}' has no function '{name}'{did_you_mean_or_list(name, known)}")
    cloudpickle.register_pickle_by_value(module)  # workers have no such module: the function travels whole
    found: Callable[..., Any] = function
    return found


def function_named(subject: dict[str, Any]) -> Callable[..., Any]:
    """The function of a kept plan, if it came from a file."""
    if subject.get("file") is None:
        raise LinkworkError(
            f"this sweep calls the function '{subject['name']}' of a program; go on from there: "
            "lw.Sweep(function, ...).run(out, resume=True)."
        )
    return read_function(f"{subject['file']}:{subject['name']}")


def names_function(words: str) -> bool:
    """Whether the command line means a function: file.py:name."""
    return ".py:" in words
