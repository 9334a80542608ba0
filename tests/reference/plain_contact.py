"""Contact with dense matrices: semi-implicit Euler, the whole mass matrix inverted in every step. Slow on purpose.

Tests compare simulations with it. It calls the same search and the same solvers; everything between the two is NumPy.
"""

from __future__ import annotations

import numpy as np

from linkwork.assembly.plan import assemble_model
from linkwork.contact.broad_phase import STACK_FULL
from linkwork.contact.contact_list import BODY_A, BODY_B, COUNT, NEEDED, make_contacts
from linkwork.contact.model_search import find_all_contacts, make_finder
from linkwork.contact.settings import Contact
from linkwork.contact.shape_table import mean_size, shape_table
from linkwork.contact.solver.allocation import make_problem, make_system
from linkwork.contact.solver.problem import Problem, System
from linkwork.contact.volumes import all_open, make_volumes
from linkwork.core.arrays import FloatArray
from linkwork.dynamics.api import forward_dynamics, mass_matrix
from linkwork.dynamics.quantities.motion import body_jacobian, body_poses, body_twists
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.spatial.rotations import quaternion_matrix
from tests.reference.contact_alone import solve_alone


class PlainContact:
    """A linkage that touches itself and the world.

    effort: joint efforts of every step [N·m or N], shape (nv,).
    """

    def __init__(self, model: Model, state: State, settings: Contact | None = None, effort: FloatArray | None = None):
        self.model, self.settings, self.effort = model, settings or Contact(), effort
        self.q, self.v = state.q.copy(), state.v.copy()
        self.table = shape_table(model, self.settings)
        assembly = assemble_model(model)
        self.volumes = make_volumes(assembly, self.table)
        self.open_nodes = all_open(self.volumes)
        self.finder = make_finder(self.table, self.volumes, assembly.depth)
        self.margin = self.settings.margin or 1e-3 * mean_size(self.table)
        self.problem: Problem = make_problem(0, 0)
        self.system: System = make_system(1, 1)
        self._limit_impulse: dict[tuple[int, float], float] = {}

    @property
    def state(self) -> State:
        return State(self.q, self.v)

    @property
    def count(self) -> int:
        return int(self.finder.contacts.number[COUNT])

    def step(self, h: float, n: int = 1) -> None:
        for _ in range(n):
            self._step(h)

    def _step(self, h: float) -> None:
        model, before = self.model, self.state
        acceleration = forward_dynamics(model, before, self.effort)
        v_free = self._seen_from_old_frames(self.v + h * acceleration, h)
        self.find(State(self.q, v_free), h)
        M = np.asarray(np.linalg.inv(mass_matrix(model, before)), dtype=np.float64)
        J = self.assemble_problem(before, v_free, M, h)
        self.solve(h)
        self.v = v_free + M @ (J.T @ self.problem.impulse)
        moved = self.v + M @ (J.T @ self.problem.push)
        self.q = self._go_straight(before.q, model.integrate(self.q, moved, h), moved, h)
        self._turn_with_frames(h)

    def _free_joints(self) -> list[int]:
        """Where the velocities (ω; v), in the body's own axes, of free joints begin."""
        tree = self.model.arrays.tree
        return tree[tree[:, layout.KIND] == layout.FREE, layout.V].tolist()

    def _seen_from_old_frames(self, v: FloatArray, h: float) -> FloatArray:
        """A free joint's acceleration counts the turning of its axes (-ω x v); contact is solved in the axes before it."""
        for j in self._free_joints():
            v[j + 3 : j + 6] += h * np.cross(self.v[j : j + 3], self.v[j + 3 : j + 6])
        return v

    def _go_straight(self, old: FloatArray, new: FloatArray, v: FloatArray, h: float) -> FloatArray:
        """Free joints go straight, not along the screw of their twist: contact was solved for that."""
        tree = self.model.arrays.tree
        for i in np.flatnonzero(tree[:, layout.KIND] == layout.FREE):
            k, j = tree[i, layout.Q], tree[i, layout.V]
            R = np.reshape(quaternion_matrix(tuple(old[k + 3 : k + 7])), (3, 3))
            new[k : k + 3] = old[k : k + 3] + h * R @ v[j + 3 : j + 6]
        return new

    def _turn_with_frames(self, h: float) -> None:
        """The axes of free joints have turned: the same velocities in the new ones."""
        for j in self._free_joints():
            w = h * self.v[j : j + 3]
            angle = np.linalg.norm(w)
            if angle > 0.0:
                v, n = self.v[j + 3 : j + 6].copy(), w / angle
                turned = v * np.cos(angle) - np.cross(n, v) * np.sin(angle) + n * (n @ v) * (1.0 - np.cos(angle))
                self.v[j + 3 : j + 6] = turned

    def find(self, state: State, h: float) -> None:
        """Lists the contacts; the list grows where it is too short."""
        T = body_poses(self.model, state)
        poses = np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
        twists = body_twists(self.model, state, frame="world")
        follow = h if self.settings.continuous else 0.0
        while True:
            found = find_all_contacts(
                self.finder, self.open_nodes, poses, twists, self.margin, follow, self.settings.self_contact
            )
            if found == STACK_FULL:
                raise StateError("the stack of the search is too short")
            needed = int(self.finder.contacts.number[NEEDED])
            if needed <= self.finder.contacts.ids.shape[0]:
                return
            self.finder = self.finder._replace(contacts=make_contacts(2 * needed))

    def assemble_problem(self, state: State, v_free: FloatArray, M: FloatArray, h: float) -> FloatArray:
        """Fills the problem; returns the Jacobian (s, nv) of all its velocities."""
        model, contacts = self.model, self.finder.contacts
        ids = contacts.ids[: self.count]
        bodies = sorted({int(b) for b in ids[:, [BODY_A, BODY_B]].ravel() if b >= 0})
        body_number = {body: k for k, body in enumerate(bodies)}
        limits = self._near_limits(h, v_free)
        problem = make_problem(len(bodies), self.count, len(limits))
        rows = [body_jacobian(model, state, b, frame="world") for b in bodies]
        unit = np.eye(model.nv)[[j for j, _, _ in limits]].reshape(-1, model.nv)
        J = np.concatenate([*rows, unit]).reshape(-1, model.nv)
        problem.Lambda[:] = J @ M @ J.T
        problem.v_free[:], problem.v_before[:] = J @ v_free, J @ state.v
        if bodies:
            problem.origin[:] = body_poses(model, state)[bodies, :3, 3]
            problem.body_number[:] = [
                [body_number[int(a)], body_number.get(int(b), -1)] for a, b in ids[:, [BODY_A, BODY_B]]
            ]
        for i, (j, sign, gap) in enumerate(limits):
            problem.limit[i] = sign, gap, self.settings.restitution
            problem.limit_impulse[i] = self._limit_impulse.get((j, sign), 0.0)
        self._limits, self.problem = limits, problem
        self.system = make_system(3 * self.count + len(limits), J.shape[0])
        return J

    def _near_limits(self, h: float, v_free: FloatArray) -> list[tuple[int, float, float]]:
        """Joint coordinates that could reach a limit in this step: place in v, sign, distance."""
        found = []
        for i in range(self.model.n_bodies):
            if self.model.arrays.tree[i, layout.KIND] in (layout.SPHERICAL, layout.FREE):
                continue
            for j in range(*self.model.v_slice(i).indices(self.model.nv)):
                q = self.q[self.model.q_slice(i).start + j - self.model.v_slice(i).start]
                for sign, gap in ((1.0, q - self.model.lower[j]), (-1.0, self.model.upper[j] - q)):
                    if gap + min(0.0, 2.0 * h * sign * v_free[j]) < 1e-3:
                        found.append((j, sign, gap))
        return found

    def solve(self, h: float) -> bool:
        s = self.settings
        numbers = np.array([s.tolerance, s.max_sweeps, s.rest_speed, s.correction, 0.0])
        good = solve_alone(self.finder.contacts, self.problem, self.system, h, numbers, s.law)
        self._limit_impulse = {
            (j, sign): x for (j, sign, _), x in zip(self._limits, self.problem.limit_impulse, strict=True)
        }
        return good
