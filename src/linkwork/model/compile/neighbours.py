"""Which bodies are near each other, counted in joints."""

from __future__ import annotations

from collections import deque

from linkwork.model.model import Model


def nearest_bodies(model: Model, centre: int, count: int) -> list[int]:
    """The bodies nearest to `centre`, counted in joints, itself first; parents first where several are as near."""
    children: list[list[int]] = [[] for _ in range(model.n_bodies)]
    parent = model.parent.tolist()
    for i, above in enumerate(parent):
        if above >= 0:
            children[above].append(i)
    found: list[int] = []
    waiting, seen = deque([centre]), {centre}
    while waiting and len(found) < count:
        body = waiting.popleft()
        found.append(body)
        for other in [parent[body], *children[body]]:
            if other >= 0 and other not in seen:
                seen.add(other)
                waiting.append(other)
    return found
