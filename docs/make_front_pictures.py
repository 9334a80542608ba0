"""Makes the three pictures of the README: `python docs/make_front_pictures.py [snake] [tether] [helix]`.

Each shows what its command computes; COMMANDS has them as they stand under the pictures. The helix is photographed on the
page of the viewer: Chromium (Debian: apt-get install chromium), Playwright and the extras `proteins` and `viewer`.
"""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from make_viewer_picture import LONG, opened
from PIL import Image, ImageChops, ImageDraw, ImageFont

import linkwork as lw
from linkwork.scene.builtin_scenes import builtin_scenes
from linkwork.scene.plots.rods import recorded_water
from linkwork.viewer.frames import FIELD_OF_VIEW, Camera
from linkwork.viewer.layers import load_lines
from linkwork.viewer.render import SMOOTH, Renderer
from linkwork.viewer.shapes.colors import TIGHT, by_tension
from linkwork.viewer.shapes.instances import instances_of

FOLDER = Path(__file__).parent / "pictures"
COMMANDS = {
    "snake": "linkwork run snake_robot",
    "tether": "linkwork run tether",
    "helix": "linkwork view polyalanine_pull --play",
}
WIDTH = 1000  # [pixels]
INK, FAINT = (45, 49, 56), (110, 116, 126)
COLORS = 256

UPWARDS, STRAIGHT, DOWNWARDS = np.array([[215, 90, 40], [205, 207, 212], [50, 95, 190]], dtype=float)
LARGEST_ANGLE = 0.5  # [rad] of motors
MOMENTS = (0.0, 2.0, 4.0, 6.0)  # [s]
STRIP = 175  # [pixels] height of the picture of one moment
PATH, BELOW = (20, 130, 60), 24  # of the way: its colour, and how far below the snake it is marked [pixels]
TIP = np.array([0.1, 0.0, 0.0, 1.0])  # of the last link [m]

Place = Callable[[float, float], tuple[float, float]]  # x and z [m] in the picture [pixels]
MINUTES = (0, 2, 5, 10)
TALL = 780  # [pixels]
TOP, BOTTOM = 26.0, -322.0  # [m] heights at the edges of the picture
LEFT, RIGHT = -145.0, -145.0 + (TOP - BOTTOM) * WIDTH / TALL
WATER_ABOVE, WATER_BELOW = np.array([[236, 246, 252], [190, 216, 233]], dtype=float)
SEEN_RADIUS, SEEN_VEHICLE = 1.1, 4.0  # [m], drawn; in truth 12 mm and 25 cm
CURRENT, CURRENT_AT, ARROW = (40, 105, 160), (10, 50, 150, 250), 110.0  # colour, depths [m], [m] per m/s
BAR = (640, 190, 44, 420)  # [pixels]

PAGE = {"width": 860, "height": 580}
SHARP = 1.25  # pixels of the picture per pixel of the page
PULLED, AT_ONCE = 11.0, 25  # [ps], steps
RISE, FITS, ASIDE = 0.72, 1.02, 0.3  # [rad]; height and shift of what the page shows, of the distance of the ends
PLOTTED, DRAWN = 2000, 6000  # [ms] until the page plots anew, and until it shows it


def font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def recording(name: str) -> lw.Recording:
    """What the command under a picture keeps."""
    out = Path(tempfile.mkdtemp()) / name
    subprocess.run([sys.executable, "-m", *shlex.split(COMMANDS[name]), "--out", str(out), "--quiet"], check=True)
    return lw.Recording(out)


def level_camera(look_at: np.ndarray, towards: tuple[float, float, float], height: float) -> Camera:
    """A camera at `towards` from what it looks at, that sees `height` [m] there from top to bottom."""
    away = np.array(towards) / np.linalg.norm(towards)
    distance = 0.5 * height / np.tan(0.5 * np.radians(FIELD_OF_VIEW))
    return Camera(look_at + distance * away, look_at, np.array([0.0, 0.0, 1.0]), height)


# ------------------------------------------------------------------------------------------------------------------ snake


def snake() -> Image.Image:
    """Four moments below each other, seen from one place, with the way of head and tail; links by the angles of motors."""
    recorded = recording("snake")
    model = recorded.model
    frames = [int(np.argmin(np.abs(recorded.times - t))) for t in MOMENTS]
    poses = np.array([recorded.poses(k) for k in range(len(recorded))])
    places = poses[:, :, :3, 3]
    low, high = places.min(axis=(0, 1)), places.max(axis=(0, 1))
    camera = level_camera(0.5 * (low + high), (0.0, -1.0, 0.45), 1.13 * (high - low)[0] * STRIP / WIDTH)
    renderer = Renderer(instances_of(model), camera, 0.0, WIDTH, STRIP)
    sheet = Image.new("RGB", (WIDTH, STRIP * len(frames)), "white")
    for row, (t, k) in enumerate(zip(MOMENTS, frames, strict=True)):
        image = renderer.draw(poses[k], by_angle(model, recorded.state(k)))
        pen = ImageDraw.Draw(image)
        mark_way(pen, renderer, poses[0, 0, :3, 3], poses[k, 0, :3, 3])
        mark_way(pen, renderer, poses[0, -1] @ TIP, poses[k, -1] @ TIP)
        pen.text((12, 8), f"{t:g} s", fill=INK, font=font(32))
        sheet.paste(image, (0, row * STRIP))
    pen = ImageDraw.Draw(sheet)
    for row in range(1, len(frames)):
        pen.line([0, row * STRIP, WIDTH, row * STRIP], fill=(176, 180, 188), width=2)
    name_colors(pen)
    return sheet


