"""Makes the pictures of docs/library.md and docs/integrators.md: `python docs/make_pictures.py [NAME ...]`.

Needs the extra `plots`.
"""

from __future__ import annotations

import io
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from PIL import Image

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw
from linkwork.plotting import draw

FOLDER = Path(__file__).parent / "pictures"
INCHES, DOTS_PER_INCH = (4.8, 3.6), 110
COLORS = 64


class Picture(NamedTuple):
    linkage: lw.Linkage
    pose: Callable[[lw.Model], lw.State] = lambda model: model.neutral()
    view: tuple[float, float] = (18.0, -60.0)
    width: float = 2.0


def curling(model: lw.Model) -> lw.State:
    """A hanging chain that curls up towards its end and out of the plane."""
    k = np.arange(model.nv)
    return model.state(q=np.where(k % 2 == 0, 0.022 * k, 0.12))


def sagging(model: lw.Model) -> lw.State:
    """A chain thrown in a curve: bent most in the middle."""
    k = np.linspace(0.0, 1.0, model.nv)
    return model.state(q=0.02 + 0.14 * np.sin(np.pi * k) ** 2)


def swung(model: lw.Model) -> lw.State:
    return model.state(q=[0.7, -1.1][: model.nv])


def shaken(scale: float) -> Callable[[lw.Model], lw.State]:
    """Every joint out of its place by a little, at random."""

    def pose(model: lw.Model) -> lw.State:
        v = scale * np.random.default_rng(1).normal(size=model.nv)
        return model.state(q=model.integrate(model.neutral().q, v))

    return pose


def curled(model: lw.Model) -> lw.State:
    """The spine curls up; the legs step in waves."""
    q = model.neutral().q.copy()
    bones = sum(name.startswith("spine_") for name in model.joint_names)
    for name in model.joint_names:
        kind, *numbers = name.split("_")
        i = int(numbers[0])
        if kind == "spine" and i % 2:  # those about z
            q[model.q_slice(name)] = 0.03 + 0.06 * (i / bones) ** 2
        elif kind == "leg" and numbers[1] == "0":
            q[model.q_slice(name)] = 0.3 * np.sin(0.6 * i)
    return model.state(q=q)


def walking(model: lw.Model) -> lw.State:
    """Mid-stride."""
    q = model.neutral().q.copy()

    def turn_y(joint: str, angle: float) -> None:
        q[model.q_slice(joint)] = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)

    for side, sign in (("left", 1.0), ("right", -1.0)):
        turn_y(f"{side}_thigh", -0.45 * sign)
        turn_y(f"{side}_upper_arm", 0.5 * sign)
        q[model.q_slice(f"{side}_forearm")] = (-0.5, 0.0)
        q[model.q_slice(f"{side}_shank")] = 0.25 if sign > 0 else 0.5
        q[model.q_slice(f"{side}_foot")] = (0.1, 0.0) if sign > 0 else (0.3, 0.0)
    return model.state(q=q)


def winding(model: lw.Model) -> lw.State:
    """Waves to the sides along a snake, and a head that is lifted."""
    q = model.neutral().q
    for i in range(1, model.n_bodies):
        q[model.q_slice(f"link_{i}")] = 0.9 * np.cos(2.0 * np.pi * i / 16.0) if i % 2 else (0.25 if i < 7 else 0.0)
    return model.state(q=q)


def settled(model: lw.Model) -> lw.State:
    """Where it comes to rest under its weight."""
    return lw.settle(model, model.neutral()).state


PICTURES: dict[str, Callable[[], Picture]] = {
    "pendulum": lambda: Picture(lw.library.pendulum(), swung, (12, -75)),
    "double_pendulum": lambda: Picture(lw.library.double_pendulum(), swung, (12, -75)),
    "chain": lambda: Picture(lw.library.chain(30), curling, (14, -70)),
    "coil": lambda: Picture(lw.library.coil(150), view=(-20, 10)),
    "snake": lambda: Picture(lw.library.snake(40), winding, (46, -62)),
    "bicycle_chain": lambda: Picture(lw.library.bicycle_chain(30), sagging, (22, -70)),
    "star": lambda: Picture(lw.library.star(60, 2), shaken(0.08)),
    "ball_star": lambda: Picture(lw.library.ball_star(), shaken(0.22), (-14, -60)),
    "broom": lambda: Picture(lw.library.broom(6, 80), shaken(0.08), (10, -60)),
    "caterpillar": lambda: Picture(lw.library.caterpillar(14, 2, 2), shaken(0.12), (24, -50)),
    "binary_tree": lambda: Picture(lw.library.binary_tree(511), view=(10, -50)),
    "random_tree": lambda: Picture(lw.library.random_tree(150, seed=4, branching=0.5)),
    "millipede": lambda: Picture(lw.library.millipede(56, 10, 168), curled, (48, -60)),
    "molecule": lambda: Picture(lw.library.molecule(150, seed=5), width=1.5),
    "humanoid": lambda: Picture(lw.library.humanoid(), walking, (12, -35)),
    "compass_biped": lambda: Picture(lw.library.compass_biped(), lambda m: m.state([-0.2187, 0.5422]), (8, -80)),
    "four_bar": lambda: Picture(lw.library.four_bar(), view=(12, -80)),
    "rod": lambda: Picture(lw.library.rod(EI=4.0, tip_mass=0.5, tip_radius=0.04), settled, (12, -75)),
    "net": lambda: Picture(lw.library.net(), view=(14, -30)),
}


def energy_drift() -> plt.Figure:
    """What the example prints, over a longer time."""
    example = runpy.run_path(str(FOLDER.parents[1] / "examples" / "energy_drift.py"))
    return example["draw"]({name: example["history"](name, 60.0, 600) for name in example["STEPS"]})


PLOTS: dict[str, Callable[[], plt.Figure]] = {"energy_drift": energy_drift}


def make(name: str) -> Path:
    return save(name, PLOTS[name]() if name in PLOTS else figure_of(PICTURES[name]()))


def figure_of(picture: Picture) -> plt.Figure:
    model = picture.linkage.compile()
    figure = plt.figure(figsize=INCHES, dpi=DOTS_PER_INCH)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d", proj_type="ortho")
    draw(model, picture.pose(model), axes, width=picture.width, view=picture.view)
    return figure


def save(name: str, figure: plt.Figure) -> Path:
    raw = io.BytesIO()
    figure.savefig(raw)
    plt.close(figure)
    path = FOLDER / f"{name}.png"
    Image.open(raw).convert("RGB").quantize(COLORS).save(path, optimize=True)  # a palette keeps the files small
    return path


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names or (*PICTURES, *PLOTS):
        path = make(name)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
