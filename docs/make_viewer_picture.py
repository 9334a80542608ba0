"""Makes the picture of the viewer's page (docs/viewer.md) in a browser that has no window.

Needs Chromium (Debian: apt-get install chromium), Playwright and the extra `viewer`.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import linkwork as lw

HERE = Path(__file__).parent
SOFTWARE = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
SIZE = {"width": 1100, "height": 760}
LONG = 120_000  # [ms] until a page is drawn without graphics hardware


@contextmanager
def opened(viewer: Any, size: dict[str, int] = SIZE, sharp: float = 1.0) -> Iterator[Any]:
    """The page of a viewer in a browser, ready to play. sharp: pixels of its pictures per pixel of the page."""
    with sync_playwright() as started:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = started.chromium.launch(executable_path=chromium, args=SOFTWARE + QUIET)
        page = browser.new_page(viewport=size, device_scale_factor=sharp)
        page.goto(viewer.url)
        page.get_by_role("button", name="Play").wait_for(timeout=LONG)
        page.add_style_tag(content="[class*=Notification] {display: none}")  # of drawing without graphics hardware
        yield page
        browser.close()


def make(out: Path) -> None:
    """A chain that swings, with a body chosen and a force on it."""
    model = lw.library.chain(12).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(3, speed=1.0), max_active_joints=4)
    viewer = lw.view(sim, h=1e-3, browser=False, port=0)
    live = viewer.page
    sim.apply_wrench("link_5", force=(0.0, 0.0, 6.5))
    with opened(viewer) as page:
        live.play()
        page.wait_for_timeout(5000)
        live.pause()
        live.stage.choose(model.body("link_3"))
        page.wait_for_timeout(8000)
        page.screenshot(path=str(out), timeout=LONG)
    viewer.close()


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "pictures" / "viewer_page.png")
