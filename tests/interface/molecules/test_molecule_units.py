"""Simulations of molecules speak of ps, nm, kJ/mol and pN: reports, messages, pages, scenes, tables, `linkwork info`."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.cli import main
from linkwork.core.units import force, unit

proteins.need_packages()

SI_UNIT = re.compile(r"(?<![\w/·])(?:s|m|J|N|N·m|kg)(?![\w/·])")  # standing alone, as behind a number


def moving():
    molecule = proteins.helix()
    return lw.FullDynamics(molecule.model, molecule.state, field=molecule.field())


def test_units_of_a_simulation_are_those_of_its_model():
    molecule = proteins.helix()
    assert moving().units["s"] == "ps"
    assert lw.FullDynamics(molecule.model, molecule.state).units["s"] == "ps", "without its field, too"
    units = moving().units
    assert unit("rad/s or m/s", units) == "rad/ps or nm/ps"
    assert (force(10.0, units), force(10.0, {})) == ("16.6 pN", "10 N")


def test_reports_and_representations():
    sim = moving()
    report = sim.run(h=2e-3, n=5)
    for shown in (repr(sim), sim._repr_html_()):
        assert "0.01 ps" in shown
    text = repr(report).replace(f"in {report.wall_time:.3g} s", "")  # the clock's seconds stay
    assert not SI_UNIT.search(text), text
    assert "kJ/mol" in text
    assert "rad/ps or nm/ps" in text
    _, rest = lw.settle(sim.model, sim.state, field=proteins.helix().field(), tolerance=10.0)
    assert "kJ/mol" in str(rest)


def test_messages_of_failed_steps():
    molecule = proteins.helix()
    sim = lw.FullDynamics(molecule.model, molecule.state, field=molecule.field(), integrator="variational")
    with pytest.raises(lw.LinkworkError) as failure:
        sim.advance(1e200)
    assert not SI_UNIT.search(str(failure.value)), str(failure.value)
    assert "1e+200 ps" in str(failure.value)


def test_tables_of_recordings(tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed; the extra `record` brings it")
    sim = moving()
    sim.run(h=2e-3, n=4, record=tmp_path / "run")
    recording = lw.Recording(tmp_path / "run")
    pytest.importorskip("pandas", reason="pandas is not installed; the dev extra brings it")
    units = recording.to_pandas().attrs["units"]
    assert (units["time"], units["field_energy"]) == ("ps", "kJ/mol")
    assert [units["q", f"A:base.{k}"] for k in (0, 3)] == ["nm", "1"]
    assert [units["v", name] for name in ("A:base.0", "A:base.3", "A:1:phi")] == ["rad/ps", "nm/ps", "rad/ps"]


def test_scenes_speak_of_picoseconds():
    scene = lw.Scene.read("polyalanine_pull")
    assert scene.units["s"] == "ps"
    assert " ps)" in repr(scene)
    with pytest.raises(lw.LinkworkError, match=re.escape("[ps]")):
        lw.Scene({"model": {"library": "peptide"}, "method": {"kind": "molecule"}})
    with pytest.raises(lw.LinkworkError, match=re.escape("[s]")):
        lw.Scene({"model": {"library": "chain"}, "method": {"kind": "full"}})


def test_pages_speak_of_picoseconds(tmp_path):
    pytest.importorskip("viser", reason="viser is not installed; the extra `viewer` brings it")
    with lw.view(moving(), h=2e-3, port=0) as viewer:
        viewer.step(3)
        assert viewer.page.status.content.startswith("t = **0.006 ps**")


def test_info_counts_atoms_residues_chains_and_torsions(tmp_path, capfd):
    molecule = proteins.strand()
    file = tmp_path / "strand.pdb"
    molecule.write(file, molecule.state)
    assert main(["info", str(file), "--json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    found = facts["molecule"]
    assert facts["units"] == {"mass": "Da", "length": "nm", "time": "ps"}
    assert (found["atoms"], found["residues"], found["chains"]) == (len(molecule.atoms), 20, ["A"])
    # By hand: φ of all but the first residue and proline's, ψ of all twenty; χ by the residue's side chain
    counted = {"phi": 18, "psi": 20, "chi1": 17, "chi2": 13, "chi3": 5, "chi4": 2}
    assert {kind: found["torsions"][kind] for kind in counted} == counted
    assert sum(found["torsions"].values()) == molecule.n_torsions
    assert main(["info", str(file)]) == 0
    shown = capfd.readouterr().out
    assert re.search(r"atoms, residues\s+\d+, 20", shown)
    assert np.char.find(shown, "nm/ps²") >= 0
