"""The forces that keep loops closed and joints coupled: (J M⁻¹ Jᵀ) λ = -(J q̈₀ + J̇ v), and the steps that close
what integrators open.

J M⁻¹ Jᵀ is that of `joint_rows`, its solution that of `loops.forces`. Gaps g are closed by
δq = -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ g, slips by the impulses that stop them, with the factors at one point near the end of the step.
Both are kernels of their own, which steps call (`calling`). Theory: docs/theory/loops.md.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.aba import ACCELERATION, P_, S_D, TWIST
from linkwork.loops.forces import CONTRADICTION, contradiction, factor_rows, solve_rows
from linkwork.loops.frames import constraint_row, relate_all_frames
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
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
from linkwork.spatial.memory import add_to6, load3, load6, store6
from linkwork.spatial.rotations import dot3
from linkwork.spatial.vectors import ZERO6, add6, scale6

# Ways of coordinates and gaps are turns [rad] and parts of the longest link.
STAGE_GAP = 0.3  # stages of a step leave the closed shapes; a gap this wide is a step far too long
CLOSED = 1e-12  # of the way that is left, and of velocities as a part of the largest
ROUNDED = 1e-7  # a way that falls no longer, but is shorter than this, is rounding
ROUNDING = 1e-15  # of gaps, as parts of how far loops lie from the origin; of slips, of the largest velocity there
NEARLY = 1e-6  # of a way from which on velocities are closed, too
MAX_CLOSINGS = 20
SLOW = 0.1  # of the way before: a longer one asks for factors where the linkage is
LONGEST_CLOSING = 0.5  # of any coordinate in one of them


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
    if not loop_rows(table) or not widest(x.gap) <= STAGE_GAP * max(1.0, longest_link(s, x)):
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
    return close_from(table, math.inf)


@kernel
def close_way(table):
    """The same after a step whose coordinates went by its velocities: what closes them changes these, before slips stop.

    On a circle Euler's rule goes twice as far inwards as it should, and what stops that slip alone would leave a velocity
    too large by (h ω)²/2 in each step.
    """
    return close_from(table, moving_of(table).numbers[SUBSTEP])


@routine
def close_from(table, span):
    """`close_loops`. span: the time in which coordinates went by the velocities [s]; infinite where they did not.

    What coordinates miss counts, not the gap: near a singular shape, where rows respond to an angle θ alone, a gap g is
    g / θ of the coordinates and g θ' / θ² of the velocities.
    """
    s = moving_of(table)
    x = constraints_of(table)
    done, has_factors = False, False
    before = math.inf
    for _ in range(MAX_CLOSINGS):
        energies(table)  # world poses and twists at (q, v)
        length = longest_link(s, x)
        if not loop_rows(table):
            break
        if not any_may_open(x):
            return OK
        gap, fastest = widest(x.gap), longest_way(s, s.v, length)
        least = ROUNDING * max(1.0, farthest_frame(s, x) / length)
        if gap <= least * min(1.0, length) and widest(x.slip) <= least * min(1.0, length) * fastest:
            return OK
        if not gap <= STAGE_GAP * max(1.0, length):
            break
        if not has_factors:
            if articulate(table, EXPLICIT, 0.0) >= 0:
                break
            factor_here(table)
        push_back(table, x.gap)
        way = longest_way(s, x.change, length)
        scale = min(1.0, LONGEST_CLOSING / max(way, 1e-300))
        integrate(s.tree, s.q, x.change, scale, s.q)
        if way > NEARLY:
            for d in range(s.v.shape[0]):
                s.v[d] += scale / span * x.change[d]
        ratio = way / before if before < math.inf and before > 0.0 else 1.0
        kick = 0.0
        if way <= NEARLY:
            push_velocities(table)
            kick = longest_way(s, x.change, length)
        is_closed = ratio * way <= CLOSED and ratio * kick <= CLOSED * fastest
        if is_closed or (way <= ROUNDED and ratio > 0.5 and before < math.inf):
            done = True
            break
        has_factors = before == math.inf or ratio <= SLOW
        before = way
    if done:
        energies(table)
    return OK if done else LOOPS_OPEN


@inlined
def any_may_open(x):
    """Whether there is a coupling, or a loop that is not inside one rigid group."""
    found = x.offset.shape[0] > 0
    for k in range(x.ends.shape[0]):
        found = found or x.ends[k, 0] != x.ends[k, 1]
    return found


@inlined
def widest(slip):
    most = 0.0
    for r in range(slip.shape[0]):
        most = abs(slip[r]) if most == most and not abs(slip[r]) <= most else most
    return most


@inlined
def farthest_frame(s, x):
    """The largest coordinate in the world of a body at the end of a loop."""
    most = 0.0
    for m in range(x.constrained_bodies.shape[0]):
        for e in range(9, 12):
            most = max(most, abs(s.world[x.constrained_bodies[m], e]))
    return most


@inlined
def longest_link(s, x):
    """The largest distance between joints of a body, or of a loop's frame from its body's; 1 where there is none."""
    most = 0.0
    for i in range(s.tree.shape[0]):
        if s.tree[i, PARENT] >= 0:
            p = load3(s.work, i, P_)
            most = max(most, dot3(p, p))
    for k in range(x.ends.shape[0]):
        for side in range(2):
            if x.ends[k, side] >= 0:
                p = load3(x.frames, k, 12 * side + 9)
                most = max(most, dot3(p, p))
    return math.sqrt(most) if most > 0.0 else 1.0


@inlined
def longest_way(s, change, length):
    """The largest way of any coordinate."""
    most = 0.0
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            S = helical_twist(s.body, i) if s.tree[i, KIND] == HELICAL else load6(s.dof_work, d, S_D)
            turn = math.sqrt(S[0] * S[0] + S[1] * S[1] + S[2] * S[2])
            slide = math.sqrt(S[3] * S[3] + S[4] * S[4] + S[5] * S[5])
            way = abs(change[d]) * (turn + slide / length)
            most = way if most == most and not way <= most else most
    return most


@routine
def stop_slips(table):
    """Takes out of the velocities what constraints do not allow, M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ J v; LOOPS_OPEN at a gimbal lock.

    Noise of covariance kT M⁻¹ becomes that of the linkage with its loops closed.
    """
    energies(table)
    if not loop_rows(table) or articulate(table, EXPLICIT, 0.0) >= 0:
        return LOOPS_OPEN
    factor_here(table)
    push_velocities(table)
    return OK


@routine
def stop_slips_again(table):
    """The same at the q of the last evaluation, whose factors hold."""
    energies(table)
    if not loop_rows(table):
        return LOOPS_OPEN
    push_velocities(table)
    return OK


@routine
def stop_last_slips(table):
    """The same at the end of a step; world poses and twists are those there."""
    bad = stop_slips_again(table)
    energies(table)
    return bad


@inlined
def push_velocities(table):
    s = moving_of(table)
    x = constraints_of(table)
    push_back(table, x.slip)
    for d in range(s.v.shape[0]):
        s.v[d] += x.change[d]


@inlined
def push_back(table, rows):
    """change ← -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ rows"""
    x = constraints_of(table)
    for r in range(rows.shape[0]):
        x.right[r] = -rows[r]
    solve_rows(x)
    gather_wrenches(table)
    respond(table, x.constrained_bodies, x.wrenches, x.change)
