"""Structure files on the way to linkages: what is kept, what is changed and reported."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.helpers import proteins
from tests.helpers.structure_files import heavy_atoms, line, peptide_lines, write

import linkwork as lw
from linkwork.molecules.forces.force_fields import make_system

proteins.need_packages()


def kinds(molecule):
    return {change.kind for change in molecule.report.changes}


# --------------------------------------------------------------------------------------------------------- what is kept


def test_a_written_molecule_is_read_back(tmp_path):
    """Through PDB and through mmCIF: the same atoms, torsions and report."""
    molecule = lw.molecules.peptide("GASKDE", caps=False)
    readings = []
    for suffix in (".pdb", ".cif"):
        file = tmp_path / f"peptide{suffix}"
        molecule.write(file, molecule.state)
        readings.append(lw.molecules.load(file))
    for again in readings:
        assert again.atoms.names == molecule.atoms.names
        assert [t.name for t in again.torsions] == [t.name for t in molecule.torsions]
        heavy = molecule.atoms.elements != 1
        # three digits of Å, and the hydrogens are placed anew
        assert np.abs(again.reference - molecule.reference)[heavy].max() < 1e-4 + 1e-9
    assert [str(change) for change in readings[0].report.changes] == [str(c) for c in readings[1].report.changes]


def test_several_chains_have_a_base_each(tmp_path):
    file = write(tmp_path / "two.pdb", [*peptide_lines(), *peptide_lines("AK", "B", (0.0, 3.0, 0.0))])
    both = lw.molecules.load(file)
    assert both.chains == ("A", "B")
    assert int((both.model.parent < 0).sum()) == 2
    one = lw.molecules.load(file, chains="B")
    assert (one.chains, one.n_torsions) == (("B",), lw.molecules.peptide("AK", caps=False).n_torsions)
    assert {str(r.number) for r in lw.molecules.load(file, chains="A", residues=(2, 4)).atoms.residues} == {
        "2",
        "3",
        "4",
    }


def test_the_most_occupied_location_is_taken_and_reported(tmp_path):
    lines = []
    for k, (residue, number, name, x) in enumerate(heavy_atoms("GAS")):
        if number == 2 and name == "CB":
            lines.append(line(k, name, residue, number, x + np.array([0.0, 0.0, 0.03]), alt="A", occupancy=0.4))
            lines.append(line(k, name, residue, number, x, alt="B", occupancy=0.6))
        else:
            lines.append(line(k, name, residue, number, x))
    molecule = lw.molecules.load(write(tmp_path / "alt.pdb", lines))
    assert [str(c) for c in molecule.report.of("altloc")] == ["altloc: A:2: ALA: location B of B, A"]
    expected = lw.molecules.peptide("GAS", caps=False)
    at = [m.reference[m.atom("A:2:CB")] for m in (molecule, expected)]
    assert np.abs(at[0] - at[1]).max() < 1e-4 + 1e-9


def test_insertion_codes_are_part_of_the_number(tmp_path):
    numbers = {1: (1, " "), 2: (1, "A"), 3: (2, " ")}
    lines = [
        line(k, name, residue, numbers[number][0], x, icode=numbers[number][1])
        for k, (residue, number, name, x) in enumerate(heavy_atoms("GAS"))
    ]
    molecule = lw.molecules.load(write(tmp_path / "icode.pdb", lines))
    assert [residue.number for residue in molecule.atoms.residues] == ["1", "1A", "2"]
    assert molecule.phi("1A").name == "A:1A:phi"
    assert len(molecule.select(residues="1A", atoms="CB")) == 1


def test_ligands_waters_and_ions(tmp_path):
    hetero = [
        line(900, "C1", "LIG", 301, (0.0, 2.0, 0.0), record="HETATM"),
        line(901, "O1", "LIG", 301, (0.0, 2.14, 0.0), record="HETATM"),
        line(902, "NA", "NA", 302, (0.0, 2.0, 2.0), record="HETATM", element="NA"),
        line(903, "O", "HOH", 303, (0.0, 3.0, 2.0), record="HETATM"),
    ]
    file = write(tmp_path / "hetero.pdb", [*peptide_lines("GAS"), *hetero])
    molecule = lw.molecules.load(file)
    assert [str(c) for c in molecule.report.of("ligand")] == ["ligand: A:301: LIG dropped (2 atoms, no parameters)"]
    assert [str(c) for c in molecule.report.of("ion")] == ["ion: A:302: NA kept"]
    assert [str(c) for c in molecule.report.of("water")] == ["water: A: 1 waters dropped"]
    ion = molecule.tree.body[molecule.atom("A:302:NA")]
    assert molecule.model.joints[ion].nv == 3  # a point does not turn
    wet = lw.molecules.load(file, waters=True, ions=False)
    assert len(wet.select(residue_name="HOH")) == 3
    assert "ion: A:302: NA dropped" in [str(c) for c in wet.report.changes]
    assert np.isfinite(wet.field().energy(wet.state))


def test_a_gap_makes_two_pieces_or_is_rebuilt(tmp_path):
    lines = peptide_lines("GASKDEG", leave_out=(4,))
    sequence = "SEQRES   1 A    7  GLY ALA SER LYS ASP GLU GLY"
    file = write(tmp_path / "gap.pdb", lines, [sequence])
    kept = lw.molecules.load(file)
    assert int((kept.model.parent < 0).sum()) == 2
    assert kept.report.of("gap")[0].what == "kept between SER 3 and ASP 5: two pieces"
    rebuilt = lw.molecules.load(file, gaps="rebuild", seed=1)
    assert int((rebuilt.model.parent < 0).sum()) == 1
    assert rebuilt.n_torsions == lw.molecules.peptide("GASKDEG", caps=False).n_torsions
    assert rebuilt.report.of("gap")[0].what == "1 residues missing inside, after residue 3 rebuilt"
    again = lw.molecules.load(file, gaps="rebuild", seed=1)
    assert (rebuilt.reference == again.reference).all()


def test_missing_ends_belong_to_the_chain_and_not_to_its_pieces(tmp_path):
    """A gap that is kept is not an end: each missing end is reported, or rebuilt, once."""
    lines = peptide_lines("GASKDEGAS", leave_out=(1, 5, 8, 9))
    file = write(tmp_path / "ends.pdb", lines, ["SEQRES   1 A    9  GLY ALA SER LYS ASP GLU GLY ALA SER"])
    plain, rebuilt = lw.molecules.load(file), lw.molecules.load(file, ends=True, seed=1)
    changes = {verb: [f"{n} residues missing at the {end} {verb}" for n, end in ((1, "beginning"), (2, "end"))]
            for verb in ("left out", "rebuilt")}  # fmt: skip
    assert [c.what for c in plain.report.of("end")] == changes["left out"]
    assert [c.what for c in rebuilt.report.of("end")] == changes["rebuilt"]
    assert len(plain.atoms.residues) == 5
    assert [r.name for r in rebuilt.atoms.residues] == ["GLY", "ALA", "SER", "LYS", "GLU", "GLY", "ALA", "SER"]


def test_a_file_that_may_be_cut_off_is_reported(tmp_path):
    lines = peptide_lines("GAS")
    whole = lw.molecules.load(write(tmp_path / "whole.pdb", lines))
    assert not whole.report.of("file")
    (tmp_path / "cut.pdb").write_text("\n".join(lines) + "\n", encoding="ascii")
    (change,) = lw.molecules.load(tmp_path / "cut.pdb").report.of("file")
    assert re.fullmatch(r"no END record: whole, or cut off behind atom \w+ of SER A:3", change.what)


def test_missing_atoms_and_odd_residues_are_mended_and_reported(tmp_path):
    lines = []
    for k, (residue, number, name, x) in enumerate(heavy_atoms("GMK")):
        if (number, name) == (3, "NZ"):
            continue
        if number == 2:
            residue, name, element = "MSE", "SE" if name == "SD" else name, "SE" if name == "SD" else name[0]
            lines.append(line(k, name, residue, number, x, record="HETATM", element=element))
        else:
            lines.append(line(k, name, residue, number, x))
    molecule = lw.molecules.load(write(tmp_path / "odd.pdb", lines), seed=1)
    changes = [str(change) for change in molecule.report.changes]
    assert "residue: A:2: MSE replaced by MET" in changes
    assert any(text.startswith("atoms: A:3: LYS: NZ added") for text in changes)
    assert molecule.n_torsions == lw.molecules.peptide("GMK", caps=False).n_torsions


def test_relaxing_lowers_the_energy_and_is_reported(tmp_path):
    file = write(tmp_path / "peptide.pdb", peptide_lines())
    plain, relaxed = lw.molecules.load(file), lw.molecules.load(file, relax=True)
    assert relaxed.field().energy(relaxed.state) < plain.field().energy(plain.state) - 10.0
    assert relaxed.report.of("relaxed")


def test_protonation_that_is_not_that_of_water_is_reported():
    """Aspartate, glutamate, lysine and histidine; at pH 7 only histidine's form is a choice."""
    forms = {
        ph: [str(c) for c in lw.molecules.peptide("KHDE", ph=ph).report.of("protonation")] for ph in (1.0, 7.0, 13.0)
    }
    assert forms[1.0] == [f"protonation: A:{k} (pH 1)" for k in ("2: HIS as HIP", "3: ASP as ASH", "4: GLU as GLH")]
    assert [text[:20] for text in forms[7.0]] == ["protonation: A:2: HI"]
    assert "protonation: A:1: LYS as LYN (pH 13)" in forms[13.0]


