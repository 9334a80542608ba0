"""The mass matrix by unit vectors (Walker and Orin 1982, method 1): column j is the effort of a unit acceleration."""

from linkwork.core.jit import kernel
from linkwork.dynamics.rnea import rnea


@kernel
def unit_vector_columns(arrays, q, still, unit, no_wrenches, work, S, M):
    """Writes M (nv, nv), row by row, by inverse dynamics at rest without gravity. `unit` comes and goes as zeros.

    arrays: of the model, without gravity, and of its joints armature only: springs and dampers belong to the bias.
    """
    tree, body, screws, dof, rest, gravity = arrays
    for j in range(M.shape[0]):
        unit[j] = 1.0
        rnea(tree, body, screws, dof, rest, gravity, q, still, unit, no_wrenches, work, S, M[j])
        unit[j] = 0.0
