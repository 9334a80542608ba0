"""Linkages on the GPU (extra `gpu`: CuPy). Nothing here touches a GPU before a DeviceModel is made."""

from linkwork.gpu.device_model import DeviceEnergy, DeviceModel

__all__ = ["DeviceEnergy", "DeviceModel"]
