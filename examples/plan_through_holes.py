"""A snake of 100 links finds its way through the holes of three walls, by sampling (a rapidly exploring random tree).

The head goes ahead two links at a time and bends two hinges; every link behind it takes the place of the link two before.
`lw.Collisions` says for many states at once whether anything overlaps. The walls are those of the scene `threading`.
"""

import itertools
import time

import numpy as np

import linkwork as lw

LINKS, LENGTH, RADIUS = 100, 0.02, 0.004
START = (-0.25, 0.15, -0.4)  # [m] of the head; the body hangs below it, straight
BEYOND = 1.25  # [m] height of the head at which it is through
BENDS = np.linspace(-0.2, 0.2, 5)  # [rad] that a hinge may be bent by
BETWEEN = 4  # states looked at between one place and the next
LOW, HIGH = np.array([-0.5, -0.4, -0.5]), np.array([0.5, 0.4, 1.5])  # [m] where samples lie
MOST_SAMPLES = 10_000

walls = {"model.parameters.joints": LINKS + 1, "model.parameters.length": LENGTH, "model.parameters.radius": RADIUS}
model = lw.Scene.read("threading", walls).model
ask = lw.Collisions(model, lw.Contact(self_contact=True))
holes = [np.array([0.05 * k, 0.0, 0.15 + 0.5 * k]) for k in range(3)]
rng = np.random.default_rng(14)


def ahead(bend_x, bend_y):
    """Pose of the new head in the frame of the old one, which becomes the third link."""
    down = (0, 0, -LENGTH)
    return (lw.Pose(down, rpy=(bend_x, 0, 0)) @ lw.Pose(down, rpy=(0, bend_y, 0))).inverse()


ACTIONS = [(bends, ahead(*bends)) for bends in itertools.product(BENDS, BENDS)]


def state_of(head, angles):
    """Coordinates with the head at a pose, and hinges bent by angles (LINKS,)."""
    return np.concatenate([head.xyz, head.quaternion, angles])


def between(a, b):
    """States on the way from one to the next: hinges and head turn evenly."""
    s = np.linspace(0.0, 1.0, BETWEEN + 2)[1:-1, None]
    q = (1 - s) * a + s * b
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    return q


class Tree:
    """Places of the snake that can be reached, each from an earlier one."""

    def __init__(self, head, angles):
        self.heads, self.angles, self.before = [head], [angles], [-1]
        self.points = np.zeros((MOST_SAMPLES + 1, 3))
        self.points[0] = head.xyz
        self.tried = [0]

    def grow(self, sample):
        """One place more, towards a sample; its number, or -1 where everything is in the way."""
        n = len(self.heads)
        far = np.linalg.norm(self.points[:n] - sample, axis=1) + 0.02 * np.array(self.tried)
        near = int(np.argmin(far))
        self.tried[near] += 1
        moves = [(bends, self.heads[near] @ step) for bends, step in ACTIONS]
        moves.sort(key=lambda move: np.linalg.norm(np.subtract(move[1].apply((0, 0, 3 * LENGTH)), sample)))
        here = state_of(self.heads[near], self.angles[near])
        new = [state_of(head, np.concatenate([bends, self.angles[near][:-2]])) for bends, head in moves]
        for k in np.flatnonzero(~ask.collide(np.array(new))):
            if not ask.collide(between(here, new[k])).any():
                bends, head = moves[k]
                self.heads.append(head)
                self.angles.append(np.concatenate([bends, self.angles[near][:-2]]))
                self.before.append(near)
                self.points[n] = head.xyz
                self.tried.append(0)
                return n
        return -1


def draw(path, file):
    """Places along the way, seen from the side."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    for axes, k in zip(figure.subplots(1, 5, sharey=True), np.linspace(0, len(path) - 1, 5).astype(int), strict=True):
        for _, shape in model.obstacles:
            corner, size = np.array(shape.placement.xyz) - 0.5 * np.array(shape.size), shape.size
            if abs(shape.placement.xyz[1]) < 0.5 * size[1]:  # cut by the plane of the picture
                axes.fill_between([corner[0], corner[0] + size[0]], corner[2], corner[2] + size[2], color="0.7")
        places = lw.body_poses(model, lw.State(path[k], np.zeros(model.nv)))[:, :3, 3]
        axes.plot(places[:, 0], places[:, 2], color="tab:green", lw=2.5)
        axes.plot(*places[0, [0, 2]], "o", color="tab:red", ms=5)
        axes.set(xlim=(-0.45, 0.35), ylim=(-1.2, 1.5), title=f"place {k}", xticks=(-0.3, 0.0, 0.3))
        axes.set(xlabel="x [m]", ylabel="z [m]" if k == 0 else "", aspect="equal")
    figure.savefig(file, dpi=100)
    print(f"written to {file}")


def plan():
    """The tree and the number of the place that is through, after as many samples as it took."""
    tree = Tree(lw.Pose(START), np.zeros(LINKS))
    for samples in range(1, MOST_SAMPLES + 1):
        # Half of the samples lie in the holes: narrow passages are what a planner needs help with.
        in_hole = rng.random() < 0.5
        sample = holes[rng.integers(3)] + rng.uniform(-0.03, 0.03, 3) if in_hole else rng.uniform(LOW, HIGH)
        grown = tree.grow(sample)
        if grown >= 0 and tree.points[grown, 2] > BEYOND:
            return tree, grown, samples
    raise SystemExit("no way was found")


begun = time.perf_counter()
tree, end, samples = plan()
path = []
while end >= 0:
    path.append(state_of(tree.heads[end], tree.angles[end]))
    end = tree.before[end]
path.reverse()
print(f"{samples} samples, {len(tree.heads)} places, a way of {len(path)} in {time.perf_counter() - begun:.1f} s")

way = np.concatenate([path[:1], *([*between(a, b), b] for a, b in itertools.pairwise(path))])
begun = time.perf_counter()
room = ask.clearances(way)
rate = len(way) / (time.perf_counter() - begun)
print(f"least room on the way, in-between states included: {1e3 * room.min():.1f} mm ({rate:,.0f} states per second)")
assert room.min() > 0.0
draw(path, "plan_through_holes.png")
