"""Bond graph → rigid groups → torsion tree → Linkage.

Every connected piece has a free base. The mass of an atom that lies on joint axes is shared by all bodies in which it
stands still: the kinetic energy stays exact, and no body is a point or a rod.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Compound, Free, Joint, Prismatic, Revolute
from linkwork.model.linkage import WORLD, Linkage
from linkwork.model.model import Frame, Model
from linkwork.molecules.structure.atoms import AtomTable, neighbour_lists
from linkwork.molecules.torsions.bond_graph import Bond
from linkwork.molecules.torsions.names import torsion_name
from linkwork.spatial.pose import Pose

STRAIGHT = 1e-6  # least moment over largest at which the atoms of a body count as a straight line
THIN = 1e-3  # [Da nm²] what a straight molecule gets about its own line, where it has no inertia


@dataclass(frozen=True)
class TorsionTree:
    """A molecule's linkage and where its atoms sit on it."""

    linkage: Linkage
    model: Model
    body: IntArray  # (a,)      body that owns each atom
    local: FloatArray  # (a, 3)    position in that body's frame [nm]
    still_in: tuple[tuple[int, ...], ...]  # bodies in which each atom stands still, the owner first
    axis: IntArray  # (n, 2)    atoms of the bond each body turns about; -1 for bases
    cut: tuple[Bond, ...]  # bonds that were opened
    straight: tuple[int, ...]  # bases whose atoms lie on a line
    closing: tuple[Bond, ...] = ()  # bonds that turn as joints of loops


def build_tree(
    atoms: AtomTable,
    positions: FloatArray,
    turning: Sequence[Bond],
    cut: Sequence[Bond] = (),
    name: str = "molecule",
    root: int | None = None,
    held: Sequence[int] = (),
) -> TorsionTree:
    """positions: [nm], shape (a, 3). root: atom whose group is the base of its piece; the piece's first by default.

    held: atoms whose groups are one body, the base of everything. Chains between them are loops, each of which is opened at
    the bond furthest from the base, and closed by a joint about it.
    """
    group, members = _rigid_groups(atoms, turning, cut, held)
    closing: list[Bond] = []
    if len(held) > 0:
        root, closing = int(held[0]), _furthest_bonds(turning, group, int(group[held[0]]))
        turning = [bond for bond in turning if bond not in set(closing)]
    order, parent, bond = _walk(turning, group, members, root)
    still = _groups_still_in(len(atoms), group, order, bond, closing)
    linkage = Linkage(name, gravity=(0.0, 0.0, 0.0), units="molecular")
    straight: list[int] = []
    origin: dict[int, FloatArray] = {}
    names: dict[int, str] = {}
    taken: set[str] = set()
    carried: list[list[int]] = [[] for _ in members]
    for i, groups in enumerate(still):
        for g in groups:
            carried[g].append(i)
    for g in order:
        a, b = bond[g]
        here = np.array(carried[g])
        shares = np.array([atoms.masses[i] / len(still[i]) for i in here])
        centre = shares @ positions[here] / shares.sum()
        origin[g] = centre if b < 0 else positions[b]
        inertia, is_straight = _inertia(shares, positions[here] - origin[g])
        if b < 0:
            names[g] = _base_name(atoms, members[g][0], taken)
            if is_straight and len(here) > 1:
                straight.append(g)
            parent_name, place = WORLD, origin[g]
        else:
            names[g] = _unused(torsion_name(atoms, a, b), taken)
            parent_name, place = names[parent[g]], origin[g] - origin[parent[g]]
        taken.add(names[g])
        joint = _joint(positions, a, b, len(here))
        linkage.add_body(names[g], parent_name, joint, Pose(xyz=tuple(place.tolist())), inertia)
    for a, b in closing:
        near, far = int(group[a]), int(group[b])
        in_near, in_far = (Pose(xyz=tuple((positions[b] - origin[g]).tolist())) for g in (near, far))
        axis = positions[b] - positions[a]
        joint = Revolute(tuple((axis / np.linalg.norm(axis)).tolist()))
        linkage.add_loop(joint, names[near], names[far], (in_near, in_far), name=f"{torsion_name(atoms, a, b)} closes")
    tree = _compiled(atoms, positions, linkage, _Groups(group, order, bond, still, names, origin), cut, straight)
    return replace(tree, closing=tuple(closing))


@dataclass(frozen=True)
class _Groups:
    group: IntArray
    order: list[int]
    bond: dict[int, Bond]
    still: list[list[int]]
    names: dict[int, str]
    origin: dict[int, FloatArray]


def _compiled(
    atoms: AtomTable,
    positions: FloatArray,
    linkage: Linkage,
    groups: _Groups,
    cut: Sequence[Bond],
    straight: Sequence[int],
) -> TorsionTree:
    """The model, with every atom as a named frame, and the tables in its numbering."""
    model = linkage.compile()
    index = {g: model.body(name) for g, name in groups.names.items()}
    body = np.array([index[int(g)] for g in groups.group], dtype=np.int64)
    local = np.array([positions[i] - groups.origin[int(g)] for i, g in enumerate(groups.group)])
    frames = {
        atoms.label(i): Frame(int(body[i]), Pose(xyz=tuple(local[i].tolist()))) for i in reversed(range(len(atoms)))
    }
    axis = np.full((model.n_bodies, 2), -1, dtype=np.int64)
    for g, i in index.items():
        axis[i] = groups.bond[g]
    return TorsionTree(
        linkage,
        replace(model, frames={**frames, **model.frames}),
        body,
        local,
        tuple(tuple(index[g] for g in still) for still in groups.still),
        axis,
        tuple(cut),
        tuple(index[g] for g in straight),
    )


