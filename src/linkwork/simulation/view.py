"""A window into a simulation, for other rooms of the package, tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwork.simulation.moving import NEVER_WHIPS

if TYPE_CHECKING:
    from linkwork.core.arrays import FloatArray, IntArray
    from linkwork.simulation.constrained.constraints import Constraints
    from linkwork.simulation.loading.loads import LoadTable
    from linkwork.simulation.moving import Moving
    from linkwork.simulation.parts.joint_inputs import JointInputs
    from linkwork.simulation.parts.part import Part


@dataclass(frozen=True, slots=True)
class CompiledSteps:
    """Steps of a simulation whose kernel is called by another kernel, which steps many simulations.

    start(q, v): begins anew in a state, as a new simulation would, or refuses it.
    begin(h): before steps of h [s]. table(), address(): what the kernel takes, and where it stands; both stay while steps
    do not grow their memory. end(h, n, status, made): after it returned.
    """

    start: Callable[[FloatArray, FloatArray], None]
    begin: Callable[[float], None]
    table: Callable[[], IntArray]
    address: Callable[[], int]
    end: Callable[[float, int, int, int], None]


@dataclass(frozen=True, slots=True)
class View:
    """The parts that a simulation is made of; those that it does not have are None.

    Arrays are those that kernels work on: read them, and write only by functions of the parts. Ask for the view anew after
    each call of the simulation, which may exchange arrays for larger ones.

    loads: on bodies (`LoadTable`). joints: efforts and motors (`JointInputs`).
    moving, constraints, table: arrays of the linkage that steps move, and the table by which kernels find them.
    contact: contact and joint limits (`ContactState`). forces: from Python (`PythonForces`).
    tree: coefficients on the assembly tree (`AdaptiveTree`). region: its active part (`ActiveRegion`).
    steps: how another kernel makes steps; None where Python has a part in them.
    parts: all of them, in the order in which a checkpoint is restored.
    refresh: brings what the next evaluation would use up to date: forces from Python, or coefficients on open paths.
    """

    loads: LoadTable
    joints: JointInputs
    moving: Moving = None  # type: ignore[assignment]
    constraints: Constraints = None  # type: ignore[assignment]
    table: IntArray = None  # type: ignore[assignment]
    contact: Any = None
    forces: Any = None
    tree: Any = None
    region: Any = None
    steps: CompiledSteps | None = None
    parts: tuple[Part, ...] = ()
    refresh: Callable[[], None] = lambda: None

    @contextmanager
    def by_one_rule(self) -> Iterator[None]:
        """Within it all steps of semi-implicit Euler are made by Euler's rule, however fast the linkage whips, and steps of
        other integrators in which bodies meet are made whole by it."""
        counts = self.moving.counts
        before = int(counts[NEVER_WHIPS])
        counts[NEVER_WHIPS] = 1
        try:
            yield
        finally:
            counts[NEVER_WHIPS] = before
