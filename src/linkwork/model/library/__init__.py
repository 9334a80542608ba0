"""Models for users, tests and benchmarks alike; sizes are parameters, seeds make them repeatable."""

from collections.abc import Callable

from linkwork.model.library.ball_star import ball_star
from linkwork.model.library.chains import bicycle_chain, chain, coil, double_pendulum, pendulum, snake
from linkwork.model.library.compass_biped import compass_biped
from linkwork.model.library.four_bar import four_bar
from linkwork.model.library.humanoid import humanoid
from linkwork.model.library.millipede import millipede
from linkwork.model.library.molecule import molecule
from linkwork.model.library.random_trees import JOINT_KINDS, random_tree
from linkwork.model.library.rods import net, rod
from linkwork.model.library.trees import binary_tree, broom, caterpillar, star
from linkwork.model.linkage import Linkage

# Every builder by its name, for the command line; all of them can be called without arguments.
MODELS: dict[str, Callable[..., Linkage]] = {
    "pendulum": pendulum,
    "double_pendulum": double_pendulum,
    "chain": chain,
    "coil": coil,
    "snake": snake,
    "bicycle_chain": bicycle_chain,
    "star": star,
    "ball_star": ball_star,
    "broom": broom,
    "caterpillar": caterpillar,
    "binary_tree": binary_tree,
    "random_tree": random_tree,
    "millipede": millipede,
    "molecule": molecule,
    "humanoid": humanoid,
    "compass_biped": compass_biped,
    "four_bar": four_bar,
    "rod": rod,
    "net": net,
}

__all__ = [
    "JOINT_KINDS",
    "MODELS",
    "ball_star",
    "bicycle_chain",
    "binary_tree",
    "broom",
    "caterpillar",
    "chain",
    "coil",
    "compass_biped",
    "double_pendulum",
    "four_bar",
    "humanoid",
    "millipede",
    "molecule",
    "net",
    "pendulum",
    "random_tree",
    "rod",
    "snake",
    "star",
]
