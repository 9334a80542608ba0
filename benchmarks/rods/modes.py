"""Modes of a cantilever of very many joints: Linkwork beside SciPy's sparse eigensolver on assembled matrices.

SciPy's `eigsh` gets the same rod in the forms that a user could assemble, each with shift and inversion (sigma = 0):

    joints      the stiffness of the joints, a diagonal, and their mass matrix, which is full: n² numbers
    bodies      places and angles of all bodies, sparse, with the joints as constraints and their forces as unknowns
                (2-D: 5 unknowns per joint; 3-D, as programs for any linkage have it: 11)
    across      displacements across the rod, five diagonals: no joints at all, and n⁴ digits lost; also without inversion
    factors     the same with a solver written for planar rods in the place of SciPy's factors, which keeps the digits

All find shapes too; times hold assembly and factors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Requirement, TableReport, progress
from .problems import cantilever

MODES, TIMES_SCIPY, SECONDS = 20, 50.0, 5.0
JOINTS, QUICK_JOINTS = (1000, 10_000, 100_000), (500, 1000)
FIRST = 1.8751040687**4  # ω² ρA L⁴/EI of a cantilever
AS_GOOD = 1e-3  # of the first eigenvalue: farther off, a result counts as wrong
RESTARTS, LARGEST_PLAIN = 300, 1000  # without inversion: before it gives up; more joints are left out
LARGEST_FULL = 10_000  # joints, up to which a full mass matrix is made: 0.8 GB


def factors(n: int) -> tuple[Any, Any, Any, Any]:
    """Angles of pieces by displacements G, turns of joints by angles D, the rod's stiffness and mass."""
    import scipy.sparse as sparse

    ell = 1.0 / n
    lengths = np.concatenate([np.full(n - 1, ell), [0.5 * ell]])  # of the pieces that move
    G = sparse.diags([-1.0 / lengths[1:], 1.0 / lengths], [-1, 0], shape=(n, n)).tocsr()  # the first joint stands still
    D = sparse.diags([-np.ones(n - 1), np.ones(n)], [-1, 0], shape=(n, n)).tocsr()
    B = D @ G
    K = (B.T @ B / ell).tocsc()
    own = (lengths + np.concatenate([lengths[1:], [0.0]])) / 3.0
    M = sparse.diags([lengths[1:] / 6.0, own, lengths[1:] / 6.0], [-1, 0, 1]).tocsc()
    return lengths, ell, K, M


def by_factors(n: int, lengths: np.ndarray, ell: float) -> Any:
    """K⁻¹ as an operator: sums along the rod instead of a factorization of the assembled matrix."""
    from scipy.sparse.linalg import LinearOperator

    def solve(load: np.ndarray) -> np.ndarray:
        shear = np.cumsum(load.ravel()[::-1])[::-1] * lengths  # Gᵀ D ᵀ m = load: moments from the tip
        moment = np.cumsum(shear[::-1])[::-1]
        return np.asarray(np.cumsum(np.cumsum(moment * ell) * lengths))

    return LinearOperator((n, n), matvec=solve, dtype=np.float64)


def by_joints(n: int) -> tuple[Any, Any]:
    """K, diagonal, and the full mass matrix of the joints' angles: M[i, j] = ∫ (s − sᵢ)(s − sⱼ) ds behind both."""
    import scipy.sparse as sparse

    s = (np.arange(n) + 0.5) / n
    later = np.maximum.outer(s, s)
    earlier = np.minimum.outer(s, s)
    M = (1.0 - later) ** 2 * ((1.0 - later) / 3.0 + 0.5 * (later - earlier))
    return sparse.diags(np.full(n, float(n))).tocsc(), M


