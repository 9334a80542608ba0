"""What `lw.rod` builds, and what it refuses."""

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.environment.wetted import fluid_wrenches
from linkwork.errors import ModelError, StateError

NUMBERS = {"EI": 1.0, "GJ": 1.0, "mass_per_length": 2.0, "radius": 0.01}


def arc(u):
    return (math.cos(math.pi * u), math.sin(math.pi * u), 0.0)


def test_a_rod_has_its_length_and_mass():
    rod = lw.rod(3.0, 7, **NUMBERS)
    model = rod.compile()
    assert model.n_bodies == 8
    assert model.mass.sum() == pytest.approx(6.0, rel=1e-12)
    assert rod.on.s == pytest.approx((np.arange(7) + 0.5) * 3.0 / 7.0)
    assert lw.center_of_mass(model, model.neutral()) == pytest.approx((1.5, 0.0, 0.0), abs=1e-12)


def test_a_section_and_a_material_give_the_stiffnesses():
    steel = lw.Material(E=200e9, nu=0.3, density=7800.0)
    rod = lw.rod(1.0, 3, radius=0.01, material=steel, EA="material")
    second = 0.25 * math.pi * 1e-8
    assert rod.numbers.stiffness[0] == pytest.approx((200e9 / 2.6 * 2 * second, 200e9 * second, 200e9 * second))
    assert rod.numbers.EA[0] == pytest.approx(200e9 * math.pi * 1e-4)
    assert rod.numbers.mass.sum() == pytest.approx(7800.0 * math.pi * 1e-4)
    square = lw.rectangle(0.1, 0.1)
    assert square.torsion == pytest.approx(0.1405770 * 1e-4, rel=1e-6)
    thin = lw.rectangle(1.0, 0.001)
    assert thin.torsion == pytest.approx(1e-9 / 3.0, rel=1e-3)


@pytest.mark.parametrize(
    "curve", [arc, lw.BSpline([arc(u) for u in np.linspace(0, 1, 12)]), [arc(u) for u in np.linspace(0, 1, 30)]]
)
def test_a_rod_along_a_curve_is_slack_in_its_natural_shape(curve):
    rod = lw.rod(None, 40, curve=curve, **NUMBERS | {"gravity": (0, 0, 0)})
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    assert rod.on.length == pytest.approx(math.pi, rel=2e-2)
    rest = lw.settle(model, model.neutral())
    assert rest.report.sweeps <= 2
    assert np.linalg.norm(rest.curvature[8:-8], axis=1) == pytest.approx(1.0, rel=0.2)
    end = lw.body_poses(model, rest.state)[model.body(rod.on.end.body)] @ rod.on.end.frame.matrix
    assert end[:3, 3] == pytest.approx((-1.0, 0.0, 0.0), abs=1e-6)


def test_stiffnesses_may_vary_and_differ_between_axes():
    rod = lw.rod(1.0, 4, **NUMBERS | {"EI": lambda s: (1.0 + s, 2.0)})
    assert rod.numbers.stiffness[:, 1] == pytest.approx(1.0 + rod.on.s)
    assert rod.numbers.stiffness[:, 2] == pytest.approx(2.0)
    rod = lw.rod(1.0, 3, **NUMBERS | {"EI": (3.0, 4.0)})
    assert rod.numbers.stiffness[0] == pytest.approx((1.0, 3.0, 4.0))


def test_a_rod_that_stretches_is_as_long_as_its_tension_makes_it():
    rod = lw.rod(2.0, 10, EA=500.0, **NUMBERS | {"gravity": (0, 0, 0)})
    rod.attach_world("start", lw.Clamped())
    model = rod.compile()
    loads = lw.Loads(model)
    loads.apply_wrench(rod.on.end.body, force=(50.0, 0, 0), at=rod.on.end.frame.xyz)
    rest = lw.settle(model, model.neutral(), loads=loads)
    end = lw.body_poses(model, rest.state)[model.body(rod.on.end.body)] @ rod.on.end.frame.matrix
    assert end[0, 3] == pytest.approx(2.2, rel=1e-9)
    assert rest.tension == pytest.approx(50.0, rel=1e-9)


def test_damping_is_given_by_a_time_or_a_ratio_at_a_frequency():
    by_time = lw.rod(1.0, 2, damping=0.01, **NUMBERS).compile()
    by_ratio = lw.rod(1.0, 2, damping=lw.RodDamping(ratio=0.05, frequency=0.05 / (math.pi * 0.01)), **NUMBERS).compile()
    assert by_time.arrays.dof[6:, 0] == pytest.approx(0.01 * by_time.arrays.dof[6:, 1])
    assert by_ratio.arrays.dof[6:, 0] == pytest.approx(by_time.arrays.dof[6:, 0])


