"""Says on docs/benchmarks/index.md how old the tables of each benchmark page are, by the history of the repository.

    python tools/result_ages.py

For every page: when the oldest and the newest row of its tables was written, and how many changes of kernels
(`src/linkwork`, merges not counted) came after the newest. A reader then sees which figures are those of today's code.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "benchmarks"
MARKS = re.compile(r"(<!-- begin ages -->\n).*?(<!-- end ages -->)", re.DOTALL)
ROW = re.compile(r"^\t\|(?! ---)")


class Age(NamedTuple):
    oldest: int  # [s since 1970]
    newest: int
    commit: str  # that wrote the newest row


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def age_of(page: Path) -> Age | None:
    """Of the rows of tables that the repository has; None for a page without any."""
    found, commit, when = [], "", 0
    for line in git("blame", "--line-porcelain", "HEAD", "--", str(page.relative_to(ROOT))).splitlines():
        if re.match(r"[0-9a-f]{40} ", line):
            commit = line[:40]
        elif line.startswith("committer-time "):
            when = int(line.split()[1])
        elif ROW.match(line):
            found.append((when, commit))
    if not found:
        return None
    newest, commit = max(found)
    return Age(min(found)[0], newest, commit)


def table() -> str:
    lines = [
        "| page | rows written | newest at commit | changes of `src/linkwork` since |",
        "| --- | --- | --- | ---: |",
    ]
    for page in sorted(set(PAGES.glob("*.md")) - {PAGES / "index.md"}):
        age = age_of(page)
        if age is None:
            continue
        days = [datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d") for when in (age.oldest, age.newest)]
        since = git("rev-list", "--count", "--no-merges", f"{age.commit}..HEAD", "--", "src/linkwork").strip()
        lines.append(
            f"| [{page.stem}]({page.name}) | {' to '.join(dict.fromkeys(days))} | `{age.commit[:8]}` | {since} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    index = PAGES / "index.md"
    text = index.read_text(encoding="utf-8")
    if not MARKS.search(text):
        print("docs/benchmarks/index.md has no place for the table: <!-- begin ages -->")
        return 1
    made = table()
    index.write_text(MARKS.sub(lambda match: match[1] + made + match[2], text), encoding="utf-8")
    print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
