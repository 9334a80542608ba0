"""What closed chains refuse, with messages that say where, what and what to do."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.api import ALGORITHMS

BOX = lw.Inertia.box(1.0, (0.3, 0.1, 0.1)).at(lw.Pose((0.15, 0, 0)))
Z = lw.Revolute((0, 0, 1))
TIP = lw.Pose((0.3, 0, 0))


def two_arms() -> lw.Linkage:
    linkage = lw.Linkage("arms")
    for side, x in (("left", 0.0), ("right", 0.4)):
        linkage.add_body(f"{side}_upper", "world", Z, lw.Pose((x, 0, 0)), BOX)
        linkage.add_body(f"{side}_lower", f"{side}_upper", Z, TIP, BOX)
    return linkage


def tied_arms() -> lw.Linkage:
    linkage = two_arms()
    linkage.add_loop(Z, "left_lower", "right_lower", (TIP, TIP), name="tie")
    return linkage


@pytest.fixture
def model():
    return tied_arms().compile()


@pytest.fixture
def state(model):
    return lw.close_loops(model, model.state([1.2, 0.3, 1.9, -0.3]))


# --------------------------------------------------------------------------------------------------------- descriptions


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("hinge", "left_lower", "right_lower"), {}, r"loop 'left_lower-right_lower': joint must be a joint"),
        ((Z, "left_lower", "right_lower", (TIP,)), {}, "placements must be two poses"),
        ((Z, "left_lower", "right_lower", TIP), {}, "placements must be two poses"),
        ((Z, "left_lower", "right_lower", (TIP, (0.3, 0, 0))), {}, r"placements must be two lw\.Pose"),
        ((Z, "left_lower", 3), {}, "3 is not a name"),
    ],
)
def test_what_is_no_loop_is_refused_at_once(arguments, options, message):
    with pytest.raises(lw.ModelError, match=message):
        two_arms().add_loop(*arguments, **options)


@pytest.mark.parametrize(
    ("joint", "body_a", "body_b", "placements", "message"),
    [
        (Z, "left_lower", "nobody", (TIP, TIP), r"loop 'tie': body 'nobody' is unknown"),
        (Z, "left_lower", "left_lower", (TIP, TIP), "joins body 'left_lower' to itself"),
        (lw.Free(), "left_lower", "right_lower", (TIP, TIP), "closes nothing"),
        (
            lw.Revolute((0, 0, 1), damping=0.1),
            "left_lower",
            "right_lower",
            (TIP, TIP),
            "not simulated at the joint",
        ),
        (lw.Revolute((0, 0, 0)), "left_lower", "right_lower", (TIP, TIP), "axis is zero"),
        (Z, "left_lower", "right_lower", (lw.Pose((np.nan, 0, 0)), TIP), "placement in 'left_lower'.*not finite"),
    ],
)
def test_faulty_loops_do_not_compile(joint, body_a, body_b, placements, message):
    linkage = two_arms()
    linkage.add_loop(joint, body_a, body_b, placements, name="tie")
    with pytest.raises(lw.ModelError, match=message):
        linkage.compile()


def test_two_loops_of_one_name_are_refused():
    linkage = tied_arms()
    linkage.add_loop(lw.Spherical(), "left_upper", "right_upper", name="tie")
    with pytest.raises(lw.ModelError, match="loop name 'tie' is used 2 times"):
        linkage.compile()


def test_a_loop_between_bodies_welded_together_is_refused():
    linkage = two_arms()
    linkage.add_body("hook", "left_lower", lw.Fixed(), TIP, BOX)
    linkage.add_loop(Z, "hook", "left_lower", name="tie")
    with pytest.raises(lw.ModelError, match="welded together"):
        linkage.compile()


def test_a_loop_on_a_massless_link_is_refused():
    linkage = two_arms()
    linkage.add_body("ghost", "left_lower", Z, TIP)
    linkage.add_body("hand", "ghost", lw.Revolute((0, 1, 0)), inertia=BOX)
    linkage.add_loop(Z, "ghost", "right_lower", name="tie")
    with pytest.raises(lw.ModelError, match="'ghost' has no mass and became part of a compound joint"):
        linkage.compile()


def test_loops_on_welded_bodies_stand_where_those_stand():
    linkage = two_arms()
    linkage.add_body("hook", "left_lower", lw.Fixed(), TIP, BOX)
    linkage.add_loop(Z, "hook", "world", (lw.Pose((0.1, 0, 0)), lw.Pose((0.2, 0.5, 0))), name="tie")
    loop = linkage.compile().loops[0]
    assert (loop.body_a, loop.body_b) == (linkage.compile().body("left_lower"), -1)
    assert loop.placement_a.xyz == pytest.approx((0.4, 0.0, 0.0))


def test_loops_follow_renamed_removed_and_merged_bodies():
    linkage = tied_arms()
    linkage.rename_body("left_lower", "forearm")
    assert linkage.loops[0].body_a == "forearm"
    both = lw.Linkage("both")
    both.merge(linkage, prefix="a_", placement=lw.Pose((1, 2, 3)))
    assert (both.loops[0].name, both.loops[0].body_a) == ("a_tie", "a_forearm")
    linkage.remove_body("right_upper")
    assert linkage.loops == ()
    tied = tied_arms()
    tied.remove_loop("tie")
    assert tied.loops == ()
    with pytest.raises(lw.ModelError, match="no loop 'tie'"):
        tied.remove_loop("tie")


def test_a_merged_loop_on_the_world_moves_with_the_whole():
    linkage = two_arms()
    linkage.add_loop(Z, "left_lower", "world", (TIP, lw.Pose((0.2, 0.5, 0))), name="tie")
    both = lw.Linkage("both")
    both.merge(linkage, placement=lw.Pose((1, 2, 3)))
    assert both.loops[0].placement_b.xyz == pytest.approx((1.2, 2.5, 3.0))


def test_a_model_with_loops_says_so_and_pickles(model):
    assert "1 loops" in repr(model)
    assert pickle.loads(pickle.dumps(model)).loops[0].name == "tie"
    assert model.without_loops.loops == ()
    assert model.without_loops is model.without_loops


# -------------------------------------------------------------------------------------------------------------- dynamics


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - {"gpu"}))
@pytest.mark.parametrize("seed", range(3))
def test_every_algorithm_keeps_loops_closed(model, state, algorithm, seed):
    """As `constrained_dynamics`, and by the equations of motion with multipliers: gaps and efforts by differences."""
    rng = np.random.default_rng(seed)
    state = lw.close_loops(model, lw.State(state.q, rng.standard_normal(4)))
    effort, wrenches = rng.standard_normal(4), rng.standard_normal((4, 6))
    found = lw.forward_dynamics(model, state, effort, wrenches, algorithm=algorithm)
    assert found == pytest.approx(lw.constrained_dynamics(model, state, effort, wrenches).acceleration, rel=1e-10)
    tree = model.without_loops
    M = lw.mass_matrix(tree, state)
    left = effort - lw.inverse_dynamics(tree, state, np.zeros(4), wrenches)

    def gap(q):  # of the tips, in the plane of the arms
        poses = lw.body_poses(tree, lw.State(q, np.zeros(4)))
        a, b = (poses[tree.body(f"{side}_lower")] @ (*TIP.xyz, 1.0) for side in ("left", "right"))
        return (a - b)[:2]

    h = 1e-4
    J = np.stack([(gap(state.q + h * e) - gap(state.q - h * e)) / (2 * h) for e in np.eye(4)], axis=1)
    bend = (gap(state.q + h * state.v) - 2 * gap(state.q) + gap(state.q - h * state.v)) / h**2
    whole = np.block([[M, J.T], [J, np.zeros((2, 2))]])
    assert found == pytest.approx(np.linalg.solve(whole, np.concatenate([left, -bend]))[:4], rel=1e-5, abs=1e-5)


def test_what_is_for_trees_does_not_cut_loops_in_silence(model, state):
    hand, point = "left_lower", (0.5, 0.2, 0.0)
    for name, ask in {
        "hybrid_dynamics": lambda: lw.hybrid_dynamics(model, state, {"left_upper": 1.0}),
        "Response": lambda: lw.Response(model, state),
        "reach_velocity": lambda: lw.reach_velocity(model, state, {hand: point}),
        "follow": lambda: lw.follow(model, state, [point, point], body=hand),
        "reach_gradients": lambda: lw.reach_gradients(
            model, lw.reach(model, state, {hand: point}), {hand: point}, np.zeros(4)
        ),
    }.items():
        with pytest.raises(lw.StateError, match=f"{name} is for open trees.*has a loop.*model.without_loops"):
            ask()
    assert lw.forward_dynamics(model.without_loops, state).shape == (4,)


def test_a_tree_is_sent_to_forward_dynamics():
    model = two_arms().compile()
    for ask in (lw.constrained_dynamics, lw.close_loops, lw.loop_gaps):
        with pytest.raises(lw.StateError, match="has no loops; use lw"):
            ask(model, model.neutral())


def test_an_open_loop_is_refused_with_advice(model):
    with pytest.raises(lw.StateError, match=r"loop 'tie' is open by 0\.\d+.*lw.close_loops"):
        lw.constrained_dynamics(model, model.neutral())


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_not_a_number_is_named(model, state, number):
    bad = lw.State(np.where(np.arange(4) == 2, number, state.q), state.v)
    for ask in (lw.constrained_dynamics, lw.close_loops, lw.loop_gaps):
        with pytest.raises(lw.StateError, match=r"state.q\[2\]"):
            ask(model, bad)
    with pytest.raises(lw.StateError, match=r"effort\[0\]"):
        lw.constrained_dynamics(model, state, effort=np.full(4, number))
    with pytest.raises(lw.StateError, match="wrenches"):
        lw.constrained_dynamics(model, state, wrenches=np.full((4, 6), number))
    with pytest.raises(lw.StateError, match="rate"):
        lw.constrained_dynamics(model, state, rate=number)


def test_wrong_options_are_refused(model, state):
    with pytest.raises(lw.StateError, match=r"rate is -1\.0; it must be a finite number"):
        lw.constrained_dynamics(model, state, rate=-1.0)
    with pytest.raises(lw.StateError, match=r"tolerance is 0\.0; it must be a finite number > 0"):
        lw.close_loops(model, state, tolerance=0.0)
    with pytest.raises(lw.StateError, match="max_steps"):
        lw.close_loops(model, state, max_steps=0)


def test_a_loop_that_cannot_close_is_named():
    linkage = two_arms()
    far = lw.Pose((5.0, 0, 0))  # arms of 0.6 m reach no farther than 1.2 m
    linkage.add_loop(Z, "left_lower", "world", (TIP, far), name="reach")
    model = linkage.compile()
    with pytest.raises(lw.StateError, match=r"loop 'reach' cannot be closed.*check lengths and placements"):
        lw.close_loops(model, model.state([0.3, 0.4, 0.0, 0.0]))


def test_too_few_steps_are_reported(model):
    with pytest.raises(lw.StateError, match=r"still open after .* attempts of at most 1 steps"):
        lw.close_loops(model, model.state([1.2, 0.3, 1.9, -0.3]), max_steps=1)


def test_loops_that_contradict_each_other_are_refused():
    """Two ties hold the same two points at different places."""
    linkage = tied_arms()
    linkage.add_loop(Z, "left_lower", "right_lower", (TIP, lw.Pose((0.2, 0, 0))), name="second")
    model = linkage.compile()
    with pytest.raises(lw.StateError, match="cannot be closed"):
        lw.close_loops(model, model.state([1.2, 0.3, 1.9, -0.3]))


def test_a_loop_said_twice_is_redundant_and_shares_its_load(model, state):
    once = lw.constrained_dynamics(model, state)
    linkage = tied_arms()
    linkage.add_loop(Z, "left_lower", "right_lower", (TIP, TIP), name="again")
    twice = lw.constrained_dynamics(linkage.compile(), state)
    assert twice.redundant == once.redundant + 5
    assert twice.acceleration == pytest.approx(once.acceleration, rel=1e-9)
    # Minimal norm: equal constraints carry equal halves.
    assert twice.reactions == pytest.approx(np.array([0.5, 0.5])[:, None] * once.reactions, abs=1e-9)


def test_a_dead_point_is_finite_or_refused():
    """Both arms stretched out in one line: the tie cannot stop them from moving on, and must not make numbers up."""
    linkage = lw.Linkage("line", gravity=(0, 0, 0))
    linkage.add_body("left", "world", Z, inertia=BOX)
    linkage.add_body("right", "left", Z, TIP, BOX)
    linkage.add_loop(Z, "right", "world", (TIP, lw.Pose((0.6, 0, 0))), name="stretched")
    model = linkage.compile()
    still = lw.constrained_dynamics(model, model.neutral())
    assert np.isfinite(still.acceleration).all()
    moving = lw.State(np.zeros(2), np.array([1.0, -2.0]))  # fits the loop to first order, not to second
    with pytest.raises(lw.StateError, match=r"cannot all be met.*dead point"):
        lw.constrained_dynamics(model, moving)


def test_gimbal_lock_of_a_cut_joint_is_named():
    linkage = lw.Linkage("gimbal")
    linkage.add_body("top", "world", lw.Free(), inertia=BOX)
    axes = [lw.Revolute((0, 0, 1)), lw.Revolute((0, 1, 0)), lw.Revolute((1, 0, 0))]
    linkage.add_loop(lw.Compound(axes), "world", "top", name="gimbal")
    model = linkage.compile()
    half = np.sqrt(0.5)
    with pytest.raises(lw.StateError, match="loop 'gimbal' is singular"):
        lw.constrained_dynamics(model, model.state([0, 0, 0, half, 0, half, 0]))


def test_a_point_mass_in_a_loop_is_refused_with_advice():
    linkage = lw.library.double_pendulum()
    linkage.add_loop(lw.Spherical(), "lower", "world", (lw.Pose(), lw.Pose((0, 0, -1.0))), name="tie")
    model = linkage.compile()
    with pytest.raises(lw.ModelError, match=r"body 'upper' has a singular inertia.*loops must invert.*moments > 0"):
        lw.loop_gaps(model, model.neutral())


def test_a_loop_between_bodies_that_cannot_move_is_all_redundant():
    linkage = lw.Linkage("bolted")
    linkage.add_body("arm", "world", Z, inertia=BOX)
    linkage.add_body("block", "world", lw.Fixed(), lw.Pose((1, 0, 0)), BOX)
    linkage.add_loop(lw.Fixed(), "world", "block", (lw.Pose((1, 0, 0)), lw.Pose()), name="bolt")
    model = linkage.compile(merge_fixed=False)
    solution = lw.constrained_dynamics(model, model.neutral())
    assert solution.redundant == 6
    assert np.abs(solution.reactions).max() < 1e-12
    assert np.isfinite(solution.acceleration).all()


def test_a_simulation_of_a_thousand_loops_is_made_at_once():
    """Only gaps are asked for: to count redundant rows took 125 s and 2.4 GB."""
    linkage = lw.Linkage("four bars")
    rod, hinge, up = lw.Inertia(1.0, (0.5, 0, 0), (1e-4, 1 / 12, 1 / 12)), lw.Revolute((0, 0, 1)), np.pi / 2
    for k in range(1001):
        linkage.add_body(f"V{k}", "world", hinge, lw.Pose((k, 0, 0), rpy=(0, 0, up)), rod)
    for k in range(1000):
        linkage.add_body(f"H{k}", f"V{k}", hinge, lw.Pose((1, 0, 0), rpy=(0, 0, -up)), rod)
        linkage.add_loop(hinge, f"H{k}", f"V{k + 1}", (lw.Pose((1, 0, 0)), lw.Pose((1, 0, 0), rpy=(0, 0, -up))))
    model = linkage.compile()
    four_bar = lw.library.four_bar().compile()
    lw.FullDynamics(four_bar, lw.close_loops(four_bar, four_bar.neutral()))  # kernels are loaded
    start = time.process_time()
    lw.FullDynamics(model, model.neutral())
    assert time.process_time() - start < 5.0  # seen: 0.1
