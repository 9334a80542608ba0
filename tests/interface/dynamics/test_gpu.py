"""What comes to a DeviceModel and must not pass, and what is said where there is no GPU."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import NO_GPU

import linkwork as lw
from linkwork.gpu import DeviceModel, host
from linkwork.gpu.schedule import choose_schedule, choose_threads
from linkwork.gpu.workspace import Sizes, refuse_if_too_large


@pytest.fixture
def model():
    return lw.library.humanoid().compile()


@pytest.fixture
def device(model, device_backend):
    return DeviceModel(model, backend=device_backend)


# ------------------------------------------------------------------------------------------------------- without a GPU


def test_import_needs_no_cupy():
    code = "import sys, linkwork as lw; assert lw.gpu.DeviceModel; assert 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cupy_is_missing(monkeypatch, model):
    real = builtins.__import__

    def without_cupy(name, *args, **kwargs):
        if name == "cupy":
            raise ImportError("No module named 'cupy'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_cupy)
    with pytest.raises(lw.MissingExtraError, match=r"lw.gpu needs CuPy.*pip install '\.\[gpu\]'"):
        DeviceModel(model)


class _FakeCupy:
    """CuPy as it is where there is no driver, or no GPU."""

    def __init__(self, answer):
        class runtime:  # noqa: N801
            @staticmethod
            def getDeviceCount():
                if isinstance(answer, Exception):
                    raise answer
                return answer

        self.cuda = type("cuda", (), {"runtime": runtime})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient"), "driver does not answer"),
        (RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected"), "no GPU was found"),
        (0, "no GPU was found"),
    ],
)
def test_driver_or_gpu_is_missing(monkeypatch, model, answer, message):
    monkeypatch.setitem(sys.modules, "cupy", _FakeCupy(answer))
    with pytest.raises(lw.DeviceError, match=message):
        DeviceModel(model)
    assert lw.forward_dynamics(model, model.neutral()).shape == (model.nv,)  # everything else works


def test_the_algorithm_says_what_is_missing(monkeypatch, model):
    monkeypatch.setenv("LINKWORK_GPU", "cuda")
    monkeypatch.setitem(sys.modules, "cupy", _FakeCupy(0))
    with pytest.raises(lw.DeviceError, match="no GPU was found"):
        lw.forward_dynamics(model, model.neutral(), algorithm="gpu")
    monkeypatch.setenv("LINKWORK_GPU", "abacus")
    with pytest.raises(lw.StateError, match="LINKWORK_GPU is 'abacus'; it must be one of cuda, host"):
        lw.forward_dynamics(model, model.neutral(), algorithm="gpu")


@pytest.mark.skipif(host.compiler() is None, reason="no C++ compiler is installed")
def test_no_code_is_taken_from_a_folder_that_others_may_write(monkeypatch, tmp_path):
    loaded = []
    monkeypatch.setattr(host.ctypes, "CDLL", loaded.append)
    monkeypatch.setattr(host, "source", lambda: 'extern "C" int one() { return 1; }')
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "shared"))
    monkeypatch.setattr(host, "user_folder", lambda: tmp_path / "mine" / "kernels")
    host.library.cache_clear()
    host.library("float64")
    host.library.cache_clear()
    assert [Path(path).parent for path in loaded] == [tmp_path / "mine" / "host"]


def test_no_compiler_for_the_host(monkeypatch):
    monkeypatch.setattr(host, "compiler", lambda: None)
    host.library.cache_clear()
    with pytest.raises(lw.DeviceError, match=r"needs a C\+\+ compiler"):
        host.library("float64")
    host.library.cache_clear()


# --------------------------------------------------------------------------------------------------------- what is refused


def test_a_device_model_checks_its_settings(model, device_backend):
    with pytest.raises(lw.StateError, match="dtype is 'float16'; choose 'float64' or 'float32'"):
        DeviceModel(model, "float16", backend=device_backend)
    with pytest.raises(lw.StateError, match="no schedule 'rows'; choose one of levels, bodies"):
        DeviceModel(model, schedule="rows", backend=device_backend)
    for threads in (0, 9, 1.5):
        with pytest.raises(lw.StateError, match="threads is"):
            DeviceModel(model, threads=threads, backend=device_backend)
    with pytest.raises(lw.StateError, match="for open trees"):
        DeviceModel(lw.library.four_bar().compile(), backend=device_backend)
    with pytest.raises(lw.ModelError, match=r"'upper' has a singular inertia.*schedule='bodies'"):
        DeviceModel(lw.library.double_pendulum().compile(), schedule="levels", backend=device_backend)


def test_shapes_are_checked(device, model):
    nq, nv, n = model.nq, model.nv, model.n_bodies
    q, v = np.tile(model.neutral().q, (4, 1)), np.zeros((4, nv))
    with pytest.raises(
        lw.StateError, match=rf"q has shape \(3,\); model '{model.name}' needs \({nq},\) or \(batch, {nq}\)"
    ):
        device.forward_dynamics(np.zeros(3), v)
    with pytest.raises(lw.StateError, match=r"q has shape \(0, "):
        device.forward_dynamics(np.zeros((0, nq)), v)
    with pytest.raises(lw.StateError, match=rf"v has shape \(3, {nv}\); .*needs \({nv},\) or \(4, {nv}\)"):
        device.forward_dynamics(q, v[:3])
    with pytest.raises(lw.StateError, match=r"effort has shape \(2,\)"):
        device.forward_dynamics(q, v, np.zeros(2))
    with pytest.raises(lw.StateError, match=rf"wrenches has shape \(6,\); .*needs \({n}, 6\) or \(4, {n}, 6\)"):
        device.forward_dynamics(q, v, None, np.zeros(6))
    with pytest.raises(lw.StateError, match=r"gravity has shape \(4, 2\)"):
        device.forward_dynamics(q, v, gravity=np.zeros((4, 2)))
    with pytest.raises(lw.StateError, match=r"inertias has shape"):
        device.forward_dynamics(q, v, inertias=np.zeros((4, n, 6)))
    with pytest.raises(lw.StateError, match="acceleration is missing"):
        device.inverse_dynamics(q, v, None)
    with pytest.raises(lw.StateError, match="q must be an array of numbers"):
        device.forward_dynamics("here", v)
    with pytest.raises(lw.StateError, match="frame must be 'body' or 'world', not 'hand'"):
        device.body_twists(q, v, "hand")


def test_a_refused_state_changes_nothing(device, model):
    q, v = model.neutral()
    with pytest.raises(lw.StateError, match=r"no state to step from; call set_state"):
        device.step(1e-3)
    device.set_state(q, v)
    device.step(1e-3)
    before = device.q
    with pytest.raises(lw.StateError, match="v has shape"):
        device.set_state(q, np.zeros(2))
    with pytest.raises(lw.StateError, match="h is -1"):
        device.step(-1.0)
    with pytest.raises(lw.StateError, match="the number of steps is 0"):
        device.step(1e-3, 0)
    assert (device.q == before).all()


class _Tensor:
    """A tensor that is somewhere else, as DLPack reports it."""

    requires_grad = False

    def __init__(self, where=(10, 0), requires_grad=False):
        self._where, self.requires_grad = where, requires_grad

    def __dlpack_device__(self):
        return self._where


def test_devices_and_kinds_of_numbers_are_checked(device, model):
    q, v = model.neutral()
    with pytest.raises(lw.StateError, match="q is on a device of kind 10; this DeviceModel computes on"):
        device.forward_dynamics(_Tensor(), v)
    with pytest.raises(lw.StateError, match=r"records gradients; give q.detach\(\)"):
        device.forward_dynamics(_Tensor(requires_grad=True), v)
    assert device.forward_dynamics(q.tolist(), v.astype(np.float32)).dtype == np.float64  # what is copied is converted


def test_a_joint_that_nothing_resists_is_named(device_backend):
    linkage = lw.Linkage("loose")
    linkage.add_body("good", "world", lw.Revolute((0, 1, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    point = lw.Inertia(1.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    linkage.add_body("loose", "good", lw.Revolute((1, 0, 0)), lw.Pose((0.1, 0, 0)), point, joint_name="slack")
    model = linkage.compile()
    device = DeviceModel(model, backend=device_backend)
    with pytest.raises(lw.StateError, match="gpu cannot solve joint 'slack'"):
        device.forward_dynamics(*model.neutral(), check=True)
    with np.errstate(all="ignore"):
        device.forward_dynamics(*model.neutral())
    with pytest.raises(lw.StateError, match="gpu cannot solve joint 'slack'"):
        device.check()


def test_too_little_memory_says_how_much_is_needed():
    class Small:
        def free_bytes(self):
            return 2 * 10**9

    sizes = Sizes(10**7, 10**7, 10**7, 10**7)
    with pytest.raises(
        lw.DeviceError, match=r"10,000,000 bodies x 1 samples needs 1\d\.\d\d GB on the GPU; 2.00 GB are free"
    ):
        refuse_if_too_large(Small(), sizes, 1, 8, "levels", False, "long")
    refuse_if_too_large(Small(), Sizes(100, 100, 100, 100), 1, 8, "levels", False, "short")


@pytest.mark.parametrize("shape", ["chain", "molecule", "random_tree"])
def test_ten_million_joints_fit_in_64_gigabytes(shape, device_backend):
    """Bytes per joint do not grow with the linkage beyond a little alignment, so 20,000 joints are enough."""
    model = lw.library.MODELS[shape](20_000).compile()
    needed = DeviceModel(model, backend=device_backend).bytes_needed(1, "levels")
    assert needed / model.n_bodies * 1e7 < 64e9 / 2


# ----------------------------------------------------------------------------------------------------------- what is chosen


def test_the_schedule_follows_the_shape():
    """As measured on one H200: the faster of the two, where they differ by more than a little."""
    chain, star = (lambda n: np.ones(n, dtype=np.int64)), np.array([1, 1000])
    figure = np.array([1, 3, 3, 5, 5, 5, 4, 3, 1, 1])
    for n, levels, batch, faster in (
        (2**20, 21, 1, "levels"), (2**14, 15, 1, "levels"), (1000, 11, 256, "levels"), (100, 8, 1, "levels"),
        (100, 8, 1024, "levels"), (100, 8, 16_384, "bodies"), (20, 6, 4_096, "bodies"), (20, 6, 65_536, "bodies"),
    ):  # fmt: skip
        assert choose_schedule(chain(n), 1, levels, batch) == faster
    assert all(choose_schedule(figure, 5, 9, batch) == "bodies" for batch in (1, 32, 1_024, 65_536))
    assert choose_schedule(star, 1000, 14, 1) == "levels"
    assert choose_schedule(star, 1000, 14, 4_096) == "bodies"
    assert choose_threads(widest=5, batch=65_536) == 1
    assert choose_threads(widest=5, batch=1_024) == 4
    assert choose_threads(widest=1, batch=1_024) == 1


def test_kernels_of_both_precisions_are_kept_apart(model, device_backend, rng):
    """Code of one precision is not taken for the other, whichever was compiled first."""
    state = model.random_state(rng)
    exact = lw.forward_dynamics(model, state)
    scale = np.abs(exact).max()
    errors = {}
    for dtype in ("float32", "float64", "float32"):
        found = DeviceModel(model, dtype, backend=device_backend).forward_dynamics(state.q, state.v)
        assert found.dtype == dtype
        errors[dtype] = np.abs(np.asarray(found, dtype=float) - exact).max() / scale
    assert errors["float64"] < 1e-9  # 1e-15 times the condition of such trees, and a margin
    assert errors["float64"] < errors["float32"] < 1e-2  # single precision is worse, and not nonsense


# ------------------------------------------------------------------------------------------ arrays of other libraries


@pytest.mark.parametrize("library", ["torch", "jax"] if NO_GPU else ["cupy", "torch", "jax"])
def test_arrays_of_other_libraries_pass_through(library, model, device_backend, rng):
    """Results come back as the kind of array that went in, on the same device, and hold the same numbers."""
    other = pytest.importorskip(library, reason=f"{library} is not installed")
    device = DeviceModel(model, "float32", backend=device_backend)
    on_gpu = device.backend.name == "cuda"
    if library == "cupy" and not on_gpu:
        pytest.skip(reason="CuPy arrays live on a GPU")
    states = [model.random_state(rng) for _ in range(4)]
    q, v = (np.array([getattr(state, name) for state in states], dtype=np.float32) for name in "qv")
    if library == "torch":
        there = [other.from_numpy(x).to("cuda" if on_gpu else "cpu") for x in (q, v)]
    elif library == "jax":
        where = other.devices("gpu" if on_gpu else "cpu")[0]
        there = [other.device_put(x, where) for x in (q, v)]
    else:
        there = [other.asarray(x) for x in (q, v)]
    own = device.forward_dynamics(*there)
    assert type(own) is type(there[0])
    if library == "torch":
        assert own.device == there[0].device
        own = own.cpu()
    numbers = own.get() if library == "cupy" else np.asarray(own)
    assert (numbers == device.forward_dynamics(q, v)).all()
    if library == "jax" and not other.config.jax_enable_x64:
        doubles = None  # jax holds no float64 then, so there is no wrong kind to give
    else:
        doubles = there[0].double() if library == "torch" else there[0].astype(np.float64)
    if doubles is not None:
        with pytest.raises(lw.StateError, match=r"q holds float64; this DeviceModel computes in float32"):
            device.forward_dynamics(doubles, there[1])


# ------------------------------------------------------------------------------------------------- what is not finite


def test_a_number_that_is_not_finite_is_named_with_its_joint_and_sample(device_backend):
    model = lw.library.chain(5).compile()
    device = DeviceModel(model, backend=device_backend)
    q, v = np.zeros((3, model.nq)), np.zeros((3, model.nv))
    v[2, 3] = np.nan
    with np.errstate(all="ignore"), pytest.raises(lw.StateError, match=r"state\.v\[3\] is nan \(joint 'link_3'\)"):
        device.forward_dynamics(q, v, check=True)
    wrenches = np.zeros((3, model.n_bodies, 6))
    wrenches[1, 2, 0] = np.inf
    with np.errstate(all="ignore"), pytest.raises(lw.StateError, match=r"wrenches\[2\] is .*body 'link_2'"):
        device.forward_dynamics(q, 0.0 * q, None, wrenches, check=True)
    device.forward_dynamics(q, 0.0 * q, check=True)  # wrenches of the call before are forgotten


def test_too_fast_a_state_is_blamed_on_its_fastest_joint(device_backend):
    """Not on inertia that is missing."""
    model = lw.library.chain(5).compile()
    device = DeviceModel(model, backend=device_backend)
    q, v = np.zeros((2, model.nq)), np.zeros((2, model.nv))
    v[1, 4] = 1e200
    with np.errstate(all="ignore"):
        device.forward_dynamics(q, v)
        with pytest.raises(
            lw.StateError, match=r"gpu in sample 1 overflowed.*fastest joint, 'link_4', moves at 1e\+200"
        ):
            device.check()
        device.set_state(q[0], 0.1 * np.arange(5.0))
        device.step(1e6, 20)
        said = r"a step on the gpu overflowed, or began with NaN: the velocity of joint 'link_.*smaller steps"
        with pytest.raises(lw.StateError, match=said):
            device.check()
        device.inverse_dynamics(q, v, np.zeros_like(v))
        with pytest.raises(lw.StateError, match=r"gpu in sample 1 overflowed.*fastest joint, 'link_4'"):
            device.check()
