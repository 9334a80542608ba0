"""Checks the path of a part of a step: whether a body went through another one on it.

Contacts are found with the velocities that forces alone would give, and each keeps one point of a body from going deeper.
Impulses make other velocities: a rod that hits a wall with one end turns, by more than a radian per step if it is thin, and
its points move on arcs. So the resulting motion is checked as well: all pairs that it brings near are followed
along it (`contact.narrow_phase.follow`), those that touch too, from the poses of its start to those of its end,

    R₁ R₀ᵀ = exp(h ω)        p₁ = p₀ + h v                                                                        (33)

and a part on which something goes through is made again up to where it was still on its own side. Steps whose bodies are
slow for their width cost nothing.   Theory: docs/theory/contact.md.
"""

import math

from linkwork.contact.broad_phase import search_itself_again
from linkwork.contact.contact_list import COUNT, GAP, take_back_contacts
from linkwork.contact.geometry.boxes import CENTRE, HALF, REACH
from linkwork.contact.narrow_phase import DEEP, FAST, SLOW
from linkwork.contact.near_world import query_obstacles
from linkwork.contact.tables import CLEAR, CONTACTS, FASTEST, MARGIN, MODE, NEAR_ITSELF, PASSING, THIN
from linkwork.contact.volumes import length, twist_reach
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of
from linkwork.simulation.contact_step.search.finding import finder_of
from linkwork.simulation.contact_step.search.placing import place_open_nodes
from linkwork.simulation.contact_step.search.rigid_groups import GROUPS_BELOW, rigid_group_below, rigid_group_pose
from linkwork.simulation.loading.accelerate import move_placed, place_and_move, place_in_world
from linkwork.simulation.moving import COMPOSITES_READY, moving_of
from linkwork.simulation.stepping.saving import take_back_state
from linkwork.spatial.memory import load3, load9, store3, store6, store9
from linkwork.spatial.rotations import dot3, matmul3, matrix_quaternion, quaternion_log, scale3, sub3, transpose3
from linkwork.spatial.vectors import join, to_world

SHORTEST = 2.0**-8  # of a step: a part that is not made shorter, whatever goes through on it
SHORTER = 0.7  # at most so much of a part is tried next
AT_REST = 0.02  # of the least half width: where forces alone move bodies by less, impulses do not make them pass either
INSIDE = 0.1  # of it: contacts that are as deep are followed more closely
# Of it: two bodies that the search for contacts held apart pass only where each went so much farther than it took them to:
# one passes the other where it is deeper than half of their half widths together.
FASTER = DEEP * (1.0 - 1e-9)
SHORT_TURN = 1.0  # Frobenius' norm of the change of a rotation, up to which
ARC = 0.75  # of it is more than the angle [rad]: 2√2 sin(½ angle) is that norm


@routine
def take_back_path(table, push_work):
    """The state, contacts and sums before a part that was made."""
    t = contact_arrays_of(table)
    take_back_state(table)
    take_back_contacts(contacts_of(table))
    for k in range(t.totals.shape[0]):
        t.totals[k] = t.saved_totals[ca.PATH_TOTALS, k]
    t.balance[ca.PUSH_WORK] = push_work


@kernel
def shorter_part(table, h, step, push_work):
    """After a part of h [s] was made, of a step of `step` [s]: zero, or the length to make it again with, and the part is
    taken back."""
    if h <= SHORTEST * step:
        return 0.0
    clear = clear_time(table, h)
    if clear >= h:
        return 0.0
    take_back_path(table, push_work)
    return max(min(clear, SHORTER * h), SHORTEST * step)


@routine
def clear_time(table, h):
    """Up to when no body went through another one in the part of h [s] that was just made [s]: h where none did."""
    t = contact_arrays_of(table)
    finder = finder_of(table)
    query = finder.query
    fast = passing_distance(finder)
    if t.counts[ca.CONTINUOUS] == 0 or not may_be_fast(t, query, fast):
        return h
    place_at_end(table)
    query[MODE], query[CLEAR] = PASSING, h
    found, farthest, faster = check_path_in_world(table, finder, h, fast)
    may_be_near = query[NEAR_ITSELF] > 0.0 or faster > FASTER * query[THIN]
    if found and t.counts[ca.SELF_CONTACT] != 0 and farthest > 0.5 * fast and may_be_near:
        check_path_in_itself(table, finder, h)
    query[MODE] = CONTACTS
    return query[CLEAR]


@inlined
def passing_distance(finder):
    """How far a body must have gone to pass an obstacle [m]; half of it where that moves as well."""
    query, least = finder.query, 0.0
    for c in range(finder.contacts.number[COUNT]):
        least = min(least, finder.contacts.data[c, GAP])
    return (FAST if -least < INSIDE * query[THIN] else SLOW) * query[THIN]


@inlined
def may_be_fast(t, query, fast):
    """Whether a body may have gone as far, by the velocities that forces alone give and by whether impulses acted."""
    if t.counts[ca.CONTACT_BODIES] + t.counts[ca.LIMITS] > 0:
        return query[FASTEST] > AT_REST * query[THIN]
    return query[FASTEST] > (0.25 if t.counts[ca.SELF_CONTACT] != 0 else 0.5) * fast


