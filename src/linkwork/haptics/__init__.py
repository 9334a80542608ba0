"""Force feedback: hold any body of a simulation with a device, and feel it.

    hand = lw.haptics.HumanHand(lambda t: (0.1 * t, 0.0, 0.0))
    grasp = lw.haptics.grasp(sim, "gripper", hand, stiffness=500.0, damping=5.0)
    with grasp.session.start(h=1e-3):
        ...

After Morin and Redon, "A force-feedback algorithm for adaptive articulated-body dynamics simulation", ICRA 2007.
"""

from linkwork.haptics.devices import Device, HumanHand, Pointer, Reading, RecordedMotion, ScriptedMotion, UdpDevice
from linkwork.haptics.grasp import CouplingSettings, Grasp
from linkwork.haptics.session import Session, grasp, session_of
from linkwork.haptics.statistics import LoopStatistics
from linkwork.haptics.trace import Trace

__all__ = [
    "CouplingSettings",
    "Device",
    "Grasp",
    "HumanHand",
    "LoopStatistics",
    "Pointer",
    "Reading",
    "RecordedMotion",
    "ScriptedMotion",
    "Session",
    "Trace",
    "UdpDevice",
    "grasp",
    "session_of",
]
