"""Response: O(log n) questions to a linkage at one state. How does this body respond to a push there?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.bundles import describe
from linkwork.core.checks import choice
from linkwork.core.messages.describe import described
from linkwork.core.turns import TakesTurns
from linkwork.core.uncopied import Uncopied
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.digits import is_delicate, refuse_lost_digits
from linkwork.dynamics.inputs import (
    as_body,
    as_effort,
    as_finite,
    as_frame,
    as_model,
    as_state,
    as_wrenches,
    explain_failure,
    refuse_loops,
)
from linkwork.dynamics.paths import path_queries as paths
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.dynamics.paths.path_places import PLACE_COLUMNS, place_body, place_leaf_to_root
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State


@described
class Response(Uncopied, TakesTurns):
    """A linkage at one state, assembled once in O(n), for queries about single bodies and joints in O(log n).

    Bodies are given by name (or index), joints by name. Twists, accelerations and wrenches refer to the body's own frame at
    its origin. The name of a frame that is fixed in a body may stand wherever a body's may: they then refer to that frame,
    at its own origin. `set_wrench` and `set_effort` change one load and update its path only.
    Threads that share one wait for each other; to compute at the same time, give each thread its own.
    """

    def __init__(self, model: Model, state: State, effort: ArrayLike | None = None, wrenches: ArrayLike | None = None):
        refuse_loops(as_model(model, "Response"), "Response")
        self.model = model
        self._q, self._v = (x.copy() for x in as_state(model, state))
        self._solver = DcaSolver(model)
        load, external = as_effort(model, effort), as_wrenches(model, wrenches)
        self._solver.prepare(self._q, self._v, load, external)
        bad = self._solver.assemble()
        if bad >= 0 or not np.isfinite(self._solver.node_data).all():
            vectors = {"state.q": self._q, "state.v": self._v, "effort": load}
            raise explain_failure(model, "dca", bad, vectors, external)
        if is_delicate(model, merges_welds=True):
            qdd = np.empty(model.nv)
            self._solver.substitute(qdd)
            refuse_lost_digits(model, "Response", self._q, self._v, load, external, qdd)
        self._wrenches = external.copy() if external.size else np.zeros((model.n_bodies, 6))
        self._on_frames: dict[str, FloatArray] = {}  # wrenches beside these, in the frames of the bodies
        self._effort = load.copy() if load.size else np.zeros(model.nv)
        nodes = self._solver.assembly.nodes
        self._place = np.zeros((nodes.shape[0], PLACE_COLUMNS))
        self._S = np.zeros((model.nv, 6))
        tree, body, screws, *_ = model.arrays
        place_leaf_to_root(nodes, tree, body, screws, self._solver.joint_data, self._q, self._v, self._S, self._place)
        self._paths = solver_paths(self._solver)
        self._table = describe(self._paths)

    # ------------------------------------------------------------------------------------------------------------ places

    def pose(self, body: str | int) -> FloatArray:
        """World pose of a body (or of a frame welded to one) as a homogeneous matrix, shape (4, 4)."""
        index, T = as_body(self.model, body, world=isinstance(body, str)), np.eye(4)
        if index >= 0:
            row = self._placed(index)
            T[:3, :3], T[:3, 3] = row[:9].reshape(3, 3), row[9:12]
        return T @ self.model.frame(body).pose.matrix if isinstance(body, str) else T

    def twist(self, body: str | int) -> FloatArray:
        """Twist [ω; v] of a body in its own frame [rad/s, m/s], shape (6,)."""
        index, X = self._frame(body)
        return np.asarray(X @ self._placed(index)[12:18])

    def _placed(self, index: int) -> FloatArray:
        out = np.empty(18)
        assembly, joint_data, leaf = self._solver.assembly, self._solver.joint_data, self._solver.assembly.leaf[index]
        place_body(self.model.arrays, assembly.nodes, joint_data, self._q, self._v, self._S, self._place, leaf, out)
        return out

    # ----------------------------------------------------------------------------------------------- actual accelerations

    def acceleration(self, body: str | int) -> FloatArray:
        """Spatial acceleration of a body at the state, in its own frame [rad/s², m/s²], shape (6,)."""
        index, X = self._frame(body)
        a = np.array(self._actual(self._solver.assembly.leaf[index]))
        R = self._placed(index)[:9].reshape(3, 3)
        a[3:] += R.T @ self.model.gravity  # the solver lets the world accelerate by -g instead of pulling every body
        return self._checked(np.asarray(X @ a))

    def joint_acceleration(self, joint: str) -> FloatArray:
        """Acceleration of a joint at the state [rad/s² or m/s²], shape (its degrees of freedom,)."""
        index = self.model.joint(joint)
        self._actual(self._solver.assembly.joint[index])
        return self._checked(self._paths.joint_response[self.model.v_slice(index)].copy())

    def _actual(self, node: int) -> tuple[float, ...]:
        return paths.actual_acceleration(self._table, node)

    # ------------------------------------------------------------------------------------------------ causes and effects

    def body_response(
        self, of: str | int, *, wrench_on: str | int | None = None, wrench: ArrayLike | None = None,
        effort_on: str | None = None, effort: ArrayLike | None = None,
    ) -> FloatArray:  # fmt: skip
        """Change of a body's acceleration, in its frame, shape (6,), caused by a wrench on a body or an effort on a joint.

        wrench: [n; f], shape (6,), in the frame of the body `wrench_on`. effort: shape (freedoms of `effort_on`,).
        """
        index, X = self._frame(of)
        node = self._solver.assembly.leaf[index]
        return self._checked(X @ np.array(self._respond(node, wrench_on, wrench, effort_on, effort)))

    def joint_response(
        self, of: str, *, wrench_on: str | int | None = None, wrench: ArrayLike | None = None,
        effort_on: str | None = None, effort: ArrayLike | None = None,
    ) -> FloatArray:  # fmt: skip
        """Change of a joint's acceleration caused by a wrench on a body or an effort on a joint, as `body_response`."""
        index = self.model.joint(of)
        self._respond(self._solver.assembly.joint[index], wrench_on, wrench, effort_on, effort)
        return self._checked(self._paths.joint_response[self.model.v_slice(index)].copy())

    def _respond(
        self, target: int, wrench_on: str | int | None, wrench: ArrayLike | None, effort_on: str | None,
        effort: ArrayLike | None,
    ) -> tuple[float, ...]:  # fmt: skip
        if (wrench_on is None) == (effort_on is None):
            raise StateError("give either wrench_on= with wrench=, or effort_on= with effort=.")
        s = self._solver
        if wrench_on is not None:
            index, X = self._frame(wrench_on)
            self._paths.wrench[:] = X.T @ self._finite(wrench, (6,), "wrench")
            source = s.assembly.leaf[index]
        else:
            index = self.model.joint(str(effort_on))
            rows = self.model.v_slice(index)
            self._paths.no_effort[rows] = self._finite(effort, (rows.stop - rows.start,), "effort")
            source = s.assembly.joint[index]
        return paths.respond(self._table, source, target)

    def block(
        self,
        of: str | int,
        on: str | int,
        *,
        at_of: ArrayLike | None = None,
        at_on: ArrayLike | None = None,
        frame: str = "body",
    ) -> FloatArray:
        """The block of J M⁻¹ Jᵀ between two bodies: acceleration of `of` for a unit wrench on `on`.

        Without points the 6x6 block, in the two bodies' frames. With points `at_of`, `at_on` (each in its body's frame [m])
        the 3x3 block from a force at one to the acceleration of the other.
        frame: axes of both sides, "body" (each its own) or "world".
        """
        s = self._solver
        choice(frame, ("body", "world"), "frame")
        (a, Xa), (b, Xb) = self._frame(of), self._frame(on)
        out = np.empty((6, 6))
        paths.body_block(self._table, s.assembly.leaf[b], s.assembly.leaf[a], out)
        left, right = np.eye(6), np.eye(6)
        if (at_of is None) != (at_on is None):
            raise StateError("give both points at_of= and at_on=, or none.")
        if at_of is not None:
            left = self._point_matrix(at_of, "at_of")
            right = self._point_matrix(at_on, "at_on").T
        if frame == "world":
            Ra, Rb = self.pose(of)[:3, :3], self.pose(on)[:3, :3]
            left = np.kron(np.eye(left.shape[0] // 3), Ra) @ left
            right = right @ np.kron(np.eye(right.shape[1] // 3), Rb).T
        with np.errstate(over="ignore", invalid="ignore"):
            return self._checked(left @ Xa @ out @ Xb.T @ right)

    def _point_matrix(self, point: ArrayLike | None, what: str) -> FloatArray:
        """Takes an acceleration of the body to that of one of its points, shape (3, 6)."""
        x, y, z = self._finite(point, (3,), what)
        return np.hstack([-np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), np.eye(3)])

    # ------------------------------------------------------------------------------------------------------ changing loads

    def set_wrench(self, body: str | int, wrench: ArrayLike) -> None:
        """Replaces the external wrench on a body, in its frame; only the body's path is updated.

        A frame has a wrench of its own, at its origin, beside those on its body and on other frames of it.
        """
        index, X = self._frame(body)
        new = X.T @ self._finite(wrench, (6,), "wrench")
        if isinstance(body, str) and body in self.model.frames:
            old = self._on_frames.setdefault(body, np.zeros(6))
        else:
            old = self._wrenches[index]
        self._update(self._solver.assembly.leaf[index], new - old)
        old[:] = new

    def set_effort(self, joint: str, effort: ArrayLike) -> None:
        """Replaces the effort on a joint; only its path is updated."""
        index = self.model.joint(joint)
        rows = self.model.v_slice(index)
        new = self._finite(effort, (rows.stop - rows.start,), "effort")
        change = new - self._effort[rows]
        self._paths.no_effort[rows] = change
        self._update(self._solver.assembly.joint[index], np.zeros(6))
        self._solver.effort_sum[rows] += change
        self._effort[rows] = new

    def _update(self, node: int, wrench: FloatArray) -> None:
        self._paths.wrench[:] = wrench
        paths.update_bias(self._table, node)

    # ------------------------------------------------------------------------------------------------------------- inputs

    @staticmethod
    def _checked(response: FloatArray) -> FloatArray:
        """A response, unless finite numbers overflowed on the way; what was set before may have done so."""
        if not np.isfinite(response).all():
            raise StateError(
                "Response overflowed: wrenches, efforts or points are too large. Make another one with smaller numbers."
            )
        return response

    def _frame(self, body: str | int) -> tuple[int, FloatArray]:
        return as_frame(self.model, body)

    def _finite(self, value: ArrayLike | None, shape: tuple[int, ...], what: str) -> FloatArray:
        return as_finite(value, shape, what, self.model)
