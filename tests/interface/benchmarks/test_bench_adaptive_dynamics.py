"""`linkwork bench adaptive-dynamics` as people call it: every part in small, its file, its pictures, its page."""

import importlib
import json

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli import main
from linkwork.cli.commands.bench import benchmark_folder, benchmark_names, load_benchmark
from linkwork.cli.exit_codes import DONE, WRONG_USAGE

PICTURES = {
    "millipede": {"adaptive_dynamics_active.png"},
    "molecule": {"adaptive_dynamics_active.png", "adaptive_dynamics_updates.png"},
    "crowd": {"adaptive_dynamics_active.png"},
    "accuracy": {"adaptive_dynamics_accuracy.png"},
    "scaling": {"adaptive_dynamics_size.png"},
    "stepping": set(),
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


def helper(name):
    load_benchmark(benchmark_folder(), "adaptive-dynamics")
    return importlib.import_module(f"linkwork_benchmarks.adaptive_dynamics.{name}")


def results_of(words, tmp_path, capsys):
    path = tmp_path / "results.json"
    command = ["bench", "adaptive-dynamics", "--quick", "--turns", "2", "--out", str(tmp_path / "pictures")]
    assert main([*command, "--json", str(path), *words]) == DONE
    capsys.readouterr()
    return json.loads(path.read_text(encoding="utf-8"))


def test_its_name_has_a_dash_and_its_helpers_are_not_benchmarks():
    names = benchmark_names(benchmark_folder())
    assert "adaptive-dynamics" in names
    assert not [name for name in names if name.startswith("adaptive-dynamics-")]


@pytest.mark.parametrize("case", PICTURES)
def test_a_quick_run_of_each_part(case, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(name=case), encoding="utf-8")
    content = results_of(["--case", case, "--page", str(page)], tmp_path, capsys)
    assert content["benchmark"] == "adaptive-dynamics"
    assert content["environment"]["packages"]["numba"]
    assert content["results"]
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == PICTURES[case]
    assert all(path.stat().st_size > 5000 for path in (tmp_path / "pictures").iterdir())  # not blank
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert "kept" in text
    assert "| --- |" in text
    assert content["environment"]["cpu"] in text


@pytest.mark.parametrize("case", ["millipede", "crowd"])
def test_runs_are_proven_and_the_region_follows_the_force(case, tmp_path, capsys):
    found = results_of(["--case", case], tmp_path, capsys)["results"]
    proofs = [row for row in found if row["case"] == "proofs"]
    assert len(proofs) == 1
    assert proofs[0]["all_active_difference"] <= 1e-9
    assert proofs[0]["momentum_drift"] <= 1e-9
    assert proofs[0]["region_changes"] > 20
    runs = [row for row in found if row["case"] == case]
    assert {run["load"] for run in runs} == {"still", "travelling"}
    for run in runs:
        assert 0 < run["active_joints"] <= (run["asked"] or run["joints"])
        for when in ("start", "end"):  # as the benchmark proves; aba, the reference, rounds too
            assert run[f"error_at_{when}"] <= run[f"bound_at_{when}"] * (1 + 1e-9) + 1e-9
        if run["asked"] is None:
            assert run["bound_at_start"] == run["bound_at_end"] == 0.0
    changes = {run["load"]: run["changes_per_update"] for run in runs if run["asked"] == 30}
    assert changes["travelling"] > max(3.0, changes["still"])


def test_more_active_joints_come_nearer_to_the_full_simulation(tmp_path, capsys):
    content = results_of(["--case", "accuracy"], tmp_path, capsys)
    runs = sorted(content["results"], key=lambda run: run["active_joints"])
    for what in ("position_error", "velocity_error"):
        errors = [run[what] for run in runs]
        assert errors[-1] < 1e-9 < errors[1] < errors[0] / 2
    assert any("all active" in made["case"] and made["reached"] <= 1e-8 for made in content["requirements"])


def test_a_wrong_bound_stops_it(monkeypatch):
    cases, steps = helper("cases"), helper("runner")
    case = cases.molecule(60)
    runner = steps.Runner(case, case.step_size(), 3)
    error, bound = runner.prove_bound("as it is")
    assert 0.0 < error <= bound * (1 + 1e-9)
    exact = steps.Case.acceleration
    monkeypatch.setattr(steps.Case, "acceleration", lambda *given: 10.0 * exact(*given))
    with pytest.raises(lw.LinkworkError, match="Nothing was timed"):
        runner.prove_bound("with another reference")


def test_a_wrong_full_simulation_stops_it(monkeypatch):
    cases, steps = helper("cases"), helper("runner")
    case = cases.molecule(60)
    h = case.step_size()
    assert steps.prove_all_active(case, h) <= 1e-9
    right = steps.full_run

    def slightly_off(*given):
        q, v = right(*given)
        return lw.State(q, v * (1 + 1e-8))

    monkeypatch.setattr(steps, "full_run", slightly_off)
    with pytest.raises(lw.LinkworkError, match="velocities of all joints active"):
        steps.prove_all_active(case, h)


def test_momentum_that_drifts_stops_it(monkeypatch):
    cases, steps = helper("cases"), helper("runner")
    case = cases.molecule(60)
    exact = lw.AdaptiveDynamics.momentum
    drifting = property(lambda sim: lw.Momentum(*(x * (1 + 1e-7 * sim.time) for x in exact.fget(sim))))
    monkeypatch.setattr(lw.AdaptiveDynamics, "momentum", drifting)
    with pytest.raises(lw.LinkworkError, match="momentum drifted"):
        steps.prove_momentum(case, case.step_size(), 10)


def test_sizes_beyond_memory_are_left_out_and_said(monkeypatch):
    scaling = helper("scaling")
    report = type("Notes", (), {"notes": []})()
    monkeypatch.setattr(scaling, "available_bytes", lambda: 2_000 * scaling.BYTES_PER_JOINT)
    assert scaling.within_memory(report, (500, 1_000, 9_000)) == (500, 1_000)
    assert "9,000 joints left out" in report.notes[0]


def test_forces_travel_along_the_path():
    steps, cases = helper("runner"), helper("cases")
    case = cases.crowd(True)
    runner = steps.Runner(case, 1e-4, 30, travels=True)
    before = list(runner.places)
    runner.travel()
    assert runner.places[0] == before[0] + case.stride
    assert runner.places[1:] == before[1:]
    wrenches = case.wrenches(case.state(), runner.places)
    assert np.flatnonzero(wrenches.any(axis=1)).tolist() == sorted({case.place(k) for k in runner.places})


@pytest.mark.parametrize("words", [["--case", "unicycle"], ["--turns", "0"], ["--largest", "many"]])
def test_wrong_usage(words, capsys):
    assert main(["bench", "adaptive-dynamics", *words]) == WRONG_USAGE
    assert "usage:" in capsys.readouterr().err
