"""The command line: `linkwork info | run | plot | ...`. One command per file; `program` puts them together."""

from linkwork.cli.program import main

__all__ = ["main"]
