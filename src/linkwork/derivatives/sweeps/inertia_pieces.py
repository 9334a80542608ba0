"""Gradients with respect to the ten numbers of a rigid inertia."""

from linkwork.core.jit import inlined
from linkwork.spatial.rotations import cross3, sub3
from linkwork.spatial.vectors import angular, linear


@inlined
def bilinear(x, y):
    """Gradient of x · I y with respect to (m, h, I)."""
    u, a = angular(x), linear(x)
    w, b = angular(y), linear(y)
    h = sub3(cross3(b, u), cross3(w, a))  # u · (h x b) - a · (h x w)
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
        h[0],
        h[1],
        h[2],
        u[0] * w[0],
        u[0] * w[1] + u[1] * w[0],
        u[0] * w[2] + u[2] * w[0],
        u[1] * w[1],
        u[1] * w[2] + u[2] * w[1],
        u[2] * w[2],
    )


@inlined
def bilinear10(sign, w, a, bent, twist):
    """Gradient of sign · (w · I a - (V x w) · I V)."""
    x = bilinear(w, a)
    y = bilinear(bent, twist)
    return (
        sign * (x[0] - y[0]),
        sign * (x[1] - y[1]),
        sign * (x[2] - y[2]),
        sign * (x[3] - y[3]),
        sign * (x[4] - y[4]),
        sign * (x[5] - y[5]),
        sign * (x[6] - y[6]),
        sign * (x[7] - y[7]),
        sign * (x[8] - y[8]),
        sign * (x[9] - y[9]),
    )
