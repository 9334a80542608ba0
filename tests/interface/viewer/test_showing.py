"""What objects show of themselves: every public class has a text that says something, and a table for notebooks."""

import inspect
import re

import numpy as np
import pytest
from tests.helpers.proteins import need_packages

import linkwork as lw
from linkwork.core.messages.describe import line_of_attributes, table_of_attributes
from linkwork.gpu import host

ROOMS = {"lw": lw, "lw.haptics": lw.haptics, "lw.molecules": lw.molecules, "lw.gpu": lw.gpu}
CLASSES = {
    f"{room}.{name}": getattr(module, name)
    for room, module in ROOMS.items()
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
}
ADDRESS = re.compile(r"object at 0x|function .* at 0x|0x[0-9a-f]{6,}")


def is_shown(cls):
    """Errors have their message, and protocols have no instances of their own."""
    return not issubclass(cls, BaseException) and not getattr(cls, "_is_protocol", False)


@pytest.mark.parametrize("name", sorted(name for name, cls in CLASSES.items() if is_shown(cls)))
def test_every_class_shows_itself(name):
    cls = CLASSES[name]
    assert cls.__repr__ is not object.__repr__, f"{name} has no text of its own"
    assert callable(getattr(cls, "_repr_html_", None)), f"{name} has no table for notebooks"


def of_linkages(folder):
    """What linkages, their files and queries give."""
    linkage, fourbar = lw.library.chain(4), lw.library.four_bar()
    model, closed = linkage.compile(), fourbar.compile()
    state = model.random_state(1)
    yield from [
        linkage,
        model,
        state,
        next(iter(linkage)),
        lw.Pose(xyz=(0, 0, 1)),
        lw.Inertia(1.0, (0, 0, 0), (1, 1, 1)),
    ]
    hinge = lw.Revolute((0, 0, 1))
    yield from [lw.Fixed(), lw.Free(), lw.Spherical(), hinge, lw.Prismatic((0, 0, 1)), lw.Planar(), lw.Screw()]
    yield from [lw.Universal(), lw.Cylindrical(), lw.Compound([hinge, lw.Prismatic((1, 0, 0))])]
    yield from [*fourbar.loops, *closed.loops, lw.constrained_dynamics(closed, lw.close_loops(closed, closed.state()))]
    yield from [lw.energy(model, state), lw.momentum(model, state), lw.Response(model, state), lw.settle(model, state)]
    settled = lw.settle(model, model.state())
    yield from [settled.report, settled.backward(np.ones(model.nv)), lw.Loads(model), lw.Langevin(300.0, 1.0)]
    rerooted = lw.reroot(model, state, model.body_names[-1])
    yield from [rerooted, rerooted.loss, lw.Motion(0.1, {"hip": np.zeros((3, 1))})]
    welded = lw.Linkage("welded")
    welded.add_body("base", joint=hinge, inertia=lw.Inertia.sphere(1.0, 0.1))
    welded.add_body("tip", "base", lw.Fixed(), inertia=lw.Inertia.sphere(1.0, 0.1))
    yield from welded.compile().frames.values()
    yield lw.Coupling("mimic", (("a", 1.0), ("b", -2.0)), offset=0.1)


def of_reaching_and_derivatives(folder):
    """What frames, inverse kinematics and gradients give."""
    linkage = lw.library.chain(4)
    yield linkage.add_frame("eye", linkage.compile().body_names[-1])
    model = linkage.compile()
    state, tip = model.random_state(1), model.body_names[-1]
    reached = lw.reach(model, state, {tip: lw.Target(point=(0.1, 0.0, -0.2))}, max_iterations=1, restarts=0)
    yield from [reached, *reached.misses.values(), lw.Target(point=(0, 0, 1))]
    place = lw.body_poses(model, state)[-1, :3, 3]
    yield lw.follow(model, state, np.array([place, place]), body=tip, max_iterations=1)
    for function, given in ((lw.forward_dynamics, np.zeros(4)), (lw.inverse_dynamics, np.zeros(4))):
        yield lw.jacobians(function, model, state, given)
    yield lw.vjp(lw.energy, model, state)[1]((1.0, 0.0))
    sim = lw.FullDynamics(model, state, integrator="semi_implicit_euler", limits=False)
    run = lw.run_with_gradients(sim, 1e-3, 3)
    yield from [lw.linearize(sim, 1e-3), run, run.backward(q=np.ones(4), v=np.ones(4))]
    part = lw.AdaptiveDynamics(model, state, max_active_joints=2, integrator="semi_implicit_euler", update_every=100)
    yield lw.run_with_gradients(part, 1e-3, 3).backward(v=np.ones(4))
    report = lw.FieldReport(1e-6, -3.0, 12, 8, np.zeros(9), {})
    yield from [report, lw.FieldRest(state, report)]


