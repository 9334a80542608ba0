"""Steps of simulations, backwards: those that are solutions of equations of their own, with contact, and with loops."""

from linkwork.derivatives.stepping.explicit_steps import KickDriftKickStep, RungeKuttaStep
from linkwork.derivatives.stepping.steps import STEPS
from linkwork.simulation.backward.closing import closable
from linkwork.simulation.backward.contact import ContactStep
from linkwork.simulation.backward.contact_steps import with_contact
from linkwork.simulation.backward.dormand_prince import DormandPrinceStep
from linkwork.simulation.backward.implicit_midpoint import MidpointStep
from linkwork.simulation.backward.variational import VariationalStep

STEPS["semi_implicit_euler"] = ContactStep
for name, kind in {
    "variational": VariationalStep,
    "implicit_midpoint": MidpointStep,
    "dormand_prince": DormandPrinceStep,
    "rk4": RungeKuttaStep,
    "kick_drift_kick": KickDriftKickStep,
}.items():
    STEPS[name] = with_contact(closable(kind))
