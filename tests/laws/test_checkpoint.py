"""A simulation that was restored goes on in the same bits as one that never stopped."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.loaded_runs import MODELS, H, Loaded, same_bits

import linkwork as lw

pytest.importorskip("zarr", reason="the extra `record` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")


def assert_same_course(a, b, first, steps):
    for k in range(first, first + steps):
        a.change(k)
        b.change(k)
        n = 1 + k % 3
        assert a.sim.step(H, n) == b.sim.step(H, n), k
        assert same_bits(a.sim.state.q, b.sim.state.q), k
        assert same_bits(a.sim.acceleration, b.sim.acceleration), k
        assert (a.sim.time, a.sim.steps_done) == (b.sim.time, b.sim.steps_done)
        if k % 10 == 0:
            assert a.sim.scalars() == b.sim.scalars()
            assert a.sim.computed_joints == b.sim.computed_joints


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("when", [0, 1, 40, 97])
def test_restored_simulation_takes_the_same_course(name, when):
    """Hundreds of steps after the checkpoint, with loads that change on both sides, nodes that open and close."""
    first = Loaded(name)
    for k in range(when):
        first.change(k)
        first.sim.step(H)
    saved = first.sim.checkpoint()
    second = Loaded(name)
    second.sim.step(H, 3)  # a past of its own that must leave nothing behind
    second.sim.restore(saved)
    assert same_bits(second.sim.state.q, first.sim.state.q)
    assert_same_course(first, second, when, 300 if when == 40 else 60)


def within_a_budget(loaded):
    """As many joints as there are: solves stay those of the tree, and do not compute everything by `aba`."""
    loaded.sim.max_active_joints = loaded.model.n_bodies


@pytest.mark.parametrize("name", MODELS)
def test_solves_that_look_ever_deeper_are_the_same_bits(name):
    """What is kept of rigid parts, at any depth, is formed again as it was when they last moved."""
    first = Loaded(name)
    within_a_budget(first)
    for k in range(100):
        first.change(k)
        first.sim.step(H)
        if k % 10 == 1:
            saved = first.sim.checkpoint()
            second = Loaded(name)
            within_a_budget(second)
            second.sim.restore(saved)
            for tolerance in (1.0, 0.1, 1e-2, 1e-3, 1e-4, 0.0):
                assert first.sim.solve(tolerance) == second.sim.solve(tolerance), k
                assert same_bits(first.sim.acceleration, second.sim.acceleration), k
            first.sim.restore(saved)


def test_open_region_moved_while_it_was_watched():
    """The law above would be empty if nothing opened and closed on the way."""
    watched = Loaded("molecule")
    within_a_budget(watched)
    regions = set()
    for k in range(100):
        watched.change(k)
        watched.sim.step(H)
        regions.add(tuple(watched.sim.computed_joints))
    assert len(regions) > 5
    assert max(map(len, regions)) < watched.model.n_bodies


@pytest.mark.parametrize("name", MODELS)
def test_loads_come_from_the_checkpoint_when_none_are_applied(name):
    first = Loaded(name)
    first.sim.step(H, 20)
    second = Loaded(name, loads=False)
    second.sim.restore(first.sim.checkpoint())
    second.pull, second.spring, second.push = second.sim.loads
    assert_same_course(first, second, 20, 60)


@pytest.mark.parametrize("before", ["solve", "change"])
def test_checkpoints_between_steps(before):
    """After a solve, and with a change of loads not yet looked at."""
    first, second = Loaded("molecule"), Loaded("molecule")
    first.sim.step(H, 30)
    if before == "solve":
        first.sim.solve()
    else:
        first.change(17 * 23 * 31)
    second.sim.restore(first.sim.checkpoint())
    assert_same_course(first, second, 1, 60)


def test_checkpoint_does_not_disturb():
    watched, plain = Loaded("molecule"), Loaded("molecule")
    for _ in range(50):
        watched.sim.checkpoint()
        watched.sim.scalars()
        assert watched.sim.step(H) == plain.sim.step(H)
    assert same_bits(watched.sim.state.q, plain.sim.state.q)


def test_checkpoint_of_another_model_is_refused():
    saved = Loaded("molecule").sim.checkpoint()
    with pytest.raises(lw.StateError, match="another model"):
        Loaded("millipede").sim.restore(saved)
    with pytest.raises(lw.StateError, match="checkpoint of 'Other'"):
        Loaded("molecule").sim.restore({**saved, "simulation": "Other"})
    model = MODELS["molecule"]().compile()
    for options, message in (
        ({"tolerance": 2e-2}, r"made with another tolerance \(0\.01, not 0\.02\)"),
        ({"tolerance": 1e-2, "weights": np.full(model.nv, 2.0)}, "made with other weights"),
    ):
        with pytest.raises(lw.StateError, match=message):
            lw.QuasiStatics(model, model.neutral(), **options).restore(saved)
    fewer = Loaded("molecule")
    fewer.sim.clear(fewer.push)
    with pytest.raises(lw.StateError, match="has 3 loads, the simulation 2"):
        fewer.sim.restore(saved)


def pile(seed, count):
    """Boxes, balls and capsules above each other, over a floor."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("pile")
    for i in range(count):
        size, mass = rng.uniform(0.1, 0.3, 3), float(rng.uniform(0.5, 2.0))
        kinds = (lw.Box(size), lw.Sphere(size[0] / 2), lw.Capsule(size[0] / 2, size[1]))
        shape, place = kinds[rng.integers(3)], (*rng.uniform(-0.2, 0.2, 2), 0.3 + 0.35 * i)
        pose = lw.Pose(place, rpy=rng.uniform(-1.0, 1.0, 3))
        linkage.add_body(f"body_{i}", "world", lw.Free(), pose, lw.Inertia.box(mass, size), shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage.compile()


@pytest.mark.parametrize(("seed", "count"), [(3, 6), (9, 4), (11, 6)])
def test_a_pile_goes_on_in_the_same_bits(seed, count):
    """Which contacts pressed, stuck and slid in the last step is in no checkpoint: the next one must not ask for it."""
    model = pile(seed, count)
    first = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    for k in range(20):
        first.step(2e-3, 25)
        second = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
        saved = first.checkpoint()
        second.restore(saved)
        first.step(2e-3, 2)
        second.step(2e-3, 2)
        assert same_bits(first.state.q, second.state.q), k
        assert same_bits(first.state.v, second.state.v), k
        first.restore(saved)
