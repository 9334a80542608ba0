"""Hydrogen bonds as MDTraj finds them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw

proteins.need_packages()


def test_bonds_and_energies_are_those_of_mdtraj(tmp_path):
    mdtraj = pytest.importorskip("mdtraj", reason="mdtraj is not installed; the dev extra brings it")
    molecule = lw.molecules.peptide("AEALKAAAKGAAEAAK", helix=True, caps=False, seed=1)
    molecule.write(tmp_path / "helix.pdb", molecule.state)
    theirs = mdtraj.kabsch_sander(mdtraj.load(str(tmp_path / "helix.pdb")))[0].tocoo()
    # rows: acceptors, columns: donors [kcal/mol]; they keep the best two of each donor, and make hydrogens themselves:
    # 0.101 nm along the C=O before, where ours are the file's
    kept = {(int(a), int(d)): e for a, d, e in zip(theirs.row, theirs.col, theirs.data, strict=True) if e < -0.5}
    own = {(b.acceptor, b.donor): b.energy / 4.184 for b in lw.molecules.hydrogen_bonds(molecule, molecule.state)}
    assert set(kept) == set(own)
    assert len(own) >= 10
    for pair, energy in kept.items():
        assert own[pair] == pytest.approx(energy, abs=0.5)


def test_helix_content():
    helix, strand = (lw.molecules.peptide("A" * 12, helix=helix) for helix in (True, False))
    assert lw.molecules.helix_content(helix, helix.state) == 1.0
    assert lw.molecules.helix_content(strand, strand.state) == 0.0
    opened = helix.with_angle(helix.state, helix.psi(6), 2.4)  # bonds across residue 6 are gone, the others stay
    assert 0.2 < lw.molecules.helix_content(helix, opened) < 0.8
    assert np.isfinite([bond.energy for bond in lw.molecules.hydrogen_bonds(helix, opened)]).all()
