"""Part: from a thousand joints to a million. The cost of a joint should stay what it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.demo_parts.setup import Panel, Setup, best_time
from linkwork.cli.screen import count, seconds, table, working
from linkwork.core.arrays import frozen
from linkwork.model import layout
from linkwork.model.model import ModelArrays

TITLE = "forward dynamics of chains, 1,000 to 1,000,000 joints"
SAYS = "A joint takes as long in a chain of a million as in one of a thousand."

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (100, 1_000)
LONG_ENOUGH = 200_000  # joints: timed over fewer calls
FEW, MANY = 3, 10


def show(setup: Setup) -> list[Panel]:
    short = lw.library.chain(joints=QUICK_SIZES[0]).compile()
    sizes = QUICK_SIZES if setup.quick else SIZES
    costs = []
    for joints in sizes:
        with working(f"{count(joints)} joints"):
            costs.append(_cost(stretched(short, joints)))
    rows = [(count(joints), seconds(cost), seconds(cost / joints)) for joints, cost in zip(sizes, costs, strict=True)]
    setup.screen.print(table("", ("joints", "all accelerations", "per joint"), rows, left=0))
    return [Panel("aba, cost of a joint", _drawing(np.array(sizes), np.array(costs)))]


def _cost(model: lw.Model) -> float:
    """Time of all accelerations in a slightly bent chain that moves [s]."""
    rng = np.random.default_rng(1)
    state = lw.State(rng.uniform(-0.1, 0.1, model.nq), rng.normal(scale=0.01, size=model.nv))
    return best_time(lambda: lw.forward_dynamics(model, state), FEW if model.nv > LONG_ENOUGH else MANY)


def stretched(model: lw.Model, joints: int) -> lw.Model:
    """A longer chain made of the links of a short one, over and over.

    Compiling a million bodies one by one takes longer than this part of the demo may; their rows are known beforehand.
    """
    row = np.arange(joints)
    link = np.where(row < model.n_bodies, row, 1 + (row - 1) % (model.n_bodies - 1))
    tree = model.arrays.tree[link].copy()
    tree[:, layout.PARENT] = row - 1
    tree[:, layout.Q] = tree[:, layout.V] = row
    arrays = ModelArrays(
        tree,
        model.arrays.body[link].copy(),
        model.arrays.screws,
        model.arrays.dof[link].copy(),
        model.arrays.rest[link].copy(),
        model.arrays.gravity,
    )
    for array in arrays:
        frozen(array)  # as a compiled model has them: the same kernel serves
    names = tuple(f"link_{i}" for i in range(joints))
    return replace(
        model,
        arrays=arrays,
        body_names=names,
        joint_names=names,
        joints=tuple(model.joints[i] for i in link.tolist()),
        shapes=(),
        lower=model.lower[link],
        upper=model.upper[link],
        effort_limit=model.effort_limit[link],
        velocity_limit=model.velocity_limit[link],
    )


def _drawing(sizes: Any, costs: Any) -> Any:
    def draw(axes: Any) -> None:
        nanoseconds = costs / sizes * 1e9
        axes.semilogx(sizes, nanoseconds, "o-", color=(0.1, 0.3, 0.6))
        axes.set_ylim(0, 1.4 * nanoseconds.max())
        axes.set_xlabel("joints")
        axes.set_ylabel("time per joint [ns]")
        axes.grid(True, alpha=0.3)

    return draw
