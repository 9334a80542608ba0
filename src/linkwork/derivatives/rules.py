"""Rules of derivatives that other rooms add: of loops, of steps with equations of their own, of adaptive runs.

Those rooms stand above this one and import it; this one has their names alone. So a call for a derivative has all
rules, and without such a call they are not loaded.
"""

from __future__ import annotations

import importlib
from functools import cache

WHERE = (
    "linkwork.loops.gradients",
    "linkwork.simulation.backward",
    "linkwork.full.implicit_euler_gradients",
    "linkwork.adaptive.dynamics.gradients",
)


@cache
def load_rules() -> None:
    """After it all rules are known."""
    for module in WHERE:
        importlib.import_module(module)
