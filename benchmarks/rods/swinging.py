"""One rod, clamped at one end, falls from level: Linkwork beside PyElastica, Exudyn and MuJoCo's flexible cable.

The judge is a fine solution of Linkwork's own, with the stretch of the rod in it as in most peers (EA of the material);
errors are distances of the tip after half a second. An explicit peer runs with the longest steps that stay finite, an
implicit one with several; the ratio is taken at the longest of Linkwork's steps whose error is as small.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

import linkwork as lw

from ..harness import Requirement, TableReport, progress

TIMES_ELASTICA = 50.0
SEGMENTS, QUICK_SEGMENTS, SWING = 100, 10, 0.5  # [s]
LENGTH, RADIUS, DENSITY, MODULUS = 1.0, 0.003, 1000.0, 1e8
AREA, SECOND = math.pi * RADIUS**2, 0.25 * math.pi * RADIUS**4
STEPS = (1e-2, 5e-3, 2.5e-3, 1.25e-3, 6.25e-4, 3.125e-4)  # [s]
FINE = 1e-4  # [s]
Ran = tuple[np.ndarray, float, str]  # the tip [m], processor time [s], with what steps


def ours(n: int, h: float, stretches: bool = False) -> tuple[np.ndarray, float]:
    """The tip after SWING seconds, and processor time [s] of the steps."""
    stuff = lw.Material(MODULUS, 0.5, DENSITY)
    rod = lw.rod(LENGTH, n, radius=RADIUS, material=stuff, EA="material" if stretches else None)
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    sim = lw.FullDynamics(model, model.neutral(), integrator="variational")
    sim.advance(h, 1)  # compiled
    sim.set_state(model.neutral())
    begun = time.process_time()
    sim.advance(h, round(SWING / h))
    taken = time.process_time() - begun
    T = lw.body_poses(model, sim.state)[model.body(rod.on.end.body)] @ rod.on.end.frame.matrix
    return T[:3, 3], taken


def by_elastica(n: int) -> Ran:
    """With the longest steps that stay finite, as parts of the time that a wave of stretch takes through a segment."""
    for part in (0.4, 0.2, 0.1, 0.05):
        tip, seconds, steps = elastica(n, part)
        if np.isfinite(tip).all() and np.linalg.norm(tip) < 1.1 * LENGTH:
            return tip, seconds, f"{steps:,} steps"
    raise RuntimeError("no step was stable")


def elastica(n: int, part: float) -> tuple[np.ndarray, float, int]:
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
    steps = math.ceil(SWING / (part * LENGTH / n / math.sqrt(MODULUS / DENSITY)))
    dt, t = SWING / steps, np.float64(0.0)
    for _ in range(2):
        t = stepper.step(sim, t, dt)  # compiled
    begun = time.process_time()
    for _ in range(steps - 2):
        t = stepper.step(sim, t, dt)
        if not np.isfinite(rod.position_collection[0, -1]):
            break
    taken = (time.process_time() - begun) * steps / (steps - 2)
    return np.array(rod.position_collection[:, -1]), taken, steps


def by_exudyn(n: int, h: float) -> Ran:
    """ANCF cable elements in a plane, generalized-alpha steps."""
    import exudyn as exu
    from exudyn.beams import GenerateStraightLineANCFCable2D
    from exudyn.utilities import Cable2D

    mbs = exu.SystemContainer().AddSystem()
    cable = Cable2D(
        physicsMassPerLength=DENSITY * AREA,
        physicsBendingStiffness=MODULUS * SECOND,
        physicsAxialStiffness=MODULUS * AREA,
    )
    made = GenerateStraightLineANCFCable2D(
        mbs, positionOfNode0=[0, 0, 0], positionOfNode1=[LENGTH, 0, 0], numberOfElements=n, cableTemplate=cable,
        massProportionalLoad=[0, -9.81, 0], fixedConstraintsNode0=[1, 1, 1, 1], fixedConstraintsNode1=[0, 0, 0, 0],
    )  # fmt: skip
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(SWING / h)
    settings.timeIntegration.endTime = SWING
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.linearSolverType = exu.LinearSolverType.EigenSparse
    begun = time.process_time()
    mbs.SolveDynamic(settings)
    taken = time.process_time() - begun
    x, z, _ = mbs.GetNodeOutput(made[0][-1], exu.OutputVariableType.Position)
    return np.array([x, 0.0, z]), taken, f"steps of {h:g} s"


def by_mujoco(n: int, h: float) -> Ran:
    """A flex of one dimension with bending elasticity and edges of fixed length: its cable since version 4.

    Its first edge is pinned and stands half outside: the rod bends from the middle between two vertices on.
    """
    import mujoco

    ell = LENGTH / (n - 0.5)
    xml = f"""<mujoco><option timestep="{h}" integrator="discrete" gravity="0 0 -9.81"><flag contact="disable"/></option>
    <worldbody><flexcomp name="rod" type="grid" dim="1" count="{n + 1} 1 1" spacing="{ell} {ell} {ell}"
    pos="{0.5 * n * ell - 0.5 * ell} 0 0" radius="{RADIUS}" mass="{DENSITY * AREA * n * ell}" dof="full">
    <edge equality="true" solref="{2.0 * h} 1" solimp="0.999 0.9999 1e-4"/><contact selfcollide="none"/>
    <elasticity young="{MODULUS}" poisson="0.49" section="circle"/><pin id="0 1"/></flexcomp></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    begun = time.process_time()
    for _ in range(round(SWING / h)):
        mujoco.mj_step(model, data)
    return np.array(data.flexvert_xpos[-1]), time.process_time() - begun, f"steps of {h:g} s"


