"""The variational integrator: least discrete action, momentum, reversal in time, energy of chains that whip."""

from __future__ import annotations

import contextlib
import itertools
import warnings

import numpy as np
import pytest
from tests.reference.plain_variational import plain_variational_step

import linkwork as lw
from linkwork.errors import LinkworkWarning, StateError
from linkwork.simulation.integrators.variational.history import ahead

EPS = np.finfo(float).eps


def whip(links: int) -> tuple[lw.Model, lw.State]:
    """A chain that is let go from the horizontal."""
    model = lw.library.chain(links).compile()
    start = model.neutral()
    q = start.q.copy()
    q[0] = 0.5 * np.pi
    return model, model.state(q, start.v)


@pytest.mark.parametrize("joint", ["hinges", "balls", "springs", "floating"])
def test_a_step_is_that_of_the_discrete_lagrangian(joint):
    """Against the derivatives of the discrete action by differences, solved by another program."""
    if joint == "balls":
        model = lw.library.chain(3, joint=lw.Spherical((0.02, 0.01, 0.0))).compile()
    elif joint == "springs":
        model = lw.library.chain(3, joint=lw.Revolute((0.6, 0.8, 0.0), stiffness=0.3, damping=0.01)).compile()
    elif joint == "floating":
        model = lw.library.molecule(4, floating=True).compile()
    else:
        model = lw.library.chain(4).compile()
    start, h = model.random_state(3, speed=5.0), 0.002
    sim = lw.FullDynamics(model, start, integrator="variational")
    report = sim.step(h)
    assert report.halvings == 0
    plain = plain_variational_step(model, start, h)
    # Differences of the action: rounding of the action over the difference, relative to the smallest momenta met (1e-4),
    # through the inverse of the mass matrix (thin rods: 1e5 times).
    q_error = np.abs(model.difference(plain.q, sim.state.q)).max()
    assert q_error <= 2e-7
    assert np.abs(plain.v - sim.state.v).max() <= 2e-7 / h


def test_steps_that_carry_momenta_are_those_of_the_discrete_lagrangian():
    """Five steps in one call and one of another length, against plain steps that begin with velocities each time."""
    model = lw.library.chain(
        3, joint=lw.Revolute((0.6, 0.8, 0.0), stiffness=0.3, damping=0.01, armature=1e-3)
    ).compile()
    state, h = model.random_state(3, speed=5.0), 0.002
    sim = lw.FullDynamics(model, state, integrator="variational")
    assert sim.step(h, 5).halvings == 0
    assert sim.step(0.7 * h).halvings == 0
    for span in (h, h, h, h, h, 0.7 * h):
        state = plain_variational_step(model, state, span)
    # The plain step by itself is right to 2e-7 (see above); errors of six add up.
    assert np.abs(state.q - sim.state.q).max() <= 6 * 2e-7
    assert np.abs(state.v - sim.state.v).max() <= 6 * 2e-7 / h


def test_fast_ends_that_are_eliminated_again_solve_the_same_equations():
    """A molecule whose side chains turn by more than 0.2 rad per step, against the plain equations."""
    model = lw.library.molecule(12).compile()
    state, h = model.random_state(5, speed=200.0), 1e-3
    sim = lw.FullDynamics(model, state, integrator="variational")
    sim.step(h, 3)
    before = sim.state
    report = sim.step(h)
    assert report.halvings == 0
    assert np.abs(sim.state.q - before.q).max() > 0.2
    assert report.evaluations > 2  # corrections were needed
    plain = plain_variational_step(model, before, h)
    # As above; the lightest torsions have 1e-5 of the inertia of the whole, ten times less than the chains there. The
    # equations know rotations only: the plain solver may find a hinge a whole turn further.
    turned = (plain.q - sim.state.q + np.pi) % (2 * np.pi) - np.pi
    assert np.abs(turned).max() <= 2e-6
    assert np.abs(plain.v - sim.state.v).max() <= 2e-6 / h


