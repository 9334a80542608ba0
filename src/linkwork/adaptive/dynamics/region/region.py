"""The active region: its updates, and everything that follows from a change of it.

An update asks the metrics which joints matter (`choice`), stops the ones that leave by impulses, gives nodes that became
rigid their inertia, columns and factor, and gathers the linkage that moves from then on (`reduced`). All of it goes through
one kernel: every kernel is compiled with all that it calls, and a beginning and a history must give the same bits.
Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.dynamics.reduced.gather import express_loop_forces, gather, gather_acting
from linkwork.adaptive.dynamics.reduced.reduced import GROUPS, has_group, reduced_of, write_back
from linkwork.adaptive.dynamics.region.articulated_metric import assemble_opened, take_motion
from linkwork.adaptive.dynamics.region.choice import (
    EVALUATIONS,
    LATER,
    MANY,
    MEASURE,
    MOST,
    PASSES,
    PENDING,
    READY,
    TOLERANCE,
    WANTS_ALL,
    choose,
    choose_all,
    hidden_limit,
    measure_again,
)
from linkwork.adaptive.dynamics.region.closing import close_all, close_some
from linkwork.adaptive.dynamics.region.everything import cover_all_if_dear
from linkwork.adaptive.dynamics.region.motion import refresh_active, refresh_joint_motion, refresh_velocities
from linkwork.adaptive.dynamics.region.turns import call_waiting, is_counted
from linkwork.adaptive.frontier import open_node, sort_open
from linkwork.adaptive.nodes import carries_joint, is_active, refresh_composite
from linkwork.adaptive.workspace import coefficients_of, mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import INDEX, UP
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.layout import DOF, FIXED, FREE, KIND, PARENT, V
from linkwork.simulation.constrained.stopping import stop_joints
from linkwork.simulation.moving import OK, moving_of
from linkwork.spatial.memory import store6
from linkwork.spatial.vectors import ZERO6

PREPARE, BEGIN, UPDATE, FREEZE, REOPEN, RENEW_REGION, REFRESH, ASSEMBLE, FINISH, CLOSE = range(10)  # tasks


@kernel
def perform(table, moving, task, joint, settings):
    """The one entry to everything that works on the whole region; returns OK, a body that failed, or OVERFLOW.

    PREPARE: all coefficients from nothing. BEGIN: the CHOSEN nodes become the first active region. UPDATE: the region is
    chosen anew by `settings`. FREEZE: a joint is stopped and held. REOPEN: back to the region of a checkpoint, whose
    nodes were marked. RENEW_REGION: what acts on the linkage that moves, after changes. REFRESH: coefficients of the fully
    articulated linkage at the present state, wherever it is open. ASSEMBLE: the same ahead of an update. FINISH: what an
    update left PENDING. CLOSE: some of the nodes that it left open.
    With contact `with_contact.perform_with_contact` takes its place.
    """
    return perform_task(table, moving, task, joint, settings)


@routine
def perform_task(table, moving, task, joint, settings):
    """`perform` as a subroutine of kernels."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    reduced = reduced_of(table)
    if task == FINISH:  # at the state of the update, whatever has moved since
        return finish_update(plan, mechanism, c, run, settings)
    renewed = False
    has_changed = run.counts[ws.CHANGED] != 0
    if task != PREPARE and task != REOPEN:
        write_back(moving, mechanism, run, reduced)
        if run.counts[ws.CHANGED] != 0:
            renewed = renew_changed(plan, mechanism, c, run)
    run.counts[ws.UNCHANGED] = 0
    bad = OK
    if task == PREPARE:
        bad = prepare_everything(table, plan, mechanism, c, run, reduced)
    elif task == BEGIN:
        apply_choice(table, plan, mechanism, c, run, reduced)
        close_all(plan, mechanism, c, run)
        run.counts[ws.CHANGE_COUNT] = 0
        run.counts[ws.ACTIVATED] = MANY
    elif task == UPDATE:
        bad = update(table, moving, plan, mechanism, c, run, reduced, settings)
    elif task == FREEZE:
        bad = freeze_joint(table, moving, plan, mechanism, c, run, reduced, joint)
    elif task == REFRESH or task == ASSEMBLE:
        refresh_active(table, plan, c, run)
        if task == ASSEMBLE:
            express_loop_forces(moving, plan, c, run, reduced)
        bad = assemble_opened(plan, mechanism, c, run, ws.ACTIVE | ws.REBUILD)
    elif task == CLOSE:
        close_some(plan, mechanism, c, run, settings)
    if task == ASSEMBLE or task == CLOSE:  # nothing that moves is other than before
        run.counts[ws.UNCHANGED] = 1
        if not has_changed:
            return bad
    if run.counts[ws.UNCHANGED] != 0 and renewed:
        run.counts[ws.UNCHANGED] = 0
    if bad == OK and run.counts[ws.UNCHANGED] != 0:  # the linkage that moves is the one that it was
        gather_acting(moving, plan, mechanism, c, run, reduced)
    elif bad == OK and task != PREPARE:
        gather(moving, plan, mechanism, c, run, reduced)
    return bad


