"""Ten links stand on end. The matrices of one step give a linear regulator, which holds them upright."""

import numpy as np

import linkwork as lw

LINKS, H, SECONDS = 10, 2e-3, 4.0


def upright(angles: np.ndarray) -> lw.FullDynamics:
    linkage = lw.Linkage("inverted chain")
    part = lw.Inertia.box(0.2, (0.02, 0.02, 0.2)).at(lw.Pose((0, 0, 0.1)))
    for i in range(LINKS):
        parent, height = (f"link_{i - 1}", 0.2) if i else ("world", 0.0)
        linkage.add_body(f"link_{i}", parent, lw.Revolute((0, 1, 0), damping=1e-3), lw.Pose((0, 0, height)), part)
    model = linkage.compile()
    return lw.FullDynamics(model, model.state(angles), integrator="semi_implicit_euler")


def regulator(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Gains K of the efforts -K x that are optimal in the long run: Riccati's equation, by doubling."""
    G, P = B @ np.linalg.solve(R, B.T), Q.copy()
    F = A.copy()
    for _ in range(40):
        W = np.linalg.inv(np.eye(len(A)) + G @ P)
        F, G, P = F @ W @ F, G + F @ W @ G @ F.T, P + F.T @ P @ W @ F
    return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)


A, B = lw.linearize(upright(np.zeros(LINKS)), H)
K = regulator(A, B, np.eye(2 * LINKS), 0.1 * np.eye(LINKS))
print(f"largest eigenvalue of a step: {abs(np.linalg.eigvals(A)).max():.3f} alone, ", end="")
print(f"{abs(np.linalg.eigvals(A - B @ K)).max():.4f} with the regulator")

start = np.random.default_rng(0).uniform(-0.1, 0.1, LINKS)
alone, held = upright(start), upright(start)
print("time [s]   largest angle alone [rad]   with the regulator [rad]")
for step in range(round(SECONDS / H) + 1):
    if step % round(0.5 / H) == 0:
        print(f"{step * H:8.2f}   {abs(alone.state.q).max():25.4f}   {abs(held.state.q).max():24.2e}")
    held.set_efforts(-K @ np.concatenate(held.state))
    held.advance(H)
    alone.advance(H)
