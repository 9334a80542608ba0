"""The short form of `linkwork bench bounds`: bounds on linkages that cost digits, against sixty digits."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.bounds.checks import CHECKS, check_in_motion, check_linkage
from benchmarks.reference.many_digits import accelerations

import linkwork as lw

SEED, LINKAGES = 1, 60
KINDS = ("revolute", "prismatic", "spherical", "universal", "planar", "cylindrical")


def test_bounds_hold_where_digits_are_lost():
    """Mass ratios of 1e8, needles, 0.1 mm links, welds, rotors: a bound may be large, it may not be wrong."""
    found = {number: check_linkage(SEED, number) for number in range(LINKAGES)}
    tried = {number: checks for number, checks in found.items() if checks is not None}
    assert len(tried) > 0.8 * LINKAGES
    assert all(len(checks) == CHECKS for checks in tried.values())
    assert [(n, c) for n, checks in tried.items() for c in checks if c.is_wrong_in_any_case] == []
    # The sample is hostile enough: in some of them rounding leaves less than six digits, and that is reported.
    assert max(c.floor for checks in tried.values() for c in checks) > 1e-6


def test_a_small_torque_beside_large_forces_is_not_taken_for_exact():
    """Light bodies between heavy rotors: the torque on one is what forces of 10 N leave, 1e-9 of them."""
    checks = check_linkage(9107, 140)
    assert len(checks) == CHECKS
    assert [c for c in checks if c.is_wrong_in_any_case] == []
    assert not any(c.reached for c in checks if c.error > c.tolerance > 0.0)


def test_bounds_of_regions_hold_where_digits_are_lost():
    """Bodies with almost no moments among them: the metric alone would be wrong by as much as the accelerations."""
    found = {number: check_in_motion(SEED, number) for number in range(LINKAGES // 2)}
    checks = [(number, check) for number, some in found.items() for check in some or []]
    assert len(checks) > LINKAGES
    assert [(number, check) for number, check in checks if check.is_wrong_in_any_case] == []


def test_sixty_digits_in_motion_are_those_of_aba(rng):
    """All joints, springs aside, at speed: to rounding of double precision."""
    for seed in range(4):
        model = lw.library.random_tree(9, seed=seed, kinds=KINDS, floating=seed % 2 == 0).compile()
        state = model.random_state(rng, speed=1.0)
        effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
        expected = lw.forward_dynamics(model, state, effort, wrenches=wrenches)
        found = accelerations(model, state.q, state.v, effort, wrenches).astype(float)
        assert found == pytest.approx(expected, abs=1e-11 * np.abs(expected).max())  # digits lost by aba: seen 1e-14
