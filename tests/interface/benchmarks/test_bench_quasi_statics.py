"""`linkwork bench quasi-statics` as people call it: every case in small, its file, its pictures, its page."""

import json

import pytest

from linkwork.cli import main
from linkwork.cli.commands.bench import benchmark_folder, benchmark_names
from linkwork.cli.exit_codes import DONE, WRONG_USAGE

PICTURES = {
    "bicycle-chain": {"quasi_statics_bicycle_chain.png"},
    "millipede": {"quasi_statics_millipede.png"},
    "molecule": {"quasi_statics_molecule.png", "quasi_statics_displacement.png", "quasi_statics_scaling.png"},
}
PAGE = """Before.
<!-- begin {name} -->
old
<!-- end {name} -->
<!-- begin environment -->
<!-- end environment -->
<!-- begin other -->
kept
<!-- end other -->
"""


def test_its_name_has_a_dash_and_its_helpers_are_not_benchmarks():
    names = benchmark_names(benchmark_folder())
    assert "quasi-statics" in names
    assert not [name for name in names if name.startswith("quasi-statics-") or "_" in name]


@pytest.mark.parametrize("case", PICTURES)
def test_a_quick_run_of_each_case(case, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(name=case), encoding="utf-8")
    path = tmp_path / "results.json"
    words = ["bench", "quasi-statics", "--case", case, "--quick", "--steps", "6", "--json", str(path)]
    assert main([*words, "--out", str(tmp_path / "pictures"), "--page", str(page)]) == DONE
    capsys.readouterr()

    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["benchmark"] == "quasi-statics"
    assert content["environment"]["cpu"]
    assert content["environment"]["packages"]["numba"]
    assert content["options"]["steps"] == 6
    runs = [result for result in content["results"] if "exponent" in result]
    assert runs
    for run in runs:
        assert run["case"] == case
        assert run["steps"] == 6
        assert 0 < run["n_computed"] <= run["joints"]
        for when in ("start", "end"):  # as the benchmark proves; aba, the reference, rounds too
            assert run[f"error_at_{when}"] <= run[f"bound_at_{when}"] + 1e-11
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == PICTURES[case]
    assert all(path.stat().st_size > 5000 for path in (tmp_path / "pictures").iterdir())  # not blank

    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert "kept" in text
    assert "| --- |" in text
    assert content["environment"]["cpu"] in text


def test_precision_shows_in_the_displacements(tmp_path, capsys):
    path = tmp_path / "results.json"
    words = ["bench", "quasi-statics", "--case", "bicycle-chain", "--quick", "--json", str(path)]
    assert main([*words, "--out", str(tmp_path)]) == DONE
    capsys.readouterr()
    runs = json.loads(path.read_text(encoding="utf-8"))["results"]
    coarse, fine = (run["displacement_error"] for run in sorted(runs, key=lambda run: run["exponent"]))
    assert fine < coarse / 4  # 16 times the precision; how much of it arrives depends on the shape


@pytest.mark.parametrize("words", [["--case", "unicycle"], ["--steps", "0"], ["--steps", "many"]])
def test_wrong_usage(words, capsys):
    assert main(["bench", "quasi-statics", *words]) == WRONG_USAGE
    assert "usage:" in capsys.readouterr().err
