"""The active region hides what its metrics say it hides, keeps what it was asked for, and leaves the rest alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.loads import efforts_of, wrenches_of

import linkwork as lw
from linkwork.adaptive.measures import MEASURES
from linkwork.core.views import ENTRIES, ROWS

SHAPES = {
    "chain": {"branching": 0.0, "bodies": 24, "seed": 1},
    "tree": {"bodies": 30, "seed": 2, "base": lw.Free()},
    "bush": {"branching": 1.0, "bodies": 30, "seed": 3},
    "forest": {
        "branching": 0.6,
        "bodies": 30,
        "roots": 5,
        "seed": 4,
        "kinds": ("free", "revolute", "spherical", "screw"),
    },
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def model(request, make_tree):
    return make_tree(damping=True, stiffness=True, armature=True, **request.param)


def loaded(model, state, rng, **options):
    """A simulation with efforts, wrenches fixed in bodies and in the world, and a spring."""
    sim = lw.AdaptiveDynamics(model, state, **options)
    for i, joint in enumerate(model.joints):
        if joint.nv:
            sim.set_effort(model.joint_names[i], rng.normal(size=joint.nv))
    for frame in ("body", "world"):
        force, torque, at = rng.normal(size=(3, 3))
        sim.apply_wrench(int(rng.integers(model.n_bodies)), force=force, torque=torque, frame=frame, at=at)
    sim.apply_spring(int(rng.integers(model.n_bodies)), target=rng.normal(size=3), stiffness=3.0, at=rng.normal(size=3))
    return sim


def true_accelerations(sim):
    """Of the fully articulated linkage at the present state, shape (nv,), by `forward_dynamics`."""
    return lw.forward_dynamics(sim.model, sim.state, efforts_of(sim), wrenches_of(sim))


def joint_parts(sim, qdd):
    """Weighted squared acceleration of each joint, shape (n,)."""
    weighted = sim.checkpoint()["weights"] * qdd**2
    return np.array([weighted[sim.model.v_slice(i)].sum() for i in range(sim.model.n_bodies)])


# ----------------------------------------------------------------------------------------------------------------- metrics


@pytest.mark.parametrize("measure", MEASURES)
def test_the_error_bound_is_what_inactive_joints_hide(model, rng, measure):
    """For every measure, at many sizes of the region, with moving joints, weights and loads."""
    weights = 10.0 ** rng.uniform(-1, 1, model.nv)
    seen = set()
    for most in (0, 1, 3, 6, 10, 15):
        state = model.random_state(rng, speed=0.5)
        for i in rng.choice(model.n_bodies, 15, replace=False):
            state.v[model.v_slice(int(i))] = 0.0
        sim = loaded(model, state, rng, max_active_joints=most, measure=measure, weights=weights)
        report = sim.update_region(1e-2)
        parts = joint_parts(sim, true_accelerations(sim))  # once inactive joints have stopped
        inactive = np.ones(model.n_bodies, dtype=bool)
        inactive[sim.active_bodies] = False
        hidden, largest = parts[inactive].sum(), parts[inactive].max(initial=0.0)
        if measure == "absolute_linkage":
            assert report.error_bound == pytest.approx(math.sqrt(hidden), rel=1e-9)
        elif measure == "relative_linkage":
            assert report.error_bound == pytest.approx(math.sqrt(hidden / parts.sum()), rel=1e-9)
        elif measure == "absolute_joint":  # of what a rigid part hides in all of its joints
            assert math.sqrt(largest) * (1.0 - 1e-9) <= report.error_bound <= math.sqrt(hidden) * (1.0 + 1e-9)
        else:  # against the largest joint that was looked at
            assert report.error_bound >= math.sqrt(largest / parts.max()) * (1.0 - 1e-9)
            assert report.error_bound <= math.sqrt(hidden / parts[~inactive].max(initial=1e-300)) * (1.0 + 1e-9)
        seen.add(report.n_active)
    assert len(seen) > 3


def test_the_error_bound_is_right_through_any_motion(model, rng):
    """Joints come and go, loads and efforts change; what is rigid then is judged, at any size of the region."""
    weights = 10.0 ** rng.uniform(-1, 1, model.nv)
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.3), max_active_joints=6, update_every=3, weights=weights,
        measure="absolute_linkage",
    )  # fmt: skip
    effort, wrenches, changes = np.zeros(model.nv), np.zeros((model.n_bodies, 6)), 0
    for k in range(40):
        i = int(rng.integers(model.n_bodies))
        if model.joints[i].nv:
            effort[model.v_slice(i)] = 3.0 * rng.normal(size=model.joints[i].nv)
            sim.set_effort(model.joint_names[i], effort[model.v_slice(i)])
        i = int(rng.integers(model.n_bodies))
        wrenches[i] += (load := 3.0 * rng.normal(size=6))
        sim.apply_wrench(i, force=load[3:], torque=load[:3], frame="body")
        sim.max_active_joints = int(rng.integers(2, 12))
        changes += sim.step(2e-3, int(rng.integers(1, 8))).region_changes
        sim.max_active_joints = int(rng.integers(0, model.n_bodies - 5))
        report = sim.update_region(1e-2)
        hidden = joint_parts(sim, lw.forward_dynamics(model, sim.state, effort, wrenches))
        size = math.sqrt(hidden.sum())
        hidden[sim.active_bodies] = 0.0
        hidden = math.sqrt(hidden.sum())
        assert hidden <= report.error_bound, k
        # Without its part for rounding: equal but for rounding, 4e-14 at most where little is hidden of much.
        assert report.error_bound - report.rounding_floor == pytest.approx(hidden, rel=1e-12), k
        assert report.rounding_floor <= 1e-8 * size, k
    assert changes > 40


def test_a_rigid_cluster_that_turns_hides_the_sum_over_its_joints(model, rng):
    """Nothing but bases moves; the response of each whole tree through its base is that found joint by joint."""
    for _ in range(5):
        state = model.random_state(rng, speed=3.0)
        bases = [i for i in range(model.n_bodies) if model.parent[i] < 0 and isinstance(model.joints[i], lw.Free)]
        keep = np.concatenate([np.arange(model.nv)[model.v_slice(i)] for i in bases] or [[]]).astype(int)
        state.v[np.setdiff1d(np.arange(model.nv), keep)] = 0.0
        sim = lw.AdaptiveDynamics(model, state, tolerance=math.inf, measure="absolute_linkage")
        parts = joint_parts(sim, lw.forward_dynamics(model, state))
        assert sim.update_region(1e-2).error_bound == pytest.approx(math.sqrt(np.delete(parts, bases).sum()), rel=1e-10)
        assert sim.report.n_computed <= len(bases) + 1  # no joint was looked at but bases and the root of the tree


@pytest.mark.parametrize("measure", MEASURES)
def test_a_tolerance_is_kept(model, rng, measure):
    """At any tolerance, whichever joints moved before."""
    counts = set()
    for tolerance in (0.0, 1e-3, 0.03, 0.3, 1.0, 3.0, 10.0, 100.0, math.inf):
        state = model.random_state(rng, speed=0.1)
        sim = loaded(model, state, rng, tolerance=tolerance, measure=measure)
        report = sim.update_region(1e-2)
        assert report.reached
        assert report.error_bound <= tolerance
        counts.add(report.n_active)
        report = sim.step(1e-3, 25)
        assert report.reached
    assert len(counts) > 1


@pytest.mark.parametrize("measure", ["absolute_linkage", "relative_linkage"])
def test_many_small_parts_stay_within_a_tolerance_together(measure):
    """A hundred equal pendulums: none may rest for being small alone, since together they are not; nor may any stop."""
    linkage = lw.Linkage("pendulums", gravity=(0, 0, -9.81))
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.5)).at(lw.Pose((0, 0, -0.3)))
    for k in range(100):
        linkage.add_body(f"p{k}", "world", lw.Revolute((0, 1, 0)), lw.Pose((k, 0, 0)), box)
    model = linkage.compile()
    at_rest = model.state(np.full(100, 0.1))
    each = abs(lw.forward_dynamics(model, at_rest)[0])
    for part in (0.1, 0.3, 0.5, 0.9, 1.0):
        tolerance = part if measure == "relative_linkage" else part * 10.0 * each
        for speed in (0.0, 1e-6):
            state = model.state(at_rest.q, np.full(100, speed))
            report = lw.AdaptiveDynamics(model, state, tolerance=tolerance, measure=measure).update_region(1e-3)
            assert report.reached
            assert report.error_bound <= tolerance
            # The reference: they do not feel each other, so one that is left out would have the acceleration of each alone.
            hidden = np.sqrt(100 - report.n_active) * (0.1 if measure == "relative_linkage" else each)
            assert hidden <= report.error_bound * (1 + 1e-9)
            assert report.n_active == 100 or speed == 0.0  # what moves is not stopped
    assert (
        model.n_bodies
        - lw.AdaptiveDynamics(model, at_rest, tolerance=tolerance, measure=measure).update_region(1e-3).n_active
        > 20
    )  # and much is left out where it may be


def test_a_number_of_joints_is_kept(model, rng):
    """Never more than asked for; and as many, since all of them would move."""
    can = sum(joint.nv > 0 for joint in model.joints) - sum(
        isinstance(joint, lw.Free) and model.parent[i] < 0 for i, joint in enumerate(model.joints)
    )
    for most, loads in ((0, True), (1, True), (2, False), (5, True), (9, False), (14, True)):
        state = model.random_state(rng, speed=0.0)
        sim = (
            loaded(model, state, rng, max_active_joints=most)
            if loads
            else lw.AdaptiveDynamics(model, state, max_active_joints=most)
        )
        assert sim.update_region(1e-2).n_active == min(most, can)
        for _ in range(10):
            assert sim.step(1e-3, 10).n_active == min(most, can)


def test_velocity_weights_decide_what_keeps_moving():
    """Balanced wheels that turn without acceleration: only the one that counts more is worth going on with."""
    linkage = lw.Linkage("wheels", gravity=(0, 0, -9.81))
    for k in range(9):
        linkage.add_body(
            f"wheel_{k}", "world", lw.Revolute((0, 1, 0)), lw.Pose((k, 0, 0)), lw.Inertia.box(1.0, (0.5,) * 3)
        )
    model = linkage.compile()
    state = model.state(None, np.full(9, 0.1))
    weights = np.where(np.arange(9) == 4, 100.0, 1.0)
    sim = lw.AdaptiveDynamics(
        model, state, tolerance=100.0, measure="absolute_joint", velocity_weights=weights, horizon=1e-2
    )
    sim.update_region()
    assert sim.active_joints == [model.joint_names[4]]
    plain = lw.AdaptiveDynamics(model, state, tolerance=100.0, measure="absolute_joint", horizon=1e-2)
    plain.update_region()
    assert plain.active_joints == []
    assert (plain.state.v == 0.0).all()


def test_weights_decide_what_begins_to_move(make_tree, rng):
    model = make_tree(3, 12, branching=1.0, roots=12, kinds=("revolute", "prismatic"))  # independent of each other
    state = model.random_state(rng, speed=0.0)
    truth = np.abs(lw.forward_dynamics(model, state))
    weights = np.full(12, 1e-12)
    weights[[2, 7]] = 1.0
    sim = lw.AdaptiveDynamics(
        model,
        state,
        tolerance=0.5 * truth[[2, 7]].min(),
        measure="absolute_joint",
        weights=weights,
        velocity_weights=weights,
    )
    sim.update_region(1e-2)
    assert sim.active_bodies.tolist() == [2, 7]


# ------------------------------------------------------------------------------------------------------------ what is asked


def rest(base, links=120):
    """A chain at rest in no gravity: no joint would move."""
    linkage = lw.Linkage("rest", gravity=(0, 0, 0))
    box = lw.Inertia.box(1.0, (0.2, 0.3, 0.4)).at(lw.Pose((0.1, 0.0, 0.2)))
    joints = (lw.Revolute((1, 0, 0)), lw.Revolute((0, 1, 0.5)), lw.Universal())
    for k in range(links):
        joint = base if k == 0 else joints[k % 3]
        linkage.add_body(f"b{k}", f"b{k - 1}" if k else "world", joint, lw.Pose((0, 0, 0.4)), box, joint_name=f"j{k}")
    model = linkage.compile()
    return model, lw.AdaptiveDynamics(
        model, model.neutral(), tolerance=0.1, update_every=5, measure="absolute_joint", horizon=1e-2
    )


@pytest.mark.parametrize("base", [lw.Free(), lw.Revolute((0, 1, 0))], ids=["floating", "fixed"])
@pytest.mark.parametrize("how", ["wrench", "world", "spring", "effort", "motor"])
def test_what_a_strong_load_would_move_is_active_after_the_next_update(base, how):
    model, sim = rest(base)
    assert sim.step(1e-3, 10).n_active == 0
    if how == "spring":
        sim.apply_spring("b77", target=(5.0, 3.0, 2.0), stiffness=100.0)
    elif how == "effort":
        sim.set_effort("j77", [30.0, -20.0])
    elif how == "motor":
        sim.set_motor("j77", position=1.0, stiffness=300.0)
    else:
        sim.apply_wrench(
            "b77", force=(50.0, 20.0, 10.0), torque=(10, 20, 5), frame="world" if how == "world" else "body"
        )
    truth = sim.checkpoint()
    report = sim.update_region()
    assert "j77" in sim.active_joints
    assert report.n_active > 0  # or all joints, where finding those that matter costs more than moving them all
    assert report.reached
    sim.restore(truth)  # and without being asked, at the next regular update
    sim.step(1e-3, 6)
    assert "j77" in sim.active_joints
    assert np.abs(sim.state.v[model.v_slice("j77")]).max() > 0.0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_loads_taken_away_leave_nothing_behind(model, rng, order):
    """Three loads of the world, on any bodies, all cleared between two steps."""
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.3), max_active_joints=3, keep_momentum=False, implicit_joints=False
    )
    for _ in range(8):
        bodies = rng.integers(model.n_bodies, size=3).tolist()
        loads = [sim.apply_wrench(body, force=(20.0, 10.0, 5.0), frame="world") for body in bodies[:2]]
        loads.append(sim.apply_spring(bodies[2], target=(1.0, 2.0, 3.0), stiffness=10.0))
        sim.step(1e-3, 12)
        for k in order:
            sim.clear(loads[k])
        active = set(sim.active_joints)
        still = {
            n: np.zeros(j.nv) for n, j in zip(model.joint_names, model.joints, strict=True) if j.nv and n not in active
        }
        truth, _ = lw.hybrid_dynamics(model, sim.state, still)
        sim.update_every = 10**6
        sim.step(1e-10)  # so short that its accelerations are those of the state before it
        sim.update_every = 10
        assert sim.acceleration == pytest.approx(truth, rel=0, abs=1e-8 * (1.0 + np.abs(truth).max()))


def test_a_joint_pinned_active_stays_active_until_unpinned():
    _, sim = rest(lw.Free())
    assert "j60" not in sim.active_joints
    sim.pin_active("j60")
    for _ in range(5):
        sim.step(1e-3, 7)
        assert "j60" in sim.active_joints
    sim.tolerance = math.inf
    sim.update_region()
    assert "j60" in sim.active_joints
    sim.unpin("j60")
    sim.update_region()
    assert "j60" not in sim.active_joints
    assert sim.report.n_active == 0


# -------------------------------------------------------------------------------------------------------------------- cost


def big(rng, active):
    model = lw.library.random_tree(4000, seed=5).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(rng, speed=0.0), max_active_joints=active, update_every=10)
    sim.apply_wrench(2000, force=(1.0, 2.0, 3.0), frame="world", at=(0.1, 0.2, 0.3))
    sim.step(1e-4, 30)
    return sim


def test_a_step_reads_nothing_outside_the_region(rng):
    """Everything but the linkage that moves is poisoned, the assembly tree included; a hundred steps do not notice."""
    sim, undisturbed = big(np.random.default_rng(1), 20), big(np.random.default_rng(1), 20)
    sim.update_every = undisturbed.update_every = 10**6
    parts = sim.view
    run, c, moving = parts.tree.run, parts.tree.coefficients, parts.moving
    used = {k: int(parts.table[ENTRIES * k + ROWS]) for k in range(len(moving))}
    assert used[moving._fields.index("body")] == 20 < 0.1 * sim.model.n_bodies
    for k, array in enumerate(moving):
        if array.dtype == float and array.flags.writeable:  # not the model's own
            array[used[k] :] = math.nan
    ours = {name: getattr(c, name) for name in c._fields} | {
        name: getattr(run, name) for name in run._fields if name != "metric_sums"
    }
    ours |= {"pose": parts.region.reduced.pose, "last_pose": parts.region.reduced.last_pose}
    for array in ours.values():
        if array.dtype == float:
            array[...] = math.nan
    assert undisturbed.step(1e-4, 100) == sim.step(1e-4, 100)
    moving_q, moving_v = np.zeros(sim.model.nq, dtype=bool), np.zeros(sim.model.nv, dtype=bool)
    for i in sim.active_bodies.tolist():
        moving_q[sim.model.q_slice(i)] = moving_v[sim.model.v_slice(i)] = True
    assert (sim.state.v[moving_v] == undisturbed.state.v[moving_v]).all()
    assert (sim.state.q[moving_q] == undisturbed.state.q[moving_q]).all()
    assert np.isnan(sim.state.q[~moving_q]).all()  # nor does it write there
    assert np.abs(undisturbed.state.v[moving_v]).max() > 0.0


def test_many_updates_look_at_the_neighbourhood_of_the_region(rng):
    """Ten updates with a load that stays, however large the rest."""
    sim = big(rng, 20)
    for _ in range(10):
        report = sim.step(1e-4, 10)
        assert report.n_active == 20
        assert report.n_computed < 0.04 * sim.model.n_bodies


@pytest.mark.parametrize("stiffness", [0.0, 30.0])
@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_dampers_and_springs_are_weighed_as_a_step_moves_them(factor, stiffness):
    """A joint with a damper and a spring, and a free one that is a little slower or faster after T by (4)."""
    inertia, damping, effort, horizon = 2e-3, 0.5, 1.0, 0.02
    linkage = lw.Linkage("two", gravity=(0, 0, 0))
    for name, joint in (
        ("held", lw.Revolute((0, 0, 1), damping=damping, stiffness=stiffness)),
        ("free", lw.Revolute((0, 0, 1))),
    ):
        linkage.add_body(name, "world", joint, lw.Pose(), lw.Inertia(1.0, (0, 0, 0), np.diag([inertia] * 3)))
    model = linkage.compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=1, horizon=horizon, measure="absolute_joint")
    response = 1.0 / inertia
    slowed = response * effort / (1.0 + response * (horizon * damping + horizon**2 * stiffness))
    sim.set_efforts([effort, factor * slowed / response])
    report = sim.update_region()
    assert sim.active_joints == (["free"] if factor > 1.0 else ["held"])
    assert report.error_bound == pytest.approx(effort / inertia if factor > 1.0 else factor * slowed, rel=1e-9)
