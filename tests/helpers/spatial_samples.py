"""Subroutines of spatial kernels as kernels call them, random poses, and small matrices by their definition."""

from __future__ import annotations

import math

import numba
import numpy as np

import linkwork as lw
from linkwork.spatial import inertia, rotations, vectors


class Compiled:
    """A module whose subroutines are called as kernels call them: compiled. (Python would call them as Python.)"""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        subroutine = getattr(self._module, name)
        if not hasattr(subroutine, "py_func"):
            return subroutine

        @numba.njit
        def call(*args):
            return subroutine(*args)

        setattr(self, name, call)
        return call


rigid, rot, vec = Compiled(inertia), Compiled(rotations), Compiled(vectors)

EPS = np.finfo(float).eps
TINY = 1e-300
ANGLES = [0.0, TINY, 1e-16, 1e-12, 1e-8, 9.99e-5, 1.01e-4, 1e-2, 1.0, 3.0, math.pi - 1e-4, math.pi - 1e-8, math.pi]


def unit_vector(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def unit_quaternion(rng):
    q = rng.normal(size=4)
    return tuple(q / np.linalg.norm(q))


def random_pose(rng):
    return lw.Pose(rng.normal(size=3), quaternion=unit_quaternion(rng))


def as_matrix(m):
    return np.reshape(m, (3, 3))


def skew(v):
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def symmetric(s):
    xx, xy, xz, yy, yz, zz = s
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
