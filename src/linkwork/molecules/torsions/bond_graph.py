"""Which bonds of a molecule turn.

A bond is a joint if it lies on no ring, has heavy atoms beyond both of its ends, and does not join two planar atoms: so
peptide bonds, aromatic bonds and guanidinium bonds stay rigid, and rings (proline) too.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.molecules.structure.atoms import CARBON, HYDROGEN, NITROGEN, OXYGEN, SULFUR, AtomTable, neighbour_lists

Bond = tuple[int, int]


def disulfides(atoms: AtomTable) -> tuple[Bond, ...]:
    """Bonds between sulfurs: they close rings through the whole chain, and are cut."""
    z = atoms.elements
    return tuple((a, b) for a, b in atoms.bonds if z[a] == SULFUR and z[b] == SULFUR)


def ring_closures(atoms: AtomTable) -> tuple[Bond, ...]:
    """Bonds between the last and the first residue of a piece: they close a ring through the whole chain, and are cut."""
    last = {residue.piece: k for k, residue in enumerate(atoms.residues)}
    first = {residue.piece: k for k, residue in reversed(list(enumerate(atoms.residues)))}
    found = []
    for a, b in atoms.bonds:
        low, high = sorted((int(atoms.residue_of[a]), int(atoms.residue_of[b])))
        piece = atoms.residues[low].piece
        if (
            high - low > 1
            and low == first[piece]
            and high == last[piece]
            and {atoms.names[a], atoms.names[b]} == {"C", "N"}
        ):
            found.append((a, b))
    return tuple(found)


def bridges(neighbours: Sequence[Sequence[int]]) -> set[Bond]:
    """Bonds that lie on no ring (Tarjan 1974), without recursion."""
    count = len(neighbours)
    order, low = [-1] * count, [0] * count
    found: set[Bond] = set()
    clock = 0
    for start in range(count):
        if order[start] >= 0:
            continue
        order[start] = low[start] = clock
        clock += 1
        stack = [(start, -1, 0)]
        while stack:
            here, came_from, k = stack.pop()
            if k < len(neighbours[here]):
                stack.append((here, came_from, k + 1))
                there = neighbours[here][k]
                if there == came_from:
                    continue
                if order[there] < 0:
                    order[there] = low[there] = clock
                    clock += 1
                    stack.append((there, here, 0))
                else:
                    low[here] = min(low[here], order[there])
            elif came_from >= 0:
                low[came_from] = min(low[came_from], low[here])
                if low[here] > order[came_from]:
                    found.add((min(here, came_from), max(here, came_from)))
    return found


def turning_bonds(
    atoms: AtomTable, cut: Sequence[Bond] = (), *, omega: bool = False, hydrogens: bool = False
) -> list[Bond]:
    """The bonds that are joints.

    cut: bonds that count as open.
    omega: peptide bonds turn too. hydrogens: so do bonds that turn nothing but hydrogens (methyl, hydroxyl, amine).
    """
    z = atoms.elements
    opened = set(cut)
    near = neighbour_lists(len(atoms), tuple(bond for bond in atoms.bonds if bond not in opened))
    is_planar = _planar_atoms(atoms, near)

    def has_more_beyond(a: int, b: int) -> bool:
        return any(k != b and (hydrogens or z[k] != HYDROGEN) for k in near[a])

    def is_peptide(a: int, b: int) -> bool:
        carbon, nitrogen = (a, b) if z[a] == CARBON else (b, a)
        if z[carbon] != CARBON or z[nitrogen] != NITROGEN or not any(z[k] == OXYGEN for k in near[carbon]):
            return False
        return any(k != carbon and z[k] != HYDROGEN for k in near[nitrogen])

    found = []
    for a, b in sorted(bridges(near)):
        if HYDROGEN in (z[a], z[b]) or not (has_more_beyond(a, b) and has_more_beyond(b, a)):
            continue
        if is_planar[a] and is_planar[b] and not (omega and is_peptide(a, b)):
            continue
        found.append((a, b))
    return found


def _planar_atoms(atoms: AtomTable, near: Sequence[Sequence[int]]) -> list[bool]:
    """Carbons with three neighbours, and nitrogens whose lone pair such a carbon takes in."""
    z = atoms.elements
    carbon = [z[i] == CARBON and len(near[i]) == 3 for i in range(len(atoms))]
    return [
        carbon[i] or (z[i] == NITROGEN and len(near[i]) <= 3 and any(carbon[j] for j in near[i]))
        for i in range(len(atoms))
    ]
