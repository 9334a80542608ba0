"""How fast simulated time goes on a page, in parts and multiples of real time."""

from __future__ import annotations

SPEEDS = ("0.001", "0.01", "0.05", "0.1", "0.25", "0.5", "1", "2", "5", "10", "100")


def speed_of(chosen: object, before: float) -> float:
    """The speed of a choice of SPEEDS; `before` where a page sends anything else."""
    return float(chosen) if isinstance(chosen, str) and chosen in SPEEDS else before
