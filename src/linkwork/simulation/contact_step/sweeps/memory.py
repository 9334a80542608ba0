"""Memory of the contact solver by sweeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.bundles import Float1, Float2, Int1, Int2
from linkwork.dynamics.tree_factor import BLOCK, ROW


class Sweeps(NamedTuple):
    """c contacts, l limits, k rows of loops, R = 3 c + l + k rows, n bodies, nv freedoms. Rows of a contact: normal, two
    tangents."""

    axes: Float2  # (c, 9)   normal and tangents, world axes
    arm: Float2  # (c, 6)   from the origins of bodies a and b to the point [m]
    push: Float1  # (48 c,)  unit impulses along the axes as wrenches on body a, then on body b: rows of eight
    friction: Float1  # (c,)
    tangents: Int1  # (c,)     how many have a response: 0, 1 (the first) or 2; -1 where not even the normal has one
    soft: Float1  # (c + l + k,) normal response of each contact, limit and loop row, of which softness is a part [1/kg]
    soft_along: Float1  # (c,)     the same of its tangents
    response: Float1  # (c + l + k,) sum of its responses: what a residual is scaled by [1/kg]
    shift: Float1  # (c,)     De Saxcé's term μ |u_t| of the outer iteration [m/s]
    free: Float1  # (R,)     velocities without contact
    bias: Float1  # (R,)     what the law adds to them
    u: Float1  # (R,)     velocities, bias included
    eta: Float1  # (R,)     impulses that make u: u = free + bias + J M⁻¹ Jᵀ eta
    u_new: Float1  # (R,)     the same after a sweep
    eta_new: Float1  # (R,)
    center: Float1  # (R,)     impulses about which contacts are soft
    gamma: Float1  # (R,)     impulses that the law gives for u
    right: Float1  # (R,)     of a sweep: impulses that would act were the linkage to stay at `free`
    aside: Float2  # (4, R)   impulses and velocities that are put aside, twice
    stiff: Float2  # (c + l + k, 9) derivative of gamma by -u
    mode: Int1  # (c,)     FREE, STICK or SLIDE, of `gamma`
    lead: Float2  # (c, 4)   of a contact that slides: its direction, stiffness along its impulse and across
    rigid: Float1  # (48 n,)  inertias of bodies, world axes, rows of eight
    armature: Float1  # (nv,)
    alone: Float1  # (16 nv,) U and Y of the linkage without contact, rows of eight
    alone_inverse: Float1  # (nv,)    and D⁻¹
    acting: Int1  # (R,)     unknowns of a dense step: the first row of each
    spans: Int1  # (R,)     its rows, 1 or 3
    column: Float2  # (R, 3)   impulses on them per unknown
    across: Float2  # (R, 3)   velocities that it depends on
    ease: Float2  # (R, 2)   its compliance and right side
    loop_body: Int2  # (k, 2)   bodies that rows of loops join; -1: the world
    scales: Float1  # (1,)
    counts: Int1  # (6,)


ALONE = 2 * ROW  # numbers of a freedom in `alone`
SWEEPS_MADE, IS_SINGULAR, LOOP_ROWS, IS_DENSE, HAS_MATRIX = range(5)
CHANGED = 5  # contacts and limits that act otherwise than at the last evaluation
LARGEST_SPEED = 0  # of `scales`: largest speed of a row, each body's part counted by its size [m/s]
ROUNDED = (
    1e-9  # of the speeds of bodies: what met counts no less, or rounding of velocities that agree would be a residual
)
ALONG_A, ALONG_B, LEAD, ACROSS = range(4)  # columns of `lead`
CONVEX, COULOMB, SETS = range(3)  # laws that give impulses for velocities, see `newton`


def make_sweeps(bodies: int, freedoms: int, contacts: int, limits: int, loops: int) -> Sweeps:
    rows, each = 3 * contacts + limits + loops, contacts + limits + loops
    return Sweeps(
        axes=np.zeros((contacts, 9)),
        arm=np.zeros((contacts, 6)),
        push=np.zeros(BLOCK * contacts),
        friction=np.zeros(contacts),
        tangents=np.zeros(contacts, dtype=np.int64),
        soft=np.zeros(each),
        soft_along=np.zeros(contacts),
        response=np.zeros(each),
        shift=np.zeros(contacts),
        free=np.zeros(rows),
        bias=np.zeros(rows),
        u=np.zeros(rows),
        eta=np.zeros(rows),
        u_new=np.zeros(rows),
        eta_new=np.zeros(rows),
        center=np.zeros(rows),
        gamma=np.zeros(rows),
        right=np.zeros(rows),
        aside=np.zeros((4, rows)),
        stiff=np.zeros((each, 9)),
        mode=np.zeros(contacts, dtype=np.int64),
        lead=np.zeros((contacts, 4)),
        rigid=np.zeros(BLOCK * bodies),
        armature=np.zeros(freedoms),
        alone=np.zeros(ALONE * freedoms),
        alone_inverse=np.zeros(freedoms),
        acting=np.zeros(rows, dtype=np.int64),
        spans=np.zeros(rows, dtype=np.int64),
        column=np.zeros((rows, 3)),
        across=np.zeros((rows, 3)),
        ease=np.zeros((rows, 2)),
        loop_body=np.zeros((loops, 2), dtype=np.int64),
        scales=np.zeros(1),
        counts=np.zeros(6, dtype=np.int64),
    )
