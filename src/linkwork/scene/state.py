"""From the table [state] of a scene to the state a run begins with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from linkwork.core.files import checked_zip
from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.errors import LinkworkError
from linkwork.loops.closing import close_loops
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.reading.checks import is_number, shown
from linkwork.scene.reading.expression import Expression, ExpressionError
from linkwork.scene.reading.faults import Faults, dotted
from linkwork.scene.reading.lines import KeyPath
from linkwork.scene.waters import water_of
from linkwork.statics.settle import settle


def build_state(model: Model, scene: Mapping[str, Any], folder: Path, faults: Faults) -> State | None:
    """The state that the table [state] of a scene asks for, or None after a fault; settling takes the scene's water."""
    before = len(faults)
    table = scene["state"]
    state = _beginning(model, table, folder, faults)
    if state is None:
        return None
    for vector in ("q", "v"):
        for pattern, value in sorted(table[vector].items(), key=lambda item: item[0] in _names(model)):
            named = frozenset(table[vector]) - {pattern}
            _set_joints(model, state, vector, pattern, value, named, faults)
    if len(faults) > before:
        return None
    try:
        state = model.state(state.q, state.v)
        if table["settle"]:
            return settle(model, state, water=water_of(scene, faults)).state
        return close_loops(model, state) if model.is_constrained and table["close_loops"] else state
    except LinkworkError as error:
        faults.add(("state",), str(error))
        return None


def _beginning(model: Model, table: Mapping[str, Any], folder: Path, faults: Faults) -> State | None:
    if table["kind"] == "random":
        random = model.random_state(table["seed"], table["speed"])
        if table["scale"] == 1.0:
            return random
        start = model.neutral().q
        return State(model.integrate(start, model.difference(start, random.q), table["scale"]), random.v)
    if table["kind"] == "file" and "file" in table:
        try:
            return _from_file(model, folder / table["file"])
        except (LinkworkError, OSError, ValueError, KeyError, MemoryError, BadZipFile) as error:
            faults.add(("state", "file"), f"no state can be read from '{table['file']}': {error}")
            return None
    return model.neutral()


def _from_file(model: Model, file: Path) -> State:
    """q and v of an .npz file, or the last state of a recording."""
    if file.suffix == ".npz":
        with np.load(checked_zip(file), allow_pickle=False) as found:
            return model.state(found["q"], found.get("v"))
    from linkwork.record.recording import Recording

    with Recording(file) as recording:
        last = recording.state(-1)
    return model.state(last.q, last.v)


def _names(model: Model) -> list[str]:
    return [*model.joint_names, *model.joint_parts]


def _set_joints(
    model: Model, state: State, vector: str, pattern: str, value: Any, named: frozenset[str], faults: Faults
) -> None:
    """Entries of q or v for the joints a name or pattern stands for; expressions count them by i, of n.

    Joints with an entry of their own, `named`, are counted and left to it.
    """
    path: KeyPath = ("state", vector, pattern)
    names = _names(model)
    found = matching(pattern, names)
    if not found:
        faults.add(path, f"no joint is called '{pattern}'{did_you_mean_or_list(pattern, names)}")
        return
    for i, k in enumerate(found):
        if names[k] in named:
            continue
        rows = model.q_slice(names[k]) if vector == "q" else model.v_slice(names[k])
        numbers = _numbers(value, rows.stop - rows.start, i, len(found))
        if isinstance(numbers, str):
            faults.add(path, f"{dotted(path)} is {shown(value)}; joint '{names[k]}' {numbers}")
            return
        (state.q if vector == "q" else state.v)[rows] = numbers


def _numbers(value: Any, size: int, i: int, n: int) -> list[float] | str:
    """One number for each entry, or what is wrong."""
    parts = value if isinstance(value, list) else [value]
    if len(parts) != size:
        return f"takes {size} number{'s' if size != 1 else ''} here, not {len(parts)}."
    found = []
    for part in parts:
        if isinstance(part, str):
            try:
                found.append(Expression(part, ("i", "n"))(i=float(i), n=float(n)))
            except (ExpressionError, LinkworkError) as error:
                return f"cannot take it: {error}"
        elif is_number(part):
            found.append(float(part))
        else:
            return "takes numbers or expressions in i and n."
    return found
