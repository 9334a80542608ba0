"""Figures that pages quote from benchmarks are those of the benchmarks' own pages, row by row (docs/claims.toml)."""

import re
import tomllib

import pytest
from benchmarks.harness.stored import DOCS, PAGES, tables_of

ROOT = DOCS.parent
CLAIMS = tomllib.loads((DOCS / "claims.toml").read_text(encoding="utf-8"))["claim"]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
SPEED = re.compile(r"\d[\d,.]* (?:times\b|[µnm]s\b)")  # what a row of a table says about speed


def first_number(text: str) -> float:
    return float(NUMBER.search(text)[0].replace(",", ""))


def last_place(text: str) -> float:
    """The unit of a number's last digit: 0.1 of "45.5", 1 of "1,850"."""
    return 10.0 ** -len(text.partition(".")[2])


def cell_of(tables: list, claim: dict) -> str:
    """The one cell that a claim names."""
    found = [
        row[table["columns"].index(claim["column"])]
        for table in tables
        if claim.get("table", "") in table["title"] and claim["column"] in table["columns"]
        for row in table["rows"]
        if set(claim["row"]) <= set(row)
    ]
    if len(found) != 1:
        raise LookupError(f"{len(found)} results for {claim['row']} of {claim['of']}, column {claim['column']}")
    return found[0]


def agrees(quoted: str, cell: str) -> bool:
    """Within half a unit of the last digit that is quoted, and a hundredth more: 20 quotes 20.3, and 0.28 quotes 0.275."""
    return abs(first_number(quoted) - first_number(cell)) <= 0.51 * last_place(quoted)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["text"])
def test_a_quoted_figure_is_that_of_the_benchmark(claim):
    tables = tables_of((PAGES / f"{claim['of']}.md").read_text(encoding="utf-8"))
    quoted = re.search(r"\{(.*?)\}", claim["text"])[1]
    assert agrees(quoted, cell_of(tables, claim))
    plain = claim["text"].replace("{", "").replace("}", "")
    for name in claim["in"]:
        assert plain in (ROOT / name).read_text(encoding="utf-8"), name


def compared_in(page: str) -> list[str]:
    return [claim["text"].replace("{", "").replace("}", "") for claim in CLAIMS if page in claim["in"]]


def rows_of(page: str) -> list[str]:
    return [row for row in (ROOT / page).read_text(encoding="utf-8").splitlines() if row.startswith("|")]


def test_every_row_with_a_speed_in_the_readme_is_compared():
    """A new row needs an entry in docs/claims.toml. Some of its figures may be those of a paper."""
    for row in rows_of("README.md"):
        if SPEED.search(row):
            assert any(text in row for text in compared_in("README.md")), row


def test_every_speed_in_the_tables_of_the_overview_is_compared():
    page = "docs/benchmarks/index.md"
    for row in rows_of(page):
        spans = [range(*found.span()) for text in compared_in(page) for found in re.finditer(re.escape(text), row)]
        assert not [found[0] for found in SPEED.finditer(row) if not any(found.start() in span for span in spans)], row


def test_a_changed_figure_or_row_is_noticed():
    """The comparison can fail: where the last digit is off, where no row is meant, and where two are."""
    claim = {"of": "dynamics", "row": ["aba, chain", "300"], "column": "ratio"}
    table = {"title": "", "columns": ["case", "joints", "ratio"], "rows": [["aba, chain", "300", "2.07"]]}
    assert agrees("2.07", cell_of([table], claim))
    assert not agrees("2.08", cell_of([table], claim))
    assert not agrees("3", cell_of([table], claim))
    for rows in ([["aba, chain", "3000", "2.07"]], 2 * table["rows"]):
        with pytest.raises(LookupError):
            cell_of([{**table, "rows": rows}], claim)