@inlined
def update(table, moving, plan, mechanism, c, run, reduced, settings):
    """One update of the region; returns OK, a body that failed, or OVERFLOW."""
    if settings[READY] == 0.0:
        refresh_active(table, plan, c, run)
        express_loop_forces(moving, plan, c, run, reduced)
    wants_all = settings[WANTS_ALL] != 0.0
    if not wants_all:
        bad = choose(plan, mechanism, c, run, reduced, settings)
        if bad != OK:
            return bad
        wants_all = cover_all_if_dear(plan, mechanism, run, settings[EVALUATIONS])
    if wants_all:
        choose_all(plan, mechanism, run)
    bad, has_stopped = stop_leaving(moving, plan, mechanism, run, reduced)
    if bad != OK:
        return bad
    run.counts[ws.UNCHANGED] = 0 if apply_choice(table, plan, mechanism, c, run, reduced) else 1
    is_measured = has_stopped and not wants_all and settings[PASSES] == 0.0
    settings[PENDING] = 1.0 if is_measured else 0.0
    if is_measured:
        refresh_velocities(table, plan, c, run)
        take_motion(plan, mechanism, c, run)
        if settings[LATER] != 0.0:
            return OK
    return finish_update(plan, mechanism, c, run, settings)


@routine
def finish_update(plan, mechanism, c, run, settings):
    """After the region was applied: its bound, where that is PENDING, nodes that are closed, turns; OK or OVERFLOW."""
    bad = OK
    if settings[PENDING] != 0.0:
        settings[PENDING] = 0.0
        bad = measure_again(plan, mechanism, c, run)
    close_some(plan, mechanism, c, run, settings)
    if run.counts[ws.RESTING] > 0:
        limit = hidden_limit(run, int(settings[MEASURE]), settings[TOLERANCE])
        call_waiting(plan, mechanism, run, int(settings[MOST]), limit)
    return bad


# ------------------------------------------------------------------------------------------------------------ consequences


@routine
def stop_leaving(moving, plan, mechanism, run, reduced):
    """Stops active joints that are not CHOSEN, are frozen or are to wait, by impulses.

    Returns OK or a body that failed, and whether any of them moved.
    """
    s = moving_of(moving)
    stopping = False
    for r in range(reduced.counts[GROUPS]):
        i = reduced.joint[r]
        stops = run.flag[plan.joint[i]] & ws.CHOSEN == 0 or run.frozen[i] != 0 or run.waits[i] != 0
        reduced.stops[r] = 1 if stops else 0
        if stops:
            for d in range(s.tree[r, DOF]):
                stopping = stopping or s.v[s.tree[r, V] + d] != 0.0
                s.qdd[s.tree[r, V] + d] = 0.0
    if stopping:
        bad = stop_joints(moving, reduced.stops, reduced.at_rest)
        if bad >= 0:
            return reduced.joint[bad], True
    write_back(moving, mechanism, run, reduced)
    return OK, stopping


@inlined
def note_change(plan, run, reduced, node):
    """Whether the joint of an open node begins or ceases to move, which is counted."""
    i = plan.nodes[node, INDEX]
    if run.flag[node] & ws.CHOSEN == 0:
        run.waits[i] = 0
    before = has_group(reduced, i)
    after = run.flag[node] & ws.CHOSEN != 0 and run.waits[i] == 0
    if before == after:
        return False
    run.counts[ws.CHANGE_COUNT] += 1
    if after:
        run.counts[ws.ACTIVATED] += 1
        run.turns[i, ws.ACTIVITY] = 0.0
        run.turns[i, ws.PEAK] = 0.0
    return True


@routine
def apply_choice(table, plan, mechanism, c, run, reduced):
    """Makes the CHOSEN nodes the active region; nodes that leave it become rigid, and wait to be closed.

    Returns whether it is another region than before.
    """
    differs = False
    active = 0
    run.counts[ws.ACTIVATED] = 0
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        flag = run.flag[node]
        differs = differs or (flag & ws.ACTIVE == 0) != (flag & ws.CHOSEN == 0)
        if is_counted(plan, mechanism, node) and note_change(plan, run, reduced, node):
            differs = True
        if flag & ws.CHOSEN:
            run.flag[node] = ws.OPEN | ws.ACTIVE | ws.STALE
            run.active[active] = node
            active += 1
            continue
        if flag & (ws.ACTIVE | ws.RENEW):  # it has just become rigid, or everything begins
            store6(run.relative, node, 0, ZERO6)
            if flag & ws.ACTIVE and carries_joint(plan, node):  # it has just been stopped
                refresh_joint_motion(table, run, plan.nodes[node, INDEX])
            refresh_composite(plan, mechanism, c, run, node, True)
        if run.required_open[node] > 0 or flag & ws.DIRTY:  # what changes at every update is not closed in between
            run.flag[node] = ws.OPEN | ws.STALE
        else:
            run.flag[node] = ws.OPEN | ws.CLOSING | (flag & ws.STALE)
    run.counts[ws.ACTIVE_COUNT] = active
    return differs


