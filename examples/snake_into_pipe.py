"""A snake arm on a slide goes into a pipe of three bends: every joint passes where the tip passed before."""

import numpy as np

import linkwork as lw

LINKS, LENGTH = 150, 1.0
SIZE = LENGTH / LINKS

arm = lw.Linkage("snake arm")
part = lw.Inertia.sphere(0.01, 0.005)
arm.add_body("feed", joint=lw.Prismatic((1, 0, 0)), inertia=part)
for i in range(LINKS):
    hinge = lw.Revolute((0, 1, 0) if i % 2 else (0, 0, 1), limits=(-0.4, 0.4))
    arm.add_body(f"link{i}", f"link{i - 1}" if i else "feed", hinge, lw.Pose((SIZE if i else 0, 0, 0)), part)
arm.add_frame("tip", f"link{LINKS - 1}", lw.Pose((SIZE, 0, 0)))
model = arm.compile()

# The middle of the pipe: bends of 15 cm in three planes, 10 cm between them, beginning at the tip.
place, along = np.array([LENGTH, 0, 0]), np.array([1.0, 0, 0])
middle = []
for axis in ((0, 0, 1), (0, 1, 0), (0, 0, -1)):
    side = np.cross(axis, along)
    side /= np.linalg.norm(side)
    center = place + 0.15 * side
    middle += [center + 0.15 * (np.sin(t) * along - np.cos(t) * side) for t in np.linspace(0, 1.2, 61)[1:]]
    place, along = middle[-1], np.cos(1.2) * along + np.sin(1.2) * side
    middle += [place + s * along for s in np.linspace(0, 0.1, 31)[1:]]
    place = middle[-1]

path = lw.follow(model, model.neutral(), middle, body="tip", body_follows=True)
print("points   slide in [m]   tip off by [µm]   a joint off by [µm]   iterations")
for k in range(44, len(middle), 45):
    print(
        f"{k + 1:6d}   {path.q[k, 0]:12.3f}   {1e6 * path.error[k]:15.2f}   {1e6 * path.deviation[k]:19.1f}   "
        f"{path.iterations[k]:10d}"
    )

# From inside, the tip turns to look at a point, while it stays where it is.
end = model.state(path.q[-1])
here = lw.frame_poses(model, end, "tip")
aim = here[:3, 3] + 0.05 * (here[:3, 0] + 0.3 * here[:3, 1])
look = lw.reach(model, end, {"tip": lw.Target(point=here[:3, 3], look_at=aim, axis=(1, 0, 0))}, prefer=end)
print(look)
