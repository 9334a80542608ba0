"""The page in a real browser: it loads, plays, takes a drag, and complains about nothing. Skipped without Chromium."""

from __future__ import annotations

import io
import shutil
import time

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("viser", reason="the extra `viewer` is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian: apt-get install chromium)")

SOFTWARE = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
LONG = 60_000  # [ms] for a page to appear, drawn without graphics hardware on a busy machine
# What viser's own page logs as an error when the pointer moves; it changes nothing.
OF_VISER = ("Unable to preventDefault inside passive event listener invocation.",)
SIZE = {"width": 900, "height": 560}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        yield made
        made.close()


def wait_for(condition, seconds=30.0):
    """Until something is so, looked at again and again; says whether it came to be."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def picture(page):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


def test_a_page_loads_plays_and_is_pulled_at(browser):
    from linkwork.viewer.render import SMOOTH, Renderer

    model = lw.library.chain(6).compile()
    lw.FullDynamics(model, model.neutral()).advance(1e-3)  # compiles what is not compiled yet
    sim = lw.FullDynamics(model, model.neutral())
    faults: list[str] = []
    with lw.view(sim, h=1e-3, port=0) as viewer:
        page = browser.new_page(viewport=SIZE)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(viewer.url)
        page.get_by_role("button", name="Play").wait_for(timeout=LONG)
        live = viewer.page
        assert wait_for(lambda: (np.ptp(picture(page)[:, :500], axis=2) > 60).sum() > 200)  # the chain, in colour

        camera = Renderer(live.stage.pieces, live.stage.camera, 0.0, SIZE["width"], SIZE["height"])
        place = live.stage.pieces.world_poses(live.stage.poses)[4, :3, 3]
        x, y = (camera._seen(place[None])[0][0] / SMOOTH).tolist()
        page.mouse.click(x, y)
        assert wait_for(lambda: live.stage.chosen == int(live.stage.pieces.body[4]))

        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 60, y - 40, steps=8)
        assert wait_for(lambda: np.linalg.norm(live.hand.force) > 0.0)
        assert wait_for(lambda: page.get_by_text("the hand feels").is_visible())
        red = lambda: ((picture(page) - [230, 60, 30])[:, :560] ** 2).sum(axis=2) < 120**2  # noqa: E731
        assert wait_for(lambda: red().sum() > 30)  # the arrow
        page.mouse.up()
        assert wait_for(lambda: sim.loads == ())

        page.get_by_role("button", name="Play").click()
        assert wait_for(lambda: sim.steps_done > 0)
        assert live.is_playing
        viewer.pause()
        page.reload()  # and opened a second time: both see the same
        page.get_by_role("button", name="Play").wait_for(timeout=LONG)
        page.close()
        viewer.step(1)
    assert not [fault for fault in faults if fault not in OF_VISER]
