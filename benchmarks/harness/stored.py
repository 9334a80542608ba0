"""Results that stay in the repository: the tables of each benchmark page once more as JSON, for programs to read.

A run that fills a page in stores it; `python tools/store_results.py` does so for pages that were edited by hand. Figures of
README and other pages are compared with the tables (docs/claims.toml).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "benchmarks"


def cells(line: str) -> list[str]:
    """The cells of one row of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables_of(text: str) -> list[dict[str, Any]]:
    """Title, columns and rows of every table of a page; the title is the last heading or bold line above the table."""
    found: list[dict[str, Any]] = []
    title, lines = "", [*text.splitlines(), ""]
    for k, line in enumerate(lines):
        if line.startswith("#"):
            title = line.lstrip("# ")
        elif line.startswith("**") and line.endswith("**"):
            title = line.strip("*")
        elif line.startswith("| ---"):
            found.append({"title": title, "columns": cells(lines[k - 1]), "rows": []})
        elif line.startswith("|") and found and not lines[k + 1].startswith("| ---"):
            found[-1]["rows"].append(cells(line))
    return found


def stored_at(page: Path) -> Path:
    """A page in `benchmarks` has its results in `results` beside that folder."""
    return page.parents[1] / "results" / f"{page.stem}.json"


def store(page: Path) -> None:
    """Writes the tables of a page."""
    file = stored_at(page)
    file.parent.mkdir(exist_ok=True)
    content = json.dumps(tables_of(page.read_text(encoding="utf-8")), indent=1, ensure_ascii=False)
    file.write_text(content + "\n", encoding="utf-8")
