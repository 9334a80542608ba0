"""What notebooks show: every public object says what it is, and the example notebook runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebook.ipynb"


def simulations():
    model = lw.library.chain(3).compile()
    return [lw.FullDynamics(model, model.neutral())]


def test_objects_say_what_they_are():
    linkage = lw.library.double_pendulum()
    for thing in (linkage, linkage.compile(), *simulations()):
        assert "object at 0x" not in repr(thing)
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 200
    assert repr(linkage) == f"Linkage('{linkage.name}', 2 bodies)"


def test_html_shows_text_and_no_markup():
    linkage = lw.Linkage("<script>alert(1)</script>")
    linkage.add_body("<img src=x>", joint=lw.Revolute((0, 0, 1)), inertia=lw.Inertia(1.0, (0, 0, 0), (1, 1, 1)))
    model = linkage.compile()
    for thing in (linkage, model, lw.FullDynamics(model, model.neutral())):
        shown = thing._repr_html_()
        assert "<table>" in shown
        assert "<script" not in shown
        assert "<img" not in shown


def test_html_of_a_large_model_is_short():
    assert len(lw.library.chain(5000).compile()._repr_html_()) < 2000


def test_a_recording_shows_its_frames(tmp_path):
    pytest.importorskip("zarr")
    sim = simulations()[0]
    sim.run(1e-3, 10, record=tmp_path / "run", every=5, progress=False)
    recording = lw.Recording(tmp_path / "run")
    assert "3, 0 s to 0.01 s" in recording._repr_html_()
    assert "object at 0x" not in repr(recording.states)
    assert np.isfinite(recording.times).all()


def test_the_example_notebook_runs(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("viser")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert all(output.output_type != "error" for output in shown)
    html = "".join(output.get("data", {}).get("text/html", "") for output in shown)
    assert all(words in html for words in ("Linkage chain", "Model chain", "FullDynamics", "Recording", "<iframe"))
    assert "t = 0.220 s" in "".join(output.get("text", "") for output in shown)
