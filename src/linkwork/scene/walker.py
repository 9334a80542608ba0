"""The compass walker as a simulation: equal steps of time, heel strikes found inside them, states that can be recorded.

The walker changes its root at every strike, but a recording has one model. So the recorded model is the same walker with
its left leg on a planar joint to the world: its state tells where both legs are and how they move, whichever foot stands.
Between strikes the motion is that of `scenarios.walker`: a double pendulum on the stance foot, by Runge-Kutta steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.front import energy
from linkwork.errors import StateError
from linkwork.model.joints import Planar
from linkwork.model.library.compass_biped import compass_biped
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scenarios.walker.events import find_root
from linkwork.scenarios.walker.gait import (
    FALLEN,
    OTHER,
    Stance,
    Walker,
    clearance,
    foot_place,
    reach,
    runge_kutta,
    standing,
    strike,
)
from linkwork.scenarios.walker.limit_cycle import find_gait, stance_at
from linkwork.simulation.run import run_simulation

FloatArray = NDArray[np.float64]

# The walking plane: forward, up, and the angle that the library's hinge counts (about -y).
IN_PLANE = Planar((0.0, -1.0, 0.0), (1.0, 0.0, 0.0))


@dataclass(frozen=True)
class WalkerReport:
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


class WalkerSimulation:
    """Walks down a slope, from its gait with a small disturbance.

    Every strike is a plastic impact, after which the walker stands on its other foot. The legs are equal, so the same model
    serves again, with the roles of the legs exchanged and its foot at another place.
    """

    def __init__(self, walker: Walker, disturbance: float = 0.01):
        self.walker = walker
        self.model = recorded_model(walker)
        gait = find_gait(walker, require_stable=True)
        self._stance = stance_at(walker, gait.start * (1.0 + disturbance))  # at the origin, always the "left" foot
        self._place = np.zeros(3)  # of the stance foot in the world [m]
        self._left_stands = True
        self.time = 0.0
        self.steps_done = 0
        self.strikes = 0
        self._struck_at = 0.0
        self._step_length = self._step_time = math.nan

    # ------------------------------------------------------------------------------------------------------------- motion

    def step(self, h: float, n: int = 1) -> WalkerReport:
        """n steps of h seconds; a strike within one divides it, and the rest of it goes on from the other foot."""
        if not (isinstance(h, float | int) and math.isfinite(h) and h > 0.0 and n >= 1):
            raise StateError(f"a step takes h > 0 [s] and n ≥ 1, not {h!r} and {n!r}.")
        for _ in range(n):
            done = 0.0
            while done < h:
                done += self._swing(float(h) - done, self.time + done)
            self.time += float(h)
            self.steps_done += 1
            self._refuse_fall()
        return WalkerReport(self.strikes, self._step_length, self._step_time, self.figures()["energy"])

    def _swing(self, h: float, time: float) -> float:
        """Moves by h, or to the strike before it; returns how long that took. time: when it begins [s]."""
        walker, now = self.walker, self._stance
        height = clearance(walker, now)
        ahead = now._replace(state=runge_kutta(now.model, now.state, h))
        new_height = clearance(walker, ahead)
        if not (height > 0.0 >= new_height and reach(walker, ahead) > 0.0):
            self._stance = ahead
            return h

        def height_after(part: float) -> float:
            return clearance(walker, now._replace(state=runge_kutta(now.model, now.state, part)))

        part = find_root(height_after, 0.0, h, height, new_height)
        self._strike(now._replace(state=runge_kutta(now.model, now.state, part)), time + part)
        return part

    def _strike(self, down: Stance, time: float) -> None:
        after, _ = strike(down)
        self._place = self._place + after.place
        self._step_length, self._step_time = float(np.linalg.norm(after.place)), time - self._struck_at
        self._struck_at = time
        self._left_stands = not self._left_stands
        self.strikes += 1
        self._stance = standing(self.walker, after.state.q, after.state.v)

    def _refuse_fall(self) -> None:
        lean = abs(float(self._stance.state.q[0]) + self.walker.slope)
        if not lean <= FALLEN:
            raise StateError(
                f"the walker falls at {self.time:.2f} s: its stance leg leans {math.degrees(lean):.0f}° from the slope's "
                "normal. Choose a smaller disturbance, a gentler slope or a smaller step h."
            )

    def run(
        self,
        steps: int,
        h: float,
        *,
        record: Any = None,
        every: int = 0,
        callback: Callable[[Any, Any], object] | None = None,
        progress: bool | None = None,
    ) -> Any:
        """Many steps; arguments as for every simulation."""
        return run_simulation(self, steps, h, record=record, every=every, callback=callback, progress=progress)

    def checkpoint(self) -> dict[str, object]:
        return {
            "q": self._stance.state.q.copy(),
            "v": self._stance.state.v.copy(),
            "place": self._place.copy(),
            "left_stands": self._left_stands,
            "time": self.time,
            "steps_done": self.steps_done,
            "strikes": self.strikes,
            "struck_at": self._struck_at,
            "step_length": self._step_length,
            "step_time": self._step_time,
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        saved = dict(checkpoint)
        state = State(np.array(saved["q"], dtype=float), np.array(saved["v"], dtype=float))
        self._stance = self._stance._replace(state=state)
        self._place = np.array(saved["place"], dtype=float)
        self._left_stands = bool(saved["left_stands"])
        self.time, self.steps_done = float(saved["time"]), int(saved["steps_done"])
        self.strikes, self._struck_at = int(saved["strikes"]), float(saved["struck_at"])
        self._step_length, self._step_time = float(saved["step_length"]), float(saved["step_time"])

    # ------------------------------------------------------------------------------------------------------------ results

    @property
    def state(self) -> State:
        """State of the recorded model: place and angle of the left leg, hip angle, and their rates."""
        (leg, hip), (rate, hip_rate) = self._stance.state.q, self._stance.state.v
        if self._left_stands:
            x, _, z = self._place
            return State(np.array([x, z, leg, hip]), np.array([0.0, 0.0, rate, hip_rate]))
        # The left leg swings: in the stance model it is the other one, and its foot moves.
        x, _, z = self._place + foot_place(self._stance, OTHER[self._stance.foot])
        dx, dz = self._swing_foot_velocity()
        return State(np.array([x, z, leg + hip, -hip]), np.array([dx, dz, rate + hip_rate, -hip_rate]))

    def _swing_foot_velocity(self) -> tuple[float, float]:
        """[m/s] forward and up: the stance leg carries the hip round, the swing leg its foot round the hip."""
        (leg, hip), (rate, hip_rate) = self._stance.state.q, self._stance.state.v
        length, swing, swing_rate = self.walker.leg_length, leg + hip, rate + hip_rate
        # A leg at the angle a reaches from its foot by length (-sin a, cos a).
        dx = length * (-math.cos(leg) * rate + math.cos(swing) * swing_rate)
        dz = length * (-math.sin(leg) * rate + math.sin(swing) * swing_rate)
        return dx, dz

    def figures(self) -> dict[str, float]:
        now = energy(self._stance.model, self._stance.state)
        rise = -float(self._stance.model.gravity @ self._place)  # [J/kg] of the stance foot
        potential = now.potential + rise * float(self._stance.model.mass.sum())
        return {
            "kinetic_energy": now.kinetic,
            "potential_energy": potential,
            "energy": now.kinetic + potential,
            "strikes": float(self.strikes),
            "stance_foot": 0.0 if self._left_stands else 1.0,
            "step_length": self._step_length,
        }
