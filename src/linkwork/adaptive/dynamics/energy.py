"""Energy and momentum of an adaptive simulation, over the active region alone."""

from linkwork.adaptive.dynamics.locking import carries_joint
from linkwork.adaptive.dynamics.momentum import gather_momentum, momentum_of
from linkwork.adaptive.dynamics.region import is_counted
from linkwork.adaptive.dynamics.workspace import ACTIVE_COUNT, FRONT_COUNT, P_INERTIA, P_SPRING
from linkwork.adaptive.quasi_statics.update import place_in_world
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
def energies(plan, mechanism, c, live):
    """Kinetic energy, and potential energy of gravity and joint springs [J]: over the active region, O(active)."""
    nodes = plan.nodes
    g = (mechanism.gravity[0], mechanism.gravity[1], mechanism.gravity[2])
    count = live.tally[ACTIVE_COUNT]
    place_in_world(nodes, live.active, count, c.hinge, c.place, live.world)
    kinetic = 0.0
    potential = 0.0
    if count == 0 and nodes.shape[0] > 0:
        root = nodes.shape[0] - 1
        potential = c.place[root, P_SPRING] - dot3(g, load3(c.place, root, P_INERTIA + 1))
    for k in range(live.tally[FRONT_COUNT]):
        node = live.front[k]
        inertia = load10(c.place, node, P_INERTIA)
        kinetic += kinetic_of(inertia, load6(live.twist, node, 0))
        potential += c.place[node, P_SPRING] - dot3(g, moment_in_world(live.world, node, inertia))
    for k in range(count):
        node = live.active[k]
        i = nodes[node, INDEX]
        if nodes[node, NODE_KIND] == BODY:
            inertia = load10(mechanism.body, i, INERTIA)
            kinetic += kinetic_of(inertia, load6(live.twist, node, 0))
            potential -= dot3(g, moment_in_world(live.world, node, inertia))
        elif carries_joint(plan, node):
            potential += joint_spring_energy(mechanism.whole_tree, mechanism.dof, mechanism.rest, i, live.q)
            j = mechanism.whole_tree[i, V]
            for d in range(mechanism.whole_tree[i, DOF]):
                kinetic += 0.5 * mechanism.dof[j + d, ARMATURE] * live.v[j + d] * live.v[j + d]
    return kinetic, potential


@kernel
def total_momentum(plan, mechanism, c, live):
    """Momentum [n; f] of everything about the origin of the world."""
    gather_momentum(plan, mechanism, c, live)
    return momentum_of(c, live, plan.nodes.shape[0] - 1)


@kernel
def count_active(plan, mechanism, live):
    """Active joints; bases of floating figures are not counted."""
    count = 0
    for k in range(live.tally[ACTIVE_COUNT]):
        if is_counted(plan, mechanism, live.active[k]):
            count += 1
    return count
