"""Gradients on the GPU: those of the CPU, then their time. Arrays stay on the device."""

from __future__ import annotations

import os
import statistics
import time
import warnings
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress

CHAIN, QUICK_CHAIN = 2**20, 2**8  # joints
SEED, ANGLE, SPEED = 7, 3.0, 0.1
MOST, GOAL = 15.0, 8.0  # [ms] of accelerations and gradients with respect to q, v and effort
AGREEMENT = 1e-8  # with the CPU, in the 2-norm: rounding times the condition of the mass matrix
BATCH, QUICK_BATCH = 4096, 8
NAMES = ("q", "v", "effort", "wrenches", "inertias", "gravity", "stiffness", "damping", "armature")
KINDS = (
    "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free", "fixed", "compound",
)  # fmt: skip


def backend_of(report: Report) -> Any:
    """The GPU, or its kernels on the CPU where LINKWORK_GPU=host asks for that; None, with a note, where there is none."""
    from linkwork.gpu.cuda import CudaBackend
    from linkwork.gpu.host import HostBackend

    if os.environ.get("LINKWORK_GPU") == "host":
        report.notes.append("LINKWORK_GPU=host: the kernels of the GPU ran on the CPU; their times mean nothing.")
        return HostBackend
    try:
        CudaBackend("float64")
    except lw.LinkworkError as error:
        report.notes.append(f"Gradients on the GPU are left out: {error}")
        return None
    return CudaBackend


def on_device(report: Report, joints: int, rounds: int) -> None:
    backend = backend_of(report)
    if backend is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        trees(report, backend, 2 if joints == QUICK_CHAIN else 12)
        if backend.name == "cuda":
            arrays_stay(report)
        model = lw.library.chain(joints=joints).compile()
        one_state(report, backend, model, "levels", rounds)
        figure = lw.library.humanoid().compile()
        many_states(report, backend, figure, QUICK_BATCH if joints == QUICK_CHAIN else BATCH, rounds)


def apart(own: Any, expected: np.ndarray) -> float:
    """In the 2-norm, relative."""
    return float(np.linalg.norm(own - expected) / max(np.linalg.norm(expected), 1e-300))


