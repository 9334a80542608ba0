"""Forces through the Born radii: the last pass of an evaluation. P = ∂E/∂ΣI of each atom is in `own.pull`.

The force over the distance that the pass before has left in `own.pair_g` gets -(P_i dI_ij/dr + P_j dI_ji/dr) / r, by (4) of
`integrals.py`; then it acts.
"""

from linkwork.core.jit import routine
from linkwork.molecules.forces.solvent.descreening import push_apart
from linkwork.molecules.forces.solvent.integrals import H, polynomial
from linkwork.molecules.forces.solvent.necks import neck_forces, necks_of_two
from linkwork.molecules.forces.solvent.tables import CLOSE_COUNT, HAS_NECK, SCALED2, SCALED3
from linkwork.molecules.forces.tables import AT_WORK, BLOCK
from linkwork.spatial.simd import vsum
from linkwork.spatial.simd_math import vselect_less
from linkwork.spatial.simd_two import folded, splat_two, vload_two, vstore_two


@routine
def forces_through_radii(work, solvent, own):
    """Adds the forces of all listed and of close pairs to `work.force`."""
    p = work.cluster.shape[0]
    position, force, parameters = work.position, work.force, solvent.parameters
    atoms, has_neck = work.row.shape[0] - 1, solvent.settings[HAS_NECK] != 0.0
    forces_of_close(work, own)
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            if own.near_row[i, 0] == own.near_row[i, 1]:
                continue
            xi, yi, zi = position[i], position[p + i], position[2 * p + i]
            s2, s3, pull_i = parameters[SCALED2 * p + i], parameters[SCALED3 * p + i], own.pull[i]
            fx = fy = fz = splat_two(0.0)
            for k in range(own.near_row[i, 0], own.near_row[i, 1], 2):
                j, j2 = own.near_first[k], own.near_first[k + 1]
                inverse = vload_two(own.pair_inverse, k * BLOCK, (k + 1) * BLOCK)
                inverse = vselect_less(0.0, inverse, inverse, 0.0)
                y = inverse * inverse
                dx = xi - vload_two(position, j, j2)
                dy = yi - vload_two(position, p + j, p + j2)
                dz = zi - vload_two(position, 2 * p + j, 2 * p + j2)
                pull_j = vload_two(own.pull, j, j2)
                there = polynomial(H, vload_two(parameters, SCALED2 * p + j, SCALED2 * p + j2) * y)
                there = (pull_i * vload_two(parameters, SCALED3 * p + j, SCALED3 * p + j2)) * there
                g = vload_two(own.pair_g, k * BLOCK, (k + 1) * BLOCK)
                g = g + (y * y * (y + y)) * (there + (s3 * pull_j) * polynomial(H, s2 * y))
                if has_neck:
                    r2 = dx * dx + dy * dy + dz * dz
                    g = g + neck_forces(necks_of_two(solvent, p, i, j, j2), r2, inverse, pull_i, pull_j)
                gx, gy, gz = g * dx, g * dy, g * dz
                fx, fy, fz = fx + gx, fy + gy, fz + gz
                vstore_two(force, j, j2, vload_two(force, j, j2) - gx)
                vstore_two(force, p + j, p + j2, vload_two(force, p + j, p + j2) - gy)
                vstore_two(force, 2 * p + j, 2 * p + j2, vload_two(force, 2 * p + j, 2 * p + j2) - gz)
            force[i] += vsum(folded(fx))
            force[p + i] += vsum(folded(fy))
            force[2 * p + i] += vsum(folded(fz))


@routine
def forces_of_close(work, own):
    for c in range(own.counters[CLOSE_COUNT]):
        i, j = own.close_pair[c, 0], own.close_pair[c, 1]
        slope = own.pull[i] * own.close_slope[c, 0] + own.pull[j] * own.close_slope[c, 1]
        if slope != 0.0:
            push_apart(work, i, j, -slope)
