"""A grasp: one hand's hold on one body, and all that the coupling between them is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import not_negative, positive, shown
from linkwork.core.messages.describe import described, tabled
from linkwork.core.messages.warning import warn_user
from linkwork.core.units import unit
from linkwork.errors import StateError
from linkwork.haptics.devices.device import Device
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.memory import Output

if TYPE_CHECKING:
    from linkwork.haptics.session import Session
    from linkwork.simulation.loading.loads import Load

UNITS = ("N", "N·m")  # of limits
FEELS = {"reactions": at.FEEL_REACTIONS, "spring": at.FEEL_SPRING}
NANO = 1e9
LARGEST = 1e30  # of a setting; squares and products with positions stay numbers
LONGEST = 1e9  # [s] in nanoseconds of an integer
LIMITS: dict[str, Any] = {"force_limit": 50.0, "torque_limit": 5.0}  # by default [N, N·m]
# and in the units of molecules [kJ/mol/nm, kJ/mol]: 5 nN, and what it takes to break a covalent bond
MOLECULAR_LIMITS: dict[str, Any] = {"force_limit": 3000.0, "torque_limit": 300.0}


@tabled
@dataclass(frozen=True, slots=True)
class CouplingSettings:
    """The virtual coupling between a hand and a point of a body.

    stiffness [N/m], damping [N·s/m]; torque [N·m/rad] and torque_damping [N·m·s/rad] turn the body with the hand (six
    degrees of freedom); both zero: the hand holds a point and lets the body turn (three).
    force_limit [N], torque_limit [N·m]: the most that acts on the body, and in the world's units on the hand. A grasp in
    the units of molecules has 3000 kJ/mol/nm and 300 kJ/mol by default.
    length_scale: metres of the world per metre of the device. force_scale: newtons of the device per newton of the world.
    watchdog [s]: how old a snapshot or reading may be before the hand is let go; fade [s]: the time that takes.
    feel: "reactions" (what joints, weight and loads do to the body, after Morin and Redon) or "spring" (the coupling).
    passive: the hand gets at most `allowance` [J, in the device's units] more energy than the coupling itself would have
    given; where there is no more left, it feels the coupling (passivity control).
    implicit: take spring and damper where the body will be at the end of the simulation's step, so that no stiffness and no
    damping is too high for the body's mass.
    """

    stiffness: float = 200.0
    damping: float = 2.0
    torque: float = 0.0
    torque_damping: float = 0.0
    force_limit: float = LIMITS["force_limit"]
    torque_limit: float = LIMITS["torque_limit"]
    length_scale: float = 1.0
    force_scale: float = 1.0
    watchdog: float = 0.5
    fade: float = 0.25
    feel: str = "reactions"
    passive: bool = True
    allowance: float = 0.01
    implicit: bool = True

    def __post_init__(self) -> None:
        for name in ("force_limit", "torque_limit", "length_scale", "force_scale", "watchdog", "fade"):
            self._keep(name, positive(getattr(self, name), name), 1.0 / LARGEST)
        for name in ("stiffness", "damping", "torque", "torque_damping", "allowance"):
            self._keep(name, not_negative(getattr(self, name), name, finite=True), 0.0)
        for name in ("passive", "implicit"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise StateError(f"{name} is {shown(getattr(self, name))}; it must be True or False.")
        if not isinstance(self.feel, str) or self.feel not in FEELS:
            raise StateError(f"feel is {shown(self.feel)}; choose one of {', '.join(FEELS)}.")
        for name in ("watchdog", "fade"):
            if getattr(self, name) > LONGEST:
                raise StateError(f"{name} is {getattr(self, name):g} s; at most {LONGEST:g} s can be counted.")

    def _keep(self, name: str, value: float, least: float) -> None:
        """Takes a setting as a float, unless its size would overflow what is worked out with it."""
        if not least <= value <= LARGEST:
            raise StateError(f"{name} is {value:g}; sizes from {least:g} to {LARGEST:g} can be computed with.")
        object.__setattr__(self, name, value)

    def write(self, record: FloatArray, hold: float, mobility: FloatArray) -> None:
        """Writes itself into a hand's record of a snapshot, shape (RECORD,).

        hold: [s] for which the simulation holds a force; mobility: (6, 6) of the point held.
        """
        step = hold if self.implicit else 0.0
        turn, way = (
            step * (d + step * k) for k, d in ((self.torque, self.torque_damping), (self.stiffness, self.damping))
        )
        gains = np.repeat([turn, way], 3)
        record[at.R_HOLD] = step
        record[at.R_YIELD : at.R_YIELD + 36] = np.linalg.inv(np.eye(6) + gains[:, None] * mobility).ravel()  # (4)
        words = record.view(np.int64)
        record[at.R_STIFFNESS], record[at.R_DAMPING] = self.stiffness, self.damping
        record[at.R_TURN_STIFFNESS], record[at.R_TURN_DAMPING] = self.torque, self.torque_damping
        record[at.R_FORCE_LIMIT], record[at.R_TORQUE_LIMIT] = self.force_limit, self.torque_limit
        record[at.R_LENGTH_SCALE], record[at.R_FORCE_SCALE] = self.length_scale, self.force_scale
        words[at.R_FEEL], words[at.R_PASSIVE] = FEELS[self.feel], bool(self.passive)
        record[at.R_ALLOWANCE] = self.allowance
        words[at.R_WATCHDOG], words[at.R_FADE] = round(self.watchdog * NANO), round(self.fade * NANO)


SETTING_NAMES = tuple(field.name for field in fields(CouplingSettings))


def default_limits(units: Mapping[str, str]) -> dict[str, Any]:
    """force_limit and torque_limit of a grasp that gives none. units: of its simulation."""
    return MOLECULAR_LIMITS if units else LIMITS


@described
class Grasp:
    """One hand's hold on a point of a body; made by `grasp`, ended by `release`."""

    def __init__(
        self, session: Session, slot: int, number: int, load: Load, device: Device, settings: CouplingSettings
    ):
        self.session, self.slot, self.number = session, slot, number
        self.device, self.load, self.settings = device, load, settings
        self.origin, self.device_origin, self.turn = np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        self.is_held, self._is_warned = True, False

    @property
    def body(self) -> int:
        """The body that is held."""
        return int(self.load.bodies[0])

    @property
    def at(self) -> FloatArray:
        """The point held, in the body's frame [m], shape (3,)."""
        return self.load.at[0].copy()

    def change(self, **settings: Any) -> None:
        """Changes the coupling: any of the settings of `grasp`. The coupling loop takes them with the next snapshot."""
        unknown = [name for name in settings if name not in SETTING_NAMES]
        if unknown:
            raise StateError(f"a grasp has no {', '.join(unknown)}; it has {', '.join(SETTING_NAMES)}.")
        now = {name: getattr(self.settings, name) for name in SETTING_NAMES}
        self.session._change(self, CouplingSettings(**{**now, **settings}))

    def release(self) -> None:
        """Lets the body go. Cost: O(log n)."""
        self.session.release(self)

    def _warn_of_limits(self, wrench: FloatArray) -> None:
        """Says once where a limit that nobody chose cuts what the coupling would do. wrench: on the body, shape (6,)."""
        if self._is_warned:
            return
        units = self.session.sim.units
        for (name, default), part, si in zip(
            default_limits(units).items(), (wrench[3:], wrench[:3]), UNITS, strict=True
        ):
            limit = getattr(self.settings, name)
            if limit == default and not float(np.linalg.norm(part)) < limit * (1.0 - 1e-9):
                self._is_warned = True
                warn_user(
                    f"the hand on '{self.session.sim.model.body_names[self.body]}' is held back to {limit:g} "
                    f"{unit(si, units)}, {name} by default; its spring would act with more. Give grasp() another {name}."
                )

    # ------------------------------------------------------------------------------------------------------------ results

    def _output(self) -> Output | None:
        output = Output(self.session.memory, self.slot)
        return output if self.is_held and output.integer(at.O_GRASP) == self.number else None

    @property
    def state(self) -> str:
        """One of "idle" (before the first tick), "held", "fading" or "released"."""
        if not self.is_held:
            return at.STATES[at.RELEASED]
        output = self._output()
        return at.STATES[at.IDLE if output is None else output.integer(at.O_STATE)]

    @property
    def wrench(self) -> FloatArray:
        """[torque; force] of the hand on the body, at the point held, axes of the world [N·m, N], shape (6,)."""
        output = self._output()
        return np.zeros(6) if output is None else output.wrench.copy()

    @property
    def felt(self) -> FloatArray:
        """[torque; force] that the hand feels, in the device's units [N·m, N], shape (6,)."""
        output = self._output()
        return np.zeros(6) if output is None else output.felt.copy()

    @property
    def hand(self) -> FloatArray:
        """Where the hand is in the world [m], shape (3,)."""
        output = self._output()
        return self.origin.copy() if output is None else output.words[at.O_HAND : at.O_HAND + 3].copy()

    @property
    def energy(self) -> tuple[float, float, float]:
        """Energy [J] that the device gave to the hand since the grasp: now, and the least and most it ever was."""
        output = self._output()
        if output is None:
            return (0.0, 0.0, 0.0)
        now, least, most = output.words[[at.O_ENERGY, at.O_LEAST, at.O_MOST]].tolist()
        return (now, least, most)
