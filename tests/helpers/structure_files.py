"""Peptides as lines of PDB files, to be spoiled and read."""

from __future__ import annotations

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
