"""Molecules at their border: functions and methods with a place for one argument, and structure files that were changed."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

SUFFIXES = (".pdb", ".cif")


@cache
def peptide() -> lw.molecules.Molecule:
    return lw.molecules.peptide("GKA", seed=1)


@cache
def field() -> Any:
    return peptide().field(cutoff=0.9)


@cache
def openmm_field() -> Any:
    return peptide().field(engine="openmm")


@cache
def file_text(suffix: str, folder: Path) -> str:
    """Glycine, cysteine, alanine, and a sodium ion in PDB files, as text."""
    molecule = lw.molecules.peptide("GCA", caps=False, seed=1)
    path = folder / f"sound{suffix}"
    molecule.write(path, molecule.state)
    text = path.read_text(encoding="utf-8")
    if suffix == ".pdb":
        ion = "HETATM  900 NA    NA A 302       0.000  20.000  20.000  1.00  0.00          NA"
        text = text.replace("END\n", f"{ion}\nEND\n")
    return text


def spoiled_state(rng: random.Random) -> lw.State:
    state = peptide().state
    q, v = state.q.copy(), state.v.copy()
    x = rng.choice((q, v))
    x[rng.randrange(x.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e308))
    return lw.State(q, v)


def _never(x: Any) -> str:
    """A file name that nobody has; words that are paths are not written to."""
    return x if not isinstance(x, str | bytes) else "never.abc"


def calls() -> dict[str, Callable[[Any], Any]]:
    mol, still = peptide(), peptide().state
    own, theirs = field(), openmm_field()
    phi, n = mol.phi(2), mol.model.n_bodies
    poses, out = np.zeros((n, 12)), np.zeros((n, 6))
    velocities = lw.molecules.RandomVelocities(mol.model)
    rng = np.random.default_rng(0)

    def wrench_poses(engine: Any, x: Any) -> Any:
        return engine.wrenches(x, np.zeros((n, 6)))

    return {
        "load.path": lambda x: lw.molecules.load(x) and None,
        "peptide.sequence": lambda x: lw.molecules.peptide(x) and None,
        "peptide.phi": lambda x: lw.molecules.peptide("GA", phi=x) and None,
        "peptide.seed": lambda x: lw.molecules.peptide("GA", seed=x) and None,
        "peptide.ph": lambda x: lw.molecules.peptide("GA", ph=x) and None,
        "peptide.force_field": lambda x: lw.molecules.peptide("GA", force_field=x) and None,
        "from_openmm.topology": lambda x: (
            lw.molecules.from_openmm(x, mol._system("amber14", None, None), mol.reference) and None
        ),
        "from_openmm.system": lambda x: lw.molecules.from_openmm(mol.topology, x, mol.reference) and None,
        "from_openmm.positions": lambda x: (
            lw.molecules.from_openmm(mol.topology, mol._system("amber14", None, None), x) and None
        ),
        "with_torsions": lambda x: mol.with_torsions(x) and None,
        "atom": mol.atom,
        "select.chain": lambda x: mol.select(chain=x),
        "select.residues": lambda x: mol.select(residues=x),
        "select.atoms": lambda x: mol.select(atoms=x),
        "select.residue_name": lambda x: mol.select(residue_name=x),
        "torsion.kind": lambda x: mol.torsion(x, 2) and None,
        "torsion.residue": lambda x: mol.torsion("phi", x) and None,
        "torsion.chain": lambda x: mol.torsion("phi", 2, x) and None,
        "phi": lambda x: mol.phi(x) and None,
        "chi1": lambda x: mol.chi1(x) and None,
        "positions": mol.positions,
        "velocities": mol.velocities,
        "angle.torsion": lambda x: mol.angle(x, still),
        "angle.state": lambda x: mol.angle(phi, x),
        "with_angle.state": lambda x: tuple(mol.with_angle(x, phi, 1.0)),
        "with_angle.torsion": lambda x: tuple(mol.with_angle(still, x, 1.0)),
        "with_angle.angle": lambda x: tuple(mol.with_angle(still, phi, x)),
        "field.force_field": lambda x: mol.field(x) and None,
        "field.cutoff": lambda x: mol.field(cutoff=x) and None,
        "field.engine": lambda x: mol.field(engine=x) and None,
        "field.solvent": lambda x: mol.field(solvent=x) and None,
        "field.switch": lambda x: mol.field(cutoff=1.0, switch=x) and None,
        "field.skin": lambda x: mol.field(skin=x) and None,
        "field.platform": lambda x: mol.field(engine="openmm", platform=x) and None,
        "field.threads": lambda x: mol.field(engine="openmm", threads=x) and None,
        "write.path": lambda x: mol.write(_never(x), still),
        "write.states": lambda x: mol.write("never.abc", x),
        "write.times": lambda x: mol.write("never.abc", [still, still], x),
        "view.states": lambda x: mol.view(x) and None,
        "view.style": lambda x: mol.view(style=x) and None,
        "own.at": own.at,
        "own.energy": own.energy,
        "own.generalized_forces": own.generalized_forces,
        "own.wrenches.poses": lambda x: wrench_poses(own, x),
        "own.wrenches.out": lambda x: own.wrenches(poses, x),
        "own.set_clusters": lambda x: own.copy().set_clusters(x, None) and None,
        "own.set_clusters.poses": lambda x: own.copy().set_clusters(np.arange(n), x) and None,
        "own.attach_to_pieces": lambda x: own.copy().attach_to_pieces(x, poses),
        "own.attach_to_pieces.pose": lambda x: own.copy().attach_to_pieces(np.arange(n), x),
        "own.every_term": own.every_term,
        "own.wrenches_on_bodies": lambda x: own.copy().wrenches_on_bodies(x, out),
        "openmm.energy": theirs.energy,
        "openmm.wrenches.poses": lambda x: wrench_poses(theirs, x),
        "openmm.wrenches.out": lambda x: theirs.wrenches(poses, x),
        "RandomVelocities": lambda x: lw.molecules.RandomVelocities(x) and None,
        "RandomVelocities.boltzmann": lambda x: lw.molecules.RandomVelocities(mol.model, x) and None,
        "RandomVelocities.draw.q": lambda x: velocities.draw(x, 300.0, rng),
        "RandomVelocities.draw.temperature": lambda x: velocities.draw(still.q, x, rng),
        "RandomVelocities.draw.rng": lambda x: velocities.draw(still.q, 300.0, x),
        "FixmanPotential": lambda x: lw.molecules.FixmanPotential(x, 300.0) and None,
        "FixmanPotential.temperature": lambda x: lw.molecules.FixmanPotential(mol.model, x) and None,
        "FixmanPotential.efforts": lw.molecules.FixmanPotential(mol.model, 300.0).efforts,
        "FixmanPotential.energy": lw.molecules.FixmanPotential(mol.model, 300.0).energy,
        "hydrogen_bonds.molecule": lambda x: lw.molecules.hydrogen_bonds(x, still) and None,
        "hydrogen_bonds.state": lambda x: lw.molecules.hydrogen_bonds(mol, x) and None,
        "helix_content.state": lambda x: lw.molecules.helix_content(mol, x),
        "temperature.model": lambda x: lw.molecules.temperature(x, still),
        "temperature.state": lambda x: lw.molecules.temperature(mol.model, x),
        "temperature.boltzmann": lambda x: lw.molecules.temperature(mol.model, still, x),
        "Langevin.temperature": lambda x: lw.Langevin(x) and None,
        "Langevin.friction": lambda x: lw.Langevin(300.0, x) and None,
        "Langevin.seed": lambda x: lw.FullDynamics(mol.model, still, thermostat=lw.Langevin(300.0, 1.0, x)) and None,
        "Langevin.boltzmann": lambda x: lw.Langevin(300.0, boltzmann=x) and None,
        "Langevin.fixman": lambda x: lw.Langevin(300.0, fixman=x) and None,
        "Langevin.start": lambda x: lw.Langevin(300.0).start(x) and None,
        "thermostat.thermal_velocity": lw.Langevin(300.0).start(mol.model).thermal_velocity,
        "thermostat.relax_velocity": lambda x: tuple(lw.Langevin(300.0).start(mol.model).relax_velocity(x, 1.0)),
        "thermostat.relax_velocity.h": lambda x: tuple(lw.Langevin(300.0).start(mol.model).relax_velocity(still, x)),
        "thermostat.restore": lambda x: lw.Langevin(300.0).start(mol.model).restore(x),
        "FullDynamics.field": lambda x: lw.FullDynamics(mol.model, still, field=x) and None,
        "AdaptiveDynamics.field": lambda x: lw.AdaptiveDynamics(mol.model, still, field=x) and None,
        "FullDynamics.thermostat": lambda x: lw.FullDynamics(mol.model, still, thermostat=x) and None,
    }


def load_options(path: Path) -> dict[str, Callable[[Any], Any]]:
    """Arguments of `load`, with a file that is sound."""

    def option(name: str) -> Callable[[Any], Any]:
        return lambda x: lw.molecules.load(path, **{name: x}) and None

    names = (
        "chains", "residues", "relax", "seed", "ph", "model", "waters", "ions", "gaps", "ends", "force_field", "omega",
        "hydrogens",
    )  # fmt: skip
    return {f"load.{name}": option(name) for name in names}
