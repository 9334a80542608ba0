"""Contacts and joint limits of the last step as rows on bodies, with the forces they had."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import kernel
from linkwork.model.kernels.joint_kernels import joint_motion
from linkwork.model.layout import DOF, PARENT, V

if TYPE_CHECKING:
    from linkwork.haptics.snapshot.sources import Source
    from linkwork.model.model import Model
    from linkwork.simulation.contact_step.contact_state import ContactState

WORLD = -1


class Rows(NamedTuple):
    """p constraints between two bodies each, and what acts on bodies because of them."""

    bodies: IntArray  # (p, 2)  -1 is the world
    on: FloatArray  # (p, 2, 6)  wrench of a unit force on each body, in its frame
    force: FloatArray  # (p,)  in the last step
    load_bodies: IntArray  # (l,)
    loads: FloatArray  # (l, 6)  wrenches in the last step, in the frames of the bodies [N·m, N]

    @property
    def has_loads(self) -> bool:
        return bool(self.loads.any())

    def joined(self, other: Rows) -> Rows:
        return Rows(*(np.concatenate([a, b]) for a, b in zip(self, other, strict=True)))


def no_rows() -> Rows:
    none = np.zeros(0, dtype=np.int64)
    return Rows(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2, 6)), np.zeros(0), none, np.zeros((0, 6)))


def contact_rows(model: Model, contact: ContactState, source: Source) -> Rows:
    """Of the contacts that pressed and the limits that held in the last step."""
    from linkwork.simulation.contact_step.arrays import STEP

    h = float(contact.arrays.totals[STEP])
    if not h > 0.0:
        return no_rows()
    return rows_of_contacts(contact, source, h).joined(rows_of_limits(model, contact, source, h))


def rows_of_contacts(contact: ContactState, source: Source, h: float) -> Rows:
    from linkwork.contact import contact_list as cl
    from linkwork.contact.solver.problem import STICK

    contacts = contact.contacts
    count = int(contacts.number[cl.COUNT])
    ids, data, impulse = contacts.ids[:count], contacts.data[:count], contacts.summed[:count, :3]
    normals = data[:, cl.NORMAL : cl.NORMAL + 3]
    pressed = np.flatnonzero((impulse * normals).sum(axis=1) > 0.0)
    if not pressed.size:
        return no_rows()
    in_contact = np.unique(ids[pressed, :2])
    in_contact = in_contact[in_contact >= 0]
    pose, twist = np.zeros((in_contact.size, 12)), np.zeros((in_contact.size, 6))
    source.place(in_contact, pose, twist)
    bodies, on, forces, load_bodies, loads = [], [], [], [], []
    for c in pressed.tolist():
        pair = (int(ids[c, cl.BODY_A]), int(ids[c, cl.BODY_B]))
        a = pose[np.searchsorted(in_contact, pair[0])]
        point = a[:9].reshape(3, 3) @ data[c, cl.LOCAL : cl.LOCAL + 3] + a[9:]  # it moved with body a in the step
        normal, force = normals[c], impulse[c] / h
        axes = np.vstack([normal, _tangents(normal)]) if contact.system.state[c] == STICK else normal[None]
        for axis in axes:
            bodies.append(pair)
            on.append(
                [_wrench(pose, in_contact, body, point, s * axis) for body, s in zip(pair, (1.0, -1.0), strict=True)]
            )
            forces.append(float(force @ axis))
        for body, s in zip(pair, (1.0, -1.0), strict=True):
            if body != WORLD:
                load_bodies.append(body)
                loads.append(_wrench(pose, in_contact, body, point, s * force))
    return Rows(np.array(bodies), np.array(on), np.array(forces), np.array(load_bodies), np.array(loads))


def _wrench(pose: FloatArray, in_contact: IntArray, body: int, point: FloatArray, force: FloatArray) -> FloatArray:
    """A force at a point, world axes → wrench on a body in its frame, shape (6,); zero on the world."""
    if body == WORLD:
        return np.zeros(6)
    row = pose[np.searchsorted(in_contact, body)]
    R = row[:9].reshape(3, 3)
    f = R.T @ force
    return np.concatenate([np.cross(R.T @ (point - row[9:]), f), f])


def _tangents(normal: FloatArray) -> FloatArray:
    """Two directions across a normal, shape (2, 3)."""
    least = np.eye(3)[np.argmin(np.abs(normal))]
    first = np.cross(normal, least)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


def rows_of_limits(model: Model, contact: ContactState, source: Source, h: float) -> Rows:
    """An effort on a coordinate is a wrench on the body of the joint, and the opposite one on its parent."""
    limit_impulse = contact.arrays.limit_sums[:, :2]
    places, sides = np.nonzero(limit_impulse > 0.0)
    if not places.size:
        return no_rows()
    tree = model.arrays.tree
    carrying = np.flatnonzero(tree[:, DOF] > 0)  # bodies without freedoms share the place of the next
    starts = tree[carrying, V]
    bodies, on, forces, load_bodies, loads = [], [], [], [], []
    for place, side in zip(places.tolist(), sides.tolist(), strict=True):
        i = int(carrying[np.searchsorted(starts, place, side="right") - 1])
        parent = int(tree[i, PARENT])
        S = source.subspace(i)  # (dof, 6)
        F = np.linalg.pinv(S)[:, place - int(tree[i, V])] * (1.0 if side == 0 else -1.0)  # S F: one at this coordinate
        R, p = source.joint_pose(i)
        f = R @ F[3:]
        back = -np.concatenate([R @ F[:3] + np.cross(p, f), f])
        effort = float(limit_impulse[place, side]) / h
        bodies.append((i, parent))
        on.append([F, back if parent >= 0 else np.zeros(6)])
        forces.append(effort)
        for body, wrench in ((i, F), (parent, back)):
            if body >= 0:
                load_bodies.append(body)
                loads.append(effort * wrench)
    return Rows(np.array(bodies), np.array(on), np.array(forces), np.array(load_bodies), np.array(loads))


@kernel
def write_subspace(tree, body, screws, i, q, v, S):
    """Motion subspace of joint i at q, into the rows of its freedoms in S (nv, 6); v: (nv,), any."""
    joint_motion(tree, body, screws, i, q, v, S)
