"""Loop closures: joints beside the tree, which close its chains. What people write, and what a model keeps of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from linkwork.core.messages.describe import tabled
from linkwork.model.joints import Free, Joint
from linkwork.spatial.pose import Pose


@tabled
@dataclass(frozen=True, slots=True)
class Loop:
    """A joint between two bodies that hang from the world by other joints too.

    The joint's zero frame stands at `placement_a` in body a, its child frame at `placement_b` in body b.
    """

    name: str
    joint: Joint
    body_a: str
    body_b: str
    placement_a: Pose
    placement_b: Pose
    source: str = ""  # "file:line" when a file brought it


@tabled
class LoopClosure(NamedTuple):
    """A compiled loop: bodies by number, -1 for the world; frames as poses in those bodies."""

    name: str
    joint: Joint
    body_a: int
    body_b: int
    placement_a: Pose
    placement_b: Pose


def loop_faults(loops: list[Loop], known: Callable[[str], bool], frames: Mapping[str, str]) -> list[str]:
    """Why loops cannot be simulated; empty when they can. frames: the bodies they stand on, by name."""
    faults = [
        f"loop name '{name}' is used {count} times; names must be unique"
        for name, count in Counter(loop.name for loop in loops).items()
        if count > 1
    ]
    for loop in loops:
        label = f"{loop.source}: loop '{loop.name}'" if loop.source else f"loop '{loop.name}'"
        for body in (loop.body_a, loop.body_b):
            if body in frames:
                where = f"name '{frames[body]}', with the frame's pose in placements"
                faults.append(f"{label}: '{body}' is a frame; {where}")
            elif not known(body):
                faults.append(f"{label}: body '{body}' is unknown")
        if loop.body_a == loop.body_b:
            faults.append(f"{label} joins body '{loop.body_a}' to itself; a loop needs two bodies")
        if isinstance(loop.joint, Free) or loop.joint.nv == 6:
            faults.append(f"{label}: a joint with six degrees of freedom closes nothing; leave the loop out")
        if loop.joint.has_options:
            faults.append(
                f"{label}: limits, damping, stiffness, rest, armature and effort limits are not simulated at the joint of "
                "a loop; give them to a joint of the tree, or cut the loop at another joint"
            )
        faults += [f"{label}: {fault}" for fault in loop.joint.faults()]
        for pose, body in ((loop.placement_a, loop.body_a), (loop.placement_b, loop.body_b)):
            if not pose.is_finite:
                faults.append(f"{label}: its placement in '{body}' has a number that is not finite: {pose}")
    return faults


def placed_loops(
    loops: list[Loop], place: Callable[[str], tuple[int, Pose] | None]
) -> tuple[list[LoopClosure], list[str]]:
    """Closures between compiled bodies, and the faults that only compiling shows.

    place: the compiled body (-1: the world) that carries a body and the pose of the latter in it; None where a massless
    body went into a compound joint.
    """
    closures, faults = [], []
    for loop in loops:
        a, b = place(loop.body_a), place(loop.body_b)
        if a is None or b is None:
            lost = loop.body_a if a is None else loop.body_b
            faults.append(
                f"loop '{loop.name}': body '{lost}' has no mass and became part of a compound joint; give it a mass"
            )
        elif a[0] == b[0]:
            faults.append(
                f"loop '{loop.name}' joins '{loop.body_a}' and '{loop.body_b}', which are welded together; remove the loop"
            )
        else:
            frames = a[1] @ loop.placement_a, b[1] @ loop.placement_b
            closures.append(LoopClosure(loop.name, loop.joint, a[0], b[0], *frames))
    return closures, faults
