"""The elimination of a tree as entries from Python: in the product it is a part of the kernels of contact."""

from linkwork.core.jit import kernel
from linkwork.dynamics.tree_couplings import add_coupling, clear_couplings, couple, order_least_coupled
from linkwork.dynamics.tree_elimination import factor_leaf_to_root, own_responses_root_to_leaf, solve_tree
from linkwork.spatial.memory import load_block


@kernel
def factor_and_solve(tree, F):
    """`factor_leaf_to_root` and `solve_tree` as an entry from Python."""
    good = factor_leaf_to_root(tree, F)
    solve_tree(tree, F)
    own_responses_root_to_leaf(tree, F)
    return good


@kernel
def factor_coupled(tree, F, pairs, blocks):
    """The same with couplings: bodies (c, 2), wrench on the first per twist of the second and the reverse (c, 72)."""
    clear_couplings(F)
    for k in range(pairs.shape[0]):
        couple(F, pairs[k, 0], pairs[k, 1])
    order_least_coupled(tree, F)
    clear_couplings(F)
    for k in range(pairs.shape[0]):
        add_coupling(F, pairs[k, 0], pairs[k, 1], load_block(blocks, k, 0), load_block(blocks, k, 36))
    good = factor_leaf_to_root(tree, F)
    solve_tree(tree, F)
    return good
