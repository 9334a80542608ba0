"""Stiffness along a rod such that it settles into a wanted curve: gradients go through the equilibrium. Needs SciPy.

A clamped rod hangs out under its weight. It is to reach the points of a curve that no rod of one stiffness takes.
"""

import numpy as np
from scipy.optimize import minimize

import linkwork as lw

LINKS, LENGTH, MASS = 40, 1.0, 0.4  # [m], [kg]
LINK = LENGTH / LINKS


def rod(stiffness: np.ndarray) -> lw.Model:
    """A chain that lies level where its springs are slack; stiffness of each joint [N·m]."""
    linkage = lw.Linkage("rod")
    inertia = lw.Inertia.box(MASS / LINKS, (LINK, 0.01, 0.01)).at(lw.Pose((LINK / 2, 0, 0)))
    for i in range(LINKS):
        parent, place = (f"link_{i - 1}", lw.Pose((LINK, 0, 0))) if i else ("world", lw.Pose())
        linkage.add_body(f"link_{i}", parent, lw.Revolute((0, 1, 0), stiffness=stiffness[i]), place, inertia)
    return linkage.compile()


def points(model: lw.Model, state: lw.State) -> np.ndarray:
    """Ends of the links [m], shape (links, 3)."""
    T = lw.body_poses(model, state)
    return T[:, :3, 3] + LINK * T[:, :3, 0]


# The wanted curve: level for a third of the way, then down along an arc of 80 degrees.
way = np.arange(1, LINKS + 1) * LINK
angle = np.radians(80) * np.clip((way - LENGTH / 3) / (2 * LENGTH / 3), 0, 1)
wanted = np.cumsum(LINK * np.column_stack([np.cos(angle), 0 * angle, -np.sin(angle)]), axis=0)


def misfit(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
    """½ Σ |gap|² over the ends of the links [m²], and its gradient with respect to logarithms of stiffness."""
    stiffness = np.exp(logarithms)
    model = rod(stiffness)
    rest = lw.settle(model, model.neutral())
    gap = points(model, rest.state) - wanted
    _, pull = lw.vjp(lw.body_poses, model, rest.state)
    weights = np.zeros((LINKS, 4, 4))
    weights[:, :3, 3], weights[:, :3, 0] = gap, LINK * gap
    by_q = pull(weights).q
    history.append(0.5 * float(np.sum(gap**2)))
    return history[-1], rest.backward(by_q).stiffness * stiffness


history: list[float] = []
first = np.full(LINKS, np.log(2.0))
answer = minimize(misfit, first, jac=True, method="L-BFGS-B", bounds=[(-4, 8)] * LINKS, options={"maxiter": 300})
stiffness = np.exp(answer.x)
model = rod(stiffness)
settled = lw.settle(model, model.neutral())
largest = float(np.abs(points(model, settled.state) - wanted).max())
print(f"{answer.nit} iterations, {len(history)} equilibria")
print(
    f"a rod of one stiffness misses the curve by {np.sqrt(2 * history[0] / LINKS) * 1e3:.0f} mm (root of mean square)"
)
print(f"the rod that was found misses it by {largest * 1e3:.2f} mm at most; {settled.report}")
for k in range(0, LINKS, 5):
    print(f"joint {k:2d}: {stiffness[k]:9.3f} N·m")
assert largest < 0.005