@pytest.mark.parametrize(
    "change", [{"gravity": (0, 0, -1.0)}, {"EI": lambda s: 1.0 - 0.9 * s, "gravity": (0, 0, -8.0)}, {"EI": 0.05}]
)
def test_segments_auto_says_the_error_it_expects(change):
    numbers = NUMBERS | change
    rod = lw.rod(1.0, "auto", tolerance=1e-4, **numbers)
    assert 0.3e-4 < rod.numbers.estimated_error <= 1e-4
    assert len(rod) == rod.on.s.size + 1

    def drop(n):
        made = lw.rod(1.0, n, **numbers)
        made.attach_world("start", lw.Clamped())
        model = made.compile()
        T = lw.body_poses(model, lw.settle(model, model.neutral()).state)[model.body(made.on.end.body)]
        return (T @ made.on.end.frame.matrix)[:3, 3]

    n = rod.on.s.size
    off = np.linalg.norm(drop(4 * n) - drop(n)) * 16.0 / 15.0 / np.linalg.norm(drop(4 * n) - (1.0, 0.0, 0.0))
    assert off == pytest.approx(rod.numbers.estimated_error, rel=0.1)


def test_a_rod_hangs_from_a_body_of_another_linkage():
    robot = lw.library.double_pendulum()
    hand = list(robot)[-1].name
    cable = lw.rod(0.5, 5, **NUMBERS)
    placed = cable.attach_to(robot, "cable_", start=(hand, lw.Clamped(), lw.Pose()))
    model = robot.compile()
    assert model.rods[0].name == placed.name == "cable_rod"
    rest = lw.settle(model, model.neutral())
    assert rest.along("cable_rod").tension.shape == (5,)
    with pytest.raises(StateError, match=r"no rod 'cabel'"):
        rest.along("cabel")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"EI": 0.0}, "EI is 0"),
        ({"EI": math.nan}, "EI is nan"),
        ({"EI": lambda s: 1.5 - s}, "EI is -"),
        ({"GJ": -1.0}, "GJ is -1"),
        ({"mass_per_length": 0.0}, "mass_per_length is 0"),
        ({"radius": -0.1}, "radius is -0.1"),
        ({"radius": None}, "radius is not given"),
        ({"EA": "steel"}, "EA is"),
        ({"EI": None}, "EI is not given"),
        ({"damping": -1.0}, "time"),
        ({"joints": "glue"}, "joints must be one of"),
        ({"curve": lambda u: (math.cos(2.4 * math.pi * u), math.sin(2.4 * math.pi * u), u)}, "radius of the curve"),
        ({"curve": [(0, 0, 0), (1, 0, 0), (1, 0, 0)]}, "are the same"),
        ({"curve": [(0, 0, 0), (1, 0, 0), (0, 0.01, 0)]}, "doubles back"),
        ({"curve": lambda u: (1.0, 0.0, 0.0)}, "stands still"),
        ({"segments": 0}, "segments is 0"),
        ({"segments": "many"}, "auto"),
        ({"material": lw.Material(1e9), "radius": None, "EI": None}, "needs a radius"),
    ],
)
def test_bad_numbers_are_refused_by_name(change, words):
    options = {"length": 2.0, "segments": 12, **NUMBERS} | change
    if "curve" in change:
        options |= {"length": None, "segments": 7}
    with pytest.raises(ModelError, match=words):
        lw.rod(**options)


def test_ends_that_cannot_be_held_are_refused():
    rod = lw.rod(1.0, 4, **NUMBERS)
    with pytest.raises(ModelError, match="'start' and an 'end'"):
        rod.attach_world("middle", lw.Clamped())
    with pytest.raises(ModelError, match=r"lw.Clamped\(\)"):
        rod.attach_world("start", lw.Fixed())
    rod.attach_world("start", lw.Clamped())
    with pytest.raises(ModelError, match="attached already"):
        rod.attach_world("start", lw.Pinned())
    with pytest.raises(ModelError, match="without length"):
        rod.attach_world("end", lw.Clamped())
    with pytest.raises(ModelError, match="does not stretch"):
        rod.attach_world("end", lw.Pinned(), at=(1.5, 0, 0))
    rod.attach_world("end", lw.Pinned(), at=(0.8, 0, 0))


