"""Many adaptive steps without leaving compiled code: region updates every so often, hybrid steps in between."""

from linkwork.adaptive.dynamics.articulated_metric import assemble_opened
from linkwork.adaptive.dynamics.hybrid import (
    accelerate,
    integrate,
    refresh_joint_motion,
    relative_motion_leaf_to_root,
    twists_root_to_leaf,
)
from linkwork.adaptive.dynamics.locking import lock_leaving
from linkwork.adaptive.dynamics.momentum import (
    add_impulses,
    correct_bases,
    gather_forces,
    gather_momentum,
    read_momentum,
)
from linkwork.adaptive.dynamics.region import (
    apply_choice,
    attach_loads,
    find_front,
    refresh_motion,
    renew_touched,
    update_active_region,
)
from linkwork.adaptive.dynamics.runge_kutta import runge_kutta_step
from linkwork.adaptive.dynamics.step_start import go_back, is_finite, keep_start
from linkwork.adaptive.workspace import (
    ACTIVE,
    ACTIVE_COUNT,
    CHANGE_COUNT,
    CHOSEN,
    FRONT_COUNT,
    LOAD_COUNT,
    OPEN,
    OPEN_COUNT,
    OVERFLOW,
    READY,
    SORTED_COUNT,
    STALE,
    TOUCHED,
    WRENCHED,
)
from linkwork.core.jit import kernel, routine
from linkwork.model.layout import DOF, FIXED, KIND
from linkwork.spatial.memory import store6
from linkwork.spatial.vectors import ZERO6

PREPARE, BEGIN, UPDATE, RUN, HOLD, REOPEN, KEEP_MOMENTUM = range(7)
SEMI_IMPLICIT_EULER, RUNGE_KUTTA = range(2)


@kernel
def perform(
    plan, mechanism, c, hybrid, run, task, joint, opened, flags, steps, h, since, every, measure, tolerance, most,
    horizon, method, keep_momentum,
):  # fmt: skip
    """The one entry to everything that works on the whole region: every entry is compiled with all it calls.

    PREPARE: all coefficients from nothing. BEGIN: the CHOSEN nodes become the first active region. UPDATE: the region is
    chosen anew. RUN: `steps` steps. HOLD: a joint is stopped and held. REOPEN: back to the region of a checkpoint.
    KEEP_MOMENTUM: the present momentum of floating trees is what is kept from now on.
    Returns (a body that failed, OVERFLOW or -1, steps done, steps since the last update).
    """
    bad = -1
    done = 0
    if run.counts[TOUCHED] != 0 and task != PREPARE and task != REOPEN:
        renew_touched(plan, mechanism, c, run)
    if task == PREPARE:
        bad = prepare_everything(plan, mechanism, c, hybrid, run)
    elif task == BEGIN:
        bad = apply_choice(plan, mechanism, c, hybrid, run)
        read_momentum(plan, c, run)
        run.counts[CHANGE_COUNT] = 0
    elif task == HOLD:
        bad = hold_joint(plan, mechanism, c, hybrid, run, joint)
    elif task == KEEP_MOMENTUM:
        read_momentum(plan, c, run)
    elif task == REOPEN:
        reopen(plan, mechanism, c, hybrid, run, opened, flags)
    elif task == UPDATE:
        bad = update_active_region(plan, mechanism, c, hybrid, run, measure, tolerance, most, horizon)
        since = 0
    else:
        while done < steps and bad == -1:
            if since >= every:
                bad = update_active_region(plan, mechanism, c, hybrid, run, measure, tolerance, most, horizon)
                since = 0
            if bad == -1:
                bad = one_step(plan, mechanism, c, hybrid, run, h, method, keep_momentum)
            if bad == -1:
                since += 1
                done += 1
    return bad, done, since


