"""Potential energy along the open tree: what a settling linkage must never gain. O(open nodes), O(loads)."""

from linkwork.adaptive.quasi_statics.workspace import LOAD_COUNT, OPEN_COUNT, P_MOMENT
from linkwork.assembly.plan import HANG, INDEX, JOIN, NODE_KIND
from linkwork.core.jit import inlined, kernel
from linkwork.model.joint_kernels import joint_spring_energy
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, Q, V
from linkwork.simulation.loads import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import add3, dot3, matvec3, sub3


@kernel
def shared_energy(plan, mechanism, coefficients, live):
    """Energy of gravity, of world-fixed forces and of springs to world points [J]; needs up-to-date places."""
    g = mechanism.gravity
    root = plan.nodes.shape[0] - 1
    energy = 0.0
    if root >= 0:
        energy -= dot3((g[0], g[1], g[2]), load3(coefficients.place, root, P_MOMENT))
    for k in range(live.tally[LOAD_COUNT]):
        node = live.leaf[live.load_body[k]]
        at = load3(live.load, k, LOAD_AT)
        point = add3(matvec3(load9(live.world, node, 0), at), load3(live.world, node, 9))
        energy -= dot3(load3(live.load, k, LOAD_FORCE), point)
        gap = sub3(load3(live.load, k, LOAD_TARGET), point)
        energy += 0.5 * live.load[k, LOAD_STIFFNESS] * dot3(gap, gap)
    return energy


@inlined
def joint_energy(mechanism, live, i, q):
    """Energy of a joint's springs, and of its constant efforts where they have a potential [J]."""
    energy = joint_spring_energy(mechanism.tree, mechanism.dof, mechanism.rest, i, q)
    kind = mechanism.tree[i, KIND]
    if kind == HELICAL or kind == COMPOUND:
        for d in range(mechanism.tree[i, DOF]):
            energy -= live.effort[mechanism.tree[i, V] + d] * q[mechanism.tree[i, Q] + d]
    return energy


@kernel
def moved_joint_energy(plan, mechanism, live):
    """Gain of the open joints' own energy since their coordinates were kept [J]."""
    gain = 0.0
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        kind = plan.nodes[node, NODE_KIND]
        if kind == JOIN or kind == HANG:
            i = plan.nodes[node, INDEX]
            gain += joint_energy(mechanism, live, i, live.q) - joint_energy(mechanism, live, i, live.kept_q)
    return gain
