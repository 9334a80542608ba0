"""The angle of four atoms and the forces of an energy that depends on it.

After Blondel and Karplus (1996), without a division by sin φ.
"""

import math

from linkwork.core.jit import inlined
from linkwork.spatial.rotations import add3, cross3, dot3, scale3, sub3


@inlined
def atom(work, i):
    p = work.cluster.shape[0]
    return (work.position[i], work.position[p + i], work.position[2 * p + i])


@inlined
def push(work, i, f):
    p = work.cluster.shape[0]
    work.force[i] += f[0]
    work.force[p + i] += f[1]
    work.force[2 * p + i] += f[2]


@inlined
def dihedral(work, i, j, k, last):
    """φ from -π to π, and what `push_dihedral` needs: the three bonds and both normals."""
    xj, xk = atom(work, j), atom(work, k)
    a = sub3(atom(work, i), xj)
    b = sub3(xk, xj)
    c = sub3(xk, atom(work, last))
    u, v = cross3(a, b), cross3(b, c)
    return math.atan2(math.sqrt(dot3(b, b)) * dot3(a, v), dot3(u, v)), a, b, c, u, v


@inlined
def push_dihedral(work, i, j, k, last, found, slope):
    """Adds the forces of an energy whose derivative by φ is `slope`."""
    _, a, b, c, u, v = found
    b2 = dot3(b, b)
    length = math.sqrt(b2)
    f_i = scale3(-slope * length / dot3(u, u), u)
    f_l = scale3(slope * length / dot3(v, v), v)
    g = sub3(scale3(dot3(a, b) / b2, f_i), scale3(dot3(c, b) / b2, f_l))
    push(work, i, f_i)
    push(work, j, sub3(g, f_i))
    push(work, k, scale3(-1.0, add3(f_l, g)))
    push(work, last, f_l)
