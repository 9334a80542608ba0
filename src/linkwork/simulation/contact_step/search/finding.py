"""The search for the contacts of a step, a kernel of its own that steps call (`contact_step.calling`)."""

from linkwork.contact.broad_phase import Finder, begin_search, search_itself_again
from linkwork.contact.contact_list import NEEDED, carry_sums, sort_contacts, take_back_contacts, warm_start
from linkwork.contact.geometry.distance import Scratch
from linkwork.contact.near_world import query_obstacles
from linkwork.contact.tables import DISTANCES, FASTEST, FOLLOWS, MARGIN, SEARCHES, ShapeTable
from linkwork.contact.volumes import Volumes, carried_twist, twist_reach
from linkwork.core.bundles import reader
from linkwork.core.jit import inlined, kernel, routine
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import (
    SearchNumbers,
    contact_arrays_of,
    contacts_of,
    note_worst,
    search_numbers_of,
)
from linkwork.simulation.contact_step.search.patches import spread_patches
from linkwork.simulation.contact_step.search.placing import find_moving_bodies, place_open_nodes
from linkwork.simulation.contact_step.search.rigid_groups import (
    GROUPS_BELOW,
    measure_travel,
    rigid_group_below,
    shapes_of,
    volumes_of,
)
from linkwork.simulation.moving import CONTACT_ENDLESS, CONTACTS_GROW, SEARCH_TOO_DEEP, moving_of
from linkwork.spatial.memory import load3, load6, load9

# In a step, all its parts and what is tried again: searches, and distances of solids. In 15,500 steps of random scenes the
# most were 10 and 282; a step far beyond these bounds takes seconds.
MOST_SEARCHES, MOST_DISTANCES, DISTANCES_PER_SHAPE = 2000.0, 5e5, 500.0

_scratch_of = reader(Scratch, *ca.BEFORE_SEARCH, SearchNumbers, ShapeTable, Volumes)


@inlined
def finder_of(table):
    own = search_numbers_of(table)
    return Finder(
        shapes_of(table),
        volumes_of(table),
        contacts_of(table),
        _scratch_of(table),
        own.pairs,
        own.numbers,
        own.query,
    )


@kernel
def find_contacts(table, h):
    """Lists the contacts of this moment with their moving bodies; their number, or why it failed."""
    t = contact_arrays_of(table)
    finder = finder_of(table)
    if is_endless(finder):
        note_worst(t.balance, finder.contacts)
        return CONTACT_ENDLESS
    follow = h if t.counts[ca.CONTINUOUS] != 0 else 0.0
    begin_search(finder, t.settings[ca.MARGIN], follow)
    measure_travel(table, finder.volumes)
    finder.query[FOLLOWS] = 1.0
    found = query_world(table, finder, follow)
    if found and t.counts[ca.SELF_CONTACT] != 0 and t.open_nodes.shape[0] > 0:
        place_open_nodes(table, finder.volumes)
        found = search_itself_again(finder, t.open_nodes, follow)
    if not found:
        take_back_contacts(finder.contacts)
        return SEARCH_TOO_DEEP
    if finder.contacts.number[NEEDED] > finder.contacts.ids.shape[0]:
        take_back_contacts(finder.contacts)
        return CONTACTS_GROW
    sort_contacts(finder.contacts)
    warm_start(finder.contacts)
    count = spread_patches(table, find_moving_bodies(moving_of(table), t, finder.volumes, finder.contacts))
    if count < 0:
        take_back_contacts(finder.contacts)
        return count
    if not carry_sums(finder.contacts):
        take_back_contacts(finder.contacts)
        return CONTACTS_GROW
    return count


@routine
def query_world(table, finder, h):
    """Lists the contacts of all rigid groups with the world; False where the stack was too short."""
    t = contact_arrays_of(table)
    s = moving_of(table)
    volumes = finder.volumes
    margin = finder.query[MARGIN]
    for o in range(t.open_nodes.shape[0]):
        for part in range(GROUPS_BELOW):
            row, node = rigid_group_below(volumes, t.open_nodes[o], part)
            if row < 0:
                continue
            body = t.node_body[node]
            if body < 0:  # welded to the world: its contacts with obstacles move nothing
                continue
            R, p = load9(volumes.last_pose, row, 0), load3(volumes.last_pose, row, 9)
            V = carried_twist(load6(t.twists, body, 0), load3(s.world, body, 9), p)
            reach = twist_reach(V, volumes.volume, row, h) if h > 0.0 else 0.0
            finder.query[FASTEST] = max(finder.query[FASTEST], reach)
            if volumes.clearance_bound[row] - volumes.travelled[row] > margin + reach:
                continue
            if not query_obstacles(finder, row, R, p, V, reach):
                return False
    return True


@inlined
def is_endless(finder):
    """Counts a search of this step, whose work is bounded: a part of a step begins with one."""
    query = finder.query
    query[SEARCHES] += 1.0
    most = MOST_DISTANCES + DISTANCES_PER_SHAPE * finder.table.kind.shape[0]
    return query[SEARCHES] > MOST_SEARCHES or query[DISTANCES] > most
