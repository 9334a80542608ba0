"""Molecules as linkages: forces against OpenMM, frozen joints, energy kept, temperature held, a helix pulled apart.

The paper's two cases (Morin and Redon 2007): polyalanine, 40 torsions, and bacteriorhodopsin. Energy and forces are
compared with OpenMM's double-precision platform before anything is timed. Bacteriorhodopsin is read from a file
(`--structure`); without one a helix of 120 mixed residues stands in for it, and the report says so.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.molecules.forces.field import poses_of

from ..harness import Report, Requirement, TableReport, progress, take_turns
from .adaptive import compare_adaptive
from .deca import measure_deca
from .dynamics import Pulling, energy_drift, held_temperature, pull_atoms, pull_linkage, warm_state
from .hand import measure_hand
from .kept import measure_kept
from .pages import Span, fill_page, timing_rows
from .regions import measure_regions
from .rest import measure_rest
from .retinal import measure_retinal
from .sampling import measure_sampling
from .slopes import compare_slopes
from .solvent import compare_solvent
from .structures import AT_HAND, packaged, readable, small_proteins

PARTS = (
    "counts", "retinal", "slopes", "forces", "solvent", "rest", "regions", "adaptive", "hand", "drift", "kept",
    "temperature", "sampling", "pull", "deca",
)  # fmt: skip
STRUCTURE = AT_HAND / "1PY6_bcl.pdb"
STAND_IN = "AEALKSGVFTLQDIYWNRMP" * 6
HELIX, CRAMBIN, OBSERVED = 40, 139, 786  # torsions
WHOLE = 852  # torsions; the paper's 857 are these, less the last ψ, and the six freedoms of the base
CUTOFF = 1.0  # [nm]
SMOOTH = {"cutoff": CUTOFF, "switch": 0.8}  # the energy of a run must not step when a pair crosses the cutoff
EXACT = 1e-10  # of energy and of generalized forces, relative to the largest, against OpenMM's double precision
FROZEN_SPEED = 25.0  # times faster with 10 local active joints than with all
HELIX_RK4, HELIX_VERLET, PROTEIN_RK4 = 0.002, 0.05, 0.3  # [kJ/mol/ps]
WARMTH = 3.0  # [K]
SEEDS_APART = 4.0  # standard errors between the mean temperatures of two seeds: chance exceeds it once in 16,000
MODES_APART = 4.5  # standard errors of the furthest of 46 modes: chance exceeds it once in 3,000
WORK = 0.35  # part by which the work of pulling may differ from that of free atoms
RUNS = 4


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--structure", type=Path, default=STRUCTURE, help="PDB or mmCIF file of bacteriorhodopsin")
    parser.add_argument("--rounds", type=int, default=15, help="turns each contestant takes (15)")
    parser.add_argument("--parts", "--case", nargs="+", choices=PARTS, default=list(PARTS), help="what to run (all)")
    parser.add_argument("--seed", type=int, default=0, help="first seed of the starts of case kept (0)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    report = TableReport(
        "molecules",
        {"quick": options.quick, "rounds": options.rounds, "parts": list(options.parts)},
        is_judged=not options.quick,
    )
    progress("making the helix")
    helix = lw.molecules.peptide("A" * (6 if options.quick else 20), helix=True, relax=True, seed=1)
    protein = (
        large_molecule(options, report)
        if {"forces", "solvent", "rest", "regions", "adaptive", "drift"} & set(options.parts)
        else None
    )
    if protein is not None:
        count_torsions(report, helix, protein)
    rounds = 3 if options.quick else options.rounds
    parts: dict[str, Callable[[], None]] = {
        "counts": lambda: count_whole(report, options.structure, options.quick),
        "retinal": lambda: measure_retinal(report, disagreement),
        "slopes": lambda: compare_slopes(report, helix, options),
        "forces": lambda: compare_forces(report, helix, protein, rounds),
        "solvent": lambda: compare_solvent(report, [helix, protein], rounds, clusters),
        "rest": lambda: rest(report, helix, protein, options.quick),
        "regions": lambda: measure_regions(report, protein, rounds),
        "adaptive": lambda: compare_adaptive(report, protein, rounds, options.quick),
        "hand": lambda: measure_hand(report, whole_molecule(options, report), options.quick),
        "drift": lambda: measure_drift(report, helix, protein, options.quick),
        "kept": lambda: measure_kept(
            report, small_proteins(report, options.structure.parent, options.quick), options.quick, options.seed
        ),
        "temperature": lambda: measure_temperature(report, helix, options.quick),
        "sampling": lambda: measure_sampling(report, options.quick),
        "pull": lambda: pull(report, helix, options.quick),
        "deca": lambda: measure_deca(report, options.quick),
    }
    spans = []
    for part in (part for part in PARTS if part in options.parts):
        began, worked = time.perf_counter(), time.process_time()
        required, found = len(report.requirements), len(report.results)
        parts[part]()
        spans.append(Span(part, slice(required, len(report.requirements)), slice(found, len(report.results))))
        wall, processor = (time.perf_counter() - began) / 60.0, (time.process_time() - worked) / 60.0
        report.notes.append(f"{part}: {wall:.1f} minutes, {processor:.1f} of the processor.")
        if options.page is not None:  # what was measured stays, should a later part fail
            fill_page(options.page, report, spans[-1:])
    rows = timing_rows(report.results)
    if rows:
        report.add_table("timings", "Timings, medians", ["case", "contestant", "wall clock", "processor"], rows)
    return report


def rest(report: Report, helix: Any, protein: Any, quick: bool) -> None:
    """Ubiquitin's evaluations are required; where its file is absent, the helix takes its place."""
    file = None if quick else packaged("ubiquitin")
    ubiquitin = [] if file is None else [lw.molecules.load(readable(file), relax=True, seed=1)]
    measure_rest(report, [helix, *ubiquitin, protein], (ubiquitin or [helix])[0].name)


