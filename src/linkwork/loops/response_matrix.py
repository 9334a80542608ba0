"""J M⁻¹ Jᵀ over pairs of bodies by path queries: how bodies at the ends of loops answer wrenches on each other."""

from linkwork.core.jit import kernel
from linkwork.dynamics.path_queries import climb, descend, times_block
from linkwork.spatial.vectors import ZERO6


@kernel
def response_matrix(nodes, block, tree, hinge, coef, freedom, quiet, answer, leaves, way, path, change, out):
    """Acceleration of body r for unit wrenches on body c, for all pairs: out (6 m, 6 m), symmetric.

    leaves (m,): BODY nodes; -1 is the world, whose rows and columns stay zero. One climb a column, one descent a pair:
    O(m² log n).
    """
    out[:] = 0.0
    for c in range(leaves.shape[0]):
        if leaves[c] < 0:
            continue
        for x in range(6):
            wrench = (
                1.0 if x == 0 else 0.0,
                1.0 if x == 1 else 0.0,
                1.0 if x == 2 else 0.0,
                1.0 if x == 3 else 0.0,
                1.0 if x == 4 else 0.0,
                1.0 if x == 5 else 0.0,
            )
            b = times_block(coef, block[leaves[c]], wrench)
            count = climb(nodes, block, tree, hinge, coef, freedom, quiet, answer, leaves[c], b, path, change)
            for r in range(c + 1):
                if leaves[r] >= 0:
                    a = descend(
                        nodes, block, tree, hinge, coef, freedom, quiet, answer, ZERO6, False, leaves[r], way, path,
                        change, count,
                    )  # fmt: skip
                    for y in range(6):
                        out[6 * r + y, 6 * c + x] = a[y]
                        out[6 * c + x, 6 * r + y] = a[y]
