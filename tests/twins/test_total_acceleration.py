"""A(C) of every node against the sum over its joints, taken the long way; factor form and published form side by side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.metric import by_sum

import linkwork as lw
from linkwork.adaptive.quasi_statics.floor import LEFT_TO_ROUNDING
from linkwork.assembly.node_table import HANG, JOIN, NODE_KIND, ROLE, SUM, TOP
from linkwork.reference.plain_dca import PlainDca
from linkwork.reference.psi_form import PsiForm

# Sums of squares of some 40 accelerations over chains of 6x6 solves: ε times their condition (1e3), relative to |R| |f|.
SAME = 1e-10


def inputs_of(nodes, node, rng):
    """Random wrenches on the handles of a node, or a random acceleration of its carrier."""
    kind, role = nodes[node, NODE_KIND], nodes[node, ROLE]
    f1, f2 = rng.normal(size=6), rng.normal(size=6)
    one_input = kind in (HANG, SUM) or (kind == JOIN and role == TOP)
    return f1, np.zeros(6) if one_input else f2


@pytest.fixture(params=["chain", "tree", "bush", "forest", "hinges", "weightless"])
def case(request, make_tree, rng):
    """A model, a state, loads and weights; all joint kinds, options, several trees on one base."""
    shape = {
        "chain": {"branching": 0.0, "bodies": 30, "stiffness": True, "armature": True},
        "tree": {"bodies": 30, "stiffness": True, "base": lw.Free()},
        "bush": {"branching": 1.0, "bodies": 40, "armature": True},
        "forest": {"branching": 0.7, "bodies": 25, "roots": 4, "stiffness": True, "armature": True},
        "hinges": {"branching": 0.1, "bodies": 40, "kinds": ("revolute", "prismatic", "screw")},
        "weightless": {"branching": 0.3, "bodies": 30, "gravity": (0.0, 0.0, 0.0)},
    }[request.param]
    model = make_tree(seed=len(request.param), **shape)
    state = model.random_state(rng, speed=0.0)
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    return model, state, effort, wrenches, 10.0 ** rng.uniform(-1, 1, model.nv)


def test_every_solve_hides_what_it_says(case):
    """At tolerances from coarse to fine, so that any node is left out once: by the sum over all joints left out. What is
    loaded is computed, so one body is."""
    model, state, effort, wrenches, weights = case
    few = np.zeros(model.nv)
    few[model.v_slice(1)] = effort[model.v_slice(1)]
    wrenches[2:] = wrenches[0] = 0.0
    sim = lw.QuasiStatics(
        model, state, tolerance=1e9, weights=weights, measure="absolute_linkage", max_active_joints=model.n_bodies
    )
    sim.apply_wrench(1, torque=wrenches[1, :3], force=wrenches[1, 3:], frame="body")
    sim.set_efforts(few)
    truth = lw.forward_dynamics(model, state, few, wrenches)
    parts = np.array([(weights * truth**2)[model.v_slice(i)].sum() for i in range(model.n_bodies)])
    sizes = set()
    for k in range(40):
        report = sim.solve(math.sqrt(parts.sum()) * 1.5**-k)
        left_out = [name not in set(sim.computed_joints) for name in model.joint_names]
        hidden = math.sqrt(parts[left_out].sum())
        assert abs(report.error_bound - hidden) <= report.rounding_floor + 1e-7 * hidden
        sizes.add(report.n_computed)
    assert len(sizes) > 4


def test_every_published_form_gives_the_sum_over_its_joints(case, rng):
    """Random inputs make nothing cancel: there the published form is as good."""
    model, state, effort, wrenches, weights = case
    dca = PlainDca(model, state, effort, wrenches)
    psi = PsiForm(dca, weights)
    for node in range(dca.assembly.nodes.shape[0]):
        f1, f2 = inputs_of(dca.assembly.nodes, node, rng)
        truth = by_sum(dca, weights, node, f1, f2)
        form = psi.forms[node]
        scale = np.abs(f1) @ np.abs(form.psi11) @ np.abs(f1) + np.abs(f2) @ np.abs(form.psi22) @ np.abs(f2)
        scale += np.abs(f1) @ np.abs(form.p1) + np.abs(f2) @ np.abs(form.p2) + abs(form.eta)
        assert form.at(f1, f2) == pytest.approx(truth, rel=0, abs=SAME * (1e-6 + scale))


# ---------------------------------------------------------------------------------------- the published form, side by side


def oblique_cable(joints, direction, length=0.1, mass=0.1):
    """A straight cable of hinges that hangs along a direction which is not a coordinate axis, as rounding likes it."""
    u = np.array(direction)
    a = np.cross(u, (1.0, 0.0, 0.0))
    a /= np.linalg.norm(a)
    thin = 0.03  # moment about the link's own axis, as a part of that across it
    moments = mass * length**2 / 12.0 * (np.eye(3) - (1.0 - thin) * np.outer(u, u))
    inertia = lw.Inertia(mass=mass, com=tuple(0.5 * length * u), moments=moments)
    cable = lw.Linkage("cable", gravity=tuple(9.81 * u))
    hinges = lw.Revolute(tuple(a)), lw.Revolute(tuple(np.cross(u, a)))
    for i in range(joints):
        parent, place = (f"link_{i - 1}", lw.Pose(xyz=tuple(length * u))) if i else ("world", lw.Pose())
        cable.add_body(f"link_{i}", parent, hinges[i % 2], place, inertia)
    return cable.compile(), a


@pytest.mark.filterwarnings("ignore::linkwork.errors.LinkworkWarning")  # 2⁻¹⁹ lies at the rounding floor of this cable
@pytest.mark.parametrize("direction", [(0.36, 0.48, -0.8), (1 / 9, 4 / 9, -8 / 9), (2 / 7, 3 / 7, -6 / 7)])
def test_on_a_hanging_cable_the_factor_form_keeps_the_bound_and_the_published_form_loses_it(direction):
    """3,000 links in equilibrium, and 1e-4 N from the side: tensions of 3 kN cancel, and Ψ has them squared.

    What is left of A is rounding. Where it is negative the published form computes no joint and claims no error; where it
    is positive it follows the rounding from node to node and computes joints that do not move.
    """
    joints, push = 3000, 1e-4
    model, side = oblique_cable(joints, direction)
    state = model.neutral()
    wrenches = np.zeros((joints, 6))
    wrenches[joints // 2, 3:] = push * side
    truth = lw.forward_dynamics(model, state, wrenches=wrenches)
    largest = np.abs(truth).max()
    psi = PsiForm(PlainDca(model, state, None, wrenches))
    sim = lw.QuasiStatics(model, state, tolerance=1.0)
    sim.apply_wrench(joints // 2, force=push * side, frame="body")
    for k in (3, 7, 11, 15, 19):
        tolerance = 2.0**-k
        report = sim.refine(tolerance)
        assert np.abs(sim.acceleration - truth).max() / largest <= report.error_bound
        assert report.error_bound <= tolerance + report.rounding_floor
        if tolerance <= report.rounding_floor:
            break  # how many joints are computed below the floor is up to rounding
        assert report.n_computed < 100
        choice = psi.choose(tolerance)
        assert choice.bound <= tolerance  # what it claims
        wrong = np.abs(choice.qdd - truth).max() / largest
        assert wrong > 0.9 or len(choice.computed) > 10 * report.n_computed
    assert k > 11  # and not above it
    base = np.concatenate([np.zeros(3), -model.gravity])
    squared = psi.forms[-1].at(base, np.zeros(6))
    assert abs(squared - truth @ truth) > 100.0 * (truth @ truth)  # nothing of A is left but rounding


@pytest.mark.parametrize("seed", range(3))
def test_without_cancellation_both_forms_choose_the_same_joints(seed):
    model = lw.library.random_tree(joints=300, seed=seed, branching=0.3).compile()
    state = model.random_state(seed, speed=0.0)
    psi = PsiForm(PlainDca(model, state))
    sim = lw.QuasiStatics(model, state, tolerance=1.0)
    for tolerance in (0.3, 0.1, 0.01):
        # the simulation leaves a part of the tolerance to rounding
        choice, report = psi.choose((1.0 - LEFT_TO_ROUNDING) * tolerance), sim.refine(tolerance)
        assert [model.joint_names[i] for i in choice.computed] == sim.computed_joints
        # Squares of what is a hundredth of the largest keep 12 digits of 16; some are lost to the condition of the joints.
        assert choice.bound == pytest.approx(report.error_bound - report.rounding_floor, rel=1e-6)
        assert report.reached
        assert report.error_bound <= tolerance
        assert choice.qdd == pytest.approx(sim.acceleration, abs=1e-9 * np.abs(choice.qdd).max())