def by_bodies(n: int, is_flat: bool) -> tuple[Any, Any]:
    """K and M of all bodies' places and angles, with the constraints of the joints beside them."""
    import scipy.sparse as sparse

    ell = 1.0 / n
    lengths = np.concatenate([np.full(n - 1, ell), [0.5 * ell]])
    thin = 1e-4 * lengths * ell**2  # moment about the axis of a piece; planar motion does not see it
    across = lengths**3 / 12.0
    D = sparse.diags([-np.ones(n - 1), np.ones(n)], [-1, 0], shape=(n, n))
    none = sparse.csr_matrix((n, n))
    half = sparse.diags(0.5 * lengths)
    before = sparse.diags(np.ones(n - 1), -1)  # the body that a joint hangs from
    near, far = sparse.identity(n) - before, -(half + before @ half)
    hinge = D.T @ D / ell
    if is_flat:  # x, z, θ; the ends of neighbours are at one place
        K = sparse.block_diag([none, none, hinge])
        M = sparse.diags(np.concatenate([lengths, lengths, across]))
        J = sparse.bmat([[near, None, none], [None, near, far]])
    else:  # x, y, z, turns about x, y, z; hinges about y let no other turn pass
        K = sparse.block_diag([none, none, none, none, hinge, none])
        M = sparse.diags(np.concatenate([lengths, lengths, lengths, thin, across, across]))
        J = sparse.bmat(
            [
                [near, None, None, None, None, None],
                [None, near, None, None, None, -far],
                [None, None, near, None, far, None],
                [None, None, None, D, None, None],
                [None, None, None, None, None, D],
            ]
        )
    order = _by_joint(n, K.shape[0] // n, J.shape[0] // n)
    A = sparse.bmat([[K, J.T], [J, None]]).tocsr()[order][:, order].tocsc()
    B = sparse.block_diag([M, sparse.csr_matrix((J.shape[0], J.shape[0]))]).tocsr()[order][:, order].tocsc()
    return A, B


def _by_joint(n: int, freedoms: int, rows: int) -> np.ndarray:
    """All unknowns of a joint one after the other, which is the order of least fill for a chain."""
    return np.arange((freedoms + rows) * n).reshape(freedoms + rows, n).T.ravel()


def add_modes(report: TableReport, quick: bool, peers: bool) -> None:
    rows = []
    sizes = QUICK_JOINTS if quick else JOINTS
    for n in sizes:
        progress(f"modes of {n:,} joints")
        model = cantilever(n, joints="plane", radius=1e-9).compile()
        lw.modes(model, model.neutral(), 2)  # compiled
        own, found = math.inf, None
        for _ in range(3):
            start = time.process_time()
            found = lw.modes(model, model.neutral(), MODES)
            own = min(own, time.process_time() - start)
        assert found is not None
        off = abs(found.rates2[0] / FIRST - 1.0)
        rows.append([f"{n:,}", "Linkwork", f"{own:.3f} s", "", f"{off:.1e}", ""])
        is_largest = n == sizes[-1]
        if is_largest:
            report.requirements.append(
                Requirement(
                    f"{MODES} modes of {n:,} joints",
                    own,
                    "s of processor time",
                    f"≤ {SECONDS:g}",
                    own <= SECONDS and off < 1e-5 and found.below == MODES,
                    detail=f"{found.sweeps} eliminations, first eigenvalue off by {off:.1e}, none of {found.below} missed",
                )
            )
        if peers:
            ratios = beside_scipy(report, rows, n, own)
            if is_largest and ratios:
                judge_scipy(report, n, ratios)
    columns = ["joints", "program", "time", "of which assembly", "first eigenvalue off by", "times ours"]
    report.add_table("modes", f"{MODES} modes of a planar cantilever", columns, rows)


def judge_scipy(report: TableReport, n: int, ratios: dict[str, float]) -> None:
    """A row for each form in which SciPy is right, and so many times slower."""
    for name, ratio in ratios.items():
        report.requirements.append(
            Requirement(
                f"{MODES} modes of {n:,} joints beside {name}",
                ratio,
                "times faster",
                f"≥ {TIMES_SCIPY:g}",
                bool(ratio >= TIMES_SCIPY),
            )
        )


def beside_scipy(report: TableReport, rows: list[list[str]], n: int, own: float) -> dict[str, float]:
    """Adds SciPy's rows; returns how many times as long as ours it took, by form, where it is right."""
    try:
        from scipy.sparse.linalg import eigsh
    except ImportError:
        report.notes.append("SciPy is not installed; its modes were left out.")
        return {}
    inverted = {"sigma": 0.0, "which": "LM"}
    right = {}

    def across() -> tuple[Any, Any]:
        return factors(n)[2:]

    forms: list[tuple[str, Callable[[], tuple[Any, Any]], dict[str, Any]]] = []
    if n <= LARGEST_PLAIN:
        forms.append(("SciPy, across, no inversion", across, {"which": "SM", "maxiter": RESTARTS}))
    if n <= LARGEST_FULL:
        forms.append(("SciPy, joints", lambda: by_joints(n), inverted))
    forms += [
        ("SciPy, bodies in 3-D", lambda: by_bodies(n, False), inverted),
        ("SciPy, bodies in 2-D", lambda: by_bodies(n, True), inverted),
        ("SciPy, across", across, inverted),
        ("SciPy, across, by a rod's factors", across, {**inverted, "OPinv": by_factors(n, *factors(n)[:2])}),
    ]
    for name, assembled, options in forms:
        progress(f"{n:,} joints by {name}")
        start = time.process_time()
        K, M = assembled()
        assembly = time.process_time() - start
        try:
            values = np.sort(eigsh(K, MODES, M, **options)[0])
        except Exception as error:  # a peer that gives up is a row, not the end of the run
            taken = time.process_time() - start
            said = f"{type(error).__name__}: {str(error)[:60]}"
            rows.append([f"{n:,}", name, f"{taken:.3f} s", f"{assembly:.3f} s", said, f"> {taken / own:.0f}, gave up"])
            continue
        taken, wrong = time.process_time() - start, abs(values[0] / FIRST - 1.0)
        if wrong < AS_GOOD:
            right[name] = taken / own
        note = f"{taken / own:.2g}" + ("" if wrong < AS_GOOD else ", wrong")
        rows.append([f"{n:,}", name, f"{taken:.3f} s", f"{assembly:.3f} s", f"{wrong:.1e}", note])
    return right
