"""Equilibria at joint limits: what limits hold, what they push with, and that nothing else is out of balance."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.optimize

import linkwork as lw

KINDS = (
    "revolute",
    "universal",
    "spherical",
    "fixed",
)  # slides on soft springs take thousands of sweeps without limits too


def limited_tree(seed: int, bodies: int) -> lw.Model:
    """A random tree with springs, and limits on most angles that its weight goes beyond."""
    rng = np.random.default_rng(seed)
    kinds = KINDS if seed % 2 else ("revolute",)
    linkage = lw.library.random_tree(bodies, seed=seed, kinds=kinds, branching=rng.random(), options=True)
    for body in list(linkage):
        joint = body.joint
        if joint.nv == joint.nq > 0 and rng.random() < 0.8:
            pairs = 0.3 * np.abs(rng.normal(size=(joint.nv, 2))) * (-1.0, 1.0)
            pairs[rng.random(joint.nv) < 0.1] = 0.0
            linkage.edit_body(body.name, joint=dataclasses.replace(joint, limits=tuple(map(tuple, pairs))))
    return linkage.compile()


def unbalanced(model, rest):
    """What gravity, springs and limits leave, by inverse dynamics."""
    return rest.report.limits - lw.inverse_dynamics(model, rest.state, np.zeros(model.nv))


def hanging_arm(limits) -> lw.Model:
    linkage = lw.Linkage("arm")
    inertia = lw.Inertia(1.0, (0.5, 0.0, 0.0), (0.1, 0.1, 0.1))
    shapes = [lw.Sphere(0.01)]
    linkage.add_body("arm", joint=lw.Revolute((0, 1, 0), limits=limits), inertia=inertia, shapes=shapes)
    return linkage.compile()


def test_a_hinge_rests_at_its_limit():
    """It went on to the equilibrium of a hinge without limits, at a right angle."""
    model = hanging_arm((-0.2, 0.2))
    rest = lw.settle(model, model.neutral())
    assert rest.state.q[0] == 0.2
    assert rest.stable
    assert rest.report.limits == pytest.approx([-9.81 * 0.5 * np.cos(0.2)], rel=1e-12)
    sim = lw.QuasiStatics(model, model.neutral())
    report = sim.settle()
    assert report.stable
    assert sim.state.q[0] == 0.2
    sim.step(0.05, 3)
    assert sim.state.q[0] == 0.2
    assert sim.efforts.limits == pytest.approx(rest.report.limits, rel=1e-12)


@pytest.mark.parametrize("seed", range(16))
def test_what_limits_push_with_balances_the_rest(seed):
    """Efforts are zero but for limits, which only push; no motion within the limits lowers the energy."""
    rng = np.random.default_rng(seed)
    model = limited_tree(seed, int(rng.integers(2, 30)))
    rest = lw.settle(model, model.neutral())
    q, pushes = rest.state.q, rest.report.limits
    v, k = np.array(
        [
            (model.v_slice(i).start + d, model.q_slice(i).start + d)
            for i, joint in enumerate(model.joints)
            if joint.nv == joint.nq
            for d in range(joint.nv)
        ]
    ).T
    weight = np.abs(lw.inverse_dynamics(model, model.neutral(), np.zeros(model.nv))).max()
    assert np.abs(unbalanced(model, rest)).max() <= 1e-8 * weight  # settled to 1e-10 of what loads could do
    assert (model.lower[v] <= q[k]).all()
    assert (q[k] <= model.upper[v]).all()
    assert (q[k] == model.lower[v])[pushes[v] > 0.0].all()
    assert (q[k] == model.upper[v])[pushes[v] < 0.0].all()
    assert np.count_nonzero(pushes) > 0 or not np.isfinite(model.lower).any()
    assert rest.stable
    energy = rest.report.energy
    for _ in range(20):
        way = 1e-3 * rng.normal(size=model.nv)
        there = model.integrate(q, way)
        there[k] = np.clip(there[k], model.lower[v], model.upper[v])
        other = lw.settle(model, lw.State(there, np.zeros(model.nv))).report
        assert other.energy <= energy + 1e-9 * abs(energy)  # it goes back ...
        assert other.energy == pytest.approx(energy, rel=1e-7)  # ... to the same one


def test_a_start_beyond_a_limit_is_moved_to_it():
    model = hanging_arm((-0.2, 0.2))
    assert lw.settle(model, model.state([3.0])).state.q[0] == 0.2


def test_gradients_hold_what_limits_hold():
    """Of the coordinates at rest with respect to efforts: by differences of equilibria."""
    model = limited_tree(4, 12)
    rest = lw.settle(model, model.neutral(), tolerance=1e-13)
    assert 0 < np.count_nonzero(rest.report.limits) < model.nv
    rng = np.random.default_rng(0)
    weights, effort = rng.normal(size=model.nv), 1e-4 * rng.normal(size=model.nv)
    gradient = rest.backward(weights).effort
    assert (gradient[rest.report.limits != 0.0] == 0.0).all()
    ends = [lw.settle(model, rest.state, effort=s * effort, tolerance=1e-13) for s in (1.0, -1.0)]
    for end in ends:
        assert ((end.report.limits != 0.0) == (rest.report.limits != 0.0)).all()
    change = 0.5 * (ends[0].state.q - ends[1].state.q)
    assert weights @ change == pytest.approx(gradient @ effort, rel=1e-5)  # differences over 1e-4: squares are 1e-8


@pytest.mark.parametrize("limits", [(-2.0, 2.0), (-0.2, 0.2), (-0.3, 0.1)])
def test_a_closed_chain_rests_at_the_limit_of_one_of_its_joints(limits):
    """With the limit's effort `constrained_dynamics` does not move it; a limit that the rest keeps is no matter."""
    linkage = lw.library.four_bar()
    linkage.edit_body("rocker", joint=dataclasses.replace(linkage["rocker"].joint, limits=limits))
    model = linkage.compile()
    rest = lw.settle(model, model.neutral())
    assert rest.stable
    assert rest.report.gap < 1e-12
    pushes = rest.report.limits
    assert rest.state.q[2] == limits[1] if limits[1] < 1.0 else not pushes.any()
    assert pushes[2] <= 0.0
    still = lw.constrained_dynamics(model, rest.state, pushes).acceleration
    falling = lw.constrained_dynamics(model, model.neutral()).acceleration
    assert np.abs(still).max() <= 1e-8 * np.abs(falling).max()
    if pushes.any():
        with pytest.raises(lw.StateError, match="at joint limits are not known"):
            rest.backward(np.ones(3))