def test_modes_need_rest_and_balance():
    model = lw.library.chain(4).compile()
    moving = model.state(v=[0.0, 1.0, 0.0, 0.0])
    with pytest.raises(StateError, match=r"moves \(v\[1\]"):
        lw.modes(model, moving)
    with pytest.raises(StateError, match="need an equilibrium"):
        lw.modes(model, model.state(q=[1.0, 0.0, 0.0, 0.0]))
    few = lw.modes(model, model.neutral(), below=1.0)
    assert few.below == few.frequencies.size == int((lw.modes(model, model.neutral(), 4).frequencies < 1.0).sum())


BEYOND = 10**400
EMPTY = np.zeros(0)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (lw.rod, {"EI": EMPTY}),
        (lw.rod, {"mass_per_length": EMPTY}),
        (lw.rod, {"mass_per_length": 1e308}),
        (lw.rod, {"length": 1e308}),
        (lw.rod, {"radius": 1e-320}),
        (lw.rod, {"length": None, "curve": [[BEYOND] * 3] * 2}),
        (lw.library.rod, {"start": np.zeros(2)}),
        (lw.library.rod, {"at": 1.0}),
        (lw.library.rod, {"pitch": "up"}),
        (lw.library.rod, {"end": "pinned", "end_at": None, "at": "x"}),
        (lw.library.rod, {"tip_mass": None}),
        (lw.library.net, {"cell": None}),
        (lw.library.net, {"columns": 2**63}),
        (lw.library.net, {"columns": BEYOND}),
        (lw.BSpline, {"points": [[BEYOND] * 3] * 4}),
    ],
)
def test_numbers_that_overflow_or_are_none_are_refused(make, options):
    """At once: a net of 2⁶³ columns was built until memory ended."""
    given = {"length": 1.0, "segments": 4, **NUMBERS, **options} if make is lw.rod else options
    with pytest.raises(lw.LinkworkError):
        make(**given)


def test_forces_along_a_rod_are_the_same_at_rest_in_motion_and_in_a_recording(tmp_path):
    """With loops, in water, from the state alone: at rest all three are in balance with the same forces."""
    rod = lw.rod(10.0, 20, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=0.01)
    rod.attach_world("start", lw.Pinned(), at=lw.Pose(rpy=(0.0, 0.9, 0.0)))
    rod.attach_world("end", lw.Pinned(), at=(7.0, 1.0, 0.0))
    model = rod.compile()
    water = lw.Water(density=200.0, current=(0.0, 0.3, 0.0), surface=100.0)
    rest = lw.settle(model, model.neutral(), water=water)
    sim = lw.FullDynamics(model, rest.state, water=water)
    sim.run(1e-3, 4, record=tmp_path / "run", every=2, progress=False)
    recording = lw.Recording(tmp_path / "run")
    assert [on.bodies for on in recording.model.rods] == [on.bodies for on in model.rods]
    for found in (sim.along(), lw.along(recording, -1, water=water), lw.along(recording, 0, "rod", water=water)):
        for name in ("tension", "shear", "moment", "torque", "curvature", "twist"):
            # 1e-10 of the loads are left unbalanced; in four steps of a millisecond nothing moves
            assert np.abs(getattr(found, name) - getattr(rest, name)).max() < 1e-6 * np.abs(rest.tension).max(), name
    with pytest.raises(StateError, match="simulations have"):
        lw.along(sim, 0)


STREAM = lw.Water(density=200.0, current=(0.0, 0.3, 0.0), surface=100.0)


