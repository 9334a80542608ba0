"""Generalized Born solvent in the own kernel: parameters, radii, pairs, and the chain rule through the radii."""