@pytest.mark.parametrize("lengths", [(1.0, 1.0, 1.0, 1.0), (0.5, 0.5, 1.0, 2.0), (1.0, 1e-3, 0.0, 0.0)])
def test_guesses_continue_polynomials(lengths):
    """With k steps of any lengths behind, polynomials of degree k are continued exactly."""
    terms = sum(length > 0.0 for length in lengths)
    nodes = -np.concatenate([[0.0], np.cumsum(lengths[:terms])])
    for degree in range(1, terms + 1):
        values = nodes**degree
        means = (values[:-1] - values[1:]) / np.array(lengths[:terms])
        guess = sum(ahead(lengths, k, 0.8) * means[k] for k in range(terms))
        # Weights reach 10 over the shortest length, and cancel: rounding of each, a hundred times over.
        assert guess == pytest.approx(0.8**degree, abs=1000.0 * EPS / min(lengths[:terms]))


def test_steps_before_one_that_fails_stay():
    """Turned ever faster until no part of a step is short enough: velocities are those of the last good step."""
    model = lw.library.chain(2).compile()

    def begin():
        sim = lw.FullDynamics(model, model.neutral(), integrator="variational")
        sim.set_effort("link_1", 3e4)
        return sim

    sim = begin()
    with pytest.raises(StateError, match=r"did not converge|overflow"):
        sim.step(1e-3, 10_000)
    assert 0 < sim.steps_done < 10_000
    other = begin()
    other.advance(1e-3, sim.steps_done)
    assert np.array_equal(sim.state.q, other.state.q)
    # The same momenta at the same coordinates; a mass matrix of condition 1e3 at most.
    assert np.abs(sim.state.v - other.state.v).max() <= 10.0 * EPS * 1e3 * np.abs(other.state.v).max()
    with pytest.raises(StateError):
        sim.step(1e-3)
    assert np.array_equal(sim.state.q, other.state.q)


def test_momentum_of_a_floating_tree_is_kept():
    model = lw.library.molecule(60, floating=True).compile()
    start = model.random_state(2, speed=1.0)
    sim = lw.FullDynamics(model, start, integrator="variational")
    before, h, steps = sim.momentum, 1e-3, 400
    report = sim.step(h, steps)
    assert report.halvings == 0
    after = sim.momentum
    # Displacements are differences of coordinates: eps of lengths (10 m) over h as velocities, for all mass, per step.
    mass = model.arrays.body[:, 12].sum()
    allowed = 10.0 * EPS * 10.0 / h * mass * steps
    assert np.abs(after.linear - before.linear).max() <= allowed
    assert np.abs(after.angular - before.angular).max() <= 10.0 * allowed  # lever of 10 m


def test_a_run_is_its_own_mirror_image_in_time():
    model, start = whip(8)
    there = lw.FullDynamics(model, start, integrator="variational")
    assert there.step(2e-3, 200).halvings == 0
    turned = there.state
    back = lw.FullDynamics(model, model.state(turned.q, -turned.v), integrator="variational")
    assert back.step(2e-3, 200).halvings == 0
    # Solved to 1e-12 of the displacements (some 1e-2 per step), in 400 steps, a margin of 50. Velocities err by that times
    # the chain's rates (10 per second).
    allowed = 50.0 * 1e-12 * 1e-2 * 400
    assert np.abs(back.state.q - start.q).max() <= allowed
    assert np.abs(back.state.v + start.v).max() <= 10.0 * allowed


