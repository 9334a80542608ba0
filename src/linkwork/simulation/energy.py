"""Energy of a moving linkage: kinetic, and potential of gravity and joint springs."""

from linkwork.core.jit import kernel, routine
from linkwork.model.kernels.joint_kernels import joint_spring_energy
from linkwork.model.layout import ARMATURE, DOF, INERTIA, V
from linkwork.simulation.loading.accelerate import move_placed, place_and_move
from linkwork.simulation.moving import POTENTIAL_OFFSET, moving_of
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import load3, load9, load10
from linkwork.spatial.rotations import add3, dot3, matvec3, scale3
from linkwork.spatial.vectors import dot6


@routine
def energies(table):
    """Kinetic and potential energy at (q, v) [J]; leaves world poses and twists behind."""
    return energies_where(table, False)


@routine
def energies_where(table, is_placed):
    """The same. is_placed: the poses of bodies in `work` are those of q."""
    s = moving_of(table)
    g = (s.gravity[0], s.gravity[1], s.gravity[2])
    kinetic = 0.0
    potential = s.numbers[POTENTIAL_OFFSET]
    for i in range(s.tree.shape[0]):
        twist = move_placed(s, i) if is_placed else place_and_move(s, i)
        inertia = load10(s.body, i, INERTIA)
        kinetic += 0.5 * dot6(twist, rigid_times_twist(inertia, twist))
        moment = matvec3(load9(s.world, i, 0), (inertia[1], inertia[2], inertia[3]))
        potential -= dot3(g, add3(moment, scale3(inertia[0], load3(s.world, i, 9))))
        potential += joint_spring_energy(s.tree, s.dof, s.rest, i, s.q)
        for d in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            kinetic += 0.5 * s.dof[d, ARMATURE] * s.v[d] * s.v[d]
    return kinetic, potential


@kernel
def kinetic_and_potential(table):
    return energies(table)
