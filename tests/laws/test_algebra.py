"""Values with operators: the compiled form is the Python form, formulas are those of matrices, mistakes are told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

import linkwork
from linkwork.algebra.rows import Rows, at
from linkwork.algebra.spatial import (
    ZERO_TWIST,
    Inertia,
    Mat3,
    Pose,
    Quaternion,
    Screw,
    Sym3,
    Sym6,
    Twist,
    Vec3,
    Wrench,
)
from linkwork.algebra.tracing import formula, root
from linkwork.core.content import content_of
from linkwork.core.jit import kernel

EPS = np.finfo(float).eps


class Body(
    Rows, tree={"parent": int}, work={"X": Pose, "V": Twist, "I": Sym6, "u": float, "a": at("I", Twist), "F": Wrench}
):
    """A row of two tables, with a field where another one begins."""


def numbers(value) -> np.ndarray:
    return np.array(value.x)


def random(kind, rng):
    return kind(*rng.normal(size=kind.size))


def rotation(rng) -> Mat3:
    q = rng.normal(size=4)
    return Quaternion(*(q / np.linalg.norm(q))).matrix()


def pose(rng) -> Pose:
    return Pose(rotation(rng), random(Vec3, rng))


def matrix3(M) -> np.ndarray:
    return numbers(M.full() if isinstance(M, Sym3) else M).reshape(3, 3)


def skew(v) -> np.ndarray:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def motion(X) -> np.ndarray:
    """6x6 that takes a twist of the parent to the child."""
    R, p = matrix3(X.R), numbers(X.p)
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ skew(p), R.T]])


def matrix6(I) -> np.ndarray:
    A, B, C = map(matrix3, (I.A, I.B, I.C))
    return np.block([[A, B], [B.T, C]])


@pytest.mark.parametrize("seed", range(20))
def test_operators_are_those_of_matrices(seed):
    rng = np.random.default_rng(seed)
    X, Y, V, S, F, I = pose(rng), pose(rng), *(random(k, rng) for k in (Twist, Twist, Wrench, Sym6))

    def same(value, expected):
        assert np.abs(numbers(value) - expected).max() <= 50 * EPS * np.abs(expected).max()

    assert pytest.approx(numbers(V) @ numbers(F), rel=1e-14, abs=1e-14) == V @ F
    same(X @ V, motion(X) @ numbers(V))
    same(X.T @ F, motion(X).T @ numbers(F))
    assert motion(X @ Y) == pytest.approx(motion(Y) @ motion(X), abs=1e-14)
    w, v = numbers(V)[:3], numbers(V)[3:]
    crossed = np.block([[skew(w), np.zeros((3, 3))], [skew(v), skew(w)]])
    same(V.cross(S), crossed @ numbers(S))
    same(V.cross_force(F), -crossed.T @ numbers(F))
    same(I @ V, matrix6(I) @ numbers(V))
    moved = matrix6(I.through(X))
    assert np.abs(moved - motion(X).T @ matrix6(I) @ motion(X)).max() <= 100 * EPS * np.abs(moved).max()
    rigid = random(Inertia, rng)
    same(rigid @ V, numbers(rigid.articulated() @ V))
    U = numbers(F)
    assert matrix6(I.minus(0.3 * F, F)) == pytest.approx(matrix6(I) - 0.3 * np.outer(U, U), abs=1e-14)
    bound = I.largest(S)
    M = matrix6(I) @ matrix6(I).T  # positive semidefinite
    M = Sym6(*M[:3, :3][np.triu_indices(3)], *M[:3, 3:].ravel(), *M[3:, 3:][np.triu_indices(3)])
    one = Twist(S.w, Vec3(0.0, 0.0, 0.0))
    assert np.isfinite(bound)
    assert one @ (M @ one) <= M.largest(one) * (1 + 1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_a_screw_turns_about_its_axis_and_slides_along(seed):
    """d/dq of the pose is the twist, by central differences; at q = 0 the pose is the identity."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    screw, q, h = Screw(*axis, *(0.3 * axis), *rng.normal(size=3)), rng.uniform(-3, 3), 1e-6

    def at_q(q):
        return motion(screw.pose(q, np.sin(0.5 * q), np.cos(0.5 * q)))

    assert at_q(0.0) == pytest.approx(np.eye(6))
    rate = (at_q(q + h) - at_q(q - h)) / (2 * h) @ np.linalg.inv(at_q(q))
    S = numbers(screw.twist())
    expected = -np.block([[skew(S[:3]), np.zeros((3, 3))], [skew(S[3:]), skew(S[:3])]])
    assert rate == pytest.approx(expected, abs=1e-8)


