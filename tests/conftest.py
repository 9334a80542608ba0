"""What all tests share: random numbers with a seed, one joint of every kind, trees of them, a way to move them on.

Trees are made here rather than by `lw.library`, because laws need all joint kinds with every option set, and a test that
builds its own input cannot be fooled by the library it tests.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.api import ALGORITHMS
from linkwork.errors import LinkworkWarning
from linkwork.gpu.api import CHOICE
from linkwork.gpu.cuda import CudaBackend, load_cupy
from linkwork.gpu.host import HostBackend, compiler
from linkwork.model import layout


def missing_gpu() -> str | None:
    """Why nothing can run on a GPU here, or None where it can."""
    try:
        load_cupy()
    except lw.LinkworkError as error:
        return str(error)
    return None


NO_GPU = missing_gpu()
if NO_GPU:  # algorithm "gpu" then runs the same kernels on the CPU, as plain C++; without a compiler it is left out
    os.environ.setdefault(CHOICE, "host")
    if compiler() is None:
        del ALGORITHMS["gpu"]


@pytest.fixture(params=["host"] if NO_GPU else ["host", "cuda"])
def device_backend(request):
    """Where kernels of the device run: compiled as plain C++ for the CPU, and on a GPU where there is one.

    Where there is none, `tests/laws/test_gpu.py::test_there_is_a_gpu` says so, once for all.
    """
    if request.param == "cuda":
        return CudaBackend
    if compiler() is None:
        pytest.skip(reason="no C++ compiler on this machine")
    return HostBackend


def inverts_inertias(model: lw.Model) -> str | None:
    """The limit of algorithms that begin with the inverse of every body's inertia: point masses and rods have none."""
    for ten in model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]:
        m, h, (xx, xy, xz, yy, yz, zz) = ten[0], ten[1:4], ten[4:]
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        moments = np.linalg.eigvalsh(about_origin - (h @ h * np.eye(3) - np.outer(h, h)) / m)
        if moments[0] <= 1e-12 * np.trace(about_origin):  # what is left of zero after moving between points
            return "inverts the inertia of every body; one here is singular"
    return None


# One joint of every kind, with axes off the coordinate axes and points off the origin.
JOINTS: dict[str, lw.Joint] = {
    "revolute": lw.Revolute((1.0, -2.0, 3.0), point=(0.3, -0.2, 0.1)),
    "prismatic": lw.Prismatic((0.0, 1.0, 1.0)),
    "screw": lw.Screw((1.0, 0.5, -2.0), point=(-0.1, 0.4, 0.2), pitch=0.3),
    "cylindrical": lw.Cylindrical((1.0, -1.0, 0.5)),
    "universal": lw.Universal((1.0, 0.2, 0.0), (0.1, 1.0, 0.3)),
    "planar": lw.Planar((1.0, 1.0, 3.0)),
    "spherical": lw.Spherical((0.1, 0.2, -0.3)),
    "free": lw.Free(),
    "fixed": lw.Fixed(),
    "compound": lw.Compound(
        [
            lw.Revolute((1.0, 0.0, 0.3), point=(0.0, 0.2, 0.1)),
            lw.Prismatic((0.0, 1.0, 0.2)),
            lw.Screw((0.2, 0.1, 1.0), point=(0.3, 0.0, -0.1), pitch=0.2),
            lw.Revolute((0.0, 1.0, -0.4), point=(0.1, 0.1, 0.1)),
        ]
    ),
}


@pytest.fixture
def rng():
    return np.random.default_rng(20_240_229)


@pytest.fixture(params=JOINTS.values(), ids=JOINTS.keys())
def joint(request):
    return request.param


@pytest.fixture(params=list(ALGORITHMS))
def algorithm(request):
    return request.param


def random_pose(rng) -> lw.Pose:
    return lw.Pose(rng.uniform(-0.5, 0.5, 3), quaternion=rng.normal(size=4))


def random_inertia(rng) -> lw.Inertia:
    """A solid box anywhere: physical by construction."""
    return lw.Inertia.box(rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5, 3)).at(random_pose(rng))


def with_options(rng, joint: lw.Joint, damping: bool, stiffness: bool, armature: bool) -> lw.Joint:
    """The same joint with springs, dampers and rotors, one number per degree of freedom."""
    if joint.nv == 0:
        return joint
    options: dict[str, object] = {}
    if damping:
        options["damping"] = tuple(rng.uniform(0.1, 1.0, joint.nv))
    if stiffness:
        ball = isinstance(joint, lw.Spherical | lw.Free)  # a ball has one stiffness for all its directions
        options["stiffness"] = float(rng.uniform(1.0, 3.0)) if ball else tuple(rng.uniform(1.0, 3.0, joint.nv))
        options["rest"] = tuple(joint.random(rng))
    if armature:
        options["armature"] = tuple(rng.uniform(0.05, 0.2, joint.nv))
    if isinstance(joint, lw.Compound):
        return lw.Compound(joint.parts, **options)
    return replace(joint, **options)


