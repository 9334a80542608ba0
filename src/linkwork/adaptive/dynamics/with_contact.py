"""Contact of the linkage that moves: what the search is given of the region, and contact forces that act on the metrics.

The search has volumes on the same assembly tree as the region. Active nodes are open; everything below them is rigid, with
volumes and places that stay as they were when it became so.
"""

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.dynamics.reduced.gather import body_in_group
from linkwork.adaptive.dynamics.reduced.reduced import FIRST_FORCE, GROUPS, PRESSED, WORLD, joint_pose, reduced_of
from linkwork.adaptive.dynamics.region.choice import MANY, NOT_READY, READY
from linkwork.adaptive.dynamics.region.choice import TIMEOUT as CHOSEN_TIMEOUT
from linkwork.adaptive.dynamics.region.region import (
    ASSEMBLE,
    BEGIN,
    FREEZE,
    REOPEN,
    UPDATE,
    perform_task,
)
from linkwork.adaptive.dynamics.region.squeezing import is_welded, press, sum_pressed
from linkwork.adaptive.nodes import is_active, mark_path
from linkwork.adaptive.workspace import (
    Coefficients,
    Mechanism,
    Plan,
    Run,
    coefficients_of,
    mechanism_of,
    plan_of,
    run_of,
)
from linkwork.assembly.node_table import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.contact.contact_list import COUNT, PARTED, POINT, SUMMED
from linkwork.contact.travel import forget_clearances
from linkwork.contact.volumes import REGION, make_open, make_rigid
from linkwork.core.bundles import place_of, set_rows
from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.dynamics.dca.nodes import H_F
from linkwork.model.layout import DOF, V
from linkwork.simulation.contact_step.arrays import (
    BREAK_TIMEOUT,
    CHANGED,
    ROWS_OF_OPEN_NODES,
    STEP,
    UPDATE_TIMEOUT,
    contact_arrays_of,
    contacts_of,
)
from linkwork.simulation.contact_step.search.rigid_groups import measure_travel, volumes_of
from linkwork.simulation.loading.accelerate import place_and_move
from linkwork.simulation.moving import COMPOSITES_READY, OK, moving_of
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3, cross3, dot3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6, compose_pose, join

MOST_CONTACT_FORCES = 512  # contacts whose forces act on the metrics
ROWS_OF_FORCES = tuple(place_of(Run, name, Plan, Mechanism, Coefficients) for name in ("loop_body", "loop_wrench"))


@kernel
def follow_limits(table, moving):
    """After a change of the region: where the velocities of the moving linkage stand in the model."""
    place_velocities(table, moving)


@routine
def place_velocities(table, moving):
    tree = mechanism_of(table).tree
    s = moving_of(moving)
    t = contact_arrays_of(moving)
    reduced = reduced_of(table)
    for r in range(reduced.counts[GROUPS]):
        i = reduced.joint[r]
        for d in range(s.tree[r, DOF]):
            t.model_dof[s.tree[r, V] + d] = tree[i, V] + d


@kernel
def perform_with_contact(table, moving, task, joint, settings):
    """`region.perform` of a linkage with contact: before an update, or what is assembled ahead of it, the forces of
    contacts act on the metrics; after a change of the region the search follows it.

    Like the steps between which it is called, it takes subnormals for zero.
    """
    mode = flush_subnormals()
    goes_on = task == UPDATE or task == FREEZE  # from where the linkage that moves is
    if task == UPDATE:
        counts = contact_arrays_of(moving).counts
        if counts[CHANGED] != 0:
            run_of(table).counts[ws.ACTIVATED] = MANY
        counts[CHANGED], counts[BREAK_TIMEOUT] = 0, int(settings[CHOSEN_TIMEOUT])
        counts[UPDATE_TIMEOUT] = counts[BREAK_TIMEOUT]
    if task == ASSEMBLE or (task == UPDATE and settings[READY] == NOT_READY):
        renew_contact_forces(table, moving)
    if goes_on:
        note_travel(moving)
    status = perform_task(table, moving, task, joint, settings)
    has_moved = goes_on or task == BEGIN or task == REOPEN
    if status == OK and has_moved and run_of(table).counts[ws.UNCHANGED] == 0:
        follow_region(table, moving, not goes_on)
    restore_mode(mode)
    return status


@routine
def note_travel(moving):
    """Before a change of the region: how far its rigid groups have gone since the last search. Cost: O(active joints)."""
    s = moving_of(moving)
    if s.counts[COMPOSITES_READY] == 0:  # otherwise the end of the last step has placed all bodies
        for i in range(s.tree.shape[0]):
            place_and_move(s, i)
    measure_travel(moving, volumes_of(moving))


@routine
def follow_region(table, moving, forget):
    """After a change of the region: nodes that left it become rigid with their present volumes, those in it are open.

    forget: bodies may be elsewhere than before, so that no distance is known any more.
    Cost: O(nodes that were or are active); O(n) to forget.
    """
    place_velocities(table, moving)
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    volumes = volumes_of(moving)
    t = contact_arrays_of(moving)
    for o in range(t.open_nodes.shape[0]):
        k = t.open_nodes[o]
        if not is_active(run, k):
            place_inside(plan, c, volumes, k)
            make_rigid(volumes, k)
    count = run.counts[ws.ACTIVE_COUNT]
    set_rows(moving, ROWS_OF_OPEN_NODES, count)
    opened = contact_arrays_of(moving).open_nodes
    for k in range(count - 1, -1, -1):
        opened[k] = run.active[k]
        make_open(volumes, run.active[k])
    volumes.region_state[REGION] += 1.0
    if forget:
        volumes.region_state[REGION] += 1.0  # no group is one that was
        forget_clearances(volumes)


