"""Figures that pages quote from benchmarks are those of the stored results; no page states another one."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from benchmarks.harness.stored import DOCS, stored_at, tables_of

ROOT = DOCS.parent
FILE = tomllib.loads((DOCS / "claims.toml").read_text(encoding="utf-8"))
CLAIMS, GIVEN = FILE["claim"], FILE["given"]
PAGES = sorted(set((DOCS / "benchmarks").glob("*.md")) - {DOCS / "benchmarks" / "index.md"})
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
SPEED = re.compile(r"[\d.] times faster|[\d.] [µnm]s\b")  # what a row of a table says about speed


def first_number(text: str) -> float:
    return float(NUMBER.search(text)[0].replace(",", ""))


def last_place(text: str) -> float:
    """The unit of a number's last digit: 0.1 of "45.5", 1 of "1,850"."""
    return 10.0 ** -len(text.partition(".")[2])


def cell_of(tables: list, claim: dict) -> str:
    for table in tables:
        if claim.get("table", "") in table["title"] and claim["column"] in table["columns"]:
            for row in table["rows"]:
                if all(any(cell.startswith(part) for cell in row) for part in claim["row"]):
                    return row[table["columns"].index(claim["column"])]
    raise LookupError(f"no stored result for {claim['row']} of {claim['of']}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_stored_results_are_those_of_the_page(page):
    """`python tools/store_results.py` writes them anew."""
    assert json.loads(stored_at(page).read_text(encoding="utf-8")) == tables_of(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["text"])
def test_a_quoted_figure_is_the_stored_one(claim):
    tables = json.loads((DOCS / "results" / f"{claim['of']}.json").read_text(encoding="utf-8"))
    quoted = re.search(r"\{(.*?)\}", claim["text"])[1]
    stored = first_number(cell_of(tables, claim))
    # Half a unit of the last digit that is quoted, and a hundredth more: 20 quotes 20.3, and 0.28 quotes 0.275.
    assert abs(first_number(quoted) - stored) <= 0.51 * last_place(quoted)
    plain = claim["text"].replace("{", "").replace("}", "")
    for name in claim["in"]:
        assert plain in (ROOT / name).read_text(encoding="utf-8"), name


def test_every_speed_in_the_tables_of_the_readme_is_compared():
    """A new row needs an entry in docs/claims.toml."""
    texts = [claim["text"].replace("{", "").replace("}", "") for claim in CLAIMS if "README.md" in claim["in"]]
    rows = [row for row in Path(ROOT / "README.md").read_text(encoding="utf-8").splitlines() if row.startswith("|")]
    for row in rows:
        if SPEED.search(row):
            assert any(text in row for text in texts), row


# --------------------------------------------------------------------------------------- every figure of speed on any page

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "times": 1.0}
QUOTED = re.compile(r"(?<![\d.,])(\d[\d,]*(?:\.\d+)?) (?:(ns|µs|ms)\b|(times)\b)")
STORED = re.compile(r"(?<![\d.,])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?) (ns|µs|ms|times)\b")
ELSEWHERE = [ROOT / "README.md", ROOT / "paper" / "paper.md", *DOCS.rglob("*.md")]
TEXTS = {
    str(page.relative_to(ROOT)): re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for page in sorted(ELSEWHERE)
    if page not in PAGES
}


def number(text: str) -> float:
    return float(text.replace(",", ""))


def figures_of_results() -> dict[str, list[float]]:
    """All times [s] and ratios in the stored results."""
    found: dict[str, list[float]] = {"times": [], "s": []}
    for path in (DOCS / "results").glob("*.json"):
        for table in json.loads(path.read_text(encoding="utf-8")):
            for row in table["rows"]:
                for column, cell in zip(table["columns"], row, strict=False):
                    for value, unit in STORED.findall(cell):
                        found["times" if unit == "times" else "s"].append(UNITS[unit] * number(value))
                    if column == "ratio" and NUMBER.fullmatch(cell):
                        found["times"].append(number(cell))
    return found


RESULTS = figures_of_results()


def unfounded(text: str, allowed: list[str]) -> list[str]:
    """Figures of speed in a text that no stored result has, to the last digit that is quoted."""
    faults = []
    for match in QUOTED.finditer(text):
        value, unit = match[1], match[2] or match[3]
        stored = RESULTS["times" if unit == "times" else "s"]
        close = 0.51 * last_place(value) * UNITS[unit]
        is_result = any(abs(UNITS[unit] * number(value) - one) <= close for one in stored)
        if not is_result and match[0] not in allowed:
            faults.append(match[0])
    return faults


@pytest.mark.parametrize("page", TEXTS)
def test_figures_of_speed_come_from_stored_results(page):
    """What does not (a figure of a paper, the length of a step) is in docs/claims.toml under [[given]], with a reason."""
    allowed = [given["text"] for given in GIVEN if page in given["in"]]
    for claim in CLAIMS:  # compared above, whatever the form of the cell
        if page in claim["in"]:
            allowed += [match[0] for match in QUOTED.finditer(claim["text"].replace("{", "").replace("}", ""))]
    assert not unfounded(TEXTS[page], allowed), page


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: given["text"])
def test_given_figures_are_still_there(given):
    assert given["why"]
    for page in given["in"]:
        assert given["text"] in TEXTS[page], page


def test_a_figure_without_a_result_is_noticed():
    assert unfounded("a step takes 123.4567 µs", []) == ["123.4567 µs"]
    assert unfounded("and 98.7654 times as much", []) == ["98.7654 times"]


def test_a_changed_figure_is_noticed():
    """The comparison can fail: a figure that is off by its last digit is."""
    claim = {"of": "dynamics", "row": ["aba, chain", "300"], "column": "ratio"}
    tables = [{"title": "", "columns": ["case", "joints", "ratio"], "rows": [["aba, chain", "300", "2.07"]]}]
    assert abs(2.08 - first_number(cell_of(tables, claim))) > 0.51 * last_place("2.08")
