"""The laws every algorithm obeys, on trees of all joint kinds with efforts, wrenches, springs, dampers and rotors.

A new algorithm in `ALGORITHMS` is one more parameter of these tests.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.model import layout

CONDITION = 5e3  # of the mass matrices of these trees, at most
# Measured differences are below 1e-13 of the largest entry. An algorithm that factors something else than M may lose a
# digit or two more and still be right.
SAME = rounding(condition=CONDITION, operations=1000)


def close(ours, theirs, rel=SAME):
    return pytest.approx(theirs, rel=0, abs=rel * max(1.0, float(np.abs(theirs).max(initial=0.0)))) == ours


@pytest.mark.parametrize("loaded", [False, True], ids=["unloaded", "loaded"])
def test_every_algorithm_gives_the_same_accelerations(algorithm, tree, rng, make_loads, solve, loaded):
    for _ in range(3):
        state, loads = tree.random_state(rng), make_loads(tree)
        arguments = (loads.effort, loads.wrenches) if loaded else (None, None)
        expected = lw.forward_dynamics(tree, state, *arguments, algorithm="dense")
        assert close(solve(tree, state, *arguments, algorithm=algorithm), expected)


@pytest.mark.parametrize("speed", [0.0, 1e-8, 30.0])
def test_accelerations_agree_at_rest_and_at_speed(algorithm, make_tree, rng, solve, speed):
    model = make_tree(seed=7, damping=True, stiffness=True, armature=True)
    state = model.random_state(rng, speed=speed)
    expected = lw.forward_dynamics(model, state, algorithm="dense")
    assert close(solve(model, state, algorithm=algorithm), expected)


def test_no_load_is_a_load_of_zeros(algorithm, tree, rng, solve):
    state = tree.random_state(rng)
    zeros = np.zeros(tree.nv), np.zeros((tree.n_bodies, 6))
    # Another branch, in which other products may be fused.
    assert close(solve(tree, state, *zeros, algorithm=algorithm), solve(tree, state, algorithm=algorithm))


def test_accelerations_are_affine_in_efforts_and_wrenches(algorithm, tree, rng, make_loads, solve):
    state, a, b = tree.random_state(rng), make_loads(tree), make_loads(tree)
    bare = solve(tree, state, algorithm=algorithm)
    with_a = solve(tree, state, a.effort, a.wrenches, algorithm=algorithm)
    with_b = solve(tree, state, b.effort, b.wrenches, algorithm=algorithm)
    both = solve(tree, state, a.effort + b.effort, a.wrenches + b.wrenches, algorithm=algorithm)
    assert close(both - bare, (with_a - bare) + (with_b - bare))


def test_inverse_dynamics_undoes_forward_dynamics(algorithm, tree, rng, make_loads, solve):
    state, loads = tree.random_state(rng), make_loads(tree)
    qdd = solve(tree, state, loads.effort, loads.wrenches, algorithm=algorithm)
    assert close(lw.inverse_dynamics(tree, state, qdd, loads.wrenches), loads.effort)


def test_forward_dynamics_undoes_inverse_dynamics(algorithm, tree, rng, make_loads, solve):
    state, loads, qdd = tree.random_state(rng), make_loads(tree), rng.normal(size=tree.nv)
    effort = lw.inverse_dynamics(tree, state, qdd, loads.wrenches)
    assert close(solve(tree, state, effort, loads.wrenches, algorithm=algorithm), qdd)


def test_power_balance(algorithm, tree, rng, make_loads, solve, derivative):
    """dE/dt = τ·v + Σ w·V - damping: what goes in is stored, or lost to dampers."""
    state, loads = tree.random_state(rng), make_loads(tree)
    qdd = solve(tree, state, loads.effort, loads.wrenches, algorithm=algorithm)

    def energy(t):
        return lw.energy(tree, lw.State(tree.integrate(state.q, state.v, t), state.v + t * qdd)).total

    given = loads.effort @ state.v + np.sum(loads.wrenches * lw.body_twists(tree, state))
    lost = tree.arrays.dof[:, layout.DAMPING] @ state.v**2
    scale = np.abs(loads.effort * state.v).sum() + np.abs(loads.wrenches * lw.body_twists(tree, state)).sum()
    # Twists near 20 rad/s and accelerations near 1e2 want a short step: at h = 1e-4 truncation h⁴ 20⁵ E/30 ≈ 1e-9 J/s and
    # rounding ε E/h ≈ 2e-9 J/s for E ≈ 1e3 J. Powers are of order 1e2, so that is 4e-11 of them, as measured.
    assert derivative(energy, h=1e-4) == pytest.approx(given - lost, abs=1e-9 * max(1.0, scale))


# ------------------------------------------------------------------------------------------------------------ mass matrix


def test_mass_matrix_is_symmetric_and_positive_definite(tree, rng):
    M = lw.mass_matrix(tree, tree.random_state(rng))
    assert np.abs(M - M.T).max() <= rounding(scale=np.abs(M).max())  # blocks on the diagonal are formed twice
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_mass_matrix_columns_are_efforts_of_unit_accelerations(tree, rng):
    state = lw.State(tree.random_state(rng).q, np.zeros(tree.nv))
    M = lw.mass_matrix(tree, state)
    still = lw.inverse_dynamics(tree, state, np.zeros(tree.nv))
    columns = np.array([lw.inverse_dynamics(tree, state, unit) - still for unit in np.eye(tree.nv)])
    assert columns == pytest.approx(
        M, abs=rounding(scale=1e3 + np.abs(M).max())
    )  # efforts of gravity, up to 1e3, cancel


def test_kinetic_energy_is_half_v_m_v(tree, rng):
    state = tree.random_state(rng)
    expected = 0.5 * state.v @ lw.mass_matrix(tree, state) @ state.v
    assert lw.energy(tree, state).kinetic == pytest.approx(
        expected, rel=rounding(operations=10_000)
    )  # sums of a few hundred products


def test_static_efforts_are_the_gradient_of_the_potential(tree, rng, derivative):
    state = lw.State(tree.random_state(rng).q, np.zeros(tree.nv))
    effort = lw.inverse_dynamics(tree, state, np.zeros(tree.nv))

    def potential(t, direction):
        return lw.energy(tree, lw.State(tree.integrate(state.q, direction, t), state.v)).potential

    gradient = [derivative(lambda t, d=d: potential(t, d)) for d in np.eye(tree.nv)]
    # rounding ε f/h = 2e-10 for f ≈ 1e3 J at h = 1e-3; truncation h⁴ f⁽⁵⁾/30 = 3e-11
    assert effort == pytest.approx(np.array(gradient), abs=1e-8 * max(1.0, np.abs(effort).max()))


# -------------------------------------------------------------------------------------------------------------- kinematics


def test_jacobian_times_velocity_is_the_twist(tree, rng):
    state = tree.random_state(rng)
    for frame in ("body", "world"):
        twists = lw.body_twists(tree, state, frame=frame)
        for i in range(tree.n_bodies):
            J = lw.body_jacobian(tree, state, i, frame=frame)
            assert close(J @ state.v, twists[i], rel=rounding(scale=10.0, steps=14))  # transforms of order ten


def test_jacobian_at_a_point_is_the_velocity_of_that_point(tree, rng, derivative):
    state, point = tree.random_state(rng), np.array([0.3, -0.2, 0.5])
    last = tree.n_bodies - 1
    J = lw.body_jacobian(tree, state, last, frame="world", at=point)

    def position(t):
        return (lw.body_poses(tree, lw.State(tree.integrate(state.q, state.v, t), state.v))[last] @ [*point, 1.0])[:3]

    assert close(J[3:] @ state.v, derivative(position, h=1e-4), rel=1e-10)  # rounding ε/h


def test_transposed_jacobian_takes_wrenches_to_efforts(tree, rng):
    state = tree.random_state(rng)
    still = np.zeros(tree.nv)
    bare = lw.inverse_dynamics(tree, state, still)
    for i in range(0, tree.n_bodies, 3):
        wrenches = np.zeros((tree.n_bodies, 6))
        wrenches[i] = rng.normal(size=6)
        held = bare - lw.inverse_dynamics(tree, state, still, wrenches)
        expected = lw.body_jacobian(tree, state, i).T @ wrenches[i]
        assert held == pytest.approx(
            expected, abs=rounding(condition=1e2, scale=max(1.0, np.abs(bare).max()))
        )  # the bias cancels, ε of it stays


def test_twists_are_rates_of_poses(tree, rng, derivative):
    state = tree.random_state(rng)
    T = lw.body_poses(tree, state)
    dT = derivative(lambda t: lw.body_poses(tree, lw.State(tree.integrate(state.q, state.v, t), state.v)), h=1e-4)
    twists = lw.body_twists(tree, state)
    for i in range(tree.n_bodies):
        R = T[i, :3, :3]
        W = R.T @ dT[i, :3, :3]
        assert close(twists[i, :3], np.array([W[2, 1], W[0, 2], W[1, 0]]), rel=1e-10)  # rounding ε/h
        assert close(twists[i, 3:], R.T @ dT[i, :3, 3], rel=1e-10)


def test_momentum_is_the_sum_over_bodies(tree, rng, twist_matrix):
    state = tree.random_state(rng)
    T, V = lw.body_poses(tree, state), lw.body_twists(tree, state)
    total, moment = np.zeros(6), np.zeros(3)
    for i in range(tree.n_bodies):
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = tree.arrays.body[i, layout.INERTIA : layout.INERTIA + 10]
        H = np.array([[0.0, -hz, hy], [hz, 0.0, -hx], [-hy, hx, 0.0]])
        I6 = np.block([[np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), H], [H.T, m * np.eye(3)]])
        total += np.linalg.inv(twist_matrix(T[i])).T @ I6 @ V[i]
        moment += T[i, :3, :3] @ [hx, hy, hz] + m * T[i, :3, 3]
    ours = lw.momentum(tree, state)
    assert close(ours.linear, total[3:], rel=rounding(condition=1e2))  # sums of 14 transformed momenta
    assert close(ours.angular, total[:3], rel=rounding(condition=1e2))
    com = lw.center_of_mass(tree, state)
    assert close(com, moment / tree.mass.sum(), rel=rounding(condition=10.0))
    about = lw.momentum(tree, state, about=com)
    assert close(about.angular, total[:3] - np.cross(com, total[3:]), rel=rounding(condition=1e2))
    assert (about.linear == ours.linear).all()


def test_linear_momentum_is_mass_times_velocity_of_the_centre(tree, rng, derivative):
    state = tree.random_state(rng)
    velocity = derivative(
        lambda t: lw.center_of_mass(tree, lw.State(tree.integrate(state.q, state.v, t), state.v)), h=1e-4
    )
    assert close(lw.momentum(tree, state).linear, tree.mass.sum() * velocity, rel=1e-10)  # rounding ε/h


# ------------------------------------------------------------------------------------------------------------- symmetries


def test_moving_the_world_changes_nothing(algorithm, make_tree, rng, make_loads, solve):
    """Turn and shift the base, turn gravity with it: accelerations of joints stay."""
    move = lw.Pose((3.0, -2.0, 1.0), quaternion=(0.3, -0.5, 0.7, 0.2))
    gravity = (1.0, -2.0, -9.0)
    options = {"roots": 2, "damping": True, "stiffness": True, "armature": True}
    here = make_tree(seed=5, gravity=gravity, **options)
    there = make_tree(seed=5, gravity=move.rotate(gravity), placement=move, **options)
    state, loads = here.random_state(rng), make_loads(here)
    arguments = (state, loads.effort, loads.wrenches)
    assert close(solve(there, *arguments, algorithm=algorithm), solve(here, *arguments, algorithm=algorithm))
    assert lw.energy(there, state).kinetic == pytest.approx(
        lw.energy(here, state).kinetic, rel=rounding(condition=CONDITION)
    )
    assert close(lw.mass_matrix(there, state), lw.mass_matrix(here, state), rel=rounding(condition=10.0))
    expected = np.array([move.matrix @ T for T in lw.body_poses(here, state)])
    assert close(lw.body_poses(there, state), expected, rel=rounding(condition=10.0))


def test_weight_as_wrenches_is_gravity(algorithm, make_tree, rng, solve):
    falling = make_tree(seed=6, roots=2)
    weightless = make_tree(seed=6, roots=2, gravity=(0.0, 0.0, 0.0))
    state = falling.random_state(rng)
    R = lw.body_poses(falling, state)[:, :3, :3]
    g = np.einsum("nji,j->ni", R, falling.gravity)  # in each body's frame
    first_moment = falling.arrays.body[:, layout.INERTIA + 1 : layout.INERTIA + 4]
    weight = np.concatenate([np.cross(first_moment, g), falling.mass[:, None] * g], axis=1)
    expected = solve(falling, state, algorithm=algorithm)
    assert close(solve(weightless, state, None, weight, algorithm=algorithm), expected)
    assert close(
        lw.inverse_dynamics(weightless, state, expected, weight), lw.inverse_dynamics(falling, state, expected)
    )


def test_a_floating_linkage_falls_as_one(algorithm, make_tree, rng, solve):
    """A free base feels gravity as an acceleration of the whole: joints behind it feel nothing."""
    falling = make_tree(seed=8, base=lw.Free())
    weightless = make_tree(seed=8, base=lw.Free(), gravity=(0.0, 0.0, 0.0))
    state = falling.random_state(rng)
    down = solve(falling, state, algorithm=algorithm)
    afloat = solve(weightless, state, algorithm=algorithm)
    R = lw.body_poses(falling, state)[0, :3, :3]
    expected = afloat.copy()
    expected[3:6] += R.T @ falling.gravity
    assert close(down, expected)


def test_independent_trees_do_not_feel_each_other(algorithm, rng, solve):
    """Several trees on one world give what each gives alone, up to the order of the same operations."""

    def arm(linkage, prefix, axis):
        for i in range(4):
            parent = "world" if i == 0 else f"{prefix}{i - 1}"
            inertia = lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.2, 0, 0)))
            linkage.add_body(f"{prefix}{i}", parent, lw.Revolute(axis), lw.Pose((0.4, 0.1, 0)), inertia)
        return linkage

    left, right = arm(lw.Linkage(), "l", (0, 1, 0)).compile(), arm(lw.Linkage(), "r", (1, 1, 0)).compile()
    both = arm(arm(lw.Linkage(), "l", (0, 1, 0)), "r", (1, 1, 0)).compile()
    a, b = left.random_state(rng), right.random_state(rng)
    together = both.state(np.concatenate([a.q, b.q]), np.concatenate([a.v, b.v]))
    alone = np.concatenate([solve(left, a, algorithm=algorithm), solve(right, b, algorithm=algorithm)])
    assert close(
        solve(both, together, algorithm=algorithm), alone, rel=rounding(condition=1e3)
    )  # mass matrices of four hinges


def test_welds_kept_or_merged_move_the_same(algorithm, make_tree, rng, make_loads, solve):
    kept = make_tree(seed=9, damping=True, stiffness=True, armature=True)
    merged = make_tree(seed=9, damping=True, stiffness=True, armature=True, merge_fixed=True)
    assert merged.n_bodies < kept.n_bodies
    assert merged.nv == kept.nv
    state, effort = kept.random_state(rng), rng.normal(size=kept.nv)
    # Depth-first numbering may differ between the two; the joints are matched by name.
    q, v, tau = np.empty(kept.nq), np.empty(kept.nv), np.empty(kept.nv)
    for i, name in enumerate(merged.joint_names):
        q[merged.q_slice(i)] = state.q[kept.q_slice(name)]
        v[merged.v_slice(i)] = state.v[kept.v_slice(name)]
        tau[merged.v_slice(i)] = effort[kept.v_slice(name)]
    ours = solve(merged, lw.State(q, v), tau, algorithm=algorithm)
    theirs = solve(kept, state, effort, algorithm=algorithm)
    for i, name in enumerate(merged.joint_names):
        assert close(ours[merged.v_slice(i)], theirs[kept.v_slice(name)])


# --------------------------------------------------------------------------------------------------------------- long runs


def test_floating_linkage_conserves_momentum_and_energy(make_tree, rk4):
    """Ten seconds of tumbling in empty space: both momenta and the energy stay."""
    kinds = ("free", "revolute", "spherical", "universal", "screw", "cylindrical")
    model = make_tree(seed=11, bodies=6, base=lw.Free(), kinds=kinds, gravity=(0.0, 0.0, 0.0))
    start = model.random_state(np.random.default_rng(1), speed=0.5)

    def invariants(state):
        momentum = lw.momentum(model, state)
        return np.array([*momentum.linear, *momentum.angular, lw.energy(model, state).total])

    def drift(steps):
        end = rk4(model, start, duration=10.0, steps=steps)
        assert np.linalg.norm(end.q - start.q) > 1.0  # it did move
        return np.abs(invariants(end) - invariants(start)).max()

    coarse, fine = drift(1250), drift(2500)
    # Whatever drifts is the integrator's: of order four, so half the step leaves a sixteenth. An error of the dynamics
    # would stay. In numbers: (h ω)⁴ = 6e-6 at h = 8 ms and 6 rad/s, for momenta of order ten.
    assert coarse < 1e-4
    assert fine < coarse / 12.0


def test_tree_with_springs_conserves_energy(algorithm, make_tree, rk4):
    """Gravity, springs and rotors exchange energy for seconds, and none is made."""
    kinds = ("revolute", "spherical", "prismatic", "universal", "planar", "compound")
    model = make_tree(seed=12, bodies=6, kinds=kinds, stiffness=True, armature=True, gravity=(0.0, 0.0, -1.0))
    start = model.state(model.arrays.rest)  # springs slack: gravity starts the motion, balls stay far from a half turn
    seen = []
    end = rk4(
        model, start, duration=5.0, steps=1500, algorithm=algorithm, watch=lambda s: seen.append(lw.energy(model, s))
    )
    assert np.linalg.norm(end.v) > 0.1
    total = np.array([e.total for e in seen])
    exchanged = np.ptp([e.kinetic for e in seen])
    assert exchanged > 0.1
    # Order four at h = 3 ms and some 2 rad/s: (h ω)⁴ = 2e-9 a step, with both signs; 7e-11 is measured.
    assert np.abs(total - lw.energy(model, start).total).max() < 1e-9 * exchanged


def test_dampers_only_take_energy(make_tree, rk4):
    kinds = ("revolute", "spherical", "prismatic", "universal")
    model = make_tree(seed=13, bodies=5, kinds=kinds, stiffness=True, damping=True, armature=True)
    start = model.random_state(np.random.default_rng(2), speed=1.0)
    seen = [lw.energy(model, start).total]
    rk4(model, start, duration=2.0, steps=800, watch=lambda s: seen.append(lw.energy(model, s).total))
    # The weakest step here loses 5e-3 J, far more than the integrator's error, so the sign is certain.
    assert np.diff(seen).max() < 0.0


def test_same_state_same_result_bit_for_bit(algorithm, tree, rng, make_loads, solve):
    state, loads = tree.random_state(rng), make_loads(tree)
    first = solve(tree, state, loads.effort, loads.wrenches, algorithm=algorithm)
    again = solve(tree, state.copy(), loads.effort.copy(), loads.wrenches.copy(), algorithm=algorithm)
    assert (first == again).all()
