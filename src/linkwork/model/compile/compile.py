"""From the description to arrays: find every fault, merge what does not move by itself, order, pack.

The steps are checking (`faults`), `_weld` (fixed joints), `_absorb_massless` (into compound joints), `_pack`. Names are
looked up once; everything that touches all bodies works on lists or arrays, so a million bodies take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import choice
from linkwork.core.units import UNITS
from linkwork.errors import ModelError
from linkwork.model import layout
from linkwork.model.actuators import Actuator, actuator_faults
from linkwork.model.compile.faults import (
    label,
    name_faults,
    obstacle_faults,
    parent_faults,
    placement_table,
    value_faults,
)
from linkwork.model.compile.order import depth_first_order
from linkwork.model.couplings import coupling_faults
from linkwork.model.frames import frame_faults, placed_frames
from linkwork.model.inertia import Inertia
from linkwork.model.joints import MAX_DOF, Compound, Fixed, Free, Joint
from linkwork.model.linkage import WORLD, Body, Linkage
from linkwork.model.loops import loop_faults, placed_loops
from linkwork.model.model import Frame, Model, ModelArrays, warn_of_degrees_in
from linkwork.model.sensors import sensor_faults
from linkwork.model.shapes import Shape
from linkwork.spatial.pose import Pose, vector3


@dataclass
class _Draft:
    """Bodies on their way to a model; `host[i]` is i itself, the body i is welded to, or -1 (world)."""

    bodies: list[Body]
    parent: list[int]
    joint: list[Joint]
    placement: list[Pose]
    inertia: list[Inertia]
    host: list[int]
    welded_at: dict[int, Pose]  # pose of a welded body in its host
    merged_into: dict[str, str]
    parts: dict[int, list[tuple[str, int]]]  # names and degrees of freedom of the joints merged into a body's joint


def compile_linkage(linkage: Linkage, merge_fixed: bool = True) -> Model:
    bodies = list(linkage)
    faults = name_faults(linkage, bodies)
    index = {body.name: i for i, body in enumerate(bodies)}
    index[WORLD] = -1
    parent = [index.get(body.parent, -2) for body in bodies]
    hosts = {frame.name: frame.body for frame in linkage.frames}
    faults += parent_faults(bodies, parent, hosts)
    faults += value_faults(linkage, bodies)
    faults += loop_faults(linkage._loops, index.__contains__, hosts)
    faults += obstacle_faults(linkage)
    faults += frame_faults(linkage.frames, index)
    joints = _joint_freedoms(bodies)
    places = {*index, *(frame.name for frame in linkage.frames)}
    faults += sensor_faults(linkage.sensors, places, joints)
    faults += actuator_faults(linkage.actuators, joints)
    faults += coupling_faults(linkage.couplings, joints)
    if faults:
        raise ModelError(_headline(linkage, faults), faults)
    draft = _Draft(
        bodies,
        parent,
        [body.joint for body in bodies],
        [body.placement for body in bodies],
        [body.inertia for body in bodies],
        list(range(len(bodies))),
        {},
        {},
        {},
    )
    order = depth_first_order(np.array(parent, dtype=np.int64)).tolist()
    _weld(draft, order, only_massless=not merge_fixed)
    faults = _absorb_massless(draft, order)
    if faults:
        raise ModelError(_headline(linkage, faults), faults)
    model = _with_drives(_pack(linkage, draft), linkage.actuators)
    any(warn_of_degrees_in(model, limit, "v", "a limit") for limit in (model.lower, model.upper))
    if linkage.couplings:
        model = replace(model, couplings=tuple(linkage.couplings))
    whole = tuple(rod for rod in linkage.rods if all(name in model._body_index for name in rod.bodies))
    if whole:
        model = replace(model, rods=whole)
    if not linkage._loops and not linkage.frames:
        return model

    def frame_of(name: str) -> Frame | None:
        return None if name in model.merged_into else model.frame(name)

    closures, faults = placed_loops(linkage._loops, frame_of)
    frames, more_faults = placed_frames(linkage.frames, frame_of)
    if faults or more_faults:
        raise ModelError(_headline(linkage, faults + more_faults), faults + more_faults)
    return replace(model, loops=tuple(closures), frames=model.frames | frames)


def _headline(linkage: Linkage, faults: list[str]) -> str:
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    return f"linkage '{linkage.name}' cannot be compiled, {count}:"


# ---------------------------------------------------------------------------------------------------------------- merge


def _weld(draft: _Draft, order: list[int], only_massless: bool) -> None:
    """Bodies on fixed joints become frames of the body (or the world) that carries them."""
    for i in order:
        p = draft.parent[i]
        if p >= 0 and draft.host[p] != p:  # the parent is a frame: hang from its host instead
            draft.placement[i] = draft.welded_at[p] @ draft.placement[i]
            draft.parent[i] = p = draft.host[p]
        if isinstance(draft.joint[i], Fixed) and (draft.inertia[i].is_massless or not only_massless):
            draft.host[i] = p
            draft.welded_at[i] = draft.placement[i]
            if p >= 0 and not draft.inertia[i].is_massless:
                draft.inertia[p] = draft.inertia[p] + draft.inertia[i].at(draft.placement[i])


def _absorb_massless(draft: _Draft, order: list[int]) -> list[str]:
    """A massless moving body with one moving child becomes part of that child's joint; any other is a fault."""
    massless = [i for i in order if draft.host[i] == i and draft.inertia[i].is_massless]
    if not massless:
        return []
    faults: list[str] = []
    children: dict[int, list[int]] = {i: [] for i in massless}
    for i in order:
        if draft.host[i] == i and draft.parent[i] in children:
            children[draft.parent[i]].append(i)
    for i in massless:
        named, kids = label(draft.bodies[i]), children[i]
        if len(kids) != 1:
            why = f"and carries {len(kids)} moving bodies" if kids else "and nothing with mass hangs from it"
            faults.append(
                f"{named} has mass 0 kg {why}; a moving body needs mass > 0. Give it one, or weld it to its parent"
            )
            continue
        child = kids[0]
        merged = _joined(draft.joint[i], draft.joint[child], draft.placement[child])
        if merged is None:
            faults.append(
                f"{named} has mass 0 kg between joints of kind {type(draft.joint[i]).__name__} and "
                f"{type(draft.joint[child]).__name__}, which make no compound joint. Give it a mass"
            )
            continue
        if merged.nv > MAX_DOF:
            faults.append(
                f"{named} has mass 0 kg, and its joint with the next would have {merged.nv} degrees of freedom"
            )
            continue
        draft.parts[child] = _named_parts(draft, i) + _named_parts(draft, child)
        draft.joint[child] = merged
        draft.placement[child] = draft.placement[i] @ draft.placement[child]
        draft.parent[child] = draft.parent[i]
        if draft.parent[i] in children:
            children[draft.parent[i]] = [child if k == i else k for k in children[draft.parent[i]]]
        draft.host[i] = -2
        draft.merged_into[draft.bodies[i].name] = draft.bodies[child].name
    return faults


