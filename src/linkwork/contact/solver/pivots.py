"""Whether the Delassus matrix is what it must be: symmetric and without a negative pivot."""

from linkwork.core.jit import routine

NEGATIVE = (
    1e-6  # of the largest response: a pivot below minus this is not rounding, which small pivots before it enlarge
)


@routine
def is_semidefinite(G, rows, M):
    """Whether L D Lᵀ = G has no negative pivot but for rounding; M, of rows² numbers, is scratch. NaN is refused.

    A response that is zero, or rounding, has rows that are: they are left out. Cost: rows³ / 6 products.
    """
    largest = 0.0
    for i in range(rows):
        if not G[i, i] >= 0.0:
            return False
        largest = max(largest, G[i, i])
    for i in range(rows):
        for j in range(i + 1):
            M[rows * i + j] = G[i, j]
            if not abs(G[i, j]) <= largest * (1.0 + NEGATIVE):
                return False
    for k in range(rows):
        pivot = M[rows * k + k]
        if not pivot >= -NEGATIVE * largest:
            return False
        if pivot <= NEGATIVE * largest:
            continue
        for i in range(k + 1, rows):
            factor = M[rows * i + k] / pivot
            if factor != 0.0:
                for j in range(k + 1, i + 1):
                    M[rows * i + j] -= factor * M[rows * j + k]
    return True
