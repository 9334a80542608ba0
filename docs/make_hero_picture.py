"""Makes docs/pictures/hero.png, the first picture of the README: `python docs/make_hero_picture.py [NAME ...]`.

Four simulations, three moments of each in one picture: pale what was earlier. Camera, ground and scale of a panel are the
same for its three moments; with names, single panels are made. Needs the extras `proteins` and `viewer`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont

import linkwork as lw
from linkwork.viewer.frames import VIEW_FROM, Camera, framing, ground_height, turn_up, up_of
from linkwork.viewer.render import SMOOTH, Renderer
from linkwork.viewer.shapes.colors import by_depth
from linkwork.viewer.shapes.instances import instances_of

FILE = Path(__file__).parent / "pictures" / "hero.png"
WIDTH, HEIGHT, GAP = 480, 372, 8  # of a panel [pixels]: 195 wide on a phone
PALE = (0.74, 0.48, 0.0)  # how far towards white the three moments are
AXES = ((200, 60, 50), (50, 140, 70), (50, 90, 190))  # x, y, z
INK = (60, 64, 70)
COLORS = 256


class Motion(NamedTuple):
    """What a panel shows."""

    title: str
    model: lw.Model
    states: list[lw.State]  # earlier ones first
    unit: str  # of the axes
    near: float = 1.0  # how near the camera stands; below 1 is nearer
    turn: float = 0.0  # [rad] of the camera about the vertical


def robot() -> Motion:
    """An arm of six joints, driven by motors from one pose to another against its weight."""
    arm = lw.Linkage("arm")
    rows = (  # name, axis, length [m], radius [m], mass [kg]
        ("base", (0, 0, 1), 0.30, 0.10, 6.0),
        ("upper_arm", (0, 1, 0), 0.55, 0.065, 4.0),
        ("forearm", (0, 1, 0), 0.48, 0.05, 2.5),
        ("roll", (0, 0, 1), 0.12, 0.045, 0.8),
        ("wrist", (0, 1, 0), 0.14, 0.04, 0.6),
        ("tool", (0, 0, 1), 0.10, 0.03, 0.4),
    )
    before, height = "world", 0.0
    for name, axis, length, radius, mass in rows:
        along = lw.Pose((0.0, 0.0, 0.5 * length))
        shape = lw.Cylinder if name in ("base", "roll") else lw.Capsule
        across, axial = mass / 12.0 * (3.0 * radius**2 + length**2), 0.5 * mass * radius**2
        arm.add_body(
            name, before, lw.Revolute(axis, armature=0.05), lw.Pose((0.0, 0.0, height)),
            lw.Inertia(mass, (0.0, 0.0, 0.5 * length), (across, across, axial)),
            shapes=[shape(radius, length, placement=along)],
        )  # fmt: skip
        before, height = name, length
    model = arm.compile()
    start, end = np.array([-0.9, -0.5, 0.9, 0.0, 0.6, 0.0]), np.array([0.9, 0.8, 0.7, 0.5, 0.5, 0.0])
    sim = lw.FullDynamics(model, model.state(q=start))
    states, steps = [], 1000
    for k in range(steps + 1):
        s = k / steps
        target = start + (10 * s**3 - 15 * s**4 + 6 * s**5) * (end - start)
        for name, position in zip(model.joint_names, target, strict=True):
            sim.set_motor(name, float(position), stiffness=3000.0, damping=150.0)
        if k in (0, steps // 2, steps):
            states.append(sim.state.copy())
        sim.advance(1e-3)
    return Motion("robot: 6 motors", model, states, "m", 0.84, 0.5)


def cable() -> Motion:
    """A cable of 400 links, let go from a curve."""
    linkage = lw.library.chain(400, length=0.01, mass=0.005, radius=0.02, axes="same")
    model = linkage.compile()
    q = np.full(model.nv, 2.2 / model.nv)
    q[0] = 0.5
    sim = lw.FullDynamics(model, model.state(q=-q), integrator="implicit_midpoint")
    states = [sim.state.copy()]
    for _ in range(2):
        sim.advance(2e-3, 190)
        states.append(sim.state.copy())
    return Motion("cable: 400 joints", model, states, "m", 0.86, -0.6)


def figure() -> Motion:
    """A figure falls on the ground, limp."""
    linkage = lw.library.humanoid()
    linkage.add_obstacle("ground", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q.copy()
    lowest = instances_of(model).corners(lw.body_poses(model, model.state(q=q)))
    q[2] -= float(lowest[np.abs(lowest).max(axis=1) < 10.0][:, 2].min()) - 0.002
    v = np.zeros(model.nv)
    v[:6] = (0.5, 0.9, 0.0, 0.9, -0.2, 0.0)
    sim = lw.FullDynamics(model, lw.State(q, v), contact=lw.Contact(friction=0.7))
    states = [sim.state.copy()]
    for count in (500, 900):
        sim.advance(1e-3, count)
        states.append(sim.state.copy())
    return Motion(f"figure: {model.nv} freedoms, contact", model, states, "m", 0.8)


def protein() -> Motion:
    """A helix of twenty alanines at 300 K, drawn out by a spring at its end."""
    molecule = lw.molecules.peptide("A" * 20, helix=True, relax=True, seed=1)
    x = molecule.reference[[molecule.atom("A:0:CH3"), molecule.atom("A:21:C")]]
    along = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    sim = lw.FullDynamics(
        molecule.model, molecule.state, field=molecule.field(), integrator="kick_drift_kick",
        thermostat=lw.Langevin(300.0, 5.0, seed=1),
    )  # fmt: skip
    sim.apply_spring("A:0:CH3", target=x[0], stiffness=500.0)
    pull = sim.apply_spring("A:21:C", target=x[1], stiffness=500.0)
    states, steps = [sim.state.copy()], 3600
    for k in range(steps):
        sim.move_target(pull, x[1] + 2.3 * (k + 1) / steps * along)
        sim.advance(4e-3)
        if k + 1 in (steps // 2, steps):
            states.append(sim.state.copy())
    across = np.arctan2(along[1], along[0]) - 0.5 * np.pi - np.arctan2(VIEW_FROM[1], VIEW_FROM[0])
    return Motion("protein: a helix pulled open", molecule.model, states, "nm", 0.76, float(across) + 0.25)


def draw(motion: Motion) -> Image.Image:
    """Three moments over each other from one place, with ground and axes."""
    model, up = motion.model, up_of(motion.model)
    instances = instances_of(model)
    poses = [lw.body_poses(model, state) for state in motion.states]
    corners = np.concatenate([instances.corners(T) for T in poses])
    corners = corners[np.abs(corners).max(axis=1) < 1e3]  # a plane without end has corners far away
    ground = 0.0 if model.obstacles else ground_height(corners, up, [])
    camera = stand(framing(corners, up), motion)
    renderer = Renderer(instances, camera, ground, WIDTH, HEIGHT)
    image = None
    for T, pale in zip(poses, PALE, strict=True):
        colors = by_depth(model).astype(float)
        drawn = renderer.draw(T, (colors + pale * (255.0 - colors)).astype(np.uint8))
        image = drawn if image is None else ImageChops.darker(image, drawn)
    assert image is not None
    mark_axes(image, renderer, up, ground, motion.unit)
    ImageDraw.Draw(image).text((12, 8), motion.title, fill=INK, font=ImageFont.load_default(27))
    return image


def stand(camera: Camera, motion: Motion) -> Camera:
    """The camera nearer, and turned about the vertical."""
    away = camera.position - camera.look_at
    c, s = np.cos(motion.turn), np.sin(motion.turn)
    frame = turn_up(camera.up)
    turned = frame @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ frame.T @ away
    return camera._replace(position=camera.look_at + motion.near * turned)


def mark_axes(image: Image.Image, renderer: Renderer, up: np.ndarray, ground: float, unit: str) -> None:
    """Axes of the world, one round length long, on the ground in front of what is shown."""
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(20)
    size = 0.3 * renderer.camera.size
    length = max(x for x in (0.1, 0.2, 0.5, 1.0, 2.0) if x <= max(size, 0.1))
    origin = place_on_ground(renderer, up, ground)
    for axis, (name, color) in enumerate(zip("xyz", AXES, strict=True)):
        tip = origin.copy()
        tip[axis] += length
        (a, b), _ = renderer.on_screen(np.stack([origin, tip]))
        a, b = a / SMOOTH, b / SMOOTH
        pen.line([*a, *b], fill=color, width=3)
        beyond = b + 12.0 * (b - a) / max(1.0, float(np.linalg.norm(b - a)))
        pen.text(tuple(beyond), name, fill=color, font=font, anchor="mm")
    pen.text((WIDTH - 10, HEIGHT - 10), f"axes: {length:g} {unit}", fill=INK, font=font, anchor="rs")


def place_on_ground(renderer: Renderer, up: np.ndarray, ground: float) -> np.ndarray:
    """Where the ray through a point at the lower left of the picture meets the ground, shape (3,)."""
    at = SMOOTH * np.array([0.09 * WIDTH, 0.76 * HEIGHT]) - 0.5 * SMOOTH * np.array([WIDTH, HEIGHT])
    ray = np.array([at[0], -at[1], -renderer._focal]) @ renderer._axes
    start = renderer.camera.position
    return np.asarray(start + (ground - start @ up) / (ray @ up) * ray)


PANELS: dict[str, Callable[[], Motion]] = {"robot": robot, "cable": cable, "figure": figure, "protein": protein}


def main(names: list[str]) -> None:
    chosen = names or list(PANELS)
    images = [draw(PANELS[name]()) for name in chosen]
    if names:
        for name, image in zip(names, images, strict=True):
            image.save(FILE.with_name(f"hero_{name}.png"))
        return
    sheet = Image.new("RGB", (2 * WIDTH + GAP, 2 * HEIGHT + GAP), (214, 217, 222))
    for k, image in enumerate(images):
        sheet.paste(image, ((k % 2) * (WIDTH + GAP), (k // 2) * (HEIGHT + GAP)))
    sheet.quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(FILE, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
