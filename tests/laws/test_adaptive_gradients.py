"""Gradients through adaptive runs agree with differences, while the region stays and where it changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.model import layout

H, STEPS = 2e-3, 12
CLOSE = 1e-7  # as in `test_run_gradients`


def simulated(model, q, v, effort, integrator):
    sim = lw.AdaptiveDynamics(
        model, lw.State(q, v), max_active_joints=6, update_every=100, integrator=integrator, limits=False
    )
    sim.set_efforts(effort)
    sim.apply_wrench(model.n_bodies - 1, force=(0.3, -0.2, 0.1), frame="body", at=(0.1, 0.2, 0.0))
    sim.apply_spring(model.n_bodies // 2, target=(0.3, 0.2, 0.1), stiffness=3.0, at=(0.0, 0.1, 0.0))
    return sim


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("integrator", ["variational", "semi_implicit_euler", "rk4"])
def test_against_differences(base, integrator, make_tree, rng, derivative):
    options = {"base": lw.Free()} if base == "floating" else {}
    kinds = ("revolute", "prismatic", "universal", "spherical", "planar", "compound")
    model = make_tree(seed=4, bodies=14, branching=0.5, kinds=kinds, stiffness=True, **options)
    q = model.integrate(model.neutral().q, 0.3 * rng.normal(size=model.nv))
    still, effort = np.zeros(model.nv), 0.3 * rng.normal(size=model.nv)
    run = lw.run_with_gradients(simulated(model, q, still, effort, integrator), H, STEPS)
    end, by_q, by_v = run.state, rng.normal(size=model.nv), rng.normal(size=model.nv)
    found = run.backward(q=by_q, v=by_v)
    assert 0 < found.freedoms.size < model.nv
    active = np.zeros(model.nv)
    active[found.freedoms] = 1.0
    way = active * rng.normal(size=model.nv)

    def loss(q=q, v=still, tau=effort):
        sim = simulated(model, q, v, tau, integrator)
        lw.run_with_gradients(sim, H, STEPS)
        assert sorted(sim.active_bodies.tolist()) == bodies
        return by_q @ model.difference(end.q, sim.state.q) + by_v @ sim.state.v

    first = simulated(model, q, still, effort, integrator)
    first.update_region(100 * H)
    bodies = sorted(first.active_bodies.tolist())
    small = 1e-4  # fewer joints change their places in the metric
    for ours, function in (
        (found.q @ way[found.freedoms], lambda d: loss(q=model.integrate(q, way, d))),
        (found.effort @ way[found.freedoms], lambda d: loss(tau=effort + d * way)),
    ):
        assert ours == pytest.approx(derivative(lambda d, f=function: f(small * d)) / small, rel=1e-5, abs=1e-5)


def mixed(base):
    """Twelve links on hinges, some of them sprung, and ball joints; in a row, or "branched"."""
    linkage = lw.Linkage("mixed")
    joints = [
        lw.Revolute((0, 1, 0), damping=0.02, stiffness=0.3),
        lw.Revolute((1, 0, 0), damping=0.02),
        lw.Spherical(damping=0.05, stiffness=0.2),
        lw.Revolute((0, 0, 1), damping=0.02, armature=0.01),
    ]
    link = lw.Inertia.box(1.0, (0.3, 0.1, 0.15)).at(lw.Pose((0.15, 0.0, 0.0)))
    for i in range(12):
        joint = lw.Free() if base == "floating" and i == 0 else joints[i % 4]
        parent = i - 1 if base != "branched" or i % 3 else i // 2 - 1
        linkage.add_body(f"b{i}", f"b{parent}" if i else "world", joint, lw.Pose((0.3, 0.0, 0.02)), link)
    return linkage.compile()


@pytest.mark.parametrize("base", ["fixed", "floating", "branched"])
@pytest.mark.parametrize("integrator", ["variational", "semi_implicit_euler", "rk4"])
def test_a_region_that_changes(base, integrator, rng, derivative):
    """Joints leave, stopped by impulses, and others enter; where those that left stand goes on to matter."""
    model, steps = mixed(base), 24
    q, efforts = (
        model.integrate(model.neutral().q, 0.3 * rng.normal(size=model.nv)),
        0.1 * rng.normal(size=(steps, model.nv)),
    )
    for rows, joint, effort in ((slice(0, 8), 3, 6.0), (slice(8, 16), 9, -5.0), (slice(16, 24), 5, 7.0)):
        efforts[rows, model.v_slice(joint)] = effort

    def made(m=model, q=q, tau=efforts):
        options = {"max_active_joints": 3, "update_every": 2, "integrator": integrator, "limits": False}
        sim = lw.AdaptiveDynamics(m, m.state(q), **options)
        sim.apply_wrench(m.n_bodies - 1, force=(0.3, -0.2, 0.1), frame="body", at=(0.1, 0.2, 0.0))
        sims.append(sim)
        return lw.run_with_gradients(sim, H, steps, tau)

    def regions(run):
        return [tuple(segment.freedoms.tolist()) for segment in run.segments]

    sims = []
    run = made()
    assert len(run.segments) > 1
    end, by_q, by_v, way = run.state, *rng.normal(size=(3, model.nv))
    kicks, pull = rng.normal(size=efforts.shape), rng.normal(size=3)
    ten = model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]
    heavy = 0.02 * np.abs(ten).max(axis=1)[:, None] * rng.normal(size=ten.shape)  # all ten numbers
    found = run.backward(q=by_q, v=by_v, whole=True)
    assert isinstance(found, lw.RunGradients)
    compare_with_whole(run.backward(q=by_q, v=by_v), found, model.nv)

    def loss(**options):
        other = made(**options)
        assert regions(other) == regions(run)
        return by_q @ model.difference(end.q, other.state.q) + by_v @ other.state.v

    def heavier(x):
        body = model.arrays.body.copy()
        body[:, layout.INERTIA : layout.INERTIA + 10] += x * heavy
        return replace(model, arrays=model.arrays._replace(body=body))

    def pulled(x):
        return replace(model, arrays=model.arrays._replace(gravity=model.arrays.gravity + x * pull))

    def stiffer(x, column):
        dof = model.arrays.dof.copy()
        dof[:, column] += x * (dof[:, column] > 0.0)
        return replace(model, arrays=model.arrays._replace(dof=dof))

    def present(gradient, column):
        return gradient[model.arrays.dof[:, column] > 0.0].sum()

    small = 1e-3  # regions stay; steps of 1e-6 leave 1e-7 of digits
    for ours, function in (
        (found.q @ way, lambda d: loss(q=model.integrate(q, way, d))),
        (np.sum(found.effort * kicks), lambda d: loss(tau=efforts + d * kicks)),
        (np.sum(found.inertias * heavy), lambda d: loss(m=heavier(d))),
        (found.gravity @ pull, lambda d: loss(m=pulled(d))),
        (present(found.stiffness, layout.STIFFNESS), lambda d: loss(m=stiffer(d, layout.STIFFNESS))),
        (present(found.damping, layout.DAMPING), lambda d: loss(m=stiffer(d, layout.DAMPING))),
    ):
        assert ours == pytest.approx(derivative(lambda d, f=function: f(small * d)) / small, rel=1e-5, abs=1e-5)
    sims[0].clear_loads()  # what the simulation is given later is not part of the run
    sims[0].apply_wrench(0, force=(9.0, 0.0, 0.0))
    assert np.array_equal(run.backward(q=by_q, v=by_v, whole=True).q, found.q)


def compare_with_whole(few, whole, nv):
    """Gradients of what a run moved, on rigid groups, against those of the whole linkage with locked joints."""
    assert isinstance(few, lw.RegionGradients)
    assert 0 < few.freedoms.size < nv
    for name in few._fields[1:]:
        ours, theirs = getattr(few, name), getattr(whole, name)
        theirs = theirs if name == "gravity" else theirs[..., few.freedoms]
        near = rounding(condition=1e3, scale=1.0 + float(np.abs(theirs).max()), steps=24)  # locks of 1e30 cost digits
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=near, err_msg=name)


def dragging(base):
    """A row of links, in no special shape, that hangs down to a floor and drags its last ones along it; its state."""
    linkage = lw.Linkage("dragging")
    linkage.add_obstacle("floor", lw.Plane(friction=0.3))
    link = lw.Inertia.box(1.0, (0.3, 0.1, 0.15)).at(lw.Pose((0.15, 0.0, 0.01)))
    for i in range(9):
        axis = (0, 1, 0) if i % 3 else (0.1, 1, 0.2)
        joint = lw.Revolute(axis, damping=0.05, stiffness=0.5, limits=(-2.0, 0.8) if i == 5 else None)
        foot = [lw.Sphere(0.1, placement=lw.Pose((0.3, 0.0, 0.0)), friction=0.3)] if i in (6, 8) else []
        joint = lw.Free() if i == 0 and base == "floating" else joint
        linkage.add_body(f"b{i}", f"b{i - 1}" if i else "world", joint, lw.Pose((0.3, 0, 0)), link, shapes=foot)
    model = linkage.compile()
    angles = np.array([0.5, 0.3, -0.1, 0.2, 0.1, 0.5, -0.9, -0.4, -0.16])
    # the base is lifted until the first foot is as near as bodies rest
    q = angles if base == "fixed" else np.concatenate([model.neutral().q[:7], angles[1:]])
    T = lw.body_poses(model, model.state(q))
    lift = 0.1 + 0.5e-4 - min((T[i] @ (0.3, 0.0, 0.0, 1.0))[2] for i in (6, 8))
    if base == "floating":
        q[2] += lift
        return model, q
    body = model.arrays.body.copy()
    body[0, layout.POSITION + 2] += lift
    return replace(model, arrays=model.arrays._replace(body=body)), q


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("integrator", ["variational", "semi_implicit_euler"])
def test_a_region_that_touches(base, integrator, rng):
    """Feet press and slide on a floor while joints enter and leave the region."""
    model, q = dragging(base)
    steps, first = 18, model.nv - 9
    efforts = np.zeros((steps, model.nv))
    efforts[:, first + 1 :] = 0.3 * rng.normal(size=8)
    for rows, joint, effort in ((slice(0, 6), 7, 16.0), (slice(6, 12), 3, -60.0), (slice(12, 18), 8, 17.0)):
        efforts[rows, first + joint] = effort

    def made(q=q, tau=efforts):
        contact = lw.Contact(margin=0.1, tolerance=1e-12)
        options = {"max_active_joints": 3, "update_every": 2, "integrator": integrator, "contact": contact}
        return lw.run_with_gradients(lw.AdaptiveDynamics(model, model.state(q), **options), 1e-3, steps, tau)

    def sets(run):
        seen = [x.pressed_contacts for segment in run.segments for x in segment.seen]
        touches = [(x.bodies.tolist(), x.slides.tolist(), x.limits.tolist()) for x in seen]
        return [segment.freedoms.tolist() for segment in run.segments], touches

    run = made()
    assert len(run.segments) > 1
    assert any(x.pressed_contacts.impulse.size for segment in run.segments for x in segment.seen)
    end, by_q, by_v, way = run.state, *rng.normal(size=(3, model.nv))
    found, kicks = run.backward(q=by_q, v=by_v, whole=True), rng.normal(size=efforts.shape)
    compare_with_whole(run.backward(q=by_q, v=by_v), found, model.nv)

    def loss(**options):
        other = made(**options)
        assert sets(other) == sets(run)
        return by_q @ model.difference(end.q, other.state.q) + by_v @ other.state.v

    def difference(function, d):
        return (function(d) - function(-d)) / (2.0 * d)

    near = 1e-5 * (1.0 + np.abs(found.q).max())
    assert abs(np.sum(found.effort * kicks) - difference(lambda d: loss(tau=efforts + d * kicks), 1e-5)) <= near
    assert abs(found.q @ way - difference(lambda d: loss(q=model.integrate(q, way, d)), 1e-6)) <= near


def test_substeps_of_a_region(rng, derivative):
    """The default of other engines: steps whose substeps are chosen by an estimate of their error."""
    model = mixed("fixed")
    q, effort, way = model.neutral().q.copy(), *rng.normal(size=(2, model.nv))

    def made(tau=effort):
        sim = lw.AdaptiveDynamics(
            model, model.state(q), max_active_joints=3, update_every=2, integrator="dormand_prince"
        )
        sim.set_efforts(tau)
        return lw.run_with_gradients(sim, H, 6)

    run = made()
    by_v = rng.normal(size=model.nv)
    few, whole = run.backward(v=by_v), run.backward(v=by_v, whole=True)
    compare_with_whole(few, whole, model.nv)
    active = np.zeros(model.nv)
    active[few.freedoms] = 1.0
    small = 1e-3
    theirs = derivative(lambda d: by_v @ made(effort + small * d * active * way).state.v) / small
    assert few.effort @ way[few.freedoms] == pytest.approx(theirs, rel=1e-4, abs=1e-5)  # lengths of substeps are held


def test_what_adaptive_runs_refuse():
    model = lw.library.chain(5, joint=lw.Revolute((0, 1, 0), damping=0.01)).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=0.0)
    with pytest.raises(lw.StateError, match="memory is 10 bytes"):
        lw.run_with_gradients(sim, 1e-3, 3, memory=10)
    run = lw.run_with_gradients(sim, 1e-3, 3)
    with pytest.raises(lw.StateError, match=r"v\[2\] is nan"):
        run.backward(v=[0, 0, np.nan, 0, 0])
    assert np.array_equal(run.states()[-1], np.concatenate(run.state))
