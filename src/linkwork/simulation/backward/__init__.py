"""Steps of simulations, backwards: those that are solutions of equations of their own, with contact, and with loops."""

from linkwork.derivatives.explicit_steps import KickDriftKickStep, RungeKuttaStep
from linkwork.derivatives.steps import STEPS
from linkwork.simulation.backward.closing import closable
from linkwork.simulation.backward.dormand_prince import DormandPrinceStep
from linkwork.simulation.backward.implicit_midpoint import MidpointStep
from linkwork.simulation.backward.touching import TouchingStep
from linkwork.simulation.backward.variational import VariationalStep

STEPS["semi_implicit_euler"] = TouchingStep
STEPS["variational"] = closable(VariationalStep)
STEPS["implicit_midpoint"] = closable(MidpointStep)
STEPS["dormand_prince"] = closable(DormandPrinceStep)
STEPS["rk4"] = closable(RungeKuttaStep)
STEPS["kick_drift_kick"] = closable(KickDriftKickStep)
