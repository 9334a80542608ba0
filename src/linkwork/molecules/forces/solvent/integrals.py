"""How much of the solvent around atom i atom j displaces: the pair integrals I_ij of Hawkins, Cramer and Truhlar (1996).

With ρ̃ of atom i, s of atom j, U = r + s and L = max(ρ̃, |r - s|)

    I = 1/L - 1/U + ¼ (r - s²/r) (1/U² - 1/L²) + ln(L/U) / 2r                                                         (1)
    dI/dr = ¼ (1 + s²/r²) (1/U² - 1/L²) - ln(L/U) / 2r²                                                               (2)

In (2) everything that comes from the limits L and U cancels. Where the spheres are apart (L = r - s), with x = s/r,

    I = (1/r) (x/(1 - x²) - artanh x) = s³/r⁴ Σ_k 2k/(2k + 1) x^(2k-2)                                                (3)

Only even powers of r occur: neither root nor logarithm. The sum is replaced by a polynomial g of degree 8 in z = x²,
near the best for 0 ≤ z ≤ 0.3 (1e-9), and the slope is that of the polynomial, so that forces are the slope of the energy:

    (dI/dr) / r = -2 s³/r⁶ (2 g + z g')                                                                               (4)
"""

import math

from linkwork.core.jit import inlined

SERIES_HOLDS = 0.3  # largest z
G = (
    0.666666667253484,
    0.799999676106133,
    0.8571719383462673,
    0.8878954243039301,
    0.9258642773304344,
    0.7667944615483765,
    1.7655834027853259,
    -1.5129366164820017,
    4.377248575452357,
)
H = tuple((2.0 + m) * g for m, g in enumerate(G))  # 2 g + z g'
# A neck has the shape 1/(1 + 100 d² + 3e5 d⁶), d in nm from its place; with lengths in units of 3e5^(-1/6) nm that is
# 1/(1 + NEAR d² + d⁶)
NECK_UNIT = 3e5 ** (1.0 / 6.0)  # [nm⁻¹]
NECK_NEAR = 100.0 / NECK_UNIT**2


@inlined
def polynomial(c, z):
    """Σ c_m z^m up to the eighth power."""
    high = c[4] + z * (c[5] + z * (c[6] + z * (c[7] + c[8] * z)))
    return c[0] + z * (c[1] + z * (c[2] + z * (c[3] + z * high)))


@inlined
def apart(s, r):
    """I and dI/dr of one pair by the series: spheres well apart."""
    inverse2 = 1.0 / (r * r)
    z, scale = s * s * inverse2, s * s * s * inverse2 * inverse2
    return scale * polynomial(G, z), -2.0 * scale * (r * inverse2) * polynomial(H, z)


@inlined
def integral(offset, s, r, engulfs):
    """I and dI/dr of one pair by (1) and (2), at any distance.

    engulfs: 1 where an atom inside another one's sphere loses all of its own surface (OpenMM's native OBC force), else 0.
    """
    U = r + s
    if not offset < U:
        return 0.0, 0.0
    L = max(offset, abs(r - s))
    u, low, inverse = 1.0 / U, 1.0 / L, 1.0 / r
    log, squares, x = 0.5 * inverse * math.log(L * u), 0.25 * (u * u - low * low), s * inverse
    value = low - u + r * (1.0 - x * x) * squares + log
    slope = (1.0 + x * x) * squares - log * inverse
    if offset < s - r:
        if engulfs != 0.0:
            value += 2.0 * (1.0 / offset - low)
        else:
            slope += 2.0 * low * low  # here L = s - r falls with r, and its part does not cancel
    return value, slope


@inlined
def neck(depth, place, r):
    """What the neck between two atoms adds (Mongan et al. 2007), and its slope. place: in units of necks."""
    d = NECK_UNIT * r - place
    d2 = d * d
    inverse = 1.0 / (1.0 + d2 * (NECK_NEAR + d2 * d2))
    return depth * inverse, -NECK_UNIT * depth * inverse * inverse * d * (2.0 * NECK_NEAR + 6.0 * d2 * d2)
