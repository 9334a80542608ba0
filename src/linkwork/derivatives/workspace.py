"""Memory of the sweeps of derivatives: taken from the model, given back when the last that holds it is gone."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import describe
from linkwork.core.views import ENTRIES
from linkwork.derivatives.arrays import CHAIN_COLUMNS, SWEEP_COLUMNS, Adjoint, Primal, Tangent
from linkwork.dynamics import aba, rnea
from linkwork.dynamics.inputs import NO_WRENCHES
from linkwork.model import layout
from linkwork.model.model import Model

FloatArray = NDArray[np.float64]

OUTPUTS = ("by_q", "by_v", "by_drive", "by_gravity", "by_wrenches", "by_inertias", "by_dof")


class Workspace:
    """Arrays for one function at one state, and the tables by which kernels find them."""

    def __init__(self, model: Model, forward: bool):
        n, nv = model.n_bodies, model.nv
        body_work, dof_work = (aba.BODY_WORK, aba.DOF_WORK) if forward else (rnea.BODY_WORK, 6)
        self.primal = Primal(
            *model.arrays,
            np.empty(model.nq),
            np.empty(nv),
            np.empty(nv),
            NO_WRENCHES,
            np.empty((n, body_work)),
            np.empty((nv, dof_work)),
        )
        self.primal_table = describe(self.primal)
        self.mu, self.weights = np.empty(nv), np.empty(nv)
        self.sweep, self.chain = np.empty((n, SWEEP_COLUMNS)), np.empty((nv, CHAIN_COLUMNS))
        self.layouts: dict[tuple[bool, ...], tuple[NDArray[np.int64], list[Any], int]] = {}

    def set_wrenches(self, wrenches: FloatArray) -> None:
        """External wrenches of this state: (n, 6), or none."""
        self.primal = self.primal._replace(wrenches=wrenches)
        k = ENTRIES * Primal._fields.index("wrenches")
        self.primal_table[k : k + 2] = (wrenches.ctypes.data, wrenches.shape[0])

    def outputs(
        self, model: Model, wrenches: bool, inertias: bool, dof: bool
    ) -> tuple[Any, FloatArray, dict[str, Any]]:
        """Table for an adjoint sweep with fresh outputs, all in one piece of memory; that piece, and the outputs by name.

        wrenches, inertias, dof: whether these gradients are asked for.
        """
        key = (wrenches, inertias, dof)
        if key not in self.layouts:
            self.layouts[key] = self._lay_out(model, *key)
        template, places, size = self.layouts[key]
        memory = np.empty(size)
        table = template.copy()
        start = memory.ctypes.data
        named: dict[str, Any] = {}
        for name, entry, first, shape in places:
            table[entry] = start + 8 * first
            count = shape[0] if len(shape) == 1 else shape[0] * shape[1]
            named[name] = memory[first : first + count].reshape(shape)
        return table, memory, named

    def _lay_out(self, model: Model, wrenches: bool, inertias: bool, dof: bool) -> tuple[Any, list[Any], int]:
        n, nv = model.n_bodies, model.nv
        rows = {"by_wrenches": n * wrenches, "by_inertias": n * inertias, "by_dof": nv * dof}
        columns = {"by_wrenches": 6, "by_inertias": 10, "by_dof": layout.DOF_COLUMNS}
        shapes: dict[str, tuple[int, ...]] = {"by_gravity": (3,)}
        shapes.update(dict.fromkeys(("by_q", "by_v", "by_drive"), (nv,)))
        shapes.update({name: (rows[name], columns[name]) for name in rows})
        made = {name: np.empty(shape) for name, shape in shapes.items()}
        bundle = Adjoint(weights=self.weights, mu=self.mu, adjoint=self.sweep, chain=self.chain, **made)
        places, size = [], 0
        for name in OUTPUTS:
            places.append((name, ENTRIES * Adjoint._fields.index(name), size, shapes[name]))
            size += int(np.prod(shapes[name]))
        return describe(bundle), places, size

    def tangent(self, **changes: FloatArray) -> tuple[Any, Tangent]:
        """Table for a tangent sweep, and the arrays it points to."""
        bundle = Tangent(tangent=self.sweep, chain=self.chain, result=np.empty(self.mu.shape[0]), **changes)
        return describe(bundle), bundle


def borrow(model: Model, forward: bool, holder: Any) -> Workspace:
    """A workspace for as long as `holder` lives; the next one takes the same memory then."""
    key = "derivatives_forward" if forward else "derivatives_inverse"
    kept = model.workspaces.__dict__
    free = kept.setdefault(key, [])
    work: Workspace = free.pop() if free else Workspace(model, forward)
    weakref.finalize(holder, free.append, work).atexit = False
    return work
