"""Fields and thermostats in simulations: forces at every stage, energy, checkpoints, the same motion of parts and whole.

The field here is a web of springs between bodies, in plain NumPy; force fields of molecules are in test_molecule_motion.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.simulation import moving as mv
from linkwork.simulation.thermal.thermostat import Thermostat

INTEGRATORS = ("semi_implicit_euler", "rk4", "dormand_prince", "implicit_midpoint", "kick_drift_kick")


class Web:
    """E = ½ k Σ |x_a - x_b|² over pairs of bodies, x at a point of each."""

    def __init__(self, model: lw.Model, stiffness: float = 3.0):
        self.model, self.stiffness, self.evaluations = model, stiffness, 0
        rng = np.random.default_rng(7)
        n = model.n_bodies
        self.pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.5 or b == a + 1]
        self.points = 0.3 * rng.normal(size=(n, 3))

    def wrenches(self, poses, out):
        self.evaluations += 1
        out[:] = 0.0
        R, p = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        x = np.einsum("bij,bj->bi", R, self.points) + p
        energy = 0.0
        for a, b in self.pairs:
            gap = x[b] - x[a]
            energy += 0.5 * self.stiffness * gap @ gap
            for body, force in ((a, self.stiffness * gap), (b, -self.stiffness * gap)):
                f = R[body].T @ force
                out[body] += np.concatenate([np.cross(self.points[body], f), f])
        return energy

    def at(self, q):
        T = lw.body_poses(self.model, lw.State(q, np.zeros(self.model.nv)))
        out = np.zeros((self.model.n_bodies, 6))
        poses = np.concatenate([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]], axis=1)
        return self.wrenches(poses, out), out


def chain(joints: int = 7, free: bool = True, gravity: float = 2.0) -> lw.Model:
    return chain_linkage(joints, free, gravity).compile()


def chain_linkage(joints: int = 7, free: bool = True, gravity: float = 2.0) -> lw.Linkage:
    rng = np.random.default_rng(3)
    linkage = lw.Linkage("chain", gravity=(0.0, 0.0, -gravity))
    base = lw.Free() if free else lw.Revolute((0, 1, 0))
    linkage.add_body("b0", joint=base, inertia=lw.Inertia.box(2.0, (0.3, 0.4, 0.5)))
    for k in range(1, joints + 1):
        axis, placement = rng.normal(size=3), lw.Pose(0.4 * rng.normal(size=3), quaternion=rng.normal(size=4))
        linkage.add_body(
            f"b{k}",
            parent=f"b{k - 1}",
            joint=lw.Revolute(axis, armature=0.02 * (k % 2), stiffness=0.1 * (k % 3)),
            placement=placement,
            inertia=lw.Inertia(1.0 + rng.random(), 0.2 * rng.normal(size=3), np.diag([0.3, 0.4, 0.5])),
        )
    return linkage


def start_of(model: lw.Model, speed: float = 0.3) -> lw.State:
    rng = np.random.default_rng(5)
    return lw.State(
        model.integrate(model.neutral().q, 0.2 * rng.normal(size=model.nv)), speed * rng.normal(size=model.nv)
    )


def simulations(model, state, **options):
    yield lw.FullDynamics(model, state, **options)
    yield lw.AdaptiveDynamics(model, state, tolerance=0.0, **options)


def test_accelerations_are_those_of_the_wrenches():
    model = chain()
    state, field = start_of(model), Web(model)
    expected = lw.forward_dynamics(model, state, wrenches=field.at(state.q)[1])
    for algorithm in ("aba", "dca", "virtual_work"):
        sim = lw.FullDynamics(model, state, field=field, algorithm=algorithm)
        assert np.abs(sim.acceleration - expected).max() <= 1e-10 * np.abs(expected).max()  # conditions of some 1e3


def test_the_field_is_found_anew_at_every_stage():
    """One step of rk4 against the formula, written out with wrenches of each stage."""
    model = chain(free=False)
    state, field, h = start_of(model), Web(model), 0.02

    def rate(q, v):
        return v, lw.forward_dynamics(model, lw.State(q, v), wrenches=field.at(q)[1])

    q, v = state
    k1 = rate(q, v)
    k2 = rate(q + 0.5 * h * k1[0], v + 0.5 * h * k1[1])
    k3 = rate(q + 0.5 * h * k2[0], v + 0.5 * h * k2[1])
    k4 = rate(q + h * k3[0], v + h * k3[1])
    expected = [x + h / 6.0 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True)]
    for sim in simulations(model, state, field=field, integrator="rk4"):
        sim.advance(h)
        assert np.abs(sim.state.q - expected[0]).max() <= 1e-12
        assert np.abs(sim.state.v - expected[1]).max() <= 1e-11


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_whole_and_parts_move_alike_and_keep_their_energy(integrator):
    """Order p: halving h leaves 2⁻ᵖ of the drift, or less; everything active moves as the whole."""
    model = chain()
    state, field = start_of(model), Web(model)
    drifts = []
    for h in (0.01, 0.005):
        whole, parts = simulations(model, state, field=field, integrator=integrator, rtol=1e-4 * h, atol=1e-6 * h)
        before = whole.energy.total
        assert parts.energy.total == pytest.approx(before, rel=1e-12)
        for sim in (whole, parts):
            sim.advance(h, round(0.2 / h))
        # some 40 steps on a motion that does not diverge in that time, by accelerations right to 1e-13
        assert np.abs(model.difference(whole.state.q, parts.state.q)).max() <= 1e-9
        report = whole.step(h)
        assert report.field_energy == pytest.approx(field.at(whole.state.q)[0], rel=1e-12)
        assert whole.scalars()["field_energy"] == report.field_energy
        drifts.append(abs(report.energy - before))
    first_order = integrator == "semi_implicit_euler"
    assert drifts[0] <= (0.05 if first_order else 2e-3) * abs(before)
    assert drifts[1] <= (0.75 if first_order else 0.5) * drifts[0] + 1e-9 * abs(before)


def test_kick_drift_kick_asks_the_field_once_per_step():
    model = chain()
    field = Web(model)
    sim = lw.FullDynamics(model, start_of(model), field=field, integrator="kick_drift_kick")
    sim.advance(0.01, 20)
    assert field.evaluations == 21


def test_frozen_joints_under_a_field_accelerate_as_hybrid_dynamics_says():
    """Wrenches on bodies are summed on the rigid groups they stand in: joints that are held have no acceleration."""
    model, held = chain(), ("b2", "b3", "b6")
    state, field = start_of(model), Web(model)
    for joint in held:
        state.v[model.v_slice(joint)] = 0.0
    wrenches = field.at(state.q)[1]
    wrenches[3, 3:] += (0.5, 0.2, 0.1)
    expected, _ = lw.hybrid_dynamics(model, state, dict.fromkeys(held, 0.0), wrenches=wrenches)
    for integrator in ("semi_implicit_euler", "kick_drift_kick"):
        sim = lw.AdaptiveDynamics(
            model, state, tolerance=0.0, field=field, integrator=integrator, implicit_joints=False, keep_momentum=False
        )
        for joint in held:
            sim.pin_inactive(joint)
        sim.apply_wrench("b3", force=(0.5, 0.2, 0.1), frame="body")
        before = sim.state.v
        sim.advance(1e-9)
        # (v⁺ - v)/h: rounding of velocities over h, and one more term of the series
        seen = (sim.state.v - before) / 1e-9
        assert np.abs(seen - expected).max() <= 1e-5 * np.abs(expected).max()
    energy = lw.energy(model, state)
    assert sim.energy.total == pytest.approx(energy.total + field.at(state.q)[0], rel=1e-7)


def test_the_metric_sees_the_field_as_loads_on_all_bodies():
    """The same region and the same bound as by the field's wrenches, applied by hand."""
    model = chain(joints=15, free=False)
    state, field = model.neutral(), Web(model)
    options = {"max_active_joints": 5, "measure": "absolute_joint", "update_every": 3}
    one, other = lw.AdaptiveDynamics(model, state, field=field, **options), lw.AdaptiveDynamics(model, state, **options)
    load = other.apply_wrenches(np.arange(model.n_bodies), field.at(state.q)[1], frame="body")
    for sim in (one, other):
        sim.update_region(1e-3)
    assert one.active_joints == other.active_joints
    assert one.report.n_active == 5
    assert other.report.error_bound > 0.0
    assert one.report.error_bound == pytest.approx(other.report.error_bound, rel=1e-9)
    one.advance(1e-3, 30)  # with updates of their own, under loads that change
    other.clear(load)
    moved = lw.AdaptiveDynamics(model, one.state, **options)
    moved.apply_wrenches(np.arange(model.n_bodies), field.at(one.state.q)[1], frame="body")
    reports = [sim.update_region(1e-3) for sim in (one, moved)]
    assert reports[0].error_bound == pytest.approx(reports[1].error_bound, rel=1e-9)


