"""Energy of a moving linkage: kinetic, and potential of gravity and joint springs."""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.aba import TWIST
from linkwork.model.kernels.joint_kernels import joint_spring_energy
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, STIFFNESS, Q, V
from linkwork.simulation.loading.accelerate import move_placed, place_and_move
from linkwork.simulation.moving import POTENTIAL_OFFSET, moving_of
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.rotations import add3, dot3, matvec3, scale3
from linkwork.spatial.vectors import dot6

# What is known of (q, v): nothing, the poses of bodies in `work`, or twists and world poses as well.
UNPLACED, PLACED, MOVED = range(3)


@routine
def energies(table):
    """Kinetic and potential energy at (q, v) [J]; leaves world poses and twists behind."""
    return energies_where(table, UNPLACED)


@routine
def energies_where(table, known):
    """The same, of what is not known yet."""
    s = moving_of(table)
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    kinetic = 0.0
    potential = s.numbers[POTENTIAL_OFFSET]
    for i in range(s.tree.shape[0]):
        if known == MOVED:
            twist = load6(s.work, i, TWIST)
        else:
            twist = move_placed(s, i) if known == PLACED else place_and_move(s, i)
        inertia = load10(s.body, i, INERTIA)
        kinetic += 0.5 * dot6(twist, rigid_times_twist(inertia, twist))
        moment = matvec3(load9(s.world, i, 0), (inertia[1], inertia[2], inertia[3]))
        potential -= dot3(g, add3(moment, scale3(inertia[0], load3(s.world, i, 9))))
        potential += spring_energy(s, i, s.q)
        for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            kinetic += 0.5 * s.dof[d, ARMATURE] * s.v[d] * s.v[d]
    return kinetic, potential


@inlined
def spring_energy(s, i, q):
    """Of the springs of joint i [J]."""
    if s.tree[i, KIND] == HELICAL:  # the hot path
        x = q[s.tree[i, Q]] - s.rest[s.tree[i, Q]]
        return 0.5 * s.dof[s.tree[i, V], STIFFNESS] * x * x
    is_sprung = False
    for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
        is_sprung = is_sprung or s.dof[d, STIFFNESS] != 0.0
    return joint_spring_energy(s.tree, s.dof, s.rest, i, q) if is_sprung else 0.0  # few are, and logarithms take long


@kernel
def kinetic_and_potential(table):
    return energies(table)
