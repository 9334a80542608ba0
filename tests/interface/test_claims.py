"""Figures that pages quote from benchmarks are those of the stored results; no page states another one."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from benchmarks.harness.stored import DOCS, stored_at, tables_of

ROOT = DOCS.parent
CLAIMS = tomllib.loads((DOCS / "claims.toml").read_text(encoding="utf-8"))["claim"]
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


def test_a_changed_figure_is_noticed():
    """The comparison can fail: a figure that is off by its last digit is."""
    claim = {"of": "dynamics", "row": ["aba, chain", "300"], "column": "ratio"}
    tables = [{"title": "", "columns": ["case", "joints", "ratio"], "rows": [["aba, chain", "300", "2.07"]]}]
    assert abs(2.08 - first_number(cell_of(tables, claim))) > 0.51 * last_place("2.08")
