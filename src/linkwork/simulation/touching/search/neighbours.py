"""Neighbours that overlap by design: bodies two joints apart, on both sides of a third, drawn into each other there.

Files of robots are full of them: covers of two legs that share a hip, fingers on one palm, a torso and a chest around the
small link that joins them. They would be pushed apart in every step. Those that overlap at zero coordinates are named
once, and left out of the tables that steps read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.assembly.plan import assemble_model
from linkwork.contact import contact_list as cl
from linkwork.contact.broad_phase import find_all_contacts, make_finder
from linkwork.contact.settings import Contact
from linkwork.contact.shape_table import mean_size, shape_table
from linkwork.contact.volumes import all_open, make_volumes
from linkwork.core.messages.warning import warn_user
from linkwork.dynamics.front import body_poses
from linkwork.model.model import Model

NAMED_AT_MOST = 3
ROOM = 4096  # contacts looked at


def without_neighbours(model: Model, contact: Contact) -> Contact:
    """The same contact with overlapping neighbours among the pairs to ignore, after a warning that names them."""
    pairs = overlapping_neighbours(model, contact)
    if not pairs:
        return contact
    shown = ", ".join(f"'{a}' and '{b}'" for a, b in pairs[:NAMED_AT_MOST])
    more = f" and {len(pairs) - NAMED_AT_MOST} more pairs" if len(pairs) > NAMED_AT_MOST else ""
    warn_user(
        f"model '{model.name}' has bodies two joints apart that overlap at zero coordinates: {shown}{more}. They do not "
        "touch each other. Name them in ignore_contact, or draw them apart."
    )
    return replace(contact, ignore=(*contact.ignore, *pairs))


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


def overlapping_neighbours(model: Model, contact: Contact) -> list[tuple[str, str]]:
    """Names of bodies two joints apart that overlap by more than the margin at zero coordinates."""
    if not contact.self_contact or not has_neighbours(model):
        return []
    table = shape_table(model, contact)
    assembly = assemble_model(model)
    volumes = make_volumes(assembly, table)
    finder = make_finder(table, volumes, assembly.depth, ROOM)
    T = body_poses(model, model.neutral())
    poses = np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
    find_all_contacts(finder, all_open(volumes), poses, np.zeros((model.n_bodies, 6)), 0.0, 0.0, True)
    contacts, margin = finder.contacts, contact.margin or 1e-3 * mean_size(table)
    found = set()
    for c in range(int(contacts.number[cl.COUNT])):
        a, b = int(contacts.ids[c, cl.BODY_A]), int(contacts.ids[c, cl.BODY_B])
        if a >= 0 and b >= 0 and are_neighbours(model, a, b) and -float(contacts.data[c, cl.GAP]) > margin:
            found.add((min(a, b), max(a, b)))
    return [(model.body_names[a], model.body_names[b]) for a, b in sorted(found)]
