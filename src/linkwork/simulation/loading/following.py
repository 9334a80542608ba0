"""Targets of motors from controls, in one call: what a learning program asks for before every few steps."""

from linkwork.core.jit import kernel


@kernel
def follow_controls(given, low, high, gear, rows, column, control, moved, motor):
    """Puts controls, within their limits, into `control`, and as targets into a column of the table of motors.

    given, low, high, gear, control: (m,); rows: (m,) of the table; moved: (m,) whether a target is another one than before.
    Returns how many are; -1 where a control is not a finite number, and nothing has changed.
    """
    bad = 0.0
    for k in range(given.shape[0]):
        bad += 0.0 * given[k]
    if bad != 0.0:
        return -1
    changed = 0
    for k in range(given.shape[0]):
        control[k] = min(max(given[k], low[k]), high[k])
        target = control[k] / gear[k]
        moved[k] = motor[rows[k], column] != target
        changed += moved[k]
        motor[rows[k], column] = target
    return changed


@kernel
def scale_action(action, middle, half, out):
    """out = middle + half action, the action within ±1; all (m,). What is not a number stays none."""
    for k in range(out.shape[0]):
        x = action[k]
        if x > 1.0:
            x = 1.0
        elif x < -1.0:
            x = -1.0
        out[k] = middle[k] + half[k] * x