@routine
def one_step(plan, mechanism, c, hybrid, run, h, method, keep_momentum):
    """One step of h [s] with the region as it is, or none; returns a body that failed, OVERFLOW or -1."""
    keep_start(plan, mechanism, run, hybrid.stages)
    if method == SEMI_IMPLICIT_EULER:
        bad = euler_step(plan, mechanism, c, hybrid, run, h, keep_momentum)
    else:
        bad = runge_kutta_step(plan, mechanism, c, hybrid, run, h)
    if bad == -1 and not is_finite(plan, mechanism, run):
        bad = OVERFLOW
    if bad != -1:
        go_back(plan, mechanism, c, run, hybrid.stages)
        refresh_motion(plan, mechanism, c, run)
    return bad


@routine
def euler_step(plan, mechanism, c, hybrid, run, h, keep_momentum):
    """A semi-implicit Euler step; returns a body that failed, or -1."""
    bad = accelerate(plan, mechanism, c, hybrid, run)
    if bad >= 0:
        return bad
    if keep_momentum:
        if run.counts[LOAD_COUNT] > 0 or run.counts[WRENCHED] > 0:
            gather_forces(plan, c, run)
        add_impulses(plan, mechanism, c, run, h)
    integrate(plan, mechanism, c, run, h)
    relative_motion_leaf_to_root(plan, c, run)
    twists_root_to_leaf(plan, c, run, run.active, run.counts[ACTIVE_COUNT])
    if keep_momentum:
        gather_momentum(plan, mechanism, c, run)
        correct_bases(plan, mechanism, c, run)
        twists_root_to_leaf(plan, c, run, run.active, run.counts[ACTIVE_COUNT])
    return -1


@routine
def prepare_everything(plan, mechanism, c, hybrid, run):
    """Joints, inertias, coefficients, columns and factors of everything; returns a body that failed, or -1.

    Everything is opened, assembled as at an update and closed again. Other code would do the same operations, but the
    compiler may fuse products and sums differently there, and a last bit would tell a beginning from a history.
    """
    for i in range(mechanism.tree.shape[0]):
        refresh_joint_motion(mechanism, c, run, i)
    count = plan.nodes.shape[0]
    for node in range(count):
        run.opened[node] = node
        run.flag[node] = OPEN | STALE
        store6(run.relative, node, 0, ZERO6)
    run.counts[OPEN_COUNT] = count
    run.counts[SORTED_COUNT] = count
    run.counts[ACTIVE_COUNT] = 0
    run.counts[FRONT_COUNT] = 0
    run.counts[TOUCHED] = 0
    bad = assemble_opened(plan, mechanism, c, run)
    if bad >= 0:
        return bad
    return apply_choice(plan, mechanism, c, hybrid, run)


@routine
def hold_joint(plan, mechanism, c, hybrid, run, i):
    """Stops joint i and holds it; returns a body that failed, or -1."""
    run.frozen[i] = 1
    for k in range(run.counts[ACTIVE_COUNT]):
        run.flag[run.active[k]] |= CHOSEN
    bad = lock_leaving(plan, mechanism, c, hybrid, run)
    for k in range(run.counts[ACTIVE_COUNT]):
        run.flag[run.active[k]] &= 255 - CHOSEN
    mechanism.tree[i, KIND] = FIXED
    mechanism.tree[i, DOF] = 0
    refresh_motion(plan, mechanism, c, run)
    return bad


@routine
def reopen(plan, mechanism, c, hybrid, run, opened, flags):
    """Opens the nodes `opened` (ascending) with their flags, on coefficients that were just prepared."""
    for k in range(run.flag.shape[0]):
        run.flag[k] = 0
        store6(run.relative, k, 0, ZERO6)
    active = 0
    for k in range(opened.shape[0]):
        node = opened[k]
        run.flag[node] = flags[k] & (255 - READY)
        run.opened[k] = node
        if flags[k] & ACTIVE:
            run.active[active] = node
            active += 1
    run.counts[OPEN_COUNT] = opened.shape[0]
    run.counts[SORTED_COUNT] = opened.shape[0]
    run.counts[ACTIVE_COUNT] = active
    find_front(plan, c, hybrid, run)
    attach_loads(plan, c, run)
    refresh_motion(plan, mechanism, c, run)
