"""Linkage → file: URDF and MJCF. What a format cannot hold is refused where it moves, and listed where it does not."""
