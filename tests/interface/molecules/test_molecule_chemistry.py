"""Chemistry that files bring: no bond, residue or alternative is lost without a word."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins
from tests.helpers.structure_files import heavy_atoms, line, peptide_lines, ring_lines, strand_lines, write

import linkwork as lw
from linkwork.molecules.forces.force_fields import explain_template_error, make_system

proteins.need_packages()


def notes(molecule, kind):
    return [str(change) for change in molecule.report.of(kind)]


def test_a_ring_of_residues_is_closed_by_the_force_field(tmp_path):
    """Head to tail: the bond is cut in the linkage and kept as a term; both ends have the hydrogens of the inside."""
    molecule = lw.molecules.load(write(tmp_path / "ring.pdb", ring_lines()), relax=True)
    assert notes(molecule, "ring") == ["ring: A: closed between GLY 8 and GLY 1"]
    assert notes(molecule, "cut") == [
        "cut: bond that closes the chain, A:1:N to A:8:C is kept as a term of the force field"
    ]
    for residue in molecule.atoms.residues:
        names = molecule.atoms.names[residue.first : residue.last]
        assert sorted(names) == ["C", "CA", "H", "HA2", "HA3", "N", "O"]
    ends = [molecule.reference[molecule.atom(label)] for label in ("A:1:N", "A:8:C")]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(0.1335, abs=0.01)
    # A ring that is torn open has 1e9 kJ/mol: the force field holds atoms as bonded ones that lie far apart.
    assert abs(molecule.field().energy(molecule.state)) < 1e3


def test_of_two_residues_with_one_number_the_first_is_kept(tmp_path):
    lines = []
    for k, (residue, number, name, x) in enumerate(heavy_atoms("GSG")):
        if number == 2:
            lines.append(line(k, name, residue, number, x, alt="A", occupancy=0.5))
        else:
            lines.append(line(k, name, residue, number, x))
    second = [row for row in heavy_atoms("GAG") if row[1] == 2]
    at = next(k for k, text in enumerate(lines) if text[22:26].strip() == "3")
    lines[at:at] = [line(90 + k, name, "ALA", 2, x, alt="B", occupancy=0.5) for k, (_, _, name, x) in enumerate(second)]
    molecule = lw.molecules.load(write(tmp_path / "mixed.pdb", lines))
    assert [residue.name for residue in molecule.atoms.residues] == ["GLY", "SER", "GLY"]
    assert "altloc: A:2: SER or ALA: SER, the first, is kept" in notes(molecule, "altloc")


def test_cysteines_and_histidines_at_a_metal_have_no_hydrogen_there(tmp_path):
    rows = {(number, name): x for _, number, name, x in heavy_atoms("GCGHGC")}
    ions = []
    for k, (number, name, before) in enumerate(((2, "SG", "CB"), (4, "NE2", "CG"))):
        x = rows[number, name]
        out = (x - rows[number, before]) / np.linalg.norm(x - rows[number, before])
        ions.append(line(900 + k, "ZN", "ZN", 301 + k, x + 0.23 * out, record="HETATM", element="ZN"))
    molecule = lw.molecules.load(write(tmp_path / "zinc.pdb", [*peptide_lines("GCGHGC"), *ions]))
    assert notes(molecule, "protonation")[:2] == [
        "protonation: A:2: CYS as CYM (ZN A:301 at 0.23 nm of SG)",
        "protonation: A:4: HIS as HID (ZN A:302 at 0.23 nm of NE2)",
    ]
    names = {r.number: molecule.atoms.names[r.first : r.last] for r in molecule.atoms.residues if r.name != "ZN"}
    assert "HG" not in names["2"]
    assert "HG" in names["6"]  # the other cysteine is as in water
    assert "HD1" in names["4"]
    assert "HE2" not in names["4"]
    assert np.isfinite(molecule.field().energy(molecule.state))


def test_hydroxyproline_is_kept(tmp_path):
    """The force field has it: its oxygen, its bonds and its hydrogens are there."""
    lines = [
        line(k, name, "HYP" if number == 2 else residue, number, x, record="HETATM" if number == 2 else "ATOM")
        for k, (residue, number, name, x) in enumerate(heavy_atoms("GPG"))
    ]
    ring = {name: x for _, number, name, x in heavy_atoms("GPG") if number == 2}
    out = ring["CG"] - 0.5 * (ring["CB"] + ring["CD"])
    oxygen = line(90, "OD1", "HYP", 2, ring["CG"] + 0.143 * out / np.linalg.norm(out), record="HETATM", element="O")
    at = next(k for k, text in enumerate(lines) if text[22:26].strip() == "3")
    molecule = lw.molecules.load(write(tmp_path / "hyp.pdb", [*lines[:at], oxygen, *lines[at:]]), relax=True)
    assert [residue.name for residue in molecule.atoms.residues] == ["GLY", "HYP", "GLY"]
    hyp = molecule.atoms.residues[1]
    names = molecule.atoms.names[hyp.first : hyp.last]
    expected = ["C", "CA", "CB", "CD", "CG", "HA", "HB2", "HB3", "HD1", "HD22", "HD23", "HG", "N", "O", "OD1"]
    assert sorted(names) == expected
    assert notes(molecule, "residue") == []
    theirs = molecule.field(engine="openmm", platform="Reference").energy(molecule.state)
    assert molecule.field().energy(molecule.state) == pytest.approx(theirs, rel=1e-9)
    assert sum(molecule.model.parent < 0) == 1


def test_an_amide_at_the_end_of_a_chain_is_kept(tmp_path):
    rows = heavy_atoms("GAG")
    at = {name: x for _, number, name, x in rows if number == 3}
    away = [(x - at["C"]) / np.linalg.norm(x - at["C"]) for x in (at["CA"], at["O"])]
    out = -(away[0] + away[1]) / np.linalg.norm(away[0] + away[1])
    lines = [line(k, name, residue, number, x) for k, (residue, number, name, x) in enumerate(rows) if name != "OXT"]
    amide = line(90, "N", "NH2", 4, at["C"] + 0.1335 * out, record="HETATM", element="N")
    molecule = lw.molecules.load(write(tmp_path / "amide.pdb", [*lines, amide]))
    assert [residue.name for residue in molecule.atoms.residues] == ["GLY", "ALA", "GLY", "NH2"]
    cap = molecule.atoms.residues[3]
    assert sorted(molecule.atoms.names[cap.first : cap.last]) == ["HN1", "HN2", "N"]
    assert "OXT" not in molecule.atoms.names
    assert sum(molecule.model.parent < 0) == 1


LINK = "LINK         NZ  LYS A   2                 C1  LIG A 301     1555   1555  1.35"


def test_a_link_that_is_cut_is_named(tmp_path):
    ligand = [
        line(900, "C1", "LIG", 301, (0.0, 2.0, 0.0), record="HETATM"),
        line(901, "O1", "LIG", 301, (0.0, 2.14, 0.0), record="HETATM"),
    ]
    molecule = lw.molecules.load(write(tmp_path / "link.pdb", [*peptide_lines("GKG"), *ligand], [LINK]))
    assert notes(molecule, "link") == ["link: bond of LYS A:2 NZ to LIG A:301 C1 is cut: the second is left out"]


def free_amino_acid(name="SAH"):
    rows = [row for row in heavy_atoms("GG", (0.0, 2.0, 0.0)) if row[1] == 1]
    return [line(800 + k, atom, name, 301, x, record="HETATM") for k, (_, _, atom, x) in enumerate(rows)]


def test_a_ligand_with_atoms_of_a_backbone_is_a_ligand(tmp_path):
    file = write(tmp_path / "free.pdb", [*peptide_lines("GAG"), "TER", *free_amino_acid()])
    assert notes(lw.molecules.load(file), "ligand") == ["ligand: A:301: SAH dropped (4 atoms, no parameters)"]
    assert notes(lw.molecules.load(file, drop="SAH"), "dropped") == ["dropped: A:301: SAH left out as asked"]
    with pytest.raises(lw.FormatError, match="there is no residue XYZ to drop; there are ALA, GLY, SAH"):
        lw.molecules.load(file, drop=("XYZ",))


def phosphotyrosine():
    lines = []
    for k, (residue, number, name, x) in enumerate(heavy_atoms("GYG")):
        lines.append(line(k, name, "PTR" if residue == "TYR" else residue, number, x))
        if residue == "TYR" and name == "OH":
            lines.append(line(70, "P", "PTR", number, x + np.array([0.0, 0.0, 0.16])))
    return lines


def test_a_residue_that_would_lose_atoms_is_replaced_only_when_asked(tmp_path):
    file = write(tmp_path / "phospho.pdb", phosphotyrosine())
    with pytest.raises(lw.FormatError, match=r"residue PTR A:2 is a TYR with 1 atoms more.*replace=\(\"PTR\",\)"):
        lw.molecules.load(file)
    molecule = lw.molecules.load(file, replace="PTR")
    assert notes(molecule, "residue") == ["residue: A:2: PTR replaced by TYR"]


class FakeTopology:
    def __init__(self, names):
        chain = type("Chain", (), {"id": "A"})()
        self._residues = [
            type("Residue", (), {"name": name, "chain": chain, "id": str(k + 1), "insertionCode": " ", "atoms": list})()
            for k, name in enumerate(names)
        ]

    def residues(self):
        return iter(self._residues)


@pytest.mark.parametrize(("number", "what"), [(2, "counted from 0"), (3, "counted from 1")])
def test_the_residue_without_parameters_is_the_one_that_is_named(number, what):
    advice = explain_template_error(
        FakeTopology(["GLY", "ALA", "XYZ", "GLY"]), f"No template found for residue {number} (XYZ).  Check it."
    )
    assert advice.startswith("residue XYZ A:3 "), what


def test_the_residue_that_lacks_an_atom_is_the_one_that_is_named():
    """By OpenMM itself: of three residues the middle one lacks a hydrogen."""
    from openmm import app

    molecule = lw.molecules.peptide("GAG", caps=False)
    modeller = app.Modeller(molecule.topology, molecule.positions(molecule.state))
    modeller.delete([atom for atom in modeller.topology.atoms() if atom.name == "HB1"])
    with pytest.raises(lw.ModelError, match="residue ALA A:2 "):
        make_system(modeller.topology, "amber14")


def test_names_and_columns_of_charmm_are_read(tmp_path):
    """Histidines have names of their own there; names that begin one column early make carbon calcium, hydrogen mercury."""
    lines = []
    for text in peptide_lines("GHKG"):
        shifted = f"{text[:12]}{text[13:16]} {text[16:]}".replace("HIS", "HSD")
        lines.append(shifted[:76].rstrip())  # without the column of elements
    molecule = lw.molecules.load(write(tmp_path / "charmm.pdb", lines), relax=True, seed=1)
    plain = lw.molecules.load(write(tmp_path / "plain.pdb", peptide_lines("GHKG")), relax=True, seed=1)
    assert notes(molecule, "name") == ["name: A:2: HSD of CHARMM is read as HIS"]
    assert len(notes(molecule, "elements")) == 1
    assert molecule.atoms.names == plain.atoms.names
    assert molecule.n_torsions == plain.n_torsions


def test_strands_may_begin_with_a_phosphate(tmp_path):
    """Force fields end strands in a hydroxyl: the phosphate is taken off, with a note."""
    from linkwork.molecules.structure.reading import _take_phosphate_off
    from linkwork.molecules.structure.report import PreparationReport

    gemmi = pytest.importorskip("gemmi")
    residue, chain = gemmi.Residue(), gemmi.Chain("A")
    residue.name, residue.seqid = "DA", gemmi.SeqId("1")
    for name in ("P", "OP1", "OP2", "O5'", "C5'", "C1'"):
        atom = gemmi.Atom()
        atom.name = name
        residue.add_atom(atom)
    report = PreparationReport("strand")
    _take_phosphate_off(chain, residue, report)
    assert [atom.name for atom in residue] == ["O5'", "C5'", "C1'"]
    assert report.of("phosphate")[0].what == "DA: the phosphate before the first sugar is taken off"


def test_strands_load_without_their_first_phosphate(tmp_path):
    molecule = lw.molecules.load(write(tmp_path / "strand.pdb", strand_lines()), relax=True, seed=1)
    assert notes(molecule, "phosphate") == ["phosphate: A:1: DA: the phosphate before the first sugar is taken off"]
    assert [residue.name for residue in molecule.atoms.residues] == ["DA", "DG", "DC"]
    assert len(molecule.tree.cut) == 0
    assert np.isfinite(molecule.field().energy(molecule.state))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_unknown_nucleotides_are_refused_as_unknown_amino_acids_are(tmp_path, place):
    """At either end, where one has no phosphate or nothing behind it, and between."""
    called = ["DA", "DG", "DC"]
    called[place] = "XYZ"
    lines = strand_lines(called=called)
    if place == 0:
        lines = [
            text for text in lines if not (text[22:26].strip() == "1" and text[12:16].strip() in ("P", "OP1", "OP2"))
        ]
    what = rf"residue XYZ A:{place + 1} .atoms .*C1'.* is not one the force field knows"
    with pytest.raises(lw.FormatError, match=what):
        lw.molecules.load(write(tmp_path / "strand.pdb", lines))


@pytest.mark.parametrize("sequence", ["A", "GASKDE"])
def test_xtc_keeps_the_times_of_its_frames(tmp_path, sequence):
    """The first one, and uneven ones; with few atoms, which XTC does not pack, and with many."""
    mdtraj = pytest.importorskip("mdtraj", reason="reads trajectories back (extra `dev`)")
    molecule = lw.molecules.peptide(sequence)
    times = [5.0, 5.5, 7.25]
    molecule.write(tmp_path / "run.xtc", [molecule.state] * 3, times=times)
    molecule.write(tmp_path / "run.pdb", molecule.state)
    read = mdtraj.load(str(tmp_path / "run.xtc"), top=str(tmp_path / "run.pdb"))
    assert read.time.tolist() == times
    assert np.abs(read.xyz - molecule.positions(molecule.state)).max() < 1e-3  # [nm] the precision of the format
    with pytest.raises(lw.StateError, match="grow from frame to frame"):
        molecule.write(tmp_path / "back.xtc", [molecule.state] * 2, times=[1.0, 1.0])
