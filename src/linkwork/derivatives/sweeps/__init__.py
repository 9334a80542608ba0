"""Adjoint and tangent sweeps over a tree, and the solves with its inertia."""
