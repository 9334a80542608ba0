"""Frames that people name on bodies: what a linkage keeps of them, and where they stand in a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linkwork.core.checks import shown
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.names import did_you_mean
from linkwork.errors import ModelError
from linkwork.spatial.pose import Pose

if TYPE_CHECKING:
    from linkwork.model.model import Frame


@tabled
@dataclass(frozen=True, slots=True)
class FrameOn:
    """A named frame of a linkage, fixed in a body, in another frame or in the world."""

    name: str
    body: str
    pose: Pose

    def renamed(self, old: str, new: str) -> FrameOn:
        """The same frame after its body has changed its name."""
        return replace(self, body=new) if self.body == old else self


def new_frame(linkage: str, name: str, body: str, pose: Pose, taken: bool) -> FrameOn:
    """A frame, or an error that says what is wrong with it."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"linkage '{linkage}': a frame's name must be a non-empty string, not {shown(name)}.")
    if taken:
        raise ModelError(f"linkage '{linkage}' has a body or frame '{name}' already; choose another name.")
    if not isinstance(body, str):
        raise ModelError(f"frame '{name}' stands on a body by name, not on {shown(body)}.")
    if not isinstance(pose, Pose):
        raise ModelError(f"frame '{name}': pose must be a lw.Pose, not {shown(pose)}.")
    return FrameOn(name, body, pose)


def merged_frames(
    frames: dict[str, FrameOn], prefix: str, world: str, parent: str, placement: Pose
) -> list[tuple[str, str, Pose]]:
    """Names, bodies and poses of the frames of a linkage that is merged into another."""
    return [
        (prefix + frame.name, parent, placement @ frame.pose)
        if frame.body == world
        else (prefix + frame.name, prefix + frame.body, frame.pose)
        for frame in list(frames.values())
    ]


def frame_faults(frames: Iterable[FrameOn], bodies: Iterable[str]) -> list[str]:
    """What is wrong with the frames of a linkage, in sentences; bodies: their names, and the world's."""
    named = {frame.name: frame for frame in frames}
    known = set(bodies)
    faults = []
    for frame in named.values():
        if frame.name in known:
            faults.append(f"frame '{frame.name}' has the name of a body")
        if not frame.pose.is_finite:
            faults.append(f"frame '{frame.name}' has a pose with numbers that are not finite")
        seen, body = {frame.name}, frame.body
        while body in named and body not in seen:
            seen.add(body)
            body = named[body].body
        if body not in known:
            if body in seen:
                faults.append(f"frame '{frame.name}' stands on itself, by way of '{frame.body}'")
            elif frame.body == body:
                faults.append(
                    f"frame '{frame.name}' stands on body '{body}', which does not exist{did_you_mean(body, known)}"
                )
    return faults


def placed_frames(
    frames: Iterable[FrameOn], frame_of: Callable[[str], Frame | None]
) -> tuple[dict[str, Frame], list[str]]:
    """Where frames stand in a model, and faults; frame_of: a body's, None for one that is part of a compound joint."""
    named = {frame.name: frame for frame in frames}
    placed: dict[str, Frame] = {}
    faults = []
    for frame in named.values():
        pose, body = frame.pose, frame.body
        while body in named:
            pose, body = named[body].pose @ pose, named[body].body
        host = frame_of(body)
        if host is None:
            faults.append(
                f"frame '{frame.name}' stands on body '{body}', which has no mass and became part of a compound joint. "
                "Give the body a mass, or put the frame on the next one"
            )
        else:
            placed[frame.name] = host._replace(pose=host.pose @ pose)
    return placed, faults
