"""The way that a part of a step has taken: whether a body went through another one on it.

Contacts are found with the velocities that forces alone would give, and each keeps one point of a body from going deeper.
Impulses make other velocities: a rod that hits a wall with one end turns, by more than a radian per step if it is thin, and
its points move on arcs. So the motion that came out is looked at once more: all pairs that it brings near are followed
along it (`contact.narrow_phase.follow`), those that touch too, from the poses of its start to those of its end,

    R₁ R₀ᵀ = exp(h ω)        p₁ = p₀ + h v                                                                        (35)

and a part on which something goes through is made again up to where it was still on its own side. Steps whose bodies are
slow for their width cost nothing.   Theory: docs/theory/contact.md.
"""

import math

from linkwork.contact.broad_phase import search_itself_again
from linkwork.contact.contact_list import COUNT, GAP, take_back_contacts
from linkwork.contact.geometry.boxes import CENTRE, HALF, REACH
from linkwork.contact.narrow_phase import DEEP, FAST, SLOW
from linkwork.contact.near_world import look
from linkwork.contact.tables import CLEAR, CONTACTS, FASTEST, MARGIN, MODE, NEAR_ITSELF, PASSING, THIN
from linkwork.contact.volumes import length, twist_reach
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.simulation.loading.accelerate import move_placed, place_and_move, place_in_world
from linkwork.simulation.moving import COMPOSITES_READY, moving_of
from linkwork.simulation.stepping.saving import take_back_state
from linkwork.simulation.touching import arrays as ta
from linkwork.simulation.touching.answers import to_world
from linkwork.simulation.touching.arrays import contacts_of, touch_of
from linkwork.simulation.touching.search.finding import finder_of
from linkwork.simulation.touching.search.fronts import FRONTS, front_below, front_pose
from linkwork.simulation.touching.search.placing import place_open_nodes
from linkwork.spatial.memory import load3, load9, store3, store6, store9
from linkwork.spatial.rotations import dot3, matmul3, matrix_quaternion, quaternion_log, scale3, sub3, transpose3
from linkwork.spatial.vectors import join

SHORTEST = 2.0**-8  # of a step: a part that is not made shorter, whatever goes through on it
SHORTER = 0.7  # at most so much of a part is tried next
AT_REST = 0.02  # of the least half width: where forces alone move bodies by less, impulses do not make them pass either
INSIDE = 0.1  # of it: contacts that are as deep are looked at more closely
# Of it: two bodies that the search for contacts held apart pass only where each went so much farther than it took them to:
# one passes the other where it is deeper than half of their half widths together.
FASTER = DEEP * (1.0 - 1e-9)
SHORT_TURN = 1.0  # Frobenius' norm of the change of a rotation, up to which
ARC = 0.75  # of it is more than the angle [rad]: 2√2 sin(½ angle) is that norm


@routine
def take_back_way(table, push_work):
    """The state, contacts and sums before a part that was made."""
    t = touch_of(table)
    take_back_state(table)
    take_back_contacts(contacts_of(table))
    for k in range(t.totals.shape[0]):
        t.totals[k] = t.safe_totals[ta.WAY_TOTALS, k]
    t.balance[ta.PUSH_WORK] = push_work


@kernel
def shorter_part(table, h, whole, push_work):
    """After a part of h [s] was made, of a step of `whole` [s]: zero, or the length to make it again with, and the part is
    taken back."""
    if h <= SHORTEST * whole:
        return 0.0
    clear = clear_time(table, h)
    if clear >= h:
        return 0.0
    take_back_way(table, push_work)
    return max(min(clear, SHORTER * h), SHORTEST * whole)


@routine
def clear_time(table, h):
    """Up to when no body went through another one in the part of h [s] that was just made [s]: h where none did."""
    t = touch_of(table)
    finder = finder_of(table)
    query = finder.query
    fast = fast_way(finder)
    if t.counts[ta.CONTINUOUS] == 0 or not may_be_fast(t, query, fast):
        return h
    place_at_end(table)
    query[MODE], query[CLEAR] = PASSING, h
    found, farthest, faster = look_along_way(table, finder, h, fast)
    may_be_near = query[NEAR_ITSELF] > 0.0 or faster > FASTER * query[THIN]
    if found and t.counts[ta.SELF_CONTACT] != 0 and farthest > 0.5 * fast and may_be_near:
        search_itself_along_way(table, finder, h)
    query[MODE] = CONTACTS
    return query[CLEAR]


