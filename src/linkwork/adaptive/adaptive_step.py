"""Many adaptive steps without leaving compiled code: region updates every so often, hybrid steps in between."""

from linkwork.adaptive.hybrid_runge_kutta import runge_kutta_step
from linkwork.adaptive.hybrid_step import (
    accelerate,
    integrate,
    refresh_effort,
    refresh_joint_motion,
    relative_motion_leaf_to_root,
    twists_root_to_leaf,
)
from linkwork.adaptive.locking import lock_leaving
from linkwork.adaptive.momentum_keeping import (
    add_impulses,
    correct_bases,
    gather_forces,
    gather_momentum,
    read_momentum,
)
from linkwork.adaptive.moving_root import update_moving_root
from linkwork.adaptive.region_workspace import ACTIVE, ACTIVE_COUNT, CHANGE_COUNT, CHOSEN, READY, WRENCHED
from linkwork.adaptive.regions import apply_choice, attach_loads, find_front, refresh_motion, update_active_region
from linkwork.adaptive.rigid_nodes import refresh_composite
from linkwork.adaptive.step_start import go_back, is_finite, keep_start
from linkwork.adaptive.velocity_columns import update_columns
from linkwork.adaptive.workspace import LOAD_COUNT, OPEN_COUNT, SORTED_COUNT
from linkwork.assembly import INDEX
from linkwork.dynamics.dca import assemble_node
from linkwork.dynamics.dca_nodes import H_C, H_F
from linkwork.jit import inlined, kernel, routine
from linkwork.model.layout import DOF, FIXED, KIND
from linkwork.spatial.memory import store6
from linkwork.spatial.vectors import ZERO6

OVERFLOW = -2  # in the place of a body that failed

PREPARE, BEGIN, UPDATE, RUN, HOLD, REOPEN = range(6)
SEMI_IMPLICIT_EULER, RUNGE_KUTTA = range(2)


@kernel
def perform(
    plan, mechanism, c, hybrid, live, task, joint, opened, flags, steps, h, since, every, measure, tolerance, most,
    horizon, method, keep_momentum,
):  # fmt: skip
    """The one entry to everything that works on the whole region: every entry is compiled with all it calls.

    PREPARE: all coefficients from nothing. BEGIN: the CHOSEN nodes become the first active region. UPDATE: the region is
    chosen anew. RUN: `steps` steps. HOLD: a joint is stopped and held. REOPEN: back to the region of a checkpoint.
    Returns (a body that failed, OVERFLOW or -1, steps done, steps since the last update).
    """
    bad = -1
    done = 0
    if task == PREPARE:
        bad = prepare_everything(plan, mechanism, c, live)
    elif task == BEGIN:
        bad = apply_choice(plan, mechanism, c, hybrid, live)
        read_momentum(plan, c, live)
        live.tally[CHANGE_COUNT] = 0
    elif task == HOLD:
        bad = hold_joint(plan, mechanism, c, hybrid, live, joint)
    elif task == REOPEN:
        reopen(plan, mechanism, c, hybrid, live, opened, flags)
    elif task == UPDATE:
        bad = update_active_region(plan, mechanism, c, hybrid, live, measure, tolerance, most, horizon)
        since = 0
    else:
        while done < steps and bad == -1:
            if since >= every:
                bad = update_active_region(plan, mechanism, c, hybrid, live, measure, tolerance, most, horizon)
                since = 0
            if bad == -1:
                bad = one_step(plan, mechanism, c, hybrid, live, h, method, keep_momentum)
            if bad == -1:
                since += 1
                done += 1
    return bad, done, since


@routine
def one_step(plan, mechanism, c, hybrid, live, h, method, keep_momentum):
    """One step of h [s] with the region as it is, or none; returns a body that failed, OVERFLOW or -1."""
    keep_start(plan, mechanism, live, hybrid.stages)
    if method == SEMI_IMPLICIT_EULER:
        bad = euler_step(plan, mechanism, c, hybrid, live, h, keep_momentum)
    else:
        bad = runge_kutta_step(plan, mechanism, c, hybrid, live, h)
    if bad == -1 and not is_finite(plan, mechanism, live):
        bad = OVERFLOW
    if bad != -1:
        go_back(plan, mechanism, c, live, hybrid.stages)
        refresh_motion(plan, mechanism, c, live)
    return bad


