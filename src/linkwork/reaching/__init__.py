"""Inverse kinematics on the sweeps of forward dynamics: targets are inertias, damping is armature."""
