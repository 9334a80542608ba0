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

    return np.asarray(Image.open(io.BytesIO(page.screenshot(timeout=LONG))).convert("RGB")).astype(int)


class Page:
    """A page of a simulation in the browser, and what it complained about."""

    def __init__(self, browser, viewer):
        self.viewer, self.live, self.faults = viewer, viewer.page, []
        self.page = browser.new_page(viewport=SIZE)
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(viewer.url)
        self.page.get_by_role("button", name="Play").wait_for(timeout=LONG)
        colored = lambda: (np.ptp(picture(self.page)[:, :500], axis=2) > 60).sum() > 200  # noqa: E731
        assert wait_for(colored)  # the mechanism

    def place_of(self, instance):
        """Where the middle of a shape is on the screen [pixels], and in the world [m]."""
        from linkwork.viewer.render import SMOOTH, Renderer

        stage = self.live.stage
        camera = Renderer(stage.instances, stage.camera, 0.0, SIZE["width"], SIZE["height"])
        place = stage.instances.world_poses(stage.poses)[instance, :3, 3]
        x, y = (camera.on_screen(place[None])[0][0] / SMOOTH).tolist()
        return x, y, place

    def click(self, name):
        """Presses a button, also one that moves because the panel above it grew."""
        button = self.page.get_by_role("button", name=name, exact=True)
        button.wait_for(timeout=LONG)
        button.evaluate("node => node.click()")

    def end(self):
        self.page.close()
        assert not [fault for fault in self.faults if fault not in OF_VISER]


def test_a_page_loads_plays_and_is_pulled_at(browser):
    model = lw.library.chain(6).compile()
    sim = lw.FullDynamics(model, model.neutral())
    prepare(sim)
    with lw.view(sim, h=1e-3, port=0) as viewer:
        shown = Page(browser, viewer)
        page, live = shown.page, shown.live
        x, y, place = shown.place_of(4)
        page.mouse.click(x, y)
        assert wait_for(lambda: live.stage.chosen == int(live.stage.instances.body[4]))

        before = sim.state.q.copy()
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 60, y - 40, steps=8)
        assert wait_for(lambda: np.linalg.norm(live.hand.force) > 0.0)
        assert wait_for(lambda: page.get_by_text("felt by the hand").is_visible())
        red = lambda: ((picture(page) - [230, 60, 30])[:, :560] ** 2).sum(axis=2) < 120**2  # noqa: E731
        assert wait_for(lambda: red().sum() > 30)  # the arrow
        np.testing.assert_array_equal(sim.state.q, before)  # paused: nothing moves yet
        shown.click("Play")
        assert wait_for(lambda: sim.steps_done > 200)
        viewer.pause()
        grasp = live.hand.grasp
        assert grasp.state == "held"
        target = live.hand.target
        with viewer.hold():
            now = grasp.session.points[grasp.number]
        assert np.abs(sim.state.q - before).max() > 0.05
        # gravity pulls it down meanwhile: along the pull it came nearer
        pull = (target - place) / np.linalg.norm(target - place)
        assert (now - place) @ pull > 0.1 * np.linalg.norm(target - place)
        page.mouse.up()
        assert wait_for(lambda: sim.loads == ())
        assert wait_for(lambda: not page.get_by_text("felt by the hand").is_visible())

        page.reload()  # and opened a second time: both see the same
        page.get_by_role("button", name="Play").wait_for(timeout=LONG)
        shown.end()
        viewer.step(1)


def prepare(sim):
    """Compiles what is not compiled yet, so that no page waits for it."""
    saved = sim.checkpoint()
    grasp = lw.haptics.grasp(sim, 0, lw.haptics.Pointer())
    grasp.session.move_on(1e-3)
    grasp.release()
    sim.restore(saved)


