"""The methods of scenes: what `method.kind` may be. A new one is one file with a `Method`, and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from linkwork.scene.methods.adaptive import ADAPTIVE
from linkwork.scene.methods.full import FULL
from linkwork.scene.methods.method import Found, Method, Options
from linkwork.scene.methods.molecule import MOLECULES
from linkwork.scene.methods.quasi_statics import QUASI_STATICS
from linkwork.scene.methods.walker import WALKER

METHODS: Mapping[str, Method] = {method.name: method for method in (QUASI_STATICS, FULL, ADAPTIVE, WALKER, MOLECULES)}

__all__ = ["METHODS", "Found", "Method", "Options"]
