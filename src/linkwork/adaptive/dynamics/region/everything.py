"""Regions of all joints: where most joints matter, moving them all takes less time than asking which of them do.

A joint that moves costs about as much as in a full step, one that an update computes many times as much. Where an update
finds that the steps until the next one would cost more than full ones, all joints are active from then on: nothing is
hidden, nothing is asked, and steps are those of the whole linkage, bit for bit. At times the motion itself shows
how many joints would be active; when these are few, the next update chooses as ever. What is decided depends on counts
alone, never on a clock. A number of joints that the user gave is kept. Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.dynamics.reduced.reduced import GROUPS, reduced_of, write_back
from linkwork.adaptive.dynamics.region.turns import is_counted
from linkwork.adaptive.measures import CLOSE_FRACTION, is_summed, squared_limit
from linkwork.adaptive.nodes import carries_joint
from linkwork.adaptive.workspace import mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import INDEX, LEFT, RIGHT
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.layout import DOF, V

STEP_COST = 1.1  # of an active joint in a step, in joints of a full step
UPDATE_COST = 12.0  # of a joint that an update computes, in joints of one evaluation of accelerations
EVALUATIONS = {"variational": 2.5, "rk4": 4.0, "dormand_prince": 6.0}  # per step, about; one of all others
LEAST_JOINTS = 64  # of linkages on which it is worth any thought
CHEAP = 0.8  # what adaptive steps may be expected to cost, of full ones, to go back to them
FIRST_WAIT, LONGEST_WAIT = 128, 8192  # steps until the motion is asked
SOON = 32  # updates: a region that costs too much again after fewer is waited for twice as long
CLOSING = 4  # updates after a region of all joints that still find most of them open
ROUNDS = 3  # in which a limit on a sum is shared by the nodes that it leaves


@inlined
def cost_of(active, computed, evaluations):
    """Of a step, in joints of a full one: its share of an update every so many evaluations included."""
    return STEP_COST * active + UPDATE_COST * computed / evaluations


@routine
def cover_all_if_dear(plan, mechanism, run, evaluations):
    """After a choice: whether steps with it would cost more than full ones, so that all joints are to be active.

    evaluations: of accelerations until the next update; 0 where they must not.
    """
    joints = mechanism.tree.shape[0]
    if evaluations <= 0.0 or joints < LEAST_JOINTS:
        return False
    chosen = 0
    for k in range(run.counts[ws.OPEN_COUNT]):
        chosen += run.flag[run.opened[k]] & ws.CHOSEN != 0 and is_counted(plan, mechanism, run.opened[k])
    counts = run.counts
    is_closing = (
        counts[ws.WAIT] > 0 and counts[ws.SINCE] < CLOSING
    )  # what was open with all joints is closed little by little
    computed = chosen if is_closing else counts[ws.JOINT_COUNT]
    counts[ws.SINCE] += 1
    if cost_of(chosen, computed, evaluations) <= joints:
        return False
    again = counts[ws.WAIT] > 0 and counts[ws.SINCE] <= SOON
    counts[ws.WAIT] = min(2 * counts[ws.WAIT], LONGEST_WAIT) if again else FIRST_WAIT
    counts[ws.UNTIL_ASKED] = counts[ws.WAIT]
    return True


def is_dear(computed, joints):
    """Whether one update, which computes so many joints, takes a fourth of one evaluation of all or longer.

    A part of it is then done at the end of the call before, so that no call takes longer than one such evaluation.
    """
    return joints >= LEAST_JOINTS and 4.0 * UPDATE_COST * computed > joints


def keeps_all_joints(counts, every, evaluations, count):
    """Before an update after `every` steps: whether all joints stay active.

    count(): how many joints would be active, by their motion, and how many there are.
    """
    if counts[ws.UNTIL_ASKED] == 0:
        return False
    counts[ws.UNTIL_ASKED] = max(0, counts[ws.UNTIL_ASKED] - every)
    if counts[ws.UNTIL_ASKED] > 0:
        return True
    needed, joints = count()
    if cost_of(needed, needed, evaluations) > CHEAP * joints:
        counts[ws.UNTIL_ASKED] = counts[ws.WAIT]
        return True
    counts[ws.SINCE] = 0
    return False


def advice(active, computed, evaluations, joints):
    """What to do where a number of joints that was given costs more than all of them; nothing where it does not."""
    times = cost_of(active, computed, evaluations) / max(1, joints)
    if times <= 1.0:
        return ""
    return (
        f"these adaptive steps take about {times:.1f} times as long as full ones: max_active_joints allows {active:,} of "
        f"{joints:,} joints, and each update looks at {computed:,}. Give a tolerance instead: where most joints matter all "
        "of them then move, in the time of full steps. Fewer max_active_joints or a larger update_every would help too "
        "(docs/choosing.md)."
    )


@kernel
def count_needed(table, moving, measure, tolerance, horizon):
    """Joints that would be active, by the motion of the linkage with all joints active, and joints in all. Cost: O(n)."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    reduced = reduced_of(table)
    sums = run.metric_sums
    if reduced.counts[GROUPS] == 0:
        return 0, mechanism.tree.shape[0]
    write_back(moving, mechanism, run, reduced)
    largest = 0.0
    root = plan.nodes.shape[0] - 1
    for node in range(root + 1):  # own part and those below, children before parents
        run.value[node], run.speed[node] = own_parts(plan, mechanism, run, node, horizon)
        largest = max(largest, run.value[node])
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0:
                run.value[node] += run.value[child]
                run.speed[node] += run.speed[child]
    sums[ws.MAX_JOINT], sums[ws.SUM_JOINT], sums[ws.SUM_QUEUE], sums[ws.UNIT] = largest, run.value[root], 0.0, 1.0
    limit = squared_limit(measure, run, CLOSE_FRACTION * tolerance)
    sums[ws.MAX_JOINT], sums[ws.SUM_JOINT] = 0.0, 0.0  # nothing is hidden, as `choose_all` says
    needed = joints_above(plan, run, limit, horizon)
    if is_summed(measure):
        for _ in range(ROUNDS):
            needed = joints_above(plan, run, limit / (1.0 + needed), horizon)
    return needed, mechanism.tree.shape[0]


@inlined
def own_parts(plan, mechanism, run, node, horizon):
    """What the joint of a node is of the metrics of accelerations, and of velocities after the horizon."""
    value = 0.0
    speed = 0.0
    if carries_joint(plan, node):
        i = plan.nodes[node, INDEX]
        j = mechanism.tree[i, V]
        for d in range(j, j + mechanism.tree[i, DOF]):
            ahead = run.v[d] + horizon * run.qdd[d]
            value += mechanism.weight[d] * run.qdd[d] * run.qdd[d]
            speed += mechanism.velocity_weight[d] * ahead * ahead
    return value, speed


@inlined
def joints_above(plan, run, limit, horizon):
    """Joints whose subtrees move, or begin to, by more than the limit, and those that the user wants."""
    found = 0
    for node in range(plan.nodes.shape[0]):
        above = run.value[node] > limit or run.speed[node] > limit * horizon * horizon or run.wanted[node] > 0
        found += above and carries_joint(plan, node)
    return found
