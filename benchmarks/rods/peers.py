"""The same rods by others: modes by SciPy's sparse eigensolver, a swinging rod by PyElastica."""

from __future__ import annotations

import math
import time

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress
from .problems import cantilever

MODES, TIMES_SCIPY, TIMES_ELASTICA = 20, 50.0, 50.0
SEGMENTS, QUICK_SEGMENTS, SWING = 100, 10, 0.5  # [s]
LENGTH, RADIUS, DENSITY, MODULUS = 1.0, 0.003, 1000.0, 1e8  # stretches by 1e-4, which our rod leaves out
STEP_PART = 0.05  # of ℓ/√(E/ρ), PyElastica's steps: longer ones by four are not stable here


def assembled(n: int) -> tuple[object, object]:
    """Stiffness and mass of a planar cantilever of n joints by the displacements across it at its n joints and its tip.

    Pieces turn by differences of displacements over their lengths, joints by differences of these; each piece has the
    mass matrix of a rigid bar. The same system as in joint angles, with few entries.
    """
    import scipy.sparse as sparse

    ell = 1.0 / n
    lengths = np.concatenate([np.full(n - 1, ell), [0.5 * ell]])  # of the pieces that move
    G = sparse.diags([-1.0 / lengths, 1.0 / lengths], [0, 1], shape=(n, n + 1)).tolil()  # angles of pieces
    D = sparse.diags([-np.ones(n - 1), np.ones(n)], [-1, 0], shape=(n, n))  # turns of joints
    B = D @ G.tocsr()
    K = B.T @ B * (1.0 / ell)
    M = sparse.lil_matrix((n + 1, n + 1)).tocsr()
    rows = np.arange(n)
    for i, j, part in ((0, 0, 1 / 3), (0, 1, 1 / 6), (1, 0, 1 / 6), (1, 1, 1 / 3)):
        M = M + sparse.coo_matrix((part * lengths, (rows + i, rows + j)), shape=(n + 1, n + 1)).tocsr()
    keep = slice(1, n + 1)  # the first joint stands still
    return K[keep, keep].tocsc(), M[keep, keep].tocsc()


def beside_scipy(report: Report, joints: int) -> None:
    """The same modes by SciPy's Lanczos with shift and inversion, on assembled sparse matrices of the same rod."""
    try:
        from scipy.sparse.linalg import eigsh
    except ImportError:
        report.notes.append("SciPy is not installed; nothing was compared with it.")
        return
    for n in sorted({1000, joints}):
        progress(f"{n:,} joints beside SciPy")
        model = cantilever(n, joints="plane", radius=1e-9).compile()
        start = time.process_time()
        ours = lw.modes(model, model.neutral(), MODES)
        own = time.process_time() - start
        exact = 1.8751040687**4
        start = time.process_time()
        try:
            K, M = assembled(n)
            begun = time.process_time()
            values = np.sort(eigsh(K, MODES, M, sigma=0.0, return_eigenvectors=False))
            theirs, wrong = time.process_time() - begun, abs(values[0] / exact - 1.0)
            said = f"SciPy {theirs:.2f} s (assembly {begun - start:.2f} s more), first eigenvalue off by {wrong:.1e}"
        except (RuntimeError, ValueError) as error:
            theirs, said = math.nan, f"SciPy gave up: {error}"
        off = abs(ours.rates2[0] / exact - 1.0)
        report.requirements.append(
            Requirement(
                f"{MODES} modes of {n:,} joints beside SciPy",
                theirs / own,
                "times faster",
                f"≥ {TIMES_SCIPY:g}" if n == joints else "shown",
                n != joints or theirs >= TIMES_SCIPY * own,
                detail=f"ours {own:.2f} s, first eigenvalue off by {off:.1e}; {said}",
            )
        )


