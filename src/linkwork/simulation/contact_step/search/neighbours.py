"""Bodies of one tree that overlap by design: hulls of links that are drawn into each other.

Files of robots are full of them: covers of two legs that share a hip, fingers on one palm, a torso and a chest around the
small link that joins them, a forearm whose hull reaches into the hand. They would be pushed apart in every step, and a
robot that presses on itself by centimetres does not rest on its feet. Cables of links that are shorter than thick are
another kind: each link reaches into several on both sides. Left out of the tables that steps read, and named once, are

    neighbours    two joints apart, that overlap at zero coordinates; also where one is a base that is fixed to the world
    runs          k > 2 joints apart, that overlap or touch at zero coordinates, where each of the two and the last body
                  before the other are left out already: all bodies between them overlap, as in a cable
    hulls         of one tree, that overlap where a simulation begins: a hull is larger than what was drawn

Other solids are as their user drew them, and are pushed apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.plan import assemble_model
from linkwork.contact import contact_list as cl
from linkwork.contact.broad_phase import Finder
from linkwork.contact.geometry.solids import HULL
from linkwork.contact.model_search import find_all_contacts, make_finder
from linkwork.contact.settings import Contact
from linkwork.contact.shape_table import ground_entities, mean_size, shape_table
from linkwork.contact.volumes import all_open, make_volumes
from linkwork.core.messages.warning import warn_user
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.linkage import WORLD
from linkwork.model.model import Model
from linkwork.model.state import State

NAMED_AT_MOST = 3
ROOM = 4096  # contacts, at first
MOST_ROOM = 64  # contacts per body: more overlap only where a model is all in one place at zero coordinates

Pair = tuple[int, int]  # bodies, the lower number first; or a body and the entity of one that is fixed to the world


def without_overlaps(model: Model, contact: Contact, state: State) -> Contact:
    """The same contact with bodies that overlap by design among the pairs to ignore, after warnings that name them.

    state: where the simulation begins.
    """
    n, has_ground = model.n_bodies, any(body < 0 for body, _ in model.shapes)
    if not contact.self_contact and not has_ground:
        return contact
    table = shape_table(model, contact)
    assembly = assemble_model(model)
    volumes = make_volumes(assembly, table)
    finder = make_finder(table, volumes, assembly.depth, ROOM)
    margin = contact.margin or 1e-3 * mean_size(table)
    at_zero = overlaps(finder, model, model.neutral(), -margin, False) if has_ground or has_neighbours(model) else {}
    at_zero = {(a, b): depth for (a, b), depth in at_zero.items() if contact.self_contact or b >= n}
    near = {pair: at_zero[pair] for pair in overlapping_runs(model, at_zero, margin)}
    if near:
        warn_user(
            f"model '{model.name}' has bodies near each other along its tree that overlap at zero coordinates: "
            f"{named(model, near)}. They do not touch each other. Name them in ignore_contact, or draw them apart."
        )
    tree, has_hulls = roots(model), contact.self_contact and (table.kind == HULL).any()
    begun = overlaps(finder, model, state, margin, True) if has_hulls else {}
    begun = {(a, b): depth for (a, b), depth in begun.items() if (a, b) not in near and b < n and tree[a] == tree[b]}
    if begun:
        warn_user(
            f"model '{model.name}' begins with bodies of one tree inside each other, by up to {max(begun.values()):.3g} m: "
            f"{named(model, begun)}. They do not touch each other from here on. Begin apart, or name them in "
            "Contact(ignore=...)."
        )
    names = names_of(model)
    pairs = [(names[a], names[b]) for a, b in sorted((*near, *begun))]
    return replace(contact, ignore=(*contact.ignore, *pairs)) if pairs else contact


def named(model: Model, pairs: dict[Pair, float]) -> str:
    """Some of the pairs by names, the deepest first."""
    deepest, names = sorted(pairs, key=lambda pair: -pairs[pair]), names_of(model)
    shown = ", ".join(f"'{names[a]}' and '{names[b]}'" for a, b in deepest[:NAMED_AT_MOST])
    return shown + (f" and {len(pairs) - NAMED_AT_MOST} more pairs" if len(pairs) > NAMED_AT_MOST else "")


def names_of(model: Model) -> dict[int, str]:
    """Names of bodies, and of those that are fixed to the world, by entity."""
    return dict(enumerate(model.body_names)) | {entity: name for name, entity in ground_entities(model).items()}


def roots(model: Model) -> NDArray[np.int64]:
    """The body of each body's tree that stands in the world."""
    root = np.arange(model.n_bodies)
    for i, parent in enumerate(model.parent):
        if parent >= 0:
            root[i] = root[parent]
    return root


