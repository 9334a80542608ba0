"""Every public function at the border: NaN, infinity and what is not a number get a Linkwork error, never a raw one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.record.store.model_store import read_model, write_model

MODEL = lw.library.humanoid().compile()
LOOP = lw.library.four_bar().compile()
GOOD = MODEL.random_state(0)

STATE_FUNCTIONS = {
    "forward_dynamics": lw.forward_dynamics,
    "inverse_dynamics": lambda m, s: lw.inverse_dynamics(m, s, np.zeros(m.nv)),
    "mass_matrix": lw.mass_matrix,
    "body_poses": lw.body_poses,
    "body_twists": lw.body_twists,
    "body_jacobian": lambda m, s: lw.body_jacobian(m, s, 3),
    "energy": lw.energy,
    "momentum": lw.momentum,
    "center_of_mass": lw.center_of_mass,
    "joint_reactions": lw.joint_reactions,
    "hybrid_dynamics": lambda m, s: lw.hybrid_dynamics(m, s, {}),
    "reroot": lambda m, s: lw.reroot(m, s, 2),
    "Response": lw.Response,
}
ODD = [
    None,
    7,
    "state",
    b"q",
    object(),
    [],
    (1,),
    (1, 2, 3, 4),
    {},
    {"q": 1},
    float("nan"),
    np.zeros(3),
    10**400,
    [[], []],
    1j,
]


def spoiled(k, value, which):
    q, v = GOOD.q.copy(), GOOD.v.copy()
    (q if which == "q" else v)[k] = value
    return lw.State(q, v)


@pytest.mark.parametrize("name", STATE_FUNCTIONS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_number_that_is_not_finite_passes(name, value):
    """Also where it has no effect: the place of a free root does not enter its accelerations."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for which, k in (("q", 0), ("q", 2), ("q", 3), ("q", MODEL.nq - 1), ("v", 0), ("v", MODEL.nv - 1)):
            with pytest.raises(lw.StateError, match=r"state\.|orientation"):
                STATE_FUNCTIONS[name](MODEL, spoiled(k, value, which))


@pytest.mark.parametrize("name", STATE_FUNCTIONS)
@pytest.mark.parametrize("odd", ODD, ids=lambda x: repr(x)[:20])
def test_what_is_not_a_state_or_a_model(name, odd):
    function = STATE_FUNCTIONS[name]
    with pytest.raises(lw.LinkworkError):
        function(MODEL, odd)
    with pytest.raises(lw.LinkworkError):
        function(MODEL, lw.State(odd, GOOD.v))
    with pytest.raises(lw.LinkworkError):
        function(MODEL, lw.State(GOOD.q, odd))
    if name not in ("inverse_dynamics",):  # the test's own call asks odd.nv
        with pytest.raises(lw.LinkworkError):
            function(odd, GOOD)


def test_a_linkage_is_not_a_model():
    with pytest.raises(lw.ModelError, match=r"compile it first: linkage\.compile\(\)"):
        lw.forward_dynamics(lw.library.humanoid(), GOOD)


