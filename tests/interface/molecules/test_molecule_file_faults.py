"""Structure files that are refused, and why: residue and atom are named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins
from tests.helpers.structure_files import line, peptide_lines, write

import linkwork as lw
from linkwork.molecules.forces.force_fields import make_system

proteins.need_packages()


def nan_position(lines):
    return [lines[0][:30] + "     nan" + lines[0][38:], *lines[1:]]


BAD = {
    "no atoms": (lambda lines: [], "no atoms"),
    "unknown residue": (
        lambda lines: [text.replace("SER", "XYZ") for text in lines],
        "residue XYZ A:3 .atoms .*CA.* is not one the force field knows",
    ),
    "backbone cut off": (lambda lines: lines[:-8], r"residue GLU A:6 has no atom C .it has CA, N"),
    "line cut off": (lambda lines: [*lines[:-1], lines[-1][:40]], "damaged|no atom|cut off"),
    "NaN": (nan_position, "atom N of GLY A:1 stands at|damaged"),
    "clash": (lambda lines: [*lines, lines[1][:17] + "GLY B   1 " + lines[1][27:]], "clash|no atom N"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_files_are_refused_with_residue_and_atom(tmp_path, change, message):
    file = write(tmp_path / "bad.pdb", change(peptide_lines()))
    with pytest.raises(lw.FormatError, match=message):
        lw.molecules.load(file)


def test_a_clash_names_both_atoms(tmp_path):
    lines = [*peptide_lines("GAS"), *peptide_lines("GAS", "B", (0.0, 0.02, 0.0))]
    with pytest.raises(lw.FormatError, match=r"atom N of GLY B:1 and atom N of GLY A:1 stand 0.20 Å apart"):
        lw.molecules.load(write(tmp_path / "clash.pdb", lines))


def test_what_is_asked_for_must_be_there(tmp_path):
    file = write(tmp_path / "peptide.pdb", peptide_lines())
    for options, message in (
        ({"chains": "Z"}, "there is no chain 'Z'; the file has A"),
        ({"residues": (90, 99)}, "no residue has a number from 90 to 99"),
        ({"model": 2}, "there is no model 2"),
        ({"gaps": "maybe"}, "gaps must be 'keep' or 'rebuild', not 'maybe'"),
        ({"force_field": "amber77"}, "no force field 'amber77'"),
    ):
        with pytest.raises(lw.LinkworkError, match=message):
            lw.molecules.load(file, **options)
    with pytest.raises(lw.FormatError, match="no such file"):
        lw.molecules.load(tmp_path / "nowhere.pdb")
    with pytest.raises(lw.FormatError, match="ends in one of"):
        lw.molecules.load(write(tmp_path / "peptide.xyz", []))
    dry = write(tmp_path / "wet.pdb", [line(1, "O", "HOH", 1, (0.0, 0.0, 0.0), record="HETATM")])
    with pytest.raises(lw.FormatError, match="no residue that the force field knows"):
        lw.molecules.load(dry)


def test_openmm_objects_are_checked():
    molecule = lw.molecules.peptide("A")
    system = make_system(molecule.topology, "amber14")
    good = molecule.reference
    bad = good.copy()
    bad[6, 1] = np.nan
    with pytest.raises(lw.ModelError, match=r"atom N of ALA A:1 stands at \(.*nan"):
        lw.molecules.from_openmm(molecule.topology, system, bad)
    import openmm as mm

    system.addForce(mm.CustomTorsionForce("theta"))
    with pytest.raises(lw.ModelError, match=r"has no CustomTorsionForce; .* Use engine='openmm'"):
        lw.molecules.from_openmm(molecule.topology, system, good).field(engine="numba")
    system.addParticle(1.0)
    with pytest.raises(lw.ModelError, match="they must agree"):
        lw.molecules.from_openmm(molecule.topology, system, good)


def test_a_missing_parameter_names_residue_and_atom():
    molecule = lw.molecules.peptide("A")
    with pytest.raises(lw.ModelError, match=r"residue (ACE|ALA|NME) A:\d .atoms .*parameters"):
        molecule.field(["tip3p.xml"])
    system = make_system(molecule.topology, "amber14")
    nonbonded = next(force for force in system.getForces() if type(force).__name__ == "NonbondedForce")
    nonbonded.setParticleParameters(6, float("nan"), 0.3, 0.1)
    broken = lw.molecules.from_openmm(molecule.topology, system, molecule.reference)
    with pytest.raises(lw.ModelError, match="atom N of ALA A:1 has charge nan"):
        broken.field()


@pytest.mark.parametrize("column", [16, 21, 26])  # alternate location, chain, insertion code
def test_bytes_that_are_not_text_are_refused(tmp_path, column):
    atoms = [line(1, "N", "GLY", 1, (0.0, 0.0, 0.0)), line(2, "CA", "GLY", 1, (0.147, 0.0, 0.0))]
    data = bytearray("\n".join([*atoms, "END", ""]), "ascii")
    data[column] = 0xC3
    path = tmp_path / "odd.pdb"
    path.write_bytes(data)
    with pytest.raises(lw.FormatError, match="damaged or cut off"):
        lw.molecules.load(path)
