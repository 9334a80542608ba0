"""Runs every kernel of Linkwork on small mechanisms and keeps what came out. As a script: `every_kernel.py OUT [part ...]`.

Tests run the script in processes of their own, with bounds checking or for another processor, and compare. One body of
every joint kind in two trees, with all options and welds kept, so that every branch that depends on the joint is taken.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.core import jit
from tests.helpers.kernel_parts import algorithms, simulations

PARTS: dict[str, Callable[[np.random.Generator], Iterator[tuple[str, Any]]]] = {
    part.__name__: part
    for part in (
        algorithms.vector_algorithms,
        algorithms.full_algorithms,
        algorithms.kinematics,
        algorithms.reaching,
        algorithms.derivatives,
        algorithms.single_joints,
        algorithms.path_queries,
        algorithms.closed_chains,
        algorithms.rerooting,
        simulations.quasi_statics,
        simulations.steps_in_time,
        simulations.one_full_step,
        simulations.environments,
        simulations.full_dynamics,
        simulations.adaptive_dynamics,
        simulations.fields_and_thermostats,
        simulations.force_feedback,
        algorithms.statics_and_digits,
        simulations.touching_bodies,
        algorithms.molecules,
    )
}


def results(parts: list[str] | None = None) -> dict[str, Any]:
    """What each part computes, as lists of numbers by name."""
    found: dict[str, Any] = {}
    for name in parts or list(PARTS):
        found |= {key: np.asarray(x).tolist() for key, x in PARTS[name](np.random.default_rng(7))}
    return found


def never_compiled() -> list[str]:
    """Kernels of the package, in whatever module, that have not been compiled in this process."""
    for module in pkgutil.walk_packages(lw.__path__, "linkwork."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [f"{k.__module__}.{k.__name__}" for k in jit.kernels if not k.signatures]


def write(path: str, parts: list[str]) -> None:
    """What the parts compute, into a file; with all of them also which kernels none of them calls."""
    from numba.core import config

    found = {
        "results": results(parts),
        "settings": {
            "bounds checked": bool(config.BOUNDSCHECK),
            "cpu": config.CPU_NAME,
            "features": config.CPU_FEATURES,
        },
        "never compiled": [] if parts else never_compiled(),
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:])