@pytest.mark.parametrize("kind", ["full", "adaptive"])
@pytest.mark.parametrize("fixman", [False, True])
def test_a_checkpoint_resumes_in_the_same_bits(kind, fixman):
    model = chain()
    state = start_of(model)

    def make():
        options = {"field": Web(model), "thermostat": lw.Langevin(2.0, 1.0, seed=4, boltzmann=1e-2, fixman=fixman)}
        if kind == "full":
            return lw.FullDynamics(model, state, integrator="kick_drift_kick", **options)
        return lw.AdaptiveDynamics(
            model, state, max_active_joints=4, update_every=4, integrator="kick_drift_kick", **options
        )

    one = make()
    one.advance(5e-3, 10)
    saved = one.checkpoint()
    one.advance(5e-3, 15)
    other = make()
    other.advance(5e-3, 3)
    other.restore(saved)
    other.advance(5e-3, 15)
    assert (one.state.q == other.state.q).all()
    assert (one.state.v == other.state.v).all()
    assert one.time == other.time
    assert one.energy.total == pytest.approx(other.energy.total, rel=1e-12)


def thermal_columns(sim, n, nv):
    """Velocities that come of each unit of white noise, shape (6 n + nv, nv)."""
    thermostat, W = sim.view.forces.thermostat, np.zeros((6 * n + nv, nv))

    class Unit:
        k = 0

        def standard_normal(self, out):
            out[:] = 0.0
            out[self.k] = 1.0

    thermostat.rng = Unit()
    for k in range(6 * n + nv):
        thermostat.rng.k = k
        sim.view.moving.v[:nv] = 0.0
        assert thermostat.relax(sim.view.table, n, nv, 1e9) == mv.OK  # after a long time nothing of v is left
        W[k] = sim.view.moving.v[:nv]
    return W


