"""Pairs of rigid groups that may come near each other soon: a list that holds until one group has travelled too far.

The descent of the tree against itself asks for hundreds of boxes per pair that touches, and in a heap that comes to rest
the boxes hardly change. So the descent lists the pairs that are nearer than margin, reaches and what both groups may still
travel, and steps read the list for as long as no group has travelled farther. With `travelled` of `near_world`, and ' now:

    left out      distance > margin + Σ (reach + ahead)
    holds while   travelled' - travelled + reach' ≤ reach + ahead   for every group,
    so that       distance' > margin + Σ reach'                                                                    (7)

What is ahead is AHEAD_STEPS reaches, or a few margins where groups stand still: what is fast is listed with more of its
neighbours. Each listed pair keeps what is left of its distance, plus the ways of both groups until then, as `near_itself`
does: one subtraction shows that it is not near. The list is of the rigid groups of one region; another region begins anew.
"""

import math

from linkwork.contact.geometry.boxes import HALF, REACH
from linkwork.contact.near_itself import larger_first, left_by_travel
from linkwork.contact.tables import MARGIN
from linkwork.contact.volumes import REGION, is_open, parts, reach_of
from linkwork.core.jit import inlined, routine

LISTED, IN_REGION = 0, 1  # entries of `listing`: pairs in the list, -1: there is none; the region that it is of
AHEAD_STEPS = 6.0  # reaches: longer lists cost more to look through, shorter ones are made more often
AHEAD_AT_REST = 20.0  # margins: what groups may creep


@inlined
def may_go(reach, margin):
    """How far a group, or the fastest of an open node, may go until the list no longer holds, this step included [m]."""
    return reach + max(AHEAD_STEPS * reach, AHEAD_AT_REST * margin)


@routine
def is_listed(finder, open_nodes, h):
    """Whether the list holds (7); reaches of all rigid groups over the step h [s] on the way."""
    volumes = finder.volumes
    holds = volumes.listing[LISTED] >= 0 and volumes.listing[IN_REGION] == int(volumes.region_state[REGION])
    for o in range(open_nodes.shape[0]):
        for k in parts(volumes, open_nodes[o]):
            if k >= 0 and not is_open(volumes, k):
                reach = reach_of(volumes.twist, k, volumes.volume, k, h)
                volumes.volume[k, REACH] = reach
                holds = holds and (
                    volumes.travelled[k] + reach <= volumes.listed_until[k] or volumes.volume[k, HALF] < 0.0
                )
    return holds


@routine
def begin_list_of_pairs(finder, open_nodes):
    """An empty list, of this moment; reaches are known."""
    volumes, margin = finder.volumes, finder.query[MARGIN]
    volumes.listing[LISTED], volumes.listing[IN_REGION] = 0, int(volumes.region_state[REGION])
    for o in range(open_nodes.shape[0]):
        for k in parts(volumes, open_nodes[o]):
            if k >= 0 and not is_open(volumes, k):
                volumes.listed_until[k] = volumes.travelled[k] + may_go(volumes.volume[k, REACH], margin)


@inlined
def forget_list_of_pairs(volumes):
    volumes.listing[LISTED] = -1


@routine
def list_pair(volumes, a, b):
    """Adds two rigid groups, unless they may not touch; where there is no room for them, there is no list."""
    count = volumes.listing[LISTED]
    one, other = larger_first(volumes, a, b)
    if left_by_travel(volumes, one, other) == math.inf:
        return
    if count >= volumes.listed.shape[0]:
        forget_list_of_pairs(volumes)
    elif count >= 0:
        volumes.listed[count, 0], volumes.listed[count, 1] = a, b
        note_left(volumes, count)
        volumes.listing[LISTED] = count + 1


@inlined
def note_left(volumes, k):
    """What is left of the distance of listed pair k, as it was found last."""
    a, b = larger_first(volumes, volumes.listed[k, 0], volumes.listed[k, 1])
    volumes.listed_left[k] = left_by_travel(volumes, a, b)


@inlined
def is_far(volumes, k, margin):
    """Whether the groups of listed pair k are farther apart than margin and reaches, by what is known."""
    a, b = volumes.listed[k, 0], volumes.listed[k, 1]
    need = margin + volumes.volume[a, REACH] + volumes.volume[b, REACH]
    return volumes.listed_left[k] - volumes.travelled[a] - volumes.travelled[b] > need
