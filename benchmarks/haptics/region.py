"""Where the port gives out no energy: the largest stiffness, against the rate of the simulation."""

from __future__ import annotations

import math

import linkwork as lw

from ..harness import Requirement, TableReport, progress

LOWEST, HIGHEST = 1.0, 1e5  # [N/m] between which the largest stiffness is sought


def energy_out(sim_rate: float, stiffness: float, damping: float, implicit: bool, feel: str = "spring") -> float:
    """Most energy [J] that a coupling gave to a hand that tugs at a rope of 8 links, which stores nothing at first."""
    linkage = lw.Linkage("rope", gravity=(0, 0, 0))
    parent = "world"
    body = lw.Inertia.box(0.3, (0.2, 0.05, 0.05)).at(lw.Pose(xyz=(0.1, 0, 0)))
    for k in range(8):
        joint = lw.Revolute((0, 1, 0) if k % 2 else (0, 0, 1), damping=0.01)
        place = lw.Pose(xyz=(0.2 if k else 0.0, 0.0, 0.0))
        linkage.add_body(f"link_{k}", parent=parent, joint=joint, inertia=body, placement=place)
        parent = f"link_{k}"
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler")
    hand = lw.haptics.HumanHand(lambda t: (0.0, 0.1 * math.sin(9.0 * t), 0.05 * math.sin(14.0 * t)), delay=0.05)
    grasp = lw.haptics.grasp(
        sim, "link_7", hand, (0.2, 0.0, 0.0), stiffness=stiffness, damping=damping, feel=feel, allowance=0.0,
        implicit=implicit, force_limit=100.0,
    )  # fmt: skip
    try:
        grasp.session.run(1.0, h=1.0 / sim_rate, rate=1000.0)
    except lw.StateError:  # it blew up
        return math.inf
    return grasp.energy[2]


def largest_passive(
    sim_rate: float, damping: float, implicit: bool, precision: float = 1.1, feel: str = "spring"
) -> float:
    """Stiffness [N/m] up to which the port gives out no energy, to a factor, by bisection of its logarithm."""
    low, high = LOWEST, HIGHEST
    while high / low > precision:
        middle = math.sqrt(low * high)
        if energy_out(sim_rate, middle, damping, implicit, feel) <= 0.0:
            low = middle
        else:
            high = middle
    return low


def region(report: TableReport, sim_rates: tuple[float, ...], precision: float = 1.1) -> None:
    """Measured region of passivity: stiffness against simulation rate; both feels, the coupling explicit and implicit."""
    damping = 1.0  # [N·s/m]
    rows = []
    for rate in sim_rates:
        progress(f"stability at {rate:g} per second")
        stated = damping * rate
        reached = {
            (feel, implicit): largest_passive(rate, damping, implicit, precision, feel)
            for feel in ("spring", "reactions")
            for implicit in (True, False)
        }
        rows.append([f"{rate:,g}", *(f"{value:,.3g}" for value in reached.values()), f"{stated:,g}"])
        for feel in ("spring", "reactions"):
            report.requirements.append(
                Requirement(
                    f"largest passive stiffness at {rate:g} snapshots per second, damping {damping:g} N·s/m, feel "
                    f"\"{feel}\"",
                    reached[feel, True], "N/m", f"≥ {stated:g} (damping · rate)", reached[feel, True] >= stated / precision,
                    detail=f"explicit coupling: {reached[feel, False]:.3g} N/m",
                )
            )  # fmt: skip
    columns = ["snapshots per second", "spring", "spring, explicit", "reactions", "reactions, explicit", "stated"]
    report.add_table(
        "region", "Largest stiffness [N/m] without energy given out, to 10 %; damping 1 N·s/m", columns, rows
    )
