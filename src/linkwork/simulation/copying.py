"""Copies of simulations: made anew from what the simulation was made with, and brought to its checkpoint.

Kernels use the arrays of a simulation by their addresses, so a copy of its attributes would go on in the memory of the
original. A simulation that is made anew and restored has memory of its own and goes on in the same bits.
Handles of loads that are copied together with their simulation, as in `copy.deepcopy((sim, load))`, belong to the copy.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn

from linkwork.core.turns import in_turn
from linkwork.errors import StateError

if TYPE_CHECKING:
    from linkwork.simulation.base import LinkageSimulation
    from linkwork.simulation.loading.loads import Load


def refuse_to_share(sim: LinkageSimulation) -> NoReturn:
    """For `copy.copy`."""
    raise StateError(
        f"a shallow copy of {type(sim).__name__} would share its memory and spoil both; use copy.deepcopy(sim)."
    )


@in_turn  # no other thread changes loads between the handles and the checkpoint
def copied(sim: LinkageSimulation, memo: dict[int, Any]) -> LinkageSimulation:
    """For `copy.deepcopy`. Models are immutable and shared. Fields with memory are copied as a simulation is made."""
    made: tuple[Any, ...] = sim._remade_from()
    own = tuple(copy.deepcopy(load, memo) for load in sim.loads)
    build: Any = remake
    return build(*made[:-2], own, made[-1])


@in_turn
def pickled(sim: LinkageSimulation, protocol: Any) -> tuple[Any, ...]:
    """For `pickle`."""
    return remake, sim._remade_from()


def remake(
    kind: type[LinkageSimulation],
    model: Any,
    state: Any,
    options: dict[str, Any],
    settings: dict[str, Any],
    loads: tuple[Load, ...],
    content: dict[str, Any],
) -> LinkageSimulation:
    """The simulation that a checkpoint describes, with these handles for its loads.

    options: that it was made with. settings: as they are now; users may have changed some since.
    """
    sim: Any = kind(model, state, **options)
    for name, value in settings.items():
        if getattr(sim, name) != value:
            setattr(sim, name, value)
    sim.view.loads.adopt(loads, content["load_table"])
    sim.restore(content)
    return sim
