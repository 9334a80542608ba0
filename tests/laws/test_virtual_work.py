"""The method of virtual work: what the plain global equations say, reactions included, with and without link splitting.

The laws of `test_dynamics.py` hold for it too; it is one more algorithm there.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.rounding import rounding
from tests.reference.plain_virtual_work import plain_virtual_work

import linkwork as lw
from linkwork.dynamics.api import virtual_work_solver
from linkwork.dynamics.virtual_work.solver import VirtualWorkSolver
from linkwork.model.compile.split import split_links
from linkwork.reference.joint_calculus import basis_of_joint, joint_subspace

# Mass matrices of these trees have condition numbers up to 5e3; the blocks that are factored here are no worse. Measured
# differences are below 1e-12 of the largest entry; a wrong term shows in the first digits.
SAME = 1e-10
BOUNDED = settings(max_examples=40, deadline=None, derandomize=True)  # the same cases every time


def close(ours, theirs, rel=SAME):
    return pytest.approx(theirs, rel=0, abs=rel * max(1.0, float(np.abs(theirs).max(initial=0.0)))) == ours


@pytest.mark.parametrize("split", [True, False], ids=["split", "unsplit"])
def test_sweeps_solve_the_global_equations(tree, rng, make_loads, split):
    state, loads = tree.random_state(rng), make_loads(tree)
    qdd, reactions = plain_virtual_work(tree, state, loads.effort, loads.wrenches, split)
    solver = virtual_work_solver(tree, split)
    assert close(solver.accelerations(*state, loads.effort, loads.wrenches), qdd)
    assert close(solver.reactions(), reactions)
    assert close(qdd, lw.forward_dynamics(tree, state, loads.effort, loads.wrenches, algorithm="dense"))


def test_reactions_are_those_of_divide_and_conquer(tree, rng, make_loads):
    state, loads = tree.random_state(rng), make_loads(tree)
    arguments = (tree, state, loads.effort, loads.wrenches)
    assert close(lw.joint_reactions(*arguments, algorithm="virtual_work"), lw.joint_reactions(*arguments))


@BOUNDED
@given(
    parents=st.lists(st.floats(0.0, 1.0, exclude_max=True), min_size=1, max_size=40),
    kinds=st.lists(st.sampled_from(lw.library.JOINT_KINDS), min_size=1, max_size=4),
    roots=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_any_tree_of_any_joints(parents, kinds, roots, seed):
    """Trees drawn branch by branch: stars, brooms and chains among them."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("drawn")
    donor = lw.library.random_tree(joints=len(parents), seed=seed, kinds=kinds, options=True)
    for i, (where, body) in enumerate(zip(parents, donor, strict=True)):
        parent = "world" if i < roots else f"body_{int(where * i)}"
        linkage.add_body(body.name, parent, body.joint, body.placement, body.inertia)
    model = linkage.compile(merge_fixed=False)
    state, effort, wrenches = model.random_state(rng), rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    expected = lw.forward_dynamics(model, state, effort, wrenches)
    for algorithm in ("virtual_work", "virtual_work_unsplit"):
        # relative to the largest: random compounds near gimbal lock accelerate by 1e6 rad/s² and lose digits everywhere
        assert close(lw.forward_dynamics(model, state, effort, wrenches, algorithm=algorithm), expected, rel=1e-8)


def test_joint_bases_span_what_the_joint_constrains(joint, rng):
    """TᵀS = 0, EᵀS = 1, and the columns of B are independent: nothing is left out, nothing counted twice."""
    from linkwork.reference.joint_calculus import _alone

    arrays = _alone(joint).arrays
    dof = arrays.dof.copy()
    dof[:, 2] = 4.0  # armature: a root of 2 in the columns of E
    S = joint_subspace(joint, joint.random(rng))
    B, E = np.zeros(48), np.zeros((joint.nv, 6))
    assert basis_of_joint(arrays.tree, arrays.body, dof, 0, S.T.copy(), B, E, np.zeros((6, 14)))
    B = B.reshape(6, 8)
    T = B[:, : 6 - joint.nv]
    same = rounding(condition=1e2)  # of the basis, as asserted below; its numbers are of order one
    assert np.abs(T.T @ S).max(initial=0.0) < same
    assert np.abs(E @ S - np.eye(joint.nv)).max(initial=0.0) < same
    assert B[:, 6 - joint.nv : 6] == pytest.approx(2.0 * E.T, abs=same)
    assert np.linalg.cond(B[:, :6]) < 1e2
    assert not B[:, 6:].any()


# ---------------------------------------------------------------------------------------------------------- link splitting


