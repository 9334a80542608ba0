"""Divide and conquer: right like the references, its coefficients what the plain equations say, however the tree is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, LOWER, NODE_COLUMNS, NODE_KIND, ROLE, SUM, TOP
from linkwork.assembly.plan import Assembly
from linkwork.dynamics.api import solve_dca
from linkwork.dynamics.dca import solver as dca_solver
from linkwork.dynamics.dca.nodes import PHI11, PHI22, SLOT_SIZE
from linkwork.dynamics.dca.solver import DcaSolver, aligned_zeros
from linkwork.dynamics.inputs import NO_EFFORT, NO_WRENCHES
from linkwork.reference.plain_dca import PlainDca

# Trees of these tests have mass matrices with condition numbers up to 1e4 and joint matrices M = P22 + Φ11 no worse, so
# ε cond = 2e-12; differences measured are below 1e-13 of the largest entry. A wrong term shows in the first digits.
SAME = 1e-10
BOUNDED = settings(max_examples=40, deadline=None, derandomize=True)  # the same cases every time


def close(ours, theirs, rel=SAME):
    return pytest.approx(theirs, rel=0, abs=rel * max(1.0, float(np.abs(theirs).max(initial=0.0)))) == ours


# -------------------------------------------------------------------------------------------------------------- agreement


@st.composite
def tree_options(draw):
    """Arguments of `make_tree`: any shape, all joint kinds or one, every option, welds kept or merged."""
    names = ["revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free", "fixed"]
    options = {name: draw(st.booleans()) for name in ("damping", "stiffness", "armature", "merge_fixed")}
    options |= {"seed": draw(st.integers(0, 10_000)), "bodies": draw(st.integers(1, 30))}
    options |= {"branching": draw(st.sampled_from([0.0, 0.2, 0.6, 1.0])), "roots": draw(st.integers(1, 4))}
    if draw(st.booleans()):
        options["kinds"] = (*draw(st.permutations([*names, "compound"])),)
    if draw(st.booleans()):
        options["kinds"] = (draw(st.sampled_from(names)), draw(st.sampled_from(names)))
    if draw(st.booleans()):
        options["base"] = lw.Free()
    return options


@BOUNDED
@given(options=tree_options(), speed=st.sampled_from([0.0, 1e-6, 1.0, 20.0]), loaded=st.booleans())
def test_dca_agrees_with_dense_and_aba(make_tree, options, speed, loaded):
    model = make_tree(**options)
    rng = np.random.default_rng(options["seed"])
    state = model.random_state(rng, speed=speed)
    loads = (rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))) if loaded else ()
    qdd = lw.forward_dynamics(model, state, *loads, algorithm="dca")
    for reference in ("dense", "aba"):
        # Accelerations grow with the square of the speed, and errors with the accelerations: relative to the largest.
        assert close(qdd, lw.forward_dynamics(model, state, *loads, algorithm=reference))


LIBRARY = {
    "chain": {"joints": 40},
    "coil": {"joints": 40},
    "bicycle_chain": {},
    "snake": {"joints": 30},
    "star": {"arms": 9, "joints_per_arm": 3},
    "ball_star": {"arms": 9},
    "broom": {"handle": 7, "bristles": 12},
    "caterpillar": {"spine": 6, "legs_per_link": 3, "leg_joints": 2},
    "binary_tree": {"joints": 60},
    "random_tree": {"joints": 60, "kinds": lw.library.JOINT_KINDS, "options": True, "floating": True},
    "millipede": {"segments": 6, "leg_links": 4, "spine": 13},
    "molecule": {"joints": 70},
    "rod": {"segments": 20},
    "humanoid": {},
}
# Inertias no one can invert; see tests/interface/dynamics/test_dca.py.
POINT_MASSES = {"pendulum", "double_pendulum", "compass_biped"}
WITH_LOOPS = {"four_bar", "net"}  # solved in another way; see tests/laws/test_loops.py


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("merge_fixed", [True, False], ids=["merged", "kept"])
def test_dca_agrees_on_the_library(name, merge_fixed, rng, make_loads):
    model = lw.library.MODELS[name](**LIBRARY[name]).compile(merge_fixed=merge_fixed)
    state, loads = model.random_state(rng), make_loads(model)
    qdd = lw.forward_dynamics(model, state, loads.effort, loads.wrenches, algorithm="dca")
    # Against aba rounding alone counts, whatever the condition of M: 1e-13 is measured. Dense factors M itself, with
    # condition numbers up to 1e6 for chains: 1e-12 of the largest acceleration is measured.
    assert close(qdd, lw.forward_dynamics(model, state, loads.effort, loads.wrenches), rel=1e-11)
    assert close(qdd, lw.forward_dynamics(model, state, loads.effort, loads.wrenches, algorithm="dense"), rel=1e-9)


def test_the_library_is_all_there():
    assert set(LIBRARY) | POINT_MASSES | WITH_LOOPS == set(lw.library.MODELS)


@pytest.mark.parametrize(
    ("name", "joints"), [("chain", 2_000), ("molecule", 2_000), ("chain", 50_000), ("molecule", 50_000)]
)
def test_dca_agrees_with_aba_on_large_linkages(name, joints, rng):
    model = lw.library.MODELS[name](joints=joints).compile()
    folded = model.random_state(rng)
    straight = lw.State(model.neutral().q, 0.1 * rng.normal(size=model.nv))  # the worst conditioned state of a chain
    effort = rng.normal(size=model.nv)
    for state in (folded, straight):
        expected = lw.forward_dynamics(model, state, effort)
        qdd = lw.forward_dynamics(model, state, effort, algorithm="dca")
        # Measured: 3e-13 of the largest at 50,000 joints, growing like the square root of their number.
        assert close(qdd, expected, rel=1e-11)


# ------------------------------------------------------------------------------------------------------------ node by node


class EveryNode:
    """A solver whose nodes keep their coefficients: no slot is given to another node."""

    def __init__(self, model, state, effort=NO_EFFORT, wrenches=NO_WRENCHES):
        self.solver = solver = DcaSolver(model, threads=1)
        count = solver.assembly.nodes.shape[0]
        solver.slot = np.arange(count) * SLOT_SIZE
        solver.phi = aligned_zeros(count * SLOT_SIZE)
        self.qdd = solve_dca(solver, *state, effort, wrenches)

    def blocks(self, node):
        """Matrix and bias by name; what the parent of a node does not need is not there."""
        kind, role = self.solver.assembly.nodes[node, [NODE_KIND, ROLE]]
        at = self.solver.slot[node]
        if kind in (HANG, SUM):
            return dict(zip(("K", "p"), self._rows(self.solver.phi, at), strict=True))
        found = dict(zip(("phi11", "b1"), self._rows(self.solver.phi, at + PHI11), strict=True))
        if kind == BODY or role == TOP:
            return found
        found |= zip(("phi22", "b2"), self._rows(self.solver.phi, at + PHI22), strict=True)
        cross, _ = self._rows(self.solver.node_data, self.solver.block[node])
        return {**found, "phi12": cross if role == LOWER else cross.T}

    @staticmethod
    def _rows(array, at):
        rows = array[at : at + 48].reshape(6, 8)
        return rows[:, :6], rows[:, 6]


@pytest.mark.parametrize("loaded", [False, True], ids=["unloaded", "loaded"])
def test_fast_coefficients_are_those_of_the_plain_equations(tree, rng, make_loads, loaded):
    state, loads = tree.random_state(rng), make_loads(tree)
    given_loads = (loads.effort, loads.wrenches) if loaded else ()
    fast, plain = EveryNode(tree, state, *given_loads), PlainDca(tree, state, *given_loads)
    for node, expected in enumerate(plain.nodes):
        for name, value in fast.blocks(node).items():
            assert close(value, getattr(expected, name)), (node, name)
    assert close(plain.accelerations(), fast.qdd)


@BOUNDED
@given(options=tree_options())
def test_coefficients_of_any_tree(make_tree, options):
    model = make_tree(**options)
    state = model.random_state(options["seed"])
    fast, plain = EveryNode(model, state), PlainDca(model, state)
    for node, expected in enumerate(plain.nodes):
        for name, value in fast.blocks(node).items():
            assert close(value, getattr(expected, name)), (node, name)
    assert close(plain.accelerations(), fast.qdd)


def is_positive_semi_definite(matrix, rounding=1e-13):
    """Symmetric, with no eigenvalue below zero, but for rounding of numbers as large as the matrix or as one."""
    noise = rounding * max(1.0, np.abs(matrix).max(initial=0.0))
    return np.abs(matrix - matrix.T).max(initial=0.0) <= noise and np.linalg.eigvalsh(matrix)[0] >= -noise


def test_coefficients_are_symmetric_and_positive_semi_definite(tree, rng):
    """What a push does to its own place is work done: never negative."""
    state = tree.random_state(rng)
    fast, plain = EveryNode(tree, state), PlainDca(tree, state)
    plainly = (
        1e-11  # explicit inverses lose the digits of cond(M), 1e2 to 1e4 here; eliminations lose none: 1e-14 measured
    )
    for node, expected in enumerate(plain.nodes):
        ours = fast.blocks(node)
        if "K" in ours:
            assert is_positive_semi_definite(ours["K"])
            assert is_positive_semi_definite(expected.K, plainly)
            continue
        assert is_positive_semi_definite(ours["phi11"])
        cross = expected.phi12
        assert is_positive_semi_definite(np.block([[expected.phi11, cross], [cross.T, expected.phi22]]), plainly)
        if "phi22" in ours:
            cross = ours["phi12"]
            assert is_positive_semi_definite(np.block([[ours["phi11"], cross], [cross.T, ours["phi22"]]]))


def test_fast_coefficients_stay_symmetric_in_long_chains():
    """Five thousand joints in the worst conditioned state: what is taken away is a square at every node."""
    model = lw.library.chain(joints=5_000).compile()
    fast = EveryNode(model, model.neutral())
    for node in range(0, fast.solver.assembly.nodes.shape[0], 37):
        ours = fast.blocks(node)
        for name in ("K", "phi11", "phi22"):
            assert name not in ours or is_positive_semi_definite(ours[name])


def test_a_rigid_motion_changes_no_coefficient(make_tree, rng):
    """Handles live in the frames of their own bodies: only the joint on the world sees the world. Bit for bit."""
    options = {"seed": 21, "bodies": 20, "base": lw.Free(), "stiffness": True, "armature": True}
    model = make_tree(**options)
    state = model.random_state(rng)
    moved = state.copy()
    moved.q[:7] = lw.library.star(arms=1).compile().random_state(rng).q[:7]  # another pose of the free body, same twist
    here, there = EveryNode(model, state), EveryNode(model, moved)
    for node in range(here.solver.assembly.root):
        for name, value in here.blocks(node).items():
            assert (value == there.blocks(node)[name]).all(), (node, name)


def test_moving_a_fixed_base_changes_only_what_hangs_on_the_world(make_tree, rng):
    move = lw.Pose((3.0, -2.0, 1.0), quaternion=(0.3, -0.5, 0.7, 0.2))
    here, there = make_tree(seed=22, roots=3), make_tree(seed=22, roots=3, placement=move)
    state = here.random_state(rng)
    one, two = EveryNode(here, state), EveryNode(there, state)
    nodes = one.solver.assembly.nodes
    on_world = {int(one.solver.assembly.joint[i]) for i in np.flatnonzero(here.parent < 0)}
    checked = 0
    for node in range(nodes.shape[0]):
        is_sum_of_roots = nodes[node, NODE_KIND] == SUM and node > min(on_world) and node not in on_world
        if node in on_world or is_sum_of_roots:
            continue
        checked += 1
        for name, value in one.blocks(node).items():
            assert (value == two.blocks(node)[name]).all(), (node, name)
    assert checked >= nodes.shape[0] - 2 * len(on_world)


# --------------------------------------------------------------------------------------------------------- other balances


def plan_by_hand(parent, choose_cut, choose_child, rng) -> Assembly:
    """Another plan of the same tree: any child continues the path, any cut halves it, branches in any order."""
    n = len(parent)
    children = [[] for _ in range(n + 1)]
    for i, p in enumerate(parent):
        children[p].append(i)
    rows, leaf, joint = [], [0] * n, [0] * n

    def add(kind, left=-1, right=-1, index=-1):
        first = min([rows[k][6] for k in (left, right) if k >= 0], default=len(rows))
        rows.append([kind, left, right, index, -1, -1, first, 0])
        for child, role in ((left, TOP if kind == HANG else 0), (right, LOWER)):
            if child >= 0:
                rows[child][4], rows[child][5] = len(rows) - 1, role
        return len(rows) - 1

    def combine(kind, makers, joints, a, b):
        if b - a == 1:
            return makers[a]()
        cut = choose_cut(a, b, rng)
        left, right = combine(kind, makers, joints, a, cut), combine(kind, makers, joints, cut, b)
        node = add(kind, left, right, joints[cut] if kind == JOIN else -1)
        if kind == JOIN:
            joint[joints[cut]] = node
        return node

    def branches(carrier, tops):
        makers = [lambda t=t: hang(t) for t in rng.permutation(tops)]
        return combine(SUM, makers, None, 0, len(makers)) if makers else -1

    def body(i, continued):
        node = add(BODY, branches(i, [c for c in children[i] if c != continued]), index=i)
        leaf[i] = node
        return node

    def hang(top):
        path, makers = [top], []
        while children[path[-1]]:
            path.append(choose_child(children[path[-1]], rng))
        for i, below in zip(path, [*path[1:], None], strict=True):
            makers.append(lambda i=i, below=below: body(i, below))
        joint[top] = add(HANG, combine(JOIN, makers, path, 0, len(path)), index=top)
        return joint[top]

    branches(-1, children[-1])
    table = np.array(rows, dtype=np.int64).reshape(-1, NODE_COLUMNS)
    return Assembly(table, np.array(leaf, dtype=np.int64), np.array(joint, dtype=np.int64))


BALANCES = {
    "one by one from the top": (lambda a, b, rng: a + 1, lambda c, rng: c[0]),
    "one by one from the end": (lambda a, b, rng: b - 1, lambda c, rng: c[-1]),
    "at random": (lambda a, b, rng: int(rng.integers(a + 1, b)), lambda c, rng: int(rng.choice(c))),
}


@pytest.mark.parametrize("balance", BALANCES)
def test_result_does_not_depend_on_how_the_tree_is_balanced(balance, tree, rng, make_loads, monkeypatch):
    state, loads = tree.random_state(rng), make_loads(tree)
    expected = lw.forward_dynamics(tree, state, loads.effort, loads.wrenches, algorithm="dca")
    reactions = lw.joint_reactions(tree, state, loads.effort, loads.wrenches)
    plan = plan_by_hand(tree.parent.tolist(), *BALANCES[balance], rng)
    assert not np.array_equal(plan.nodes, DcaSolver(tree).assembly.nodes)
    plain = PlainDca(tree, state, loads.effort, loads.wrenches, assembly=plan)
    assert close(plain.accelerations(), expected)
    monkeypatch.setattr(dca_solver, "assemble_model", lambda model: plan)
    for threads in (1, 2):
        solver = DcaSolver(tree, threads=threads)
        assert close(solve_dca(solver, *state, loads.effort, loads.wrenches), expected)
        assert close(solver.reactions(), reactions)


# ---------------------------------------------------------------------------------------------------------- several cores


@pytest.mark.parametrize("threads", [2, 3])
def test_cores_do_not_change_a_bit(threads, make_tree, rng):
    everything = lw.library.random_tree(400, 5, 0.4, lw.library.JOINT_KINDS, options=True).compile(merge_fixed=False)
    for model in (everything, make_tree(bodies=3), lw.library.chain(joints=6_000).compile()):
        state, effort = model.random_state(rng), rng.normal(size=model.nv)
        one, many = DcaSolver(model, threads=1), DcaSolver(model, threads=threads)
        for _ in range(3):  # threads finish in another order every time
            expected = solve_dca(one, *state, effort, NO_WRENCHES)
            assert (solve_dca(many, *state, effort, NO_WRENCHES) == expected).all()
            assert (many.node_data == one.node_data).all()
            assert (many.reactions() == one.reactions()).all()


# ------------------------------------------------------------------------------------------------------------- small ones


def test_nothing_is_too_small(make_tree, rng):
    empty = lw.Linkage("empty").compile()
    for model in (
        empty,
        make_tree(bodies=1),
        make_tree(bodies=2),
        make_tree(bodies=2, roots=2),
        make_tree(bodies=1, base=lw.Free()),
        make_tree(bodies=1, kinds=("fixed",)),
        make_tree(bodies=5, kinds=("fixed",)),
        make_tree(bodies=5, kinds=("free",)),
        make_tree(bodies=6, roots=3, kinds=("fixed", "revolute")),
    ):
        state, effort = model.random_state(rng), rng.normal(size=model.nv)
        wrenches = rng.normal(size=(model.n_bodies, 6))
        expected = lw.forward_dynamics(model, state, effort, wrenches, algorithm="dense")
        assert close(lw.forward_dynamics(model, state, effort, wrenches, algorithm="dca"), expected)
        assert lw.joint_reactions(model, state, effort, wrenches).shape == (model.n_bodies, 6)
        accelerations, efforts = lw.hybrid_dynamics(model, state, {}, effort, wrenches)
        assert close(accelerations, expected)
        assert (efforts == effort).all()
        assert close(solve_dca(DcaSolver(model, threads=2), *state, effort, wrenches), expected)


# ------------------------------------------------------------------------------------------------------------ quasi-static


def test_quasi_statics_is_the_same_equation_at_rest(tree, rng, make_loads):
    """With v = 0 all velocity terms vanish: accelerations are affine in loads and gravity, with nothing left over."""
    state, loads = tree.random_state(rng), make_loads(tree)
    still = lw.State(state.q, np.zeros(tree.nv))
    solver = DcaSolver(tree)
    qdd = solve_dca(solver, *still, loads.effort, loads.wrenches)
    assert not solver.twist.any()
    assert (solver.joint_data[:, 12:18] == 0.0).all()  # c
    assert (solver.joint_data[:, 18:24] == loads.wrenches).all()  # external wrench, no gyroscopic one
    assert close(qdd, lw.forward_dynamics(tree, still, loads.effort, loads.wrenches, algorithm="dense"))


def test_plan_by_hand_makes_the_same_kind_of_table():
    """The reference for other balances is itself a plan: the same nodes, children first."""
    parent = [-1, 0, 1, 1, 0, 4]
    plan = plan_by_hand(parent, *BALANCES["at random"], np.random.default_rng(0))
    own = DcaSolver(lw.library.binary_tree(joints=6).compile()).assembly
    assert plan.nodes.shape[1] == own.nodes.shape[1]
    kinds = plan.nodes[:, NODE_KIND]
    assert sorted(plan.nodes[kinds == BODY, INDEX]) == list(range(6))
    assert (plan.nodes[:, LEFT] < np.arange(len(kinds))).all()
