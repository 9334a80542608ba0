"""Devices: what a hand holds. Any object with `read` and `write` is one."""

from linkwork.haptics.devices.device import Device, Pointer, Reading
from linkwork.haptics.devices.human import HumanHand
from linkwork.haptics.devices.scripted import RecordedMotion, ScriptedMotion
from linkwork.haptics.devices.udp import UdpDevice

__all__ = ["Device", "HumanHand", "Pointer", "Reading", "RecordedMotion", "ScriptedMotion", "UdpDevice"]
