"""Molecules in the simulations there are: loads on atoms by name, recordings, trajectories of recordings."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw

proteins.need_packages()


def test_a_force_on_an_atom_by_name_acts_where_the_atom_is():
    molecule = proteins.helix()
    model, force = molecule.model, np.array([3.0, -2.0, 5.0])
    sim = lw.FullDynamics(model, molecule.state)
    sim.apply_wrench("A:12:CB", force=force, frame="world")
    atom = molecule.atom("A:12:CB")
    wrenches = np.zeros((model.n_bodies, 6))
    body, at = molecule.tree.body[atom], molecule.tree.local[atom]
    wrenches[body] = np.concatenate([np.cross(at, force), force])  # bodies stand parallel to the world at the start
    expected = lw.forward_dynamics(model, molecule.state, wrenches=wrenches)
    assert np.abs(sim.acceleration - expected).max() <= 1e-12 * np.abs(expected).max()


def test_a_recording_becomes_a_trajectory(tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed; the extra `record` brings it")
    mdtraj = pytest.importorskip("mdtraj", reason="mdtraj is not installed; the dev extra brings it")
    molecule = lw.molecules.peptide("GAK", seed=1)
    sim = lw.FullDynamics(molecule.model, molecule.state, field=molecule.field(), integrator="rk4")
    sim.apply_spring("A:3:NZ", target=(1.0, 1.0, 0.0), stiffness=200.0)
    sim.run(h=2e-3, n=20, record=tmp_path / "run")
    recording = lw.Recording(tmp_path / "run")
    assert recording.scalars["field_energy"][-1] == sim.field_energy
    assert recording.model.frame("A:3:NZ").body == molecule.model.frame("A:3:NZ").body
    molecule.write(tmp_path / "run.xtc", recording)
    molecule.write(tmp_path / "start.pdb", molecule.state)
    read = mdtraj.load(str(tmp_path / "run.xtc"), top=str(tmp_path / "start.pdb"))
    assert read.n_frames == len(recording)
    assert np.abs(read.time - recording.times).max() < 1e-5
    assert np.abs(read.xyz[-1] - molecule.positions(recording.state(-1))).max() <= 0.51e-3
    assert np.abs(read.xyz[-1] - read.xyz[0]).max() > 5e-3  # something moved


def test_adaptive_with_a_number_of_torsions_and_a_thermostat(tmp_path):
    """The call of the guide: few torsions active, warm, pulled; scalars and reports contain the field."""
    molecule = proteins.helix()
    sim = lw.AdaptiveDynamics(
        molecule.model, molecule.state, field=molecule.field(), max_active_joints=8, thermostat=lw.Langevin(300),
        integrator="kick_drift_kick",
    )  # fmt: skip
    sim.apply_spring("A:20:CA", target=(4.0, 0.0, 0.0), stiffness=500.0)
    report = sim.run(h=2e-3, n=120)
    assert 0 < report.last.n_active <= 8
    assert report.advice == ""  # the field costs more than any joint: counts of joints say nothing here
    assert report.last.field_energy == sim.scalars()["field_energy"]
    assert set(sim.scalars()) >= {"field_energy", "temperature", "energy"}
    assert np.abs(molecule.positions(sim.state) - molecule.reference).max() > 1e-3


def test_a_scene_of_a_molecule_resumes_in_the_same_bits(tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed; the extra `record` brings it")
    short = {"run.duration": 0.2, "record.every": 0.02, "method.max_active_joints": 12}
    whole = lw.run_scene("polyalanine_pull", tmp_path / "whole", short, progress=False)
    lw.run_scene(
        "polyalanine_pull", tmp_path / "parts", short, callback=lambda sim, report: sim.steps_done >= 20, progress=False
    )
    parts = lw.run_scene(None, tmp_path / "parts", resume=True, progress=False)
    assert whole.settings["thermostat_kind"] == "Langevin(temperature=300.0, friction=5.0, seed=1, " + (
        "boltzmann=None, fixman=False)"
    )
    assert (whole.state(-1).q == parts.state(-1).q).all()
    assert (whole.state(-1).v == parts.state(-1).v).all()
    assert "0 ps to 0.2 ps" in repr(whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"library": "chain"}}, "needs model.library = 'peptide'"),
        ({"model": {"library": "peptide", "parameters": {"sequence": "AXA"}}}, "X"),
        ({"model": {"library": "peptide", "parameters": {"sequences": "AA"}}}, "sequences"),
        ({"model": {"file": "nowhere.pdb"}}, "there is no structure 'nowhere.pdb'.*--set model.file=FILE"),
        ({"method": {"kind": "molecule", "friction": 2.0}}, "give a temperature with it"),
        ({"method": {"kind": "molecule", "update_every": 2}}, "where max_active_joints says"),
        ({"joint": [{"joint": "*", "stiffness": 1.0}]}, "from its force field"),
    ],
)
def test_scenes_of_molecules_say_what_is_wrong(change, message):
    given = {
        "model": {"library": "peptide", "parameters": {"sequence": "AA"}},
        "method": {"kind": "molecule"},
        "run": {"h": 1e-3, "steps": 2},
    }
    with pytest.raises(lw.FormatError, match=message):
        lw.Scene({**given, **change})
