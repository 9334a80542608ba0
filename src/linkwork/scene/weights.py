"""Metric weights of a method: one number for all joints, or numbers by joint name or pattern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.model.model import Model
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.lines import KeyPath

WEIGHTS = ("weights", "velocity_weights")  # keys of [method] that hold them


def metric_weights(model: Model, given: float | Mapping[str, Any], path: KeyPath, faults: Faults) -> FloatArray:
    """Weight of each squared acceleration or velocity, shape (nv,); one where nothing is said. Names win over patterns."""
    if not isinstance(given, Mapping):
        return np.full(model.nv, float(given))
    weights = np.ones(model.nv)
    names = [*model.joint_names, *model.joint_parts]
    for pattern, value in sorted(given.items(), key=lambda item: item[0] in names):
        found = [model.v_slice(names[k]) for k in matching(pattern, names)]
        if not found:
            faults.add((*path, pattern), f"no joint is called '{pattern}'{did_you_mean_or_list(pattern, names)}")
        for rows in found:
            size = rows.stop - rows.start
            if isinstance(value, list) and len(value) != size:
                faults.add(
                    (*path, pattern), f"{len(value)} weights are given for a joint with {size}; give one, or {size}."
                )
                break
            weights[rows] = value
    return weights


def with_weights(options: Mapping[str, Any], model: Model, faults: Faults) -> dict[str, Any]:
    """The options of a method with its weights as vectors of shape (nv,)."""
    return {
        name: metric_weights(model, value, ("method", name), faults) if name in WEIGHTS else value
        for name, value in options.items()
    }
