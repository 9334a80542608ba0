"""Makes docs/pictures/choosing.png, the picture of docs/choosing.md: `python docs/make_choosing_pictures.py`.

A chain of 200 links, at rest, is pushed at a link near its end; each dot is a run. Needs the extra `plots`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

H, STEPS = 1e-3, 300
PICTURE = Path(__file__).parent / "pictures" / "choosing.png"
MEASURES = ("relative_joint", "absolute_joint", "relative_linkage", "absolute_linkage")
COLORS = ("#1f4e8c", "#c8502d", "#3d8b50", "#8a5aa8")


def chain() -> lw.Model:
    return lw.library.chain(200, joint=lw.Revolute((0, 1, 0), damping=1e-3), length=0.05, mass=0.05).compile()


def course(sim) -> tuple[float, np.ndarray]:  # type: ignore[no-untyped-def]
    """Mean number of active joints, and where all bodies end up, shape (n, 3) [m]."""
    sim.apply_wrench("link_180", force=(3.0, 0.0, 0.0))
    active = []
    for _ in range(STEPS // 10):
        report = sim.step(H, 10)
        active.append(getattr(report, "n_active", 200))
    return float(np.mean(active)), lw.body_poses(sim.model, sim.state)[:, :3, 3]


def main() -> None:
    model = chain()
    start = model.neutral()
    _, truth = course(lw.FullDynamics(model, start))
    moved = float(np.linalg.norm(truth - lw.body_poses(model, start)[:, :3, 3], axis=1).max())

    def run(**options):  # type: ignore[no-untyped-def]
        active, places = course(lw.AdaptiveDynamics(model, start, **options))
        return active, float(np.linalg.norm(places - truth, axis=1).max()) / moved

    figure, axes = plt.subplots(1, 3, figsize=(12.0, 3.6), layout="constrained")
    for measure, color in zip(MEASURES, COLORS, strict=True):
        scale = 1.0 if measure.startswith("relative") else 300.0  # the largest accelerations, in rad/s²
        found = [run(tolerance=scale * 2.0**-k, measure=measure) for k in range(1, 12, 2)]
        axes[0].semilogy(*zip(*found, strict=True), "o-", color=color, label=measure, markersize=4)
    axes[0].set_title("tolerance 2⁻¹ to 2⁻¹¹, by measure", fontsize=10)
    for tolerance, color in zip((2.0**-3, 2.0**-7), COLORS, strict=False):
        found = [run(tolerance=tolerance, horizon=x) for x in (1e-3, 1e-2, 3e-2, 0.1, 0.3)]
        axes[1].semilogy(*zip(*found, strict=True), "o-", color=color, label=f"tolerance {tolerance:g}", markersize=4)
    axes[1].set_title("horizon 1 to 300 ms", fontsize=10)
    for every, color in zip((1, 10, 50), COLORS, strict=False):
        found = [run(max_active_joints=k, update_every=every) for k in (5, 10, 20, 50, 100)]
        axes[2].loglog(*zip(*found, strict=True), "o-", color=color, label=f"update_every {every}", markersize=4)
    axes[2].set_title("max_active_joints 5 to 100", fontsize=10)
    for panel in axes:
        panel.set_xlabel("active joints of 200, on average")
        panel.grid(color="0.92")
        panel.legend(fontsize=8, frameon=False)
    axes[0].set_ylabel("largest error of a place / largest motion")
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