def test_noise_has_the_covariance_of_a_temperature():
    """White noise in, one unit at a time: the velocities W that come out have W Wᵀ = kT M⁻¹."""
    model = chain()
    state, kT = start_of(model), 0.7
    for sim in simulations(model, state, thermostat=lw.Langevin(kT, boltzmann=1.0)):
        n, nv = model.n_bodies, model.nv
        if isinstance(sim, lw.AdaptiveDynamics):
            sim.update_region(0.1)
        W = thermal_columns(sim, n, nv)
        expected = kT * np.linalg.inv(lw.mass_matrix(model, state))
        assert np.abs(W.T @ W - expected).max() <= 1e-11 * np.abs(expected).max()  # conditions of some 1e3


def test_a_thermostat_holds_its_temperature():
    """Mean kinetic energy ½ nv kT within six standard errors, in both simulations."""
    model = chain(joints=4, gravity=0.0)
    temperature, friction, h, steps = 3.0, 20.0, 0.02, 1500
    for sim in simulations(model, start_of(model), integrator="kick_drift_kick",
                           thermostat=lw.Langevin(temperature, friction, seed=2, boltzmann=0.01)):  # fmt: skip
        seen = []
        for _ in range(steps):
            sim.advance(h)
            seen.append(sim.scalars()["temperature"])
        kept = np.exp(-2.0 * friction * h)  # correlation of kinetic energies from step to step
        error = temperature * np.sqrt(2.0 / model.nv / steps * (1.0 + kept) / (1.0 - kept))
        assert abs(np.mean(seen[100:]) - temperature) < 6.0 * error


