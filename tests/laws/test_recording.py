"""A recording gives back what was put in, in every bit, and takes the space of what moved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.robots import URDFS

import linkwork as lw
from linkwork.model.library import MODELS
from linkwork.record import Recorder, Recording, layout
from linkwork.record.store.model_store import read_model, write_model

zarr = pytest.importorskip("zarr", reason="the extra `record` is not installed")

SMALL = {"molecule": {"joints": 200}, "millipede": {"segments": 4, "spine": 8}, "random_tree": {"joints": 40}}


def bits(values):
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


def same_bits(a, b):
    return np.shape(a) == np.shape(b) and bool((bits(a) == bits(b)).all())


def size_of(folder):
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


# ------------------------------------------------------------------------------------------------------------------ models


def written_and_read(model):
    group = zarr.create_group(zarr.storage.MemoryStore())
    write_model(group, model)
    return read_model(group)


def assert_same_model(ours, model):
    assert (ours.name, ours.body_names, ours.joint_names) == (model.name, model.body_names, model.joint_names)
    for name, table in model.arrays._asdict().items():
        mine = getattr(ours.arrays, name)
        assert mine.dtype == table.dtype
        assert mine.shape == table.shape
        assert mine.tobytes() == np.ascontiguousarray(table).tobytes(), name
        assert not mine.flags.writeable
    for name in ("lower", "upper", "effort_limit", "velocity_limit"):
        assert same_bits(getattr(ours, name), getattr(model, name)), name
    assert ours.joints == model.joints
    assert [type(joint) for joint in ours.joints] == [type(joint) for joint in model.joints]
    assert ours.frames == model.frames
    assert list(ours.frames) == list(model.frames)
    assert ours.shapes == model.shapes
    assert (ours.warnings, ours.merged_into, ours.joint_parts) == (model.warnings, model.merged_into, model.joint_parts)
    assert ours.loops == model.loops
    assert (ours.rank is None) == (model.rank is None)
    assert ours.rank is None or (ours.rank == model.rank).all()


def assert_same_dynamics(ours, model):
    rng = np.random.default_rng(5)
    tree, mine = model.without_loops, ours.without_loops
    state = tree.random_state(np.random.default_rng(5))
    assert same_bits(mine.random_state(np.random.default_rng(5)).q, state.q)  # limits and all
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    qdd = lw.forward_dynamics(tree, state, effort, wrenches)
    assert same_bits(lw.forward_dynamics(mine, state, effort, wrenches), qdd)
    assert same_bits(lw.inverse_dynamics(mine, state, qdd), lw.inverse_dynamics(tree, state, qdd))
    assert same_bits(lw.body_poses(mine, state), lw.body_poses(tree, state))
    assert lw.energy(mine, state) == lw.energy(tree, state)
    if model.loops:
        closed = lw.close_loops(model, state)
        a, b = lw.constrained_dynamics(ours, closed), lw.constrained_dynamics(model, closed)
        assert same_bits(a.acceleration, b.acceleration)


@pytest.mark.parametrize("name", MODELS)
def test_library_models_come_back(name):
    model = MODELS[name](**SMALL.get(name, {})).compile()
    assert_same_model(written_and_read(model), model)
    assert_same_dynamics(written_and_read(model), model)


@pytest.mark.parametrize("name", URDFS)
def test_robots_come_back(name):
    for floating in (False, True):
        model = lw.load(URDFS[name], floating=floating, missing_meshes="skip").compile()
        again = written_and_read(model)
        assert_same_model(again, model)
        assert again.couplings == model.couplings
        assert_same_dynamics(again.without_loops, model.without_loops)


def test_trees_of_all_joints_come_back(tree):
    assert_same_model(written_and_read(tree), tree)
    assert_same_dynamics(written_and_read(tree), tree)


def test_friction_of_shapes_comes_back():
    """By a number, by direction, and not given."""
    linkage = lw.library.chain(joints=2)
    inertia, directed = (
        lw.Inertia.sphere(1.0, 0.1),
        lw.Friction(0.3, sideways=0.9, axis=(0, 1, 0), law="hu", patch=0.01),
    )
    for k, friction in enumerate((None, 0.4, directed)):
        linkage.add_body(f"ball_{k}", "world", lw.Free(), inertia=inertia, shapes=[lw.Sphere(0.1, friction=friction)])
    linkage.add_obstacle("floor", lw.Plane(friction=directed))
    model = linkage.compile()
    again = written_and_read(model)
    assert again.shapes == model.shapes
    assert again.obstacles == model.obstacles


def test_rerooted_models_come_back(make_tree):
    model = make_tree(seed=3, bodies=12, kinds=("revolute", "spherical", "universal", "compound"))
    state = model.random_state(1)
    there = lw.reroot(model, state, model.body_names[-1])
    assert_same_model(written_and_read(there.model), there.model)
    assert_same_dynamics(written_and_read(there.model), there.model)


def four_bar():
    linkage = lw.Linkage("four_bar")
    rod = lw.Inertia(mass=1.0, com=(0.5, 0.0, 0.0), moments=(0.01, 0.1, 0.1))
    hinge = lw.Revolute((0.0, 1.0, 0.0))
    linkage.add_body("crank", joint=hinge, inertia=rod)
    linkage.add_body("coupler", "crank", hinge, lw.Pose((1.0, 0.0, 0.0)), rod, shapes=[lw.Capsule(0.1, 1.0)])
    linkage.add_body("rocker", "world", hinge, lw.Pose((1.2, 0.0, 0.3)), rod)
    at_the_ends = (lw.Pose((1.0, 0.0, 0.0)), lw.Pose((1.0, 0.0, 0.0)))
    linkage.add_loop(hinge, "coupler", "rocker", at_the_ends, name="closing")
    return linkage.compile()


# ------------------------------------------------------------------------------------------------------------------ frames


@dataclass(frozen=True)
class Note:
    number: int
    bound: float
    reached: bool
    text: str = "left out"


def test_every_kind_of_number_comes_back_in_its_bits(tmp_path):
    """Zeros of both signs, NaN with a message inside, infinities and the smallest numbers are all distinguished."""
    model = lw.library.chain(joints=6).compile()
    strange = np.array([0x7FF8000000000001, 0xFFF8000000000002], dtype=np.uint64).view(np.float64)
    frames = [
        np.zeros(6),
        np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, 1.0]),
        np.array([-0.0, 0.0, np.nan, strange[0], strange[1], 1.0]),
        np.array([-0.0, 0.0, np.nan, strange[1], strange[0], np.nextafter(1.0, 2.0)]),
    ]
    with Recorder(tmp_path / "run") as recorder:
        recorder.begin(model)
        for k, x in enumerate(frames):
            recorder.append(0.1 * k, k, lw.State(x, -x))
    recording = Recording(tmp_path / "run")
    for k in (3, 0, 2, 1, -1):
        q, v = recording.state(k)
        assert same_bits(q, frames[k])
        assert same_bits(v, -frames[k])
    for i, name in enumerate(model.joint_names):
        assert same_bits(recording.joint(name)[:, 0], [x[i] for x in frames])
        assert same_bits(recording.joint_velocity(name)[:, 0], [-x[i] for x in frames])


def test_what_appears_late_was_not_a_number_before(tmp_path):
    model = lw.library.chain(joints=2).compile()
    with Recorder(tmp_path / "run") as recorder:
        recorder.begin(model)
        recorder.append(0.0, 0, model.neutral(), {"energy": 1.0})
        recorder.append(0.1, 1, model.neutral(), {"energy": 2.0, "late": 5.0}, Note(3, 0.5, True))
        recorder.flush()
        recorder.append(0.2, 2, model.neutral(), {"later": 7.0}, Note(4, 0.25, False))
    recording = Recording(tmp_path / "run")
    nan = np.nan
    expected = {"energy": [1.0, 2.0, nan], "late": [nan, 5.0, nan], "later": [nan, nan, 7.0]}
    assert list(recording.scalars) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(recording.scalars[name], values)
    np.testing.assert_array_equal(recording.reports["number"], [nan, 3.0, 4.0])
    np.testing.assert_array_equal(recording.reports["reached"], [nan, 1.0, 0.0])
    assert set(recording.reports) == {"number", "bound", "reached"}


def test_a_run_is_recorded_as_it_went(tmp_path):
    model = lw.library.millipede(segments=4, leg_links=3, spine=8).compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
    seen = [sim.state]
    reports = []

    def watch(sim, report):
        seen.append(sim.state)
        reports.append(report)

    sim.run(1e-2, 95, record=tmp_path / "deep" / "run", every=10, callback=watch)
    recording = lw_recording(tmp_path / "deep" / "run")
    assert recording.steps.tolist() == [*range(0, 91, 10), 95]
    assert recording.times == pytest.approx(1e-2 * recording.steps)  # sums of ten steps, rounded differently
    assert len(recording) == len(seen) == len(recording.states)
    for k, state in enumerate(seen):
        assert same_bits(recording.state(k).q, state.q)
        assert same_bits(recording.poses(k), lw.body_poses(model, state))
        assert recording.scalars["potential_energy"][k] == pytest.approx(lw.energy(model, state).potential, rel=1e-12)
    assert recording.reports["error_bound"][1:].tolist() == [report.error_bound for report in reports]
    tip = model.body_names[-1]
    points = np.array([lw.body_poses(model, state)[-1] @ [0.1, 0.2, 0.3, 1.0] for state in seen])[:, :3]
    assert recording.path_of(tip, at=(0.1, 0.2, 0.3)) == pytest.approx(points, abs=1e-12)  # sums in another order
    assert [same_bits(a.q, b.q) for a, b in zip(recording.states[2:5], seen[2:5], strict=True)] == [True] * 3


def lw_recording(path):
    recording = Recording(path)
    assert "frames" in repr(recording)
    return recording


def test_a_recording_explains_itself(tmp_path):
    model = four_bar()
    recorder = Recorder(tmp_path / "run", metadata={"who": "a test"}, scene="[model]\nname = 'four_bar'\n")
    with recorder:
        recorder.begin(model, {"tolerance": 0.5})
        recorder.append(0.0, 0, model.neutral())
    recording = Recording(tmp_path / "run")
    assert_same_model(recording.model, model)
    assert_same_dynamics(recording.model, model)
    assert recording.scene == "[model]\nname = 'four_bar'\n"
    assert recording.metadata == {"who": "a test"}
    assert recording.settings == {"tolerance": 0.5}
    assert {"linkwork", "numpy", "numba", "zarr", "python", "platform"} <= set(recording.versions)
    assert recording.created.endswith("+00:00")
    group = zarr.open_group(tmp_path / "run", mode="r")
    arrays = [array for _, array in group.members(max_depth=None) if isinstance(array, zarr.Array)]
    assert len(arrays) > 10
    assert all(array.attrs["unit"] for array in arrays)


def recorded_units(path):
    group = zarr.open_group(path, mode="r")
    return {name: group[f"{kind}/{name}"].attrs["unit"] for kind in ("scalars", "reports") for name in group[kind]}


def simulations():
    """One of each kind, and the unit its bounds have."""
    model = lw.library.chain(joints=4).compile()
    for kind in (lw.QuasiStatics, lw.AdaptiveDynamics):
        for measure in ("absolute_joint", "absolute_linkage", "relative_joint", "relative_linkage"):
            unit = "1" if "relative" in measure else "rad/s² or m/s²"
            yield f"{kind.__name__}_{measure}", kind(model, model.neutral(), measure=measure), unit
    for kind, unit in (("relative_joint", "1"), ("absolute_joint", "rad/s² or m/s²")):
        yield f"scene_{kind}", lw.Scene.read("hanging_cable", {"method.measure": kind}).build(), unit
    yield "full", lw.FullDynamics(model, model.neutral()), None
    yield "walker", lw.Scene.read("compass_walker").build(), None


def test_scalars_carry_their_units(tmp_path):
    """What Linkwork itself reports has a unit, that of bounds by the measure; what somebody else invents has none."""
    for name, sim, bound in simulations():
        sim.run(1e-3, 4, record=tmp_path / name, every=2)
        units = recorded_units(tmp_path / name)
        assert {"energy", "kinetic_energy", "potential_energy"} <= set(units)
        assert all(unit not in ("", "SI", layout.UNKNOWN_UNIT) for unit in units.values()), (name, units)
        assert units.get("error_bound") == bound, name
        assert units.get("rounding_floor", bound) == bound, name
    assert units["step_length"] == "m"
    assert units["step_time"] == "s"
    with Recorder(tmp_path / "by_hand") as recorder:
        recorder.begin(lw.library.chain(joints=4).compile())
        recorder.append(0.0, 0, lw.State(np.zeros(4), np.zeros(4)), {"happiness": 1.0, "error_bound": 0.5})
    units = recorded_units(tmp_path / "by_hand")
    assert units == {"happiness": "unknown", "error_bound": "rad/s² or m/s²; 1 where the measure is relative"}


def test_a_recording_is_readable_while_it_is_written(tmp_path):
    model = lw.library.chain(joints=4).compile()
    rng = np.random.default_rng(0)
    frames = [lw.State(rng.normal(size=4), rng.normal(size=4)) for _ in range(30)]
    recorder = Recorder(tmp_path / "run")
    recorder.begin(model)
    recording = Recording(tmp_path / "run")
    assert len(recording) == 0
    for k, state in enumerate(frames):
        recorder.append(0.1 * k, k, state, {"number": float(k)})
        if k % 7 == 3:
            recorder.flush()
            assert recording.refresh() == k + 1
            assert same_bits(recording.state(k).q, state.q)
            assert recording.scalars["number"].tolist() == list(range(k + 1))
    older = Recording(tmp_path / "run")
    recorder.close()
    assert len(older) == 25  # what was committed when it was opened
    assert same_bits(older.state(24).v, frames[24].v)
    assert older.refresh() == 30
    assert older.status == "finished"


# ------------------------------------------------------------------------------------------------------------------- sizes


@cache
def molecule(joints):
    return lw.library.molecule(joints=joints, seed=1).compile()


def run_of(tmp_path, name, joints, moving, frames=150):
    """Size a frame of what a recording stores beside its model, for a run of which `moving` joints move."""
    model = molecule(joints)
    sim = lw.QuasiStatics(model, model.neutral(), max_active_joints=moving)
    sim.apply_wrench(model.body_names[-1], force=(0.0, 0.0, 1e-3), frame="world")
    sim.run(1e-3, 5 * frames, record=tmp_path / name, every=5)
    with Recording(tmp_path / name) as recording:
        assert same_bits(recording.state(-1).q, sim.state.q)
        changed = [np.count_nonzero(recording.state(k).q != recording.state(k - 1).q) for k in range(1, frames)]
        assert 0.5 * moving <= np.mean(changed) <= 2 * moving  # the run is what it claims to be
    stored = sum(size_of(tmp_path / name / part) for part in ("frames", "changes", "keys", "scalars", "reports"))
    return stored / frames


def test_size_is_proportional_to_what_moved(tmp_path):
    """50,000 joints, about 100 of which move: a frame takes some bytes for each of those, and not for the others."""
    few = run_of(tmp_path, "few", 50_000, 100)
    assert few <= 100 * 12 + 300  # place and value of what moved, times, scalars and reports; compression comes on top
    assert few <= 0.005 * 50_000 * 8  # of a full frame of coordinates alone
    more = run_of(tmp_path, "more", 50_000, 400)
    assert 2.0 <= more / few <= 6.0  # four times the joints
    smaller = run_of(tmp_path, "smaller", 5_000, 100)
    assert 0.5 <= smaller / few <= 2.0  # a tenth of the linkage


def test_key_frames_keep_random_access_cheap(tmp_path):
    """However long the recording: at most about a key frame's worth of changes lies between a frame and its key."""
    model = lw.library.chain(joints=100).compile()
    rng = np.random.default_rng(0)
    q = np.zeros(100)
    with Recorder(tmp_path / "run") as recorder:
        recorder.begin(model)
        for k in range(400):
            q[rng.integers(100, size=3)] = rng.normal(size=3)
            recorder.append(0.1 * k, k, lw.State(q.copy(), np.zeros(100)))
    group = zarr.open_group(tmp_path / "run", mode="r")
    keys, ends = group["keys/frame"][...], group["frames/changes_end"][...]
    assert len(keys) >= 5
    assert np.diff(ends[keys]).max() * 12 <= 200 * 8
    assert len(keys) * 200 * 8 <= 2 * ends[-1] * 12 + 1600  # and keys take no more than changes do


def test_states_are_the_same_in_any_order(tmp_path):
    model = lw.library.chain(joints=30).compile()
    rng = np.random.default_rng(0)
    q, frames = np.zeros(30), []
    with Recorder(tmp_path / "run") as recorder:
        recorder.begin(model)
        for k in range(100):
            q[rng.integers(30)] = rng.normal()
            frames.append(q.copy())
            recorder.append(0.1 * k, k, lw.State(q.copy(), np.zeros(30)))
    recording = Recording(tmp_path / "run")
    for k in rng.integers(100, size=60).tolist():
        assert same_bits(recording.state(k).q, frames[k])
        recording.state(k).q[:] = np.nan  # what was handed out belongs to the caller
