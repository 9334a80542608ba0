"""Recorded motion: smooth derivatives, the supporting foot, joint efforts and ground reaction by inverse dynamics."""

from linkwork.scenarios.motion.efforts import MotionAnalysis, analyse_motion
from linkwork.scenarios.motion.smoothing import Trajectory, smooth_motion
from linkwork.scenarios.motion.support import Support, find_feet, find_support

__all__ = [
    "MotionAnalysis",
    "Support",
    "Trajectory",
    "analyse_motion",
    "find_feet",
    "find_support",
    "smooth_motion",
]
