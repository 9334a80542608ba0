"""Joints that follow others by couplings without moving a target: mimic joints of grippers, mostly.

Where a coupling of two joints has one of them on the way to a target, the other goes along: the search moves the tree, with
the limits of both on the first. Where it has none, it stays as it is. Other couplings need rows beside the tree
(`constrained`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, frozen
from linkwork.dynamics.remembered import remembered
from linkwork.model.model import Model
from linkwork.reaching import arrays as at

CLOSED = 1e-12  # [rad or m, of the sum] from which on a coupling counts as kept
MOST_KEPT = 8  # sets of bodies per model and thread


class Follower(NamedTuple):
    """q[place] = offset + ratio q[leader]"""

    place: int
    leader: int
    ratio: float
    offset: float


class Following(NamedTuple):
    """The tree that a search moves, and what goes along."""

    tree: Model
    followers: tuple[Follower, ...]

    def along(self, q: FloatArray) -> FloatArray:
        """q with the followers where their leaders have them."""
        out = q.copy()
        for one in self.followers:
            out[one.place] = one.offset + one.ratio * q[one.leader]
        return out


def find_following(model: Model, bodies: tuple[int, ...], q: FloatArray) -> Following | None:
    """The tree to search where couplings allow that, for targets on these bodies; None where they need rows."""
    if model.loops or coupling_gap(model, q) > CLOSED:
        return None
    nothing: dict[tuple[int, ...], Following | None] = {}
    known = remembered(model, "following", lambda _: nothing)
    if bodies not in known:
        if len(known) >= MOST_KEPT:
            del known[next(iter(known))]
        known[bodies] = _following(model, bodies)
    return known[bodies]


def coupling_gap(model: Model, q: FloatArray) -> float:
    """The largest miss of a coupling [rad or m, of its sum over its largest coefficient]."""
    worst = 0.0
    for coupling in model.couplings:
        total = sum(c * float(q[model.q_slice(joint).start]) for joint, c in coupling.joints) - coupling.offset
        worst = max(worst, abs(total) / max(abs(c) for _, c in coupling.joints))
    return worst


def _following(model: Model, bodies: tuple[int, ...]) -> Following | None:
    on_path = set(at.find_paths(model, np.array(bodies, dtype=np.int64)).freedoms.tolist())
    uses = Counter(joint for coupling in model.couplings for joint, _ in coupling.joints)
    lower, upper = np.array(model.lower), np.array(model.upper)
    followers = []
    for coupling in model.couplings:
        moving = [joint for joint, _ in coupling.joints if model.v_slice(joint).start in on_path]
        if not moving:
            continue
        others = [joint for joint, _ in coupling.joints if joint not in moving]
        if len(moving) > 1 or len(others) != 1 or uses[others[0]] > 1:
            return None
        c = dict(coupling.joints)
        (leader,), (follower,) = moving, others
        ratio, offset = -c[leader] / c[follower], coupling.offset / c[follower]
        i, j = model.v_slice(leader).start, model.v_slice(follower).start
        ends = sorted((bound - offset) / ratio for bound in (model.lower[j], model.upper[j]))
        lower[i], upper[i] = max(lower[i], ends[0]), min(upper[i], ends[1])
        if lower[i] > upper[i]:
            return None
        followers.append(Follower(model.q_slice(follower).start, model.q_slice(leader).start, ratio, offset))
    tree = replace(model, couplings=(), lower=frozen(lower), upper=frozen(upper))
    return Following(tree, tuple(followers))