@pytest.mark.parametrize("arms", [1, 2, 3, 4, 7, 64, 1000])
def test_split_links_carry_three_joints_at_most(arms):
    parent = np.concatenate([[-1], np.zeros(arms, dtype=np.int64)])
    links = split_links(parent)
    joints = np.diff(links.child_start) + 1
    assert joints.max() <= 3
    assert links.body.size == parent.size + max(0, arms - 2)  # n - 2 pieces for n joints on a link, as in the paper
    assert (links.parent < np.arange(links.body.size)).all()
    # Every body still hangs from a piece of its parent, every other piece from a piece of its own body.
    above = np.where(links.parent >= 0, links.body[links.parent], -1)
    assert (above == np.where(links.is_weld, links.body, parent[links.body])).all()
    depth = np.zeros(links.body.size, dtype=int)
    for k in range(1, links.body.size):
        depth[k] = depth[links.parent[k]] + 1
    assert depth.max() <= np.ceil(np.log2(max(arms, 2))) + 1


def test_links_never_exceed_twice_the_bodies():
    rng = np.random.default_rng(3)
    parent = np.array([-1, *(rng.integers(i) for i in range(1, 500))])
    links = split_links(parent)
    assert links.body.size < 2 * parent.size
    assert np.bincount(links.body).tolist() == links.pieces.tolist()
    assert split_links(parent, split=False).body.tolist() == list(range(500))


def test_splitting_changes_no_acceleration(rng):
    model = lw.library.star(arms=60, joints_per_arm=2).compile()
    state, effort = model.random_state(rng), rng.normal(size=model.nv)
    whole = lw.forward_dynamics(model, state, effort, algorithm="virtual_work_unsplit")
    assert close(lw.forward_dynamics(model, state, effort, algorithm="virtual_work"), whole)


def test_a_star_of_ten_thousand_arms_keeps_its_digits(rng):
    """Pieces of a ten-thousandth of the mass, welded: in a row they would lose up to k² ε, in a tree k ε = 2e-12."""
    model = lw.library.star(arms=10_000).compile()
    state, effort = model.random_state(rng, speed=0.1), rng.normal(size=model.nv)
    expected = lw.forward_dynamics(model, state, effort)
    assert close(lw.forward_dynamics(model, state, effort, algorithm="virtual_work"), expected, rel=1e-9)


def test_long_chain(rng):
    model = lw.library.chain(joints=20_000).compile()
    state, effort = model.random_state(rng, speed=0.1), rng.normal(size=model.nv)
    expected = lw.forward_dynamics(model, state, effort)
    # rounding adds up like a random walk over the links of the chain
    assert close(lw.forward_dynamics(model, state, effort, algorithm="virtual_work"), expected, rel=1e-10)


# ----------------------------------------------------------------------------------------------------------------- refused


def test_a_point_mass_is_refused_by_the_solver_with_advice():
    model = lw.library.double_pendulum().compile()
    message = r"body 'upper' has a singular inertia.*moments > 0.*algorithm='aba'"
    with pytest.raises(lw.ModelError, match=message):
        VirtualWorkSolver(model)


def test_gimbal_lock_is_named():
    linkage = lw.Linkage("gimbal")
    axes = [lw.Revolute((0, 0, 1)), lw.Revolute((0, 1, 0)), lw.Revolute((1, 0, 0))]
    linkage.add_body("top", "world", lw.Compound(axes), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    model = linkage.compile()
    locked = model.state([0.3, np.pi / 2, 0.1])
    with pytest.raises(lw.StateError, match=r"joint 'top'.*gimbal lock"):
        lw.forward_dynamics(model, locked, algorithm="virtual_work")


def test_not_a_number_is_named(rng):
    model = lw.library.star(arms=5).compile()
    state = model.random_state(rng)
    for what, arguments in {
        "state.q": (lw.State(np.where(np.arange(model.nq) == 9, np.nan, state.q), state.v), None, None),
        "state.v": (lw.State(state.q, np.where(np.arange(model.nv) == 7, np.inf, state.v)), None, None),
        "effort": (state, np.full(model.nv, np.nan), None),
        "wrenches": (state, None, np.full((model.n_bodies, 6), np.nan)),
    }.items():
        with pytest.raises(lw.StateError, match=what):
            lw.forward_dynamics(model, *arguments, algorithm="virtual_work")


def test_too_many_joints_without_splitting_are_refused():
    model = lw.library.star(arms=5_000).compile()
    with pytest.raises(lw.ModelError, match=r"body 'hub' carries 5,000 joints.*split"):
        lw.forward_dynamics(model, model.neutral(), algorithm="virtual_work_unsplit")


def test_reactions_of_an_unknown_algorithm(rng):
    model = lw.library.star(arms=3).compile()
    with pytest.raises(lw.StateError, match="choose dca or virtual_work"):
        lw.joint_reactions(model, model.neutral(), algorithm="guess")
