"""Springs, dampers and motors taken implicitly: no gain is too stiff, and soft ones move as they did."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw

IMPLICIT = ("semi_implicit_euler", "implicit_midpoint")


def robot(kp=20.0, kd=1.0):
    """A hanging arm of twelve joints with a motor on each, off its targets; and the motors, to be set."""
    model = lw.library.chain(joints=12).compile()
    targets = 0.3 * np.sin(1.0 + np.arange(12.0))

    def set_motors(sim):
        for name, target in zip(model.joint_names, targets, strict=True):
            sim.set_motor(name, position=float(target), stiffness=kp, damping=kd)
        return sim

    return model, set_motors


# ---------------------------------------------------------------------------------------------------------------- accuracy


def test_a_robot_with_stiff_motors_is_right_at_steps_of_milliseconds():
    """Against dormand_prince to ten digits: 1 % at 2 ms, a tenth of that at 0.5 ms, of the largest angle on the way."""
    model, set_motors = robot()
    start, duration = model.state(np.full(12, 0.1)), 0.5
    truth = set_motors(lw.FullDynamics(model, start, integrator="dormand_prince", rtol=1e-10, atol=1e-12))
    truth.advance(duration)
    scale = np.abs(truth.state.q).max()
    assert scale > 0.1
    for h, allowed in ((2e-3, 1e-2), (5e-4, 1e-3)):
        ends = []
        for sim in (lw.FullDynamics(model, start), lw.AdaptiveDynamics(model, start, tolerance=0.0)):
            set_motors(sim).advance(h, round(duration / h))
            assert np.abs(sim.state.q - truth.state.q).max() < allowed * scale
            ends.append(sim.state)
        for a, b in zip(*ends, strict=True):
            same = rounding(condition=1e3, scale=max(1.0, np.abs(a).max()), steps=round(duration / h))
            assert a == pytest.approx(b, rel=0, abs=same)
        explicit = set_motors(lw.FullDynamics(model, start, implicit_joints=False))
        with np.errstate(all="ignore"):
            try:
                explicit.advance(h, round(duration / h))
                wrong = np.abs(explicit.state.q - truth.state.q).max()
            except lw.StateError:
                wrong = math.inf
        assert wrong > 10.0  # what it is for: taken explicitly, the motors tear the arm apart


def one_hinge(**joint):
    linkage = lw.Linkage("hinge", gravity=(0, 0, 0))
    linkage.add_body("wheel", joint=lw.Revolute((0, 0, 1), **joint), inertia=lw.Inertia(1.0, moments=(0.3, 0.3, 0.5)))
    return linkage.compile()


@pytest.mark.parametrize("how", ["spring", "motor"])
def test_one_hinge_moves_as_the_formulas_say(how):
    """Euler: (I + h d + h² k) Δv = h (-k q - d v) - h² k v, with k and d of springs and of motors alike."""
    k, d, inertia, h = 300.0, 7.0, 0.5, 0.05
    model = one_hinge(stiffness=k, damping=d) if how == "spring" else one_hinge()
    sim = lw.FullDynamics(model, model.state([0.4], [1.5]), integrator="semi_implicit_euler")
    if how == "motor":
        sim.set_motor("wheel", position=0.0, stiffness=k, damping=d)
    q, v = 0.4, 1.5
    for _ in range(20):
        v += h * (-k * q - d * v - h * k * v) / (inertia + h * d + h * h * k)
        q += h * v
        sim.step(h)
        assert sim.state.v[0] == pytest.approx(v, rel=0, abs=rounding(scale=1.5, steps=20))
        assert sim.state.q[0] == pytest.approx(q, rel=0, abs=rounding(scale=1.5, steps=20))


def test_the_midpoint_rule_of_a_spring_is_cayleys():
    """Linear, so closed: v⁺ = v + h a((q + q⁺)/2, (v + v⁺)/2); energy kept, however stiff."""
    model = one_hinge(stiffness=1e6)
    sim = lw.FullDynamics(model, model.state([0.4], [1.5]), integrator="implicit_midpoint")
    h, w2 = 0.01, 1e6 / 0.5
    A = np.array([[0.0, 1.0], [-w2, 0.0]])
    step = np.linalg.solve(np.eye(2) - 0.5 * h * A, np.eye(2) + 0.5 * h * A)
    x = np.array([0.4, 1.5])
    for _ in range(50):
        x = step @ x
        sim.step(h)
    # fifty steps solved to 1e-12 of velocities of order 600, angles of 0.4
    assert sim.state.v[0] == pytest.approx(x[1], abs=1e-7)
    assert sim.state.q[0] == pytest.approx(x[0], abs=1e-9)
    assert sim.energy.total == pytest.approx(0.5 * 1e6 * 0.16 + 0.25 * 1.5**2, rel=1e-10)


# --------------------------------------------------------------------------------------------------------------- stability


@pytest.mark.parametrize("integrator", IMPLICIT)
@pytest.mark.parametrize("h", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize(("kp", "kd"), [(0.0, 1e8), (1e8, 0.0), (1e8, 1e4), (1e3, 1e-3), (1e-3, 1e3), (1e12, 1e12)])
def test_any_gains_at_any_step_give_a_bounded_motion(integrator, h, kp, kd):
    """Balanced wheels: each is linear and alone, and energy can only fall: ½ I v² + ½ k q² bounds both of them."""
    linkage = lw.Linkage("wheels", gravity=(0, 0, 0))
    for k in range(4):
        wheel = lw.Inertia(1.0, moments=(0.5 * 10.0**-k,) * 3)
        linkage.add_body(f"w{k}", joint=lw.Revolute((0, 0, 1)), placement=lw.Pose((k, 0, 0)), inertia=wheel)
    model = linkage.compile()
    for make in (lw.FullDynamics, lw.AdaptiveDynamics):
        options = {"tolerance": 0.0} if make is lw.AdaptiveDynamics else {}
        sim = make(model, model.state(np.full(4, 0.2), np.full(4, 1.0)), integrator=integrator, **options)
        for name in model.joint_names:
            sim.set_motor(name, position=0.0 if kp else None, stiffness=kp, damping=kd)
        inertia = 0.5 * 10.0 ** -np.arange(4.0)
        energy = 0.5 * inertia + 0.5 * kp * 0.04
        fastest = np.sqrt(2.0 * energy / inertia)
        for _ in range(100):
            sim.advance(h)
            assert (np.abs(sim.state.v) <= fastest * (1.0 + 1e-6)).all()
            if kp > 0.0 and integrator == "implicit_midpoint":
                assert (np.abs(sim.state.q) <= np.sqrt(2.0 * energy / kp) * (1.0 + 1e-6)).all()
        assert np.isfinite(sim.state.q).all()


@pytest.mark.parametrize("joint", ["revolute", "universal", "compound", "spherical", "free"])
@pytest.mark.parametrize("h", [1e-3, 2e-2])
def test_stiff_joints_of_every_kind_stay_in_place(make_tree, joint, h, rng):
    """Springs and dampers as stiff as steel hold a tree at rest under its weight: deflections stay below weight / k."""
    options = {"stiffness": 1e8, "damping": 1e5}
    kinds = {
        "revolute": lw.Revolute((1, 0, 0), **options),
        "universal": lw.Universal((1, 0, 0), (0, 1, 0), **options),
        "compound": lw.Compound([lw.Revolute((1, 0, 0)), lw.Prismatic((0, 1, 0))], **options),
        "spherical": lw.Spherical(**options),
        "free": lw.Free(**options),
    }
    linkage = lw.Linkage("stiff")
    box = lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.3, 0.1, 0.0)))
    for k in range(6):
        linkage.add_body(f"b{k}", f"b{k - 1}" if k else "world", kinds[joint], lw.Pose((0.4, 0, 0.1)), box)
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral())
    sim.advance(h, 300)
    moved = np.abs(model.difference(model.neutral().q, sim.state.q)).max()
    assert moved < 10.0 * 6 * 9.81 * 3.0 / 1e8  # ten times the moment of all weights at the end of the arm, over k
    assert np.abs(sim.state.v).max() < 1e-4


@pytest.mark.parametrize("kp", [2e3, 2e5, 2e7])
def test_the_midpoint_rule_converges_with_stiff_gains(kp):
    """In a few evaluations per step, in both simulations, with the same result; taken explicitly it does not converge."""
    model, set_motors = robot(kp, 1e-3 * kp)
    start = model.state(np.full(12, 0.1))
    ends = []
    for sim in (
        lw.FullDynamics(model, start, integrator="implicit_midpoint"),
        lw.AdaptiveDynamics(model, start, tolerance=0.0, integrator="implicit_midpoint"),
    ):
        set_motors(sim)
        for _ in range(100):
            sim.advance(2e-3)
        assert np.isfinite(sim.state.q).all()
        ends.append(sim.state.q)
    assert ends[0] == pytest.approx(
        ends[1], rel=0, abs=1e-9
    )  # 100 steps solved to 1e-12 of velocities of up to 100 rad/s
    explicit = set_motors(lw.FullDynamics(model, start, integrator="implicit_midpoint", implicit_joints=False))
    with pytest.raises(lw.StateError, match="did not converge"):
        explicit.advance(2e-3, 100)
