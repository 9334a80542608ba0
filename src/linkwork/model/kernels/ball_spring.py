"""The spring of a ball: energy ½ φᵀKφ of the rotation vector φ from rest, K diagonal in the axes of the child at rest.

With Jl, Jr the left and right Jacobians of the exponential map, dφ = Jr⁻¹(φ) δ for a small rotation δ in the child frame,
and the transpose of Jr⁻¹(φ) is Jl⁻¹(φ). So the effort is the exact gradient, for unequal stiffnesses too:

    τ = −Jl⁻¹(φ) K φ            Jl⁻¹(φ) x = x − ½ φ x x + c φ x (φ x x),   c = (1 − (θ/2) cot(θ/2)) / θ²         (1)

Equal stiffnesses have K φ along φ, which Jl⁻¹ leaves as it is.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.model.layout import STIFFNESS
from linkwork.spatial.rotations import add3, cross3, dot3, scale3

SMALL_ANGLE2 = 1e-4  # angle squared, below which three terms of a series are exact to rounding
SMALL_FOR_SLOPE2 = 1e-2  # and four terms for the slope of c, which loses twice the digits to differences


@inlined
def three_stiffnesses(dof, j, x):
    """K x"""
    return (dof[j, STIFFNESS] * x[0], dof[j + 1, STIFFNESS] * x[1], dof[j + 2, STIFFNESS] * x[2])


@inlined
def is_sprung(dof, j):
    """Whether any of the three rotations from row j on meets a spring."""
    return dof[j, STIFFNESS] != 0.0 or dof[j + 1, STIFFNESS] != 0.0 or dof[j + 2, STIFFNESS] != 0.0


@inlined
def is_even(dof, j):
    """Whether the three stiffnesses from row j on are equal."""
    return dof[j, STIFFNESS] == dof[j + 1, STIFFNESS] and dof[j, STIFFNESS] == dof[j + 2, STIFFNESS]


@inlined
def curl(angle2):
    """c of (1)."""
    if angle2 < SMALL_ANGLE2:
        c = 1.0 / 12.0 + angle2 / 720.0 + angle2 * angle2 / 30240.0
    else:
        half = 0.5 * math.sqrt(angle2)
        c = (1.0 - half / math.tan(half)) / angle2
    return c


@inlined
def curl_slope(angle2):
    """dc / d(θ²)."""
    if angle2 < SMALL_FOR_SLOPE2:
        slope = 1.0 / 720.0 + angle2 / 15120.0 + angle2 * angle2 / 403200.0 + angle2 * angle2 * angle2 / 11975040.0
    else:
        half = 0.5 * math.sqrt(angle2)
        sine = math.sin(half)
        across = half / math.tan(half)
        falls = (across / half - half / (sine * sine)) / (8.0 * half)
        slope = (-falls - (1.0 - across) / angle2) / angle2
    return slope


@inlined
def inverse_left(w, x):
    """Jl⁻¹(w) x."""
    wx = cross3(w, x)
    return add3(x, add3(scale3(-0.5, wx), scale3(curl(dot3(w, w)), cross3(w, wx))))


@routine
def ball_spring_pull(dof, j, w):
    """What the spring resists the rotation vector w from rest with, −τ of (1), in the child frame [N·m]."""
    y = three_stiffnesses(dof, j, w)
    if is_even(dof, j):
        return y
    return inverse_left(w, y)


@routine
def ball_spring_change(dof, j, w, d):
    """Change of `ball_spring_pull` per small rotation d of the child, in its frame [N·m/rad]."""
    p = inverse_left(scale3(-1.0, w), d)  # Jr⁻¹(w) = Jl⁻¹(−w)
    if is_even(dof, j):
        return three_stiffnesses(dof, j, p)
    return add3(inverse_left(w, three_stiffnesses(dof, j, p)), turned_by(w, p, three_stiffnesses(dof, j, w)))


@routine
def ball_spring_change_transposed(dof, j, w, m):
    """The transpose of `ball_spring_change` on m."""
    g = three_stiffnesses(dof, j, inverse_left(scale3(-1.0, w), m))
    if is_even(dof, j):
        return inverse_left(w, three_stiffnesses(dof, j, m))
    y = three_stiffnesses(dof, j, w)
    z = cross3(w, y)
    angle2 = dot3(w, w)
    g = add3(g, scale3(-0.5, cross3(y, m)))
    g = add3(g, scale3(2.0 * curl_slope(angle2) * dot3(m, cross3(w, z)), w))
    g = add3(g, scale3(curl(angle2), add3(cross3(z, m), cross3(y, cross3(m, w)))))
    return inverse_left(w, g)


@inlined
def turned_by(w, p, y):
    """Change of Jl⁻¹(w) y as w changes by p, y kept."""
    z = cross3(w, y)
    angle2 = dot3(w, w)
    bent = add3(cross3(p, z), cross3(w, cross3(p, y)))
    across = add3(scale3(-0.5, cross3(p, y)), scale3(curl(angle2), bent))
    return add3(across, scale3(2.0 * curl_slope(angle2) * dot3(w, p), cross3(w, z)))
