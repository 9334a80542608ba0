"""The contact solvers on rigid bodies whose response is written down by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.contact_alone import solve_alone

from linkwork.contact.contact_list import FRICTION, GAP, NORMAL, POINT, RESTITUTION, make_contacts
from linkwork.contact.solver.allocation import make_problem, make_system
from linkwork.contact.solver.linear_systems import ROW, solve_small
from linkwork.contact.solver.problem import CONVERGED, ENERGY, RESIDUAL, SWEEPS
from linkwork.core.jit import kernel

LAWS = ("coupled", "impacts")
H = 1e-3


def settings(tolerance=1e-12, sweeps=2000, rest_speed=0.0, part=0.0):
    return np.array([tolerance, sweeps, rest_speed, part, 0.0])


def pose(contacts, i, body_numbers, point, normal, problem, friction=0.0, restitution=0.0, gap=0.0):
    contacts.data[i, POINT : POINT + 3] = point
    contacts.data[i, NORMAL : NORMAL + 3] = normal
    contacts.data[i, [GAP, FRICTION, RESTITUTION]] = gap, friction, restitution
    problem.body_number[i] = body_numbers


def free_body(mass, moments):
    """Response of a free rigid body at its mass centre, shape (6, 6)."""
    return np.diag([*(1.0 / np.asarray(moments, dtype=float)), *([1.0 / mass] * 3)])


def solve(law, contacts, problem, count, **options):
    contacts.number[0] = count
    system = make_system(3 * count + len(problem.limit_at) + len(problem.loop_row), len(problem.v_free))
    solve_alone(contacts, problem, system, H, settings(**options), law)
    return problem.v_free + problem.Lambda @ problem.impulse, system


def ball_on_floor(velocity, friction, restitution=0.0, mass=2.0, radius=0.3):
    """A solid sphere that touches z = 0."""
    problem, contacts = make_problem(1, 1), make_contacts(1)
    moment = 0.4 * mass * radius**2
    problem.Lambda[:] = free_body(mass, [moment] * 3)
    problem.origin[0] = 0.0, 0.0, radius
    problem.v_free[:] = problem.v_before[:] = velocity
    pose(contacts, 0, (0, -1), (0, 0, 0), (0, 0, 1), problem, friction, restitution)
    return problem, contacts


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", [0.0, 0.05, 0.2, 1.0])
def test_sphere_on_a_plane(law, friction, rng):
    """|λt| = min(μ λn, 2/7 m |ut|), against the sliding; λn = (1 + e) m |un|."""
    for restitution in (0.0, 0.5, 1.0):
        v = rng.normal(size=6)
        v[5] = -abs(v[5])
        problem, contacts = ball_on_floor(v, friction, restitution)
        solve(law, contacts, problem, 1)
        ut = np.array([v[3] - 0.3 * v[1], v[4] + 0.3 * v[0]])  # of the touching point
        f = contacts.impulse[0]
        assert f[2] == pytest.approx(2.0 * (1 + restitution) * -v[5], rel=1e-9)
        size = min(friction * f[2], 2 / 7 * 2.0 * np.linalg.norm(ut))
        assert f[:2] == pytest.approx(-size * ut / np.linalg.norm(ut), abs=1e-8 * f[2])


@pytest.mark.parametrize("law", LAWS)
def test_what_leaves_is_left_alone(law):
    problem, contacts = ball_on_floor([1, 2, 3, 1, 1, 0.5], 0.5)
    v, system = solve(law, contacts, problem, 1)
    assert not problem.impulse.any()
    assert v.tolist() == problem.v_free.tolist()
    assert system.report[CONVERGED] == 1


@pytest.mark.parametrize("law", LAWS)
def test_a_gap_may_be_used_up_but_no_more(law):
    """Signorini with the gap: the ball may come nearer by its gap in the step, and is stopped there (inelastic)."""
    problem, contacts = ball_on_floor([0, 0, 0, 0, 0, -10.0], 0.0)
    contacts.data[0, GAP] = 0.004
    v, _ = solve("coupled", contacts, problem, 1)
    assert v[5] == pytest.approx(-0.004 / H, rel=1e-9)
    contacts.data[0, GAP] = 0.02
    v, _ = solve(law, contacts, problem, 1)
    assert v[5] == -10.0


def test_cradle():
    """Five balls in a row, e = 1: the first stops, the last leaves with its speed (one impact after the other)."""
    problem, contacts = make_problem(5, 4), make_contacts(4)
    for k in range(5):
        problem.Lambda[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = free_body(1.0, [0.01] * 3)
        problem.origin[k] = 0.2 * k, 0, 0
    for k in range(4):
        pose(contacts, k, (k, k + 1), (0.2 * k + 0.1, 0, 0), (-1, 0, 0), problem, 0.0, 1.0)
    problem.v_free[3] = problem.v_before[3] = 1.5
    v, system = solve("impacts", contacts, problem, 4)
    assert v.reshape(5, 6)[:, 3] == pytest.approx([0, 0, 0, 0, 1.5], abs=1e-9)  # tolerance of the approach: 1e-12 · 1.5
    assert system.report[ENERGY] == pytest.approx(0.0, abs=1e-9)


def test_block_rests_on_four_corners_with_its_weight():
    """Sixteen unknowns, six equations: impulses are not unique, their sum and moment are."""
    problem, contacts = make_problem(1, 4), make_contacts(4)
    mass, size = 3.0, np.array([0.4, 0.2, 0.1])
    problem.Lambda[:] = free_body(
        mass,
        mass / 12 * np.array([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2, size[0] ** 2 + size[1] ** 2]),
    )
    problem.v_free[5] = -9.81 * H
    corners = [(x, y, -0.05) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    for i, corner in enumerate(corners):
        pose(contacts, i, (0, -1), corner, (0, 0, 1), problem, 0.6)
    v, _ = solve("coupled", contacts, problem, 4)
    assert np.abs(v).max() < 1e-10 * 9.81 * H * 100
    assert contacts.impulse[:, 2].sum() == pytest.approx(mass * 9.81 * H, rel=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_limit_stops_a_joint(law):
    """A coordinate with inertia 2 runs into its limit with e = 0.5."""
    problem, contacts = make_problem(0, 0, limits=1), make_contacts(1)
    problem.Lambda[0, 0], problem.v_free[0], problem.v_before[0] = 0.5, -3.0, -3.0
    problem.limit[0] = 1.0, 0.0, 0.5
    v, _ = solve(law, contacts, problem, 0)
    assert v[0] == pytest.approx(1.5, rel=1e-9)
    assert problem.limit_impulse[0] == pytest.approx(9.0, rel=1e-9)


def test_loop_rows_hold_while_a_contact_acts():
    """Two unit masses joined along x by a loop; one is pushed by the floor along z, the pair stays together in x."""
    problem, contacts = make_problem(2, 1, loops=3), make_contacts(1)
    problem.loop_first.resize(2, refcheck=False)
    problem.loop_first[:] = 0, 3
    for k in range(2):
        problem.Lambda[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = free_body(1.0, [1.0] * 3)
        problem.origin[k] = k, 0, 0
    problem.loop_body_number[:] = 0, 1
    for r in range(3):
        problem.loop_row[r, 3 + r], problem.loop_row[r, 9 + r] = 1.0, -1.0
    problem.v_free[[3, 9, 5, 11]] = 1.0, -2.0, -1.0, -1.0
    problem.v_before[:] = problem.v_free
    pose(contacts, 0, (0, -1), (0, 0, 0), (0, 0, 1), problem)
    v, _ = solve("coupled", contacts, problem, 1)
    assert v[3:6] == pytest.approx(v[9:12], abs=1e-9)
    assert v[[3, 5]] == pytest.approx([-0.5, 0.0], abs=1e-9)
    assert contacts.impulse[0, 2] == pytest.approx(2.0, rel=1e-8)


def test_penetration_is_taken_back_without_velocity():
    problem, contacts = ball_on_floor([0, 0, 0, 0, 0, 0.0], 0.0)
    contacts.data[0, GAP] = -0.01
    v, _ = solve("coupled", contacts, problem, 1, part=0.2)
    assert not v.any()
    push = problem.Lambda @ problem.push
    assert push[5] == pytest.approx(0.2 * 0.01 / H, rel=1e-3)


def random_problem(rng, bodies=4, count=6, restitution=True):
    """Bodies with random responses (no linkage needed: any symmetric positive matrix is one), random contacts."""
    problem, contacts = make_problem(bodies, count), make_contacts(count)
    A = rng.normal(size=(6 * bodies, 6 * bodies))
    problem.Lambda[:] = A @ A.T / (6 * bodies) + 0.05 * np.eye(6 * bodies)
    problem.origin[:] = rng.normal(size=(bodies, 3))
    problem.v_free[:] = rng.normal(size=6 * bodies)
    problem.v_before[:] = problem.v_free
    for i in range(count):
        a, b = rng.choice(bodies, 2, replace=False)
        n = rng.normal(size=3)
        e = rng.uniform() if restitution else 0.0
        pose(
            contacts,
            i,
            (a, b if rng.uniform() < 0.5 else -1),
            rng.normal(size=3),
            n / np.linalg.norm(n),
            problem,
            rng.uniform(0, 1.2),
            e,
        )
    return problem, contacts


@pytest.mark.parametrize("law", LAWS)
def test_energy_never_rises(law, rng):
    """Impacts on coupled bodies, e up to 1, friction up to 1.2. Rounding: 1e-12 of the energy there is."""
    worst = -np.inf
    for _ in range(1500):
        problem, contacts = random_problem(rng)
        _, system = solve(law, contacts, problem, 6, tolerance=1e-9, sweeps=300)
        scale = np.abs(system.u_free).max() ** 2 / np.abs(np.diag(system.G)).min()
        worst = max(worst, system.report[ENERGY] / scale)
    assert worst < 1e-12


def test_coupled_solution_obeys_the_laws(rng):
    """Signorini and Coulomb at every contact of the solution: complementarity, cone, sliding against the friction."""
    hard = 0
    for _ in range(300):
        problem, contacts = random_problem(rng, restitution=False)
        _, system = solve("coupled", contacts, problem, 6, tolerance=1e-11, sweeps=2000)
        if system.report[CONVERGED] == 0:
            hard += 1
            continue
        size = np.abs(system.y).max() * np.abs(np.diag(system.G)).max()
        # residual 1e-11 times the condition of G, some 1e3, times 10
        assert obeys_the_laws(system, contacts.data[:6, FRICTION], system.y, 1e-7 * size)
    assert hard <= 15  # 5 are seen; they say so


def obeys_the_laws(system, mu, x, slack):
    """Signorini and Coulomb at every contact, up to `slack` [m/s]."""
    u = (system.u_free + system.bias + system.G @ x).reshape(-1, 3)
    x = x.reshape(-1, 3)
    small = slack * np.abs(x).max()
    slip = np.linalg.norm(u[:, 1:], axis=1)
    power = np.einsum("ij,ij->i", x[:, 1:], u[:, 1:])
    return (
        bool((x[:, 0] >= 0).all() and (u[:, 0] >= -slack).all())
        and np.abs(x[:, 0] * u[:, 0]).max() <= small
        and bool((np.linalg.norm(x[:, 1:], axis=1) <= mu * x[:, 0] * (1 + 1e-9) + 1e-12).all())
        and np.abs(power + mu * x[:, 0] * slip).max() <= small
    )


def planar_problem(rng, bodies=3, count=7):
    """Bodies in the plane y = 0 with hardly more freedoms than contacts: each moves all others."""
    problem, contacts = make_problem(bodies, count), make_contacts(count)
    rank = min(3 * bodies, count - rng.integers(0, 4))
    A = rng.normal(size=(3 * bodies, rank))
    place = np.concatenate([6 * b + np.array([1, 3, 5]) for b in range(bodies)])
    problem.Lambda[np.ix_(place, place)] = A @ A.T
    problem.v_free[place] = problem.v_before[place] = A @ rng.normal(size=rank)
    for i in range(count):
        angle = rng.uniform(0, 2 * np.pi)
        body_numbers, point = (rng.integers(bodies), -1), (rng.normal(), 0, rng.normal())
        pose(contacts, i, body_numbers, point, (np.cos(angle), 0, np.sin(angle)), problem, friction=0.3)
    return problem, contacts


def test_planar_contacts_that_hang_together(rng):
    """Seven contacts of three bodies: some 9 steps are seen, and at most 64."""
    for _ in range(100):
        problem, contacts = planar_problem(rng)
        _, system = solve("coupled", contacts, problem, 7, tolerance=1e-8, sweeps=100)
        assert system.report[RESIDUAL] <= 1e-7  # where a solve ends when more steps gain nothing; 1e-8 but for one
        size = np.abs(system.y).max() * np.abs(np.diag(system.G)).max()
        assert obeys_the_laws(system, 0.3, system.y, 1e-4 * size)  # tolerance times the condition, some 1e3, times 10


@kernel
def solve_dense_kernel(rows, n):
    return solve_small(rows, n)


@pytest.mark.parametrize("n", [1, 2, 5, 7, 8, 11, 15])
def test_systems_of_a_few_unknowns(n, rng):
    """Against LAPACK, rows in an order that must be exchanged. Rounding: n eps times the condition, times 10."""
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    if n > 1:
        A[0, 0] = 0.0
    rows = np.full((n, ROW), 7.0)
    rows[:, :n], rows[:, n] = A, b
    assert solve_dense_kernel(rows.ravel(), n)
    slack = 10 * n * np.finfo(float).eps * np.linalg.cond(A) * np.abs(np.linalg.solve(A, b)).max()
    assert rows[:, n] == pytest.approx(np.linalg.solve(A, b), abs=slack)
    rows[:, :n] = 0.0
    assert not solve_dense_kernel(rows.ravel(), n)


def test_numbering_does_not_matter(rng):
    """The same contacts in another order: the same velocities up to the residual (1e-11 times the condition, some 1e3)."""
    for _ in range(50):
        problem, contacts = random_problem(rng, restitution=False)
        v, system = solve("coupled", contacts, problem, 6, tolerance=1e-11)
        order = rng.permutation(6)
        other = make_contacts(6)
        other.data[:6] = contacts.data[order]
        problem.body_number[:] = problem.body_number[order]
        w, second = solve("coupled", other, problem, 6, tolerance=1e-11)
        if system.report[CONVERGED] and second.report[CONVERGED]:
            assert w == pytest.approx(v, abs=1e-6)


def test_a_warm_start_is_gone_on_with(rng):
    """The impulses of a solve are its own solution. Where velocities change by 1e-3, sets mostly hold: two steps."""
    steps = []
    for _ in range(100):
        problem, contacts = random_problem(rng, restitution=False)
        _, system = solve("coupled", contacts, problem, 6, tolerance=1e-9)
        if system.report[CONVERGED] == 0:
            continue
        _, again = solve("coupled", contacts, problem, 6, tolerance=1e-8)
        assert again.report[SWEEPS] <= 1
        problem.v_free[:] *= 1.0 + 1e-3 * rng.uniform(-1, 1, problem.v_free.size)
        _, near = solve("coupled", contacts, problem, 6, tolerance=1e-8)
        steps.append(near.report[SWEEPS])
    assert np.median(steps) <= 3  # 2 are seen


def test_what_has_no_room_is_pushed_with_finite_impulses():
    """A ball between two walls that leave too little room: pushed from both sides, towards the middle of the two."""
    problem, contacts = make_problem(1, 2), make_contacts(2)
    problem.Lambda[:] = free_body(2.0, [0.07] * 3)
    pose(contacts, 0, (0, -1), (-0.3, 0, 0), (1, 0, 0), problem, gap=-0.02)
    pose(contacts, 1, (0, -1), (0.3, 0, 0), (-1, 0, 0), problem, gap=-0.01)
    solve("coupled", contacts, problem, 2, part=0.2)
    push = problem.Lambda @ problem.push
    assert push[3] == pytest.approx(0.2 * 0.005 / H, rel=1e-3)  # ten times the softness of pushing
    assert np.abs(np.delete(push, 3)).max() <= 1e-12


def test_a_solve_that_gives_up_says_so(rng):
    problem, contacts = random_problem(rng)
    _, system = solve("coupled", contacts, problem, 6, tolerance=1e-14, sweeps=1)
    assert system.report[CONVERGED] == 0
    assert system.report[RESIDUAL] > 1e-14


def beam_on_supports(rng, supports):
    """A rigid beam along x, pressed down and pushed aside, on supports whose gaps differ by nanometres."""
    problem, contacts = make_problem(1, supports), make_contacts(supports)
    problem.Lambda[:] = free_body(2.0, [0.001, 0.7, 0.7])
    problem.v_free[:] = problem.v_before[:] = [0.0, 0.3, 0.01, 0.02, 0.005, -0.05]
    places = np.sort(rng.uniform(-1, 1, supports))
    for i, x in enumerate(places):
        pose(contacts, i, (0, -1), (x, 0, -0.02), (0, 0, 1), problem, 0.3, gap=rng.uniform(1e-9, 5e-9))
    return problem, contacts


@pytest.mark.parametrize("supports", [3, 10, 40])
def test_beam_on_many_supports(supports, rng):
    """Two normal impulses carry a rigid beam, and gaps that differ by nanometres say which: all laws hold.

    4, 7 and 13 steps are seen with 3, 10 and 40 supports.
    """
    for _ in range(20):
        problem, contacts = beam_on_supports(rng, supports)
        _, system = solve("coupled", contacts, problem, supports, tolerance=1e-10, sweeps=50)
        assert system.report[CONVERGED] == 1
        x = system.y.reshape(-1, 3)
        u = (system.u_free + system.bias + system.G @ system.y).reshape(-1, 3)
        size = np.abs(x).max() * np.abs(np.diag(system.G)).max()
        slack = 1e-7 * size  # residual 1e-10 times the number of contacts, some 1e2, times 10
        assert (u[:, 0] >= -slack).all()
        assert np.abs(x[:, 0] * u[:, 0]).max() <= slack * np.abs(x).max()
        assert (np.hypot(x[:, 1], x[:, 2]) <= 0.3 * x[:, 0] * (1 + 1e-9) + 1e-12).all()


def test_impacts_of_random_bodies(rng):
    """Impulses of the law of impacts against small steps of du/dp = K ξ; of some bodies sliding presses deeper.

    Half of the bodies are slender ones that meet the world with a corner, the others have any K of condition 30 or less.
    """
    count = 300
    A, Q = rng.normal(size=(2, count, 3, 3))
    Q = np.linalg.qr(Q)[0]
    edges = 10.0 ** rng.uniform(-1.0, 0.0, (count, 3))
    r = np.einsum("nij,nj->ni", Q, 0.5 * edges)
    S = np.cross(np.eye(3), r[:, None])  # S.T w = w x r
    inverse = np.einsum("nij,nj,nkj->nik", Q, 12.0 / (np.sum(edges**2, axis=1)[:, None] - edges**2), Q)
    slender = np.eye(3) + np.einsum("nij,njk,nlk->nil", S, inverse, S)
    K = np.where(rng.random(count)[:, None, None] < 0.5, slender, A @ A.transpose(0, 2, 1))
    K = K / np.trace(K, axis1=1, axis2=2)[:, None, None] + 0.03 * np.eye(3)
    v, mu, e = rng.normal(size=(count, 3)), rng.uniform(0.0, 2.0, count), rng.choice([0.0, 0.3, 0.7, 1.0], count)
    v[:, 2] = -np.abs(v[:, 2])
    wanted, jammed = impulses_by_small_steps(K, v, mu, e)
    assert jammed.sum() > 10
    problem, contacts = make_problem(1, 1), make_contacts(1)
    for k in range(count):
        problem.Lambda[3:, 3:], problem.v_free[3:] = K[k], v[k]
        problem.v_before[:] = problem.v_free
        pose(contacts, 0, (0, -1), (0, 0, 0), (0, 0, 1), problem, mu[k], e[k])
        after, system = solve("impacts", contacts, problem, 1, tolerance=1e-9)
        assert np.linalg.norm(contacts.impulse[0] - wanted[k]) <= 0.01 * np.linalg.norm(wanted[k])
        assert after[5] >= -1e-9 * np.linalg.norm(v[k])
        assert system.report[SWEEPS] == 1
        assert system.report[ENERGY] <= 1e-12 * np.linalg.norm(wanted[k]) * np.linalg.norm(v[k])


def impulses_by_small_steps(K, v, mu, e, parts=500):
    """Impulses of n collisions along z, and where sliding pressed deeper. In each small dp the impulse of friction is the
    one in its disk that leaves least energy, at the end of dp; Stronge's e."""
    count, u = len(v), v.copy()
    impulse, work, stored, jammed = np.zeros((count, 3)), np.zeros(count), np.zeros(count), np.zeros(count, dtype=bool)
    values, vectors = np.linalg.eigh(K[:, :2, :2])
    on = np.arange(count)
    while on.size:
        dp = (np.abs(v[on, 2]) + impulse[on, 2]) / parts
        at = np.einsum("nij,ni->nj", vectors[on], u[on, :2] + dp[:, None] * K[on, :2, 2])
        low, high = np.zeros(on.size), np.linalg.norm(at, axis=1) / mu[on]  # of a shift that brings it into the disk
        for _ in range(25):
            middle = 0.5 * (low + high)
            outside = np.linalg.norm(at / (dp[:, None] * values[on] + middle[:, None]), axis=1) > mu[on]
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        xi = np.ones((on.size, 3))
        xi[:, :2] = -np.einsum("nij,nj->ni", vectors[on], at / (dp[:, None] * values[on] + high[:, None]))
        rate, speed = np.einsum("nij,nj->ni", K[on], xi), u[on, 2]
        jammed[on] |= rate[:, 2] < 0.0
        compressed = (stored[on] == 0.0) & (speed + dp * rate[:, 2] >= 0.0)
        part = np.where(compressed, -speed / np.where(compressed, rate[:, 2], 1.0), dp)
        change = part * (speed + 0.5 * part * rate[:, 2])
        impulse[on] += part[:, None] * xi
        u[on] += part[:, None] * rate
        work[on] += change
        ends = ~compressed & (stored[on] < 0.0) & (work[on] >= (1.0 - e[on] ** 2) * stored[on])
        stored[on[compressed]] = work[on[compressed]]
        on = on[~ends & ~(compressed & (e[on] == 0.0))]
    return impulse, jammed
