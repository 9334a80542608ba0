"""What divide and conquer refuses, with messages that say where, what and what to do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkwork as lw
from linkwork.assembly.drawing import draw_assembly
from linkwork.assembly.plan import assemble
from linkwork.cli import main
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.errors import LinkworkWarning


@pytest.fixture
def model():
    linkage = lw.Linkage("arm")
    box = lw.Inertia.box(1.0, (0.1, 0.2, 0.3))
    linkage.add_body("upper", "world", lw.Revolute((0, 1, 0)), inertia=box, joint_name="shoulder")
    linkage.add_body("lower", "upper", lw.Spherical(), lw.Pose((0, 0, -0.5)), box, joint_name="elbow")
    linkage.add_body("tip", "lower", lw.Fixed(), lw.Pose((0, 0, -0.5)), box)
    linkage.add_body("stand", "world", lw.Fixed(), inertia=box)
    return linkage.compile()


@pytest.fixture
def state(model):
    return model.random_state(1)


NAN, INFINITE = float("nan"), float("inf")


# ------------------------------------------------------------------------------------------------------ singular inertias


def test_what_only_dca_can_do_refuses_a_point_mass_with_advice():
    """Accelerations and reactions fall back to aba (tests/laws/test_digits.py); these have nothing to fall back to."""
    model = lw.library.double_pendulum().compile()
    message = r"body 'upper' has a singular inertia.*moments > 0.*algorithm='aba'"
    for ask in (
        lambda: lw.hybrid_dynamics(model, model.neutral(), {"upper": 1.0}),
        lambda: lw.Response(model, model.neutral()),
        lambda: DcaSolver(model),
    ):
        with pytest.raises(lw.ModelError, match=message):
            ask()
    assert lw.forward_dynamics(model, model.neutral(), algorithm="aba").shape == (2,)  # as advised


def test_a_rod_without_thickness_is_named_wherever_it_stands():
    linkage = lw.Linkage("needle")
    linkage.add_body("good", "world", lw.Revolute((0, 1, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    thin = lw.Inertia(1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.0))
    linkage.add_body("thin", "good", lw.Revolute((0, 1, 0)), lw.Pose((0.1, 0, 0)), thin)
    with pytest.raises(lw.ModelError, match="body 'thin'"):
        lw.Response(linkage.compile(), linkage.compile().neutral())


@pytest.mark.parametrize("moments", [(0.0, 0.0, 0.0), (0.1, 0.1, 0.0)], ids=["points", "needles"])
def test_no_singular_inertia_slips_through_rounding(moments, rng):
    """Moved and turned, a point mass or a needle keeps pivots of order ε instead of zero: no result may come of that."""
    for _ in range(200):
        place = lw.Pose(rng.uniform(-1.0, 1.0, 3), quaternion=rng.normal(size=4))
        linkage = lw.Linkage("slippery")
        inertia = lw.Inertia(rng.uniform(0.1, 3.0), (0.0, 0.0, 0.0), moments).at(place)
        linkage.add_body("slip", "world", lw.Revolute((0, 1, 0)), inertia=inertia)
        for arm in range(int(rng.integers(3))):  # what hangs from it does not excuse it
            linkage.add_body(f"arm_{arm}", "slip", lw.Revolute((1, 0, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
        with pytest.raises(lw.ModelError, match="body 'slip' has a singular inertia"):
            DcaSolver(linkage.compile())


def test_a_thin_rod_is_not_singular(rng):
    """A thousand times as long as thick, and ten lengths off its joint: badly conditioned, and still solved."""
    linkage = lw.Linkage("wire")
    wire = lw.Inertia.cylinder(0.1, 0.001, 1.0).at(lw.Pose((7.0, 5.0, 5.0), quaternion=rng.normal(size=4)))
    linkage.add_body("wire", "world", lw.Revolute((0, 1, 0)), inertia=wire)
    linkage.add_body("next", "wire", lw.Revolute((1, 0, 0)), inertia=wire)
    model = linkage.compile()
    state = model.random_state(rng)
    expected = lw.forward_dynamics(model, state)
    # A moment of 1e-8 beside one of 1e1: nine digits lost of sixteen, so the result is that of aba.
    with pytest.warns(LinkworkWarning, match="the result is that of aba"):
        assert (lw.forward_dynamics(model, state, algorithm="dca") == expected).all()


# ---------------------------------------------------------------------------------------------------------------- reactions


def test_reactions_check_what_they_get(model, state):
    with pytest.raises(lw.StateError, match="no algorithm 'aba'; choose dca"):
        lw.joint_reactions(model, state, algorithm="aba")
    with pytest.raises(lw.StateError, match=r"effort has shape \(3,\).*needs \(4,\)"):
        lw.joint_reactions(model, state, np.zeros(3))
    with pytest.raises(lw.StateError, match=r"wrenches has shape \(6,\).*needs \(2, 6\)"):
        lw.joint_reactions(model, state, None, np.zeros(6))
    with pytest.raises(lw.StateError, match=r"state.q has shape"):
        lw.joint_reactions(model, lw.State(np.zeros(2), state.v))


@pytest.mark.parametrize("bad", [NAN, INFINITE])
def test_numbers_that_are_none_are_found(model, state, bad):
    effort = np.array([0.0, 0.0, bad, 0.0])
    wrenches = np.zeros((2, 6))
    wrenches[1, 4] = bad
    spoiled = state.copy()
    spoiled.v[0] = bad
    for ask in (lw.joint_reactions, lw.Response, lambda *a: lw.hybrid_dynamics(*a[:2], {}, *a[2:])):
        with pytest.raises(lw.StateError, match=r"effort\[2\] is .* \(joint 'elbow'\)"):
            ask(model, state, effort)
        with pytest.raises(lw.StateError, match=r"wrenches\[1\] is .* \(body 'lower'\)"):
            ask(model, state, None, wrenches)
        with pytest.raises(lw.StateError, match=r"state.v\[0\] is .* \(joint 'shoulder'\)"):
            ask(model, spoiled)


# ------------------------------------------------------------------------------------------------------------------- hybrid


def test_hybrid_dynamics_checks_what_joints_are_given(model, state):
    with pytest.raises(lw.ModelError, match=r"no joint 'sholder'; did you mean 'shoulder'"):
        lw.hybrid_dynamics(model, state, {"sholder": 1.0})
    with pytest.raises(lw.StateError, match=r"prescribed\['elbow'\] has shape \(1,\).*needs \(3,\)"):
        lw.hybrid_dynamics(model, state, {"elbow": 1.0})
    with pytest.raises(lw.StateError, match=r"prescribed\['shoulder'\] has shape \(2,\).*needs \(1,\)"):
        lw.hybrid_dynamics(model, state, {"shoulder": (1.0, 2.0)})
    with pytest.raises(lw.StateError, match=r"prescribed\['shoulder'\] is \[nan\]; give finite numbers"):
        lw.hybrid_dynamics(model, state, {"shoulder": NAN})
    with pytest.raises(lw.StateError, match=r"prescribed\['shoulder'\] must be an array of numbers"):
        lw.hybrid_dynamics(model, state, {"shoulder": "fast"})
    with pytest.raises(lw.StateError, match=r"effort has shape"):
        lw.hybrid_dynamics(model, state, {"shoulder": 1.0}, np.zeros(7))


def test_a_failed_question_leaves_the_model_usable(model, state):
    expected = lw.forward_dynamics(model, state, algorithm="dca")
    with pytest.raises(lw.StateError, match="finite"):
        lw.hybrid_dynamics(model, state, {"shoulder": 1.0}, np.full(4, NAN))
    assert (lw.forward_dynamics(model, state, algorithm="dca") == expected).all()


# ----------------------------------------------------------------------------------------------------------------- response


@pytest.fixture
def response(model, state):
    return lw.Response(model, state)


def test_messages_of_unknown_names_give_close_ones(response):
    for ask in (
        lambda: response.pose("uper"),
        lambda: response.twist("uper"),
        lambda: response.acceleration("uper"),
        lambda: response.block("uper", "lower"),
        lambda: response.body_response("uper", wrench_on="lower", wrench=np.zeros(6)),
        lambda: response.set_wrench("uper", np.zeros(6)),
    ):
        with pytest.raises(lw.ModelError, match=r"no body 'uper'; did you mean 'upper'"):
            ask()
    for ask in (
        lambda: response.joint_acceleration("elbo"),
        lambda: response.joint_response("elbo", wrench_on="lower", wrench=np.zeros(6)),
        lambda: response.body_response("lower", effort_on="elbo", effort=np.zeros(3)),
        lambda: response.set_effort("elbo", np.zeros(3)),
    ):
        with pytest.raises(lw.ModelError, match=r"no joint 'elbo'; did you mean 'elbow'"):
            ask()


@pytest.mark.parametrize("body", ["world", "stand", -1, 2, 10**6])
def test_the_world_has_no_acceleration_to_ask_for(response, body):
    for ask in (
        lambda: response.acceleration(body),
        lambda: response.twist(body),
        lambda: response.block(body, "upper"),
        lambda: response.block("upper", body),
        lambda: response.set_wrench(body, np.zeros(6)),
    ):
        with pytest.raises(lw.StateError, match=r"is the world or does not exist; model 'arm' has bodies 0 to 1"):
            ask()


def test_a_response_has_one_cause(response):
    with pytest.raises(lw.StateError, match="either wrench_on= with wrench=, or effort_on= with effort="):
        response.body_response("upper")
    with pytest.raises(lw.StateError, match="either wrench_on="):
        response.body_response("upper", wrench_on="lower", wrench=np.zeros(6), effort_on="elbow", effort=np.zeros(3))
    with pytest.raises(lw.StateError, match=r"wrench is missing; give an array of shape \(6,\)"):
        response.body_response("upper", wrench_on="lower")
    with pytest.raises(lw.StateError, match=r"effort is missing; give an array of shape \(3,\)"):
        response.joint_response("elbow", effort_on="elbow")


def test_loads_are_checked(response):
    with pytest.raises(lw.StateError, match=r"wrench has shape \(3,\); model 'arm' needs \(6,\)"):
        response.set_wrench("upper", (0.0, 0.0, 1.0))
    with pytest.raises(lw.StateError, match=r"effort has shape \(1,\); model 'arm' needs \(3,\)"):
        response.set_effort("elbow", [1.0])
    with pytest.raises(lw.StateError, match=r"wrench is \[nan.*give finite numbers"):
        response.set_wrench("upper", np.full(6, NAN))
    with pytest.raises(lw.StateError, match=r"effort is \[inf\]; give finite numbers"):
        response.set_effort("shoulder", [INFINITE])
    with pytest.raises(lw.StateError, match=r"wrench is .*give finite numbers"):
        response.body_response("upper", wrench_on="upper", wrench=np.full(6, INFINITE))
    with pytest.raises(lw.StateError, match=r"wrench must be an array of numbers"):
        response.set_wrench("upper", "hard")


def test_a_refused_load_changes_nothing(response):
    before = response.acceleration("lower")
    for refuse in (
        lambda: response.set_wrench("upper", np.full(6, NAN)),
        lambda: response.set_effort("elbow", np.full(3, NAN)),
        lambda: response.body_response("lower", effort_on="elbow", effort=np.full(3, NAN)),
    ):
        with pytest.raises(lw.StateError):
            refuse()
    assert (response.acceleration("lower") == before).all()


def test_points_and_frames_are_checked(response):
    with pytest.raises(lw.StateError, match="both points at_of= and at_on=, or none"):
        response.block("upper", "lower", at_of=(0, 0, 0))
    with pytest.raises(lw.StateError, match=r"at_of has shape \(2,\)"):
        response.block("upper", "lower", at_of=(0, 0), at_on=(0, 0, 0))
    with pytest.raises(lw.StateError, match="frame must be 'body' or 'world', not 'wrist'"):
        response.block("upper", "lower", frame="wrist")


# ------------------------------------------------------------------------------------------------------------- the drawing


def test_the_assembly_tree_is_drawn_for_small_linkages(capsys):
    assert main(["info", "--assembly", "star", "arms=3"]) == 0
    drawing = capsys.readouterr().out.partition("nodes (")[2].splitlines()[1:]
    assert drawing == [
        "world",
        "└─ hang at hub",
        "   └─ join at arm_0_0",
        "      ├─ body hub",
        "      │  └─ sum",
        "      │     ├─ hang at arm_1_0",
        "      │     │  └─ body arm_1_0",
        "      │     └─ hang at arm_2_0",
        "      │        └─ body arm_2_0",
        "      └─ body arm_0_0",
    ]


def test_the_assembly_tree_is_summed_up_for_large_ones(capsys):
    assert main(["info", "chain", "joints=300", "--assembly"]) == 0
    out = capsys.readouterr().out
    assert "600 nodes (300 body, 299 join, 1 hang, 0 sum), depth 11 (at most 47)" in out
    assert "at most 60 bodies are drawn" in out
    assert main(["info", "chain", "joints=300", "--assembly", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["assembly"]["depth"] == 11


def test_a_model_without_bodies_can_be_drawn():
    text = draw_assembly(assemble(np.zeros(0, dtype=np.int64)), (), ())
    assert text == "0 nodes (0 body, 0 join, 0 hang, 0 sum), depth 0 (at most 0)"
