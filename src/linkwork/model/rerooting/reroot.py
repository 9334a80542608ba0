"""Re-rooting a compiled model (Stępień, Polański and Wojciechowski 2012): another body hangs from the world.

Only the joints between the new root and the old one change; they are seen from their other side (`reversal`). Every body
keeps its name, frame, inertia and shapes, so poses, twists and wrenches mean the same before and after. The arithmetic is
proportional to this chain of inversion; the rest of the arrays is copied in the new depth-first order.
"""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.errors import ModelError
from linkwork.model import layout
from linkwork.model.compile.compile import pack_options, pack_screws
from linkwork.model.compile.faults import placement_table
from linkwork.model.compile.order import depth_first_order
from linkwork.model.joints import Joint
from linkwork.model.model import Frame, Model, ModelArrays
from linkwork.model.rerooting.attached import attached_faults, turned_attachments
from linkwork.model.rerooting.reversal import flipped, flipped_coordinates, flipped_velocity, reversal_faults
from linkwork.model.state import State
from linkwork.spatial.pose import Pose


class Root(NamedTuple):
    """The new connection to the world: its joint, placed so that the body's own frame is the joint's child frame."""

    joint: Joint
    placement: Pose
    q: FloatArray
    v: FloatArray
    acceleration: FloatArray


class RerootedModel(NamedTuple):
    """A re-rooted model with its state."""

    model: Model
    state: State
    acceleration: FloatArray | None
    old_index: IntArray  # (n,) index each body had before
    root: int  # index of the body on the new joint


def chain_of_inversion(model: Model, body: int) -> IntArray:
    """Bodies from the new root to the old one."""
    parent = model.arrays.tree[:, layout.PARENT]
    chain = [body]
    while parent[chain[-1]] >= 0:
        chain.append(int(parent[chain[-1]]))
    return np.array(chain, dtype=np.int64)


def reroot_model(
    model: Model,
    state: State,
    chain: IntArray,
    root: Root,
    acceleration: FloatArray | None = None,
    joint_name: str | None = None,
) -> RerootedModel:
    """The model hung from the world by `root` at the first body of `chain`, with everything that moves carried over.

    Cost: O(chain) arithmetic and one copy of the model's arrays.
    """
    placements = [_placement(model, i) for i in chain[:-1].tolist()]
    _refuse_what_has_no_mirror(model, chain, placements)
    turned = [model.joints[i] for i in chain[:-1].tolist()]
    joints = [root.joint, *(flipped(joint, P) for joint, P in zip(turned, placements, strict=True))]

    parent = model.parent.copy()
    parent[chain[1:]] = chain[:-1]
    parent[chain[0]] = -1
    old_index = _depth_first(parent, model.rank)
    number = np.empty_like(old_index)
    number[old_index] = np.arange(old_index.size)
    row = number[chain]  # where the bodies of the chain are now

    uses = (
        old_index.copy()
    )  # the joint each body hangs from, by the body it carried before; n is the new one on the world
    uses[row[1:]] = chain[:-1]
    uses[row[0]] = model.n_bodies
    regroup = _Regroup(model, uses, root.joint)
    tree = regroup.tree
    tree[:, layout.PARENT] = np.where(parent[old_index] < 0, -1, number[parent[old_index]])
    body = model.arrays.body[old_index]
    screws, dof, rest = regroup.screws(), regroup.by_dof(model.arrays.dof), regroup.by_q(model.arrays.rest)
    limits = regroup.by_dof(np.stack([model.lower, model.upper, model.effort_limit, model.velocity_limit], axis=1))
    _write_chain(
        joints, [root.placement, *(P.inverse() for P in placements)], row, tree, body, screws, dof, rest, limits
    )
    _keep_drives(model, chain, tree[row], dof, limits)
    arrays = ModelArrays(tree, body, screws, dof, rest, model.arrays.gravity)
    for array in (*arrays, limits):
        array.setflags(write=False)

    q, v = regroup.by_q(state.q), regroup.by_dof(state.v)
    a = None if acceleration is None else regroup.by_dof(acceleration)
    _carry_chain(model, chain, placements, root, tree[row], (*state, acceleration), (q, v, a))
    rank = old_index if model.rank is None else model.rank[old_index]
    rerooted = replace(
        model,
        arrays=arrays,
        body_names=_picked(model.body_names, old_index),
        joint_names=_joint_names(model, uses, chain, joint_name),
        joints=_with(_picked((*model.joints, root.joint), uses), row, joints),
        frames={name: Frame(_renumbered(f.body, number), f.pose) for name, f in model.frames.items()},
        shapes=_renumbered_shapes(model, number),
        lower=limits[:, 0],
        upper=limits[:, 1],
        effort_limit=limits[:, 2],
        velocity_limit=limits[:, 3],
        joint_parts=_joint_parts(model, chain, number, root.joint, joint_name),
        loops=tuple(
            loop._replace(body_a=_renumbered(loop.body_a, number), body_b=_renumbered(loop.body_b, number))
            for loop in model.loops
        ),
        rank=rank,
        **turned_attachments(model, chain),
    )
    return RerootedModel(rerooted, State(q, v), a, old_index, int(row[0]))


