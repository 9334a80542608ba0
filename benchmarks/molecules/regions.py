"""Regions of a protein for `linkwork bench molecules`: how soon they start, and how fast they step."""

from __future__ import annotations

import time
from typing import Any

import linkwork as lw

from ..harness import Report, Requirement, progress, take_turns

START = 0.1  # [s] from an existing field
FASTER = 25.0  # times all torsions


def measure_regions(report: Report, protein: Any, rounds: int) -> None:
    """Five residues in the middle of the chain, closed; and the same joints alone in adaptive dynamics."""
    progress("regions")
    whole = protein.field(cutoff=1.0, switch=0.8)
    numbers = [int(residue.number) for residue in protein.atoms.residues]
    middle = numbers[len(numbers) // 2]
    began = time.process_time()
    part = protein.flexible((middle - 2, middle + 2))
    field = whole.on(part)
    started = time.process_time() - began
    report.requirements.append(
        Requirement(f"{protein.name}: a region of five residues starts", started, "s of the processor", f"≤ {START:g}",
                    started <= START, detail=f"{part.n_torsions} torsions, {field.pairs:,} pairs")
    )  # fmt: skip
    sims = {
        "all torsions": lw.FullDynamics(protein.model, protein.state, field=whole),
        "region": lw.FullDynamics(part.model, part.state, field=field),
    }
    timings = take_turns({k: (lambda s=s: s.advance(1e-3, 5)) for k, s in sims.items()}, rounds, sample_time=0.02)
    report.add_timings("five steps of a region", part.n_torsions, timings)
    times = timings["all torsions"].processor_median / timings["region"].processor_median
    report.requirements.append(
        Requirement("steps of the region", times, "times faster than all torsions", f"≥ {FASTER:g}", times >= FASTER)
    )
