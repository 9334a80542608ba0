"""Metric weights of a method: one number for all joints, or numbers by joint name or pattern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.model.model import Model
from linkwork.scene.checks import matching
from linkwork.scene.faults import Faults, nearest
from linkwork.scene.lines import Path

WEIGHTS = ("weights", "acceleration_weights", "velocity_weights")  # keys of [method] that hold them


def metric_weights(model: Model, given: float | Mapping[str, Any], path: Path, faults: Faults) -> NDArray[np.float64]:
    """Weight of each squared acceleration or velocity, shape (nv,); one where nothing is said. Names win over patterns."""
    if not isinstance(given, Mapping):
        return np.full(model.nv, float(given))
    weights = np.ones(model.nv)
    names = [*model.joint_names, *model.joint_parts]
    for pattern, value in sorted(given.items(), key=lambda item: item[0] in names):
        found = [model.v_slice(names[k]) for k in matching(pattern, names)]
        if not found:
            faults.add((*path, pattern), f"no joint is called '{pattern}'{nearest(pattern, names)}")
        for rows in found:
            size = rows.stop - rows.start
            if isinstance(value, list) and len(value) != size:
                faults.add(
                    (*path, pattern), f"{len(value)} weights are given for a joint with {size}; give one, or {size}."
                )
                break
            weights[rows] = value
    return weights


def check_weights(model: Model, method: Mapping[str, Any], faults: Faults) -> None:
    """Notes the faults of all weights of a method."""
    for name in WEIGHTS:
        if name in method:
            metric_weights(model, method[name], ("method", name), faults)