class _Regroup:
    """Joint data in the order of the new bodies. The new root joint's rows are there, to be written."""

    def __init__(self, model: Model, uses: IntArray, root: Joint):
        old = model.arrays.tree
        last = [-1, root.kind, model.nq, model.nv, root.nv, model.arrays.screws.shape[0]]
        self.tree: IntArray = np.concatenate([old, np.array([last], dtype=np.int64)])[uses]
        kind, dof = self.tree[:, layout.KIND], self.tree[:, layout.DOF]
        compound = kind == layout.COMPOUND
        n_q = dof + ((kind == layout.SPHERICAL) | (kind == layout.FREE))
        n_screws = np.where(compound, dof, 0)
        self._q_rows = rows_of(self.tree[:, layout.Q], n_q)
        self._v_rows = rows_of(self.tree[:, layout.V], dof)
        self._table, self._screw_rows = model.arrays.screws, rows_of(self.tree[:, layout.SCREW], n_screws)
        self._root = root
        self.tree[:, layout.Q], self.tree[:, layout.V] = _starts(n_q), _starts(dof)
        self.tree[:, layout.SCREW] = np.where(compound, _starts(n_screws), 0)

    def by_q(self, old: FloatArray) -> FloatArray:
        return np.concatenate([old, np.zeros(self._root.nq)])[self._q_rows]

    def by_dof(self, old: FloatArray) -> FloatArray:
        return np.concatenate([old, np.zeros((self._root.nv, *old.shape[1:]))])[self._v_rows]

    def screws(self) -> FloatArray:
        extra = self._root.nv if self._root.kind == layout.COMPOUND else 0
        return np.concatenate([self._table, np.zeros((extra, layout.SCREW_COLUMNS))])[self._screw_rows]


def rows_of(starts: IntArray, counts: IntArray) -> IntArray:
    """The ranges starts[i] ... starts[i] + counts[i], one behind the other."""
    return np.repeat(starts - _starts(counts), counts) + np.arange(int(counts.sum()))


def _starts(counts: IntArray) -> IntArray:
    return np.cumsum(counts) - counts


def _depth_first(parent: IntArray, rank: IntArray | None) -> IntArray:
    """Old indices in the new depth-first order. Children stand in the order of the compiled linkage whatever the root,

    so that going back restores the numbering, and the way from root to root does not matter.
    """
    if rank is None:
        return np.asarray(depth_first_order(parent))
    of_rank = np.empty_like(rank)
    of_rank[rank] = np.arange(rank.size)
    by_rank = np.where(parent < 0, -1, rank[parent])[of_rank]
    return of_rank[depth_first_order(by_rank)]


def _write_chain(
    joints: list[Joint],
    placements: list[Pose],
    row: IntArray,
    tree: IntArray,
    body: FloatArray,
    screws: FloatArray,
    dof: FloatArray,
    rest: FloatArray,
    limits: FloatArray,
) -> None:
    """The tables' rows of the joints that are new or seen from their other side."""
    counts_q = np.array([joint.nq for joint in joints], dtype=np.int64)
    counts_v = np.array([joint.nv for joint in joints], dtype=np.int64)
    small = np.zeros((len(joints), layout.TREE_COLUMNS), dtype=np.int64)
    small[:, layout.Q], small[:, layout.V] = _starts(counts_q), _starts(counts_v)
    part = np.zeros((len(joints), layout.BODY_COLUMNS))
    part[:, : layout.INERTIA] = placement_table(placements)
    its_screws = pack_screws(joints, small, part)
    its_dof, its_rest, its_limits = pack_options(joints, small, int(counts_q.sum()), int(counts_v.sum()))
    body[row, : layout.INERTIA] = part[:, : layout.INERTIA]
    body[row, layout.AXIS :] = part[:, layout.AXIS :]
    compound = tree[row, layout.KIND] == layout.COMPOUND
    screws[rows_of(tree[row, layout.SCREW], np.where(compound, counts_v, 0))] = its_screws
    at_q, at_v = rows_of(tree[row, layout.Q], counts_q), rows_of(tree[row, layout.V], counts_v)
    rest[at_q], dof[at_v], limits[at_v] = its_rest, its_dof, its_limits


def _keep_drives(model: Model, chain: IntArray, tree: IntArray, dof: FloatArray, limits: FloatArray) -> None:
    """Rotors and effort limits as they are in the model: actuators have their part in them, which no joint knows of.

    tree: rows of the joints of the chain in the new model.
    """
    for i, at_v in zip(chain[:-1].tolist(), tree[1:, layout.V].tolist(), strict=True):
        rows = np.arange(model.nv)[model.v_slice(i)]
        there = at_v + np.arange(rows.size)
        rows = rows[::-1] if model.joints[i].screws else rows
        dof[there, layout.ARMATURE] = model.arrays.dof[rows, layout.ARMATURE]
        limits[there, 2] = model.effort_limit[rows]


