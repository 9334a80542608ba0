"""After a step only what moved is updated: poses, loads and coefficients of the open nodes, children before parents."""

from linkwork.adaptive.frontier import open_node, sort_open
from linkwork.adaptive.metric.factor import update_root
from linkwork.adaptive.quasi_statics.workspace import (
    CLOSING,
    DIRTY,
    HEAP_COUNT,
    LOAD_COUNT,
    OPEN_COUNT,
    P_MASS,
    P_MOMENT,
    P_P,
    P_R,
    SORTED_COUNT,
    STALE,
    UPDATED_COUNT,
)
from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.jit import inlined, keep_out_of_line, kernel, routine
from linkwork.dynamics.dca.nodes import H_F, H_P, H_R
from linkwork.dynamics.dca.sweeps import assemble_node
from linkwork.model.joint_kernels import body_pose, helical_pose, joint_motion, joint_passive_effort
from linkwork.model.layout import DOF, FREE, HELICAL, INERTIA, KIND, SPHERICAL, STIFFNESS, Q, V
from linkwork.simulation.loads import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET, LOAD_TORQUE
from linkwork.spatial.memory import add_to6, load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3, add3, cross3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import compose_pose, join


@routine
def refresh_joint(mechanism, coefficients, live, i):
    """Pose, motion subspace and effort of a joint at its present coordinates: the same bits in every kernel that asks."""
    keep_out_of_line()
    tree = mechanism.tree
    j = tree[i, V]
    k = tree[i, Q]
    if tree[i, KIND] == HELICAL:
        R, p = helical_pose(mechanism.body, i, live.q[k])
        coefficients.total[j] = live.effort[j] - mechanism.dof[j, STIFFNESS] * (live.q[k] - mechanism.rest[k])
    else:
        R, p = body_pose(tree, mechanism.body, mechanism.screws, i, live.q)
        joint_motion(tree, mechanism.body, mechanism.screws, i, live.q, live.still, coefficients.S)
        for d in range(tree[i, DOF]):
            coefficients.total[j + d] = live.effort[j + d]
        joint_passive_effort(tree, mechanism.dof, mechanism.rest, i, live.q, live.still, coefficients.total)
    store9(coefficients.hinge, i, H_R, R)
    store3(coefficients.hinge, i, H_P, p)


@inlined
def refresh_place(nodes, node, body, hinge, place):
    """Pose of a cluster's last body in its first, and its mass and moment of mass, from its children."""
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    i = nodes[node, INDEX]
    mass = 0.0
    moment = ZERO3
    if kind == BODY:
        mass = body[i, INERTIA]
        moment = load3(body, i, INERTIA + 1)
        if left >= 0:
            mass += place[left, P_MASS]
            moment = add3(moment, load3(place, left, P_MOMENT))
        store9(place, node, P_R, IDENTITY3)
        store3(place, node, P_P, ZERO3)
    elif kind == JOIN:
        right = nodes[node, RIGHT]
        R, p = compose_pose(
            load9(place, left, P_R), load3(place, left, P_P), load9(hinge, i, H_R), load3(hinge, i, H_P)
        )
        mass = place[left, P_MASS] + place[right, P_MASS]
        moment = add3(load3(place, left, P_MOMENT), moved_moment(R, p, place, right))
        R, p = compose_pose(R, p, load9(place, right, P_R), load3(place, right, P_P))
        store9(place, node, P_R, R)
        store3(place, node, P_P, p)
    elif kind == HANG:
        mass = place[left, P_MASS]
        moment = moved_moment(load9(hinge, i, H_R), load3(hinge, i, H_P), place, left)
    else:
        right = nodes[node, RIGHT]
        mass = place[left, P_MASS] + place[right, P_MASS]
        moment = add3(load3(place, left, P_MOMENT), load3(place, right, P_MOMENT))
    place[node, P_MASS] = mass
    store3(place, node, P_MOMENT, moment)


@inlined
def moved_moment(R, p, place, node):
    return add3(matvec3(R, load3(place, node, P_MOMENT)), scale3(place[node, P_MASS], p))


@routine
def place_in_world(nodes, opened, count, hinge, place, world):
    """World poses along the open tree, root to leaf: of the first body of each child of an open node."""
    for k in range(count - 1, -1, -1):
        node = opened[k]
        if nodes[node, UP] < 0:
            store9(world, node, 0, IDENTITY3)
            store3(world, node, 9, ZERO3)
        R = load9(world, node, 0)
        p = load3(world, node, 9)
        left = nodes[node, LEFT]
        kind = nodes[node, NODE_KIND]
        i = nodes[node, INDEX]
        if kind == HANG:
            R, p = compose_pose(R, p, load9(hinge, i, H_R), load3(hinge, i, H_P))
        if left >= 0:
            store9(world, left, 0, R)
            store3(world, left, 9, p)
        if kind == JOIN:
            R, p = compose_pose(R, p, load9(place, left, P_R), load3(place, left, P_P))
            R, p = compose_pose(R, p, load9(hinge, i, H_R), load3(hinge, i, H_P))
        if nodes[node, RIGHT] >= 0:
            store9(world, nodes[node, RIGHT], 0, R)
            store3(world, nodes[node, RIGHT], 9, p)


