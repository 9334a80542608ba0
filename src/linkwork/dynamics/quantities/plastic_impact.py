"""Velocities after a plastic impact: the mechanism is caught by a joint that follows only part of its motion.

The joint's impulse does no work on the freedoms it leaves, so the momentum along them stays: H⁺ v⁺ = Nᵀ M v⁻, with M the
mass matrix of the free mechanism, N what the new velocities make of its own, H⁺ = Nᵀ M N the mass matrix of the caught one
(Garcia 1999; Stępień et al. 2012, eq. 23). v⁺ is the motion nearest to v⁻ in kinetic energy, and the energy lost is that
of the difference (Carnot).
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.aba import BODY_WORK as ABA_BODY_WORK
from linkwork.dynamics.aba import DOF_WORK as ABA_DOF_WORK
from linkwork.dynamics.aba import aba
from linkwork.dynamics.inputs import NO_WRENCHES, explain_failure
from linkwork.dynamics.rnea import BODY_WORK as RNEA_BODY_WORK
from linkwork.dynamics.rnea import rnea
from linkwork.model.model import Model, inertia_only
from linkwork.model.rerooting.reroot import RerootedModel, Root
from linkwork.model.rerooting.root_joint import subspace


def plastic_velocities(before: RerootedModel, after: RerootedModel, root: Root) -> FloatArray:
    """Joint velocities of `after`, in which the motion of `before` (same bodies, free root) has been caught, shape (nv,).

    Cost: O(n).
    """
    momentum = _momenta(before.model, before.state.q, before.state.v)
    of_root = before.model.v_slice(before.root)
    along = subspace(root.joint, root.q).T @ momentum[of_root]  # Nᵀ: only the root's rows change
    momenta = np.concatenate([momentum[: of_root.start], along, momentum[of_root.stop :]])
    return _velocities(after.model, after.state.q, momenta)


def _momenta(model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
    """M v: inverse dynamics of the accelerations v at rest, without weight and springs."""
    tree, body, screws, dof, rest, gravity = inertia_only(model.arrays)
    work, S, momenta = np.empty((model.n_bodies, RNEA_BODY_WORK)), np.empty((model.nv, 6)), np.empty(model.nv)
    rnea(tree, body, screws, dof, rest, gravity, q, np.zeros(model.nv), v, NO_WRENCHES, work, S, momenta)
    return momenta


def _velocities(model: Model, q: FloatArray, momenta: FloatArray) -> FloatArray:
    """H⁻¹ times momenta: forward dynamics at rest, without weight and springs."""
    work, dof_work = np.empty((model.n_bodies, ABA_BODY_WORK)), np.empty((model.nv, ABA_DOF_WORK))
    v = np.empty(model.nv)
    _, bad = aba(*inertia_only(model.arrays), q, np.zeros(model.nv), momenta, NO_WRENCHES, work, dof_work, v)
    if bad >= 0 or not np.isfinite(v.sum()):
        raise explain_failure(model, "the impact", bad, {"state.q": q}, NO_WRENCHES)
    return v