def ours(n: int, h: float, integrator: str = "auto") -> tuple[np.ndarray, float]:
    """Tip of the swinging rod after SWING seconds, and processor time [s] of its steps."""
    steel = lw.Material(MODULUS, 0.5, DENSITY)
    rod = lw.rod(LENGTH, n, radius=RADIUS, material=steel)
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    sim = lw.FullDynamics(model, model.neutral(), integrator=integrator)
    sim.advance(h, 1)  # compiled
    sim.set_state(model.neutral())
    begun = time.process_time()
    sim.advance(h, round(SWING / h))
    taken = time.process_time() - begun
    T = lw.body_poses(model, sim.state)[model.body(rod.on.end.body)] @ rod.on.end.frame.matrix
    return T[:3, 3], taken


def elastica(n: int, parts: float) -> tuple[np.ndarray, float, int]:
    """The same by PyElastica, with steps of `parts` of the time a wave takes through a segment; and how many steps."""
    import elastica as ea

    class Simulator(ea.BaseSystemCollection, ea.Constraints, ea.Forcing):  # type: ignore[misc]
        pass

    sim = Simulator()
    rod = ea.CosseratRod.straight_rod(
        n, np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), LENGTH, RADIUS, DENSITY,
        youngs_modulus=MODULUS, shear_modulus=MODULUS / 3.0,
    )  # fmt: skip
    sim.append(rod)
    sim.constrain(rod).using(ea.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    sim.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -9.81]))
    sim.finalize()
    stepper = ea.PositionVerlet()
    dt = parts * LENGTH / n / math.sqrt(MODULUS / DENSITY)
    steps = math.ceil(SWING / dt)
    dt = SWING / steps
    t = np.float64(0.0)
    for _ in range(2):
        t = stepper.step(sim, t, dt)  # compiled
    begun = time.process_time()
    for _ in range(steps - 2):
        t = stepper.step(sim, t, dt)
    taken = (time.process_time() - begun) * steps / (steps - 2)
    return np.array(rod.position_collection[:, -1]), taken, steps


def beside_elastica(report: Report, quick: bool) -> None:
    """A rod clamped at one end falls from level: errors of its tip against a fine solution, and times."""
    try:
        import elastica  # noqa: F401
    except ImportError:
        report.notes.append("PyElastica is not installed; nothing was compared with it.")
        return
    progress("a swinging rod beside PyElastica")
    n = QUICK_SEGMENTS if quick else SEGMENTS
    exact = ours(4 * n, 1e-4, "variational")[0]
    try:
        theirs, seconds, steps = elastica_at(n)
    except Exception as error:
        report.notes.append(f"PyElastica did not run: {type(error).__name__}: {error}")
        return
    wrong = float(np.linalg.norm(theirs - exact))
    best: tuple[float, float, float] | None = None
    for h in (1e-2, 5e-3, 2.5e-3, 1.25e-3, 6.25e-4, 3.125e-4):
        tip, taken = ours(n, h, "variational")
        off = float(np.linalg.norm(tip - exact))
        best = (h, off, taken)
        if off <= wrong:
            break
    assert best is not None
    h, off, taken = best
    report.requirements.append(
        Requirement(
            f"swinging rod of {n} segments beside PyElastica",
            seconds / taken,
            "times faster at equal error",
            f"≥ {TIMES_ELASTICA:g}",
            seconds >= TIMES_ELASTICA * taken and off <= wrong,
            detail=f"{SWING:g} s: ours {1e3 * taken:.1f} ms with steps of {h:g} s, tip off by {off:.1e} m; PyElastica "
            f"{seconds:.2f} s in {steps:,} steps, off by {wrong:.1e} m",
        )
    )


def elastica_at(n: int) -> tuple[np.ndarray, float, int]:
    """The longest steps of PyElastica that stay finite."""
    for parts in (8 * STEP_PART, 4 * STEP_PART, 2 * STEP_PART, STEP_PART):
        tip, seconds, steps = elastica(n, parts)
        if np.isfinite(tip).all() and np.linalg.norm(tip) < 1.1 * LENGTH:
            return tip, seconds, steps
    raise RuntimeError("no step was stable")
