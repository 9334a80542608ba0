"""The method of virtual work in plain form: the whole system of all joints at once, dense. Slow on purpose; a reference.

The global equations of the paper, with rotors: Λ Θ̈ = T + ΓᵀN (18), Γ Θ̈ + J N = γ (19), q̈ = Γ_J Θ̈ - γ_J (20), so that
(Γ Λ⁻¹ Γᵀ + J) N = γ - Γ Λ⁻¹ T. Θ̈ stacks the accelerations of all links, N what joints constrain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.dca.nodes import H_F
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.inputs import as_effort, as_state, as_wrenches
from linkwork.model.compile.split import split_links
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reference.plain_dca import body_inertia, joint_data

Array = NDArray[np.floating]


def plain_virtual_work(
    model: Model, state: State, effort: Array | None = None, wrenches: Array | None = None, split: bool = True
) -> tuple[Array, Array]:
    """Joint accelerations, shape (nv,), and the wrenches joints pass on, shape (n, 6). Cost: O(n³)."""
    links = split_links(model.parent, split)
    solver = DcaSolver(model, threads=1)  # only for poses, velocity terms and efforts, which are not on trial here
    solver.prepare(*as_state(model, state), as_effort(model, effort), as_wrenches(model, wrenches))
    m, world = links.body.size, np.concatenate([np.zeros(3), -model.gravity])
    inverse_inertia, force = np.zeros((6 * m, 6 * m)), np.zeros(6 * m)
    rows, rights, diagonal, columns = [], [], [], []
    X: Array
    c: Array
    joint_rows, joint_rights = np.zeros((model.nv, 6 * m)), np.zeros(model.nv)
    for k, body in enumerate(links.body.tolist()):
        own = slice(6 * k, 6 * k + 6)
        inverse_inertia[own, own] = np.linalg.inv(body_inertia(model, body) / links.pieces[body])
        force[own] += solver.joint_data[body, H_F : H_F + 6] / links.pieces[body]
        if links.is_weld[k]:
            X, c, B, J, carried = np.eye(6), np.zeros(6), np.eye(6), np.zeros(6), np.zeros(6)
        else:
            X, S, c, effort_here, armature = joint_data(solver, body)
            d = S.shape[1]
            E = np.linalg.pinv(S).T
            B = np.hstack([np.linalg.svd(S)[0][:, d:], E * np.sqrt(armature)])
            J, carried = np.concatenate([np.zeros(6 - d), np.ones(d)]), E @ effort_here
        row = np.zeros((6, 6 * m))  # takes Θ̈ to the relative acceleration at this joint
        row[:, own] = np.eye(6)
        right = c.copy()
        parent = links.parent[k]
        if parent >= 0:
            above = slice(6 * parent, 6 * parent + 6)
            row[:, above] = -X
            force[above] -= X.T @ carried
        else:
            right += X @ world
        force[own] += carried
        rows.append(B.T @ row)
        rights.append(B.T @ right)
        diagonal.append(J)
        columns.append((B, carried))
        if not links.is_weld[k]:
            joint_rows[model.v_slice(body)] = E.T @ row
            joint_rights[model.v_slice(body)] = E.T @ right
    G = np.vstack(rows)
    system = G @ inverse_inertia @ G.T + np.diag(np.concatenate(diagonal))
    N = np.linalg.solve(system, np.concatenate(rights) - G @ inverse_inertia @ force)
    acceleration = inverse_inertia @ (force + G.T @ N)
    reactions = np.zeros((model.n_bodies, 6))
    for body, k in enumerate(links.first.tolist()):
        B, carried = columns[k]
        reactions[body] = carried + B @ N[6 * k : 6 * k + 6]
    return joint_rows @ acceleration - joint_rights, reactions
