"""Where an update takes long beside one evaluation, parts of it are done in the calls around it: with the same results."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.latency import pressed_chain
from tests.helpers.loads import efforts_of, wrenches_of
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.dynamics import updates
from linkwork.adaptive.dynamics.region import choice, region
from linkwork.adaptive.dynamics.region.active_region import CLOSED_PER_STEP, ActiveRegion
from linkwork.adaptive.workspace import OPEN_COUNT

H = 1e-3
SHAPES = {
    "chain": {"branching": 0.0, "bodies": 80, "seed": 1},
    "tree": {"bodies": 90, "seed": 2, "base": lw.Free()},
    "forest": {
        "branching": 0.6,
        "bodies": 90,
        "roots": 4,
        "seed": 4,
        "kinds": ("free", "revolute", "spherical", "screw"),
    },
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def model(request, make_tree):
    return make_tree(damping=True, stiffness=True, armature=True, **request.param)


def loaded(model, **options):
    """A simulation with an effort, a force fixed in the world, and a spring."""
    rng = np.random.default_rng(5)
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=8, **options)
    force = sim.apply_wrench(model.n_bodies // 2, force=rng.normal(size=3), torque=rng.normal(size=3), frame="world")
    sim.apply_spring(model.n_bodies - 1, target=rng.normal(size=3), stiffness=3.0)
    return sim, force


def disturb(sim, force, rng, k):
    """Other loads and efforts: on paths that are open, on paths that are not, and none at all."""
    if k % 4 == 1:
        sim.change_wrench(force, force=rng.normal(size=3))
    elif k % 4 == 2:
        joint = int(rng.integers(sim.model.n_bodies))
        sim.set_effort(sim.model.joint_names[joint], rng.normal(size=sim.model.joints[joint].nv))
    elif k % 4 == 3:
        sim.apply_wrench(
            int(rng.integers(sim.model.n_bodies)), force=rng.normal(size=3), frame=("world", "body")[k % 8 == 3]
        )


def assert_bound_is_what_is_hidden(model, sim, report):
    """The bound of an update is the size of the accelerations that its region hides, found by `aba`."""
    qdd = lw.forward_dynamics(model, sim.state, efforts_of(sim), wrenches_of(sim))
    still = np.ones(model.n_bodies, dtype=bool)
    still[sim.active_bodies] = False
    joint = np.repeat(np.arange(model.n_bodies), [joint.nv for joint in model.joints])
    hidden = float(np.sqrt((qdd[still[joint]] ** 2).sum()))
    assert hidden <= report.error_bound
    assert report.error_bound - report.rounding_floor <= hidden + rounding(condition=1e6, scale=np.abs(qdd).max())


def test_the_bound_is_what_is_hidden_whatever_changed_since(model):
    """Root of the sum of squares over joints at rest, by `aba`, at the state of the update and with its loads."""
    sim, force = loaded(model, measure="absolute_linkage")
    rng, ready = np.random.default_rng(6), set()
    for k in range(40):
        for _ in range(10):
            sim.step(H)
        disturb(sim, force, rng, k)
        ready.add(sim.view.region.ahead.still_ready())
        report = sim.update_region(10 * H)
        assert_bound_is_what_is_hidden(model, sim, report)
    assert ready == {choice.ALL_READY, choice.ALL_BUT_DIRTY, choice.MATRICES_READY}


def test_results_are_those_of_updates_at_once(model, monkeypatch):
    def run():
        (sim, force), rng, found = loaded(model), np.random.default_rng(7), []
        for k in range(120):
            disturb(sim, force, rng, k)
            report = sim.step(H)
            found.append((sim.state.q, sim.state.v, report.n_active, report.error_bound))
        return found

    in_parts = run()
    monkeypatch.setattr(updates, "is_dear", lambda *_: False)
    at_once = run()
    scale = max(np.abs(v).max() for _, v, _, _ in at_once)
    for (q, v, active, bound), (other_q, other_v, other_active, other_bound) in zip(in_parts, at_once, strict=True):
        assert active == other_active
        np.testing.assert_allclose(q, other_q, rtol=0, atol=rounding(condition=1e6, scale=1.0, steps=120))
        np.testing.assert_allclose(v, other_v, rtol=0, atol=rounding(condition=1e6, scale=scale, steps=120))
        assert bound == pytest.approx(other_bound, rel=1e-6, nan_ok=True)


def hit(sim, k):
    """A strong force for thirty steps, here and there: joints become active and inactive."""
    sim.clear_loads()
    sim.apply_wrench(7 * k % sim.model.n_bodies, force=(30.0 * k, 50.0, -40.0), frame="world")


def test_one_call_or_many_are_the_same_bits(model):
    many, once = loaded(model)[0], loaded(model)[0]
    seen = set()
    for k in range(8):
        hit(many, k)
        hit(once, k)
        for _ in range(30):
            many.step(H)
            seen.add(many.view.region.are_waiting)
        once.step(H, 30)
        np.testing.assert_array_equal(many.state.q, once.state.q)
        np.testing.assert_array_equal(many.state.v, once.state.v)
        assert many.report.error_bound == once.report.error_bound
    assert seen == {True, False}, "no node waited to be closed"


def test_a_checkpoint_goes_on_where_nodes_wait(model):
    sim, _ = loaded(model)
    for k in range(8):
        hit(sim, k)
        for _ in range(30):
            if not sim.view.region.are_waiting:
                sim.step(H)
    assert sim.view.region.are_waiting
    other = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=8)
    other.restore(sim.checkpoint())
    for _ in range(25):
        a, b = sim.step(H), other.step(H)
        assert (a.n_active, a.region_changes) == (b.n_active, b.region_changes)
        assert a.error_bound == pytest.approx(b.error_bound, rel=1e-6)
    np.testing.assert_array_equal(sim.state.v, other.state.v)


def test_the_bound_knows_a_load_of_the_world_that_comes_back(make_tree):
    """Every other time nothing acts when an update is prepared: where bodies stand in the world must be found then."""
    model = make_tree(damping=True, stiffness=True, armature=True, **SHAPES["chain"])
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=8, measure="absolute_linkage")
    for k in range(24):
        for _ in range(10):
            sim.step(H)
        if k % 2:
            sim.clear_loads()
        else:
            sim.apply_wrench(60, force=(20.0, 30.0, 10.0), frame="world")
        report = sim.update_region(10 * H)
        assert_bound_is_what_is_hidden(model, sim, report)


def test_the_bound_is_of_the_present_state_where_update_every_changed_meanwhile(model):
    """An update is assembled ahead of the next call; that call makes steps first, for updates are to be rarer now."""
    sim, _ = loaded(model, measure="absolute_linkage")
    for k in range(3):
        hit(sim, k)
        sim.update_every = 10
        for _ in range(10):
            sim.step(H)
        sim.update_every = 40
        for _ in range(15):
            sim.step(H)
        report = sim.update_region(10 * H)
        assert_bound_is_what_is_hidden(model, sim, report)


def pressed(**options) -> tuple[lw.AdaptiveDynamics, lw.Load]:
    """A chain whose last link a force presses onto a block."""
    model = pressed_chain(90)
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=8, contact=lw.Contact(), **options)
    return sim, sim.apply_wrench(89, force=(0.0, 0.0, -0.05), frame="world")


def test_with_contact_one_call_or_many_are_the_same_bits():
    (many, load), (once, other) = pressed(), pressed()
    seen = set()
    for k in range(8):
        for sim, mine in ((many, load), (once, other)):
            sim.change_wrench(mine, force=(0.0, 0.0, -0.05 - 0.02 * k))
        for _ in range(30):
            seen.add(many.view.region.ahead.still_ready())
            many.step(H)
        once.step(H, 30)
        np.testing.assert_array_equal(many.state.q, once.state.q)
        np.testing.assert_array_equal(many.state.v, once.state.v)
        assert many.report.error_bound == once.report.error_bound
    assert many.contacts
    assert seen >= {choice.NOT_READY, choice.ALL_READY}, "no update was assembled ahead"


def test_no_call_of_one_step_assembles_and_chooses(model, monkeypatch):
    """What a call does besides its step, counted: assembles ahead of an update, or chooses from what was assembled, or
    closes four nodes. After the first call none does two of these."""
    work: list[tuple[str, int]] = []
    perform = ActiveRegion.perform

    def counted(self, task, *rest, **options):
        settings, ready = options.get("settings"), self.ahead.still_ready()
        before = self.tree.run.counts.item(OPEN_COUNT)
        perform(self, task, *rest, **options)
        if task == region.UPDATE:
            work.append(("choose" if ready != choice.NOT_READY else "assemble and choose", 0))
        elif task == region.ASSEMBLE:
            work.append(("assemble", 0))
        elif task == region.CLOSE:
            work.append(("close", before - self.tree.run.counts.item(OPEN_COUNT)))
            assert settings is not None

    monkeypatch.setattr(ActiveRegion, "perform", counted)
    (sim, force), rng, seen = loaded(model), np.random.default_rng(8), set()
    sim.step(H)
    for k in range(300):
        work.clear()
        if k % 30 == 29:
            hit(sim, k // 30)
            force = sim.loads[0]
        elif k % 7 == 0:
            sim.change_wrench(force, force=rng.normal(size=3))
        sim.step(H)
        tasks = [name for name, _ in work]
        assert len(tasks) <= 1 or tasks == ["close", "assemble"]
        assert all(nodes <= CLOSED_PER_STEP for _, nodes in work)
        seen.update(tasks)
    assert seen == {"assemble", "choose", "close"}
