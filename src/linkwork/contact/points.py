"""ContactPoint: where two bodies touched, and the rows that recordings keep of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.messages.describe import tabled
from linkwork.model.model import Model

STATES = ("apart", "sticking", "sliding")
# Columns of the rows that are kept.
BODY, OTHER, STATE, IDS = 0, 1, 2, 3
POINT, NORMAL, GAP, IMPULSE, STEP, NUMBERS = 0, 3, 6, 7, 10, 11


@tabled
@dataclass(frozen=True, slots=True)
class ContactPoint:
    """A point at which two bodies touched, or nearly so, in the last step.

    body, other: names; other may be an obstacle or "world". point [m], normal from other to body, in the world.
    gap: distance, negative where they overlap [m]. impulse [N·s] on body in the last step, and that per time: force [N].
    state: "apart", "sticking" or "sliding". What bounced early in a step and is far away at its end is "apart", with the
        point, normal and gap of the moment when it was last near; where that was several times in the step, with the sum of
        its impulses, and with the mean of its points, weighted by the lengths of these.
    """

    body: str
    other: str
    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    gap: float
    impulse: tuple[float, float, float]
    force: tuple[float, float, float]
    state: str


class ContactRows(NamedTuple):
    """Contacts of a step as arrays, one row each."""

    ids: NDArray[np.int32]  # (c, 3)  body, other (from n on: obstacle, the last one the world), state: place in STATES
    numbers: NDArray[np.float64]  # (c, 11) point [m], normal; gap [m]; impulse [N·s]; step that it acted in [s]


def name_of(model: Model, number: int) -> str:
    """Of a body, of an obstacle (numbered behind the bodies), or "world"."""
    if number < model.n_bodies:
        return model.body_names[number]
    place = number - model.n_bodies
    return model.obstacles[place][0] if place < len(model.obstacles) else "world"


def add_contact_wrenches(rows: ContactRows, poses: NDArray[np.float64], total: NDArray[np.float64]) -> None:
    """Adds to total (n, 6), in the axes of the world about the origins of the bodies, whose poses are (n, 12)."""
    step = rows.numbers[:, STEP, None]
    impulse = rows.numbers[:, IMPULSE : IMPULSE + 3]
    force = np.divide(impulse, step, out=np.zeros_like(impulse), where=step > 0.0)
    point = rows.numbers[:, POINT : POINT + 3]
    for column, sign in ((BODY, 1.0), (OTHER, -1.0)):
        which = rows.ids[:, column]
        moving = which < poses.shape[0]
        body = which[moving]
        push = sign * force[moving]
        np.add.at(total[:, 3:], body, push)
        np.add.at(total[:, :3], body, np.cross(point[moving] - poses[body, 9:], push))


def points_of(model: Model, rows: ContactRows) -> tuple[ContactPoint, ...]:
    """The rows with names."""
    return tuple(
        ContactPoint(
            body=name_of(model, body),
            other=name_of(model, other),
            point=_three(row[POINT : POINT + 3]),
            normal=_three(row[NORMAL : NORMAL + 3]),
            gap=row[GAP],
            impulse=_three(row[IMPULSE : IMPULSE + 3]),
            force=_three([x / row[STEP] if row[STEP] > 0.0 else 0.0 for x in row[IMPULSE : IMPULSE + 3]]),
            state=STATES[state],
        )
        for (body, other, state), row in zip(rows.ids.tolist(), rows.numbers.tolist(), strict=True)
    )


def _three(x: list[float]) -> tuple[float, float, float]:
    return x[0], x[1], x[2]
