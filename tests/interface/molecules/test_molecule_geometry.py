"""Geometry is looked at before it is frozen: strained parts, clashes, relaxing; ligands; packed files; progress."""

from __future__ import annotations

import bz2

import numpy as np
import pytest
from tests.helpers import proteins
from tests.helpers.structure_files import heavy_atoms, line, peptide_lines, write

import linkwork as lw
from linkwork.molecules.structure.strain import close_pairs

proteins.need_packages()


def notes(molecule, kind):
    return [str(change) for change in molecule.report.of(kind)]


def spoiled(move):
    """Lines of GASKDE with some atoms moved: {(residue number, atom name): by what [nm]}."""
    return [
        line(k + 1, name, residue, number, np.asarray(x) + move.get((number, name), 0.0))
        for k, (residue, number, name, x) in enumerate(heavy_atoms("GASKDE"))
    ]


def test_close_pairs_are_all_pairs_within_reach():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2.0, 1.0, size=(300, 3))
    i, j = close_pairs(x, 0.3)
    distance = np.linalg.norm(x[:, None] - x[None], axis=2)
    expected = {(a, b) for a, b in np.argwhere(distance <= 0.3).tolist() if a < b}
    assert len(i) == len(expected)
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == expected


def test_a_strained_part_is_named(tmp_path):
    """The Cα of lysine is drawn 0.03 nm away: bonds and angles there hold more than 100 kJ/mol, for ever."""
    sound = lw.molecules.load(write(tmp_path / "sound.pdb", spoiled({})))
    assert notes(sound, "strain") == []
    molecule = lw.molecules.load(write(tmp_path / "strained.pdb", spoiled({(4, "CA"): np.array([0.03, 0.0, 0.0])})))
    (first, *_) = molecule.geometry().strained
    assert first.energy > 100.0
    assert first.body.startswith("A:4") or first.body.startswith("A:3")
    assert f"strain: {first.body}: {first.energy:.0f} kJ/mol in bonds and angles; worst {first.worst}" in str(
        molecule.report
    )
    assert not lw.molecules.load(tmp_path / "strained.pdb", relax=True).report.of("strain")


def beside(distance):
    """GASKDE, and a chain B of glycines whose Cα stands so far from the end of lysine's side chain [nm]."""
    rows = {(number, name): x for _, number, name, x in heavy_atoms("GASKDE")}
    other = {(number, name): x for _, number, name, x in heavy_atoms("GGG")}
    out = rows[4, "NZ"] - rows[4, "CE"]
    shift = rows[4, "NZ"] + distance * out / np.linalg.norm(out) - other[2, "CA"]
    return [*peptide_lines(), *peptide_lines("GGG", "B", shift)]


def test_clashes_are_refused_or_relaxed(tmp_path):
    """Two atoms in the very same place are refused by name, and moved apart with relax=True."""
    path = write(tmp_path / "clash.pdb", beside(0.0))
    with pytest.raises(lw.FormatError, match="relax=True") as refused:
        lw.molecules.load(path)
    assert "NZ of LYS A:4" in str(refused.value)
    relaxed = lw.molecules.load(path, relax=True, seed=1)
    assert len(notes(relaxed, "clash")) >= 1
    assert relaxed.field().energy(relaxed.state) < 0.0
    assert not relaxed.report.of("contact")


def test_atoms_that_stand_too_close_are_named_with_a_warning(tmp_path):
    path = write(tmp_path / "close.pdb", beside(0.24))
    with pytest.warns(lw.LinkworkWarning, match="relax=True"):
        molecule = lw.molecules.load(path)
    worst = molecule.geometry().clashes[0]
    assert {worst.first[:3], worst.second[:3]} == {"A:4", "B:2"}
    assert any(f"{worst.distance:.3f}" in note for note in notes(molecule, "contact"))


def test_packed_files_and_binary_ones(tmp_path):
    path = write(tmp_path / "plain.pdb", peptide_lines())
    (tmp_path / "packed.pdb.bz2").write_bytes(bz2.compress(path.read_bytes()))
    plain, packed = lw.molecules.load(path), lw.molecules.load(tmp_path / "packed.pdb.bz2")
    assert np.array_equal(plain.reference, packed.reference)
    (tmp_path / "cut.pdb.bz2").write_bytes(bz2.compress(path.read_bytes())[:-30])
    with pytest.raises(lw.FormatError, match="damaged"):
        lw.molecules.load(tmp_path / "cut.pdb.bz2")
    (tmp_path / "entry.bcif").write_bytes(b"\x00")
    with pytest.raises(lw.FormatError, match="mmCIF"):
        lw.molecules.load(tmp_path / "entry.bcif")


