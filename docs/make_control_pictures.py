"""Makes docs/pictures/control_*.png, the pictures of docs/control.md: `python docs/make_control_pictures.py`.

Runs the code of the page. Needs the extra `plots`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

PICTURES = Path(__file__).parent / "pictures"
COLORS = ("#1f4e8c", "#c8502d", "#3d8b50", "#8a5aa8", "#b58b16", "#3a9ca6")
TARGET = np.array([0.6, -0.4, 0.3, 0.2, -0.2, 0.1])


def arm() -> lw.Model:
    joint = lw.Revolute((0, 1, 0), armature=0.1, effort_limit=20.0, velocity_limit=1.0)
    return lw.library.chain(6, joint=joint, length=0.2, mass=0.5, radius=0.02).compile()


def finish(axes, ylabel: str) -> None:  # type: ignore[no-untyped-def]
    axes.set_xlabel("time [s]")
    axes.set_ylabel(ylabel)
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)


def lines(axes, times, values, ylabel: str) -> None:  # type: ignore[no-untyped-def]
    for k, color in enumerate(COLORS):
        axes.plot(times, np.asarray(values)[:, k], color=color, linewidth=1.4, label=f"link_{k}")
    finish(axes, ylabel)


def pd_picture() -> None:
    model = arm()
    sim = lw.FullDynamics(model, model.neutral())
    sim.motors.stiffness, sim.motors.damping = 150.0, 15.0
    sim.motors.position = TARGET
    times, q, v, tau = [], [], [], []
    for _ in range(1200):
        sim.advance(1e-3)
        times.append(sim.time)
        q.append(sim.state.q)
        v.append(sim.state.v)
        tau.append(sim.efforts.motors)
    figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.3), layout="constrained")
    lines(axes[0], times, q, "coordinate [rad]")
    for k, color in enumerate(COLORS):
        axes[0].axhline(TARGET[k], color=color, linewidth=0.7, linestyle=":")
    axes[0].set_ylim(-0.5, 0.95)
    axes[0].legend(fontsize=8, frameon=False, ncols=3, loc="upper left")
    lines(axes[1], times, v, "velocity [rad/s]")
    lines(axes[2], times, tau, "effort of the motor [N·m]")
    for limit, where in ((1.0, axes[1]), (20.0, axes[2])):
        for sign in (-1, 1):
            where.axhline(sign * limit, color="0.4", linewidth=0.8, linestyle="--")
    figure.savefig(PICTURES / "control_pd.png", dpi=130)


def wanted(t: float, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    phase = 2.0 * t - 0.5 * np.arange(n)
    ramp, rate = np.sin(min(t, 1.0) * np.pi / 2) ** 2, np.pi / 2 * np.sin(np.pi * min(t, 1.0))
    bend = np.pi**2 / 2 * np.cos(np.pi * t) if t < 1.0 else 0.0
    q, v, a = 0.3 * np.sin(phase), 0.6 * np.cos(phase), -1.2 * np.sin(phase)
    return ramp * q, ramp * v + rate * q, ramp * a + 2 * rate * v + bend * q


def trajectory_picture() -> None:
    model = arm()
    sim = lw.FullDynamics(model, model.neutral())
    h, kp, kd = 1e-3, 100.0, 20.0
    times, q, error, tau, energy, work = [], [], [], [], [], [0.0]
    first = sim.energy.total
    for _ in range(4000):
        place, speed, acceleration = wanted(sim.time, model.nv)
        now = sim.state
        effort = lw.inverse_dynamics(model, now, acceleration + kd * (speed - now.v) + kp * (place - now.q))
        sim.set_efforts(effort)
        sim.advance(h)
        times.append(sim.time)
        q.append(sim.state.q)
        error.append(sim.state.q - wanted(sim.time, model.nv)[0])
        tau.append(effort)
        mean = 0.5 * (now.v + sim.state.v)
        energy.append(sim.energy.total - first)
        work.append(work[-1] + h * effort @ mean)
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 5.8), layout="constrained")
    lines(axes[0, 0], times, q, "coordinate [rad]")
    axes[0, 0].legend(fontsize=8, frameon=False, ncols=3, loc="upper left")
    axes[0, 0].set_ylim(-0.35, 0.5)
    lines(axes[0, 1], times, 1e3 * np.array(error), "error [mrad]")
    lines(axes[1, 0], times, tau, "effort [N·m]")
    axes[1, 1].plot(times, work[1:], color=COLORS[0], label="work of the efforts")
    axes[1, 1].plot(times, energy, color=COLORS[1], label="energy")
    axes[1, 1].legend(fontsize=8, frameon=False)
    finish(axes[1, 1], "[J]")
    figure.savefig(PICTURES / "control_trajectory.png", dpi=130)


if __name__ == "__main__":
    pd_picture()
    trajectory_picture()
