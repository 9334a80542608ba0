"""Closed chains with textbook solutions: four-bar, slider-crank, parallelogram, Bricard's linkage, a large ring."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853
from tests.helpers.rounding import rounding

import linkwork as lw

GRAVITY = 9.81
Z = lw.Revolute((0, 0, 1))


def bar(length: float, mass: float) -> lw.Inertia:
    """A thin bar along x from its joint; thickness makes its inertia invertible and does nothing in the plane."""
    return lw.Inertia.box(mass, (length, 0.02, 0.02)).at(lw.Pose((0.5 * length, 0, 0)))


def turning(length: float, mass: float) -> float:
    """Moment of such a bar about z through its centre [kg·m²]."""
    return mass * (length**2 + 0.02**2) / 12.0


class FourBar:
    """Ground g, crank a, coupler b, rocker c; positions and energies in closed form."""

    g, a, b, c = 1.0, 0.35, 0.9, 0.7
    masses = (0.7, 1.1, 0.9)

    def linkage(self, joint: lw.Joint = Z) -> lw.Linkage:
        linkage = lw.Linkage("four_bar", gravity=(0, -GRAVITY, 0))
        linkage.add_body("crank", "world", Z, inertia=bar(self.a, self.masses[0]))
        linkage.add_body("coupler", "crank", Z, lw.Pose((self.a, 0, 0)), bar(self.b, self.masses[1]))
        linkage.add_body("rocker", "world", Z, lw.Pose((self.g, 0, 0)), bar(self.c, self.masses[2]))
        linkage.add_loop(joint, "coupler", "rocker", (lw.Pose((self.b, 0, 0)), lw.Pose((self.c, 0, 0))), name="pin")
        return linkage

    def angles(self, theta):
        """Directions of coupler and rocker, by the triangle over the diagonal; the open branch."""
        x, y = self.g - self.a * np.cos(theta), -self.a * np.sin(theta)  # from the crank's pin to the rocker's foot
        d = np.hypot(x, y)
        coupler = np.arctan2(y, x) + np.arccos((self.b**2 + d**2 - self.c**2) / (2 * self.b * d))
        rocker = np.arctan2(
            self.a * np.sin(theta) + self.b * np.sin(coupler),
            self.a * np.cos(theta) + self.b * np.cos(coupler) - self.g,
        )
        return coupler, rocker

    def joints(self, theta):
        coupler, rocker = self.angles(theta)
        return np.array([theta, coupler - theta, rocker])

    def bars(self, theta):
        """Centre and direction of each bar, with its length and mass."""
        coupler, rocker = self.angles(theta)
        crank = self.a * np.array([np.cos(theta), np.sin(theta)])
        half = [0.5 * length * np.array([np.cos(angle), np.sin(angle)])
                for length, angle in ((self.a, theta), (self.b, coupler), (self.c, rocker))]  # fmt: skip
        centres = [half[0], crank + half[1], np.array([self.g, 0.0]) + half[2]]
        return list(zip(centres, (theta, coupler, rocker), (self.a, self.b, self.c), self.masses, strict=True))


class SliderCrank:
    """Crank r on the world, a rod, a slider on the x axis."""

    r, rod = 0.3, 0.8
    masses = (0.7, 1.1, 0.4)

    def linkage(self) -> lw.Linkage:
        linkage = lw.Linkage("slider_crank", gravity=(0, -GRAVITY, 0))
        linkage.add_body("crank", "world", Z, inertia=bar(self.r, self.masses[0]))
        linkage.add_body("rod", "crank", Z, lw.Pose((self.r, 0, 0)), bar(self.rod, self.masses[1]))
        linkage.add_body("slider", "world", lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(self.masses[2], (0.1,) * 3))
        linkage.add_loop(Z, "rod", "slider", (lw.Pose((self.rod, 0, 0)), lw.Pose()), name="wrist")
        return linkage

    def angles(self, theta):
        return np.arcsin(-self.r * np.sin(theta) / self.rod), self.r * np.cos(theta) + np.sqrt(
            self.rod**2 - (self.r * np.sin(theta)) ** 2
        )

    def joints(self, theta):
        rod, x = self.angles(theta)
        return np.array([theta, rod - theta, x])

    def bars(self, theta):
        rod, x = self.angles(theta)
        pin = self.r * np.array([np.cos(theta), np.sin(theta)])
        return [
            (0.5 * pin, theta, self.r, self.masses[0]),
            (pin + 0.5 * self.rod * np.array([np.cos(rod), np.sin(rod)]), rod, self.rod, self.masses[1]),
            (np.array([x, 0.0]), 0.0, 0.0, self.masses[2]),
        ]


MECHANISMS = {"four_bar": FourBar(), "slider_crank": SliderCrank()}


@pytest.fixture(params=MECHANISMS.values(), ids=MECHANISMS.keys())
def mechanism(request):
    return request.param


def crank_acceleration(mechanism, theta, speed, derivative, torque=0.0):
    """I θ̈ + ½ I' θ̇² + U' = torque, with I and U of all bars as functions of the crank's angle."""

    def rates(t):
        flat = derivative(lambda h: np.array([(*c, angle) for c, angle, _, _ in mechanism.bars(t + h)]), h=1e-3)
        return [(row, length, mass) for row, (_, _, length, mass) in zip(flat, mechanism.bars(t), strict=True)]

    def inertia(t):
        return sum(m * (x**2 + y**2) + turning(length, m) * w**2 for (x, y, w), length, m in rates(t))

    def potential(t):
        return sum(GRAVITY * m * centre[1] for centre, _, _, m in mechanism.bars(t))

    slope = derivative(lambda h: inertia(theta + h), h=1e-2)
    pull = derivative(lambda h: potential(theta + h), h=1e-3)
    return (torque - pull - 0.5 * slope * speed**2) / inertia(theta)


