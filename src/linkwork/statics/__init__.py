"""Equilibria: the sweeps of the articulated-body algorithm with stiffness where inertia was."""
