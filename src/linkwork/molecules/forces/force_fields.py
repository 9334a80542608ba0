"""Force fields by name, as OpenMM has them; and its errors in our words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from linkwork.core.checks import finite, positive
from linkwork.errors import ModelError
from linkwork.molecules import extras
from linkwork.molecules.checks import force_field_of
from linkwork.molecules.forces.openmm_field import add_implicit_solvent

FORCE_FIELDS: dict[str, tuple[str, ...]] = {
    "amber14": ("amber14-all.xml", "amber14/tip3p.xml"),
    "amber99sbildn": ("amber99sbildn.xml", "tip3p.xml"),
    "amber99sb": ("amber99sb.xml", "tip3p.xml"),
    "amber19": ("amber19-all.xml", "amber19/tip3p.xml"),
}
NO_TEMPLATE = re.compile(r"No template found for residue (\d+) \((\S+)\)\.?\s*(.*)", re.DOTALL)


def load_force_field(name: str | Sequence[str]) -> Any:
    """OpenMM's ForceField by one of our names, or from its XML files."""
    given = force_field_of(name)
    files = FORCE_FIELDS.get(given, ()) if isinstance(given, str) else given
    if not files:
        raise ModelError(
            f"there is no force field '{name}'; choose one of {', '.join(FORCE_FIELDS)}, or give OpenMM's XML files as a "
            "sequence of names."
        )
    return _load_files(files)


@cache
def _load_files(files: tuple[str, ...]) -> Any:
    app = extras.app("a force field")
    try:
        return app.ForceField(*files)
    except Exception as error:  # OpenMM raises plain exceptions where a file cannot be read
        raise ModelError(f"the force field files {', '.join(files)} cannot be read: {error}") from error


def make_system(
    topology: Any,
    force_field: str | Sequence[str],
    cutoff: float | None = None,
    solvent: str | None = None,
    switch: float | None = None,
) -> Any:
    """OpenMM's System of a topology in open space: flexible, with a cutoff [nm] and a reaction field, or without.

    switch: where Lennard-Jones terms begin to fade towards the cutoff [nm].
    """
    return with_cutoff(plain_system(topology, force_field), topology, cutoff, solvent, switch)


def plain_system(topology: Any, force_field: str | Sequence[str]) -> Any:
    """OpenMM's System of a topology in open space and vacuum, of all pairs."""
    app = extras.app("a force field")
    loaded = load_force_field(force_field)
    options = {"nonbondedMethod": app.NoCutoff, "constraints": None, "rigidWater": False, "removeCMMotion": False}
    try:
        return loaded.createSystem(topology, **options)
    except (ValueError, KeyError) as error:
        raise ModelError(explain_template_error(topology, str(error))) from error


def with_cutoff(
    plain: Any, topology: Any, cutoff: float | None, solvent: str | None, switch: float | None = None
) -> Any:
    """A copy of a System of all pairs, with a cutoff [nm], implicit solvent and a switch [nm], where they are given.

    It differs from one that OpenMM makes with these options in nothing; finding the parameters again would take longer.
    """
    mm = extras.openmm("a force field")
    system = mm.XmlSerializer.clone(plain)
    if cutoff is not None:
        distance = positive(cutoff, "cutoff")
        for force in system.getForces():
            if isinstance(force, mm.NonbondedForce | mm.CustomNonbondedForce):
                force.setNonbondedMethod(type(force).CutoffNonPeriodic)
                force.setCutoffDistance(distance)
    if switch is not None:
        if cutoff is None or not 0.0 < finite(switch, "switch") < cutoff:
            raise ModelError(f"switch is {switch!r}; it is a distance below the cutoff, which is {cutoff!r}.")
        for force in system.getForces():
            if isinstance(force, mm.NonbondedForce | mm.CustomNonbondedForce):
                force.setUseSwitchingFunction(True)
                force.setSwitchingDistance(float(switch))
    if solvent is not None:
        add_implicit_solvent(system, topology, solvent, cutoff)
    return system


def explain_template_error(topology: Any, message: str) -> str:
    """OpenMM's word on a residue without parameters, with the residue's place in the chain."""
    found = NO_TEMPLATE.search(message)
    if found is None:
        return f"the force field has no parameters for this molecule: {message}"
    residues, number, name = list(topology.residues()), int(found.group(1)), found.group(2)
    # OpenMM counts from 0 today and counted from 1 before; the name decides.
    near = [residues[k] for k in (number, number - 1) if 0 <= k < len(residues) and residues[k].name == name]
    if not near:
        return f"the force field has no parameters for this molecule: {message}"
    residue = near[0]
    atoms = ", ".join(atom.name for atom in residue.atoms())
    return (
        f"residue {residue.name} {residue.chain.id}:{residue.id}{residue.insertionCode.strip()} (atoms {atoms}) has no "
        f"parameters in the force field. {found.group(3).strip()} Leave it out, name another force field, or build the "
        "System with OpenMM and use lw.molecules.from_openmm."
    )