@routine
def express_loads(leaf, load, load_body, count, wrench, world, hinge):
    """World-fixed forces and springs to world points, as wrenches in the frames of the bodies they act on."""
    for k in range(count):
        i = load_body[k]
        store6(hinge, i, H_F, load6(wrench, i, 0))
    for k in range(count):
        i = load_body[k]
        node = leaf[i]
        R = load9(world, node, 0)
        at = load3(load, k, LOAD_AT)
        force = load3(load, k, LOAD_FORCE)
        stiffness = load[k, LOAD_STIFFNESS]
        if stiffness != 0.0:
            point = add3(matvec3(R, at), load3(world, node, 9))
            force = add3(force, scale3(stiffness, sub3(load3(load, k, LOAD_TARGET), point)))
        f = tmatvec3(R, force)
        n = add3(tmatvec3(R, load3(load, k, LOAD_TORQUE)), cross3(at, f))
        add_to6(hinge, i, H_F, join(n, f))


@inlined
def flush(plan, mechanism, coefficients, live):
    """Brings every coefficient up to date and closes the nodes that wait for it; returns a body that failed, or -1."""
    nodes = plan.nodes
    live.tally[HEAP_COUNT] = 0  # the frontier is gathered anew; until then its memory serves the sort
    sort_open(live.opened, live.heap, live.tally)
    count = live.tally[OPEN_COUNT]
    for k in range(count):
        node = live.opened[k]
        if live.flag[node] & DIRTY:
            refresh_place(nodes, node, mechanism.body, coefficients.hinge, coefficients.place)
    loads = live.tally[LOAD_COUNT]
    if loads > 0:
        place_in_world(nodes, live.opened, count, coefficients.hinge, coefficients.place, live.world)
        express_loads(live.leaf, live.load, live.load_body, loads, live.wrench, live.world, coefficients.hinge)
    kept = 0
    updated = 0
    for k in range(count):
        node = live.opened[k]
        flag = live.flag[node]
        if flag & DIRTY:
            updated += 1
            ok = assemble_node(
                nodes, plan.block, plan.slot, node, mechanism.tree, mechanism.body, mechanism.dof,
                coefficients.hinge, coefficients.S, coefficients.total, coefficients.coef, coefficients.phi,
                coefficients.freedom, coefficients.scratch,
            )  # fmt: skip
            if not ok:
                return nodes[node, INDEX]
            flag = (flag & ~DIRTY) | STALE
        if flag & CLOSING:
            if flag & STALE:
                update_root(
                    nodes, plan.block, node, mechanism.tree, coefficients.hinge, coefficients.total,
                    coefficients.coef, coefficients.freedom, mechanism.weight, coefficients.root, plan.root_at,
                    coefficients.rows, coefficients.root_scratch,
                )  # fmt: skip
            live.flag[node] = 0
            close_joint(nodes, node, mechanism.tree, live)
        else:
            live.flag[node] = flag
            live.opened[kept] = node
            kept += 1
    live.tally[OPEN_COUNT] = kept
    live.tally[SORTED_COUNT] = kept
    live.tally[UPDATED_COUNT] = updated
    return -1


@inlined
def close_joint(nodes, node, tree, live):
    """A closed node's joint is no longer computed; its coordinates stay, and are what going back must find."""
    kind = nodes[node, NODE_KIND]
    if kind == JOIN or kind == HANG:
        i = nodes[node, INDEX]
        for d in range(tree[i, DOF]):
            live.qdd[tree[i, V] + d] = 0.0
            live.glide[tree[i, V] + d] = 0.0
        copy_joint(tree, i, live.q, live.kept_q)


@inlined
def copy_joint(tree, i, source, target):
    """Copies the coordinates of joint i."""
    first = tree[i, Q]
    width = tree[i, DOF]
    if tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE:
        width += 1
    for c in range(width):
        target[first + c] = source[first + c]


@kernel
def touch_path(plan, live, node, pin):
    """Something changed at a node: opens its path to the root and marks it; `pin` counts the loads that keep it open."""
    while node >= 0:
        open_node(live, node)
        live.flag[node] = (live.flag[node] | DIRTY) & ~CLOSING
        live.pin[node] += pin
        node = plan.nodes[node, UP]


@kernel
def set_joint_effort(mechanism, coefficients, live, i, first, effort):
    """Replaces efforts of joint i, from velocity `first` on; springs are added afresh, so that nothing of the old stays."""
    for d in range(effort.shape[0]):
        live.effort[first + d] = effort[d]
    refresh_joint(mechanism, coefficients, live, i)


@kernel
def set_fixed_wrench(coefficients, live, i, wrench):
    """Replaces the wrench fixed in a body's frame."""
    for c in range(6):
        live.wrench[i, c] = wrench[c]
        coefficients.hinge[i, H_F + c] = wrench[c]


@kernel
def prepare_all(plan, mechanism, coefficients, live):
    """Joints and places of everything, once, before the first step."""
    for i in range(mechanism.tree.shape[0]):
        refresh_joint(mechanism, coefficients, live, i)
        store6(coefficients.hinge, i, H_F, load6(live.wrench, i, 0))
    for node in range(plan.nodes.shape[0]):
        refresh_place(plan.nodes, node, mechanism.body, coefficients.hinge, coefficients.place)