# --------------------------------------------------------------------------------------------------------------- counts


def test_torsion_counts():
    """By hand: two per alanine between caps; φ of proline is in its ring; the last ψ turns a carboxylate."""
    assert lw.molecules.peptide("A" * 20).n_torsions == 40
    assert lw.molecules.peptide("A" * 18, caps=False).n_torsions == 35  # no φ at the first residue's ammonium
    assert lw.molecules.peptide("APA").n_torsions == 5
    names = [t.name for t in lw.molecules.peptide("K").torsions]
    assert names == [f"A:1:{kind}" for kind in ("phi", "psi", "chi1", "chi2", "chi3", "chi4")]
    assert lw.molecules.peptide("AA", omega=True).n_torsions == 4 + 3
    assert lw.molecules.peptide("AA", hydrogens=True).n_torsions == 4 + 2 + 2  # methyls of alanines and of the caps


def crambin(suffix, folder):
    """Its three disulfides are cut."""
    return lw.molecules.load(proteins.DATA / f"1CRN{suffix}"), (139, 3)


def integrase(suffix, folder):
    """One of the two pieces that X-rays saw."""
    file = proteins.integrase()
    if suffix == ".cif":
        gemmi = pytest.importorskip("gemmi")
        gemmi.read_structure(str(file)).make_mmcif_document().write_file(str(folder / "1bhl.cif"))
        file = folder / "1bhl.cif"
    return lw.molecules.load(file, chains="A", residues=(154, 207)), (counted(CORE), 0)


