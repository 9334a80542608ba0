"""Gradients of forward dynamics on the device: the way back as launches over the same tables (`gradients.cuh`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.core.turns import turn_of
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.inputs import as_names
from linkwork.errors import StateError
from linkwork.gpu.arrays import Reader, as_given, like
from linkwork.gpu.workspace import Sweeps, Workspace

KNOWN = ("q", "v", "effort", "wrenches", "inertias", "gravity", "stiffness", "damping", "armature")
OPTIONAL = {"by_stiffness": "stiffness", "by_inertia": "inertias", "by_gravity": "gravity"}  # tables, and who asks


class DevicePull:
    """Gradients of λ · q̈ for any λ, (nv,) or (batch, nv), at the states where it was made; arrays stay on the device."""

    def __init__(self, device: Any, template: Any, given: dict[str, Any], wrt: Sequence[str] | None, check: bool):
        self.device, self.template, self.given, self.check = device, template, given, check
        self.asked = as_names(wrt, KNOWN, "forward_dynamics")
        self.version = -1  # of the device's workspace, when it held these states

    def solve(self) -> Any:
        """Accelerations of the states, which are in the workspace afterwards."""
        device = self.device
        work, self.samples = device._load(**self.given)
        work.need(**_shapes(device.model))
        device._run(work, "forward for gradients", lambda sweeps, schedule: _forward(device, sweeps, schedule))
        self.version, self.work = device._loads, work
        return like(self.template, as_given(work.arrays["qdd"], self.samples), device.backend)

    def __call__(self, weights: Any) -> Gradients:
        device = self.device
        with turn_of(device):
            if self.version != device._loads:  # another call was made in between
                self.solve()
            work = self.work
            reader = Reader(device.backend, device.dtype, device.model)
            reader.batch = self.samples
            given = reader.other(weights, (device.model.nv,), "weights")
            if self.check and not bool(device.backend.xp.isfinite(given).all()):
                raise StateError("weights hold numbers that are not finite; give finite ones.")
            work.write("weights", given)
            self._point_to_asked(work)
            name = f"gradients {sorted(self.asked)}"
            device._run(work, name, lambda sweeps, schedule: _backward(device, sweeps, schedule))
            if self.check:
                device.check()
            return self._gradients(work)

    def _point_to_asked(self, work: Workspace) -> None:
        n, nv = self.device.model.n_bodies, self.device.model.nv
        shapes = {"by_stiffness": (nv,), "by_inertia": (10, n), "by_gravity": (3, n)}
        for table, name in OPTIONAL.items():
            if name in self.asked:
                work.need(**{table: shapes[table]})
            address = work.backend.address(work.arrays[table]) if name in self.asked and n else None
            setattr(work.tables, table, address)

    def _gradients(self, work: Workspace) -> Gradients:
        device, arrays = self.device, work.arrays
        found: dict[str, Any] = {}
        for name in self.asked:
            if name in ("q", "v"):
                table = as_given(arrays[f"by_{name}"], self.samples)
            elif name == "effort":
                table = as_given(arrays["mu"], self.samples)
            elif name == "stiffness":
                table = as_given(arrays["by_stiffness"], self.samples)
            elif name in ("damping", "armature"):
                table = as_given(-arrays["mu"] * arrays["v" if name == "damping" else "qdd"], self.samples)
            elif name == "gravity":
                sums = arrays["by_gravity"].sum(axis=1)
                table = sums[:, 0] if self.samples is None else sums.T
            else:
                table = device._by_body(
                    arrays["virtual_twist" if name == "wrenches" else "by_inertia"], self.samples
                ).copy()
            found[name] = like(self.template, table, device.backend)
        return Gradients(**found)


def _shapes(model: Any) -> dict[str, tuple[int, ...]]:
    n, nv = model.n_bodies, model.nv
    by_body = dict.fromkeys(("acceleration", "virtual_twist", "passed", "momentum", "twisted"), (6, n))
    return {**dict.fromkeys(("weights", "mu", "by_q", "by_v"), (nv,)), **by_body}


def _forward(device: Any, sweeps: Sweeps, schedule: str) -> None:
    """Forward dynamics; it leaves the wrenches through the joints, or body by body the accelerations of the bodies."""
    if schedule == "levels":
        with _Pointed(sweeps.work, through="passed"):
            sweeps.forward_dynamics()
        return
    with _Pointed(sweeps.work, twist="acceleration"):
        device._forward(sweeps.work, sweeps, schedule)


def _backward(device: Any, sweeps: Sweeps, schedule: str) -> None:
    """After `_forward` on the same tables, which stay as they are: a second way back goes the same way."""
    work = sweeps.work
    if schedule == "bodies":
        _alone(device, work)
        others = {"v": "nothing", "effort": "weights", "gravity": "no_gravity", "passive": "rotors", "qdd": "mu"}
        with _Pointed(work, twist="virtual_twist", **others):
            has_wrenches, work.tables.has_wrenches = work.tables.has_wrenches, 0
            device._forward(work, sweeps, schedule)
            work.tables.has_wrenches = has_wrenches
        device.backend.launch_bodies(work.tables, device._threads(work), "bodies_gradients")
        return
    sweeps.bodies("take_weights")  # M⁻¹ λ: the assembly once more, with efforts alone
    with _Pointed(work, qdd="mu", through="momentum"):
        sweeps.there_and_back("assemble", "start_still", "substitute", strands=True)
    sweeps.bodies("joint_poses")
    sweeps.bodies("body_shares")
    sweeps.leaf_to_root("stretch")
    sweeps.leaf_to_root("gather")
    sweeps.at_root("start_still")
    sweeps.root_to_leaf("pass_sums")
    sweeps.bodies("joint_gradients")


def _alone(device: Any, work: Workspace) -> None:
    """Tables of a linkage at rest, without gravity, springs and dampers."""
    if "rotors" in work.arrays:
        return
    passive = np.zeros((3, device.model.nv), dtype=device.dtype)
    passive[2] = work.backend.download(work.arrays["passive"])[2]
    work.arrays["rotors"] = work.backend.upload(passive)
    for name, rows in (("nothing", device.model.nv), ("no_gravity", 3)):
        work.arrays[name] = work.backend.upload(np.zeros((rows, work.batch), dtype=device.dtype))


class _Pointed:
    """Within it tables are found where others are: `_Pointed(work, twist="acceleration")`."""

    def __init__(self, work: Workspace, **others: str):
        self.work, self.others = work, others

    def __enter__(self) -> None:
        for name, other in self.others.items():
            self._point(name, other)

    def __exit__(self, *_: object) -> None:
        for name in self.others:
            self._point(name, name)

    def _point(self, name: str, other: str) -> None:
        array = self.work.arrays.get(other)  # none: a table that stays null outside
        is_there = array is not None and array.size
        setattr(self.work.tables, name, self.work.backend.address(array) if is_there else None)
