"""How molecules move: masses shared among bodies, temperature, Fixman's potential, energy kept by integrators."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins

import linkwork as lw
from linkwork.model import layout

EPS = np.finfo(float).eps


def linkage_in_space(seed: int = 3, joints: int = 12) -> lw.Model:
    """A free base with a random tree of hinges on it, armature in some of them."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("tree", gravity=(0.0, 0.0, -3.0))
    linkage.add_body("b0", joint=lw.Free(), inertia=lw.Inertia.box(2.0, (0.3, 0.4, 0.5)))
    for k in range(1, joints + 1):
        linkage.add_body(
            f"b{k}",
            parent=f"b{rng.integers(k)}",
            joint=lw.Revolute(rng.normal(size=3), armature=0.05 * (k % 3)),
            placement=lw.Pose(rng.normal(size=3), quaternion=rng.normal(size=4)),
            inertia=lw.Inertia(1.0 + rng.random(), rng.normal(size=3), np.diag([0.3, 0.4, 0.5])),
        )
    return linkage.compile()


# ------------------------------------------------------------------------------------------------------------ masses, names


@pytest.fixture(params=proteins.MOLECULES.values(), ids=proteins.MOLECULES.keys())
def molecule(request):
    proteins.need_packages()
    return request.param()


def test_bodies_have_the_kinetic_energy_of_the_atoms(molecule, rng):
    state = lw.State(proteins.displaced(molecule, 0.3, 1).q, rng.normal(size=molecule.model.nv))
    of_atoms = 0.5 * (molecule.atoms.masses * (molecule.velocities(state) ** 2).sum(axis=1)).sum()
    assert lw.energy(molecule.model, state).kinetic == pytest.approx(of_atoms, rel=1e-12)


def test_no_body_is_singular(molecule):
    """Every body resists every turn, so that algorithms which invert its inertia can be used."""
    ten = molecule.model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]
    for m, hx, hy, hz, xx, xy, xz, yy, yz, zz in ten:
        c = np.array([hx, hy, hz]) / m
        about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
        values = np.linalg.eigvalsh(about_com)
        assert values[0] > 1e-3 * values[2]
    state = lw.State(molecule.state.q, np.ones(molecule.model.nv))
    a, b = (lw.forward_dynamics(molecule.model, state, algorithm=name) for name in ("aba", "dca"))
    assert np.abs(a - b).max() <= 1e-7 * np.abs(a).max()  # long chains of light bodies: conditions of some 1e6


def test_atoms_are_where_they_were(molecule):
    assert (
        np.abs(molecule.positions(molecule.state) - molecule.reference).max()
        <= 100.0 * EPS * np.abs(molecule.reference).max()
    )


def test_torsions_turn_to_the_angle_asked_for(molecule, rng):
    state = molecule.state
    angles = rng.uniform(-np.pi, np.pi, len(molecule.torsions))
    for torsion, angle in zip(molecule.torsions, angles, strict=True):
        state = molecule.with_angle(state, torsion, angle)
    seen = np.array([molecule.angle(torsion, state) for torsion in molecule.torsions])
    assert np.abs(np.angle(np.exp(1j * (seen - angles)))).max() <= 1e-9  # along chains of some fifty bodies


# -------------------------------------------------------------------------------------------------------------- temperature


def test_random_velocities_have_the_covariance_of_a_temperature(rng):
    """kT M⁻¹, so kT in every mode of M: each of nv² numbers within five standard errors (one in 10⁶ falls outside)."""
    model = linkage_in_space()
    q = model.random_state(rng).q
    draws, samples = lw.molecules.RandomVelocities(model, lw.molecules.BOLTZMANN), 4000
    v = np.array([draws.draw(q, 300.0, rng) for _ in range(samples)])
    L = np.linalg.cholesky(lw.mass_matrix(model, lw.State(q, v[0])))
    modes = v @ L / np.sqrt(lw.molecules.BOLTZMANN * 300.0)
    covariance = modes.T @ modes / samples
    error = np.sqrt((1.0 + np.eye(model.nv)) / samples)
    assert (np.abs(covariance - np.eye(model.nv)) / error).max() < 5.0


