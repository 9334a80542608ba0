"""How much faster than real time stiff rods move: a suture, a steel cable, a tether in a current."""

from __future__ import annotations

import math
import time

import numpy as np

import linkwork as lw

from ..harness import Requirement, TableReport, progress


def add_speeds(report: TableReport, quick: bool) -> None:
    duration = 0.1 if quick else 2.0
    rows = []
    for name, sim, h, explicit in (suture(), steel_cable(), tether(100 if quick else 1000)):
        progress(name)
        sim.advance(h, 1)
        begun = time.process_time()
        sim.advance(h, round(duration / h))
        taken = time.process_time() - begun
        finite = bool(np.isfinite(sim.state.q).all())
        report.requirements.append(
            Requirement(
                name,
                duration / taken,
                "times real time",
                "≥ 1",
                taken <= duration and finite,
                detail=f"{duration:g} s in {taken:.3f} s, steps of {h:g} s ({sim.integrator}); an explicit rod needs some "
                f"{explicit:.0e} steps",
            )
        )
        rows.append([name, f"{h:g} s", f"{duration / taken:.1f}", f"{explicit:.0e}"])
    columns = ["rod", "steps", "times real time", "steps of an explicit rod for as long"]
    report.add_table("speeds", f"{duration:g} s of motion", columns, rows)


def add_adaptive(report: TableReport, quick: bool) -> None:
    """A step in water with few active joints: it acts on every body. Without water the motion is another."""
    rows = []
    for n in (100,) if quick else (1000, 4000):
        progress(f"adaptive tether of {n:,} segments")
        model = lw.library.rod(
            200.0, n, EI=12.0, GJ=8.0, mass_per_length=1.2, radius=0.012, start="pinned", pitch=0.5 * math.pi
        ).compile()
        taken = []
        for water in (None, lw.Water(current=(0.5, 0.0, 0.0), depth=300.0)):
            sim = lw.AdaptiveDynamics(
                model, model.neutral(), max_active_joints=20, water=water, integrator="semi_implicit_euler"
            )
            sim.advance(1e-2, 20)
            begun = time.process_time()
            sim.advance(1e-2, 200)
            taken.append((time.process_time() - begun) / 200)
        dry, wet = taken
        rows.append([f"{n:,}", f"{1e6 * dry:.0f} µs", f"{1e6 * wet:.0f} µs", f"{1e9 * wet / n:.0f} ns"])
    columns = ["segments", "step without water", "step in water", "in water per segment"]
    report.add_table("adaptive", "adaptive dynamics of a tether, 20 active joints, updates included", columns, rows)


def _explicit_steps(modulus: float, density: float, ell: float, duration: float = 2.0) -> float:
    """Steps as long as a wave of stretch takes through half a segment."""
    return duration / (0.5 * ell / math.sqrt(modulus / density))


def suture() -> tuple[str, lw.FullDynamics, float, float]:
    """E 750 MPa, r 0.2 mm, 10 cm, 50 segments, held at one end; it falls from level."""
    rod = lw.rod(0.1, 50, radius=2e-4, material=lw.Material(750e6, 0.4, 1150.0), damping=1e-3)
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    sim = lw.FullDynamics(model, model.neutral())
    return "suture of 50 segments", sim, 1e-3, _explicit_steps(750e6, 1150.0, 0.1 / 50)


def steel_cable() -> tuple[str, lw.FullDynamics, float, float]:
    """A steel rope of 10 m and 6 mm, with a tenth of a solid bar's bending stiffness, from level."""
    second = 0.25 * math.pi * 3e-3**4
    EI = 0.1 * 200e9 * second
    rod = lw.rod(10.0, 100, EI=EI, GJ=EI, mass_per_length=7850.0 * math.pi * 9e-6, radius=3e-3, damping=1e-3)
    rod.attach_world("start", lw.Pinned())
    model = rod.compile()
    return (
        "steel cable of 100 segments",
        lw.FullDynamics(model, model.neutral()),
        1e-3,
        _explicit_steps(200e9, 7850.0, 0.1),
    )


def tether(segments: int) -> tuple[str, lw.FullDynamics, float, float]:
    """200 m in a current of 0.5 m/s, with a vehicle of 80 kg at its end, let go straight down."""
    rod = lw.library.rod(
        200.0, segments, EI=12.0, GJ=8.0, mass_per_length=1.2, radius=0.012, start="pinned", pitch=0.5 * math.pi,
        tip_mass=80.0, tip_radius=0.25,
    )  # fmt: skip
    model = rod.compile()
    water = lw.Water(current=(0.5, 0.0, 0.0), depth=300.0)
    sim = lw.FullDynamics(model, model.neutral(), water=water)
    return f"200 m tether of {segments:,} segments", sim, 1e-2, _explicit_steps(1e9, 1e3, 200.0 / segments)
