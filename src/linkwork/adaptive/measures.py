"""The four measures of error, and the proven bounds on them: docs/theory/adaptive_quasi_statics.md, table (1).

Bounds are proven in exact arithmetic; rounding is estimated apart (`metric/rounding_floor.py`).
"""

import math

from linkwork.adaptive.workspace import MAX_JOINT, MAX_QUEUE, SUM_JOINT, SUM_QUEUE, UNIT
from linkwork.core.jit import inlined

ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, ABSOLUTE_JOINT, RELATIVE_JOINT = range(4)
MEASURES = {
    "absolute_linkage": ABSOLUTE_LINKAGE,
    "relative_linkage": RELATIVE_LINKAGE,
    "absolute_joint": ABSOLUTE_JOINT,
    "relative_joint": RELATIVE_JOINT,
}
DEFAULT_MEASURE = "relative_joint"
DEFAULT_TOLERANCE = 2.0**-11
CLOSE_FRACTION = 0.25  # a node closes when it could hide this part of what the tolerance allows: no flapping
NO_LIMIT = 2**62


@inlined
def is_summed(measure):
    """Whether a measure adds up what all frontier nodes hide."""
    return measure == ABSOLUTE_LINKAGE or measure == RELATIVE_LINKAGE


@inlined
def bound_of(measure, run):
    """The error by one of the four measures, proven in exact arithmetic. Called in Python it runs there."""
    sums = run.metric_sums
    if measure == ABSOLUTE_LINKAGE:
        return math.sqrt(sums[SUM_QUEUE]) / sums[UNIT]
    if measure == ABSOLUTE_JOINT:
        return math.sqrt(sums[MAX_QUEUE]) / sums[UNIT]
    if measure == RELATIVE_LINKAGE:
        total = sums[SUM_QUEUE] + sums[SUM_JOINT]
        return math.sqrt(sums[SUM_QUEUE] / total) if total > 0.0 else 0.0
    if sums[MAX_QUEUE] == 0.0:
        return 0.0
    return math.sqrt(sums[MAX_QUEUE] / sums[MAX_JOINT]) if sums[MAX_JOINT] > 0.0 else math.inf


@inlined
def squared_limit(measure, run, allowed):
    """What `allowed` by a measure is as a limit on the values of nodes."""
    sums = run.metric_sums
    if measure == RELATIVE_JOINT:
        return allowed * allowed * sums[MAX_JOINT]
    if measure == RELATIVE_LINKAGE:
        return allowed * allowed * (sums[SUM_JOINT] + sums[SUM_QUEUE])
    return (allowed * sums[UNIT]) * (allowed * sums[UNIT])
