"""Commits results of benchmarks to a branch of their own, one folder per night: `2026-11-17/dynamics.json`.

    python tools/keep_history.py results --branch benchmark-history          # commits
    python tools/keep_history.py results --branch benchmark-history --push   # and pushes, as the nightly workflow does

The branch has no ancestor in common with the code and holds nothing but results. The checkout stays as it is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

NAME, ADDRESS = "nightly benchmarks", "nightly@localhost"
WHO = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", NAME), ("EMAIL", ADDRESS))
}


def keep(results: Path, branch: str, repository: Path, push: bool) -> str:
    """Name of the folder that the results went into. Made of objects alone: no checkout, no index of the repository."""

    def git(*arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=repository, check=check, capture_output=True, text=True, env=settings
        )
        return done.stdout.strip()

    with tempfile.TemporaryDirectory() as folder:
        settings = {**os.environ, **WHO, "GIT_INDEX_FILE": str(Path(folder) / "index")}
        git("fetch", "origin", f"{branch}:{branch}", check=False)  # absent at first
        parent = git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False)
        if parent:
            git("read-tree", parent)
        night = datetime.now(UTC).strftime("%Y-%m-%d")
        for path in sorted(results.rglob("*.json")):
            blob = git("hash-object", "-w", str(path))
            git("update-index", "--add", "--cacheinfo", f"100644,{blob},{night}/{path.name}")
        message = f"Benchmarks of {night}, code at {git('rev-parse', 'HEAD')}"
        before = ["-p", parent] if parent else []
        git("update-ref", f"refs/heads/{branch}", git("commit-tree", git("write-tree"), *before, "-m", message))
        if push:
            git("push", "origin", branch)
    return night


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of JSON files")
    parser.add_argument("--branch", default="benchmark-history", help="that keeps them (benchmark-history)")
    parser.add_argument("--push", action="store_true", help="to origin")
    options = parser.parse_args()
    if not list(options.results.rglob("*.json")):
        print(f"{options.results} has no results.")
        return 1
    print(keep(options.results.resolve(), options.branch, Path.cwd(), options.push))
    return 0


if __name__ == "__main__":
    sys.exit(main())
