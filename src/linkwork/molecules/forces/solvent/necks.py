"""Necks between atoms of GBn2 (Mongan et al. 2007), several pairs at a time: what they add to the integrals, and its slope.

    I = m / S(d),   S = 1 + N d² + d⁶,   d = r - place,   dI/dr = -2 m d (N + 3 d⁴) / S²

with lengths in units of `NECK_UNIT`. Depth m and place depend on the order of the two atoms, so that either way has a
shape of its own; one division does for both. Beyond `NECK_HALF` of both atoms there is none.
"""

from linkwork.core.jit import inlined
from linkwork.molecules.forces.solvent.integrals import NECK_NEAR, NECK_UNIT
from linkwork.molecules.forces.solvent.tables import NECK_DEPTH, NECK_DEPTH_BACK, NECK_HALF, NECK_PLACE, NECK_PLACE_BACK
from linkwork.spatial.simd_math import vdiv, vselect_less
from linkwork.spatial.simd_places import vload_at


@inlined
def way(r, place):
    """d, d⁴ and S of eight necks."""
    d = r - place
    d2 = d * d
    d4 = d2 * d2
    return d, d4, 1.0 + d2 * (NECK_NEAR + d4)


@inlined
def both_shapes(r, necks, one):
    """What `way` gives, there and back, and `one` over both shapes; zero beyond the necks."""
    _, place, _, place_back, ends = necks
    there, back = way(r, place), way(r, place_back)
    return there, back, vdiv(vselect_less(r, ends, one, 0.0), there[2] * back[2])


@inlined
def add_necks(necks, r2, inverse):
    """What necks add to the integrals, there and back. inverse: 1/r; zero where there are none."""
    depth, _, depth_back, _, _ = necks
    r = r2 * inverse
    there, back, over_both = both_shapes(NECK_UNIT * r, necks, r * inverse)
    return depth * (over_both * back[2]), depth_back * (over_both * there[2])


@inlined
def neck_forces(necks, r2, inverse, pull_i, pull_j):
    """-(P_i dI_ij/dr + P_j dI_ji/dr) / r of necks; the two pulls are P. inverse: 1/r; zero where there are none."""
    depth, _, depth_back, _, _ = necks
    scaled = NECK_UNIT * inverse
    there, back, over_both = both_shapes(r2 * scaled, necks, 1.0)
    over, over_back = over_both * back[2], over_both * there[2]
    of_i = (pull_i * (depth * there[0])) * ((NECK_NEAR + 3.0 * there[1]) * (over * over))
    of_j = (pull_j * (depth_back * back[0])) * ((NECK_NEAR + 3.0 * back[1]) * (over_back * over_back))
    return (scaled + scaled) * (of_i + of_j)


@inlined
def necks_of(solvent, p, i, places):
    """Depth and place of the necks of atom i with eight atoms, there and back, and where they end."""
    row, neck = 4 * solvent.kind[i] * p, solvent.neck
    ends = solvent.parameters[NECK_HALF * p + i] + vload_at(solvent.parameters, NECK_HALF * p, places)
    return (
        vload_at(neck, row + NECK_DEPTH * p, places), vload_at(neck, row + NECK_PLACE * p, places),
        vload_at(neck, row + NECK_DEPTH_BACK * p, places), vload_at(neck, row + NECK_PLACE_BACK * p, places), ends,
    )  # fmt: skip
