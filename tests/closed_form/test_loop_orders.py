"""How fast each integrator converges on closed chains, and what it makes of their energy under an effort.

The judges share nothing with the steps: equations of one or two coordinates, and bodies in maximal coordinates.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.closed_form.test_integrators import ORDERS, measured_order
from tests.reference.maximal_coordinates import WORLD, Bodies

import linkwork as lw

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
G = 9.81


def rod(length: float, mass: float, along=X) -> tuple[np.ndarray, np.ndarray]:
    """Centre and moments of a rod from its joint on."""
    along = np.array(along, dtype=float)
    return 0.5 * length * along, mass * (length**2 * (1.0 - along) + 1e-2 * length**2) / 12.0


def inertia(mass: float, centre, moments) -> lw.Inertia:
    return lw.Inertia(mass, tuple(centre), tuple(moments))


class SliderCrank:
    """A crank of 0.1 m under a torque of 0.1 N·m, a rod of 0.3 m, a slider; never singular. Centre of the slider."""

    r, length, masses, torque, duration, steps = 0.1, 0.3, (0.2, 0.2, 0.4), 0.1, 0.5, 250
    wall: float | None = None  # where its middle is stopped [m]

    def start(self):
        linkage = lw.Linkage("slider_crank", gravity=(0, 0, 0))
        m1, m2, m3 = self.masses
        linkage.add_body("crank", joint=lw.Revolute(Z), inertia=inertia(m1, *rod(self.r, m1)))
        linkage.add_body("rod", "crank", lw.Revolute(Z), lw.Pose((self.r, 0, 0)), inertia(m2, *rod(self.length, m2)))
        place = lw.Pose((self.r + self.length, 0, 0))
        box = [lw.Box((0.1, 0.1, 0.1))] if self.wall is not None else []
        body = lw.Inertia.box(m3, (0.1,) * 3)
        linkage.add_body("slider", joint=lw.Prismatic(X), placement=place, inertia=body, shapes=box)
        linkage.add_loop(lw.Revolute(Z), "rod", "slider", (lw.Pose((self.length, 0, 0)), lw.Pose()))
        if self.wall is not None:
            linkage.add_obstacle("wall", lw.Plane(), lw.Pose((self.wall - 0.05, 0, 0), rpy=(0, 0.5 * math.pi, 0)))
        model = linkage.compile()
        return model, model.neutral(), {"crank": self.torque}

    def read(self, model, state):
        k = model.joint("crank")
        return np.array([state.q[model.q_slice(k)][0], state.v[model.v_slice(k)][0]])

    def inertia_of(self, t):
        s, c, (m1, m2, m3) = np.sin(t), np.cos(t), self.masses
        sine = -self.r * s / self.length
        swing = -self.r * c / (self.length * np.sqrt(1.0 - sine * sine))  # of the rod, per turn of the crank
        x, y = -self.r * s - 0.5 * self.length * sine * swing, 0.5 * self.r * c
        turning = m2 * self.length**2 * 1.01 / 12.0 * swing**2 + m1 * self.r**2 * (0.25 + 1.01 / 12.0)
        return turning + m2 * (x * x + y * y) + m3 * (-self.r * s - self.length * sine * swing) ** 2

    def reference(self):
        slope = lambda t: self.inertia_of(t + 1e-30j).imag / 1e-30  # noqa: E731
        rates = lambda _, y: (y[1], (self.torque - 0.5 * y[1] ** 2 * slope(y[0])) / self.inertia_of(y[0]))  # noqa: E731
        return solve_ivp(rates, (0, self.duration), (0.0, 0.0), "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


class Mechanism:
    """One that is built twice: for Linkwork, and in maximal coordinates. Centres of some bodies."""

    efforts: dict[str, float] = {}  # noqa: RUF012
    names: tuple[str, ...]

    def read(self, model, state):
        poses = lw.body_poses(model, state)
        bodies = [model.body(name) for name in self.names]
        centres = [
            poses[b] @ np.append(np.array(self.centres[n]), 1.0) for n, b in zip(self.names, bodies, strict=True)
        ]
        return np.concatenate([c[:3] for c in centres])


class FourBar(Mechanism):
    """Falls and swings through, the crank under a torque."""

    duration, steps, names, efforts = 0.5, 100, ("crank", "coupler", "rocker"), {"crank": 0.1}
    masses = (0.7, 1.1, 0.9)
    pins = np.array([(0, 0, 0), (0, 0.4, 0), (0.9, 0.8, 0), (0.9, 0, 0)], dtype=float)

    def parts(self):
        for k, m in enumerate(self.masses):
            way = self.pins[k + 1] - self.pins[k]
            length = np.linalg.norm(way)
            yield m, 0.5 * way, m * (length**2 * (np.eye(3) - np.outer(way, way) / length**2) + 1e-3 * np.eye(3)) / 12.0

    def start(self):
        linkage = lw.Linkage("four_bar", gravity=(0, -G, 0))
        self.centres, parent, before = {}, "world", np.zeros(3)
        for name, (m, centre, moments), pin in zip(self.names, self.parts(), self.pins, strict=False):
            body = lw.Inertia(m, tuple(centre), moments)
            linkage.add_body(name, parent, lw.Revolute(Z), lw.Pose(tuple(pin - before)), body)
            self.centres[name], parent, before = centre, name, pin
        end = self.pins[3]
        linkage.add_loop(lw.Revolute(Z), "rocker", "world", (lw.Pose(tuple(end - before)), lw.Pose(tuple(end))))
        model = linkage.compile()
        return model, model.neutral(), self.efforts

    def reference(self):
        bodies = Bodies((0, -G, 0))
        before = WORLD
        for k, (m, centre, moments) in enumerate(self.parts()):
            torque = (0, 0, self.efforts["crank"]) if k == 0 else (0, 0, 0)
            body = bodies.add(m, moments, self.pins[k] + centre, torque=torque)
            bodies.hinge(before, body, self.pins[k], Z)
            before = body
        bodies.hinge(before, WORLD, self.pins[3], Z)
        return bodies.centres_after(self.duration).ravel()


class Bricard(Mechanism):
    """Six hinges, each at right angles to the next, in the corners of a cube: rigid by counting (IFToMM's A04)."""

    duration, steps, names = 1.0, 125, ("r1", "r2", "r3")
    points = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = (Y, Z, X, Y, Z, X)

    def part(self, k):
        way = self.points[k + 1] - self.points[k]
        return 0.5 * way, (1.01 - np.abs(way)) / 12.0

    def start(self):
        linkage = lw.Linkage("bricard", gravity=(0, -G, 0))
        self.centres = {f"r{k}": self.part(k)[0] for k in range(5)}
        for k in range(5):
            place = lw.Pose(tuple(self.points[k] - (self.points[k - 1] if k else 0.0)))
            parent = f"r{k - 1}" if k else "world"
            linkage.add_body(f"r{k}", parent, lw.Revolute(self.axes[k]), place, inertia(1.0, *self.part(k)))
        ends = (lw.Pose(tuple(self.points[5])), lw.Pose(tuple(self.points[5] - self.points[4])))
        linkage.add_loop(lw.Revolute(self.axes[5]), "world", "r4", ends)
        model = linkage.compile()
        return model, model.neutral(), {}

    def reference(self):
        bodies = Bodies((0, -G, 0))
        before = WORLD
        for k in range(5):
            centre, moments = self.part(k)
            body = bodies.add(1.0, moments, self.points[k] + centre)
            bodies.hinge(before, body, self.points[k], self.axes[k])
            before = body
        bodies.hinge(before, WORLD, self.points[5], self.axes[5])
        return bodies.centres_after(self.duration)[1:4].ravel()


class SpatialSliderCrank(Mechanism):
    """A crank about x that turns from the start, a rod on a ball, a slider across it, held by a universal joint."""

    duration, steps, names, efforts = 0.5, 250, ("rod", "slider"), {"crank": 0.1}
    pin, wrist, speed = np.array([0.0, 0.1, 0.2]), np.array([0.3, 0.1, 0.12]), 6.0
    foot = np.array([0.0, 0.1, 0.12])
    masses, slider_axis = (0.12, 0.5, 2.0), X

    def rod(self):
        way = self.wrist - self.pin
        length = np.linalg.norm(way)
        along = way / length
        return 0.5 * way, self.masses[1] * length**2 * (1.02 * np.eye(3) - np.outer(along, along)) / 12.0

    def motion(self):
        """Velocities of pin and slider, and the angular velocity of the rod, that its universal joint allows."""
        pin = np.cross((self.speed, 0, 0), self.pin - self.foot)
        way = self.wrist - self.pin
        slide = np.array([(pin @ way) / way[0], 0.0, 0.0])
        # w x way = slide - pin, and the direction y of the slider stays across the rod's side
        side = np.cross(way, Y)
        rows = np.vstack(
            [-np.array([[0, -way[2], way[1]], [way[2], 0, -way[0]], [-way[1], way[0], 0]]), np.cross(side, Y)]
        )
        return (
            pin,
            slide,
            np.linalg.lstsq(rows, np.append(slide - pin, 0.0), rcond=None)[0],
            side / np.linalg.norm(side),
        )

    def start(self):
        m1, m2, m3 = self.masses
        crank = self.pin - self.foot
        centre, moments = self.rod()
        linkage = lw.Linkage("spatial_slider_crank", gravity=(0, 0, -G))
        light = lw.Inertia(m1, tuple(0.5 * crank), (1e-4, 1e-4, 1e-5))
        linkage.add_body("crank", joint=lw.Revolute(X), placement=lw.Pose(tuple(self.foot)), inertia=light)
        body = lw.Inertia(m2, tuple(centre), moments)
        linkage.add_body("rod", "crank", lw.Spherical(), lw.Pose(tuple(crank)), body)
        place = lw.Pose(tuple(self.wrist))
        linkage.add_body("slider", joint=lw.Prismatic(X), placement=place, inertia=lw.Inertia.box(m3, (0.1,) * 3))
        _, slide, spin, side = self.motion()
        wrist = lw.Universal(Y, tuple(side))
        linkage.add_loop(wrist, "slider", "rod", (lw.Pose(), lw.Pose(tuple(self.wrist - self.pin))))
        model = linkage.compile()
        v = np.zeros(model.nv)
        v[model.v_slice(model.joint("crank"))] = self.speed
        v[model.v_slice(model.joint("rod"))] = spin - np.array([self.speed, 0, 0])
        v[model.v_slice(model.joint("slider"))] = slide[0]
        self.centres = {"rod": centre, "slider": np.zeros(3)}
        return model, model.state(model.neutral().q, v), self.efforts

    def reference(self):
        m1, m2, m3 = self.masses
        bodies = Bodies((0, 0, -G))
        crank = self.pin - self.foot
        pin, slide, spin, side = self.motion()
        turn = np.array([self.speed, 0, 0])
        a = bodies.add(m1, (1e-4, 1e-4, 1e-5), self.foot + 0.5 * crank, 0.5 * pin, turn, (self.efforts["crank"], 0, 0))
        centre, moments = self.rod()
        b = bodies.add(m2, moments, self.pin + centre, pin + np.cross(spin, centre), spin)
        c = bodies.add(m3, np.full(3, m3 * 0.01 / 6.0), self.wrist, slide)
        bodies.hinge(WORLD, a, self.foot, X)
        bodies.ball(a, b, self.pin)
        bodies.ball(b, c, self.wrist)
        bodies.across(c, b, Y, side)
        bodies.slide(c, X)
        return bodies.centres_after(self.duration)[1:].ravel()


class Governor:
    """A flyball governor with stiff, damped struts (IFToMM's A05): the slider's way and the angle of the rods."""

    duration, steps, k, c, speed = 0.25, 250, 8e5, 4e4, 2.0 * math.pi
    arm, ball, slider = 0.3, 5.0, 3.0
    thin, thick = 5e-6, 0.3 / 12 * 1.0001

    def start(self):
        linkage = lw.Linkage("governor")
        thick = self.thick
        arm = lw.Inertia(self.arm, (0, 0, 0), (self.thin, thick, thick)) + lw.Inertia.point_mass(self.ball, (0.5, 0, 0))
        shaft = lw.Inertia(0.3, (0, 0, 0.5), (thick, thick, self.thin))
        linkage.add_body("shaft", joint=lw.Revolute(Z), inertia=shaft)
        box = lw.Inertia.box(self.slider, (0.1,) * 3)
        linkage.add_body("slider", "shaft", lw.Prismatic(Z), lw.Pose((0, 0, 0.5)), box)
        for name, side in (("right", 0.0), ("left", math.pi)):
            turn = lw.Pose(rpy=(0, 0, side))
            spring = lw.Prismatic(X, stiffness=self.k, damping=self.c)
            strut = lw.Compound([lw.Revolute(Y, point=(-0.5, 0, 0)), spring, lw.Revolute(Y)])
            up, down = lw.Pose(rpy=(0, -math.pi / 6, 0)), lw.Pose(rpy=(0, math.pi / 6, 0))
            place, inner = turn @ lw.Pose((0.05, 0, 0)) @ up @ lw.Pose((0.5, 0, 0)), up.inverse() @ down
            linkage.add_body(name, "slider", strut, place, arm.at(inner))
            ends = (turn @ lw.Pose((0.05, 0, 1.0)), inner @ lw.Pose((-0.5, 0, 0)))
            linkage.add_loop(lw.Revolute(Y), "shaft", name, ends)
        model = linkage.compile()
        v = np.zeros(model.nv)
        v[model.v_slice(model.joint("shaft"))] = self.speed
        return model, model.state(model.neutral().q, v), {}

    def read(self, model, state):
        return np.array([0.5 + state.q[model.q_slice(model.joint("slider"))][0]])

    def reference(self):
        arm, ball, thin, thick = self.arm, self.ball, self.thin, self.thick

        def spun(a):  # moment about the shaft
            out, far = 0.05 + 0.5 * np.cos(a), 0.05 + np.cos(a)
            each = arm * out**2 + ball * far**2 + thin * np.sin(a) ** 2 + thick * np.cos(a) ** 2
            return thin + 0.005 + 2.0 * each

        def rates(_, y):
            s, a, ds, da = y
            dx, dz = 0.5 * np.cos(a), 1.0 - 0.5 * np.sin(a) - s
            length = np.hypot(dx, dz)
            by_a, by_s = -(0.5 * np.sin(a) * dx + 0.5 * np.cos(a) * dz) / length, -dz / length
            force = self.k * (length - 0.5) + self.c * (by_a * da + by_s * ds)
            turn = spun(math.pi / 6) * self.speed / spun(a)
            pull = (
                0.5 * spun(a + 1e-30j).imag / 1e-30 * turn**2 + G * np.cos(a) * (arm + 2.0 * ball) - 2.0 * force * by_a
            )
            mass = 2.0 * (0.25 * arm + ball + thick)
            return ds, da, -G - 2.0 * force * by_s / self.slider, pull / mass

        start = (0.5, math.pi / 6, 0.0, 0.0)
        return solve_ivp(rates, (0, self.duration), start, "Radau", rtol=1e-11, atol=1e-12).y[:1, -1]


MECHANISMS = {
    "slider_crank": SliderCrank(),
    "four_bar": FourBar(),
    "spatial_slider_crank": SpatialSliderCrank(),
    "bricard": Bricard(),
    "governor": Governor(),
}
STIFF = "governor"  # 1 / 26,000 s would be the longest step of explicit integrators there
EXPLICIT = ("rk4", "dormand_prince", "kick_drift_kick")
# The errors of high orders come to those of the judges soon: of the steps of the others, so many.
PART = {"rk4": 0.5, "dormand_prince": 0.25}
MISSING = {"dormand_prince": 1.5}  # of its order: its errors come to those of the judges before their ratios settle
CASES = [(name, kind) for name in MECHANISMS for kind in ORDERS if name != STIFF or kind not in EXPLICIT]


@cache
def reference(name):
    return MECHANISMS[name].reference()


def error_of(name, steps, integrator="auto", make=lw.FullDynamics, **how):
    """Distance from the judge's end after so many steps; error control accepts everything."""
    mechanism = MECHANISMS[name]
    model, state, efforts = mechanism.start()
    sim = make(model, state, integrator=integrator, rtol=1e9, atol=1e9, **how)
    for joint, effort in efforts.items():
        sim.set_effort(joint, effort)
    sim.step(mechanism.duration / steps, steps)
    return float(np.linalg.norm(mechanism.read(model, sim.state) - reference(name)))


@pytest.mark.parametrize(("name", "integrator"), CASES)
def test_every_integrator_keeps_its_order_on_closed_chains(name, integrator):
    """Never less, and errors fall with the step."""
    steps = round(MECHANISMS[name].steps * PART.get(integrator, 1.0))
    errors = [error_of(name, steps * k, integrator) for k in (1, 2)]
    assert measured_order(errors) > ORDERS[integrator] - MISSING.get(integrator, 0.5), errors


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_default_is_of_second_order_on_closed_chains(name, make):
    how = {"tolerance": 0.0} if make is lw.AdaptiveDynamics else {}
    steps = MECHANISMS[name].steps
    errors = [error_of(name, steps * k, make=make, **how) for k in (1, 2)]
    assert measured_order(errors) > 1.5, errors
    by_euler = error_of(name, 2 * steps, "semi_implicit_euler", make, **how)
    assert errors[1] < 0.25 * by_euler


def driven(h, duration, integrator="auto", **how):
    """The slider-crank after so many seconds: error of the crank's angle [rad], and energy less the torque's work [J]."""
    mechanism = SliderCrank()
    mechanism.duration = duration
    model, state, efforts = mechanism.start()
    sim = lw.FullDynamics(model, state, integrator=integrator, **how)
    sim.set_effort("crank", efforts["crank"])
    start = sim.energy.total
    sim.step(h, round(duration / h))
    angle = mechanism.read(model, sim.state)[0]
    return angle - mechanism.reference()[0], sim.energy.total - start - efforts["crank"] * angle, sim.energy.kinetic


def test_a_driven_slider_crank_takes_the_work_of_its_torque():
    """122 rad in three seconds. Steps that change rules on the way, or that give back energy which they only seem to have
    made, end whole radians and joules off, and further off in shorter steps."""
    before = math.inf
    for h, allowed in ((1e-3, 0.4), (2e-4, 0.04), (1e-4, 4e-3)):
        error, made, kinetic = driven(h, 3.0)
        assert abs(error) < min(allowed, before)
        assert abs(made) < 2e-3 * kinetic  # 1e-3 may be owed before speeds are put right
        before = abs(error)


@pytest.mark.parametrize("integrator", [kind for kind in ORDERS if kind != "variational"])
def test_other_integrators_come_closer_in_shorter_steps(integrator):
    """Euler's rule, of order one, makes a tenth of the energy of such fast links by itself."""
    length, part = (2e-4, 0.3) if ORDERS[integrator] == 1 else (1e-3, 0.01)
    (error, made, kinetic), (other, _, _) = (driven(h, 2.0, integrator) for h in (length, length / 4))
    assert abs(made) < part * kinetic
    assert abs(other) < max(0.5 * abs(error), 1e-6)


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_energy_beyond_the_work_of_efforts_is_told(make):
    """By Euler's rule at 0.1 ms; the default has none to tell of."""
    model, state, efforts = SliderCrank().start()
    for integrator, told in (("semi_implicit_euler", 1), ("auto", 0)):
        sim = make(model, state, integrator=integrator)
        sim.set_effort("crank", efforts["crank"])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for _ in range(30):
                sim.step(1e-4, 1000)
                sim.advance(1e-4, 2)  # the watch begins anew where nobody counted what was done
        assert [str(w.message).startswith("energy grows without a source") for w in warned] == [True] * told


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_driven_slider_that_is_stopped_by_a_wall_presses_by_virtual_work(make):
    mechanism = SliderCrank()
    mechanism.wall = 0.33
    model, state, efforts = mechanism.start()
    sim = make(model, state, contact=lw.Contact())
    sim.set_effort("crank", efforts["crank"])
    sim.step(1e-3, 1500)
    angle = mechanism.read(model, sim.state)[0]
    assert 0.5 < angle < 2.0
    assert abs(mechanism.read(model, sim.state)[1]) < 1e-6
    sine = mechanism.r * np.sin(angle) / mechanism.length
    way = -mechanism.r * np.sin(angle) - mechanism.r * np.cos(angle) * sine / np.sqrt(1.0 - sine * sine)  # dx / dθ
    assert sum(x.force[0] for x in sim.contacts) == pytest.approx(-mechanism.torque / way, rel=1e-4)


def test_explicit_steps_are_judged_with_loops_closed():
    """Cut open, the struts of the governor would carry nothing and ring ten times as fast."""
    model, state, _ = MECHANISMS[STIFF].start()
    for h, too_long in ((1e-4, False), (1e-3, True)):
        sim = lw.FullDynamics(model, state, integrator="rk4")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with contextlib.suppress(lw.LinkworkError):
                sim.step(h, round(MECHANISMS[STIFF].duration / h) if not too_long else 1)
        assert [("unstable above" in str(w.message)) for w in warned] == [True] * too_long
        if not too_long:
            assert np.abs(MECHANISMS[STIFF].read(model, sim.state) - reference(STIFF)).max() < 1e-9
