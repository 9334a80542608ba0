"""Draws the moving picture of the landing page: a molecule of 50,000 joints is pulled, and only the coloured joints move.

    python docs/make_landing_picture.py

Left the whole molecule, right the part that is pulled. Under it what the reports of the steps say: joints computed, and the
bound on the accelerations of all the others.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import linkwork as lw

JOINTS, TOLERANCE = 50_000, 2**-11
PULLED = 25_000
FRAMES, STEPS, H = 60, 40, 2e-3
PULL = 0.3  # [N]
NEAR = 110  # bodies on either side of the pulled one in the right panel
MARGIN = 1.0  # [m] round the part
GREY, COLOUR = "#b8bcc8", "#e91e63"
OUT = Path(__file__).parent / "pictures" / "landing.gif"


def plane_of(points: np.ndarray) -> np.ndarray:
    """The two directions in which points spread most, shape (3, 2)."""
    return np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:2].T


def main() -> None:
    model = lw.library.molecule(joints=JOINTS, seed=1).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=100)
    start = lw.body_poses(model, sim.state)[:, :3, 3]
    whole, near = plane_of(start), slice(PULLED - NEAR, PULLED + NEAR)
    towards = start[PULLED] - start[near].mean(axis=0)
    sim.apply_wrench(PULLED, force=tuple(PULL * towards / np.linalg.norm(towards)))
    close = plane_of(start[near])
    box = (start[near] - start[PULLED]) @ close
    low, high = box.min(axis=0) - MARGIN, box.max(axis=0) + MARGIN
    pictures = []
    moved = np.zeros(model.n_bodies, dtype=bool)
    farthest = 0.0
    for frame in range(FRAMES):
        if frame == FRAMES // 2:
            sim.clear_loads()
        report = sim.step(H, STEPS)
        points = lw.body_poses(model, sim.state)[:, :3, 3]
        active = np.zeros(model.n_bodies, dtype=bool)
        active[[model.body(name) for name in bodies_of(model, sim.active_joints)]] = True
        moved |= active
        farthest = max(farthest, float(np.linalg.norm(points[PULLED] - start[PULLED])))
        pictures.append(draw(points, whole, close, start[PULLED], near, active, (low, high), report, frame))
    pictures[0].save(OUT, save_all=True, append_images=pictures[1:], duration=90, loop=0, optimize=True)
    size = OUT.stat().st_size / 1e6
    print(f"{OUT}: {size:.2f} MB; {int(moved.sum())} joints were active; the pulled body moved by {farthest:.2g} m")


def bodies_of(model: lw.Model, joints: list[str]) -> list[str]:
    by_joint = dict(zip(model.joint_names, model.body_names, strict=True))
    return [by_joint[name] for name in joints]


def draw(points, whole, close, origin, near, active, limits, report, frame) -> Image.Image:
    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    flat = points @ whole
    left.plot(*flat.T, color=GREY, linewidth=0.4)
    left.scatter(*flat[active].T, s=10, color=COLOUR, zorder=3)
    left.set_title(f"{JOINTS:,} joints", fontsize=11)
    part, mine = (points[near] - origin) @ close, active[near]
    right.plot(*part.T, color=GREY, linewidth=1.6)
    right.scatter(*part[mine].T, s=26, color=COLOUR, zorder=3)
    right.set(xlim=(limits[0][0], limits[1][0]), ylim=(limits[0][1], limits[1][1]))
    right.set_title("the part that is pulled" if frame < FRAMES // 2 else "let go", fontsize=11)
    for axes in (left, right):
        axes.set_aspect("equal")
        axes.axis("off")
    others = f"total acceleration of all others: at most {report.error_bound:.1e}"
    text = f"{report.n_active} of {JOINTS:,} joints move; {others}"
    figure.supxlabel(text, fontsize=11, color="#333333")
    held = io.BytesIO()
    figure.savefig(held, dpi=80, format="png")
    return Image.open(held).convert("P", palette=Image.Palette.ADAPTIVE, colors=32)


if __name__ == "__main__":
    main()