def test_langevin_holds_its_temperature(rng):
    """Friction and noise alone: the mean kinetic energy is nv kT / 2, the same seed gives the same path."""
    model = linkage_in_space(joints=6)
    state = lw.State(model.random_state(rng).q, np.zeros(model.nv))
    warm, again = (lw.Langevin(300.0, friction=5.0, seed=3).start(model) for _ in range(2))
    temperatures = []
    for _ in range(2000):
        state = warm.relax_velocity(state, 0.5)
        temperatures.append(lw.molecules.temperature(model, state))
    error = 300.0 * np.sqrt(2.0 / model.nv / 2000)  # exp(-2.5) of the velocity is kept from step to step
    assert abs(np.mean(temperatures) - 300.0) < 6.0 * error
    cold = lw.State(state.q, np.zeros(model.nv))
    assert (
        again.relax_velocity(cold, 0.5).v == lw.Langevin(300.0, 5.0, seed=3).start(model).relax_velocity(cold, 0.5).v
    ).all()


def test_a_thermostat_goes_on_from_its_checkpoint(rng):
    model = linkage_in_space(joints=4)
    state = lw.State(model.random_state(rng).q, np.zeros(model.nv))
    warm = lw.Langevin(300.0, seed=1).start(model)
    warm.relax_velocity(state, 0.1)
    kept = warm.checkpoint()
    expected = warm.relax_velocity(state, 0.1).v
    other = lw.Langevin(300.0, seed=9).start(model)
    other.restore(kept)
    assert (other.relax_velocity(state, 0.1).v == expected).all()
    assert other.efforts(state) is None


@pytest.mark.parametrize("options", [{"temperature": -1.0}, {"temperature": 300.0, "friction": 0.0}])
def test_thermostats_are_checked(options):
    with pytest.raises(lw.StateError, match="it must be a finite number"):
        lw.Langevin(**options)


