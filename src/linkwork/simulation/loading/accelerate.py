"""Accelerations of a moving linkage under everything that acts on it, by `aba`, with stiff joints taken implicitly.

A spring, damper or motor pulls with τ = -k (q - q₀) - d v. Taken where the step ends instead of where it begins, it needs

    Euler      (M + h d + h² k) q̈ = τ_all(q, v) - h k v                                       (1)  docs/integrators.md
    midpoint   (M + ½ h d + ¼ h² k) q̈' = τ_all(q̄, v̄) + (d + ½ h k) (v̄ - μ v̄ - v)              (2)

which is the same equation of motion with more armature on each joint and one more effort: no gain is too stiff for it.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.aba import (
    IA,
    IB,
    IC,
    P_,
    PA,
    R_,
    S_D,
    TWIST,
    accelerations_root_to_leaf,
    inertias_leaf_to_root,
    velocities_root_to_leaf,
)
from linkwork.environment.fluid import fluid_in_step
from linkwork.model.kernels.joint_kernels import body_motion, helical_twist, joint_passive_effort
from linkwork.model.layout import ARMATURE, COMPOUND, DAMPING, DOF, HELICAL, KIND, PARENT, STIFFNESS, Q, V
from linkwork.simulation.loading.load_columns import wrench_of_load
from linkwork.simulation.loading.motor_law import M_FRICTION, motor_law
from linkwork.simulation.moving import (
    COMPOSITES_READY,
    EVALUATIONS,
    IMPLICIT,
    IMPULSE,
    LOADS,
    MOMENTUM,
    MOTORS,
    MU,
    SUBSTEP,
    moving_of,
)
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import tmatvec3
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, scale6, twist_to_child

SAME_LINE = 1e-3  # relative change of the slope of equation (2) of `motors` that is not worth another evaluation

MOST_TRIALS = 60  # along a step of Newton's method, to find where the slope vanishes
FLAT = 1e-12  # of the slopes at the ends of the step: a slope that counts as none

# Where in the step springs, dampers and motors are taken; FROM_REST: nowhere, but the momenta of a variational step act as
# forces that give them to the linkage at rest within half a step.
EXPLICIT, AT_END, AT_MIDPOINT, HALF_WAY, FROM_REST = range(5)


# ------------------------------------------------------------------------------------------------------------------ joints


@inlined
def motor_at(s, i, d, ahead):
    """Effort of the motor of coordinate d of joint i at (q, v), its stiffness and damping; zeros where it has none."""
    kind = s.tree[i, KIND]
    if kind == HELICAL or kind == COMPOUND:
        j = s.tree[i, V] + d
        u = s.saturation_velocity[j] if ahead > 0.0 else s.v[j]
        return motor_law(s.motor, s.effort_limit, s.velocity_limit, j, s.q[s.tree[i, Q] + d], s.v[j], ahead, u)
    return 0.0, 0.0, 0.0


@routine
def joint_efforts(table, where, h):
    """All efforts on joints into `joint_effort`, and their armature into `effective_armature`, by equations (1) and (2)."""
    s = moving_of(table)
    if where == FROM_REST:
        for j in range(s.v.shape[0]):
            s.joint_effort[j] = s.effort[j] + s.stages[IMPULSE, j]
            s.effective_armature[j, ARMATURE] = s.dof[j, ARMATURE]
        return
    if where == HALF_WAY:
        h = s.numbers[SUBSTEP]
    ahead = h if where == AT_END else 0.0
    for i in range(s.tree.shape[0]):
        j = s.tree[i, V]
        n = s.tree[i, DOF]
        if s.tree[i, KIND] == HELICAL:  # the hot path
            spring = s.dof[j, STIFFNESS] * (s.q[s.tree[i, Q]] - s.rest[s.tree[i, Q]])
            s.joint_effort[j] = s.effort[j] - s.dof[j, DAMPING] * s.v[j] - spring
        else:
            for d in range(n):
                s.joint_effort[j + d] = s.effort[j + d]
            joint_passive_effort(s.tree, s.dof, s.rest, i, s.q, s.v, s.joint_effort)
        for d in range(j, j + n):
            armature = s.dof[d, ARMATURE]
            stiffness = s.dof[d, STIFFNESS]
            damping = s.dof[d, DAMPING]
            if s.counts[MOTORS] > 0:
                effort, k, c = motor_at(s, i, d - j, ahead)
                s.joint_effort[d] += effort
                stiffness += k
                damping += c
            if where == AT_END:
                armature += h * damping + h * h * stiffness
                s.joint_effort[d] -= h * stiffness * s.v[d]
            elif where == HALF_WAY:
                armature += 0.5 * h * damping + 0.25 * h * h * stiffness
                s.joint_effort[d] -= 0.5 * h * stiffness * s.v[d]
            elif where == AT_MIDPOINT:
                armature += 0.5 * h * damping + 0.25 * h * h * stiffness
                s.joint_effort[d] += (damping + 0.5 * h * stiffness) * ((1.0 - s.numbers[MU]) * s.v[d] - s.start_v[d])
            s.effective_armature[d, ARMATURE] = armature


@inlined
def changes_law(s, i, d, h, u):
    """Whether the motor of coordinate d of joint i has another law at the velocity u than at its saturation velocity."""
    j = s.tree[i, V] + d
    kind = s.tree[i, KIND]
    free = s.effort_limit[j] == math.inf and s.velocity_limit[j] == math.inf and s.motor[j, M_FRICTION] == 0.0
    if (kind != HELICAL and kind != COMPOUND) or free:
        return False
    effort, stiffness, damping = motor_at(s, i, d, h)
    other, k, c = motor_law(s.motor, s.effort_limit, s.velocity_limit, j, s.q[s.tree[i, Q] + d], s.v[j], h, u)
    at_strength = k == 0.0 and c == 0.0 and other != effort
    slips = s.motor[j, M_FRICTION] > 0.0 and abs(other - effort) > s.motor[j, M_FRICTION]  # the other way
    return k != stiffness or abs(c - damping) > SAME_LINE * damping or at_strength or slips


@inlined
def limited_effort(s, i, d, h, u):
    """Effort of the motor of coordinate d of joint i, within its limits, where the step of h ends with velocity u."""
    j = s.tree[i, V] + d
    effort, k, c = motor_law(s.motor, s.effort_limit, s.velocity_limit, j, s.q[s.tree[i, Q] + d], s.v[j], h, u)
    return effort - h * k * u - c * (u - s.v[j])


@routine
def update_saturation(table, h, is_first):
    """Laws of motors within their limits at the velocities v + h q̈ that were just found; returns whether any has changed.

    is_first: the laws until now are those at the velocities where the step begins.
    """
    s = moving_of(table)
    changed = False
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            changed = changed or changes_law(s, i, d, h, s.v[j] + h * s.qdd[j])
    if changed:
        efforts_at_saturation(table, h)
        search_saturation(table, h, is_first, 1.0)
    return changed


@routine
def efforts_at_saturation(table, h):
    """Fills `joint_effort` with the efforts of motors at v + h q̈ by their present laws."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            effort, k, c = motor_at(s, i, d, h)
            s.joint_effort[j] = effort - h * k * (s.v[j] + h * s.qdd[j]) - c * h * s.qdd[j]