def sweep(tree, work, k):
    """A bit of everything that kernels do with values and rows."""
    bodies, total = Body(tree, work), ZERO_TWIST
    for i in range(tree.shape[0] - 1, -1, -1):
        b = bodies[i]
        if b.parent >= 0:
            parent = bodies[b.parent]
            parent.I += b.I.through(b.X)
            b.V = b.X @ parent.V - k * b.V
        b.u = length(b.V.w) / 3.0 + b.F @ b.V
        total += b.V * 2.0
        b.F = -(b.I @ b.V)
        b.a = total
    return total.x[2], total[4]


@formula
def length(v):
    return root(v @ v)


compiled_sweep = kernel(sweep)


def test_a_kernel_gives_what_its_python_gives():
    rng = np.random.default_rng(1)
    tree, work = np.arange(-1, 6)[:, None].copy(), rng.normal(size=(7, Body.width["work"]))
    Body.fits(tree, work)
    again = work.copy()
    assert compiled_sweep(tree, work, 0.7) == pytest.approx(sweep(tree, again, 0.7), rel=1e-13)
    assert work == pytest.approx(again, rel=1e-12, abs=1e-12)
    assert work[:, Body.place["a"][1].start : Body.place["a"][1].stop] == pytest.approx(work[:, 18:24])  # where I began


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda b: b.V + b.F, r"add\(.*Twist.*Wrench"),
        (lambda b: b.V @ b.V, r"matmul\("),
        (lambda b: b.V.spin, "spin"),
        (lambda b: Twist(b.V.w, 1.0), "takes 6 numbers, not 4"),
        (lambda b: length(b.u), r"length\(float64\)"),
        (lambda b: branch(b.u), "branches stand in kernels"),
    ],
    ids=["sum", "product", "part", "size", "formula", "branch"],
)
def test_mistakes_are_told_when_the_kernel_compiles(wrong, message):
    inner = kernel(wrong)

    @kernel
    def outer(tree, work):
        return inner(Body(tree, work)[0])

    with pytest.raises(TypingError, match=message):
        outer(np.zeros((1, 1), dtype=np.int64), np.zeros((1, Body.width["work"])))


def test_a_function_that_makes_arrays_makes_no_rows_of_its_own():
    """Rows keep no array alive: it would be freed after its last use by name."""

    @kernel(allocates=True)
    def alone(tree):
        return Body(tree, np.zeros((1, 46)))[0].u

    with pytest.raises(TypeError, match="hands them to a routine"):
        alone(np.zeros((1, 1), dtype=np.int64))


@formula
def branch(x):
    return x if x > 0.0 else -x


def test_a_field_takes_its_own_kind_only():
    tree, work = np.zeros((1, 1), dtype=np.int64), np.zeros((1, Body.width["work"]))
    with pytest.raises(TypeError, match="V is a Twist, not a Wrench"):
        Body(tree, work)[0].V = Wrench(*[0.0] * 6)
    with pytest.raises(AttributeError, match="no field W"):
        _ = Body(tree, work)[0].W


@pytest.mark.parametrize("table", [np.zeros((2, 5)), np.zeros((2, 46), dtype=np.float32), np.zeros((2, 92))[:, ::2]])
def test_tables_of_other_columns_are_refused_at_the_door(table):
    with pytest.raises(TypeError, match=r"Body\.work: contiguous rows of 46 float64"):
        Body.fits(np.zeros((2, 1), dtype=np.int64), table)


CHECKED = """
import numpy as np
from tests.laws.test_algebra import Body, compiled_sweep
wide = Body.width["work"]
for tree, work in (([[-1], [5]], np.zeros((2, wide))), ([[-1], [0]], np.zeros((2, wide + 1)))):
    try:
        compiled_sweep(np.array(tree), work, 1.0)
    except IndexError as error:
        print(error)
"""


def test_bounds_checking_covers_rows(tmp_path):
    """A row beyond its table, and a table that is wider than the code is made for."""
    root_folder = Path(linkwork.__file__).parents[2]
    places = os.pathsep.join(filter(None, (str(root_folder), os.environ.get("PYTHONPATH"))))
    settings = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": places}
    done = subprocess.run([sys.executable, "-c", CHECKED], env=settings, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["a row beyond its table", "table work has not 46 columns"], done.stderr


def test_the_content_of_a_kernel_includes_its_formulas(monkeypatch):
    before = content_of(sweep)
    assert content_of(sweep) == before
    monkeypatch.setattr(Twist, "cross", lambda self, S: S)
    assert content_of(sweep) != before
    monkeypatch.undo()
    monkeypatch.setattr(Sym6, "through", lambda self, X: self)
    assert content_of(sweep) != before
