"""Puts figures that pages quote (docs/claims.toml) to those of the benchmarks' own pages, wherever they are quoted.

    python tools/refresh_claims.py

A figure that still agrees stays as it is. After `linkwork bench ... --page` this is all that a new run asks for.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from benchmarks.harness.stored import DOCS, PAGES, tables_of  # noqa: E402
from tests.interface.pages.test_claims import CLAIMS, NUMBER, agrees, cell_of  # noqa: E402


def main() -> None:
    kept = DOCS / "claims.toml"
    for claim in CLAIMS:
        cell = cell_of(tables_of((PAGES / f"{claim['of']}.md").read_text(encoding="utf-8")), claim)
        quoted = re.search(r"\{(.*?)\}", claim["text"])[1]
        if agrees(quoted, cell):
            continue
        found = f"{float(NUMBER.search(cell)[0].replace(',', '')):,g}"
        renewed = claim["text"].replace("{" + quoted + "}", "{" + found + "}")
        places = [(kept, claim["text"], renewed)]
        places += [(ROOT / page, bare(claim["text"]), bare(renewed)) for page in claim["in"]]
        for path, before, after in places:
            text = path.read_text(encoding="utf-8")
            if before not in text:
                sys.exit(f"{path.relative_to(ROOT)} does not say '{before}'.")
            path.write_text(text.replace(before, after), encoding="utf-8")
        print(f"{quoted} is {found} now: {claim['text']}")


def bare(text: str) -> str:
    return text.replace("{", "").replace("}", "")


if __name__ == "__main__":
    main()
