"""What becomes of the energy of a swinging chain: four integrators, steps chosen so that each costs about the same.

Prints the drift of each; with matplotlib (pip install '.[plots]') it also saves energy_drift.png.
"""

import warnings
from typing import NamedTuple

import numpy as np

import linkwork as lw

warnings.simplefilter("ignore", lw.LinkworkWarning)  # that semi-implicit Euler makes energy here is what this shows

LINKS, LENGTH, MASS = 4, 0.25, 0.5  # [m, kg] of each link
DURATION, MOMENTS = 20.0, 200  # [s], and how often to look
STEPS = {  # [s]: 1,000 to 1,500 evaluations of the accelerations per second for each
    "semi_implicit_euler": 0.001,
    "rk4": 0.004,
    "implicit_midpoint": 0.005,
    "dormand_prince": 0.02,
}
COLORS = {
    "semi_implicit_euler": "#d62728",
    "rk4": "#1f77b4",
    "implicit_midpoint": "#2ca02c",
    "dormand_prince": "#9467bd",
}


class History(NamedTuple):
    times: np.ndarray  # [s]
    errors: np.ndarray  # energies less the first one [J]
    evaluations: int  # of the accelerations


def history(integrator: str, duration: float, moments: int) -> History:
    model = lw.library.chain(LINKS, axes="same", length=LENGTH, mass=MASS).compile()
    start = model.state([2.0, 0.5, 0.5, 0.5])  # held high, then let go: chaotic
    sim = lw.FullDynamics(model, start, integrator=integrator)
    h = STEPS[integrator]
    before, seen, evaluations = sim.scalars()["energy"], [(0.0, 0.0)], 0
    for _ in range(moments):
        report = sim.step(h, round(duration / moments / h))
        seen.append((sim.time, report.energy - before))
        evaluations += report.evaluations
    times, errors = np.array(seen).T
    return History(times, errors, evaluations)


def draw(histories: dict[str, History]):
    """The picture, as a matplotlib figure."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.2), dpi=110, layout="constrained")
    for integrator, (times, errors, evaluations) in histories.items():
        label = f"{integrator}, h = {1000 * STEPS[integrator]:g} ms, {evaluations / times[-1]:,.0f} evaluations/s"
        axes.semilogy(times[1:], np.abs(errors[1:]), color=COLORS[integrator], label=label, linewidth=1.2)
    axes.set(xlabel="time [s]", ylabel="|energy - energy at the start| [J]", xlim=(0.0, times[-1]))
    axes.set_title(f"A chaotic chain of {LINKS} links, let go from above")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=1, fontsize=8, frameon=False)
    return figure


def main() -> None:
    scale = LINKS * MASS * 9.81 * LINKS * LENGTH  # [J] what the chain gains when it falls by its length
    print(f"energies compared with {scale:.1f} J, after {DURATION:g} s")
    print("integrator              step [ms]   evaluations   worst drift   drift at the end")
    histories = {}
    for integrator, h in STEPS.items():
        histories[integrator] = history(integrator, DURATION, MOMENTS)
        _, errors, evaluations = histories[integrator]
        worst, last = np.abs(errors).max() / scale, errors[-1] / scale
        print(f"{integrator:22s} {1000 * h:10g} {evaluations:13,} {worst:13.1e} {last:+18.1e}")
    try:
        figure = draw(histories)
    except ImportError:
        return
    figure.savefig("energy_drift.png")
    print("saved energy_drift.png")


if __name__ == "__main__":
    main()