def test_the_right_button_opens_the_menu_of_a_body(browser):
    """Pressed on a body and moved a little; what is picked there happens, and the menu goes."""
    model = lw.library.chain(5).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=2)
    prepare(sim)
    with lw.view(sim, h=1e-3, port=0) as viewer:
        shown = Page(browser, viewer)
        page, live = shown.page, shown.live
        x, y, _ = shown.place_of(3)
        for entry, check in (
            ("Fix", lambda: len(sim.loads) == 1),
            ("Release", lambda: sim.loads == ()),
            ("Pin active", lambda: model.body_names[3] in sim.active_joints or 3 in sim.active_bodies.tolist()),
        ):
            page.mouse.move(x, y)
            page.mouse.down(button="right")
            page.mouse.move(x + 12, y + 6, steps=4)
            page.mouse.up(button="right")
            assert wait_for(lambda: live.menu.is_open)
            assert live.stage.chosen == int(live.stage.instances.body[3])
            button = page.get_by_role("dialog").get_by_role("button", name=entry, exact=True)
            button.wait_for(timeout=LONG)
            button.evaluate("node => node.click()")
            assert wait_for(lambda: not live.menu.is_open)
            page.get_by_role("dialog").wait_for(state="hidden", timeout=LONG)
            if entry == "Pin active":
                viewer.step(1)
            assert wait_for(check)
        orange = ((picture(page) - np.array([240, 120, 30]) * 0.8)[:, :560] ** 2).sum(axis=2) < 110**2
        assert orange.sum() > 20  # bodies that active joints carry
        shown.end()


def test_a_mechanism_is_given_another_root_on_a_page(browser):
    model = lw.library.chain(5).compile()
    sim = lw.QuasiStatics(model, model.neutral())
    prepare(sim)
    with lw.view(sim, h=1e-3, port=0) as viewer:
        shown = Page(browser, viewer)
        live = shown.live
        x, y, _ = shown.place_of(3)
        shown.page.mouse.click(x, y)
        name = model.body_names[int(live.stage.instances.body[3])]
        assert wait_for(lambda: live.stage.chosen >= 0)
        live.do(lambda: live.actions.perform("Re-root here"))
        assert wait_for(lambda: live.sim is not sim)
        assert live.sim.model.body_names[0] == name
        viewer.step(2)
        assert wait_for(lambda: (np.ptp(picture(shown.page)[:, :500], axis=2) > 60).sum() > 200)
        viewer.reset()
        assert live.sim is sim
        shown.end()


def prepare_scene(scene):
    """Compiles what a page will use: a step with contact, and a hand on a body."""
    sim = scene.build().sim
    sim.step(scene.h, 2)
    prepare(sim)


def test_a_body_of_a_running_scene_is_dragged(browser):
    """Pages replace their pictures of bodies while the mouse is down: no NaN reaches the simulation, and bodies follow."""
    scene = lw.Scene.read("snake_robot")
    prepare_scene(scene)
    with lw.view(scene, port=0) as viewer:
        shown = Page(browser, viewer)
        page, live = shown.page, shown.live
        shown.click("Play")
        assert wait_for(lambda: live.sim.steps_done > 50)
        for turn in range(1):  # one drag: afterwards the robot has moved on from where the mouse is sent
            x, y, place = shown.place_of(4 + 6 * turn)
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x - 40, y - 120, steps=6)
            assert wait_for(lambda: live.hand.is_holding and np.linalg.norm(live.hand.force) > 0.0), turn
            begun = live.sim.steps_done
            assert wait_for(lambda begun=begun: live.sim.steps_done > begun + 100)
            for numbers in (live.hand.force, live.hand.target, live.sim.state.q, live.sim.state.v):
                assert np.isfinite(numbers).all()
            with viewer.hold():
                grasp = live.hand.grasp
                now = grasp.session.points[grasp.number]
            assert now[2] > place[2] + 0.005, turn  # it was lifted off the floor
            page.mouse.up()
            assert wait_for(lambda: not live.hand.is_holding)
        assert live.is_playing  # a step that fails pauses the page
        shown.end()
