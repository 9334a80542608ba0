"""Minima of a field's energy in torsions, second derivatives, and normal modes against dense ones."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from tests.helpers import proteins

import linkwork as lw
from linkwork.errors import StateError

proteins.need_packages()


@pytest.fixture(scope="module")
def helix_at_rest():
    molecule = proteins.helix()
    field = molecule.field()
    return molecule, field, lw.settle(molecule.model, molecule.state, field=field, tolerance=1e-6)


@pytest.mark.parametrize("solvent", [None, "obc2"])
def test_settling_ends_at_a_minimum(solvent):
    molecule = proteins.helix()
    field = molecule.field(solvent=solvent)
    start = proteins.displaced(molecule, 0.05, 3)
    state, report = lw.settle(molecule.model, start, field=field)
    left = np.abs(field.generalized_forces(state)).max()
    assert left <= 1e-3
    assert report.unbalanced == pytest.approx(left, abs=1e-9)
    assert report.energy == pytest.approx(field.energy(state))
    assert report.evaluations <= 300
    rng = np.random.default_rng(0)
    for _ in range(10):
        aside = lw.State(molecule.model.integrate(state.q, 1e-3 * rng.normal(size=molecule.model.nv)), state.v)
        assert field.energy(aside) > report.energy


def test_a_field_with_a_cutoff_gives_the_best_state_and_names_what_is_in_the_way():
    """Forces step there, and nothing lowers the energy any more."""
    molecule = proteins.helix()
    start = proteins.displaced(molecule, 0.02, 3)
    for cutoff, most in ((1.0, 1000), (0.7, 300)):
        field = molecule.field(cutoff=cutoff)
        words = rf"cutoff of {cutoff:g} nm: settle in a field without one, or with switch={0.8 * cutoff:.2g}"
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                rest = lw.settle(molecule.model, start, field=field, max_sweeps=most)
                heard = " ".join(str(one.message) for one in said)
            except StateError as failure:
                rest, heard = failure.best, str(failure)
        assert re.search(words, heard)
        state, report = rest
        before = np.abs(field.generalized_forces(start)).max()
        left = np.abs(field.generalized_forces(state)).max()
        assert left == pytest.approx(report.unbalanced, rel=1e-6)
        assert left == pytest.approx(report.history.min(), rel=1e-6)
        assert left < 0.1 * before
        assert report.energy < field.energy(start)
        assert not report.at_rest
        assert str(report).startswith("not at rest")


def test_products_with_the_second_derivatives(helix_at_rest):
    """Against differences of fourth order of the forces."""
    molecule, field, (state, _) = helix_at_rest
    model = molecule.model
    x = np.random.default_rng(1).normal(size=model.nv)
    h = 3e-4
    at = [-field.generalized_forces(lw.State(model.integrate(state.q, x, s * h), state.v)) for s in (-2, -1, 1, 2)]
    expected = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    product = field.hessian_product(state, x)
    assert np.abs(product - expected).max() <= 1e-6 * np.abs(expected).max()


def by_differences(molecule, field, state, h=3e-4, cutoff=None):
    """∂²E/∂q² by differences of fourth order of the forces; rows and columns in which a pair crosses the cutoff are NaN."""
    model = molecule.model

    def column(x):
        states = [lw.State(model.integrate(state.q, x, s * h), state.v) for s in (-2, -1, 1, 2)]
        if cutoff is not None:
            near = [pdist(molecule.positions(one)) < cutoff for one in states]
            if not all(np.array_equal(near[0], one) for one in near):
                return np.full(model.nv, np.nan)
        at = [-field.generalized_forces(one) for one in states]
        return (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)

    K = np.array([column(x) for x in np.eye(model.nv)])
    return 0.5 * (K + K.T)


CASES = [
    ("helix", {}),
    ("strand", {}),
    ("hairpin", {}),
    ("strand", {"cutoff": 0.9, "switch": 0.7}),
    ("helix", {"solvent": "obc2"}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_second_derivatives_away_from_rest(name, options):
    """Of trees with branches, several bases and cut rings, where forces act and positions bend.

    With a cutoff forces of charges step: freedoms in which no pair crosses it within the differences, by a tenth of the
    step so that they are most.
    """
    molecule = proteins.MOLECULES[name]()
    field = molecule.field(**options)
    q = proteins.displaced(molecule, 0.02, 4).q
    state = lw.State(q, np.zeros(molecule.model.nv))
    K = field.second_derivatives(state)
    assert np.array_equal(K, K.T) or np.abs(K - K.T).max() <= 1e-12 * np.abs(K).max()
    cutoff = options.get("cutoff")
    expected = by_differences(molecule, field, state, 3e-4 if cutoff is None else 3e-5, cutoff)
    smooth = np.isfinite(expected)
    assert smooth.mean() > (0.25 if cutoff is not None else 0.999)
    # 1e-10 of the largest seen, 3e-9 where a bond was cut; in solvent both are differences: 4e-8
    assert np.abs(K - expected)[smooth].max() <= 1e-6 * np.abs(K).max()


def test_modes_are_those_of_dense_matrices(helix_at_rest):
    molecule, field, (state, _) = helix_at_rest
    model = molecule.model
    found = lw.modes(model, state, 20, field=field)
    K = by_differences(molecule, field, state)
    M = lw.mass_matrix(model, state)
    rates2 = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)[:20]
    top = np.abs(found.rates2).max()
    assert np.abs(found.rates2 - rates2).max() <= 1e-8 * top
    # six motions of the whole molecule cost nothing
    assert np.abs(found.rates2[:6]).max() <= 1e-6 * top
    assert found.rates2[6] > 10.0 * np.abs(found.rates2[:6]).max()
    assert found.shapes @ M @ found.shapes.T == pytest.approx(np.eye(20), abs=1e-8)
    assert found.residuals.max() <= 1e-8


def test_what_is_refused(helix_at_rest):
    molecule, field, _ = helix_at_rest
    model = molecule.model
    with pytest.raises(StateError, match="not both"):
        lw.settle(model, molecule.state, effort=np.zeros(model.nv), field=field)
    with pytest.raises(StateError, match="not at rest after"):
        lw.settle(model, proteins.displaced(molecule, 0.05, 3), field=field, max_sweeps=5)
    with pytest.raises(StateError, match="small motions about rest"):
        lw.modes(model, proteins.displaced(molecule, 0.05, 3), 5, field=field)
    arm = lw.library.chain(3).compile()
    with pytest.raises(StateError, match="another object"):
        lw.settle(arm, arm.neutral(), field=field)
