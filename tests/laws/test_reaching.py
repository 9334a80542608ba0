"""Laws of inverse kinematics: its sweeps are the dense equations, its ends are stationary, limits and loops are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.kernel_parts.mechanisms import mixed_joints
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.reaching import arrays as at
from linkwork.reaching import descent as de
from linkwork.reaching.constrained import _solve
from linkwork.reaching.search import TURN_LENGTH, Search, Settings, joint_metric, model_length
from linkwork.reaching.targets import as_rows

DAMPING = 1e-2


def random_tree(seed: int) -> lw.Model:
    return lw.library.random_tree(12, seed=seed, floating=bool(seed % 2)).compile()


def arm(joints: int = 7, bend: float = np.inf) -> lw.Model:
    """Hinges in turn about z and y, links of 0.2 m."""
    linkage = lw.Linkage("arm")
    for i in range(joints):
        hinge = lw.Revolute((0, 1, 0) if i % 2 else (0, 0, 1), limits=(-bend, bend))
        pose = lw.Pose((0.2 if i else 0.0, 0, 0))
        linkage.add_body(f"link{i}", f"link{i - 1}" if i else "world", hinge, pose, lw.Inertia.sphere(1.0, 0.05))
    return linkage.compile()


def random_targets(model: lw.Model, rng: np.random.Generator) -> dict[str, object]:
    """All kinds of targets, on bodies here and there."""
    names = rng.choice(model.body_names, size=4, replace=False)
    x = rng.normal(size=(6, 3))
    turn = lw.Pose(tuple(x[0]), quaternion=rng.normal(size=4))
    return {
        str(names[0]): turn,
        str(names[1]): lw.Target(point=x[1], at=(0.1, 0.2, 0.3), weight=0.3),
        str(names[2]): lw.Target(direction=x[2], axis=x[3], weight=2.0),
        str(names[3]): [lw.Target(look_at=x[4], at=(0.1, 0, 0), axis=x[5]), lw.Target(point=x[5])],
    }


def search_for(model: lw.Model, targets: dict, q: np.ndarray, limits: bool = False) -> Search:
    settings = Settings(limits, 1e-8, 200, 0, 0)
    rows = as_rows(model, targets, TURN_LENGTH * model_length(model))
    search = Search(model, rows, limits)
    search.ask(rows, settings)
    search.arrays.q[:] = q
    return search


def cost(search: Search, q: np.ndarray) -> float:
    search.arrays.q[:] = q
    return de.prepare(search.table)


@pytest.mark.parametrize("seed", range(6))
def test_the_gradient_is_that_of_the_cost(seed):
    model = mixed_joints(floating=True) if seed == 0 else random_tree(seed)
    rng = np.random.default_rng(seed)
    q = model.random_state(rng).q
    search = search_for(model, random_targets(model, rng), q)
    value = cost(search, q)
    gradient = np.zeros(model.nv)
    gradient[search.freedoms] = search.arrays.gradient[search.freedoms]
    h = 1e-6
    slopes = []
    for unit in np.eye(model.nv):
        up, down = (cost(search, model.integrate(q, unit, s)) for s in (h, -h))
        slopes.append(-0.5 * (up - down) / (2 * h))
    # A central difference keeps two thirds of the digits: h² of curvature and ε/h of the cost.
    assert np.abs(gradient - slopes).max() <= 1e-6 * max(value, 1.0) * 10


@pytest.mark.parametrize("seed", range(6))
def test_the_step_is_that_of_the_dense_equations(seed):
    model = mixed_joints(floating=True) if seed == 0 else random_tree(seed)
    rng = np.random.default_rng(seed)
    state = model.random_state(rng)
    names = [str(name) for name in rng.choice(model.body_names, size=3, replace=False)]
    goals = {name: lw.Pose(tuple(rng.normal(size=3)), quaternion=rng.normal(size=4)) for name in names}
    search = search_for(model, goals, state.q)
    de.prepare(search.table)
    de.step_along(search.table, DAMPING, np.zeros(de.COUNTS))
    length = TURN_LENGTH * model_length(model)
    weight = np.repeat([1.0, length**-2], 3)
    H = DAMPING * np.diag(joint_metric(model))
    g = np.zeros(model.nv)
    poses = lw.body_poses(model, state)
    for name, goal in goals.items():
        J = lw.body_jacobian(model, state, name, frame="world")
        T = poses[model.body(name)]
        turn = lw.Pose(matrix=goal.matrix[:3, :3] @ T[:3, :3].T).quaternion
        angle = 2.0 * np.arctan2(np.linalg.norm(turn[1:]), turn[0])
        e = np.concatenate([angle * turn[1:] / np.linalg.norm(turn[1:]), np.array(goal.xyz) - T[:3, 3]])
        H += (J.T * weight) @ J
        g += J.T @ (weight * e)
    free = search.freedoms
    expected = np.linalg.solve(H, g)
    limit = rounding(condition=np.linalg.cond(H), scale=np.abs(expected).max(), operations=1000)
    assert np.abs(search.arrays.step[free] - expected[free]).max() <= limit
    rest = np.setdiff1d(np.arange(model.nv), free)
    assert np.abs(expected[rest]).max(initial=0.0) <= limit, "joints that move no target have no part"


@pytest.mark.parametrize("seed", range(8))
def test_every_end_is_reached_or_stationary(seed):
    model = random_tree(seed)
    rng = np.random.default_rng(100 + seed)
    state = model.random_state(rng)
    targets = random_targets(model, rng)
    result = lw.reach(model, state, targets, restarts=0, max_iterations=1000)
    search = search_for(model, targets, result.state.q, limits=True)
    value = cost(search, result.state.q)
    assert result.reason in ("reached", "nearest")
    if result.reached:
        assert max(max(miss) for miss in result.misses.values()) == result.error <= 1e-8
    else:
        pull = search.arrays.gradient[search.freedoms] / np.sqrt(joint_metric(model)[search.freedoms])
        assert np.abs(pull).max() <= 1e-5 * np.sqrt(value)


@pytest.mark.parametrize("seed", range(10))
def test_reachable_poses_are_reached_within_limits(seed):
    model = arm(bend=2.0)
    rng = np.random.default_rng(seed)
    goal = lw.body_poses(model, model.random_state(rng))[-1]
    result = lw.reach(model, model.random_state(rng), {"link6": lw.Pose(matrix=goal)})
    assert result.reached
    assert np.abs(lw.body_poses(model, result.state)[-1] - goal).max() <= 1e-7
    assert (np.abs(result.state.q) <= 2.0).all()
    assert (result.state.v == 0.0).all()


def test_nearly_all_poses_are_reached_from_one_start():
    model = arm(bend=2.0)
    rng = np.random.default_rng(11)
    descents = []
    for _ in range(100):
        goal = lw.body_poses(model, model.random_state(rng))[-1]
        start, target = model.random_state(rng), {"link6": lw.Pose(matrix=goal)}
        result = lw.reach(model, start, target)
        descents.append(result.descents if result.reached else 10**6)
        alone = [lw.reach(model, start, target, restarts=0, seed=seed) for seed in (0, 1)]
        assert np.array_equal(alone[0].state.q, alone[1].state.q), "one start draws no random number"
        assert alone[0].reached == (descents[-1] <= 4)
    # Bounds on shares of 100 poses, whose mean is 0.98 and 1.
    assert np.mean(np.array(descents) <= 4) >= 0.92, "one start: a descent and three that leave its dead end"
    assert np.mean(np.array(descents) < 10**6) >= 0.99, "and three restarts"


@pytest.mark.parametrize("seed", range(5))
def test_limits_hold_only_what_presses_against_them(seed):
    """At the end every joint is free and stationary, or stands at a limit that the target pulls it beyond."""
    model = arm(bend=0.4)
    rng = np.random.default_rng(seed)
    goal = rng.normal(size=3)
    result = lw.reach(model, model.neutral(), {"link6": goal})
    search = search_for(model, {"link6": goal}, result.state.q, limits=True)
    value = cost(search, result.state.q)
    q, pull = result.state.q, search.arrays.gradient
    at_limit = np.abs(q) >= 0.4 - 1e-9
    assert (np.abs(q) <= 0.4 + 1e-12).all()
    assert (pull[at_limit] * np.sign(q[at_limit]) >= -1e-6 * np.sqrt(value)).all()
    assert np.abs(pull[~at_limit]).max(initial=0.0) <= 1e-5 * np.sqrt(value)
    assert result.at_limits == tuple(np.array(model.joint_names)[at_limit])


@pytest.mark.parametrize("seed", range(4))
def test_a_posture_is_as_near_as_the_target_allows(seed):
    model = arm()
    rng = np.random.default_rng(seed)
    goal = lw.body_poses(model, model.random_state(rng))[-1][:3, 3]
    posture = 0.5 * rng.normal(size=model.nq)
    result = lw.reach(model, model.random_state(rng), {"link6": goal}, prefer=posture)
    assert result.reached
    J = lw.body_jacobian(model, result.state, "link6", frame="world")[3:]
    away = posture - result.state.q
    along = away - np.linalg.pinv(J, rcond=1e-9) @ (J @ away)
    assert np.abs(along).max() <= 1e-4 * np.linalg.norm(away), "no motion that keeps the target leads nearer"


def test_long_chains_take_as_few_iterations():
    iterations = {}
    for joints in (30, 1000):
        model = arm(joints)
        rng = np.random.default_rng(joints)
        bend = 2.0 / np.sqrt(joints)
        found = []
        for _ in range(5):
            goal = lw.body_poses(model, model.state(bend * rng.normal(size=joints)))[-1]
            start = model.state(bend * rng.normal(size=joints))
            result = lw.reach(model, start, {f"link{joints - 1}": lw.Pose(matrix=goal)}, restarts=0)
            assert result.reached
            found.append(result.iterations)
        iterations[joints] = np.median(found)
    assert max(iterations.values()) <= 20


def test_several_targets_of_a_floating_tree():
    model = lw.library.humanoid().compile()
    rng = np.random.default_rng(5)
    start = model.neutral()
    goal = model.state(model.integrate(start.q, 0.2 * rng.normal(size=model.nv)))
    poses = lw.body_poses(model, goal)
    names = [name for name in model.body_names if "hand" in name or "foot" in name]
    assert len(names) == 4
    result = lw.reach(model, start, {name: lw.Pose(matrix=poses[model.body(name)]) for name in names})
    assert result.reached
    found = lw.body_poses(model, result.state)
    assert max(np.abs(found[model.body(name)] - poses[model.body(name)]).max() for name in names) <= 1e-7


def test_the_centre_of_mass_over_standing_feet():
    model = lw.library.humanoid().compile()
    start = model.neutral()
    poses, center = lw.body_poses(model, start), lw.center_of_mass(model, start)
    feet = {name: lw.Pose(matrix=poses[model.body(name)]) for name in ("left_foot", "right_foot")}
    goal = center + np.array([0.03, 0.02, -0.05])
    result = lw.reach(model, start, feet, center_of_mass=goal)
    assert result.reached
    assert np.abs(lw.center_of_mass(model, result.state) - goal).max() <= 1e-8
    found = lw.body_poses(model, result.state)
    assert max(np.abs(found[model.body(name)] - pose.matrix).max() for name, pose in feet.items()) <= 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_loops_stay_closed(seed):
    model = lw.library.four_bar().compile()
    start = lw.close_loops(model, model.neutral())
    other = lw.close_loops(model, model.state(start.q + np.array([0.2 + 0.3 * seed, 0, 0])))
    place = lw.body_poses(model, other)[model.body("coupler")] @ [0.5, 0, 0.2, 1]
    result = lw.reach(model, start, {"coupler": lw.Target(point=place[:3], at=(0.5, 0, 0.2))})
    assert result.reached
    assert lw.loop_gaps(model, result.state).worst_gap <= 1e-10
    far = lw.reach(model, start, {"coupler": lw.Target(point=place[:3] + np.array([0, 0, 3]), at=(0.5, 0, 0.2))})
    assert far.reason == "nearest"
    assert lw.loop_gaps(model, far.state).worst_gap <= 1e-10


@pytest.mark.parametrize("where", ["hand", "finger", "both"])
@pytest.mark.parametrize("seed", range(4))
def test_mimic_joints_follow(seed, where):
    """A gripper's fingers stay coupled, within the limits of both, wherever the target is: at the hand or at a finger."""
    arm = lw.library.chain(7, length=0.2)
    hand = list(arm)[-1].name
    for name, side, limits in (("left", 1.0, (0.0, 0.1)), ("right", -1.0, (0.0, 0.05))):
        finger = lw.Prismatic((0, side, 0), limits=limits)
        arm.add_body(name, hand, finger, lw.Pose((0, 0, -0.2)), lw.Inertia.sphere(0.1, 0.01))
    arm.add_coupling("mimic", {"right": 1.0, "left": -0.5}, offset=0.01)
    model, rng = arm.compile(), np.random.default_rng(seed)

    def closed(opening):
        q = rng.uniform(-0.6, 0.6, model.nq)
        q[model.q_slice("left")], q[model.q_slice("right")] = opening, 0.01 + 0.5 * opening
        return model.state(q)

    start, goal = closed(0.02), closed(rng.uniform(0.0, 0.08))
    poses = lw.body_poses(model, goal)
    at = {"hand": {hand: (0.0, 0.0, -0.2)}, "finger": {"left": (0.0, 0.0, 0.0)}}
    at["both"] = {"left": (0.0, 0.0, 0.0), "right": (0.0, 0.0, 0.0)}
    points = {
        name: lw.Target(point=tuple((poses[model.body(name)] @ [*place, 1.0])[:3]), at=place)
        for name, place in at[where].items()
    }
    result = lw.reach(model, start, points)
    assert result.reached, result
    left, right = (float(result.state.q[model.q_slice(name)][0]) for name in ("left", "right"))
    assert abs(right - 0.5 * left - 0.01) <= 1e-12
    assert result.gap <= 1e-10
    assert -1e-9 <= left <= 0.08 + 1e-9
    assert -1e-9 <= right <= 0.05 + 1e-9
    if where == "hand":
        assert (left, right) == (start.q[model.q_slice("left")][0], start.q[model.q_slice("right")][0])
    found = lw.body_poses(model, result.state)
    for name, target in points.items():
        reached = found[model.body(name)] @ [*target.at, 1.0]
        assert np.abs(reached[:3] - target.point).max() <= 1e-8
    far = {name: lw.Target(point=(9.0, 9.0, 9.0)) for name in points}
    ended = lw.reach(model, start, far, restarts=0)
    left, right = (float(ended.state.q[model.q_slice(name)][0]) for name in ("left", "right"))
    assert abs(right - 0.5 * left - 0.01) <= 1e-9
    assert left <= 0.08 + 1e-9, "0.01 + 0.5 left is at most 0.05, the limit of the other finger"


