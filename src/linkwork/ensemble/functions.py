"""Functions that a sweep calls: which one it was, by name, and where the command line finds one."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linkwork.core.messages.names import did_you_mean_or_list
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
    except (TypeError, ValueError) as error:  # a built-in one has no signature
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


def function_needed(subject: dict[str, Any]) -> str:
    """Why a kept sweep of a function cannot go on by itself, and how it can."""
    name, file = subject["name"], subject["file"]
    if file is None:
        return (
            f"this sweep calls the function '{name}' of a program; give it: lw.Sweep.of(out, function={name}), or go on "
            f"as it began: lw.Sweep({name}, ...).run(out, resume=True)."
        )
    return (
        f"this sweep calls the function '{name}' of '{file}', and a folder's word is not enough to run a program. Name it: "
        f"linkwork sweep {Path(file).name}:{name} --resume --out DIR, or add --trust if you know who made the folder; "
        f"from Python: lw.Sweep.of(out, function={name})."
    )


def trusted_function(subject: dict[str, Any]) -> Callable[..., Any]:
    """The function that a kept plan names, imported: the caller trusts the folder."""
    if subject["file"] is None:
        raise LinkworkError(function_needed(subject))
    return read_function(f"{subject['file']}:{subject['name']}")


def names_function(words: str) -> bool:
    """Whether the command line means a function: file.py:name."""
    return ".py:" in words
