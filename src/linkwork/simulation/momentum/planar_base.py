"""Bases that slide along two directions of the world and turn about a third across both: planar joints, (x, y, angle).

S (6 x 3), the motions of the joint in the base's frame, is what place_and_move left in `dof_work`. Momentum counts along S
only; what presses on the plane across it is carried by the world.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.aba import S_D
from linkwork.model.layout import ROTATION, SCREW, SCREW_SLIDE
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.rotations import add3, dot3, matvec3, scale3, tmatvec3
from linkwork.spatial.vectors import add6, dot6, scale6


@inlined
def solve3(a, b, c, d, e, f, r):
    """x with the symmetric matrix [[a, b, c], [b, d, e], [c, e, f]] x = r, by its minors."""
    p, q, s = d * f - e * e, c * e - b * f, b * e - c * d
    scale = 1.0 / (a * p + b * q + c * s)
    u, v, w = a * f - c * c, b * c - a * e, a * d - b * b
    return (
        scale * (p * r[0] + q * r[1] + s * r[2]),
        scale * (q * r[0] + u * r[1] + v * r[2]),
        scale * (s * r[0] + v * r[1] + w * r[2]),
    )


@inlined
def motions(s, j):
    return load6(s.dof_work, j, S_D), load6(s.dof_work, j + 1, S_D), load6(s.dof_work, j + 2, S_D)


@routine
def planar_wrench(s, j, effort):
    """The smallest wrench F on the base, in its frame, with Sᵀ F = effort."""
    x, y, z = motions(s, j)
    c = solve3(dot6(x, x), dot6(x, y), dot6(x, z), dot6(y, y), dot6(y, z), dot6(z, z), effort)
    return add6(add6(scale6(c[0], x), scale6(c[1], y)), scale6(c[2], z))


@routine
def planar_change(s, b, j, missing):
    """Velocities of the joint that give the tree of base b the missing momentum along S: (Sᵀ I S) x = Sᵀ missing."""
    x, y, z = motions(s, j)
    inertia = load10(s.composite, b, 0)
    Ix, Iy, Iz = rigid_times_twist(inertia, x), rigid_times_twist(inertia, y), rigid_times_twist(inertia, z)
    right = (dot6(x, missing), dot6(y, missing), dot6(z, missing))
    return solve3(dot6(x, Ix), dot6(x, Iy), dot6(x, Iz), dot6(y, Iy), dot6(y, Iz), dot6(z, Iz), right)


@routine
def planar_way(s, b, way):
    """How far the two slides go for the part of `way` (world) in their plane; and that part."""
    Rp, first = load9(s.body, b, ROTATION), s.tree[b, SCREW]
    e, f = load3(s.screws, first, SCREW_SLIDE), load3(s.screws, first + 1, SCREW_SLIDE)
    local = tmatvec3(Rp, way)
    ee, ef, ff = dot3(e, e), dot3(e, f), dot3(f, f)
    re, rf = dot3(e, local), dot3(f, local)
    scale = 1.0 / (ee * ff - ef * ef)
    x, y = scale * (ff * re - ef * rf), scale * (ee * rf - ef * re)
    return x, y, matvec3(Rp, add3(scale3(x, e), scale3(y, f)))
