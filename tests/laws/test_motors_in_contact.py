"""Motors at limits of effort and speed that press on a floor or on the limits of their joints: they do not chatter."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import KINDS, simulate
from ..helpers.rounding import rounding

SEEDS = (8, 30, 34, 44, 46, 53, 60, 66)  # of 200: most of them chattered at 1 to 500 rad/s


def arm(seed):
    """A light level arm with limits of joints, efforts and speeds above a floor; its targets, gains and step."""
    rng = np.random.default_rng(seed)
    n, mass, length = int(rng.integers(2, 8)), 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-1.5, -0.3)
    stiffness = 10 ** rng.uniform(0, 4)
    damping, h = stiffness * 10 ** rng.uniform(-3, -0.5), 10 ** rng.uniform(-4, -2.3)
    weight = 0.5 * mass * 9.81 * length * n**2  # of the level arm, on its first joint
    strength = min(weight * 10 ** rng.uniform(-0.5, 1), 0.2 * stiffness)
    kind = rng.integers(3)
    top = math.inf if kind == 0 else 10 ** rng.uniform(-1, 1)
    strength = math.inf if kind == 1 else strength
    limit = rng.uniform(0.1, 0.6)
    joint = lw.Revolute(
        (0, 1, 0),
        effort_limit=strength,
        velocity_limit=top,
        limits=(-limit, limit),
        damping=1e-3 * mass * length**2,
    )
    rod = lw.Inertia.box(mass, (0.1 * length, 0.1 * length, length)).at(lw.Pose((0, 0, -0.5 * length)))
    shape = lw.Capsule(0.05 * length, 0.9 * length, placement=lw.Pose((0, 0, -0.5 * length)))
    linkage = lw.Linkage("arm")
    for i in range(n):
        place = lw.Pose((0, 0, 0), rpy=(0, -math.pi / 2, 0)) if i == 0 else lw.Pose((0, 0, -length))
        linkage.add_body(f"link_{i}", "world" if i == 0 else f"link_{i - 1}", joint, place, rod, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -rng.uniform(0.1, 0.6) * n * length)))
    return linkage.compile(), rng.uniform(-1, 1, n), stiffness, damping, h


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_light_arms_that_press_with_all_their_strength_do_not_chatter(kind, seed):
    """No joint turns back and forth from step to step, and every motor acts as its law says where the step ends."""
    model, target, stiffness, damping, h = arm(seed)
    sim = simulate(kind, model, model.neutral(), lw.Contact(friction=0.4))
    sim.motors.stiffness, sim.motors.damping, sim.motors.position = stiffness, damping, target
    sim.advance(h, round(2.0 / h))
    turned, pressed = 0, 0
    strength = model.effort_limit
    for _ in range(60):
        before = sim.state
        sim.advance(h)
        now = sim.state
        turned += int(((now.v * before.v < 0.0) & (np.minimum(abs(now.v), abs(before.v)) > 1e-4)).sum())
        pressed += sim.contact_report.limits + len(sim.contacts)
        if np.isinf(model.velocity_limit).all():
            wish = stiffness * (target - before.q - h * now.v) - damping * now.v
            scale = stiffness * (1.0 + np.abs(now.q).max()) + damping * np.abs(now.v).max()
            difference = np.abs(sim.efforts.motors - np.clip(wish, -strength, strength)).max()
            assert difference <= rounding(scale=scale, condition=1e3)
    assert turned <= 1  # the end of a swing
    assert pressed >= 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("strength", "speed"), [(0.1, math.inf), (0.2, 1.0), (math.inf, 10.0), (0.5, math.inf)])
def test_joints_driven_against_their_limits_rest_there(kind, strength, speed):
    """Three links of 59 g and 5 cm whose motors want to go beyond the limits of the joints."""
    joint = lw.Revolute((0, 1, 0), limits=(-0.2, 0.2), effort_limit=strength, velocity_limit=speed)
    model = lw.library.chain(3, joint=joint, mass=0.059, length=0.05).compile()
    sim = simulate(kind, model, model.neutral())
    sim.motors.stiffness, sim.motors.damping, sim.motors.position = 3.5, 0.012, [0.5, 0.3, 1.0]
    sim.advance(7e-4, 2000)
    for _ in range(50):
        sim.advance(7e-4)
        # what the residual of a solve (1e-8) may leave of an impulse, on 5e-5 kg·m² with 0.5 N·m over 0.7 ms; ten times
        assert np.abs(sim.state.v).max() < 10 * 1e-8 * 0.5 * 7e-4 / 5e-5 * 10
    assert sim.state.q == pytest.approx(np.full(3, 0.2), abs=1e-6)
    assert (sim.efforts.limits < 0.0).all()


def test_where_a_step_with_limits_ends_a_convex_function_is_least():
    """One step without friction, against a solver of quadratic programs that knows nothing of Newton's steps."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(5)
    h, stiffness, damping, strength, limit = 2e-3, 300.0, 4.0, 0.6, 0.3
    joint = lw.Revolute((0, 1, 0), limits=(-limit, limit), effort_limit=strength)
    model = lw.library.chain(4, joint=joint, mass=0.05, length=0.1, radius=0.01).compile()
    saturated = 0
    for _ in range(6):
        q = rng.choice([-limit, limit, 0.0, 0.1], 4)
        v = rng.uniform(-1, 1, 4)
        target = q + rng.uniform(-1, 1, 4) * 4.0 * strength / stiffness
        sim = lw.FullDynamics(model, lw.State(q, v), integrator="semi_implicit_euler")
        sim.motors.stiffness, sim.motors.damping, sim.motors.position = stiffness, damping, target
        sim.advance(h)
        M = lw.mass_matrix(model, lw.State(q, v))
        r = -lw.inverse_dynamics(model, lw.State(q, v), np.zeros(4))

        def merit(u, M=M, r=r, q=q, v=v, target=target):
            wish = stiffness * (target - q - h * u) - damping * u
            slope = h * stiffness + damping
            beyond = np.abs(wish) > strength  # Huber's function: its slope in u is -slope · τ
            value = np.where(beyond, strength * (np.abs(wish) - 0.5 * strength), 0.5 * wish**2)
            return 0.5 * (u - v) @ M @ (u - v) / h - r @ (u - v) + value.sum() / slope

        def gradient(u, M=M, r=r, q=q, v=v, target=target):
            wish = stiffness * (target - q - h * u) - damping * u
            return M @ (u - v) / h - r - np.clip(wish, -strength, strength)

        bounds = [((-limit - a) / h, (limit - a) / h) for a in q]
        start = np.clip(v, [b[0] for b in bounds], [b[1] for b in bounds])
        best = minimize(merit, start, jac=gradient, bounds=bounds, method="L-BFGS-B",
                        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 5000, "maxfun": 20000})  # fmt: skip
        u = sim.state.v
        saturated += int((np.abs(sim.efforts.motors) >= strength).sum())
        scale = abs(merit(u)) + abs(merit(start))
        assert merit(u) <= best.fun + 1e-7 * scale  # the residual of a solve, ten times
        inside = np.array([b[0] + 1e-6 < a < b[1] - 1e-6 for a, b in zip(u, bounds, strict=True)])
        force = np.abs(r).max() + strength + np.abs(M @ (u - v)).max() / h
        assert np.abs(gradient(u)[inside]).max(initial=0.0) <= 1e-6 * force
    assert saturated > 3


