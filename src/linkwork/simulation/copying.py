"""Copies of simulations: made anew from what the simulation was made with, and brought to its checkpoint.

Kernels know the arrays of a simulation by their addresses, so a copy of its attributes would go on in the memory of the
original. A simulation that is made anew and restored has memory of its own and goes on in the same bits.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn

from linkwork.errors import StateError

if TYPE_CHECKING:
    from linkwork.simulation.base import LinkageSimulation
    from linkwork.simulation.loads import Load


class Copied:
    """Gives a simulation `copy.deepcopy` and pickling; a shallow copy is refused.

    Handles of loads that are copied together with their simulation, as in `copy.deepcopy((sim, load))`, belong to the copy.
    """

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Remembers the arguments after model and state."""
        sim = super().__new__(cls)
        sim._made_with = args[2:], {key: value for key, value in options.items() if key not in ("model", "state")}
        return sim

    def __copy__(self) -> NoReturn:
        raise StateError(
            f"a shallow copy of {type(self).__name__} would share its memory and spoil both; use copy.deepcopy(sim)."
        )

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        """Models are immutable and shared. Fields that have memory are copied when a simulation is made, others shared."""
        made: tuple[Any, ...] = self._remade_from()
        own = tuple(copy.deepcopy(load, memo) for load in self.loads)
        build: Any = remake
        return build(*made[:-2], own, made[-1])

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        """For `pickle`."""
        return remake, self._remade_from()

    def _remade_from(self: Any) -> tuple[Any, ...]:
        names = (*(name for name in self._SETTINGS if not name.startswith("_")), "deadline")
        settings = {name: getattr(self, name) for name in names if hasattr(self, name)}
        content = self.checkpoint()
        return type(self), self.model, self.state, *self._made_with, settings, self.loads, content


def remake(
    kind: type[LinkageSimulation],
    model: Any,
    state: Any,
    args: tuple[Any, ...],
    options: dict[str, Any],
    settings: dict[str, Any],
    loads: tuple[Load, ...],
    content: dict[str, Any],
) -> LinkageSimulation:
    """The simulation that a checkpoint describes, with these handles for its loads.

    args, options: that it was made with. settings: as they are now; users may have changed some since.
    """
    sim: Any = kind(model, state, *args, **options)
    for name, value in settings.items():
        if getattr(sim, name) != value:
            setattr(sim, name, value)
    sim._loads.adopt(loads, content["load_table"])
    sim.restore(content)
    return sim
