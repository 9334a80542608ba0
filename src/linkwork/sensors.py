"""Kinds of sensors: `lw.sensors.Imu("imu", "hand")`. `lw.Sensors` reads them in a simulation. See docs/sensors.md."""

from linkwork.model.sensors import (
    Effort,
    Encoder,
    ForceTorque,
    Imu,
    Orientation,
    Position,
    Range,
    Touch,
    Velocity,
)
from linkwork.sensing.api import Samples

__all__ = [
    "Effort",
    "Encoder",
    "ForceTorque",
    "Imu",
    "Orientation",
    "Position",
    "Range",
    "Samples",
    "Touch",
    "Velocity",
]
