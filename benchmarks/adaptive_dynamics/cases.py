"""The linkages of the adaptive dynamics benchmark, each with the way its forces travel."""

from __future__ import annotations

import numpy as np

import linkwork as lw

from ..harness import progress
from .runner import SEED, Case

TREE_LINKS = {"segments": 4, "leg_links": 10, "spine": 11}  # 50 joints, and a base that floats
FIGURES, QUICK_FIGURES = 200, 6
PUSHED, QUICK_PUSHED = 64, 3  # trees pushed at once
MOLECULE_STRIDE = 5  # residues: the region of 100 joints then changes by about 20 joints per update


def millipede(quick: bool) -> Case:
    """13,000 links that float without gravity; a force on one foot goes from leg to leg."""
    sizes = {"segments": 10, "leg_links": 10, "spine": 30} if quick else {}
    linkage = lw.library.millipede(**sizes)
    linkage.gravity = (0.0, 0.0, 0.0)
    model = linkage.compile()
    feet = [i for i, name in enumerate(model.body_names) if name.startswith("leg_") and name.endswith("_9")]
    name = f"millipede, {model.n_bodies:,} links"
    return Case(name, model, model.neutral().q, feet, first=len(feet) // 2)


def molecule(joints: int, floating: bool = True) -> Case:
    """A molecule at random torsions, without gravity; a force on one alpha carbon goes along the backbone."""
    progress(f"molecule of {joints:,} joints")
    model = lw.library.molecule(joints=joints, seed=SEED, floating=floating).compile()
    state = model.random_state(np.random.default_rng(SEED), speed=0.0)
    alphas = [i for i, name in enumerate(model.body_names) if name.startswith("ca_")]
    name = f"molecule, {model.n_bodies:,} joints"
    return Case(name, model, state.q, alphas, stride=MOLECULE_STRIDE, first=len(alphas) // 2)


def crowd(quick: bool) -> Case:
    """Many trees of 50 joints that float side by side; some are pushed at one foot, and one push goes on to another."""
    count, pushed = (QUICK_FIGURES, QUICK_PUSHED) if quick else (FIGURES, PUSHED)
    tree = lw.library.millipede(**TREE_LINKS)
    linkage = lw.Linkage("crowd", gravity=(0.0, 0.0, 0.0))
    for k in range(count):
        linkage.merge(tree, prefix=f"tree_{k}_", placement=lw.Pose(xyz=(0.0, 1.0 * k, 0.0)))
    model = linkage.compile()
    feet = [model.body(f"tree_{k}_leg_2_9") for k in range(count)]
    name = f"{count} floating trees of 50 joints"
    return Case(name, model, model.neutral().q, feet, forces=pushed, stride=pushed)
