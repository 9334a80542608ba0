"""Molecules on pages and pictures: ribbons and tubes through the Cα atoms, sticks along bonds, colours, names."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.viewer.animation import renderer_of
from linkwork.viewer.controls.hand import Hand
from linkwork.viewer.shapes.colors import ACTIVE, by_activity, by_depth
from linkwork.viewer.shapes.instances import instances_of
from linkwork.viewer.shapes.molecules import ELEMENTS, RIBBON, STICK, TUBE, atoms_of, bonds, residue_labels
from linkwork.viewer.view import _title

proteins.need_packages()


def capsules(molecule, state):
    """Radius, body and both ends in the world of every capsule that is drawn."""
    instances = instances_of(molecule.model)
    X = instances.world_poses(lw.body_poses(molecule.model, state))
    aspect = np.array([np.ptp(p.points[:, 2]) for p in instances.prototypes])[instances.kind]
    half = 0.5 * aspect * instances.scale[:, 2] - instances.scale[:, 0]  # the caps reach beyond the ends by the radius
    along = half[:, None] * X[:, :3, 2]
    return instances.scale[:, 0], instances.body, X[:, :3, 3] - along, X[:, :3, 3] + along


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


@pytest.mark.parametrize("name", ["helix", "loose"])
def test_ribbons_and_tubes_follow_the_alpha_carbons(name):
    """Nineteen parts that meet at the Cα atoms, also after all torsions turned; flat where they were a helix."""
    if name == "helix":
        molecule = proteins.helix()
    else:
        rng = np.random.default_rng(3)
        molecule = lw.molecules.peptide("A" * 20, phi=rng.uniform(-2.0, -1.0, 20), psi=rng.uniform(0.6, 1.4, 20))
    state = proteins.displaced(molecule, 0.4, 5)
    instances = instances_of(molecule.model)
    radius, _, start, end = capsules(molecule, state)
    tubes, ribbons = np.abs(radius - TUBE) < 1e-9, np.abs(radius - RIBBON[0]) < 1e-9
    assert tubes.sum() + ribbons.sum() == 19
    assert ribbons.sum() == 19 if name == "helix" else ribbons.sum() < 10
    alphas = molecule.positions(state)[molecule.select(atoms="CA")]
    # The caps of a ribbon reach beyond its ends by the radius of a tube
    along = (end - start)[ribbons] / np.linalg.norm((end - start)[ribbons], axis=1, keepdims=True)
    reach = (RIBBON[0] - TUBE) * along
    start[ribbons] -= reach
    end[ribbons] += reach
    ends = np.concatenate([start[tubes | ribbons], end[tubes | ribbons]])
    assert max(np.linalg.norm(ends - x, axis=1).min() for x in alphas) < 0.02
    # A ribbon lies in its peptide plane: the oxygen of the first residue is within its width's direction
    oxygens = molecule.select(atoms="O")
    x = molecule.positions(state)
    X = instances.world_poses(lw.body_poses(molecule.model, state))
    for k in np.flatnonzero(ribbons).tolist():
        (own,) = oxygens[molecule.tree.body[oxygens] == instances.body[k]]
        assert abs((x[own] - X[k, :3, 3]) @ X[k, :3, 1]) < 0.03  # [nm] across it


def test_elements_have_colours_of_their_own_and_carbon_that_of_its_body():
    molecule = proteins.strand()
    instances = instances_of(molecule.model)
    own = instances.own_color[:, 0] >= 0.0
    elements = molecule.atoms.elements
    for letter, number in (("N", 7), ("O", 8), ("S", 16)):
        assert ((instances.own_color == ELEMENTS[letter]).all(axis=1)).sum() == (elements == number).sum()
    plain = np.full((molecule.model.n_bodies, 3), 7, dtype=np.uint8)
    assert (instances.colors(plain)[~own] == 7).all()
    assert (instances.colors(plain)[own] == instances.own_color[own]).all()


def test_residues_are_named_by_their_atoms():
    molecule = proteins.strand()
    labels = [text for text, _, _ in residue_labels(atoms_of(molecule.model))]
    assert labels == [f"{residue.name} {residue.number} A" for residue in molecule.atoms.residues]


def test_active_torsions_show():
    molecule = proteins.helix()
    sim = lw.AdaptiveDynamics(
        molecule.model, molecule.state, max_active_joints=8, field=molecule.field(), integrator="kick_drift_kick"
    )
    sim.advance(2e-3, 12)
    colors = by_activity(molecule.model, sim.active_bodies)
    instances = instances_of(molecule.model)
    orange = (colors[instances.body] == ACTIVE).all(axis=1)
    assert set(instances.body[orange].tolist()) == set(sim.active_bodies.tolist())
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
        stage = viewer.page.stage
        assert np.isin(stage.instances.scale[:, 0], (TUBE, RIBBON[0])).sum() == 3
        assert not stage.grid.visible
        stage.layers.show("residues", True)
        stage.redraw_layers()
        assert [label.text for label in stage.layers.nodes["residues"]][1:3] == ["GLY 1 A", "ALA 2 A"]
    with lw.Recorder(tmp_path / "run", metadata={"title": "A peptide"}) as recorder:
        sim.run(h=1e-3, n=4, record=recorder)
    recording = lw.Recording(tmp_path / "run")
    assert len(instances_of(recording.model).kind) == len(instances_of(molecule.model).kind)
    assert _title(recording, recording) == "A peptide"
    renderer = renderer_of(recording, 120, 90)
    assert renderer.ground is None
    assert (
        np.asarray(renderer.draw(lw.body_poses(molecule.model, molecule.state), by_depth(molecule.model))).std() > 1.0
    )


def test_the_view_command_shows_a_structure_file_as_a_molecule(tmp_path):
    """Its atoms on no ground; live under its force field, in nm and ps."""
    pytest.importorskip("viser", reason="viser is not installed; the extra `viewer` brings it")
    from linkwork.cli.commands.view import find_subject

    proteins.helix().write(tmp_path / "helix.pdb", [proteins.helix().state])
    subject, other = find_subject(str(tmp_path / "helix.pdb"), [])
    assert isinstance(subject, lw.molecules.Molecule)
    assert other is None
    with lw.view(subject, port=0) as viewer:
        stage = viewer.page.stage
        assert stage.instances.is_molecule
        assert not stage.grid.visible
        assert (stage.state.q == subject.state.q).all()
    with lw.view(subject, port=0, live=True) as viewer:
        live = viewer.page
        viewer.step(5)
        assert live.stage.instances.is_molecule
        assert live.sim.time == pytest.approx(5 * 2e-3)  # [ps]
        assert live.sim.field_energy == pytest.approx(subject.field(cutoff=1.0).energy(live.sim.state), rel=1e-9)
        assert " ps**" in live.status.content


@pytest.mark.parametrize("pace", [1.0, 0.2])  # [ps] that the page simulates in a second
def test_a_drag_of_one_nanometre_in_a_second_leaves_a_helix_as_warm_as_it_was(pace):
    """Against the same noise without a hand, all other things equal. By its mass as in SI units the hand made 1,000 K."""
    molecule = proteins.helix()
    field, h, last = molecule.field(cutoff=0.9), 4e-3, molecule.model.n_bodies - 1
    for body in (last, last // 2):
        warmer = []
        for seed in range(3):
            means = []
            for speed in (0.0, 1.0):
                bath = lw.Langevin(300.0, friction=5.0, seed=seed)
                sim = lw.FullDynamics(molecule.model, molecule.state, field=field, thermostat=bath)
                sim.advance(h, 250)
                T = lw.body_poses(sim.model, sim.state)
                hand, place = Hand(None, 3.7), T[body, :3, 3]
                if speed > 0.0:
                    hand.grab(sim, body, place, T)
                temperatures = []
                for k in range(30):  # pictures in a second, in which the mouse goes outwards
                    outwards = place - T[:, :3, 3].mean(axis=0)
                    hand.pull(place + speed * (k + 1) / 30 * outwards / np.linalg.norm(outwards))
                    hand.advance(sim.advance, h, max(1, round(pace / 30 / h)))
                    temperatures.append(sim.scalars()["temperature"])
                assert speed == 0.0 or 100.0 < np.linalg.norm(hand.force) < 400.0  # it pulls
                hand.release()
                means.append(np.mean(temperatures))
            warmer.append(means[1] - means[0])
        assert np.mean(warmer) < 20.0  # 0 to 5 are seen
