"""Contact and joint limits in a step of semi-implicit Euler, backwards, with the sets that the step found.

Impulses λ of the contacts and limits that press act as wrenches λ / h; v₁ = v + h q̈ is linear in them. With u = J v₁ the
velocities at the contacts, b what the law adds (docs/theory/contact.md, 17) and û the direction of sliding, they solve

    sticks  u_n + b = 0, u_t = 0       slides  u_n + b = 0, λ_t + μ λ_n û = 0       limit  ± v₁ + b = 0

r(u, λ) = 0, so that with weights g on λ  (∂r/∂λ + ∂r/∂u J M⁻¹ Jᵀ)ᵀ y = g, and all other gradients are those of -y · r.
Which of these a contact does, and that others do nothing, is held. Normals and points move with the bodies (`normals`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.contact import contact_list as cl
from linkwork.contact import points as cp
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.derivatives.kinematics import Moving
from linkwork.derivatives.stepping.euler import ByContact, EulerStep
from linkwork.derivatives.stepping.step_gradients import Seen
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.backward.closing import Closing
from linkwork.simulation.backward.half_way import HalfWay, turns_fast
from linkwork.simulation.backward.normals import ContactPoint, Shapes
from linkwork.simulation.contact_choice import has_limited_motors

SLIDES = cp.STATES.index("sliding")
MISSED = 1e-3  # part of the speeds by which the law may be missed: solvers end at 1e-4 of the speeds that met
SLOW = 0.1  # part of the speed of sliding that counts where friction points another way
NONE = 1e-3  # of what bodies at rest keep apart
SMALL_PART = 1e-10  # of the largest singular value: contacts that hold the same motion twice share their impulses


class Found(NamedTuple):
    """What pressed in a step: contacts, one row each, and limits."""

    bodies: IntArray  # (m, 2) a, b; -1: the world
    point: FloatArray  # (m, 3) in the world
    axes: FloatArray  # (m, 3, 3) normal and two tangents, rows
    gap: FloatArray  # (m,) less what bodies keep apart
    distance: FloatArray  # (m,) from a to b
    shapes: Shapes
    impulse: FloatArray  # (m, 3) along the axes
    friction: FloatArray  # (m,)
    slides: NDArray[np.bool_]  # (m,)
    other_law: NDArray[np.bool_]  # (m,) friction that slides with a direction, or a patch that rolls and spins
    limits: IntArray  # (l,) freedoms at a limit
    sign: FloatArray  # (l,) 1: lower, -1: upper
    limit_impulse: FloatArray  # (l,)
    none: float  # [m] gaps that count as none: that of a body at rest is zero but for rounding
    span: float  # [s] of the step that they acted in; 0: none
    met: bool  # whether anything was near enough to be asked for impulses


class ContactStep(EulerStep):
    """The map of one step of h [s] by "semi_implicit_euler", with contact and limits of joints."""

    def __init__(self, sim: Any, h: float):
        super().__init__(sim, h)
        self.can_touch = sim.contact is not None or sim.limits
        self.lower, self.upper = self.model.lower, self.model.upper
        are_driven = bool(np.asarray(sim.checkpoint()["motor"]).any())
        # where motors have limits they are judged together with contacts, and no step is taken half way
        self.takes_half = not (are_driven and sim.implicit_joints and has_limited_motors(self.model))
        if self.model.loops:
            self.closing = Closing(self.model)

    @property
    def has_matrices(self) -> bool:
        return super().has_matrices and not self.can_touch and self.closing is None

    def remember(self, sim: Any) -> Found | None:
        """What pressed in the last step."""
        state = sim.view.contact
        return None if state is None else pressed(state)

    def contact_impulses(self, before: State, after: State, seen: Seen) -> _ContactImpulses | None:
        found: Found | None = seen[1]
        if found is None or not found.met:
            return None
        if not (found.impulse.size or found.limits.size):
            near = _ContactImpulses(self, before, after, found)  # what does not press: bodies may still turn half way
            return near if self.takes_half and turns_fast(near.at.twists, self.h) else None
        if not abs(found.span - self.h) <= 1e-9 * self.h:
            raise StateError(
                f"a step of {self.h:g} s was made in parts, since bodies met within it; such steps have no gradients. Take "
                "shorter steps."
            )
        if found.other_law.any():
            body = self.model.body_names[found.bodies[found.other_law, 0][0]]
            raise StateError(
                f"'{body}' touches with friction that knows a direction, or rolls on a patch; steps with such friction "
                "have no gradients. Give the shapes a friction that is a number."
            )
        return _ContactImpulses(self, before, after, found)


def pressed(state: Any) -> Found:
    """What pressed in the last step, from the contact of a simulation; bodies and freedoms are those of its model."""
    from linkwork.simulation.contact_step import arrays as ca  # not before there is contact

    rows = state.rows()
    press = rows.ids[: state.contacts.number[cl.COUNT], cp.STATE] > 0  # behind these stand contacts that have parted
    rows = rows._replace(ids=rows.ids[: press.size], numbers=rows.numbers[: press.size])
    ids, data = state.contacts.ids[: press.size][press], state.contacts.data[: press.size][press]
    normal = data[:, cl.NORMAL : cl.NORMAL + 3].copy()
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal), axis=1)])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    axes = np.stack([normal, first, np.cross(normal, first)], axis=1)
    pair = ids[:, [cl.SHAPE_A, cl.SHAPE_B]]
    shapes = Shapes(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2, 3)), np.zeros((0, 2, 12)))
    if state.finder is not None:
        table = state.finder.table
        shapes = Shapes(table.kind[pair], table.size[pair], table.pose[pair])
    slides = rows.ids[press, cp.STATE] == SLIDES
    limit_impulse, slack = state.arrays.limit_impulse, float(state.arrays.settings[ca.SLACK])
    freedom, side = np.nonzero(limit_impulse > 0.0)
    return Found(
        ids[:, : cl.BODY_B + 1].copy(),
        data[:, cl.POINT : cl.POINT + 3].copy(),
        axes,
        data[:, cl.GAP] - slack,
        data[:, cl.GAP].copy(),
        shapes,
        np.einsum("cij,cj->ci", axes, rows.numbers[press, cp.IMPULSE : cp.IMPULSE + 3]),
        data[:, cl.FRICTION].copy(),
        slides,
        (data[:, cl.PATCH] > 0.0) | (slides & (data[:, cl.DIRECTED] != cl.ISOTROPIC)),
        freedom,
        np.where(side == 0, 1.0, -1.0),
        limit_impulse[freedom, side],
        NONE * slack,
        float(state.arrays.balance[ca.LAST_PART]),
        bool(state.arrays.balance[ca.HAD_CONTACT] != 0.0),
    )


class _Side(NamedTuple):
    """The bodies of some contacts: which contacts, which bodies, and the sign with which they count."""

    rows: IntArray
    body: IntArray
    sign: float


class _ContactImpulses:
    """Impulses of a step as wrenches and efforts, and the way back through the laws that they obey."""

    def __init__(self, step: ContactStep, before: State, after: State, found: Found):
        self.step, self.before, self.after, self.found, self.h = step, before, after, found, step.h
        self.model: Model = step.model
        self.at = Moving(self.model, before)
        self.sides = [
            _Side(np.flatnonzero(found.bodies[:, k] >= 0), found.bodies[found.bodies[:, k] >= 0, k], sign)
            for k, sign in ((0, 1.0), (1, -1.0))
        ]
        self.count = 3 * found.impulse.shape[0] + found.limits.size
        force = np.einsum("cij,ci->cj", found.axes, found.impulse) / self.h
        self.force = force
        self.wrenches = self.on_bodies(force)
        frames = self.at.R, self.at.p
        self.points = [
            ContactPoint(pair, found.shapes, k, (found.point[k], found.axes[k, 0], found.distance[k]), frames)
            for k, pair in enumerate(found.bodies)
        ]
        self.efforts = np.zeros(self.model.nv)
        np.add.at(self.efforts, found.limits, found.sign * found.limit_impulse / self.h)

    def half_way(self, total: FloatArray, wrenches: FloatArray | None) -> HalfWay | None:
        if not (self.step.takes_half and turns_fast(self.at.twists, self.h)):
            return None
        of_contact = self.efforts, self.wrenches
        return HalfWay(self.step.laws.stepped, self.before, self.h, (total, wrenches), of_contact)

    # ------------------------------------------------------------------------------------------------ contacts and bodies

    def on_bodies(self, force: FloatArray) -> FloatArray:
        """Forces at the contacts, in the world, (m, 3), as wrenches on the bodies in their frames, (n, 6)."""
        out = np.zeros((self.model.n_bodies, 6))
        for rows, body, sign in self.sides:
            R = self.at.R[body]
            f = sign * np.einsum("nji,nj->ni", R, force[rows])
            arm = np.einsum("nji,nj->ni", R, self.found.point[rows] - self.at.p[body])
            np.add.at(out, body, np.hstack([np.cross(arm, f), f]))
        return out

    def at_contacts(self, twists: FloatArray) -> FloatArray:
        """Velocities of a less those of b at the contacts, in the world, (m, 3), from twists of the bodies, (n, 6)."""
        out = np.zeros((self.found.impulse.shape[0], 3))
        for rows, body, sign in self.sides:
            w, v = self._world(twists, body)
            out[rows] += sign * (v + np.cross(w, self.found.point[rows] - self.at.p[body]))
        return out

    def _world(self, twists: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        R = self.at.R[body]
        return np.einsum("nij,nj->ni", R, twists[body, :3]), np.einsum("nij,nj->ni", R, twists[body, 3:])

    def rows(self, twists: FloatArray, freedoms: FloatArray) -> FloatArray:
        """u of all rows: contacts along their axes, then limits."""
        along = np.einsum("cij,cj->ci", self.found.axes, self.at_contacts(twists)).ravel()
        return np.concatenate([along, self.found.sign * freedoms[self.found.limits]])

    def pushes(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights on the rows as forces at the contacts, in the world, and as efforts of the joints."""
        m = self.found.impulse.shape[0]
        force = np.einsum("cij,ci->cj", self.found.axes, weights[: 3 * m].reshape(m, 3))
        efforts = np.zeros(self.model.nv)
        np.add.at(efforts, self.found.limits, self.found.sign * weights[3 * m :])
        return force, efforts

    def turned(self, force: FloatArray, twists: FloatArray, out: FloatArray) -> None:
        """Adds to `out` (n, 6) what moving the bodies does to force · (velocities at the contacts), twists held in them.

        Forces turn with the normals.
        """
        found, p, R = self.found, self.at.p, self.at.R
        drag = np.zeros_like(force)  # what moving the point does
        for rows, body, sign in self.sides:
            w, v = self._world(twists, body)
            d = sign * force[rows]
            turning = np.cross(v, d) + np.cross(w, np.cross(found.point[rows] - p[body], d))
            pull = np.cross(d, w)
            drag[rows] += pull
            self._add(out, body, R[body], turning, -pull)
        velocity, normal = self.at_contacts(twists), found.axes[:, 0]
        by_normal = _dots(normal, force) * velocity - _dots(normal, velocity) * force
        for point, turn, pull in zip(self.points, by_normal, drag, strict=True):
            point.back(turn, pull, _OnBodies(self, point.bodies, out))

    @staticmethod
    def _add(out: FloatArray, body: IntArray, R: FloatArray, turning: FloatArray, moving: FloatArray) -> None:
        np.add.at(out[:, :3], body, np.einsum("nji,nj->ni", R, turning))
        np.add.at(out[:, 3:], body, np.einsum("nji,nj->ni", R, moving))

    # ----------------------------------------------------------------------------------------------------------- the laws

    def back(self, v: FloatArray, by_wrenches: FloatArray, by_efforts: FloatArray, pull: Any) -> ByContact:
        h, m = self.h, self.found.impulse.shape[0]
        if not self.count:
            none = np.zeros(self.model.nv)
            return ByContact(none, none, none)
        then = Moving(self.model, State(self.before.q, v))
        u, before = self.rows(then.twists, v), self.rows(self.at.twists, self.before.v)
        by_u, by_impulse = self._laws(u)
        responses = np.empty((self.count, self.count))
        for k, unit in enumerate(np.eye(self.count)):
            force, efforts = self.pushes(unit)
            _, row = self.at.back(None, self.on_bodies(force))
            solved = pull(row + efforts)
            responses[:, k] = self.rows(solved.wrenches, solved.effort)
        given = responses @ np.concatenate([self.found.impulse.ravel(), self.found.limit_impulse])
        bias = self._biases(u, before, float(np.abs(given).max()))
        g = self.rows(by_wrenches, by_efforts) / h
        A = by_impulse + by_u @ responses
        y = np.linalg.lstsq(A.T, g, rcond=SMALL_PART)[0]
        by_bias = np.zeros(self.count)
        normal = np.concatenate([3 * np.arange(m), np.arange(3 * m, self.count)])
        by_bias[normal] = -y[normal]
        # weights on u, on the gaps, and on u before the step where something bounces
        force, faster = self.pushes(-by_u.T @ y)
        poses = np.zeros((self.model.n_bodies, 6))
        self.turned(force, then.twists, poses)
        q, more = then.back(poses, self.on_bodies(force))
        poses = np.zeros((self.model.n_bodies, 6))
        gap, at_limits = self.pushes(np.where(bias.apart, by_bias / h, 0.0))
        poses += self.on_bodies(gap)
        bounce, slower = self.pushes(by_bias * bias.restitution)
        self.turned(bounce, self.at.twists, poses)
        more_q, before_v = self.at.back(poses, self.on_bodies(bounce))
        return ByContact(q + more_q + at_limits, before_v + slower, faster + more)

    def carried_back(self, by_wrenches: FloatArray) -> FloatArray:
        poses = np.zeros((self.model.n_bodies, 6))
        self.turned(self.force, by_wrenches, poses)
        return self.at.back(poses, None)[0]

    def _biases(self, u: FloatArray, before: FloatArray, given: float) -> _Biases:
        """What each row adds to u: its gap over h, part of what it closed with, or nothing; refuses all else.

        given: speed that impulses gave at the contacts; in bodies at rest there is no other.
        """
        found, m = self.found, self.found.impulse.shape[0]
        speed = max(np.abs(u).max(), np.abs(before).max(), np.abs(self.after.v).max(), given, 1e-12)
        q = self.before.q[self.step.laws.of_v[found.limits]]
        room = np.where(found.sign > 0.0, q - self.step.lower[found.limits], self.step.upper[found.limits] - q)
        gap = np.zeros(self.count)
        gap[: 3 * m : 3], gap[3 * m :] = found.gap, room
        is_normal = np.ones(self.count, dtype=bool)
        is_normal[1 : 3 * m : 3] = is_normal[2 : 3 * m : 3] = False
        apart = is_normal & (gap > found.none) & (np.abs(u + gap / self.h) <= MISSED * speed)
        closes = is_normal & ~apart & (before < 0.0) & (u > MISSED * speed)
        restitution = np.where(closes, -u / np.where(closes, before, 1.0), 0.0)
        settled = is_normal & ~apart & ~closes
        left = np.abs(np.where(settled, u, 0.0))
        for c in np.flatnonzero(~found.slides):
            left[3 * c + 1 : 3 * c + 3] = np.abs(u[3 * c + 1 : 3 * c + 3])
        for c in np.flatnonzero(found.slides):
            k = slice(3 * c + 1, 3 * c + 3)
            size, push = float(np.linalg.norm(u[k])), found.friction[c] * found.impulse[c, 0]
            if size > MISSED * speed and push > 0.0:  # along the way it slides, and as large as friction allows
                left[k] = SLOW * size * np.abs(found.impulse[c, 1:] / push + u[k] / size)
        if not left.max() <= MISSED * speed:
            raise StateError(
                f"a step of {self.h:g} s does not obey the laws of its contacts by itself (bodies turn fast in it, energy "
                "was taken back, or it was not solved); such steps have no gradients. Take shorter steps."
            )
        return _Biases(apart, restitution)

    def _laws(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """∂r/∂u and ∂r/∂λ."""
        found = self.found
        by_u, by_impulse = np.eye(self.count), np.zeros((self.count, self.count))
        for c in np.flatnonzero(found.slides):
            k = slice(3 * c + 1, 3 * c + 3)
            size = float(np.linalg.norm(u[k]))
            way = u[k] / size if size > 0.0 else np.zeros(2)
            push, friction = found.impulse[c, 0], found.friction[c]
            turn = (np.eye(2) - np.outer(way, way)) / size if size > 0.0 else np.zeros((2, 2))
            by_u[k, k] = friction * push * turn
            by_impulse[k, 3 * c], by_impulse[k, k] = friction * way, np.eye(2)
        return by_u, by_impulse


def _dots(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.sum(x * y, axis=1)[:, None]


class _OnBodies(NamedTuple):
    """Weights on motions of the two bodies of a contact, in the world, into rows of six in their frames."""

    impulses: _ContactImpulses
    bodies: IntArray
    out: FloatArray

    def move(self, side: int, where: FloatArray, force: FloatArray) -> None:
        """Of a point of the body."""
        body = self.bodies[side]
        if body >= 0:
            R = self.impulses.at.R[body]
            self.out[body, :3] += R.T @ np.cross(where - self.impulses.at.p[body], force)
            self.out[body, 3:] += R.T @ force

    def turn(self, side: int, torque: FloatArray) -> None:
        if self.bodies[side] >= 0:
            self.out[self.bodies[side], :3] += self.impulses.at.R[self.bodies[side]].T @ torque


class _Biases(NamedTuple):
    apart: NDArray[np.bool_]  # rows whose gap is used up in the step
    restitution: FloatArray  # part of the velocity before with which rows bounce