REAL = [integrase, *([crambin] if (proteins.DATA / "1CRN.pdb").is_file() else [])]


@pytest.mark.parametrize("suffix", [".pdb", ".cif"])
@pytest.mark.parametrize("protein", REAL)
def test_real_proteins(protein, suffix, tmp_path):
    molecule, (torsions, cut) = protein(suffix, tmp_path)
    assert (molecule.n_torsions, len(molecule.tree.cut), molecule.model.nv) == (torsions, cut, torsions + 6)
    field = molecule.field(cutoff=1.0)
    system = make_system(molecule.topology, "amber14", 1.0)
    import openmm as mm

    context = mm.Context(system, mm.VerletIntegrator(1e-3), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(molecule.reference)
    energy = context.getState(getEnergy=True).getPotentialEnergy()
    expected = energy.value_in_unit(mm.unit.kilojoule_per_mole)
    assert field.energy(molecule.state) == pytest.approx(expected, rel=1e-10)


CHI = dict(zip("ARNDCQEGHILKMFPSTWYV", (0, 4, 2, 2, 1, 3, 3, 0, 2, 2, 2, 4, 3, 2, 0, 1, 1, 2, 2, 1), strict=True))


def counted(sequence):
    """Torsions of a chain with free ends by hand: χ of each residue, all ψ, all φ but the first and those of prolines."""
    return sum(CHI[letter] for letter in sequence) + len(sequence) + sum(letter != "P" for letter in sequence[1:])


def test_all_residues_have_the_torsions_of_the_textbook():
    assert proteins.strand().n_torsions == counted(proteins.ALL_RESIDUES)


# Residues 154 to 207 of 1BHL, and all of bacteriorhodopsin (PDB 1PY6).
CORE = "MNKELKKIIGQVRDQAEHLKTAVQMAVFIHNHKRKGGIGGYSAGERIVDIIATD"
BACTERIORHODOPSIN = (
    "QAQITGRPEWIWLALGTALMGLGTLYFLVKGMGVSDPDAKKFYAITTLVPAIAFTMYLSMLLGYGLTMVPFGGEQNPIYWARYADWLFTTPLLLLDLALLVDADQGT"
    "ILALVGADGIMIGTGLVGALTKVYSYRFVWWAISTAAMLYILYVLFFGFTSKAESMRPEVASTFKVLRNVTVVLWSAYPVVWLIGSEGAGIVPLNIETLLFMVLDVS"
    "AKVGFGLILLRSRAIFGEAEAPEPSAGDGAAATSD"
)


def test_torsions_of_bacteriorhodopsin():
    """852 by its sequence, the paper's 857 with the six of the base and without the last ψ, which turns two oxygens
    that cannot be distinguished; and what lies in its first helices, built from that sequence."""
    whole = BACTERIORHODOPSIN
    assert (len(whole), counted(whole), counted(whole) - 1 + 6) == (249, 852, 857)
    assert lw.molecules.peptide(whole[4:60], caps=False, helix=True).n_torsions == counted(whole[4:60])


def test_a_range_of_residues():
    molecule = lw.molecules.load(proteins.integrase(), chains="A", residues=(160, 190))
    assert molecule.n_torsions == counted(CORE[6:37])
    assert molecule.model.frame("A:190:CA").body == molecule.tree.body[molecule.atom("190:CA")]


def test_a_protein_in_a_box_of_water():
    """The water goes, and is named."""
    molecule = lw.molecules.load(proteins.villin())
    assert molecule.n_torsions == counted("LSDEDFKAVFGMTRSAFANLPLWKQQHLKKEKGLF")
    assert "water" in kinds(molecule)


# ---------------------------------------------------------------------------------------------------------------- names


def test_selections_and_names():
    molecule = lw.molecules.peptide("GASKDE", caps=False)
    assert molecule.atoms.label(molecule.atom("A:4:NZ")) == "A:4:NZ"
    assert molecule.atom("4:NZ") == molecule.atom("A:4:NZ")
    assert molecule.select(residues=(2, 3), atoms=("CA", "CB")).size == 4
    assert molecule.select(residue_name="LYS", chain="A").size == 22
    for nothing in ({"chain": "Z"}, {"residues": 900}, {"atoms": "XX"}):  # an empty selection would restrain nothing
        with pytest.raises(lw.ModelError, match=f"no atom .* fits {next(iter(nothing))}=.*chains A"):
            molecule.select(**nothing)
    assert molecule.chi1("LYS 4") == molecule.torsion("chi1", 4) == molecule.torsion("chi1", "A:4")
    assert molecule.chi2(4).name == "A:4:chi2"
    assert molecule.model.joint_names[molecule.psi(3).joint] == "A:3:psi"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: m.atom("A:4:CX"), "has no atom 'A:4:CX'; did you mean"),
        (lambda m: m.phi(1), "residue GLY A:1 has no torsion 'phi' that turns; it has psi"),
        (lambda m: m.phi(17), "has no residue 17"),
        (lambda m: m.field(engine="gromacs"), "there is no engine 'gromacs'"),
        (lambda m: m.field("amber77"), "there is no force field 'amber77'"),
        (lambda m: m.field(solvent="beer"), "there is no solvent 'beer'"),
        (lambda m: m.field(cutoff=-1.0), "cutoff is -1.0"),
        (lambda m: m.field(cutoff=1.0, switch=1.2), "switch is 1.2; it is a distance below the cutoff"),
        (lambda m: m.field(engine="openmm", platform="Abacus"), "no platform 'Abacus'"),
        (lambda m: m.write("x.trr", m.state), "molecules are written as"),
        (lambda m: m.write("x.dcd", []), "no states"),
        (lambda m: m.write("x.dcd", [m.state] * 3, times=[0, 1, 5]), "evenly spaced"),
        (lambda m: m.field().set_clusters([0, 1]), "one per body"),
        (
            lambda m: m.field().wrenches(np.full((m.model.n_bodies, 12), np.nan), np.zeros((m.model.n_bodies, 6))),
            "finite",
        ),
    ],
)
def test_wrong_questions_get_a_reason(ask, message):
    molecule = lw.molecules.peptide("GASKDE", caps=False)
    with pytest.raises(lw.LinkworkError, match=message):
        ask(molecule)


