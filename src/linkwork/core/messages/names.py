"""Names that users type: which are near to a mistyped one, and which a pattern stands for."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Sequence
from itertools import islice

SEARCHED = 10_000  # names compared with a mistyped one at most: a model may have a million


def close_names(name: object, known: Iterable[str], most: int = 3, cutoff: float = 0.6) -> list[str]:
    """The known names most like `name`, best first, at most `most` of them. cutoff: least likeness, 0 to 1."""
    return difflib.get_close_matches(str(name), list(islice(known, SEARCHED)), n=most, cutoff=cutoff)


def did_you_mean(name: object, known: Iterable[str], most: int = 3) -> str:
    """The end of a sentence about an unknown name: "; did you mean 'a' or 'b'?", or nothing where none is close."""
    close = close_names(name, known, most)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def did_you_mean_or_list(name: object, known: Iterable[str], shown: int = 12, cutoff: float = 0.6) -> str:
    """The end of a sentence about an unknown name: the closest one, or else the first `shown` of those there are."""
    names = list(known)
    close = close_names(name, names, 1, cutoff)
    if close:
        return f"; did you mean '{close[0]}'?"
    if not names:
        return "."
    more = ", ..." if len(names) > shown else ""
    return f"; there are {', '.join(names[:shown])}{more}."


def matching(pattern: str, names: Sequence[str]) -> list[int]:
    """Indices of the names that a name or glob pattern (* ? [...]) stands for, in their order."""
    if pattern in names:  # a name may itself contain signs of patterns
        return [names.index(pattern)]
    return [k for k, name in enumerate(names) if fnmatch.fnmatchcase(name, pattern)]
