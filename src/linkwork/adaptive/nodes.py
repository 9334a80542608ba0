"""What both simulations ask of a node of the assembly tree: its joint, its pose, and itself as one rigid body."""

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.frontier import open_node
from linkwork.adaptive.workspace import coefficients_of, mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.jit import inlined, keep_out_of_line, kernel, routine
from linkwork.dynamics.dca.nodes import H_F, H_P, H_R, NodeArrays
from linkwork.model.kernels.joint_kernels import body_motion, joint_passive_effort, joint_spring_energy
from linkwork.model.layout import COMPOUND, DAMPING, DOF, FREE, HELICAL, INERTIA, KIND, SPHERICAL, STIFFNESS, Q, V
from linkwork.simulation.loading.load_columns import wrench_of_load
from linkwork.simulation.loading.motor_law import motor_law
from linkwork.spatial.inertia import add10, rigid_to_parent
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9, store10
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.vectors import add6, compose_pose, wrench_to_parent

# ------------------------------------------------------------------------------------------------------------------ joints


@inlined
def node_arrays(plan, mechanism, c):
    """What `assemble_node` works on."""
    return NodeArrays(
        plan.nodes, plan.block, plan.slot, mechanism.tree, mechanism.body, mechanism.dof, c.joint_data, c.S,
        c.effort_sum, c.node_data, c.handed_up, c.dof_rows, c.scratch,
    )  # fmt: skip


@inlined
def carries_joint(plan, node):
    """Whether a node has a joint of its own: a JOIN or HANG."""
    kind = plan.nodes[node, NODE_KIND]
    return kind == JOIN or kind == HANG


@inlined
def is_active(run, node):
    return run.flag[node] & ws.ACTIVE != 0


@inlined
def copy_joint(tree, i, source, target):
    """Copies the coordinates of joint i."""
    first = tree[i, Q]
    width = tree[i, DOF]
    if tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE:
        width += 1
    for c in range(width):
        target[first + c] = source[first + c]


@inlined
def sum_helical_effort(mechanism, c, run, i):
    """Efforts of a joint of one freedom: given, of its damper, spring and motor."""
    j = mechanism.model_tree[i, V]
    k = mechanism.model_tree[i, Q]
    effort = run.effort[j] - mechanism.dof[j, DAMPING] * run.v[j]
    effort -= mechanism.dof[j, STIFFNESS] * (run.q[k] - mechanism.rest[k])
    motor_effort, _, _ = motor_law(
        run.motor, mechanism.effort_limit, mechanism.velocity_limit, j, run.q[k], run.v[j], 0.0, run.v[j]
    )
    c.effort_sum[j] = effort + motor_effort


@routine
def refresh_joint(table, i):
    """Pose, motion subspace and efforts (given, spring, damper, motor) of a joint; returns S q̇ and its bias.

    The same bits in every kernel that asks.
    """
    keep_out_of_line()
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    tree = mechanism.model_tree
    R, p, VJ, cJ = body_motion(tree, mechanism.body, mechanism.screws, i, run.q, run.v, c.S[:, 0:6])
    store9(c.joint_data, i, H_R, R)
    store3(c.joint_data, i, H_P, p)
    j = tree[i, V]
    if tree[i, KIND] == HELICAL:
        sum_helical_effort(mechanism, c, run, i)
        return VJ, cJ
    for d in range(tree[i, DOF]):
        c.effort_sum[j + d] = run.effort[j + d]
    joint_passive_effort(tree, mechanism.dof, mechanism.rest, i, run.q, run.v, c.effort_sum)
    if tree[i, KIND] == COMPOUND:
        k = tree[i, Q]
        for d in range(tree[i, DOF]):
            effort, _, _ = motor_law(
                run.motor,
                mechanism.effort_limit,
                mechanism.velocity_limit,
                j + d,
                run.q[k + d],
                run.v[j + d],
                0.0,
                run.v[j + d],
            )
            c.effort_sum[j + d] += effort
    return VJ, cJ


# -------------------------------------------------------------------------------------------------------------------- poses


@inlined
def lower_pose(nodes, node, joint_data, composite):
    """Pose of the first body below a JOIN's or HANG's joint in the node's own frame."""
    i = nodes[node, INDEX]
    R = load9(joint_data, i, H_R)
    p = load3(joint_data, i, H_P)
    if nodes[node, NODE_KIND] == JOIN:
        left = nodes[node, LEFT]
        R, p = compose_pose(load9(composite, left, ws.P_R), load3(composite, left, ws.P_P), R, p)
    return R, p


@routine
def place_in_world(nodes, members, count, joint_data, composite, world):
    """World poses of the first bodies of all children of `members` (ascending, closed upward), root to leaf."""
    for k in range(count - 1, -1, -1):
        node = members[k]
        if nodes[node, UP] < 0:
            store9(world, node, 0, IDENTITY3)
            store3(world, node, 9, ZERO3)
        R = load9(world, node, 0)
        p = load3(world, node, 9)
        left = nodes[node, LEFT]
        right = nodes[node, RIGHT]
        kind = nodes[node, NODE_KIND]
        if kind == JOIN or kind == HANG:
            Rb, pb = lower_pose(nodes, node, joint_data, composite)
            Rb, pb = compose_pose(R, p, Rb, pb)
            lower = right if kind == JOIN else left
            store9(world, lower, 0, Rb)
            store3(world, lower, 9, pb)
        elif right >= 0:
            store9(world, right, 0, R)
            store3(world, right, 9, p)
        if left >= 0 and kind != HANG:
            store9(world, left, 0, R)
            store3(world, left, 9, p)


