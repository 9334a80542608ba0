"""Frames and bytes per second of the viewer's server, from 100 to 100,000 links, half of them and all of them moving.

A client of its own process takes everything off the socket and counts it; nothing is drawn, so this is what the server can
do, not what a graphics card can. Before anything is timed, what the page knows of every link is compared with where it is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import Any

import numpy as np

import linkwork as lw

from .harness import Report, Requirement, progress

LINKS, QUICK_LINKS = (100, 1_000, 10_000, 100_000), (100,)
SECONDS, QUICK_SECONDS = 3.0, 0.3
SMOOTH = 10.0  # frames per second that 10^5 links must reach, all moving
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
    parser.add_argument("--links", type=int, help="this size only, not judged")


def run(options: argparse.Namespace) -> Report:
    sizes = QUICK_LINKS if options.quick else LINKS
    if options.links:
        sizes = (options.links,)
    seconds = QUICK_SECONDS if options.quick else SECONDS
    judged = not options.quick and not options.links
    report = Report("viewer", {"links": list(sizes), "seconds": seconds}, is_judged=judged)
    for links in sizes:
        for words, part in (("half", 0.5), ("all", 1.0)):
            progress(f"{links:,} links, {words} moving")
            frames, megabytes = measure(links, part, seconds)
            must = judged and links == LINKS[-1] and part == 1.0
            what = f"{links:,} links, {words} moving"
            report.requirements.append(
                Requirement(what, frames, "frames/s", f"≥ {SMOOTH:g}" if must else "", frames >= SMOOTH or not must)
            )
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
        first = counted.total
        shaken = [shake(T, part, k) for k in range(4)]
        check(drawing, shaken[0])
        counted.settle()
        first, frames, began = counted.total, 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            drawing.move(shaken[frames % 4])
            server.flush()
            frames += 1
            per_frame = 7 * 4 * (links - int((1.0 - part) * links) - 512)
            counted.until(first + 0.5 * max(0, per_frame) * frames)  # the client has kept up
        counted.settle()
        took = time.perf_counter() - began - counted.idle
        return frames / took, (counted.total - first) / took / 1e6
    finally:
        server.stop()
        if client is not None:
            client.kill()
            client.wait()


class _Counter:
    """Bytes that the client says it has received."""

    IDLE = 0.3  # [s] without news: everything has arrived

    def __init__(self, client: Any):
        import threading

        self.total, self.idle, self._news = 0, 0.0, time.perf_counter()
        assert client.stdout.readline().strip() == "connected"

        def read() -> None:
            for line in client.stdout:
                self.total, self._news = int(line), time.perf_counter()

        threading.Thread(target=read, daemon=True).start()

    def settle(self) -> None:
        began = time.perf_counter()
        while time.perf_counter() - max(self._news, began) < self.IDLE:
            time.sleep(0.01)
        self.idle = time.perf_counter() - max(self._news, began)

    def until(self, total: float) -> None:
        began = time.perf_counter()
        while self.total < total and time.perf_counter() - began < 5.0:
            time.sleep(0.001)


def shake(T: np.ndarray, part: float, seed: int) -> np.ndarray:
    """Every link of the last `part` moved by itself: nothing is rigid, which is the worst case."""
    moved = T.copy()
    first = int((1.0 - part) * len(T))
    moved[first:, :3, 3] += np.random.default_rng(seed).normal(size=(len(T) - first, 3))
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
