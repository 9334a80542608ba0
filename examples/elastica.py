"""A clamped elastic column of 200 links under more and more load: it buckles, and takes the shapes of Euler's elastica."""

import math

import linkwork as lw

LINKS = 200  # of a rod of unit length and unit bending stiffness
SIZE = 1.0 / LINKS
BUCKLING = math.pi**2 / 4  # Euler's load of a column that is clamped below and free above

column = lw.Linkage("column", gravity=(0, 0, 0))
inertia = lw.Inertia.box(SIZE, (0.01, 0.01, SIZE)).at(lw.Pose((0, 0, SIZE / 2)))
for i in range(LINKS):
    stiffness = (1.0 if i else 2.0) / SIZE  # half a cell lies between the clamp and the first joint
    joint = lw.Revolute((0, 1, 0), stiffness=stiffness)
    column.add_body(f"link_{i}", f"link_{i - 1}" if i else "world", joint, lw.Pose((0, 0, SIZE if i else 0)), inertia)
model = column.compile()

print("load / Euler's   tip sideways   tip upward   stable   saddles left   sweeps")
for factor in (0.5, 0.99, 1.01, 1.1, 1.5, 2.0, 4.0, 9.0):
    loads = lw.Loads(model)
    loads.apply_wrench(f"link_{LINKS - 1}", force=(0, 0, -factor * BUCKLING), frame="world", at=(0, 0, SIZE))
    rest = lw.settle(model, model.neutral(), loads=loads)  # from straight, always: an equilibrium, but not a stable one
    T = lw.body_poses(model, rest.state)[-1]
    tip = T[:3, 3] + SIZE * T[:3, 2]
    report = rest.report
    print(
        f"{factor:14.2f}   {abs(tip[0]):12.5f}   {tip[2]:10.5f}   {report.stable!s:6}   {report.saddles_left:12d}   "
        f"{report.sweeps:6d}"
    )
