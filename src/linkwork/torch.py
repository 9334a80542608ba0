"""Linkwork inside PyTorch: forward dynamics and runs as functions that `backward()` goes through.

Tensors are taken to the CPU and computed with in double precision. Needs the extra `torch`, which is loaded on first use.
Results of float32 tensors are rounded, with a warning. A second derivative is refused.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from linkwork.core.messages.extras import needed
from linkwork.derivatives.edges import DynamicsEdge, RunEdge, refuse_uneven
from linkwork.derivatives.stepping.steps import refuse
from linkwork.errors import LinkworkWarning, StateError
from linkwork.model.model import Model


def forward_dynamics(model: Model, q: Any, v: Any, effort: Any) -> Any:
    """Joint accelerations, shape (..., nv), of tensors q (..., nq), v and effort (..., nv).

    Orientations are made unit; gradients are with respect to coordinates.
    """
    _check(q, v, effort)
    return _function().apply(DynamicsEdge(model), q, v, effort)


def rollout(sim: Any, h: float, q: Any, v: Any, efforts: Any) -> Any:
    """All states of a run: coordinates (..., steps + 1, nq) and velocities (..., steps + 1, nv).

    sim: a `FullDynamics` that has gradients (`lw.run_with_gradients`); its motors and loads act, its own state stays.
    q (..., nq), v (..., nv): the first state. efforts: of every step, (..., steps, nv). Leading dimensions are those of
    many runs, made one after the other.
    """
    _check(q, v, efforts)
    refuse(sim)
    refuse_uneven(*(tuple(x.shape) for x in (q, v, efforts)))
    if q.dim() > 1:
        runs = [rollout(sim, h, *given) for given in zip(q, v, efforts, strict=True)]
        return tuple(_torch().stack(parts) for parts in zip(*runs, strict=True))
    edge = RunEdge(sim, h)
    states = _function().apply(edge, q, v, efforts)
    return states[:, : edge.model.nq], states[:, edge.model.nq :]


def step(sim: Any, h: float, q: Any, v: Any, effort: Any) -> Any:
    """One step: coordinates (..., nq) and velocities (..., nv) after it; as `rollout`, with efforts (..., nv)."""
    _check(q, v, effort)
    coordinates, velocities = rollout(sim, h, q, v, effort.unsqueeze(-2))
    return coordinates[..., 1, :], velocities[..., 1, :]


@cache
def _torch() -> Any:
    return needed("torch", "linkwork.torch needs PyTorch: pip install '.[torch]'.")


@cache
def _function() -> Any:
    """value and back of an edge (`derivatives.edges`), as a function of PyTorch."""
    torch = _torch()

    class Edge(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, edge: Any, q: Any, v: Any, effort: Any) -> Any:
            ctx.edge = edge
            ctx.save_for_backward(q, v, effort)
            return _tensor(edge.value(*map(_numbers, (q, v, effort))), q)

        @staticmethod
        def backward(ctx: Any, weights: Any) -> Any:
            if torch.is_grad_enabled():  # with create_graph=True: a graph without these gradients would be a wrong one
                raise StateError("linkwork.torch has first derivatives only; leave create_graph=True out.")
            given = ctx.saved_tensors
            found = ctx.edge.back(*map(_numbers, given), _numbers(weights))
            return (None, *(_tensor(part, like) for part, like in zip(found, given, strict=True)))

    return Edge


def _check(*tensors: Any) -> None:
    torch = _torch()
    for x in tensors:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            raise StateError(f"linkwork.torch takes tensors of floating-point numbers, not {type(x).__name__}.")
    if any(x.dtype != torch.float64 for x in tensors):
        warnings.warn(
            "linkwork.torch computes in double precision and rounds to the type of its tensors; float64 keeps all digits.",
            LinkworkWarning,
            stacklevel=3,
        )


def _numbers(x: Any) -> Any:
    return x.detach().to("cpu", _torch().float64).numpy()


def _tensor(x: Any, like: Any) -> Any:
    return _torch().from_numpy(x).to(like)
