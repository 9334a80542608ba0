"""Everything public that takes arguments, each with arguments that are right: a case spoils one of them.

An entry makes its arguments anew, so that no case leaves anything to the next one. `tests/properties/test_adversary.py`
checks that no public function, class or method is left out.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw

Made = Callable[[], dict[str, Any]]


class Call(NamedTuple):
    function: Callable[..., Any]  # or the name of a method of `subject`
    arguments: Made
    subject: Callable[[], Any] | None = None  # what a method belongs to; checked to be unchanged by what is refused

    def parameters(self) -> list[str]:
        """That can be spoiled."""
        function = self.function
        if self.subject is not None:
            function = getattr(self.subject(), function)  # type: ignore[call-overload]
        named = inspect.signature(function).parameters.values()
        takes = [p.name for p in named if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name[0] != "_"]
        return takes + [name for name in self.arguments() if name not in takes]


@cache
def humanoid() -> lw.Model:
    return lw.library.humanoid().compile()


@cache
def chain() -> lw.Model:
    return lw.library.chain(8).compile()


@cache
def four_bar() -> lw.Model:
    return lw.library.four_bar().compile()


def moving() -> lw.State:
    return humanoid().random_state(0, speed=0.1)


def joint_name() -> str:
    return chain().joint_names[2]


def linkage() -> lw.Linkage:
    two = lw.Linkage("two")
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
    two.add_body("a", joint=lw.Revolute(), inertia=box, shapes=(lw.Box((0.1, 0.1, 0.1)),))
    two.add_body("b", "a", joint=lw.Revolute((0, 1, 0)), inertia=box, placement=lw.Pose((0, 0, 1)))
    two.add_loop(lw.Spherical(), "b", "world", (lw.Pose(), lw.Pose((0, 0, 1))), name="closed")
    two.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -9)))
    return two


@cache
def recording() -> lw.Recording:
    path = Path(tempfile.mkdtemp(prefix="adversary")) / "recorded"
    sim = lw.FullDynamics(chain(), chain().neutral())
    sim.set_motor(joint_name(), 0.1, stiffness=1.0)
    sim.run(1e-3, 4, record=lw.Recorder(path, every=2, force=True))
    return lw.Recording(path)


@cache
def scene_file() -> Path:
    from linkwork.scene.builtin_scenes import find_scene

    return find_scene("catheter")


def full() -> lw.FullDynamics:
    return lw.FullDynamics(chain(), chain().neutral())


def adaptive() -> lw.AdaptiveDynamics:
    return lw.AdaptiveDynamics(chain(), chain().neutral(), max_active_joints=3)


def quasi() -> lw.QuasiStatics:
    return lw.QuasiStatics(chain(), chain().neutral(), tolerance=1e-3)


def state_of_chain() -> dict[str, Any]:
    return {"model": chain(), "state": chain().neutral()}


def state_of_humanoid() -> dict[str, Any]:
    return {"model": humanoid(), "state": moving()}


def state_of_four_bar() -> dict[str, Any]:
    return {"model": four_bar(), "state": four_bar().neutral()}


def given(**arguments: Any) -> Made:
    """Arguments; those that are functions of nothing are made when they are used."""
    return lambda: {name: x() if inspect.isfunction(x) else x for name, x in arguments.items()}


def with_state(made: Made, **more: Any) -> Made:
    return lambda: {**made(), **given(**more)()}


CALLS: dict[str, Call] = {}


def add(name: str, arguments: Made, function: Callable[..., Any] | None = None) -> None:
    found: Any = lw
    for part in name.split("."):
        found = getattr(found, part)
    CALLS[name] = Call(function or found, arguments)


def add_method(name: str, subject: Callable[[], Any], /, **arguments: Any) -> None:
    CALLS[f"{subject.__name__.strip('<>')}.{name}"] = Call(name, given(**arguments), subject)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------- functions
for _name in ("body_poses", "body_twists", "center_of_mass", "energy", "forward_dynamics", "joint_reactions"):
    add(_name, state_of_humanoid)
for _name in ("mass_matrix", "momentum", "clearance", "in_collision", "Response"):
    add(_name, state_of_humanoid)
for _name in (
    "bias_efforts",
    "gravity_efforts",
    "com_jacobian",
    "centroidal_momentum_matrix",
    "centroidal_momentum_bias",
):
    add(_name, state_of_humanoid)
add("body_accelerations", with_state(state_of_humanoid, acceleration=lambda: np.zeros(humanoid().nv)))
for _name in ("frame_jacobian", "frame_bias_acceleration"):
    add(_name, with_state(state_of_humanoid, frame=lambda: humanoid().body_names[3]))
for _name in ("frame_poses", "operational_inertia"):
    add(_name, with_state(state_of_humanoid, frames=lambda: humanoid().body_names[3]))
for _name in ("reach", "reach_velocity"):
    add(_name, with_state(state_of_chain, targets=lambda: {chain().body_names[-1]: (0.1, 0.0, 0.2)}))
add("follow", with_state(state_of_chain, curve=lambda: np.array([(0.0, 0.0, -1.0), (0.0, 0.1, -1.0)])))
for _name in ("vjp", "jvp", "jacobians"):
    add(_name, with_state(state_of_chain, function=lambda: lw.forward_dynamics))
for _name in ("linearize", "run_with_gradients"):
    add(_name, given(sim=full, h=1e-3, **({"n": 2} if _name == "run_with_gradients" else {})))
add("Target", given(point=(0.0, 0.0, 1.0)))
add("inverse_dynamics", with_state(state_of_humanoid, acceleration=lambda: np.zeros(humanoid().nv)))
add("body_jacobian", with_state(state_of_humanoid, body=3))
add("hybrid_dynamics", with_state(state_of_chain, prescribed=lambda: {joint_name(): 0.0}))
add("reroot", with_state(state_of_chain, body=3))
add("closest", with_state(state_of_humanoid, a=lambda: humanoid().body_names[2], b=lambda: humanoid().body_names[9]))
add("settle", state_of_chain)
for _name in ("close_loops", "loop_gaps", "constrained_dynamics"):
    add(_name, state_of_four_bar)
add("load", given(path="none.urdf"))
add("resume_run", given(sim=full, record="none"))
add("run_scene", given(scene="none.toml", out="never"))
add("view", given(subject=None))

# ------------------------------------------------------------------------------------------------------- simulations
for _name in ("FullDynamics", "AdaptiveDynamics", "QuasiStatics"):
    add(_name, state_of_chain)
for _simulation in (full, adaptive, quasi, lambda: lw.Loads(chain())):

    def _loaded(make: Callable[[], Any] = _simulation, kind: str = "wrench") -> Any:
        sim = make()
        if kind == "wrench":
            sim.apply_wrench(1, force=(0.0, 0.0, 1.0))
        else:
            sim.apply_spring(1, (0.0, 0.0, 1.0), 1.0)
        return sim

    _subject = _simulation
    if _simulation.__name__ == "<lambda>":
        _subject.__name__ = "loads"
    add_method("apply_wrench", _subject, body=1)
    add_method("apply_wrenches", _subject, bodies=[0, 1], wrenches=lambda: np.zeros((2, 6)))
    add_method("apply_spring", _subject, body=1, target=(0, 0, 1), stiffness=1.0)
    add_method("set_efforts", _subject, effort=lambda: np.zeros(chain().nv))
    add_method("set_effort", _subject, joint=joint_name, effort=0.1)
    add_method("set_motor", _subject, joint=joint_name, position=0.1, stiffness=1.0)
    add_method("clear_motor", _subject, joint=joint_name)
    for _kind, _name, _arguments in (
        ("wrench", "set_wrenches", {"wrenches": np.zeros((1, 6))}),
        ("wrench", "change_wrench", {"force": (0, 0, 2)}),
        ("spring", "move_target", {"target": (0, 0, 2)}),
        ("wrench", "clear", {}),
    ):
        _holding = partial(_loaded, _simulation, _kind)
        _holding.__name__ = f"{_subject.__name__}, loaded"  # type: ignore[attr-defined]
        CALLS[f"{_subject.__name__}.{_name}"] = Call(
            _name,  # type: ignore[arg-type]
            lambda arguments=_arguments: {"load": OF_SUBJECT, **arguments},  # type: ignore[misc]
            _holding,
        )
    if _subject.__name__ == "loads":
        continue
    add_method("closest", _subject, a="link_0", b="link_3")
    add_method("set_state", _subject, state=lambda: chain().neutral())
    add_method("reset", _subject)
    add_method("step", _subject, h=1e-9)
    add_method("advance", _subject, h=1e-9)
    add_method("run", _subject, h=1e-9, n=1)
    add_method("restore", _subject, checkpoint=lambda: full().checkpoint())
for _name in ("pin_active", "pin_inactive", "unpin"):
    add_method(_name, adaptive, joint=joint_name)
add_method("update_region", adaptive)
add_method("solve", quasi)
add_method("refine", quasi, tolerance=1e-6)
add_method("settle", quasi)
add_method("reroot", quasi, body=3)


def response() -> lw.Response:
    return lw.Response(chain(), chain().neutral())


add_method("acceleration", response, body=1)
add_method("block", response, of=1, on=3)
add_method("body_response", response, of=1, wrench_on=2, wrench=lambda: np.ones(6))
add_method("joint_acceleration", response, joint=joint_name)
add_method("joint_response", response, of=joint_name, effort_on=joint_name, effort=1.0)
add_method("pose", response, body=1)
add_method("twist", response, body=1)
add_method("set_effort", response, joint=joint_name, effort=0.1)
add_method("set_wrench", response, body=1, wrench=lambda: np.zeros(6))

# ------------------------------------------------------------------------------------------------------------- models
for _joint in ("Revolute", "Prismatic", "Screw", "Cylindrical", "Universal", "Spherical", "Planar", "Free", "Fixed"):
    add(_joint, given())
add("Compound", given(parts=lambda: [lw.Revolute(), lw.Revolute((1, 0, 0))]))
add("Pose", given())
add("Inertia", given(mass=1.0, moments=(1.0, 1.0, 1.0)))
add("Inertia.box", given(mass=1.0, size=(1, 1, 1)))
add("Inertia.sphere", given(mass=1.0, radius=1.0))
add("Inertia.capsule", given(mass=1.0, radius=0.1, length=1.0))
add("Inertia.cylinder", given(mass=1.0, radius=0.1, length=1.0))
add("Inertia.point_mass", given(mass=1.0))
add("Inertia.total", given(parts=lambda: [lw.Inertia(1.0)]))
add("Box", given(size=(1, 1, 1)))
add("Sphere", given(radius=1.0))
add("Capsule", given(radius=0.1, length=1.0))
add("Cylinder", given(radius=0.1, length=1.0))
add("Plane", given())
add("Mesh", given(file="none.stl"))
add("HeightField", given(heights=((0.0, 1.0), (1.0, 0.0)), size=(1.0, 1.0)))
add("Motion", given(frame_time=0.01, joints=lambda: {"a": np.zeros((3, 1))}))
add("Linkage", given())
add_method("add_body", linkage, name="c", parent="a")
add_method("add_frame", linkage, name="eye", body="a")
add_method("remove_frame", linkage, name="eye")
add_method("to_urdf", linkage, path="never/out.urdf")
add_method("to_mjcf", linkage, path="never/out.xml")
add_method("add_loop", linkage, joint=lw.Fixed(), body_a="a", body_b="b")
add_method("add_coupling", linkage, name="tied", joints={"a": 1.0, "b": -1.0})
add_method("add_obstacle", linkage, name="wall", shape=lw.Box((1, 1, 1)))
add_method("merge", linkage, other=linkage, prefix="p_")
add_method("edit_body", linkage, placement=lw.Pose())
add_method("remove_body", linkage, name="b")
add_method("remove_loop", linkage, name="closed")
add_method("remove_obstacle", linkage, name="floor")
add_method("rename_body", linkage, old="b", new="c")
add_method("compile", linkage)
for _name, _arguments in {
    "body": {"name": humanoid().body_names[3]},
    "frame": {"name": "none"},
    "joint": {"name": humanoid().joint_names[3]},
    "joint_of": {"k": 3},
    "q_slice": {"joint": 3},
    "v_slice": {"joint": 3},
    "state": {},
    "random_state": {},
    "integrate": {"q": moving().q, "v": moving().v},
    "difference": {"q0": moving().q, "q1": moving().q},
}.items():
    add_method(_name, humanoid, **_arguments)
for _name in lw.library.MODELS:
    add(f"library.{_name}", given())


def pose() -> lw.Pose:
    return lw.Pose((1, 2, 3))


def inertia() -> lw.Inertia:
    return lw.Inertia.box(1.0, (1, 1, 1))


add_method("apply", pose, point=(1, 2, 3))
add_method("rotate", pose, vector=(1, 2, 3))
add_method("at", inertia, pose=pose)
add_method("faults", inertia)

# ------------------------------------------------------------------------------------------- contact, recordings, scenes
add("Contact", given())
add("Collisions", given(model=chain))


def collisions() -> lw.Collisions:
    return lw.Collisions(humanoid())


add_method("clearance", collisions, state=moving)
add_method("clearances", collisions, q=lambda: np.stack([moving().q] * 2))
add_method("collide", collisions, q=lambda: np.stack([moving().q] * 2))
add_method("closest", collisions, state=moving, a=lambda: humanoid().body_names[2], b=lambda: humanoid().body_names[9])
add("Langevin", given(temperature=300.0))
add("Loads", given(model=chain))
add("Recorder", given(path="never"))
add("Recording", given(path="none"))
for _name, _arguments in {
    "coordinates": {"places": [0, 1]},
    "contacts": {"k": 0},
    "efforts": {"k": 0},
    "joint": {"name": joint_name},
    "joint_effort": {"name": joint_name},
    "joint_velocity": {"name": joint_name},
    "path_of": {"body": 1},
    "poses": {"k": 0},
    "state": {"k": 0},
}.items():
    add_method(_name, recording, **_arguments)
add("Scene", given(given=dict))
add("Scene.read", given(path=scene_file))
add_method("sensor", recording, name="eye")
add("Scene.of_recording", given(recording=recording))
add("Sweep", given(subject="catheter"))
add("Sweep.of", given(out="none"))
add("SweepTable", given(folder="none"))

# ----------------------------------------------------------------------------------------------------- hands, devices
add("haptics.CouplingSettings", given())
add("haptics.HumanHand", given(target=lambda: lambda t: (0.0, 0.0, 0.0)))
add("haptics.Pointer", given())
add("haptics.RecordedMotion", given(times=(0.0, 1.0), positions=((0, 0, 0), (0, 0, 1))))
add("haptics.ScriptedMotion", given(path=lambda: lambda t: (0.0, 0.0, 0.0)))
add("haptics.session_of", given(sim=full))
add("haptics.Session", given(sim=full))


def held(**arguments: Any) -> None:
    """A grasp that is let go again."""
    lw.haptics.grasp(**arguments).release()


held.__signature__ = inspect.signature(lw.haptics.grasp)  # type: ignore[attr-defined]
add("haptics.grasp", given(sim=full, body=3, device=lambda: lw.haptics.Pointer()), held)


def on_host(**arguments: Any) -> None:
    from linkwork.gpu.host import HostBackend

    lw.gpu.DeviceModel(**{"backend": HostBackend, **arguments})


on_host.__signature__ = inspect.signature(lw.gpu.DeviceModel)  # type: ignore[attr-defined]
add("gpu.DeviceModel", given(model=chain), on_host)
OF_SUBJECT = object()  # stands for the only load of the simulation

# What takes arguments without being a border: results that Linkwork makes, types of protocols, long jobs.


# ------------------------------------------------------------------------------------- rods, water, sensors, actuators
@cache
def column() -> lw.Model:
    made = lw.rod(1.0, 6, EI=1.0, mass_per_length=1.0, radius=0.01)
    made.attach_world("start", lw.Clamped())
    return made.compile()


def state_of_column() -> dict[str, Any]:
    return {"model": column(), "state": column().neutral()}


def no_load(size: float) -> lw.Loads:
    return lw.Loads(column())


add("rod", given(length=1.0, segments=4, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=0.01))
add("rectangle", given(width=0.1, height=0.2))
add("round_section", given(radius=0.1, inner=0.05))
add("Section", given(area=1.0, about_y=1.0, about_z=1.0, torsion=1.0, width=1.0, height=1.0))
add("Material", given(E=1e9, nu=0.3, density=1000.0))
add("RodDamping", given(ratio=0.01, frequency=10.0))
add("BSpline", given(points=((0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1)), degree=3))
add("Water", given(density=1000.0, current=(0.1, 0.0, 0.0), drag=(1.2, 0.02), added_mass=1.0))
add("Waves", given(amplitude=1.0, period=8.0))
add("Friction", given(forward=0.1, backward=0.2, sideways=0.3))
add("Seabed", given(stiffness=1e4, friction=0.5, damping=1.0))
add("air", given(density=1.2, wind=(1.0, 0.0, 0.0)))
add("along", given(recording=recording, frame=0))
for _subject in (full, adaptive):
    add_method("along", _subject, rod="rod")
add("modes", with_state(state_of_column, count=2))
add("rod_forces", with_state(state_of_column, reactions=lambda: np.zeros((column().n_bodies, 6))))
add("buckling", with_state(state_of_column, load=lambda: no_load, low=0.0, high=1.0, steps=2))
add("continuation", with_state(state_of_column, load=lambda: no_load, start=0.0, end=0.1, step=0.1, max_steps=2))
add("Actuator", given(name="drive", joint=joint_name, control="position", stiffness=1.0, damping=0.1))
add("Actuators", given(sim=full))
add("Sensor", given(name="eye", on="b"))
add("Sensors", given(sim=full, seed=1))

NO_BORDER = {
    "Settled",
    "FieldRest",
    "Coupling",
    "reach_gradients",  # of what `reach` returns
    "Rod",
    "RodOn",
    "Clamped",
    "Pinned",
    "FrameOn",
    "GradientRun",
    "Gradients",
    "Body",
    "Loop",
    "Obstacle",
    "Frame",
    "Joint",
    "Shape",
    "Model",
    "State",
    "Simulation",
    "Sweep.run",
    "Inertia.raw",
    "Pose.raw",
}
