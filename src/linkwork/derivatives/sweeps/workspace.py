"""Memory of the sweeps of derivatives: taken from the model, given back when the last that holds it is gone."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.bundles import describe
from linkwork.core.views import ENTRIES
from linkwork.derivatives.inputs import DOF_COLUMNS, dof_rows
from linkwork.derivatives.sweeps import arrays as at
from linkwork.derivatives.sweeps.arrays import Adjoint, Dense, Primal, Tangent
from linkwork.derivatives.sweeps.many_sides import ROW
from linkwork.dynamics import aba, rnea
from linkwork.dynamics.inputs import NO_WRENCHES
from linkwork.dynamics.remembered import remembered
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.spatial.simd import LANES

OUTPUTS = ("by_q", "by_v", "by_forcing", "by_gravity", "by_wrenches", "by_inertias", "by_dof")


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
        self.sweep, self.chain = np.empty((n, at.SWEEP_COLUMNS)), np.empty((nv, at.CHAIN_COLUMNS))
        self.layouts: dict[frozenset[str], tuple[Any, Any, list[Any], int]] = {}
        self.dense: tuple[Any, NDArray[np.int64]] | None = None
        self.directions: tuple[Tangent, NDArray[np.int64]] | None = None

    def set_wrenches(self, wrenches: FloatArray) -> None:
        """External wrenches of this state: (n, 6), or none."""
        if wrenches.size or self.primal.wrenches.size:
            self.primal = self.primal._replace(wrenches=wrenches.copy())
            _point(self.primal_table, Primal, "wrenches", self.primal.wrenches)

    def dense_table(self, model: Model) -> NDArray[np.int64]:
        """Table for full matrices; the first three of its arrays are yet to be pointed to."""
        if self.dense is None:
            n, nv = model.n_bodies, model.nv
            q, v, forcing = (np.empty(nv**2) for _ in range(3))
            bundle = Dense(
                q, v, forcing, np.empty((n, at.WORLD_COLUMNS)), np.empty((nv, at.COLUMN_COLUMNS)), np.zeros(nv),
                np.empty(nv), np.empty(LANES * nv), np.empty(ROW * n), np.empty(ROW * n),
            )  # fmt: skip
            self.dense = bundle, describe(bundle)
        return self.dense[1]

    def outputs(
        self, model: Model, asked: frozenset[str], forcing: str
    ) -> tuple[Any, FloatArray, dict[str, FloatArray]]:
        """Table for an adjoint sweep with fresh outputs, all in one piece of memory; that piece; the gradients by name.

        asked: names of gradients. forcing: the name of what forces the motion, effort or acceleration.
        """
        if asked not in self.layouts:
            self.layouts[asked] = self._lay_out(model, asked, forcing)
        template, addresses, places, size = self.layouts[asked]
        memory = np.empty(size)
        found: dict[str, FloatArray] = {}
        for name, first, last, columns, column in places:
            part = memory[first:last]
            if columns > 1:
                part = part.reshape(-1, columns)
            found[name] = part if column < 0 else part[:, column]
        return template + memory.ctypes.data * addresses, memory, found

    def _lay_out(self, model: Model, asked: frozenset[str], forcing: str) -> tuple[Any, Any, list[Any], int]:
        """Template of the table, which of its entries are addresses of outputs, places of the gradients, and the size."""
        n, nv = model.n_bodies, model.nv
        dof = not asked.isdisjoint(DOF_COLUMNS)
        rows = {"by_wrenches": n * ("wrenches" in asked), "by_inertias": n * ("inertias" in asked), "by_dof": nv * dof}
        columns = {"by_wrenches": 6, "by_inertias": 10, "by_dof": layout.DOF_COLUMNS}
        shapes: dict[str, tuple[int, ...]] = {"by_gravity": (3,)}
        shapes.update(dict.fromkeys(("by_q", "by_v", "by_forcing"), (nv,)))
        shapes.update({name: (rows[name], columns[name]) for name in rows})
        made = {name: np.empty(shape) for name, shape in shapes.items()}
        bundle = Adjoint(weights=self.weights, mu=self.mu, adjoint=self.sweep, chain=self.chain, **made)
        template = describe(bundle)
        addresses = np.zeros_like(template)
        size, spans = 0, {}
        for name in OUTPUTS:
            entry = ENTRIES * Adjoint._fields.index(name)
            template[entry], addresses[entry] = 8 * size, 1
            spans[name] = (size, size + int(np.prod(shapes[name])), columns.get(name, 1))
            size = spans[name][1]
        places = []
        for name in asked:
            column = DOF_COLUMNS.get(name, -1)
            output = "by_dof" if column >= 0 else "by_forcing" if name == forcing else f"by_{name}"
            places.append((name, *spans[output], column))
        return template, addresses, places, size

    def tangent(self, given: dict[str, FloatArray], forcing: str) -> tuple[Any, Tangent]:
        """Table for a tangent sweep along the given directions, and the arrays it points to."""
        if self.directions is None:
            nv = self.mu.shape[0]
            none = (np.zeros((0, 6)), np.zeros((0, 10)), np.zeros((0, layout.DOF_COLUMNS)))
            q, v, forced = (np.empty(nv) for _ in range(3))
            bundle = Tangent(q, v, forced, *none, np.empty(3), self.sweep, self.chain, np.empty(nv))
            self.directions = bundle, describe(bundle)
        bundle, table = self.directions
        for name, vector in (
            ("q", bundle.dq), ("v", bundle.dv), (forcing, bundle.forcing), ("gravity", bundle.dgravity),
        ):  # fmt: skip
            vector[:] = given.get(name, 0.0)
        dof = dof_rows(self.mu.shape[0], given)
        if "wrenches" in given or "inertias" in given or dof.size:
            bundle = bundle._replace(
                dwrenches=given.get("wrenches", bundle.dwrenches),
                dinertias=given.get("inertias", bundle.dinertias),
                ddof=dof,
            )
            table = describe(bundle)
        return table, bundle


def _point(table: NDArray[np.int64], bundle: Any, name: str, array: FloatArray) -> None:
    """Lets an entry of a table point to another array of the same number of columns."""
    k = ENTRIES * bundle._fields.index(name)
    table[k], table[k + 1] = array.ctypes.data, array.shape[0]


def spare(model: Model, forward: bool) -> list[Workspace]:
    """This thread's workspaces for a model that nobody holds; never empty."""
    nothing: list[Workspace] = []
    free = remembered(model, "derivatives_forward" if forward else "derivatives_inverse", lambda _: nothing)
    if not free:
        free.append(Workspace(model, forward))
    return free


def borrow(model: Model, forward: bool, holder: Any) -> Workspace:
    """A workspace for as long as `holder` lives; the next one takes the same memory then."""
    free = spare(model, forward)
    work = free.pop()
    weakref.finalize(holder, free.append, work).atexit = False
    return work
