"""Bad linkages are refused at once: every fault is reported, by name, with the numbers, and all of them together."""

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw

BALL = lw.Inertia.sphere(1.0, 0.1)
HINGE = lw.Revolute((0, 0, 1))
NAN = math.nan


def linkage_of(**body) -> lw.Linkage:
    """A linkage of one sound body and the body under test, named 'suspect'."""
    linkage = lw.Linkage("patient")
    linkage.add_body("sound", "world", HINGE, inertia=BALL)
    linkage.add_body("suspect", **{"parent": "sound", "joint": HINGE, "inertia": BALL} | body)
    return linkage


def faults_of(linkage: lw.Linkage, **options) -> list[str]:
    with pytest.raises(lw.ModelError) as caught:
        linkage.compile(**options)
    assert f"linkage '{linkage.name}'" in str(caught.value)
    for fault in caught.value.faults[: caught.value.SHOWN]:
        assert fault in str(caught.value)
    return caught.value.faults


def only_fault(linkage: lw.Linkage) -> str:
    (fault,) = faults_of(linkage)
    return fault


# ------------------------------------------------------------------------------------------------------ faults of values

BAD_BODIES = {
    "massless": ({"inertia": lw.Inertia(0.0)}, ["mass 0 kg", "nothing with mass hangs from it"]),
    "negative mass": ({"inertia": lw.Inertia(-2.0)}, ["mass is -2 kg"]),
    "moments without mass": ({"inertia": lw.Inertia(0.0, moments=(1, 1, 1))}, ["mass is 0 kg"]),
    "NaN mass": ({"inertia": lw.Inertia(NAN)}, ["not finite", "mass nan"]),
    "infinite mass": ({"inertia": lw.Inertia(math.inf)}, ["not finite", "mass inf"]),
    "NaN com": ({"inertia": lw.Inertia(1.0, (0, NAN, 0), (1, 1, 1))}, ["not finite", "com (0.0, nan, 0.0)"]),
    "NaN moments": ({"inertia": lw.Inertia(1.0, moments=(1, 1, NAN))}, ["not finite", "nan"]),
    "negative moment": ({"inertia": lw.Inertia(1.0, moments=(-1, 2, 2))}, ["(-1, 2, 2) kg·m²", "negative"]),
    "triangle": ({"inertia": lw.Inertia(1.0, moments=(1, 2, 7))}, ["(1, 2, 7)", "triangle inequality", "1 + 2 < 7"]),
    "NaN placement": ({"placement": lw.Pose(xyz=(0, NAN, 0))}, ["placement", "not finite", "nan"]),
    "NaN rotation": ({"placement": lw.Pose(rpy=(NAN, 0, 0))}, ["placement", "not finite"]),
    "zero axis": ({"joint": lw.Revolute((0, 0, 0))}, ["joint 'suspect'", "axis is zero"]),
    "zero prismatic axis": ({"joint": lw.Prismatic((0, 0, 0))}, ["axis is zero"]),
    "NaN axis": ({"joint": lw.Revolute((0, NAN, 1))}, ["joint 'suspect'", "not finite", "nan"]),
    "infinite point": ({"joint": lw.Revolute((0, 0, 1), (math.inf, 0, 0))}, ["not finite"]),
    "limits reversed": ({"joint": lw.Revolute((0, 0, 1), limits=(2, -1))}, ["(2, -1)", "wrong way round"]),
    "NaN limits": ({"joint": lw.Revolute((0, 0, 1), limits=(NAN, 1))}, ["limits", "nan"]),
    "limits of a ball": ({"joint": lw.Spherical(limits=(0, 1))}, ["limits", "Spherical"]),
    "limits shape": ({"joint": lw.Universal(limits=((0, 1),) * 3)}, ["limits have shape (3, 2)"]),
    "damping shape": ({"joint": lw.Universal(damping=(1, 2, 3))}, ["damping has 3 numbers", "2"]),
    "damping of words": ({"joint": lw.Revolute(damping="soft")}, ["damping is 'soft'"]),
    "limits of words": ({"joint": lw.Revolute(limits=("low", "high"))}, ["limits are ('low', 'high')"]),
    "stiffness shape of a ball": ({"joint": lw.Spherical(stiffness=(1, 1))}, ["stiffness has 2 numbers", "3"]),
    "negative damping": ({"joint": lw.Revolute(damping=-1)}, ["damping is -1", "≥ 0"]),
    "NaN stiffness": ({"joint": lw.Revolute(stiffness=NAN)}, ["stiffness is nan"]),
    "negative armature": ({"joint": lw.Revolute(armature=-0.1)}, ["armature is -0.1"]),
    "NaN rest": ({"joint": lw.Revolute(rest=NAN)}, ["rest is nan"]),
    "parallel axes": ({"joint": lw.Universal((1, 0, 0), (1, 0, 0))}, ["parallel"]),
    "seven freedoms": ({"joint": lw.Compound([lw.Revolute()] * 7)}, ["7 degrees of freedom", "6"]),
    "no freedoms": ({"joint": lw.Compound([])}, ["0 degrees of freedom"]),
    "rest quaternion": ({"joint": lw.Spherical(rest=(2, 0, 0, 0))}, ["rest orientation", "unit quaternion"]),
}


