"""What a run of a benchmark measured is what its page shows and what is stored: `linkwork bench NAME --page FILE`."""

import json

import pytest
from benchmarks.harness import Report, Requirement, TableReport, fill_in, fill_in_judged
from benchmarks.harness.stored import stored_at

import linkwork as lw
from linkwork.cli.commands.bench import _option_parser, benchmark_folder, benchmark_names, load_benchmark


def report(reached: float, **more) -> Report:
    made = Report("made", **more)
    made.requirements.append(Requirement("case a", reached, "times", "≥ 2", reached >= 2.0))
    timing = {"median_s": 1e-6 * reached, "quartiles_s": (1e-6, 2e-6)}
    made.results.append({"case": "case a", "joints": 1000, "contestant": "Linkwork", **timing})
    return made


def cells(page, title):
    return [
        row
        for table in json.loads(stored_at(page).read_text(encoding="utf-8"))
        for row in table["rows"]
        if title in row
    ]


def test_a_page_without_marks_gets_a_section_that_the_next_run_replaces(tmp_path):
    page = tmp_path / "benchmarks" / "made.md"
    page.parent.mkdir()
    page.write_text("# Made\n\nBy hand.\n", encoding="utf-8")
    fill_in_judged(page, report(3.0))
    first = page.read_text(encoding="utf-8")
    assert first.startswith("# Made\n\nBy hand.\n")
    assert ["case a", "3 times", "", "≥ 2", "pass", ""] in cells(page, "case a")
    fill_in_judged(page, report(1.5))
    second = page.read_text(encoding="utf-8")
    assert second.count("## As the last run gave it") == 1
    assert ["case a", "1.5 times", "", "≥ 2", "**miss**", ""] in cells(page, "case a")
    assert ["case a", "1,000", "Linkwork", "1.5 µs", "1 µs to 2 µs"] in cells(page, "case a")
    assert "3 times" not in second


def test_a_part_measured_alone_leaves_requirements_and_machine_of_the_page(tmp_path):
    page = tmp_path / "benchmarks" / "made.md"
    page.parent.mkdir()
    text = "".join(f"<!-- begin {name} -->\n<!-- end {name} -->\n" for name in ("requirements", "environment", "runs"))
    page.write_text(text, encoding="utf-8")
    part = TableReport("made", {}, requirements=[Requirement("case a", 3.0, "times", "≥ 2", True)])
    part.add_table("runs", "All runs", ["", "step"], [["a rope", "3 ms"]])
    fill_in(page, part, is_whole=False)
    before, mark, runs = page.read_text(encoding="utf-8").partition("<!-- begin runs -->")
    assert before == text.partition(mark)[0]
    assert f"**All runs; {part.environment['cpu']}, " in runs
    assert ["a rope", "3 ms"] in cells(page, "a rope")


def test_quick_runs_are_kept_out(tmp_path):
    page = tmp_path / "benchmarks" / "made.md"
    page.parent.mkdir()
    page.write_text("# Made\n", encoding="utf-8")
    with pytest.raises(lw.LinkworkError, match="--quick"):
        fill_in_judged(page, report(3.0, is_judged=False))
    assert page.read_text(encoding="utf-8") == "# Made\n"


@pytest.mark.parametrize("name", benchmark_names(benchmark_folder()))
def test_every_benchmark_takes_a_page(name):
    module = load_benchmark(benchmark_folder(), name)
    options = _option_parser(module, name).parse_args(["--page", "x.md"])
    assert "x.md" in {str(getattr(options, key, None)) for key in ("page", "any_page")}
