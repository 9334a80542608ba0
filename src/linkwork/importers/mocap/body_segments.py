"""Which part of a human body a bone of a motion-capture skeleton is, and what it weighs.

Masses: P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", J. Biomechanics 29(9), 1996, table
4, men, as fractions of the body's mass. A segment that a skeleton cuts into several bones shares its mass among them in
proportion to their lengths; what a skeleton leaves out is spread over the rest, so that the total is the mass asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from linkwork.errors import ModelError

FRACTIONS = {
    "pelvis": 0.1117, "abdomen": 0.1633, "chest": 0.1596, "head": 0.0694,
    "upper_arm": 0.0271, "forearm": 0.0162, "hand": 0.0061,
    "thigh": 0.1416, "shank": 0.0433, "foot": 0.0137,
}  # fmt: skip
MIDDLE = ("pelvis", "abdomen", "chest", "head")  # there is one of each, whatever sides its bones are on
UNKNOWN = 0.005  # of the body's mass, for a bone whose name says nothing
ALL_UNKNOWN = 0.05  # of the body's mass, for all such bones together

# Parts of a face; between them they weigh next to nothing beside the skull they move on.
FACE = r"brow|eye|lid|lip|cheek|nose|nostril|tongue|mouth|chin|jaw|teeth|tooth|^[lr]?ear|^left_?ear|^right_?ear|face|squint"
FACE_PART = 0.1  # of the rest of the head's mass, for all parts of a face together

# The first pattern that is found in a bone's name (lower case, letters and digits only) decides.
NAMES: tuple[tuple[str, str], ...] = (
    (FACE, "head"),
    (r"hipjoint|hips|pelvis|^root|^hip$|buttock", "pelvis"),
    (r"finger|thumb|index|middle|ring|pinky|palm|hand|wrist", "hand"),
    (r"forearm|lowerarm|lowarm|radius|elbow", "forearm"),
    (r"clavicle|collar|shoulder", "chest"),
    (r"arm|humerus|shldr", "upper_arm"),
    (r"toe|foot|ankle|heel", "foot"),
    (r"upleg|upperleg|thigh|femur|hip$", "thigh"),
    (r"leg|shin|tibia|knee|calf", "shank"),
    (r"neck|head|skull|eye|jaw", "head"),
    (r"spine[1-9]|upperback|thorax|chest|spineup", "chest"),
    (r"lowerback|spine|abdomen|waist|torso|back", "abdomen"),
)
SHORTEST = 0.02  # [m] a bone of no length still counts this much when a segment's mass is shared


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.split(":")[-1].lower())


def is_face(name: str) -> bool:
    return re.search(FACE, _plain(name)) is not None


def segment_of(name: str) -> str | None:
    """The segment a bone belongs to by its name, or None."""
    plain = _plain(name)
    return next((segment for pattern, segment in NAMES if re.search(pattern, plain)), None)


def side_of(name: str) -> str:
    """ "left", "right" or "" for what is in the middle."""
    plain = name.split(":")[-1]
    lower = plain.lower()
    for side in ("left", "right"):
        if side in lower:
            return side
    found = re.match(
        r"^([lrLR])(?=[_.A-Z])|^([lrLR])(?=clav|hum|rad|wri|hand|fin|thu|fem|tib|foo|toe|hip|ank|sho|elb|kne)", plain
    )
    found = found or re.search(r"[_.]([lrLR])$", plain)
    if found:
        return "left" if next(g for g in found.groups() if g).lower() == "l" else "right"
    return ""


def bone_masses(
    lengths: Mapping[str, float], total: float, given: Mapping[str, float] | None = None
) -> tuple[dict[str, float], list[str]]:
    """Mass of every bone [kg], and the bones whose names say nothing.

    lengths: of the bones by name [m]; total: of the whole body [kg]; given: masses of single bones that the caller has.
    """
    known = dict(given or {})
    strangers = sorted(set(known) - set(lengths))
    if strangers:
        raise ModelError(f"masses are given for {strangers}, which are not bones; there are {', '.join(lengths)}.")
    words = {name: mass for name, mass in {**known, "mass": total}.items() if not isinstance(mass, int | float)}
    if words or not math.isfinite(total):
        raise ModelError(f"masses must be finite numbers [kg], not {words or total!r}.")
    light = {name: mass for name, mass in known.items() if not mass > 0.0}
    if light or not total > sum(known.values()):
        raise ModelError(f"masses must be > 0 and sum to less than the whole body's {total:g} kg: {light or known}.")
    groups: dict[tuple[str, str], list[str]] = {}
    for name in lengths:
        if name not in known:
            segment = segment_of(name) or name
            groups.setdefault((segment, "" if segment in MIDDLE else side_of(name)), []).append(name)
    if not any(segment == "upper_arm" for segment, _ in groups):  # skeletons that name joints: shoulder, elbow, wrist
        _take_joint_names(groups)
    strange = sum(len(bones) for (segment, _), bones in groups.items() if segment not in FRACTIONS)
    each = min(UNKNOWN, ALL_UNKNOWN / strange) if strange else UNKNOWN
    share: dict[str, float] = {}
    for (segment, _), bones in groups.items():
        counted = _counted_lengths(bones, lengths)
        for bone in bones:
            share[bone] = FRACTIONS.get(segment, each) * counted[bone] / sum(counted.values())
    left = total - sum(known.values())
    scale = left / sum(share.values()) if share else 0.0
    masses = {name: known[name] if name in known else scale * share[name] for name in lengths}
    return masses, [name for name in lengths if name not in known and segment_of(name) is None]


def _counted_lengths(bones: list[str], lengths: Mapping[str, float]) -> dict[str, float]:
    """Lengths by which the bones of a segment share its mass [m]; parts of a face count little beside the skull."""
    counted = {bone: max(lengths[bone], SHORTEST) for bone in bones}
    face = [bone for bone in bones if is_face(bone)]
    skull = sum(counted[bone] for bone in bones if bone not in face)
    if face and skull:
        counted.update(dict.fromkeys(face, FACE_PART * skull / len(face)))
    return counted


def _take_joint_names(groups: dict[tuple[str, str], list[str]]) -> None:
    """Bones called after the joint they begin at: a shoulder carries the upper arm."""
    chest = groups.get(("chest", ""), [])
    arms = [bone for bone in chest if "shoulder" in bone.lower() and side_of(bone)]
    rest = [bone for bone in chest if bone not in arms]
    if not arms or not rest:
        return
    groups["chest", ""] = rest
    for bone in arms:
        groups.setdefault(("upper_arm", side_of(bone)), []).append(bone)
