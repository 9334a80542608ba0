"""Finding when something happens inside a step."""

from __future__ import annotations

from collections.abc import Callable

MOST = 100  # bisection alone would need 60


def find_root(f: Callable[[float], float], a: float, b: float, fa: float, fb: float) -> float:
    """The argument in [a, b] at which f is zero, f(a) and f(b) of different sign, to the last digits.

    False position with the Illinois rule: it keeps the root bracketed and converges faster than linearly.
    """
    if fa == 0.0:
        return a
    if fb == 0.0:
        return b
    best, smallest = (a, abs(fa)) if abs(fa) < abs(fb) else (b, abs(fb))
    side = 0
    for _ in range(MOST):
        x = (fa * b - fb * a) / (fa - fb)
        if not min(a, b) < x < max(a, b):
            break  # the bracket is as small as doubles allow
        fx = f(x)
        if abs(fx) < smallest:
            best, smallest = x, abs(fx)
        if fx == 0.0:
            break
        if (fx > 0.0) == (fb > 0.0):
            b, fb = x, fx
            if side < 0:
                fa *= 0.5
            side = -1
        else:
            a, fa = x, fx
            if side > 0:
                fb *= 0.5
            side = 1
    return best
