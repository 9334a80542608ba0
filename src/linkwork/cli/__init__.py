"""The command line: `linkwork info | demo | bench`. One command a file; `program` puts them together."""

from linkwork.cli.program import main

__all__ = ["main"]
