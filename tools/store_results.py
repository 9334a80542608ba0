"""Writes docs/results/ anew from all pages of benchmarks.

python tools/store_results.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness.stored import PAGES, store

if __name__ == "__main__":
    for page in sorted(set(PAGES.glob("*.md")) - {PAGES / "index.md"}):
        store(page)
