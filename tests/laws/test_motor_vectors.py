"""Motors of many joints at once: vectors do what joint by joint does; what acts is kept in recordings and tables."""

import csv
import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli.exit_codes import DONE
from linkwork.cli.program import main


def arm():
    linkage = lw.library.chain(4)
    return linkage.compile()


SIMULATIONS = {
    "full": lambda model: lw.FullDynamics(model, model.neutral()),
    "adaptive": lambda model: lw.AdaptiveDynamics(model, model.neutral(), tolerance=0.0),
}


@pytest.mark.parametrize("kind", SIMULATIONS)
def test_vectors_are_motors_joint_by_joint(kind):
    """The same numbers by vectors and by `set_motor` and `set_effort`: the same bits after twenty steps."""
    model = arm()
    many, each = SIMULATIONS[kind](model), SIMULATIONS[kind](model)
    stiffness, damping = np.array([80.0, 60.0, 40.0, 20.0]), np.array([4.0, 3.0, 2.0, 1.0])
    target, effort = np.array([0.3, -0.2, 0.1, 0.4]), np.array([0.5, 0.0, -0.5, 0.1])
    many.motors.stiffness, many.motors.damping, many.motors.position = stiffness, damping, target
    many.motors.effort = effort
    for k, joint in enumerate(model.joint_names):
        each.set_motor(joint, position=target[k], stiffness=stiffness[k], damping=damping[k])
        each.set_effort(joint, effort[k])
    for sim in (many, each):
        sim.advance(1e-3, 20)
    assert np.array_equal(many.state.q, each.state.q)
    assert np.array_equal(many.efforts.motors, each.efforts.motors)
    assert np.array_equal(many.efforts.given, effort)
    assert np.array_equal(many.applied_effort, np.sum(many.efforts, axis=0))


def test_motors_are_chosen_by_name_pattern_list_number_and_slice():
    model = arm()
    sim, names = lw.FullDynamics(model, model.neutral()), model.joint_names
    for which, chosen in (
        (names[1], [1]), (f"{names[0][:-1]}*", [0, 1, 2, 3]), ([names[2], names[0]], [0, 2]), (-1, [3]),
        (slice(1, 3), [1, 2]), (np.array([0, 3]), [0, 3]), (..., [0, 1, 2, 3]),
    ):  # fmt: skip
        assert sim.motors[which].joints == [names[k] for k in chosen]
    sim.motors[1:3].stiffness = 5.0
    assert sim.motors.stiffness.tolist() == [0.0, 5.0, 5.0, 0.0]
    for wrong in ("elbow", 4, 1.5, True, ["elbow"]):
        with pytest.raises(lw.StateError):
            sim.motors[wrong]


def test_wrong_vectors_change_nothing():
    model = arm()
    sim = lw.FullDynamics(model, model.neutral())
    sim.motors.stiffness = 5.0
    before = [sim.motors.stiffness, sim.motors.damping, sim.motors.position, sim.motors.effort]
    for name, value, message in (
        ("stiffness", -1.0, "must be ≥ 0"),
        ("position", [1.0, 2.0], r"need shape \(4,\)"),
        ("velocity", 1.0, "has no damping"),
        ("effort", float("nan"), "finite"),
        ("damping", "much", "numbers"),
    ):
        with pytest.raises(lw.StateError, match=message):
            setattr(sim.motors, name, value)
    after = [sim.motors.stiffness, sim.motors.damping, sim.motors.position, sim.motors.effort]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    with pytest.raises(lw.StateError, match="give stiffness= > 0"):
        sim.set_motor(model.joint_names[0], position=1.0)


def test_what_acts_is_recorded_exported_and_drawn(tmp_path, monkeypatch):
    pytest.importorskip("zarr", reason="the extra `record` is not installed")
    monkeypatch.chdir(tmp_path)
    model = arm()
    sim = lw.FullDynamics(model, model.neutral())
    sim.motors.stiffness, sim.motors.damping, sim.motors.position = 50.0, 5.0, 0.2
    sim.run(1e-3, 10, every=5, record="run", progress=False)
    recording = lw.Recording("run")
    joint = model.joint_names[2]
    assert np.array_equal(recording.efforts(2).motors, sim.efforts.motors)
    assert recording.joint_effort(joint, "motors")[-1] == sim.efforts.motors[2]
    assert recording.joint_effort(joint)[-1] == sim.applied_effort[2]
    assert main(["export", "run", "--csv", "--out", "run.csv"]) == DONE
    rows = list(csv.DictReader((tmp_path / "run.csv").open()))
    columns = [name for name in rows[0] if joint in name and "effort" in name]
    assert columns
    assert float(rows[-1][columns[0]]) == pytest.approx(sim.applied_effort[2])
    assert main(["plot", "run", "--effort", "*", "--joint", "*", "--out", "all.svg"]) == DONE
    drawn = (tmp_path / "all.svg").read_text(encoding="utf-8")
    assert all(name in drawn for name in model.joint_names)  # a pattern draws all that it matches


def test_adaptive_runs_that_cost_more_than_full_ones_say_so():
    """Eleven of twelve joints asked for: nothing to save, and the report names what would help. Few of many: nothing."""
    model = lw.library.chain(12).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(1), max_active_joints=11, update_every=2)
    with pytest.warns(lw.LinkworkWarning, match=r"about [\d.]+ times as long as full ones"):
        report = sim.run(1e-4, 150, progress=False)
    for word in ("tolerance", "max_active_joints", "update_every"):
        assert word in report.advice
    with warnings.catch_warnings():
        warnings.simplefilter("error", lw.LinkworkWarning)  # said once per simulation
        sim.run(1e-4, 150, progress=False)
    long = lw.library.chain(200).compile()
    few = lw.AdaptiveDynamics(long, long.state(), max_active_joints=1, update_every=50)
    assert few.run(1e-5, 150, progress=False).advice == ""
