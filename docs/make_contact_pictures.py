"""Makes the picture strips of docs/contact.md: `python docs/make_contact_pictures.py [SCENE ...]` (extra `plots`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

FOLDER = Path(__file__).parent / "pictures"
ACTIVE, RIGID, STONE, PRESSED = "tab:orange", "tab:blue", "0.75", "tab:red"


class Strip(NamedTuple):
    """Moments [s] of a scene, seen from the side (x to the right, z up), and what part of it [m]."""

    times: tuple[float, ...]
    x: tuple[float, float]
    z: tuple[float, float]
    across: int  # pictures beside each other


STRIPS = {
    "pendulum_pegs": Strip((0.0, 0.4, 0.8, 1.2, 2.0), (-1.5, 3.2), (-4.2, 0.3), 5),
    "threading": Strip((0.3, 1.0, 1.7, 2.3, 3.0), (-0.6, 0.7), (-0.7, 1.95), 5),
    "bridge": Strip((0.0, 1.25, 2.5, 3.75), (-1.6, 2.6), (-0.6, 0.3), 1),
}


def obstacle_outline(shape: lw.Box | lw.Cylinder) -> Any:
    """What the plane of the picture cuts out of a box or a cylinder along an axis of the world; None: nothing."""
    T = shape.placement.matrix
    x, y, z = T[:3, 3]
    if isinstance(shape, lw.Cylinder) and abs(T[1, 2]) > 0.5:
        return plt.Circle((x, z), shape.radius, color=STONE)
    size = shape.size if isinstance(shape, lw.Box) else (2 * shape.radius, 2 * shape.radius, shape.length)
    size = np.abs(T[:3, :3]) @ size
    if abs(y) > 0.5 * size[1]:
        return None
    return plt.Rectangle((x - 0.5 * size[0], z - 0.5 * size[2]), size[0], size[2], color=STONE)


def draw(axes: Any, sim: lw.AdaptiveDynamics, strip: Strip, time: float) -> None:
    for _, shape in sim.model.obstacles:
        outline = obstacle_outline(shape)
        if outline is not None:
            axes.add_patch(outline)
    places = lw.body_poses(sim.model, sim.state)
    tip = places[-1, :3, 3] + 0.02 * -places[-1, :3, 2]
    points = np.vstack([places[:, :3, 3], tip])[:, [0, 2]]
    axes.plot(*points.T, color=RIGID, lw=1.6)
    moving = [sim.model.joint_names.index(name) for name in sim.active_joints]
    axes.plot(*points[moving].T, ".", color=ACTIVE, ms=4)
    pressed = [point.point for point in sim.contacts if point.state != "apart"]
    if pressed:
        axes.plot(*np.array(pressed)[:, [0, 2]].T, "o", mfc="none", color=PRESSED, ms=6)
    axes.set(xlim=strip.x, ylim=strip.z, aspect="equal", title=f"{time:g} s")
    axes.tick_params(labelsize=7)


def make(name: str) -> None:
    scene, strip = lw.Scene.read(name), STRIPS[name]
    built = scene.build()
    rows = -(-len(strip.times) // strip.across)
    wide, high = strip.x[1] - strip.x[0], strip.z[1] - strip.z[0]
    width = 11.0 / strip.across
    figure, grid = plt.subplots(rows, strip.across, figsize=(11.0, rows * (width * high / wide + 0.5)), squeeze=False,
                                sharex=True, sharey=True, layout="constrained")  # fmt: skip
    done = 0
    for axes, time in zip(grid.flat, strip.times, strict=False):
        steps = round(time / scene.h) - done
        if steps > 0:
            built.step(scene.h, steps)
        done += max(steps, 0)
        draw(axes, built.sim, strip, time)
    path = FOLDER / f"contact_{name}.png"
    figure.savefig(path, dpi=90)
    plt.close(figure)
    print(f"{path.name}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or list(STRIPS):
        make(chosen)
