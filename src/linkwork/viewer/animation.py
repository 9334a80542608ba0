"""Pictures of models and animations of recordings without a browser: GIF, MP4, and one HTML file that plays offline."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import integer, positive
from linkwork.core.messages.extras import needed
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import LinkworkError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.record.recording import Recording
from linkwork.viewer.frames import framing, ground_height, up_of
from linkwork.viewer.playback import room_of
from linkwork.viewer.render import Renderer
from linkwork.viewer.server import open_server
from linkwork.viewer.shapes.colors import by_depth
from linkwork.viewer.shapes.instances import Instances, instances_of

RATE = {"gif": 20.0, "mp4": 30.0, "html": 30.0}  # frames per second
GIF_COLORS = 256
MAX_COVERAGE = 1  # of Pillow's ways to choose colours: rare ones count as much as the white of the paper
MOST_FRAMES = 3000


def chosen_frames(recording: Recording, rate: float, speed: float = 1.0) -> IntArray:
    """Frames to show at equal times, `rate` per second of the animation, at `speed` times real time; the last included."""
    if len(recording) == 0:
        raise StateError(f"recording '{recording.path}' has no frames to show.")
    begin, end = float(recording.times[0]), float(recording.times[-1])
    count = round((end - begin) / speed * rate) + 1
    if count > MOST_FRAMES:
        raise LinkworkError(
            f"the animation would have {count:,} frames; at most {MOST_FRAMES:,} are drawn. Show it faster (--speed) or "
            "with fewer frames per second (--rate)."
        )
    times = np.linspace(begin, end, max(count, 1))
    return np.maximum(np.searchsorted(recording.times, times + 1e-9 * max(end, 1e-9), side="right") - 1, 0)


def renderer_of(recording: Recording, width: int, height: int) -> Renderer:
    """A renderer whose camera sees the mechanism in all of the recording."""
    instances = instances_of(recording.model)
    return _renderer(recording.model, instances, room_of(recording, instances), width, height)


def _renderer(model: Model, instances: Instances, corners: FloatArray, width: int, height: int) -> Renderer:
    up = up_of(model)
    ground = None if instances.is_molecule else ground_height(model, corners, up)
    return Renderer(instances, framing(corners, up), ground, width, height)


def picture(model: Model, state: State | None = None, *, width: int = 640, height: int = 480) -> Any:
    """A model at a state (default: neutral) with its meshes, on the ground, as a Pillow image: `picture(model).save(path)`.

    width, height: [pixels].
    """
    T = body_poses(model, model.neutral() if state is None else state)
    shape = _size({"width": width, "height": height})
    instances = instances_of(model)
    return _renderer(model, instances, instances.corners(T), **shape).draw(T, by_depth(model))


def pictures(recording: Recording, frames: IntArray, width: int = 640, height: int = 480) -> Iterator[Any]:
    """The chosen frames as Pillow images, one after the other."""
    drawn = renderer_of(recording, width, height)
    colors = by_depth(recording.model)
    for k in frames.tolist():
        yield drawn.draw(body_poses(recording.model, recording.state(k)), colors)


def write_gif(
    recording: Recording, path: str | Path, *, speed: float = 1.0, rate: float | None = None, **size: Any
) -> int:
    """Writes an animated GIF; returns the number of frames. The same recording gives the same bytes.

    speed: times real time. rate: frames per second. width, height [pixels].
    """
    per_second = _rate("gif", rate)
    frames = chosen_frames(recording, per_second, positive(speed, "speed"))
    shape = _size(size)
    images = list(pictures(recording, frames, shape["width"], shape["height"]))
    palette = images[len(images) // 2].quantize(GIF_COLORS, method=MAX_COVERAGE)  # one for all: colours do not flicker
    flat = [image.quantize(palette=palette, dither=0) for image in images]
    flat[0].save(
        path, "GIF", save_all=True, append_images=flat[1:], duration=round(1000.0 / per_second), loop=0, optimize=False
    )
    return len(flat)


def write_mp4(
    recording: Recording, path: str | Path, *, speed: float = 1.0, rate: float | None = None, **size: Any
) -> int:
    """Writes an MP4 (H.264); returns the number of frames. Arguments as of `write_gif`."""
    imageio_ffmpeg = needed("imageio_ffmpeg", "MP4 needs imageio-ffmpeg; install it with: pip install '.[viewer]'")
    per_second = _rate("mp4", rate)
    frames = chosen_frames(recording, per_second, positive(speed, "speed"))
    shape = _size(size)
    shape = {name: pixels + pixels % 2 for name, pixels in shape.items()}  # H.264 halves colours: sizes are even
    writer = imageio_ffmpeg.write_frames(
        str(path),
        (shape["width"], shape["height"]),
        fps=per_second,
        codec="libx264",
        macro_block_size=1,
        output_params=["-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1"],
    )
    writer.send(None)
    try:
        for image in pictures(recording, frames, shape["width"], shape["height"]):
            writer.send(np.ascontiguousarray(np.asarray(image)))
    finally:
        writer.close()
    return len(frames)


def write_html(recording: Recording, path: str | Path, *, speed: float = 1.0, rate: float | None = None) -> int:
    """Writes one HTML file with the mechanism in 3-D, which plays without a network; returns the number of frames."""
    from linkwork.viewer.stage import Stage

    per_second = _rate("html", rate)
    frames = chosen_frames(recording, per_second, positive(speed, "speed"))
    server = open_server(port=0)
    try:
        room = room_of(recording, instances_of(recording.model))
        # drawn at the end first: then the first frame is sent, and a player that begins again shows it
        stage = Stage(server, recording.model, recording.state(int(frames[-1])), room=room)
        stage.drawing.moves_nodes, stage.drawing.detail = False, None
        serializer = server.get_scene_serializer()
        for k in frames.tolist():
            stage.drawing.move(body_poses(recording.model, recording.state(k)))
            serializer.insert_sleep(1.0 / per_second)
        page = serializer.as_html()
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
    Path(path).write_text(page.replace("<title>Viser</title>", "<title>Linkwork</title>"), encoding="utf-8")
    return len(frames)


def _rate(kind: str, rate: float | None) -> float:
    return RATE[kind] if rate is None else positive(rate, "rate")


def _size(size: dict[str, Any]) -> dict[str, int]:
    unknown = set(size) - {"width", "height"}
    if unknown:
        raise TypeError(f"unknown arguments: {', '.join(sorted(unknown))}")
    return {name: integer(size.get(name, usual), 16, name) for name, usual in (("width", 640), ("height", 480))}
