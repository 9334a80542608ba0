"""Restraints as terms of the kernel: distances, dihedral angles, places, and the deviation from a shape.

Each is zero inside a band from low to high and ½ k d² at the distance d outside of it. They act on few atoms, whose places
come from the poses at hand, of bodies or of rigid groups alike, and add to the wrenches that the field has written.

The deviation is what is left after the best superposition: ρ² = Σ |x_i - R y_i|² / N about the centres, with R from the
largest eigenvalue of Horn's matrix (1987). At the best R the slope is that at fixed R: ∂ρ/∂x_i = (x_i - R y_i) / N ρ.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.jit import inlined, kernel, routine
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import add3, cross3, dot3, matvec3, scale3, sub3, tmatvec3

SWEEPS = 12  # of Jacobi's method; a 4 x 4 matrix needs five
LEAST = 1e-12  # [nm] deviation below which it has no direction


class RestraintTables(NamedTuple):
    """All restraints of a field; rows hold low, high and k behind the atoms."""

    pair: NDArray[np.int64]  # (m, 2)
    pair_band: NDArray[np.float64]  # (m, 3)  [nm], [nm], [kJ/mol/nm²]
    dihedral: NDArray[np.int64]  # (m, 4)
    dihedral_band: NDArray[np.float64]  # (m, 3)  middle [rad], half width [rad], [kJ/mol/rad²]
    place: NDArray[np.int64]  # (m,)
    place_target: NDArray[np.float64]  # (m, 5)  x, y, z, radius [nm], [kJ/mol/nm²]
    shape_start: NDArray[np.int64]  # (s + 1,)  where the atoms of each shape begin
    shape: NDArray[np.int64]  # (m,)
    shape_target: NDArray[np.float64]  # (m, 3)  about their centre [nm]
    shape_band: NDArray[np.float64]  # (s, 3)  [nm], [nm], [kJ/mol/nm²]
    value: NDArray[np.float64]  # (pairs + dihedrals + places + shapes,)  what each restrains, at the last evaluation
    work: NDArray[np.float64]  # (2, 4, 4)  of Jacobi's method


@inlined
def place_of(atoms, poses, i):
    b = atoms.body[i]
    return add3(matvec3(load9(poses, b, 0), load3(atoms.local, i, 0)), load3(poses, b, 9))


@routine
def push_atom(atoms, poses, out, i, f):
    """Adds a force in the world [kJ/mol/nm] to the wrench on the atom's body."""
    b = atoms.body[i]
    own = tmatvec3(load9(poses, b, 0), f)
    n = cross3(load3(atoms.local, i, 0), own)
    for d in range(3):
        out[b, d] += n[d]
        out[b, 3 + d] += own[d]


@inlined
def beyond(x, low, high):
    """How far x is outside of the band, with its sign."""
    return x - high if x > high else x - low if x < low else 0.0


@kernel
def add_restraints(tables, atoms, poses, out):
    """Adds the wrenches of all restraints to `out`; returns their energy [kJ/mol]."""
    energy = 0.0
    at = 0
    for m in range(tables.pair.shape[0]):
        i, j = tables.pair[m, 0], tables.pair[m, 1]
        d = sub3(place_of(atoms, poses, i), place_of(atoms, poses, j))
        r = math.sqrt(dot3(d, d))
        stretch = beyond(r, tables.pair_band[m, 0], tables.pair_band[m, 1])
        k = tables.pair_band[m, 2]
        if stretch != 0.0 and r > 0.0:
            f = scale3(-k * stretch / r, d)
            push_atom(atoms, poses, out, i, f)
            push_atom(atoms, poses, out, j, scale3(-1.0, f))
        energy += 0.5 * k * stretch * stretch
        tables.value[at] = r
        at += 1
    for m in range(tables.dihedral.shape[0]):
        energy += hold_dihedral(tables, m, at, atoms, poses, out)
        at += 1
    for m in range(tables.place.shape[0]):
        i = tables.place[m]
        d = sub3(place_of(atoms, poses, i), load3(tables.place_target, m, 0))
        r = math.sqrt(dot3(d, d))
        stretch = max(0.0, r - tables.place_target[m, 3])
        k = tables.place_target[m, 4]
        if stretch > 0.0:
            push_atom(atoms, poses, out, i, scale3(-k * stretch / r, d))
        energy += 0.5 * k * stretch * stretch
        tables.value[at] = r
        at += 1
    for s in range(tables.shape_band.shape[0]):
        energy += hold_shape(tables, s, at, atoms, poses, out)
        at += 1
    return energy


