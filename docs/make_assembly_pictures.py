"""Draws docs/pictures/assembly_tree.svg, the assembly tree of a real plan: python docs/make_assembly_pictures.py

Lines and letters take the colour that is halfway between black and white, so that the picture reads on both.
"""

from pathlib import Path

import linkwork as lw
from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.assembly.plan import assemble

PICTURES = Path(__file__).parent / "pictures"
WIDTH, LEVEL, RADIUS, INK = 46, 62, 15, "#7a7f87"
FILL = {BODY: "#4c78a8", JOIN: "#54a24b", HANG: "#e45756"}


def draw(model: lw.Model) -> str:
    plan = assemble(model.parent)
    nodes = plan.nodes
    place: dict[int, tuple[float, float]] = {}
    leaves = 0

    def put(node: int, depth: int) -> None:
        nonlocal leaves
        below = [int(c) for c in nodes[node, [LEFT, RIGHT]] if c >= 0]
        for child in below:
            put(child, depth + 1)
        if below:
            x = sum(place[child][0] for child in below) / len(below)
        else:
            x = WIDTH * (leaves + 0.6)
            leaves += 1
        place[node] = (x, LEVEL * (depth + 0.5))

    put(plan.root, 0)
    lines, marks = [], []
    for node, (x, y) in place.items():
        for child in (int(c) for c in nodes[node, [LEFT, RIGHT]] if c >= 0):
            u, v = place[child]
            lines.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}"/>')
        kind = int(nodes[node, NODE_KIND])
        label = f"{'b' if kind == BODY else 'j'}{int(nodes[node, INDEX]) + 1}"
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{FILL[kind]}"/>'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}" fill="#fff">{label}</text>'
        )
    wide, high = WIDTH * (leaves + 0.2), max(y for _, y in place.values()) + 2 * RADIUS
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" font-family="sans-serif" '
        f'font-size="13" text-anchor="middle"><title>Assembly tree of a chain of {model.n_bodies} bodies</title>'
        f'<g stroke="{INK}" stroke-width="2">{"".join(lines)}</g>{"".join(marks)}</svg>\n'
    )


if __name__ == "__main__":
    (PICTURES / "assembly_tree.svg").write_text(draw(lw.library.chain(8).compile()), encoding="utf-8")
