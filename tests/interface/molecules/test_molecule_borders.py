"""Molecules at the border: what is not a path, a residue, a torsion, a state or a pose gets an error of Linkwork.

The calls are those of `linkwork bench adversary --border molecules`, each with the same odd values.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.adversary import molecule_calls
from benchmarks.adversary.borders import has_nan
from tests.helpers import proteins

import linkwork as lw

proteins.need_packages()

ODD = [
    object(),
    b"q",
    1j,
    {"q": 1},
    float("nan"),
    -(10**400),
    np.full((2, 2), np.nan),
    np.array(1.0),
    [[1.0], [1.0, 2.0]],
    (1, 2, 3, 4),
]
MEANT = {
    "select.residues": (ODD[5],),  # a number that no residue has: nothing is selected
    "peptide.phi": (ODD[7],),  # one angle
}
CALLS = molecule_calls.calls()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_arguments_that_are_nothing_of_the_kind(name):
    for odd in ODD:
        if any(odd is other for other in MEANT.get(name, ())):
            continue
        with pytest.raises(lw.LinkworkError):
            CALLS[name](odd)


@pytest.mark.parametrize("name", sorted(molecule_calls.load_options(None)))
def test_options_of_load_that_are_nothing_of_the_kind(name, tmp_path):
    molecule_calls.file_text.__wrapped__(".pdb", tmp_path)
    options = molecule_calls.load_options(tmp_path / "sound.pdb")
    for odd in ODD:
        with pytest.raises(lw.LinkworkError):
            options[name](odd)


@pytest.mark.parametrize("engine", ["numba", "openmm"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_no_number_that_is_not_finite_passes(engine, value):
    molecule = molecule_calls.peptide()
    field = molecule.field(engine=engine)
    functions = (field.at, field.energy, field.generalized_forces, molecule.positions, molecule.velocities)
    for k in (0, molecule.model.nq - 1):
        q = molecule.state.q.copy()
        q[k] = value
        for function in functions:
            try:
                found = function(lw.State(q, molecule.state.v))
            except lw.LinkworkError:
                continue
            assert not has_nan(found)
            assert np.isfinite(value), f"{function} took {value}"


@pytest.mark.parametrize("engine", ["numba", "openmm"])
def test_poses_and_wrenches_of_another_shape_do_not_reach_a_kernel(engine):
    molecule = molecule_calls.peptide()
    field, n = molecule.field(engine=engine), molecule.model.n_bodies
    for poses, out in (
        (np.zeros((n - 1, 12)), np.zeros((n, 6))),
        (np.zeros((n, 11)), np.zeros((n, 6))),
        (np.zeros((n, 12), dtype=np.float32), np.zeros((n, 6))),
        (np.zeros((n, 24))[:, ::2], np.zeros((n, 6))),
        (np.zeros((n, 12)), np.zeros((n - 1, 6))),
        (np.zeros((n, 12)), np.zeros((n, 6))[:, :5]),
    ):
        with pytest.raises(lw.StateError, match="must be a"):
            field.wrenches(poses, out)


def test_a_torsion_of_another_molecule_is_not_ours():
    ours, other = molecule_calls.peptide(), lw.molecules.peptide("A" * 8)
    with pytest.raises(lw.ModelError, match="is not a torsion of molecule"):
        ours.angle(other.psi(7), ours.state)


def test_coordinates_too_large_for_a_molecule_are_named(tmp_path):
    file = tmp_path / "far.cif"
    cif = molecule_calls.file_text(".cif", tmp_path)
    first = next(line for line in cif.splitlines() if line.startswith("ATOM"))
    words = first.split()
    file.write_text(cif.replace(first, first.replace(words[10], "1e30", 1)), encoding="utf-8")
    with pytest.raises(lw.FormatError, match=r"atom N of GLY A:1 stands at"):
        lw.molecules.load(file)


@pytest.mark.parametrize("cutoff", [1e-200, 1e-7, 1e7, 1e200])
def test_a_cutoff_whose_powers_are_not_numbers_is_refused(cutoff):
    with pytest.raises(lw.ModelError, match=r"cutoff is .* it must lie between"):
        molecule_calls.peptide().field(engine="numba", cutoff=cutoff)


def test_a_skin_whose_square_is_not_a_number_is_refused():
    with pytest.raises(lw.ModelError, match=r"skin is .* must not be above"):
        molecule_calls.peptide().field(engine="numba", cutoff=1.0, skin=1e200)


@pytest.mark.parametrize(("suffix", "far"), [(".pdb", 1e3), (".cif", 1e7), (".dcd", 1e300), (".xtc", 1e308)])
def test_atoms_too_far_away_for_a_file_are_refused_and_the_file_is_kept(tmp_path, suffix, far):
    molecule = molecule_calls.peptide()
    q = molecule.state.q.copy()
    q[2] = far
    file = tmp_path / f"kept{suffix}"
    file.write_text("kept")
    with pytest.raises(lw.StateError, match=r"stands at .* files hold coordinates from"):
        molecule.write(file, [molecule.state, lw.State(q, molecule.state.v)])
    assert file.read_text() == "kept"


def test_atoms_too_far_away_for_a_view_are_refused():
    pytest.importorskip("py3Dmol")
    molecule = molecule_calls.peptide()
    q = molecule.state.q.copy()
    q[2] = 1e308
    with pytest.raises(lw.StateError, match="nearer to the origin"):
        molecule.view(lw.State(q, molecule.state.v))
