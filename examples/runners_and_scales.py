"""A sledge on runners: it glides along them and holds across, so that a push from the side turns into motion ahead."""

import numpy as np

import linkwork as lw


def main() -> None:
    linkage = lw.Linkage("sledge")
    steel = lw.Friction(forward=0.02, sideways=0.8)  # along x of the body, whichever way that points
    runner = [lw.Box((0.6, 0.02, 0.04), placement=lw.Pose((0, y, 0)), friction=steel) for y in (-0.15, 0.15)]
    linkage.add_body("sledge", "world", lw.Free(), lw.Pose(), lw.Inertia.box(5.0, (0.6, 0.3, 0.1)), shapes=runner)
    linkage.add_obstacle("ice", lw.Plane(), lw.Pose((0, 0, -0.02)))
    model = linkage.compile()
    state = model.neutral()
    half = 0.5 * 0.6  # turned by 0.6 rad against the push
    state.q[3:7] = (np.cos(half), 0.0, 0.0, np.sin(half))
    sim = lw.FullDynamics(model, state, contact=lw.Contact())
    sim.apply_wrench("sledge", force=(10.0, 0.0, 0.0))
    sim.run(2e-3, 1000)
    x, y = sim.state.q[:2]
    course = np.arctan2(y, x)
    print(f"after {sim.time:g} s the sledge is at ({x:.2f}, {y:.2f}) m: it went along its runners, {course:.2f} rad")


if __name__ == "__main__":
    main()