PEERS: tuple[tuple[str, str, Callable[..., Ran], tuple[tuple[float, ...], ...]], ...] = (
    ("PyElastica", "elastica", by_elastica, ((),)),
    ("Exudyn", "exudyn", by_exudyn, ((1e-2,), (1e-3,))),
    ("MuJoCo, flexible cable", "mujoco", by_mujoco, ((1e-2,), (1e-3,))),
)


def add_swinging(report: TableReport, quick: bool) -> None:
    progress("a swinging rod beside peers")
    n = QUICK_SEGMENTS if quick else SEGMENTS
    exact = ours(4 * n, FINE, stretches=True)[0]
    runs = []
    for h in STEPS[:2] if quick else STEPS:
        tip, taken = ours(n, h)
        runs.append((h, float(np.linalg.norm(tip - exact)), taken))
    rows = [["Linkwork", f"steps of {h:g} s", f"{1e3 * taken:.1f} ms", f"{off:.1e} m", ""] for h, off, taken in runs]
    for name, module, run, steps in PEERS:
        try:
            __import__(module)
        except ImportError:
            report.notes.append(f"{name} is not installed; nothing was compared with it.")
            continue
        for given in steps:
            progress(f"{name} {given}")
            try:
                tip, seconds, with_what = run(n, *given)
            except Exception as error:  # a peer that breaks is a row, not the end of the run
                rows.append([name, "", "", f"{type(error).__name__}: {str(error)[:60]}", ""])
                continue
            wrong = float(np.linalg.norm(tip - exact))
            as_good = [(h, taken) for h, off, taken in runs if off <= wrong]
            ratio = seconds / as_good[0][1] if as_good else math.nan
            said = f"{ratio:.1f}, ours with {as_good[0][0]:g} s" if as_good else "ours is not as exact"
            rows.append([name, with_what, f"{1e3 * seconds:.1f} ms", f"{wrong:.1e} m", said])
            if name == "PyElastica":
                report.requirements.append(
                    Requirement(
                        f"swinging rod of {n} segments beside PyElastica",
                        ratio,
                        "times faster at no larger error",
                        f"≥ {TIMES_ELASTICA:g}",
                        bool(ratio >= TIMES_ELASTICA),
                        detail=f"E {MODULUS:g} Pa, radius {RADIUS:g} m; {seconds:.2f} s, {with_what}, {wrong:.1e} m off",
                    )
                )
    title = f"a rod of {n} segments falls from level for {SWING:g} s, E {MODULUS:g} Pa, radius {1e3 * RADIUS:g} mm"
    report.add_table(
        "swinging", title, ["program", "steps", "time", "tip off by", "times ours at no larger error"], rows
    )
