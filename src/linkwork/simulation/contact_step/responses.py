"""Response of a linkage to impulses on bodies and on joints at their limits: the matrix Λ and the changes M⁻¹Jᵀλ.

As in `constrained.responses`, with two additions: impulses and responses are in world axes at the bodies' origins, and
an impulse may act on a joint coordinate: u = τ - Sᵀp.
"""

from linkwork.core.jit import inlined, routine
from linkwork.model.layout import PARENT
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.constrained.coupling_forces import project_couplings
from linkwork.simulation.constrained.responses import (
    clear_members,
    mark_paths,
    pull_down,
    push_up,
    respond_all,
    response_along_path,
)
from linkwork.simulation.contact_step.arrays import (
    CONTACT_BODIES,
    FIRST_MARK,
    contact_arrays_of,
    problem_of,
)
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import add_to6, load6, load9, store6
from linkwork.spatial.simd import LANES, flat6, negate6
from linkwork.spatial.vectors import ZERO6, scale6, to_body, to_world


@routine
def response_matrix(table, limits, out):
    """Λ (6 m + l, 6 m + l): velocities of contact bodies and near limits' coordinates per impulse on each; symmetric.

    Contact bodies are numbered parents first, and every body at which their paths to the world meet is one of them, so
    that the path from each to the next one above, π, carries no other:

        v_k = P v_π + Σ λ_k        Λ_ki = P Λ_πi  (i before k)        Λ_kk = P Λ_ππ Pᵀ + Σ                       (16)

    P and Σ come from impulses on k that go up to π and no further: Σ = Σ_j u_j D_j⁻¹ u_jᵀ over the joints between, u_j what
    they leave on joint j, so that nothing has to come down again. A coordinate at its limit is a row between the body
    on its joint and the parent, which is a contact body as well.
    Needs what `aba` left behind, world poses, and `mark` as `number_contact_bodies` leaves it, which is zero afterwards.
    Cost: O(bodies between them and the world), and 36 products per pair of contact bodies.
    """
    s = moving_of(table)
    x = constraints_of(table)
    t = contact_arrays_of(table)
    m = t.counts[CONTACT_BODIES]
    done = 0  # limits
    for k in range(m):
        b = t.contact_bodies[k]
        parent = s.tree[b, PARENT]
        above = x.mark[parent] - FIRST_MARK if parent >= 0 else -1  # number of π
        base = t.contact_bodies[above] if above >= 0 else -1
        first = done
        while done < limits and t.bound[done, 0] == b:
            write_limit_row(table, m, k, above, done, out)
            done += 1
        path = 0
        i = b
        while i != base:
            x.members[path] = i
            path += 1
            i = s.tree[i, PARENT]
        response_along_path(s, x.members, path, b, base, t.carry, t.own, t.columns)
        write_body_rows(t, m, k, above, first, done, out)
    unmark_paths(table)
    if x.offset.shape[0] > 0:
        couple_responses(table, limits, out)
    if t.switches[0] > 0:
        switch_responses(table, limits, 0, out)


