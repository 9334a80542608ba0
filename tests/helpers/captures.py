"""Captured motion that no file is needed for: a walk by rule as BVH, a skeleton in random motion as ASF and AMC.

Recordings of people are read as well where they lie beside the checkout.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

BESIDE = Path(__file__).parents[2].parent / "shared" / "data" / "mocap"

RATE = 120.0  # [Hz]
FRAMES = 344  # with the rest pose that recordings begin with
SPEED, PERIOD, DUTY = 80.0, 1.2, 0.53  # [cm/s], [s] of two steps, and how much of it a foot stands
HIP, BOB, LIFT = 82.0, 0.8, 10.0  # [cm] height of the hips, its change, and how high an ankle swings
SWAY = 2.8  # [cm] of the hips towards the foot that stands: the ground then pushes under that foot
THIGH = SHANK = 42.0  # [cm]
ANKLE = 6.0  # [cm] above the sole

# name, offset [cm] from the parent, children; y is up, z forward, x left
Bone = tuple[str, tuple[float, float, float], list]


def leg(side: str, x: float) -> Bone:
    toes: Bone = (f"{side}ToeBase", (0.0, -ANKLE, 13.0), [])
    foot: Bone = (f"{side}Foot", (0.0, -SHANK, 0.0), [toes])
    return (f"{side}UpLeg", (x, 0.0, 0.0), [(f"{side}Leg", (0.0, -THIGH, 0.0), [foot])])


def arm(side: str, x: float) -> Bone:
    lower: Bone = (f"{side}ForeArm", (0.0, -28.0, 0.0), [(f"{side}Hand", (0.0, -25.0, 0.0), [])])
    return (f"{side}Arm", (x, 20.0, 0.0), [lower])


NECK: Bone = ("Neck", (0.0, 22.0, 0.0), [("Head", (0.0, 10.0, 0.0), [])])
CHEST: Bone = ("Spine1", (0.0, 20.0, 0.0), [NECK, arm("Left", 18.0), arm("Right", -18.0)])
TOES, HAND = (0, 0, 7), (0, -8, 0)  # [cm] to where the last bones end
ENDS = {"LeftToeBase": TOES, "RightToeBase": TOES, "LeftHand": HAND, "RightHand": HAND, "Head": (0, 15, 0)}
BODY: Bone = ("Hips", (0.0, 0.0, 0.0), [leg("Left", 9.0), leg("Right", -9.0), ("Spine", (0.0, 12.0, 0.0), [CHEST])])


def _hierarchy(bone: Bone, names: list[str], depth: int = 0) -> list[str]:
    name, offset, children = bone
    names.append(name)
    pad, inner = "  " * depth, "  " * (depth + 1)
    channels = "3 Zrotation Xrotation Yrotation"
    if depth == 0:
        channels = "6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
    lines = [f"{pad}{'JOINT' if depth else 'ROOT'} {name}", f"{pad}{{"]
    lines += [f"{inner}OFFSET {' '.join(map(str, offset))}", f"{inner}CHANNELS {channels}"]
    for child in children:
        lines += _hierarchy(child, names, depth + 1)
    if not children:
        lines += [f"{inner}End Site", f"{inner}{{", f"{inner}  OFFSET {' '.join(map(str, ENDS[name]))}", f"{inner}}}"]
    return [*lines, f"{pad}}}"]


def _ankle(phase: float, cycle: float) -> tuple[float, float]:
    """Way forward and height [cm] of an ankle: on its place while the foot stands, then by a smooth arc to the next one."""
    turns, now = divmod(cycle + phase, 1.0)
    stride = SPEED * PERIOD
    place = (turns - phase + 0.5 * DUTY) * stride  # under the hips in the middle of the stance
    if now < DUTY:
        return place, ANKLE
    s = (now - DUTY) / (1.0 - DUTY)
    smooth = s * s * (3.0 - 2.0 * s)  # at rest at both ends
    return place + smooth * stride, ANKLE + LIFT * (4.0 * s * (1.0 - s)) ** 2


def walk() -> str:
    """A BVH file of a person who walks at 0.8 m/s: hips, legs by the angles that put each foot where it stands, arms."""
    names: list[str] = []
    head = _hierarchy(BODY, names)
    rows = [np.zeros(3 + 3 * len(names))]
    for k in range(FRAMES - 1):
        cycle = k / RATE / PERIOD
        forward = SPEED * PERIOD * cycle
        height = HIP - BOB * np.cos(4.0 * np.pi * (cycle - 0.5 * DUTY + 0.25))  # highest over the foot that stands
        sway = SWAY * np.cos(2.0 * np.pi * (cycle - 0.5 * DUTY))  # to the left
        turned, rolled = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)  # about x, about z [rad]
        for side, phase in (("Left", 0.0), ("Right", 0.5)):
            z, y = _ankle(phase, cycle)
            ahead, down = z - forward, np.hypot(height - y, sway)
            rolled[f"{side}UpLeg"] = np.arctan2(-sway, height - y)
            bent = np.arccos((ahead**2 + down**2) / (2.0 * THIGH * SHANK) - 1.0)
            thigh = np.arctan2(ahead, down) + 0.5 * bent  # forward
            turned |= {f"{side}UpLeg": -thigh, f"{side}Leg": bent, f"{side}Foot": thigh - bent}
            turned[f"{side}Arm"] = 0.3 * np.sin(2.0 * np.pi * (cycle + phase))
        angles = [np.degrees((rolled[name], turned[name], 0.0)) for name in names]
        rows.append(np.concatenate([(sway, height, forward), *angles]))
    text = ["HIERARCHY", *head, "MOTION", f"Frames: {len(rows)}", f"Frame Time: {1.0 / RATE:.10f}"]
    return "\n".join([*text, *(" ".join(f"{x:.9g}" for x in row) for row in rows), ""])


def acclaim(rng: np.random.Generator, frames: int = 401) -> tuple[str, str]:
    """An ASF skeleton of ten bones with any axes and any of their rotations free, and an AMC file that moves it."""
    order = ("rx", "ry", "rz")
    bones, moves, tree = [], [], []
    names = ["root"]
    for k in range(10):
        name, parent = f"bone{k}", names[rng.integers(len(names))]
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        dof = [d for d in order if rng.uniform() < 0.7] if k else list(order)
        bones += [" begin", f"  name {name}", f"  direction {' '.join(f'{x:.12f}' for x in direction)}"]
        axis = " ".join(f"{x:.6f}" for x in rng.uniform(-90, 90, 3))
        bones += [
            f"  length {rng.uniform(1, 8):.6f}",
            f"  axis {axis} XYZ",
            *([f"  dof {' '.join(dof)}"] if dof else []),
        ]
        bones.append(" end")
        tree.append(f"  {parent} {name}")
        names.append(name)
        if dof:
            moves.append((name, 40.0 * np.sin(np.linspace(0, 6, frames)[:, None] + rng.uniform(0, 6, len(dof)))))
    skeleton = [":units", " length 0.45", " angle deg", ":root", " order TX TY TZ RX RY RZ", ":bonedata", *bones]
    skeleton += [":hierarchy", " begin", *tree, " end", ""]
    root = np.linspace(0, 1, frames)[:, None] * rng.uniform(-20, 20, 6)
    motion = [":FULLY-SPECIFIED", ":DEGREES"]
    for k in range(frames):
        motion += [str(k + 1), "root " + " ".join(f"{x:.9f}" for x in root[k])]
        motion += [f"{name} " + " ".join(f"{x:.9f}" for x in angles[k]) for name, angles in moves]
    return "\n".join(skeleton), "\n".join([*motion, ""])
