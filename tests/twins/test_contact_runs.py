"""Whole runs beside MuJoCo: both programs may bring the same pairs of bodies into contact."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from benchmarks.contact import runs


def our_pairs(start: runs.Start) -> set[frozenset[str]]:
    table = runs.simulation(start).view.contact.finder.table
    names, ignored, stride = start.linkage.compile().body_names, set(table.ignored.tolist()), int(table.stride[0])
    bodies = sorted({int(body) for body in table.body if body >= 0})
    return {
        frozenset((names[a], names[b]))
        for a, b in combinations(bodies, 2)
        if table.parent[a] != b and table.parent[b] != a and a * stride + b not in ignored
    }


def pairs_of_peer(model: Any) -> set[frozenset[str]]:
    left_out = {frozenset((int(pair) >> 16, int(pair) & 0xFFFF)) for pair in model.exclude_signature}
    left_out |= {frozenset((body, int(parent))) for body, parent in enumerate(model.body_parentid) if parent > 0}
    bodies = sorted({int(body) for body in model.geom_bodyid if body > 0})
    return {
        frozenset((model.body(a).name, model.body(b).name))
        for a, b in combinations(bodies, 2)
        if frozenset((a, b)) not in left_out
    }


@pytest.mark.parametrize(
    "make",
    [lambda: runs.branched_trees(0, trees=2), lambda: runs.ring_of_balls(8, 0.5), lambda: runs.net(3, 3)],
    ids=["trees with links that overlap", "ring", "net"],
)
def test_the_same_pairs_may_touch(make: Any) -> None:
    start = make()
    ours = our_pairs(start)
    assert runs.never_touching(start)  # or the reference would have the same pairs anyway
    assert ours == pairs_of_peer(runs.Peer(start).model)
