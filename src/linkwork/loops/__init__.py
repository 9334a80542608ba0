"""Closed chains: cut joints, their reactions, and keeping them closed."""
