"""Peptides as lines of PDB files, to be spoiled and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import linkwork as lw


def line(
    serial, name, residue, number, x, *, chain="A", alt=" ", icode=" ", occupancy=1.0, record="ATOM", element=None
):
    """One atom as a PDB file has it; x in nm."""
    element = element or name[0]
    label = f" {name:<3}" if len(name) < 4 and len(element) == 1 else f"{name:<4}"
    x = 10.0 * np.asarray(x)
    return (
        f"{record:<6}{serial:5d} {label}{alt}{residue:>3} {chain}{number:4d}{icode}   "
        f"{x[0]:8.3f}{x[1]:8.3f}{x[2]:8.3f}{occupancy:6.2f}{0.0:6.2f}          {element:>2}"
    )


def heavy_atoms(sequence="GASKDE", shift=(0.0, 0.0, 0.0)):
    """(residue name, number, atom name, position) of the heavy atoms of a peptide with free ends."""
    molecule = lw.molecules.peptide(sequence, caps=False)
    x = molecule.positions(molecule.state) + np.asarray(shift)
    atoms = molecule.atoms
    return [
        (atoms.residue(i).name, int(atoms.residue(i).number), atoms.names[i], x[i])
        for i in range(len(atoms))
        if atoms.elements[i] != 1
    ]


def write(path, lines, header=()):
    path.write_text("\n".join([*header, *lines, "END", ""]), encoding="ascii")
    return path


def peptide_lines(sequence="GASKDE", chain="A", shift=(0.0, 0.0, 0.0), leave_out=()):
    rows = [row for row in heavy_atoms(sequence, shift) if row[1] not in leave_out]
    return [line(k + 1, name, residue, number, x, chain=chain) for k, (residue, number, name, x) in enumerate(rows)]


# φ and ψ [°] of eight glycines whose last C and first N are bonded as all others are, to 5e-4 nm; by least squares.
RING = (107.6, 101.6, -3.0, -168.6, 89.9, -104.7, -157.5, -41.6, -126.4, -164.3, 90.1, 67.3, 24.5, -26.7, -179.3, 158.5)


def ring_lines():
    """Heavy atoms of a cyclic peptide."""
    from linkwork.molecules.structure import peptides

    made = peptides.backbone("G" * 8, list(zip(RING[::2], RING[1::2], strict=True)), False)
    rows = [(number + 1, name, x) for number, (_, atoms) in enumerate(made) for name, x in atoms]
    return [line(k + 1, name, "GLY", number, x) for k, (number, name, x) in enumerate(rows)]


def strand_lines(names=("DA", "DG", "DC"), called=None):
    """Heavy atoms of a strand, a phosphate before its first sugar included, from the nucleotides that PDBFixer brings.

    Each phosphorus is bonded to the O3' before it, opposite to its other oxygens, in that of a hundred orientations which
    leaves most room. called: what the file calls the nucleotides.
    """
    import pdbfixer

    rng, lines, before, last = np.random.default_rng(0), [], np.zeros((0, 3)), np.zeros(3)
    for number, name in enumerate(names, start=1):
        file = Path(pdbfixer.__file__).parent / "templates" / f"{name}.pdb"
        rows = [row for row in file.read_text(encoding="ascii").splitlines() if row.startswith("ATOM")]
        atoms = [row[12:16].strip() for row in rows]
        x = 0.1 * np.array([[float(row[k : k + 8]) for k in (30, 38, 46)] for row in rows])
        if number > 1:
            P = atoms.index("P")
            ends = [x[atoms.index(other)] - x[P] for other in ("OP1", "OP2", "O5'")]
            out = -sum(end / np.linalg.norm(end) for end in ends)
            x = x - x[P] - 0.161 * out / np.linalg.norm(out)  # where O3' stands is the origin
            turns = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(100))
            turned = [x @ (np.linalg.det(R) * R).T for R in turns]
            x = last + max((distance(before, last + t), k, t) for k, t in enumerate(turned))[2]
        last, before = x[atoms.index("O3'")], np.vstack([before, x])
        called_here = name if called is None else called[number - 1]
        lines += [line(len(lines) + 1, a, called_here, number, at) for a, at in zip(atoms, x, strict=True)]
    return lines


def distance(points, others):
    """The second smallest between two sets: the smallest is a bond."""
    return np.sort(np.linalg.norm(points[:, None] - others, axis=2).ravel())[1]
