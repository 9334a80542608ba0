"""Linkwork inside PyTorch: `gradcheck` passes, second derivatives are refused."""

import numpy as np
import pytest

import linkwork as lw

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `torch`)")

H = 5e-3


@pytest.fixture(scope="module")
def model():
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


def given(model, seed=0, batch=1):
    rng = np.random.default_rng(seed)
    q = np.array([model.random_state(rng).q for _ in range(batch)])
    return [
        torch.tensor(x, requires_grad=True)
        for x in (q, 0.3 * rng.normal(size=(batch, model.nv)), rng.normal(size=(batch, model.nv)))
    ]


def test_forward_dynamics(model):
    from linkwork.torch import forward_dynamics

    assert torch.autograd.gradcheck(lambda *x: forward_dynamics(model, *x), given(model, batch=2), rtol=1e-5, atol=1e-6)


def test_runs(model):
    from linkwork.torch import rollout, step

    sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler", keep_momentum=False)
    q, v, effort = (x[0].detach().requires_grad_() for x in given(model))
    efforts = torch.tensor(np.random.default_rng(3).normal(size=(4, model.nv)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda *x: rollout(sim, H, *x), (q, v, efforts), rtol=1e-5, atol=1e-6)
    assert torch.autograd.gradcheck(lambda *x: step(sim, H, *x), (q, v, effort), rtol=1e-5, atol=1e-6)


def test_many_runs_at_once(model):
    from linkwork.torch import rollout, step

    sim = lw.FullDynamics(model, model.neutral())  # the default integrator
    q, v, effort = given(model, batch=2)
    efforts = torch.tensor(np.random.default_rng(3).normal(size=(2, 3, model.nv)), requires_grad=True)
    coordinates, velocities = rollout(sim, H, q, v, efforts)
    assert coordinates.shape == (2, 4, model.nq)
    for k in range(2):
        alone = rollout(sim, H, q[k], v[k], efforts[k])
        assert torch.equal(coordinates[k], alone[0])
        assert torch.equal(velocities[k], alone[1])
    assert torch.autograd.gradcheck(lambda *x: step(sim, H, *x), (q, v, effort), rtol=1e-5, atol=1e-6)
    with pytest.raises(lw.StateError, match=r"q, v and efforts have shapes \(2, 10\), \(2, 9\), \(3, 9\)"):
        rollout(sim, H, q, v, efforts[0])


def test_tensors_on_a_gpu_come_back_there(model):
    from linkwork.torch import forward_dynamics

    if not torch.cuda.is_available():
        pytest.skip(reason="no GPU that PyTorch sees")
    q, v, effort = (x.detach().cuda().requires_grad_() for x in given(model))
    found = forward_dynamics(model, q, v, effort)
    assert found.is_cuda
    found.sum().backward()
    assert effort.grad.is_cuda
    assert torch.autograd.gradcheck(lambda *x: forward_dynamics(model, *x), (q, v, effort), rtol=1e-5, atol=1e-6)


def test_second_derivatives_are_refused(model):
    from linkwork.torch import forward_dynamics

    q, v, effort = given(model)
    total = forward_dynamics(model, q, v, effort).sum()
    with pytest.raises(lw.StateError, match="first derivatives only"):
        torch.autograd.grad(total, v, create_graph=True)


def test_single_precision_and_other_things(model):
    from linkwork.torch import forward_dynamics

    q, v, effort = (x.detach().float() for x in given(model))
    with pytest.warns(lw.LinkworkWarning, match="float64 keeps all digits"):
        assert forward_dynamics(model, q, v, effort).dtype == torch.float32
    with pytest.raises(lw.StateError, match="takes tensors"):
        forward_dynamics(model, q.numpy(), v, effort)
