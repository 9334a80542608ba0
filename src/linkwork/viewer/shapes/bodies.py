"""The tree of bodies, with search: as a list in the panel, and what is known of the body that was chosen."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable
from typing import Any

from linkwork.core.arrays import IntArray
from linkwork.model.model import Model

MOST_LINES = 60  # of the tree; more are counted, and found by search
MOST_CHOICES = 200
NONE = "(none)"


def tree_lines(model: Model, pattern: str = "", most: int = MOST_LINES) -> tuple[list[tuple[int, str]], int]:
    """Bodies whose name contains `pattern`, as (depth, name) with parents first, and how many more there are.

    The depth counts branches above a body, not links: a chain stays in one column.
    """
    wanted = pattern.strip().casefold()
    found: list[tuple[int, str]] = []
    more = 0
    depth: list[int] = []
    parents = model.parent.tolist()
    children = Counter(parents)
    for i, above in enumerate(parents):
        depth.append(0 if above < 0 else depth[above] + (children[above] > 1))
        if wanted in model.body_names[i].casefold():
            if len(found) < most:
                found.append((depth[i], model.body_names[i]))
            else:
                more += 1
    return found, more


def tree_html(model: Model, pattern: str = "") -> str:
    """The tree as indented lines."""
    found, more = tree_lines(model, pattern)
    rows = [
        f'<div style="padding-left:{min(depth, 12) * 0.8:.1f}em;white-space:nowrap">{html.escape(name)}</div>'
        for depth, name in found
    ]
    if more:
        rows.append(f"<div><i>and {more:,} more; search for their names</i></div>")
    if not rows:
        rows.append("<div><i>no body has this in its name</i></div>")
    style = "font-size:0.8em;max-height:14em;overflow:auto;padding:0 1em"
    return f'<div style="{style}">{"".join(rows)}</div>'


class BodyList:
    """Search, the tree below it, and a list of what was found to choose from."""

    def __init__(self, gui: Any, model: Model, choose: Callable[[int], None]):
        self._model, self._choose = model, choose
        self._is_describing = False
        with gui.add_folder("Bodies", expand_by_default=False):
            self._search = gui.add_text("Search", "")
            self._list = gui.add_dropdown("Selected", self._names(""), initial_value=NONE)
            self._about = gui.add_markdown("Click a body, or choose one here.")
            self._tree = gui.add_html(tree_html(model))
        self._search.on_update(self._searched)
        self._list.on_update(self._picked)

    def show_model(self, model: Model) -> None:
        """Lists the bodies of another model."""
        self._model = model
        self._searched(None)

    def _names(self, pattern: str) -> list[str]:
        return [NONE, *(name for _, name in tree_lines(self._model, pattern, MOST_CHOICES)[0])]

    def _searched(self, event: Any) -> None:
        self._tree.content = tree_html(self._model, self._search.value)
        names = self._names(self._search.value)
        keep = self._list.value if self._list.value in names else NONE
        self._list.options = tuple(names)
        self._list.value = keep

    def _picked(self, event: Any) -> None:
        if not self._is_describing and self._list.value in self._list.options:
            self._choose(-1 if self._list.value == NONE else self._model.body(self._list.value))

    def describe(self, body: int) -> None:
        """Says what the chosen body is."""
        self._is_describing = True
        try:
            name = NONE if body < 0 else self._model.body_names[body]
            if name not in self._list.options:
                self._list.options = (*self._list.options, name)
            self._list.value = name
            self._about.content = "Click a body, or choose one here." if body < 0 else about(self._model, body)
        finally:
            self._is_describing = False


def about(model: Model, body: int) -> str:
    """What is known of a body, in a few lines of Markdown."""
    parent = int(model.parent[body])
    below: IntArray = (model.parent == body).nonzero()[0]
    above = "the world" if parent < 0 else f"`{model.body_names[parent]}`"
    kind = type(model.joints[body]).__name__
    return (
        f"**`{model.body_names[body]}`** (body {body})  \n{kind} joint `{model.joint_names[body]}` to {above}  \n"
        f"mass {model.mass[body]:.4g} kg, {len(below)} bodies hang from it"
    )