def coupled_tree(seed):
    """A random tree with limits, and couplings of two and of three joints, anywhere."""
    rng = np.random.default_rng(seed)
    tree = lw.library.random_tree(
        14, seed=seed, branching=0.2, kinds=("revolute", "prismatic", "universal", "spherical")
    )
    single = [body.joint_name for body in tree if body.joint.nv == 1]
    for body in list(tree):
        if body.joint.nv == 1:
            span = 1.5 if isinstance(body.joint, lw.Revolute) else 0.3
            tree.edit_body(body.name, joint=replace(body.joint, limits=(-span, span)))
    for k, size in enumerate((2, 3)[: max(0, len(single) - 3)]):
        names = rng.choice(single, size, replace=False).tolist()
        tree.add_coupling(
            f"coupling_{k}", dict(zip(names, rng.uniform(0.5, 1.5, size) * rng.choice([-1, 1], size), strict=True))
        )
    return tree.compile()


def sums(model, q):
    return [sum(c * q[model.q_slice(joint).start] for joint, c in x.joints) - x.offset for x in model.couplings]


@pytest.mark.parametrize("seed", range(12))
def test_couplings_anywhere_are_kept_and_nothing_near_is_better(seed):
    """Reachable targets are reached; of others no feasible small motion comes nearer: judged by trying many."""
    model, rng = coupled_tree(seed), np.random.default_rng(seed)
    tips = [i for i in range(model.n_bodies) if i not in set(model.parent.tolist())][:2]
    goal = lw.close_loops(model, model.state(0.3 * model.random_state(rng).q + 0.7 * model.neutral().q))
    limits = np.isfinite(model.lower)
    start = model.neutral()
    places = lw.body_poses(model, goal)[tips, :3, 3]
    inside = all(
        model.lower[j] <= goal.q[model.q_slice(model.joint_of(j)).start] <= model.upper[j]
        for j in np.flatnonzero(limits)
    )
    result = lw.reach(model, start, {model.body_names[i]: place for i, place in zip(tips, places, strict=True)})
    assert np.abs(sums(model, result.state.q)).max(initial=0.0) <= 1e-9
    if inside:
        assert result.reached, result
    far = 5.0 * rng.normal(size=(len(tips), 3))
    targets = {model.body_names[i]: lw.Target(point=tuple(x)) for i, x in zip(tips, far, strict=True)}
    ended = lw.reach(model, start, targets, restarts=0)
    q = ended.state.q
    assert np.abs(sums(model, q)).max(initial=0.0) <= 1e-9

    def cost(q):
        return float(np.sum((lw.body_poses(model, lw.State(q, start.v))[tips, :3, 3] - far) ** 2))

    C = np.zeros((len(model.couplings), model.nv))
    for k, x in enumerate(model.couplings):
        for joint, c in x.joints:
            C[k, model.v_slice(joint).start] = c
    here = cost(q)
    for _ in range(100):
        direction = rng.normal(size=model.nv)
        for _ in range(50):  # along null(C), and not beyond limits
            direction -= np.linalg.pinv(C) @ (C @ direction)
            for j in np.flatnonzero(limits):
                x = q[model.q_slice(model.joint_of(j)).start]
                if (x <= model.lower[j] + 1e-6 and direction[j] < 0.0) or (
                    x >= model.upper[j] - 1e-6 and direction[j] > 0.0
                ):
                    direction[j] = 0.0
        if np.abs(C @ direction).max(initial=0.0) < 1e-9:
            assert cost(model.integrate(q, 1e-4 * direction)) >= here * (1.0 - 1e-7), ended


