"""The compass walker as a simulation: equal steps of time, heel strikes found inside them, states that can be recorded.

The walker changes its root at every strike, but a recording has one model. So the recorded model is the same walker with
its left leg on a planar joint to the world: its state says where both legs are and how they move, whichever foot stands.
Between strikes the motion is that of `scenarios.walker`: a double pendulum on the stance foot, by Runge-Kutta steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, positive
from linkwork.dynamics.quantities.motion import energy
from linkwork.errors import StateError
from linkwork.model.joints import Planar
from linkwork.model.library.compass_biped import compass_biped
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scenarios.walker.gait import (
    OTHER,
    Stance,
    Walker,
    clearance,
    foot_place,
    refuse_fall,
    standing,
    strike,
    swing,
)
from linkwork.scenarios.walker.limit_cycle import find_gait, stance_at
from linkwork.simulation.protocol import Report, Setting
from linkwork.simulation.run import Runnable

# The walking plane: forward, up, and the angle that the library's hinge counts (about -y).
WALKER_SETTINGS = ("slope", "leg_length", "hip_mass", "leg_mass", "mass_from_hip")
PLAIN = ("left_stands", "strikes", "struck_at", "step_length", "step_time")  # of a checkpoint, as they are
IN_PLANE = Planar((0.0, -1.0, 0.0), (1.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class WalkerReport(Report):
    """What the last step did. strikes: so far; step_length [m] and step_time [s]: of the last whole step; energy [J]."""

    strikes: int
    step_length: float
    step_time: float
    energy: float


def recorded_model(walker: Walker) -> Model:
    """The walker with its left leg moving freely in the plane: what a recording of it holds."""
    linkage = compass_biped(walker.leg_length, walker.hip_mass, walker.leg_mass, walker.mass_from_hip)
    linkage.edit_body("left_leg", joint=IN_PLANE)
    return linkage.compile()


class _Where(NamedTuple):
    """Everything about the walk that steps change."""

    stance: Stance  # at the origin, always on the "left" foot
    place: FloatArray  # of the stance foot in the world [m], shape (3,)
    left_stands: bool
    strikes: int
    struck_at: float  # time of the last strike [s]
    step_length: float  # of the last whole step [m]
    step_time: float  # [s]


class WalkerSimulation(Runnable):
    """Walks down a slope, from its gait with a small disturbance.

    disturbance: of the start, relative to the gait.
    Every strike is a plastic impact, after which the walker stands on its other foot. The legs are equal, so the same model
    serves again, with the roles of the legs exchanged and its foot at another place.
    """

    def __init__(self, walker: Walker, disturbance: float = 0.01):
        self.walker, self.disturbance = walker, float(disturbance)
        self.model = recorded_model(walker)
        gait = find_gait(walker, require_stable=True)
        start = stance_at(walker, gait.start * (1.0 + disturbance))
        self._now = _Where(start, np.zeros(3), True, 0, 0.0, math.nan, math.nan)
        self.time = 0.0
        self.steps_done = 0

    # ------------------------------------------------------------------------------------------------------------- motion

    def step(self, h: float, n: int = 1) -> WalkerReport:
        """n steps of h seconds; a strike within one divides it, and the rest of it goes on from the other foot.

        Raises StateError where the walker falls; the step in which it does is taken back.
        """
        self.advance(h, n)
        now = self._now
        return WalkerReport(now.strikes, now.step_length, now.step_time, self.scalars()["energy"])

    def advance(self, h: float, n: int = 1) -> None:
        """The same without a report."""
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        for _ in range(n):
            now, done = self._now, 0.0
            while done < h:
                now, took = self._swing(now, h - done, self.time + done)
                done += took
            refuse_fall(self.walker, now.stance, self.time + h - now.struck_at)
            self._now = now
            self.time += h
            self.steps_done += 1

    def _swing(self, now: _Where, h: float, time: float) -> tuple[_Where, float]:
        """Moves by h, or to and through the strike before it; how long that took [s]. time: when it begins [s]."""
        done = swing(self.walker, now.stance, h, clearance(self.walker, now.stance))
        if not done.is_down:
            return now._replace(stance=done.end), done.took
        after, _ = strike(done.end)
        struck_at = time + done.took
        return _Where(
            stance=standing(self.walker, after.state.q, after.state.v),
            place=now.place + after.place,
            left_stands=not now.left_stands,
            strikes=now.strikes + 1,
            struck_at=struck_at,
            step_length=float(np.linalg.norm(after.place)),
            step_time=struck_at - now.struck_at,
        ), done.took

    @property
    def strikes(self) -> int:
        """Heel strikes so far."""
        return self._now.strikes

    @property
    def work_per_step(self) -> int:
        return self.model.n_bodies

    def settings(self) -> dict[str, Setting]:
        """The kind of simulation and what it was made with."""
        walker = {name: getattr(self.walker, name) for name in WALKER_SETTINGS}
        return {"simulation": type(self).__name__, **walker, "disturbance": self.disturbance}

    def checkpoint(self) -> dict[str, object]:
        """Everything that depends on history."""
        now = self._now
        return {
            "q": now.stance.state.q.copy(),
            "v": now.stance.state.v.copy(),
            "place": now.place.copy(),
            **{name: getattr(now, name) for name in PLAIN},
            "time": self.time,
            "steps_done": self.steps_done,
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes on from a checkpoint of the same walker."""
        missing = [name for name in ("q", "v", "place", *PLAIN, "time", "steps_done") if name not in checkpoint]
        if missing:
            raise StateError(f"this is not a checkpoint of a walker: it lacks {', '.join(missing)}.")
        state = State(np.array(checkpoint["q"], dtype=float), np.array(checkpoint["v"], dtype=float))
        self._now = _Where(
            stance=self._now.stance._replace(state=state),
            place=np.array(checkpoint["place"], dtype=float),
            left_stands=bool(checkpoint["left_stands"]),
            strikes=int(checkpoint["strikes"]),
            struck_at=float(checkpoint["struck_at"]),
            step_length=float(checkpoint["step_length"]),
            step_time=float(checkpoint["step_time"]),
        )
        self.time, self.steps_done = float(checkpoint["time"]), int(checkpoint["steps_done"])

    # ------------------------------------------------------------------------------------------------------------ results

    @property
    def state(self) -> State:
        """State of the recorded model: place and angle of the left leg, hip angle, and their rates."""
        now = self._now
        (leg, hip), (rate, hip_rate) = now.stance.state.q, now.stance.state.v
        if now.left_stands:
            x, _, z = now.place
            return State(np.array([x, z, leg, hip]), np.array([0.0, 0.0, rate, hip_rate]))
        # The left leg swings: in the stance model it is the other one, and its foot moves.
        x, _, z = now.place + foot_place(now.stance, OTHER[now.stance.foot])
        dx, dz = self._swing_foot_velocity()
        return State(np.array([x, z, leg + hip, -hip]), np.array([dx, dz, rate + hip_rate, -hip_rate]))

    def _swing_foot_velocity(self) -> tuple[float, float]:
        """[m/s] forward and up: the stance leg carries the hip round, the swing leg its foot round the hip."""
        (leg, hip), (rate, hip_rate) = self._now.stance.state
        length, angle, angle_rate = self.walker.leg_length, leg + hip, rate + hip_rate
        # A leg at the angle a reaches from its foot by length (-sin a, cos a).
        dx = length * (-math.cos(leg) * rate + math.cos(angle) * angle_rate)
        dz = length * (-math.sin(leg) * rate + math.sin(angle) * angle_rate)
        return dx, dz

    def scalars(self) -> dict[str, float]:
        """Energies [J], strikes so far, the foot it stands on (0 left, 1 right) and the length of its last step [m]."""
        where = self._now
        now = energy(where.stance.model, where.stance.state)
        rise = -float(where.stance.model.gravity @ where.place)  # [J/kg] of the stance foot
        potential = now.potential + rise * float(where.stance.model.mass.sum())
        return {
            "kinetic_energy": now.kinetic,
            "potential_energy": potential,
            "energy": now.kinetic + potential,
            "strikes": float(where.strikes),
            "stance_foot": 0.0 if where.left_stands else 1.0,
            "step_length": where.step_length,
        }
