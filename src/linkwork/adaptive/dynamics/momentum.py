"""Momentum of floating trees, kept through every step and every change of region.

Semi-implicit Euler in joint coordinates lets momentum drift by O(h²) per step. A tree on a free joint has six velocities
to put that right: after the step its base twist is corrected so that momentum changed by the impulse of the external
wrenches and by nothing else. O(active nodes). Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.adaptive.dynamics.hybrid import refresh_joint_motion
from linkwork.adaptive.nodes import is_active, lower_pose
from linkwork.adaptive.workspace import ACTIVE_COUNT, P_FORCE, P_INERTIA
from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_P, H_R, rigid_lower
from linkwork.model.layout import DOF, INERTIA, V
from linkwork.spatial.inertia import add10, rigid_times_twist, rigid_to_parent
from linkwork.spatial.ldl import backward, forward, ldl6
from linkwork.spatial.memory import load3, load6, load9, load10, store6, store10
from linkwork.spatial.rotations import tmatvec3
from linkwork.spatial.vectors import add6, scale6, sub6, wrench_to_child, wrench_to_parent


@inlined
def momentum_of(c, run, node):
    """Momentum of a node in its own frame: gathered where it is active, I V where it is rigid."""
    if is_active(run, node):
        return load6(run.momentum, node, 0)
    return rigid_times_twist(load10(c.composite, node, P_INERTIA), load6(run.twist, node, 0))


@inlined
def force_on(c, run, node):
    """External wrench on a node in its own frame, gravity apart."""
    if is_active(run, node):
        return load6(c.composite, node, P_FORCE)
    return add6(load6(c.composite, node, P_FORCE), load6(run.force, node, 0))


@routine
def gather_momentum(plan, mechanism, c, run):
    """Momentum and inertia of every active node, leaf to root."""
    nodes = plan.nodes
    composite = c.composite
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        kind = nodes[node, NODE_KIND]
        left = nodes[node, LEFT]
        if kind == JOIN or kind == HANG:
            R, p = lower_pose(nodes, node, c.joint_data, composite)
            below = nodes[node, RIGHT] if kind == JOIN else left
            inertia = rigid_to_parent(R, p, load10(composite, below, P_INERTIA))
            momentum = wrench_to_parent(R, p, momentum_of(c, run, below))
            if kind == JOIN:
                inertia = add10(load10(composite, left, P_INERTIA), inertia)
                momentum = add6(momentum_of(c, run, left), momentum)
        elif kind == BODY:
            own = load10(mechanism.body, nodes[node, INDEX], INERTIA)
            inertia = add10(own, load10(composite, left, P_INERTIA))
            momentum = add6(rigid_times_twist(own, load6(run.twist, node, 0)), momentum_of(c, run, left))
        else:
            right = nodes[node, RIGHT]
            inertia = add10(load10(composite, left, P_INERTIA), load10(composite, right, P_INERTIA))
            momentum = add6(momentum_of(c, run, left), momentum_of(c, run, right))
        store10(composite, node, P_INERTIA, inertia)
        store6(run.momentum, node, 0, momentum)


@routine
def gather_forces(plan, c, run):
    """External wrench on every active node, leaf to root."""
    nodes = plan.nodes
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        kind = nodes[node, NODE_KIND]
        left = nodes[node, LEFT]
        if kind == JOIN or kind == HANG:
            R, p = lower_pose(nodes, node, c.joint_data, c.composite)
            force = wrench_to_parent(R, p, force_on(c, run, nodes[node, RIGHT] if kind == JOIN else left))
            if kind == JOIN:
                force = add6(force_on(c, run, left), force)
        elif kind == BODY:
            i = nodes[node, INDEX]
            force = add6(load6(run.wrench, i, 0), load6(run.force, node, 0))
            force = add6(force, force_on(c, run, left))
        else:
            force = add6(force_on(c, run, left), force_on(c, run, nodes[node, RIGHT]))
        store6(c.composite, node, P_FORCE, force)


@routine
def read_momentum(plan, c, run):
    """Takes the present momentum of every floating tree as what is to be kept."""
    for k in range(plan.floating.shape[0]):
        store6(run.kept_momentum, k, 0, momentum_of(c, run, plan.floating[k]))


@routine
def add_impulses(plan, mechanism, c, run, h):
    """Adds h times the external wrench to the momentum each floating tree is to have after the step."""
    g = (mechanism.gravity[0], mechanism.gravity[1], mechanism.gravity[2])
    for k in range(plan.floating.shape[0]):
        node = plan.floating[k]
        i = plan.nodes[node, INDEX]
        base = plan.nodes[node, LEFT]
        j = mechanism.whole_tree[i, V]
        if mechanism.tree[i, DOF] == 0:
            continue
        R = load9(c.joint_data, i, H_R)
        down = tmatvec3(R, g)
        weight = rigid_times_twist(load10(c.composite, base, P_INERTIA), (0.0, 0.0, 0.0, down[0], down[1], down[2]))
        drive = (
            c.effort_sum[j],
            c.effort_sum[j + 1],
            c.effort_sum[j + 2],
            c.effort_sum[j + 3],
            c.effort_sum[j + 4],
            c.effort_sum[j + 5],
        )
        wrench = add6(add6(force_on(c, run, base), weight), drive)
        impulse = scale6(h, wrench_to_parent(R, load3(c.joint_data, i, H_P), wrench))
        store6(run.kept_momentum, k, 0, add6(load6(run.kept_momentum, k, 0), impulse))


@routine
def correct_bases(plan, mechanism, c, run):
    """Gives each floating base the twist with which its tree has the momentum it is to have: (3)."""
    for k in range(plan.floating.shape[0]):
        node = plan.floating[k]
        i = plan.nodes[node, INDEX]
        base = plan.nodes[node, LEFT]
        j = mechanism.whole_tree[i, V]
        if mechanism.tree[i, DOF] == 0:
            continue
        wanted = wrench_to_child(
            load9(c.joint_data, i, H_R), load3(c.joint_data, i, H_P), load6(run.kept_momentum, k, 0)
        )
        missing = sub6(wanted, momentum_of(c, run, base))
        L, d, _ = ldl6(rigid_lower(load10(c.composite, base, P_INERTIA)))
        t = forward(L, missing)
        x = backward(L, (d[0] * t[0], d[1] * t[1], d[2] * t[2], d[3] * t[3], d[4] * t[4], d[5] * t[5]))
        for a in range(6):
            run.v[j + a] += x[a]
        refresh_joint_motion(mechanism, c, run, i)
