"""Retinal on its lysine, as in bacteriorhodopsin: parameters from a force field file, and as a ligand of a PDB file.

The geometry is that of all-trans retinal as a protonated Schiff base: single and double bonds of 0.145 and 0.135 nm take
turns, angles are those of sp2 carbon. Types and numbers of the force field file are plain ones; what is asked is whether
everything they say comes through.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins
from tests.helpers.structure_files import heavy_atoms, line, peptide_lines, write

import linkwork as lw

proteins.need_packages()

# name: three atoms before it, bond [nm], angle and dihedral [°]
HEAVY = {
    "C15": ("CD", "CE", "NZ", 0.130, 124, 180), "C14": ("CE", "NZ", "C15", 0.143, 124, 180),
    "C13": ("NZ", "C15", "C14", 0.137, 124, 180), "C12": ("C15", "C14", "C13", 0.144, 118, 180),
    "C20": ("C15", "C14", "C13", 0.150, 122, 0), "C11": ("C14", "C13", "C12", 0.136, 125, 180),
    "C10": ("C13", "C12", "C11", 0.143, 124, 180), "C9": ("C12", "C11", "C10", 0.136, 127, 180),
    "C8": ("C11", "C10", "C9", 0.145, 118, 180), "C19": ("C11", "C10", "C9", 0.150, 123, 0),
    "C7": ("C10", "C9", "C8", 0.134, 126, 180), "C6": ("C9", "C8", "C7", 0.147, 127, 180),
    "C5": ("C8", "C7", "C6", 0.135, 123, -45), "C1": ("C8", "C7", "C6", 0.153, 115, 135),
    "C18": ("C7", "C6", "C5", 0.150, 124, 0), "C4": ("C7", "C6", "C5", 0.151, 114, 180),
    "C3": ("C6", "C5", "C4", 0.152, 113, 15), "C2": ("C5", "C6", "C1", 0.153, 111, 45),
    "C16": ("C5", "C6", "C1", 0.154, 110, 165), "C17": ("C5", "C6", "C1", 0.154, 110, -75),
}  # fmt: skip
RING = ("C2", "C3")  # the bond that closes the ring
SP3 = {"C1", "C2", "C3", "C4", "C16", "C17", "C18", "C19", "C20"}
BONDS = [(row[2], name) for name, row in HEAVY.items()] + [RING]
FILE = """<ForceField>
 <AtomTypes>
  <Type name="ret-D" class="ret-D" element="C" mass="12.011"/>
  <Type name="ret-T" class="ret-T" element="C" mass="12.011"/>
  <Type name="ret-H" class="ret-H" element="H" mass="1.008"/>
 </AtomTypes>
 <Residues>{residue}</Residues>
 <HarmonicBondForce>
  <Bond class1="ret-D" class2="ret-D" length="0.140" k="300000"/>
  <Bond class1="ret-D" class2="ret-T" length="0.151" k="265000"/>
  <Bond class1="ret-T" class2="ret-T" length="0.153" k="260000"/>
  <Bond class1="protein-N3" class2="ret-D" length="0.131" k="350000"/>
  <Bond class1="ret-D" class2="ret-H" length="0.108" k="290000"/>
  <Bond class1="ret-T" class2="ret-H" length="0.109" k="280000"/>
 </HarmonicBondForce>
 <HarmonicAngleForce>
  <Angle class1="" class2="ret-D" class3="" angle="2.094" k="520"/>
  <Angle class1="" class2="ret-T" class3="" angle="1.911" k="420"/>
  <Angle class1="" class2="protein-N3" class3="ret-D" angle="2.146" k="500"/>
 </HarmonicAngleForce>
 <PeriodicTorsionForce>
  <Proper class1="" class2="ret-D" class3="ret-D" class4="" periodicity1="2" phase1="3.14159265" k1="27.0"/>
  <Proper class1="" class2="protein-N3" class3="ret-D" class4="" periodicity1="2" phase1="3.14159265" k1="40.0"/>
  <Proper class1="" class2="ret-D" class3="ret-T" class4="" periodicity1="3" phase1="0" k1="0.4"/>
  <Proper class1="" class2="ret-T" class3="ret-T" class4="" periodicity1="3" phase1="0" k1="0.65"/>
 </PeriodicTorsionForce>
 <NonbondedForce coulomb14scale="0.8333333333333334" lj14scale="0.5">
  <UseAttributeFromResidue name="charge"/>
  <Atom type="ret-D" sigma="0.339967" epsilon="0.359824"/>
  <Atom type="ret-T" sigma="0.339967" epsilon="0.457730"/>
  <Atom type="ret-H" sigma="0.259964" epsilon="0.062760"/>
 </NonbondedForce>