def large_molecule(options: argparse.Namespace, report: Report) -> Any:
    if options.structure.is_file() and not options.quick:
        progress(f"reading {options.structure.name}")
        return lw.molecules.load(options.structure, chains="A", relax=True, seed=1)
    instead = None if options.quick else packaged("adk")
    if instead is not None:
        report.notes.append(
            f"there is no file {options.structure.name}; {instead.name} of MDAnalysisTests stands in for it."
        )
        progress(f"reading {instead.name}")
        return lw.molecules.load(instead, relax=True, seed=1)
    if not options.quick:
        report.notes.append(
            f"there is no file {options.structure.name}; a helix of 120 mixed residues stands in for it "
            "(`pip install MDAnalysisTests` brings adenylate kinase)."
        )
    return lw.molecules.peptide(STAND_IN[:10] if options.quick else STAND_IN, helix=True, relax=True, seed=1)


def whole_molecule(options: argparse.Namespace, report: Report) -> Any:
    """Bacteriorhodopsin with its missing ends rebuilt: the paper's 857 freedoms."""
    if options.structure.is_file() and not options.quick:
        progress(f"rebuilding {options.structure.name}")
        return lw.molecules.load(options.structure, chains="A", ends=True, relax=True, seed=1)
    return large_molecule(options, report)


def count_torsions(report: Report, *molecules: Any) -> None:
    for molecule in molecules:
        report.results.append(
            {
                "case": "size",
                "molecule": molecule.name,
                "atoms": len(molecule.atoms),
                "torsions": molecule.n_torsions,
                "bodies": molecule.model.n_bodies,
            }
        )
        report.notes.append(f"{molecule.name}: {len(molecule.atoms):,} atoms, {molecule.n_torsions} torsions.")


