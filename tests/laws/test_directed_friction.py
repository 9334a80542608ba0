"""Friction that knows a direction: blocks, runners, and a snake that crawls by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError

G = 9.81
STEP = 1e-3
SIMULATIONS = {
    "full": lw.FullDynamics,
    "adaptive": lambda *args, **more: lw.AdaptiveDynamics(*args, max_active_joints=1, **more),
}


def slid(friction, velocity, floor=1.0, turn=0.0, simulation="full", steps=20, law="coupled"):
    """Mean acceleration of a block on a floor over some steps, in its own axes, of g."""
    linkage = lw.Linkage("block")
    box = lw.Box((0.2, 0.2, 0.1), friction=friction)
    linkage.add_body("block", "world", lw.Free(), lw.Pose(), lw.Inertia.box(1.0, (0.2, 0.2, 0.1)), shapes=[box])
    linkage.add_obstacle("floor", lw.Plane(friction=floor), lw.Pose((0, 0, -0.05)))
    model = linkage.compile()
    state = model.neutral()
    state.q[3:7] = (math.cos(turn / 2), 0.0, 0.0, math.sin(turn / 2))
    state.v[3:6] = velocity
    sim = SIMULATIONS[simulation](model, state, contact=lw.Contact(law=law))
    before = np.array(state.v)
    sim.advance(STEP, steps)
    return (np.asarray(sim.state.v) - before)[3:6] / (G * STEP * steps)


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("turn", [0.0, 1.0])
def test_each_side_has_its_own_coefficient(simulation, turn):
    friction = lw.Friction(forward=0.1, backward=0.3, sideways=0.5)
    for velocity, wanted in (
        ((2, 0, 0), (-0.1, 0, 0)), ((-2, 0, 0), (0.3, 0, 0)), ((0, 2, 0), (0, -0.5, 0)), ((0, -2, 0), (0, 0.5, 0)),
    ):  # fmt: skip
        assert np.allclose(slid(friction, velocity, turn=turn, simulation=simulation), wanted, atol=1e-6)


def test_forces_of_both_laws():
    u = np.array([math.cos(0.7), math.sin(0.7)])
    A = np.diag([0.1, 0.5])
    for law, wanted in (("hu", -A @ u), ("ellipse", -A @ A @ u / np.linalg.norm(A @ u))):
        friction = lw.Friction(forward=0.1, backward=0.3, sideways=0.5, law=law)
        # 2000 m/s: the direction changes by 1e-5 in these steps
        assert np.allclose(slid(friction, (2000 * u[0], 2000 * u[1], 0.0), steps=2)[:2], wanted, atol=1e-3)


@pytest.mark.parametrize("law", ["ellipse", "hu"])
@pytest.mark.parametrize("contact_law", ["coupled", "impacts"])
def test_equal_coefficients_are_no_direction(law, contact_law):
    directed = slid(lw.Friction(0.5, law=law), (1.0, 2.0, 0.0), law=contact_law)
    plain = slid(0.5, (1.0, 2.0, 0.0), floor=0.5, law=contact_law)
    assert np.allclose(directed, plain, atol=1e-12)


def test_a_runner_glides_along_and_holds_across():
    assert np.allclose(slid(lw.Friction(forward=0.0, sideways=0.5), (2.0, 1.0, 0.0)), (0.0, -0.5, 0.0), atol=1e-9)


def test_bad_numbers_are_named():
    for bad, words in (
        ({"forward": -1.0}, "forward"),
        ({"forward": 0.1, "axis": (0, 0, 0)}, "axis"),
        ({"forward": 0.1, "law": "x"}, "law"),
    ):
        with pytest.raises(ModelError, match=words):
            lw.Friction(**bad)


# ----------------------------------------------------------------------------------------------------------------- a snake


def snake(links: int, law: str) -> tuple[lw.Model, lw.Friction]:
    """A chain of hinges of length one; each link has a foot on an upright slide, which presses with its own weight."""
    friction = lw.Friction(forward=0.11, backward=0.14, sideways=0.20, law=law)
    linkage = lw.Linkage("snake", gravity=(0.0, 0.0, -1000.0))
    size = 1.0 / links
    light = lw.Inertia.box(1e-7, (size, 0.1 * size, 0.1 * size)).at(lw.Pose((size / 2, 0, 0)))
    foot = lw.Inertia.sphere(1e-3, 0.01 * size)
    for k in range(links):
        joint = lw.Revolute((0, 0, 1)) if k else lw.Planar()
        place = lw.Pose((size, 0, 0)) if k else lw.Pose()
        linkage.add_body(f"link_{k}", f"link_{k - 1}" if k else "world", joint, place, light, joint_name=f"bend_{k}")
        ball = lw.Sphere(0.2 * size, friction=friction)
        slide = lw.Prismatic((0, 0, 1))
        linkage.add_body(f"foot_{k}", f"link_{k}", slide, lw.Pose((size / 2, 0, 0.2 * size)), foot, shapes=[ball])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage.compile(), friction


def crawled(links: int, law: str, steps: int, period: float = 10.0) -> float:
    """How far the snake comes in a period, of its length."""
    model, _ = snake(links, law)
    names = [f"bend_{k}" for k in range(1, links)]
    s = np.arange(1, links) / links

    def bends(t):
        """∫ κ ds between the middles of two links, and its rate."""
        phase = 2 * math.pi * (s + t / period)
        whole = 7.0 * math.sin(math.pi / links) / math.pi
        return whole * np.cos(phase), -whole * 2 * math.pi / period * np.sin(phase)

    state = model.neutral()
    at, rates = bends(0.0)
    for name, angle, rate in zip(names, at, rates, strict=True):
        state.q[model.q_slice(name)], state.v[model.v_slice(name)] = angle, rate
    sim = lw.FullDynamics(model, state, contact=lw.Contact(self_contact=False), integrator="semi_implicit_euler")
    motors = sim.motors[names]
    motors.stiffness, motors.damping = 1e5, 1e2
    h = period / steps
    begin = None
    for k in range(steps + steps // 4):
        if k == steps // 4:
            begin = lw.center_of_mass(model, sim.state)
        motors.position, motors.velocity = bends((k + 1) * h)
        sim.advance(h)
    return float(np.linalg.norm((lw.center_of_mass(model, sim.state) - begin)[:2]))


@pytest.mark.parametrize(("law", "wanted"), [("hu", 0.1370), ("ellipse", 0.2664)])
def test_a_snake_crawls_as_balance_of_forces_says(law, wanted):
    """Curvature 7 cos 2π(s + t), weight everywhere, no inertia to speak of; 400 points and 160 instants gave the numbers.

    Steps are of first order in h, so that twice the one less the other of 400 and 800 steps is compared.
    """
    assert 2.0 * crawled(100, law, 800) - crawled(100, law, 400) == pytest.approx(wanted, rel=0.01)
