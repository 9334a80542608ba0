"""Frames and bytes per second of the viewer's server, from 100 to 100,000 links, half of them and all of them moving.

A client of its own process takes everything off the socket and counts it; nothing is drawn, so this is what the server can
do, not what a graphics card can. A frame is sent when the one before it has arrived. Before anything is timed, what the
page knows of every link is compared with where it is, and every capsule that stands for several links with where they are.

Each size is seen in two ways: every link drawn, as it is from nearby, and with level of detail, from where the camera of
the page stands at first: it sees all of a chain that is coiled up at random.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

from .harness import TableReport, fill_in, progress

LINKS, QUICK_LINKS = (100, 1_000, 10_000, 100_000), (100,)
SECONDS, QUICK_SECONDS = 3.0, 0.3
LATEST = 20.0  # [s] for a frame to arrive; later, something is wrong
SINGLE = 2.0**-24  # the page has single precision
MARGIN = 100.0
SCREEN = 1000.0  # [pixels] height of the picture

CLIENT = """
import sys, time
from websockets.sync.client import connect
url, version = sys.argv[1:3]
total = 0
with connect(url, subprotocols=[f"viser-v{version}"], max_size=None, compression=None, proxy=None) as socket:
    print("connected", flush=True)
    try:
        while True:
            total += len(socket.recv())
            print(total, flush=True)
    except Exception:
        pass
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--links", type=int, help="this size only")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    sizes = QUICK_LINKS if options.quick else LINKS
    if options.links:
        sizes = (options.links,)
    seconds = QUICK_SECONDS if options.quick else SECONDS
    report = TableReport("viewer", {"links": list(sizes), "seconds": seconds}, is_judged=False)
    rows = []
    for links in sizes:
        for words, part in (("half", 0.5), ("all", 1.0)):
            for how in ("every link drawn", "level of detail"):
                progress(f"{links:,} links, {words} moving, {how}")
                frames, megabytes, drawn = measure(links, part, seconds, how == "level of detail")
                rows.append([f"{links:,}", words, how, f"{drawn:,}", f"{frames:.3g}", f"{megabytes:.3g}"])
                report.results.append(
                    {"case": "viewer", "links": links, "moving": words, "drawn": how, "shapes": drawn,
                     "frames_per_second": frames, "bytes_per_second": 1e6 * megabytes}
                )  # fmt: skip
    columns = ["links", "moving", "drawn", "shapes", "frames/s", "MB/s"]
    report.add_table("viewer", "Frames and bytes per second that reach a page", columns, rows)
    if options.page is not None:
        fill_in(options.page, report)
    return report


def measure(links: int, part: float, seconds: float, with_detail: bool) -> tuple[float, float, int]:
    """Frames per second and megabytes per second that reach a client, and how many shapes are drawn."""
    import viser

    from linkwork.viewer.frames import FIELD_OF_VIEW, framing, up_of
    from linkwork.viewer.server import address, open_server
    from linkwork.viewer.shapes.detail import Detail, eye
    from linkwork.viewer.shapes.drawing import Drawing
    from linkwork.viewer.shapes.instances import instances_of

    model = lw.library.chain(links).compile()
    instances = instances_of(model)
    T = lw.body_poses(model, model.random_state(np.random.default_rng(1)))
    view = framing(instances.corners(T), up_of(model))
    eyes = [eye(view.position, np.radians(FIELD_OF_VIEW), SCREEN)] if with_detail else None
    detail = Detail(model, instances) if with_detail else None
    server = open_server(port=0)
    client = None
    try:
        colors = np.zeros((links, 3), dtype=np.uint8)
        drawing = Drawing(server.scene, "chain", instances, T, colors, view.size, detail)
        url = address(server).replace("http", "ws")
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, url, viser.__version__], stdout=subprocess.PIPE, text=True, bufsize=1
        )
        counted = _Counter(client)
        counted.settle()
        shaken = [shake(T, part, k) for k in range(4)]
        check(drawing, shaken[0], eyes)
        counted.settle()
        first, frames, began = counted.total, 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            before, sent = counted.total, sum(drawing.sent.values())
            frames += 1
            drawing.move(shaken[frames % 4], eyes)
            server.flush()
            counted.until(before + 4 * (sum(drawing.sent.values()) - sent))  # viser drops what the next frame replaces
        took = time.perf_counter() - began
        return frames / took, (counted.total - first) / took / 1e6, drawing.drawn
    finally:
        with contextlib.redirect_stdout(io.StringIO()):  # viser says that it stopped
            server.stop()
        if client is not None:
            client.kill()
            client.wait()