def _rigid_groups(
    atoms: AtomTable, turning: Sequence[Bond], cut: Sequence[Bond], held: Sequence[int] = ()
) -> tuple[IntArray, list[list[int]]]:
    """Atoms joined by bonds that do not turn, and those that are held: group of each atom, members of each group."""
    apart = set(turning) | set(cut)
    together = [(int(held[0]), int(i)) for i in held[1:]]
    near = neighbour_lists(len(atoms), (*(bond for bond in atoms.bonds if bond not in apart), *together))
    group = np.full(len(atoms), -1, dtype=np.int64)
    members: list[list[int]] = []
    for start in range(len(atoms)):
        if group[start] >= 0:
            continue
        group[start] = len(members)
        found, waiting = [], [start]
        while waiting:
            here = waiting.pop()
            found.append(here)
            for there in near[here]:
                if group[there] < 0:
                    group[there] = len(members)
                    waiting.append(there)
        members.append(sorted(found))
    return group, members


def _walk(
    turning: Sequence[Bond], group: IntArray, members: list[list[int]], root: int | None
) -> tuple[list[int], dict[int, int], dict[int, Bond]]:
    """Groups from the bases outward, the parent of each, and the bond (near atom, far atom) each turns about."""
    links: list[list[Bond]] = [[] for _ in members]
    for a, b in turning:
        links[group[a]].append((a, b))
        links[group[b]].append((b, a))
    order: list[int] = []
    parent: dict[int, int] = {}
    bond: dict[int, Bond] = {}
    starts = range(len(members)) if root is None else [int(group[root]), *range(len(members))]
    for start in starts:
        if start in parent:
            continue
        parent[start], bond[start] = -1, (-1, -1)
        waiting = [start]
        while waiting:
            here = waiting.pop()
            order.append(here)
            for a, b in sorted(links[here], reverse=True):
                there = int(group[b])
                if there not in parent:
                    parent[there], bond[there] = here, (a, b)
                    waiting.append(there)
    return order, parent, bond


def _furthest_bonds(turning: Sequence[Bond], group: IntArray, base: int) -> list[Bond]:
    """Bonds that close rings of groups: those that a walk in order of distance from the base does not need."""
    links: dict[int, list[tuple[Bond, int]]] = {}
    for a, b in turning:
        links.setdefault(int(group[a]), []).append(((a, b), int(group[b])))
        links.setdefault(int(group[b]), []).append(((a, b), int(group[a])))
    seen, used, waiting = {base}, set(), [base]
    for here in waiting:
        for bond, there in links.get(here, ()):
            if there not in seen:
                seen.add(there)
                used.add(bond)
                waiting.append(there)
    return [bond for bond in turning if bond not in used and int(group[bond[0]]) in seen]


def _groups_still_in(
    count: int, group: IntArray, order: list[int], bond: dict[int, Bond], closing: Sequence[Bond] = ()
) -> list[list[int]]:
    """Groups in which each atom stands still: its own, and those joined to it by an axis through the atom."""
    still = [[int(group[i])] for i in range(count)]
    for g in order:
        a, b = bond[g]
        if b >= 0:
            still[a].append(g)  # the near atom lies on the axis of g
            still[b].append(int(group[a]))  # and the far one on the axis fixed in the parent
    for a, b in closing:
        still[a].append(int(group[b]))
        still[b].append(int(group[a]))
    return [list(dict.fromkeys(found)) for found in still]


def _inertia(masses: FloatArray, r: FloatArray) -> tuple[Inertia, bool]:
    """Inertia of point masses; a straight or single one gets a little about the directions in which it has none."""
    total = masses.sum()
    com = masses @ r / total
    d = r - com
    moments = (masses @ (d * d).sum(axis=1)) * np.eye(3) - (masses[:, None] * d).T @ d
    values, vectors = np.linalg.eigh(moments)
    is_straight = bool(values[0] <= STRAIGHT * values[2]) or values[2] == 0.0
    if is_straight:
        moments = vectors @ np.diag(np.maximum(values, THIN)) @ vectors.T
    return Inertia(float(total), tuple(com.tolist()), 0.5 * (moments + moments.T)), is_straight


def _joint(positions: FloatArray, a: int, b: int, carried: int) -> Joint:
    if b < 0 and carried == 1:  # an ion: a point has no orientation
        return Compound([Prismatic((1.0, 0.0, 0.0)), Prismatic((0.0, 1.0, 0.0)), Prismatic((0.0, 0.0, 1.0))])
    if b < 0:
        return Free()
    axis = positions[b] - positions[a]
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise ModelError("two bonded atoms stand in one point; a torsion has no axis there.")
    return Revolute(tuple((axis / length).tolist()))


def _base_name(atoms: AtomTable, first: int, taken: set[str]) -> str:
    residue = atoms.residue(first)
    name = f"{residue.chain}:base"
    return name if name not in taken else _unused(f"{residue.label}:base", taken)


def _unused(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    k = 2
    while f"{name}#{k}" in taken:
        k += 1
    return f"{name}#{k}"
