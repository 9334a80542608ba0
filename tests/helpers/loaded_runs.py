"""Simulations under loads of every kind that change as they run: recorded, stopped, resumed; and what a recording holds."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.record import Recording
from linkwork.simulation.run import resume_run, run_simulation

H = 1e-2
MODELS = {
    "molecule": lambda: lw.library.molecule(joints=150, seed=3),
    "all joints": lambda: lw.library.random_tree(
        joints=60, branching=0.3, kinds=lw.library.JOINT_KINDS, options=True, seed=2
    ),
    "millipede": lambda: lw.library.millipede(segments=6, leg_links=4, spine=13),
}
MEASURED = {"molecule": {"tolerance": 1e-2}, "all joints": {"max_active_joints": 20}, "millipede": {"tolerance": 0.05}}


def bits(values):
    return np.ascontiguousarray(values).view(np.uint64)


def same_bits(a, b):
    return a.shape == b.shape and bool((bits(a) == bits(b)).all())


class Loaded:
    """A simulation with loads of every kind, which change while it runs."""

    def __init__(self, name, loads=True):
        self.model = MODELS[name]().compile()
        self.sim = lw.QuasiStatics(self.model, self.model.neutral(), **MEASURED[name])
        if not loads:
            return
        sim, n = self.sim, self.model.n_bodies
        gone = sim.apply_wrench(n - 2, force=(0.0, 1.0, 0.0), frame="world")
        self.pull = sim.apply_wrench(n - 1, force=(0.0, 0.2, 1.0), frame="world", at=(0.0, 0.0, 0.1))
        self.spring = sim.apply_spring(n // 2, target=(0.2, 0.1, 0.3), stiffness=20.0)
        self.push = sim.apply_wrench(n // 3, force=(0.3, 0.0, 0.1), torque=(0.01, 0.0, 0.02), frame="body")
        sim.clear(gone)  # so that rows of the table stand in another order than the loads
        helical = [i for i, joint in enumerate(self.model.joints) if joint.nv == 1]
        sim.set_effort(self.model.joint_names[helical[len(helical) // 2]], 0.02)

    def change(self, k):
        """What happens to the loads before step k."""
        if k % 17 == 0:
            self.sim.change_wrench(self.pull, force=(0.1 * np.sin(k), 0.2, 1.0))
        if k % 23 == 0:
            self.sim.move_target(self.spring, (0.2, 0.1 * np.cos(k), 0.3))
        if k % 31 == 0:
            self.sim.change_wrench(self.push, torque=(0.0, 0.01 * k, 0.0))


STEPS, EVERY = 240, 6


class Driven(Loaded):
    """Adaptive dynamics of the same molecule, with motors and pins beside the loads; all of them change while it runs."""

    def __init__(self):
        self.model = MODELS["molecule"]().compile()
        start = self.model.neutral()
        self.sim = lw.AdaptiveDynamics(self.model, start, max_active_joints=25, update_every=4, horizon=1.0)
        sim, n = self.sim, self.model.n_bodies
        gone = sim.apply_wrench(n - 2, force=(0.0, 1.0, 0.0), frame="world")
        self.pull = sim.apply_wrench(n - 1, force=(0.0, 0.02, 0.1), frame="world", at=(0.0, 0.0, 0.1))
        self.spring = sim.apply_spring(n // 2, target=(0.2, 0.1, 0.3), stiffness=0.2)
        self.push = sim.apply_wrench(n // 3, force=(0.03, 0.0, 0.01), torque=(1e-3, 0.0, 2e-3), frame="body")
        sim.clear(gone)
        sim.set_effort(self.model.joint_names[n // 4], 1e-3)
        self.motor, self.pinned = self.model.joint_names[n // 5], self.model.joint_names[2 * n // 5]
        sim.set_motor(self.motor, position=0.3, stiffness=1e-3, damping=1e-4)

    def change(self, k):
        """Depends on the step alone, so that a resumed run meets the same. Two forces take turns: the region follows."""
        sim = self.sim
        if k % 16 == 0:
            pulled = 0.1 if k % 32 == 0 else 0.0
            sim.change_wrench(self.pull, force=(0.1 * pulled * np.sin(k), 0.2 * pulled, pulled))
            sim.change_wrench(self.push, force=(0.0, 0.1 - pulled, 0.0), torque=(0.0, 1e-5 * k, 0.0))
        if k % 20 == 0:
            sim.move_target(self.spring, (0.2, 0.1 * np.cos(k), 0.3))
        if k % 24 == 0:
            sim.set_motor(self.motor, position=0.3 * np.cos(k), stiffness=1e-3, damping=1e-4)
        if k in (60, 180):
            sim.pin_active(self.pinned)
        elif k == 120:
            sim.unpin(self.pinned)


KINDS = {"quasi_statics": lambda: Loaded("molecule"), "adaptive_dynamics": Driven}
STEP = {"quasi_statics": H, "adaptive_dynamics": 1e-3}  # [s]


def simulation(kind="quasi_statics"):
    return KINDS[kind]()


def wave(loaded):
    return lambda sim: loaded.change(sim.steps_done)


def simulate(path, checkpoint_every_s=0.05, callback=None, force=False, kind="quasi_statics"):
    loaded = simulation(kind)
    return run_simulation(
        loaded.sim, STEP[kind], STEPS, record=path, every=EVERY, on_step=wave(loaded), on_step_every=4, callback=callback,
        checkpoint_every_s=checkpoint_every_s, force=force,
    )  # fmt: skip


def go_on(path, checkpoint_every_s=0.05, callback=None, kind="quasi_statics"):
    loaded = simulation(kind)
    return resume_run(loaded.sim, path, on_step=wave(loaded), checkpoint_every_s=checkpoint_every_s, callback=callback)


def recorded(path):
    """Every recorded array, and the checkpoint, as bytes that can be compared."""
    with Recording(path) as recording:
        arrays = {"times": recording.times, "steps": recording.steps}
        arrays |= {f"scalar {name}": values for name, values in recording.scalars.items()}
        arrays |= {f"report {name}": values for name, values in recording.reports.items()}
        for k, state in enumerate(recording.states):
            arrays[f"q {k}"], arrays[f"v {k}"] = state
        saved, run = recording.checkpoint()
        arrays |= {f"saved {name}": np.asarray(value) for name, value in saved.items()}
        return {name: (str(array.dtype), array.shape, array.tobytes()) for name, array in arrays.items()} | run
