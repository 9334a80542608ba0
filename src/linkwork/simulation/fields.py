"""Fields: potential energies of the poses of all bodies, such as force fields of molecules, evaluated at every stage.

A field is asked from Python, between two pieces of the compiled step: poses out, wrenches back.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation.thermal.langevin import Langevin
from linkwork.simulation.thermal.thermostat import Thermostat

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Field(Protocol):
    """A potential energy of the poses of all bodies, and the wrenches that follow from it."""

    @property
    def model(self) -> Model: ...

    def wrenches(self, poses: FloatArray, out: FloatArray) -> float:
        """Writes the wrench [torque; force] on each body, in its own frame at its origin, shape (n, 6).

        poses: rotation (nine numbers) and origin of each body in the world, shape (n, 12).
        Returns the energy. All in the units of the model.
        """
        ...


@runtime_checkable
class ClusterField(Protocol):
    """A field that leaves out what cannot change while bodies move as one. It has memory: each simulation takes a copy."""

    @property
    def model(self) -> Model: ...

    def wrenches(self, poses: FloatArray, out: FloatArray) -> float: ...

    def attach_to_pieces(self, piece: IntArray, pose: FloatArray) -> None:
        """Bodies of one number in `piece` (n,) move as one from now on: `wrenches` takes and gives those of the pieces.

        pose: of each body in its piece, shape (n, 12).
        """
        ...

    def wrenches_on_bodies(self, poses: FloatArray, out: FloatArray) -> None:
        """Wrenches of the last evaluation on all bodies (n, 6), what bodies of one piece do to each other left out.

        poses: of all bodies, shape (n, 12).
        """
        ...

    def copy(self) -> ClusterField:
        """The same field with a memory of its own, every body by itself."""
        ...


def own_field(field: Field | None, model: Model) -> Any:
    """The field as a simulation of a model uses it; refuses what is not a field, or one of another model."""
    if field is None:
        return None
    if not callable(getattr(field, "wrenches", None)):
        raise StateError(
            f"field is {field!r}, which has no method wrenches(poses, out); mol.field() makes one for a molecule."
        )
    other = getattr(field, "model", model)
    if other is not model:
        raise StateError(
            f"the field was made for model '{other.name}' with {other.n_bodies} bodies, which is another object than this "
            f"model '{model.name}' with {model.n_bodies}; make both from the same molecule."
        )
    return field.copy() if isinstance(field, ClusterField) else field


class OutsideForces:
    """What simulations with a field or a thermostat have in common."""

    model: Model

    def _set_outside(self, field: Field | None, thermostat: Langevin | None) -> None:
        self._field = own_field(field, self.model)
        self._thermostat = None if thermostat is None else Thermostat(thermostat, self.model)
        self._field_energy = 0.0  # at the last evaluation

    @property
    def field(self) -> Any:
        """The field that acts, with the memory of this simulation; None without one."""
        return self._field

    @property
    def thermostat(self) -> Langevin | None:
        """The thermostat as it was given."""
        return None if self._thermostat is None else self._thermostat.settings

    @property
    def field_kind(self) -> str | None:
        """Kind of the field, for recordings."""
        return None if self._field is None else type(self._field).__name__

    @property
    def thermostat_kind(self) -> str | None:
        """The thermostat and what it was made with, for recordings."""
        return None if self._thermostat is None else repr(self._thermostat.settings)

    @property
    def _has_outside_forces(self) -> bool:
        return self._field is not None or (self._thermostat is not None and self._thermostat.has_forces)

    def _outside_scalars(self, kinetic: float, velocities: int) -> dict[str, float]:
        """Energy of the field, and the temperature [K] where a thermostat says what that is."""
        found = {} if self._field is None else {"field_energy": self._field_energy}
        if self._thermostat is not None:
            found["temperature"] = self._thermostat.temperature(kinetic, velocities)
        return found

    def _outside_kept(self) -> dict[str, NDArray[Any]]:
        return {} if self._thermostat is None else {"random": self._thermostat.words}

    def _about_to_be_kept(self) -> None:
        if self._thermostat is not None:
            self._thermostat.save()

    def _outside_restored(self) -> None:
        if self._thermostat is not None:
            self._thermostat.go_back()
