"""Momentum of floating trees, kept through every step."""
