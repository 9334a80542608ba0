"""What a hand feels on an atom: joint reactions and the field at the present state, however few torsions move."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import proteins
from tests.helpers.hands import felt_by_reactions

import linkwork as lw

proteins.need_packages()

# ε times the condition of M along a chain of forty light bodies (some 1e6) and the forty sums of a reaction; 1e-13 is seen
SAME = 1e-9


def warm(molecule):
    q = molecule.state.q
    return lw.State(q, lw.molecules.RandomVelocities(molecule.model).draw(q, 300.0, np.random.default_rng(4)))


KINDS = {
    "full": lambda mol, field: lw.FullDynamics(mol.model, warm(mol), field=field, integrator="kick_drift_kick"),
    "all active": lambda mol, field: lw.AdaptiveDynamics(
        mol.model, warm(mol), tolerance=0.0, field=field, integrator="kick_drift_kick"
    ),
    "8 active": lambda mol, field: lw.AdaptiveDynamics(
        mol.model, warm(mol), max_active_joints=8, update_every=4, field=field, integrator="rk4"
    ),
}
COUPLING = {"stiffness": 2000.0, "damping": 0.0, "force_limit": 1e6, "torque_limit": 1e6}  # [kJ/mol/nm²], ...
COUPLING |= {"passive": False, "watchdog": 60.0}  # what is felt is what the law says


@pytest.mark.parametrize("engine", ["numba", "openmm"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hand_feels_the_field_as_it_is_now(kind, engine):
    molecule = proteins.helix()
    options = {"engine": engine, **({"platform": "Reference"} if engine == "openmm" else {"cutoff": 0.9})}
    sim, device = KINDS[kind](molecule, molecule.field(**options)), lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, "A:12:CB", device, **COUPLING)
    session = grasp.session
    for k in range(7):  # updates of the region after four steps; in between most torsions are frozen
        device.move((0.02 * k, 0.05, -0.01 * k))
        session.tick()
        _, wrenches = molecule.field(**options).at(sim.state)
        expected = felt_by_reactions(sim, [grasp], wrenches)
        scale = np.abs(wrenches).max()
        assert np.abs(grasp.wrench).max() > 10.0
        assert np.abs(grasp.felt - expected).max() <= SAME * max(scale, np.abs(expected).max())
        session.step(2e-3)
    assert np.abs(molecule.positions(sim.state) - molecule.reference).max() > 1e-3  # something moved


def test_looking_at_the_present_forces_changes_no_bit():
    """Coefficients asked for between two updates, and a grasp without force: the path is that of nobody asking."""
    molecule = proteins.helix()
    ends = []
    for looks in (False, True):
        sim = lw.AdaptiveDynamics(
            molecule.model, molecule.state, max_active_joints=8, field=molecule.field(), integrator="kick_drift_kick"
        )
        for _ in range(12):
            sim.advance(2e-3, 3)
            if looks:
                assert np.isfinite(sim.field_energy)
        ends.append(sim.state)
    assert (ends[0].q == ends[1].q).all()
    assert (ends[0].v == ends[1].v).all()


def test_a_hand_as_the_page_of_proteins_has_it_pulls_as_its_spring_does():
    """Limits by default are those of the units: 50 kJ/mol/nm are 83 pN, with which nobody opens a helix."""
    molecule = proteins.helix()
    sim, device = KINDS["full"](molecule, molecule.field(cutoff=0.9)), lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, "A:12:CA", device, stiffness=500.0, damping=0.0)
    device.move((0.5, 0.0, 0.0))
    grasp.session.move_on(2e-3)
    pull = np.linalg.norm(grasp.wrench[3:])
    assert 240.0 < pull < 260.0  # 500 kJ/mol/nm² over 0.5 nm; the implicit coupling yields by a per cent
    device.move((8.0, 0.0, 0.0))
    with pytest.warns(lw.LinkworkWarning, match=r"held back to 3000 kJ/mol/nm, force_limit by default"):
        grasp.session.move_on(2e-3)
    assert np.linalg.norm(grasp.wrench[3:]) == pytest.approx(3000.0)


def test_a_limit_that_nobody_chose_speaks_once_and_a_chosen_one_never(recwarn):
    model = lw.library.chain(5).compile()
    for limits, words in (({}, 1), ({"force_limit": 40.0}, 0)):
        sim, device = lw.FullDynamics(model, model.neutral()), lw.haptics.Pointer()
        grasp = lw.haptics.grasp(sim, 3, device, stiffness=1e4, **limits)
        for k in range(4):
            device.move((0.5 + 0.1 * k, 0.0, 0.0))
            grasp.session.move_on(1e-3)
        assert np.linalg.norm(grasp.wrench[3:]) == pytest.approx(limits.get("force_limit", 50.0))
        assert sum("held back to 50 N" in str(one.message) for one in recwarn) == words
        recwarn.clear()