</ForceField>"""


def placed(a, b, c, bond, angle, dihedral):
    """The place at a bond, an angle and a dihedral behind three others."""
    angle, dihedral = np.radians([angle, dihedral])
    forward = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, forward)
    normal /= np.linalg.norm(normal)
    side = np.cross(normal, forward)
    turned = np.cos(dihedral) * side + np.sin(dihedral) * normal
    return c - bond * np.cos(angle) * forward + bond * np.sin(angle) * turned


def add_heavy(x):
    for name, (*before, bond, angle, dihedral) in HEAVY.items():
        x[name] = placed(*(x[one] for one in before), bond, angle, dihedral)


def hydrogens_of(x):
    """Hydrogens of retinal and of its nitrogen: name, atom, place."""
    neighbours = {name: [] for name in (*HEAVY, "NZ")}
    for a, b in [*BONDS, ("CE", "NZ")]:
        for one, other in ((a, b), (b, a)):
            if one in neighbours:
                neighbours[one].append(other)
    made = []
    for name, around in neighbours.items():
        units = [(x[one] - x[name]) / np.linalg.norm(x[one] - x[name]) for one in around]
        middle = -np.sum(units, axis=0)
        if name in SP3 and len(around) == 1:
            other = next(one for one in neighbours[around[0]] if one != name)
            places = [placed(x[other], x[around[0]], x[name], 0.109, 110, d) for d in (60, 180, 300)]
        elif name in SP3 and len(around) == 2:
            across = np.cross(*units)
            ways = [middle / np.linalg.norm(middle) + s * 1.3 * across / np.linalg.norm(across) for s in (-1, 1)]
            places = [x[name] + 0.109 * way / np.linalg.norm(way) for way in ways]
        elif len(around) == 2:
            places = [x[name] + 0.108 * middle / np.linalg.norm(middle)]
        else:
            places = []
        made += [(f"H{name[1:]}{k}" if name != "NZ" else "HZ1", name, place) for k, place in enumerate(places, 1)]
    return made


@pytest.fixture(scope="module")
def retinal(tmp_path_factory):
    """Topology, System and relaxed positions of ACE-Ala-Lys(retinal)-Ala-NME, and the file of its force field."""
    import openmm as mm
    from openmm import app, unit

    peptide = lw.molecules.peptide("AKA", relax=True, seed=1)
    amber = app.ForceField("amber14-all.xml")
    # OpenMM gives the templates of a force field by no other name.
    lysine = {atom.name: atom for atom in amber._templates["LYS"].atoms}
    topology, element, x, y = app.Topology(), app.Element.getBySymbol, [], {}
    chain = topology.addChain("A")
    new: dict[int, object] = {}
    for residue in peptide.topology.residues():
        is_lysine = residue.name == "LYS"
        into = topology.addResidue("LYR" if is_lysine else residue.name, chain)
        for atom in residue.atoms():
            if is_lysine:
                y[atom.name] = peptide.reference[atom.index]
            if not (is_lysine and atom.name in ("HZ1", "HZ2", "HZ3")):
                new[atom.index] = topology.addAtom(atom.name, atom.element, into)
                x.append(peptide.reference[atom.index])
        if is_lysine:
            add_heavy(y)
            own = {atom.name: atom for atom in into.atoms()}
            for name in HEAVY:
                own[name] = topology.addAtom(name, element("C"), into)
                x.append(y[name])
            for name, _, place in hydrogens_of(y):
                own[name] = topology.addAtom(name, element("H"), into)
                x.append(place)
    for a, b in peptide.topology.bonds():
        if a.index in new and b.index in new:
            topology.addBond(new[a.index], new[b.index])
    bonds = [*BONDS, *((parent, name) for name, parent, _ in hydrogens_of(y))]
    for a, b in bonds:
        topology.addBond(own[a], own[b])
    charges = {name: float(lysine[name].parameters["charge"]) for name in own if name in lysine}
    rest = (1.0 - sum(charges.values())) / (len(own) - len(charges))  # on retinal, evenly
    atoms, types = "", {}
    for name in own:
        types[name] = lysine[name].type if name in lysine else "ret-H"
        if name in HEAVY:
            types[name] = "ret-T" if name in SP3 else "ret-D"
        atoms += f'<Atom name="{name}" type="{types[name]}" charge="{charges.get(name, rest)!r}"/>'
    inside = [(a.name, b.name) for a, b in topology.bonds() if a.residue.name == b.residue.name == "LYR"]
    atoms += "".join(f'<Bond atomName1="{a}" atomName2="{b}"/>' for a, b in inside)
    atoms += '<ExternalBond atomName="N"/><ExternalBond atomName="C"/>'
    file = tmp_path_factory.mktemp("retinal") / "retinal.xml"
    file.write_text(FILE.format(residue=f'<Residue name="LYR">{atoms}</Residue>'))
    system = app.ForceField("amber14-all.xml", str(file)).createSystem(topology, removeCMMotion=False)
    context = mm.Context(system, mm.VerletIntegrator(1e-3), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(np.array(x))
    mm.LocalEnergyMinimizer.minimize(context, 5.0)
    found = context.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.nanometer)
    return topology, system, np.array(found), file


def test_parameters_of_a_force_field_file_hold(retinal):
    """Torsions, energies and forces of retinal with charges: those of OpenMM, in vacuum."""
    topology, system, x, _ = retinal
    molecule = lw.molecules.from_openmm(topology, system, x, name="retinal")
    names = {index: atom.name for index, atom in enumerate(topology.atoms()) if atom.residue.name == "LYR"}
    axes = {frozenset(names[a] for a in pair) for pair in molecule.tree.axis.tolist() if set(pair) <= set(names)}
    # φ, ψ and χ1 to χ4 of lysine, and the bond to the Schiff base; the polyene is planar, and rigid with its ring
    assert axes == {
        frozenset(pair)
        for pair in (("N", "CA"), ("CA", "C"), ("CA", "CB"), ("CB", "CG"), ("CG", "CD"), ("CD", "CE"), ("CE", "NZ"))
    }
    own, theirs = molecule.field(), molecule.field(engine="openmm", platform="Reference")
    for seed in (1, 2):
        state = proteins.displaced(molecule, 0.2, seed)
        assert own.energy(state) == pytest.approx(theirs.energy(state), rel=1e-9)
        a, b = own.generalized_forces(state), theirs.generalized_forces(state)
        assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max()
    sim = lw.FullDynamics(molecule.model, molecule.state, field=own)
    before = sim.energy.total
    sim.advance(2e-3, 200)
    assert sim.energy.total == pytest.approx(before, abs=2.0)  # [kJ/mol]


def test_whole_retinal_of_a_file_is_linked_and_named(tmp_path):
    rows = heavy_atoms("GASKDE")
    x = {name: place for _, number, name, place in rows if number == 4}
    add_heavy(x)
    lines = [line(500 + k, name, "RET", 302, x[name], record="HETATM", element="C") for k, name in enumerate(HEAVY)]
    link = "LINK         NZ  LYS A   4                 C15 RET A 302     1555   1555  1.30"
    path = write(tmp_path / "retinal.pdb", [*peptide_lines(), *lines], [link])
    for ligands in ("rigid", "torsions"):
        molecule = lw.molecules.load(path, ligands=ligands, relax=True, seed=1)
        links = [str(change) for change in molecule.report.of("link")]
        assert links == ["link: bond of LYS A:4 NZ to RET A:302 C15 is a double bond, and rigid"]
        axes = {frozenset(pair) for pair in molecule.tree.axis.tolist()}
        assert frozenset((molecule.atom("A:4:CE"), molecule.atom("A:4:NZ"))) in axes
        own, theirs = molecule.field(), molecule.field(engine="openmm", platform="Reference")
        state = proteins.displaced(molecule, 0.1, 1)
        assert own.energy(state) == pytest.approx(theirs.energy(state), rel=1e-9)