@kernel
def open_all(table, moving):
    """Every node is open, so that the next `follow_region` forms the volumes of all rigid ones anew."""
    volumes = volumes_of(moving)
    count = plan_of(table).nodes.shape[0]
    set_rows(moving, ROWS_OF_OPEN_NODES, count)
    opened = contact_arrays_of(moving).open_nodes
    for k in range(count):
        opened[k] = k
        volumes.rigid[k] = 0


@inlined
def place_inside(plan, c, volumes, node):
    """Places of the parts of a node that becomes rigid, in the node's frame; in the world they were before."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    for side in (LEFT, RIGHT):
        child = nodes[node, side]
        if child < 0:
            continue
        R, p = IDENTITY3, ZERO3
        if (kind == JOIN and side == RIGHT) or kind == HANG:
            R, p = joint_pose(c, nodes[node, INDEX])
        if kind == JOIN and side == RIGHT:
            left = nodes[node, LEFT]
            R, p = compose_pose(load9(c.composite, left, ws.P_R), load3(c.composite, left, ws.P_P), R, p)
        store9(volumes.place, child, 0, R)
        store3(volumes.place, child, 9, p)


@routine
def renew_contact_forces(table, moving):
    """The forces of contacts in the last step act on the metrics; the paths of their bodies are held open.

    They stand behind those of loops in `loop_body` and `loop_wrench`, from row FIRST_FORCE on, two per contact; body -1 is
    the world, or nothing. The table shows as many rows as there are contacts; those behind them are empty. Needs the region
    in which that step was made. Cost: O(contacts log n).
    """
    run = run_of(table)
    first = reduced_of(table).counts[FIRST_FORCE]
    hold_paths(table, first, -1)
    for k in range(first, run.loop_body.shape[0]):
        if run.loop_body[k] >= 0:
            run.loop_body[k] = -1
            store6(run.loop_wrench, k, 0, ZERO6)
    number = contacts_of(moving).number
    count = min(number[COUNT] + number[PARTED], MOST_CONTACT_FORCES)
    for k in range(len(ROWS_OF_FORCES)):
        set_rows(table, ROWS_OF_FORCES[k], first + 2 * count)
    reduced = reduced_of(table)
    reduced.counts[PRESSED] = 0
    express_contact_forces(table, moving, first)
    sum_pressed(moving_of(moving), reduced)
    hold_paths(table, first, 1)


def show_all_forces(table, rows):
    """Forces were put in by hand: the table shows all rows of them until they are found anew. Not for kernels."""
    for place in ROWS_OF_FORCES:
        table[place] = rows


@routine
def hold_paths(table, first, loads):
    """Contact forces begin (loads 1) or end (-1) to act on their bodies."""
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    for k in range(first, run.loop_body.shape[0]):
        body = run.loop_body[k]
        if body >= 0:
            store6(c.joint_data, body, H_F, load6(run.wrench, body, 0))
            mark_path(plan, run, plan.leaf[body], loads, ws.STALE)


@routine
def express_contact_forces(table, moving, first):
    """Forces of contacts in the last step, on bodies of the model and in their frames; what bounced in an early part of it
    and has parted comes last."""
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    reduced = reduced_of(table)
    s = moving_of(moving)
    t = contact_arrays_of(moving)
    contacts = contacts_of(moving)
    h = t.totals[STEP]
    if h <= 0.0:
        return
    tree, listed = mechanism_of(table).model_tree, contacts.number[COUNT]
    rows = (run.loop_body.shape[0] - first) // 2
    for k in range(listed + contacts.number[PARTED]):
        i = k if k < listed else k - listed
        impulse = load3(contacts.summed, i, 0) if k < listed else load3(contacts.parted, i, SUMMED)
        point = load3(contacts.data, i, POINT) if k < listed else load3(contacts.parted, i, POINT)
        groups, squeezes = (WORLD, WORLD), True
        for side in range(2):
            body = contacts.ids[i, side] if k < listed else contacts.parted_ids[i, side]
            squeezes = squeezes and not is_welded(tree, body)
            if body < 0 or dot3(impulse, impulse) == 0.0:
                continue
            group, R, p = body_in_group(plan, c, run, reduced, body)
            groups = (groups[1], group)
            if k >= rows:
                continue
            row = first + 2 * k + side
            run.loop_body[row] = body
            if group >= 0:
                R, p = compose_pose(load9(s.world, group, 0), load3(s.world, group, 9), R, p)
            f = scale3((1.0 if side == 0 else -1.0) / h, impulse)
            n = cross3(sub3(point, p), f)
            store6(run.loop_wrench, row, 0, join(tmatvec3(R, n), tmatvec3(R, f)))
        if squeezes:
            press(reduced, groups[0], groups[1], point, scale3(1.0 / h, impulse))