@routine
def search_saturation(table, h, is_first, most):
    """Moves `saturation_velocity` to v + h q̈ at first; later towards it, to where a convex function is least, at most
    so much of the way. With τ(u) the efforts of motors, the end u of the step is where M (u - v) / h - r - τ(u)
    = 0, and no τ rises with its u: the place where a convex function of u is least. Each evaluation is a step of Newton's
    method towards it, which may go round in circles; a search along that step, to where the slope of the function
    vanishes, does not. The first two terms are linear in u. So their value there, kept in `u`, follows
    from those at the ends of the steps, where they are the efforts that motors had by their laws, and the
    impulses of contacts and limits over h: in `joint_effort`.
    """
    s = moving_of(table)
    share = 1.0 if is_first else min(where_slope_vanishes(table, h), most)
    for j in range(s.v.shape[0]):
        end = s.v[j] + h * s.qdd[j]
        s.saturation_velocity[j] = (
            end if share == 1.0 else s.saturation_velocity[j] + share * (end - s.saturation_velocity[j])
        )
        s.u[j] = s.joint_effort[j] if share == 1.0 else s.u[j] + share * (s.joint_effort[j] - s.u[j])


@routine
def where_slope_vanishes(table, h):
    """Share of the way after which the slope of `slope_along` is zero; 1 where it falls all the way, or nowhere.

    The slope rises with the share, linear in pieces: false position (Illinois) ends on the right piece.
    """
    low, high = 0.0, 1.0
    below, above = slope_along(table, h, 0.0), slope_along(table, h, 1.0)
    if not (below < 0.0 < above):
        return 1.0
    least, side = FLAT * (above - below), 0
    for _ in range(MOST_TRIALS):
        share = (low * above - high * below) / (above - below)
        slope = slope_along(table, h, share)
        if abs(slope) <= least:
            return share
        if slope > 0.0:
            high, above = share, slope
            below = 0.5 * below if side > 0 else below
            side = 1
        else:
            low, below = share, slope
            above = 0.5 * above if side < 0 else above
            side = -1
    return 0.5 * (low + high)


