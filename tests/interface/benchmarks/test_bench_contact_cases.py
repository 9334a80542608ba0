"""Cases of contact on many cores: their journal, their summary, what is not known."""

from __future__ import annotations

import time

from benchmarks.contact import __main__ as entry
from benchmarks.contact import parallel, walls


def test_a_case_is_its_number():
    assert walls.case_of(7) == walls.case_of(7)
    assert walls.case_of(7).thing == list(walls.THINGS)[7]


def test_what_the_journal_knows_is_not_run_again(tmp_path):
    journal, reported = tmp_path / "cases.jsonl", []
    jobs = [("throw", "6"), ("throw", "7")]
    first = parallel.outcomes(jobs[:1], journal, 1, lambda *each: reported.append(each))
    both = parallel.outcomes(jobs, journal, 1, lambda *each: reported.append(each))
    assert [each[1] for each in reported] == jobs
    assert both[jobs[0]] == first[jobs[0]]
    assert len(journal.read_text().splitlines()) == 2
    journal.write_text(journal.read_text()[:-20])  # a last line that was cut off
    assert set(parallel.read_journal(journal, parallel.code_of())) == {jobs[0]}


def test_a_case_that_raises_is_a_failure():
    job, row = parallel.one(("drop", "no such robot/0"))
    assert job[0] == "drop"
    assert "KeyError" in row["failure"]


def test_it_ends_when_its_time_is_over(tmp_path):
    found = parallel.outcomes([("throw", "8")], tmp_path / "cases.jsonl", 2, lambda *_: None, time.monotonic() - 1.0)
    assert not found


def test_the_summary_counts_failures_gains_and_unconverged_steps():
    rows = {
        "1": {"failure": "", "gain": 0.02, "steps": 100, "not_converged": 1},
        "2": {"failure": "it broke\nhere", "gain": 0.0, "steps": 100, "not_converged": 0},
        "3": {"failure": "", "gain": 0.0, "steps": 200, "not_converged": 0},
    }
    lines = entry.summary("scene", rows, 5)
    assert lines[0] == "scene: 3 of 5 made, 1 failed, 1 gained energy, 0.250% of 400 steps unconverged"
    assert lines[1:] == ["  scene 1 gained 2.00%", "  scene 2 failed: it broke"]
