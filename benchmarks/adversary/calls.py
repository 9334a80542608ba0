"""Public functions and methods, each with a place for one argument."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw

MODEL = lw.library.humanoid().compile()
GOOD = MODEL.random_state(0, speed=0.1)
JOINT, HINGE = MODEL.joint_names[1], next(n for n, j in zip(MODEL.joint_names, MODEL.joints, strict=True) if j.nv == 1)
LOOP = lw.library.four_bar().compile()
CHAIN = lw.library.chain(8).compile()
REST = CHAIN.neutral()
FULL = lw.FullDynamics(CHAIN, REST)
ADAPTIVE = lw.AdaptiveDynamics(CHAIN, REST, active_joints=3)
QUASI = lw.QuasiStatics(CHAIN, REST, 1e-3)
RESPONSE = lw.Response(MODEL, GOOD)
LINK = CHAIN.joint_names[2]


def spoiled_state(rng: random.Random) -> lw.State:
    q, v = GOOD.q.copy(), GOOD.v.copy()
    x = rng.choice((q, v))
    x[rng.randrange(x.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e308))
    return lw.State(q, v)


def cleared(sim: Any, apply: Callable[[], Any]) -> None:
    """Applies a load and takes it away again."""
    sim.clear(apply())


CALLS: dict[str, Callable[[Any], Any]] = {
    "forward_dynamics.state": lambda x: lw.forward_dynamics(MODEL, x),
    "forward_dynamics.model": lambda x: lw.forward_dynamics(x, GOOD),
    "forward_dynamics.effort": lambda x: lw.forward_dynamics(MODEL, GOOD, effort=x),
    "forward_dynamics.wrenches": lambda x: lw.forward_dynamics(MODEL, GOOD, wrenches=x),
    "forward_dynamics.algorithm": lambda x: lw.forward_dynamics(MODEL, GOOD, algorithm=x),
    "inverse_dynamics": lambda x: lw.inverse_dynamics(MODEL, GOOD, x),
    "mass_matrix": lambda x: lw.mass_matrix(MODEL, x),
    "body_poses": lambda x: lw.body_poses(MODEL, x),
    "body_twists": lambda x: lw.body_twists(MODEL, x),
    "body_jacobian": lambda x: lw.body_jacobian(MODEL, GOOD, x),
    "energy": lambda x: lw.energy(MODEL, x),
    "momentum": lambda x: lw.momentum(MODEL, x),
    "center_of_mass": lambda x: lw.center_of_mass(MODEL, x),
    "joint_reactions": lambda x: lw.joint_reactions(MODEL, x),
    "hybrid_dynamics": lambda x: lw.hybrid_dynamics(MODEL, GOOD, {JOINT: x}),
    "reroot": lambda x: lw.reroot(MODEL, GOOD, x) and None,
    "close_loops": lambda x: lw.close_loops(LOOP, x) and None,
    "loop_gaps": lambda x: lw.loop_gaps(LOOP, x),
    "constrained_dynamics": lambda x: lw.constrained_dynamics(LOOP, x) and None,
    "settle.state": lambda x: lw.settle(CHAIN, x) and None,
    "settle.effort": lambda x: lw.settle(CHAIN, REST, effort=x) and None,
    "settle.loads": lambda x: lw.settle(CHAIN, REST, loads=x) and None,
    "Response": lambda x: lw.Response(MODEL, x) and None,
    "Response.acceleration": lambda x: RESPONSE.acceleration(x),
    "Response.set_wrench": lambda x: RESPONSE.set_wrench(1, x),
    "closest": lambda x: lw.closest(MODEL, x, 0, 3) and None,
    "clearance": lambda x: lw.clearance(MODEL, x) and None,
    "in_collision": lambda x: lw.in_collision(MODEL, x) and None,
    "Collisions": lambda x: lw.Collisions(x) and None,
    "Contact": lambda x: lw.Contact(friction=x) and None,
    "contact=": lambda x: lw.FullDynamics(CHAIN, REST, contact=x) and None,
    "FullDynamics.model": lambda x: lw.FullDynamics(x, REST) and None,
    "FullDynamics.state": lambda x: lw.FullDynamics(MODEL, x) and None,
    "FullDynamics.algorithm": lambda x: lw.FullDynamics(CHAIN, REST, algorithm=x) and None,
    "FullDynamics.integrator": lambda x: lw.FullDynamics(CHAIN, REST, integrator=x) and None,
    "FullDynamics.rtol": lambda x: lw.FullDynamics(CHAIN, REST, rtol=x) and None,
    "FullDynamics.device": lambda x: lw.FullDynamics(CHAIN, REST, device=x) and None,
    "FullDynamics.field": lambda x: lw.FullDynamics(CHAIN, REST, field=x) and None,
    "FullDynamics.thermostat": lambda x: lw.FullDynamics(CHAIN, REST, thermostat=x) and None,
    "AdaptiveDynamics.model": lambda x: lw.AdaptiveDynamics(x, REST) and None,
    "AdaptiveDynamics.state": lambda x: lw.AdaptiveDynamics(MODEL, x) and None,
    "AdaptiveDynamics.tolerance": lambda x: lw.AdaptiveDynamics(CHAIN, REST, tolerance=x) and None,
    "AdaptiveDynamics.active_joints": lambda x: lw.AdaptiveDynamics(CHAIN, REST, active_joints=x) and None,
    "AdaptiveDynamics.measure": lambda x: lw.AdaptiveDynamics(CHAIN, REST, measure=x) and None,
    "AdaptiveDynamics.weights": lambda x: lw.AdaptiveDynamics(CHAIN, REST, weights=x) and None,
    "AdaptiveDynamics.horizon": lambda x: lw.AdaptiveDynamics(CHAIN, REST, horizon=x) and None,
    "AdaptiveDynamics.pin_active": lambda x: ADAPTIVE.pin_active(x),
    "AdaptiveDynamics.pin_inactive": lambda x: ADAPTIVE.pin_inactive(x),
    "AdaptiveDynamics.unpin": lambda x: ADAPTIVE.unpin(x),
    "AdaptiveDynamics.update_region": lambda x: ADAPTIVE.update_region(x) and None,
    "QuasiStatics.model": lambda x: lw.QuasiStatics(x, REST) and None,
    "QuasiStatics.state": lambda x: lw.QuasiStatics(MODEL, x) and None,
    "QuasiStatics.tolerance": lambda x: lw.QuasiStatics(CHAIN, REST, x) and None,
    "QuasiStatics.max_joints": lambda x: lw.QuasiStatics(CHAIN, REST, max_joints=x) and None,
    "QuasiStatics.deadline": lambda x: lw.QuasiStatics(CHAIN, REST, deadline=x) and None,
    "QuasiStatics.reroot": lambda x: lw.QuasiStatics(CHAIN, REST).reroot(x) and None,
    "Langevin": lambda x: lw.Langevin(x) and None,
    "Recorder.every": lambda x: lw.Recorder("never", every=x) and None,
    "Recorder.path": lambda x: lw.Recorder(x) and None,
    "Recording": lambda x: lw.Recording(x) and None,
    "Scene": lambda x: lw.Scene(x) and None,
    "Scene.read": lambda x: lw.Scene.read(x) and None,
    "load": lambda x: lw.load(x) and None,
    "Pose": lambda x: lw.Pose(x) and None,
    "Pose.rotation": lambda x: lw.Pose((0, 0, 0), x) and None,
    "Inertia": lambda x: lw.Inertia(1.0, x) and None,
    "Inertia.box": lambda x: lw.Inertia.box(1.0, x) and None,
    "Revolute": lambda x: lw.Revolute(x) and None,
    "Compound": lambda x: lw.Compound(x) and None,
    "add_body.name": lambda x: lw.Linkage("a").add_body(x) and None,
    "add_body.joint": lambda x: lw.Linkage("a").add_body("b", joint=x) and None,
    "add_body.inertia": lambda x: lw.Linkage("a").add_body("b", inertia=x) and None,
    "library.chain": lambda x: lw.library.chain(x if not isinstance(x, int) or abs(x) < 1000 else -1) and None,
    "Model.state": lambda x: tuple(MODEL.state(x)),
    "Model.integrate": lambda x: MODEL.integrate(GOOD.q, x),
    "Model.difference": lambda x: MODEL.difference(GOOD.q, x),
    "Model.random_state": lambda x: tuple(MODEL.random_state(x)),
    "Model.body": lambda x: MODEL.body(x),
    "Model.frame": lambda x: MODEL.frame(x) and None,
    "Sweep": lambda x: lw.Sweep(x) and None,
    "resume_run": lambda x: lw.resume_run(FULL, x) and None,
    "run_scene": lambda x: lw.run_scene(x, "never") and None,
}
for _name, _sim in (("full", FULL), ("adaptive", ADAPTIVE), ("quasi", QUASI), ("loads", lw.Loads(CHAIN))):
    _calls: dict[str, Callable[[Any, Any], Any]] = {
        "apply_wrench.body": lambda s, x: cleared(s, lambda: s.apply_wrench(x)),
        "apply_wrench.force": lambda s, x: cleared(s, lambda: s.apply_wrench(1, force=x)),
        "apply_wrench.at": lambda s, x: cleared(s, lambda: s.apply_wrench(1, at=x)),
        "apply_wrench.frame": lambda s, x: cleared(s, lambda: s.apply_wrench(1, frame=x)),
        "apply_wrenches.bodies": lambda s, x: cleared(s, lambda: s.apply_wrenches(x, np.zeros((2, 6)))),
        "apply_wrenches.wrenches": lambda s, x: cleared(s, lambda: s.apply_wrenches([0, 1], x)),
        "apply_spring.target": lambda s, x: cleared(s, lambda: s.apply_spring(1, x, 1.0)),
        "apply_spring.stiffness": lambda s, x: cleared(s, lambda: s.apply_spring(1, (0, 0, 0), x)),
        "set_wrenches": lambda s, x: s.set_wrenches(x, np.zeros((1, 6))),
        "change_wrench": lambda s, x: s.change_wrench(x, force=(0, 0, 0)),
        "move_target": lambda s, x: s.move_target(x, (0, 0, 0)),
        "clear": lambda s, x: s.clear(x),
        "set_effort.joint": lambda s, x: s.set_effort(x, 0.0),
        "set_effort": lambda s, x: s.set_effort(LINK, x),
        "set_motor.joint": lambda s, x: s.set_motor(x, 0.0),
        "set_motor.position": lambda s, x: s.set_motor(LINK, x, stiffness=1.0),
        "set_motor.stiffness": lambda s, x: s.set_motor(LINK, 0.0, stiffness=x),
        "clear_motor": lambda s, x: s.clear_motor(x),
    }
    if _name != "loads":
        _calls |= {
            "step.h": lambda s, x: s.step(x) and None,
            "step.n": lambda s, x: s.step(1e-9, x if not isinstance(x, int) or x < 100 else -1) and None,
            "advance.h": lambda s, x: s.advance(x),
            "run.steps": lambda s, x: s.run(1e-9, x if not isinstance(x, int) or x < 100 else -1) and None,
            "run.every": lambda s, x: s.run(1e-9, 1, every=x) and None,
            "run.record": lambda s, x: s.run(1e-9, 1, record=x if not isinstance(x, str) else None) and None,
            "run.checkpoint_every_s": lambda s, x: s.run(1e-9, 1, checkpoint_every_s=x) and None,
            "restore": lambda s, x: s.restore(x),
        }
    for _what, _call in _calls.items():
        CALLS[f"{_name}.{_what}"] = lambda x, s=_sim, f=_call: f(s, x)  # type: ignore[misc]
