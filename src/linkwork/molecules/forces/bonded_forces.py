"""Terms of few atoms: 1-4 pairs, torsions, maps of two torsions, and the bonds and angles of rings that were cut open."""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.dihedrals import atom, dihedral, push, push_dihedral
from linkwork.molecules.forces.maps import correction_map
from linkwork.molecules.forces.tables import (
    ANGLE_COUNT,
    AXIS_TERMS,
    BOND_COUNT,
    KINDS,
    MAP_COUNT,
    NEAR_COUNT,
    TORSION_COUNT,
)
from linkwork.spatial.rotations import add3, cross3, dot3, scale3, sub3

COULOMB = 138.93545764438198  # 1/4πε₀ [kJ/mol nm / e²], the value OpenMM has


@routine
def bonded_forces(terms, work):
    """Adds the forces of the chosen terms to `work.force`; returns their energy [kJ/mol]."""
    energy = 0.0
    for c in range(work.counters[NEAR_COUNT]):
        energy += near_pair(terms, work.chosen[0, c], work)
    for c in range(work.counters[TORSION_COUNT]):
        energy += torsion(terms, work.chosen[1, c], work)
    for c in range(work.counters[BOND_COUNT]):
        energy += bond(terms, work.chosen[2, c], work)
    for c in range(work.counters[ANGLE_COUNT]):
        energy += angle(terms, work.chosen[3, c], work)
    for c in range(work.counters[MAP_COUNT]):
        energy += correction_map(terms, work.chosen[4, c], work)
    return energy


@routine
def axis_forces(terms, work):
    """Adds the forces of the terms behind the chosen ones to `work.force`."""
    for kind in range(KINDS):
        first = work.counters[NEAR_COUNT + kind]
        for c in range(first, first + work.counters[AXIS_TERMS + kind]):
            k = work.chosen[kind, c]
            if kind == 0:
                near_pair(terms, k, work)
            elif kind == 1:
                torsion(terms, k, work)
            elif kind == 2:
                bond(terms, k, work)
            elif kind == 3:
                angle(terms, k, work)
            else:
                correction_map(terms, k, work)


@inlined
def near_pair(terms, k, work):
    """A 1-4 pair: its own parameters, neither cutoff nor reaction field."""
    i, j = terms.near[k, 0], terms.near[k, 1]
    charge, sigma, epsilon = terms.near_parameters[k, 0], terms.near_parameters[k, 1], terms.near_parameters[k, 2]
    d = sub3(atom(work, i), atom(work, j))
    inverse2 = 1.0 / dot3(d, d)
    s2 = sigma * sigma * inverse2
    s6 = s2 * s2 * s2
    attraction = 4.0 * epsilon * s6
    coulomb = COULOMB * charge * math.sqrt(inverse2)
    f = scale3((attraction * (12.0 * s6 - 6.0) + coulomb) * inverse2, d)
    push(work, i, f)
    push(work, j, scale3(-1.0, f))
    return attraction * (s6 - 1.0) + coulomb


@inlined
def torsion(terms, t, work):
    """k (1 + cos(n φ - φ₀)) about the bond j-k of the atoms i, j, k, last."""
    i, j, k, last = terms.torsion[t, 0], terms.torsion[t, 1], terms.torsion[t, 2], terms.torsion[t, 3]
    found = dihedral(work, i, j, k, last)
    n, phase, strength = terms.torsion_parameters[t, 0], terms.torsion_parameters[t, 1], terms.torsion_parameters[t, 2]
    push_dihedral(work, i, j, k, last, found, -strength * n * math.sin(n * found[0] - phase))
    return strength * (1.0 + math.cos(n * found[0] - phase))


@inlined
def bond(terms, k, work):
    """½ k (r - r₀)²"""
    i, j = terms.bond[k, 0], terms.bond[k, 1]
    d = sub3(atom(work, i), atom(work, j))
    r = math.sqrt(dot3(d, d))
    stretch = r - terms.bond_parameters[k, 0]
    stiffness = terms.bond_parameters[k, 1]
    f = scale3(-stiffness * stretch / r, d)
    push(work, i, f)
    push(work, j, scale3(-1.0, f))
    return 0.5 * stiffness * stretch * stretch


@inlined
def angle(terms, k, work):
    """½ k (θ - θ₀)² at atom j between i and m."""
    i, j, m = terms.angle[k, 0], terms.angle[k, 1], terms.angle[k, 2]
    xj = atom(work, j)
    a, b = sub3(atom(work, i), xj), sub3(atom(work, m), xj)
    normal = cross3(a, b)
    sine = math.sqrt(dot3(normal, normal))
    theta = math.atan2(sine, dot3(a, b))
    bend = theta - terms.angle_parameters[k, 0]
    stiffness = terms.angle_parameters[k, 1]
    slope = stiffness * bend
    if sine > 0.0:  # along a straight line the direction of the force is open, and so is not pushed
        f_i = scale3(-slope / (dot3(a, a) * sine), cross3(a, normal))
        f_m = scale3(slope / (dot3(b, b) * sine), cross3(b, normal))
        push(work, i, f_i)
        push(work, m, f_m)
        push(work, j, scale3(-1.0, add3(f_i, f_m)))
    return 0.5 * stiffness * bend * bend
