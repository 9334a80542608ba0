"""The mouse as a hand: a haptic grasp between the grabbed point of a body and the pointer, and what it feels.

The pointer is a device of `linkwork.haptics`. While it holds a body, the simulation is stepped through the session of the
grasp, in the time of the simulation: the coupling gets a tick after every few steps, and the pointer glides to where the
mouse is now, which a page reports some twenty times per second only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import StateError
from linkwork.haptics import Grasp, Pointer, grasp
from linkwork.simulation.base import LinkageSimulation
from linkwork.simulation.loading.loads import Load
from linkwork.simulation.thermal.langevin import BOLTZMANN
from linkwork.viewer.layers import FORCE
from linkwork.viewer.shapes.colors import as_light

SOFTNESS = 0.1  # of the mechanism's size: how far the spring stretches to hold the whole weight
DAMPED = 0.3  # of the damping at which the whole mass on the spring would not swing
ROOM_TEMPERATURE, THERMAL = 300.0, 0.1  # [K]; [nm] by which it stretches the spring of a hand on a molecule
LONGEST_HOLD = 5e-3  # [s, of molecules ps] of simulated time for which a force of the hand is held
FAR = 0.5  # of the mechanism's size: a spring stretched so far gives the largest force, a full bar
SHORTEST, LONGEST = (
    0.12,
    0.4,
)  # of the mechanism's size: the arrow of a small force, so that it is seen, and of the largest
PATIENT = 1e6  # [s] the pointer may rest while the page is paused


def hand_stiffness(sim: Any, size: float) -> float:
    """A stiffness that suits the mechanism [N/m]: its mass times 10 m/s² stretches the spring by a tenth of its size.

    A molecule has no weight, and 10 nm/ps² would tear it apart in a picosecond: there thermal motion stretches the spring
    by THERMAL. Steps need no softer one: the coupling is implicit, and yields to what a body would do within a hold.
    """
    if getattr(sim, "units", {}):
        return BOLTZMANN * ROOM_TEMPERATURE / THERMAL**2
    pull = max(float(np.linalg.norm(sim.model.gravity)), 10.0)
    return max(float(sim.model.mass.sum()) * pull / (SOFTNESS * size), 1e-9)


def arrow(force: FloatArray, most: float) -> FloatArray:
    """A force as an arrow in sizes of the mechanism: none for none, longer for more, shape (3,). most: the largest [N]."""
    size = float(np.linalg.norm(force))
    if size <= 1e-6 * most:
        return np.zeros(3)
    return force / size * (SHORTEST + (LONGEST - SHORTEST) * min(1.0, size / most))


class Hand:
    """One grab at a time, by whichever page began it."""

    def __init__(self, scene: Any, size: float):
        self._scene, self._size = scene, size
        self._arrow: Any = None
        self._pointer = Pointer()
        self._target = np.zeros(3)
        self.grasp: Grasp | None = None
        self.stiffness = 0.0  # [N/m]

    @property
    def is_holding(self) -> bool:
        return self.grasp is not None

    @property
    def load(self) -> Load | None:
        """What the simulation carries for the hand."""
        return None if self.grasp is None else self.grasp.load

    @property
    def force(self) -> FloatArray:
        """[N] on the body, shape (3,)."""
        return np.zeros(3) if self.grasp is None else self.grasp.wrench[3:]

    @property
    def felt(self) -> float:
        """[N] that a hand would feel: what joints, weight and loads do to the body it holds."""
        return 0.0 if self.grasp is None else float(np.linalg.norm(self.grasp.felt[3:]))

    @property
    def most(self) -> float:
        """[N] the largest force on the body, and the largest one felt."""
        return self.stiffness * FAR * self._size

    def grab(self, sim: Any, body: int, place: FloatArray, T: FloatArray) -> None:
        """Takes hold of a body at a point of the world [m]. T: poses of bodies, shape (n, 4, 4)."""
        self.release()
        if body < 0:
            return
        if not isinstance(sim, LinkageSimulation):
            raise StateError(f"bodies of a {type(sim).__name__} cannot be pulled at.")
        self.stiffness = hand_stiffness(sim, self._size)
        # a molecule is damped by what surrounds it; to damp the whole of it would drag it along with the hand
        swings = 0.0 if sim.units else 2.0 * np.sqrt(self.stiffness * float(sim.model.mass.sum()))
        self._pointer, self._target = Pointer(place), place.copy()
        # a mouse is not pushed by what it feels, so there is no energy to keep back
        self.grasp = grasp(
            sim, body, self._pointer, T[body, :3, :3].T @ (place - T[body, :3, 3]), stiffness=self.stiffness,
            damping=max(DAMPED * swings, self.stiffness * LONGEST_HOLD), force_limit=max(self.most, 1e-12),
            watchdog=PATIENT, passive=False,
        )  # fmt: skip
        self.feel()

    @property
    def target(self) -> FloatArray:
        """Where the mouse was last [m], shape (3,)."""
        return self._target.copy()

    def pull(self, target: FloatArray | None) -> None:
        """The mouse points at a place of the world [m]; None: somewhere that is not known."""
        if self.grasp is not None and target is not None and np.isfinite(target).all():
            self._target = np.asarray(target, dtype=float)

    def feel(self) -> None:
        """The force with the pointer where the mouse is, without a step: for a page that is paused."""
        if self.grasp is not None:
            self._pointer.move(self._target)
            self.grasp.session.rest()

    def advance(self, advance: Callable[[float, int], None], h: float, n: int) -> None:
        """n steps of h seconds, by `advance`, with the hand's force renewed after every few."""
        if self.grasp is None:
            advance(h, n)
            return
        session = self.grasp.session
        at_once = max(1, min(n, int(LONGEST_HOLD / h)))
        done = 0
        while done < n:
            k = min(at_once, n - done)
            done += k
            way = self._target - np.asarray(self._pointer.read().position)
            self._pointer.move(self._target - way * ((n - done) / (n - done + k)))
            session.move_on(h, k, advance)

    def release(self) -> None:
        """Lets go, if it holds anything."""
        held, self.grasp = self.grasp, None
        if held is not None and held.is_held:
            held.release()
        if self._arrow is not None:
            self._arrow.remove()
            self._arrow = None

    def draw(self) -> None:
        """Shows the force as an arrow at the grabbed point, in the colour of forces."""
        if self.grasp is None:
            return
        place = self.grasp.session.points[self.grasp.number]
        points = np.array([[place, place + arrow(self.force, self.most) * self._size]], dtype=np.float32)
        if self._arrow is None:
            s = self._size
            self._arrow = self._scene.add_arrows(
                "/hand",
                points,
                as_light(FORCE),
                shaft_radius=0.007 * s,
                head_radius=0.017 * s,
                head_length=0.04 * s,
            )
        else:
            self._arrow.points = points