@pytest.mark.parametrize("theta", [0.4, 1.9, 3.4, 5.5])
def test_one_degree_of_freedom_mechanisms(mechanism, theta, derivative):
    model = mechanism.linkage().compile()
    speed, torque = 1.7, 0.8
    q = mechanism.joints(theta)
    v = speed * derivative(lambda h: mechanism.joints(theta + h))
    solution = lw.constrained_dynamics(model, lw.State(q, v), effort=[torque, 0.0, 0.0])
    expected = crank_acceleration(mechanism, theta, speed, derivative, torque)
    # Derivatives of derivatives by differences: rounding 1e-12 / 1e-2 and truncation (1e-2)⁴ f⁗/30 leave 1e-8.
    assert solution.acceleration[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    # The other joints follow: their accelerations are those of the closed form's coordinates.
    second = derivative(lambda h: derivative(lambda k: mechanism.joints(theta + h + k)), h=1e-2)
    first = derivative(lambda h: mechanism.joints(theta + h))
    follow = first * solution.acceleration[0] + second * speed**2
    assert solution.acceleration == pytest.approx(follow, rel=1e-6, abs=1e-6)
    assert solution.gap < 1e-12  # the closed form closes the loop
    assert solution.residual < 1e-10  # rounding of accelerations of order ten


def test_planar_loops_in_space_have_three_redundant_constraints(mechanism, derivative):
    """A hinge constrains five directions, a plane mechanism needs two of them."""
    model = mechanism.linkage().compile()
    v = derivative(lambda h: mechanism.joints(1.0 + h))
    solution = lw.constrained_dynamics(model, lw.State(mechanism.joints(1.0), v))
    assert solution.redundant == 3
    assert "3 of 5 loop constraints are redundant" in solution.message
    n, f = solution.reactions[0, :3], solution.reactions[0, 3:]
    # Minimal norm: nothing in the directions that do not matter, a force in the plane alone.
    assert np.abs([*n, f[2]]).max() < 1e-10 * np.abs(f).max()


@pytest.mark.parametrize(
    ("joint", "redundant"),
    [(lw.Spherical(), 1), (lw.Cylindrical((0, 0, 1)), 2), (lw.Universal((0, 0, 1), (1, 0, 0)), 2)],
    ids=["spherical", "cylindrical", "universal"],
)
def test_other_pins_move_the_plane_mechanism_the_same(joint, redundant, derivative):
    mechanism = FourBar()
    v = derivative(lambda h: mechanism.joints(1.0 + h))
    state = lw.State(mechanism.joints(1.0), v)
    hinge = lw.constrained_dynamics(mechanism.linkage().compile(), state)
    other = lw.constrained_dynamics(mechanism.linkage(joint).compile(), state)
    assert other.redundant == redundant
    assert other.acceleration == pytest.approx(hinge.acceleration, rel=1e-11)  # two solves of the same equations


def test_the_crank_pin_force_is_newtons(derivative):
    """Static: a slider-crank held by a torque carries the textbook force F = T / (r sin(θ + φ) / cos φ) in its wrist."""
    mechanism = SliderCrank()
    light = [(name, body) for name, body in zip(("crank", "rod", "slider"), mechanism.linkage(), strict=True)]
    linkage = lw.Linkage("press", gravity=(0, 0, 0))
    for name, body in light:
        linkage.add_body(name, body.parent, body.joint, body.placement, body.inertia)
    linkage.add_loop(Z, "rod", "slider", (lw.Pose((mechanism.rod, 0, 0)), lw.Pose()), name="wrist")
    model, theta, load = linkage.compile(), 0.9, 100.0
    q = mechanism.joints(theta)
    phi = -(q[0] + q[1])  # the rod's angle below the axis
    torque = -load * mechanism.r * np.sin(theta + phi) / np.cos(phi)
    wrenches = np.zeros((3, 6))
    wrenches[2, 3] = load  # pulls the slider outwards
    solution = lw.constrained_dynamics(model, lw.State(q, np.zeros(3)), [-torque, 0.0, 0.0], wrenches)
    assert np.abs(solution.acceleration).max() < 1e-9 * load  # it balances: accelerations would be of order load / mass
    along = np.array([np.cos(phi), -np.sin(phi)])
    assert solution.reactions[0, 3:5] == pytest.approx(-load / np.cos(phi) * along, rel=1e-10)


# -------------------------------------------------------------------------------------------------------------- long runs


def run(model, state, duration, interval=0.1):
    """Order eight between projections: the loop drifts by some 1e-11 in an interval and is closed at its end."""
    nq = model.nq
    seen = [state]

    def field(_, y):
        return np.concatenate([y[nq:], lw.constrained_dynamics(model, lw.State(y[:nq], y[nq:])).acceleration])

    for _ in range(round(duration / interval)):
        now = seen[-1]
        solver = DOP853(field, 0.0, np.concatenate(now), interval, rtol=1e-9, atol=1e-11, first_step=0.2 * interval)
        while solver.status == "running":
            solver.step()
        seen.append(lw.close_loops(model, lw.State(solver.y[:nq], solver.y[nq:])))
    return seen


def test_energy_stays_for_ten_seconds(mechanism, derivative):
    model = mechanism.linkage().compile()
    v = 9.0 * derivative(lambda h: mechanism.joints(0.3 + h))  # fast enough to go round
    seen = run(model, lw.State(mechanism.joints(0.3), v), duration=10.0)
    energies = np.array([lw.energy(model, state).total for state in seen])
    kinetic = np.array([lw.energy(model, state).kinetic for state in seen])
    assert np.ptp(kinetic) > 0.2 * kinetic.max()  # it exchanges energy
    assert np.ptp([state.q[0] for state in seen]) > 2 * np.pi  # and goes round
    assert np.abs(energies - energies[0]).max() < 1e-6 * kinetic.max()
    closed = 1e-10  # what close_loops may leave, and its rounding
    assert max(lw.loop_gaps(model, state).worst_gap for state in seen[::10]) < 1.1 * closed


def test_baumgarte_closes_what_is_open():
    """With rate r a gap g₀ dies out like g₀ (1 + r t) exp(-r t): critically damped."""
    mechanism, rate, h, steps = FourBar(), 40.0, 2.5e-3, 40
    model = mechanism.linkage().compile()
    state = model.state(mechanism.joints(1.0) + np.array([0.0, 3e-5, 0.0]))
    start = lw.loop_gaps(model, state).worst_gap
    assert start > 1e-5

    def field(y):
        return np.concatenate([y[3:], lw.constrained_dynamics(model, lw.State(y[:3], y[3:]), rate=rate).acceleration])

    y = np.concatenate(state)
    for _ in range(steps):  # Runge and Kutta's method of order four: (h rate)⁴ = 1e-4 of what decays
        k1 = field(y)
        k2 = field(y + 0.5 * h * k1)
        k3 = field(y + 0.5 * h * k2)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + field(y + h * k3))
    expected = (1.0 + rate * h * steps) * np.exp(-rate * h * steps)
    assert lw.loop_gaps(model, lw.State(y[:3], y[3:])).worst_gap == pytest.approx(expected * start, rel=0.05)