def test_an_arch_stands_on_the_limits_of_its_joints():
    """A chain of twelve links between two pins, begun above them: it bends down until its joints stop it."""
    n, span = 12, 0.6
    linkage = lw.Linkage("arch")
    bar = lw.Inertia.box(1.0 / n, (1.0 / n, 0.004, 0.004)).at(lw.Pose((0.5 / n, 0, 0)))
    for k in range(n):
        joint = lw.Revolute((0, 1, 0), limits=None if k == 0 else (-0.6, 0.6))
        parent, where = ("world", lw.Pose()) if k == 0 else (f"link_{k - 1}", lw.Pose((1.0 / n, 0, 0)))
        linkage.add_body(f"link_{k}", parent, joint, where, bar)
    ends = lw.Pose((span, 0, 0)), lw.Pose((1.0 / n, 0, 0))
    linkage.add_loop(lw.Revolute((0, 1, 0)), "world", f"link_{n - 1}", ends, name="end")
    model = linkage.compile()
    along = np.linspace(-1.0, 1.0, n)
    bend = scipy.optimize.brentq(lambda c: np.cos(c * along).mean() - span, 1e-3, 3.0)
    rest = lw.settle(model, model.state(np.diff(bend * along, prepend=0.0)))
    q, pushes = rest.state.q, rest.report.limits
    assert (np.abs(q[1:]) <= 0.6).all()
    assert np.count_nonzero(pushes) >= 8
    assert (q[1:] * pushes[1:] <= 0.0).all()
    assert (np.abs(q[pushes != 0.0]) == 0.6).all()
    still = lw.constrained_dynamics(model, rest.state, pushes).acceleration
    falling = lw.constrained_dynamics(model, rest.state).acceleration
    assert np.abs(still).max() <= 1e-7 * np.abs(falling).max()  # settled to 1e-10 of the loads; light links answer them


def test_limits_that_would_be_passed_in_water_are_named():
    model = hanging_arm((-0.2, 0.2))
    with pytest.raises(lw.StateError, match=r"joint 'arm' at .* beyond its limits"):
        lw.settle(model, model.neutral(), water=lw.air())