@inlined
def coupling_entry(s, t, x, k, a):
    """Number a of the contact bodies and coordinates in the motion ŷ of coupling k: `project_couplings`."""
    m = t.counts[CONTACT_BODIES]
    if a >= 6 * m:
        return x.coupled_change[k, t.bound[a - 6 * m, 1]]
    i, e = t.contact_bodies[a // 6], a % 6
    first = 0 if e < 3 else 3
    row = k * s.tree.shape[0] + i
    total = 0.0
    for c in range(3):
        total += s.world[i, 3 * (e - first) + c] * x.coupled_response[row, first + c]
    return total


@routine
def couple_responses(table, limits, out):
    """Λ -= Σ (J ŷ)(J ŷ)ᵀ: response of the linkage with its joints coupled."""
    s = moving_of(table)
    x = constraints_of(table)
    t = contact_arrays_of(table)
    project_couplings(table)
    count = 6 * t.counts[CONTACT_BODIES] + limits
    for k in range(x.offset.shape[0]):
        for a in range(count):
            along = coupling_entry(s, t, x, k, a)
            if along != 0.0:
                for b in range(count):
                    out[a, b] -= along * coupling_entry(s, t, x, k, b)


@inlined
def couple_response(table, limits, impulse, out):
    """The same for the response to impulses: out and `response` less ŷ (J ŷ)ᵀ impulse."""
    s = moving_of(table)
    x = constraints_of(table)
    t = contact_arrays_of(table)
    n = s.tree.shape[0]
    for k in range(x.offset.shape[0]):
        along = 0.0
        for a in range(6 * t.counts[CONTACT_BODIES] + limits):
            if impulse[a] != 0.0:
                along += coupling_entry(s, t, x, k, a) * impulse[a]
        for j in range(s.v.shape[0]):
            out[j] -= along * x.coupled_change[k, j]
        for i in range(n):
            add_to6(x.response, i, 0, scale6(-along, load6(x.coupled_response, k * n + i, 0)))


@routine
def switch_responses(table, limits, first, out):
    """Λ -= Σ (a / m) (J y)(J y)ᵀ: response with motors `first` and later by their other law, (30) of `switching`."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    m, n, y = t.counts[CONTACT_BODIES], s.tree.shape[0], problem_of(table).v_after  # not known yet: scratch
    for k in range(first, t.switches[0]):
        weight = t.switch_weight[k]
        for a in range(m):
            i = t.contact_bodies[a]
            twist = to_world(load9(s.world, i, 0), load6(t.switched_response, k * n + i, 0))
            for e in range(6):
                y[6 * a + e] = twist[e]
        for a in range(limits):
            y[6 * m + a] = t.switched[k, t.bound[a, 1]]
        for a in range(6 * m + limits):
            f = weight * y[a]
            for b in range(6 * m + limits):
                out[a, b] -= f * y[b]


@inlined
def take_off_switch(s, t, x, k, along, out):
    """Corrects the response to impulses, out and `response`, for motor k with its other law: (30) of `switching`.

    along: yᵀ of these impulses.
    """
    n, f = s.tree.shape[0], -t.switch_weight[k] * along
    for j in range(s.v.shape[0]):
        out[j] += f * t.switched[k, j]
    for i in range(n):
        add_to6(x.response, i, 0, scale6(f, load6(t.switched_response, k * n + i, 0)))


@inlined
def switch_response(s, t, x, limits, impulse, out):
    """The response to impulses on contact bodies and near limits with motors by their other law."""
    m, n = t.counts[CONTACT_BODIES], s.tree.shape[0]
    for k in range(t.switches[0]):
        along = 0.0
        for r in range(m):
            i = t.contact_bodies[r]
            y = to_world(load9(s.world, i, 0), load6(t.switched_response, k * n + i, 0))
            for e in range(6):
                along += y[e] * impulse[6 * r + e]
        for c in range(limits):
            along += t.switched[k, t.bound[c, 1]] * impulse[6 * m + c]
        take_off_switch(s, t, x, k, along, out)


@routine
def unmark_paths(table):
    """Clears the marks that `number_contact_bodies` left on the paths of contact bodies."""
    s = moving_of(table)
    x = constraints_of(table)
    t = contact_arrays_of(table)
    for k in range(t.counts[CONTACT_BODIES]):
        i = t.contact_bodies[k]
        while i >= 0 and x.mark[i] != 0:
            x.mark[i] = 0
            i = s.tree[i, PARENT]


@inlined
def write_body_rows(t, m, k, above, first, done, out):
    """Rows of contact body k: responses of bodies and limits before it, and of itself, and their mirror image.   (16)

    first, done: limits of its own joint, whose responses stand in t.joint.
    """
    row, A = 6 * k, 6 * above
    own, P = t.own, t.carry
    for a in range(6):
        if above >= 0:
            p0, p1, p2 = P[a], P[LANES + a], P[2 * LANES + a]
            p3, p4, p5 = P[3 * LANES + a], P[4 * LANES + a], P[5 * LANES + a]
            for n in range(row):
                upper = p0 * out[A, n] + p1 * out[A + 1, n] + p2 * out[A + 2, n]
                out[row + a, n] = upper + (p3 * out[A + 3, n] + p4 * out[A + 4, n] + p5 * out[A + 5, n])
            for n in range(6 * m, 6 * m + done):
                upper = p0 * out[A, n] + p1 * out[A + 1, n] + p2 * out[A + 2, n]
                out[row + a, n] = upper + (p3 * out[A + 3, n] + p4 * out[A + 4, n] + p5 * out[A + 5, n])
        else:
            for n in range(row):
                out[row + a, n] = 0.0
            for n in range(6 * m, 6 * m + done):
                out[row + a, n] = 0.0
        for n in range(first, done):
            out[row + a, 6 * m + n] += t.joint[n - first, a]
    for a in range(6):
        for d in range(a + 1):
            value = 0.5 * (own[LANES * a + d] + own[LANES * d + a])
            if above >= 0:
                for c in range(6):
                    value += out[row + a, A + c] * P[LANES * c + d]
            out[row + a, row + d] = value
            out[row + d, row + a] = value
    for n in range(row):
        for a in range(6):
            out[n, row + a] = out[row + a, n]
    for n in range(6 * m, 6 * m + done):
        for a in range(6):
            out[n, row + a] = out[row + a, n]


@routine
def write_limit_row(table, m, k, above, limit, out):
    """The row of a coordinate at its limit, on the joint of contact body k, whose parent is one too.   (16)"""
    s = moving_of(table)
    x = constraints_of(table)
    t = contact_arrays_of(table)
    b, j = t.bound[limit, 0], t.bound[limit, 1]
    row = 6 * m + limit
    t.joint_impulse[j] = 1.0
    p = push_up(s, b, ZERO6, t.joint_impulse, True, x.effort)
    t.joint_impulse[j] = 0.0
    a = pull_down(s.tree, s.body, s.work, s.dof_work, b, ZERO6, x.effort, True, x.change)
    first = limit
    while first > 0 and t.bound[first - 1, 0] == b:
        first -= 1
    store6(t.joint, limit - first, 0, to_world(load9(s.world, b, 0), a))
    A = 6 * above
    r = to_world(load9(s.world, t.contact_bodies[above], 0), scale6(-1.0, p)) if above >= 0 else ZERO6
    for n in range(6 * k):
        value = 0.0
        if above >= 0:
            for c in range(6):
                value += r[c] * out[A + c, n]
        out[row, n] = value
        out[n, row] = value
    for other in range(limit):
        value = 0.0
        if above >= 0:
            for c in range(6):
                value += r[c] * out[A + c, 6 * m + other]
        if other >= first:
            value += x.change[t.bound[other, 1]]
        out[row, 6 * m + other] = value
        out[6 * m + other, row] = value
    value = x.change[j]
    if above >= 0:
        for c in range(6):
            value += r[c] * out[row, A + c]
    out[row, row] = value


@routine
def apply_impulses(table, limits, impulse, out):
    """M⁻¹Jᵀ of impulses on contact bodies (world axes) and near limits' coordinates (6 m + l,): out (nv,). Cost: O(n)."""
    s = moving_of(table)
    x = constraints_of(table)
    t = contact_arrays_of(table)
    m = t.counts[CONTACT_BODIES]
    count = mark_paths(s, t.contact_bodies[: m + limits], x.mark, x.members)
    clear_members(x, count)
    for r in range(m):
        f = negate6(flat6(impulse, 6 * r))
        add_to6(x.bias_up, t.contact_bodies[r], 0, to_body(load9(s.world, t.contact_bodies[r], 0), f))
    for k in range(limits):
        t.joint_impulse[t.bound[k, 1]] += impulse[6 * m + k]
    respond_all(s, x, count, t.joint_impulse, True, out)
    for k in range(limits):
        t.joint_impulse[t.bound[k, 1]] = 0.0
    couple_response(table, limits, impulse, out)
    switch_response(s, t, x, limits, impulse, out)
