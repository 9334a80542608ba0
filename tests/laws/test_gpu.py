"""A linkage on the device does what it does on the CPU: both schedules, one state and many, float64 and float32."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import NO_GPU

import linkwork as lw
from linkwork.gpu import DeviceModel
from linkwork.gpu.cuda import CudaBackend

EPS = np.finfo(float).eps
# Rounding grows with the condition of a linkage's mass matrix (1e3 to 1e5 for these trees): eps * 1e5 * 100 operations for
# each number. Seen: 4e-14 of the largest number.
TOLERANCE = 1e7 * EPS
SINGLE = 1e5 * float(np.finfo(np.float32).eps)  # the same numbers in float32; seen: 4e-5


def differ(own, expected) -> float:
    """Largest difference, relative to the largest number."""
    expected = np.asarray(expected)
    return float(np.abs(np.asarray(own) - expected).max() / max(1.0, np.abs(expected).max()))


class Samples:
    """States and loads of many samples of one model."""

    def __init__(self, model: lw.Model, rng, batch: int):
        self.states = [model.random_state(rng) for _ in range(batch)]
        self.q, self.v = (np.array([getattr(state, name) for state in self.states]) for name in "qv")
        self.effort = rng.normal(size=(batch, model.nv))
        self.wrenches = rng.normal(size=(batch, model.n_bodies, 6))

    def each(self, ask) -> np.ndarray:
        return np.array([ask(*row) for row in zip(self.states, self.effort, self.wrenches, strict=True)])


@pytest.mark.skipif(NO_GPU is not None, reason=f"no GPU; the kernels are tried as plain C++ only: {NO_GPU}")
def test_there_is_a_gpu():
    """What `device_backend` gives then includes it."""
    assert CudaBackend("float64").name == "cuda"


@pytest.fixture(params=["levels", "bodies"])
def schedule(request):
    return request.param


def test_forward_dynamics_of_one_state_and_of_many(tree, rng, device_backend, schedule):
    device = DeviceModel(tree, schedule=schedule, backend=device_backend)
    samples = Samples(tree, rng, 5)
    expected = samples.each(lambda state, effort, wrenches: lw.forward_dynamics(tree, state, effort, wrenches))
    own = device.forward_dynamics(samples.q, samples.v, samples.effort, samples.wrenches, check=True)
    assert own.shape == (5, tree.nv)
    assert differ(own, expected) <= TOLERANCE
    one = device.forward_dynamics(samples.q[2], samples.v[2], samples.effort[2], samples.wrenches[2], check=True)
    assert one.shape == (tree.nv,)
    assert differ(one, expected[2]) <= TOLERANCE


def test_loads_for_all_samples_or_for_none(tree, rng, device_backend, schedule):
    device = DeviceModel(tree, schedule=schedule, backend=device_backend)
    samples = Samples(tree, rng, 3)
    effort, wrenches = samples.effort[0], samples.wrenches[0]
    for loads in (
        (),
        (effort,),
        (None, wrenches),
        (effort, wrenches),
        (),
    ):  # the last: nothing of the others stays behind
        expected = [lw.forward_dynamics(tree, state, *loads) for state in samples.states]
        assert differ(device.forward_dynamics(samples.q, samples.v, *loads), expected) <= TOLERANCE


@pytest.mark.parametrize("layout", ["C", "F"])
def test_arrays_in_any_order_of_memory(tree, rng, device_backend, layout):
    """Samples innermost or entries innermost: the numbers are what counts."""
    device = DeviceModel(tree, backend=device_backend)
    samples = Samples(tree, rng, 4)
    expected = samples.each(lambda state, effort, wrenches: lw.forward_dynamics(tree, state, effort, wrenches))
    to_device = device.backend.upload
    q, v, effort = (
        to_device(x) if layout == "C" else to_device(np.ascontiguousarray(x.T)).T
        for x in (samples.q, samples.v, samples.effort)
    )
    own = device.forward_dynamics(q, v, effort, to_device(samples.wrenches))
    assert differ(device.backend.download(own), expected) <= TOLERANCE
    assert own.T.flags.c_contiguous  # samples innermost


def test_gravity_and_inertias_of_each_sample(make_tree, rng, device_backend, schedule):
    models = [make_tree(seed, 12, branching=0.4, kinds=("revolute", "spherical", "prismatic")) for seed in (1, 2, 3)]
    base = models[0]
    ten = np.array([1.0 + 0.2 * k for k in range(3)])[:, None, None] * base.arrays.body[None, :, 12:22]
    gravity = rng.normal(size=(3, 3))
    samples = Samples(base, rng, 3)
    device = DeviceModel(base, schedule=schedule, backend=device_backend)
    own = device.forward_dynamics(samples.q, samples.v, samples.effort, gravity=gravity, inertias=ten, check=True)
    for k in range(3):
        arrays = base.arrays
        body = arrays.body.copy()
        body[:, 12:22] = ten[k]
        single = lw.Model(**{**_fields(base), "arrays": arrays._replace(body=body, gravity=gravity[k])})
        for array in (body, single.arrays.gravity):
            array.setflags(write=False)
        expected = lw.forward_dynamics(single, samples.states[k], samples.effort[k])
        assert differ(own[k], expected) <= TOLERANCE


def _fields(model: lw.Model) -> dict:
    return {name: getattr(model, name) for name in type(model).__dataclass_fields__}


def test_inverse_dynamics_undoes_forward_dynamics(tree, rng, device_backend):
    device = DeviceModel(tree, backend=device_backend)
    samples = Samples(tree, rng, 4)
    acceleration = rng.normal(size=samples.v.shape)
    own = device.inverse_dynamics(samples.q, samples.v, acceleration, samples.wrenches)
    expected = [
        lw.inverse_dynamics(tree, state, a, w)
        for state, a, w in zip(samples.states, acceleration, samples.wrenches, strict=True)
    ]
    assert differ(own, expected) <= TOLERANCE
    back = device.forward_dynamics(samples.q, samples.v, own, samples.wrenches)
    assert differ(back, acceleration) <= 100 * TOLERANCE  # through the mass matrix and back: its condition once more


def test_poses_twists_and_energy(tree, rng, device_backend):
    device = DeviceModel(tree, backend=device_backend)
    samples = Samples(tree, rng, 3)
    assert differ(device.body_poses(samples.q), [lw.body_poses(tree, s) for s in samples.states]) <= TOLERANCE
    for frame in ("body", "world"):
        own = device.body_twists(samples.q, samples.v, frame)
        assert differ(own, [lw.body_twists(tree, s, frame=frame) for s in samples.states]) <= TOLERANCE
    energy = device.energy(samples.q, samples.v)
    expected = [lw.energy(tree, s) for s in samples.states]
    assert differ(energy.kinetic, [e.kinetic for e in expected]) <= TOLERANCE
    assert differ(energy.potential, [e.potential for e in expected]) <= TOLERANCE
    one = samples.states[1]
    assert device.body_poses(one.q).shape == (tree.n_bodies, 4, 4)
    assert differ(device.body_twists(one.q, one.v), lw.body_twists(tree, one)) <= TOLERANCE
    assert float(device.energy(one.q, one.v).kinetic) == pytest.approx(expected[1].kinetic, rel=TOLERANCE)


def test_steps_are_those_of_semi_implicit_euler(tree, rng, device_backend, schedule):
    device = DeviceModel(tree, schedule=schedule, backend=device_backend)
    samples = Samples(tree, rng, 2)
    device.set_state(samples.q, samples.v, samples.effort, samples.wrenches)
    device.step(1e-3, 4)
    device.step(2e-3)
    device.check()
    for k in range(2):
        q, v = samples.states[k]
        for h in (1e-3,) * 4 + (2e-3,):
            v = v + h * lw.forward_dynamics(tree, lw.State(q, v), samples.effort[k], samples.wrenches[k])
            q = tree.integrate(q, v, h)
        # Five steps, each of which may amplify rounding by 1 + h times the stiffest rate (below 1e3 / s here).
        assert differ(device.q[k], q) <= 10 * TOLERANCE
        assert differ(device.v[k], v) <= 10 * TOLERANCE
    assert device.time == pytest.approx(6e-3)


def test_single_precision(tree, rng, device_backend, schedule):
    device = DeviceModel(tree, "float32", schedule=schedule, backend=device_backend)
    samples = Samples(tree, rng, 3)
    expected = samples.each(lambda state, effort, wrenches: lw.forward_dynamics(tree, state, effort, wrenches))
    own = device.forward_dynamics(samples.q, samples.v, samples.effort, samples.wrenches)
    assert own.dtype == np.float32
    assert differ(own, expected) <= SINGLE


@pytest.mark.parametrize("shape", ["chain", "molecule", "star", "binary_tree"])
def test_long_linkages_from_the_library(shape, rng, device_backend):
    model = lw.library.MODELS[shape](700).compile()
    state = model.random_state(rng, speed=0.1)
    effort = rng.normal(size=model.nv)
    device = DeviceModel(model, schedule="levels", backend=device_backend)
    own = device.forward_dynamics(state.q, state.v, effort, check=True)
    expected = lw.forward_dynamics(model, state, effort)
    # A chain of n links: the condition of its mass matrix grows like n²; 700² * eps * 100.
    assert np.abs(own - expected).max() <= 700**2 * 100 * EPS * np.abs(expected).max()


@pytest.mark.parametrize("base", [None, lw.Free()], ids=["fixed", "floating"])
@pytest.mark.parametrize("branching", [0.0, 0.3])
def test_levels_around_the_root_take_one_launch_up_and_down(make_tree, rng, device_backend, branching, base):
    """Unless the root has several freedoms, whose nodes one block does not do; numbers are the same either way."""
    kinds = ("revolute", "prismatic", "screw")
    tree = make_tree(bodies=150, branching=branching, kinds=kinds, seed=3, **({} if base is None else {"base": base}))
    device = DeviceModel(tree, schedule="levels", backend=device_backend)
    launched: list[str] = []
    for name in ("launch", "launch_narrow"):
        do = getattr(device.backend, name)
        setattr(device.backend, name, lambda kernel, *rest, do=do: (launched.append(kernel), do(kernel, *rest)))
    state, effort = tree.random_state(rng), rng.normal(size=tree.nv)
    for _ in range(2):  # by launches, then as a graph
        qdd = device.forward_dynamics(state.q, state.v, effort)
        assert differ(qdd, lw.forward_dynamics(tree, state, effort)) <= TOLERANCE
    assert differ(device.inverse_dynamics(state.q, state.v, qdd), effort) <= TOLERANCE
    calls = launched.count("take")
    at_root = [name for name in launched if name.startswith("start_")]
    if base is None:
        assert launched.count("narrow_solve") == launched.count("biases") > 0
        assert len(at_root) == 1  # of the wrenches of inverse dynamics, which have no such kernel
    else:
        assert len(at_root) >= 2 * (calls - 1)


def test_the_smallest_linkages(device_backend, schedule):
    linkage = lw.Linkage("one")
    linkage.add_body(
        "only", "world", lw.Revolute((0, 1, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((1.0, 0, 0)))
    )
    model = linkage.compile()
    device = DeviceModel(model, schedule=schedule, backend=device_backend)
    expected = lw.forward_dynamics(model, model.neutral())
    assert device.forward_dynamics(np.zeros(1), np.zeros(1)) == pytest.approx(expected, rel=100 * EPS)
    nothing = DeviceModel(lw.Linkage("nothing").compile(), schedule=schedule, backend=device_backend)
    assert nothing.forward_dynamics(np.zeros(0), np.zeros(0)).shape == (0,)


def test_point_masses_go_body_by_body(device_backend):
    """What the assembly tree cannot invert, the other schedule solves; nobody needs to ask for it."""
    model = lw.library.double_pendulum().compile()
    state = model.random_state(1)
    device = DeviceModel(model, backend=device_backend)
    assert device.schedule == "bodies"
    assert device.forward_dynamics(state.q, state.v) == pytest.approx(lw.forward_dynamics(model, state), rel=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads_of_a_sample_do_not_change_the_result(tree, rng, device_backend, threads):
    samples = Samples(tree, rng, 3)
    device = DeviceModel(tree, schedule="bodies", threads=threads, backend=device_backend)
    expected = samples.each(lambda state, effort, wrenches: lw.forward_dynamics(tree, state, effort, wrenches))
    assert (
        differ(device.forward_dynamics(samples.q, samples.v, samples.effort, samples.wrenches), expected) <= TOLERANCE
    )


def test_a_simulation_with_its_accelerations_on_the_device(make_tree, device_backend):
    """`FullDynamics(device="gpu")` moves as the one on the CPU with explicit joints; kernels run where they can here."""
    del device_backend  # skips where nothing can run them
    model = make_tree(seed=6, bodies=8, stiffness=True, damping=True, armature=True)
    start = model.random_state(4)
    ends = []
    for options in ({"implicit_joints": False}, {"device": "gpu"}):
        sim = lw.FullDynamics(model, start, **options)
        sim.apply_wrench("body_3", (1, 2, 3))
        sim.step(1e-3, 50)
        ends.append(np.concatenate(sim.state))
    assert ends[1] == pytest.approx(ends[0], rel=0, abs=1e-9)  # 50 steps of two algorithms that agree to 1e-12