@pytest.mark.parametrize(("sequence", "message"), [("AXB", "B, X"), ("", "no letters")])
def test_sequences_are_checked(sequence, message):
    with pytest.raises(lw.ModelError, match=message):
        lw.molecules.peptide(sequence)


# --------------------------------------------------------------------------------------------------------- trajectories


@pytest.mark.parametrize("reader", ["mdtraj", "MDAnalysis"])
@pytest.mark.parametrize("suffix", [".dcd", ".xtc", ".pdb", ".cif"])
@pytest.mark.filterwarnings("ignore")
def test_trajectories_are_read_back_by_others(tmp_path, reader, suffix):
    library = pytest.importorskip(reader, reason=f"{reader} is not installed; the dev extra brings it")
    molecule = proteins.helix()
    states = [proteins.displaced(molecule, 0.05, seed) for seed in range(3)]
    molecule.write(tmp_path / "start.pdb", molecule.state)
    file = tmp_path / f"path{suffix}"
    molecule.write(file, states, times=[0.0, 0.5, 1.0])
    if suffix == ".cif" and reader == "MDAnalysis":  # it reads the first model of such a file
        universe, states = library.Universe(str(file)), states[:1]
        frames = 0.1 * universe.atoms.positions[None]
    elif reader == "mdtraj":
        frames = library.load(str(file), top=str(tmp_path / "start.pdb")).xyz
    else:
        universe = library.Universe(str(tmp_path / "start.pdb"), str(file))
        frames = np.array([0.1 * universe.atoms.positions.copy() for _ in universe.trajectory])
    expected = np.array([molecule.positions(state) for state in states])
    digits = {".dcd": 1e-6, ".xtc": 0.5e-3, ".pdb": 0.5e-4, ".cif": 0.5e-5}[suffix]  # [nm] of the format
    assert frames.shape == expected.shape
    assert np.abs(frames - expected).max() <= 1.01 * digits + 1e-6