# ---------------------------------------------------------------------------------------------------------- other shapes


def bricard() -> lw.Linkage:
    """Six equal links with hinges at right angles to their neighbours: rigid by counting, yet it moves (Bricard 1927).

    Denavit-Hartenberg: a = 1, d = 0, twists ±90° in turn; the sixth link is the ground.
    """
    linkage = lw.Linkage("bricard", gravity=(0, 0, 0))
    onward = [lw.Pose((1.0, 0, 0), rpy=(sign * 0.5 * np.pi, 0, 0)) for sign in (1, -1)]
    solid = lw.Inertia.box(1.0, (1.0, 0.1, 0.2)).at(lw.Pose((0.5, 0, 0)))
    for k in range(5):
        parent, place = (f"link_{k - 1}", onward[(k - 1) % 2]) if k else ("world", lw.Pose())
        linkage.add_body(f"link_{k}", parent, Z, place, solid)
    linkage.add_loop(Z, "link_4", "world", (onward[0], onward[1].inverse()), name="sixth")
    return linkage


def bricard_angles(cosine: float) -> np.ndarray:
    """cos θ₁ cos θ₂ + cos θ₁ + cos θ₂ = 0, hinges 1, 3, 5 and 2, 4, 6 alike: one shape of the family for each θ₁."""
    odd, even = np.arccos(cosine), np.arccos(-cosine / (1.0 + cosine))
    return np.array([odd, even, odd, even, odd])


