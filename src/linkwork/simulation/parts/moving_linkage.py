"""The linkage that steps move: its arrays, those of its loops, and the table by which kernels find them all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import describe
from linkwork.core.calls import address_of
from linkwork.core.views import ENTRIES, ROWS
from linkwork.loops.system import loop_plan
from linkwork.model.compile.floating_trees import floating_trees
from linkwork.model.model import Model
from linkwork.simulation import moving as mv
from linkwork.simulation.contact_choice import advance_with_contact, has_limited_motors, kernel_with_contact
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.momentum.momentum import read_momentum
from linkwork.simulation.parts.constraint_arrays import allocate_constraints
from linkwork.simulation.parts.moving_arrays import allocate, clear_history, history_of
from linkwork.simulation.parts.part import Entry, Saved, copies, entry_of, write
from linkwork.simulation.stepping.choice import advance_of

if TYPE_CHECKING:
    from linkwork.simulation.contact_step.contact_state import ContactState


class Stepping(NamedTuple):
    """How steps are made."""

    integrator: str
    implicit_joints: bool
    keep_momentum: bool
    rtol: float
    atol: float


class MovingLinkage:
    """What the kernels of steps work on.

    tables: tree, body, screws, dof, rest, gravity; contact: of this linkage, or None.
    is_model: whether its coordinates are those of the model, and so to be saved here.
    has_recorded: whether `arrays.applied_efforts` holds what acted on joints in the last step.
    """

    fault = "the checkpoint is damaged: its momentum, loops or past steps do not fit the model."

    def __init__(
        self,
        model: Model,
        tables: Sequence[NDArray[Any]],
        how: Stepping,
        contact: ContactState | None,
        is_model: bool,
    ):
        self.model, self.contact, self._is_model = model, contact, is_model
        method = INTEGRATORS.get(how.integrator, mv.SEMI_IMPLICIT_EULER)
        bases, tree_of = floating_trees(model)
        # With contact, parts of the steps of any integrator are Euler's. Closing takes momentum from variational steps.
        closes = method == mv.VARIATIONAL and model.is_constrained
        keeps = how.keep_momentum and (method == mv.SEMI_IMPLICIT_EULER or contact is not None or closes)
        self.bases = bases if keeps else bases[:0]
        self.arrays = allocate(tables, self.bases.copy(), tree_of.copy(), method)
        self.constraints = allocate_constraints(model, model.n_bodies, model.nv, responds=contact is not None)
        counts, numbers = self.arrays.counts, self.arrays.numbers
        counts[mv.METHOD], counts[mv.IMPLICIT] = method, how.implicit_joints
        counts[mv.KEEPS_MOMENTUM] = self.bases.size > 0 and method == mv.SEMI_IMPLICIT_EULER
        counts[mv.LIMITED] = has_limited_motors(model)
        numbers[[mv.RTOL, mv.ATOL, mv.PROPOSED_STEP]] = how.rtol, how.atol, math.inf
        self.has_recorded = False
        self.table: IntArray = np.zeros(0, dtype=np.int64)
        self.describe()

    def kernel(self) -> Callable[..., tuple[int, int]]:
        """The kernel that makes steps of it."""
        method = int(self.arrays.counts[mv.METHOD])
        if self.contact is not None:
            return advance_with_contact(self.contact.arrays, self.contact.contact, method, self.model.is_constrained)
        return advance_of(method, self.model.is_constrained)

    def address(self) -> int:
        """Where that kernel stands, with those that it calls: for kernels that step many linkages."""
        from linkwork.simulation.contact_step.calling import STEPS

        method, has_loops = int(self.arrays.counts[mv.METHOD]), self.model.is_constrained
        if self.contact is None:
            return address_of(advance_of(method, has_loops), STEPS)
        made = kernel_with_contact(self.contact.arrays, self.contact.contact, method, has_loops)
        return address_of(made, STEPS)

    # --------------------------------------------------------------------------------------------------------------- arrays

    def replace(self, **arrays: NDArray[Any]) -> None:
        """Other arrays in place of some; the table is to be described anew."""
        self.arrays = self.arrays._replace(**arrays)

    def describe(self) -> None:
        """The table of all arrays, with as many rows as they have."""
        more = self.contact.bundles if self.contact is not None else ()
        self.table = describe(self.arrays, self.constraints, *more)

    def describe_again(self) -> None:
        """The table of other arrays, with as many rows as were shown before, but for those of loads."""
        before = self.table
        self.describe()
        sized = ENTRIES * (len(self.arrays) + len(self.constraints))
        same = np.flatnonzero(np.arange(sized) % ENTRIES == ROWS)
        same = np.setdiff1d(same, mv.ROWS_OF_LOADS)
        self.table[same] = before[same]
        if self.contact is not None and self.contact.contact is not None:
            from linkwork.simulation.contact_step.arrays import ROWS_OF_OPEN_NODES

            self.table[ROWS_OF_OPEN_NODES] = before[ROWS_OF_OPEN_NODES]

    def grow(self) -> None:
        """More contacts than there is memory for: the step that found them was taken back, and is made again."""
        assert self.contact is not None
        self.contact.grow()
        self.arrays.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] -= 1

    @property
    def largest_kinetic(self) -> float:
        """Largest kinetic energy lately, that which forces give in a step with contact included [J]."""
        return float(self.arrays.numbers[mv.LATE_TOP])

    def read_momentum(self) -> None:
        """Takes the present momentum of floating trees as what is to be kept from now on."""
        if self.bases.size or self.contact is not None:  # contact asks for the poses that this leaves behind
            read_momentum(self.table)

    # ---------------------------------------------------------------------------------------------------------- checkpoints

    def _saved_arrays(self) -> dict[str, FloatArray]:
        moving = self.arrays
        own = (
            {"q": moving.q, "v": moving.v}
            if self._is_model
            else {
                "loop_forces": self.constraints.loop_wrenches,
                "coupling_forces": self.constraints.coupling,
            }
        )
        return {
            **own,
            "kept_momentum": moving.target_momentum,
            "loop_coordinates": self.constraints.z,
            "energy_debt": moving.numbers[mv.STEP_HISTORY],
            "substep": moving.numbers[mv.PROPOSED_STEP : mv.PROPOSED_STEP + 1],
            **history_of(moving),
        }

    def schema(self) -> tuple[Entry, ...]:
        return tuple(entry_of(name, array) for name, array in self._saved_arrays().items())

    def saved(self) -> dict[str, NDArray[Any]]:
        return copies(self._saved_arrays())

    def fits(self, saved: Saved) -> bool:
        return True

    def restore(self, saved: Saved) -> None:
        write(self._saved_arrays(), saved)
        self.has_recorded = False
        if self._is_model:
            self.arrays.counts[mv.COMPOSITES_READY] = 0

    def reset(self) -> None:
        """Nothing was stepped yet; coordinates and velocities stay."""
        self.arrays.numbers[mv.PROPOSED_STEP] = math.inf
        clear_history(self.arrays)
        self.arrays.counts[mv.COMPOSITES_READY] = 0
        if self.model.is_constrained:
            self.constraints.z[...] = loop_plan(self.model).joints.neutral().q
            self.constraints.loop_wrenches[...], self.constraints.coupling[...] = 0.0, 0.0
        self.has_recorded = False
