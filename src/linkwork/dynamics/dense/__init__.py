"""Algorithms that form the mass matrix: n by n numbers."""
