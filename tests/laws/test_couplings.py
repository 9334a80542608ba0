"""Couplings Σ c q = offset between joints: exact in forward dynamics, in steps of both simulations and in contact."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

HINGES = 6


def tree(seed: int, floating: bool, kinds: int = 5) -> lw.Linkage:
    """A random tree of hinges, sliders, screws, balls and universal joints with two couplings, one of three joints."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("coupled")
    names = ["world"]
    if floating:
        linkage.add_body("base", joint=lw.Free(), inertia=lw.Inertia.box(2.0, (0.3, 0.2, 0.1)))
        names = ["base"]
    coupled: list[str] = []
    while len(coupled) < HINGES:
        name, axis = f"body_{len(linkage)}", rng.normal(size=3)
        kind = int(rng.integers(kinds))
        joint = (
            lw.Revolute(axis, damping=0.05, armature=0.02), lw.Prismatic(axis, stiffness=3.0),
            lw.Screw(axis, pitch=0.1), lw.Spherical(), lw.Universal((1, 0, 0), (0, 1, 0)),
        )[kind]  # fmt: skip
        place = lw.Pose(0.3 * rng.normal(size=3), rpy=rng.normal(size=3))
        inertia = lw.Inertia.box(1.0 + rng.random(), (0.2, 0.15, 0.3)).at(lw.Pose(0.1 * rng.normal(size=3)))
        linkage.add_body(name, str(rng.choice(names)), joint, place, inertia)
        names.append(name)
        if kind < 3:
            coupled.append(name)
    linkage.add_coupling("gear", {coupled[0]: 20.0, coupled[-1]: -30.0}, 2.0)
    linkage.add_coupling("differential", {coupled[1]: 1.0, coupled[2]: 0.5, coupled[3]: -0.7})
    return linkage


def rows(model: lw.Model) -> np.ndarray:
    E = np.zeros((len(model.couplings), model.nv))
    for k, coupling in enumerate(model.couplings):
        for joint, coefficient in coupling.joints:
            E[k, model.v_slice(joint)] = coefficient
    return E