def _named_parts(draft: _Draft, i: int) -> list[tuple[str, int]]:
    """Names and degrees of freedom of the joints that body i's joint is made of."""
    own = [(draft.bodies[i].joint_name, draft.joint[i].nv)] if draft.joint[i].nv else []
    return draft.parts.pop(i, own)


def _joined(first: Joint, second: Joint, between: Pose) -> Joint | None:
    """Two joints with a massless link between them as one, in the zero frame of the second."""
    if isinstance(first, Fixed):
        return second
    if isinstance(second, Fixed) and first.screws:
        second = Compound(())
    if not first.screws or (not second.screws and second.nv > 0):
        return None
    screws = [screw.moved(between.inverse()) for screw in first.screws]
    options: dict[str, object] = {}
    for name, default in (("damping", 0.0), ("stiffness", 0.0), ("armature", 0.0), ("effort_limit", np.inf),
                          ("velocity_limit", np.inf)):  # fmt: skip
        if getattr(first, name) is not None or getattr(second, name) is not None:
            options[name] = (*first.per_dof(name, default), *second.per_dof(name, default))
    if first.rest is not None or second.rest is not None:
        options["rest"] = (*first.rest_coordinates(), *second.rest_coordinates())
    if first.limits is not None or second.limits is not None:
        options["limits"] = tuple(map(tuple, (*first.limit_pairs(), *second.limit_pairs())))
    return Compound((*screws, *second.screws), **options)


# ----------------------------------------------------------------------------------------------------------------- pack


