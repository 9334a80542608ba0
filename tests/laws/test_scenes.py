"""Every built-in scene runs, and keeps the law it was made to show: energy, momentum, equilibrium, closed loops, bounds."""

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.scene import Scene, run_scene
from linkwork.scene.builtin_scenes import builtin_scenes, scene_titles

# Settings that make a scene short or small enough for the tests; a law of its own stands below where there is one.
SMALLER = {
    "molecule_one_force": {"model.parameters.joints": 2000, "run.steps": 200},
    "molecule_100_forces": {"model.parameters.joints": 2000, "run.steps": 200},
    "bicycle_chain": {"run.steps": 200},
    "millipede": {"model.parameters.segments": 20, "model.parameters.spine": 60, "run.steps": 400},
    "cable_push": {"model.parameters.joints": 300, "run.steps": 40},
    "ball_chain": {"run.duration": 0.1},
    "ball_star": {"run.duration": 0.1},
    "compass_walker": {"run.duration": 1.6},
    "millipede_hit": {"model.parameters.segments": 20, "model.parameters.spine": 60, "run.duration": 0.01},
    "molecule_hit": {"model.parameters.joints": 2000, "run.duration": 0.04},
    "crowd": {"model.copies": 4, "run.duration": 0.04},
    "hanging_cable": {"run.duration": 1.4},
    "snake_in_space": {"run.duration": 0.2},
    "snake_robot": {"run.duration": 0.2},
    "catheter": {"run.duration": 0.1},
    "falling_humanoid": {"run.duration": 0.1},
    "four_bar": {"run.duration": 0.1},
    "cable_between_anchors": {
        "model.parameters.joints": 20,
        "model.parameters.length": 0.5,
        "anchor.0.body": "link_19",
        "anchor.0.at": [0.0, 0.0, -0.5],
        "run.duration": 0.1,
    },
    "elastica": {"run.duration": 1.0},
    "tether": {"run.duration": 2.0, "record.every": 0.2},
    "mooring": {"run.duration": 0.5, "record.every": 0.1},
    "power_line": {"run.duration": 0.5, "record.every": 0.1},
    "strip": {"run.duration": 0.5},
    "catheter_vessel": {"run.duration": 0.2},
    "drill_string": {"run.duration": 0.2},
    "stiff_robot": {"run.duration": 0.5},
    "protein_pulled": {"model.parameters.joints": 300, "run.duration": 2.0},
    "polyalanine_pull": {"run.duration": 0.2, "record.every": 0.02},
    "bacteriorhodopsin": {
        "model.parameters.residues": [154, 195],  # of another protein, whose file a package brings
        "model.parameters.ends": False,
        "spring.0.body": "A:195:CA",
        "record.points": [{"body": "A:195:CA"}],
        "model.parameters.relax": False,
        "run.h": 0.0005,
        "run.duration": 0.01,
        "record.every": 0.002,
    },
    "pendulum_pegs": {"run.duration": 0.05},
    "threading": {"run.duration": 0.05},
    "bridge": {"run.duration": 0.01, "record.every": 0.002},
}
ADAPTIVE = ("millipede_hit", "molecule_hit", "crowd")
QUASI_STATIC = (
    "molecule_one_force", "molecule_100_forces", "bicycle_chain", "millipede", "cable_push", "hanging_cable",
    "protein_pulled",
)  # fmt: skip


def run_short(name, tmp_path, **more):
    return run_scene(name, tmp_path / name, {**SMALLER[name], **more}, progress=False)


def test_every_ready_scene_is_listed_and_explains_itself():
    assert set(SMALLER) == set(builtin_scenes())
    for name, path in builtin_scenes().items():
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# "), name
        assert scene_titles()[name], name


