"""Forces through the Born radii: the last pass of an evaluation. P = ∂E/∂ΣI of each atom is in `own.pull`.

The force over the distance that the pass before has left in `own.pair_g` gets -(P_i dI_ij/dr + P_j dI_ji/dr) / r, by (4) of
`integrals.py`; then it acts.
"""

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.solvent.descreening import push_apart
from linkwork.molecules.forces.solvent.integrals import H, polynomial
from linkwork.molecules.forces.solvent.near import (
    BLOCKS_BEGIN,
    BLOCKS_END,
    HALVES_BEGIN,
    HALVES_END,
    nothing_near,
    slot_of_block,
    slot_of_halves,
    two_halves,
    whole_block,
)
from linkwork.molecules.forces.solvent.necks import neck_forces, necks_of
from linkwork.molecules.forces.solvent.tables import CLOSE_COUNT, HAS_NECK, SCALED2, SCALED3
from linkwork.molecules.forces.tables import AT_WORK, BLOCK
from linkwork.spatial.simd import splat, vload, vsum
from linkwork.spatial.simd_math import vselect_less
from linkwork.spatial.simd_places import vload_at, vstore_at


@routine
def forces_through_radii(work, solvent, own):
    """Adds the forces of all listed and of close pairs to `work.force`."""
    p, position, force, parameters = work.cluster.shape[0], work.position, work.force, solvent.parameters
    atoms, has_neck = work.row.shape[0] - 1, solvent.settings[HAS_NECK] != 0.0
    forces_of_close(work, own)
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            if nothing_near(own, i):
                continue
            x = position[i], position[p + i], position[2 * p + i]
            atom = x, parameters[SCALED2 * p + i], parameters[SCALED3 * p + i], own.pull[i]
            none = splat(0.0)
            f = (none, none, none)
            for k in range(own.near_row[i, BLOCKS_BEGIN], own.near_row[i, BLOCKS_END]):
                places, _ = whole_block(own, k)
                f = push_eight(work, solvent, own, has_neck, i, atom, slot_of_block(k), places, f)
            for k in range(own.near_row[i, HALVES_BEGIN], own.near_row[i, HALVES_END], 2):
                places, _ = two_halves(own, k)
                f = push_eight(work, solvent, own, has_neck, i, atom, slot_of_halves(own, k), places, f)
            force[i] += vsum(f[0])
            force[p + i] += vsum(f[1])
            force[2 * p + i] += vsum(f[2])


@inlined
def push_eight(work, solvent, own, has_neck, i, atom, slot, places, f):
    """Forces of atom i and eight others on each other; returns f with those on atom i added."""
    position, force, parameters = work.position, work.force, solvent.parameters
    p = work.cluster.shape[0]
    x, s2, s3, pull_i = atom
    inverse = vload(own.pair_inverse, slot)
    inverse = vselect_less(0.0, inverse, inverse, 0.0)
    y = inverse * inverse
    dx = x[0] - vload_at(position, 0, places)
    dy = x[1] - vload_at(position, p, places)
    dz = x[2] - vload_at(position, 2 * p, places)
    pull_j = vload_at(own.pull, 0, places)
    there = polynomial(H, vload_at(parameters, SCALED2 * p, places) * y)
    there = (pull_i * vload_at(parameters, SCALED3 * p, places)) * there
    g = vload(own.pair_g, slot)
    g = g + (y * y * (y + y)) * (there + (s3 * pull_j) * polynomial(H, s2 * y))
    if has_neck:
        r2 = dx * dx + dy * dy + dz * dz
        g = g + neck_forces(necks_of(solvent, p, i, places), r2, inverse, pull_i, pull_j)
    gx, gy, gz = g * dx, g * dy, g * dz
    vstore_at(force, 0, places, vload_at(force, 0, places) - gx)
    vstore_at(force, p, places, vload_at(force, p, places) - gy)
    vstore_at(force, 2 * p, places, vload_at(force, 2 * p, places) - gz)
    return f[0] + gx, f[1] + gy, f[2] + gz


@routine
def forces_of_close(work, own):
    for c in range(own.counters[CLOSE_COUNT]):
        i, j = own.close_pair[c, 0], own.close_pair[c, 1]
        slope = own.pull[i] * own.close_slope[c, 0] + own.pull[j] * own.close_slope[c, 1]
        if slope != 0.0:
            push_apart(work, i, j, -slope)
