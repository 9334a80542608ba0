"""A four-bar linkage in space: cut at one pin, closed by its reaction. It goes round, keeps its energy and its shape."""

import linkwork as lw

STEP = 2.5e-3  # [s]
GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.35, 0.9, 0.7  # [m]


def bar(length: float) -> lw.Inertia:
    return lw.Inertia.box(length, (length, 0.04, 0.04)).at(lw.Pose((length / 2, 0, 0)))


hinge = lw.Revolute((0, 0, 1))
linkage = lw.Linkage("four_bar", gravity=(0, -9.81, 0))
linkage.add_body("crank", "world", hinge, inertia=bar(CRANK))
linkage.add_body("coupler", "crank", hinge, lw.Pose((CRANK, 0, 0)), bar(COUPLER))
linkage.add_body("rocker", "world", hinge, lw.Pose((GROUND, 0, 0)), bar(ROCKER))
linkage.add_loop(hinge, "coupler", "rocker", (lw.Pose((COUPLER, 0, 0)), lw.Pose((ROCKER, 0, 0))), name="pin")
model = linkage.compile()

state = lw.close_loops(model, model.state([1.0, 0.0, 1.8], [8.0, 0.0, 0.0]))  # a rough guess finds its shape
start = lw.energy(model, state).total
print(lw.constrained_dynamics(model, state).message)


def rates(now: lw.State) -> lw.State:
    return lw.State(now.v, lw.constrained_dynamics(model, now).acceleration)


def moved(now: lw.State, rate: lw.State, h: float) -> lw.State:
    return lw.State(now.q + h * rate.q, now.v + h * rate.v)


print("time [s]   crank [rad]   force in the pin [N]   gap [m]   energy change")
for k in range(401):
    if k % 80 == 0:
        now = lw.constrained_dynamics(model, state)
        force = sum(f * f for f in now.reactions[0, 3:]) ** 0.5
        change = lw.energy(model, state).total / start - 1.0
        print(f"{k * STEP:8.2f}   {state.q[0]:11.3f}   {force:20.2f}   {now.gap:7.0e}   {change:+.1e}")
    k1 = rates(state)
    k2 = rates(moved(state, k1, STEP / 2))
    k3 = rates(moved(state, k2, STEP / 2))
    k4 = rates(moved(state, k3, STEP))
    mean = lw.State(*((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)))
    state = lw.close_loops(model, moved(state, mean, STEP))
