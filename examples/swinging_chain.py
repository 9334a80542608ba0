"""A chain of 200 links swings without friction: semi-implicit Euler steps, and what becomes of the energy."""

import linkwork as lw

STEP = 1e-4  # [s]

model = lw.library.chain(joints=200, axes="same").compile()
state = model.neutral()
state.q[0] = 1.2  # held out by 1.2 rad from the vertical, then let go
start = lw.energy(model, state).total

print("time [s]   kinetic [J]   total energy change [J]")
for k in range(2001):
    if k % 500 == 0:
        now = lw.energy(model, state)
        print(f"{k * STEP:8.2f}   {now.kinetic:11.4f}   {now.total - start:+.2e}")
    v = state.v + STEP * lw.forward_dynamics(model, state)
    state = lw.State(model.integrate(state.q, v, STEP), v)