def test_several_states_are_models_of_a_cif_file(tmp_path):
    import gemmi

    molecule = lw.molecules.peptide("GAK", seed=1)
    states = [proteins.displaced(molecule, 0.1, seed) for seed in range(3)]
    molecule.write(tmp_path / "path.cif", states)
    read = gemmi.read_structure(str(tmp_path / "path.cif"))
    assert len(read) == 3
    for state, model in zip(states, read, strict=True):
        x = np.array([atom.atom.pos.tolist() for atom in model.all()]) / 10.0
        assert np.abs(x - molecule.positions(state)).max() < 1e-3


def test_a_notebook_shows_molecules():
    molecule = lw.molecules.peptide("GAK", seed=1)
    with pytest.raises(lw.StateError, match="there is no style 'blobs'"):
        molecule.view(style="blobs")
    pytest.importorskip("py3Dmol", reason="py3Dmol is not installed; the dev extra brings it")
    # py3Dmol gives the text of its page by no other name.
    page = molecule.view([molecule.state, proteins.displaced(molecule, 0.1, 1)], style="stick")._make_html()
    assert page.count("MODEL") >= 2
    assert "LYS" in page


def test_lw_load_says_who_reads_structures(tmp_path):
    with pytest.raises(lw.FormatError, match=r"read by lw\.molecules\.load"):
        lw.load(tmp_path / "protein.pdb")


def test_the_command_line_lists_what_came_in(tmp_path, capsys):
    from linkwork.cli import main

    file = write(tmp_path / "peptide.pdb", [*peptide_lines("GAS"), line(9, "C1", "LIG", 9, (0, 2, 0), record="HETATM")])
    assert main(["info", str(file)]) == 0
    said = capsys.readouterr()
    assert "Revolute" in said.out + said.err
    assert "LIG dropped" in said.out + said.err
    mass = lw.molecules.load(file).atoms.masses.sum()
    assert f"{mass:.6g} Da" in said.out + said.err
    assert "nm/ps²" in said.out + said.err
    assert main(["info", "chain", "joints=3"]) == 0
    assert " kg" in capsys.readouterr().out
