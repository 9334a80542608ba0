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

from linkwork.contact.broad_phase import search_itself
from linkwork.contact.contact_list import COUNT, GAP, take_back_contacts
from linkwork.contact.geometry.boxes import CENTRE, HALF
from linkwork.contact.narrow_phase import FAST, SLOW
from linkwork.contact.tables import CLEAR, CONTACTS, FASTEST, MODE, PASSING, THIN
from linkwork.contact.volumes import length, refit
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.simulation.loading.accelerate import place_and_move, place_in_world
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.saving import take_back_state
from linkwork.simulation.touching.answers import to_world
from linkwork.simulation.touching.arrays import (
    CONTINUOUS,
    LIMITS,
    PUSH_WORK,
    SELF_CONTACT,
    SLOTS,
    WAY_TOTALS,
    contacts_of,
    touch_of,
)
from linkwork.simulation.touching.search.finding import finder_of
from linkwork.simulation.touching.search.fronts import FRONTS, front_below, look_at_fronts
from linkwork.simulation.touching.search.placing import place_open_nodes
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import dot3, matmul3, matrix_quaternion, quaternion_log, scale3, sub3, transpose3
from linkwork.spatial.vectors import join

SHORTEST = 2.0**-8  # of a step: a part that is not made shorter, whatever goes through on it
SHORTER = 0.7  # at most so much of a part is tried next
AT_REST = 0.02  # of the least half width: where forces alone move bodies by less, impulses do not make them pass either
INSIDE = 0.1  # of it: contacts that are as deep are looked at more closely


@routine
def take_back_way(table, push_work):
    """The state, contacts and sums before a part that was made."""
    t = touch_of(table)
    take_back_state(table)
    take_back_contacts(contacts_of(table))
    for k in range(t.totals.shape[0]):
        t.totals[k] = t.safe_totals[WAY_TOTALS, k]
    t.balance[PUSH_WORK] = push_work


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
    if t.counts[CONTINUOUS] == 0 or not is_fast(table, finder, h):
        return h
    follow_way(table, h)
    query[MODE], query[CLEAR] = PASSING, h
    found = look_at_fronts(table, finder, h)
    if found and t.counts[SELF_CONTACT] != 0 and t.open_nodes.shape[0] > 0:
        place_open_nodes(table, finder.volumes)
        refit(finder.volumes, t.open_nodes, h)
        search_itself(finder, t.open_nodes)
    query[MODE] = CONTACTS
    leave_at_end(table)
    return query[CLEAR]


@routine
def is_fast(table, finder, h):
    """Whether a body may have moved by more than a part of its width, with another one on its way as well."""
    s = moving_of(table)
    t = touch_of(table)
    volumes, query = finder.volumes, finder.query
    least = 0.0
    for c in range(finder.contacts.number[COUNT]):
        least = min(least, finder.contacts.data[c, GAP])
    fast = (FAST if -least < INSIDE * query[THIN] else SLOW) * query[THIN]
    if t.counts[SELF_CONTACT] != 0:
        fast *= 0.5
    if t.counts[SLOTS] + t.counts[LIMITS] == 0:
        return query[FASTEST] > 0.5 * fast  # no impulse acted: it moved as forces alone move it
    if query[FASTEST] <= AT_REST * query[THIN]:
        return False
    for i in range(s.tree.shape[0]):
        twist = place_and_move(s, i)
        store6(t.twists, i, 0, to_world(load9(s.world, i, 0), twist))
    farthest = 0.0
    for o in range(t.open_nodes.shape[0]):
        for part in range(FRONTS):
            row, node = front_below(volumes, t.open_nodes[o], part)
            if row >= 0 and t.piece[node] >= 0:
                V = load6(t.twists, t.piece[node], 0)
                far = length(load3(t.pose, node, 9)) + length(load3(volumes.volume, row, CENTRE))
                far += length(load3(volumes.volume, row, HALF))
                farthest = max(farthest, h * (length((V[3], V[4], V[5])) + length((V[0], V[1], V[2])) * far))
    return farthest > fast


@routine
def follow_way(table, h):
    """Twists of the way of h [s] that was made into `twists`, world poses of its start into `world`, of its end into `way`.

    (35) says by which rotation a body turned but for whole turns: their number is the one nearest to the velocity that it
    ends with.
    """
    s = moving_of(table)
    t = touch_of(table)
    for i in range(s.tree.shape[0]):
        twist = place_and_move(s, i)
        R = load9(s.world, i, 0)
        store9(t.way, i, 0, R)
        store3(t.way, i, 9, load3(s.world, i, 9))
        store6(t.twists, i, 0, to_world(R, twist))
    for i in range(s.tree.shape[0]):
        R, p = body_pose(s.tree, s.body, s.screws, i, s.start_q)
        place_in_world(s, i, R, p)
        R1, R0 = load9(t.way, i, 0), load9(s.world, i, 0)
        turn = turned(matmul3(R1, transpose3(R0)), scale3(h, load3(t.twists, i, 0)))
        v = scale3(1.0 / h, sub3(load3(t.way, i, 9), load3(s.world, i, 9)))
        store6(t.twists, i, 0, join(scale3(1.0 / h, turn), v))


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