def _carry_chain(
    model: Model,
    chain: IntArray,
    placements: list[Pose],
    root: Root,
    tree: IntArray,
    before: tuple[FloatArray, FloatArray, FloatArray | None],
    after: tuple[FloatArray, FloatArray, FloatArray | None],
) -> None:
    """Coordinates, velocities and accelerations of the same joints, from those before; written in place.

    tree: rows of the joints of the chain in the new model.
    """
    (old_q, old_v, old_a), (q, v, a) = before, after
    k, j = tree[:, layout.Q].tolist(), tree[:, layout.V].tolist()
    q[k[0] : k[0] + root.joint.nq] = root.q
    v[j[0] : j[0] + root.joint.nv] = root.v
    if a is not None:
        a[j[0] : j[0] + root.joint.nv] = root.acceleration
    for i, P, at_q, at_v in zip(chain[:-1].tolist(), placements, k[1:], j[1:], strict=True):
        joint, here, there = model.joints[i], model.q_slice(i), model.v_slice(i)
        if joint.kind == layout.HELICAL:
            q[at_q], v[at_v] = -old_q[here.start], -old_v[there.start]
            if a is not None and old_a is not None:
                a[at_v] = -old_a[there.start]
            continue
        q[at_q : at_q + joint.nq] = flipped_coordinates(joint, P, old_q[here])
        v[at_v : at_v + joint.nv] = flipped_velocity(joint, P, old_q[here], old_v[there])
        if a is not None and old_a is not None:
            a[at_v : at_v + joint.nv] = flipped_velocity(joint, P, old_q[here], old_a[there])


def _refuse_what_has_no_mirror(model: Model, chain: IntArray, placements: list[Pose]) -> None:
    faults = [
        f"joint '{model.joint_names[i]}': {fault}"
        for i, P in zip(chain[:-1].tolist(), placements, strict=True)
        for fault in reversal_faults(model.joints[i], P)
    ] + attached_faults(model, chain)
    if faults:
        raise ModelError(f"model '{model.name}' cannot be re-rooted to body '{model.body_names[chain[0]]}':", faults)


def _placement(model: Model, i: int) -> Pose:
    numbers: list[Any] = model.arrays.body[i, : layout.INERTIA].tolist()
    return Pose.raw(tuple(numbers[:9]), tuple(numbers[9:]))


def _joint_names(model: Model, uses: IntArray, chain: IntArray, joint_name: str | None) -> tuple[str, ...]:
    """Joints keep their names; the one on the world takes the given name, or that of the one it replaces."""
    kept = model.joint_names[chain[-1]]
    if joint_name is not None and joint_name != kept and joint_name in model._joint_index:
        raise ModelError(f"model '{model.name}' has a joint '{joint_name}' already; give the new one another name.")
    return _picked((*model.joint_names, joint_name or kept), uses)


def _joint_parts(
    model: Model, chain: IntArray, number: IntArray, root: Joint, joint_name: str | None
) -> dict[str, tuple[int, int, int]]:
    """Parts of merged joints: those of the chain now carry the former parent, in reversed order."""
    carries = dict(zip(chain[:-1].tolist(), chain[1:].tolist(), strict=True))
    gone = int(chain[-1])  # its joint to the world is replaced
    parts = {}
    for name, (i, first, size) in model.joint_parts.items():
        if i in carries:
            parts[name] = (int(number[carries[i]]), model.joints[i].nv - first - size, size)
        elif i != gone:
            parts[name] = (int(number[i]), first, size)
    named = (joint_name or model.joint_names[gone]).split("+")  # as a compiled model names a compound of hinges
    if root.kind == layout.COMPOUND and len(named) == root.nv > 1:
        parts |= {name: (int(number[chain[0]]), d, 1) for d, name in enumerate(named)}
    return parts


def _renumbered(body: int, number: IntArray) -> int:
    return int(number[body]) if body >= 0 else -1


def _renumbered_shapes(model: Model, number: IntArray) -> Any:
    if not model.shapes:
        return ()
    new = number.tolist()
    new.append(-1)  # what stands on the world stays there
    owners, shapes = map(itemgetter(0), model.shapes), map(itemgetter(1), model.shapes)
    return tuple(zip(map(new.__getitem__, owners), shapes, strict=True))


def _picked(values: tuple[Any, ...], index: IntArray) -> tuple[Any, ...]:
    if index.size == 1:
        return (values[int(index[0])],)
    return itemgetter(*index.tolist())(values)


def _with(values: tuple[Any, ...], index: IntArray, new: list[Joint]) -> tuple[Any, ...]:
    changed = list(values)
    for i, value in zip(index.tolist(), new, strict=True):
        changed[i] = value
    return tuple(changed)
