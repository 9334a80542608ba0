"""A hand that holds a body gets no energy from it but what it gave, within the limits of its forces."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.hands import PATIENT

import linkwork as lw


def rope(joints=8):
    linkage = lw.Linkage("rope", gravity=(0, 0, 0))
    parent = "world"
    for k in range(joints):
        joint = lw.Revolute((0, 1, 0) if k % 2 else (0, 0, 1), damping=0.01)
        place = lw.Pose(xyz=(0.2 if k else 0.0, 0.0, 0.0))
        body = lw.Inertia.box(0.3, (0.2, 0.05, 0.05)).at(lw.Pose(xyz=(0.1, 0, 0)))
        linkage.add_body(f"link_{k}", parent=parent, joint=joint, inertia=body, placement=place)
        parent = f"link_{k}"
    return linkage.compile()


def tugging(t):
    return (0.0, 0.1 * np.sin(9.0 * t), 0.05 * np.sin(14.0 * t))


def held_rope(**settings):
    model = rope()
    sim = lw.FullDynamics(model, model.neutral())
    hand = lw.haptics.HumanHand(tugging, delay=0.05)
    return lw.haptics.grasp(sim, "link_7", hand, (0.2, 0.0, 0.0), force_limit=100.0, watchdog=PATIENT, **settings)


REGION = [
    (1000.0, 1000.0, 1.0),
    (1000.0, 200.0, 5.0),
    (200.0, 160.0, 1.0),
    (50.0, 50.0, 1.0),
]  # rate, stiffness, damping


@pytest.mark.parametrize("feel", ["spring", "reactions"])
@pytest.mark.parametrize(("rate", "stiffness", "damping"), REGION)
def test_a_port_gives_no_energy_that_it_did_not_get(rate, stiffness, damping, feel):
    """Nothing is stored at first, so a passive port never gives out more than it was given; not by rounding either.

    The region that docs/haptics.md states: stiffness times the time between two snapshots is at most the damping.
    """
    grasp = held_rope(stiffness=stiffness, damping=damping, feel=feel, allowance=0.0)
    trace = grasp.session.run(2.0, h=1.0 / rate, rate=1000.0)
    given, _, most = grasp.energy
    assert np.abs(trace.felt).max() > 0.1
    assert given < -0.1  # the hand worked on the rope, whose joints damp
    assert most == 0.0


@pytest.mark.parametrize(("rate", "stiffness", "damping"), REGION)
def test_joint_reactions_give_no_more_than_their_allowance(rate, stiffness, damping):
    """As a field of forces they need not be conservative; what they may give beyond the coupling is a setting."""
    most = {}
    for passive in (True, False):
        grasp = held_rope(stiffness=stiffness, damping=damping, passive=passive, allowance=5e-3)
        grasp.session.run(2.0, h=1.0 / rate, rate=1000.0)
        most[passive] = grasp.energy[2]
    assert 0.0 < most[True] <= 5e-3
    assert most[False] > 5e-3  # there was something to keep back


def test_a_hand_that_feels_reactions_feels_them_while_the_account_lasts():
    """Passivity control leaves the force as it is until the energy beyond the coupling's is spent."""
    felt = {}
    for passive in (True, False):
        grasp = held_rope(stiffness=200.0, damping=5.0, passive=passive, allowance=1e3)
        felt[passive] = grasp.session.run(0.3, h=1e-3, rate=1000.0).felt
    assert np.array_equal(felt[True], felt[False])
    assert np.abs(felt[True]).max() > 1.0


def test_far_outside_the_region_energy_comes_out():
    """The meter of energy does show a port that is not passive."""
    model = rope()
    sim = lw.FullDynamics(model, model.neutral())
    hand = lw.haptics.HumanHand(tugging, delay=0.05)
    grasp = lw.haptics.grasp(
        sim, "link_7", hand, stiffness=5e3, damping=0.0, feel="spring", force_limit=20.0, watchdog=PATIENT
    )
    grasp.session.run(0.5, h=0.005, rate=1000.0)
    assert grasp.energy[2] > 1e-3


def test_energy_is_the_work_of_the_force_on_the_hand():
    """The meter is the sum of force times way, tick by tick."""
    model = rope()
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.ScriptedMotion(tugging)
    grasp = lw.haptics.grasp(sim, "link_7", device, stiffness=100.0, damping=0.5, watchdog=PATIENT)
    trace = grasp.session.run(0.5, h=1e-3, rate=1000.0)
    work = np.sum(trace.felt[:-1, 0, 3:] * np.diff(trace.hand[:, 0], axis=0))
    assert abs(work) > 1e-3
    assert grasp.energy[0] == pytest.approx(work, rel=1e-9)  # rounding of 500 sums


def test_scales_of_length_and_force():
    """A hand of metres in a world of nanometres: the same motion, the same stiffness relative to the scales."""
    model = rope()
    felt, wrench = [], []
    for length, force in ((1.0, 1.0), (1e-3, 1.0), (1.0, 20.0)):
        sim = lw.FullDynamics(model, model.neutral())
        device = lw.haptics.Pointer()
        grasp = lw.haptics.grasp(
            sim, "link_7", device, damping=0.0, length_scale=length, force_scale=force, watchdog=PATIENT
        )
        device.move((0.05, 0.0, 0.0))
        grasp.session.tick()
        felt.append(grasp.felt[3])
        wrench.append(grasp.wrench[3])
    assert wrench[0] == pytest.approx(200.0 * 0.05, rel=1e-12)
    assert wrench[1] == pytest.approx(1e-3 * wrench[0], rel=1e-9)
    assert felt[2] == pytest.approx(20.0 * felt[0], rel=1e-12)


def test_force_limit_holds_for_body_and_hand(rng):
    model = lw.library.chain(joints=20).compile()
    sim = lw.FullDynamics(model, model.neutral())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(
        sim, 10, device, stiffness=1e5, torque=1e4, force_limit=3.0, torque_limit=0.2, watchdog=PATIENT
    )
    for _ in range(20):
        device.move(rng.normal(size=3), rng.normal(size=4))
        grasp.session.tick()
        for wrench in (grasp.wrench, grasp.felt):
            assert np.linalg.norm(wrench[3:]) <= 3.0 * (1 + 1e-12)
            assert np.linalg.norm(wrench[:3]) <= 0.2 * (1 + 1e-12)
