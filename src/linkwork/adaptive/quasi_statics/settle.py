"""Settling: downhill steps with momentum, never uphill, until every acceleration is proven small.

A plain quasi-static step follows the steepest descent of the potential energy in the metric of the masses. Along a cable
its slow modes would need as many steps as the square of stiffest over softest frequency. So each step also keeps a part of
the one before (Nesterov's schedule k / (k + 3)), which needs about the ratio itself. A step that would raise the energy is
undone and the momentum forgotten; if a step without momentum rises, it was too long.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from linkwork.adaptive.nodes import carries_joint, refresh_joint
from linkwork.adaptive.quasi_statics.solve import keep_coordinates, not_finite, restore_coordinates
from linkwork.adaptive.workspace import (
    DIRTY,
    LOAD_COUNT,
    OPEN_COUNT,
    P_MOMENT,
    coefficients_of,
    mechanism_of,
    plan_of,
    run_of,
)
from linkwork.assembly.plan import INDEX
from linkwork.core.jit import inlined, kernel
from linkwork.core.progress import progress_bar
from linkwork.errors import StateError
from linkwork.model.joint_kernels import joint_integrate, joint_spring_energy
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, Q, V
from linkwork.simulation.loads import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import add3, dot3, matvec3, sub3

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics, QuasiStaticsReport

ENERGY_ROUNDING = 1e-14  # a gain of energy below this part of it is rounding
SMALLEST_STEP = 1e-12  # [s] a step that still rises at this size is no longer limited by its size
GROW, SHRINK = 1.02, 0.7  # of the time step after a step down, and after one that would have gone up


# ------------------------------------------------------------------------------------------ energy along the open tree


@kernel
def shared_energy(table):
    """Energy of gravity, of world-fixed forces and of springs to world points [J]; needs up-to-date composites."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    g = mechanism.gravity
    top = plan.nodes.shape[0] - 1
    energy = 0.0
    if top >= 0:
        energy -= dot3((g[0], g[1], g[2]), load3(c.composite, top, P_MOMENT))
    for k in range(run.counts[LOAD_COUNT]):
        node = plan.leaf[run.load_body[k]]
        at = load3(run.load, k, LOAD_AT)
        point = add3(matvec3(load9(run.world, node, 0), at), load3(run.world, node, 9))
        energy -= dot3(load3(run.load, k, LOAD_FORCE), point)
        gap = sub3(load3(run.load, k, LOAD_TARGET), point)
        energy += 0.5 * run.load[k, LOAD_STIFFNESS] * dot3(gap, gap)
    return energy


@inlined
def joint_energy(mechanism, run, i, q):
    """Energy of a joint's springs, and of its constant efforts where they have a potential [J]."""
    energy = joint_spring_energy(mechanism.tree, mechanism.dof, mechanism.rest, i, q)
    kind = mechanism.tree[i, KIND]
    if kind == HELICAL or kind == COMPOUND:
        for d in range(mechanism.tree[i, DOF]):
            energy -= run.effort[mechanism.tree[i, V] + d] * q[mechanism.tree[i, Q] + d]
    return energy


@kernel
def moved_joint_energy(table):
    """Gain of the open joints' own energy since their coordinates were kept [J]."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    gain = 0.0
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            gain += joint_energy(mechanism, run, i, run.q) - joint_energy(mechanism, run, i, run.kept_q)
    return gain


# --------------------------------------------------------------------------------------------------------------- steps


@kernel
def glide(table, h, momentum):
    """Moves every computed joint by ½ h² q̈ and a part of its last displacement; False where that overflows."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    overflow = 0.0
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        run.flag[node] |= DIRTY
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            j = mechanism.tree[i, V]
            for d in range(mechanism.tree[i, DOF]):
                carried = momentum * run.glide[j + d] if momentum != 0.0 else 0.0  # even where it was infinite
                run.glide[j + d] = carried + 0.5 * h * h * run.qdd[j + d]
            joint_integrate(mechanism.tree, i, run.q, run.glide, 1.0, run.q)
            overflow += not_finite(mechanism.tree, i, run.q)
            refresh_joint(table, i)
    return overflow == 0.0


def _gain_of_step(
    sim: QuasiStatics, h: float, momentum: float, energy: float
) -> tuple[float, QuasiStaticsReport | None]:
    """Takes a trial step; gain of energy [J] and what its solve reached. Infinite where no solve is possible there."""
    if not glide(sim._table, h, momentum):
        return math.inf, None
    try:
        trial = sim.solve()
    except StateError:
        return math.inf, None
    return shared_energy(sim._table) - energy + moved_joint_energy(sim._table), trial


def settle(sim: QuasiStatics, threshold: float, h: float, max_steps: int, progress: bool | None) -> QuasiStaticsReport:
    """See `QuasiStatics.settle`."""
    report = sim.solve()
    energy = shared_energy(sim._table)
    steps_with_momentum = 0
    with progress_bar(max_steps, "settle", progress) as bar:
        for done in range(max_steps):
            if report.max_acceleration <= threshold:
                return report
            keep_coordinates(sim._table)
            gain, trial = _gain_of_step(sim, h, steps_with_momentum / (steps_with_momentum + 3.0), energy)
            noise = ENERGY_ROUNDING * abs(energy)
            if trial is not None and gain <= noise:
                report, energy = trial, shared_energy(sim._table)
                steps_with_momentum += 1
                if gain < -noise:  # where rounding hides the energy, a step that was stable stays as it is
                    h *= GROW
                bar(done, f"acceleration ≤ {report.max_acceleration:.1e}, h = {h:.1e} s")
                continue
            restore_coordinates(sim._table)
            report = sim.solve()
            if steps_with_momentum == 0:
                h *= SHRINK
                _check_step(h, report)
            steps_with_momentum = 0
    raise StateError(
        f"not settled after {max_steps} steps: accelerations are below {report.max_acceleration:.2e}, not "
        f"{threshold:.2e}. Allow more steps, or ask for less. Under loads that have no potential (wrenches fixed in a "
        "body, torques, efforts on ball joints) a linkage may never settle: use run()."
    )


def _check_step(h: float, report: QuasiStaticsReport) -> None:
    if h < SMALLEST_STEP:
        raise StateError(
            f"cannot settle: even the shortest step raises the potential energy, with accelerations up "
            f"to {report.max_acceleration:.2e}. Ask for a smaller tolerance, or use run()."
        )