@inlined
def refresh_composite(plan, mechanism, c, run, node, with_loads):
    """A node as one rigid body: pose of its last body, inertia, wrench and spring energy, from its children.

    with_loads: a constant. False: of the inertia only mass and first moment, and no wrench; at rest no more is needed.
    """
    nodes = plan.nodes
    composite = c.composite
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    i = nodes[node, INDEX]
    if kind == BODY:
        inertia = load10(mechanism.body, i, INERTIA)
        force = load6(run.wrench, i, 0)
        spring = 0.0
        if left >= 0:
            inertia = add10(inertia, load10(composite, left, ws.P_INERTIA))
            force = add6(force, load6(composite, left, ws.P_FORCE))
            spring = composite[left, ws.P_SPRING]
        store9(composite, node, ws.P_R, IDENTITY3)
        store3(composite, node, ws.P_P, ZERO3)
    elif kind == JOIN or kind == HANG:
        R, p = lower_pose(nodes, node, c.joint_data, composite)
        below = nodes[node, RIGHT] if kind == JOIN else left
        inertia = rigid_to_parent(R, p, load10(composite, below, ws.P_INERTIA))
        force = wrench_to_parent(R, p, load6(composite, below, ws.P_FORCE))
        spring = composite[below, ws.P_SPRING]
        spring += joint_spring_energy(mechanism.model_tree, mechanism.dof, mechanism.rest, i, run.q)
        if kind == JOIN:
            inertia = add10(load10(composite, left, ws.P_INERTIA), inertia)
            force = add6(load6(composite, left, ws.P_FORCE), force)
            spring += composite[left, ws.P_SPRING]
            R, p = compose_pose(R, p, load9(composite, below, ws.P_R), load3(composite, below, ws.P_P))
            store9(composite, node, ws.P_R, R)
            store3(composite, node, ws.P_P, p)
    else:
        right = nodes[node, RIGHT]
        inertia = add10(load10(composite, left, ws.P_INERTIA), load10(composite, right, ws.P_INERTIA))
        force = add6(load6(composite, left, ws.P_FORCE), load6(composite, right, ws.P_FORCE))
        spring = composite[left, ws.P_SPRING] + composite[right, ws.P_SPRING]
    if with_loads:
        store10(composite, node, ws.P_INERTIA, inertia)
        store6(composite, node, ws.P_FORCE, force)
    else:
        composite[node, ws.P_INERTIA] = inertia[0]
        store3(composite, node, ws.P_MOMENT, (inertia[1], inertia[2], inertia[3]))
    composite[node, ws.P_SPRING] = spring


# -------------------------------------------------------------------------------------------------------------------- loads


@inlined
def load_wrench(plan, run, k):
    """World load k as a wrench on its body, in the body's frame; needs the world pose of its leaf."""
    node = plan.leaf[run.load_body[k]]
    return wrench_of_load(run.load, k, load9(run.world, node, 0), load3(run.world, node, 9))


@inlined
def add_loop_wrenches(c, run):
    """Adds the wrenches of loops to those on the bodies at their ends, whose paths are always open."""
    for k in range(run.loop_body.shape[0]):
        if run.loop_body[k] >= 0:
            add_to6(c.joint_data, run.loop_body[k], H_F, load6(run.loop_wrench, k, 0))


# ------------------------------------------------------------------------------------------------------------------ changes


@inlined
def mark_path(plan, run, node, loads, marks):
    """Something changed at a node: opens its path to the root and marks it with flags.

    loads: 1 when a load that holds the path open begins to act there, -1 when one ends, else 0. A path whose numbers alone
    changed is followed up to where another one was marked before: k of them cost O(k log(n/k)).
    """
    run.counts[ws.CHANGED] = 1
    while node >= 0:
        flag = run.flag[node]
        if loads == 0 and flag & (marks | ws.OPEN | ws.CLOSING) == marks | ws.OPEN:
            return
        open_node(run, node)
        run.flag[node] = (run.flag[node] | marks) & (255 - ws.CLOSING)
        run.required_open[node] += loads
        node = plan.nodes[node, UP]


@kernel
def mark_bodies(table, bodies, loads, marks):
    """Loads on bodies are others; loads and marks: as for `mark_path`."""
    plan = plan_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    for k in range(bodies.shape[0]):
        store6(c.joint_data, bodies[k], H_F, load6(run.wrench, bodies[k], 0))
        mark_path(plan, run, plan.leaf[bodies[k]], loads, marks)


@kernel
def mark_joints(table, joints, marks):
    """Efforts of joints are others."""
    plan = plan_of(table)
    run = run_of(table)
    for k in range(joints.shape[0]):
        refresh_joint(table, joints[k])
        mark_path(plan, run, plan.joint[joints[k]], 0, marks)
