"""Steps of simulations, backwards: those that are solutions of equations of their own, and those with contact."""

from linkwork.derivatives.steps import STEPS
from linkwork.simulation.backward.variational import VariationalStep

STEPS["variational"] = VariationalStep
