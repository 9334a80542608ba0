"""Tables of arrays: what kernels read from them is what was put in, and nothing else gets in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from linkwork.core.bundles import Byte1, Float1, Float2, Int1, Int2, describe, place_of, reader, set_rows
from linkwork.core.jit import kernel


class First(NamedTuple):
    x: Float1
    matrix: Float2


class Second(NamedTuple):
    number: Int1
    tree: Int2
    flag: Byte1


first_of = reader(First)
second_of = reader(Second, First)
ROWS_OF_MATRIX = place_of(First, "matrix")
ROWS_OF_TREE = place_of(Second, "tree", First)


def bundles():
    first = First(np.arange(5.0), np.arange(12.0).reshape(4, 3))
    second = Second(np.arange(7), np.arange(100, 110).reshape(5, 2), np.arange(6, dtype=np.uint8))
    return first, second


@kernel
def add_up(table, out):
    """Sums and shapes of everything, and a mark in every array."""
    a = first_of(table)
    b = second_of(table)
    out[0] = a.x.sum()
    for i in range(a.matrix.shape[0]):
        for k in range(a.matrix.shape[1]):
            out[1] += (10 * i + k) * a.matrix[i, k]
    out[2] = b.number.sum()
    for i in range(b.tree.shape[0]):
        for k in range(b.tree.shape[1]):
            out[3] += (10 * i + k) * b.tree[i, k]
    out[4] = b.flag.sum()
    out[5] = a.x.shape[0] + 100 * a.matrix.shape[0] + 10_000 * b.tree.shape[0] + 1_000_000 * b.flag.shape[0]
    a.x[0] = -1.0
    a.matrix[2, 1] = -2.0
    b.number[3] = -3
    b.tree[4, 0] = -4
    b.flag[5] = 255


def sums(first, second):
    weights = 10.0 * np.arange(5)[:, None] + np.arange(3)
    rows, columns = first.matrix.shape
    return [
        first.x.sum(),
        (weights[:rows, :columns] * first.matrix).sum(),
        second.number.sum(),
        (weights[: second.tree.shape[0], :2] * second.tree).sum(),
        second.flag.sum(),
        first.x.size + 100 * rows + 10_000 * second.tree.shape[0] + 1_000_000 * second.flag.size,
    ]


def test_kernels_read_and_write_the_arrays_of_several_bundles():
    first, second = bundles()
    expected, out = sums(first, second), np.zeros(6)
    add_up(describe(first, second), out)
    assert out.tolist() == expected
    assert (first.x[0], first.matrix[2, 1], second.number[3], second.tree[4, 0], second.flag[5]) == (
        -1,
        -2,
        -3,
        -4,
        255,
    )


def test_empty_arrays_have_no_rows_and_keep_their_columns():
    first, second = bundles()
    first = first._replace(matrix=np.zeros((0, 3)), x=np.zeros(0))
    table, out = describe(first, second), np.zeros(2)
    shape(table, out)
    assert out.tolist() == [0, 3]


@kernel
def shape(table, out):
    a = first_of(table)
    out[0] = a.matrix.shape[0]
    out[1] = a.matrix.shape[1]


@kernel
def resize(table, place, rows):
    set_rows(table, place, rows)


@pytest.mark.parametrize("rows", [0, 1, 3, 4])
def test_arrays_shrink_and_grow_within_what_was_allocated(rows):
    """From Python and from kernels, each array for itself; what stands behind the last row stays."""
    first, second = bundles()
    table, out = describe(first, second), np.zeros(2)
    resize(table, ROWS_OF_MATRIX, rows)
    shape(table, out)
    assert out.tolist() == [rows, 3]
    whole = first.matrix.copy()
    table[ROWS_OF_TREE] = 5
    table[ROWS_OF_MATRIX] = 4
    shape(table, out)
    assert out.tolist() == [4, 3]
    assert (first.matrix == whole).all()


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("x", np.zeros(3, dtype=np.float32), "a contiguous 1-dimensional array of float64 is needed, not 1 dimensions"),
        ("x", np.zeros(3, dtype=np.int64), "not 1 dimensions of int64"),
        ("x", np.zeros((3, 1)), "not 2 dimensions of float64"),
        ("x", np.zeros(6)[::2], "a contiguous 1-dimensional array"),
        ("matrix", np.zeros(3), "a contiguous 2-dimensional array of float64 is needed, not 1 dimensions"),
        ("matrix", np.zeros((3, 4), order="F"), "a contiguous 2-dimensional array"),
        ("matrix", np.zeros((3, 4))[:, :2], "a contiguous 2-dimensional array"),
    ],
)
def test_arrays_of_another_kind_are_refused(name, wrong, message):
    """Kernels trust the table: nothing else stands between a wrong array and the memory behind it."""
    first, second = bundles()
    with pytest.raises(TypeError, match=f"First.{name}: .*{message}|First.{name}: {message}"):
        describe(first._replace(**{name: wrong}), second)


def test_bytes_and_integers_are_kept_apart():
    first, second = bundles()
    for name, wrong in (
        ("flag", np.zeros(3, dtype=bool)),
        ("number", np.zeros(3, dtype=np.int32)),
        ("tree", np.eye(2)),
    ):
        with pytest.raises(TypeError, match=f"Second.{name}"):
            describe(first, second._replace(**{name: wrong}))
