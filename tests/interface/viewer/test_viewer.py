"""The viewer without a browser: what pages do, what is refused, what is written."""

from __future__ import annotations

import socket
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.cli import main

pytest.importorskip("viser", reason="the extra `viewer` is not installed")

from linkwork.viewer import animation
from linkwork.viewer.controls.hand import LONGEST, SHORTEST, arrow
from linkwork.viewer.controls.pointing import sight
from linkwork.viewer.playback import events_of
from linkwork.viewer.server import address, is_foreign, open_server
from linkwork.viewer.shapes.instances import instances_of


@pytest.fixture(scope="module")
def server():
    made = open_server(port=0)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    model = lw.library.chain(6).compile()
    sim = lw.FullDynamics(model, model.random_state(1, speed=2.0))
    path = tmp_path_factory.mktemp("viewer") / "swing"
    sim.run(1e-3, 200, record=path, every=20, progress=False)
    return lw.Recording(path)


@pytest.fixture
def page():
    """A simulation of a short chain, paused, on a page."""
    model = lw.library.chain(8).compile()
    with lw.view(lw.FullDynamics(model, model.random_state(0, speed=1.0)), port=0) as viewer:
        yield viewer


# ------------------------------------------------------------------------------------------------------------ what pages do


def test_a_simulation_steps_resets_and_is_pulled_at(page):
    live, sim = page.page, page.page.sim
    first = sim.state.q.copy()
    page.step(10)
    assert sim.steps_done == 10
    live.drag("start", 5, live.stage.poses[5, :3, 3], live.stage.poses[5, :3, 3])
    target = live.stage.poses[5, :3, 3] + [0.1, 0.0, 0.0]
    live.drag("update", 5, None, target)
    stiffness = live.hand.stiffness
    velocity = live.stage.poses[5, :3, :3] @ lw.body_twists(sim.model, sim.state)[5, 3:]
    coupling = np.array([0.1 * stiffness, 0.0, 0.0]) - live.hand.grasp.settings.damping * velocity
    np.testing.assert_allclose(live.hand.force, coupling, atol=rounding(scale=stiffness, steps=100))
    assert np.linalg.norm(sim.loads[0].force) == 0.0  # it acts with the next step
    page.step(5)
    assert np.linalg.norm(sim.loads[0].force) > 0.0
    assert np.linalg.norm(live.stage.poses[5, :3, 3] - target) < 0.1
    assert live.hand.felt > 0.0
    live.drag("end", 5, None, None)
    assert sim.loads == ()
    assert (live.hand.felt, live.hand.is_holding) == (0.0, False)
    live.stage.choose(3)
    for action in ("Fix", "Push", "Push"):
        live.actions.perform(action)
    assert len(sim.loads) == 2
    page.reset()
    assert (sim.steps_done, sim.time, sim.loads) == (0, 0.0, ())
    np.testing.assert_array_equal(sim.state.q, first)


def test_a_body_that_is_held_follows_the_mouse_and_feels_its_weight():
    """A pendulum pulled out by the mouse comes to rest where the coupling, its weight and its hinge balance."""
    linkage = lw.Linkage("rod")
    rod = lw.Inertia.box(2.0, (0.1, 0.1, 1.0)).at(lw.Pose(xyz=(0.0, 0.0, -0.5)))
    linkage.add_body("rod", joint=lw.Revolute((0, 1, 0), damping=2.0), inertia=rod)
    model = linkage.compile()
    with lw.view(lw.FullDynamics(model, model.neutral()), h=2e-3, port=0) as viewer:
        live = viewer.page
        tip = np.array([0.0, 0.0, -1.0])
        live.drag("start", 0, tip, tip)
        live.drag("update", 0, None, tip + np.array([0.2, 0.0, 0.0]))
        viewer.step(3000)
        q = live.sim.state.q[0]
        assert abs(live.sim.state.v[0]) < 1e-6  # at rest; the slowest part dies out like exp(-3 t)
        torque = 2.0 * 9.81 * 0.5 * np.sin(abs(q))  # of the weight about the hinge
        arm = live.stage.poses[0, :3, :3] @ tip
        moment = abs(np.cross(arm, live.hand.force)[1])
        assert moment == pytest.approx(torque, rel=1e-5)
        assert live.hand.felt == pytest.approx(np.linalg.norm(live.hand.force), rel=1e-5)
        assert abs(q) > 0.1


