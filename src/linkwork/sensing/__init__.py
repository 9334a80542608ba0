"""Sensors in a simulation: what they read, how noisy, how late, and when."""
