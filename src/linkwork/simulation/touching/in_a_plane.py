"""Linkages that move in parallel planes: contacts slide along lines, and a matrix of responses gives the exact answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.front import body_poses
from linkwork.model.model import Model

PARALLEL = 1e-9  # sine of the angle between axes that count as parallel


def moves_in_a_plane(model: Model) -> bool:
    """Whether all axes of rotation are parallel and all sliding is across them, whatever the coordinates."""
    if any(joint.nv != len(joint.screws) for joint in model.joints):  # balls and free joints are not products of screws
        return False
    turns: list[NDArray[np.float64]] = []
    slides: list[NDArray[np.float64]] = []
    for T, joint in zip(body_poses(model, model.neutral()), model.joints, strict=True):
        for screw in joint.screws:
            axis = T[:3, :3] @ screw.axis
            (turns if axis.any() else slides).append(axis if axis.any() else T[:3, :3] @ screw.slide)
            if axis.any() and any(screw.slide):  # a thread
                return False
    if not turns:
        return False
    normal = turns[0] / np.linalg.norm(turns[0])
    return bool(
        all(np.linalg.norm(np.cross(normal, axis)) <= PARALLEL * np.linalg.norm(axis) for axis in turns)
        and all(abs(normal @ slide) <= PARALLEL * np.linalg.norm(slide) for slide in slides)
    )
