"""A linkage that becomes part of another one."""

from __future__ import annotations

from linkwork.errors import ModelError
from linkwork.model.frames import merged_frames
from linkwork.model.joints import Joint
from linkwork.model.linkage import WORLD, Linkage
from linkwork.spatial.pose import Pose


def merge_into(into: Linkage, other: Linkage, prefix: str, parent: str, placement: Pose, joint: Joint | None) -> None:
    """`Linkage.merge`, which says what it does, with arguments that are checked."""
    if other.units != into.units:
        raise ModelError(
            f"'{other.name}' is in {other.units} units and '{into.name}' in {into.units} ones; give both the same: "
            f"lw.Linkage(name, units='{other.units}')."
        )
    roots = [body for body in other if body.parent == WORLD]
    if joint is not None and len(roots) != 1:
        raise ModelError(f"merging '{other.name}' by a joint needs exactly one body on its world; it has {len(roots)}.")
    clashes = [prefix + body.name for body in other if prefix + body.name in into]
    if clashes:
        raise ModelError(
            f"merging '{other.name}' into '{into.name}' would give {len(clashes)} names twice; choose another prefix.",
            [f"'{name}' exists already" for name in clashes],
        )
    for body in [*other, *other._duplicates]:  # a copy: `other` may be this very linkage
        is_root = body.parent == WORLD
        into.add_body(
            prefix + body.name,
            parent if is_root else prefix + body.parent,
            joint if is_root and joint is not None else body.joint,
            placement @ body.placement if is_root else body.placement,
            body.inertia,
            joint_name=prefix + body.joint_name,
            shapes=body.shapes,
            source=body.source,
        )
    for loop in other.loops:
        ends = [(parent, placement @ pose) if body == WORLD else (prefix + body, pose) for body, pose in
                ((loop.body_a, loop.placement_a), (loop.body_b, loop.placement_b))]  # fmt: skip
        (a, in_a), (b, in_b) = ends
        into.add_loop(loop.joint, a, b, (in_a, in_b), name=prefix + loop.name, source=loop.source)
    into.rods += [rod.renamed(prefix) for rod in list(other.rods)]
    for frame in merged_frames(other._frames, prefix, WORLD, parent, placement):
        into.add_frame(*frame)
    if parent == WORLD:
        for obstacle in other.obstacles:
            name, pose = prefix + obstacle.name, placement @ obstacle.pose
            into.add_obstacle(name, obstacle.shape, pose, source=obstacle.source)
    elif other.obstacles:
        into.warnings.append(
            f"{prefix}{other.name}: its {len(other.obstacles)} obstacles stand in the world and are left out, since "
            f"it hangs from '{parent}'"
        )
    into.ignore_contact += [
        tuple(WORLD if name == WORLD else prefix + name for name in pair)  # type: ignore[misc]
        for pair in list(other.ignore_contact)
    ]
    into.sensors += [
        x.moved_to(prefix + x.name, parent if x.on == WORLD else prefix + x.on, lambda name: prefix + name)
        for x in list(other.sensors)
    ]
    into.actuators += [x.moved_to(prefix + x.name, prefix + x.joint) for x in list(other.actuators)]
    into.couplings += [x.renamed(prefix) for x in list(other.couplings)]
    into.warnings += [f"{prefix}{other.name}: {warning}" for warning in other.warnings]
