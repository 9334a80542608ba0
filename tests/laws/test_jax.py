"""Linkwork inside JAX: JAX's own checks of derivatives pass."""

import numpy as np
import pytest

import linkwork as lw

jax = pytest.importorskip("jax", reason="JAX is not installed (extra `jax`)")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads

H = 5e-3


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def model():
    """Hinges, a ball, a compound and a planar base."""
    linkage = lw.Linkage("mixed")
    part = lw.Inertia.box(1.0, (0.2, 0.3, 0.4)).at(lw.Pose((0.1, 0.0, 0.1)))
    joints = [
        lw.Planar(),
        lw.Revolute((0, 1, 0), damping=0.3, stiffness=2.0),
        lw.Spherical(damping=0.2),
        lw.Universal(),
    ]
    for i, joint in enumerate(joints):
        linkage.add_body(f"b{i}", f"b{i - 1}" if i else "world", joint, lw.Pose((0.2, 0.0, 0.1)), part)
    return linkage.compile()


def given(model, seed=0, batch=()):
    rng = np.random.default_rng(seed)
    q = np.array([model.random_state(rng).q for _ in range(int(np.prod(batch, dtype=int)))]).reshape(*batch, model.nq)
    return q, 0.3 * rng.normal(size=(*batch, model.nv)), rng.normal(size=(*batch, model.nv))


def test_forward_dynamics_in_both_directions(model):
    from linkwork.jax import forward_dynamics

    arguments = given(model)
    check_grads(lambda *x: forward_dynamics(model, *x), arguments, order=1, modes=("fwd", "rev"), rtol=1e-6, atol=1e-6)


def test_orientations_need_not_be_unit(model):
    from linkwork.jax import forward_dynamics

    q, v, effort = given(model)
    check_grads(lambda x: forward_dynamics(model, x, v, effort), (1.7 * q,), order=1, modes=("fwd", "rev"), rtol=1e-5)


def test_batches_jit_and_vmap(model):
    from linkwork.jax import forward_dynamics

    q, v, effort = given(model, batch=(3,))
    whole = forward_dynamics(model, q, v, effort)
    single = jax.vmap(lambda *x: forward_dynamics(model, *x))(q, v, effort)
    compiled = jax.jit(lambda *x: forward_dynamics(model, *x))(q, v, effort)
    expected = [lw.forward_dynamics(model, model.state(*row[:2]), row[2]) for row in zip(q, v, effort, strict=True)]
    for found in (whole, single, compiled):
        assert np.array_equal(np.asarray(found), expected)
    gradient = jax.grad(lambda x: jnp.sum(forward_dynamics(model, q, v, x) ** 2))(effort)
    assert gradient.shape == effort.shape


def test_runs(model):
    from linkwork.jax import rollout, step

    sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler", keep_momentum=False)
    q, v, effort = given(model)
    efforts = np.random.default_rng(3).normal(size=(4, model.nv))
    check_grads(lambda *x: rollout(sim, H, *x), (q, v, efforts), order=1, modes=("rev",), rtol=1e-6, atol=1e-6)
    check_grads(lambda *x: step(sim, H, *x), (q, v, effort), order=1, modes=("rev",), rtol=1e-6, atol=1e-6)
    assert np.array_equal(sim.state.q, model.neutral().q)  # the simulation itself stays


def test_single_precision_is_said(model):
    from linkwork.jax import forward_dynamics

    q, v, effort = (jnp.asarray(x, jnp.float32) for x in given(model))
    with pytest.warns(lw.LinkworkWarning, match="rounds to float32"):
        assert forward_dynamics(model, q, v, effort).dtype == jnp.float32


def test_a_simulation_that_changed_between_two_calls(model):
    """What is kept of a run for the way back is made again where motors, loads or settings are others."""
    from linkwork.jax import rollout

    sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler", keep_momentum=False)
    q, v = jnp.array(model.neutral().q), jnp.zeros(model.nv)
    efforts = jnp.ones((3, model.nv))
    last = jax.jit(jax.value_and_grad(lambda e: rollout(sim, H, q, v, e)[1][-1].sum()))
    before = [np.array(x) for x in last(efforts)]
    sim.apply_wrench(model.n_bodies - 1, force=(5.0, 0.0, 0.0), frame="body", at=(0.3, 0.2, 0.1))
    value, slope = last(efforts)
    assert abs(float(value) - float(before[0])) > 1e-3
    assert np.abs(np.array(slope) - before[1]).max() > 1e-9
    sim.clear_loads()
    again = [np.array(x) for x in last(efforts)]
    assert np.array_equal(again[0], before[0])
    assert np.array_equal(again[1], before[1])


def test_many_runs_at_once(model):
    from linkwork.jax import rollout, step

    sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler", keep_momentum=False)
    q, v, effort = given(model, batch=(2,))
    efforts = np.random.default_rng(3).normal(size=(2, 3, model.nv))
    coordinates, velocities = rollout(sim, H, q, v, efforts)
    assert coordinates.shape == (2, 4, model.nq)
    for k in range(2):
        alone = rollout(sim, H, q[k], v[k], efforts[k])
        assert np.array_equal(coordinates[k], alone[0])
        assert np.array_equal(velocities[k], alone[1])
    check_grads(lambda v, tau: step(sim, H, q, v, tau)[1], (v, effort), order=1, modes=["rev"], rtol=1e-5, atol=1e-6)
    with pytest.raises(lw.StateError, match="q, v and efforts have shapes"):
        rollout(sim, H, q, v, efforts[0])
