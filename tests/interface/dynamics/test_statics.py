"""What settle takes and refuses, what it reports, and what close_loops does with rough starts."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def arm(*joints: lw.Joint) -> lw.Model:
    linkage = lw.Linkage("arm")
    for i, joint in enumerate(joints):
        linkage.add_body(
            f"b{i}",
            "world" if i == 0 else f"b{i - 1}",
            joint,
            lw.Pose((0.0 if i == 0 else 1.0, 0, 0)),
            lw.Inertia.box(1.0, (1.0, 0.1, 0.1)).at(lw.Pose((0.5, 0, 0))),
        )
    return linkage.compile()


Y = lw.Revolute((0, 1, 0))


def test_what_nothing_holds_is_named():
    for joint in (lw.Free(), lw.Prismatic((0, 0, 1)), lw.Planar((0, 1, 0))):
        model = arm(joint, Y)
        with pytest.raises(lw.StateError, match=r"no equilibrium.*joint 'b0' slides on and on.*apply_spring"):
            lw.settle(model, model.neutral())


def test_a_body_afloat_without_gravity_is_at_rest_anywhere():
    linkage = lw.Linkage("afloat", gravity=(0, 0, 0))
    linkage.add_body("a", "world", lw.Free(), lw.Pose(), lw.Inertia.sphere(1.0, 0.1))
    linkage.add_body("b", "a", lw.Revolute((0, 1, 0), stiffness=2.0), lw.Pose((0.3, 0, 0)), lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile()
    start = model.state([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.7])
    rest = lw.settle(model, start)
    assert rest.state.q[7] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(rest.state.q[:3] - start.q[:3]).max() < 1.0  # nothing sends it away


def test_bad_input_is_refused_at_the_border():
    model = arm(Y, Y)
    state = model.neutral()
    with pytest.raises(lw.StateError, match="tolerance"):
        lw.settle(model, state, tolerance=0.0)
    with pytest.raises(lw.StateError, match="max_sweeps"):
        lw.settle(model, state, max_sweeps=0)
    with pytest.raises(lw.StateError, match=r"effort has shape \(3,\)"):
        lw.settle(model, state, effort=np.zeros(3))
    with pytest.raises(lw.StateError, match=r"effort\[1\] is nan"):
        lw.settle(model, state, effort=[0.0, np.nan])
    with pytest.raises(lw.StateError, match=r"wrenches\[1\] is .*inf"):
        lw.settle(model, state, wrenches=[[0.0] * 6, [0, 0, 0, np.inf, 0, 0]])
    with pytest.raises(lw.StateError, match=r"state\.q\[0\] is nan"):
        lw.settle(model, lw.State(np.array([np.nan, 0.0]), np.zeros(2)))
    with pytest.raises(lw.StateError, match=r"loads must be lw\.Loads"):
        lw.settle(model, state, loads=[1, 2, 3])
    with pytest.raises(lw.StateError, match="loads belong to model"):
        lw.settle(model, state, loads=lw.Loads(arm(Y)))


def test_too_few_sweeps_are_reported():
    model = arm(*[Y] * 20)
    with pytest.raises(lw.StateError, match=r"not settled after 2 sweeps: unbalanced efforts are .* of the loads"):
        lw.settle(model, model.neutral(), max_sweeps=2)


def test_settling_changes_nothing_that_was_given():
    model = arm(Y, lw.Spherical())
    state = model.neutral()
    loads = lw.Loads(model)
    loads.apply_wrench("b1", force=(1, 0, 0), frame="world")
    effort = np.zeros(model.nv)
    lw.settle(model, state, effort, np.zeros((2, 6)), loads)
    np.testing.assert_array_equal(state.q, model.neutral().q)
    np.testing.assert_array_equal(effort, 0.0)
    assert len(loads.loads) == 1


def test_efforts_and_loads_of_a_simulation_are_taken():
    model = arm(Y)
    effort = np.array([1.5])
    rest = lw.settle(model, model.neutral(), effort)
    assert 9.81 * 0.5 * np.cos(rest.state.q[0]) == pytest.approx(-1.5, rel=1e-8)
    sim = lw.FullDynamics(model, model.neutral())
    sim.apply_wrench("b0", force=(2.0, 0.0, 0.0), frame="world", at=(1.0, 0.0, 0.0))
    rest = lw.settle(model, sim.state, loads=sim)
    direction = lw.body_poses(model, rest.state)[0, :3, 0]
    np.testing.assert_allclose(direction[2] / direction[0], -0.5 * 9.81 / 2.0, rtol=1e-8)
    loads = lw.Loads(model)
    loads.set_effort("b0", 1.5)
    assert lw.settle(model, model.neutral(), loads=loads).state.q == pytest.approx(
        lw.settle(model, model.neutral(), effort).state.q, abs=1e-9
    )


def test_a_report_says_how_well_it_is_balanced():
    model = arm(Y, Y, Y)
    rest = lw.settle(model, model.neutral())
    report = rest.report
    assert report.unbalanced <= 1e-10 * 30.0
    assert report.turn < 1e-8
    assert report.way < 1e-8
    assert report.history[0] > 0.1
    assert "stable equilibrium in" in str(report)
    assert (rest.state.v == 0.0).all()


def test_a_settled_state_does_not_move_in_a_simulation():
    model = arm(Y, lw.Revolute((0, 0, 1)), Y)
    rest = lw.settle(model, model.state([0.1, 0.2, 0.3]))
    assert np.abs(lw.forward_dynamics(model, rest.state)).max() < 1e-6


def test_a_welded_linkage_is_at_rest():
    linkage = lw.Linkage("weld")
    linkage.add_body("a", "world", lw.Fixed(), lw.Pose(), lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile(merge_fixed=False)
    assert lw.settle(model, model.neutral()).report.stable


# ----------------------------------------------------------------------------------------------------------- rough starts


def chain_between(links: int, anchor) -> lw.Model:
    linkage = lw.Linkage("chain")
    size = 10.0 / links
    inertia = lw.Inertia.box(1.0 / links, (size, 1e-3, 1e-3)).at(lw.Pose((size / 2, 0, 0)))
    for i in range(links):
        hinge = lw.Revolute((0, 1, 0) if i % 2 == 0 else (0, 0, 1))
        linkage.add_body(
            f"b{i}", "world" if i == 0 else f"b{i - 1}", hinge, lw.Pose((0 if i == 0 else size, 0, 0)), inertia
        )
    linkage.add_loop(lw.Spherical(), "world", f"b{links - 1}", (lw.Pose(anchor), lw.Pose((size, 0, 0))), name="far")
    return linkage.compile()


@pytest.mark.parametrize(
    "anchor", [(5, 0, 0), (0.5, 0, 0), (-5, 0, 0), (-9.9, 0, 0), (9.9, 0, 0), (0, 3, 4), (0, 0, 9)]
)
@pytest.mark.parametrize("links", [50, 5000])
def test_a_chain_closes_from_a_straight_start(links, anchor):
    model = chain_between(links, anchor)
    closed = lw.close_loops(model, model.neutral())
    assert lw.loop_gaps(model, closed).worst_gap <= 1e-10


def test_what_is_missing_to_close_a_loop_is_reported():
    model = chain_between(40, (10.5, 0, 0))
    with pytest.raises(lw.StateError, match=r"cannot be closed.*with 0\.5\d* \(rad or m\) missing"):
        lw.close_loops(model, model.neutral())


def test_four_bars_that_can_be_closed_are_closed_from_random_states():
    rng = np.random.default_rng(7)
    z = lw.Revolute((0, 0, 1))
    tried = 0
    while tried < 100:
        lengths = rng.uniform(0.2, 1.5, 4)
        if max(lengths) > 0.99 * (sum(lengths) - max(lengths)):
            continue  # cannot be closed, or only stretched out
        tried += 1
        ground, crank, coupler, rocker = lengths
        linkage = lw.Linkage("four_bar")

        def bar(length):
            return lw.Inertia.box(1.0, (length, 0.02, 0.02)).at(lw.Pose((0.5 * length, 0, 0)))

        linkage.add_body("crank", "world", z, inertia=bar(crank))
        linkage.add_body("coupler", "crank", z, lw.Pose((crank, 0, 0)), bar(coupler))
        linkage.add_body("rocker", "world", z, lw.Pose((ground, 0, 0)), bar(rocker))
        linkage.add_loop(z, "coupler", "rocker", (lw.Pose((coupler, 0, 0)), lw.Pose((rocker, 0, 0))), name="pin")
        model = linkage.compile()
        closed = lw.close_loops(model, lw.State(model.random_state(rng).q, np.zeros(3)))
        assert lw.loop_gaps(model, closed).worst_gap <= 1e-10


def test_the_nearest_assembly_is_preferred():
    """From a slightly opened state the loop closes where it was, not in the other branch."""
    model = lw.library.four_bar().compile()
    closed = lw.close_loops(model, model.neutral())
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = 0.05 * rng.normal(size=model.nv)
        again = lw.close_loops(model, lw.State(closed.q + x, np.zeros(model.nv)))
        assert np.abs(again.q - closed.q).max() < 0.5