@pytest.mark.parametrize("seed", range(4))
def test_the_centre_of_mass_of_a_closed_chain(seed):
    model = lw.library.four_bar().compile()
    closed = lw.close_loops(model, model.neutral())
    goal = lw.close_loops(model, model.state(q=closed.q + np.random.default_rng(seed).normal(size=model.nq) * 0.2))
    center = lw.center_of_mass(model, goal)
    result = lw.reach(model, closed, center_of_mass=center)
    assert result.reached, result
    assert np.abs(lw.center_of_mass(model, result.state) - center).max() <= 1e-8
    assert np.abs(lw.loop_gaps(model, result.state).gap).max() <= 1e-10


@pytest.mark.parametrize("center", [None, (0.1, 0.2, -0.3)])
@pytest.mark.parametrize("seed", [0, 2, 18])
def test_misses_are_those_of_the_state_that_is_given_back(seed, center):
    """Also where a search with a posture runs out of iterations."""
    model = lw.library.chain(12, length=0.2).compile()
    goal = np.array([9.0, 9.0, 9.0])
    result = lw.reach(model, model.random_state(seed), {"link_11": goal}, prefer=model.random_state(seed + 100),
                      center_of_mass=center, max_iterations=1 + seed % 4, restarts=0)  # fmt: skip
    assert result.reason == "iterations"
    way = np.linalg.norm(lw.body_poses(model, result.state)[-1, :3, 3] - goal)
    assert result.misses["link_11"].way == pytest.approx(way, rel=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e9])
