"""The rigid groups between active joints: where they stand, what they weigh, and what acts on them."""

from linkwork.adaptive.dynamics.reduced.reduced import WORLD, joint_pose, load_pose, moves, store_pose
from linkwork.adaptive.nodes import is_active
from linkwork.adaptive.workspace import ACTIVE_COUNT, P_FORCE, P_INERTIA, P_P, P_R, P_SPRING
from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.joint_kernels import joint_spring_energy
from linkwork.model.layout import INERTIA, PARENT, POSITION, ROTATION
from linkwork.simulation.moving import moving_of
from linkwork.spatial.inertia import rigid_to_parent
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3, dot3
from linkwork.spatial.vectors import compose_pose, wrench_to_parent


@inlined
def last_of(plan, c, run, reduced, node):
    """Where the last body of a cluster stands: joint of its group (WORLD: that of the first body), and its pose there."""
    if is_active(run, node) and plan.nodes[node, NODE_KIND] == JOIN:
        R, p = load_pose(reduced.last_pose, node)
        return reduced.last[node], R, p
    return WORLD, load9(c.composite, node, P_R), load3(c.composite, node, P_P)


@routine
def find_last_bodies(plan, mechanism, c, run, reduced):
    """Leaf to root: the group in which the last body of each active cluster stands, as seen from its first body."""
    nodes = plan.nodes
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        if nodes[node, NODE_KIND] != JOIN:
            continue
        i = nodes[node, INDEX]
        joint, R, p = last_of(plan, c, run, reduced, nodes[node, RIGHT])
        if joint == WORLD:  # in the group of the first body behind the joint
            if moves(mechanism, run, i):
                joint = i
            else:
                upper, Ru, pu = last_of(plan, c, run, reduced, nodes[node, LEFT])
                Ri, pi = joint_pose(c, i)
                Ri, pi = compose_pose(Ru, pu, Ri, pi)
                R, p = compose_pose(Ri, pi, R, p)
                joint = upper
        reduced.last[node] = joint
        store_pose(reduced.last_pose, node, R, p)


@inlined
def stand(reduced, node, group, R, p):
    """A node's frame stands in a group."""
    reduced.group[node] = group
    store_pose(reduced.pose, node, R, p)


@inlined
def is_identity(R, p):
    """Of a rotation and a position."""
    return R[0] == 1.0 and R[4] == 1.0 and R[8] == 1.0 and p[0] == 0.0 and p[1] == 0.0 and p[2] == 0.0


@inlined
def add_rigid(s, group, R, p, inertia):
    """Inertia of a rigid node at a pose in its group; returns the potential energy of one welded to the world."""
    moved = inertia
    if not is_identity(R, p):  # most nodes begin with the first body of their group
        moved = rigid_to_parent(R, p, inertia)
    if group == WORLD:
        return -dot3((s.gravity[0], s.gravity[1], s.gravity[2]), (moved[1], moved[2], moved[3]))
    for e in range(10):
        s.body[group, INERTIA + e] += moved[e]
    return 0.0


@inlined
def add_wrench(s, group, R, p, wrench):
    if group != WORLD and s.wrench.shape[0] > 0:
        add_to6(s.wrench, group, 0, wrench_to_parent(R, p, wrench))


@inlined
def hang_group(s, mechanism, reduced, i, group, R, p):
    """Joint i is cut: its group hangs from another (or from the world), at the joint's zero frame."""
    r = reduced.number[i]
    R0, p0 = compose_pose(R, p, load9(mechanism.body, i, ROTATION), load3(mechanism.body, i, POSITION))
    s.tree[r, PARENT] = group
    store9(s.body, r, ROTATION, R0)
    store3(s.body, r, POSITION, p0)


@routine
def place_nodes(table, plan, mechanism, c, run, reduced):
    """Root to leaf: where each active node and the rigid ones right below stand; inertias and wrenches of all groups.

    Returns the potential energy of what does not move: weight of what is welded to the world, springs of joints that rest.
    """
    s = moving_of(table)
    nodes = plan.nodes
    potential = 0.0
    count = run.counts[ACTIVE_COUNT]
    if nodes.shape[0] > 0:
        root = nodes.shape[0] - 1
        stand(reduced, root, WORLD, IDENTITY3, ZERO3)
        if count == 0:
            potential += add_rigid_node(s, c, reduced, root)
    for k in range(count - 1, -1, -1):
        node = run.active[k]
        kind = nodes[node, NODE_KIND]
        left = nodes[node, LEFT]
        right = nodes[node, RIGHT]
        group = reduced.group[node]
        R, p = load_pose(reduced.pose, node)
        i = nodes[node, INDEX]
        if kind == JOIN or kind == HANG:
            lower = left
            Ru, pu = R, p
            upper = group
            if kind == JOIN:
                lower = right
                stand(reduced, left, group, R, p)
                joint, Rl, pl = last_of(plan, c, run, reduced, left)
                if joint == WORLD and is_identity(R, p):
                    Ru, pu = Rl, pl
                elif joint == WORLD:
                    Ru, pu = compose_pose(R, p, Rl, pl)
                else:
                    upper = reduced.number[joint]
                    Ru, pu = Rl, pl
            if moves(mechanism, run, i):
                hang_group(s, mechanism, reduced, i, upper, Ru, pu)
                stand(reduced, lower, reduced.number[i], IDENTITY3, ZERO3)
            else:
                Ri, pi = joint_pose(c, i)
                Ri, pi = compose_pose(Ru, pu, Ri, pi)
                stand(reduced, lower, upper, Ri, pi)
                potential += joint_spring_energy(mechanism.model_tree, mechanism.dof, mechanism.rest, i, run.q)
        else:
            if kind == BODY:
                potential += add_rigid(s, group, R, p, load10(mechanism.body, i, INERTIA))
                add_wrench(s, group, R, p, load6(run.wrench, i, 0))
            if left >= 0:
                stand(reduced, left, group, R, p)
            if right >= 0:
                stand(reduced, right, group, R, p)
        if left >= 0 and not is_active(run, left):
            potential += add_rigid_node(s, c, reduced, left)
        if right >= 0 and not is_active(run, right):
            potential += add_rigid_node(s, c, reduced, right)
    return potential


@inlined
def add_rigid_node(s, c, reduced, node):
    """A rigid node becomes part of the group it stands in."""
    group = reduced.group[node]
    R, p = load_pose(reduced.pose, node)
    add_wrench(s, group, R, p, load6(c.composite, node, P_FORCE))
    return c.composite[node, P_SPRING] + add_rigid(s, group, R, p, load10(c.composite, node, P_INERTIA))