def expected(model: lw.Model, state: lw.State, effort: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and forces by the dense saddle system."""
    E, M = rows(model), lw.mass_matrix(model.without_loops, state)
    free = lw.forward_dynamics(model.without_loops, state, effort)
    Y = np.linalg.solve(M, E.T)
    force = -np.linalg.solve(E @ Y, E @ free)
    return free + Y @ force, force


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("seed", range(10))
def test_accelerations_are_those_of_the_dense_system(seed, floating):
    model = tree(seed, floating).compile()
    rng = np.random.default_rng(seed)
    state = lw.close_loops(model, model.random_state(rng))
    E = rows(model)
    # The last rounding of q times the largest coefficient, and of v.
    assert np.abs(E @ state.v).max() < 1e-8
    effort = rng.normal(size=model.nv)
    acceleration, force = expected(model, state, effort)
    solution = lw.constrained_dynamics(model, state, effort)
    scale = np.abs(acceleration).max()
    # ε times the condition of M and of E M⁻¹Eᵀ, some 1e3; 3e-14 was seen.
    assert np.abs(solution.acceleration - acceleration).max() < 1e-11 * scale
    assert np.abs(solution.coupling_forces - force).max() < 1e-10 * max(np.abs(force).max(), 1e-3)
    for algorithm in ("aba", "dca", "dense", "virtual_work"):
        assert (
            np.abs(lw.forward_dynamics(model, state, effort, algorithm=algorithm) - acceleration).max() < 1e-11 * scale
        )
    two = lw.State(np.array([state.q, state.q]), np.array([state.v, state.v]))
    assert np.abs(lw.forward_dynamics(model, two, effort) - acceleration).max() < 1e-11 * scale
    # What joints carry has the couplings' efforts in it, as it has those of motors.
    total = lw.joint_reactions(model, state, effort)
    without = lw.joint_reactions(model.without_loops, state, effort + E.T @ force)
    assert np.abs(total - without).max() < 1e-10 * np.abs(without).max()
    assert np.abs(solution.effort - effort - E.T @ force).max() < 1e-10 * np.abs(E.T @ force).max()
    sim = lw.FullDynamics(model, state, integrator="rk4")
    sim.set_efforts(effort)
    sim.step(1e-12)  # so short that its accelerations are those of the state before it
    assert np.abs(sim.acceleration - acceleration).max() < 1e-9 * scale


@pytest.mark.parametrize("seed", range(4))
def test_couplings_beside_loops(seed):
    """A loop and a coupling at once: both are kept, and the open tree moves so with their efforts and wrenches."""
    linkage = tree(seed, floating=False)
    linkage.couplings.clear()
    alone, last = linkage.compile(), list(linkage)[-1].name
    at = alone.random_state(seed)
    tip = lw.Pose(matrix=lw.body_poses(alone, at)[alone.body(last)])
    linkage.add_loop(lw.Spherical(), last, "world", (lw.Pose(), tip), name="tip")
    one, other = [body.joint_name for body in linkage if body.joint.nv == 1][:2]
    offset = 2.0 * at.q[alone.q_slice(one)][0] - at.q[alone.q_slice(other)][0]
    linkage.add_coupling("held", {one: 2.0, other: -1.0}, offset)
    model = linkage.compile()
    state = lw.State(at.q, np.zeros(model.nv))
    solution = lw.constrained_dynamics(model, state)
    found = lw.forward_dynamics(model, state)
    scale = np.abs(found).max()
    assert np.abs(rows(model) @ found).max(initial=0.0) < 1e-10 * scale
    assert np.array_equal(found, solution.acceleration)
    alone = lw.forward_dynamics(model.without_loops, state, solution.effort, solution.wrenches)
    assert np.abs(alone - found).max() < 1e-10 * scale


@pytest.mark.parametrize("seed", [1, 2])
def test_both_simulations_keep_couplings_and_agree_where_all_joints_are_active(seed):
    model = tree(seed, seed % 2 == 0, kinds=3).compile()
    state = lw.close_loops(model, model.random_state(np.random.default_rng(seed)))
    full, adaptive = lw.FullDynamics(model, state), lw.AdaptiveDynamics(model, state)
    few = lw.AdaptiveDynamics(model, state, max_active_joints=4)
    for sim in (full, adaptive, few):
        sim.step(2e-3, 100)
        gaps = lw.loop_gaps(model, sim.state)
        assert gaps.worst_gap < 1e-9
        assert gaps.worst_slip < 1e-9
    assert np.abs(full.state.q - adaptive.state.q).max() < 1e-9
    assert np.abs(few.state.q - state.q).max() > 1e-3


def test_coupled_pendulums_swing_as_one_and_keep_their_energy():
    """q_b = -2 q_a: one degree of freedom with the inertia I_a + 4 I_b, and energy that the coupling keeps."""
    linkage = lw.Linkage("pendulums")
    for name in "ab":
        ball = lw.Inertia.sphere(1.0, 0.05).at(lw.Pose((0, 0, -0.5)))
        linkage.add_body(name, joint=lw.Revolute((0, 1, 0)), inertia=ball)
    linkage.add_coupling("gear", {"b": 1.0, "a": 2.0})
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.state([0.4, -0.8]), integrator="rk4")
    before = sim.energy.total
    I = float(lw.mass_matrix(model.without_loops, sim.state)[0, 0])
    q = sim.state.q
    # I q̈_a (1 + 4) = -m g l (sin q_a - 2 sin q_b) by virtual work along (1, -2)
    pull = -9.81 * 0.5 * (np.sin(q[0]) - 2.0 * np.sin(q[1]))
    assert lw.constrained_dynamics(model, sim.state).acceleration[0] == pytest.approx(pull / (5.0 * I), rel=1e-12)
    sim.step(1e-3, 1000)
    assert sim.energy.total == pytest.approx(before, abs=1e-7)  # rk4 at 1 ms: 1e-11 per step
    assert sim.state.q[1] == pytest.approx(-2.0 * sim.state.q[0], abs=1e-9)


@pytest.mark.parametrize("kind", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_gripper_with_one_drive_centres_what_it_grasps(kind):
    """One finger is driven, the other mimics it: a cube off the centre ends in the middle."""
    linkage = lw.Linkage("gripper", gravity=(0.0, 0.0, 0.0))
    for side, name in ((1, "left"), (-1, "right")):
        box = lw.Box((0.02, 0.06, 0.1))
        finger = lw.Inertia.box(0.2, (0.02, 0.06, 0.1))
        linkage.add_body(name, joint=lw.Prismatic((side, 0, 0)), placement=lw.Pose((side * 0.06, 0, 0)), inertia=finger,
                         shapes=[box])  # fmt: skip
    linkage.add_body("cube", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(0.1, (0.05, 0.05, 0.05)),
                     shapes=[lw.Box((0.05, 0.05, 0.05))])  # fmt: skip
    linkage.add_coupling("mimic", {"left": 1.0, "right": -1.0})
    model = linkage.compile()
    sim = kind(model, model.state([0.0, 0.0, 0.012]), contact=lw.Contact(friction=0.5))
    sim.set_effort("left", -8.0)
    sim.step(1e-3, 150)
    left, right, cube = (float(sim.state.q[model.q_slice(name)][0]) for name in ("left", "right", "cube"))
    assert left == pytest.approx(right, abs=1e-9)
    assert abs(cube) < 2e-4  # contact leaves a tenth of its margin, 5e-5 m
    assert left == pytest.approx(-0.025, abs=2e-4)
    forces = sim.contact_wrenches()[:, 3:]
    assert np.abs(forces[:, 0]).sum() == pytest.approx(8.0, rel=1e-3)  # 4 N on each side


def test_faults_of_couplings_are_reported_by_name():
    linkage = tree(0, False)
    with pytest.raises(lw.ModelError, match="twice"):
        linkage.add_coupling("bad", [("body_0", 1.0), ("body_0", 2.0)])
    with pytest.raises(lw.ModelError, match="finite number, not zero"):
        linkage.add_coupling("bad", {"body_0": float("nan")})
    with pytest.raises(lw.ModelError, match="coefficients by name"):
        linkage.add_coupling("bad", 3)  # type: ignore[arg-type]
    linkage.add_coupling("gear", {"nowhere": 1.0})
    with pytest.raises(lw.ModelError) as caught:
        linkage.compile()
    assert "used twice" in str(caught.value)
    assert "'nowhere' is unknown" in str(caught.value)
    model = tree(0, False).compile()
    with pytest.raises(lw.StateError, match="2 couplings"):
        lw.vjp(lw.forward_dynamics, model, model.neutral())
    with pytest.raises(lw.StateError, match="close_loops"):
        lw.FullDynamics(model, model.neutral())


def test_files_keep_couplings(tmp_path):
    """URDF's mimic, MuJoCo's equalities of joints and of a fixed tendon, and an actuator on a tendon; and back."""
    linkage = lw.Linkage("hand")
    for k, name in enumerate(("a", "b", "c")):
        linkage.add_body(name, joint=lw.Revolute((0, 1, 0), limits=(-1.0, 1.0)), placement=lw.Pose((0.1 * k, 0, 0)),
                         inertia=lw.Inertia.box(0.5, (0.05, 0.05, 0.2)))  # fmt: skip
    linkage.add_coupling("b", {"b": 1.0, "a": -0.5}, 0.1)
    assert linkage.to_urdf(tmp_path / "hand.urdf") == []
    again = lw.load(tmp_path / "hand.urdf")
    assert dict(again.couplings[0].joints) == pytest.approx({"b": 1.0, "a": -0.5})
    assert again.couplings[0].offset == pytest.approx(0.1)
    assert not any("mimic" in warning for warning in again.warnings)
    linkage.add_coupling("sum", {"a": 1.0, "b": 2.0, "c": -3.0}, 0.3)
    assert any("sum" in lost for lost in linkage.to_urdf(tmp_path / "lost.urdf"))
    pytest.importorskip("mujoco")
    linkage.to_mjcf(tmp_path / "hand.xml")
    again = lw.load(tmp_path / "hand.xml")
    assert [x.name for x in again.couplings] == ["b", "sum"]
    assert dict(again.couplings[1].joints) == pytest.approx({"a": 1.0, "b": 2.0, "c": -3.0})
    assert again.couplings[1].offset == pytest.approx(0.3)
    (tmp_path / "tendon.xml").write_text("""<mujoco><worldbody>
      <body name="x"><joint name="x" type="slide"/><geom size="0.1"/></body>
      <body name="y"><joint name="y" type="slide"/><geom size="0.1"/></body></worldbody>
      <tendon><fixed name="split"><joint joint="x" coef="0.5"/><joint joint="y" coef="0.5"/></fixed></tendon>
      <equality><joint joint1="x" joint2="y" polycoef="0 1 0 0 0"/>
      <joint joint1="x" joint2="y" polycoef="0 1 1 0 0"/></equality>
      <actuator><motor name="close" tendon="split" gear="3"/></actuator></mujoco>""")
    again = lw.load(tmp_path / "tendon.xml")
    assert len(again.couplings) == 1
    assert any("not linear" in warning for warning in again.warnings)
    # L = (x + y) / 2 = x where both are the same: the motor drives x with its own gear
    assert (again.actuators[0].joint, again.actuators[0].gear) == ("x", 3.0)


def test_recordings_copies_and_edits_keep_couplings(tmp_path):
    linkage = tree(3, False, kinds=3)
    first = linkage.couplings[0].joints[0][0]
    linkage.rename_body(first, "renamed")
    assert linkage.couplings[0].joints[0][0] == "renamed"
    double = lw.Linkage("double")
    double.merge(linkage, "left_")
    double.merge(linkage, "right_")
    assert len(double.compile().couplings) == 4
    model = linkage.compile()
    sim = lw.FullDynamics(model, lw.close_loops(model, model.neutral()))
    sim.run(1e-3, 5, record=tmp_path / "run.zarr")
    assert lw.Recording(tmp_path / "run.zarr").model.couplings == model.couplings
    linkage.remove_body("renamed")
    assert "gear" not in [x.name for x in linkage.couplings]
