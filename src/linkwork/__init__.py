"""Linkwork: rigid-body linkages with very many joints. Computes the joints that matter, with a bound on the error.

`import linkwork as lw` defines names and does nothing else; what stands behind a name is loaded when it is first asked for.
The names, and where each stands, are written down once, in `__init__.pyi`, which type checkers read as well.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.2.0"


def _places() -> dict[str, tuple[str, str]]:
    """Module and name in it for each public name, as `__init__.pyi` imports them."""
    source = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom))
    return {one.asname or one.name: (node.module or "", one.name) for node in imports for one in node.names}


_PLACES = _places()
__all__ = sorted(_PLACES)


def __dir__() -> list[str]:
    """The public names, those that are loaded on first use included."""
    return sorted({*__all__, "__version__", "__doc__", "__file__", "__name__", "__path__"})


def __getattr__(name: str) -> Any:
    """A name that is asked for the first time."""
    if name not in _PLACES:
        raise AttributeError(f"module 'linkwork' has no attribute {name!r}")
    module, inner = _PLACES[name]
    if module == "linkwork":
        found: Any = importlib.import_module(f"linkwork.{inner}")
    else:
        owner = importlib.import_module(module)
        found = getattr(owner, inner) if hasattr(owner, inner) else importlib.import_module(f"{module}.{inner}")
    globals()[name] = found
    return found