@pytest.mark.parametrize("member", [4, 11, 12, 13])
def test_motors_of_a_crawling_snake_act_as_their_law_says(member):
    """Steps in which two laws of a motor led to each other by turns: it pulled the wrong way with all its strength."""
    pytest.importorskip("gymnasium")
    from linkwork.envs import SnakeCrawl, TaskEnv

    task = SnakeCrawl()
    env = TaskEnv(task)
    env.reset(seed=3)
    sim, h, limit, at_limit = env.sim, task.h, task.model.effort_limit[6:], 0
    for action in np.random.default_rng(1).uniform(-1, 1, (20, 16, task.actions))[:, member]:
        target = task.low + 0.5 * (action + 1.0) * (task.high - task.low)
        sim.motors.position = target
        for _ in range(task.steps):
            before = sim.state
            sim.advance(h)
            wish = 2.0 * (target - before.q[7:] - h * sim.state.v[6:]) - 0.1 * sim.state.v[6:]
            efforts = sim.efforts.motors[6:]
            # A thousandth of its effort is what a motor may be off where turns do not end; ten times that.
            assert np.abs(efforts - np.clip(wish, -limit, limit)).max() <= 10 * 1e-3 * limit.max()
            at_limit += int((np.abs(wish) >= limit).sum())
    assert at_limit > 100