class Camera:
    """Looks along +y from y = -5: x of the world to the right, z up."""

    position, wxyz, fov, aspect = (0.0, -5.0, 0.0), (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0), 0.5 * np.pi, 2.0


def test_a_line_of_sight_goes_through_its_place_on_the_screen():
    middle = sight(Camera, (0.5, 0.5))
    np.testing.assert_allclose(middle.along, [0.0, 1.0, 0.0], atol=1e-15)
    corner = sight(Camera, (1.0, 0.0))  # 90 degrees high, twice as wide: at a distance of 5 m
    np.testing.assert_allclose(corner.meet(np.zeros(3)), [10.0, 0.0, 5.0], atol=1e-13)
    np.testing.assert_allclose(middle.nearest(np.array([3.0, 2.0, 1.0])), [0.0, 2.0, 0.0], atol=1e-14)
    behind = np.array([0.0, -9.0, 0.0])
    np.testing.assert_array_equal(corner.meet(behind), behind)
    assert sight(Camera, (np.nan, 0.5)) is None


@pytest.mark.parametrize("look", [None, sight(Camera, (0.5, 0.55))])
def test_a_page_that_sends_no_places_pulls_all_the_same(look):
    """A scene that runs, whose pictures move under the mouse: places come as NaN."""
    nowhere = np.full(3, np.nan)
    with lw.view(lw.Scene.read("snake_robot"), port=0) as viewer:
        live = viewer.page
        viewer.step(5)
        live.drag("start", 10, nowhere, nowhere, look)
        assert live.hand.is_holding
        for _ in range(10):
            live.drag("update", 10, nowhere, nowhere, look)
            viewer.step(5)
        force = np.linalg.norm(live.hand.force)
        assert np.isfinite(live.sim.state.q).all()
        live.drag("update", 10, nowhere, live.stage.poses[10, :3, 3] + [0.3, 0.0, 0.0], look)
        viewer.step(5)
        assert np.linalg.norm(live.hand.force) > force
        assert np.isfinite(live.sim.state.q).all()
        live.drag("end", 10, nowhere, nowhere, look)
        assert not live.hand.is_holding


def test_a_hand_survives_loads_that_are_cleared(page):
    live = page.page
    live.drag("start", 5, live.stage.poses[5, :3, 3], live.stage.poses[5, :3, 3])
    with page.hold() as sim:
        sim.clear_loads()
    live.drag("end", 5, None, None)
    assert not live.hand.is_holding
    page.step(2)


def test_the_arrow_of_a_small_force_is_seen_and_that_of_a_large_one_ends():
    lengths = [float(np.linalg.norm(arrow(np.array([0.0, f, 0.0]), 10.0))) for f in (0.0, 0.01, 5.0, 10.0, 1e6)]
    assert lengths[0] == 0.0
    assert SHORTEST <= lengths[1] < lengths[2] < lengths[3] == pytest.approx(LONGEST)
    assert lengths[4] == lengths[3]
    np.testing.assert_allclose(np.cross(arrow(np.array([1.0, 2.0, 3.0]), 10.0), (1.0, 2.0, 3.0)), 0.0, atol=1e-15)


