"""Velocities of a variational step from its momenta, when somebody asks for them, and the balance of energy over steps."""

import math

from linkwork.algebra.spatial import ZERO_TWIST, Wrench
from linkwork.core.jit import inlined, routine
from linkwork.dynamics import aba
from linkwork.dynamics.aba import accelerations_root_to_leaf, begin_body, inertias_leaf_to_root
from linkwork.model.kernels.joint_kernels import body_motion
from linkwork.model.layout import ARMATURE, DOF, HELICAL, KIND, V
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.variational.discrete_equations import CARRIED, part_given_back
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import load6, store3, store6, store9
from linkwork.spatial.rotations import ZERO3
from linkwork.spatial.vectors import dot6, scale6


@routine
def velocities(table, column, row, q):
    """v of the momenta in a column of `variational_work` and a row of `stages`, at q: `aba` from rest; returns as that."""
    s = moving_of(table)
    s.counts[mv.EVALUATIONS] += 1
    S = s.dof_work[:, aba.S_D : aba.S_D + 6]
    for i in range(s.tree.shape[0]):
        R, p, _, _ = body_motion(s.tree, s.body, s.screws, i, q, s.start_v, S)
        store9(s.work, i, aba.R_, R)
        store3(s.work, i, aba.P_, p)
        begin_body(s.tree, s.body, s.work, i, ZERO_TWIST, Wrench(scale6(-1.0, load6(s.variational_work, i, column))))
        j = s.tree[i, V]
        for k in range(s.tree[i, DOF]):
            s.effective_armature[j + k, ARMATURE] = s.dof[j + k, ARMATURE]
            s.dof_work[j + k, aba.EFFORT_D] = s.stages[row, j + k]
        if s.tree[i, KIND] == HELICAL:
            s.work[i, aba.U_SMALL] = s.stages[row, j]
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.effective_armature, s.work, s.dof_work)
    if bad < 0:
        accelerations_root_to_leaf(s.tree, s.body, ZERO3, s.work, s.dof_work, s.v)
    return bad


@routine
def kinetic_energy(table, column, row, q):
    """½ v·p of the same [J], by `velocities`."""
    s = moving_of(table)
    velocities(table, column, row, q)
    energy = 0.0
    for i in range(s.tree.shape[0]):
        energy += 0.5 * dot6(
            load6(s.variational_work, i, column), load6(s.work, i, aba.ACCELERATION)
        )  # from rest: its twist
    for j in range(s.v.shape[0]):
        energy += 0.5 * s.stages[row, j] * s.v[j]
    return energy


@inlined
def kinetic_energy_now(table, q):
    """That of the momenta that are carried on, at q, where they are [J]; found once."""
    s = moving_of(table)
    if s.numbers[mv.KINETIC_NOW] < 0.0:
        s.numbers[mv.KINETIC_NOW] = kinetic_energy(table, mv.CARRIED_MOMENTUM, CARRIED, q)
    return s.numbers[mv.KINETIC_NOW]


@routine
def count_energy(table):
    """Adds up what steps have made of energy; where that is no longer small, all speeds change by the same small part."""
    s = moving_of(table)
    kinetic = kinetic_energy_now(table, s.q)
    debt = s.numbers[mv.ENERGY_DEBT] + kinetic - s.numbers[mv.COUNTED_KINETIC] - s.numbers[mv.WORK]
    part = part_given_back(table, debt, kinetic)
    if part != 0.0:
        scale = math.sqrt(1.0 - part)
        for i in range(s.tree.shape[0]):
            store6(
                s.variational_work,
                i,
                mv.CARRIED_MOMENTUM,
                scale6(scale, load6(s.variational_work, i, mv.CARRIED_MOMENTUM)),
            )
        for j in range(s.v.shape[0]):
            s.stages[CARRIED, j] *= scale
        s.numbers[mv.ENERGY_WITHIN] -= part * kinetic
    begin_count(table, kinetic - part * kinetic)


@inlined
def begin_count(table, kinetic):
    """What steps make of energy is counted from here on."""
    s = moving_of(table)
    s.numbers[mv.COUNTED_KINETIC] = kinetic
    s.numbers[mv.KINETIC_NOW] = kinetic
    s.numbers[mv.WORK] = 0.0
    s.numbers[mv.UNCOUNTED_STEPS] = 0.0
    s.numbers[mv.UNCOUNTED_GAP] = 0.0