@pytest.mark.parametrize("water", [None, STREAM], ids=["in a void", "in a stream"])
@pytest.mark.parametrize("start", [lw.Pinned(), lw.Clamped()], ids=["pinned", "clamped"])
@pytest.mark.parametrize(
    ("end", "body", "EA"),
    [(None, "world", None), (lw.Pinned(), "ship", 1e4), (lw.Clamped(), "world", 1e4), (lw.Pinned(), "world", None)],
    ids=["free end", "pinned end, from a ship", "clamped end", "pinned end"],
)
def test_forces_at_the_ends_hold_all_of_a_rod(water, start, end, body, EA):
    """With its weight, buoyancy and drag of all its pieces, held in the world or by a body, at rest and in a simulation."""
    linkage = lw.Linkage("line")
    slider = lw.Prismatic((1, 0, 0), stiffness=100.0)
    linkage.add_body("ship", "world", slider, lw.Pose(), lw.Inertia.box(50.0, (1, 1, 1)), shapes=(lw.Box((1, 1, 1)),))
    rod = lw.rod(10.0, 8, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=0.01, EA=EA)
    held = None if end is None else ("world", end, lw.Pose((7.0, 1.0, 0.0)))
    rod.attach_to(linkage, start=(body, start, lw.Pose(rpy=(0.0, 0.9, 0.0))), end=held)
    model = linkage.compile()
    rest = lw.settle(model, model.neutral(), water=water)
    forces, outside = rest.along(), 10.0 * model.gravity
    if water is not None:
        whole = linkage.compile(merge_fixed=False)  # where a clamped piece is a body that the fluid touches
        at = whole.neutral().q.copy()
        for joint in model.joint_names:
            at[whole.q_slice(joint)] = rest.state.q[model.q_slice(joint)]
        pushes = fluid_wrenches(whole, water, at, np.zeros(whole.nv))[:, 3:]
        turns = lw.body_poses(whole, lw.State(at, np.zeros(whole.nv)))[:, :3, :3]
        pieces = [i for i, name in enumerate(whole.body_names) if name != "ship"]
        outside = outside + np.einsum("kij,kj->i", turns[pieces], pushes[pieces])
    # 1e-10 of the loads are left unbalanced
    assert np.abs(forces.start_force + forces.end_force + outside).max() < 1e-8 * 98.1
    assert (end is None) == (not forces.end_force.any())
    assert np.allclose(forces.start_force[2], 98.1 if end is None else 49.0, rtol=0.15)
    now = lw.FullDynamics(model, rest.state, water=water).along()
    for name in ("start_force", "end_force"):
        assert np.abs(getattr(now, name) - getattr(forces, name)).max() < 1e-6 * 98.1
    assert len(str(forces)) + len(str(rest)) < 1500  # not a page of numbers


@pytest.mark.parametrize("EA", [None, 1e4])
@pytest.mark.parametrize("start", [lw.Pinned(), lw.Clamped()], ids=["pinned", "clamped"])
@pytest.mark.parametrize("root", ["rod_8", "rod_3", "ship"])
def test_forces_at_the_ends_do_not_depend_on_the_root(root, start, EA):
    """Between two floating bodies, in motion: with its weight and momentum's change they hold the rod, from any root."""
    linkage = lw.Linkage("tow")
    rod = lw.rod(10.0, 8, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=0.01, EA=EA)
    linkage.add_body("ship", "world", lw.Free(), lw.Pose(), lw.Inertia.box(50.0, (1, 1, 1)))
    rod.attach_to(linkage, start=("ship", start, lw.Pose()))
    linkage.add_body(
        "buoy", rod.on.end.body, lw.Spherical(), rod.on.end.frame, lw.Inertia(20.0, (0.2, 0.0, 0.0), (4.0, 5.0, 6.0))
    )
    model = linkage.compile()
    state = model.random_state(3, speed=0.1)
    before = lw.rod_forces(model, state, lw.joint_reactions(model, state))
    turned = lw.reroot(model, state, root)
    after = lw.rod_forces(turned.model, turned.state, lw.joint_reactions(turned.model, turned.state))
    for name in ("start_force", "end_force"):
        size = np.abs(getattr(before, name)).max()
        assert size > 0.1
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), atol=1e-8 * size)  # conditions of 1e5


def test_reactions_of_loops_are_asked_for():
    rod = lw.rod(1.0, 4, EI=1.0, GJ=1.0, mass_per_length=1.0, radius=0.01)
    rod.attach_world("start", lw.Pinned())
    rod.attach_world("end", lw.Pinned(), at=(0.8, 0.0, 0.0))
    model = rod.compile()
    rest = lw.settle(model, model.neutral())
    with pytest.raises(StateError, match=r"loops=lw.constrained_dynamics"):
        lw.rod_forces(model, rest.state, rest.wrenches)


def test_tension_of_a_swinging_rod_counts_its_motion():
    """A stiff rod released from level has ω² = 3 g/L at its lowest point, where ∫ m (g + ω² x) dx pulls at a length s."""
    model = lw.library.rod(1.0, 8, EI=1e4, GJ=1e4, mass_per_length=1.0, radius=1e-2, start="pinned").compile()
    sim = lw.FullDynamics(model, model.neutral())
    sim.advance(2e-3, 210)
    found = []
    for _ in range(50):
        sim.advance(2e-3)
        forces = sim.along()
        found.append((float(forces.at[-1, 2]), forces))
    _, lowest = min(found, key=lambda pair: pair[0])
    s = lowest.s
    exact = 9.81 * (1.0 - s) + 0.5 * 3.0 * 9.81 * (1.0 - s**2)
    # 2 ms before or after the lowest point the rod has turned by 0.01 rad; it bends and vibrates by less.
    assert np.abs(lowest.tension - exact).max() < 0.01 * exact.max()
