"""Products with Jacobians agree with complex steps, on trees of all joint kinds with springs, dampers, rotors and loads."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reference import complex_steps
from tests.helpers.rounding import rounding

import linkwork as lw

CONDITION = 5e3  # of the mass matrices of these trees, at most
# Derivatives of forward dynamics solve twice with the mass matrix; measured differences are below 2e-13.
SAME = rounding(condition=CONDITION, operations=1000)
DYNAMICS = {
    "forward": (lw.forward_dynamics, complex_steps.forward_dynamics, "effort"),
    "inverse": (lw.inverse_dynamics, complex_steps.inverse_dynamics, "acceleration"),
}
PLACES = {
    "poses": (lw.body_poses, complex_steps.body_poses, ("q",)),
    "twists": (lw.body_twists, complex_steps.body_twists, ("q", "v")),
    "energy": (lw.energy, complex_steps.energy, ("q", "v", "inertias", "gravity", "stiffness", "armature")),
}


def close(ours, theirs, rel=SAME):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max(initial=0.0) <= rel * max(1.0, np.abs(theirs).max(initial=0.0))


def check_products(rng, plain, at, names, gradients, weights, along, entries=("q",)):
    """Gradients and changes along random directions, for every variable; gradients named in `entries` one by one.

    names: of our gradients, by the name of the variable of the reference.
    """
    for variable, name in names.items():
        ours = getattr(gradients, name)
        for _ in range(2):
            direction = rng.normal(size=ours.shape)
            expected = complex_steps.derivative(plain, at, variable, direction)
            product = np.sum(weights * expected)
            scale = np.sum(np.abs(weights * expected)) + np.sum(np.abs(ours * direction))
            assert abs(np.sum(ours * direction) - product) <= SAME * scale, name
            assert close(along(**{f"d{name}": direction}), expected), name
        if variable in entries:
            assert close(ours, complex_steps.gradient(plain, at, variable, weights)), name


@pytest.mark.parametrize("which", DYNAMICS)
@pytest.mark.parametrize("loaded", [False, True], ids=["unloaded", "loaded"])
def test_dynamics(which, loaded, tree, rng, make_loads):
    function, plain, forcing = DYNAMICS[which]
    state, loads = tree.random_state(rng), make_loads(tree)
    wrenches = loads.wrenches if loaded else None
    y, pull = lw.vjp(function, tree, state, loads.effort, wrenches)
    assert np.array_equal(y, function(tree, state, loads.effort, wrenches))
    weights = rng.normal(size=tree.nv)
    at = complex_steps.variables(tree, state, loads.effort, wrenches)
    names = {name: forcing if name == "forcing" else name for name in at._fields}
    check_products(
        rng,
        lambda x: plain(tree, state, x),
        at,
        names,
        pull(weights),
        weights,
        lambda **d: lw.jvp(function, tree, state, loads.effort, wrenches, **d),
    )


@pytest.mark.parametrize("which", PLACES)
def test_places(which, tree, rng):
    function, plain, names = PLACES[which]
    state = tree.random_state(rng)
    at = complex_steps.variables(tree, state, np.zeros(tree.nv))
    y, pull = lw.vjp(function, tree, state)
    expected = np.real(plain(tree, state, at))
    assert close(np.array(y), expected)
    weights = rng.normal(size=expected.shape)
    check_products(
        rng,
        lambda x: plain(tree, state, x),
        at,
        {name: name for name in names},
        pull(weights),
        weights,
        lambda **d: np.array(lw.jvp(function, tree, state, **d)),
    )


def test_twists_in_the_world(tree, rng):
    state = tree.random_state(rng)
    at = complex_steps.variables(tree, state, np.zeros(tree.nv))

    def plain(x):
        R = complex_steps.body_poses(tree, state, x)[:, :3, :3]
        V = complex_steps.body_twists(tree, state, x)
        return np.hstack([np.einsum("nij,nj->ni", R, V[:, :3]), np.einsum("nij,nj->ni", R, V[:, 3:])])

    weights = rng.normal(size=(tree.n_bodies, 6))
    _, pull = lw.vjp(lw.body_twists, tree, state, frame="world")
    check_products(
        rng, plain, at, {"q": "q", "v": "v"}, pull(weights), weights,
        lambda **d: lw.jvp(lw.body_twists, tree, state, frame="world", **d),
    )  # fmt: skip


def test_momentum_about_a_point(tree, rng):
    state, point = tree.random_state(rng), rng.normal(size=3)
    at = complex_steps.variables(tree, state, np.zeros(tree.nv))

    def plain(x):
        total = complex_steps.momentum(tree, state, x)
        return np.array([total[3:], total[:3] - np.cross(point, total[3:])])

    weights = rng.normal(size=(2, 3))
    y, pull = lw.vjp(lw.momentum, tree, state, about=point)
    assert close(np.array(y), np.real(plain(at)))
    check_products(
        rng, plain, at, {name: name for name in ("q", "v", "inertias")}, pull(weights), weights,
        lambda **d: np.array(lw.jvp(lw.momentum, tree, state, about=point, **d)),
    )  # fmt: skip


def test_center_of_mass(tree, rng):
    state = tree.random_state(rng)
    at = complex_steps.variables(tree, state, np.zeros(tree.nv))

    def plain(x):
        T = complex_steps.body_poses(tree, state, x)
        moment = x.inertias[:, :1] * T[:, :3, 3] + np.einsum("nij,nj->ni", T[:, :3, :3], x.inertias[:, 1:4])
        return moment.sum(axis=0) / x.inertias[:, 0].sum()

    weights = rng.normal(size=3)
    y, pull = lw.vjp(lw.center_of_mass, tree, state)
    assert close(y, np.real(plain(at)))
    check_products(
        rng, plain, at, {name: name for name in ("q", "inertias")}, pull(weights), weights,
        lambda **d: lw.jvp(lw.center_of_mass, tree, state, **d),
    )  # fmt: skip


def test_each_joint_kind_alone(joint, rng):
    """A chain of three bodies on one kind of joint, so that no other kind hides a mistake."""
    linkage = lw.Linkage("one kind", gravity=(1.0, -2.0, -9.0))
    for i in range(3):
        parent = "world" if i == 0 else f"b{i - 1}"
        base = lw.Revolute((0, 1, 0)) if i == 0 else joint
        linkage.add_body(
            f"b{i}", parent, base, lw.Pose((0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)),
            lw.Inertia.box(1.0, (0.3, 0.4, 0.5)).at(lw.Pose((0.1, 0.0, 0.2))),
        )  # fmt: skip
    model = linkage.compile(merge_fixed=False)
    state, effort, weights = model.random_state(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    for function, plain, _ in DYNAMICS.values():
        _, pull = lw.vjp(function, model, state, effort, wrt=("q", "v"))
        at = complex_steps.variables(model, state, effort)
        found = pull(weights)
        for name in ("q", "v"):
            expected = complex_steps.gradient(lambda x, f=plain: f(model, state, x), at, name, weights)
            assert close(getattr(found, name), expected)


def test_products_from_both_sides_are_one_number(make_tree, rng):
    """λ · (J d) = (Jᵀ λ) · d on a larger tree, where the reference is too slow."""
    model = make_tree(seed=11, bodies=300, branching=0.3, damping=True, stiffness=True, armature=True)
    state, effort = model.random_state(rng), rng.normal(size=model.nv)
    for function in (lw.forward_dynamics, lw.inverse_dynamics):
        _, pull = lw.vjp(function, model, state, effort)
        weights = rng.normal(size=model.nv)
        gradients = pull(weights)
        for name in ("q", "v", "inertias", "wrenches", "stiffness", "gravity"):
            d = rng.normal(size=getattr(gradients, name).shape)
            change = lw.jvp(function, model, state, effort, **{f"d{name}": d})
            right = np.sum(getattr(gradients, name) * d)
            scale = np.abs(weights) @ np.abs(change) + np.sum(np.abs(getattr(gradients, name) * d))
            assert abs(weights @ change - right) <= rounding(condition=1e6, scale=scale)


def test_orientation_gradients_are_along_the_tangent_of_integrate(rng, derivative):
    model = lw.Linkage("ball")
    model.add_body("b", "world", lw.Free(), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    model.add_body("c", "b", lw.Spherical(), lw.Pose((0.3, 0, 0)), lw.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    model = model.compile()
    state, weights, direction = model.random_state(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    _, pull = lw.vjp(lw.forward_dynamics, model, state)
    slope = derivative(
        lambda h: weights @ lw.forward_dynamics(model, lw.State(model.integrate(state.q, direction, h), state.v))
    )
    # Fourth-order differences of numbers of order 10 at steps of 1e-3: 1e-9 is ten times their error.
    assert pull(weights).q @ direction == pytest.approx(slope, rel=1e-8, abs=1e-8)


def test_several_pulls_at_one_state_and_several_states_at_once(tree, rng):
    """Pulls keep their own numbers: others made meanwhile, or called before, change nothing."""
    first, second = tree.random_state(rng), tree.random_state(rng)
    weights, others = rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    _, pull = lw.vjp(lw.forward_dynamics, tree, first)
    expected = pull(weights)
    _, other = lw.vjp(lw.forward_dynamics, tree, second)
    other(others)
    pull(others)
    again = pull(weights)
    for name in ("q", "v", "effort", "inertias", "damping"):
        assert np.array_equal(getattr(again, name), getattr(expected, name))


@pytest.mark.parametrize("which", DYNAMICS)
@pytest.mark.parametrize("loaded", [False, True], ids=["unloaded", "loaded"])
def test_full_matrices_hold_the_products(which, loaded, tree, rng, make_loads):
    """Row k of a Jacobian is the product of the unit vector k from the left."""
    function, _, forcing = DYNAMICS[which]
    state, loads = tree.random_state(rng), make_loads(tree)
    arguments = (loads.effort, loads.wrenches) if loaded else (loads.effort, None)
    matrices = lw.jacobians(function, tree, state, *arguments)
    _, pull = lw.vjp(function, tree, state, *arguments)
    rows = [pull(unit) for unit in np.eye(tree.nv)]
    for name, matrix in matrices._asdict().items():
        assert close(matrix, np.array([getattr(row, name) for row in rows])), name
    assert matrices._fields == ("q", "v", forcing)


@pytest.mark.parametrize("bodies", [1, 2, 5, 6, 7, 9, 33])
def test_full_matrices_of_every_width(bodies, make_tree, rng):
    """Right sides are solved eight at once: every remainder of the division occurs."""
    widths = set()
    for seed in range(3):
        model = make_tree(seed=seed, bodies=bodies, kinds=("revolute", "prismatic", "universal"), stiffness=True)
        state, direction = model.random_state(rng), rng.normal(size=model.nv)
        found = lw.jacobians(lw.forward_dynamics, model, state)
        assert close(found.q @ direction, lw.jvp(lw.forward_dynamics, model, state, dq=direction), rel=10 * SAME)
        assert close(found.effort @ lw.mass_matrix(model, state), np.eye(model.nv), rel=10 * SAME)
        widths.add(model.nv % 8)
    assert widths


def test_small_models_take_one_call(make_tree, rng):
    """The same bits as by way of many calls, and the same errors."""
    model = make_tree(seed=8, bodies=9, branching=0.5, kinds=("revolute", "prismatic", "universal", "screw"))
    state, effort = model.random_state(rng), rng.normal(size=model.nv)
    quick = lw.jacobians(lw.forward_dynamics, model, state, effort)
    slow = lw.jacobians(lw.forward_dynamics, model, state, effort=effort)
    for one, other in zip(quick, slow, strict=True):
        assert np.array_equal(one, other)
    bad = effort.copy()
    bad[2] = np.nan
    with pytest.raises(lw.StateError, match=r"effort\[2\] is nan"):
        lw.jacobians(lw.forward_dynamics, model, state, bad)
    with pytest.raises(lw.StateError, match=r"effort has shape"):
        lw.jacobians(lw.forward_dynamics, model, state, effort[1:])