@pytest.mark.parametrize("floating", [False, True])
def test_trees_of_all_joints_return_as_those_of_the_midpoint_rule_do(floating):
    """1,000 steps there and back. Motions of both rules differ a little, and so does how errors grow along them."""
    farthest = {"variational": 0.0, "implicit_midpoint": 0.0}
    for integrator, seed in itertools.product(farthest, range(3)):
        model = lw.library.random_tree(12, seed=seed, kinds=lw.library.JOINT_KINDS, floating=floating).compile()
        start = model.random_state(seed, speed=1.0)
        there = lw.FullDynamics(model, start, integrator=integrator)
        assert there.step(1e-3, 1000).halvings == 0
        turned = there.state
        back = lw.FullDynamics(model, model.state(turned.q, -turned.v), integrator=integrator)
        back.step(1e-3, 1000)
        distance = float(np.abs(model.difference(start.q, back.state.q)).max())
        farthest[integrator] = max(farthest[integrator], distance)
    # The midpoint rule solves to 1e-12 of velocities, this one to as much of displacements: 36 times farther was seen.
    assert farthest["variational"] <= 1000.0 * farthest["implicit_midpoint"]


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_chain_that_ends_in_ten_thousand_times_its_mass_returns_to_its_start(make):
    chain = lw.Linkage("heavy tip")
    for i in range(10):
        inertia = lw.Inertia.box(1e4 if i == 9 else 1.0, (0.05, 0.05, 0.3)).at(lw.Pose((0.0, 0.0, -0.15)))
        axis = (0, 1, 0) if i % 2 else (1, 0, 0)
        parent, place = (f"b{i - 1}", lw.Pose((0.0, 0.0, -0.3))) if i else ("world", lw.Pose())
        chain.add_body(f"b{i}", parent, lw.Revolute(axis), place, inertia)
    model = chain.compile()
    start = model.random_state(1, speed=0.5)
    there = make(model, start, integrator="variational")
    there.step(1e-3, 300)
    back = make(model, model.state(there.state.q, -there.state.v), integrator="variational")
    back.step(1e-3, 300)
    # Solved to 1e-12 of displacements in 600 steps; light links between heavy ones multiply that: 1e-10 was seen.
    assert np.abs(model.difference(start.q, back.state.q)).max() <= 1e-8


def test_motors_that_have_come_to_rest_cost_no_more_than_motion():
    """What is left of motion is rounding, and so is its energy: no reason to make steps shorter."""
    model = lw.library.chain(6).compile()
    sim = lw.FullDynamics(model, model.random_state(1), integrator="variational")
    for body in model.body_names:
        sim.set_motor(body, position=0.3, stiffness=60.0, damping=6.0)
    sim.step(2e-3, 2500)
    report = sim.step(2e-3, 500)
    assert np.abs(sim.state.v).max() <= 1e-9
    assert report.halvings == 0
    assert report.evaluations <= 2 * 500


def test_the_chain_that_other_integrators_lose(recwarn):
    """100 links let go from the horizontal: two cracks of the whip within eight seconds at h = 1e-3."""
    model, start = whip(100)
    sim = lw.FullDynamics(model, start, integrator="variational")
    first = sim.energy.total
    largest, evaluations, worst = 0.0, 0, 0.0
    for _ in range(80):
        evaluations += sim.step(1e-3, 100).evaluations
        energy = sim.energy
        largest = max(largest, energy.kinetic)
        worst = max(worst, abs(energy.total - first))
    assert worst < 0.01 * largest
    assert evaluations <= 4 * 8000
    assert not any(issubclass(w.category, LinkworkWarning) for w in recwarn)


def test_adaptive_runs_take_the_same_steps():
    model, start = whip(12)
    full = lw.FullDynamics(model, start, integrator="variational")
    adaptive = lw.AdaptiveDynamics(model, start, tolerance=0.0, integrator="variational")
    full.step(1e-3, 100)
    adaptive.step(1e-3, 100)
    assert np.abs(full.state.q - adaptive.state.q).max() <= 1e-9  # equal equations; roundings grow with the motion
    some = lw.AdaptiveDynamics(model, start, max_active_joints=4, integrator="variational")
    before = some.energy.total
    some.step(1e-3, 300)
    assert some.energy.total <= before + 1e-4 * some.energy.kinetic  # stops take energy, steps make none