def test_bricards_linkage_moves_with_a_redundant_constraint(derivative):
    model = bricard().compile()
    q = bricard_angles(-0.2)
    v = derivative(lambda h: bricard_angles(-0.2 + h))
    gaps = lw.loop_gaps(model, lw.State(q, v))
    assert gaps.worst_gap < rounding(scale=6.0)  # once round six bars of unit length
    assert gaps.worst_slip < 1e-9  # a derivative by differences: h⁴ f⁽⁵⁾/30 at h = 1e-3
    assert gaps.redundant == 1
    effort = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    solution = lw.constrained_dynamics(model, lw.State(q, v), effort)
    assert solution.redundant == 1
    assert "1 of 5" in solution.message
    # The motion stays in the family: v' and q̈ are a multiple of the tangent and the curvature of the curve of shapes.
    second = derivative(lambda h: derivative(lambda k: bricard_angles(-0.2 + h + k)), h=3e-3)
    along = (solution.acceleration - second) @ v / (v @ v)
    assert solution.acceleration == pytest.approx(
        second + along * v, abs=1e-6
    )  # second differences at h = 3e-3 leave 1e-7
    # and power goes where it should: effort · v = d(kinetic energy)/dt
    qdd = solution.acceleration
    kinetic = derivative(
        lambda h: lw.energy(model, lw.State(q + h * v + 0.5 * h * h * qdd, v + h * qdd)).kinetic, h=1e-4
    )
    assert kinetic == pytest.approx(effort @ v, rel=1e-8)


