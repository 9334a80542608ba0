"""One contact alone: Coulomb's law holds, also where sliding would press it deeper (Painlevé)."""

import math

import numpy as np
import pytest

from linkwork.simulation.contact_step.sweeps.one_by_one import solve_single

CASES = 2000


def law_is_off(K, q, mu, impulse):
    """How far an impulse is from Coulomb's law, as a speed."""
    u = q + K @ impulse
    n, friction = impulse[0], impulse[1:]
    if n == 0.0:
        return max(0.0, -u[0]) + math.hypot(*friction)
    size = math.hypot(*friction)
    off = abs(u[0]) + max(0.0, size - mu * n)
    if mu == 0.0:
        return off
    if size < mu * n * (1.0 - 1e-9):
        return off + math.hypot(u[1], u[2])
    c = friction / size
    return off + abs(c[0] * u[2] - c[1] * u[1]) + max(0.0, c @ u[1:])


def test_every_contact_alone_has_a_solution():
    rng = np.random.default_rng(7)
    presses_itself = 0
    for k in range(CASES):
        A = rng.normal(size=(3, 3)) * np.exp(rng.normal(size=3))
        K, mu, q = A @ A.T + 0.05 * np.eye(3), rng.uniform(0.0, 2.0), rng.normal(size=3)
        before = tuple(rng.normal(size=2)) if k % 2 else (0.0, 0.0)
        impulse = np.array(solve_single(mu, 2, (*K[0], *K[1, 1:], K[2, 2]), tuple(q), before))
        assert law_is_off(K, q, mu, impulse) <= 1e-6 * (np.abs(q).max() + np.abs(K @ impulse).max())
        slip = q[1:] / math.hypot(q[1], q[2])
        presses_itself += q[0] < 0.0 and K[0, 0] - mu * K[0, 1:] @ slip < 0.0
    assert presses_itself > CASES // 100  # these are among them


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_a_contact_that_moves_along_one_tangent_alone(mu):
    rng = np.random.default_rng(8)
    for _ in range(CASES):
        A = rng.normal(size=(2, 2))
        K, q = np.zeros((3, 3)), np.array([*rng.normal(size=2), 0.0])
        K[:2, :2] = A @ A.T + 0.05 * np.eye(2)
        impulse = np.array(solve_single(mu, 1, (K[0, 0], K[0, 1], 0.0, K[1, 1], 0.0, 0.0), tuple(q), (0.0, 0.0)))
        assert law_is_off(K, q, mu, impulse) <= 1e-6 * (np.abs(q).max() + np.abs(K @ impulse).max())


def test_a_contact_of_one_freedom_jams():
    """K of rank one: what stops it is the least impulse of those that do."""
    k = np.array([1.0, -2.0])
    n, a, b = solve_single(0.9, 1, (1.0, -2.0, 0.0, 4.0, 0.0, 0.0), (-1.0, 2.0, 0.0), (0.0, 0.0))
    assert abs(k @ (n, a) - 1.0) < 1e-9
    assert abs(a) <= 0.9 * n
    assert b == 0.0
