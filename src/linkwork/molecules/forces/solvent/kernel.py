"""One evaluation of a force field in implicit solvent: three passes over the pairs where vacuum takes one.

Sums of integrals → Born radii → all pair forces and ∂E/∂B → forces through the radii. In vacuum: `kernel.evaluate`.
"""

from linkwork.core.jit import kernel, routine
from linkwork.molecules.forces.bonded_forces import bonded_forces
from linkwork.molecules.forces.kernel import choose_terms, gather_wrenches
from linkwork.molecules.forces.pairs.pair_list import refresh_list
from linkwork.molecules.forces.solvent.born import find_radii, pass_on
from linkwork.molecules.forces.solvent.changing import find_changing, refresh_curves, screening_of_changing
from linkwork.molecules.forces.solvent.descreening import sum_integrals
from linkwork.molecules.forces.solvent.inside import choose_kin, list_inside
from linkwork.molecules.forces.solvent.screening import pairs_in_solvent, screening_of_kin
from linkwork.molecules.forces.solvent.tables import INSIDE_IS_VALID
from linkwork.molecules.forces.solvent.through_radii import forces_through_radii
from linkwork.molecules.forces.tables import AT_WORK, FIELD_OK, HAS_AXIS_TERMS, LIST_BUILDS


@routine
def evaluate_in_solvent(tables, own_tables, poses, out):
    """Writes the wrenches (n, 6) [kJ/mol, kJ/mol/nm]; returns the energy [kJ/mol] and a status, as `kernel.evaluate` does.

    The energy of the solvent is whole, whatever moves as one. FIELD_INSIDE_FULL: pairs inside rigid groups need more room.
    """
    atoms, pairs, terms, work = tables
    solvent, own = own_tables
    builds = work.counters[LIST_BUILDS]
    status = refresh_list(tables, poses, False)
    if status != FIELD_OK:
        return 0.0, status
    if own.counters[INSIDE_IS_VALID] == 0:
        status = list_inside(tables, own_tables)
        if status != FIELD_OK:
            return 0.0, status
        builds = -1
    if work.counters[LIST_BUILDS] != builds:
        status = find_changing(tables, own_tables)
        if status != FIELD_OK:
            return 0.0, status
    work.counters[HAS_AXIS_TERMS] = 0
    status = sum_integrals(pairs, work, solvent, own)
    if status != FIELD_OK:
        return 0.0, status
    energy = own.constant_energy[0] + find_radii(work, solvent, own)
    refresh_curves(work, solvent, own)
    energy += pairs_in_solvent(pairs, work, solvent, own)
    energy += screening_of_kin(pairs, work, solvent, own)
    energy += screening_of_changing(work, solvent, own)
    pass_on(own)
    forces_through_radii(work, solvent, own)
    energy += bonded_forces(terms, work)
    gather_wrenches(atoms, work, poses, out, work.counters[AT_WORK])
    return energy, FIELD_OK


@kernel
def wrenches_in_solvent(tables, own_tables, poses, out):
    """`evaluate_in_solvent`, called from Python."""
    return evaluate_in_solvent(tables, own_tables, poses, out)


@kernel
def move_as_one_in_solvent(tables, own_tables, cluster):
    """Bodies of one number in `cluster` (n,) move as one: `choose_terms`, and the pairs that the solvent takes in."""
    choose_terms(tables, cluster)
    choose_kin(tables, own_tables, cluster)