@pytest.mark.parametrize("name", sorted(SMALLER))
def test_every_ready_scene_runs(name, tmp_path):
    """Short or small: to its end, with frames, finite numbers and something that moves."""
    if name in ("polyalanine_pull", "bacteriorhodopsin"):
        proteins.need_packages()
    more = {"model.file": str(proteins.integrase())} if name == "bacteriorhodopsin" else {}
    recording = run_short(name, tmp_path, **more)
    assert recording.status == "finished"
    assert len(recording) >= 3
    first, last = recording.state(0), recording.state(-1)
    assert np.isfinite(np.concatenate([*first, *last])).all()
    assert np.abs(recording.model.difference(first.q, last.q)).max() > 0.0
    assert recording.times[-1] == pytest.approx(
        Scene.read(name, {**SMALLER[name], **more}).steps * Scene.read(name, {**SMALLER[name], **more}).h
    )
    for point in recording.metadata["linkwork_scene"]["points"]:
        assert np.isfinite(recording.path_of(point["body"], point["at"])).all()


@pytest.mark.parametrize("name", QUASI_STATIC)
def test_quasi_static_scenes_prove_their_error(name, tmp_path):
    """Each reported bound keeps to the tolerance; and on the way, all joints computed, the error is below the bound."""
    recording = run_short(name, tmp_path)
    tolerance = Scene.read(name).data["method"]["tolerance"]
    bound = recording.reports["error_bound"][1:]
    assert (bound <= tolerance + recording.reports["rounding_floor"][1:]).all()
    assert recording.reports["reached"][1:].all()
    scene = Scene.read(name, SMALLER[name])
    on_the_way = scene.build()
    sim = on_the_way.sim
    sim.max_active_joints = sim.model.n_bodies  # a budget: solves that compute most joints do not compute all of them
    on_the_way.step(scene.h, 20)
    report = sim.solve()
    ours = sim.acceleration.copy()
    assert np.count_nonzero(ours) < sim.model.nv  # some joints were left out, so that there is something to prove
    sim.refine(0.0)
    rows = [sim.model.v_slice(name) for name in sim.model.joint_names]
    wrong, truth = (max(np.linalg.norm(x[r]) for r in rows) for x in (ours - sim.acceleration, sim.acceleration))
    assert sim.measure in ("relative_joint", "absolute_joint")
    assert wrong <= report.error_bound * (truth if sim.measure == "relative_joint" else 1.0)


@pytest.mark.parametrize("name", ["ball_chain", "ball_star"])
def test_energy_of_swinging_scenes(name, tmp_path):
    """No friction: the total energy stays, to the error of 100 steps of order four."""
    recording = run_short(name, tmp_path)
    scalars = recording.scalars
    exchanged = scalars["kinetic_energy"].max()
    assert np.ptp(scalars["energy"]) < 1e-5 * exchanged
    assert exchanged > 0.0


def test_the_cable_comes_to_rest_as_statics_says():
    """Slope of each link = wind over the weight below its middle; the run is long enough for 1e-5."""
    scene = Scene.read("hanging_cable")
    sim = scene.build()
    sim.run(scene.h, scene.steps, progress=False)
    links, weight = 20, 0.1 * 9.81
    expected = 1.5 / (weight * (links - np.arange(links) - 0.5))
    assert np.tan(-np.cumsum(sim.state.q)) == pytest.approx(expected, abs=1e-5)


def test_the_catheter_settles_where_its_springs_carry_the_pull():
    """At rest the springs' efforts equal those of the tip's force through the Jacobian: k q = Jᵀ f."""
    scene = Scene.read("catheter")
    sim = scene.build()
    sim.run(scene.h, scene.steps, progress=False)
    model, state = sim.model, sim.state
    J = lw.body_jacobian(model, state, "link_19", frame="world", at=(0.0, 0.0, -0.02))
    pull = J[3:].T @ np.array([0.05, 0.02, 0.0])
    assert np.abs(pull).max() > 1e-3
    # the slowest mode decays in some 2 s: after 14 s of constant load about 1e-3 of the motion is left
    assert 0.02 * state.q == pytest.approx(pull, abs=2e-3 * np.abs(pull).max())


