"""Settling: downhill steps with momentum, never uphill, until every acceleration is proven small.

A plain quasi-static step follows the steepest descent of the potential energy in the metric of the masses. Along a cable
its slow modes would need as many steps as the square of stiffest over softest frequency. So each step also keeps a part of
the one before (Nesterov's schedule k / (k + 3)), which needs about the ratio itself. A step that would raise the energy is
undone and the momentum forgotten; if a step without momentum rises, it was too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.adaptive.quasi_statics import solve as stepping
from linkwork.adaptive.quasi_statics.energy import moved_joint_energy, shared_energy
from linkwork.adaptive.quasi_statics.update import refresh_joint
from linkwork.adaptive.quasi_statics.workspace import DIRTY, OPEN_COUNT
from linkwork.assembly.plan import HANG, INDEX, JOIN, NODE_KIND
from linkwork.core.jit import kernel
from linkwork.core.progress import progress_bar
from linkwork.errors import StateError
from linkwork.model.joint_kernels import joint_integrate
from linkwork.model.layout import DOF, V

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics, QuasiStaticsReport

ENERGY_ROUNDING = 1e-14  # a gain of energy below this part of it is rounding
SMALLEST_STEP = 1e-12  # [s] a step that still rises at this size is no longer limited by its size
GROW, SHRINK = 1.02, 0.7  # of the time step after a step down, and after one that would have gone up


@kernel
def glide(plan, mechanism, coefficients, live, h, keep):
    """Moves every computed joint by ½ h² q̈ and a part of its last displacement."""
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        live.flag[node] |= DIRTY
        kind = plan.nodes[node, NODE_KIND]
        if kind == JOIN or kind == HANG:
            i = plan.nodes[node, INDEX]
            j = mechanism.tree[i, V]
            for d in range(mechanism.tree[i, DOF]):
                live.glide[j + d] = keep * live.glide[j + d] + 0.5 * h * h * live.qdd[j + d]
            joint_integrate(mechanism.tree, i, live.q, live.glide, 1.0, live.q)
            refresh_joint(mechanism, coefficients, live, i)


def settle(sim: QuasiStatics, threshold: float, h: float, max_steps: int, progress: bool | None) -> QuasiStaticsReport:
    """See `QuasiStatics.settle`."""
    bundles, some = sim._bundles, sim._some_bundles
    report = sim.solve()
    energy = shared_energy(*bundles)
    steps_with_momentum = 0
    with progress_bar(max_steps, "settle", progress) as bar:
        for done in range(max_steps):
            if report.max_acceleration <= threshold:
                return report
            keep = steps_with_momentum / (steps_with_momentum + 3.0)
            stepping.keep_coordinates(*some)
            glide(*bundles, h, keep)
            trial = sim.solve()
            gain = shared_energy(*bundles) - energy + moved_joint_energy(*some)
            noise = ENERGY_ROUNDING * abs(energy)
            if gain <= noise:
                report, energy = trial, shared_energy(*bundles)
                steps_with_momentum += 1
                if gain < -noise:  # where rounding hides the energy, a step that was stable stays as it is
                    h *= GROW
                bar(done, f"acceleration ≤ {report.max_acceleration:.1e}, h = {h:.1e} s")
                continue
            stepping.restore_coordinates(*bundles)
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