@routine
def slope_along(table, h, share):
    """Slope of the function that the end of the step makes least, on the way of `search_saturation`."""
    s = moving_of(table)
    slope = 0.0
    for i in range(s.tree.shape[0]):
        kind = s.tree[i, KIND]
        if kind == HELICAL or kind == COMPOUND:
            for d in range(s.tree[i, DOF]):
                j = s.tree[i, V] + d
                way = s.v[j] + h * s.qdd[j] - s.saturation_velocity[j]
                others = s.u[j] + share * (s.joint_effort[j] - s.u[j])
                slope += way * (others - limited_effort(s, i, d, h, s.saturation_velocity[j] + share * way))
    return slope


# ------------------------------------------------------------------------------------------------------------------- loads


@inlined
def load_wrench(s, k):
    """Load k of the world as a wrench on its body, in the body's frame; needs `world`."""
    i = s.load_body[k]
    return wrench_of_load(s.load, k, load9(s.world, i, 0), load3(s.world, i, 9))


@inlined
def place_in_world(s, i, R, p):
    """World pose of body i from its pose in its parent."""
    parent = s.tree[i, PARENT]
    if parent >= 0:
        R, p = compose_pose(load9(s.world, parent, 0), load3(s.world, parent, 9), R, p)
    store9(s.world, i, 0, R)
    store3(s.world, i, 9, p)


@inlined
def place_and_move(s, i):
    """World pose and twist of body i at (q, v), from those of its parent."""
    R, p, VJ, _ = body_motion(s.tree, s.body, s.screws, i, s.q, s.v, s.dof_work[:, S_D : S_D + 6])
    twist = VJ
    if s.tree[i, PARENT] >= 0:
        twist = add6(twist_to_child(R, p, load6(s.work, s.tree[i, PARENT], TWIST)), VJ)
    store9(s.work, i, R_, R)
    store3(s.work, i, P_, p)
    store6(s.work, i, TWIST, twist)
    place_in_world(s, i, R, p)
    return twist


@inlined
def move_placed(s, i):
    """The same where poses of all bodies in their parents and columns of their joints are in `work` and `dof_work`."""
    R, p, j = load9(s.work, i, R_), load3(s.work, i, P_), s.tree[i, V]
    if s.tree[i, KIND] == HELICAL:
        twist = scale6(s.v[j], helical_twist(s.body, i))
    else:
        twist = ZERO6
        for d in range(j, j + s.tree[i, DOF]):
            twist = add6(twist, scale6(s.v[d], load6(s.dof_work, d, S_D)))
    if s.tree[i, PARENT] >= 0:
        twist = add6(twist_to_child(R, p, load6(s.work, s.tree[i, PARENT], TWIST)), twist)
    store6(s.work, i, TWIST, twist)
    place_in_world(s, i, R, p)
    return twist


