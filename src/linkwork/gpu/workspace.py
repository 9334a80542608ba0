"""Device memory of one linkage for one number of samples, and the sweeps over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.assembly.levels import Levels
from linkwork.errors import DeviceError
from linkwork.gpu.tables import DEPTH_INDICES, PIVOT_ROWS, ROWS_OF_BODY, ROWS_OF_SLOT, SLOT_INDICES, Tables

ARTICULATED_ROWS = 27
FEW = 32  # slots of a level, up to which one block does it in less time than a launch of its own takes
UP, FROM_STILL, FROM_GRAVITY, DOWN = 1, 2, 4, 8  # what one block does at these levels, in this order
NARROW_FORMS = {  # the kernel that does several such levels at once, and which part of it
    "stretch": ("narrow_twists", UP),
    "spread": ("narrow_twists", DOWN),
    "assemble": ("narrow_solve", UP),
    "substitute": ("narrow_solve", DOWN),
}
STARTS = {"start_still": FROM_STILL, "start_gravity": FROM_GRAVITY}
BY_FREEDOMS = ("assemble", "substitute")  # kernels with a form of their own for joints of several freedoms
NARROW = 8_192  # nodes of a level, all samples counted, up to which six threads per node are faster than one


class Sizes:
    """How many numbers a linkage takes: bodies, slots, coordinates, freedoms."""

    def __init__(self, bodies: int, slots: int, nq: int, nv: int):
        self.bodies, self.slots, self.nq, self.nv = bodies, slots, nq, nv

    def bytes_needed(self, batch: int, itemsize: int, schedule: str, own_inertias: bool = False) -> int:
        """Memory of a workspace for forward dynamics, constants and index tables of the model included [bytes]."""
        of_body = sum(ROWS_OF_BODY.values()) + (ARTICULATED_ROWS if schedule == "bodies" else PIVOT_ROWS)
        of_slot = sum(ROWS_OF_SLOT.values()) if schedule == "levels" else 0
        numbers = batch * (self.bodies * of_body + self.slots * of_slot + self.nq + 4 * self.nv + 3)
        numbers += self.bodies * (12 + 9 + 6) + 3 * self.nv + self.nq
        numbers += self.bodies * (10 + 21) * (batch if own_inertias else 1)
        return numbers * itemsize + 4 * (12 * self.bodies + 4 * self.slots)


class Workspace:
    """Tables of one linkage for `batch` samples. Groups of tables are made when a sweep first needs them."""

    def __init__(
        self, backend: Any, model_tables: dict[str, Any], sizes: Sizes, batch: int, dtype: Any, own_inertias: bool
    ):
        self.backend, self.sizes, self.batch, self.dtype = backend, sizes, batch, np.dtype(dtype)
        self.own_inertias = own_inertias
        self.has_model_gravity = False  # whether its gravity is the model's
        self.arrays: dict[str, Any] = dict(model_tables)
        self.recorded: dict[Any, Callable[[], None]] = {}
        self.tables = Tables()
        numbers = {
            "bodies": sizes.bodies,
            "slots": sizes.slots,
            "freedoms": sizes.nv,
            "batch": batch,
            "coordinates": sizes.nq,
        }
        numbers |= {"inertia_batch": batch if own_inertias else 1, "gravity_batch": batch}
        for name, value in numbers.items():
            setattr(self.tables, name, value)
        n = sizes.bodies
        shapes: dict[str, tuple[int, ...]] = {
            "q": (sizes.nq, batch),
            "v": (sizes.nv, batch),
            "effort": (sizes.nv, batch),
            "qdd": (sizes.nv, batch),
        }
        shapes |= {"total": (sizes.nv, batch), "gravity": (3, batch)}
        shapes |= {name: (rows, n, batch) for name, rows in ROWS_OF_BODY.items()}
        if own_inertias:
            shapes |= {"inertia": (10, n, batch), "phi": (21, n, batch)}
        for name, shape in shapes.items():
            self.arrays[name] = backend.empty(shape, self.dtype)
        self.arrays["status"] = backend.upload(np.zeros(1, dtype=np.int32))
        for name, array in self.arrays.items():
            self._point(name, array)

    def _point(self, name: str, array: Any) -> None:
        setattr(self.tables, name, self.backend.address(array) if array.size else None)

    def take(self, **arrays: Any) -> None:
        """Copies q, v and effort from where the caller has them, (entries, batch) or (entries,), in one launch."""
        for name in ("q", "v", "effort"):
            array = arrays.get(name)
            setattr(self.tables, f"from_{name}", None if array is None else self.backend.address(array))
            if array is not None:
                steps = [step // self.dtype.itemsize for step in array.strides]
                setattr(self.tables, f"{name}_entry", steps[0])
                setattr(self.tables, f"{name}_sample", steps[1] if array.ndim == 2 else 0)
        self.backend.launch("take", self.tables, 0, max(self.sizes.nq, self.sizes.nv))

    def need(self, **shapes: tuple[int, ...]) -> None:
        """Makes tables that are not there yet, of the given shapes (samples innermost)."""
        for name, shape in shapes.items():
            if name not in self.arrays:
                self.arrays[name] = self.backend.empty((*shape, self.batch), self.dtype)
                self._point(name, self.arrays[name])

    def need_slots(self, levels: Levels, tables: dict[str, Any]) -> None:
        if "node" in self.arrays:
            return
        for name in SLOT_INDICES:
            self.arrays[name] = tables[name]
            self._point(name, tables[name])
        self.tables.root = levels.root
        self.tables.strand_length, self.tables.strands = levels.strand_body.shape
        self.need(pivots=(PIVOT_ROWS, self.sizes.bodies))
        self.need(**{name: (rows, self.sizes.slots) for name, rows in ROWS_OF_SLOT.items()})

    def need_depths(self, tables: dict[str, Any], depths: int) -> None:
        if "by_depth" in self.arrays:
            return
        for name in DEPTH_INDICES:
            self.arrays[name] = tables[name]
            self._point(name, tables[name])
        self.tables.depths = depths
        self.need(articulated=(ARTICULATED_ROWS, self.sizes.bodies))

    def need_relatives(self, tables: dict[str, Any]) -> None:
        """Parents and children of the bodies alone, for sweeps over the assembly tree that ask for them."""
        for name in ("parent", "child_first", "child"):
            if name not in self.arrays:
                self.arrays[name] = self.backend.upload(tables[name])
                self._point(name, self.arrays[name])

    def write(self, name: str, value: Any) -> None:
        """Copies (entries, batch), or (entries,) for all samples, into a table."""
        table = self.arrays[name]
        self.backend.copy(table, value if value.ndim == 2 else value[:, None])


def refuse_if_too_large(
    backend: Any, sizes: Sizes, batch: int, itemsize: int, schedule: str, own_inertias: bool, name: str
) -> None:
    """An error that says how much memory is needed, before anything is allocated."""
    free = backend.free_bytes()
    needed = sizes.bytes_needed(batch, itemsize, schedule, own_inertias)
    if free is not None and needed > free:
        raise DeviceError(
            f"model '{name}' with {sizes.bodies:,} bodies x {batch:,} samples needs {needed / 1e9:.2f} GB on the GPU; "
            f"{free / 1e9:.2f} GB are free. Use fewer samples at a time, or float32."
        )


def narrow_levels(levels: Levels, batch: int, strands: bool = False) -> range:
    """The highest levels in a row with few slots and no joint of several freedoms; none with several samples.

    strands: nodes inside strands are not done with their levels, so that these levels are left out.
    """
    first, several = levels.first, levels.several
    fits = [first[k + 1] - first[k] <= FEW and several[k] == first[k + 1] for k in range(levels.height)]
    if strands:
        fits = [fit and levels.alone[k] == first[k] for k, fit in enumerate(fits)]
    end = max((k + 1 for k in range(levels.height) if fits[k]), default=0)
    start = end
    while start > 0 and fits[start - 1]:
        start -= 1
    return range(start, end) if batch == 1 and end - start > 1 else range(0)


class Sweeps:
    """The order of launches. `levels` is the plan; bodies and nodes of one launch do not depend on each other."""

    def __init__(self, workspace: Workspace, levels: Levels):
        self.work, self.levels = workspace, levels
        self.tables, self.backend = workspace.tables, workspace.backend

    def bodies(self, kernel: str) -> None:
        self.backend.launch(kernel, self.tables, 0, self.work.sizes.bodies)

    def at_root(self, kernel: str) -> None:
        self.backend.launch(kernel, self.tables, self.levels.root, 1)

    def leaf_to_root(self, kernel: str, strands: bool = False) -> None:
        """strands: each of them in one go, by the form of the kernel for them."""
        if strands:
            self._strands(kernel)
        self._sweep(kernel, range(self.levels.height), strands)

    def root_to_leaf(self, kernel: str, strands: bool = False) -> None:
        self._sweep(kernel, range(self.levels.height - 1, -1, -1), strands)
        if strands:
            self._strands(kernel)

    def there_and_back(self, up: str, start: str, down: str, strands: bool = False) -> None:
        """Leaf to root, what begins at the root, root to leaf. One block does the levels around the root, where it can."""
        few = narrow_levels(self.levels, self.work.batch, strands)
        if not few or few.stop < self.levels.height:
            self.leaf_to_root(up, strands)
            self.at_root(start)
            self.root_to_leaf(down, strands)
            return
        if strands:
            self._strands(up)
        self._sweep(up, range(few.start), strands)
        what = UP | STARTS[start] | DOWN
        self.backend.launch_narrow(NARROW_FORMS[up][0], self.tables, few.start, len(few), what)
        self._sweep(down, range(few.start - 1, -1, -1), strands)
        if strands:
            self._strands(down)

    def _strands(self, kernel: str) -> None:
        self.backend.launch(f"{kernel}_strands", self.tables, 0, self.levels.strand_slot.size)

    def _sweep(self, kernel: str, levels: range, strands: bool) -> None:
        """Level by level; several narrow ones in one launch, where the kernel has such a form."""
        few = narrow_levels(self.levels, self.work.batch, strands) if kernel in NARROW_FORMS else range(0)
        first = self.levels.alone if strands else self.levels.first
        for k in levels:
            if k not in few:
                self._level(kernel, k, int(first[k]))
            elif k == (few[0] if levels.step > 0 else few[-1]):
                name, part = NARROW_FORMS[kernel]
                self.backend.launch_narrow(name, self.tables, few[0], len(few), part)

    def _level(self, kernel: str, k: int, start: int) -> None:
        """Joints of one freedom and of several in launches of their own; narrow levels with six threads per node."""
        end = int(self.levels.first[k + 1])
        several = int(self.levels.several[k]) if kernel in BY_FREEDOMS else end
        if several > start:
            narrow = kernel == "assemble" and (several - start) * self.work.batch <= NARROW
            self.backend.launch("assemble_columns" if narrow else kernel, self.tables, start, several - start)
        if end > several:
            self.backend.launch(f"{kernel}_several", self.tables, several, end - several)

    def move(self, into: str, start: str, strands: bool = False) -> None:
        """Relative motions of all joints → motions of all bodies, written `into` a table."""
        self.tables.moved = self.backend.address(self.work.arrays[into])
        self.there_and_back("stretch", start, "spread", strands)

    def twists(self, with_efforts: bool = False, strands: bool = False) -> None:
        self.bodies("joint_states" if with_efforts else "joint_poses")
        self.move("twist", "start_still", strands)

    def poses(self) -> None:
        """World poses; the stretches of the clusters must be there."""
        self.at_root("start_place")
        self.root_to_leaf("place")

    def kinematics(self, poses: bool = False, to_world: bool = False) -> None:
        """Twists of all bodies, and what else is asked for."""
        self.twists()
        if poses:
            self.poses()
        if to_world:
            self.bodies("twists_to_world")

    def forward_dynamics(self) -> None:
        self.twists(with_efforts=True, strands=True)
        self.bodies("biases")
        self.there_and_back("assemble", "start_gravity", "substitute", strands=True)

    def inverse_dynamics(self) -> None:
        """Efforts into `total`, from the accelerations in `qdd`."""
        self.twists(with_efforts=True)
        self.bodies("relative_accelerations")
        self.move("force", "start_gravity")
        self.bodies("body_wrenches")
        self.leaf_to_root("gather")
        self.at_root("start_still")
        self.root_to_leaf("wrenches")
