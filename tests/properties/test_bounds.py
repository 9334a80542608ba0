"""The short form of `linkwork bench bounds`: bounds on linkages that cost digits, against sixty digits."""

from __future__ import annotations

from benchmarks.bounds.checks import CHECKS, check_linkage

SEED, LINKAGES = 1, 60


def test_bounds_hold_where_digits_are_lost():
    """Mass ratios of 1e8, needles, 0.1 mm links, welds, rotors: a bound may be large, it may not be wrong."""
    found = {number: check_linkage(SEED, number) for number in range(LINKAGES)}
    tried = {number: checks for number, checks in found.items() if checks is not None}
    assert len(tried) > 0.8 * LINKAGES
    assert all(len(checks) == CHECKS for checks in tried.values())
    assert [(n, c) for n, checks in tried.items() for c in checks if c.is_wrong_in_any_case] == []
    # The sample is hostile enough: in some of them rounding leaves less than six digits, and that is reported.
    assert max(c.floor for checks in tried.values() for c in checks) > 1e-6
