"""What tests of molecules share: small peptides, made once, and where real structures lie.

Real structures come with packages of the extra `proteins`. Further ones are read where they lie beside the checkout.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "proteins"

ALL_RESIDUES = "ACDEFGHIKLMNPQRSTVWY"


def need_packages() -> None:
    for package in ("openmm", "pdbfixer", "gemmi"):
        pytest.importorskip(package, reason=f"{package} is not installed; pip install '.[proteins]' brings it")


def integrase() -> Path:
    """The core of an integrase by X-ray diffraction, 1BHL, without hydrogens; pdbfixer brings the file.

    135 residues, two of them not standard (65, 130), in two pieces: 138 to 153 were not seen.
    """
    return _packaged("pdbfixer", "tests/data/1BHL.pdb")


def villin() -> Path:
    """The headpiece of villin in a box of water, with hydrogens; OpenMM brings the file."""
    return _packaged("openmm", "app/data/test.pdb")


def _packaged(package: str, file: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed; pip install '.[proteins]' brings it")
    return Path(spec.origin).parent / file


@cache
def helix() -> lw.molecules.Molecule:
    """ACE-Ala₂₀-NME, the paper's helix, relaxed."""
    return lw.molecules.peptide("A" * 20, helix=True, relax=True, seed=1)


@cache
def strand() -> lw.molecules.Molecule:
    """All twenty residues in a row, with charged ends, relaxed."""
    return lw.molecules.peptide(ALL_RESIDUES, caps=False, relax=True, seed=1)


@cache
def hairpin() -> lw.molecules.Molecule:
    """Two chains Gly-Cys-Gly joined by a disulfide, which is cut; through `from_openmm`."""
    import openmm as mm
    from openmm import app, unit

    # Two strands Gly-Cys-Gly: one turned about the middle of the bond between the sulfurs.
    one = lw.molecules.peptide("GCG", seed=1)
    x = one.positions(one.state)
    sulfur = one.atom("A:2:SG")
    hydrogen = one.atom("A:2:HG")
    out = x[hydrogen] - x[sulfur]
    out /= np.linalg.norm(out)
    middle = x[sulfur] + 0.1025 * out
    turn = 2.0 * np.outer(out, out) - np.eye(3)  # by π about the bond's direction ...
    across = np.cross(out, [0.3, 0.5, 0.8])
    across /= np.linalg.norm(across)
    turn = (2.0 * np.outer(across, across) - np.eye(3)) @ turn  # ... and end over end
    second = (x - middle) @ turn.T + middle
    modeller = app.Modeller(one.topology, x * unit.nanometer)
    modeller.add(one.topology, second * unit.nanometer)
    top, both = modeller.topology, np.concatenate([x, second])
    list(top.chains())[1].id = "B"
    doomed = [a for a in top.atoms() if a.name == "HG" and a.residue.name == "CYS"]
    sulfurs = [a for a in top.atoms() if a.name == "SG"]
    top.addBond(*sulfurs)
    modeller = app.Modeller(top, both * unit.nanometer)
    modeller.delete(doomed)
    system = app.ForceField("amber14-all.xml").createSystem(modeller.topology, constraints=None, removeCMMotion=False)
    context = mm.Context(system, mm.VerletIntegrator(1e-3), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(modeller.positions)
    mm.LocalEnergyMinimizer.minimize(context, 10.0)
    relaxed = context.getState(getPositions=True).getPositions(asNumpy=True)
    return lw.molecules.from_openmm(modeller.topology, system, relaxed, name="hairpin")


MOLECULES = {"helix": helix, "strand": strand, "hairpin": hairpin}


def displaced(molecule: lw.molecules.Molecule, size: float, seed: int) -> lw.State:
    """A state near the reference: torsions turned, bases moved by random amounts of the given size [rad, nm]."""
    model = molecule.model
    u = size * np.random.default_rng(seed).normal(size=model.nv)
    return lw.State(model.integrate(molecule.state.q, u), np.zeros(model.nv))