def _pack(linkage: Linkage, draft: _Draft) -> Model:
    kept = [i for i, host in enumerate(draft.host) if host == i]
    number = np.full(len(draft.bodies) + 1, -1, dtype=np.int64)  # the last entry is the world's
    number[kept] = np.arange(len(kept))
    order = depth_first_order(number[[draft.parent[i] for i in kept]] if kept else np.zeros(0, dtype=np.int64))
    kept = [kept[i] for i in order.tolist()]
    number[kept] = np.arange(len(kept))

    joints = [draft.joint[i] for i in kept]
    n = len(kept)
    tree = np.zeros((n, layout.TREE_COLUMNS), dtype=np.int64)
    tree[:, layout.PARENT] = number[[draft.parent[i] for i in kept]] if n else 0
    tree[:, layout.KIND] = [joint.kind for joint in joints]
    nq = np.array([joint.nq for joint in joints], dtype=np.int64)
    nv = np.array([joint.nv for joint in joints], dtype=np.int64)
    tree[:, layout.DOF] = nv
    tree[:, layout.Q] = np.cumsum(nq) - nq
    tree[:, layout.V] = np.cumsum(nv) - nv

    body = np.zeros((n, layout.BODY_COLUMNS))
    body[:, : layout.INERTIA] = placement_table([draft.placement[i] for i in kept])
    inertias = chain.from_iterable(draft.inertia[i].about_origin for i in kept)
    body[:, layout.INERTIA : layout.INERTIA + 10] = np.fromiter(inertias, dtype=float, count=10 * n).reshape(n, 10)
    screws = pack_screws(joints, tree, body)

    dof, rest, limits = pack_options(joints, tree, int(nq.sum()), int(nv.sum()))
    gravity = vector3(linkage.gravity, f"gravity of linkage '{linkage.name}'")  # it may have been set since
    arrays = ModelArrays(tree, body, screws, dof, rest, np.array(gravity))
    for array in (*arrays, limits):
        array.setflags(write=False)
    names = tuple(draft.bodies[i].name for i in kept)
    welded = {draft.bodies[i].name: Frame(int(number[draft.host[i]]), pose) for i, pose in draft.welded_at.items()}
    shapes, lost = _placed_shapes(draft, number.tolist())
    return Model(
        name=linkage.name,
        arrays=arrays,
        body_names=names,
        joint_names=tuple(_joint_name(draft, i) for i in kept),
        joints=tuple(joints),
        frames=_reachable_frames(welded, draft),
        shapes=shapes,
        lower=limits[:, 0],
        upper=limits[:, 1],
        effort_limit=limits[:, 2],
        velocity_limit=limits[:, 3],
        warnings=(*linkage.warnings, *lost),
        merged_into=draft.merged_into,
        joint_parts=_joint_parts(draft, kept),
        obstacles=tuple((one.name, _placed(one.shape, one.pose, "")) for one in linkage.obstacles),
        ignore_contact=(
            *((str(a), str(b)) for a, b in linkage.ignore_contact),
            *((draft.bodies[i].name, WORLD) for i in _joined_to_ground(draft, kept, shapes)),
        ),
        sensors=tuple(linkage.sensors),
        units=choice(linkage.units, tuple(UNITS), f"units of linkage '{linkage.name}'"),
    )


def _joined_to_ground(draft: _Draft, kept: list[int], shapes: Sequence[tuple[int, Shape]]) -> list[int]:
    """Bodies on a joint of a body that is fixed to the world and brings shapes there, a robot's base: as all bodies that
    a joint joins, the two do not touch."""
    if all(body >= 0 for body, _ in shapes):
        return []
    fixed = {draft.bodies[i].name for i, host in enumerate(draft.host) if host == -1}
    return [i for i in kept if draft.bodies[i].parent in fixed and not isinstance(draft.joint[i], Free)]


def _joint_freedoms(bodies: list[Body]) -> dict[str, int]:
    """Degrees of freedom of each joint by name; parts of a compound that a file wrote as "a+b+c" by themselves too."""
    found = {body.joint_name: body.joint.nv for body in bodies}
    for body in bodies:
        names = body.joint_name.split("+")
        if len(names) == body.joint.nv > 1:
            found |= dict.fromkeys(names, 1)
    return found


def _with_drives(model: Model, actuators: list[Actuator]) -> Model:
    """The model with what actuators add to its joints: rotors, and the most that drives can give."""
    if not actuators:
        return model
    dof, effort_limit = model.arrays.dof.copy(), model.effort_limit.copy()
    for actuator in actuators:
        row = model.v_slice(actuator.joint).start
        dof[row, layout.ARMATURE] += actuator.gear**2 * actuator.armature
        if actuator.control != "effort":  # what an effort actuator gives is limited where it is given
            effort_limit[row] = min(effort_limit[row], abs(actuator.gear) * actuator.effort_limit)
    for array in (dof, effort_limit):
        array.setflags(write=False)
    arrays = model.arrays._replace(dof=dof)
    return replace(model, arrays=arrays, effort_limit=effort_limit, actuators=tuple(actuators))


def _joint_name(draft: _Draft, i: int) -> str:
    """A joint's name; of several merged into one, all their names."""
    parts = draft.parts.get(i)
    return "+".join(name for name, _ in parts) if parts else draft.bodies[i].joint_name


