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

import math

import numpy as np
from numpy.typing import NDArray

from linkwork.contact import contact_list as cl
from linkwork.contact.broad_phase import Finder
from linkwork.contact.geometry.solids import HULL
from linkwork.contact.model_search import find_all_contacts, gaps_of_shapes
from linkwork.contact.settings import Contact
from linkwork.contact.shape_table import ground_entities
from linkwork.contact.volumes import all_open
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.messages.warning import warn_user
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.linkage import WORLD
from linkwork.model.model import Model
from linkwork.model.state import State

NAMED_AT_MOST = 3
MOST_ROOM = 64  # contacts per body of hulls that begin inside each other

Pair = tuple[int, int]  # bodies, the lower number first; or a body and the entity of one that is fixed to the world


def overlaps_by_design(model: Model, contact: Contact, finder: Finder, margin: float, state: State) -> IntArray:
    """Pairs that overlap by design, (k, 2) as `Pair`, after warnings that name some. Cost: O(n) and what overlaps.

    state: where the simulation begins. margin: what they overlap by at least [m].
    """
    near, depths = overlapping_runs(model, contact, finder, margin)
    if len(near):
        warn_user(
            f"model '{model.name}' has bodies near each other along its tree that overlap at zero coordinates: "
            f"{named(model, near, depths)}. They do not touch each other. Name them in ignore_contact, or draw them apart."
        )
    if not contact.self_contact or not (finder.table.kind == HULL).any():
        return near
    tree, known = roots(model), set(map(tuple, near.tolist()))
    begun = {
        pair: depth
        for pair, depth in overlapping_hulls(finder, model, state, margin).items()
        if pair not in known and pair[1] < model.n_bodies and tree[pair[0]] == tree[pair[1]]
    }
    if not begun:
        return near
    pairs, depths = np.array(list(begun)), np.array(list(begun.values()))
    warn_user(
        f"model '{model.name}' begins with bodies of one tree inside each other, by up to {depths.max():.3g} m: "
        f"{named(model, pairs, depths)}. They do not touch each other from here on. Begin apart, or name them in "
        "Contact(ignore=...)."
    )
    return np.concatenate([near, pairs])


def named(model: Model, pairs: IntArray, depths: FloatArray) -> str:
    """Some of the pairs by names, the deepest first."""
    names, deepest = names_of(model), np.argsort(-depths, kind="stable")[:NAMED_AT_MOST]
    shown = ", ".join(f"'{names[a]}' and '{names[b]}'" for a, b in pairs[deepest].tolist())
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


def overlapping_runs(model: Model, contact: Contact, finder: Finder, margin: float) -> tuple[IntArray, FloatArray]:
    """Pairs that are neighbours and overlap by more than the margin at zero coordinates, and ends of runs of such bodies;
    and how deep [m].

    Ends of runs may be apart by the margin: where links are shorter than thick by a whole number, the last that one reaches
    would be left to touch it by rounding.
    """
    n, T = model.n_bodies, body_poses(model, model.neutral())
    poses = np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
    ground = neighbours_on_ground(model)
    deep = depths_of(finder, poses, ground)
    found, depths = [ground[deep > margin]], [deep[deep > margin]]
    parent = model.parent
    child = np.flatnonzero(parent >= 0)
    joined = np.concatenate([np.stack([child, parent[child]], axis=1), np.stack([parent[child], child], axis=1)])
    joined = joined[np.lexsort(joined.T[::-1])]  # by the first of both: bodies that one joint connects
    first = np.searchsorted(joined[:, 0], np.arange(n + 1))

    def stepped(ways: IntArray) -> IntArray:
        """Ways (first, second, last) one joint further: (first, second, what is joined to the last)."""
        count = first[ways[:, 2] + 1] - first[ways[:, 2]]
        behind = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        longer = np.repeat(ways, count, axis=0)
        longer[:, 2] = joined[first[longer[:, 2]] + behind, 1]
        return longer

    def key_of(pairs: IntArray) -> IntArray:
        return np.asarray(pairs.min(axis=1, initial=n) * n + pairs.max(axis=1, initial=0))

    # Ways of two joints, then of one more each: (a, b, c) from a to c, b next to a, where the one from b to c was kept.
    least, ways = margin, stepped(joined[:, [0, 1, 1]])
    ways = ways[ways[:, 0] != ways[:, 2]]
    while contact.self_contact and len(ways):
        half = ways[ways[:, 0] < ways[:, 2]]
        deep = depths_of(finder, poses, half[:, ::2])
        half, deep = half[deep > least], deep[deep > least]
        found.append(half[:, ::2])
        depths.append(deep)
        kept = np.sort(key_of(half[:, ::2]))
        ways = ways[is_in(key_of(ways[:, ::2]), kept)]
        least, ways = -margin, stepped(ways)
        ways = ways[is_in(key_of(ways[:, 1:]), kept)]
    return np.concatenate(found), np.concatenate(depths)