def test_fixmans_potential_refuses_joints_it_does_not_know():
    linkage = lw.Linkage("balls")
    linkage.add_body("a", joint=lw.Free(), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    linkage.add_body("b", parent="a", joint=lw.Spherical(), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    with pytest.raises(lw.ModelError, match="joint 'b' has several freedoms"):
        lw.molecules.FixmanPotential(linkage.compile(), 300.0)


@pytest.mark.parametrize("seed", [1, 2])
def test_fixmans_potential_is_the_determinant_and_its_slope(seed):
    model = linkage_in_space(seed)
    state = model.random_state(seed)
    fixman = lw.molecules.FixmanPotential(model, 300.0)
    value, slopes = fixman.log_det(state)
    expected = np.linalg.slogdet(lw.mass_matrix(model, state))[1]
    assert value == pytest.approx(expected, abs=1e-10 * model.nv)
    h = 1e-4
    for k in range(model.nv):
        unit = np.eye(model.nv)[k]
        at = [
            np.linalg.slogdet(lw.mass_matrix(model, lw.State(model.integrate(state.q, unit, s * h), state.v)))[1]
            for s in (-2, -1, 1, 2)
        ]
        assert slopes[k] == pytest.approx((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h), abs=1e-8)
    assert (fixman.efforts(state) == -0.5 * fixman.kT * slopes).all()


# -------------------------------------------------------------------------------------------------------------- simulations


@pytest.mark.parametrize(("integrator", "h", "drift"), [("rk4", 5e-3, 0.002), ("kick_drift_kick", 2e-3, 0.05)])
def test_the_helix_keeps_its_energy(integrator, h, drift):
    """A picosecond at 300 K without thermostat; ten of them are in `linkwork bench molecules`. [kJ/mol/ps]"""
    proteins.need_packages()
    molecule = proteins.helix()
    q = molecule.state.q
    v = lw.molecules.RandomVelocities(molecule.model).draw(q, 300.0, np.random.default_rng(1))
    sim = lw.FullDynamics(molecule.model, lw.State(q, v), field=molecule.field(), integrator=integrator)
    steps = round(1.0 / h)
    energies = [sim.energy.total]
    for _ in range(steps):
        sim.advance(h)
        energies.append(sim.energy.total)
    slope = np.polyfit(h * np.arange(steps + 1), energies, 1)[0]
    # Over one picosecond energy also swings: grant five times the drift of ten
    assert abs(slope) <= 5.0 * drift
    assert sim.field.evaluations <= (4 * steps + 1 if integrator == "rk4" else steps + 1)


def test_langevin_gives_the_same_temperature_with_another_seed():
    """The helix for 3 ps at 5 fs: each mean lies within five of its standard errors of 300 K."""
    proteins.need_packages()
    molecule, friction, h, steps = proteins.helix(), 30.0, 5e-3, 600
    error = 300.0 * np.sqrt(2.0 / (molecule.model.nv * friction * h * steps))  # of a mean that forgets in 1 / 2γ
    means, ends = [], []
    for seed in (1, 2):
        sim = lw.FullDynamics(
            molecule.model, warm(molecule, seed), field=molecule.field(), integrator="kick_drift_kick",
            thermostat=lw.Langevin(300.0, friction, seed),
        )  # fmt: skip
        seen = []
        for _ in range(steps):
            sim.advance(h)
            seen.append(sim.scalars()["temperature"])
        means.append(np.mean(seen))
        ends.append(sim.state.q)
    assert np.abs(np.array(means) - 300.0).max() <= 5.0 * error
    assert abs(means[0] - means[1]) <= 5.0 * np.sqrt(2.0) * error
    assert (ends[0] != ends[1]).any()  # the seeds are others


def warm(molecule, seed=1):
    q = molecule.state.q
    return lw.State(q, lw.molecules.RandomVelocities(molecule.model).draw(q, 300.0, np.random.default_rng(seed)))


@pytest.mark.parametrize("engine", ["numba", "openmm"])
def test_all_torsions_active_move_as_the_whole(engine):
    proteins.need_packages()
    molecule = proteins.helix()
    options = {"platform": "Reference"} if engine == "openmm" else {}
    field, ends = molecule.field(engine=engine, **options), []
    for kind, more in ((lw.FullDynamics, {}), (lw.AdaptiveDynamics, {"tolerance": 0.0})):
        sim = kind(molecule.model, warm(molecule), field=field, integrator="rk4", **more)
        sim.apply_spring("A:20:CA", target=(3.0, 1.0, 0.0), stiffness=100.0)
        sim.advance(2e-3, 10)
        ends.append((molecule.positions(sim.state), sim.energy.total))
    # ten steps of accelerations right to 1e-16 times conditions of some 1e6
    assert np.abs(ends[0][0] - ends[1][0]).max() <= 1e-8
    assert ends[0][1] == pytest.approx(ends[1][1], abs=1e-6)


def test_frozen_torsions_move_like_a_molecule_without_them():
    """Twenty torsions pinned inactive, pairs inside rigid groups left out: as the molecule of the other twenty."""
    proteins.need_packages()
    molecule = proteins.helix()
    kept = molecule.torsions[20:]
    fewer = molecule.with_torsions(kept)
    names = {torsion.name for torsion in kept}
    adaptive = lw.AdaptiveDynamics(
        molecule.model, molecule.state, tolerance=0.0, field=molecule.field(), integrator="rk4"
    )
    for torsion in molecule.torsions:
        if torsion.name not in names:
            adaptive.pin_inactive(molecule.model.joint_names[torsion.joint])
    full = lw.FullDynamics(fewer.model, fewer.state, field=fewer.field(), integrator="rk4")
    begin = adaptive.energy.total
    assert begin == pytest.approx(full.energy.total, rel=1e-9)
    for sim in (adaptive, full):
        sim.apply_spring("A:20:CA", target=(3.0, 1.0, 0.0), stiffness=100.0)
        sim.advance(2e-3, 20)
    one, other = molecule.positions(adaptive.state), fewer.positions(full.state)
    assert np.abs(one - other).max() <= 1e-8
    assert np.abs(one - molecule.reference).max() > 1e-3  # something moved
    assert adaptive.field.pairs < 0.8 * molecule_pairs(molecule)
    assert adaptive.energy.total == pytest.approx(full.energy.total, abs=1e-6)


def molecule_pairs(molecule):
    field = molecule.field()
    field.at(molecule.state)
    return field.pairs


def test_energy_goes_on_when_the_region_changes():
    """What freezes counts as constant: the energy of the field does not jump at an update."""
    proteins.need_packages()
    molecule = proteins.helix()
    sim = lw.AdaptiveDynamics(
        molecule.model, molecule.state, max_active_joints=12, update_every=1000, horizon=0.02, field=molecule.field(),
        integrator="kick_drift_kick",
    )  # fmt: skip
    for _ in range(4):
        sim.advance(1e-3, 20)
        before = sim.field_energy
        sim.update_region()
        assert sim.field_energy == pytest.approx(before, abs=1e-9 * abs(before) + 1e-9)
        assert sim.field_energy == pytest.approx(molecule.field().energy(sim.state), abs=1e-7)
        assert 0 < sim.report.n_active <= 12


@pytest.mark.parametrize("kind", ["full", "adaptive"])
def test_a_run_of_a_molecule_resumes_in_the_same_bits(kind):
    """Lists of neighbours made at other times leave no trace in the forces."""
    proteins.need_packages()
    molecule = proteins.helix()

    def make():
        options = {"field": molecule.field(cutoff=0.9), "thermostat": lw.Langevin(300, 5.0, seed=3)}
        options["integrator"] = "kick_drift_kick"
        if kind == "full":
            return lw.FullDynamics(molecule.model, warm(molecule), **options)
        return lw.AdaptiveDynamics(molecule.model, warm(molecule), max_active_joints=10, **options)

    one, other = make(), make()
    one.advance(4e-3, 35)
    saved = one.checkpoint()
    one.advance(4e-3, 35)
    other.restore(saved)
    other.advance(4e-3, 35)
    assert (one.state.q == other.state.q).all()
    assert (one.state.v == other.state.v).all()
    assert one.scalars()["temperature"] == other.scalars()["temperature"]


@pytest.mark.parametrize("h", [2e-3, 5e-3])
def test_a_molecule_keeps_energy_and_momentum_with_default_settings(h):
    """No thermostat: the default integrator is symplectic, and forces between atoms add no momentum.

    Over 2 ps of a peptide at 300 K, at 2 and 5 fs. Slope of the energy [kJ/mol/ps]: some 1e-3 and 1e-2 are seen.
    Momentum of the whole, over that of thermal motion: rounding of the equations of a step, 1e-10 each.
    """
    proteins.need_packages()
    molecule = lw.molecules.peptide("GASKDE", helix=True, relax=True)
    q = molecule.state.q
    start = lw.State(q, lw.molecules.RandomVelocities(molecule.model).draw(q, 300.0, np.random.default_rng(1)))
    sim = lw.FullDynamics(molecule.model, start, field=molecule.field())
    assert sim.integrator == "variational"
    before = lw.momentum(molecule.model, sim.state)
    energies = []
    for _ in range(40):
        sim.advance(h, round(0.05 / h))
        energies.append(sim.energy.total)
    after = lw.momentum(molecule.model, sim.state)
    slope = np.polyfit(0.05 * np.arange(40), energies, 1)[0]
    assert abs(slope) < (0.05 if h == 2e-3 else 0.5)
    thermal = np.sqrt(2.5 * 300.0 * 0.0083 * molecule.atoms.masses.sum())  # [Da nm/ps] of the whole
    assert np.abs(after.linear - before.linear).max() < 1e-6 * thermal


@pytest.mark.parametrize("tolerance", [1000.0, 200.0])  # [kJ/mol/rad]
def test_weighted_by_inertias_the_error_bound_is_an_effort(tolerance):
    """No held torsion has a larger inertia times acceleration, in the molecule whose torsions all turn."""
    molecule = proteins.helix()
    model, field = molecule.model, molecule.field()
    state = proteins.displaced(molecule, 0.02, seed=1)
    inertia = np.diag(lw.mass_matrix(model, state))
    sim = lw.AdaptiveDynamics(
        model, state, field=field, measure="absolute_joint", weights=inertia**2, tolerance=tolerance
    )
    report = sim.step(1e-4, 1)
    held = np.ones(model.nv, dtype=bool)
    for body in sim.active_bodies.tolist():
        held[model.v_slice(body)] = False
    hidden = (inertia * np.abs(lw.forward_dynamics(model, state, wrenches=field.at(state)[1])))[held].max()
    assert 0.5 * hidden <= report.error_bound <= tolerance
    assert hidden <= report.error_bound * (1.0 + 1e-9)