def build_tree(
    seed: int = 0,
    bodies: int = 14,
    *,
    base: lw.Joint | None = None,
    roots: int = 1,
    branching: float = 0.5,
    kinds: tuple[str, ...] = tuple(JOINTS),
    damping: bool = False,
    stiffness: bool = False,
    armature: bool = False,
    gravity: tuple[float, float, float] = (1.0, -2.0, -9.0),
    placement: lw.Pose | None = None,
    merge_fixed: bool = False,
) -> lw.Model:
    """A random tree that goes through all joint kinds in turn.

    base: joint of the first body, drawn like any other if not given; roots: how many bodies hang from the world.
    branching: 0 makes a chain, 1 hangs every body from any earlier one. placement: moves the whole in the world.
    """
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage(f"tree_{seed}", gravity=gravity)
    for i in range(bodies):
        parent = "world"
        if i >= roots:
            parent = f"body_{rng.integers(i) if rng.uniform() < branching else i - 1}"
        joint = with_options(rng, JOINTS[kinds[i % len(kinds)]], damping, stiffness, armature)
        if i == 0 and base is not None:
            joint = base
        here, inertia = random_pose(rng), random_inertia(rng)
        if parent == "world" and placement is not None:
            here = placement @ here
        linkage.add_body(f"body_{i}", parent, joint, here, inertia, joint_name=f"joint_{i}")
    return linkage.compile(merge_fixed=merge_fixed)


@pytest.fixture(scope="session")
def make_tree():
    """`build_tree`, for tests that need a tree of their own."""
    return build_tree


@pytest.fixture(params=["chain", "tree", "bush", "forest"])
def tree(request):
    """Trees of four shapes with all joint kinds and all options."""
    shape = {
        "chain": {"branching": 0.0, "seed": 1},
        "tree": {"branching": 0.5, "seed": 2, "base": lw.Free()},
        "bush": {"branching": 1.0, "seed": 3},
        "forest": {"branching": 0.7, "seed": 4, "roots": 4},
    }[request.param]
    return build_tree(damping=True, stiffness=True, armature=True, **shape)


@pytest.fixture(scope="session")
def solve():
    """`lw.forward_dynamics`; that an algorithm hands points and needles over to aba is of no interest here."""

    def accelerations(model, state, effort=None, wrenches=None, algorithm="aba"):
        limit = inverts_inertias(model) if algorithm == "gpu" else None
        if limit:
            pytest.skip(reason=f"{algorithm}: {limit}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinkworkWarning)
            return lw.forward_dynamics(model, state, effort, wrenches, algorithm=algorithm)

    return accelerations


class Loads:
    """Efforts and wrenches for a model, of order one."""

    def __init__(self, model: lw.Model, rng):
        self.effort = rng.normal(size=model.nv)
        self.wrenches = rng.normal(size=(model.n_bodies, 6))


@pytest.fixture
def make_loads(rng):
    return lambda model: Loads(model, rng)


class CoordinateRates:
    """q̇ from v: the same number for angles and lengths, ½ q ⊗ ω for orientations, R v for positions."""

    def __init__(self, model: lw.Model):
        self.plain_q, self.plain_v, self.turn_q, self.turn_v, self.shift_q, self.shift_v = ([] for _ in range(6))
        for i, joint in enumerate(model.joints):
            q, v = model.q_slice(i).start, model.v_slice(i).start
            if isinstance(joint, lw.Spherical | lw.Free):
                free = isinstance(joint, lw.Free)
                self.turn_q.append(q + (3 if free else 0))
                self.turn_v.append(v)
                if free:
                    self.shift_q.append(q)
                    self.shift_v.append(v + 3)
            else:
                self.plain_q += range(q, q + joint.nq)
                self.plain_v += range(v, v + joint.nv)

    def __call__(self, q, v):
        rates = np.zeros_like(q)
        rates[self.plain_q] = v[self.plain_v]
        for k, j in zip(self.turn_q, self.turn_v, strict=True):
            w, x = q[k], q[k + 1 : k + 4]
            omega = v[j : j + 3]
            rates[k] = -0.5 * x @ omega
            rates[k + 1 : k + 4] = 0.5 * (w * omega + np.cross(x, omega))
        for k, j in zip(self.shift_q, self.shift_v, strict=True):
            w, x, u = q[k + 3], q[k + 4 : k + 7], v[j : j + 3]
            t = 2.0 * np.cross(x, u)
            rates[k : k + 3] = u + w * t + np.cross(x, t)
        return rates


def run_rk4(model: lw.Model, state: lw.State, duration: float, steps: int, algorithm: str = "aba", watch=None):
    """Classical Runge-Kutta of order four in the coordinates; orientations are made unit at every stage.

    The field is smooth and keeps unit quaternions unit, so the order is four on the manifold as well.
    watch(state): called after every step. Returns the last state.
    """
    rates = CoordinateRates(model)
    h = duration / steps

    def field(q, v):
        unit = model.state(q, v)
        return rates(unit.q, unit.v), lw.forward_dynamics(model, unit, algorithm=algorithm)

    q, v = state
    for _ in range(steps):
        q1, v1 = field(q, v)
        q2, v2 = field(q + 0.5 * h * q1, v + 0.5 * h * v1)
        q3, v3 = field(q + 0.5 * h * q2, v + 0.5 * h * v2)
        q4, v4 = field(q + h * q3, v + h * v3)
        q = q + h / 6.0 * (q1 + 2.0 * q2 + 2.0 * q3 + q4)
        v = v + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
        q, v = model.state(q, v)
        if watch is not None:
            watch(lw.State(q, v))
    return lw.State(q, v)


@pytest.fixture(scope="session")
def rk4():
    return run_rk4


def fourth_order_derivative(f, h: float = 1e-3):
    """f'(0) from four values. Truncation h⁴ f⁗/30 and rounding ε f/h meet near 1e-12 for f of order one at h = 1e-3."""
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


@pytest.fixture(scope="session")
def derivative():
    return fourth_order_derivative


def motion_matrix(T) -> np.ndarray:
    """X that takes twists of the child frame to the parent frame, for the child's pose T (4, 4) in the parent."""
    R, (x, y, z) = T[:3, :3], T[:3, 3]
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R
    X[3:, :3] = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ R
    return X


@pytest.fixture(scope="session")
def twist_matrix():
    return motion_matrix