@inlined
def fast_way(finder):
    """How far a body must have gone to pass an obstacle [m]; half of it where that moves as well."""
    query, least = finder.query, 0.0
    for c in range(finder.contacts.number[COUNT]):
        least = min(least, finder.contacts.data[c, GAP])
    return (FAST if -least < INSIDE * query[THIN] else SLOW) * query[THIN]


@inlined
def may_be_fast(t, query, fast):
    """Whether a body may have gone as far, by the velocities that forces alone give and by whether impulses acted."""
    if t.counts[ta.SLOTS] + t.counts[ta.LIMITS] > 0:
        return query[FASTEST] > AT_REST * query[THIN]
    return query[FASTEST] > (0.25 if t.counts[ta.SELF_CONTACT] != 0 else 0.5) * fast


@routine
def place_at_end(table):
    """World poses and twists of the end of the part that was made; the energy there needs them too."""
    s = moving_of(table)
    t = touch_of(table)
    is_placed = s.counts[COMPOSITES_READY] != 0
    for i in range(s.tree.shape[0]):
        twist = move_placed(s, i) if is_placed else place_and_move(s, i)
        store6(t.twists, i, 0, to_world(load9(s.world, i, 0), twist))
    if t.balance[ta.WAS_TOUCHING] != 0.0:
        t.balance[ta.WAS_TOUCHING] = ta.TOUCHED_AND_PLACED


@routine
def look_along_way(table, finder, h, fast):
    """Follows all fronts that went fast along their way, against the world; False where the stack was too short. And how
    far a point of any front went at most, and by how much farther than the search for contacts took it to go [m].

    World poses and twists are those of the end; where fronts stood at the start, `stood` tells.
    """
    s = moving_of(table)
    t = touch_of(table)
    volumes = finder.volumes
    farthest, faster = 0.0, 0.0
    for o in range(t.open_nodes.shape[0]):
        for part in range(FRONTS):
            row, node = front_below(volumes, t.open_nodes[o], part)
            if row < 0 or t.piece[node] < 0:
                continue
            guess = scale3(h, load3(t.twists, t.piece[node], 0))
            R, p = front_pose(s, t, node)
            reach = reach_along(volumes, row, R, p, guess)
            farthest = max(farthest, reach)
            faster = max(faster, reach - volumes.volume[row, REACH])
            if reach <= fast or volumes.known[row] - volumes.gone[row] > finder.query[MARGIN] + reach:
                continue
            R0, p0 = load9(volumes.stood, row, 0), load3(volumes.stood, row, 9)
            V = twist_between(R0, p0, R, p, guess, h)
            if not look(finder, row, R0, p0, V, twist_reach(V, volumes.volume, row, h)):
                return False, farthest, faster
    return True, farthest, faster


@inlined
def reach_along(volumes, row, R, p, guess):
    """At most how far a point of a front goes from where it stood to R, p by a constant twist [m].   (2)"""
    R0, p0 = load9(volumes.stood, row, 0), load3(volumes.stood, row, 9)
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
    """The constant twist, of world axes, that moves a pose to another one in the time h.   (35)

    guess: the rotation vector, but for whole turns; their number is the one nearest to it.
    """
    turn = turned(matmul3(R1, transpose3(R0)), guess)
    return join(scale3(1.0 / h, turn), scale3(1.0 / h, sub3(p1, p0)))


@routine
def search_itself_along_way(table, finder, h):
    """Follows all pairs of bodies that the way brings near each other; world poses are those of the end, then too."""
    t = touch_of(table)
    follow_way(table, h)
    place_open_nodes(table, finder.volumes)
    search_itself_again(finder, t.open_nodes, h)
    leave_at_end(table)


@routine
def follow_way(table, h):
    """Twists of the way of h [s] into `twists`, world poses of its start into `world`, of its end into `way`."""
    s = moving_of(table)
    t = touch_of(table)
    for i in range(s.tree.shape[0]):
        store9(t.way, i, 0, load9(s.world, i, 0))
        store3(t.way, i, 9, load3(s.world, i, 9))
    for i in range(s.tree.shape[0]):
        R, p = body_pose(s.tree, s.body, s.screws, i, s.start_q)
        place_in_world(s, i, R, p)
        guess = scale3(h, load3(t.twists, i, 0))
        R0, p0 = load9(s.world, i, 0), load3(s.world, i, 9)
        store6(t.twists, i, 0, twist_between(R0, p0, load9(t.way, i, 0), load3(t.way, i, 9), guess, h))


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
def leave_at_end(table):
    """World poses of the end again."""
    s = moving_of(table)
    t = touch_of(table)
    for i in range(s.tree.shape[0]):
        store9(s.world, i, 0, load9(t.way, i, 0))
        store3(s.world, i, 9, load3(t.way, i, 9))
