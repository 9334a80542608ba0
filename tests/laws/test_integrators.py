"""The laws of integrators: order on every joint kind, error control that keeps its word, energy over long runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.helpers.rounding import rounding
from tests.helpers.stepping import (
    ChartByHand,
    accelerations,
    end_after,
    rates_of_chart,
    sizes_of_coordinates,
    take_step,
)

import linkwork as lw
from linkwork.errors import StateError

ORDERS = {
    "semi_implicit_euler": 1,
    "rk4": 4,
    "dormand_prince": 5,
    "implicit_midpoint": 2,
    "kick_drift_kick": 2,
    "variational": 2,
}
# The next lower order is one away. Upwards there is more room: where the first term of the error happens to be small, the
# next one shows at these steps (5.6 is measured for order 5).
BELOW, ABOVE = 0.3, 0.8


def distance(model: lw.Model, a: lw.State, b: lw.State) -> float:
    return float(max(np.abs(model.difference(a.q, b.q)).max(), np.abs(a.v - b.v).max()))


def mechanism(name: str, make_tree) -> tuple[lw.Model, lw.State, float, int]:
    """A model, its start, a duration and the number of steps at which the integrators are in their asymptotic range."""
    if name == "balls":
        ball = lw.Spherical((0.05, -0.02, 0.03))
        model = lw.library.chain(joints=4, joint=ball, length=0.5, mass=1.0, radius=0.1).compile()
        return model, model.random_state(1), 0.2, 40
    if name == "two free":
        linkage = lw.Linkage("two free")
        for k, box in enumerate(((0.2, 0.5, 0.9), (0.3, 0.8, 0.4))):
            inertia = lw.Inertia.box(1.0 + k, box).at(lw.Pose((0.1, 0.2, 0.3)))
            joint = lw.Free(stiffness=5.0, damping=0.2)
            linkage.add_body(f"body_{k}", "world" if k == 0 else "body_0", joint, lw.Pose((0.1, 0, 0)), inertia)
        model = linkage.compile()
        return model, model.random_state(4, speed=2.0), 0.5, 30
    model = make_tree(seed=2, bodies=12, base=lw.Free(), damping=True, stiffness=True, armature=True)
    return model, model.random_state(3), 0.3, 20


@pytest.mark.parametrize("name", ["balls", "two free", "every joint kind"])
def test_order_by_halving_the_step(name, make_tree, rk4):
    """Against Runge and Kutta in the coordinates, far finer: a method that knows nothing of exponentials."""
    model, start, duration, steps = mechanism(name, make_tree)
    truth = rk4(model, start, duration, 64 * steps)
    for integrator, order in ORDERS.items():
        coarse, fine = (
            distance(model, truth, end_after(model, start, duration, n, integrator)) for n in (2 * steps, 4 * steps)
        )
        assert order - BELOW < math.log2(coarse / fine) < order + ABOVE, integrator


def test_without_the_brackets_the_order_is_lost(make_tree, rk4):
    """u̇ = v instead of dexp⁻¹ v: what the correction is for, and that the test above would see it missing."""
    model, start, duration, steps = mechanism("balls", make_tree)
    truth = rk4(model, start, duration, 64 * steps)
    for rate, lowest, highest in ((rates_of_chart, 3.7, 4.8), (lambda model, u, v: v, 1.5, 2.5)):
        by_hand = ChartByHand(model, rate)
        ends = [by_hand.end_after(start, duration, n) for n in (2 * steps, 4 * steps)]
        errors = [distance(model, truth, end) for end in ends]
        assert lowest < math.log2(errors[0] / errors[1]) < highest
        ours = end_after(model, start, duration, 4 * steps, "rk4")
        same = rounding(condition=1e3, scale=float(np.abs(start.v).max()), steps=4 * steps)
        assert (distance(model, ours, ends[1]) < same) == (rate is rates_of_chart)


@pytest.mark.parametrize("angle", [1e-9, 1e-3, 0.09, 0.11, 1.0, 2.9])
def test_rates_of_exponential_coordinates(angle, make_tree, rng, derivative):
    """u(t) = q(t) ⊖ q₀ along q(t) = (q₀ ⊕ u) ⊕ v t has the rate dexp⁻¹(v), for small and large turns alike."""
    model = make_tree(seed=1, bodies=10)
    q0, v = model.random_state(rng)
    u = rng.normal(size=model.nv)
    for i, joint in enumerate(model.joints):
        if isinstance(joint, lw.Spherical | lw.Free):
            turn = slice(model.v_slice(i).start, model.v_slice(i).start + 3)
            u[turn] *= angle / np.linalg.norm(u[turn])
    q = model.integrate(q0, u)
    measured = derivative(lambda t: model.difference(q0, model.integrate(q, v, t)))
    # rounding of derivatives, 1e-12; near half a turn the logarithm bends hard and truncation is larger
    assert measured == pytest.approx(rates_of_chart(model, u, v), abs=1e-10 if angle < 2.0 else 1e-7)


def test_sizes_compare_every_coordinate_with_something(make_tree, rng):
    model = make_tree(seed=1, bodies=10)
    q = model.random_state(rng).q
    sizes = sizes_of_coordinates(model, q)
    assert sizes.shape == (model.nv,)
    for i, joint in enumerate(model.joints):
        here, there = sizes[model.v_slice(i)], q[model.q_slice(i)]
        if isinstance(joint, lw.Spherical):
            assert (here == 1.0).all()
        elif isinstance(joint, lw.Free):
            assert (here[:3] == 1.0).all()
            assert here[3:] == pytest.approx(np.linalg.norm(there[:3]))
        else:
            assert (here == np.abs(there)).all()


# ------------------------------------------------------------------------------------------------------- error control


def test_dormand_prince_agrees_with_scipy(rng):
    """A tree of hinges, sliders and screws: coordinates are vectors there, so DOP853 is a reference."""
    kinds = ("revolute", "prismatic", "screw")
    model = lw.library.random_tree(12, seed=3, kinds=kinds, options=True).compile()
    start = model.random_state(rng)
    nq = model.nq

    def field(t, y):
        return np.concatenate([y[nq:], lw.forward_dynamics(model, lw.State(y[:nq].copy(), y[nq:].copy()))])

    truth = solve_ivp(field, (0.0, 1.0), np.concatenate(start), method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    for rtol in (1e-5, 1e-8):
        sim = lw.FullDynamics(model, start, integrator="dormand_prince", rtol=rtol, atol=rtol)
        report = sim.step(0.25, 4)
        error = np.abs(np.concatenate(sim.state) - truth).max()
        scale = np.abs(truth).max()
        assert error < 100.0 * rtol * scale  # some tens of substeps, each allowed rtol
        assert report.steps_taken > 4
        assert report.error_estimate < 100.0 * rtol * scale
        assert sim.time == 1.0


def test_error_follows_the_tolerance(make_tree, rk4):
    model, start, duration, steps = mechanism("every joint kind", make_tree)
    truth = rk4(model, start, duration, 64 * steps)
    errors, work = [], []
    for rtol in (1e-3, 1e-5, 1e-7, 1e-9):
        step = take_step(model, start, duration, accelerations(model), "dormand_prince", rtol=rtol, atol=rtol)
        errors.append(distance(model, truth, step.state))
        work.append(step.evaluations)
        assert errors[-1] < 100.0 * rtol * max(1.0, float(np.abs(start.v).max()))
    assert work == sorted(work)
    # Tolerances fall by 10⁶; local extrapolation makes errors fall about as much.
    assert errors[0] / errors[-1] > 1e4


def test_substeps_are_rejected_where_something_happens():
    """A hard spring at the end of a slow glide: substeps shrink there, and the energy comes out as it went in."""

    def wall(q, v):
        return np.array([-1e6 * q[0] if q[0] < 0.0 else 0.0])

    linkage = lw.Linkage("slider", gravity=(0, 0, 0))
    linkage.add_body("box", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()
    seen = []

    def watched(q, v):
        seen.append(q[0])
        return wall(q, v)

    step = take_step(model, model.state([1.0], [-1.0]), 2.0, watched, "dormand_prince", rtol=1e-8, atol=1e-10)
    assert step.state.v[0] == pytest.approx(1.0, abs=1e-5)
    # 1 s there, half a period π/1000 in the wall, and back
    assert step.state.q[0] == pytest.approx(2.0 - math.pi / 1000.0 - 1.0, abs=1e-5)
    assert step.evaluations > 6 * step.substeps + 1  # some substeps were rejected
    assert step.evaluations == len(seen)
    assert step.substeps < 1000


def test_substeps_that_shrink_to_nothing_are_reported():
    linkage = lw.Linkage("slider", gravity=(0, 0, 0))
    linkage.add_body("box", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()

    def blow_up(q, v):
        return np.array([v[0] ** 3])  # v = (v₀⁻² - 2 t)^(-1/2): infinite at t = ½

    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(StateError, match=r"needs substeps below .* after 0\.5"),
    ):
        take_step(model, model.state([0.0], [1.0]), 1.0, blow_up, "dormand_prince")


def test_substeps_into_nowhere_are_rejected():
    """Accelerations that are not numbers beyond a place: the substeps end before it, and say so."""
    linkage = lw.Linkage("slider", gravity=(0, 0, 0))
    linkage.add_body("box", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()

    def edge(q, v):
        return np.array([math.nan if q[0] > 0.25 else 0.0])

    start = model.state([0.0], [1.0])
    assert take_step(model, start, 0.2, edge, "dormand_prince").state.q[0] == pytest.approx(
        0.2, rel=rounding(steps=100)
    )
    with pytest.raises(StateError, match=r"after 0\.2(5|49\d*) s of the step; the accelerations jump there"):
        take_step(model, start, 1.0, edge, "dormand_prince")


# ------------------------------------------------------------------------------------------------------ implicit midpoint


def test_the_midpoint_rule_is_symmetric_in_time(make_tree, rng):
    """A step forth and a step back with the same rule return to the start."""
    model = make_tree(seed=2, bodies=8, base=lw.Free(), stiffness=True, armature=True)
    start = model.random_state(rng)
    there = take_step(model, start, 0.02, accelerations(model), "implicit_midpoint").state
    # without dampers the motion is reversible: back in time is forth with v turned round
    back = take_step(model, lw.State(there.q, -there.v), 0.02, accelerations(model), "implicit_midpoint").state
    # The equations are solved to some 1e-12 of the velocities, which are below 20 here; ten of that.
    assert np.abs(model.difference(start.q, back.q)).max() < 1e-10
    assert back.v == pytest.approx(-start.v, abs=1e-9)
    crooked = take_step(model, start, 0.02, accelerations(model), "rk4").state
    crooked = take_step(model, lw.State(crooked.q, -crooked.v), 0.02, accelerations(model), "rk4").state
    assert np.abs(crooked.v + start.v).max() > 1e-8  # what holds for no other: the test could fail


def test_the_midpoint_equation_is_solved(make_tree, rng):
    """v⁺ - v - h q̈ is a multiple 2 μ of v̄, and μ is of third order: a small change of speed, nothing else."""
    model = make_tree(seed=2, bodies=8, base=lw.Free(), stiffness=True, damping=True, armature=True)
    q, v = start = model.random_state(rng)
    sizes = []
    for h in (0.01, 0.005):
        end = take_step(model, start, h, accelerations(model), "implicit_midpoint").state
        middle = 0.5 * (v + end.v)
        left = end.v - v - h * accelerations(model)(model.integrate(q, middle, 0.5 * h), middle)
        mu = left @ middle / (middle @ middle)
        assert left == pytest.approx(mu * middle, abs=1e-11 * float(np.abs(end.v).max()))
        assert np.abs(model.difference(end.q, model.integrate(q, middle, h))).max() < 1e-11
        sizes.append(abs(mu))
    assert sizes[0] / sizes[1] == pytest.approx(8.0, rel=0.2)


def test_the_midpoint_rule_keeps_energy_in_balance(make_tree, rng):
    """Conservative: to rounding. With dampers, a motor and an effort: by their work at the midpoints of all steps."""
    model = make_tree(seed=2, bodies=8, base=lw.Free(), stiffness=True, armature=True)
    sim = lw.FullDynamics(model, model.random_state(rng), integrator="implicit_midpoint")
    before = sim.scalars()["energy"]
    sim.step(5e-3, 200)
    assert sim.scalars()["energy"] == pytest.approx(before, abs=1e-9 * abs(before))  # 200 steps solved to 1e-12

    model = make_tree(seed=2, bodies=8, stiffness=True, damping=True, armature=True)
    sim = lw.FullDynamics(model, model.random_state(rng), integrator="implicit_midpoint")
    sim.set_effort("joint_1", 3.0)
    sim.set_motor("joint_0", position=0.2, stiffness=4.0, damping=0.5)
    energy, h = sim.scalars()["energy"], 5e-3
    spent = 0.0
    for _ in range(50):
        was = sim.state
        sim.step(h)
        rate = 0.5 * (was.v + sim.state.v)
        q = model.integrate(was.q, rate, 0.5 * h)[model.q_slice("joint_0")]
        damping = model.arrays.dof[:, 0]
        first, second = rate[model.v_slice("joint_0")], rate[model.v_slice("joint_1")]
        work = h * float(-damping @ rate**2 + 3.0 * second[0] + first @ (4.0 * (0.2 - q) - 0.5 * first))
        energy += work
        spent += abs(work)
    assert spent > 1.0
    assert sim.scalars()["energy"] == pytest.approx(energy, abs=1e-10 * max(spent, abs(energy)))


def test_a_midpoint_step_that_is_far_too_long_is_reported(make_tree):
    model, start, _, _ = mechanism("balls", make_tree)
    message = r"implicit midpoint did not converge: after \d+ evaluations"
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(StateError, match=message):
        take_step(model, start, 3.0, accelerations(model), "implicit_midpoint")
    sim = lw.FullDynamics(model, start, integrator="implicit_midpoint")
    with pytest.raises(StateError, match=message):
        sim.step(3.0)
    assert (sim.time, sim.steps_done) == (0.0, 0)
    assert (sim.state.q == start.q).all()


# ------------------------------------------------------------------------------------------------------------- long runs


def energy_errors(model, start, integrator, h, steps, windows=8):
    """Largest deviation of the energy in each of some windows of a long run."""
    sim = lw.FullDynamics(model, start, integrator=integrator)
    before, worst = sim.scalars()["energy"], []
    for _ in range(windows):
        deviations = [abs(sim.step(h, 10).energy - before) for _ in range(steps // windows // 10)]
        worst.append(max(deviations))
    return worst


def test_the_midpoint_rule_keeps_energy_where_others_lose_it():
    """A chaotic double pendulum over 100 s: the others lose energy in proportion to time, the midpoint rule none."""
    model = lw.library.double_pendulum().compile()
    start = model.state([2.5, 0.3])
    scale = 2 * 9.81 * 2  # [J] what the masses could fall
    kept = energy_errors(model, start, "implicit_midpoint", 0.01, 10_000)
    assert max(kept) < 1e-9 * scale  # 10,000 steps solved to 1e-12, in a walk
    lost = energy_errors(model, start, "rk4", 0.02, 5_000)
    assert lost[-1] > 3.0 * lost[0]
    assert lost[-1] > 1e-3 * scale
    euler = energy_errors(model, start, "semi_implicit_euler", 0.01, 10_000)
    assert max(euler) > 0.1 * scale


def test_energy_of_a_spinning_top():
    """A heavy top on a ball joint: the whole problem lives on the rotation group."""
    linkage = lw.Linkage("top")
    top = lw.Inertia(1.0, com=(0, 0, 0.5), moments=(0.1, 0.1, 0.05))
    linkage.add_body("top", joint=lw.Spherical(), inertia=top)
    model = linkage.compile()
    start = model.state([math.cos(0.2), math.sin(0.2), 0.0, 0.0], [0.0, 0.5, 40.0])
    energy = lw.energy(model, start).total
    kept = energy_errors(model, start, "implicit_midpoint", 5e-3, 4_000)
    lost = energy_errors(model, start, "rk4", 5e-3, 4_000)
    assert max(kept) < 1e-10 * energy
    assert lost[-1] > 4.0 * lost[0]  # grows in proportion to time
    assert lost[-1] > 1e-6 * energy
    # The spin about the axis of symmetry is constant. Corrections of the speed swing it in a band of order h²: no drift.
    sim = lw.FullDynamics(model, start, integrator="implicit_midpoint")
    spins = []
    for _ in range(200):
        sim.step(5e-3, 5)
        spins.append(sim.state.v[2])
    early, late = (np.abs(np.array(half) - 40.0).max() for half in (spins[:100], spins[100:]))
    assert late < 1e-3 * 40.0  # 7e-5 is seen, a quarter of it with half the step
    assert late < 1.1 * early  # equal to 1e-4
