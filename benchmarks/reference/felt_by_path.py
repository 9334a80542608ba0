"""What hands feel, by the two passes of the paper with the hands' wrenches in place: compared with what snapshots give."""

from linkwork.core.jit import kernel
from linkwork.dynamics.paths.path_data import path_data_of
from linkwork.dynamics.paths.path_queries import acceleration_at, climb, descend, given_wrench, times_block
from linkwork.dynamics.paths.path_union import respond_together
from linkwork.haptics.snapshot.ports import ports_of, to_body, to_point
from linkwork.model.layout import INERTIA
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_times_twist
from linkwork.spatial.memory import load6, load9, load10, store6
from linkwork.spatial.rotations import tmatvec3
from linkwork.spatial.vectors import ZERO6, add6, join, sub6


@kernel
def feel_by_path(paths, ports, wrench, felt):
    """The force on one hand by one climb and one descent with the hand's wrench in place: the paper's tick, for one hand.

    wrench, felt: (6,), at the point held, axes of the world.
    `build_snapshot` gives the same for all wrenches at once.
    """
    p = ports_of(ports)
    d = path_data_of(paths)
    w = to_body(p, 0, given_wrench(wrench))
    more = sub6(w, to_body(p, 0, load6(p.applied, 0, 0)))
    count = climb(paths, p.leaf[0], times_block(d.node_data, d.block[p.leaf[0]], more))
    a = add6(descend(paths, ZERO6, False, p.leaf[0], count), acceleration_at(paths, p.leaf[0]))
    a = add6(a, join((0.0, 0.0, 0.0), tmatvec3(load9(p.pose, 0, 0), (d.gravity[0], d.gravity[1], d.gravity[2]))))
    inertia = load10(p.body, p.bodies[0], INERTIA)
    f = add6(rigid_times_twist(inertia, a), gyroscopic_wrench(inertia, load6(p.twist, 0, 0)))
    f = to_point(p, 0, sub6(f, w))
    for k in range(6):
        felt[k] = f[k]


@kernel
def feel_together(table, ports, wrench, moved, felt):
    """What all hands feel, by one climb and one descent over the union of their paths: the paper's tick for k hands.

    table: of PathData and PathUnion. wrench, felt: (k, 6), at the points held, axes of the world. moved: (k, 6), memory.
    `build_snapshot` or `write_responses` came before: `acceleration` is that without hands. Cost: O(k log(n/k)).
    """
    p = ports_of(ports)
    count = p.bodies.shape[0]
    for h in range(count):
        store6(felt, h, 0, to_body(p, h, load6(wrench, h, 0)))
    respond_together(table, felt, moved)
    for h in range(count):
        inertia = load10(p.body, p.bodies[h], INERTIA)
        a = add6(load6(p.acceleration, h, 0), load6(moved, h, 0))
        f = add6(rigid_times_twist(inertia, a), gyroscopic_wrench(inertia, load6(p.twist, h, 0)))
        store6(felt, h, 0, to_point(p, h, sub6(f, load6(felt, h, 0))))