def of_shapes(folder):
    """What contact gives."""
    linkage = lw.Linkage("ball")
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.099)))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.state(), contact=lw.Contact())
    report = sim.step(1e-3)
    yield from [lw.Contact(), lw.Collisions(model), lw.closest(model, model.state(), "ball", "floor"), report.contact]
    yield from [*sim.contacts, *linkage.obstacles]
    yield lw.Friction(0.1, backward=0.3)
    yield from [lw.Plane(), lw.Box((1, 1, 1)), lw.Capsule(0.1, 1.0), lw.Cylinder(0.1, 1.0), lw.Sphere(0.1)]
    yield from [lw.Mesh("part.obj"), lw.HeightField(((0.0, 0.1), (0.0, 0.2)), (1.0, 1.0))]


def of_simulations(folder):
    """What runs, recordings, scenes and sweeps give."""
    model = lw.library.chain(4).compile()
    state = model.random_state(1)
    sims = [lw.FullDynamics(model, state), lw.AdaptiveDynamics(model, state), lw.QuasiStatics(model, model.state())]
    yield from [*sims, sims[0].step(1e-3), sims[1].step(1e-3), sims[2].solve(), sims[0].efforts, sims[0].motors]
    yield from [sims[0].apply_wrench(model.body_names[-1], force=(0, 0, 1))]
    recorder = lw.Recorder(folder / "run")
    yield sims[1].run(1e-3, 3, record=recorder)
    yield recorder
    recorder.close()
    yield lw.Recording(folder / "run")
    yield lw.Scene.read("snake_robot")
    sweep = lw.Sweep(lambda x: {"y": x}, {"x": [1.0, 2.0]})
    yield from [sweep, sweep.run(folder / "sweep", workers=0)]


def of_haptics(folder):
    model = lw.library.chain(4).compile()
    sim = lw.AdaptiveDynamics(model, model.state())
    device = lw.haptics.Pointer()
    grasp = lw.haptics.grasp(sim, model.body_names[-1], device)
    grasp.session.tick()
    grasp.session.step(1e-3)
    yield from [device, device.read(), grasp, grasp.session, lw.haptics.CouplingSettings()]
    yield lw.haptics.RecordedMotion([0.0, 1.0], np.zeros((2, 3)))
    yield lw.haptics.ScriptedMotion(lambda t: (0.0, 0.0, t))
    yield lw.haptics.HumanHand(lambda t: (0.0, 0.0, t))
    yield from [grasp.session.run(2e-3, 1e-3), lw.haptics.LoopStatistics("force", 3, 0, 1e-3, (1e-6,) * 4, (1e-3,) * 4)]
    udp = lw.haptics.UdpDevice()
    yield udp
    udp.close()


def of_molecules(folder):
    need_packages()
    molecule = lw.molecules.peptide("AAA", helix=True, seed=1)
    field = molecule.field(engine="numba", cutoff=0.9)
    yield from [molecule, molecule.report, *molecule.report.changes, lw.molecules.Change("added", "ALA 1", "hydrogen")]
    yield from [
        field,
        molecule.field(engine="openmm"),
        next(iter(molecule.torsions)),
        lw.molecules.HydrogenBond(1, 5, -8.0),
    ]
    yield from [lw.molecules.FixmanPotential(molecule.model, 300.0), lw.molecules.RandomVelocities(molecule.model)]
    yield lw.molecules.Restraints(molecule).distance("A:1:CA", "A:3:CA", (0.5, 0.7), stiffness=500.0)
    strain, clash = lw.molecules.Strain("ALA 1", 120.0, "angle"), lw.molecules.Clash("A", "B", 0.1, 30.0)
    yield from [strain, clash, lw.molecules.Geometry((strain,), (clash,))]
    sampled = lw.molecules.Sampled(molecule, 300.0, np.zeros((2, molecule.model.nq)), np.zeros(2), 0.5)
    yield from [sampled, lw.molecules.Replicas((sampled,), np.zeros(0), np.zeros((1, 1), dtype=np.int64))]
    curve = np.zeros((2, 5))
    yield lw.molecules.Pulled(np.arange(5.0), curve, curve, curve, 300.0, (molecule.state, molecule.state))