RESPONSE = lw.Response(MODEL, GOOD)
CALLS = {
    "effort": lambda x: lw.forward_dynamics(MODEL, GOOD, effort=x),
    "wrenches": lambda x: lw.forward_dynamics(MODEL, GOOD, wrenches=x),
    "algorithm": lambda x: lw.forward_dynamics(MODEL, GOOD, algorithm=x),
    "reactions": lambda x: lw.joint_reactions(MODEL, GOOD, algorithm=x),
    "acceleration": lambda x: lw.inverse_dynamics(MODEL, GOOD, x),
    "body": lambda x: lw.body_jacobian(MODEL, GOOD, x),
    "at": lambda x: lw.body_jacobian(MODEL, GOOD, 1, at=x),
    "frame": lambda x: lw.body_twists(MODEL, GOOD, frame=x),
    "about": lambda x: lw.momentum(MODEL, GOOD, about=x),
    "prescribed": lambda x: lw.hybrid_dynamics(MODEL, GOOD, x),
    "prescribed value": lambda x: lw.hybrid_dynamics(MODEL, GOOD, {MODEL.joint_names[1]: x}),
    "root": lambda x: lw.reroot(MODEL, GOOD, x),
    "near": lambda x: lw.reroot(MODEL, GOOD, 2, near=x),
    "response body": lambda x: RESPONSE.acceleration(x),
    "response joint": lambda x: RESPONSE.joint_acceleration(x),
    "response wrench": lambda x: RESPONSE.set_wrench(1, x),
    "response frame": lambda x: RESPONSE.block(1, 2, frame=x),
    "model.body": lambda x: MODEL.body(x),
    "model.joint": lambda x: MODEL.joint(x),
    "model.v_slice": lambda x: MODEL.v_slice(x),
    "model.state q": lambda x: MODEL.state(q=x),
    "model.state v": lambda x: MODEL.state(v=x),
    "model.integrate q": lambda x: MODEL.integrate(x, GOOD.v),
    "model.integrate h": lambda x: MODEL.integrate(GOOD.q, GOOD.v, x),
    "model.difference": lambda x: MODEL.difference(GOOD.q, x),
    "model.random_state": lambda x: MODEL.random_state(0, speed=x),
    "close_loops": lambda x: lw.close_loops(LOOP, LOOP.neutral(), tolerance=x),
    "close_loops steps": lambda x: lw.close_loops(LOOP, LOOP.neutral(), max_steps=x),
    "loop rate": lambda x: lw.constrained_dynamics(LOOP, LOOP.neutral(), rate=x),
    "mass": lambda x: lw.Inertia(x),
    "com": lambda x: lw.Inertia(1.0, x),
    "moments": lambda x: lw.Inertia(1.0, moments=x),
    "pose": lambda x: lw.Pose(x),
    "axis": lambda x: lw.Revolute(x),
    "library": lambda x: lw.library.chain(x),
    "library length": lambda x: lw.library.chain(3, length=x),
    "load": lambda x: lw.load(x),
}
MEANT = {  # odd things that have a meaning there
    "effort": (None,),
    "wrenches": (None,),
    "prescribed": ({},),
    "prescribed value": (np.zeros(3),),  # the joint is a ball
    "near": (None,),
    "model.state q": (None,),
    "model.state v": (None,),
    "root": (7,),
    "body": (7,),
    "response body": (7,),
    "model.v_slice": (7,),
    "model.integrate h": (7,),
    "model.random_state": (7,),
    "close_loops": (7,),
    "close_loops steps": (7, 10**400),
    "loop rate": (7,),
    "mass": (7, float("nan")),  # reported together with other faults when the linkage compiles
    "at": (np.zeros(3),),
    "about": (np.zeros(3),),
    "com": (np.zeros(3),),
    "moments": (np.zeros(3),),
    "pose": (np.zeros(3),),
    "axis": (np.zeros(3),),  # a zero axis is reported when the linkage compiles
    "library": (7,),
    "library length": (7,),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_that_are_nothing_of_the_kind(name):
    for odd in ODD:
        if any(odd is other or repr(odd) == repr(other) for other in MEANT.get(name, ())):
            continue
        try:
            CALLS[name](odd)
        except lw.LinkworkError:
            continue
        pytest.fail(f"{name} took {odd!r}")


def test_joints_of_wrong_numbers_are_reported_when_the_linkage_compiles():
    for option in ({"damping": "much"}, {"armature": 10**400}, {"limits": "wide"}, {"stiffness": object()}):
        linkage = lw.Linkage("odd")
        linkage.add_body("a", joint=lw.Revolute((0, 0, 1), **option), inertia=lw.Inertia.box(1.0, (1, 1, 1)))
        with pytest.raises(lw.ModelError, match=next(iter(option))):
            linkage.compile()


@pytest.mark.parametrize("shape", [lw.Sphere(-1.0), lw.Sphere(float("nan")), lw.Box("box"), lw.Sphere(0.1, friction=-1.0),
                                   lw.Sphere(0.1, group=0.5)], ids=repr)  # fmt: skip
def test_shapes_are_checked(shape):
    linkage = lw.Linkage("odd")
    linkage.add_body("a", inertia=lw.Inertia.box(1.0, (1, 1, 1)), shapes=[shape])
    with pytest.raises(lw.ModelError, match="shape"):
        linkage.compile()


def test_results_that_overflow_are_reported():
    q, v = GOOD.q.copy(), GOOD.v.copy()
    v[:] = 1e300
    with pytest.raises(lw.StateError, match="overflowed"):
        lw.energy(MODEL, lw.State(q, v))


def test_what_contact_needs_survives_compiling_and_recording(tmp_path):
    zarr = pytest.importorskip("zarr", reason="recordings need the extra record")
    linkage = lw.Linkage("touchy")
    ball = lw.Sphere(0.1, friction=0.7, restitution=0.2, group=2, mask=5)
    seen = lw.Mesh("a.stl", (1.0, 2.0, 1.0), "/tmp/a.stl", visual_only=True)
    linkage.add_body("a", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[ball, seen])
    linkage.add_body(
        "tip", "a", placement=lw.Pose((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)]
    )
    linkage.ignore_contact.append(("a", "tip"))
    model = linkage.compile()
    assert [shape.owner for _, shape in model.shapes] == ["", "", "tip"]
    group = zarr.open_group(str(tmp_path / "model"), mode="w")
    write_model(group, model)
    back = read_model(group)
    assert back.shapes == model.shapes
    assert back.ignore_contact == (("a", "tip"),)
    linkage.ignore_contact.append(("a", "nobody"))
    with pytest.raises(lw.ModelError, match="ignore_contact names 'nobody'"):
        linkage.compile()


def test_motion_beyond_all_numbers_is_refused():
    with pytest.raises(lw.StateError, match="beyond all numbers"):
        MODEL.integrate(GOOD.q, np.full(MODEL.nv, 10.0), 1e308)
