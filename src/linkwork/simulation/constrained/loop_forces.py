"""The forces that keep loops closed and joints coupled: (J M⁻¹ Jᵀ) λ = -(J q̈₀ + J̇ v), and the steps that close
what integrators open.

J M⁻¹ Jᵀ is that of `joint_rows`, its solution that of `loops.forces`. Gaps g are closed by
δq = -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ g, slips by the impulses that stop them, with the factors at one point near the end of the step.
Both are kernels of their own, which steps call (`calling`). Theory: docs/theory/loops.md.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.aba import ACCELERATION, TWIST
from linkwork.loops.forces import CONTRADICTION, contradiction, factor_rows, solve_rows
from linkwork.loops.frames import constraint_row, relate_all_frames
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.constrained.coupling_forces import (
    coupling_rows,
    gather_coupling_efforts,
    unmet_couplings,
)
from linkwork.simulation.constrained.joint_rows import row_matrix
from linkwork.simulation.constrained.responses import respond
from linkwork.simulation.energy import energies
from linkwork.simulation.integrators.chart import integrate
from linkwork.simulation.loading.accelerate import EXPLICIT, accelerate, articulate, world_poses_root_to_leaf
from linkwork.simulation.moving import LOADS, LOOPS_CONTRADICT, LOOPS_OPEN, OK, SUBSTEP, moving_of
from linkwork.spatial.memory import add_to6, load6, store6
from linkwork.spatial.vectors import ZERO6, add6, scale6

STAGE_GAP = 0.3  # [rad or m] stages of a step leave the closed shapes; a gap this wide is a step far too long
CLOSED = 1e-10  # [rad, m, rad/s or m/s] gaps and slips that may be left after a step
MAX_CLOSINGS = 20
LATE = 8  # of these, from which on factors are made where the linkage is
LONGEST_CLOSING = 0.5  # [rad or m] of any coordinate in one of them


@routine
def loop_rows(table):
    """Rows, gaps, slips and biases of all loops, from world poses and the twists in `work`; False at a gimbal lock."""
    s = moving_of(table)
    x = constraints_of(table)
    twists = s.work[:, TWIST : TWIST + 6]
    if relate_all_frames(x, s.world, twists) >= 0:
        return False
    for k in range(x.ends.shape[0]):
        for r in range(x.first_row[k], x.first_row[k + 1]):
            a, b, x.gap[r], x.slip[r], x.bias[r] = constraint_row(x.loop, x.frames, x.B, k, r - x.first_row[k])
            store6(x.row, r, 0, a)
            store6(x.row, r, 6, b)
    coupling_rows(table)
    return True


@inlined
def largest(a):
    most = 0.0
    for k in range(a.shape[0]):
        if most == most and not abs(a[k]) <= most:  # NaN stays NaN
            most = abs(a[k])
    return most


@inlined
def factor_here(table):
    """J M⁻¹ Jᵀ from the articulated inertias in `work`, factored."""
    row_matrix(table)
    factor_rows(constraints_of(table))


@routine
def gather_wrenches(table):
    """Jᵀ of `force`: wrenches on the constrained bodies, in their frames, and efforts of couplings."""
    x = constraints_of(table)
    for m in range(x.constrained_bodies.shape[0]):
        store6(x.wrenches, m, 0, ZERO6)
    for k in range(x.ends.shape[0]):
        for side in range(2):
            m = x.end_body[k, side]
            if m >= 0:
                for r in range(x.first_row[k], x.first_row[k + 1]):
                    add_to6(x.wrenches, m, 0, scale6(x.force[r], load6(x.row, r, 6 * side)))
    gather_coupling_efforts(x)


@routine
def accelerate_again(table, where, h):
    """`calling.accelerate_closed` at the same q as at the last evaluation: what it factored there holds."""
    bad = accelerate(table, where, h)
    return bad if bad >= 0 else force_loops_by(table, False)


@kernel
def force_loops(table):
    """From the accelerations of the tree with its loops open to those with its loops closed; OK or a failure."""
    return force_loops_by(table, True)


@kernel
def force_loops_again(table):
    """The same where J M⁻¹ Jᵀ is that of the last evaluation."""
    return force_loops_by(table, False)


@inlined
def force_loops_by(table, factors):
    """`force_loops`. factors: whether J M⁻¹ Jᵀ is another than at the last evaluation."""
    s = moving_of(table)
    x = constraints_of(table)
    if s.counts[LOADS] == 0:
        world_poses_root_to_leaf(table)
    if not loop_rows(table) or not largest(x.gap) <= STAGE_GAP:
        return LOOPS_OPEN
    if factors:
        factor_here(table)
    involved = unmet_accelerations(table)
    solve_rows(x)
    if not contradiction(x) <= CONTRADICTION * involved:
        return LOOPS_CONTRADICT
    gather_wrenches(table)
    record_loop_wrenches(x)
    respond(table, x.constrained_bodies, x.wrenches, x.change)
    for k in range(s.qdd.shape[0]):
        s.qdd[k] += x.change[k]
    return OK


@inlined
def record_loop_wrenches(x):
    """Keeps what each loop does to its ends, to be read after the step."""
    for k in range(x.ends.shape[0]):
        for side in range(2):
            total = ZERO6
            for r in range(x.first_row[k], x.first_row[k + 1]):
                total = add6(total, scale6(x.force[r], load6(x.row, r, 6 * side)))
            store6(x.loop_wrenches, k, 6 * side, total)
    for k in range(x.offset.shape[0]):
        x.coupling[k] = x.force[x.row.shape[0] + k]


@inlined
def unmet_accelerations(table):
    """right ← -(J q̈₀ + J̇ v); returns the size of what it is made of, in units of the diagonal."""
    s = moving_of(table)
    x = constraints_of(table)
    total = 0.0
    for k in range(x.ends.shape[0]):
        for r in range(x.first_row[k], x.first_row[k + 1]):
            unmet = -x.bias[r]
            size = abs(x.bias[r])
            for side in range(2):
                i = x.ends[k, side]
                for e in range(6):
                    if i >= 0:
                        a = s.work[i, ACCELERATION + e]
                    else:
                        a = -s.gravity[e - 3] if e >= 3 else 0.0
                    unmet += x.row[r, 6 * side + e] * a
                    size += abs(x.row[r, 6 * side + e] * a)
            x.right[r] = -unmet
            total += (size * x.scale[r]) ** 2
    total += unmet_couplings(table)
    return math.sqrt(total)


@kernel
def close_loops(table):
    """Brings loops together after a step: coordinates, then velocities; returns OK or LOOPS_OPEN."""
    return close_from(table, False, True, math.inf)


@kernel
def close_way(table):
    """The same after a step whose coordinates went by its velocities: what closes them changes these, before slips stop.

    On a circle Euler's rule goes twice as far inwards as it should, and what stops that slip alone would leave a velocity
    too large by (h ω)²/2 in each step.
    """
    return close_from(table, False, True, moving_of(table).numbers[SUBSTEP])


@routine
def close_where_evaluated(table):
    """`close_loops` of a step whose last evaluation, with explicit joints, was where it ends: its factors hold."""
    return close_from(table, True, True, math.inf)


@routine
def close_drift(table):
    """Brings coordinates together that drifted from where the last evaluation was, by its factors; OK or LOOPS_OPEN."""
    return close_from(table, True, False, math.inf)


@routine
def close_from(table, has_factors, slips, span):
    """`close_loops`. has_factors: of a place nearby. slips: whether velocities are closed, too. span: the time in which
    coordinates went by these [s]; infinite where they did not."""
    s = moving_of(table)
    x = constraints_of(table)
    done = False
    for k in range(MAX_CLOSINGS):
        energies(table)  # world poses and twists at (q, v)
        if not loop_rows(table):
            return LOOPS_OPEN
        gap = largest(x.gap)
        if gap <= CLOSED and (not slips or largest(x.slip) <= CLOSED):
            done = True
            break
        if not gap <= STAGE_GAP:
            return LOOPS_OPEN
        if not has_factors or k == LATE:
            if articulate(table, EXPLICIT, 0.0) >= 0:
                return LOOPS_OPEN
            factor_here(table)
            has_factors = True
        if gap > CLOSED:
            push_back(table, x.gap)
            scale = min(1.0, LONGEST_CLOSING / max(largest(x.change), 1e-300))
            integrate(s.tree, s.q, x.change, scale, s.q)
            if slips:
                for d in range(s.v.shape[0]):
                    s.v[d] += scale / span * x.change[d]
        else:
            push_back(table, x.slip)
            for d in range(s.v.shape[0]):
                s.v[d] += x.change[d]
    return OK if done else LOOPS_OPEN


@routine
def stop_slips(table):
    """Takes out of the velocities what constraints do not allow, M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ J v; LOOPS_OPEN at a gimbal lock.

    Noise of covariance kT M⁻¹ becomes that of the linkage with its loops closed.
    """
    s = moving_of(table)
    x = constraints_of(table)
    energies(table)
    if not loop_rows(table) or articulate(table, EXPLICIT, 0.0) >= 0:
        return LOOPS_OPEN
    factor_here(table)
    push_back(table, x.slip)
    for d in range(s.v.shape[0]):
        s.v[d] += x.change[d]
    return OK


@inlined
def push_back(table, rows):
    """change ← -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ rows"""
    x = constraints_of(table)
    for r in range(rows.shape[0]):
        x.right[r] = -rows[r]
    solve_rows(x)
    gather_wrenches(table)
    respond(table, x.constrained_bodies, x.wrenches, x.change)
