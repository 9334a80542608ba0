"""Which linkages have their rounding measured at every update: those of thin bodies, wherever they are placed."""

from __future__ import annotations

import pytest

import linkwork as lw
from linkwork.adaptive.metric.delicate import is_delicate


def placed(tree: lw.Linkage, distance: float) -> lw.Model:
    linkage = lw.Linkage("placed", gravity=(0.0, 0.0, 0.0))
    linkage.merge(tree, placement=lw.Pose(xyz=(0.0, distance, 0.0)))
    return linkage.compile()


@pytest.mark.parametrize("distance", [0.0, 1.0, 1e6])
def test_where_a_tree_is_placed_makes_it_no_more_delicate(distance):
    trees = (lw.library.millipede(segments=2, leg_links=3, spine=5), lw.library.chain(joints=4))
    assert not any(is_delicate(placed(tree, distance)) for tree in trees)


@pytest.mark.parametrize("distance", [0.0, 1e6])
def test_needles_are_delicate_wherever_they_are(distance):
    tree = lw.Linkage("needles")
    parent = "world"
    for k in range(3):
        inertia = lw.Inertia(mass=1.0, com=(0, 0, 0.5), moments=(1e-9, 1e-9, 1e-9))
        tree.add_body(
            f"needle_{k}",
            parent=parent,
            joint=lw.Revolute((1, 0, 0)),
            placement=lw.Pose(xyz=(0, 0, 1.0 * (k > 0))),
            inertia=inertia,
        )
        parent = f"needle_{k}"
    assert is_delicate(placed(tree, distance))