def mark_way(pen: ImageDraw.ImageDraw, renderer: Renderer, start: np.ndarray, end: np.ndarray) -> None:
    """An arrow below the snake, as long as the way along x, with its length."""
    (u, v), (tip, _) = renderer.on_screen(np.array([[start[0], 0.0, 0.0], [end[0], 0.0, 0.0]]))[0] / SMOOTH
    v += BELOW
    pen.line([u, v - 9, u, v + 9], fill=PATH, width=4)
    if tip < u - 20.0:
        pen.line([u, v, tip + 12, v], fill=PATH, width=4)
        pen.polygon([(tip, v), (tip + 16, v - 8), (tip + 16, v + 8)], fill=PATH)
        outwards = u + 10 if u < 0.5 * WIDTH else tip - 10
        words = f"{100.0 * (start[0] - end[0]):.0f} cm"
        pen.text((outwards, v), words, fill=PATH, font=font(24), anchor="lm" if u < 0.5 * WIDTH else "rm")


def name_colors(pen: ImageDraw.ImageDraw) -> None:
    """What the colours of links and lines mean, in the first moment."""
    y = 26
    for x, color, words in (
        (200, DOWNWARDS, f"-{LARGEST_ANGLE:g}"),
        (310, UPWARDS, f"+{LARGEST_ANGLE:g} rad: angles of motors"),
        (725, PATH, "way of head and tail"),
    ):
        pen.rectangle([x, y - 9, x + 26, y + 9], fill=tuple(int(part) for part in color))
        pen.text((x + 34, y), words, fill=INK, font=font(24), anchor="lm")


def by_angle(model: lw.Model, state: lw.State) -> np.ndarray:
    """Colours of links by the angles of their level hinges, shape (n, 3)."""
    colors = np.repeat(STRAIGHT[None], model.n_bodies, axis=0)
    for i in range(1, model.n_bodies):
        part = float(state.q[model.q_slice(i)][0]) / LARGEST_ANGLE
        to = UPWARDS if part > 0.0 else DOWNWARDS
        colors[i] += min(1.0, abs(part)) * (to - STRAIGHT)
    return colors.astype(np.uint8)


# ----------------------------------------------------------------------------------------------------------------- tether


def tether() -> Image.Image:
    """The tether at five moments in one picture, in the colours of its tension; the current at the left."""
    recorded = recording("tether")
    model, water = recorded.model, recorded_water(recorded)
    frames = [int(np.argmin(np.abs(recorded.times - 60.0 * t))) for t in MINUTES]
    tensions = [lw.along(recorded, k, water=water) for k in frames]
    largest = max(float(forces.tension.max()) for forces in tensions)
    instances = instances_of(model)
    is_vehicle = instances.scale[:, 0] > 0.1
    instances.scale[:, :2] = np.where(is_vehicle[:, None], instances.scale[:, :2], SEEN_RADIUS)
    instances.scale[is_vehicle] = SEEN_VEHICLE
    middle = np.array([0.5 * (LEFT + RIGHT), 0.0, 0.5 * (TOP + BOTTOM)])
    renderer = Renderer(instances, level_camera(middle, (0.0, -1.0, 0.0), TOP - BOTTOM), None, WIDTH, TALL)
    renderer._light = np.array([0.0, -1.0, 0.0])  # from the eye: colours as in the bar
    image = sea()
    for k, forces in zip(frames, tensions, strict=True):
        image = ImageChops.darker(image, renderer.draw(recorded.poses(k), by_tension(model, [forces], largest)))
    pen = ImageDraw.Draw(image)

    def at(x: float, z: float) -> tuple[float, float]:
        u, v = renderer.on_screen(np.array([x, 0.0, z]))[0] / SMOOTH
        return float(u), float(v)

    for k, minutes in zip(frames, MINUTES, strict=True):
        x, _, z = recorded.poses(k)[-1, :3, 3]
        pen.text(
            at(x, z - 13.0), f"{minutes} min" if k == frames[-1] else str(minutes), fill=INK, font=font(24), anchor="mt"
        )
    mark_surface(pen, at)
    mark_current(pen, at, water)
    color_bar(pen, largest)
    return image


