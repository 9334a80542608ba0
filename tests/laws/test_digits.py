"""Digits that survive: points, needles, rotors and welds must not cost accuracy without a word.

The standard is the mass matrix of the same model, solved in exact fractions where that matters, or a closed form.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.digits import MISSED, is_delicate, missed_effort
from linkwork.errors import LinkworkWarning

EPS = np.finfo(float).eps
ALL = ("aba", "dca", "virtual_work", "virtual_work_unsplit", "dense", "unit_vector")


def chain(moments, armature=None, links=10):
    """Links of 1 kg and 0.5 m on hinges that point anywhere."""
    axes = np.random.default_rng(0).normal(size=(links, 3))
    linkage = lw.Linkage("links")
    for i, axis in enumerate(axes):
        linkage.add_body(
            f"link_{i}",
            f"link_{i - 1}" if i else "world",
            lw.Revolute(axis, armature=armature),
            lw.Pose((0.5, 0, 0) if i else (0, 0, 0)),
            lw.Inertia(1.0, (0.25, 0.02, 0.01), moments),
        )
    return linkage.compile()


def solved(model, state, effort, algorithm):
    """Accelerations, and whether the algorithm said that it fell back."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", LinkworkWarning)
        found = lw.forward_dynamics(model, state, effort, algorithm=algorithm)
    return found, any("the result is that of aba" in str(w.message) for w in warned)


def worst(found, expected):
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize("armature", [1.0, 1e2, 1e4, 1e6, 1e8])
def test_a_large_rotor_costs_nothing(algorithm, armature):
    """`virtual_work` lost 1e-5 at 1e8 when q̈ was the difference of two links' accelerations."""
    model = chain((1e-3, 2e-3, 2e-3), armature)
    state, effort = model.random_state(1), np.random.default_rng(2).normal(size=model.nv)
    M = lw.mass_matrix(model, state)
    expected = np.linalg.solve(M, effort - lw.inverse_dynamics(model, state, np.zeros(model.nv)))
    # cond(M) ≤ 20; ten links held stiffly are a stretch whose inverse inertia keeps 1e4 roundings; margin 10
    assert worst(solved(model, state, effort, algorithm)[0], expected) < 10 * EPS * 20 * 1e4


@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize("moment", [1e-7, 1e-11, 1e-13, 1e-15, 1e-18, 0.0])
@pytest.mark.parametrize("kind", ["point", "needle"])
def test_points_and_needles_are_solved_or_handed_over(algorithm, moment, kind):
    """Silent losses were 8e-6 (dca, 1e-11) and 5 % (virtual_work, 1e-15). The mass matrix has condition 3e4."""
    model = chain((moment, moment, moment) if kind == "point" else (moment, 0.02, 0.02))
    state, effort = model.random_state(1), np.random.default_rng(2).normal(size=model.nv)
    M = lw.mass_matrix(model, state)
    expected = np.linalg.solve(M, effort - lw.inverse_dynamics(model, state, np.zeros(model.nv)))
    found, fell_back = solved(model, state, effort, algorithm)
    assert worst(found, expected) < MISSED * np.linalg.cond(M) * 0.1
    if algorithm in ("dca", "virtual_work") and moment <= 1e-11:
        assert fell_back
        assert worst(found, expected) < 100 * EPS * np.linalg.cond(M)


@pytest.mark.parametrize("algorithm", ["dca", "virtual_work"])
def test_welded_stretches_keep_their_digits(algorithm):
    """One hinge and 999 welded boxes: divide and conquer was wrong by 3e-4. In closed form I q̈ = -m g x_com."""
    linkage = lw.Linkage("rod")
    for i in range(1000):
        joint = lw.Fixed() if i else lw.Revolute((0, 1, 0))
        box = lw.Inertia.box(1.0, (0.1, 0.1, 0.1))
        linkage.add_body(f"box_{i}", f"box_{i - 1}" if i else "world", joint, lw.Pose((0.1 if i else 0.0, 0, 0)), box)
    model = linkage.compile(merge_fixed=False)
    x = 0.1 * np.arange(1000)
    expected = 9.81 * x.sum() / (x**2 + 0.01 / 6.0).sum()
    found, _ = solved(model, model.neutral(), None, algorithm)
    assert abs(found[0] - expected) < 10 * 1000 * EPS * expected


