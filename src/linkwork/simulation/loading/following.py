"""Targets of motors from controls, in one call: what a learning program asks for before every few steps."""

from linkwork.core.jit import inlined, kernel


@inlined
def follow_one(given, low, high, gear):
    """A control within its limits, and the target that it is for a motor."""
    control = min(max(given, low), high)
    return control, control / gear


@kernel
def follow_controls(given, low, high, gear, rows, columns, control, moved, motor):
    """Puts controls, within their limits, into `control`, and as targets into the table of motors.

    given, low, high, gear, control: (m,); rows, columns: (m,) of the table; moved: (m,) whether a target is another one
    than before. Returns how many are; -1 where a control is not a finite number, and nothing has changed.
    """
    bad = 0.0
    for k in range(given.shape[0]):
        bad += 0.0 * given[k]
    if bad != 0.0:
        return -1
    changed = 0
    for k in range(given.shape[0]):
        control[k], target = follow_one(given[k], low[k], high[k], gear[k])
        moved[k] = motor[rows[k], columns[k]] != target
        changed += moved[k]
        motor[rows[k], columns[k]] = target
    return changed
