"""Lennard-Jones and Coulomb terms: lists of neighbours, and the forces of what stands on them."""
