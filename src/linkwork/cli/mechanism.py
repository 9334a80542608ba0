"""From the words on the command line to a linkage: a file, or a library model with its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import linkwork as lw
from linkwork.core.messages.names import did_you_mean
from linkwork.errors import LinkworkError
from linkwork.molecules.structure.reading import SUFFIXES
from linkwork.scene.model import JOINTS
from linkwork.scene.reading.settings import parse_setting

Builder = Callable[..., lw.Linkage]


def find_mechanism(source: str, settings: Sequence[str]) -> lw.Linkage:
    """The linkage behind `source`: a library model when a name of it, a file otherwise.

    settings: words `name=value` for the parameters of a library model, or the options of an importer.
    """
    molecule = find_molecule(source, settings)
    if molecule is not None:
        return molecule.linkage
    given = parse_parameters(settings)
    models = library_models()
    if source in models and not Path(source).is_file():
        return _build(source, models[source], given)
    if Path(source).exists():
        linkage: lw.Linkage = _called(source, lw.load, given)
        return linkage
    if Path(source).suffix or "/" in source:
        raise LinkworkError(f"there is no file '{source}'.")
    hint = did_you_mean(source, models) or "."
    raise LinkworkError(
        f"'{source}' is neither a file nor a library model{hint}\nThe library has: {', '.join(sorted(models))}."
    )


def library_models() -> dict[str, Builder]:
    """Library models by name."""
    return dict(lw.library.MODELS)


def parse_parameters(words: Sequence[str]) -> dict[str, Any]:
    """`joints=500` → {"joints": 500}, by the grammar of `linkwork run --set`: values in TOML, `name=` takes one away."""
    given: dict[str, Any] = {}
    for word in words:
        setting = parse_setting(word, "joints=500 or lengths=[1, 2]")
        name = str(setting.path[0]).replace("-", "_")
        if len(setting.path) > 1:
            raise LinkworkError(f"--set {word}: a parameter has one name, and no tables below it.")
        given.pop(name, None)
        if setting.value is not None:
            given[name] = setting.value
    return given


def _build(source: str, builder: Builder, given: dict[str, Any]) -> lw.Linkage:
    known = inspect.signature(builder).parameters
    unknown = [name for name in given if name not in known]
    if unknown:
        raise LinkworkError(
            f"library model '{source}' has no parameter '{unknown[0]}'; it has {', '.join(known) or 'none'}."
        )
    if isinstance(given.get("joint"), str) and given["joint"] in JOINTS:  # as in scenes
        given = {**given, "joint": JOINTS[given["joint"]]}
    try:
        return builder(**given)
    except (TypeError, ValueError) as error:
        words = " ".join(f"{name}={value!r}" for name, value in given.items())
        raise LinkworkError(
            f"library model '{source}' cannot be built with {words or 'no settings'}: {error}"
        ) from error


def is_structure(source: str) -> bool:
    """Whether a file holds a molecule, whose model is in nm, ps and Da."""
    return source.lower().endswith(SUFFIXES)


def find_molecule(source: str, settings: Sequence[str]) -> lw.molecules.Molecule | None:
    """The molecule of a structure file, with what was changed on the way in its linkage's warnings; None for others."""
    if not (is_structure(source) and Path(source).exists()):
        return None
    molecule: lw.molecules.Molecule = _called(source, lw.molecules.load, parse_parameters(settings))
    molecule.linkage.warnings += [str(change) for change in molecule.report.changes]
    return molecule


def _called(source: str, load: Callable[..., Any], given: dict[str, Any]) -> Any:
    try:
        return load(source, **given)
    except TypeError as error:
        if not given:
            raise
        raise LinkworkError(f"'{source}' cannot be read with {', '.join(given)}: {error}") from error