@pytest.mark.parametrize("case", BAD_BODIES)
def test_bad_body_is_named_with_its_numbers(case):
    body, words = BAD_BODIES[case]
    fault = only_fault(linkage_of(**body))
    assert "'suspect'" in fault
    for word in words:
        assert word in fault


def test_gravity_must_be_finite():
    linkage = linkage_of()
    linkage.gravity = (0.0, NAN, 0.0)
    assert "gravity is (0.0, nan, 0.0)" in only_fault(linkage)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lw.Linkage(gravity=(0, 1)), ["gravity", "three numbers", "(0, 1)"]),
        (lambda: lw.Revolute((1, 0)), ["Revolute axis", "three numbers"]),
        (lambda: lw.Pose(xyz="ab"), ["xyz", "three numbers"]),
        (lambda: lw.Pose(rpy=(0, 0, 0), quaternion=(1, 0, 0, 0)), ["one of rpy, quaternion and matrix"]),
        (lambda: lw.Pose(quaternion=(0, 0, 0, 0)), ["not a rotation"]),
        (lambda: lw.Pose(quaternion=(1, 0, 0)), ["four numbers"]),
        (lambda: lw.Pose(matrix=np.eye(2)), ["shape (3, 3) or (4, 4)", "(2, 2)"]),
        (lambda: lw.Pose(matrix=np.diag([1, 1, -1])), ["not a rotation", "det = -1"]),
        (lambda: lw.Pose(matrix=2 * np.eye(3)), ["not a rotation"]),
        (lambda: lw.Inertia("heavy"), ["mass", "'heavy'"]),
        (lambda: lw.Inertia(1.0, (0, 0)), ["com", "three numbers"]),
        (lambda: lw.Inertia(1.0, moments=np.eye(2)), ["moments", "(2, 2)"]),
        (lambda: lw.Inertia(1.0, moments=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), ["symmetric"]),
        (lambda: lw.Compound([lw.Spherical()]), ["one degree of freedom"]),
        (lambda: lw.Compound([lw.Revolute(damping=1)], damping=2), ["not both"]),
        (lambda: linkage_of(joint="revolute"), ["'suspect'", "joint", "'revolute'"]),
        (lambda: linkage_of(placement=(0, 0, 1)), ["'suspect'", "placement", "lw.Pose"]),
        (lambda: linkage_of(inertia=1.0), ["'suspect'", "inertia", "lw.Inertia"]),
        (lambda: linkage_of(parent=None), ["'suspect'", "parent", "None"]),
        (lambda: linkage_of(shapes=["cube"]), ["'suspect'", "shape", "'cube'"]),
        (lambda: lw.Linkage("x").add_body(""), ["linkage 'x'", "non-empty"]),
        (lambda: lw.Linkage("x").add_body(7), ["linkage 'x'", "7"]),
    ],
)
def test_what_can_never_be_right_is_refused_at_once(make, words):
    with pytest.raises(lw.ModelError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


# ------------------------------------------------------------------------------------------------------- faults of names


def test_duplicate_body_names():
    linkage = linkage_of()
    linkage.add_body("suspect", "world", HINGE, inertia=BALL)
    fault = only_fault(linkage)
    assert "'suspect'" in fault
    assert "exists already" in fault


def test_a_body_cannot_be_the_world():
    linkage = linkage_of()
    linkage.add_body("world", "sound", HINGE, inertia=BALL)
    assert "taken by the ground" in only_fault(linkage)


def test_duplicate_joint_names():
    linkage = linkage_of(joint_name="sound")
    fault = only_fault(linkage)
    assert "joint name 'sound' is used 2 times" in fault
    assert "suspect" in fault


def test_unknown_parent():
    fault = only_fault(linkage_of(parent="ghost"))
    assert "body 'suspect'" in fault
    assert "'ghost' is unknown" in fault


def test_cycle():
    linkage = lw.Linkage("loop")
    for name, parent in (("a", "c"), ("b", "a"), ("c", "b"), ("tail", "a"), ("narcissus", "narcissus")):
        linkage.add_body(name, parent, HINGE, inertia=BALL)
    faults = faults_of(linkage)
    assert len(faults) == 2
    assert "cycle of 3: a → c → b → a" in faults[0]
    assert "cycle of 1: narcissus → narcissus" in faults[1]


def test_source_is_shown():
    assert only_fault(linkage_of(parent="ghost", source="arm.urdf:41")).startswith("arm.urdf:41: body 'suspect'")


def test_all_faults_are_reported_together():
    linkage = lw.Linkage("wreck", gravity=(0, 0, NAN))
    linkage.add_body("a", "ghost", HINGE, inertia=BALL)
    linkage.add_body("a", "world", HINGE, inertia=BALL)
    linkage.add_body("b", "world", lw.Revolute((0, 0, 0), limits=(1, 0)), inertia=lw.Inertia(1.0, moments=(1, 2, 7)))
    linkage.add_body("c", "d", HINGE, lw.Pose(xyz=(NAN, 0, 0)), BALL, joint_name="b")
    linkage.add_body("d", "c", HINGE, inertia=BALL)
    faults = "\n".join(faults_of(linkage))
    expected = (
        "gravity", "'ghost' is unknown", "'a': a body of this name exists", "axis is zero", "(1, 0) are the wrong way",
        "triangle inequality", "'c': placement", "joint name 'b'", "cycle of 2",
    )  # fmt: skip
    for words in expected:
        assert words in faults
    assert len(faults.splitlines()) == len(expected)


def test_a_long_list_of_faults_stays_readable():
    linkage = lw.Linkage("many")
    for i in range(500):
        linkage.add_body(f"body_{i}", "ghost", HINGE, inertia=BALL)
    with pytest.raises(lw.ModelError, match=r"500 faults(.|\n)*and 480 more of 500") as caught:
        linkage.compile()
    assert len(str(caught.value).splitlines()) < 25
    assert len(caught.value.faults) == 500


def test_massless_fork_is_named():
    linkage = linkage_of(inertia=lw.Inertia(0.0))
    for child in "ab":
        linkage.add_body(child, "suspect", HINGE, inertia=BALL)
    fault = only_fault(linkage)
    assert "'suspect'" in fault
    assert "carries 2 moving bodies" in fault


def test_massless_link_between_balls_is_named():
    linkage = linkage_of(joint=lw.Spherical(), inertia=lw.Inertia(0.0))
    linkage.add_body("tip", "suspect", HINGE, inertia=BALL)
    fault = only_fault(linkage)
    assert "'suspect'" in fault
    assert "Spherical and Revolute" in fault


def test_too_many_massless_links_in_a_row():
    linkage = lw.Linkage("tower")
    parent = "world"
    for i in range(7):
        linkage.add_body(f"link_{i}", parent, HINGE, inertia=lw.Inertia(0.0) if i < 6 else BALL)
        parent = f"link_{i}"
    fault = only_fault(linkage)
    assert "'link_5'" in fault
    assert "7 degrees of freedom" in fault


def test_unknown_name_suggests_the_nearest():
    linkage = linkage_of()
    model = linkage.compile()
    for ask in (lambda: linkage["suspekt"], lambda: model.body("suspekt"), lambda: model.joint("suspekt")):
        with pytest.raises(lw.ModelError, match="did you mean 'suspect'"):
            ask()


# --------------------------------------------------------------------------------------------------------------- editing


def arm() -> lw.Linkage:
    linkage = lw.Linkage("arm")
    linkage.add_body("upper", "world", lw.Revolute((0, 1, 0)), lw.Pose(xyz=(0, 0, 1)), BALL)
    linkage.add_body("lower", "upper", lw.Revolute((1, 0, 0)), lw.Pose(xyz=(0, 0, -0.5)), BALL, joint_name="elbow")
    linkage.add_body("hand", "lower", lw.Revolute((0, 0, 1)), lw.Pose(xyz=(0, 0, -0.5)), BALL)
    return linkage


def test_edit_body():
    linkage = arm()
    linkage.edit_body("hand", parent="upper", inertia=lw.Inertia.sphere(3.0, 0.1))
    model = linkage.compile()
    assert model.parent[model.body("hand")] == model.body("upper")
    assert model.mass[model.body("hand")] == 3.0
    for changes in ({"mass": 1.0}, {"name": "fist"}, {"joint": "hinge"}, {"parent": 3}):
        with pytest.raises(lw.ModelError, match="'hand'"):
            linkage.edit_body("hand", **changes)
    with pytest.raises(lw.ModelError, match="no body 'hnd'; did you mean 'hand'"):
        linkage.edit_body("hnd", parent="world")


def test_rename_body_takes_its_children_along():
    linkage = arm()
    linkage.rename_body("upper", "humerus")
    linkage.rename_body("lower", "radius")
    assert linkage["radius"].parent == "humerus"
    assert linkage["humerus"].joint_name == "humerus"
    assert linkage["radius"].joint_name == "elbow"  # a joint with a name of its own keeps it
    assert "upper" not in linkage
    assert linkage.compile().body_names == ("humerus", "radius", "hand")
    for taken in ("hand", "world"):
        with pytest.raises(lw.ModelError, match=f"'{taken}'; that name is taken"):
            linkage.rename_body("radius", taken)


def test_remove_body_takes_what_hangs_from_it():
    linkage = arm()
    assert [body.name for body in linkage.remove_body("lower")] == ["lower", "hand"]
    assert [body.name for body in linkage] == ["upper"]
    linkage.add_body("hand", "upper", HINGE, inertia=BALL)  # its name is free again
    assert linkage.compile().body_names == ("upper", "hand")
    with pytest.raises(lw.ModelError, match="no body 'lower'"):
        linkage.remove_body("lower")


def test_merge_under_a_prefix():
    robot = lw.Linkage("robot")
    robot.add_body("torso", "world", lw.Free(), inertia=BALL)
    for side, y in (("left_", 0.2), ("right_", -0.2)):
        robot.merge(arm(), prefix=side, parent="torso", placement=lw.Pose(xyz=(0, y, 0)))
    model = robot.compile()
    assert model.n_bodies == 7
    assert model.parent[model.body("right_upper")] == model.body("torso")
    assert model.joint_names[model.body("left_lower")] == "left_elbow"
    T = lw.body_poses(model, model.neutral())
    np.testing.assert_allclose(T[model.body("right_hand"), :3, 3], (0, -0.2, 0), atol=rounding())


def test_merge_refuses_clashes_by_name():
    robot = arm()
    with pytest.raises(lw.ModelError, match="3 names twice") as caught:
        robot.merge(arm())
    for name in ("upper", "lower", "hand"):
        assert f"'{name}' exists already" in str(caught.value)
    assert len(robot) == 3  # nothing was added


def test_merge_by_a_joint_needs_one_root():
    robot = arm()
    robot.merge(arm(), prefix="tool_", parent="hand", joint=lw.Prismatic((1, 0, 0)))
    assert isinstance(robot["tool_upper"].joint, lw.Prismatic)
    pair = lw.Linkage("pair")
    for name in "ab":
        pair.add_body(name, "world", HINGE, inertia=BALL)
    with pytest.raises(lw.ModelError, match="exactly one body on its world; it has 2"):
        robot.merge(pair, prefix="p_", joint=lw.Prismatic((1, 0, 0)))
    with pytest.raises(lw.ModelError, match="exactly one"):
        robot.merge(lw.Linkage("nothing"), prefix="n_", joint=lw.Prismatic((1, 0, 0)))


def test_merging_a_linkage_into_itself_doubles_it():
    linkage = arm()
    linkage.merge(linkage, prefix="twin_")
    assert linkage.compile().n_bodies == 6


def test_faults_survive_a_merge():
    broken = arm()
    broken.add_body("hand", "upper", HINGE, inertia=BALL)
    robot = lw.Linkage("robot")
    robot.merge(broken, prefix="left_")
    assert "'left_hand'" in only_fault(robot)


def test_bodies_may_come_before_their_parents():
    linkage = lw.Linkage("upside_down")
    for body in reversed(list(arm())):
        linkage.add_body(body.name, body.parent, body.joint, body.placement, body.inertia)
    assert linkage.compile().body_names == ("upper", "lower", "hand")
    assert (linkage.compile().parent < np.arange(3)).all()


def test_an_empty_linkage_is_a_model_of_nothing():
    model = lw.Linkage("nothing").compile()
    assert (model.n_bodies, model.nq, model.nv, model.depth) == (0, 0, 0, 0)
    assert lw.forward_dynamics(model, model.random_state(0)).shape == (0,)


def test_gravity_that_is_set_later_is_checked_when_the_linkage_compiles():
    """Whole numbers will do; what is not three numbers is refused by name."""
    linkage = lw.Linkage("stone")
    linkage.add_body("stone", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
    linkage.gravity = (0, 0, 0)
    model = linkage.compile()
    assert model.gravity.dtype == float
    sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler")
    sim.step(1e-3)
    assert (sim.state.v == 0.0).all()
    linkage.gravity = (0, float("nan"), 0)
    with pytest.raises(lw.ModelError, match="gravity is"):
        linkage.compile()