def count_whole(report: Report, structure: Path, quick: bool) -> None:
    """Torsions: the helix, crambin, bacteriorhodopsin as the file has it and with its missing ends rebuilt."""
    count = lw.molecules.peptide("A" * 20, helix=True).n_torsions
    report.requirements.append(Requirement("ACE-Ala₂₀-NME", count, "torsions", f"= {HELIX}", count == HELIX))
    cases = (
        (structure.with_name("1CRN.pdb"), "", {}, CRAMBIN),
        (structure, ", residues 5 to 231", {"chains": "A"}, OBSERVED),
        (structure, ", ends rebuilt", {"chains": "A", "ends": True}, WHOLE),
    )
    for file, what, how, expected in () if quick else cases:
        if not file.is_file():
            report.notes.append(f"there is no file {file.name}; its torsions are not counted.")
            continue
        progress(f"reading {file.name}{what}")
        molecule = lw.molecules.load(file, seed=1, **how)
        count, cuts = molecule.n_torsions, len(molecule.tree.cut)
        report.requirements.append(
            Requirement(f"{file.name}{what}", count, "torsions", f"= {expected}", count == expected,
                        detail=f"{len(molecule.atoms):,} atoms, {cuts} cuts")
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------ forces


def compare_forces(report: Report, helix: Any, protein: Any, rounds: int) -> None:
    for molecule in (helix, protein):
        worst = disagreement(molecule)
        report.requirements.append(
            Requirement(
                f"{molecule.name}: energy and forces against OpenMM Reference", worst, "of the largest",
                f"≤ {EXACT:g}", worst <= EXACT,
            )
        )  # fmt: skip
    progress("timing forces")
    model = protein.model
    frames = short_path(protein)
    out = np.zeros((model.n_bodies, 6))
    own = protein.field(cutoff=CUTOFF)
    contestants = {"own forces": along(own, frames, out)}
    peers = {"OpenMM CPU, one thread": 1}  # as many as ours take
    if cores() > 1:
        peers[f"OpenMM CPU, {cores()} threads"] = cores()
    for name, threads in peers.items():
        contestants[name] = along(protein.field(cutoff=CUTOFF, engine="openmm", threads=threads), frames, out)
    timings = take_turns(contestants, rounds, sample_time=0.05)
    report.add_timings("forces at 1.0 nm", protein.n_torsions, timings, pairs=own.pairs)
    for peer in peers:
        times = timings["own forces"].times_faster_than(timings[peer])
        report.requirements.append(
            Requirement("own forces at 1.0 nm, one thread", times, f"times faster than {peer}", "≥ 1", times >= 1.0,
                        detail=f"{own.pairs:,} pairs")
        )  # fmt: skip
    frozen(report, protein, frames, out, rounds)


def cores() -> int:
    """Processors that this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def disagreement(molecule: Any) -> float:
    """Largest difference of energy and of generalized forces to OpenMM in double precision, relative to the largest."""
    own, exact = molecule.field(cutoff=CUTOFF), molecule.field(cutoff=CUTOFF, engine="openmm", platform="Reference")
    u = 0.01 * np.random.default_rng(1).normal(size=molecule.model.nv)
    state = lw.State(molecule.model.integrate(molecule.state.q, u), np.zeros(molecule.model.nv))
    a, b = own.generalized_forces(state), exact.generalized_forces(state)
    scale = abs(exact.energy(state)) + abs(exact.constant)
    return float(max(abs(own.energy(state) - exact.energy(state)) / scale, np.abs(a - b).max() / np.abs(b).max()))


def short_path(molecule: Any, count: int = 24) -> list[np.ndarray]:
    """Poses along a path at 300 K, 5 fs apart: lists of neighbours are made anew on it as often as in a run."""
    sim = lw.FullDynamics(
        molecule.model, warm_state(molecule, 2), field=molecule.field(cutoff=CUTOFF), integrator="rk4"
    )
    frames = []
    for _ in range(count):
        frames.append(poses_of(molecule.model, sim.state.q))
        sim.advance(5e-3)
    return frames


def along(field: Any, frames: list[np.ndarray], out: np.ndarray) -> Any:
    """One evaluation per call, forth and back along a path."""
    path = [*frames, *frames[-2:0:-1]]
    place = 0

    def call() -> None:
        nonlocal place
        field.wrenches(path[place], out)
        place = (place + 1) % len(path)

    return call


def frozen(report: Report, protein: Any, frames: list[np.ndarray], out: np.ndarray, rounds: int) -> None:
    """Forces where few joints move: 10 and 48 next to each other, at the end of the chain, and 48 anywhere.

    Compared by processor time: the calls differ by more than tenfold in length.
    """
    n = protein.model.n_bodies
    torsions = [torsion.joint for torsion in protein.torsions]
    by_residue = sorted(torsions, key=lambda joint: int(protein.atoms.residue_of[protein.tree.axis[joint, 1]]))
    spread = np.random.default_rng(3).choice(torsions, min(48, len(torsions)), replace=False).tolist()
    cases = {"all": list(range(n)), "48 anywhere": spread, "48 local": by_residue[-48:], "10 local": by_residue[-10:]}
    fields = {}
    for name, active in cases.items():
        fields[name] = protein.field(cutoff=CUTOFF)
        fields[name].set_clusters(clusters(protein.model, set(active)), frames[0])
    timings = take_turns(
        {name: along(field, frames[:1] * 3, out) for name, field in fields.items()}, rounds, sample_time=0.02
    )
    report.add_timings("forces, few joints active", protein.n_torsions, timings)
    for name, field in fields.items():
        report.results.append({"case": "pairs", "active": name, "pairs": field.pairs})
        times = timings["all"].processor_median / timings[name].processor_median
        judged = name == "10 local"
        report.requirements.append(
            Requirement(f"forces, {name} active", times, "times faster than all", f"≥ {FROZEN_SPEED:g}" if judged else "",
                        times >= FROZEN_SPEED or not judged, detail=f"{field.pairs:,} pairs")
        )  # fmt: skip


def clusters(model: lw.Model, active: set[int]) -> np.ndarray:
    """Number of the cluster of each body when only the joints in `active` (and the bases) move."""
    cluster = np.zeros(model.n_bodies, dtype=np.int64)
    for i, parent in enumerate(model.parent.tolist()):
        cluster[i] = i if parent < 0 or i in active else cluster[parent]
    return cluster


# ------------------------------------------------------------------------------------------------------------------- runs


def measure_drift(report: Report, helix: Any, protein: Any, quick: bool) -> None:
    time = 0.1 if quick else 10.0
    cases = [
        ("helix, rk4 at 5 fs", helix, {}, "rk4", 5e-3, time, HELIX_RK4),
        ("helix, kick-drift-kick at 2 fs", helix, {}, "kick_drift_kick", 2e-3, time, HELIX_VERLET),
        (f"{protein.name}, rk4 at 5 fs", protein, SMOOTH, "rk4", 5e-3, 0.02 if quick else time, PROTEIN_RK4),
    ]
    for name, molecule, options, integrator, h, length, limit in cases:
        progress(name)
        drift = energy_drift(molecule, molecule.field(**options), integrator, h, length, seed=0)
        report.requirements.append(
            Requirement(f"drift of the energy, {name}, {length:g} ps", abs(drift), "kJ/mol/ps", f"≤ {limit:g}",
                        abs(drift) <= limit)
        )  # fmt: skip


def measure_temperature(report: Report, helix: Any, quick: bool) -> None:
    progress("temperature")
    # The mean of so short a run has a standard error of 300 K √(2 / nv γ t): 0.8 K at this friction, 1.4 K at 10/ps
    time, friction = (0.5, 30.0) if quick else (200.0, 30.0)
    seen, other = (
        held_temperature(helix, helix.field(), "kick_drift_kick", 5e-3, time, friction, seed) for seed in (1, 2)
    )
    for seed, found in ((1, seen), (2, other)):
        off = abs(found.temperature - 300.0)
        report.requirements.append(
            Requirement(f"Langevin at 5 fs, {time:g} ps, seed {seed}: off 300 K by", off, "K", f"≤ {WARMTH:g}",
                        off <= WARMTH, detail=f"standard error {found.error:.1f} K; friction {friction:g}/ps")
        )  # fmt: skip
    apart = abs(seen.temperature - other.temperature) / float(np.hypot(seen.error, other.error))
    report.requirements.append(
        Requirement("Langevin, one seed against the other", apart, "standard errors apart", f"≤ {SEEDS_APART:g}",
                    apart <= SEEDS_APART)
    )  # fmt: skip
    spread = max(seen.warmest_mode - 300.0, 300.0 - seen.coldest_mode) / seen.mode_error
    report.requirements.append(
        Requirement("modes of the mass matrix: the one furthest from 300 K", spread, "standard errors",
                    f"≤ {MODES_APART:g}", spread <= MODES_APART,
                    detail=f"{seen.coldest_mode:.0f} to {seen.warmest_mode:.0f} K, one ± {seen.mode_error:.0f} K")
    )  # fmt: skip


def pull(report: Report, helix: Any, quick: bool) -> None:
    runs = 1 if quick else RUNS
    pulling = Pulling(speed=1.6, length=0.4) if quick else Pulling(speed=0.16)
    works: dict[str, list[float]] = {"linkage": [], "atoms": []}
    contents = []
    for seed in range(runs):
        progress(f"pulling, run {seed + 1} of {runs}")
        paths = {
            "linkage": pull_linkage(helix, helix.field(), pulling, 4e-3, seed),
            "atoms": pull_atoms(helix, pulling, 2e-3, seed),
        }
        contents.append((paths["linkage"].content[0], paths["linkage"].content[-1]))
        for name, path in paths.items():
            works[name].append(path.work)
            report.results.append(
                {
                    "case": "pull", "of": name, "seed": seed, "work_kJ_mol": path.work,
                    "extension_nm": path.extension.tolist(),
                    "force_pN": (lw.molecules.FORCE_IN_PN * path.force).tolist(),
                    "helix_content": [float(x) for x in path.content] if name == "linkage" else [],
                }
            )  # fmt: skip
    if not quick:
        measure_freezing(report, helix, pulling, float(np.mean(works["linkage"])))
    mean = {name: float(np.mean(values)) for name, values in works.items()}
    part = abs(mean["linkage"] / mean["atoms"] - 1.0)
    spread = ", ".join(f"{name} {mean[name]:.0f} ± {np.std(values):.0f} kJ/mol" for name, values in works.items())
    report.requirements.append(
        Requirement(f"work of pulling {pulling.length:g} nm, {runs} runs each: linkage against free atoms", part,
                    "of it apart", f"≤ {WORK:g}", part <= WORK, detail=spread)
    )  # fmt: skip
    first, last = np.mean(contents, axis=0)
    report.requirements.append(
        Requirement("helix content at the end of the pull", float(last), "of the residues", "< at the beginning",
                    bool(last < first), detail=f"{first:.2f} at the beginning")
    )  # fmt: skip


def measure_freezing(report: Report, helix: Any, pulling: Pulling, of_all: float) -> None:
    """What frozen torsions cost in force: the same pull with every second and every fourth torsion only."""
    for count in (20, 10):
        kept = [helix.torsions[k] for k in np.linspace(0, helix.n_torsions - 1, count).round().astype(int)]
        part = helix.with_torsions(kept)
        works = []
        for seed in range(RUNS):
            progress(f"pulling with {count} torsions, run {seed + 1} of {RUNS}")
            works.append(pull_linkage(part, part.field(), pulling, 4e-3, seed).work)
        report.results.append({"case": "freezing", "torsions": count, "work_kJ_mol": works})
        report.requirements.append(
            Requirement(f"work of pulling with {count} of {helix.n_torsions} torsions", float(np.mean(works)) / of_all,
                        "times that with all", "", True, detail=", ".join(f"{work:.0f}" for work in works) + " kJ/mol")
        )  # fmt: skip