@routine
def freeze_joint(table, moving, plan, mechanism, c, run, reduced, i):
    """Stops joint i and holds it; returns OK or a body that failed."""
    run.frozen[i] = 1
    for k in range(run.counts[ws.ACTIVE_COUNT]):
        run.flag[run.active[k]] |= ws.CHOSEN
    bad, _ = stop_leaving(moving, plan, mechanism, run, reduced)
    for k in range(run.counts[ws.ACTIVE_COUNT]):
        run.flag[run.active[k]] &= 255 - ws.CHOSEN
    mechanism.tree[i, KIND] = FIXED
    mechanism.tree[i, DOF] = 0
    refresh_active(table, plan, c, run)
    return bad


@routine
def renew_changed(plan, mechanism, c, run):
    """Inertias and wrenches of rigid nodes in which something changed; whether there were any."""
    renewed = False
    run.counts[ws.CHANGED] = 0
    run.counts[ws.HEAP_COUNT] = 0
    sort_open(run.opened, run.heap, run.counts)
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        if run.flag[node] & ws.RENEW:
            run.flag[node] &= 255 - ws.RENEW
            renewed = True
            if not is_active(run, node):
                refresh_composite(plan, mechanism, c, run, node, True)
    return renewed


# --------------------------------------------------------------------------------------------------------------- beginning


@routine
def prepare_everything(table, plan, mechanism, c, run, reduced):
    """Joints, inertias, coefficients, columns and factors of everything; returns OK or a body that failed.

    Everything is opened, assembled as at an update and closed again. Other code would do the same operations, but the
    compiler may fuse products and sums differently there, and a last bit would distinguish a beginning from a history.
    """
    for i in range(mechanism.tree.shape[0]):
        refresh_joint_motion(table, run, i)
    count = plan.nodes.shape[0]
    for node in range(count):
        run.opened[node] = node
        run.flag[node] = ws.OPEN | ws.STALE | ws.RENEW
        store6(run.relative, node, 0, ZERO6)
    run.counts[ws.OPEN_COUNT] = count
    run.counts[ws.SORTED_COUNT] = count
    run.counts[ws.ACTIVE_COUNT] = 0
    run.counts[ws.CHANGED] = 0
    reduced.counts[GROUPS] = 0
    bad = assemble_opened(plan, mechanism, c, run, ws.OPEN)
    if bad >= 0:
        return bad
    apply_choice(table, plan, mechanism, c, run, reduced)
    close_all(plan, mechanism, c, run)
    return OK


@kernel
def open_moving(table):
    """At the beginning every joint that moves is active, and so is the base of every floating tree."""
    plan = plan_of(table)
    run = run_of(table)
    tree = mechanism_of(table).tree
    for i in range(tree.shape[0]):
        moving = tree[i, KIND] == FREE and tree[i, PARENT] < 0
        for d in range(tree[i, DOF]):
            moving = moving or run.v[tree[i, V] + d] != 0.0
        node = plan.joint[i]
        while moving and node >= 0 and run.flag[node] & ws.CHOSEN == 0:
            open_node(run, node)
            run.flag[node] |= ws.CHOSEN
            node = plan.nodes[node, UP]
    run.counts[ws.HEAP_COUNT] = 0
    sort_open(run.opened, run.heap, run.counts)


@kernel
def want_path(table, node, change):
    """One joint more (change 1) or less (-1) that the user wants active; opens its path for the next update."""
    plan = plan_of(table)
    run = run_of(table)
    while node >= 0:
        open_node(run, node)
        run.flag[node] &= 255 - ws.CLOSING
        run.wanted[node] += change
        node = plan.nodes[node, UP]


@kernel
def collect(table, moving):
    """Coordinates, velocities and accelerations of the linkage that moves → those of the whole one."""
    write_back(moving, mechanism_of(table), run_of(table), reduced_of(table))


@kernel
def count_active(table):
    """Active joints that move; bases of floating trees are not counted."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    count = 0
    for k in range(run.counts[ws.ACTIVE_COUNT]):
        node = run.active[k]
        if is_counted(plan, mechanism, node) and run.waits[plan.nodes[node, INDEX]] == 0:
            count += 1
    return count