def test_rows_are_solved_for_whatever_rounding_made_of_them(size):
    """Responses of rows came out with negative squares where weights of targets lie far apart: no eigenvalues came."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        A = size * rng.normal(size=(3, 3))
        assert np.isfinite(_solve(A + A.T, rng.normal(size=3))).all()
    assert np.array_equal(_solve(np.zeros((3, 3)), np.ones(3)), np.zeros(3))


def test_velocities_give_the_twist_that_is_asked_for():
    model = arm()
    state = model.random_state(3)
    twist = np.array([0.1, -0.2, 0.3, 0.05, 0.1, -0.1])
    v = lw.reach_velocity(model, state, twists={"link6": twist}, damping=0.0)
    J = lw.body_jacobian(model, state, "link6", frame="world")
    # Damping is never quite zero: 1e-10 beside squares of the Jacobian, whose least singular value is some 1e-2.
    assert np.abs(J @ v - twist).max() <= 1e-5
    T = lw.body_poses(model, state)[-1]
    ahead = lw.Pose(tuple(T[:3, 3] + [0.01, 0, 0]), matrix=T[:3, :3])
    v = lw.reach_velocity(model, state, {"link6": ahead}, gain=5.0, damping=0.0)
    assert np.abs(J @ v - [0, 0, 0, 0.05, 0, 0]).max() <= 1e-5


def test_velocities_keep_limits():
    linkage = lw.Linkage("arm")
    for i in range(4):
        hinge = lw.Revolute((0, 0, 1), limits=(-1.0, 1.0), velocity_limit=0.5)
        pose = lw.Pose((0.2 if i else 0.0, 0, 0))
        linkage.add_body(f"link{i}", f"link{i - 1}" if i else "world", hinge, pose, lw.Inertia.sphere(1.0, 0.05))
    model = linkage.compile()
    state = model.state([1.0, 0.1, 0.2, 0.3])
    v = lw.reach_velocity(model, state, twists={"link3": (0, 0, 0, -2.0, 2.0, 0)})
    assert (np.abs(v) <= 0.5 + 1e-12).all()
    assert np.abs(v).max() == pytest.approx(0.5)
    assert v[0] <= 0.0, "the first joint stands at its upper limit"


def test_a_body_follows_its_tip_around_bends():
    links, length = 60, 0.02
    linkage = lw.Linkage("snake arm")
    part = lw.Inertia.sphere(0.01, 0.01)
    linkage.add_body("feed", joint=lw.Prismatic((1, 0, 0)), inertia=part)
    for i in range(links):
        pose = lw.Pose((length if i else 0.0, 0, 0))
        linkage.add_body(f"link{i}", f"link{i - 1}" if i else "feed", lw.Universal((0, 1, 0), (0, 0, 1)), pose, part)
    model = linkage.compile()
    angle = np.linspace(0.0, 1.5, 120)[1:]
    tip = links * length
    bend = np.stack([tip + 0.4 * np.sin(angle), 0.4 - 0.4 * np.cos(angle), 0 * angle], axis=1)
    path = lw.follow(model, model.neutral(), bend, point=(length, 0, 0), body_follows=True)
    assert path.reached.all()
    assert path.deviation.max() <= 1e-3 * length
    for k in (40, 118):
        places = lw.body_poses(model, model.state(path.q[k]))[1:, :3, 3]
        on_line = np.abs(places[:, 1]) + np.abs(places[:, 2])
        on_arc = np.abs(np.hypot(places[:, 0] - tip, places[:, 1] - 0.4) - 0.4) + np.abs(places[:, 2])
        # The arc is given as chords of 5 mm, 8 µm within it.
        assert np.where(places[:, 0] < tip, on_line, on_arc).max() <= 3e-5
    alone = lw.follow(model, model.neutral(), bend, point=(length, 0, 0))
    assert alone.reached.all()
    assert (alone.deviation == 0.0).all()


def test_a_curve_of_poses():
    model = arm()
    start = model.state([0.3, 0.4, -0.5, 0.6, 0.2, -0.7, 0.1])
    T = lw.body_poses(model, start)[-1]
    poses = [lw.Pose(tuple(T[:3, 3] + [0.002 * k, 0, 0]), matrix=T[:3, :3]) for k in range(20)]
    path = lw.follow(model, start, poses, body="link6")
    assert path.reached.all()
    assert np.abs(lw.body_poses(model, model.state(path.q[-1]))[-1] - poses[-1].matrix).max() <= 1e-5


def test_the_same_call_gives_the_same_bits():
    model = arm(bend=1.0)
    goal = {"link6": lw.Pose((0.3, 0.4, 0.2), rpy=(1, 2, 0.5))}
    first = lw.reach(model, model.neutral(), goal)
    lw.reach(model, model.random_state(1), goal)
    again = lw.reach(model, model.neutral(), goal)
    assert (first.state.q == again.state.q).all()
    assert first[2:] == again[2:]


def test_columns_are_those_of_the_table():
    """What rows of targets hold does not overlap."""
    sizes = [3, 3, 1, 9, 9, 1, 3, 3, 1, 1, 3, 1, 1, 1]
    firsts = [at.T_POINT, at.T_GOAL, at.T_WAY, at.T_FRAME, at.T_TURN_GOAL, at.T_TURN, at.T_AXIS, at.T_DIRECTION,
              at.T_POINTING, at.T_LOOKS, at.T_ALONG, at.T_IS_ALONG, at.T_MISSED_TURN, at.T_MISSED_WAY]  # fmt: skip
    places = sorted(first + k for first, size in zip(firsts, sizes, strict=True) for k in range(size))
    assert places == list(range(at.TARGET_COLUMNS))
