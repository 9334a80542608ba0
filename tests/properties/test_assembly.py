"""The plan of the assembly tree: low for every shape, and made as its table says, whatever the topology."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.assembly.node_table import (
    BODY,
    FIRST,
    HANG,
    INDEX,
    JOIN,
    LEFT,
    LOWER,
    NODE_KIND,
    RIGHT,
    SOLID,
    SUM,
    TOP,
    UP,
    UPPER,
)
from linkwork.assembly.plan import assemble
from linkwork.assembly.runs import cut_into_runs, stack_slots
from linkwork.model.compile.order import FEW, depth_first_order

BOUNDED = settings(max_examples=150, deadline=None, derandomize=True)  # the same cases every time


def depth_first(parent) -> np.ndarray:
    """The same tree numbered depth first, as a compiled model has it."""
    parent = np.asarray(parent, dtype=np.int64)
    order = depth_first_order(parent)
    number = np.empty(parent.size + 1, dtype=np.int64)
    number[order], number[-1] = np.arange(parent.size), -1
    return number[parent[order]]


# ---------------------------------------------------------------------------------------------------------------- shapes


def random_parents(n: int, branching: float, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    anywhere = (rng.random(n) * np.arange(n)).astype(np.int64)
    parent = np.where(rng.random(n) < branching, anywhere, np.arange(n) - 1)
    parent[0] = -1
    return parent


@pytest.mark.parametrize("n", [FEW, FEW + 1], ids=["by Python", "compiled"])
def test_bodies_are_numbered_depth_first(n):
    """Each comes right after its parent or after the last body below a sibling before it, and none is left out."""
    parent = random_parents(n, 0.3)
    order = depth_first_order(parent).tolist()
    assert sorted(order) == list(range(n))
    above: list[int] = []  # the bodies from the root to the last one
    last_child = np.full(n + 1, -1)
    for body in order:
        while above and above[-1] != parent[body]:
            above.pop()
        assert (above[-1] if above else -1) == parent[body]
        assert body > last_child[parent[body]]  # children in the order given
        last_child[parent[body]] = body
        above.append(body)


def caterpillar(spine: int, legs: int) -> np.ndarray:
    body = np.arange(spine * (1 + legs))
    at = body % (1 + legs)
    return np.where(at == 0, body - 1 - legs, body - at).clip(-1)


def square_root_paths(k: int) -> np.ndarray:
    """A path of k bodies that each carry a path of k bodies."""
    body = np.arange(k * (k + 1))
    return np.where(body < k, body - 1, np.where((body - k) % k == 0, (body - k) // k, body - 1))


def fibonacci(n: int) -> np.ndarray:
    """Every body carries two trees of the two sizes before: as lopsided as a balanced tree may be."""
    parent: list[int] = []
    work = [(-1, n)]
    while work:
        above, size = work.pop()
        if size <= 0:
            continue
        parent.append(above)
        larger = round((size - 1) / ((1 + math.sqrt(5)) / 2))
        work += [(len(parent) - 1, larger), (len(parent) - 1, size - 1 - larger)]
    return np.array(parent)


def worst(levels: int, fork: int = 1, rest: str = "same") -> np.ndarray:
    """The worst shape known: a body, a fork with a small branch on it, and on both sides of the fork the same again.

    Every doubling of the size costs a HANG, two JOINs (the fork stands between two others), a BODY and, for the small
    branches, a SUM. rest: what outweighs the branch: "same", or a "chain" of as many bodies, which is far less high.
    """
    tree = [-1]
    for _ in range(levels):
        two = [-1, 0] + [1] * fork
        whole = two + [1 if p < 0 else p + len(two) for p in tree]
        end = len(whole)
        whole += [1 if p < 0 else p + end for p in (tree if rest == "same" else range(-1, len(tree)))]
        tree = whole
    return np.array(tree)


N = 20_000
SHAPES: dict[str, Callable[[], np.ndarray]] = {
    "chain": lambda: np.arange(N) - 1,
    "star of 100,000 arms": lambda: np.minimum(np.arange(100_001) - 1, 0),
    "star of long arms": lambda: np.where(np.arange(N) % 100 == 1, 0, np.arange(N) - 1),
    "caterpillar": lambda: caterpillar(N // 3, 2),
    "caterpillar of many legs": lambda: caterpillar(N // 50, 49),
    "broom": lambda: np.minimum(np.arange(N) - 1, N // 2),
    "binary tree": lambda: (np.arange(N) - 1) // 2,
    "ternary tree": lambda: (np.arange(N) + 2) // 3 - 1,
    "tree of tens": lambda: (np.arange(N) + 9) // 10 - 1,
    "random, branching 0.01": lambda: random_parents(N, 0.01),
    "random, branching 0.1": lambda: random_parents(N, 0.1),
    "random, branching 0.5": lambda: random_parents(N, 0.5),
    "random, branching 1": lambda: random_parents(N, 1.0),
    "square-root paths": lambda: square_root_paths(140),
    "Fibonacci tree": lambda: fibonacci(N),
    "forest of single bodies": lambda: np.full(N, -1),
    "forest of chains": lambda: np.where(np.arange(N) % 7 == 0, -1, np.arange(N) - 1),
}
ADVERSARIAL: dict[str, Callable[[], np.ndarray]] = {
    "forks": lambda: worst(12, fork=0),
    "forks with a leaf": lambda: worst(12),
    "forks with leaves": lambda: worst(11, fork=3),
    "forks and chains": lambda: worst(12, rest="chain"),
    "bare forks and chains": lambda: worst(12, fork=0, rest="chain"),
}


def low(n: int) -> float:
    return 3.0 * math.log2(n) + 8.0


def proven(n: int) -> float:
    """The bound docs/theory/dca.md proves for every shape."""
    return 5.1 * math.log2(n) + 6.0


def joints_on_the_way(assembly) -> int:
    """Joints that are solved one after the other, at most; BODY and SUM nodes solve none."""
    nodes = assembly.nodes
    joints = np.isin(nodes[:, NODE_KIND], (JOIN, HANG)).astype(int)
    depth = joints.copy()
    for node in range(nodes.shape[0] - 2, -1, -1):
        depth[node] += depth[nodes[node, UP]]
    return int(depth.max(initial=0))


@pytest.mark.parametrize("shape", SHAPES)
def test_depth_is_logarithmic(shape):
    parent = depth_first(SHAPES[shape]())
    assert assemble(parent).depth <= low(parent.size)


@pytest.mark.parametrize("shape", ADVERSARIAL)
def test_depth_of_shapes_made_to_be_deep(shape):
    """These pass 3 log2(n) + 8 nodes, by the cheap ones: the joints on the way stay below it."""
    parent = depth_first(ADVERSARIAL[shape]())
    assembly = assemble(parent)
    assert assembly.depth <= proven(parent.size)
    assert joints_on_the_way(assembly) <= low(parent.size)


def test_a_tall_branch_does_not_hide_what_stands_beside_it():
    """Beside a branch of height 60 (weight 2^60) a thousand bodies must still be halved, not cut off one by one."""
    parent = depth_first(worst(12, rest="chain"))
    assert assemble(parent).depth < 70  # 12,000 if weights are lost in rounding


# ------------------------------------------------------------------------------------------------------------ structure


def check_structure(assembly, parent):
    """Every promise of the node table."""
    nodes, n = assembly.nodes, parent.size
    kind, left, right, index, up, role, first, _ = nodes.T
    number = np.arange(nodes.shape[0])
    assert np.isin(kind, (BODY, JOIN, HANG, SUM)).all()
    # Children come before parents, and point back at them.
    for side in (left, right):
        has = side >= 0
        assert (side[has] < number[has]).all()
        assert (up[side[has]] == number[has]).all()
    assert (up[:-1] > number[:-1]).all()
    if n:
        assert up[-1] == -1
    # A subtree is one run: the left one, the right one, the node itself.
    starts = np.where(left >= 0, first[left], number)
    assert (first == starts).all()
    assert (right[(left >= 0) & (right >= 0)] + 1 == number[(left >= 0) & (right >= 0)]).all()
    alone = (left >= 0) & (right < 0)
    assert (left[alone] + 1 == number[alone]).all()
    both = (left >= 0) & (right >= 0)
    assert (first[right[both]] == left[both] + 1).all()
    # Each body has one BODY node, each joint one JOIN or HANG node.
    assert sorted(index[kind == BODY]) == list(range(n))
    assert sorted(index[(kind == JOIN) | (kind == HANG)]) == list(range(n))
    assert (index[kind == SUM] == -1).all()
    assert (nodes[assembly.leaf, NODE_KIND] == BODY).all()
    assert (nodes[assembly.leaf, INDEX] == np.arange(n)).all()
    assert (nodes[assembly.joint, INDEX] == np.arange(n)).all()
    # Kinds have the children they need: clusters (BODY, JOIN) below JOIN and HANG, branches (HANG, SUM) below SUM and BODY.
    clusters, branches = (BODY, JOIN), (HANG, SUM)
    assert np.isin(kind[left[(kind == JOIN) | (kind == HANG)]], clusters).all()
    assert np.isin(kind[right[kind == JOIN]], clusters).all()
    assert np.isin(kind[left[(kind == SUM) | ((kind == BODY) & (left >= 0))]], branches).all()
    assert np.isin(kind[right[kind == SUM]], branches).all()
    assert (right[(kind == HANG) | (kind == BODY)] == -1).all()
    assert (left[(kind == HANG) | (kind == JOIN) | (kind == SUM)] >= 0).all()
    if n:
        assert kind[-1] in branches
    # Roles say what the parent makes of a cluster.
    joins = kind == JOIN
    assert (role[left[joins]] == UPPER).all()
    assert (role[right[joins]] == LOWER).all()
    assert (role[left[kind == HANG]] == TOP).all()
    check_topology(assembly, parent)


def check_topology(assembly, parent):
    """The plan takes the kinematic tree apart and nothing else: handles are the bodies the joints connect."""
    top, bottom, carrier = {}, {}, {}  # of a cluster: its two handles; of a branch: the body it hangs from
    for node, (kind, left, right, index, *_) in enumerate(assembly.nodes.tolist()):
        if kind == BODY:
            top[node] = bottom[node] = index
            if left >= 0:
                assert carrier[left] == index
        elif kind == JOIN:
            assert (bottom[left], top[right]) == (parent[index], index)
            top[node], bottom[node] = top[left], bottom[right]
        elif kind == HANG:
            assert top[left] == index
            carrier[node] = parent[index]
        else:
            assert carrier[left] == carrier[right]
            carrier[node] = carrier[left]
    if assembly.nodes.shape[0]:
        assert carrier[assembly.root] == -1


@st.composite
def parent_arrays(draw, least=0):
    """Any tree: each body picks a parent among the last few or among all, so that long and bushy ones come up."""
    n = draw(st.integers(least, 120))
    window = draw(st.sampled_from([1, 2, 3, 8, 200]))
    parent = [draw(st.integers(max(-1, i - window), i - 1)) for i in range(n)]
    if draw(st.booleans()):
        parent = [max(p, 0) if i else -1 for i, p in enumerate(parent)]  # one tree instead of several
    return depth_first(np.array(parent, dtype=np.int64))


@BOUNDED
@given(parent=parent_arrays())
def test_plan_of_any_tree(parent):
    assembly = assemble(parent)
    check_structure(assembly, parent)
    if parent.size:
        assert assembly.depth <= min(low(parent.size), proven(parent.size))


@BOUNDED
@given(parent=parent_arrays(least=1), seed=st.integers(0, 1000), part=st.sampled_from([0.2, 0.6, 1.0]))
def test_welded_bodies_are_joined_first(parent, seed, part):
    welded = np.random.default_rng(seed).random(parent.size) < part
    assembly = assemble(parent, welded)
    check_structure(assembly, parent)
    nodes = assembly.nodes
    kind, left, right, solid = nodes[:, NODE_KIND], nodes[:, LEFT], nodes[:, RIGHT], nodes[:, SOLID] == 1
    joins = kind == JOIN
    # A weld on a path joins two rigid stretches, whatever stands above and below; no other joint does.
    assert (solid[joins] == welded[nodes[joins, INDEX]]).all()
    inside = joins & solid
    assert np.isin(kind[left[inside]], (BODY, JOIN)).all()
    assert solid[left[inside]].all()
    assert solid[right[inside]].all()
    hangs = (kind == HANG) & solid
    assert welded[nodes[hangs, INDEX]].all()
    assert (solid[left[hangs]]).all()
    assert assembly.depth <= low(parent.size) + 2 * math.log2(parent.size + 1)  # stretches may stand askew


@pytest.mark.parametrize("shape", [*SHAPES, *ADVERSARIAL])
def test_plan_of_every_shape(shape):
    parent = depth_first({**SHAPES, **ADVERSARIAL}[shape]())
    check_structure(assemble(parent), parent)


def test_plan_depends_on_the_topology_only():
    parent = depth_first(random_parents(500, 0.6))
    one, two = assemble(parent), assemble(parent.astype(np.int32)[:])
    for a, b in zip(one, two, strict=True):
        assert (a == b).all()
        assert not a.flags.writeable  # shared by all solvers of a model
    padded = np.full((500, 3), 7)
    padded[:, 1] = parent
    assert (assemble(padded[:, 1]).nodes == one.nodes).all()  # a column of a table, as models keep it


# ------------------------------------------------------------------------------------------------------- runs and slots


def walk(assembly, slot, runs, owner):
    """Assembles the nodes of `runs` in order on a memory of slots; whoever reads a slot must find its child there."""
    for start, stop in runs.tolist():
        for node in range(start, stop):
            for child in assembly.nodes[node, [LEFT, RIGHT]].tolist():
                if child >= 0:
                    assert owner[slot[child]] == child
                    owner[slot[child]] = -1
            assert owner.get(slot[node], -1) == -1, "a slot still in use was given away"
            owner[slot[node]] = node


@BOUNDED
@given(parent=parent_arrays(least=1), pieces=st.sampled_from([1, 2, 7, 16, 1000]))
def test_runs_cover_every_node_once_and_slots_never_clash(parent, pieces):
    assembly = assemble(parent)
    nodes = assembly.nodes
    runs = cut_into_runs(assembly, pieces)
    covered = [k for run in [*runs.subtrees, runs.above] for a, b in run.tolist() for k in range(a, b)]
    assert sorted(covered) == list(range(nodes.shape[0]))
    limit = max(1, nodes.shape[0] // pieces)
    for run in runs.subtrees:
        ((start, stop),) = run.tolist()
        assert stop - start <= limit
        assert nodes[stop - 1, FIRST] == start  # a whole subtree
    slot, size = stack_slots(assembly, runs)
    assert (slot >= 0).all()
    assert (slot < size).all()
    # Subtrees are swept at the same time, in any order: their slots are their own.
    owners = [set(slot[run[0, 0] : run[0, 1]].tolist()) for run in runs.subtrees]
    assert sum(len(o) for o in owners) == len(set().union(*owners))
    memory: dict[int, int] = {}
    for run in reversed(runs.subtrees):
        walk(assembly, slot, run, memory)
    walk(assembly, slot, runs.above, memory)
    assert [node for node in memory.values() if node >= 0] == [assembly.root]


@pytest.mark.parametrize("shape", SHAPES)
def test_one_core_needs_few_slots(shape):
    """Without runs the slots are a stack: never more than the tree is deep, plus one."""
    assembly = assemble(depth_first(SHAPES[shape]()))
    slot, size = stack_slots(assembly, None)
    assert size <= assembly.depth + 1
    walk(assembly, slot, np.array([[0, assembly.nodes.shape[0]]]), {})


def test_no_body_and_one_body():
    nothing = assemble(np.zeros(0, dtype=np.int64))
    assert (nothing.root, nothing.depth, nothing.nodes.shape) == (-1, 0, (0, 8))
    runs = cut_into_runs(nothing, 4)
    assert (runs.subtrees, runs.above.shape) == ([], (0, 2))
    for cut in (None, runs):
        assert stack_slots(nothing, cut)[1] == 0
    one = assemble(np.array([-1]))
    assert one.nodes[:, NODE_KIND].tolist() == [BODY, HANG]
    assert (one.root, one.depth) == (1, 2)
