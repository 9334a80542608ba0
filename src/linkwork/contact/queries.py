"""Questions of planners: how far apart are two bodies, how much room is there, does anything overlap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.assembly.plan import assemble_model
from linkwork.contact.broad_phase import Finder
from linkwork.contact.geometry.solids import PLANE
from linkwork.contact.model_search import make_finder, measure_pair, search
from linkwork.contact.points import name_of
from linkwork.contact.settings import Contact
from linkwork.contact.shape_table import entities_by_name, shape_table
from linkwork.contact.tables import CLEARANCE, COLLISION, FOUND_A, FOUND_B, FOUND_NORMAL, LEAST, MODE, SHAPE_S, SHAPE_T
from linkwork.contact.volumes import all_open, make_volumes, place_nodes, refit
from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.core.jit import inlined, kernel
from linkwork.core.messages.describe import described, tabled
from linkwork.core.messages.names import did_you_mean
from linkwork.core.turns import TakesTurns
from linkwork.dynamics.inputs import UNIT_TOLERANCE, as_model, as_state, check_orientations
from linkwork.errors import ModelError, StateError
from linkwork.model.kernels.joint_kernels import body_pose
from linkwork.model.layout import PARENT
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.spatial.memory import load3, load9, store3, store9
from linkwork.spatial.vectors import compose_pose

STACK_TOO_SHORT = "the search for contacts ran out of room; this is a fault of Linkwork, please report the model"


@tabled
class Closest(NamedTuple):
    """The nearest points of two bodies or obstacles."""

    distance: float  # [m]; negative: depth of penetration
    point_a: FloatArray  # (3,) nearest point of a in the world [m]
    point_b: FloatArray  # (3,)
    normal: FloatArray  # (3,) unit vector from b to a
    names: tuple[str, str]  # bodies or obstacles


@described
class Collisions(TakesTurns):
    """Distances for many states of one model: memory and tables are made once. Threads that share one wait for each other.

    settings: which pairs count (`self_contact`, `ignore`); friction and the like do not matter here.
    """

    def __init__(self, model: Model, settings: Contact | None = None):
        as_model(model, "Collisions")
        if settings is not None and not isinstance(settings, Contact):
            raise StateError(f"settings must be lw.Contact(...), not {shown(settings)}.")
        self.model, self.settings = model, settings or Contact()
        self.table = shape_table(model, self.settings)
        assembly = assemble_model(model)
        self.volumes = make_volumes(assembly, self.table)
        self.open_nodes = all_open(self.volumes)
        self.finder: Finder = make_finder(self.table, self.volumes, assembly.depth)
        self._poses = np.zeros((model.n_bodies, 12))
        self._still = np.zeros((model.n_bodies, 6))

    def clearance(self, state: State) -> Closest | None:
        """The smallest distance between anything that may touch; None where there is nothing to touch."""
        self._ask(as_state(self.model, state)[0][None], CLEARANCE)
        query = self.finder.query
        if math.isinf(query[LEAST]):
            return None
        return self._closest(self._name(int(query[SHAPE_S])), self._name(int(query[SHAPE_T])))

    def collide(self, q: ArrayLike) -> NDArray[np.bool_]:
        """Whether anything overlaps in each of many states, shape (m,); q: coordinates, shape (m, nq)."""
        return self._ask(self._coordinates(q), COLLISION) < 0.0

    def clearances(self, q: ArrayLike) -> FloatArray:
        """The smallest distance in each of many states [m], shape (m,); q: coordinates, shape (m, nq)."""
        return self._ask(self._coordinates(q), CLEARANCE)

    def _coordinates(self, q: ArrayLike) -> FloatArray:
        """Of many states, shape (m, nq), finite."""
        try:
            states = np.ascontiguousarray(q, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise StateError(f"q must be numbers of shape (m, {self.model.nq}), not {shown(q)}.") from None
        if states.ndim != 2 or states.shape[1] != self.model.nq:
            raise StateError(
                f"q has shape {states.shape}; {self.model!r} needs (m, {self.model.nq}), one row per state."
            )
        odd = np.argwhere(~np.isfinite(states))
        if odd.size:
            row, column = odd[0].tolist()
            raise StateError(f"q[{row}, {column}] is {states[row, column]}; give finite numbers.")
        first = self.model.quaternions
        norm2 = sum(states[:, first + k] ** 2 for k in range(4))
        bad = np.flatnonzero(~(np.abs(norm2 - 1.0) <= UNIT_TOLERANCE).all(axis=1)) if first.size else ()
        for row in bad[:1]:
            check_orientations(self.model, states[row])
        return states

    def closest(self, state: State, a: str, b: str) -> Closest:
        """The nearest points of two bodies or obstacles, whether or not they may touch."""
        q, _ = as_state(self.model, state)
        place_bodies(self.model.arrays.tree, self.model.arrays.body, self.model.arrays.screws, q, self._poses)
        run_a, run_b = self._shapes_of(a), self._shapes_of(b)
        if all(self.table.kind[s] == PLANE for s in (*run_a, *run_b)):
            raise ModelError(f"'{a}' and '{b}' are planes; the distance of planes is not defined.")
        nearest(self.finder, self._poses, np.array(run_a, dtype=np.int64), np.array(run_b, dtype=np.int64))
        return self._closest(a, b)

    def _ask(self, states: FloatArray, mode: float) -> FloatArray:
        out = np.empty(len(states))
        memory = self.finder, self.open_nodes, self._poses, self._still
        done = least_distances(self.model.arrays, states, *memory, mode, self.settings.self_contact, out)
        if not done:
            raise StateError(STACK_TOO_SHORT)
        return out

    def _closest(self, a: str, b: str) -> Closest:
        query = self.finder.query
        return Closest(
            float(query[LEAST]),
            query[FOUND_A : FOUND_A + 3].copy(),
            query[FOUND_B : FOUND_B + 3].copy(),
            query[FOUND_NORMAL : FOUND_NORMAL + 3].copy(),
            (a, b),
        )

    def _name(self, shape: int) -> str:
        return name_of(self.model, int(self.table.entity[shape]))

    def _shapes_of(self, name: str) -> list[int]:
        if not isinstance(name, str):
            raise StateError(f"a body or obstacle is named by a text, not {shown(name)}.")
        model = self.model
        obstacles = [one for one, _ in model.obstacles]
        if name not in {*obstacles, *model.body_names, *model.frames, *model.merged_into, "world"}:
            near = did_you_mean(name, [*model.body_names, *obstacles]) or "."
            raise ModelError(f"model '{model.name}' has no body or obstacle '{name}'{near}")
        found = np.flatnonzero(np.isin(self.table.entity, entities_by_name(model)(name))).tolist()
        if not found:
            raise ModelError(f"'{name}' has no shape that can touch; give it shapes, or ask for another body.")
        return found


def _collisions(model: Model, settings: Contact | None = None) -> Collisions:
    """One `Collisions` per model, settings and thread."""
    as_model(model, "a clearance")
    kept = model.workspaces.__dict__.setdefault("collisions", {})
    if settings not in kept:
        kept[settings] = Collisions(model, settings)
    found: Collisions = kept[settings]
    return found


def closest(model: Model, state: State, a: str, b: str) -> Closest:
    """The nearest points of two bodies or obstacles, by name; `sim.closest(a, b)` in a simulation as it is now.

    Cost: O(n) for the poses, then one distance per pair of shapes.
    """
    return _collisions(model).closest(state, a, b)


def clearance(model: Model, state: State) -> Closest | None:
    """The smallest distance between anything that may touch: bodies and obstacles, and bodies with each other.

    Bodies joined to each other and pairs in `ignore_contact` do not count. None where there is nothing to touch.
    `sim.clearance()` in a simulation as it is now.
    """
    return _collisions(model).clearance(state)


def in_collision(model: Model, state: State) -> bool:
    """Whether anything overlaps in a state; `sim.in_collision()` in a simulation as it is now.

    For many states, `Collisions(model).collide(q)` asks once.
    """
    q, _ = as_state(model, state)
    return bool(_collisions(model).collide(q[None])[0])


@kernel
def place_bodies(tree, body, screws, q, poses):
    """Writes the world poses of all bodies into poses (n, 12)."""
    for i in range(tree.shape[0]):
        R, p = body_pose(tree, body, screws, i, q)
        parent = tree[i, PARENT]
        if parent >= 0:
            R, p = compose_pose(load9(poses, parent, 0), load3(poses, parent, 9), R, p)
        store9(poses, i, 0, R)
        store3(poses, i, 9, p)


@kernel
def least_distances(arrays, states, finder, open_nodes, poses, still, mode, self_contact, out):
    """Smallest distance in each state (m, nq); in mode COLLISION the search ends at the first overlap."""
    for m in range(states.shape[0]):
        place_bodies(arrays.tree, arrays.body, arrays.screws, states[m], poses)
        place_nodes(finder.volumes, poses, still)
        refit(finder.volumes, open_nodes, 0.0)
        begin_question(finder, poses, mode, m > 0)
        if not search(finder, open_nodes, self_contact):
            return False
        out[m] = finder.query[LEAST]
    return True


@inlined
def begin_question(finder, poses, mode, goes_on):
    """A distance that the result cannot exceed: where a planner asks on, that of the pair which was nearest before."""
    query = finder.query
    query[MODE] = mode
    known = goes_on and mode == CLEARANCE and query[LEAST] < np.inf
    query[LEAST] = 1e-300 if mode == COLLISION else np.inf
    if known:
        measure_pair(finder, poses, int(query[SHAPE_S]), int(query[SHAPE_T]))


@kernel
def nearest(finder, poses, run_a, run_b):
    """The smallest distance between two sets of shapes."""
    query = finder.query
    query[MODE], query[LEAST] = CLEARANCE, np.inf
    for s in run_a:
        for t in run_b:
            measure_pair(finder, poses, s, t)
