"""A cable hangs at rest; something small pushes it. Which joints matter, how is that proven, and where does it settle?

First 3,000 links and a push of 1e-4 N: the error bound in the root form, which Linkwork uses, and in the published form,
which squares tensions of 3 kN and loses what is left when they cancel. Then 10 links that a wind of 1 N pulls aside settle.
"""

import warnings

import numpy as np

import linkwork as lw
from linkwork.reference.plain_dca import PlainDca
from linkwork.reference.psi_form import PsiForm

LENGTH, MASS, GRAVITY = 0.1, 0.1, 9.81  # of a link [m, kg]; [m/s²]


def hanging_cable(links: int, down: np.ndarray, side: np.ndarray) -> lw.Model:
    """Hinges by turns across each other, in a world whose axes are not the cable's."""
    across = np.cross(down, side)
    thin = 0.03  # moment about the link's own axis, as a part of that across it
    moments = MASS * LENGTH**2 / 12.0 * (np.eye(3) - (1.0 - thin) * np.outer(down, down))
    inertia = lw.Inertia(mass=MASS, com=tuple(0.5 * LENGTH * down), moments=moments)
    cable = lw.Linkage("cable", gravity=tuple(GRAVITY * down))
    for i in range(links):
        parent, place = (f"link_{i - 1}", lw.Pose(xyz=tuple(LENGTH * down))) if i else ("world", lw.Pose())
        cable.add_body(f"link_{i}", parent, lw.Revolute(tuple(across if i % 2 else side)), place, inertia)
    return cable.compile()


def compare(links: int, push: float, down: np.ndarray, side: np.ndarray) -> None:
    model = hanging_cable(links, down, side)
    state = model.neutral()
    wrenches = np.zeros((links, 6))
    wrenches[links // 2, 3:] = push * side
    truth = lw.forward_dynamics(model, state, wrenches=wrenches)
    largest = np.abs(truth).max()
    psi = PsiForm(PlainDca(model, state, None, wrenches))
    sim = lw.QuasiStatics(model, state, tolerance=1.0)
    sim.apply_wrench(links // 2, force=push * side)
    squared = psi.forms[-1].at(np.concatenate([np.zeros(3), -model.gravity]), np.zeros(6))
    print(f"{links} links, gravity along {down.round(3)}: Σ q̈² = {truth @ truth:.3e}, by Ψ {squared:+.3e}")
    print("  tolerance    root form: joints, error, bound          Ψ form: joints, error, claimed bound")
    for k in (3, 7, 11, 15, 19):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the last tolerance lies below the rounding floor, which sim would say
            report = sim.refine(2.0**-k)
        choice = psi.choose(2.0**-k)
        error, wrong = (np.abs(x - truth).max() / largest for x in (sim.acceleration, choice.qdd))
        ours = f"{report.n_computed:5d}   {error:.2e}   {report.error_bound:.2e}"
        print(f"  2^-{k:<2d}        {ours}              {len(choice.computed):5d}   {wrong:.2e}   {choice.bound:.2e}")


def settle(links: int, wind: float) -> None:
    model = lw.library.chain(joints=links, axes="same", length=LENGTH, mass=MASS).compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_wrench(links - 1, force=(wind, 0.0, 0.0), at=(0.0, 0.0, -LENGTH), frame="world")
    report = sim.settle()
    weight_below = MASS * GRAVITY * (links - np.arange(links) - 0.5)
    slope = np.tan(-np.cumsum(sim.state.q))
    some = [0, links // 2, -1]
    print(f"{links} links in a wind of {wind} N: {report}")
    print(f"  slopes of three links {slope[some].round(4)}, by statics {(wind / weight_below)[some].round(4)}")


def main() -> None:
    for down in ((2 / 7, 3 / 7, -6 / 7), (0.36, 0.48, -0.8)):
        axis = np.array(down)
        side = np.cross(axis, (1.0, 0.0, 0.0))
        compare(3000, 1e-4, axis, side / np.linalg.norm(side))
    settle(10, wind=1.0)


if __name__ == "__main__":
    main()
