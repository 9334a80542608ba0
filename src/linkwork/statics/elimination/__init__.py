"""Sweeps of statics: forces, energy, stiffness, elimination, solves."""
