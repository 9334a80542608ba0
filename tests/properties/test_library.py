"""Every model of the library compiles, is the size it says, and obeys the dynamics; seeds repeat bit for bit.

Of a model with loops the tree is tested like every other, and the closed whole at the end.
"""

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.model.library import JOINT_KINDS, MODELS

# Small enough for the dense reference. The value: bodies, velocities.
SMALL = {
    "pendulum": ({}, 1, 1),
    "double_pendulum": ({}, 2, 2),
    "chain": ({"joints": 40}, 40, 40),
    "coil": ({"joints": 40}, 40, 40),
    "bicycle_chain": ({}, 30, 30),
    "snake": ({"joints": 19}, 20, 25),
    "star": ({"arms": 7, "joints_per_arm": 3}, 22, 27),
    "ball_star": ({"arms": 7}, 8, 24),
    "broom": ({"handle": 6, "bristles": 9}, 15, 15),
    "caterpillar": ({"spine": 5, "legs_per_link": 3, "leg_joints": 2}, 35, 35),
    "binary_tree": ({"joints": 50}, 50, 50),
    "random_tree": ({"joints": 60, "branching": 0.3}, 60, 60),
    "millipede": ({"segments": 6, "leg_links": 4, "spine": 13}, 37, 42),
    "molecule": ({"joints": 70}, 70, 70),
    "humanoid": ({}, 16, 41),
    "compass_biped": ({}, 2, 2),
    "four_bar": ({}, 3, 3),
    "rod": ({"segments": 12}, 12, 36),
    "net": ({}, 165, 495),
}

# aba and the reference differ by rounding times the condition of the mass matrix (up to some 1e6 for these chains),
# relative to the largest acceleration; 1e-9 is what the library promises against other engines.
AGREEMENT = 1e-9


def test_every_model_is_tested_here():
    assert SMALL.keys() == MODELS.keys()


@pytest.fixture(params=SMALL)
def model(request):
    options, bodies, velocities = SMALL[request.param]
    model = MODELS[request.param](**options).compile()
    assert (model.n_bodies, model.nv) == (bodies, velocities)
    assert model.name == request.param
    return model.without_loops


@pytest.mark.parametrize("seed", range(3))
def test_aba_agrees_with_the_dense_solution(model, seed):
    rng = np.random.default_rng(seed)
    state, effort = model.random_state(rng), rng.normal(size=model.nv)
    dense = lw.forward_dynamics(model, state, effort, algorithm="dense")
    found = lw.forward_dynamics(model, state, effort)
    assert np.abs(found - dense).max() <= AGREEMENT * np.abs(dense).max()


@pytest.mark.parametrize("seed", range(3))
def test_inverse_undoes_forward(model, seed):
    rng = np.random.default_rng(seed)
    state, effort = model.random_state(rng), rng.normal(size=model.nv)
    acceleration = lw.forward_dynamics(model, state, effort)
    back = lw.inverse_dynamics(model, state, acceleration)
    # efforts are differences of inertial forces far larger than themselves: those are the scale of the rounding
    scale = max(1.0, np.abs(lw.mass_matrix(model, state)).max() * np.abs(acceleration).max())
    assert np.abs(back - effort).max() <= AGREEMENT * scale


def test_mass_matrix_is_positive_definite_at_rest(model):
    assert np.linalg.eigvalsh(lw.mass_matrix(model, model.neutral())).min() > 0