def test_progress_is_shown_where_it_is_asked_for(tmp_path, capfd):
    lw.molecules.load(write(tmp_path / "plain.pdb", peptide_lines("GAG")), progress=True)
    assert "preparing plain.pdb" in capfd.readouterr().err


LINK = "LINK         NZ  LYS A   4                 C1  LIG A 301     1555   1555  1.47"


def with_ligand(linked):
    """GASKDE and butanol's heavy atoms in a row, behind lysine's NZ or 2 nm away."""
    rows = {(number, name): x for _, number, name, x in heavy_atoms("GASKDE")}
    out = rows[4, "NZ"] - rows[4, "CE"]
    out /= np.linalg.norm(out)
    across = np.cross(out, [0.2, 0.9, 0.4])
    across /= np.linalg.norm(across)
    start = rows[4, "NZ"] + 0.147 * out if linked else rows[4, "NZ"] + 2.0 * out
    steps = [start + 0.125 * k * out + 0.087 * (k % 2) * across for k in range(5)]
    ligand = [
        line(900 + k, name, "LIG", 301, x, record="HETATM", element=name[0])
        for k, (name, x) in enumerate(zip(("C1", "C2", "C3", "C4", "O5"), steps, strict=True))
    ]
    return [*peptide_lines(), *ligand]


def test_a_ligand_without_parameters_is_a_rigid_body(tmp_path):
    path = write(tmp_path / "ligand.pdb", with_ligand(False))
    assert "dropped" in notes(lw.molecules.load(path), "ligand")[0]
    molecule = lw.molecules.load(path, ligands="rigid")
    assert notes(molecule, "ligand") == [
        "ligand: A:301: LIG kept as a rigid body: 5 heavy atoms with Lennard-Jones terms, no charges"
    ]
    atoms = [molecule.atom(f"A:301:{name}") for name in ("C1", "C2", "C3", "C4", "O5")]
    assert len(set(molecule.tree.body[atoms].tolist())) == 1
    assert molecule.contents()["pieces"] == 2
    for options in ({}, {"cutoff": 1.0}, {"solvent": "obc2"}):
        sim = lw.FullDynamics(molecule.model, molecule.state, field=molecule.field(**options))
        sim.advance(2e-3, 5)
        assert np.isfinite(sim.state.q).all()
    theirs, own = molecule.field(engine="openmm", platform="Reference"), molecule.field()
    state = proteins.displaced(molecule, 0.05, 1)
    assert own.energy(state) == pytest.approx(theirs.energy(state), rel=1e-9)


def chain_lines(start, out, across, bonds, angles, number=302, first=950):
    """Atoms C1, C2, ... in a plane, all bends to alternating sides: lengths [nm] and angles [°] along the chain."""
    x, side, direction, places = np.array(start), 1.0, np.array(out), [np.array(start)]
    for length, angle in zip(bonds, angles, strict=True):
        turn = side * np.radians(180.0 - angle)
        direction = np.cos(turn) * direction + np.sin(turn) * np.cross(np.cross(out, across), direction)
        side = -side
        x = x + length * direction
        places.append(x)
    return [line(first + k, f"C{k + 1}", "RET", number, x, record="HETATM", element="C") for k, x in enumerate(places)]