@routine
def euler_step(plan, mechanism, c, hybrid, live, h, keep_momentum):
    """A semi-implicit Euler step; returns a body that failed, or -1."""
    bad = accelerate(plan, mechanism, c, hybrid, live)
    if bad >= 0:
        return bad
    if keep_momentum:
        if live.tally[LOAD_COUNT] > 0 or live.tally[WRENCHED] > 0:
            gather_forces(plan, c, live)
        add_impulses(plan, mechanism, c, live, h)
    integrate(plan, mechanism, c, live, h)
    relative_motion_leaf_to_root(plan, c, live)
    twists_root_to_leaf(plan, c, live, live.active, live.tally[ACTIVE_COUNT])
    if keep_momentum:
        gather_momentum(plan, mechanism, c, live)
        correct_bases(plan, mechanism, c, live)
        twists_root_to_leaf(plan, c, live, live.active, live.tally[ACTIVE_COUNT])
    return -1


@routine
def prepare_everything(plan, mechanism, c, live):
    """Joints, inertias, coefficients, columns and roots of everything, once; returns a body that failed, or -1.

    The columns are those of rigid clusters: biases of moving joints play no part in them.
    """
    nodes = plan.nodes
    for i in range(mechanism.tree.shape[0]):
        refresh_joint_motion(mechanism, c, live, i)
        store6(c.hinge, i, H_C, ZERO6)
        store6(c.hinge, i, H_F, ZERO6)
    for node in range(nodes.shape[0]):
        refresh_composite(plan, mechanism, c, live, node)
        ok = assemble_node(
            nodes, plan.block, plan.slot, node, mechanism.tree, mechanism.body, mechanism.dof, c.hinge, c.S, c.total,
            c.coef, c.phi, c.freedom, c.scratch,
        )  # fmt: skip
        if not ok:
            return nodes[node, INDEX]
        update_columns(plan, mechanism, c, live.wrench, node)
        update_moving_root(plan, mechanism, c, node)
    return -1


@routine
def hold_joint(plan, mechanism, c, hybrid, live, i):
    """Stops joint i and holds it; returns a body that failed, or -1."""
    live.held[i] = 1
    for k in range(live.tally[ACTIVE_COUNT]):
        live.flag[live.active[k]] |= CHOSEN
    bad = lock_leaving(plan, mechanism, c, hybrid, live)
    for k in range(live.tally[ACTIVE_COUNT]):
        live.flag[live.active[k]] &= 255 - CHOSEN
    fix_joint(mechanism, live, i)
    refresh_motion(plan, mechanism, c, live)
    return bad


@inlined
def fix_joint(mechanism, live, i):
    live.held[i] = 1
    mechanism.tree[i, KIND] = FIXED
    mechanism.tree[i, DOF] = 0


@routine
def reopen(plan, mechanism, c, hybrid, live, opened, flags):
    """Opens the nodes `opened` (ascending) with their flags, on coefficients that were just prepared."""
    for k in range(live.flag.shape[0]):
        live.flag[k] = 0
        store6(live.relative, k, 0, ZERO6)
    active = 0
    for k in range(opened.shape[0]):
        node = opened[k]
        live.flag[node] = flags[k] & (255 - READY)
        live.opened[k] = node
        if flags[k] & ACTIVE:
            live.active[active] = node
            active += 1
    live.tally[OPEN_COUNT] = opened.shape[0]
    live.tally[SORTED_COUNT] = opened.shape[0]
    live.tally[ACTIVE_COUNT] = active
    find_front(plan, c, hybrid, live)
    attach_loads(plan, c, live)
    refresh_motion(plan, mechanism, c, live)


@kernel
def take_momentum(plan, c, live):
    """The figures' present momentum is what is kept from now on."""
    read_momentum(plan, c, live)


@kernel
def renew_motion(plan, mechanism, c, live):
    """After the user changed velocities or loads."""
    attach_loads(plan, c, live)
    refresh_motion(plan, mechanism, c, live)


@kernel
def set_effort(mechanism, c, live, i, first, effort):
    """Replaces efforts of joint i, from velocity `first` on."""
    for d in range(effort.shape[0]):
        live.effort[first + d] = effort[d]
    refresh_effort(mechanism, c, live, i)


@kernel
def set_motor(mechanism, c, live, i, first, rows):
    """Replaces the motor of joint i: a row (stiffness, damping, position, velocity) a degree of freedom."""
    for d in range(rows.shape[0]):
        for k in range(4):
            live.motor[first + d, k] = rows[d, k]
    refresh_effort(mechanism, c, live, i)


@kernel
def set_held(mechanism, live, i, held):
    """Marks a joint as held inactive or not, and does nothing else."""
    if held:
        fix_joint(mechanism, live, i)
    else:
        live.held[i] = 0
        mechanism.tree[i, KIND] = mechanism.whole_tree[i, KIND]
        mechanism.tree[i, DOF] = mechanism.whole_tree[i, DOF]