def sea() -> Image.Image:
    """Air, and water that is darker below."""
    z = TOP + (BOTTOM - TOP) * np.linspace(0.0, 1.0, TALL)[:, None]
    rows = np.where(z > 0.0, 255.0, WATER_ABOVE + z / BOTTOM * (WATER_BELOW - WATER_ABOVE))
    return Image.fromarray(np.repeat(rows.astype(np.uint8)[:, None], WIDTH, axis=1))


def mark_surface(pen: ImageDraw.ImageDraw, at: Place) -> None:
    """A ship where the tether is held, and depths."""
    hull = [(-24.0, 9.0), (24.0, 9.0), (17.0, 0.0), (-18.0, 0.0)]
    pen.polygon([at(x, z) for x, z in hull], fill=FAINT)
    pen.polygon([at(x, z) for x, z in [(-18.0, 9.0), (-4.0, 9.0), (-4.0, 19.0), (-18.0, 19.0)]], fill=FAINT)
    for depth in (100, 200, 300):
        x, y = at(RIGHT, -depth)
        pen.line([x - 30, y, WIDTH, y], fill=FAINT, width=2)
        pen.text((WIDTH - 8, y - 6), f"{depth} m", fill=INK, font=font(24), anchor="rs")


def mark_current(pen: ImageDraw.ImageDraw, at: Place, water: lw.Water) -> None:
    """Arrows as long as the current is fast, with its speed."""
    pen.text((at(LEFT + 8.0, 0.0)[0], at(0.0, 6.0)[1]), "current", fill=CURRENT, font=font(26), anchor="ls")
    for depth in CURRENT_AT:
        z, *velocity = np.asarray(water.current).T
        speed = float(np.linalg.norm([np.interp(-depth, z, part) for part in velocity]))
        (x, y), (tip, _) = at(LEFT + 8.0, -depth), at(LEFT + 8.0 + ARROW * speed, -depth)
        pen.line([x, y, tip - 12, y], fill=CURRENT, width=5)
        pen.polygon([(tip, y), (tip - 18, y - 10), (tip - 18, y + 10)], fill=CURRENT)
        pen.text((tip + 8, y), f"{speed:.1f} m/s", fill=CURRENT, font=font(24), anchor="lm")


def color_bar(pen: ImageDraw.ImageDraw, largest: float) -> None:
    """Tension in newton, from none to the largest."""
    left, top, wide, high = BAR
    for row in range(high):
        way = 0.5 + 0.5 * (1.0 - row / (high - 1))
        color = [np.interp(way * (len(TIGHT) - 1), np.arange(len(TIGHT)), TIGHT[:, part]) for part in range(3)]
        pen.line([left, top + row, left + wide, top + row], fill=tuple(int(part) for part in color))
    for value in range(0, int(largest) + 1, 100):
        y = top + (high - 1) * (1.0 - value / largest)
        pen.line([left + wide, y, left + wide + 8, y], fill=INK, width=2)
        pen.text((left + wide + 14, y), f"{value} N", fill=INK, font=font(24), anchor="lm")
    pen.text((left, top - 14), "tension", fill=INK, font=font(26), anchor="ls")


# ------------------------------------------------------------------------------------------------------------------ helix


def helix() -> Image.Image:
    """The page of the viewer while springs draw a helix open."""
    scene = lw.Scene.read(builtin_scenes()["polyalanine_pull"])
    viewer = lw.view(scene, browser=False, port=0)
    live = viewer.page
    with opened(viewer, PAGE, SHARP) as page:
        for _ in range(round(PULLED / scene.h / AT_ONCE) - 1):
            live.step(AT_ONCE)
        page.wait_for_timeout(PLOTTED)
        live.step(AT_ONCE)
        ends = load_lines(live.sim, live.stage.poses)[1][:, 1]  # of the springs, far from the molecule
        look_along(viewer, ends)
        page.wait_for_timeout(DRAWN)
        image = Image.open(io.BytesIO(page.screenshot(timeout=LONG))).convert("RGB")
    viewer.close()
    return image


def look_along(viewer: Any, ends: np.ndarray) -> None:
    """Turns the page so that two points lie across its free part, from the lower left to the upper right."""
    way = ends[1] - ends[0]
    across = way / np.linalg.norm(way)
    near = np.cross(across, [0.0, 0.0, 1.0])
    near /= np.linalg.norm(near)
    above = np.cross(near, across)
    c, s = np.cos(RISE), np.sin(RISE)
    right, up = c * across - s * above, s * across + c * above
    height = np.linalg.norm(way) * FITS
    look_at = ends.mean(axis=0) + ASIDE * height * right
    distance = 0.5 * height / np.tan(0.5 * np.radians(FIELD_OF_VIEW))
    for client in viewer.server.get_clients().values():
        client.camera.up_direction = up
        client.camera.position = look_at + distance * near  # takes what it looks at along
        client.camera.look_at = look_at


PICTURES: dict[str, Callable[[], Image.Image]] = {"snake": snake, "tether": tether, "helix": helix}


def main(names: list[str]) -> None:
    for name in names or PICTURES:
        image = PICTURES[name]().quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        image.save(FOLDER / f"front_{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
