"""Draws docs/pictures/cluster_handles.svg and hybrid_body.svg from real plans: python docs/make_theory_drawings.py

Lines and letters have colours that read on white and on black; letters are large enough for the width of a phone.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import linkwork as lw
from linkwork.assembly.node_table import BODY, INDEX, LEFT, NODE_KIND, RIGHT
from linkwork.assembly.plan import assemble

PICTURES = Path(__file__).parent / "pictures"
INK, QUIET, BLUE, GREEN, RED, ORANGE = "#7a7f87", "#a9afb8", "#4c78a8", "#54a24b", "#e45756", "#f58518"
RIM, BEND = 8, 13
FONT = 'font-family="sans-serif" font-size="15" text-anchor="middle"'
ARROW = (
    f'<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
    f'<path d="M0 0 8 4 0 8z" fill="{RED}"/></marker></defs>'
)


def text(x: float, y: float, words: str, color: str = INK, size: int = 15, anchor: str = "middle") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def link(x: float, y: float, u: float, v: float, color: str, width: float = 16) -> str:
    """A body, from joint to joint."""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}" stroke="{color}" stroke-width="{width}" '
        'stroke-linecap="round"/>'
    )


def joint(x: float, y: float, color: str = "#fff", radius: float = 5) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}" stroke="{INK}" stroke-width="2"/>'


def arrow(x: float, y: float, u: float, v: float) -> str:
    return (
        f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{u:.0f}" y2="{v:.0f}" stroke="{RED}" stroke-width="3" '
        'marker-end="url(#tip)"/>'
    )


def page(wide: float, high: float, title: str, *parts: str) -> str:
    body = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" {FONT}><title>{title}</title>'
        f"{ARROW}{body}</svg>\n"
    )


def cluster_with_handles() -> str:
    """A path of six bodies with a branch; bodies 3 to 5 and the branch are the cluster."""
    path = [(18, 64), (72, 84), (126, 72), (188, 92), (248, 76), (308, 92), (366, 78)]
    branch = [(217, 86), (222, 128), (246, 160)]
    inside = range(2, 5)
    ends = list(pairwise(path))
    hull = (
        f'<path d="M126 48H308q26 34 0 62l-44 76h-58L126 110q-28-32 0-62z" fill="{BLUE}" fill-opacity=".16" '
        f'stroke="{BLUE}" stroke-width="2" stroke-dasharray="6 5"/>'
    )
    bodies = [link(*a, *b, BLUE if k in inside else QUIET) for k, (a, b) in enumerate(ends)]
    bodies += [link(*a, *b, BLUE, 13) for a, b in pairwise(branch)]
    joints = [joint(x, y) for x, y in [*path[:-1], branch[0], branch[1]]]
    return page(
        384, 224, "A cluster of a linkage and its two handles", hull, *bodies, *joints,
        arrow(112, 22, 136, 62), text(98, 24, "f1", RED, 17), text(150, 30, "handle 1", INK, 15, "start"),
        arrow(326, 40, 296, 78), text(342, 38, "f2", RED, 17), text(372, 124, "handle 2", INK, 15, "end"),
        text(60, 118, "to the parent", INK, 14), text(235, 208, "what hangs from its bodies belongs to it", INK, 14),
    )  # fmt: skip


def hybrid_body(active_levels: int = 2) -> str:
    """The assembly tree of a chain: its top is open, what lies below the frontier is rigid; and the linkage under it."""
    plan = assemble(lw.library.chain(8).compile().parent)
    nodes, step, level = plan.nodes, 46, 48
    place: dict[int, tuple[float, float]] = {}
    opened: set[int] = set()
    frontier: dict[int, list[int]] = {}
    leaves: list[int] = []

    def put(node: int, depth: int, above: int | None) -> None:
        below = [int(c) for c in nodes[node, [LEFT, RIGHT]] if c >= 0]
        is_body = int(nodes[node, NODE_KIND]) == BODY
        top = above
        if above is None and (is_body or not wanted(node, depth)):
            frontier[node] = []
            top = node
        elif above is None:
            opened.add(node)
        for child in below:
            put(child, depth + 1, top)
        if is_body:
            place[node] = (step * (len(leaves) + 0.6) + RIM, level * (depth + 0.5))
            leaves.append(node)
            frontier[node if top is None else top].append(len(leaves) - 1)
        else:
            place[node] = (sum(place[c][0] for c in below) / len(below), level * (depth + 0.5))

    def wanted(node: int, depth: int) -> bool:
        """The joints of the first levels, and further down only in the left half, as under a load there."""
        return depth <= active_levels - 1 or (depth == active_levels and int(nodes[node, INDEX]) < 4)

    put(plan.root, 0, None)
    lines, marks = [], []
    hidden = {node for node in place if node not in opened and node not in frontier}
    for node, (x, y) in place.items():
        for child in (int(c) for c in nodes[node, [LEFT, RIGHT]] if c >= 0):
            dash = ' stroke-dasharray="3 4"' if child in hidden else ""
            u, v = place[child]
            lines.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}"{dash}/>')
        label = f"{'b' if int(nodes[node, NODE_KIND]) == BODY else 'j'}{int(nodes[node, INDEX]) + 1}"
        fill = ORANGE if node in opened else BLUE if node in frontier else QUIET
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="14" fill="{fill}"/>{text(x, y + 5, label, "#fff", 13)}')
    floor = max(y for _, y in place.values()) + 66
    chain, joints = [], []
    open_joints = {int(nodes[node, INDEX]) for node in opened}
    for turn, members in enumerate(frontier.values()):
        heights = (floor + BEND, floor - BEND) if turn % 2 else (floor - BEND, floor + BEND)
        first, count = members[0], len(members)
        x, u = (step * (k + 0.1) + RIM for k in (first, first + count))
        chain.append(link(x, heights[0], u, heights[1], BLUE))
        for k in members:
            y = heights[0] + (heights[1] - heights[0]) * (k - first) / count
            is_open = k in open_joints
            joints.append(joint(step * (k + 0.1) + RIM, y, ORANGE if is_open else QUIET, 8 if is_open else 3.5))
    wide = step * (len(leaves) + 0.1) + 2 * RIM
    return page(
        wide, floor + 52, "A hybrid body: open nodes of the assembly tree, and the rigid groups below the frontier",
        f'<g stroke="{INK}" stroke-width="2">{"".join(lines)}</g>', *marks, *chain, *joints,
        text(wide / 2, floor + 40, "active joints (orange) between rigid groups (blue)", INK, 14),
    )  # fmt: skip


if __name__ == "__main__":
    for name, drawing in (("cluster_handles", cluster_with_handles()), ("hybrid_body", hybrid_body())):
        (PICTURES / f"{name}.svg").write_text(drawing, encoding="utf-8")
