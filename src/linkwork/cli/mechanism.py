"""From the words on the command line to a linkage: a file, or a library model with its parameters."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import linkwork as lw
from linkwork.errors import LinkworkError

Builder = Callable[..., lw.Linkage]


def find_mechanism(source: str, settings: Sequence[str]) -> lw.Linkage:
    """The linkage behind `source`: a library model when a name of it, a file otherwise.

    settings: words `name=value` for the parameters of a library model, or the options of an importer.
    """
    given = dict(parse_setting(word) for word in settings)
    models = library_models()
    if source in models and not Path(source).is_file():
        return _build(source, models[source], given)
    if Path(source).exists():
        return _load(source, given)
    if Path(source).suffix or "/" in source:
        raise LinkworkError(f"there is no file '{source}'.")
    close = difflib.get_close_matches(source, models, n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else "."
    raise LinkworkError(
        f"'{source}' is neither a file nor a library model{hint}\nThe library has: {', '.join(sorted(models))}."
    )


def library_models() -> dict[str, Builder]:
    """Library models by name."""
    return dict(lw.library.MODELS)


def parse_setting(word: str) -> tuple[str, Any]:
    """`joints=500` → ("joints", 500). Values are Python literals where they look like one, words otherwise."""
    name, equals, text = word.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name.isidentifier():
        raise LinkworkError(f"'{word}' is no setting; write name=value, such as joints=500.")
    try:
        return name, ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return name, text.strip()


def _build(source: str, builder: Builder, given: dict[str, Any]) -> lw.Linkage:
    known = inspect.signature(builder).parameters
    unknown = [name for name in given if name not in known]
    if unknown:
        raise LinkworkError(
            f"library model '{source}' has no parameter '{unknown[0]}'; it has {', '.join(known) or 'none'}."
        )
    try:
        return builder(**given)
    except (TypeError, ValueError) as error:
        words = " ".join(f"{name}={value!r}" for name, value in given.items())
        raise LinkworkError(
            f"library model '{source}' cannot be built with {words or 'no settings'}: {error}"
        ) from error


STRUCTURES = (".pdb", ".ent", ".cif", ".mmcif", ".pdb.gz", ".ent.gz", ".cif.gz", ".mmcif.gz")


def _load(source: str, given: dict[str, Any]) -> lw.Linkage:
    try:
        if source.lower().endswith(STRUCTURES):
            molecule = lw.molecules.load(source, **given)
            molecule.linkage.warnings += [str(change) for change in molecule.report.changes]
            return molecule.linkage
        return lw.load(source, **given)
    except TypeError as error:
        if not given:
            raise
        raise LinkworkError(f"'{source}' cannot be read with {', '.join(given)}: {error}") from error
