"""Makes docs/pictures/statics.png, the picture of docs/theory/statics.md: `python docs/make_statics_picture.py`.

Needs the extra `plots`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

LENGTH, LINKS = 10.0, 200


def cable(span: float) -> lw.Model:
    size = LENGTH / LINKS
    linkage = lw.Linkage("cable")
    inertia = lw.Inertia.box(1.0 / LINKS, (size, 0.005, 0.005)).at(lw.Pose((size / 2, 0, 0)))
    for i in range(LINKS):
        hinge = lw.Revolute((0, 1, 0) if i % 2 == 0 else (0, 0, 1))
        linkage.add_body(f"b{i}", f"b{i - 1}" if i else "world", hinge, lw.Pose((size if i else 0, 0, 0)), inertia)
    ends = lw.Pose((span, 0, 0)), lw.Pose((size, 0, 0))
    linkage.add_loop(lw.Spherical(), "world", f"b{LINKS - 1}", ends, name="far")
    return linkage.compile()


def column() -> lw.Model:
    size = 1.0 / LINKS
    linkage = lw.Linkage("column", gravity=(0, 0, 0))
    inertia = lw.Inertia.box(size, (0.01, 0.01, size)).at(lw.Pose((0, 0, size / 2)))
    for i in range(LINKS):
        joint = lw.Revolute((0, 1, 0), stiffness=(1.0 if i else 2.0) / size)
        linkage.add_body(f"b{i}", f"b{i - 1}" if i else "world", joint, lw.Pose((0, 0, size if i else 0)), inertia)
    return linkage.compile()


def catenary(span: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = span / 60, 1e4 * span
    for _ in range(200):
        a = (low + high) / 2
        low, high = (a, high) if 2 * a * np.sinh(span / (2 * a)) > LENGTH else (low, a)
    x = np.linspace(0.0, span, 400)
    return x, a * (np.cosh((x - span / 2) / a) - np.cosh(span / (2 * a)))


def main() -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.4), dpi=110, layout="constrained")
    colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, 5))
    for span, color in zip((1.0, 3.0, 5.0, 8.0, 9.9), colors, strict=True):
        model = cable(span)
        rest = lw.settle(model, model.neutral())
        points = lw.body_poses(model, rest.state)[:, :3, 3]
        left.plot(
            points[::6, 0], points[::6, 2], "o", ms=3, color=color, label=f"{span:g} m, {rest.report.sweeps} sweeps"
        )
        left.plot(*catenary(span), "-", lw=0.9, color=color)
    left.set(
        title="cable of 10 m between two anchors\ndots: 200 links, lines: catenaries",
        xlabel="x [m]",
        ylabel="z [m]",
        aspect="equal",
    )
    left.legend(title="span", frameon=False, fontsize=8, loc="lower right")
    model = column()
    for factor, color in zip((1.02, 1.2, 1.7, 3.0, 6.0), colors, strict=True):
        loads = lw.Loads(model)
        force = (0, 0, -factor * np.pi**2 / 4)
        loads.apply_wrench(LINKS - 1, force=force, frame="world", at=(0, 0, 1.0 / LINKS))
        rest = lw.settle(model, model.neutral(), loads=loads)
        points = lw.body_poses(model, rest.state)[:, :3, 3]
        sign = np.sign(points[-1, 0])
        right.plot(sign * points[:, 0], points[:, 2], color=color, label=f"{factor:g}, {rest.report.sweeps} sweeps")
    right.set(
        title="clamped column,\nsettled from straight",
        xlabel="x / length",
        ylabel="z / length",
        aspect="equal",
        xlim=(-0.05, 1.0),
        ylim=(-1.3, 1.05),
    )
    right.legend(title="load over Euler's", frameon=False, fontsize=8, loc="lower left")
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).parent / "pictures" / "statics.png")


if __name__ == "__main__":
    main()
