"""Rods and cables against the numbers of their field: elastica, buckling, frequencies, towed cable; modes beside SciPy.

Every row is a closed form or a published number. Times are those of whole calls of `lw.settle`, `lw.buckling` and
`lw.modes`.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress
from . import problems

SIZES, QUICK_SIZES = (25, 50, 100), (10, 20)
MOST_SWEEPS, MOST_SECONDS = 30, 2e-3  # of settling at 100 links
MODES, MODE_JOINTS, QUICK_MODE_JOINTS = 20, 100_000, 500
PEER_JOINTS, QUICK_PEER_JOINTS = (
    1000,
    100,
)  # SciPy needs the assembled mass matrix of relative coordinates, which is full


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-peers", action="store_true", help="leave SciPy out")


def run(options: argparse.Namespace) -> Report:
    report = Report("rods", {"quick": options.quick}, is_judged=not options.quick)
    sizes = QUICK_SIZES if options.quick else SIZES
    for problem in problems.PROBLEMS:
        progress(problem.name)
        add_problem(report, problem, sizes)
    add_modes(report, QUICK_MODE_JOINTS if options.quick else MODE_JOINTS)
    if options.no_peers:
        report.notes.append("SciPy was left out.")
    else:
        beside_scipy(report, QUICK_PEER_JOINTS if options.quick else PEER_JOINTS)
    return report


def add_problem(report: Report, problem: problems.Problem, sizes: tuple[int, ...]) -> None:
    errors, seconds, sweeps = [], math.inf, 0
    for n in sizes:
        for _ in range(3):
            found, sweeps, taken = problem.solve(n)
            seconds = min(seconds, taken) if n == sizes[-1] else taken
        errors.append(max(abs(found - problem.reference) / problem.scale, 1e-17))
    order = math.log(errors[-2] / errors[-1]) / math.log(sizes[-1] / sizes[-2])
    listed = ", ".join(f"{error:.1e} at {n}" for error, n in zip(errors, sizes, strict=True))
    fast = not problem.is_settled or (sweeps <= MOST_SWEEPS and seconds <= MOST_SECONDS)
    report.requirements.append(
        Requirement(
            problem.name,
            errors[-1],
            f"error at {sizes[-1]} segments",
            f"≤ {problem.must:g}" + (f", {MOST_SWEEPS} sweeps, 2 ms" if problem.is_settled else ""),
            errors[-1] <= problem.must and fast,
            detail=f"{listed}; order {order:.2f}; {sweeps} sweeps, {1e3 * seconds:.2f} ms",
        )
    )


def add_modes(report: Report, joints: int) -> None:
    progress(f"modes of {joints:,} joints")
    rod = problems.cantilever(joints, joints="plane")
    model = rod.compile()
    start = time.process_time()
    found = lw.modes(model, model.neutral(), MODES)
    seconds = time.process_time() - start
    error = abs(2.0 * math.pi * found.frequencies[0] / 1.8751040687**2 - 1.0)
    report.requirements.append(
        Requirement(
            f"{MODES} modes of {joints:,} joints",
            seconds,
            "s of processor time",
            "≤ 5",
            seconds <= 5.0 and error < 1e-5 and found.below == MODES,
            detail=f"{found.sweeps} eliminations, first frequency off by {error:.1e}, none of {found.below} missed",
        )
    )


def beside_scipy(report: Report, joints: int) -> None:
    """The same modes by SciPy's Lanczos on the assembled matrices of the same model."""
    try:
        import scipy.sparse as sparse
        from scipy.sparse.linalg import eigsh
    except ImportError:
        report.notes.append("SciPy is not installed; nothing was compared with it.")
        return
    progress("beside SciPy")
    model = problems.cantilever(joints, joints="plane").compile()
    start = time.process_time()
    ours = lw.modes(model, model.neutral(), MODES)
    own = time.process_time() - start
    M = lw.mass_matrix(model, model.neutral())
    K = sparse.diags(model.arrays.dof[:, 1]).tocsc()
    start = time.process_time()
    values = np.sort(eigsh(K, MODES, sparse.csc_matrix(M), sigma=0.0, return_eigenvectors=False))
    theirs = time.process_time() - start
    same = float(np.abs(ours.rates2 / values - 1.0).max())
    report.requirements.append(
        Requirement(
            f"{MODES} modes of {joints:,} joints beside SciPy",
            theirs / own,
            "times faster",
            "eigenvalues agree to 1e-6",
            same < 1e-6,
            detail=f"ours {own:.3f} s, SciPy {theirs:.3f} s, eigenvalues agree to {same:.1e}; assembly not counted",
        )
    )
