"""Trees nobody would draw by hand: any topology, kinds, thin and heavy bodies, tiny and nearly singular states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.dynamics.api import ALGORITHMS
from linkwork.model import layout

EPS = np.finfo(float).eps

# The same cases every time: a failure seen once is seen by everybody. Kernels compile in the first example, so no deadline.
BOUNDED = settings(max_examples=40, deadline=None, derandomize=True)

TINY = [0.0, 1e-300, 1e-12, -1e-8, 1e-4]
numbers = st.one_of(st.sampled_from(TINY), st.floats(-1.0, 1.0, allow_subnormal=False))
vectors = st.tuples(numbers, numbers, numbers)
signs = st.sampled_from([1.0, -1.0])
axes = st.one_of(
    st.sampled_from([(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)]),
    st.tuples(st.floats(0.2, 1.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),  # never zero
)
# Angles at the edges of series and logarithms, and nearly at a half turn.
angles = st.one_of(st.sampled_from([*TINY, math.pi - 1e-7, -math.pi]), st.floats(-3.0, 3.0, allow_subnormal=False))


@st.composite
def poses(draw):
    rotation = lw.Pose(rpy=(draw(angles), draw(angles), draw(angles)))
    return lw.Pose.raw(rotation.rotation, draw(vectors))


@st.composite
def inertias(draw):
    """Boxes from 1 g to 1 t; edges from 1 cm to 1 m make needles and sheets too."""
    mass = 10.0 ** draw(st.integers(-3, 3))
    size = [10.0 ** draw(st.floats(-2.0, 0.0)) for _ in range(3)]
    return lw.Inertia.box(mass, size).at(draw(poses()))


@st.composite
def joints(draw):
    kind = draw(
        st.sampled_from(["revolute", "prismatic", "screw", "universal", "planar", "ball", "free", "fixed", "gimbal"])
    )
    if kind == "fixed":
        return lw.Fixed()
    options = {}
    if draw(st.booleans()):
        options = {name: draw(st.sampled_from([0.0, 1e-6, 0.5, 20.0])) for name in ("damping", "stiffness", "armature")}
    if kind == "revolute":
        return lw.Revolute(draw(axes), point=draw(vectors), **options)
    if kind == "prismatic":
        return lw.Prismatic(draw(axes), **options)
    if kind == "screw":
        return lw.Screw(draw(axes), point=draw(vectors), pitch=draw(numbers), **options)
    if kind == "universal":
        return lw.Universal((1.0, 0.0, 0.0), (draw(numbers) / 2.0, 1.0, 0.0), **options)
    if kind == "planar":
        return lw.Planar(draw(axes), **options)
    if kind == "ball":
        return lw.Spherical(draw(vectors), **options)
    if kind == "free":
        return lw.Free(**options)
    return lw.Compound([lw.Revolute((1, 0, 0)), lw.Revolute((0, 1, 0)), lw.Revolute((0, 0, 1))], **options)


@st.composite
def coordinates(draw, joint):
    if isinstance(joint, lw.Spherical | lw.Free):
        length, axis = draw(angles), np.array(draw(axes))
        half = 0.5 * np.clip(length, -3.0, 3.0)  # short of π, where a ball's spring changes its mind
        turn = [math.cos(half), *(math.sin(half) * axis / np.linalg.norm(axis))]
        return turn if isinstance(joint, lw.Spherical) else [*draw(vectors), *turn]
    if isinstance(joint, lw.Compound):  # the middle angle of a gimbal at a right angle locks it: come close
        near = math.pi / 2.0 - draw(signs) * 10.0 ** draw(st.floats(-2.0, 0.0))
        return [draw(angles), near, draw(angles)]
    return [draw(angles) for _ in range(joint.nq)]


@st.composite
def cases(draw):
    """A model, a state, efforts and wrenches."""
    gravity = draw(st.sampled_from([(0.0, 0.0, 0.0), (0.0, 0.0, -9.81), (3.0, -4.0, 5.0)]))
    linkage = lw.Linkage("drawn", gravity=gravity)
    for i in range(draw(st.integers(1, 8))):
        parent = draw(st.integers(-1, i - 1))
        name = "world" if parent < 0 else f"body_{parent}"
        linkage.add_body(f"body_{i}", name, draw(joints()), draw(poses()), draw(inertias()))
    model = linkage.compile(merge_fixed=draw(st.booleans()))
    q = [x for joint in model.joints for x in draw(coordinates(joint))]
    speed = draw(st.sampled_from([0.0, 1e-12, 1e-4, 1.0, 10.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    state = model.state(q, speed * rng.normal(size=model.nv))
    load = draw(st.sampled_from([0.0, 1e-9, 1.0, 1e3]))
    return model, state, load * rng.normal(size=model.nv), load * rng.normal(size=(model.n_bodies, 6))


def efforts_at_play(model, state, qdd, effort, wrenches):
    """The largest effort that any term of the equations of motion contributes: what rounding is relative to."""
    M = lw.mass_matrix(model, state)
    bodies = lw.inverse_dynamics(model, state, np.zeros(model.nv), wrenches)
    terms = [np.abs(M) @ np.abs(qdd), np.abs(bodies), np.abs(effort)]
    # Inside the sweeps whole subtrees are added up before they are projected on an axis.
    twists = np.abs(lw.body_twists(model, state)).max(initial=0.0)
    reach = 1.0 + np.abs(lw.body_poses(model, state)[:, :3, 3]).max(initial=0.0)
    weight = model.mass.sum() * (np.linalg.norm(model.gravity) + twists**2) * reach**2
    return max(1e-300, weight, np.abs(wrenches).sum() * reach, *(t.max(initial=0.0) for t in terms))


def scaled_condition(M):
    """Condition number of M with unit diagonal: what Cholesky and the articulated-body sweeps feel."""
    if M.shape[0] == 0:
        return 1.0
    d = 1.0 / np.sqrt(np.diag(M))
    return float(np.linalg.cond(d[:, None] * M * d))


def inertia_spread(model):
    """Largest over smallest of the eigenvalues of all bodies' 6x6 inertias and of the rotors: what is felt by who adds up
    their inverses."""
    rotors = model.arrays.dof[:, layout.ARMATURE]
    values = [rotors[rotors > 0.0]]
    for m, x, y, z, xx, xy, xz, yy, yz, zz in model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]:
        H = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        values.append(np.linalg.eigvalsh(np.block([[about_origin, H], [H.T, m * np.eye(3)]])))
    values = np.concatenate(values)
    return values.max() / values.min() if values.size else 1.0


INVERTS_INERTIAS = {"dca", "gpu", "virtual_work", "virtual_work_unsplit"}


def rounding(algorithm, model, state):
    """How far rounding may carry a result, as a part of the efforts at play.

    ε cond(M) with a factor 1e3 for sums over eight bodies and joints inverted explicitly (some 1e2 is seen in a thousand
    cases). Algorithms that add up inverse inertias feel the spread of the bodies in place of the condition number.
    """
    condition = scaled_condition(lw.mass_matrix(model, state))
    if algorithm in INVERTS_INERTIAS:
        condition = max(condition, inertia_spread(model))
    return 1e3 * EPS * condition


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "dense"])
@BOUNDED
@given(case=cases())
def test_algorithms_agree(solve, algorithm, case):
    model, state, effort, wrenches = case
    expected = lw.forward_dynamics(model, state, effort, wrenches, algorithm="dense")
    qdd = solve(model, state, effort, wrenches, algorithm=algorithm)
    scale = efforts_at_play(model, state, expected, effort, wrenches)
    # First-order bound: |δq̈ᵢ| √Mᵢᵢ ≤ rounding · (efforts / √Mⱼⱼ)
    root = np.sqrt(np.diag(lw.mass_matrix(model, state)))
    bound = rounding(algorithm, model, state) * scale * (1.0 / root).max(initial=0.0)
    assert (np.abs(qdd - expected) * root <= bound).all()


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
@BOUNDED
@given(case=cases())
def test_inverse_dynamics_undoes_forward_dynamics(solve, algorithm, case):
    model, state, effort, wrenches = case
    qdd = solve(model, state, effort, wrenches, algorithm=algorithm)
    back = lw.inverse_dynamics(model, state, qdd, wrenches)
    scale = efforts_at_play(model, state, qdd, effort, wrenches)
    assert np.abs(back - effort).max(initial=0.0) <= rounding(algorithm, model, state) * scale


@BOUNDED
@given(case=cases())
def test_power_balance(case, derivative):
    model, state, effort, wrenches = case
    qdd = lw.forward_dynamics(model, state, effort, wrenches)
    twists = lw.body_twists(model, state)

    def energy(t):
        return lw.energy(model, lw.State(model.integrate(state.q, state.v, t), state.v + t * qdd))

    # Rates of the motion [1/s]: the step is a thousandth of the fastest period, whatever that is.
    rate = 1.0 + np.abs(twists).max(initial=0.0) + np.abs(state.v).max(initial=0.0) + np.abs(qdd).max(initial=0.0)
    power = effort @ state.v + np.sum(wrenches * twists) - model.arrays.dof[:, layout.DAMPING] @ state.v**2
    h = 1e-3 / rate
    change = derivative(lambda t: energy(t).total, h=h)
    reach = 1.0 + np.abs(lw.body_poses(model, state)[:, :3, 3]).max(initial=0.0)
    stored = (
        energy(-2.0 * h).kinetic + energy(2.0 * h).kinetic + model.mass.sum() * np.linalg.norm(model.gravity) * reach
    )
    springs = model.arrays.dof[:, layout.STIFFNESS].sum() * 10.0  # (π rad)²
    # Truncation (h rate)⁴ = 1e-12 and rounding ε/(h rate) = 2e-13 of energy times rate; accelerations carry ε cond(M).
    tolerance = 1e-9 * (stored + springs + 1e-300) * rate
    tolerance += (
        rounding("aba", model, state) * efforts_at_play(model, state, qdd, effort, wrenches) * np.abs(state.v).sum()
    )
    assert change == pytest.approx(power, abs=tolerance)


@BOUNDED
@given(case=cases())
def test_kinetic_energy_is_half_v_m_v(case):
    model, state, _, _ = case
    kinetic = lw.energy(model, state).kinetic
    M = lw.mass_matrix(model, state)
    terms = np.abs(state.v) @ np.abs(M) @ np.abs(state.v)
    reach = 1.0 + np.abs(lw.body_poses(model, state)[:, :3, 3]).max(initial=0.0)
    moved = model.mass.sum() * (reach * np.abs(lw.body_twists(model, state)).max(initial=0.0)) ** 2
    # 1e3 roundings in sums over at most 8 bodies and 48 velocities
    assert kinetic == pytest.approx(0.5 * state.v @ M @ state.v, abs=1e3 * EPS * (terms + moved) + 1e-300)


@BOUNDED
@given(case=cases(), step=st.sampled_from([1e-12, 1e-6, 1e-3, 1.0]))
def test_difference_undoes_integrate(case, step):
    model, state, _, _ = case
    v = state.v / max(1.0, np.linalg.norm(state.v))  # turns by less than π
    back = model.difference(state.q, model.integrate(state.q, v, step))
    assert back == pytest.approx(step * v, abs=200 * EPS * (1.0 + np.abs(state.q).max(initial=0.0)))  # as for one joint


def test_edges_of_the_kingdom():
    """No body, no freedom, one body: nothing is too small."""
    empty = lw.Linkage("empty").compile()
    weld = lw.Linkage("weld")
    weld.add_body("rock", inertia=lw.Inertia.sphere(1.0, 0.1))
    for model in (empty, weld.compile(), weld.compile(merge_fixed=False)):
        state = model.neutral()
        assert (model.nq, model.nv) == (0, 0)
        for algorithm in ALGORITHMS:
            assert lw.forward_dynamics(model, state, algorithm=algorithm).shape == (0,)
            zeros = np.zeros((model.n_bodies, 6))
            assert lw.forward_dynamics(model, state, np.zeros(0), zeros, algorithm=algorithm).shape == (0,)
        assert lw.inverse_dynamics(model, state, np.zeros(0)).shape == (0,)
        assert lw.mass_matrix(model, state).shape == (0, 0)
        assert lw.body_poses(model, state).shape == (model.n_bodies, 4, 4)
        assert lw.energy(model, state).kinetic == 0.0
        assert not lw.momentum(model, state).linear.any()
        assert lw.body_jacobian(model, state, "world").shape == (6, 0)
        assert model.integrate(state.q, state.v, 0.1).shape == (0,)
