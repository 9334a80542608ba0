"""Steps of simulations, backwards: those that are solutions of equations of their own, and those with contact."""

from linkwork.derivatives.steps import STEPS
from linkwork.simulation.backward.dormand_prince import DormandPrinceStep
from linkwork.simulation.backward.implicit_midpoint import MidpointStep
from linkwork.simulation.backward.touching import TouchingStep
from linkwork.simulation.backward.variational import VariationalStep

STEPS["semi_implicit_euler"] = TouchingStep
STEPS["variational"] = VariationalStep
STEPS["implicit_midpoint"] = MidpointStep
STEPS["dormand_prince"] = DormandPrinceStep
