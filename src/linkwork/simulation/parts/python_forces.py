"""Forces that Python finds between two parts of the compiled step: a field, and a thermostat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.model.model import Model
from linkwork.simulation.loading.fields import Field, own_field
from linkwork.simulation.parts.part import Entry, Saved, entry_of
from linkwork.simulation.thermal.langevin import Langevin
from linkwork.simulation.thermal.thermostat import Thermostat


class PythonForces:
    """The field and the thermostat of a simulation, with a memory of their own.

    field: with the memory of this simulation. energy: of the field at the last evaluation.
    Whoever derives from it says on what they act.
    """

    fault = "the checkpoint is damaged: its random numbers or its field do not fit the model."

    def __init__(self, model: Model, field: Field | None, thermostat: Langevin | None):
        self.model = model
        self._begin(field, thermostat)

    def _begin(self, field: Field | None, thermostat: Langevin | None) -> None:
        self.field: Any = own_field(field, self.model)
        self.thermostat = None if thermostat is None else Thermostat(thermostat, self.model)
        self.energy = 0.0

    @property
    def settings(self) -> Langevin | None:
        """The thermostat as it was given."""
        return None if self.thermostat is None else self.thermostat.settings

    @property
    def are_any(self) -> bool:
        """Whether steps are made in parts, for a field or a thermostat."""
        return self.field is not None or self.thermostat is not None

    @property
    def act(self) -> bool:
        """Whether anything is to be found anew wherever coordinates are others."""
        return self.field is not None or (self.thermostat is not None and self.thermostat.has_forces)

    def refresh(self) -> None:
        """Brings wrenches of the field and efforts of Fixman's potential to the present coordinates."""
        raise NotImplementedError

    def after_step(self, h: float) -> None:
        """The thermostat changes velocities."""
        raise NotImplementedError

    def scalars(self, kinetic: float, velocities: int) -> dict[str, float]:
        """Energy of the field, and the temperature [K] where a thermostat says what that is."""
        found = {} if self.field is None else {"field_energy": self.energy}
        if self.thermostat is not None:
            found["temperature"] = self.thermostat.temperature(kinetic, velocities)
        return found

    # ---------------------------------------------------------------------------------------------------------- checkpoints

    def _saved_arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self.thermostat is None else {"random": self.thermostat.words}

    def schema(self) -> tuple[Entry, ...]:
        return tuple(entry_of(name, array) for name, array in self._saved_arrays().items())

    def saved(self) -> dict[str, NDArray[Any]]:
        if self.thermostat is not None:
            self.thermostat.save()
        return {name: array.copy() for name, array in self._saved_arrays().items()}

    def fits(self, saved: Saved) -> bool:
        """Whether the last two words of the random numbers are what their generator takes."""
        if self.thermostat is None:
            return True
        has_half, half = saved["random"].astype(np.uint64)[-2:]
        return bool(has_half <= 1 and half < 2**32)

    def restore(self, saved: Saved) -> None:
        for name, array in self._saved_arrays().items():
            array[...] = saved[name]
        if self.thermostat is not None:
            self.thermostat.go_back()

    def reset(self) -> None:
        """What field and thermostat remember is as in the beginning."""
        self._begin(self.field, self.settings)
