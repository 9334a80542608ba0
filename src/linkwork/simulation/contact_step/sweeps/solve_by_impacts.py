"""One solve by law="impacts", a kernel of its own: steps by the other law do not draw on it."""

from linkwork.contact.solver.impacts import solve_impacts
from linkwork.core.jit import kernel
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of, problem_of, sweeps_of, system_of
from linkwork.simulation.contact_step.sweeps.points import all_rows
from linkwork.simulation.contact_step.sweeps.rows import assemble_rows
from linkwork.simulation.contact_step.sweeps.solve import push_apart, store_results


@kernel
def solve_contacts_by_impacts(table, h, limits, what):
    """As `solve.solve_contacts`."""
    w = sweeps_of(table)
    problem = problem_of(table)
    system = system_of(table)
    count = problem.body_number.shape[0]
    if what == ca.PUSH:
        push_apart(table, h, count, limits)
        return True
    assemble_rows(table, h, count, limits)
    rows = all_rows(w, count, limits)
    solve_impacts(contacts_of(table), problem, system, rows, h, contact_arrays_of(table).settings)
    for r in range(rows):
        w.eta[r] = system.y[r]
    return store_results(table, count, limits)