def _joint_parts(draft: _Draft, kept: list[int]) -> dict[str, tuple[int, int, int]]:
    """Where the joints are that were merged into another: name → body, first degree of freedom within it, how many."""
    found: dict[str, tuple[int, int, int]] = {}
    for number, i in enumerate(kept):
        if draft.joint[i].kind != layout.COMPOUND:
            continue
        parts = draft.parts.get(i)
        if parts is None:  # a file may have written several hinges of one body as a compound "a+b+c"
            names = draft.bodies[i].joint_name.split("+")
            parts = [(name, 1) for name in names] if len(names) == draft.joint[i].nv > 1 else []
        first = 0
        for name, size in parts:
            found[name] = (number, first, size)
            first += size
    return found


def _is_merged(draft: _Draft, i: int) -> bool:
    """Whether a body went into a compound joint, by itself or with the massless body it is welded to."""
    host = draft.host[i]
    return host == -2 or (host >= 0 and draft.host[host] == -2)


def _reachable_frames(welded: dict[str, Frame], draft: _Draft) -> dict[str, Frame]:
    """Frames whose host is a massless body inside a compound joint vanish with it."""
    merged_into = draft.merged_into
    for name, behind in merged_into.items():  # the body behind may itself have vanished into the next joint
        while behind in merged_into:
            behind = merged_into[behind]
        merged_into[name] = behind
    for i in draft.welded_at:
        if _is_merged(draft, i):
            name = draft.bodies[i].name
            del welded[name]
            merged_into[name] = merged_into[draft.bodies[draft.host[i]].name]
    return welded


def _placed_shapes(draft: _Draft, number: list[int]) -> tuple[tuple[tuple[int, Shape], ...], list[str]]:
    """Shapes with the body that carries them, and a warning for each body that vanished with its shapes."""
    shapes: list[tuple[int, Shape]] = []
    lost: list[str] = []
    for i, body in enumerate(draft.bodies):
        if not body.shapes:
            continue
        if _is_merged(draft, i):
            lost.append(f"{label(body)} has no mass and became part of a compound joint; its shapes are left out")
            continue
        at = draft.welded_at.get(i)
        shapes += [(number[draft.host[i]], _placed(shape, at, body.name)) for shape in body.shapes]
    return tuple(shapes), lost


def _placed(shape: Shape, pose: Pose | None, owner: str) -> Shape:
    return shape if pose is None else replace(shape, placement=pose @ shape.placement, owner=owner)


def pack_screws(joints: list[Joint], tree: IntArray, body: FloatArray) -> FloatArray:
    """Writes the screw of each helical joint into its body's row; returns the table for compound joints."""
    rows: list[tuple[float, ...]] = []
    compound: list[tuple[float, ...]] = []
    helical: list[int] = []
    for i, joint in enumerate(joints):
        if joint.kind == layout.HELICAL:
            (axis, slide, center) = joint.screws[0]
            rows.append((*axis, *slide, *center))
            helical.append(i)
        elif joint.kind == layout.COMPOUND:
            tree[i, layout.SCREW] = len(compound)
            compound += [(*s.axis, *s.slide, *s.center) for s in joint.screws]
        elif joint.kind == layout.SPHERICAL:
            body[i, layout.CENTER : layout.CENTER + 3] = joint.center
    if rows:
        body[helical, layout.AXIS : layout.AXIS + 9] = np.fromiter(
            chain.from_iterable(rows), dtype=float, count=9 * len(rows)
        ).reshape(-1, 9)
    return np.array(compound, dtype=float).reshape(-1, layout.SCREW_COLUMNS)


def pack_options(joints: list[Joint], tree: IntArray, nq: int, nv: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Damping, stiffness, armature; rest coordinates; lower, upper, effort and velocity limits (nv, 4)."""
    dof = np.zeros((nv, layout.DOF_COLUMNS))
    rest = np.zeros(nq)
    limits = np.empty((nv, 4))
    limits[:, 0] = -np.inf
    limits[:, 1:] = np.inf
    for i, joint in enumerate(joints):
        quaternion = joint.kind in (layout.SPHERICAL, layout.FREE)
        if not quaternion and not joint.has_options:
            continue
        k, j = int(tree[i, layout.Q]), int(tree[i, layout.V])
        rest[k : k + joint.nq] = joint.rest_coordinates()
        rows = slice(j, j + joint.nv)
        dof[rows, layout.DAMPING] = joint.per_dof("damping")
        dof[rows, layout.STIFFNESS] = joint.per_dof("stiffness")
        dof[rows, layout.ARMATURE] = joint.per_dof("armature")
        limits[rows, :2] = joint.limit_pairs()
        limits[rows, 2] = joint.per_dof("effort_limit", np.inf)
        limits[rows, 3] = joint.per_dof("velocity_limit", np.inf)
    return dof, rest, limits