def trees(report: Report, backend: Any, count: int) -> None:
    """Every gradient of random trees of all joint kinds, both schedules, against those of the CPU."""
    worst = 0.0
    for seed in range(count):
        linkage = lw.library.random_tree(40, seed=seed, kinds=KINDS, floating=seed % 2 == 0, options=True)
        model, rng = linkage.compile(), np.random.default_rng(seed)
        state, effort, weights = model.random_state(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
        wrenches = rng.normal(size=(model.n_bodies, 6))
        _, pull = lw.vjp(lw.forward_dynamics, model, state, effort, wrenches)
        expected = pull(weights)
        for schedule in ("levels", "bodies"):
            progress(f"GPU, tree {seed + 1} of {count}, {schedule}")
            device = lw.gpu.DeviceModel(model, schedule=schedule, backend=backend)
            _, back = device.vjp(state.q, state.v, effort, wrenches)
            found = back(weights)
            worst = max(worst, *(apart(getattr(found, name), getattr(expected, name)) for name in NAMES))
    report.requirements.append(
        Requirement(
            f"GPU, {count} trees of all joint kinds, both schedules: all gradients",
            worst,
            "apart",
            f"≤ {AGREEMENT:g}",
            worst <= AGREEMENT,
        )
    )


def kinds_of_arrays(report: Report) -> dict[str, Any]:
    """How to make arrays of each kind on the GPU; what is not installed, or has no GPU, is noted."""
    import cupy

    kinds: dict[str, Any] = {"CuPy": cupy.asarray}
    try:
        import torch

        torch.zeros(1, device="cuda")
        kinds["PyTorch"] = lambda x: torch.as_tensor(x, device="cuda")
    except Exception as error:
        report.notes.append(f"Tensors of PyTorch on the GPU were not tried: {error}")
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        place = jax.devices("gpu")[0]
        kinds["JAX"] = lambda x: jax.device_put(x, place)
    except Exception as error:
        report.notes.append(f"Arrays of JAX on the GPU were not tried: {error}")
    return kinds


def arrays_stay(report: Report) -> None:
    """Arrays of CuPy and, where they are installed, of PyTorch and JAX go in and come out without a way over the host."""
    import cupy

    model = lw.library.humanoid().compile()
    states = [model.random_state(k) for k in range(5)]
    q, v = (np.array([getattr(state, name) for state in states]) for name in "qv")
    weights = np.ones((5, model.nv))
    for name, make in kinds_of_arrays(report).items():
        progress(f"GPU, arrays of {name}")
        device = lw.gpu.DeviceModel(model)
        _, pull = device.vjp(make(q), make(v))
        found, worst = pull(make(weights)), 0.0
        stays = type(found.q) is type(make(q)) and int(found.q.__dlpack_device__()[0]) == 2
        own = cupy.asnumpy(cupy.from_dlpack(found.q))
        for k, state in enumerate(states):
            _, expected = lw.vjp(lw.forward_dynamics, model, state)
            worst = max(worst, apart(own[k], expected(weights[k]).q))
        report.requirements.append(
            Requirement(
                f"GPU, gradients as arrays of {name}, which stay there",
                worst,
                "apart",
                f"≤ {AGREEMENT:g}",
                stays and worst <= AGREEMENT,
            )
        )


def clocked(device: Any, act: Any, rounds: int) -> float:
    """Median time of a call whose results stay on the device [ms]."""
    act()
    act()
    samples = []
    for _ in range(max(rounds, 5)):
        device.backend.synchronize()
        start = time.perf_counter()
        act()
        device.backend.synchronize()
        samples.append(1e3 * (time.perf_counter() - start))
    return statistics.median(samples)


def one_state(report: Report, backend: Any, model: lw.Model, schedule: str, rounds: int) -> None:
    progress(f"GPU, {model.nv:,} joints")
    rng = np.random.default_rng(SEED)
    state = lw.State(rng.uniform(-ANGLE, ANGLE, model.nv), SPEED * rng.normal(size=model.nv))
    effort, weights = rng.normal(size=(2, model.nv))
    y, pull = lw.vjp(lw.forward_dynamics, model, state, effort)
    expected = pull(weights)
    device = lw.gpu.DeviceModel(model, schedule=schedule, backend=backend)
    q, v, tau, given = (device.backend.upload(x) for x in (state.q, state.v, effort, weights))
    qdd, back = device.vjp(q, v, tau)
    found = back(given)
    download = device.backend.download
    worst = apart(download(qdd), y)
    for name in NAMES:
        worst = max(worst, apart(download(getattr(found, name)), getattr(expected, name)))

    def both(wrt: tuple[str, ...] | None) -> None:
        _, way = device.vjp(q, v, tau, wrt=wrt, check=False)
        way(given)

    forward = clocked(device, lambda: device.forward_dynamics(q, v, tau), rounds)
    few, everything = (clocked(device, lambda w=wrt: both(w), rounds) for wrt in (("q", "v", "effort"), None))
    report.notes.append(
        f"GPU, {model.nv:,} joints: forward dynamics {forward:.2f} ms, with gradients of q, v, effort {few:.2f} ms, of "
        f"everything {everything:.2f} ms."
    )
    report.requirements.append(
        Requirement(
            f"GPU, {model.nv:,} joints: accelerations and gradients of q, v, effort",
            few,
            "ms",
            f"≤ {MOST:g} ms",
            few <= MOST and worst <= AGREEMENT,
            f"≤ {GOAL:g} ms",
            few <= GOAL,
            f"all gradients {worst:.0e} from the CPU's",
        )
    )


def many_states(report: Report, backend: Any, model: lw.Model, batch: int, rounds: int) -> None:
    """Both schedules on many states of one small linkage."""
    rng = np.random.default_rng(SEED)
    states = [model.random_state(rng) for _ in range(batch)]
    q, v = (np.array([getattr(state, name) for state in states]) for name in "qv")
    effort, weights = rng.normal(size=(2, batch, model.nv))
    for schedule in ("levels", "bodies"):
        progress(f"GPU, {batch:,} states of '{model.name}', {schedule}")
        device = lw.gpu.DeviceModel(model, schedule=schedule, backend=backend)
        here = [device.backend.upload(x) for x in (q, v, effort, weights)]
        _, back = device.vjp(*here[:3])
        found, worst = back(here[3]), 0.0
        own = {
            name: device.backend.download(getattr(found, name)) for name in ("q", "v", "effort", "inertias", "gravity")
        }
        for k in range(0, batch, max(1, batch // 16)):
            _, pull = lw.vjp(lw.forward_dynamics, model, states[k], effort[k])
            expected = pull(weights[k])
            worst = max(worst, *(apart(own[name][k], getattr(expected, name)) for name in own))

        def both(device: Any = device, here: Any = here) -> None:
            _, way = device.vjp(*here[:3], wrt=("q", "v", "effort"), check=False)
            way(here[3])

        forward = clocked(device, lambda d=device, x=here: d.forward_dynamics(*x[:3]), rounds)
        ms = clocked(device, both, rounds)
        report.requirements.append(
            Requirement(
                f"GPU, {batch:,} states of '{model.name}', {schedule}: all gradients",
                worst,
                "apart",
                f"≤ {AGREEMENT:g}",
                worst <= AGREEMENT,
                detail=f"{ms:.2f} ms; forward dynamics {forward:.2f} ms",
            )
        )
