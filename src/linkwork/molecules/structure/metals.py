"""Cysteines and histidines that hold a metal ion: they have no hydrogen where the ion is."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.molecules import extras

HOLDS = 0.28  # [nm] a metal nearer than this to sulfur or nitrogen is held by it: 0.20 to 0.25 in most structures
VARIANTS = {("CYS", "SG"): "CYM", ("HIS", "NE2"): "HID", ("HIS", "ND1"): "HIE"}  # by the atom that holds the metal
OF_OPENMM = {"CYM": "CYX"}  # what OpenMM calls a cysteine without the hydrogen of its sulfur


def residues_at_metals(topology: Any, positions: FloatArray) -> dict[int, tuple[str, str]]:
    """By number of the residue: the form that it takes, and which ion is the reason. positions: [nm], shape (a, 3)."""
    gemmi = extras.need("gemmi", "reading a structure")
    atoms = list(topology.atoms())
    ions = [atom for atom in atoms if atom.element is not None and gemmi.Element(atom.element.symbol).is_metal]
    if not ions:
        return {}
    places = np.asarray(positions)[[ion.index for ion in ions]]
    found: dict[int, tuple[str, str]] = {}
    for atom in atoms:
        variant = VARIANTS.get((atom.residue.name, atom.name))
        if variant is None:
            continue
        distances = np.linalg.norm(places - positions[atom.index], axis=1)
        k = int(distances.argmin())
        if distances[k] < HOLDS:
            ion = ions[k].residue
            where = f"{ion.name} {ion.chain.id}:{ion.id} at {distances[k]:.2f} nm of {atom.name}"
            found[atom.residue.index] = variant, where
    return found
