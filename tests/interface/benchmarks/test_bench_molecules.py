"""`linkwork bench molecules`: it proves forces right before it times them, and the proof can fail."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.cli.commands.bench import benchmark_folder, load_benchmark

proteins.need_packages()


@pytest.fixture(scope="module")
def bench():
    return load_benchmark(benchmark_folder(), "molecules")


def test_the_proof_sees_a_wrong_charge(bench, monkeypatch):
    molecule = lw.molecules.peptide("AK", seed=1)
    assert bench.disagreement(molecule) <= bench.EXACT
    honest = molecule.field

    def wrong(*arguments, **options):
        field = honest(*arguments, **options)
        if options.get("engine") is None:
            parameters = field.tables.pairs.parameters
            parameters[2 * parameters.size // 3 + 6] *= 1.0 + 1e-7  # one charge, in the seventh digit
        return field

    monkeypatch.setattr(molecule, "field", wrong)
    assert bench.disagreement(molecule) > bench.EXACT


def test_clusters_are_what_moves_as_one(bench):
    model = proteins.helix().model
    cluster = bench.clusters(model, {5, 9})
    assert cluster.max() == 9
    assert len(np.unique(cluster)) == 3
    for i, parent in enumerate(model.parent.tolist()):
        assert parent < 0 or i in (5, 9) or cluster[i] == cluster[parent]


def test_a_quick_run_has_every_figure(bench):
    options = argparse.Namespace(
        page=None,
        quick=True,
        rounds=2,
        parts=["slopes", "forces", "adaptive", "hand", "pull"],
        structure=Path("nowhere.pdb"),
    )
    report = bench.run(options)
    cases = [requirement.case for requirement in report.requirements]
    assert sum("OpenMM Reference" in case for case in cases) == 2
    assert any("differences of the energy" in case for case in cases)
    assert {"forces, 10 local active", "own forces at 1.0 nm, one thread"} <= set(cases)
    assert {
        "2 local active: energy of the field against that of the whole",
        "steps with forces, 2 local active",
    } <= set(cases)
    assert all(r.passed for r in report.requirements if "against" in r.case or "same motion" in r.case)
    pulls = [row for row in report.results if row["case"] == "pull"]
    assert {row["of"] for row in pulls} == {"linkage", "atoms"}
    assert all(len(row["force_pN"]) == len(row["extension_nm"]) > 1 for row in pulls)


def test_a_run_of_one_part_replaces_the_section_of_that_part_only(bench, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- begin counts -->\nold\n<!-- end counts -->\n<!-- begin pull -->\nkept\n<!-- end pull -->\n",
        encoding="utf-8",
    )
    bench.run(argparse.Namespace(page=page, quick=True, rounds=2, parts=["counts"], structure=Path("nowhere.pdb")))
    text = page.read_text(encoding="utf-8")
    assert "| ACE-Ala₂₀-NME | 40 torsions |" in text
    assert "old" not in text
    assert "kept" in text