@routine
def world_poses_root_to_leaf(table):
    """World poses of all bodies from the poses in their parents that `aba` left behind."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        place_in_world(s, i, load9(s.work, i, R_), load3(s.work, i, P_))


@kernel
def place_bodies(table):
    """World poses and twists of all bodies at (q, v) into `world` and `work`, for forces that Python finds."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        place_and_move(s, i)


@kernel
def all_wrenches(table, out):
    """Everything that acts on bodies at q, in their frames, (n, 6): for algorithms outside this step.

    Leaves world poses and twists behind, as `accelerate` does.
    """
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        place_and_move(s, i)
        store6(out, i, 0, load6(s.wrench, i, 0) if s.wrench.shape[0] > 0 else ZERO6)
    for k in range(s.counts[LOADS]):
        add_to6(out, s.load_body[k], 0, load_wrench(s, k))


@kernel
def all_efforts(table, out):
    """Given efforts and those of motors at (q, v), (nv,): for algorithms outside this step; they add springs."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            out[j] = s.effort[j] + (motor_at(s, i, d, 0.0)[0] if s.counts[MOTORS] > 0 else 0.0)


# ------------------------------------------------------------------------------------------------------------ accelerations


@routine
def articulate(table, where, h):
    """Articulated inertias and biases at (q, v); returns OK (-1) or a body whose joint resists with no inertia."""
    s = moving_of(table)
    joint_efforts(table, where if s.counts[IMPLICIT] != 0 else EXPLICIT, h)
    is_placed = where == AT_END and s.counts[COMPOSITES_READY] != 0  # Euler's rule evaluates where the last step ended
    velocities_root_to_leaf(s, s.effective_armature, s.q, s.v, s.joint_effort, s.wrench, s.work, s.dof_work, is_placed)
    apply_loads(table)
    if s.wet.shape[0] > 0:
        apply_fluid(table, h if where == AT_END else 0.0)
    if where == FROM_REST:
        for i in range(s.tree.shape[0]):
            add_to6(s.work, i, PA, scale6(-2.0 / s.numbers[SUBSTEP], load6(s.variational_work, i, MOMENTUM)))
    bad, _ = inertias_leaf_to_root(s.tree, s.body, s.effective_armature, s.work, s.dof_work)
    return bad


@routine
def accelerate(table, where, h):
    """Writes accelerations at (q, v) into `qdd`, of the tree with its loops open; returns as `articulate`."""
    s = moving_of(table)
    s.counts[EVALUATIONS] += 1
    bad = articulate(table, where, h)
    if bad < 0:
        accelerations_root_to_leaf(s.tree, s.body, s.gravity, s.work, s.dof_work, s.qdd)
    return bad


@routine
def apply_fluid(table, h):
    """What water does to bodies: its wrench into their bias, drag taken h ahead and added mass into their inertia."""
    s = moving_of(table)
    world_poses_root_to_leaf(table)
    gravity = (s.gravity[0], s.gravity[1], s.gravity[2])
    for k in range(s.wet.shape[0]):
        i = s.wet_body[k]
        if i >= 0:
            R, p = load9(s.world, i, 0), load3(s.world, i, 9)
            F, A, B, C = fluid_in_step(
                s.wet, k, s.water, s.current, tmatvec3(R, gravity), R, p, load6(s.work, i, TWIST), h
            )
            add_to6(s.work, i, PA, scale6(-1.0, F))
            add_to6(s.work, i, IA, A)
            add_to9(s.work, i, IB, B)
            add_to6(s.work, i, IC, C)


@inlined
def apply_loads(table):
    """Takes the world's loads off the bias wrenches of their bodies."""
    s = moving_of(table)
    if s.counts[LOADS] > 0:
        world_poses_root_to_leaf(table)
        for k in range(s.counts[LOADS]):
            add_to6(s.work, s.load_body[k], PA, scale6(-1.0, load_wrench(s, k)))