def test_contacts_are_points_and_arrows():
    """A ball at rest on the ground: one point below it, one arrow up, as long as the largest force is drawn."""
    linkage = lw.Linkage("ball")
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    linkage.add_obstacle("ground", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    q[:3] = (0.3, 0.0, 0.1)
    sim = lw.FullDynamics(model, model.state(q), contact=lw.Contact())
    with lw.view(sim, port=0) as viewer:
        viewer.step(50)
        layers = viewer.page.stage.layers
        np.testing.assert_allclose(layers.nodes["contacts"].points, [[0.3, 0.0, 0.0]], atol=1e-3)
        (start, end), length = layers.nodes["pushes"].points[0], 0.2 * viewer.page.stage.camera.size
        np.testing.assert_allclose(end - start, [0.0, 0.0, length], atol=1e-3 * length)
        layers.show("contacts", False)
        assert not {"contacts", "pushes"} & set(layers.nodes)


def test_playing_goes_on_and_pauses(page):
    sim = page.page.sim
    page.play()
    deadline = 200
    while sim.steps_done == 0 and deadline:
        time.sleep(0.05)
        deadline -= 1
    page.pause()
    with page.hold():
        stands = sim.steps_done
    assert stands > 0


def wait_for(condition):
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def test_a_page_follows_a_haptic_session_that_runs_by_the_clock(page):
    """It draws what the session does, and stops to play itself; so all steps are the session's."""
    live, sim = page.page, page.page.sim
    session = lw.haptics.grasp(sim, 5, lw.haptics.Pointer(), watchdog=60.0).session
    page.play()
    wait_for(lambda: sim.steps_done > 0)
    with session.start(h=1e-3, rate=200.0, sim_rate=50.0, device_rate=50.0, spins=False):
        wait_for(lambda: not live.is_playing)
        with session.lock:
            before = sim.steps_done - session.statistics()[1].ticks
        drawn = live.stage.state.q.copy()
        wait_for(lambda: not np.array_equal(live.stage.state.q, drawn))
        assert "by a haptic session" in live.status.content
        for refused in (page.play, page.step, page.reset, lambda: live.drag("start", 5, np.zeros(3), np.zeros(3))):
            with pytest.raises(lw.StateError, match="a haptic session steps this simulation"):
                refused()
    assert sim.steps_done - before in (session.statistics()[1].ticks, session.statistics()[1].ticks + 1)
    page.step(2)  # and now the page may again
    assert live.status.content.count("haptic") == 0


def test_a_page_makes_no_step_of_a_haptic_run(page):
    sim, over, refused = page.page.sim, threading.Event(), []

    class Watching(lw.haptics.Pointer):
        def read(self):
            if sim.steps_done - before >= 700:
                over.set()
            return super().read()

    before = 1
    session = lw.haptics.grasp(sim, 5, Watching()).session
    session.step(1e-3)

    def press():
        while not over.is_set():
            try:
                page.play()
            except lw.StateError:
                refused.append(1)
            time.sleep(1e-4)

    presses = threading.Thread(target=press)
    session.is_in_run = True  # from before the first press on
    presses.start()
    try:
        session.run(0.75, h=1e-3)
    finally:
        over.set()
        presses.join()
        page.pause()
    assert refused
    assert sim.steps_done - before == 750


def test_an_action_without_a_body_is_refused(page):
    page.page.stage.choose(-1)
    with pytest.raises(lw.StateError, match="no body is chosen"):
        page.page.actions.perform("Fix")


def test_a_step_that_fails_pauses_and_leaves_the_page_open(page):
    page.page.h = 1e300
    page.play()
    time.sleep(0.2)
    page.step(1)
    assert not page.page.is_playing
    assert page.is_open


def test_layers_come_and_go(page):
    stage = page.page.stage
    page.page.sim.apply_wrench(2, force=(1.0, 0.0, 0.0))
    page.page.sim.apply_spring(4, (0.0, 0.0, 1.0), 10.0)
    for name in stage.layers.NAMES:
        stage.layers.show(name, True)
    page.step(2)
    page.step(2)
    assert {"names", "world", "joints", "loads", "springs", "center", "trails"} <= set(stage.layers.nodes)
    np.testing.assert_allclose(
        stage.layers.nodes["loads"].points[0, 1] - stage.layers.nodes["loads"].points[0, 0],
        [0.2 * stage.camera.size, 0, 0],
        atol=1e-5 * stage.camera.size,
    )
    for name in stage.layers.NAMES:
        stage.layers.show(name, False)
    assert set(stage.layers.nodes) <= {"springs", "chosen"}


def test_a_recording_is_scrubbed_and_compared(recording):
    with lw.view(recording, recording, port=0) as viewer:
        viewer.seek(0.1)
        k = viewer.page.frames[0]
        assert recording.times[k] <= 0.1 + 1e-9
        np.testing.assert_allclose(viewer.page.stage.poses, recording.poses(k))
        viewer.step(-1)
        assert viewer.page.frames == (k - 1, k - 1)
        viewer.seek(99.0)
        assert viewer.page.time == recording.times[-1]


def test_events_are_changes_of_counts():
    class Run:
        times = np.arange(5) * 0.1
        reports = {"strikes": np.array([0, 0, 1, 1, 2.0])}  # noqa: RUF012
        scalars = {"energy": np.arange(5.0)}  # noqa: RUF012
        has_contacts = False

    assert events_of(Run()) == [(pytest.approx(0.2), "heel strike"), (pytest.approx(0.4), "heel strike")]


def test_a_model_is_posed(page):
    model = lw.library.double_pendulum().compile()
    with lw.view(model, port=0) as viewer:
        k = model.q_slice(1).start
        viewer.page.set(k, 0.5)
        q = model.neutral().q
        q[k] = 0.5
        np.testing.assert_allclose(viewer.page.stage.poses, lw.body_poses(model, model.state(q)))
        viewer.reset()
        assert viewer.page.stage.state.q[k] == 0.0


@pytest.mark.parametrize("name", sorted(lw.library.MODELS))
def test_every_library_model_can_be_drawn(name):
    model = lw.library.MODELS[name]().compile()
    instances = instances_of(model)
    assert set(range(model.n_bodies)) <= set(instances.body.tolist())
    assert np.isfinite(instances.corners(lw.body_poses(model, model.neutral()))).all()


# -------------------------------------------------------------------------------------------------------- what is kept out


@pytest.mark.parametrize(
    ("hosts", "origins", "listens_on", "foreign"),
    [
        (["127.0.0.1:8080"], ["http://127.0.0.1:8080"], "127.0.0.1", False),
        (["localhost:8080"], ["http://localhost:8080"], "127.0.0.1", False),
        (["127.0.0.1:8080"], [], "127.0.0.1", False),
        (["127.0.0.1:8080"], ["http://evil.example"], "127.0.0.1", True),
        (["127.0.0.1:8080"], ["http://127.0.0.1:9999"], "127.0.0.1", True),
        (["127.0.0.1:8080"], ["null"], "127.0.0.1", True),
        (["evil.example:8080"], ["http://evil.example:8080"], "127.0.0.1", True),  # a name that was made to point here
        ([], [], "127.0.0.1", True),
        (["desk.local:8080"], ["http://desk.local:8080"], "0.0.0.0", False),
        (["desk.local:8080"], ["http://evil.example"], "0.0.0.0", True),
    ],
)
def test_foreign_pages_are_known_by_their_headers(hosts, origins, listens_on, foreign):
    assert is_foreign(hosts, origins, listens_on) == foreign


def test_a_foreign_page_is_refused_by_the_server(server):
    assert b"<html" in urllib.request.urlopen(address(server)).read()[:2000].lower()
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(urllib.request.Request(address(server), headers=headers))


def test_a_foreign_socket_is_refused(server):
    sync = pytest.importorskip("websockets.sync.client")
    from websockets.exceptions import InvalidStatus

    url = address(server).replace("http", "ws")
    with pytest.raises(InvalidStatus, match="403"):
        sync.connect(url, origin="http://evil.example", proxy=None)


def test_the_server_listens_on_this_computer_only(server):
    assert server.get_host() == "127.0.0.1"
    assert server.request_share_url() is None  # a page cannot ask for a tunnel


def test_a_taken_port_gets_another():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with lw.view(lw.library.pendulum(), port=port) as viewer:
            assert not viewer.url.endswith(f":{port}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": -1}, "port is -1"),
        ({"port": "x"}, "port is 'x'"),
        ({"host": "no.such.host.invalid"}, "there is no host"),
        ({"h": 0.0}, "h"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(lw.LinkworkError, match=words):
        lw.view(lw.library.pendulum(), **options)


def test_what_cannot_be_viewed_is_refused(recording):
    with pytest.raises(lw.LinkworkError, match="a dict cannot be viewed"):
        lw.view({})
    with pytest.raises(lw.LinkworkError, match="only two recordings"):
        lw.view(lw.library.pendulum(), recording)


def test_closing_twice_does_no_harm():
    viewer = lw.view(lw.library.pendulum(), port=0)
    assert viewer.url in viewer._repr_html_()
    viewer.close()
    viewer.close()
    assert repr(viewer) == "Viewer(closed, still)"


# --------------------------------------------------------------------------------------------------------- what is written


def test_animations_are_reproducible(recording, tmp_path):
    from PIL import Image

    for k in (0, 1):
        assert animation.write_gif(recording, tmp_path / f"{k}.gif", width=120, height=90) == 5
    first = (tmp_path / "0.gif").read_bytes()
    assert first == (tmp_path / "1.gif").read_bytes()
    with Image.open(tmp_path / "0.gif") as image:
        assert (image.size, image.n_frames) == ((120, 90), 5)


def test_a_picture_shows_the_mechanism_where_it_is(recording):
    """Something else than paper, ground and shadow is drawn, and it moves between frames."""
    pictures = [np.asarray(x).astype(int) for x in animation.pictures(recording, np.array([0, 10]), 160, 120)]
    seen = [np.ptp(x, axis=2) > 40 for x in pictures]  # colours, not greys
    assert all(20 < x.sum() < 0.5 * x.size for x in seen)
    assert (seen[0] != seen[1]).sum() > 20


def test_export_commands_write_animations(recording, tmp_path, capsys):
    run = str(recording.path)
    assert main(["export", run, "--gif", "--out", str(tmp_path / "a.gif"), "--size", "80x60"]) == 0
    assert main(["export", run, "--html", "--out", str(tmp_path / "a.html")]) == 0
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "__VISER_EMBED_DATA__" in page
    assert capsys.readouterr().out.count("written to") == 2
    for words in (["--size", "big"], ["--every", "2"], ["--speed", "1e-9"], ["--speed", "0"]):
        assert main(["export", run, "--gif", "--out", str(tmp_path / "b.gif"), *words]) == 1
    assert not (tmp_path / "b.gif").exists()


def test_mp4_is_written(recording, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    assert animation.write_mp4(recording, tmp_path / "a.mp4", width=81, height=60) == 7
    assert (tmp_path / "a.mp4").read_bytes()[4:8] == b"ftyp"


def test_the_view_command_finds_what_is_meant(recording):
    from linkwork.cli.commands.view import find_subject

    assert isinstance(find_subject("chain", ["joints=5"])[0], lw.Linkage)
    assert isinstance(find_subject("hanging_cable", [])[0], lw.Scene)
    assert all(isinstance(x, lw.Recording) for x in find_subject(str(recording.path), [str(recording.path)]))
    for source, settings in (("nothing_of_this_name", []), (str(recording.path), ["a=1"]), ("chain", ["joints"])):
        with pytest.raises(lw.LinkworkError):
            find_subject(source, settings)


# -------------------------------------------------------------------------------------------------------------------- rods


@pytest.fixture(scope="module")
def hanging_rod():
    rod = lw.rod(1.0, 8, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=0.01)
    rod.attach_world("start", lw.Clamped(), at=lw.Pose(rpy=(0.0, 0.5 * np.pi, 0.0)))
    model = rod.compile()
    return model, lw.settle(model, model.neutral()).state


def test_rods_are_coloured_by_tension(hanging_rod):
    model, state = hanging_rod
    with lw.view(lw.FullDynamics(model, state), port=0) as viewer:
        plain = viewer.page.stage.colors
        viewer.page.tightness.is_shown = True
        viewer.step(1)
        assert viewer.page.tightness.largest == pytest.approx(9.81 * 15 / 16, rel=1e-3)
        above, below = viewer.page.stage.colors[0].astype(int), viewer.page.stage.colors[-1].astype(int)
        assert above[0] > above[2] + 100  # red where the whole rod hangs
        assert abs(below[0] - below[2]) < 40  # grey at its free end
        viewer.page.tightness.is_shown = False
        viewer.step(1)
        assert np.array_equal(viewer.page.stage.colors, plain)


def test_modes_swing_on_a_page(hanging_rod):
    model, state = hanging_rod
    found = lw.modes(model, state, 4)
    with lw.view(model, state=state, modes=found, port=0) as viewer:
        viewer.pause()
        viewer.show(2)
        turned = model.difference(state.q, viewer.page.at(0.5 * np.pi).q)
        shape = found.shapes[2]
        assert np.abs(turned / np.abs(turned).max() - shape / np.abs(shape).max()).max() < 1e-9
        assert np.array_equal(viewer.page.at(0.0).q, state.q)
        with pytest.raises(lw.StateError, match="there are 4"):
            viewer.show(4)
    with pytest.raises(lw.LinkworkError, match="modes are shown of a model"):
        lw.view(lw.FullDynamics(model, state), modes=found, port=0)
