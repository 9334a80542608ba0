"""Code cites equations by page and number: the pages exist, and the numbers stand on them."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
spec = importlib.util.spec_from_file_location("equations", DOCS / "equations.py")
equations = importlib.util.module_from_spec(spec)
spec.loader.exec_module(equations)

PAGE = re.compile(r"(?:docs/)?((?:theory/)?[a-z_]+)\.md")
# "equation (3)", "by (3)", "theory/x.md (3)", and "# (3)" behind a line
CITED = re.compile(r"(?:equations? |[Ee]q\. |\bby |\.md,? |# )\((\d+)\)(?= |,|\.|;|$)", re.MULTILINE)
FILES = {
    path: text
    for path in sorted((ROOT / "src").rglob("*.py"))
    if PAGE.search(text := path.read_text(encoding="utf-8")) and "theory/" in text
}


def numbers_on(page: Path) -> set[str]:
    rows = [row for row in page.read_text(encoding="utf-8").split("\n") if row.startswith("    ")]
    found = {match[1] for row in rows if (match := equations.TAG.search(row))}
    return {re.sub(r"\D", "", number) for number in found} | set(re.findall(r"\((\d+)\)", "\n".join(rows)))


def dangling(text: str, root: Path = DOCS) -> list[str]:
    """Pages that are not there, and numbers that stand on none of the pages a file cites."""
    pages = {name for name in PAGE.findall(text) if name.startswith("theory/")}
    missing = [f"{name}.md" for name in sorted(pages) if not (root / f"{name}.md").is_file()]
    known: set[str] = set().union(*(numbers_on(root / f"{name}.md") for name in pages if f"{name}.md" not in missing))
    if not known:  # a page without numbered equations is cited as a whole
        return missing
    return missing + [f"({number})" for number in CITED.findall(text) if number not in known]


def test_the_check_sees_a_number_that_is_not_there():
    assert dangling("docs/theory/dca.md\nx = 1  # (997)\n") == ["(997)"]
    assert dangling("docs/theory/nowhere.md") == ["theory/nowhere.md"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT / "src" / "linkwork").as_posix())
def test_cited_equations_are_there(path):
    assert not dangling(FILES[path])
