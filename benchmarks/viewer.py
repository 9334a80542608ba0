"""Frames and bytes per second of the viewer's server, from 100 to 100,000 links, half of them and all of them moving.

A client of its own process takes everything off the socket and counts it; nothing is drawn, so this is what the server can
do, not what a graphics card can. A frame is sent when the one before it has arrived. Before anything is timed, what the
page knows of every link is compared with where it is.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import time
from typing import Any

import numpy as np

import linkwork as lw

from .harness import Report, Requirement, progress

LINKS, QUICK_LINKS = (100, 1_000, 10_000, 100_000), (100,)
SECONDS, QUICK_SECONDS = 3.0, 0.3
LATEST = 20.0  # [s] for a frame to arrive; later, something is wrong
SINGLE = 2.0**-24  # the page has single precision
MARGIN = 100.0

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


def run(options: argparse.Namespace) -> Report:
    sizes = QUICK_LINKS if options.quick else LINKS
    if options.links:
        sizes = (options.links,)
    seconds = QUICK_SECONDS if options.quick else SECONDS
    report = Report("viewer", {"links": list(sizes), "seconds": seconds}, is_judged=False)
    for links in sizes:
        for words, part in (("half", 0.5), ("all", 1.0)):
            progress(f"{links:,} links, {words} moving")
            frames, megabytes = measure(links, part, seconds)
            what = f"{links:,} links, {words} moving"
            report.requirements.append(Requirement(what, frames, "frames/s", "", True))
            report.requirements.append(Requirement(what, megabytes, "MB/s", "", True))
    return report


def measure(links: int, part: float, seconds: float) -> tuple[float, float]:
    """Frames per second and megabytes per second that reach a client."""
    import viser

    from linkwork.viewer.drawing import Drawing
    from linkwork.viewer.pieces import pieces_of
    from linkwork.viewer.server import address, open_server

    model = lw.library.chain(links).compile()
    pieces = pieces_of(model)
    T = lw.body_poses(model, model.neutral())
    server = open_server(port=0)
    client = None
    try:
        drawing = Drawing(server.scene, "chain", pieces, T, np.zeros((links, 3), dtype=np.uint8), 1.0)
        url = address(server).replace("http", "ws")
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, url, viser.__version__], stdout=subprocess.PIPE, text=True, bufsize=1
        )
        counted = _Counter(client)
        counted.settle()
        shaken = [shake(T, part, k) for k in range(4)]
        check(drawing, shaken[0])
        counted.settle()
        first, frames, began = counted.total, 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            before, sent = counted.total, sum(drawing.sent.values())
            frames += 1
            drawing.move(shaken[frames % 4])
            server.flush()
            counted.until(before + 4 * (sum(drawing.sent.values()) - sent))  # viser drops what the next frame replaces
        took = time.perf_counter() - began
        return frames / took, (counted.total - first) / took / 1e6
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
    """Every link of the last `part` moved and turned by itself: nothing is rigid, which is the worst case."""
    moved, rng = T.copy(), np.random.default_rng(seed)
    first = int((1.0 - part) * len(T))
    moved[first:, :3, 3] += rng.normal(size=(len(T) - first, 3))
    angle = rng.normal(size=len(T) - first)
    turn = np.broadcast_to(np.eye(3), (len(angle), 3, 3)).copy()
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
    turn[:, 1, 0] = np.sin(angle)
    turn[:, 0, 1] = -turn[:, 1, 0]
    moved[first:, :3, :3] @= turn
    return moved


def check(drawing: Any, T: np.ndarray) -> None:
    """What the page knows is where the links are, to single precision."""
    drawing.move(T)
    X = drawing.pieces.world_poses(T)[:, :3, 3]
    known = np.zeros_like(X)
    for batch in drawing._batches:
        node = lw.Pose(xyz=tuple(batch.handle.position), quaternion=tuple(batch.handle.wxyz)).matrix
        known[batch.rows] = batch.handle.batched_positions.astype(float) @ node[:3, :3].T + node[:3, 3]
    # a link that moved less than what is worth sending stays where it was
    error, allowed = np.abs(known - X).max(), MARGIN * SINGLE * np.abs(X).max() + drawing._still
    if error > allowed:
        raise AssertionError(f"links are drawn {error:.2e} m from where they are; {allowed:.1e} m is allowed")
