"""Regions of a protein for `linkwork bench molecules`: how soon they start, how exact they are, and how fast they step."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress, take_turns

START = 0.1  # [s] from an existing field
STARTS = 5  # of which the median counts
FASTER = 25.0  # times all torsions
EXACT = 1e-10  # of energy and of accelerations, against every term of the force field on every atom
H = 2e-3  # [ps]
WARM = 300.0  # [K] at which steps are timed: loops open and are closed, lists are made anew
SELDOM = 10**9  # steps between updates where only steps are timed


def measure_regions(report: Report, protein: Any, rounds: int) -> None:
    """Five residues in the middle of the chain, closed; and the same joints alone in adaptive dynamics."""
    progress("regions")
    whole = protein.field(cutoff=1.0, switch=0.8)
    numbers = [int(residue.number) for residue in protein.atoms.residues]
    middle = numbers[len(numbers) // 2]
    whole.on(protein.flexible((middle - 12, middle - 8)))  # another region: kernels are at hand from here on
    starts = []
    for _ in range(STARTS):
        began = time.process_time()
        part = protein.flexible((middle - 2, middle + 2))
        field = whole.on(part)
        starts.append(time.process_time() - began)
    started = float(np.median(starts))  # one in some has to wait while Python collects the garbage of the whole process
    report.requirements.append(
        Requirement(f"{protein.name}: a region of five residues starts", started, "s of the processor", f"≤ {START:g}",
                    started <= START, detail=f"{part.n_torsions} torsions, {field.pairs:,} pairs")
    )  # fmt: skip
    off = disagreement(part, field)
    report.requirements.append(
        Requirement("its energy and accelerations against every term on every atom", off, "of the largest",
                    f"≤ {EXACT:g}", off <= EXACT)
    )  # fmt: skip
    sims = simulations(protein, part, whole, field, (middle - 2, middle + 2))
    timings = take_turns({k: (lambda s=s: s.advance(H, 5)) for k, s in sims.items()}, rounds, sample_time=0.02)
    report.add_timings(f"five steps of a region at {WARM:g} K", part.n_torsions, timings)
    for name in list(sims)[1:]:
        times = timings["all torsions"].processor_median / timings[name].processor_median
        judged = "closed" in name
        report.requirements.append(
            Requirement(f"steps, {name}", times, "times faster than all torsions", f"≥ {FASTER:g}" if judged else "",
                        times >= FASTER or not judged, detail=pairs_of(sims[name], whole))
        )  # fmt: skip


def warm(molecule: Any) -> lw.State:
    q = molecule.state.q
    v = lw.molecules.RandomVelocities(molecule.model).draw(q, WARM, np.random.default_rng(1))
    return lw.State(q, v)


def simulations(protein: Any, part: Any, whole: Any, field: Any, residues: tuple[int, int]) -> dict[str, Any]:
    """All torsions; the closed region by itself, and in adaptive dynamics; the same torsions of the open chain."""
    found = {
        "all torsions": lw.FullDynamics(protein.model, warm(protein), field=whole),
        "closed region": lw.FullDynamics(part.model, warm(part), field=field),
        "closed region in adaptive dynamics": lw.AdaptiveDynamics(
            part.model, warm(part), field=field, tolerance=0.0, update_every=SELDOM
        ),
        "open chain, all other torsions pinned": pinned(protein, whole, residues),
    }
    for sim in found.values():
        sim.advance(H, 20)
    return found


def pinned(protein: Any, whole: Any, residues: tuple[int, int]) -> lw.AdaptiveDynamics:
    """The region in adaptive dynamics of the whole chain: what lies behind it is carried along, past what is before."""
    chain = protein.flexible(residues, closed=False)
    speed = warm(chain).v
    q, v = protein.state.q, np.zeros(protein.model.nv)
    turning = {torsion.name: torsion for torsion in chain.torsions}
    held = []
    for torsion in protein.torsions:
        if torsion.name in turning:
            v[protein.model.v_slice(torsion.joint)] = speed[chain.model.v_slice(turning[torsion.name].joint)]
        else:
            held.append(protein.model.joint_names[torsion.joint])
    sim = lw.AdaptiveDynamics(protein.model, lw.State(q, v), field=whole, tolerance=0.0, update_every=SELDOM)
    for name in held:
        sim.pin_inactive(name)
    return sim


def pairs_of(sim: Any, whole: Any) -> str:
    """What changes: where the pairs are a quarter of all, no step is much more than four times as fast."""
    return f"{sim.integrator}; {sim.field.pairs:,} pairs, one of {whole.pairs / sim.field.pairs:.2g} that the whole has"


def disagreement(part: Any, field: Any) -> float:
    """Largest relative difference of energy and of accelerations with the loop closed, at three shapes of the region.

    The judge's forces are those on every single atom; what is rigid here takes no part in the motion.
    """
    rng, worst = np.random.default_rng(1), 0.0
    body, local = part.tree.body, part.tree.local
    for _ in range(3):
        q = part.model.integrate(part.state.q, 0.03 * rng.normal(size=part.model.nv))
        state = lw.close_loops(part.model, lw.State(q, np.zeros(part.model.nv)))
        energy, wrenches = field.at(state)
        exact, forces = field.every_term(part.positions(state))
        R = field.poses(state)[body, :9].reshape(-1, 3, 3)
        turned = np.einsum("aji,aj->ai", R, forces)
        judge = np.zeros_like(wrenches)
        np.add.at(judge, body, np.concatenate([np.cross(local, turned), turned], axis=1))
        a, b = (lw.constrained_dynamics(part.model, state, wrenches=w).acceleration for w in (wrenches, judge))
        worst = max(worst, abs(energy - exact) / abs(exact), float(np.abs(a - b).max() / np.abs(b).max()))
    return worst