def test_bricards_linkage_closes_from_nearby(rng):
    """Newton on a redundant loop: the constraint that repeats the others must not spoil the steps."""
    model = bricard().compile()
    state = lw.close_loops(
        model, model.state(bricard_angles(-0.2) + 0.05 * rng.normal(size=5), 0.1 * rng.normal(size=5))
    )
    gaps = lw.loop_gaps(model, state)
    assert gaps.worst_gap < 1e-10
    assert gaps.worst_slip < 1e-10


def ring(links: int) -> lw.Linkage:
    """A chain of equal bars, hinged about y and z in turn, whose ends meet by a ball joint."""
    linkage = lw.Linkage("ring", gravity=(0, 0, 0))
    parent, joint, length = "world", lw.Free(), 0.1
    for k in range(links):
        place = lw.Pose((length, 0, 0)) if k else lw.Pose()
        linkage.add_body(f"link_{k}", parent, joint, place, bar(length, 0.05))
        parent, joint = f"link_{k}", lw.Revolute((0, 0, 1) if k % 2 else (0, 1, 0))
    linkage.add_loop(lw.Spherical(), f"link_{links - 1}", "link_0", (lw.Pose((length, 0, 0)), lw.Pose()), name="clasp")
    return linkage


def circle(model, links):
    """Coordinates of the regular polygon: every z hinge turns by two of its angles (y hinges stay)."""
    q = model.neutral().q
    for k in range(1, links):
        if k % 2 == 0:
            q[6 + k] = 4.0 * np.pi / links
    return q


def test_a_ring_of_a_thousand_links(rng):
    links = 1000
    model = ring(links).compile()
    start = lw.State(
        circle(model, links), np.concatenate([0.1 * rng.normal(size=6), 0.05 * rng.normal(size=links - 1)])
    )
    state = lw.close_loops(model, start)
    gaps = lw.loop_gaps(model, state)
    assert gaps.worst_gap < 1e-10
    assert gaps.worst_slip < 1e-10
    assert gaps.redundant == 0
    effort = 1e-4 * rng.normal(size=model.nv)
    solution = lw.constrained_dynamics(model, state, effort)
    # every body's equation of motion, the clasp's force included
    undone = lw.inverse_dynamics(model.without_loops, state, solution.acceleration, solution.wrenches)
    assert undone == pytest.approx(effort, abs=1e-10 * np.abs(solution.wrenches).max())
    # The clasp stays closed: the gap along the motion has no second derivative. Two differences take away the fourth.
    scale = np.abs(solution.acceleration).max()

    def bend(h):
        moved = [state.v * t + 0.5 * solution.acceleration * t * t for t in (h, -h)]
        states = [lw.State(model.integrate(state.q, step), state.v) for step in moved]
        return (sum(lw.loop_gaps(model, one).gap for one in states) - 2.0 * gaps.gap) / h**2

    h = 1e-3 / np.sqrt(scale)  # rounding 1e-14 / h² is 1e-8 of the scale
    assert np.abs(4.0 * bend(h / 2) - bend(h)).max() / 3.0 < 1e-5 * scale


def test_a_ring_is_assembled_from_an_open_start(rng):
    """Sixty links whose ends are a metre apart find together."""
    links = 60
    model = ring(links).compile()
    q = 0.8 * circle(model, links)  # a fifth of the circle is missing
    q[:7] = model.neutral().q[:7]
    open_state = model.state(q)
    assert lw.loop_gaps(model, open_state).worst_gap > 0.5
    assert lw.loop_gaps(model, lw.close_loops(model, open_state)).worst_gap < 1e-10
