"""Makes the picture of the viewer's page (docs/viewer.md) in a browser that has no window.

Needs Chromium (Debian: apt-get install chromium), Playwright and the extra `viewer`.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

import linkwork as lw

HERE = Path(__file__).parent
SOFTWARE = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1100, "height": 760}
LONG = 120_000  # [ms] until a page is drawn without graphics hardware


def make(out: Path) -> None:
    """A chain that swings, with a body chosen and a force on it."""
    model = lw.library.chain(12).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(3, speed=1.0), max_active_joints=4)
    viewer = lw.view(sim, h=1e-3, browser=False, port=0)
    live = viewer.page
    sim.apply_wrench("link_5", force=(0.0, 0.0, 6.5))
    with sync_playwright() as started:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        page = started.chromium.launch(executable_path=chromium, args=SOFTWARE).new_page(viewport=SIZE)
        page.goto(viewer.url)
        page.get_by_role("button", name="Play").wait_for(timeout=LONG)
        live.play()
        page.wait_for_timeout(5000)
        live.pause()
        live.stage.choose(model.body("link_3"))
        page.wait_for_timeout(8000)
        page.add_style_tag(content="[class*=Notification] {display: none}")  # of drawing without graphics hardware
        page.screenshot(path=str(out), timeout=LONG)
    viewer.close()


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "pictures" / "viewer_page.png")