def of_devices(folder):
    if host.compiler() is None:
        pytest.skip("no C++ compiler for the kernels of the device")
    model = lw.library.chain(4).compile()
    device = lw.gpu.DeviceModel(model, backend=host.HostBackend)
    yield from [device, device.energy(model.state().q, model.state().v)]


def of_rods(folder):
    """What rods, water and the statics of both give."""
    steel = lw.Material(E=200e9, density=7800.0)
    yield from [steel, lw.rectangle(0.1, 0.2), lw.Clamped(), lw.Pinned(), lw.RodDamping(ratio=0.01, frequency=10.0)]
    yield lw.BSpline([(0, 0, 0), (1, 0, 0), (2, 0, 0.2), (3, 0, 0.2)])
    column = lw.rod(1.0, 6, EI=1.0, mass_per_length=1.0, radius=0.01, gravity=(0, 0, 0))
    column.attach_world("start", lw.Clamped())
    model = column.compile()
    state = model.neutral()
    yield from [column, *model.rods, lw.rod_forces(model, state, lw.joint_reactions(model, state))]

    def pressed(p):
        loads = lw.Loads(model)
        loads.apply_wrench(column.on.end.body, force=(-p, 0.0, 0.0), at=column.on.end.frame.xyz)
        return loads

    yield from [lw.modes(model, state, 2), lw.buckling(model, state, pressed, 1.0, 4.0)]
    yield lw.continuation(model, state, pressed, 0.0, 0.5, step=0.5)
    yield from [lw.Water(depth=50.0, seabed=lw.Seabed(stiffness=1e4)), lw.Seabed(stiffness=1e4), lw.Waves(1.0, 8.0)]


def of_sensors(folder):
    """What sensors and actuators give."""
    linkage = lw.library.chain(4)
    linkage.sensors.append(lw.sensors.Position("tip", on=linkage.compile().body_names[-1]))
    linkage.actuators.append(lw.Actuator("drive", linkage.compile().joint_names[0]))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral())
    yield from [*model.sensors, *model.actuators, lw.Sensors(sim), lw.Actuators(sim), lw.Sensor("plain", on="world")]


THINGS = {
    "lw": (of_linkages, of_reaching_and_derivatives, of_shapes, of_simulations, of_rods, of_sensors),
    "lw.haptics": (of_haptics,),
    "lw.molecules": (of_molecules,),
    "lw.gpu": (of_devices,),
}


@pytest.mark.parametrize("room", list(ROOMS))
def test_what_they_show_says_something(room, tmp_path):
    """One of every public class of a room: one that is not here fails too."""
    seen = set()
    for make in THINGS[room]:
        for thing in make(tmp_path):
            seen.add(type(thing))
            assert hasattr(thing, "_repr_html_"), thing
            for text in (repr(thing), thing._repr_html_()):
                assert not ADDRESS.search(text), f"{type(thing).__name__}: {text}"
            assert type(thing).__name__ in repr(thing) or len(repr(thing)) > len(type(thing).__name__)
            assert thing._repr_html_().startswith("<div"), type(thing).__name__
    public = [(name, cls) for name, cls in CLASSES.items() if name.rpartition(".")[0] == room and is_shown(cls)]
    missing = [name for name, cls in public if not any(issubclass(kind, cls) for kind in seen)]
    assert not missing


def test_an_open_page_shows_itself():
    pytest.importorskip("viser", reason="the extra `viewer` is not installed")
    with lw.view(lw.library.pendulum(), port=0) as viewer:
        for text in (repr(viewer), viewer._repr_html_()):
            assert not ADDRESS.search(text)
            assert viewer.url in text


def test_attributes_are_shortened():
    class Thing:
        def __init__(self):
            self.small, self.large, self.text = np.arange(3.0), np.zeros((4, 5)), "<b>" * 100
            self.hidden_object, self.many, self._private = object(), list(range(100)), 1

    line, table = line_of_attributes(Thing()), table_of_attributes(Thing())
    assert "small=[0., 1., 2.]" in line
    assert "array of shape (4, 5)" in line
    assert "100 entries" in line
    assert "hidden_object" not in line
    assert "_private" not in line
    assert "<b>" not in table.removeprefix("<div><b>")  # text, never markup
    assert len(line) < 300


def test_a_pose_shows_its_numbers():
    """Its attributes are slots, neither fields nor a dictionary."""
    assert "xyz" in lw.Pose()._repr_html_()
