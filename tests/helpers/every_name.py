"""A user's program that touches every public name, for mypy --strict to read. It is not run: docs/api runs every name."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import linkwork as lw

Floats = NDArray[np.float64]


def describe() -> lw.Model:
    linkage = lw.Linkage("arm", gravity=(0.0, 0.0, -9.81))
    hinge: lw.Joint = lw.Revolute((0, 0, 1), limits=(-1.0, 1.0), damping=0.1)
    shape: lw.Shape = lw.Capsule(0.05, 0.3)
    body: lw.Body = linkage.add_body("a", "world", hinge, lw.Pose(), lw.Inertia.sphere(1.0, 0.1), shapes=[shape])
    joints: list[lw.Joint] = [
        lw.Prismatic((1, 0, 0)),
        lw.Screw((0, 0, 1), pitch=0.1),
        lw.Cylindrical((0, 0, 1)),
        lw.Fixed(),
    ]
    joints += [lw.Universal((1, 0, 0), (0, 1, 0)), lw.Planar((0, 0, 1)), lw.Spherical(), lw.Free(), lw.Compound(())]
    shapes: list[lw.Shape] = [lw.Box((1, 1, 1)), lw.Sphere(0.1), lw.Cylinder(0.1, 0.2), lw.Mesh("part.stl"), lw.Plane()]
    shapes.append(lw.Sphere(0.1, friction=lw.Friction(forward=0.1, backward=0.3, axis=(1, 0, 0), law="hu")))
    shapes.append(lw.HeightField(((0.0, 0.0), (0.0, 1.0)), (1.0, 1.0)))
    obstacle: lw.Obstacle = linkage.add_obstacle("floor", lw.Plane())
    frame: lw.FrameOn = linkage.add_frame("tip", body.name, lw.Pose((0.0, 0.0, 0.3)))
    loop: lw.Loop = linkage.add_loop(lw.Spherical(), "a", "world")
    linkage.sensors.append(lw.sensors.Imu("imu", frame.name, noise=0.1))
    sensor: lw.Sensor = linkage.sensors[0]
    linkage.actuators.append(lw.Actuator("drive", "a", "position", stiffness=10.0))
    coupling: lw.Coupling = lw.Linkage().add_coupling("mimic", {"a": 1.0, "b": -2.0}, offset=0.1)
    print(coupling.joints)
    model: lw.Model = linkage.compile()
    placed: lw.Frame = model.frame("tip")
    closures: tuple[lw.LoopClosure, ...] = model.loops
    print(joints, shapes, obstacle.name, loop.name, sensor.name, placed.body, closures, lw.library.chain(3))
    motion: lw.Motion | None = lw.load(Path("arm.urdf"), repair=True).motion
    print(motion)
    return model


def quantities(model: lw.Model, state: lw.State) -> Floats:
    effort = lw.inverse_dynamics(model, state, np.zeros(model.nv))
    found: list[Floats] = [
        lw.forward_dynamics(model, state, effort=effort),
        lw.mass_matrix(model, state),
        lw.body_poses(model, state),
        lw.body_twists(model, state),
        lw.body_jacobian(model, state, "a"),
        lw.body_accelerations(model, state, effort),
        lw.bias_efforts(model, state),
        lw.gravity_efforts(model, state),
        lw.center_of_mass(model, state),
        lw.com_jacobian(model, state),
        lw.centroidal_momentum_matrix(model, state),
        lw.centroidal_momentum_bias(model, state),
        lw.frame_poses(model, state, "tip"),
        lw.frame_jacobian(model, state, "tip"),
        lw.frame_bias_acceleration(model, state, "tip"),
        lw.operational_inertia(model, state, "tip"),
        lw.joint_reactions(model, state),
    ]
    accelerations, efforts = lw.hybrid_dynamics(model, state, {"a": 1.0})
    energy: lw.Energy = lw.energy(model, state)
    momentum: lw.Momentum = lw.momentum(model, state)
    response = lw.Response(model, state)
    solution: lw.LoopSolution = lw.constrained_dynamics(model, state)
    closed: lw.State = lw.close_loops(model, state)
    print(
        lw.loop_gaps(model, closed).worst_gap, energy.total, momentum.linear, response, solution, accelerations, efforts
    )
    rerooted: lw.Rerooted = lw.reroot(model, state, "a")
    loss: lw.ImpactLoss | None = None
    print(rerooted, loss)
    return found[0]


def derivatives(model: lw.Model, state: lw.State) -> None:
    _, pull_back = lw.vjp(lw.forward_dynamics, model, state)
    gradients: lw.Gradients = pull_back(np.ones(model.nv))
    print(gradients, lw.jvp(lw.forward_dynamics, model, state, v=np.ones(model.nv)))
    matrices: lw.ForwardJacobians | lw.InverseJacobians = lw.jacobians(lw.forward_dynamics, model, state)
    sim = lw.FullDynamics(model, state, integrator="semi_implicit_euler")
    linear: lw.Linearized = lw.linearize(sim, 1e-3)
    run: lw.GradientRun = lw.run_with_gradients(sim, 1e-3, 10, memory=1e6, progress=False)
    print(run.backward(q=np.ones(model.nq)))
    more: lw.RunGradients | lw.SettleGradients | None = None
    some: lw.RegionGradients | None = None
    print(matrices, linear, more, some)


def reaching(model: lw.Model, state: lw.State) -> None:
    reached: lw.Reached = lw.reach(model, state, {"tip": lw.Target(point=(0.2, 0.0, 0.4)), "a": lw.Pose()}, limits=True)
    miss: lw.Miss = reached.misses["tip"]
    line = np.linspace((0.2, 0.0, 0.4), (0.3, 0.0, 0.4), 10)
    followed: lw.Followed = lw.follow(model, state, line, body="tip", body_follows=True)
    speeds: Floats = lw.reach_velocity(model, state, {"tip": lw.Pose()}, gain=5.0)
    print(miss.way, followed.q, speeds)
    slopes = lw.reach_gradients(model, reached, {"tip": (0.2, 0.0, 0.4)}, np.ones(model.nv))
    point: Floats = slopes["tip"][0]["point"]
    print(point)
    settled: lw.Settled = lw.settle(model, state, loads=lw.Loads(model))
    report: lw.SettleReport = settled.report
    rest: lw.FieldRest | None = None
    in_field: lw.FieldReport | None = rest.report if rest is not None else None
    print(report.energy, in_field)


def simulating(model: lw.Model, state: lw.State) -> None:
    contact = lw.Contact(friction=0.5)
    full = lw.FullDynamics(model, state, contact=contact)
    adaptive = lw.AdaptiveDynamics(model, state, max_active_joints=10)
    statics = lw.QuasiStatics(model, state, tolerance=1e-3)
    first: lw.FullReport = full.step(1e-3, 10)
    second: lw.AdaptiveReport = adaptive.step(1e-3)
    third: lw.QuasiStaticsReport = statics.step(1e-3)
    touched: lw.ContactReport | None = full.contact_report
    points: tuple[lw.ContactPoint, ...] = full.contacts
    near: lw.Closest = full.closest("a", "floor")
    efforts: lw.Efforts = full.efforts
    print(first, second, third, touched, points, near.distance, efforts, full.contact_wrenches(), full.applied_effort)
    sensors = lw.Sensors(full, seed=1)
    drives = lw.Actuators(full)
    drives.control = 0.3
    report: lw.RunReport = full.run(1e-3, 10, sensors=sensors, on_step=drives.update)
    last: lw.Report | None = report.last
    simulation: lw.Simulation = full
    print(
        last,
        simulation.time,
        lw.Collisions(model, contact),
        lw.clearance(model, state),
        lw.closest(model, state, "a", "floor"),
    )
    warm = lw.FullDynamics(model, state, thermostat=lw.Langevin(300.0, seed=1))
    print(lw.in_collision(model, state), warm.time)


def running(model: lw.Model, state: lw.State) -> None:
    sim = lw.FullDynamics(model, state)
    try:
        with lw.Recorder("run", every=10) as recorder:
            sim.run(1e-3, 100, record=recorder)
        lw.resume_run(sim, "run")
    except lw.RunInterrupted as stopped:
        print(stopped.path)
    recording: lw.Recording = lw.run_scene(lw.Scene.read("swing"), "out")
    forces: lw.RodForces = lw.along(recording, -1, water=lw.air())
    lw.view(recording, browser=False)
    table: lw.SweepTable = lw.Sweep("swing", {"model.parameters.joints": [3, 4]}, seed=1).run("sweep", workers=0)
    print(recording.times, forces.tension, table, lw.gpu, lw.haptics, lw.molecules)


def failing() -> None:
    try:
        describe()
    except (lw.ModelError, lw.StateError, lw.FormatError, lw.MissingExtraError, lw.DeviceError) as error:
        print(error)
    except (lw.SweepError, lw.SweepInterrupted, lw.LinkworkError) as error:
        print(error, lw.LinkworkWarning)


def rods() -> None:
    sections: list[lw.Section] = [lw.round_section(0.01, 0.008), lw.rectangle(0.003, 0.012)]
    steel = lw.Material(E=200e9, nu=0.3, density=7800.0)
    curve = lw.BSpline([(0, 0, 0), (1, 0, 0), (2, 0, 0.2), (3, 0, 0.2)])
    made: lw.Rod = lw.rod(None, 20, section=sections[0], material=steel, curve=curve, damping=lw.RodDamping(time=0.1))
    made.attach_world("start", lw.Clamped())
    made.attach_world("end", lw.Pinned())
    model = made.compile()
    state = model.neutral()
    on: lw.RodOn = model.rods[0]
    forces: lw.RodForces = lw.rod_forces(model, state, lw.joint_reactions(model, state), on.name)
    shapes: lw.Modes = lw.modes(model, state, 5, below=100.0)

    def pushed(load: float) -> lw.Loads:
        loads = lw.Loads(model)
        loads.apply_wrench(on.bodies[-1], force=(-load, 0.0, 0.0))
        return loads

    lowest: lw.Buckled = lw.buckling(model, state, pushed, 0.0, 10.0)
    branch: lw.Branch = lw.continuation(model, state, pushed, 0.0, 10.0, step=0.5)
    print(forces.tension, shapes.frequencies, lowest.load, branch)
    sea = lw.Water(current=(0.5, 0.0, 0.0), depth=50.0, seabed=lw.Seabed(stiffness=1e4), waves=lw.Waves(1.0, 8.0))
    print(sea, lw.air(wind=(1.0, 0.0, 0.0)))
