"""Efforts on chosen joints over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import Panel, panels_of_lines
from linkwork.scene.targets import choose_joints


def effort_panels(recording: Recording, patterns: Sequence[str]) -> list[Panel]:
    """All that acts on each joint along its motion, and below it what motors and given efforts do of that."""
    if not patterns:
        return []
    total: dict[str, FloatArray] = {}
    driven: dict[str, FloatArray] = {}
    for name in choose_joints(recording.model, patterns):
        whole = recording.joint_effort(name)
        drive = recording.joint_effort(name, "motors") + recording.joint_effort(name, "given")
        for k in range(whole.shape[1]):
            label = name if whole.shape[1] == 1 else f"{name} {k}"
            total[label], driven[label] = whole[:, k], drive[:, k]
    panels = panels_of_lines("efforts", recording.times, total, "effort", "N·m or N")
    if any(np.any(line) for line in driven.values()):
        panels += panels_of_lines("efforts of motors", recording.times, driven, "effort", "N·m or N")
    return panels
