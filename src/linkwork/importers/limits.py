"""Numbers in files that an importer refuses to begin with. Files themselves are checked by `core.files`.

Limits, stated in docs/formats.md: a file has at most 256 MiB, also when it is unpacked; what a MuJoCo file multiplies
(replicate, composite, flexcomp) comes to at most 100,000 elements, and no size it reserves is above 10 million.
"""

from __future__ import annotations

import math


def whole_number(text: str, most: int) -> int | None:
    """A whole number from 0 to `most` written in plain digits, or None."""
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(most)) + 20:
        return None
    number = int(text)
    return number if number <= most else None


def finite_number(text: str) -> float:
    """A finite float; NaN for everything else, which no caller accepts."""
    try:
        number = float(text.replace("_", "?"))  # Python alone reads 1_000 as a number
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