def test_rotatable_bonds_of_a_ligand_are_torsions(tmp_path):
    """Hexadiene with a saturated tail: bonds between planar atoms stay rigid, the others turn."""
    rows = {(number, name): x for _, number, name, x in heavy_atoms("GASKDE")}
    start, out, across = rows[4, "NZ"] + [3.0, 0.0, 0.0], np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    bonds = (0.134, 0.145, 0.134, 0.150, 0.153, 0.153, 0.153)
    lines = chain_lines(start, out, across, bonds, (120.0, 123.0, 123.0, 124.0, 111.0, 111.0, 111.0))
    molecule = lw.molecules.load(write(tmp_path / "ligand.pdb", [*peptide_lines(), *lines]), ligands="torsions")
    assert notes(molecule, "ligand") == [
        "ligand: A:302: RET kept with 3 torsions: 8 heavy atoms with Lennard-Jones terms, no charges"
    ]
    axes = {tuple(sorted(pair)) for pair in molecule.tree.axis.tolist()}
    expected = [(f"C{k}", f"C{k + 1}") for k in (4, 5, 6)]
    assert {tuple(molecule.atom(f"A:302:{name}") for name in pair) for pair in expected} <= axes
    assert sum(molecule.atoms.names[a].startswith("C") and a >= molecule.atom("A:302:C1") for a, _ in axes) == 3
    theirs, own = molecule.field(engine="openmm", platform="Reference"), molecule.field()
    state = proteins.displaced(molecule, 0.3, 1)
    assert own.energy(state) == pytest.approx(theirs.energy(state), rel=1e-9)
    far, near = (molecule.positions(state)[molecule.atom(f"A:302:{name}")] for name in ("C1", "C8"))
    assert np.linalg.norm(far - near) > 0.1  # atoms more than three bonds apart feel each other
    excluded = molecule.field().tables.pairs
    first = molecule.atom("A:302:C1")
    behind = excluded.excluded[excluded.excluded_start[first] : excluded.excluded_start[first + 1]]
    assert behind.tolist() == [first + 1, first + 2, first + 3]


@pytest.mark.parametrize("angle", [122.0, 112.0])
def test_a_schiff_base_is_rigid_and_survives_relaxing(tmp_path, angle):
    """Retinal's bond to its lysine: short, whatever its angles are in the file. Only the bond before it, CE-NZ, turns."""
    rows = {(number, name): x for _, number, name, x in heavy_atoms("GASKDE")}
    back = rows[4, "CE"] - rows[4, "NZ"]
    back /= np.linalg.norm(back)
    across = np.cross(back, [0.2, 0.9, 0.4])
    across /= np.linalg.norm(across)
    out = np.cos(np.radians(angle)) * back + np.sin(np.radians(angle)) * across
    side = np.cross(np.cross(out, back), out)
    lines = chain_lines(rows[4, "NZ"] + 0.131 * out, out, side / np.linalg.norm(side), (0.145, 0.134), (124.0, 123.0))
    link = "LINK         NZ  LYS A   4                 C1  RET A 302     1555   1555  1.31"
    path = write(tmp_path / "schiff.pdb", [*peptide_lines(), *lines], [link])
    molecule = lw.molecules.load(path, ligands="rigid", relax=True, seed=1)
    assert notes(molecule, "link") == ["link: bond of LYS A:4 NZ to RET A:302 C1 is a double bond, and rigid"]
    nz, c1, ce = (molecule.atom(label) for label in ("A:4:NZ", "A:302:C1", "A:4:CE"))
    axes = {frozenset(pair) for pair in molecule.tree.axis.tolist()}
    assert {nz, c1} not in axes
    assert {ce, nz} in axes
    assert sum(molecule.model.parent < 0) == 1
    x = molecule.reference
    assert np.linalg.norm(x[nz] - x[c1]) == pytest.approx(0.131, abs=0.01)  # held by a spring while it was relaxed
    u, v = x[ce] - x[nz], x[c1] - x[nz]
    assert np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))) == pytest.approx(angle, abs=10.0)
    sim = lw.FullDynamics(molecule.model, molecule.state, field=molecule.field())
    sim.advance(2e-3, 20)
    assert np.isfinite(sim.state.q).all()


def test_a_bond_to_a_ligand_turns(tmp_path):
    molecule = lw.molecules.load(write(tmp_path / "linked.pdb", with_ligand(True), [LINK]), ligands="rigid")
    assert notes(molecule, "link") == ["link: bond of LYS A:4 NZ to LIG A:301 C1 turns, without an energy of its own"]
    assert molecule.contents()["pieces"] == 2  # chains of the topology; the linkage is one tree
    assert sum(molecule.model.parent < 0) == 1
    bond = {molecule.atom("A:4:NZ"), molecule.atom("A:301:C1")}
    assert any(set(pair) == bond for pair in molecule.tree.axis.tolist())
    first, last = (molecule.atom(label) for label in ("A:4:NZ", "A:301:C1"))
    x = molecule.positions(proteins.displaced(molecule, 0.5, 2))
    assert np.linalg.norm(x[first] - x[last]) == pytest.approx(0.147, abs=1e-3)
    assert abs(molecule.field().energy(molecule.state)) < 1e4  # neighbours across the bond do not repel each other
