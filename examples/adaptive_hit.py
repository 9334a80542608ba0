"""A chain of 2,000 links floats at rest and is hit by a short blow. Which joints move, and what does that cost?

Adaptive dynamics moves the joints whose acceleration or velocity matters and keeps the others rigid. The tolerance says
what matters and can be changed on the way; every update gives a bound on what is left out. Joints can be pinned.
"""

import time

import numpy as np

import linkwork as lw

LINKS, HIT = 2000, "link_1000"
STEP, BLOW_STEPS = 1e-3, 50  # [s], steps
FORCE = (5.0, 0.0, 2.0)  # [N]


def floating_chain() -> lw.Model:
    hinge = lw.Revolute((0, 1, 0), damping=1e-3)
    chain = lw.Linkage("chain afloat", gravity=(0.0, 0.0, 0.0))
    chain.merge(lw.library.chain(joints=LINKS, joint=hinge), joint=lw.Free())
    return chain.compile()


def tell(sim: lw.AdaptiveDynamics, what: str) -> None:
    report = sim.report
    print(
        f"{sim.time:5.2f} s  {report.n_active:5d} of {LINKS} joints active   "
        f"bound {report.error_bound:.1e} rad/s²   energy {report.energy:.6f} J   {what}"
    )


def main() -> None:
    model = floating_chain()
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=1e-2, measure="absolute_joint")
    blow = sim.apply_wrench(HIT, force=FORCE)
    sim.step(STEP, BLOW_STEPS)
    sim.clear(blow)
    tell(sim, "after the blow")

    for _ in range(3):
        sim.step(STEP, 200)
        tell(sim, "moves on by itself")

    sim.tolerance = 1.0
    sim.step(STEP, 200)
    tell(sim, "a hundred times the tolerance: fewer joints")

    sim.pin_active("link_10")  # far from all that happens, yet someone looks at it
    sim.pin_inactive("link_1001")  # a joint that rusted: stopped by an impulse, at once
    tell(sim, "one joint locked: energy can only fall")
    sim.step(STEP, 200)
    tell(sim, f"link_10 active: {'link_10' in sim.active_joints}, link_1001 active: {'link_1001' in sim.active_joints}")
    sim.unpin("link_1001")

    impulse = np.array(FORCE) * BLOW_STEPS * STEP
    error = np.linalg.norm(sim.momentum.linear - impulse) / np.linalg.norm(impulse)
    print(
        f"momentum is the impulse of the blow to {error:.0e}, after {sim.report.region_changes} changes of the region"
    )

    start = time.thread_time()
    sim.step(STEP, 100)
    adaptive = (time.thread_time() - start) / 100
    all_joints = lw.FullDynamics(model, sim.state)
    all_joints.advance(STEP)
    start = time.thread_time()
    all_joints.advance(STEP, 20)
    full = (time.thread_time() - start) / 20
    print(f"a step: {adaptive * 1e6:.0f} µs; of all joints: {full * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
