"""From motion capture to joint efforts: a BVH file is read, smoothed, re-rooted to the supporting foot in every frame.

    python mocap_inverse_dynamics.py [walk.bvh]

Without a file, a figure that marches on the spot is written and read. A plot is saved beside (mocap.png) if matplotlib is
installed.
"""

import math
import sys
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.scenarios.motion import analyse_motion, smooth_motion

LEGS = """JOINT {side}UpLeg
{{ OFFSET {x} -5 0  CHANNELS 3 Zrotation Xrotation Yrotation
  JOINT {side}Leg
  {{ OFFSET 0 -43 0  CHANNELS 1 Xrotation
    JOINT {side}Foot
    {{ OFFSET 0 -42 0  CHANNELS 1 Xrotation
      End Site {{ OFFSET 0 -8 14 }} }} }} }}
"""
ARMS = """JOINT {side}Arm
{{ OFFSET {x} 20 0  CHANNELS 3 Zrotation Xrotation Yrotation
  JOINT {side}ForeArm
  {{ OFFSET 0 -30 0  CHANNELS 1 Xrotation
    End Site {{ OFFSET 0 -40 0 }} }} }}
"""


def marching(frames: int = 180, frame_time: float = 1.0 / 60.0) -> str:
    """A BVH file in which the knees are lifted by turns and the hips sway over the other foot."""
    text = (
        "HIERARCHY\nROOT Hips\n{ OFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    )
    text += LEGS.format(side="Left", x=9) + LEGS.format(side="Right", x=-9)
    text += "JOINT Spine\n{ OFFSET 0 8 0  CHANNELS 3 Zrotation Xrotation Yrotation\n"
    text += "JOINT Spine1\n{ OFFSET 0 18 0  CHANNELS 3 Zrotation Xrotation Yrotation\n"
    text += ARMS.format(side="Left", x=18) + ARMS.format(side="Right", x=-18)
    text += (
        "JOINT Head\n{ OFFSET 0 24 0  CHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site { OFFSET 0 25 0 } } } } }\n"
    )
    text += f"MOTION\nFrames: {frames}\nFrame Time: {frame_time}\n"
    for k in range(frames):
        beat = math.sin(2.0 * math.pi * 0.8 * k * frame_time)
        sway = -6.0 * beat
        row = [sway, 98.0, 0.0, 0.0, 0.0, 0.0]
        for lift in (max(0.0, beat) ** 2, max(0.0, -beat) ** 2):
            lean = math.degrees(math.asin(sway / 90.0))
            row += [-lean, -50.0 * lift, 0.0, 80.0 * lift, -30.0 * lift]
        row += [0.0] * 6  # spine
        for swing in (-beat, beat):
            row += [0.0, 25.0 * swing, 0.0, -20.0]
        row += [0.0] * 3  # head
        text += " ".join(f"{value:.5f}" for value in row) + "\n"
    return text


if len(sys.argv) > 1:
    path = Path(sys.argv[1])
else:
    path = Path("marching.bvh")
    path.write_text(marching(), encoding="utf-8")

figure = lw.load(path, mass=70.0)
for warning in figure.warnings:
    print("note:", warning)
model = figure.compile()
rest_pose_first = any("rest pose" in warning for warning in figure.warnings)
recorded = figure.motion.cut(1 if rest_pose_first else 0)
print(f"{model}, {model.mass.sum():.0f} kg, {recorded.frames} frames of {recorded.frame_time * 1e3:.1f} ms")

motion = smooth_motion(model, recorded.coordinates(model), recorded.frame_time)
result = analyse_motion(model, motion)

weight = model.mass.sum() * 9.81
edge = round(0.15 / recorded.frame_time)
inner = slice(edge, -edge)  # at the ends polynomials are fitted to one side only
error = np.abs(result.reaction - result.weight_and_push)[inner].max()
print(f"ground reaction: {result.reaction[inner, 2].mean():.0f} N up on average; the weight is {weight:.0f} N")
print(f"against mass x (a - g) of the centre of mass: at most {error:.1f} N apart ({error / weight:.1%} of the weight)")
print(f"left unexplained at the root: {np.abs(result.efforts[:, :6]).max():.0e} N or N·m")
knees = [name for name in model.joint_names if name.lower().endswith(("leg", "tibia")) and "up" not in name.lower()]
for knee in knees:
    print(f"{knee}: efforts up to {np.linalg.norm(result.effort(knee)[inner], axis=1).max():.0f} N·m")


def plot() -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot: matplotlib is not installed (pip install '.[plots]')")
        return
    t = motion.times[inner]
    picture = Figure(figsize=(8.0, 6.4), layout="constrained")
    top, middle, bottom = picture.subplots(3, 1, sharex=True)
    top.plot(t, result.reaction[inner, 2], color=(0.1, 0.3, 0.6), label="inverse dynamics at the foot")
    top.plot(t, result.weight_and_push[inner, 2], "--", color="0.4", label="mass · (a - g) of the centre of mass")
    top.axhline(weight, color="0.7", linewidth=0.8)
    top.set_ylabel("ground reaction, up [N]")
    top.margins(y=0.25)
    top.legend(fontsize=8, frameon=False, ncols=2, loc="upper right")
    for knee in knees:
        middle.plot(t, np.linalg.norm(result.effort(knee)[inner], axis=1), label=knee)
    middle.set_ylabel("knee effort [N·m]")
    middle.margins(y=0.2)
    middle.legend(fontsize=8, frameon=False, ncols=2, loc="upper right")
    bottom.step(t, result.support.which[inner], color=(0.75, 0.2, 0.15), where="mid")
    bottom.set_yticks([0, 1], result.support.feet)
    bottom.set_ylabel("supporting foot")
    bottom.set_xlabel("time [s]")
    picture.savefig("mocap.png", dpi=110)
    print("plot saved to mocap.png")


plot()
