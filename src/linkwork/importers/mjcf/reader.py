"""MJCF → Linkage, through MuJoCo's own parser, so that defaults, includes and inertia from geoms are right.

MuJoCo's compiled model is read; its specification adds the lines of the file. Coordinates: our q is MuJoCo's qpos, less the
joint's `ref` for hinges and sliders. Free joints stand in the world as in MuJoCo: q is (position, quaternion); v differs
(theirs: linear in the world, angular in the body; ours: [ω; v], both in the body).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linkwork.core.messages.extras import needed
from linkwork.errors import FormatError
from linkwork.importers.mjcf.assets import MissingMeshes, replace_missing_assets
from linkwork.importers.mjcf.drives import add_drives
from linkwork.importers.mjcf.endless import refuse_endless
from linkwork.importers.mjcf.geoms import geom_shapes, ignored_pairs, obstacle_names
from linkwork.importers.mjcf.joints import body_joint
from linkwork.importers.mjcf.notes import note_what_is_not_kept
from linkwork.importers.report import Report
from linkwork.importers.xml_tree import read_xml
from linkwork.model.inertia import MASSLESS, Inertia
from linkwork.model.joints import Free
from linkwork.model.linkage import WORLD, Linkage
from linkwork.spatial.pose import ORIGIN, Pose

GROUND = "ground"  # the body that carries the world's own shapes


def load_mjcf(path: str | Path) -> Linkage:
    """Reads a MuJoCo model file. Needs the extra `linkwork[mjcf]`."""
    mujoco = needed("mujoco", f"{path}: MJCF is read through MuJoCo, which is not installed: pip install '.[mjcf]'")
    report = Report(path)
    root = read_xml(path)  # finds malformed XML, with its line
    if root.tag not in ("mujoco", "mujocoinclude"):
        report.fault(root.line, f"the root element is <{root.tag}>; MJCF begins with <mujoco>, URDF with <robot>.")
        report.raise_faults()
    refuse_endless(root, Path(path), report)
    report.raise_faults()
    spec, model, missing = _compile(mujoco, path, report)
    named = "model" in root.attributes  # else MuJoCo makes up a name
    linkage = Linkage(spec.modelname if named else Path(path).stem, gravity=_gravity(mujoco, model))
    lines = {body.id: _line(body.info) for body in spec.bodies}
    shapes, obstacles = geom_shapes(mujoco, spec, model, missing, report)
    names = _body_names(model)
    taken = {model.joint(j).name for j in range(model.njnt)}  # a name made up here must not meet one of the file's
    if 0 in shapes:
        name = _free_name(GROUND, set(names))
        linkage.add_body(name, shapes=shapes[0], joint_name=_take(name, taken), source=str(path))
    for i in range(1, model.nbody):
        line = lines.get(i, 0)
        joint, joint_name = body_joint(mujoco, model, i, names[i], line, report)
        linkage.add_body(
            names[i],
            names[model.body_parentid[i]],
            joint,
            # MuJoCo's free joints are placed by their coordinates alone.
            Pose() if isinstance(joint, Free) else Pose(model.body_pos[i], quaternion=model.body_quat[i]),
            _inertia(model, i),
            joint_name=joint_name or _take(names[i], taken),
            shapes=shapes.get(i, ()),
            source=report.where(line),
        )
    for name, (_, shape) in zip(obstacle_names(obstacles, {*names, WORLD, GROUND}), obstacles, strict=True):
        linkage.add_obstacle(name, shape)
    linkage.ignore_contact += ignored_pairs(model, names)
    report.raise_faults()
    add_drives(mujoco, model, names, linkage, report)
    note_what_is_not_kept(mujoco, model, report)
    linkage.warnings += report.warnings()
    return linkage


def _compile(mujoco: Any, path: str | Path, report: Report) -> tuple[Any, Any, MissingMeshes]:
    with _hearing_warnings(mujoco) as messages:
        try:
            # An absolute path: MuJoCo's word for the folder of a file beside us is "", which nothing can be joined to.
            spec = mujoco.MjSpec.from_file(str(Path(path).absolute()))
            missing = replace_missing_assets(mujoco, spec, report)
            report.raise_faults()
            model = spec.compile()
        except (ValueError, TypeError, OverflowError, mujoco.FatalError) as error:  # all that MuJoCo has against a file
            message = " ".join(str(error).split())
            line = _line(message)
            raise FormatError(f"{path}: 1 fault", [f"{report.where(line)}: MuJoCo refuses it: {message}"]) from None
    for message in messages:
        report.note(0, "MuJoCo warns", " ".join(message.split()))
    return spec, model, missing


@contextmanager
def _hearing_warnings(mujoco: Any) -> Iterator[list[str]]:
    """What MuJoCo warns of: its parser through a handler (which else writes a log file), its compiler through Python."""
    messages: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(messages.append)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield messages
    finally:
        mujoco.set_mju_user_warning(before)
    messages += [str(warning.message) for warning in caught]


def _line(text: str) -> int:
    """The line in MuJoCo's words; 0 when they name none, as in included files."""
    found = re.search(r"[Ll]ine (?:number=)?(\d+)", text)
    return int(found.group(1)) if found else 0


def _gravity(mujoco: Any, model: Any) -> tuple[float, float, float]:
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:
        return ORIGIN
    x, y, z = map(float, model.opt.gravity)
    return (x, y, z)


def _body_names(model: Any) -> list[str]:
    """Body names; a nameless body is called by its place: its parent's name and its number among the parent's bodies."""
    taken = {model.body(i).name for i in range(model.nbody)}
    names, children = [WORLD], [0] * model.nbody
    for i in range(1, model.nbody):
        parent = int(model.body_parentid[i])
        name = model.body(i).name or _take(f"{names[parent]}/{children[parent]}", taken)
        children[parent] += 1
        names.append(name)
    return names


def _free_name(wish: str, taken: set[str]) -> str:
    while wish in taken:
        wish += "_"
    return wish


def _take(wish: str, taken: set[str]) -> str:
    name = _free_name(wish, taken)
    taken.add(name)
    return name


def _inertia(model: Any, i: int) -> Inertia:
    mass = float(model.body_mass[i])
    if mass == 0.0 and not model.body_inertia[i].any():
        return MASSLESS
    principal = Inertia(mass, moments=model.body_inertia[i])
    return principal.at(Pose(model.body_ipos[i], quaternion=model.body_iquat[i]))
