"""The assembly tree for people: a drawing in text for small linkages, a summary for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, SUM
from linkwork.assembly.plan import Assembly

LARGEST_DRAWING = 60  # bodies; some 150 lines

KINDS = {BODY: "body", JOIN: "join", HANG: "hang", SUM: "sum"}


def summarize_assembly(assembly: Assembly) -> dict[str, Any]:
    """Nodes by kind, depth, and the proven bound 5.1 log2(n) + 6 on it (docs/theory/dca.md, section 6), as plain values."""
    kinds = assembly.nodes[:, NODE_KIND]
    bodies = assembly.leaf.size
    return {
        "bodies": bodies,
        "nodes": {name: int(np.count_nonzero(kinds == kind)) for kind, name in KINDS.items()},
        "depth": assembly.depth,
        "bound": math.floor(5.1 * math.log2(bodies) + 6.0) if bodies else 0,
    }


def draw_assembly(assembly: Assembly, body_names: Sequence[str], joint_names: Sequence[str]) -> str:
    """The assembly tree, root first, one node per line; only its summary beyond `LARGEST_DRAWING` bodies.

    A `join` names the joint that joins the cluster above it to the one below, a `hang` the joint that a finished path hangs
    by, a `sum` adds branches, and a `body` stands above the branches it carries.
    """
    facts = summarize_assembly(assembly)
    count = sum(facts["nodes"].values())
    kinds = ", ".join(f"{number:,} {name}" for name, number in facts["nodes"].items())
    lines = [f"{count:,} nodes ({kinds}), depth {facts['depth']} (at most {facts['bound']})"]
    if facts["bodies"] > LARGEST_DRAWING:
        return f"{lines[0]}\nlinkages of at most {LARGEST_DRAWING} bodies are drawn"
    if count:
        lines += ["world", *_lines_below(assembly, body_names, joint_names)]
    return "\n".join(lines)


def _lines_below(assembly: Assembly, body_names: Sequence[str], joint_names: Sequence[str]) -> list[str]:
    lines = []
    stack = [(assembly.root, "", True)]  # node, indentation, whether it is the last child
    while stack:
        node, indent, is_last = stack.pop()
        lines.append(f"{indent}{'└─ ' if is_last else '├─ '}{_label(assembly, node, body_names, joint_names)}")
        children = [child for child in assembly.nodes[node, [LEFT, RIGHT]].tolist() if child >= 0]
        below = indent + ("   " if is_last else "│  ")
        stack += [(child, below, child == children[-1]) for child in reversed(children)]
    return lines


def _label(assembly: Assembly, node: int, body_names: Sequence[str], joint_names: Sequence[str]) -> str:
    kind, index = assembly.nodes[node, [NODE_KIND, INDEX]].tolist()
    if kind == BODY:
        return f"body {body_names[index]}"
    if kind == SUM:
        return "sum"
    return f"{KINDS[kind]} at {joint_names[index]}"