def test_settings_name_fields_and_thermostats():
    model = chain()
    for sim in simulations(model, start_of(model), field=Web(model), thermostat=lw.Langevin(300.0)):
        assert sim.settings()["field_kind"] == "Web"
        assert "temperature=300.0" in sim.settings()["thermostat_kind"]
        options = {} if isinstance(sim, lw.FullDynamics) else {"tolerance": 0.0}
        other = type(sim)(model, start_of(model), field=Web(model), thermostat=lw.Langevin(200.0), **options)
        with pytest.raises(lw.StateError, match="another thermostat_kind"):
            other.restore(sim.checkpoint())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field": 3}, "no method wrenches"),
        ({"field": "other"}, "the field was made for model 'chain' with 5 bodies"),
        ({"thermostat": 300.0}, "give linkwork.Langevin"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    model = chain()
    if options.get("field") == "other":
        options = {"field": Web(chain(joints=4))}
    for kind in (lw.FullDynamics, lw.AdaptiveDynamics):
        with pytest.raises(lw.StateError, match=message):
            kind(model, start_of(model), **options)


def test_fixman_refuses_loops():
    model = lw.library.four_bar().compile()
    with pytest.raises(lw.StateError, match="leave fixman out"):
        Thermostat(lw.Langevin(300.0, fixman=True), model)


def test_a_field_that_fails_takes_the_step_back():
    model = chain()
    for sim in simulations(model, start_of(model), field=Web(model), integrator="rk4"):
        sim.advance(0.01, 3)
        before, honest = sim.state, sim.field.wrenches

        def broken(poses, out):
            raise lw.StateError("the field has no value here.")

        sim.field.wrenches = broken
        with pytest.raises(lw.StateError, match="the field has no value here"):
            sim.advance(0.01)
        assert (sim.state.q == before.q).all()
        assert sim.steps_done == 3
        sim.field.wrenches = honest
        sim.advance(0.01)
        assert sim.steps_done == 4


@pytest.mark.parametrize("kind", ["full", "all active"])
def test_a_field_of_no_forces_changes_nothing(kind):
    """Nor do the limits of motors, which hold where a step ends, whoever finds the forces."""

    class Nothing:
        def wrenches(self, poses, out):
            out[:] = 0.0
            return 0.0

    joint = lw.Revolute((0, 1, 0), effort_limit=0.02, velocity_limit=1.0)
    model = lw.library.chain(4, joint=joint).compile()
    ends = []
    for field in (None, Nothing()):
        options = {"integrator": "semi_implicit_euler", "field": field}
        if kind == "full":
            sim = lw.FullDynamics(model, model.state([0.3, 0.2, 0.1, 0.0]), **options)
        else:
            sim = lw.AdaptiveDynamics(model, model.state([0.3, 0.2, 0.1, 0.0]), tolerance=0.0, **options)
        sim.set_motor("link_1", position=1.0, stiffness=1.0, damping=0.01)
        sim.step(1e-3, 20)
        assert abs(sim.efforts.motors[1]) <= 0.02 * (1.0 + rounding(steps=20))
        ends.append(np.concatenate(sim.state))
    assert np.abs(ends[0] - ends[1]).max() <= rounding(condition=1e4, scale=10.0, steps=20)