@routine
def place_at_end(table):
    """World poses and twists of the end of the part that was made; the energy there needs them too."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    is_placed = s.counts[COMPOSITES_READY] != 0
    for i in range(s.tree.shape[0]):
        twist = move_placed(s, i) if is_placed else place_and_move(s, i)
        store6(t.twists, i, 0, to_world(load9(s.world, i, 0), twist))
    if t.balance[ca.HAD_CONTACT] != 0.0:
        t.balance[ca.HAD_CONTACT] = ca.SOLVED_AND_PLACED


@routine
def check_path_in_world(table, finder, h, fast):
    """Follows all rigid groups that went fast along their path, against the world; False where the stack was too short. And
    how far a point of any group went at most, and by how much farther than the search for contacts took it to go [m].

    World poses and twists are those of the end; `last_pose` is that of each group at the start.
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    volumes = finder.volumes
    farthest, faster = 0.0, 0.0
    for o in range(t.open_nodes.shape[0]):
        for part in range(GROUPS_BELOW):
            row, node = rigid_group_below(volumes, t.open_nodes[o], part)
            if row < 0 or t.node_body[node] < 0:
                continue
            guess = scale3(h, load3(t.twists, t.node_body[node], 0))
            R, p = rigid_group_pose(s, t, node)
            reach = reach_along(volumes, row, R, p, guess)
            farthest = max(farthest, reach)
            faster = max(faster, reach - volumes.volume[row, REACH])
            if reach <= fast or volumes.clearance_bound[row] - volumes.travelled[row] > finder.query[MARGIN] + reach:
                continue
            R0, p0 = load9(volumes.last_pose, row, 0), load3(volumes.last_pose, row, 9)
            V = twist_between(R0, p0, R, p, guess, h)
            if not query_obstacles(finder, row, R0, p0, V, twist_reach(V, volumes.volume, row, h)):
                return False, farthest, faster
    return True, farthest, faster


@inlined
def reach_along(volumes, row, R, p, guess):
    """At most how far a point of a rigid group goes from its last pose to R, p by a constant twist [m].   (3)"""
    R0, p0 = load9(volumes.last_pose, row, 0), load3(volumes.last_pose, row, 9)
    turn = 0.0
    for e in range(9):
        turn += (R[e] - R0[e]) ** 2
    if turn > SHORT_TURN * SHORT_TURN or dot3(guess, guess) > 1.0:  # perhaps once around
        V = twist_between(R0, p0, R, p, guess, 1.0)
        return twist_reach(V, volumes.volume, row, 1.0)
    arm = length(load3(volumes.volume, row, CENTRE)) + length(load3(volumes.volume, row, HALF))
    return length(sub3(p, p0)) + ARC * math.sqrt(turn) * arm


@inlined
def twist_between(R0, p0, R1, p1, guess, h):
    """The constant twist, of world axes, that moves a pose to another one in the time h.   (33)

    guess: the rotation vector, but for whole turns; their number is the one nearest to it.
    """
    turn = turned(matmul3(R1, transpose3(R0)), guess)
    return join(scale3(1.0 / h, turn), scale3(1.0 / h, sub3(p1, p0)))


@routine
def check_path_in_itself(table, finder, h):
    """Follows all pairs of bodies that come near each other on the path; world poses are those of the end, then too."""
    t = contact_arrays_of(table)
    set_path_twists(table, h)
    place_open_nodes(table, finder.volumes)
    search_itself_again(finder, t.open_nodes, h)
    restore_end_poses(table)


@routine
def set_path_twists(table, h):
    """Twists of the path of h [s] into `twists`, world poses of its start into `world`, of its end into `end_pose`."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    for i in range(s.tree.shape[0]):
        store9(t.end_pose, i, 0, load9(s.world, i, 0))
        store3(t.end_pose, i, 9, load3(s.world, i, 9))
    for i in range(s.tree.shape[0]):
        R, p = body_pose(s.tree, s.body, s.screws, i, s.start_q)
        place_in_world(s, i, R, p)
        guess = scale3(h, load3(t.twists, i, 0))
        R0, p0 = load9(s.world, i, 0), load3(s.world, i, 9)
        store6(t.twists, i, 0, twist_between(R0, p0, load9(t.end_pose, i, 0), load3(t.end_pose, i, 9), guess, h))


@inlined
def turned(R, guess):
    """The rotation vector of R that is nearest to a guess."""
    turn = quaternion_log(matrix_quaternion(R))
    angle = math.sqrt(dot3(turn, turn))
    if angle > 1e-12:
        axis = scale3(1.0 / angle, turn)
        around = 2.0 * math.pi
        angle += around * math.floor((dot3(axis, guess) - angle) / around + 0.5)
        turn = scale3(angle, axis)
    return turn


@routine
def restore_end_poses(table):
    """World poses of the end again."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    for i in range(s.tree.shape[0]):
        store9(s.world, i, 0, load9(t.end_pose, i, 0))
        store3(s.world, i, 9, load3(t.end_pose, i, 9))
