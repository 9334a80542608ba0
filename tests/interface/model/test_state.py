"""States and loads given to the dynamics: refused with a reason, or taken as they are meant."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.dynamics.api import ALGORITHMS


@pytest.fixture(scope="module")
def arm():
    """Shoulder (ball), elbow (hinge), wrist (universal), and a floating cup beside them."""
    linkage = lw.Linkage("arm")
    part = lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.0, 0.1, 0.2)))
    linkage.add_body("upper", "world", lw.Spherical(), lw.Pose(), part, joint_name="shoulder")
    linkage.add_body("lower", "upper", lw.Revolute((0, 1, 0)), lw.Pose((0, 0, 0.4)), part, joint_name="elbow")
    linkage.add_body("hand", "lower", lw.Universal(), lw.Pose((0, 0, 0.4)), part, joint_name="wrist")
    linkage.add_body("cup", "world", lw.Free(), lw.Pose(), part, joint_name="air")
    return linkage.compile()


@pytest.fixture
def loads(arm, rng):
    return {"effort": rng.normal(size=arm.nv), "wrenches": rng.normal(size=(arm.n_bodies, 6))}


QUERIES = {
    "forward_dynamics": lambda model, state: lw.forward_dynamics(model, state),
    "inverse_dynamics": lambda model, state: lw.inverse_dynamics(model, state, np.zeros(model.nv)),
    "mass_matrix": lw.mass_matrix,
    "body_poses": lw.body_poses,
    "body_twists": lw.body_twists,
    "body_jacobian": lambda model, state: lw.body_jacobian(model, state, 0),
    "energy": lw.energy,
    "momentum": lw.momentum,
    "center_of_mass": lw.center_of_mass,
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("change", [1, -1])
def test_states_of_the_wrong_shape(arm, query, change):
    q, v = arm.neutral()
    with pytest.raises(lw.StateError, match=rf"state\.q has shape .*; model 'arm' needs \({arm.nq},\)"):
        query(arm, lw.State(np.zeros(arm.nq + change), v))
    with pytest.raises(lw.StateError, match=rf"state\.v has shape .*; model 'arm' needs \({arm.nv},\)"):
        query(arm, lw.State(q, np.zeros(arm.nv + change)))
    with pytest.raises(lw.StateError, match=r"state\.v has shape"):
        query(arm, lw.State(q, np.zeros((arm.nv, 1))))
    with pytest.raises(lw.StateError, match="must be an array of numbers"):
        query(arm, lw.State(q, ["fast"] * arm.nv))


def test_loads_of_the_wrong_shape(arm):
    state = arm.neutral()
    with pytest.raises(lw.StateError, match="effort has shape"):
        lw.forward_dynamics(arm, state, effort=np.zeros(arm.nv + 1))
    with pytest.raises(lw.StateError, match="effort has shape"):
        lw.forward_dynamics(arm, state, effort=1.0)
    for shape in [(arm.n_bodies, 3), (arm.n_bodies + 1, 6), (6 * arm.n_bodies,)]:
        with pytest.raises(lw.StateError, match="wrenches has shape"):
            lw.forward_dynamics(arm, state, wrenches=np.zeros(shape))
        with pytest.raises(lw.StateError, match="wrenches has shape"):
            lw.inverse_dynamics(arm, state, np.zeros(arm.nv), wrenches=np.zeros(shape))
    with pytest.raises(lw.StateError, match="acceleration has shape"):
        lw.inverse_dynamics(arm, state, np.zeros(arm.nv - 1))
    with pytest.raises(lw.StateError, match="acceleration is missing"):
        lw.inverse_dynamics(arm, state, None)


def test_moving_on_with_the_wrong_shape(arm):
    q, v = arm.neutral()
    for call in (
        lambda: arm.integrate(q[:-1], v),
        lambda: arm.integrate(q, v[:-1]),
        lambda: arm.difference(q[:-1], q),
        lambda: arm.difference(q, np.zeros(arm.nq + 1)),
        lambda: arm.state(q[:-1]),
        lambda: arm.state(q, v[:-1]),
    ):
        with pytest.raises(lw.StateError, match=r"has shape .*; model 'arm' needs"):
            call()


# ------------------------------------------------------------------------------------------------- numbers that are none


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_named(arm, algorithm, loads, bad):
    elbow_q, elbow_v = arm.q_slice("elbow").start, arm.v_slice("elbow").start
    state = arm.random_state(1)

    def solve(**changes):
        return lw.forward_dynamics(arm, changes.pop("state", state), **{**loads, **changes}, algorithm=algorithm)

    q = state.q.copy()
    q[elbow_q] = bad
    with pytest.raises(lw.StateError, match=rf"state\.q\[{elbow_q}\] is -?(nan|inf) \(joint 'elbow'\)"):
        solve(state=lw.State(q, state.v))
    v = state.v.copy()
    v[elbow_v] = bad
    with pytest.raises(lw.StateError, match=rf"state\.v\[{elbow_v}\] is -?(nan|inf) \(joint 'elbow'\)"):
        solve(state=lw.State(state.q, v))
    effort = loads["effort"].copy()
    effort[elbow_v] = bad
    with pytest.raises(lw.StateError, match=rf"effort\[{elbow_v}\] is -?(nan|inf) \(joint 'elbow'\)"):
        solve(effort=effort)
    wrenches = loads["wrenches"].copy()
    wrenches[arm.body("lower"), 4] = bad
    with pytest.raises(lw.StateError, match=r"wrenches\[1\] is .*(nan|inf).* \(body 'lower'\)"):
        solve(wrenches=wrenches)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inverse_dynamics_names_them_too(arm, loads, bad):
    k = arm.v_slice("wrist").start
    state, acceleration = arm.random_state(1), np.zeros(arm.nv)
    acceleration[k] = bad
    with pytest.raises(lw.StateError, match=rf"acceleration\[{k}\] is (nan|inf) \(joint 'wrist'\)"):
        lw.inverse_dynamics(arm, state, acceleration)
    wrenches = loads["wrenches"].copy()
    wrenches[2, 0] = bad
    with pytest.raises(lw.StateError, match=r"wrenches\[2\] is .* \(body 'hand'\)"):
        lw.inverse_dynamics(arm, state, np.zeros(arm.nv), wrenches)


def test_a_state_is_checked_when_it_is_made(arm):
    q, v = arm.neutral()
    for bad in (np.nan, np.inf):
        wrong = q.copy()
        wrong[arm.q_slice("wrist").start] = bad
        with pytest.raises(lw.StateError, match=r"q\[\d+\] is (nan|inf) \(joint 'wrist'\)"):
            arm.state(wrong)
        wrong = v.copy()
        wrong[-1] = bad
        with pytest.raises(lw.StateError, match=r"v\[\d+\] is (nan|inf) \(joint 'air'\)"):
            arm.state(q, wrong)


def test_an_orientation_of_zeros(arm):
    for joint, start in (("shoulder", 0), ("air", 3)):
        q = arm.neutral().q
        k = arm.q_slice(joint).start + start
        q[k : k + 4] = 0.0
        with pytest.raises(lw.StateError, match=rf"joint '{joint}' has the orientation \(0, 0, 0, 0\)"):
            arm.state(q)


def test_orientations_of_any_length_are_made_unit(arm):
    q = arm.random_state(3).q
    stretched = q.copy()
    stretched[arm.q_slice("shoulder")] *= 1e-3
    stretched[arm.q_slice("air")][3:] *= -50.0
    state = arm.state(stretched)
    # one normalization; the pose does not depend on the sign
    assert lw.body_poses(arm, state) == pytest.approx(lw.body_poses(arm, arm.state(q)), abs=rounding(scale=10.0))
    assert stretched[arm.q_slice("shoulder")] == pytest.approx(1e-3 * q[arm.q_slice("shoulder")])  # ours is a copy


def test_overflow_is_refused(arm, algorithm):
    state = lw.State(arm.neutral().q, np.full(arm.nv, 1e200))
    with pytest.raises(lw.StateError, match="too large"), np.errstate(all="ignore"):
        lw.forward_dynamics(arm, state, algorithm=algorithm)


# --------------------------------------------------------------------------------------------------------- unknown names


def test_unknown_algorithm(arm):
    with pytest.raises(lw.StateError, match="no algorithm 'abba'") as caught:
        lw.forward_dynamics(arm, arm.neutral(), algorithm="abba")
    for name in ALGORITHMS:
        assert name in str(caught.value)


def test_unknown_names_come_with_a_suggestion(arm):
    with pytest.raises(lw.ModelError, match="no body 'uper'; did you mean 'upper'"):
        arm.body("uper")
    with pytest.raises(lw.ModelError, match="no body 'uper'; did you mean 'upper'"):
        lw.body_jacobian(arm, arm.neutral(), "uper")
    with pytest.raises(lw.ModelError, match="no joint 'elbo'; did you mean 'elbow'"):
        arm.joint("elbo")
    with pytest.raises(lw.ModelError, match="no joint 'elbo'"):
        arm.v_slice("elbo")
    with pytest.raises(lw.ModelError, match="no body 'xyzzy'\\."):
        arm.body("xyzzy")


def test_unknown_bodies_and_frames(arm):
    state = arm.neutral()
    for index in (-2, arm.n_bodies):
        with pytest.raises(lw.StateError, match=f"body {index} does not exist"):
            lw.body_jacobian(arm, state, index)
    for call in (
        lambda: lw.body_twists(arm, state, frame="local"),
        lambda: lw.body_jacobian(arm, state, 0, frame="local"),
    ):
        with pytest.raises(lw.StateError, match="'body' or 'world', not 'local'"):
            call()
    with pytest.raises(lw.StateError, match="at has shape"):
        lw.body_jacobian(arm, state, 0, at=(1.0, 2.0))
    with pytest.raises(lw.StateError, match="about has shape"):
        lw.momentum(arm, state, about=(1.0, 2.0))


# ------------------------------------------------------------------------------------------------ what cannot be solved


@pytest.mark.parametrize(
    ("joint", "inertia"),
    [
        (lw.Spherical(), lw.Inertia.point_mass(1.0, at=(0, 0, 1))),  # turns freely about the line to the point
        (lw.Free(), lw.Inertia.point_mass(1.0)),
        (lw.Revolute((0, 0, 1)), lw.Inertia.point_mass(1.0, at=(0, 0, 2))),
        (lw.Compound([lw.Revolute((0, 0, 1)), lw.Revolute((0, 0, 1))]), lw.Inertia.box(1.0, (1, 1, 1))),
    ],
    ids=["point on a ball", "free point", "point on an axis", "one axis twice"],
)
def test_motion_without_inertia_is_refused_by_joint(algorithm, joint, inertia):
    linkage = lw.Linkage("loose")
    linkage.add_body("base", joint=lw.Revolute((1, 0, 0)), inertia=lw.Inertia.box(1.0, (1, 1, 1)))
    linkage.add_body("mass", "base", joint, lw.Pose(), inertia, joint_name="string")
    model = linkage.compile()
    # An algorithm that inverts inertias stops at the body already; all name the culprit and say what to do.
    with pytest.raises((lw.StateError, lw.ModelError), match=r"joint 'string'|body 'mass'") as caught:
        lw.forward_dynamics(model, model.neutral(), algorithm=algorithm)
    assert "armature" in str(caught.value) or "algorithm='aba'" in str(caught.value)


def test_armature_is_the_remedy(algorithm, solve):
    linkage = lw.Linkage("held")
    joint = lw.Spherical(armature=0.01)
    linkage.add_body("mass", joint=joint, inertia=lw.Inertia.point_mass(1.0, at=(0, 0, 1)))
    model = linkage.compile()
    assert np.isfinite(solve(model, model.random_state(0), algorithm=algorithm)).all()


def test_no_mass_no_centre():
    model = lw.Linkage("empty").compile()
    with pytest.raises(lw.StateError, match="no moving mass"):
        lw.center_of_mass(model, model.neutral())


# ------------------------------------------------------------------------------------------ what is taken as it is meant


def variants(array):
    """The same numbers in other clothes."""
    wide = np.zeros((*array.shape, 2))
    wide[..., 0] = array
    frozen = array.copy()
    frozen.setflags(write=False)
    return {
        "list": array.tolist(),
        "non-contiguous": wide[..., 0],
        "read-only": frozen,
        "Fortran": np.asfortranarray(array),
        "big-endian": array.astype(">f8"),
    }


def test_arrays_in_any_clothes(arm, algorithm, loads):
    state, qdd = arm.random_state(2), np.linspace(-1.0, 1.0, arm.nv)
    forward = lw.forward_dynamics(arm, state, **loads, algorithm=algorithm)
    inverse = lw.inverse_dynamics(arm, state, qdd, loads["wrenches"])
    moved = arm.integrate(state.q, state.v, 0.1)
    inputs = [variants(a) for a in (state.q, state.v, loads["effort"], loads["wrenches"], qdd)]
    for clothes in inputs[0]:
        q, v, effort, wrenches, acceleration = (variant[clothes] for variant in inputs)
        # the same numbers, so the same bits
        assert (lw.forward_dynamics(arm, (q, v), effort, wrenches, algorithm=algorithm) == forward).all(), clothes
        assert (lw.inverse_dynamics(arm, lw.State(q, v), acceleration, wrenches) == inverse).all(), clothes
        assert (arm.integrate(q, v, 0.1) == moved).all(), clothes
        assert (arm.difference(q, moved) == arm.difference(state.q, moved)).all(), clothes


def test_whole_numbers_are_numbers(arm, algorithm):
    q = arm.neutral().q
    whole = lw.State(q.astype(int), np.arange(arm.nv))
    effort, wrenches = np.arange(arm.nv), np.ones((arm.n_bodies, 6), dtype=np.int32)
    expected = lw.forward_dynamics(
        arm, lw.State(q, 1.0 * np.arange(arm.nv)), 1.0 * effort, 1.0 * wrenches, algorithm=algorithm
    )
    assert (lw.forward_dynamics(arm, whole, effort, wrenches, algorithm=algorithm) == expected).all()
    assert arm.integrate(whole.q, whole.v, 1).dtype == np.float64
    assert arm.integrate(whole.q, whole.v, 1) == pytest.approx(arm.integrate(q, 1.0 * whole.v, 1.0))


def test_nothing_that_comes_in_is_changed(arm, algorithm, loads):
    state = arm.random_state(4)
    before = [a.copy() for a in (*state, loads["effort"], loads["wrenches"])]
    lw.forward_dynamics(arm, state, **loads, algorithm=algorithm)
    lw.inverse_dynamics(arm, state, loads["effort"], loads["wrenches"])
    arm.integrate(*state, 0.1)
    for query in QUERIES.values():
        query(arm, state)
    for old, new in zip(before, (*state, loads["effort"], loads["wrenches"]), strict=True):
        assert (old == new).all()


def test_results_are_the_callers_own(arm, algorithm):
    """No result is a window on memory that the next call overwrites."""
    first, second = arm.random_state(5), arm.random_state(6)
    calls = {**QUERIES, "forward_dynamics": lambda m, s: lw.forward_dynamics(m, s, algorithm=algorithm)}
    for name, query in calls.items():
        one = query(arm, first)
        kept = np.array(one, dtype=float, copy=True) if name != "momentum" else np.concatenate(one)
        query(arm, second)
        now = np.array(one, dtype=float) if name != "momentum" else np.concatenate(one)
        assert (kept == now).all(), name


def test_a_model_cannot_be_changed(arm):
    for array in arm.arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        arm.name = "leg"


def test_threads_do_not_disturb_each_other(arm, algorithm):
    """Kernels run without the GIL; every thread has a workspace of its own."""
    states = [arm.random_state(seed) for seed in range(2)]
    expected = [lw.forward_dynamics(arm, state, algorithm=algorithm) for state in states]
    efforts = [lw.inverse_dynamics(arm, state, np.ones(arm.nv)) for state in states]
    wrong: list[int] = []
    start = threading.Barrier(2)

    def work(which):
        start.wait()
        for _ in range(300):
            qdd = lw.forward_dynamics(arm, states[which], algorithm=algorithm)
            effort = lw.inverse_dynamics(arm, states[which], np.ones(arm.nv))
            if (qdd != expected[which]).any() or (effort != efforts[which]).any():
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
