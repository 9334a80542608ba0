"""Which bodies and joints the names and patterns of a scene stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.model.compile.neighbours import nearest_bodies
from linkwork.model.model import Model
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.lines import KeyPath


def find_bodies(model: Model, table: Mapping[str, Any], path: KeyPath, faults: Faults) -> list[str]:
    """Names of the bodies or frames that `body`, `pick` and `neighbours` choose; empty after a fault."""
    if "body" not in table:
        return []
    pattern, pick = table["body"], table["pick"]
    names = [*model.body_names, *(name for name, frame in model.frames.items() if frame.body >= 0)]
    found = [names[k] for k in matching(pattern, names)]
    if not found:
        faults.add((*path, "body"), f"no body is called '{pattern}'{did_you_mean_or_list(pattern, names)}")
        return []
    if pick == "only" and len(found) > 1:
        some = ", ".join(found[:3])
        faults.add(
            (*path, "body"),
            f"'{pattern}' stands for {len(found)} bodies ({some}, ...); set pick = 'all', 'first', 'middle' or 'last'.",
        )
        return []
    chosen = {"all": found, "first": found[:1], "last": found[-1:]}.get(pick, [found[len(found) // 2]])
    if "neighbours" not in table:
        return chosen
    if table["neighbours"] > model.n_bodies:
        faults.add((*path, "neighbours"), f"the model has only {model.n_bodies} bodies.")
        return []
    return [model.body_names[k] for k in nearest_bodies(model, model.frame(chosen[0]).body, table["neighbours"])]


def find_joints(model: Model, patterns: Sequence[str], path: KeyPath, faults: Faults) -> list[str]:
    """Names of the joints that can move among those the patterns stand for, each once; empty after a fault."""
    names = [*model.joint_names, *model.joint_parts]
    found: dict[str, None] = {}
    for pattern in patterns:
        some = [names[k] for k in matching(pattern, names)]
        if not some:
            faults.add(path, f"no joint is called '{pattern}'{did_you_mean_or_list(pattern, names)}")
        found.update(dict.fromkeys(some))
    return [name for name in found if (rows := model.v_slice(name)).stop > rows.start]


def choose_joints(model: Model, patterns: Sequence[str]) -> list[str]:
    """Joints by name or pattern, as a user of a plot or an export gives them; unknown ones are an error that names them."""
    faults = Faults(f"model '{model.name}'")
    found = find_joints(model, list(patterns), (), faults)
    faults.raise_all()
    return found
