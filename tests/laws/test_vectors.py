"""Vectors of eight doubles against NumPy: inverse roots, choices by bits, and numbers from one place or two."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core.errors import TypingError

from linkwork.core.jit import kernel
from linkwork.spatial.simd import vload, vstore
from linkwork.spatial.simd_math import vbits_less, vlog, vrsqrt, vselect_bits
from linkwork.spatial.simd_places import vload_at, vstore_at


@kernel
def inverse_roots(x, out):
    for k in range(0, x.shape[0], 8):
        vstore(out, k, vrsqrt(vload(x, k)))


@kernel
def logarithms(x, out):
    for k in range(0, x.shape[0], 8):
        vstore(out, k, vlog(vload(x, k)))


@kernel
def choose_by_bits(bits, yes, no, out):
    vstore(out, 0, vselect_bits(bits, vload(yes, 0), vload(no, 0)))
    vstore(out, 8, vselect_bits(bits, vload(yes, 0), -1.0))
    return vbits_less(vload(no, 0), vload(out, 0))


@kernel
def double_one_place(a, offset, place):
    v = vload_at(a, offset, (place,))
    vstore_at(a, offset, (place,), v + v)


@kernel
def double_two_places(a, offset, place, other):
    v = vload_at(a, offset, (place, other))
    vstore_at(a, offset, (place, other), v + v)


@kernel
def number_the_lanes(a, numbers, place, other):
    vstore_at(a, 0, (place, other), vload(numbers, 0))


def test_inverse_roots():
    """Over the whole range that is promised; 5e³/16 with e = 1.2e-4 is left, and rounding."""
    x = 10.0 ** np.linspace(-36.9, 37.9, 80_000)
    out = np.empty_like(x)
    inverse_roots(x, out)
    assert np.abs(out * np.sqrt(x) - 1.0).max() <= 7e-13


def test_logarithms():
    """From the smallest to the largest normal numbers, and next to 1, where the logarithm vanishes."""
    wide = 10.0 ** np.linspace(-307.0, 307.0, 40_000)
    x = np.concatenate([wide, 1.0 + np.linspace(-0.4, 0.6, 20_000), 1.0 + 10.0 ** np.linspace(-15.0, -1.0, 4_000)])
    out = np.empty_like(x)
    logarithms(x, out)
    expected = np.log(x)
    assert (np.abs(out - expected) <= 4e-15 * np.abs(expected) + 4e-16).all()  # ten roundings


def test_choices_by_bits():
    rng = np.random.default_rng(0)
    yes, no, out = rng.uniform(2.0, 3.0, 8), rng.uniform(0.0, 1.0, 8), np.empty(16)
    for bits in range(256):
        chosen = (bits >> np.arange(8)) & 1 == 1
        assert choose_by_bits(bits, yes, no, out) == bits
        assert (out[:8] == np.where(chosen, yes, no)).all()
        assert (out[8:] == np.where(chosen, yes, -1.0)).all()


def test_numbers_from_one_place_or_two():
    rng = np.random.default_rng(1)
    for _ in range(200):
        a = rng.normal(size=40)
        offset, place, other = rng.integers(0, 17), *rng.choice(16, 2, replace=False)
        expected = a.copy()
        expected[offset + place : offset + place + 8] *= 2.0
        double_one_place(a, offset, place)
        assert (a == expected).all()
        if abs(place - other) >= 4:
            for at in (place, other):
                expected[offset + at : offset + at + 4] *= 2.0
            double_two_places(a, offset, place, other)
            assert (a == expected).all()


def test_of_one_place_given_twice_the_first_four_stay():
    a, numbers = np.zeros(12), np.arange(1.0, 9.0)
    number_the_lanes(a, numbers, 3, 3)
    assert a.tolist() == [0.0] * 3 + [1.0, 2.0, 3.0, 4.0] + [0.0] * 5


@kernel
def load_from_three(a):
    vload_at(a, 0, (0, 4, 8))


@kernel
def choose_a_number(a):
    vselect_bits(1, 1.0, vload(a, 0))


def test_what_vectors_refuse():
    with pytest.raises(TypingError, match="one or two whole numbers"):
        load_from_three(np.zeros(16))
    with pytest.raises(TypingError, match="vselect_bits"):
        choose_a_number(np.zeros(16))
    with pytest.raises(TypingError, match="contiguous array"):
        double_one_place(np.zeros(32)[::2], 0, 0)
