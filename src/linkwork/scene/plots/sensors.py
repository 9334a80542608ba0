"""What sensors read over time: one panel per sensor and unit."""

from __future__ import annotations

from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import Panel, panels_of_lines

MOST = 6  # sensors that are drawn


def sensor_panels(recording: Recording) -> list[Panel]:
    """Of the first sensors that were recorded."""
    panels: list[Panel] = []
    for name in recording.sensors[:MOST]:
        found = recording.sensor(name)
        if len(found.times) < 2:
            continue
        for unit in dict.fromkeys(found.units):
            lines = {c: found.values[:, k] for k, c in enumerate(found.channels) if found.units[k] == unit}
            panels += panels_of_lines(f"sensor {name}", found.times, lines, "reading", unit)
    return panels
