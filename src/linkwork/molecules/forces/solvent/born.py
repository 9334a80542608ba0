"""Born radii from sums of pair integrals (Onufriev, Bashford and Case 2004), and the chain rule back.

    ψ = ½ ρ̃ Σ I,   1/B = 1/ρ̃ - tanh(α ψ - β ψ² + γ ψ³) / ρ
    dB/dΣI = ½ ρ̃ B² (1 - tanh²) (α - 2 β ψ + 3 γ ψ²) / ρ

Every atom has the energy -q²/2B of its own charge and that of its surface, 4π γ (ρ + 0.14 nm)² (ρ/B)⁶.
"""

import math

from linkwork.core.jit import routine
from linkwork.molecules.forces.solvent.tables import ALPHA, BETA, CHANGING, CHARGE, GAMMA, OFFSET, RADIUS, SURFACE


@routine
def radius_of(solvent, own, p, i):
    """Writes B, 1/B, dB/dΣI and ∂E/∂B of one atom by itself; returns its energy."""
    parameters = solvent.parameters
    offset, radius = parameters[OFFSET * p + i], parameters[RADIUS * p + i]
    a, b, c = parameters[ALPHA * p + i], parameters[BETA * p + i], parameters[GAMMA * p + i]
    psi = 0.5 * offset * own.sum[i]
    t = math.tanh(psi * (a - psi * (b - psi * c)))
    inverse = 1.0 / offset - t / radius
    B = 1.0 / inverse
    own.born[i] = B
    own.inverse[i] = inverse
    own.chain[i] = 0.5 * offset * B * B * (1.0 - t * t) * (a - psi * (2.0 * b - 3.0 * c * psi)) / radius
    charge = parameters[CHARGE * p + i]
    own_charge = 0.5 * charge * charge * inverse
    surface = parameters[SURFACE * p + i] * inverse**6
    own.pull[i] = (own_charge - 6.0 * surface) * inverse
    return surface - own_charge


@routine
def find_radii(work, solvent, own):
    """Born radii of the atoms whose radius can change; returns the energy of their own charges and surfaces."""
    p = work.cluster.shape[0]
    energy = 0.0
    for c in range(own.counters[CHANGING]):
        energy += radius_of(solvent, own, p, own.changing[c])
    return energy


@routine
def pass_on(own):
    """∂E/∂B → ∂E/∂ΣI for the same atoms."""
    for c in range(own.counters[CHANGING]):
        own.pull[own.changing[c]] *= own.chain[own.changing[c]]
