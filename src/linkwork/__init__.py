"""Linkwork: rigid-body linkages with very many joints. Computes the joints that matter, with a bound on the error.

`import linkwork as lw` defines names and does nothing else; what stands behind a name is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwork import errors
from linkwork.errors import (
    DeviceError,
    FormatError,
    LinkworkError,
    LinkworkWarning,
    MissingExtraError,
    ModelError,
    StateError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from linkwork import gpu, haptics, joints, molecules, sensors, shapes
    from linkwork.adaptive.dynamics.gradients import RegionGradients
    from linkwork.adaptive.dynamics.report import AdaptiveReport
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics
    from linkwork.adaptive.quasi_statics.report import QuasiStaticsReport
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics
    from linkwork.contact.points import ContactPoint
    from linkwork.contact.queries import Closest, Collisions, clearance, closest, in_collision
    from linkwork.contact.settings import Contact
    from linkwork.derivatives.front import jvp, vjp
    from linkwork.derivatives.gradients import Gradients
    from linkwork.derivatives.jacobians import ForwardJacobians, InverseJacobians, jacobians
    from linkwork.derivatives.linearizing import linearize
    from linkwork.derivatives.runs import GradientRun, RunGradients, run_with_gradients
    from linkwork.derivatives.step_gradients import Linearized
    from linkwork.dynamics.efforts import Efforts
    from linkwork.dynamics.frames import frame_bias_acceleration, frame_jacobian, frame_poses
    from linkwork.dynamics.front import (
        Energy,
        Momentum,
        body_jacobian,
        body_poses,
        body_twists,
        center_of_mass,
        energy,
        forward_dynamics,
        inverse_dynamics,
        mass_matrix,
        momentum,
    )
    from linkwork.dynamics.quantities import (
        bias_efforts,
        body_accelerations,
        centroidal_momentum_bias,
        centroidal_momentum_matrix,
        com_jacobian,
        gravity_efforts,
        operational_inertia,
    )
    from linkwork.dynamics.reactions import hybrid_dynamics
    from linkwork.dynamics.reroot import ImpactLoss, Rerooted, reroot
    from linkwork.dynamics.response import Response
    from linkwork.dynamics.rod_forces import RodForces, rod_forces
    from linkwork.ensemble import Sweep, SweepError, SweepInterrupted, SweepTable
    from linkwork.environment.water import Seabed, Water, Waves, air
    from linkwork.full.report import FullReport
    from linkwork.full.simulation import FullDynamics
    from linkwork.loops.closing import close_loops, loop_gaps
    from linkwork.loops.constrained import LoopSolution, constrained_dynamics
    from linkwork.loops.reactions import joint_reactions
    from linkwork.model import library
    from linkwork.model.actuators import Actuator
    from linkwork.model.couplings import Coupling
    from linkwork.model.frames import FrameOn
    from linkwork.model.friction import Friction
    from linkwork.model.inertia import Inertia
    from linkwork.model.joints import (
        Compound,
        Cylindrical,
        Fixed,
        Free,
        Joint,
        Planar,
        Prismatic,
        Revolute,
        Screw,
        Spherical,
        Universal,
    )
    from linkwork.model.linkage import Body, Linkage, Obstacle
    from linkwork.model.loops import Loop, LoopClosure
    from linkwork.model.model import Frame, Model
    from linkwork.model.motion import Motion
    from linkwork.model.rods.curve import BSpline
    from linkwork.model.rods.ends import Clamped, Pinned, RodOn
    from linkwork.model.rods.numbers import RodDamping
    from linkwork.model.rods.rod import Rod, rod
    from linkwork.model.rods.section import Material, Section, rectangle, round_section
    from linkwork.model.sensors import Sensor
    from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere
    from linkwork.model.state import State
    from linkwork.reaching.follow import Followed, follow
    from linkwork.reaching.front import Miss, Reached, reach
    from linkwork.reaching.gradients import reach_gradients
    from linkwork.reaching.targets import Target
    from linkwork.reaching.velocity import reach_velocity
    from linkwork.record.recorder import Recorder
    from linkwork.record.recording import Recording
    from linkwork.scene import Scene, run_scene
    from linkwork.sensing.front import Sensors
    from linkwork.simulation.actuating import Actuators
    from linkwork.simulation.along import along
    from linkwork.simulation.protocol import Report, RunReport, Simulation
    from linkwork.simulation.run import RunInterrupted, resume_run
    from linkwork.simulation.thermal.langevin import Langevin
    from linkwork.simulation.touching.front import ContactReport
    from linkwork.spatial.pose import Pose
    from linkwork.statics.buckling import Buckled, buckling
    from linkwork.statics.continuation import Branch, continuation
    from linkwork.statics.gradients import SettleGradients
    from linkwork.statics.in_field import FieldReport, FieldRest
    from linkwork.statics.loads import Loads
    from linkwork.statics.modes import Modes, modes
    from linkwork.statics.settle import Settled, SettleReport, settle
    from linkwork.viewer.view import Viewer

__version__ = "0.2.0"


# Where each name stands: loaded on first use, so that an import waits for none of them.
_LATER = {
    "adaptive.dynamics.gradients": "RegionGradients",
    "adaptive.dynamics.report": "AdaptiveReport",
    "adaptive.dynamics.simulation": "AdaptiveDynamics",
    "adaptive.quasi_statics.report": "QuasiStaticsReport",
    "adaptive.quasi_statics.simulation": "QuasiStatics",
    "contact.points": "ContactPoint",
    "contact.queries": "Closest Collisions clearance closest in_collision",
    "contact.settings": "Contact",
    "derivatives.front": "jvp vjp",
    "derivatives.gradients": "Gradients",
    "derivatives.jacobians": "ForwardJacobians InverseJacobians jacobians",
    "derivatives.runs": "GradientRun RunGradients run_with_gradients",
    "derivatives.step_gradients": "Linearized",
    "derivatives.linearizing": "linearize",
    "dynamics.efforts": "Efforts",
    "dynamics.frames": "frame_bias_acceleration frame_jacobian frame_poses",
    "dynamics.front": "Energy Momentum body_jacobian body_poses body_twists center_of_mass energy forward_dynamics "
    "inverse_dynamics mass_matrix momentum",
    "dynamics.quantities": "bias_efforts body_accelerations centroidal_momentum_bias centroidal_momentum_matrix "
    "com_jacobian gravity_efforts operational_inertia",
    "dynamics.reactions": "hybrid_dynamics",
    "dynamics.reroot": "ImpactLoss Rerooted reroot",
    "dynamics.response": "Response",
    "dynamics.rod_forces": "RodForces rod_forces",
    "ensemble": "Sweep SweepError SweepInterrupted SweepTable",
    "environment.water": "Seabed Water Waves air",
    "full.report": "FullReport",
    "full.simulation": "FullDynamics",
    "loops.closing": "close_loops loop_gaps",
    "loops.constrained": "LoopSolution constrained_dynamics",
    "loops.reactions": "joint_reactions",
    "model.actuators": "Actuator",
    "model.couplings": "Coupling",
    "model.frames": "FrameOn",
    "model.friction": "Friction",
    "model.inertia": "Inertia",
    "model.joints": "Compound Cylindrical Fixed Free Joint Planar Prismatic Revolute Screw Spherical Universal",
    "model.linkage": "Body Linkage Obstacle",
    "model.loops": "Loop LoopClosure",
    "model.model": "Frame Model",
    "model.motion": "Motion",
    "model.rods.curve": "BSpline",
    "model.rods.ends": "Clamped Pinned RodOn",
    "model.rods.numbers": "RodDamping",
    "model.rods.rod": "Rod rod",
    "model.rods.section": "Material Section rectangle round_section",
    "model.sensors": "Sensor",
    "model.shapes": "Box Capsule Cylinder HeightField Mesh Plane Shape Sphere",
    "model.state": "State",
    "molecules": "Langevin",
    "reaching.follow": "Followed follow",
    "reaching.front": "Miss Reached reach",
    "reaching.gradients": "reach_gradients",
    "reaching.targets": "Target",
    "reaching.velocity": "reach_velocity",
    "record.recorder": "Recorder",
    "record.recording": "Recording",
    "scene": "Scene run_scene",
    "sensing.front": "Sensors",
    "simulation.actuating": "Actuators",
    "simulation.along": "along",
    "simulation.protocol": "Report RunReport Simulation",
    "simulation.run": "RunInterrupted resume_run",
    "simulation.touching.front": "ContactReport",
    "spatial.pose": "Pose",
    "statics.buckling": "Buckled buckling",
    "statics.continuation": "Branch continuation",
    "statics.gradients": "SettleGradients",
    "statics.in_field": "FieldReport FieldRest",
    "statics.loads": "Loads",
    "statics.modes": "Modes modes",
    "statics.settle": "SettleReport Settled settle",
}
_MODULES = {name: f"linkwork.{name}" for name in ("gpu", "haptics", "joints", "molecules", "sensors", "shapes")} | {
    "library": "linkwork.model.library"
}
_MODULE_OF = {name: f"linkwork.{module}" for module, names in _LATER.items() for name in names.split()}


def load(path: str | Path, **options: Any) -> Linkage:
    """Reads a linkage from a file: .urdf, .xml or .mjcf (MJCF), .bvh and .asf (motion capture, with `motion` beside it).

    options: `missing_meshes="skip"`, `"capsule"` or `"error"` says what becomes of mesh files that are not there (URDF and
    MJCF); `floating`, `strict` (URDF); `unit`, `mass`, `masses` and more (motion capture). See docs/formats.md.
    Raises FormatError with file and line of every fault; what a file says that Linkwork cannot keep is listed in the
    linkage's `warnings`.
    """
    from linkwork.importers import load_file

    return load_file(path, **options)


def view(
    subject: Any,
    other: Recording | None = None,
    *,
    state: State | None = None,
    modes: Modes | None = None,
    h: float | None = None,
    live: bool = False,
    play: bool = False,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool | None = None,
    block: bool = False,
) -> Viewer:
    """Opens a page with a mechanism in 3-D: a simulation runs on it, a recording plays, a model is posed by sliders.

    subject: a simulation, Scene, Recording, Model or Linkage. other: a second recording, shown beside the first.
    state: of a model (neutral by default). modes: of `lw.modes` at this state, in which the model then swings.
    h: time step of a simulation [s]; 1 ms, or that of the scene.
    live: simulate a model or linkage with FullDynamics. play: begin at once.
    host: this computer only by default; "0.0.0.0" lets others in. port: or the next that is free.
    browser: open it in a browser; by default where a program asks for it with `block`. block: serve until Ctrl-C.
    Needs the extra `viewer`.
    """
    from linkwork.viewer import view as open_page

    return open_page(
        subject,
        other,
        state=state,
        modes=modes,
        h=h,
        live=live,
        play=play,
        host=host,
        port=port,
        browser=browser,
        block=block,
    )


def __dir__() -> list[str]:
    """The public names, those that are loaded on first use included."""
    return sorted({*__all__, "__version__", "__doc__", "__file__", "__name__", "__path__"})


def __getattr__(name: str) -> Any:
    """A name that is asked for the first time."""
    import importlib

    if name in _MODULES:
        found: Any = importlib.import_module(_MODULES[name])
    elif name in _MODULE_OF:
        found = getattr(importlib.import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'linkwork' has no attribute {name!r}")
    globals()[name] = found
    return found


__all__ = [
    "Actuator",
    "Actuators",
    "AdaptiveDynamics",
    "AdaptiveReport",
    "BSpline",
    "Body",
    "Box",
    "Branch",
    "Buckled",
    "Capsule",
    "Clamped",
    "Closest",
    "Collisions",
    "Compound",
    "Contact",
    "ContactPoint",
    "ContactReport",
    "Coupling",
    "Cylinder",
    "Cylindrical",
    "DeviceError",
    "Efforts",
    "Energy",
    "FieldReport",
    "FieldRest",
    "Fixed",
    "Followed",
    "FormatError",
    "ForwardJacobians",
    "Frame",
    "FrameOn",
    "Free",
    "Friction",
    "FullDynamics",
    "FullReport",
    "GradientRun",
    "Gradients",
    "HeightField",
    "ImpactLoss",
    "Inertia",
    "InverseJacobians",
    "Joint",
    "Langevin",
    "Linearized",
    "Linkage",
    "LinkworkError",
    "LinkworkWarning",
    "Loads",
    "Loop",
    "LoopClosure",
    "LoopSolution",
    "Material",
    "Mesh",
    "Miss",
    "MissingExtraError",
    "Model",
    "ModelError",
    "Modes",
    "Momentum",
    "Motion",
    "Obstacle",
    "Pinned",
    "Planar",
    "Plane",
    "Pose",
    "Prismatic",
    "QuasiStatics",
    "QuasiStaticsReport",
    "Reached",
    "Recorder",
    "Recording",
    "RegionGradients",
    "Report",
    "Rerooted",
    "Response",
    "Revolute",
    "Rod",
    "RodDamping",
    "RodForces",
    "RodOn",
    "RunGradients",
    "RunInterrupted",
    "RunReport",
    "Scene",
    "Screw",
    "Seabed",
    "Section",
    "Sensor",
    "Sensors",
    "SettleGradients",
    "SettleReport",
    "Settled",
    "Shape",
    "Simulation",
    "Sphere",
    "Spherical",
    "State",
    "StateError",
    "Sweep",
    "SweepError",
    "SweepInterrupted",
    "SweepTable",
    "Target",
    "Universal",
    "Water",
    "Waves",
    "air",
    "along",
    "bias_efforts",
    "body_accelerations",
    "body_jacobian",
    "body_poses",
    "body_twists",
    "buckling",
    "center_of_mass",
    "centroidal_momentum_bias",
    "centroidal_momentum_matrix",
    "clearance",
    "close_loops",
    "closest",
    "com_jacobian",
    "constrained_dynamics",
    "continuation",
    "energy",
    "errors",
    "follow",
    "forward_dynamics",
    "frame_bias_acceleration",
    "frame_jacobian",
    "frame_poses",
    "gpu",
    "gravity_efforts",
    "haptics",
    "hybrid_dynamics",
    "in_collision",
    "inverse_dynamics",
    "jacobians",
    "joint_reactions",
    "joints",
    "jvp",
    "library",
    "linearize",
    "load",
    "loop_gaps",
    "mass_matrix",
    "modes",
    "molecules",
    "momentum",
    "operational_inertia",
    "reach",
    "reach_gradients",
    "reach_velocity",
    "rectangle",
    "reroot",
    "resume_run",
    "rod",
    "rod_forces",
    "round_section",
    "run_scene",
    "run_with_gradients",
    "sensors",
    "settle",
    "shapes",
    "view",
    "vjp",
]
