"""Water around bodies: terminal speeds, thick fluids, the angle of a towed cable, and what is refused."""

import math
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import StateError

RADIUS, LENGTH, MASS, DENSITY = 0.01, 1.0, 2.0, 1000.0
DEEP = {"surface": 1e9}


def falling():
    """A rod across its fall, on a slider."""
    linkage = lw.Linkage("falling")
    shape = lw.Capsule(RADIUS, LENGTH, placement=lw.Pose(rpy=(0.0, 0.5 * math.pi, 0.0)))
    body = lw.Inertia(MASS, (0, 0, 0), (1, 1, 1))
    linkage.add_body("rod", joint=lw.Prismatic((0, 0, 1)), inertia=body, shapes=[shape])
    return linkage.compile()


def test_a_falling_rod_follows_its_closed_form():
    model = falling()
    water = lw.Water(DENSITY, drag=(1.2, 0.02), added_mass=1.0, **DEEP)
    displaced = DENSITY * math.pi * RADIUS**2 * LENGTH
    weight = (MASS - displaced) * 9.81
    top = math.sqrt(weight / (0.5 * DENSITY * 1.2 * 2 * RADIUS * LENGTH))
    rate = weight / ((MASS + displaced) * top)
    errors = []
    for h in (4e-3, 2e-3):
        sim = lw.FullDynamics(model, model.neutral(), water=water)
        sim.step(h, round(0.3 / h))
        errors.append(-sim.state.v[0] - top * math.tanh(0.3 * rate))
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)  # order 1
    assert abs(errors[1]) < 3e-3 * top
    sim.step(1e-2, 600)
    assert -sim.state.v[0] == pytest.approx(top, rel=1e-6)


def test_no_fluid_is_too_thick_for_a_step():
    model = falling()
    sim = lw.FullDynamics(model, model.state(v=[1000.0]), water=lw.Water(1e6, drag=(50.0, 50.0), **DEEP))
    speeds = []
    for _ in range(30):
        sim.step(0.1)
        speeds.append(abs(sim.state.v[0]))
    assert all(later <= earlier * 1.01 for earlier, later in pairwise(speeds))
    assert speeds[-1] < 0.1


def test_a_towed_cable_hangs_at_the_angle_where_weight_and_drag_balance():
    weight, thick, speed = 3.0, 0.02, 1.0
    cable = lw.rod(100.0, 20, EI=1e-3, GJ=1e-3, mass_per_length=weight / 9.81 + 1025.0 * math.pi * 1e-4, radius=0.01)
    cable.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 1.4, 0.0)))
    model = cable.compile()
    rest = lw.settle(model, model.neutral(), water=lw.Water(1025.0, (speed, 0, 0), (1.2, 0.0), surface=1e3))
    along = lw.body_poses(model, rest.state)[model.body(cable.on.bodies[10]), :3, 0]
    angle = math.asin(-along[2])
    drag = 0.5 * 1025.0 * 1.2 * thick * speed**2
    assert weight * math.cos(angle) == pytest.approx(drag * math.sin(angle) ** 2, rel=1e-4)
    # and its motion rests there
    sim = lw.FullDynamics(model, rest.state, water=lw.Water(1025.0, (speed, 0, 0), (1.2, 0.0), surface=1e3))
    assert np.abs(sim.acceleration).max() < 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drag": (-1.0, 0.0)}, "drag across is -1"),
        ({"drag": (1.0, math.nan)}, "drag along is nan"),
        ({"density": 0.0}, "density is 0"),
        ({"added_mass": -0.1}, "added_mass is -0.1"),
        ({"current": (1.0, 2.0)}, "current is"),
        ({"current": [(0, 1, 0, 0), (-5, 1, 0, 0)]}, "must rise"),
        ({"seabed": lw.Seabed(1e4)}, "needs a depth"),
    ],
)
def test_bad_water_is_refused(options, words):
    with pytest.raises(StateError, match=words):
        lw.Water(**options)


def test_water_needs_shapes_and_a_fitting_integrator():
    model = falling()
    with pytest.raises(StateError, match="semi_implicit_euler"):
        lw.FullDynamics(model, model.neutral(), integrator="rk4", water=lw.Water())
    bare = lw.Linkage("bare")
    bare.add_body("b", joint=lw.Prismatic((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1))
    with pytest.raises(StateError, match="has a shape"):
        lw.settle(bare.compile(), bare.compile().neutral(), water=lw.Water())