@pytest.mark.parametrize("branching", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_random_trees_of_every_kind(kind, floating, branching):
    linkage = lw.library.random_tree(12, seed=3, branching=branching, kinds=(kind, "revolute"), floating=floating)
    model = linkage.compile()
    assert len(linkage) == 12
    state = model.random_state(1)
    dense = lw.forward_dynamics(model, state, algorithm="dense")
    assert np.abs(lw.forward_dynamics(model, state) - dense).max(initial=0) <= AGREEMENT * np.abs(dense).max(initial=0)


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_of_all_kinds_with_options(seed):
    model = lw.library.random_tree(40, seed=seed, kinds=JOINT_KINDS, options=True, floating=True).compile()
    state = model.random_state(seed)
    assert (model.arrays.dof[:, :3] > 0).all()
    dense = lw.forward_dynamics(model, state, algorithm="dense")
    assert np.abs(lw.forward_dynamics(model, state) - dense).max() <= AGREEMENT * np.abs(dense).max()


SEEDED = {
    "random_tree": {"joints": 300, "kinds": JOINT_KINDS, "options": True},
    "molecule": {"joints": 300},
}


@pytest.mark.parametrize("name", SEEDED)
def test_seeds_repeat_bit_for_bit(name):
    first, again, other = (MODELS[name](seed=seed, **SEEDED[name]).compile() for seed in (5, 5, 6))
    assert first.body_names == again.body_names
    for a, b in zip(first.arrays, again.arrays, strict=True):
        assert a.tobytes() == b.tobytes()
    assert first.arrays.body.tobytes() != other.arrays.body.tobytes()
    assert first.random_state(9).q.tobytes() == again.random_state(9).q.tobytes()


def test_random_states_keep_limits_and_unit_quaternions():
    linkage = lw.library.random_tree(200, seed=1, kinds=[kind for kind in JOINT_KINDS if kind != "fixed"])
    linkage.edit_body("body_7", joint=lw.Revolute(limits=(0.2, 0.3)))
    linkage.edit_body("body_8", joint=lw.Prismatic(limits=(5.0, np.inf)))
    linkage.edit_body("body_9", joint=lw.Universal(limits=((-np.inf, -4.0), (0.0, 0.0))))
    model = linkage.compile()
    state = model.random_state(2)
    checked = model.state(state.q.copy())  # normalizes: unit quaternions stay as they are
    np.testing.assert_allclose(checked.q, state.q, rtol=rounding())
    assert 0.2 <= state.q[model.q_slice("body_7")] <= 0.3
    assert 5.0 <= state.q[model.q_slice("body_8")] <= 7.0
    first, second = state.q[model.q_slice("body_9")]
    assert -4.0 - 2 * np.pi <= first <= -4.0
    assert second == 0.0


def test_branching_goes_from_chain_to_bush():
    depths = [lw.library.random_tree(500, 0, branching).compile().depth for branching in (0.0, 0.5, 1.0)]
    assert depths[0] == 500
    assert depths[0] > depths[1] > depths[2]


def test_the_millipede_of_the_paper():
    linkage = lw.library.millipede()
    assert len(linkage) == 13_000
    legs = {body.name.split("_")[1] for body in linkage if body.name.startswith("leg_")}
    assert len(legs) == 1000
    model = linkage.compile()
    assert model.n_bodies == 13_000
    assert model.nv == 6 + 12_999


def test_the_bicycle_chain_of_the_paper():
    model = lw.library.bicycle_chain().compile()
    assert model.n_bodies == model.depth == 30


def test_the_molecule_of_the_paper():
    model = lw.library.molecule().compile()
    assert model.n_bodies == model.nv == 50_000
    backbone = sum(name.startswith(("ca_", "c_")) for name in model.body_names)
    assert backbone == model.depth or backbone < model.depth < backbone + 5  # side chains are short
    assert 0.3 < backbone / model.n_bodies < 0.7
    assert len(np.unique(model.mass)) == 4


@pytest.mark.parametrize("joints", [1, 2, 3, 4, 5, 17, 100])
def test_molecules_have_exactly_the_joints_asked_for(joints):
    assert lw.library.molecule(joints).compile().nv == joints
    assert lw.library.molecule(joints, floating=True).compile().nv == joints + 5


def test_the_coil_is_a_helix_of_one_metre_and_one_kilogram():
    n = 100
    model = lw.library.coil(n).compile()
    assert model.mass.sum() == pytest.approx(1.0)
    joints = lw.body_poses(model, model.neutral())[:, :3, 3]
    steps = np.linalg.norm(np.diff(joints, axis=0), axis=1)
    np.testing.assert_allclose(steps, 1.0 / n, rtol=1e-12)
    # equal steps of one screw motion: every second, third ... joint is equally far away all along the coil
    for stride in (5, 20):
        np.testing.assert_allclose(np.ptp(np.linalg.norm(joints[stride:] - joints[:-stride], axis=1)), 0, atol=1e-12)
    assert np.ptp(joints, axis=0).max() < 0.6  # coiled up


def test_the_humanoid_has_its_mass_and_height():
    model = lw.library.humanoid(height=1.8, mass=80.0).compile()
    assert model.mass.sum() == pytest.approx(80.0, rel=1e-12)  # the fractions of the table sum to one
    T = lw.body_poses(model, model.neutral())
    corners = [T[body] @ shape.placement.matrix for body, shape in model.shapes]
    head = next(i for i, (body, _) in enumerate(model.shapes) if model.body_names[body] == "head")
    top = corners[head][2, 3] + model.shapes[head][1].radius
    assert top == pytest.approx(1.8, rel=1e-12)
    feet = [i for i, (body, _) in enumerate(model.shapes) if model.body_names[body].endswith("foot")]
    for foot in feet:
        sole = corners[foot][2, 3] - model.shapes[foot][1].size[2] / 2
        assert sole == pytest.approx(0.0, abs=1e-12)
    y = lw.center_of_mass(model, model.neutral())[1]
    assert y == pytest.approx(0.0, abs=1e-12)  # left and right are alike


BAD_SIZES = [
    ("chain", {"joints": 0}, "chain: joints"),
    ("chain", {"joints": -3}, "at least 1, not -3"),
    ("chain", {"joints": 2.5}, "whole number, not 2.5"),
    ("chain", {"joints": "ten"}, "whole number, not 'ten'"),
    ("chain", {"joints": True}, "not True"),
    ("chain", {"axes": "crossed"}, "'crossed'"),
    ("chain", {"joint": "hinge"}, "'hinge'"),
    ("chain", {"mass": 0.0}, "mass must be a finite number above zero"),
    ("chain", {"length": float("nan")}, "length"),
    ("coil", {"joints": 0}, "coil: joints"),
    ("bicycle_chain", {"links": 0}, "bicycle_chain: links"),
    ("snake", {"joints": 0}, "snake: joints"),
    ("snake", {"radius": -1.0}, "radius"),
    ("star", {"arms": 0}, "star: arms"),
    ("star", {"joints_per_arm": 0}, "star: joints_per_arm"),
    ("ball_star", {"arms": 0}, "ball_star: arms"),
    ("broom", {"handle": 0}, "broom: handle"),
    ("broom", {"bristles": -1}, "broom: bristles"),
    ("caterpillar", {"spine": 0}, "caterpillar: spine"),
    ("caterpillar", {"legs_per_link": -1}, "caterpillar: legs_per_link"),
    ("binary_tree", {"joints": 0}, "binary_tree: joints"),
    ("binary_tree", {"taper": 0}, "binary_tree: taper"),
    ("random_tree", {"joints": 0}, "random_tree: joints"),
    ("random_tree", {"branching": 1.5}, "branching must be"),
    ("random_tree", {"kinds": ("revolute", "hinge")}, "['hinge']; choose from revolute, prismatic"),
    ("random_tree", {"kinds": ()}, "choose from"),
    ("random_tree", {"seed": -1}, "seed"),
    ("millipede", {"segments": 0}, "millipede: segments"),
    ("millipede", {"segments": 10, "spine": 9}, "9 links for 10 segments"),
    ("molecule", {"joints": 0}, "molecule: joints"),
    ("molecule", {"seed": 1.5}, "molecule: seed"),
    ("humanoid", {"height": -1.0}, "humanoid: height"),
    ("pendulum", {"length": 0.0}, "pendulum: length"),
    ("four_bar", {"crank": 0.0}, "four_bar: crank"),
    ("four_bar", {"ground": 3.0}, "none may be as long as the other three together"),
    ("double_pendulum", {"masses": (1.0,)}, "masses must be two numbers"),
]


@pytest.mark.parametrize(("name", "options", "words"), BAD_SIZES)
def test_wrong_sizes_are_refused(name, options, words):
    with pytest.raises(lw.ModelError) as caught:
        MODELS[name](**options)
    assert words in str(caught.value)


# Short and long cranks, a parallelogram, and lengths at which the crank cannot stand upright.
FOUR_BARS = [
    {},
    {"crank": 0.01},
    {"ground": 2.0, "crank": 2.0, "coupler": 2.0, "rocker": 2.0},
    {"ground": 0.3, "crank": 0.35, "coupler": 0.1, "rocker": 0.12},
    {"ground": 0.3, "crank": 3.0, "coupler": 3.0, "rocker": 0.35, "density": 4.0},
]


@pytest.mark.parametrize("lengths", FOUR_BARS)
def test_the_four_bar_is_closed_and_obeys_the_laws_of_closed_chains(lengths):
    """Reactions of the loop do no work, and accelerations keep it closed: with one freedom that leaves one solution."""
    model = lw.library.four_bar(**lengths).compile()
    assert len(model.loops) == 1
    start = model.neutral()
    around = sum(lengths.get(bar, 1.0) for bar in ("ground", "crank", "coupler", "rocker"))
    assert lw.loop_gaps(model, start).worst_gap < rounding(scale=around)
    start.v[model.v_slice("crank")] = 1.0
    state = lw.close_loops(model, start)
    assert np.abs(state.v).min() > 1e-3  # all bars move
    qdd = lw.constrained_dynamics(model, state).acceleration
    efforts = lw.inverse_dynamics(model.without_loops, state, qdd)  # those that the reactions stand for
    assert abs(efforts @ state.v) <= 1e-10 * max(1.0, np.abs(efforts * state.v).max())

    def slip(h):
        later = model.integrate(model.integrate(state.q, state.v, h), qdd, 0.5 * h * h)
        return lw.loop_gaps(model, lw.State(later, state.v + h * qdd)).worst_slip

    # Wrong accelerations would open the loop with the first power of the time, right ones with the second.
    h = 1e-3 / max(1.0, np.abs(state.v).max())
    assert slip(2.0 * h) == pytest.approx(4.0 * slip(h), rel=0.05, abs=1e-9)


def test_the_crank_of_the_four_bar_goes_round():
    model = lw.library.four_bar().compile()
    crank, rocker = model.q_slice("crank"), model.q_slice("rocker")
    path = [model.neutral()]
    while path[-1].q[crank] < 2.0 * np.pi:
        ahead = path[-1].copy()
        ahead.q[crank] += 0.1
        path.append(lw.close_loops(model, ahead))
        assert path[-1].q[crank] > path[-2].q[crank]
    assert 0.3 < np.ptp([state.q[rocker] for state in path]) < np.pi  # while the rocker swings