def welded_spine(count=300):
    """A spine of welded boxes of very different mass on a hinge, with arms on hinges from its middle and its end."""
    linkage = lw.Linkage("spine")
    for i in range(count):
        joint = lw.Fixed() if i else lw.Revolute((0, 1, 0.2))
        box = lw.Inertia.box(1.0 if i % 2 else 1e-6, (0.1, 0.1, 0.1))
        linkage.add_body(f"box_{i}", f"box_{i - 1}" if i else "world", joint, lw.Pose((0.1 if i else 0.0, 0, 0)), box)
    for name, at in (("middle", count // 2), ("end", count - 1)):
        arm = lw.Inertia.box(0.5, (0.1, 0.1, 0.4))
        linkage.add_body(name, f"box_{at}", lw.Revolute((0.3, 0, 1)), lw.Pose((0, 0.1, 0)), arm)
        linkage.add_body(f"{name}_tip", name, lw.Spherical(), lw.Pose((0, 0, 0.4)), arm)
    return linkage


def test_what_hangs_from_a_welded_stretch_keeps_its_digits():
    """Against the same linkage with its welds merged: dca, quasi-statics, and every kind of path query."""
    linkage = welded_spine()
    whole, merged = linkage.compile(merge_fixed=False), linkage.compile()
    state = whole.random_state(3, speed=0.0)
    q, order = merged.neutral().q.copy(), np.empty(whole.nv, dtype=int)
    for joint in merged.joint_names:  # numbered in another order
        a, b = merged.joint(joint), whole.joint(joint)
        q[merged.q_slice(a)] = state.q[whole.q_slice(b)]
        order[whole.v_slice(b)] = np.arange(merged.nv)[merged.v_slice(a)]
    same = merged.state(q, np.zeros(merged.nv))
    expected = lw.forward_dynamics(merged, same)[order]
    allowed = 100 * EPS * 300 * np.abs(expected).max()  # a sum over 300 boxes, conditions of some ten
    found, fell_back = solved(whole, state, None, "dca")
    assert not fell_back
    assert np.abs(found - expected).max() <= allowed
    sim = lw.QuasiStatics(whole, state, tolerance=0.0)
    assert sim.solve().error_bound < 1e-9
    assert np.abs(sim.acceleration - expected).max() <= allowed
    one, two = lw.Response(whole, state), lw.Response(merged, same)
    for joint in ("box_0", "middle", "middle_tip", "end_tip"):
        assert one.joint_acceleration(joint) == pytest.approx(two.joint_acceleration(joint), abs=allowed)
        a = one.joint_response(joint, wrench_on="middle_tip", wrench=np.arange(6.0))
        b = two.joint_response(joint, wrench_on="middle_tip", wrench=np.arange(6.0))
        assert a == pytest.approx(b, abs=1e4 * EPS * np.abs(b).max() + allowed)
    # A body within the stretch moves with it.
    assert one.acceleration("box_150")[:3] == pytest.approx(two.acceleration("box_0")[:3], abs=allowed)
    push = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    wrenches = np.zeros((whole.n_bodies, 6))
    wrenches[whole.body("box_77")] = push
    pushed = lw.forward_dynamics(whole, state, wrenches=wrenches)
    one.set_wrench("box_77", push)
    assert one.joint_acceleration("end") == pytest.approx(pushed[whole.v_slice(whole.joint("end"))], abs=allowed)


def test_reactions_fall_back_too():
    model = lw.library.double_pendulum().compile()
    state = model.random_state(0)
    with pytest.warns(LinkworkWarning, match="the result is that of aba"):
        wrenches = lw.joint_reactions(model, state)
    qdd = lw.forward_dynamics(model, state)
    # Newton: the whole weighs and accelerates by what the first joint carries
    h = 1e-6
    after = lw.State(model.integrate(state.q, state.v, h), state.v + h * qdd)
    before = lw.State(model.integrate(state.q, state.v, -h), state.v - h * qdd)
    rate = (lw.momentum(model, after).linear - lw.momentum(model, before).linear) / (2 * h)
    R = lw.body_poses(model, state)[0, :3, :3]
    force = rate - model.mass.sum() * model.gravity
    assert R @ wrenches[0, 3:] == pytest.approx(force, abs=1e-7 * np.abs(force).max())


def test_what_cannot_fall_back_refuses():
    """A needle that divide and conquer can invert, but not well: Response has no other way, so it says so."""
    model = chain((1e-9, 1e-9, 1e-9))
    assert is_delicate(model)
    with pytest.raises(lw.StateError, match="loses digits"):
        lw.Response(model, model.random_state(1))
    with pytest.raises(lw.StateError, match="loses digits"):
        lw.hybrid_dynamics(model, model.random_state(1), {"link_3": 1.0})


# ------------------------------------------------------------------------------------------- six freedoms inside the tree


def cube_and_satellite(armature):
    """A 1 mm cube on a ball, and a ton that flies free of it, 2 m away."""
    linkage = lw.Linkage("pair")
    linkage.add_body("cube", joint=lw.Spherical(), inertia=lw.Inertia.box(1e-6, (1e-3, 1e-3, 1e-3)))
    linkage.add_body("far", "cube", lw.Free(armature=armature), inertia=lw.Inertia.box(1e3, (1, 1, 1)))
    model = linkage.compile()
    state = model.random_state(3)
    q = state.q.copy()
    q[4:7] = (2.0, 0.3, 0.1)
    return model, model.state(q, state.v)


def test_what_flies_free_is_not_felt():
    """The rounding of I - U D⁻¹ Uᵀ reached the cube as inertia and bias: 63 % wrong."""
    model, state = cube_and_satellite(None)
    effort = np.zeros(model.nv)
    effort[:3] = 1e-9, 2e-9, -1e-9
    found = lw.forward_dynamics(model, state, effort)[:3]
    alone = lw.Linkage("alone")
    alone.add_body("cube", joint=lw.Spherical(), inertia=lw.Inertia.box(1e-6, (1e-3, 1e-3, 1e-3)))
    expected = lw.forward_dynamics(alone.compile(), lw.State(state.q[:4], state.v[:3]), effort[:3])
    assert (found == expected).all()  # not one bit comes over


def test_six_screws_pass_only_their_effort():
    """The same for a compound of six: what it passes on is S⁻ᵀ τ, here nothing."""
    axes = np.eye(3)
    six = lw.Compound([*(lw.Prismatic(a) for a in axes), *(lw.Revolute(a) for a in axes)])
    linkage = lw.Linkage("six")
    linkage.add_body("cube", joint=lw.Revolute((0, 0, 1)), inertia=lw.Inertia.box(1e-6, (1e-3, 1e-3, 1e-3)))
    linkage.add_body("far", "cube", six, inertia=lw.Inertia.box(1e3, (1, 1, 1)))
    model = linkage.compile()
    state = model.state([0.3, 2.0, 0.3, 0.1, 0.2, -0.4, 0.5], np.full(7, 0.7))
    effort = np.zeros(7)
    effort[0] = 1e-9
    inertia = 1e-6 * 2e-6 / 12.0
    assert lw.forward_dynamics(model, state, effort)[0] == pytest.approx(1e-9 / inertia, rel=100 * EPS)


def solved_exactly(M, rhs):
    """M⁻¹ rhs by elimination in fractions."""
    rows = [[Fraction(x) for x in (*row, b)] for row, b in zip(M.tolist(), rhs.tolist(), strict=True)]
    for k, pivot in enumerate(rows):
        for other in (row for row in rows if row is not pivot):
            factor = other[k] / pivot[k]
            other[:] = [a - factor * b for a, b in zip(other, pivot, strict=True)]
    return np.array([float(row[-1] / row[k]) for k, row in enumerate(rows)])


@pytest.mark.parametrize("armature", [1e-9, 1e-3, 1.0, 1e5])
def test_rotors_of_a_free_joint_keep_both_limits(armature):
    """A free joint with rotors, light beside the body and heavy: the mass matrix in exact fractions is the standard."""
    linkage = lw.Linkage("geared")
    linkage.add_body("base", joint=lw.Spherical(), inertia=lw.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    linkage.add_body("far", "base", lw.Free(armature=armature), inertia=lw.Inertia.box(1e3, (1, 1, 1)))
    model = linkage.compile()
    state, effort = model.random_state(3), np.random.default_rng(0).normal(size=model.nv)
    M, rhs = lw.mass_matrix(model, state), effort - lw.inverse_dynamics(model, state, np.zeros(model.nv))
    expected = solved_exactly(M, rhs)
    # rounding of M and of the bias, seen through the condition of the matrix scaled to a unit diagonal; margin 10
    scale = 1.0 / np.sqrt(np.diag(M))
    condition = np.linalg.cond(scale[:, None] * M * scale)
    assert worst(lw.forward_dynamics(model, state, effort), expected) < 100 * EPS * condition


# ----------------------------------------------------------------------------------------------------- warned of or refused


@pytest.mark.parametrize("algorithm", ["aba", "dense", "unit_vector", "dca", "virtual_work"])
def test_a_spin_that_is_only_rounding_is_refused(algorithm):
    """A needle that spins about its own axis, turned into a frame where its moment of 1e-18 drowns: 250 % wrong before."""
    turned = lw.Pose((0.4, 0.3, 0.2), rpy=(0.3, 0.4, 0.5))
    needle = lw.Inertia(1.0, (0, 0, 0), (1e-18, 0.02, 0.02)).at(turned)
    linkage = lw.Linkage("spin")
    linkage.add_body("needle", joint=lw.Revolute(turned.rotate((1, 0, 0)), point=turned.xyz), inertia=needle)
    model = linkage.compile()
    with pytest.raises(lw.StateError, match="joint 'needle'"):
        lw.forward_dynamics(model, model.neutral(), [1e-18], algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ["aba", "dense"])
def test_few_digits_are_reported(algorithm):
    turned = lw.Pose((0.4, 0.3, 0.2), rpy=(0.3, 0.4, 0.5))
    needle = lw.Inertia(1.0, (0, 0, 0), (1e-12, 0.02, 0.02)).at(turned)
    linkage = lw.Linkage("spin")
    linkage.add_body("needle", joint=lw.Revolute(turned.rotate((1, 0, 0)), point=turned.xyz), inertia=needle)
    model = linkage.compile()
    with pytest.warns(LinkworkWarning, match="accelerations may be off by a part of"):
        found = lw.forward_dynamics(model, model.neutral(), [1e-12], algorithm=algorithm)
    assert found[0] == pytest.approx(1.0 + 0.0, rel=1e-2)


def test_sound_models_are_not_delicate_and_miss_nothing():
    """The check is for the delicate: the library's large models pass it with a margin of ten and pay nothing for it."""
    for linkage in (
        lw.library.chain(200),
        lw.library.random_tree(100),
        lw.library.humanoid(),
        lw.library.molecule(2000),
    ):
        model = linkage.compile()
        state = model.random_state(0)
        assert not is_delicate(model)
        qdd = lw.forward_dynamics(model, state, algorithm="dca")
        assert missed_effort(model, state.q, state.v, np.zeros(0), np.zeros((0, 6)), qdd) < 0.1 * MISSED