def test_the_snake_crawls_and_its_floor_carries_it():
    """Whole periods of the wave are alike: it goes on by the same way in each, and the floor gives its weight."""
    scene = Scene.read("snake_robot")
    sim = scene.build()
    model = sim.model
    weight = 9.81 * float(model.mass.sum())
    period = round(2.0 / scene.h)
    sim.advance(scene.h, period)
    ways, pushed = [], 0.0
    for k in range(2):
        before = lw.center_of_mass(model, sim.state)
        for _ in range(period // 10):
            report = sim.step(scene.h, 10)
            assert report.contact.not_converged == 0
            assert report.contact.deepest < 1e-3  # of links of radius 0.02 m
            if k:
                pushed += sum(contact.force[2] for contact in sim.contacts) / (period // 10)
        ways.append(lw.center_of_mass(model, sim.state) - before)
    assert -0.2 < ways[0][0] < -0.05  # [m], towards its head
    assert ways[1] == pytest.approx(ways[0], abs=0.1 * abs(ways[0][0]))
    assert abs(pushed) == pytest.approx(weight, rel=0.05)  # a mean over some of the steps


def test_the_snake_in_space_keeps_its_momentum():
    """Nothing outside acts: momentum stays zero and the centre of mass where it was, while joints follow the wave."""
    scene = Scene.read("snake_in_space", {"run.duration": 2.6})
    sim = scene.build()
    start = lw.center_of_mass(sim.model, sim.state)
    fastest = 0.0

    def watch(sim, report):
        nonlocal fastest
        fastest = max(fastest, np.abs(sim.state.v).max())
        linear, angular = lw.momentum(sim.model, sim.state)
        # of momenta of 0.2 kg·m/s of single links: the error of rk4, 9e-7 at most
        assert np.abs(linear).max() < 1e-5
        assert np.abs(angular).max() < 1e-5

    sim.run(scene.h, scene.steps, every=50, callback=watch, progress=False)
    assert fastest > 0.5
    assert lw.center_of_mass(sim.model, sim.state) == pytest.approx(start, abs=1e-5)
    t = sim.time
    wave = 0.25 * np.sin(2 * np.pi * (0.5 * t - np.arange(20) / 20))
    assert sim.state.q[7:] == pytest.approx(wave, abs=0.08)  # motors have finite gains: they lag


def test_the_falling_humanoid_obeys_newton():
    """Dampers act inside: the centre of mass falls by g t²/2, angular momentum about it stays, energy only falls."""
    scene = Scene.read("falling_humanoid", {"run.duration": 0.5})
    sim = scene.build()
    model, start = sim.model, sim.state
    place = lw.center_of_mass(model, start)
    before = lw.momentum(model, start, about=place)
    recorded = []

    def keep(sim, report):
        recorded.append(sim.scalars()["energy"])

    sim.run(scene.h, scene.steps, every=50, callback=keep, progress=False)
    now, t = sim.state, sim.time
    expected = place + before.linear / model.mass.sum() * t + 0.5 * model.gravity * t * t
    assert lw.center_of_mass(model, now) == pytest.approx(expected, abs=1e-6)
    after = lw.momentum(model, now, about=lw.center_of_mass(model, now))
    assert after.angular == pytest.approx(before.angular, abs=1e-5)
    assert np.abs(before.angular).max() > 0.1
    assert (np.diff(recorded) < 0.0).all()


def test_the_four_bar_stays_closed_and_keeps_its_energy(tmp_path):
    recording = run_scene("four_bar", tmp_path / "run", {"run.duration": 1.0}, progress=False)
    gaps = [lw.loop_gaps(recording.model, recording.state(k)) for k in range(0, len(recording), 10)]
    assert max(gap.worst_gap for gap in gaps) < 1e-9
    assert max(gap.worst_slip for gap in gaps) < 1e-8
    energy = recording.scalars["energy"]
    assert np.ptp(energy) < 1e-5 * recording.scalars["kinetic_energy"].max()
    assert np.ptp(recording.joint("crank")) > 2 * np.pi  # it goes round


def test_the_recorded_walker_is_the_walker(tmp_path):
    """Strikes, step length and energy of the recording against `scenarios.walker`; stance feet do not move; velocities of
    the recorded states are the derivatives of their coordinates."""
    from linkwork.scenarios.walker.gait import Walker, walk
    from linkwork.scenarios.walker.limit_cycle import find_gait, stance_at

    recording = run_scene("compass_walker", tmp_path / "run", {"run.duration": 3.0, "record.every_steps": 1,
                                                               "record.every": None}, progress=False)  # fmt: skip
    walker = Walker()
    steps = walk(walker, stance_at(walker, find_gait(walker).start * 1.01), 4)
    scalars = recording.scalars
    strikes = scalars["strikes"]
    assert strikes[-1] == 4
    at = [int(np.argmax(strikes == k)) for k in range(1, 5)]
    assert scalars["step_length"][at] == pytest.approx([step.length for step in steps], abs=1e-8)
    h = recording.times[1]
    ends = np.cumsum([step.duration for step in steps])
    assert (np.abs(recording.times[at] - ends) <= h).all()
    assert recording.reports["step_time"][at] == pytest.approx([step.duration for step in steps], abs=1e-8)
    lost = scalars["energy"][0] - scalars["energy"][-1]
    assert lost == pytest.approx(sum(step.loss.kinetic_energy for step in steps), abs=1e-7)
    feet = {0.0: recording.path_of("left_foot"), 1.0: recording.path_of("right_foot")}
    model = recording.model
    for k in range(1, len(recording) - 1):
        if strikes[k - 1] == strikes[k + 1]:
            stands = feet[scalars["stance_foot"][k]]
            assert stands[k] == pytest.approx(stands[k - 1], abs=1e-9)
            moved = model.difference(recording.state(k - 1).q, recording.state(k + 1).q) / (2.0 * h)
            assert recording.state(k).v == pytest.approx(moved, abs=2e-4)  # of 2 rad/s: central differences err by h²
        now = lw.energy(model, recording.state(k)).total
        assert now == pytest.approx(scalars["energy"][k], abs=1e-9)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_adaptive_scenes_move_as_many_joints_as_asked(name, tmp_path):
    recording = run_short(name, tmp_path, **{"method.max_active_joints": 12})
    active = recording.reports["n_active"][1:]
    assert active.max() <= 12
    assert active.max() > 0
    assert np.isfinite(recording.reports["error_bound"][1:]).all()


def test_a_floating_adaptive_scene_takes_momentum_from_its_load_only():
    """The millipede floats without gravity: after the hit its momentum is force times time, whatever joints were locked."""
    scene = Scene.read("millipede_hit", {**SMALLER["millipede_hit"], "run.duration": 0.03})
    sim = scene.build()
    sim.run(scene.h, scene.steps, progress=False)
    linear, _ = lw.momentum(sim.model, sim.state)
    assert linear == pytest.approx([0.0, 0.0, 0.5 * 0.01], abs=1e-8)


def test_the_protein_follows_the_spring():
    """Its end goes with the spring's far end, and never farther than that."""
    scene = Scene.read("protein_pulled", SMALLER["protein_pulled"])
    sim = scene.build()
    body = scene.points()[0]["body"]
    start = lw.body_poses(sim.model, sim.state)[sim.model.body(body), :3, 3]
    sim.run(scene.h, scene.steps, progress=False)
    way = lw.body_poses(sim.model, sim.state)[sim.model.body(body), :3, 3] - start
    assert 0.0 < way[2] < 0.5 * sim.time


@pytest.mark.parametrize("name", ["molecule_one_force", "snake_robot", "crowd", "compass_walker"])
def test_the_same_scene_gives_the_same_bits(name, tmp_path):
    one, two = (run_scene(name, tmp_path / place, SMALLER[name], progress=False) for place in "ab")
    for k in range(len(one)):
        assert np.concatenate(one.state(k)).tobytes() == np.concatenate(two.state(k)).tobytes()


def _tip(rod, model, state):
    return (lw.body_poses(model, state)[model.body(rod.end.body)] @ rod.end.frame.matrix)[:3, 3]


def test_a_tether_comes_to_where_drag_and_weight_balance():
    few = {"model.parameters.segments": 20, "model.parameters.mass_per_length": 1.2, "record.points": []}
    sim = Scene.read("tether", few).build().sim
    model = sim.model
    rest = lw.settle(model, model.neutral(), water=sim.water)
    rod = model.rods[0]
    far = np.linalg.norm(_tip(rod, model, model.neutral()) - _tip(rod, model, rest.state))
    sim.advance(0.1, 9000)
    assert far > 20.0
    assert np.linalg.norm(_tip(rod, model, sim.state) - _tip(rod, model, rest.state)) < 0.01 * far


def test_a_power_line_swings_out_by_drag_over_weight():
    sim = Scene.read("power_line", {"model.parameters.segments": 20}).build().sim
    model = sim.model
    rest = lw.settle(model, model.neutral(), water=sim.water)
    middle = lw.body_poses(model, rest.state)[model.body("rod_10"), :3, 3]
    drag = 0.5 * 1.225 * 1.1 * 0.025 * 15.0**2
    weight = (1.1 - 1.225 * np.pi * 0.0125**2) * 9.81
    # The line is nearly level, so that the wind meets all of it across; its slope takes some percent.
    assert middle[1] / -middle[2] == pytest.approx(drag / weight, rel=0.03)


def test_a_mooring_lies_on_the_seabed_and_stays_closed(tmp_path):
    settings = {"model.parameters.segments": 20, "run.duration": 30.0}
    recording = run_scene("mooring", tmp_path / "run", settings, progress=False)
    model, end = recording.model, recording.state(-1)
    heights = lw.body_poses(model, end)[:, 2, 3]
    sinks = (60.0 - 1025.0 * np.pi * 0.05**2) * 9.81 / 2e4  # under its own weight [m]
    assert (heights < -39.9).sum() >= 4
    assert heights.min() > -40.0 + 0.05 - 10.0 * sinks
    rod = Scene.read("mooring", settings).build().sim.model.rods[0]
    assert np.abs(_tip(rod, model, end) - (135.0, 0.0, 0.0)).max() < 1e-6


def test_a_strip_leaves_its_plane_beyond_the_critical_load_alone(tmp_path):
    recording = run_scene("strip", tmp_path / "run", {"record.every": 0.5}, progress=False)
    rod = Scene.read("strip").build().sim.model.rods[0]
    aside = np.array([abs(_tip(rod, recording.model, recording.state(k))[1]) for k in range(len(recording))])
    assert aside[recording.times < 3.2].max() < 0.02  # 4.0 N at 4 s
    assert aside[-1] > 0.2


def test_a_drill_string_winds_along_the_wall_of_its_hole(tmp_path):
    recording = run_scene("drill_string", tmp_path / "run", {"run.duration": 3.0, "record.every": 1.0}, progress=False)
    model = recording.model
    at = lw.body_poses(model, recording.state(-1))[[model.body(name) for name in model.rods[0].bodies], :3, 3]
    inside = at[10:70]
    play = np.hypot(inside[:, 0], inside[:, 1])
    assert play.min() > 0.09
    assert play.max() < 0.1 / np.cos(np.pi / 8) + 1e-3  # the hole has eight walls
    turns = np.diff(np.unwrap(np.arctan2(inside[:, 1], inside[:, 0])))
    assert (turns > 0.0).all()  # one hand
    pitch = 2.0 * np.pi * (inside[-1, 2] - inside[0, 2]) / turns.sum()
    assert pitch == pytest.approx(np.pi * np.sqrt(8.0 * 2e5 / 5e4), rel=0.2)


def test_a_catheter_follows_the_bend_of_its_vessel(tmp_path):
    recording = run_scene("catheter_vessel", tmp_path / "run", {"run.h": 2e-3, "record.every": 1.0}, progress=False)
    model, rod = recording.model, recording.model.rods[0]
    at = lw.body_poses(model, recording.state(-1))[[model.body(name) for name in rod.bodies], :3, 3]
    assert at[-1, 2] > 0.06  # up the vessel behind the bend
    # The vessel is 10 mm wide about a line that runs along x, around (0.06, 0.04) with a radius of 40 mm, and up.
    x, z = at[:, 0], at[:, 2]
    around = np.abs(np.hypot(x - 0.06, z - 0.04) - 0.04)
    aside = np.where(x < 0.06, np.abs(z), np.where(z > 0.04, np.abs(x - 0.1), around))
    assert aside.max() < 0.0045  # the rod is 2 mm thick; the outer wall of the bend has corners