class _Counter:
    """Bytes that the client says it has received."""

    IDLE = 0.3  # [s] without news: everything has arrived

    def __init__(self, client: Any):
        import threading

        self.total, self._news = 0, time.perf_counter()
        assert client.stdout.readline().strip() == "connected"

        def read() -> None:
            for line in client.stdout:
                self.total, self._news = int(line), time.perf_counter()

        threading.Thread(target=read, daemon=True).start()

    def settle(self) -> None:
        began = time.perf_counter()
        while time.perf_counter() - max(self._news, began) < self.IDLE:
            time.sleep(0.01)

    def until(self, total: int) -> None:
        began = time.perf_counter()
        while self.total < total:
            if time.perf_counter() - began > LATEST:
                raise AssertionError(f"the client has {self.total:,} bytes of {total:,} after {LATEST:g} s")
            time.sleep(0.0005)


def shake(T: np.ndarray, part: float, seed: int) -> np.ndarray:
    """Every link of the last `part` moved by a tenth of its length and turned by itself: the worst case."""
    moved, rng = T.copy(), np.random.default_rng(seed)
    first = int((1.0 - part) * len(T))
    link = float(np.median(np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1)))
    moved[first:, :3, 3] += 0.1 * link * rng.normal(size=(len(T) - first, 3))
    angle = 0.1 * rng.normal(size=len(T) - first)
    turn = np.broadcast_to(np.eye(3), (len(angle), 3, 3)).copy()
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    turn[:, 1, 0] = np.sin(angle)
    turn[:, 0, 1] = -turn[:, 1, 0]
    moved[first:, :3, :3] @= turn
    return moved


def check(drawing: Any, T: np.ndarray, eyes: Any) -> None:
    """What the page knows is where the links are, to single precision; capsules lie along the links they stand for."""
    drawing.move(T, eyes)
    X = drawing.instances.world_poses(T)[:, :3, 3]
    seen = np.zeros(len(X), dtype=bool)
    known = np.zeros_like(X)
    for batch in drawing._batches:
        if batch.handle.visible:
            node = lw.Pose(xyz=tuple(batch.handle.position), quaternion=tuple(batch.handle.wxyz)).matrix
            known[batch.rows] = batch.handle.batched_positions.astype(float) @ node[:3, :3].T + node[:3, 3]
            seen[batch.rows] = True
    # a link that moved less than what is worth sending stays where it was
    allowed = MARGIN * SINGLE * np.abs(X).max() + drawing._still
    error = np.abs(known - X)[seen].max(initial=0.0)
    if error > allowed:
        raise AssertionError(f"links are drawn {error:.2e} m from where they are; {allowed:.1e} m is allowed")
    if drawing.detail is None:
        assert seen.all()
        return
    made = drawing.detail.capsules(T)
    away = np.linalg.norm(made.position - T[made.body, :3, 3], axis=1)
    reach = 8.0 * made.scale[:, 2].max(initial=0.0)  # a cluster that is bent is wider than its capsule is long
    hidden = drawing.detail.level[drawing.detail.sector_of[drawing.instances.body]] > 0
    if (away > reach).any() or (seen == hidden).any():
        raise AssertionError("capsules do not lie along their links, or links are drawn twice or not at all")
