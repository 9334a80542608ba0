"""Bodies of one tree that overlap by design: hulls of links that are drawn into each other.

Files of robots are full of them: covers of two legs that share a hip, fingers on one palm, a torso and a chest around the
small link that joins them, a forearm whose hull reaches into the hand. They would be pushed apart in every step, and a
robot that presses on itself by centimetres does not rest on its feet. Those two joints apart that overlap at zero
coordinates, and hulls of one tree that overlap where a simulation begins (a hull is larger than what was drawn), are named
once, and left out of the tables that steps read. Other solids are as their user drew them, and are pushed apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.plan import assemble_model
from linkwork.contact import contact_list as cl
from linkwork.contact.broad_phase import Finder
from linkwork.contact.geometry.solids import HULL
from linkwork.contact.settings import Contact
from linkwork.contact.shape_table import mean_size, shape_table
from linkwork.contact.volumes import all_open, make_volumes
from linkwork.contact.whole_search import find_all_contacts, make_finder
from linkwork.core.messages.warning import warn_user
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.model import Model
from linkwork.model.state import State

NAMED_AT_MOST = 3
ROOM = 4096  # contacts looked at

Pair = tuple[int, int]  # bodies, the lower number first


def without_overlaps(model: Model, contact: Contact, state: State) -> Contact:
    """The same contact with bodies that overlap by design among the pairs to ignore, after warnings that name them.

    state: where the simulation begins.
    """
    if not contact.self_contact:
        return contact
    table = shape_table(model, contact)
    assembly = assemble_model(model)
    volumes = make_volumes(assembly, table)
    finder = make_finder(table, volumes, assembly.depth, ROOM)
    margin = contact.margin or 1e-3 * mean_size(table)
    near = overlaps(finder, model, model.neutral(), margin, False) if has_neighbours(model) else {}
    near = {pair: depth for pair, depth in near.items() if are_neighbours(model, *pair)}
    if near:
        warn_user(
            f"model '{model.name}' has bodies two joints apart that overlap at zero coordinates: {named(model, near)}. "
            "They do not touch each other. Name them in ignore_contact, or draw them apart."
        )
    tree = roots(model)
    begun = overlaps(finder, model, state, margin, True) if (table.kind == HULL).any() else {}
    begun = {pair: depth for pair, depth in begun.items() if pair not in near and tree[pair[0]] == tree[pair[1]]}
    if begun:
        warn_user(
            f"model '{model.name}' begins with bodies of one tree inside each other, by up to {max(begun.values()):.3g} m: "
            f"{named(model, begun)}. They do not touch each other from here on. Begin apart, or name them in "
            "Contact(ignore=...)."
        )
    pairs = [(model.body_names[a], model.body_names[b]) for a, b in sorted((*near, *begun))]
    return replace(contact, ignore=(*contact.ignore, *pairs)) if pairs else contact


def named(model: Model, pairs: dict[Pair, float]) -> str:
    """Some of the pairs by names, the deepest first."""
    deepest = sorted(pairs, key=lambda pair: -pairs[pair])
    shown = ", ".join(f"'{model.body_names[a]}' and '{model.body_names[b]}'" for a, b in deepest[:NAMED_AT_MOST])
    return shown + (f" and {len(pairs) - NAMED_AT_MOST} more pairs" if len(pairs) > NAMED_AT_MOST else "")


def roots(model: Model) -> NDArray[np.int64]:
    """The body of each body's tree that stands in the world."""
    root = np.arange(model.n_bodies)
    for i, parent in enumerate(model.parent):
        if parent >= 0:
            root[i] = root[parent]
    return root


def are_neighbours(model: Model, a: int, b: int) -> bool:
    """Whether one other body joins two bodies: the parent of both, or the parent of one and child of the other."""
    up_a, up_b = int(model.parent[a]), int(model.parent[b])
    if up_a == up_b:
        return up_a >= 0
    return (up_a >= 0 and int(model.parent[up_a]) == b) or (up_b >= 0 and int(model.parent[up_b]) == a)


def has_neighbours(model: Model) -> bool:
    """Whether bodies two joints apart both have shapes."""
    bodies = np.array(sorted({body for body, _ in model.shapes if body >= 0}), dtype=np.int64)
    up = model.parent[bodies]
    up = up[up >= 0]
    return bool(np.unique(up).size < up.size or np.isin(model.parent[up], bodies).any())


def overlaps(finder: Finder, model: Model, state: State, margin: float, of_hulls: bool) -> dict[Pair, float]:
    """Bodies that overlap by more than the margin at a state, and how deep [m]. of_hulls: where one is a hull alone."""
    T = body_poses(model, state)
    poses = np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
    finder.contacts.number[:] = 0
    find_all_contacts(finder, all_open(finder.volumes), poses, np.zeros((model.n_bodies, 6)), 0.0, 0.0, True)
    contacts = finder.contacts
    found: dict[Pair, float] = {}
    for c in range(int(contacts.number[cl.COUNT])):
        a, b = int(contacts.ids[c, cl.BODY_A]), int(contacts.ids[c, cl.BODY_B])
        depth = -float(contacts.data[c, cl.GAP])
        kinds = finder.table.kind[contacts.ids[c, [cl.SHAPE_A, cl.SHAPE_B]]]
        if a >= 0 and b >= 0 and depth > margin and (not of_hulls or (kinds == HULL).any()):
            pair = (min(a, b), max(a, b))
            found[pair] = max(found.get(pair, 0.0), depth)
    return found
