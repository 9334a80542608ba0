"""Modes of a planar cantilever of very many joints: Linkwork beside SciPy's sparse eigensolver on assembled matrices.

SciPy gets the stiffness and mass of the same rod by displacements across it, sparse, in three ways: as assembled matrices
without inversion (which = "SM"), which converges on small linkages alone; as assembled matrices that it factors (sigma = 0,
which = "LM"), which loses n⁴ digits; and with a solver written for planar rods that goes through the factors of the
stiffness and keeps them. All find shapes too, and SciPy's times hold assembly and factors.
"""

from __future__ import annotations

import math
import time
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


def add_modes(report: TableReport, quick: bool, peers: bool) -> None:
    rows = []
    for n in QUICK_JOINTS if quick else JOINTS:
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
        is_largest = n == (QUICK_JOINTS if quick else JOINTS)[-1]
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
            beside_scipy(report, rows, n, own, is_largest)
    columns = ["joints", "program", "time", "of which assembly", "first eigenvalue off by", "times ours"]
    report.add_table("modes", f"{MODES} modes of a planar cantilever", columns, rows)


def beside_scipy(report: TableReport, rows: list[list[str]], n: int, own: float, is_largest: bool) -> None:
    try:
        from scipy.sparse.linalg import eigsh
    except ImportError:
        report.notes.append("SciPy is not installed; its modes were left out.")
        return
    start = time.process_time()
    lengths, ell, K, M = factors(n)
    assembly = time.process_time() - start
    best = math.nan
    inverted = {"sigma": 0.0, "which": "LM"}
    for name, options in (
        ("SciPy, assembled, no inversion", {"which": "SM", "maxiter": RESTARTS}),
        ("SciPy, assembled, shift and inversion", inverted),
        ("SciPy, inversion by a rod's factors", {**inverted, "OPinv": by_factors(n, lengths, ell)}),
    ):
        if "maxiter" in options and n > LARGEST_PLAIN:
            continue
        progress(f"{n:,} joints by {name}")
        begun = time.process_time()
        try:
            values = np.sort(eigsh(K, MODES, M, **options)[0])
        except Exception as error:  # a peer that gives up is a row, not the end of the run
            taken = time.process_time() - begun + assembly
            said = f"{type(error).__name__}: {str(error)[:60]}"
            rows.append([f"{n:,}", name, f"{taken:.3f} s", f"{assembly:.3f} s", said, f"> {taken / own:.0f}, gave up"])
            continue
        taken, wrong = time.process_time() - begun + assembly, abs(values[0] / FIRST - 1.0)
        if wrong < AS_GOOD:
            best = taken / own if math.isnan(best) else min(best, taken / own)
        note = f"{taken / own:.2f}" + ("" if wrong < AS_GOOD else ", wrong")
        rows.append([f"{n:,}", name, f"{taken:.3f} s", f"{assembly:.3f} s", f"{wrong:.1e}", note])
    if is_largest:
        report.requirements.append(
            Requirement(
                f"{MODES} modes of {n:,} joints beside SciPy, where it is right",
                best,
                "times faster",
                f"≥ {TIMES_SCIPY:g}",
                bool(best >= TIMES_SCIPY),
                detail="the faster of its right results",
            )
        )
