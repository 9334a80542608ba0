"""From the tables [model], [[joint]], [[anchor]] and the key gravity of a scene to a compiled model."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.errors import FaultListError, LinkworkError
from linkwork.model.joints import Compound, Fixed, Free, Joint, Revolute, Spherical, Universal
from linkwork.model.library import MODELS
from linkwork.model.linkage import WORLD, Linkage
from linkwork.model.model import Model
from linkwork.scene.obstacles import add_obstacles
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.lines import KeyPath
from linkwork.spatial.pose import Pose

OPTIONS = ("stiffness", "damping", "rest", "armature")
# What a parameter `joint = "..."` of a library model may say: hinges need an axis, and these have the usual one.
JOINTS: dict[str, Joint] = {
    "spherical": Spherical(),
    "universal": Universal((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
    "revolute": Revolute((0.0, 1.0, 0.0)),
}


MOST_BODIES = 10_000_000  # more would not fit into memory as a linkage


def build_model(scene: Mapping[str, Any], folder: Path, faults: Faults) -> Model | None:
    """The model, or None after a fault."""
    before = len(faults)
    linkage = _linkage(scene["model"], folder, faults)
    if linkage is None:
        return None
    if scene["model"]["floating"]:
        _set_free(linkage)
    if scene["model"]["copies"] * len(linkage) > MOST_BODIES:
        count = scene["model"]["copies"]
        faults.add(
            ("model", "copies"), f"{count} copies of {len(linkage)} bodies are more than {MOST_BODIES:,} bodies."
        )
        return None
    linkage = _copies(linkage, scene["model"])
    if "gravity" in scene:
        linkage.gravity = tuple(scene["gravity"])
    add_obstacles(linkage, scene, folder, faults)
    for k, options in enumerate(scene["joint"]):
        _override(linkage, options, ("joint", k), faults)
    for k, anchor in enumerate(scene["anchor"]):
        _hold(linkage, anchor, k, faults)
    if len(faults) > before:
        return None
    try:
        return linkage.compile()
    except LinkworkError as error:
        _add_error(error, ("model",), faults)
        return None


def _add_error(error: LinkworkError, path: KeyPath, faults: Faults) -> None:
    """What a builder or importer says, with all its faults, at a place in the scene."""
    if isinstance(error, FaultListError) and error.faults:
        for fault in error.faults:
            faults.add(path, f"{error.headline}: {fault}")
    else:
        faults.add(path, str(error))


def _linkage(model: Mapping[str, Any], folder: Path, faults: Faults) -> Linkage | None:
    if "library" in model:
        return _from_library(model["library"], dict(model["parameters"]), faults)
    if "file" not in model:
        return None
    from linkwork.importers import load_file  # only scenes with a file need importers

    try:
        return load_file(folder / model["file"], **model["parameters"])
    except TypeError as error:
        faults.add(("model", "parameters"), str(error))
    except LinkworkError as error:
        _add_error(error, ("model", "file"), faults)
    return None


def _from_library(name: str, parameters: dict[str, Any], faults: Faults) -> Linkage | None:
    builder = MODELS.get(name)
    if builder is None:
        faults.add(("model", "library"), f"there is no library model '{name}'{did_you_mean_or_list(name, MODELS, 20)}")
        return None
    known = inspect.signature(builder).parameters
    before = len(faults)
    for key, value in parameters.items():
        path: KeyPath = ("model", "parameters", key)
        if key not in known:
            faults.add(path, f"library model '{name}' has no parameter '{key}'{did_you_mean_or_list(key, known)}")
        elif key == "joint":
            if not isinstance(value, str) or value not in JOINTS:
                faults.add(path, f"there is no joint {value!r}{did_you_mean_or_list(value, JOINTS)}")
            else:
                parameters[key] = JOINTS[value]
    if len(faults) > before:
        return None
    try:
        return builder(**parameters)
    except LinkworkError as error:
        at_fault = (error.about,) if error.about is not None and error.about in parameters else ()
        faults.add(("model", "parameters", *at_fault), str(error))
    except (TypeError, ValueError, OverflowError) as error:
        faults.add(("model", "parameters"), str(error))
    return None


def _hold(linkage: Linkage, anchor: Mapping[str, Any], k: int, faults: Faults) -> None:
    """A point of a body held at a point of the world: a ball joint that closes a loop."""
    if not {"body", "to"} <= set(anchor):
        return
    if anchor["body"] not in linkage:
        names = [body.name for body in linkage]
        hint = did_you_mean_or_list(anchor["body"], names)
        faults.add(("anchor", k, "body"), f"the model has no body '{anchor['body']}'{hint}")
        return
    ends = Pose(tuple(anchor["to"])), Pose(tuple(anchor["at"]))
    linkage.add_loop(Spherical(), WORLD, anchor["body"], ends, name=f"anchor_{k}")


def _set_free(linkage: Linkage) -> None:
    for body in list(linkage):
        if body.parent == WORLD:
            linkage.edit_body(body.name, joint=Free())


def _copies(linkage: Linkage, model: Mapping[str, Any]) -> Linkage:
    """Several of it side by side, their names behind `0/`, `1/`, ...; itself when one is asked for."""
    if model["copies"] == 1:
        return linkage
    many = Linkage(f"{model['copies']} x {linkage.name}", linkage.gravity)
    x, y, z = model["spacing"]
    for k in range(model["copies"]):
        many.merge(linkage, prefix=f"{k}/", placement=Pose((k * x, k * y, k * z)))
    return many


def _override(linkage: Linkage, options: Mapping[str, Any], path: KeyPath, faults: Faults) -> None:
    """Springs, dampers and rotors of the joints that the patterns of one [[joint]] stand for."""
    bodies = list(linkage)
    names = [body.joint_name for body in bodies]
    changes = {name: options[name] for name in OPTIONS if name in options}
    made: dict[int, Joint] = {}  # linkages share joints, and what is made of them is shared again
    for pattern in options.get("joint", ()):
        found = matching(pattern, names)
        if not found:
            faults.add((*path, "joint"), f"no joint is called '{pattern}'{did_you_mean_or_list(pattern, names)}")
        is_noted = False
        for k in found:
            body = linkage[bodies[k].name]
            if body.joint.nv == 0:
                continue
            if id(body.joint) not in made:
                made[id(body.joint)] = _with_options(body.joint, changes)
            joint = made[id(body.joint)]
            wrong = joint.option_faults()
            if wrong and not is_noted:
                option, what = wrong[0]
                faults.add((*path, option if option in changes else "joint"), f"joint '{body.joint_name}': {what}.")
                is_noted = True
            linkage.edit_body(body.name, joint=joint)
        if found and all(isinstance(bodies[k].joint, Fixed) for k in found):
            faults.add((*path, "joint"), f"'{pattern}' stands for fixed joints only, which have no springs.")


def _with_options(joint: Joint, changes: Mapping[str, Any]) -> Joint:
    if isinstance(joint, Compound):
        kept = {name: getattr(joint, name) for name in Joint.__dataclass_fields__ if getattr(joint, name) is not None}
        return Compound(joint.parts, **{**kept, **changes})
    return replace(joint, **changes)