def test_energy_without_a_source_is_reported_once():
    model, start = whip(20)
    sim = lw.FullDynamics(model, start, integrator="semi_implicit_euler", implicit_joints=False)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        # explicit Euler steps are made by one rule, which gains energy here
        with contextlib.suppress(StateError):
            for _ in range(400):
                sim.step(2e-3, 10)
    assert [str(w.message).startswith("energy grows without a source") for w in warned] == [True]
    driven = lw.FullDynamics(model, start, integrator="semi_implicit_euler")
    driven.set_effort("link_0", 500.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        driven.step(1e-5, 100)


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_joint_that_is_lifted_to_its_limit_is_not_taken_for_a_step_too_long(make):
    """It begins 0.2 rad below its lower limit, and steps push it back, up: energy comes from there."""
    link = lw.Inertia(mass=1.0, com=(0.2, 0.0, 0.0), moments=(0.001, 0.01, 0.01))
    linkage = lw.Linkage("lifted")
    linkage.add_body("arm", joint=lw.Revolute((0, -1, 0), limits=(0.2, 1.5)), inertia=link)
    model = linkage.compile()
    sim = make(model, model.neutral())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            sim.step(1e-3, 10)
    assert sim.state.q[0] == pytest.approx(0.2, abs=1e-3)


def test_adaptive_runs_report_it_too():
    """Half of the joints of a whip, by an integrator whose step is too long; a load begins the watch anew."""
    model, start = whip(20)
    sim = lw.AdaptiveDynamics(
        model, start, max_active_joints=20, integrator="semi_implicit_euler", implicit_joints=False
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with contextlib.suppress(StateError):
            for _ in range(400):
                sim.step(2e-3, 10)
    assert [str(w.message).startswith("energy grows without a source") for w in warned] == [True]
    driven = lw.AdaptiveDynamics(model, start, max_active_joints=20, integrator="semi_implicit_euler")
    driven.set_effort("link_0", 500.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        driven.step(1e-5, 100)


def test_joints_that_become_active_and_stop_are_not_taken_for_a_source():
    model, start = whip(40)
    sim = lw.AdaptiveDynamics(model, start, max_active_joints=8, integrator="variational")
    first, largest = sim.energy.total, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            sim.step(1e-3, 25)
            largest = max(largest, sim.energy.kinetic)
    assert sim.energy.total <= first + 0.01 * largest


def test_midpoint_steps_that_cannot_balance_energy_are_counted():
    """Links that turn once per step are too fast for the balance of the midpoint rule, which is then left out.

    Single steps from many states: 5 to 8 of 48 are unbalanced, most others fail. At h = 1e-3 a whip never is.
    """
    model, start = whip(20)
    slow = lw.FullDynamics(model, start, integrator="implicit_midpoint")
    assert slow.step(1e-3, 50).unbalanced == 0
    unbalanced = 0
    for links, seed, speed, h in itertools.product((3, 4), range(6), (20.0, 40.0), (0.03, 0.06)):
        model = lw.library.chain(links).compile()
        fast = lw.FullDynamics(model, model.random_state(seed, speed=speed), integrator="implicit_midpoint")
        with contextlib.suppress(StateError), warnings.catch_warnings():
            warnings.simplefilter("ignore", LinkworkWarning)  # of the energy that it makes
            unbalanced += fast.step(h).unbalanced
    assert unbalanced >= 1


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_the_default_is_the_one_that_suits(make):
    chain, start = whip(3)
    assert make(chain, start).integrator == make(chain, start, integrator="auto").integrator == "variational"
    assert make(chain, start, implicit_joints=False).integrator == "semi_implicit_euler"
    assert make(chain, start, thermostat=lw.Langevin(300.0)).integrator == "kick_drift_kick"
    assert make(chain, start, contact=lw.Contact()).integrator == "variational"  # what flies does not ask for contact
    damped = lw.library.chain(3, joint=lw.Revolute((0, 1, 0), damping=0.1)).compile()
    assert make(damped, damped.neutral()).integrator == "variational"  # dampers take what they take, and no more
    strong = lw.library.chain(3, joint=lw.Revolute((0, 1, 0), effort_limit=5.0)).compile()
    assert make(strong, strong.neutral()).integrator == "semi_implicit_euler"
    closed = lw.library.four_bar().compile()
    assert make(closed, closed.neutral()).integrator == "variational"
    limited = lw.Linkage("limited")
    limited.add_body("link", joint=lw.Revolute((0, 1, 0), limits=(-1, 1)), inertia=lw.Inertia.box(1.0, (1, 1, 1)))
    model = limited.compile()
    assert make(model, model.neutral()).integrator == "variational"


def test_what_stands_still_stays_so_exactly():
    """Displacements are differences from none: no rounding of poses adds up, however long the linkage."""
    for model in (lw.library.molecule(3000).compile(), lw.library.chain(1000).compile()):
        sim = lw.FullDynamics(model, model.neutral(), integrator="variational")
        report = sim.step(1e-3, 5)
        assert not sim.state.v.any()
        assert report.halvings == 0
        assert report.evaluations <= 11


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_run_goes_on_from_a_checkpoint_in_the_same_bits(make):
    """The guess of a step comes from the one before: it is in the checkpoint."""
    model, start = whip(12)
    sim = make(model, start, integrator="variational")
    sim.step(2e-3, 95)
    saved = sim.checkpoint()
    sim.step(2e-3, 40)
    other = make(model, start, integrator="variational")
    other.restore(saved)
    other.step(2e-3, 40)
    assert np.array_equal(sim.state.q, other.state.q)
    assert np.array_equal(sim.state.v, other.state.v)
    single = make(model, start, integrator="variational")
    for _ in range(135):
        single.step(2e-3)
    assert np.array_equal(sim.state.q, single.state.q)


def test_a_step_that_was_halved_is_followed_by_short_ones():
    """A molecule too fast for its step: lengths are remembered and grow back, and the energy stays: 0.4 % are seen."""
    model = lw.library.molecule(60).compile()
    sim = lw.FullDynamics(model, model.random_state(1, speed=30.0), integrator="variational")
    first, largest, worst, halvings = sim.energy.total, 0.0, 0.0, 0
    for _ in range(60):
        halvings += sim.step(1e-3, 5).halvings
        energy = sim.energy
        largest, worst = max(largest, energy.kinetic), max(worst, abs(energy.total - first))
    assert halvings > 0
    assert worst < 0.04 * largest  # motion is chaotic: other roundings, other motion


def test_steps_in_parts_go_on_in_the_same_bits():
    """In one call, in a call each, and from a checkpoint: what is known of the energy at the end of a part goes on too."""
    model = lw.library.molecule(60).compile()
    start = model.random_state(2, speed=30.0)
    sim, single, other = (lw.FullDynamics(model, start, integrator="variational") for _ in range(3))
    halvings = sim.step(1e-3, 40).halvings
    assert halvings == sum(single.step(1e-3).halvings for _ in range(40)) > 0
    assert np.array_equal(sim.state.q, single.state.q)
    other.restore(sim.checkpoint())
    for each in (sim, other):
        each.step(1e-3, 20)
    assert np.array_equal(sim.state.q, other.state.q)
    assert np.array_equal(sim.state.v, other.state.v)


def test_loops_stay_closed():
    model = lw.library.four_bar().compile()
    sim = lw.FullDynamics(model, model.neutral(), integrator="variational")
    before = sim.energy
    sim.step(1e-3, 500)
    gaps = lw.loop_gaps(model, sim.state)
    assert gaps.worst_gap <= 1e-9
    assert gaps.worst_slip <= 1e-9
    assert sim.energy.total == pytest.approx(before.total, abs=1e-4 * max(sim.energy.kinetic, abs(before.potential)))


def test_what_it_cannot_do_is_refused():
    model = lw.library.chain(3).compile()
    with pytest.raises(StateError, match="variational works with the algorithm 'aba'"):
        lw.FullDynamics(model, model.neutral(), algorithm="dca", integrator="variational")
    with pytest.raises(StateError, match="implicit joints"):
        lw.FullDynamics(model, model.neutral(), implicit_joints=False, integrator="variational")
    with pytest.raises(StateError, match="implicit joints"):
        lw.AdaptiveDynamics(model, model.neutral(), implicit_joints=False, integrator="variational")
