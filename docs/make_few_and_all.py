"""Prints the table of docs/contact.md: how far the contact scenes with few active joints are from those with all active.

python docs/make_few_and_all.py
"""

from __future__ import annotations

import warnings

import numpy as np

import linkwork as lw

SCENES = ("pendulum_pegs", "threading", "bridge")
LOOKS = 40  # over the duration of a scene


def compare(name: str) -> str:
    """A row: largest distance of any body on the way and at the end, size [m]; contact forces, means and difference [N]."""
    scene = lw.Scene.read(name)
    few, every = scene.build(), lw.Scene.read(name, {"method.max_active_joints": scene.model.n_bodies}).build()
    at_once = max(1, scene.steps // LOOKS)
    apart, forces = [], []
    for _ in range(scene.steps // at_once):
        for sim in (few, every):
            sim.advance(scene.h, at_once)
        a, b = (lw.body_poses(sim.model, sim.state)[:, :3, 3] for sim in (few, every))
        apart.append(np.linalg.norm(a - b, axis=1).max())
        forces.append([sum(np.linalg.norm(c.force) for c in sim.contacts) for sim in (few, every)])
    f = np.array(forces)
    off = np.sqrt(((f[:, 0] - f[:, 1]) ** 2).mean())
    size = np.ptp(b, axis=0).max()
    return (
        f"| `{name}` | {size:.2f} m | {np.median(apart):.3f} m | {max(apart):.3f} m | {apart[-1]:.3f} m | "
        f"{f[:, 0].mean():.3g} N | {f[:, 1].mean():.3g} N | {off:.3g} N |"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", lw.LinkworkWarning)
    for scene_name in SCENES:
        print(compare(scene_name))
