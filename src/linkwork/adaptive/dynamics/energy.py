"""Energy and momentum of an adaptive simulation, over the active region alone."""

from linkwork.adaptive.dynamics.momentum import gather_momentum, momentum_of
from linkwork.adaptive.dynamics.region import is_counted
from linkwork.adaptive.nodes import carries_joint, place_in_world
from linkwork.adaptive.workspace import ACTIVE_COUNT, FRONT_COUNT, P_INERTIA, P_SPRING
from linkwork.assembly.plan import BODY, INDEX, NODE_KIND
from linkwork.core.jit import inlined, kernel
from linkwork.model.joint_kernels import joint_spring_energy
from linkwork.model.layout import ARMATURE, DOF, INERTIA, V
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.rotations import add3, dot3, matvec3, scale3
from linkwork.spatial.vectors import dot6


@inlined
def kinetic_of(inertia, twist):
    return 0.5 * dot6(twist, rigid_times_twist(inertia, twist))


@inlined
def moment_in_world(world, node, inertia):
    """First moment of mass about the origin of the world."""
    turned = matvec3(load9(world, node, 0), (inertia[1], inertia[2], inertia[3]))
    return add3(turned, scale3(inertia[0], load3(world, node, 9)))


@kernel
def energies(plan, mechanism, c, run):
    """Kinetic energy, and potential energy of gravity and joint springs [J]: over the active region, O(active)."""
    nodes = plan.nodes
    g = (mechanism.gravity[0], mechanism.gravity[1], mechanism.gravity[2])
    count = run.counts[ACTIVE_COUNT]
    place_in_world(nodes, run.active, count, c.joint_data, c.composite, run.world)
    kinetic = 0.0
    potential = 0.0
    if count == 0 and nodes.shape[0] > 0:
        root = nodes.shape[0] - 1
        potential = c.composite[root, P_SPRING] - dot3(g, load3(c.composite, root, P_INERTIA + 1))
    for k in range(run.counts[FRONT_COUNT]):
        node = run.front[k]
        inertia = load10(c.composite, node, P_INERTIA)
        kinetic += kinetic_of(inertia, load6(run.twist, node, 0))
        potential += c.composite[node, P_SPRING] - dot3(g, moment_in_world(run.world, node, inertia))
    for k in range(count):
        node = run.active[k]
        i = nodes[node, INDEX]
        if nodes[node, NODE_KIND] == BODY:
            inertia = load10(mechanism.body, i, INERTIA)
            kinetic += kinetic_of(inertia, load6(run.twist, node, 0))
            potential -= dot3(g, moment_in_world(run.world, node, inertia))
        elif carries_joint(plan, node):
            potential += joint_spring_energy(mechanism.whole_tree, mechanism.dof, mechanism.rest, i, run.q)
            j = mechanism.whole_tree[i, V]
            for d in range(mechanism.whole_tree[i, DOF]):
                kinetic += 0.5 * mechanism.dof[j + d, ARMATURE] * run.v[j + d] * run.v[j + d]
    return kinetic, potential


@kernel
def total_momentum(plan, mechanism, c, run):
    """Momentum [n; f] of everything about the origin of the world."""
    gather_momentum(plan, mechanism, c, run)
    return momentum_of(c, run, plan.nodes.shape[0] - 1)


@kernel
def count_active(plan, mechanism, run):
    """Active joints; bases of floating trees are not counted."""
    count = 0
    for k in range(run.counts[ACTIVE_COUNT]):
        if is_counted(plan, mechanism, run.active[k]):
            count += 1
    return count