@routine
def hold_dihedral(tables, m, at, atoms, poses, out):
    """½ k d² of the angle's distance d from the band, the short way round. Forces after Blondel and Karplus (1996)."""
    i, j, k, last = tables.dihedral[m, 0], tables.dihedral[m, 1], tables.dihedral[m, 2], tables.dihedral[m, 3]
    xj, xk = place_of(atoms, poses, j), place_of(atoms, poses, k)
    a = sub3(place_of(atoms, poses, i), xj)
    b = sub3(xk, xj)
    c = sub3(xk, place_of(atoms, poses, last))
    u, v = cross3(a, b), cross3(b, c)
    b2 = dot3(b, b)
    length = math.sqrt(b2)
    phi = math.atan2(length * dot3(a, v), dot3(u, v))
    tables.value[at] = phi
    off = phi - tables.dihedral_band[m, 0]
    off -= 2.0 * math.pi * math.floor(off / (2.0 * math.pi) + 0.5)
    half = tables.dihedral_band[m, 1]
    d = beyond(off, -half, half)
    stiffness = tables.dihedral_band[m, 2]
    if d != 0.0:
        slope = stiffness * d
        f_i = scale3(-slope * length / dot3(u, u), u)
        f_l = scale3(slope * length / dot3(v, v), v)
        g = sub3(scale3(dot3(a, b) / b2, f_i), scale3(dot3(c, b) / b2, f_l))
        push_atom(atoms, poses, out, i, f_i)
        push_atom(atoms, poses, out, j, sub3(g, f_i))
        push_atom(atoms, poses, out, k, scale3(-1.0, add3(f_l, g)))
        push_atom(atoms, poses, out, last, f_l)
    return 0.5 * stiffness * d * d


@routine
def hold_shape(tables, s, at, atoms, poses, out):
    """½ k d² of the distance d of the root mean square deviation from its band."""
    first, end = tables.shape_start[s], tables.shape_start[s + 1]
    count = end - first
    centre = (0.0, 0.0, 0.0)
    for m in range(first, end):
        centre = add3(centre, place_of(atoms, poses, tables.shape[m]))
    centre = scale3(1.0 / count, centre)
    R = best_rotation(tables, first, end, atoms, poses, centre)
    total = 0.0
    for m in range(first, end):
        x = sub3(place_of(atoms, poses, tables.shape[m]), centre)
        d = sub3(x, matvec3(R, load3(tables.shape_target, m, 0)))
        total += dot3(d, d)
    rho = math.sqrt(total / count)
    tables.value[at] = rho
    off = beyond(rho, tables.shape_band[s, 0], tables.shape_band[s, 1])
    k = tables.shape_band[s, 2]
    if off != 0.0 and rho > LEAST:
        for m in range(first, end):
            x = sub3(place_of(atoms, poses, tables.shape[m]), centre)
            d = sub3(x, matvec3(R, load3(tables.shape_target, m, 0)))
            push_atom(atoms, poses, out, tables.shape[m], scale3(-k * off / (count * rho), d))
    return 0.5 * k * off * off


@routine
def best_rotation(tables, first, end, atoms, poses, centre):
    """Turns the target onto the atoms: the eigenvector of Horn's matrix with the largest eigenvalue, as a rotation."""
    xx = xy = xz = yx = yy = yz = zx = zy = zz = 0.0
    for m in range(first, end):
        x = sub3(place_of(atoms, poses, tables.shape[m]), centre)
        y = load3(tables.shape_target, m, 0)
        xx, xy, xz = xx + y[0] * x[0], xy + y[0] * x[1], xz + y[0] * x[2]
        yx, yy, yz = yx + y[1] * x[0], yy + y[1] * x[1], yz + y[1] * x[2]
        zx, zy, zz = zx + y[2] * x[0], zy + y[2] * x[1], zz + y[2] * x[2]
    A, V = tables.work[0], tables.work[1]
    rows = (
        (xx + yy + zz, yz - zy, zx - xz, xy - yx),
        (yz - zy, xx - yy - zz, xy + yx, zx + xz),
        (zx - xz, xy + yx, yy - xx - zz, yz + zy),
        (xy - yx, zx + xz, yz + zy, zz - xx - yy),
    )
    for a in range(4):
        for b in range(4):
            A[a, b] = rows[a][b]
            V[a, b] = 1.0 if a == b else 0.0
    for _ in range(SWEEPS):
        for a in range(3):
            for b in range(a + 1, 4):
                turn_pair(A, V, a, b)
    best = 0
    for a in range(1, 4):
        if A[a, a] > A[best, best]:
            best = a
    w, x, y, z = V[0, best], V[1, best], V[2, best], V[3, best]
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@routine
def turn_pair(A, V, a, b):
    """One rotation of Jacobi's method: A[a, b] becomes zero."""
    if A[a, b] == 0.0:
        return
    theta = 0.5 * (A[b, b] - A[a, a]) / A[a, b]
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    t = t if theta >= 0.0 else -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(4):
        p, q = A[k, a], A[k, b]
        A[k, a], A[k, b] = c * p - s * q, s * p + c * q
    for k in range(4):
        p, q = A[a, k], A[b, k]
        A[a, k], A[b, k] = c * p - s * q, s * p + c * q
        p, q = V[k, a], V[k, b]
        V[k, a], V[k, b] = c * p - s * q, s * p + c * q
