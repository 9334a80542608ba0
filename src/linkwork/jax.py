"""Linkwork inside JAX: forward dynamics and runs, functions that `jax.grad`, `jax.jvp`, `jax.jit` and `jax.vmap` take.

They call Linkwork on the CPU by `pure_callback`, in double precision. Needs the extra `jax`, which is loaded on first use.
With float32, JAX's default, results are rounded, with a warning; `jax.config.update("jax_enable_x64", True)` keeps all
digits.
"""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import Any

import numpy as np

from linkwork.core.messages.extras import needed
from linkwork.derivatives.edges import DynamicsEdge, RunEdge, refuse_uneven
from linkwork.derivatives.stepping.steps import refuse
from linkwork.errors import LinkworkWarning
from linkwork.model.model import Model


@cache
def _jax() -> Any:
    message = "linkwork.jax needs JAX: pip install '.[jax]'."
    needed("jax.custom_derivatives", message)
    return needed("jax", message)


def forward_dynamics(model: Model, q: Any, v: Any, effort: Any) -> Any:
    """Joint accelerations, shape (..., nv), of arrays q (..., nq), v and effort (..., nv).

    Differentiable in both directions, once. Orientations are made unit; gradients are with respect to coordinates.
    """
    jax = _jax()
    jnp, custom = jax.numpy, jax.custom_derivatives
    edge = DynamicsEdge(model)
    q, v, effort = map(jnp.asarray, (q, v, effort))
    kind = _kind(q, v, effort)

    def call(function: Any, shapes: Any, *given: Any) -> Any:
        wanted = jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, kind), shapes, is_leaf=_is_shape)
        return jax.pure_callback(partial(_cast, function, kind), wanted, *given, vmap_method="sequential")

    @jax.custom_jvp
    def accelerations(q: Any, v: Any, effort: Any) -> Any:
        return call(edge.value, (*q.shape[:-1], model.nv), q, v, effort)

    def products(primals: Any, tangents: Any) -> Any:
        moved = [
            k for k in range(3) if not isinstance(tangents[k], custom.SymbolicZero)
        ]  # transposing needs these alone

        def push(at: Any, changes: Any) -> Any:
            every = [jnp.zeros(x.shape, kind) for x in at]
            for k, change in zip(moved, changes, strict=True):
                every[k] = change
            return call(edge.along, (*at[0].shape[:-1], model.nv), *at, *every)

        def pull(at: Any, weights: Any) -> Any:
            found = call(edge.back, tuple(x.shape for x in at), *at, weights)
            return tuple(found[k] for k in moved)

        value = accelerations(*primals)
        if not moved:
            return value, jnp.zeros(value.shape, kind)
        return value, custom.linear_call(push, pull, primals, tuple(jnp.asarray(tangents[k], kind) for k in moved))

    accelerations.defjvp(products, symbolic_zeros=True)
    return accelerations(q.astype(kind), v.astype(kind), effort.astype(kind))


def rollout(sim: Any, h: float, q: Any, v: Any, efforts: Any) -> Any:
    """All states of a run: coordinates (..., steps + 1, nq) and velocities (..., steps + 1, nv).

    sim: a `FullDynamics` that has gradients (`lw.run_with_gradients`); its motors and loads act, its own state stays.
    q (..., nq), v (..., nv): the first state. efforts: of every step, (..., steps, nv). Leading dimensions are those of
    many runs, made one after the other. Differentiable backwards, once.
    """
    jax = _jax()
    refuse(sim)
    jnp = jax.numpy
    edge = RunEdge(sim, h)
    nq, nv = edge.model.nq, edge.model.nv
    q, v, efforts = map(jnp.asarray, (q, v, efforts))
    refuse_uneven(*(tuple(x.shape) for x in (q, v, efforts)))
    if q.ndim > 1:
        return jax.vmap(partial(rollout, sim, h))(q, v, efforts)
    kind = _kind(q, v, efforts)

    @jax.custom_vjp
    def states(q: Any, v: Any, efforts: Any) -> Any:
        wanted = jax.ShapeDtypeStruct((efforts.shape[0] + 1, nq + nv), kind)
        return jax.pure_callback(partial(_cast, edge.value, kind), wanted, q, v, efforts, vmap_method="sequential")

    def there(q: Any, v: Any, efforts: Any) -> Any:
        return states(q, v, efforts), (q, v, efforts)

    def back(kept: Any, weights: Any) -> Any:
        wanted = tuple(jax.ShapeDtypeStruct(x.shape, kind) for x in kept)
        call = partial(_cast, edge.back, kind)
        return jax.pure_callback(call, wanted, *kept, weights, vmap_method="sequential")

    states.defvjp(there, back)
    found = states(q.astype(kind), v.astype(kind), efforts.astype(kind))
    return found[:, :nq], found[:, nq:]


def step(sim: Any, h: float, q: Any, v: Any, effort: Any) -> Any:
    """One step: coordinates (..., nq) and velocities (..., nv) after it; as `rollout`, with efforts (..., nv)."""
    coordinates, velocities = rollout(sim, h, q, v, _jax().numpy.asarray(effort)[..., None, :])
    return coordinates[..., 1, :], velocities[..., 1, :]


def _is_shape(x: Any) -> bool:
    return isinstance(x, tuple) and all(isinstance(k, int) for k in x)


def _cast(function: Any, kind: Any, *given: Any) -> Any:
    """Calls with double precision, and rounds what comes back."""
    found = function(*(np.asarray(x, dtype=np.float64) for x in given))
    return tuple(x.astype(kind) for x in found) if isinstance(found, tuple) else found.astype(kind)


def _kind(*arrays: Any) -> Any:
    jnp = _jax().numpy
    kind = jnp.result_type(*arrays)
    if kind == jnp.float64:
        return kind
    warnings.warn(
        "linkwork.jax computes in double precision and rounds to float32; jax.config.update('jax_enable_x64', True) keeps "
        "all digits.",
        LinkworkWarning,
        stacklevel=3,
    )
    return jnp.float32