def is_in(keys: IntArray, ordered: IntArray) -> NDArray[np.bool_]:
    at = np.searchsorted(ordered, keys)
    return np.append(ordered, -1)[at] == keys


def depths_of(finder: Finder, poses: FloatArray, pairs: IntArray) -> FloatArray:
    """How deep bodies, or a body and the entity of one that is fixed to the world, overlap [m], (k,); below zero: apart."""
    order = np.argsort(finder.table.entity, kind="stable")
    start, end = (np.searchsorted(finder.table.entity[order], pairs, side) for side in ("left", "right"))
    count = end - start
    many = count.prod(axis=1)
    behind = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    pair = np.repeat(np.arange(len(pairs)), many)
    shapes = np.stack([start[pair, 0] + behind // count[pair, 1], start[pair, 1] + behind % count[pair, 1]], axis=1)
    depth = np.full(len(pairs), -math.inf)
    np.maximum.at(depth, pair, -gaps_of_shapes(finder, poses, order[shapes]))
    return depth


def neighbours_on_ground(model: Model) -> IntArray:
    """Bodies joined to a base that is fixed to the world's bodies, with the entity of each of these."""
    bodies = [
        i
        for i, up in enumerate(model.parent.tolist())
        if up >= 0 and model.parent[up] < 0 and stands_on_ground(model, up)
    ]
    pairs = [(i, entity) for i in bodies for entity in ground_entities(model).values()]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def stands_on_ground(model: Model, body: int) -> bool:
    """Whether a body is joined to one that is fixed to the world and has shapes; then the two do not touch."""
    return (model.body_names[body], WORLD) in model.ignore_contact


def overlapping_hulls(finder: Finder, model: Model, state: State, least: float) -> dict[Pair, float]:
    """Bodies that overlap by more than `least` at a state, of which one is a hull, and how deep [m]."""
    T, n = body_poses(model, state), model.n_bodies
    poses = np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
    nodes, still = all_open(finder.volumes), np.zeros((n, 6))
    find_all_contacts(finder, nodes, poses, still, 0.0, 0.0, True)
    needed = min(int(finder.contacts.number[cl.NEEDED]), MOST_ROOM * n)
    if needed > len(finder.contacts.ids):
        finder = finder._replace(contacts=cl.make_contacts(needed))
        find_all_contacts(finder, nodes, poses, still, 0.0, 0.0, True)
    contacts = finder.contacts
    found: dict[Pair, float] = {}
    for c in range(int(contacts.number[cl.COUNT])):
        a, b = int(contacts.ids[c, cl.BODY_A]), int(finder.table.entity[contacts.ids[c, cl.SHAPE_B]])
        depth = -float(contacts.data[c, cl.GAP])
        kinds = finder.table.kind[contacts.ids[c, [cl.SHAPE_A, cl.SHAPE_B]]]
        if a >= 0 and depth > least and (kinds == HULL).any():
            pair = (min(a, b), max(a, b))
            found[pair] = max(found.get(pair, 0.0), depth)
    contacts.number[:] = 0
    return found
