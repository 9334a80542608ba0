"""A x = b where only products with A are at hand, and something like its inverse: GMRES (Saad and Schultz 1986)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.core.arrays import FloatArray

Product = Callable[[FloatArray], FloatArray]

TOLERANCE = 1e-13  # residual, as a part of the right side
MOST = 150  # products


def solve_by_products(product: Product, about_inverse: Product, right: FloatArray) -> tuple[FloatArray, float]:
    """x, and the residual |b - A x| / |b| that was reached; about_inverse: x ≈ A⁻¹ b, the better the fewer products."""
    size = float(np.linalg.norm(right))
    if size == 0.0:
        return np.zeros_like(right), 0.0
    x, left = np.zeros_like(right), right.copy()
    reached, used = 1.0, 0
    while reached > TOLERANCE and used < MOST:
        basis, images, upper = [left / np.linalg.norm(left)], [], np.zeros((0, 0))
        best = reached
        while used < MOST:
            used += 1
            images.append(about_inverse(basis[-1]))
            w = product(images[-1])
            k = len(images)
            grown = np.zeros((k + 1, k))
            grown[: upper.shape[0], : upper.shape[1]] = upper
            for i, b in enumerate(basis):
                grown[i, k - 1] = b @ w
                w = w - grown[i, k - 1] * b
            grown[k, k - 1] = np.linalg.norm(w)
            upper = grown
            rhs = np.zeros(k + 1)
            rhs[0] = np.linalg.norm(left)
            y, *_ = np.linalg.lstsq(upper, rhs, rcond=None)
            missed = float(np.linalg.norm(upper @ y - rhs)) / size
            if missed <= TOLERANCE or not upper[k, k - 1] > 1e-14 * np.abs(upper).max():
                break
            basis.append(w / upper[k, k - 1])
        x = x + sum(c * z for c, z in zip(y, images, strict=True))
        left = right - product(x)
        reached = float(np.linalg.norm(left)) / size
        if not reached < 0.5 * best:  # rounding
            break
    return x, reached
