"""Molecules on pages and pictures: a tube through the Cα atoms, sticks along bonds, colours of active torsions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.viewer.shapes.colors import ACTIVE, by_activity
from linkwork.viewer.shapes.molecules import STICK, TUBE, atoms_of, bonds
from linkwork.viewer.shapes.pieces import pieces_of

proteins.need_packages()


def capsules(molecule, state):
    """Radius, body and both ends in the world of every capsule that is drawn."""
    pieces = pieces_of(molecule.model)
    X = pieces.world_poses(lw.body_poses(molecule.model, state))
    aspect = np.array([np.ptp(p.points[:, 2]) for p in pieces.prototypes])[pieces.kind]
    half = 0.5 * aspect * pieces.scale[:, 2] - pieces.scale[:, 0]  # the caps reach beyond the ends by the radius
    along = half[:, None] * X[:, :3, 2]
    return pieces.scale[:, 0], pieces.body, X[:, :3, 3] - along, X[:, :3, 3] + along


@pytest.mark.parametrize("name", proteins.MOLECULES)
def test_sticks_join_the_atoms_in_every_shape(name):
    """As many as there are bonds of heavy atoms, each from atom to atom, also after all torsions turned."""
    molecule = proteins.MOLECULES[name]()
    elements = molecule.atoms.elements
    heavy = {tuple(sorted(bond)) for bond in molecule.atoms.bonds if 1 not in (elements[bond[0]], elements[bond[1]])}
    cut = {tuple(sorted(bond)) for bond in molecule.tree.cut}
    seen = atoms_of(molecule.model)
    assert len(list(bonds(seen))) == len(heavy)
    state = proteins.displaced(molecule, 0.4, 3)
    radius, _, start, end = capsules(molecule, state)
    x = molecule.positions(state)
    drawn = np.flatnonzero(np.abs(radius - STICK) < 1e-9)
    assert len(drawn) == len(heavy) + len(cut)  # a bond that was cut open is drawn as two halves
    for a, b in heavy - cut:
        gap = np.minimum(
            np.abs(start[drawn] - x[a]).max(axis=1) + np.abs(end[drawn] - x[b]).max(axis=1),
            np.abs(start[drawn] - x[b]).max(axis=1) + np.abs(end[drawn] - x[a]).max(axis=1),
        )
        assert gap.min() < 0.02  # [nm] capsules of nearly one shape share a prototype, whose caps are up to 5 % off


def test_the_tube_follows_the_alpha_carbons():
    molecule = proteins.helix()
    state = proteins.displaced(molecule, 0.4, 5)
    radius, _, start, end = capsules(molecule, state)
    alphas = molecule.positions(state)[molecule.select(atoms="CA")]
    tube = np.flatnonzero(np.abs(radius - TUBE) < 1e-9)
    assert len(tube) == 19
    ends = np.concatenate([start[tube], end[tube]])
    assert max(np.linalg.norm(ends - x, axis=1).min() for x in alphas) < 0.02


def test_active_torsions_show():
    molecule = proteins.helix()
    sim = lw.AdaptiveDynamics(
        molecule.model, molecule.state, max_active_joints=8, field=molecule.field(), integrator="kick_drift_kick"
    )
    sim.advance(2e-3, 12)
    colors = by_activity(molecule.model, sim.active_bodies)
    pieces = pieces_of(molecule.model)
    orange = (colors[pieces.body] == ACTIVE).all(axis=1)
    assert set(pieces.body[orange].tolist()) == set(sim.active_bodies.tolist())
    assert orange.any()
    assert not orange.all()


def test_ions_are_balls_and_other_models_are_as_before():
    assert atoms_of(lw.library.chain(5).compile()) is None
    assert atoms_of(lw.library.molecule(joints=30, seed=1).compile()) is None


def test_a_page_and_a_recording_of_a_molecule(tmp_path):
    pytest.importorskip("viser", reason="viser is not installed; the extra `viewer` brings it")
    pytest.importorskip("zarr", reason="zarr is not installed; the extra `record` brings it")
    molecule = lw.molecules.peptide("GAKC", seed=1)
    sim = lw.AdaptiveDynamics(molecule.model, molecule.state, field=molecule.field(), max_active_joints=4)
    with lw.view(sim, h=1e-3, port=0) as viewer:
        viewer.step(3)
        assert (viewer.page.stage.pieces.scale[:, 0] == TUBE).sum() == 3
    sim.run(h=1e-3, n=4, record=tmp_path / "run")
    recording = lw.Recording(tmp_path / "run")
    assert len(pieces_of(recording.model).kind) == len(pieces_of(molecule.model).kind)
