"""A cable of 400 links hung between two anchors, from a straight guess: its tension against the catenary's."""

import math

import linkwork as lw

LINKS, LENGTH, MASS, GRAVITY = 400, 10.0, 2.0, 9.81  # [m, kg, m/s²]


def cable(span: float) -> lw.Model:
    size = LENGTH / LINKS
    inertia = lw.Inertia.box(MASS / LINKS, (size, 0.005, 0.005)).at(lw.Pose((size / 2, 0, 0)))
    linkage = lw.Linkage("cable", gravity=(0, 0, -GRAVITY))
    for i in range(LINKS):
        hinge = lw.Revolute((0, 1, 0) if i % 2 == 0 else (0, 0, 1))
        linkage.add_body(
            f"link_{i}", f"link_{i - 1}" if i else "world", hinge, lw.Pose((size if i else 0, 0, 0)), inertia
        )
    anchor = lw.Pose((span, 0, 0)), lw.Pose((size, 0, 0))
    linkage.add_loop(lw.Spherical(), "world", f"link_{LINKS - 1}", anchor, name="anchor")
    return linkage.compile()


def catenary_tension(span: float) -> float:
    """Horizontal tension [N] of a catenary, by bisection."""
    low, high = span / 60, 1e4 * span
    for _ in range(200):
        a = (low + high) / 2
        low, high = (a, high) if 2 * a * math.sinh(span / (2 * a)) > LENGTH else (low, a)
    return a * MASS * GRAVITY / LENGTH


print("span [m]   lowest point [m]   tension [N]   catenary [N]   sweeps   unbalanced")
for span in (2.0, 5.0, 8.0, 9.9, 9.999):
    model = cable(span)
    rest = lw.settle(model, model.neutral())
    poses = lw.body_poses(model, rest.state)
    pull = poses[-1, :3, :3] @ rest.report.reactions[0, 3:]
    print(
        f"{span:8.3f}   {poses[:, 2, 3].min():16.3f}   {pull[0]:11.3f}   {catenary_tension(span):12.3f}   "
        f"{rest.report.sweeps:6d}   {rest.report.unbalanced_part:10.0e}"
    )
