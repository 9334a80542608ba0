"""Quantities of robotics by name: of frames, joints, rods, the whole linkage."""