def overlapping_runs(model: Model, at_zero: dict[Pair, float], margin: float) -> set[Pair]:
    """Pairs that are neighbours and overlap by more than the margin, and ends of runs of such bodies.

    at_zero: pairs that overlap at zero coordinates, and how deep [m]; down to -margin. Where links are shorter than thick
    by a whole number, the last that one reaches would be left to touch it by rounding.
    """
    n = model.n_bodies
    near = {pair for pair, depth in at_zero.items() if depth > margin and are_neighbours(model, *pair)}
    others: dict[int, set[int]] = {}  # of each body, those it overlaps
    for a, b in at_zero:
        if b < n:
            others.setdefault(a, set()).add(b)
            others.setdefault(b, set()).add(a)
    joined: dict[int, set[int]] = {body: set() for body in others}  # bodies that one joint connects
    for body, parent in enumerate(model.parent):
        if parent >= 0:
            joined.setdefault(body, set()).add(int(parent))
            joined.setdefault(int(parent), set()).add(body)
    # From pairs k joints apart to those k + 1 apart: (a, b) with the first body after a on the way to b.
    ends = {(a, b): (joined[a] & joined[b]).pop() for a, b in near if b < n}
    ends |= {(b, a): first for (a, b), first in ends.items()}
    while ends:
        longer = {}
        for (a, b), first in ends.items():
            for c in joined[b] & others[a]:
                if (min(a, c), max(a, c)) not in near and (first, c) in ends:
                    longer[a, c] = first
        near |= {(min(pair), max(pair)) for pair in longer}
        ends = longer
    return near


def are_neighbours(model: Model, a: int, b: int) -> bool:
    """Whether one other body joins two bodies: the parent of both, or the parent of one and child of the other."""
    up_a = int(model.parent[a])
    if b >= model.n_bodies:  # fixed to the world, as a robot's base is
        return up_a >= 0 and int(model.parent[up_a]) < 0 and stands_on_ground(model, up_a)
    up_b = int(model.parent[b])
    if up_a == up_b:
        return up_a >= 0
    return (up_a >= 0 and int(model.parent[up_a]) == b) or (up_b >= 0 and int(model.parent[up_b]) == a)


def stands_on_ground(model: Model, body: int) -> bool:
    """Whether a body is joined to one that is fixed to the world and has shapes; then the two do not touch."""
    return (model.body_names[body], WORLD) in model.ignore_contact


def has_neighbours(model: Model) -> bool:
    """Whether bodies two joints apart both have shapes."""
    bodies = np.array(sorted({body for body, _ in model.shapes if body >= 0}), dtype=np.int64)
    up = model.parent[bodies]
    up = up[up >= 0]
    return bool(np.unique(up).size < up.size or np.isin(model.parent[up], bodies).any())


def overlaps(finder: Finder, model: Model, state: State, least: float, of_hulls: bool) -> dict[Pair, float]:
    """Bodies that overlap by more than `least` at a state, and how deep [m]. of_hulls: where one is a hull alone."""
    T, n = body_poses(model, state), model.n_bodies
    least_of_ground = n + len(model.obstacles)
    poses = np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
    nodes, still = all_open(finder.volumes), np.zeros((n, 6))
    finder.contacts.number[:] = 0
    find_all_contacts(finder, nodes, poses, still, max(0.0, -least), 0.0, True)
    needed = min(int(finder.contacts.number[cl.NEEDED]), MOST_ROOM * n)
    if needed > len(finder.contacts.ids):
        finder = finder._replace(contacts=cl.make_contacts(needed))
        find_all_contacts(finder, nodes, poses, still, max(0.0, -least), 0.0, True)
    contacts = finder.contacts
    found: dict[Pair, float] = {}
    for c in range(int(contacts.number[cl.COUNT])):
        a, b = int(contacts.ids[c, cl.BODY_A]), int(finder.table.entity[contacts.ids[c, cl.SHAPE_B]])
        depth = -float(contacts.data[c, cl.GAP])
        kinds = finder.table.kind[contacts.ids[c, [cl.SHAPE_A, cl.SHAPE_B]]]
        is_obstacle = n <= b < least_of_ground
        if a >= 0 and not is_obstacle and depth > least and (not of_hulls or (kinds == HULL).any()):
            pair = (min(a, b), max(a, b))
            found[pair] = max(found.get(pair, 0.0), depth)
    return found
