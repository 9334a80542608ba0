"""The published form of the total acceleration, A(C) = fᵀΨf + fᵀp + η, in NumPy: a comparison, not used by any solver.

Redon and Lin (2006), equations 8 and 9, in the notation of `node_equations` (handles in their own frames, X between them)
and for the four kinds of nodes of our assembly tree. The form squares every number it carries: where large forces nearly
cancel, as in a hanging cable, what is left of A(C) is rounding, of either sign, and the error bound built on it is lost.
`total_acceleration` carries the square root instead. Derivation and figures: docs/theory/total_acceleration.md.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.reference import node_equations as eq
from linkwork.reference.plain_dca import PlainDca

Array = NDArray[np.floating]


class Quadratic(NamedTuple):
    """A(C) = f1ᵀΨ11 f1 + 2 f2ᵀΨ21 f1 + f2ᵀΨ22 f2 + f1ᵀp1 + f2ᵀp2 + η; a branch has its carrier's acceleration for f1."""

    psi11: Array
    psi21: Array
    psi22: Array
    p1: Array
    p2: Array
    eta: float

    def at(self, f1: Array, f2: Array) -> float:
        """A(C) for the inputs of a node; rounding may make it negative."""
        square = f1 @ self.psi11 @ f1 + 2.0 * (f2 @ self.psi21 @ f1) + f2 @ self.psi22 @ f2
        return float(square + f1 @ self.p1 + f2 @ self.p2 + self.eta)


NOTHING = Quadratic(np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6), np.zeros(6), 0.0)


class Choice(NamedTuple):
    """What a best-first descent computed."""

    qdd: Array  # (nv,)  zero where not computed
    computed: list[int]  # bodies whose joints were computed
    bound: float  # the error that A(C) of the frontier claims, relative to the largest joint acceleration computed


class PsiForm:
    """Ψ, p and η of every node over the plain coefficients of divide and conquer.

    weights: metric weight of each squared acceleration, shape (nv,); ones by default.
    Cost: O(n), some 0.2 ms per joint.
    """

    def __init__(self, dca: PlainDca, weights: Array | None = None):
        self.dca = dca
        self.root_weights = np.sqrt(np.ones(dca.model.nv) if weights is None else np.asarray(weights, dtype=float))
        self.forms: list[Quadratic] = []
        for row in dca.assembly.nodes:
            self.forms.append(self._form(row))

    def _form(self, row: NDArray[np.int64]) -> Quadratic:
        kind, left, right, i = (int(row[column]) for column in (NODE_KIND, LEFT, RIGHT, INDEX))
        below = self.forms[left] if left >= 0 else NOTHING
        if kind == JOIN:
            return self._join(left, right, i)
        if kind == HANG:
            return self._hang(left, i)
        if kind == BODY:
            return carried(below, self.dca.nodes[len(self.forms)]) if left >= 0 else NOTHING
        other = self.forms[right]  # branches of one carrier see one acceleration: their forms add up
        return below._replace(psi11=below.psi11 + other.psi11, p1=below.p1 + other.p1, eta=below.eta + other.eta)

    def _join(self, left: int, right: int, i: int) -> Quadratic:
        A, B = self.dca.nodes[left], self.dca.nodes[right]
        assert isinstance(A, eq.Cluster)
        assert isinstance(B, eq.Cluster)
        joint = self.dca.joints[i]
        X = joint.X
        P21, beta = X @ A.phi12.T, X @ A.b2 - B.b1 + joint.c
        W, U, R, gamma = self._answer(X @ A.phi22 @ X.T + B.phi11, joint, beta, i)
        a, b = self.forms[left], self.forms[right]
        psi = X @ a.psi22 @ X.T + b.psi11  # Ψ2ᴬ + Ψ1ᴮ, in the child's frame
        p = X @ a.p2 - b.p1
        a21, phi12 = X @ a.psi21, B.phi12
        Y = U.T @ U + W @ psi @ W
        Z = 2.0 * U.T @ R + W @ p - 2.0 * W @ psi @ gamma
        across = P21.T @ W @ a21
        along = phi12.T @ W @ b.psi21.T
        return Quadratic(  # equation 9 of Redon and Lin
            psi11=a.psi11 + P21.T @ Y @ P21 - (across + across.T),
            psi21=-phi12.T @ Y @ P21 + phi12.T @ W @ a21 + b.psi21 @ W @ P21,
            psi22=b.psi22 + phi12.T @ Y @ phi12 - (along + along.T),
            p1=a.p1 - P21.T @ Z - 2.0 * a21.T @ gamma,
            p2=b.p2 + phi12.T @ Z + 2.0 * b.psi21 @ gamma,
            eta=float(a.eta + b.eta + R @ R + gamma @ psi @ gamma - gamma @ p),
        )

    def _hang(self, left: int, i: int) -> Quadratic:
        """The same with the coefficients of A zero and the carrier's acceleration for the force: y = X a."""
        B, joint, b = self.dca.nodes[left], self.dca.joints[i], self.forms[left]
        assert isinstance(B, eq.Cluster)
        W, U, R, gamma = self._answer(B.phi11, joint, joint.c - B.b1, i)
        Y = U.T @ U + W @ b.psi11 @ W
        Z = 2.0 * U.T @ R - W @ b.p1 - 2.0 * W @ b.psi11 @ gamma
        eta = b.eta + R @ R + gamma @ b.psi11 @ gamma + gamma @ b.p1
        return NOTHING._replace(psi11=joint.X.T @ Y @ joint.X, p1=-joint.X.T @ Z, eta=float(eta))

    def _answer(self, M: Array, joint: eq.Joint, beta: Array, i: int) -> tuple[Array, Array, Array, Array]:
        """W, U, R and γ: a joint answers a gap y + β by f = W y + γ and, in the metric, A^½ q̈ = R - U y."""
        V, N_inv, W = eq.constrain(M, joint)
        U = N_inv @ joint.S.T @ V
        scale = self.root_weights[self.dca.model.v_slice(i)]
        R = scale * (N_inv @ joint.Q - U @ beta)
        return W, scale[:, None] * U, R, W @ beta + V @ joint.S @ N_inv @ joint.Q

    def choose(self, tolerance: float) -> Choice:
        """Best-first back-substitution until √A of every node left is at most `tolerance` times the largest acceleration.

        As published, but for negative A(C), which count as zero: there is no root to take.
        """
        dca, model = self.dca, self.dca.model
        qdd, computed, largest = np.zeros(model.nv), [], 0.0
        base = np.concatenate([np.zeros(3), -model.gravity])
        frontier: list[tuple[float, int, Array, Array]] = []

        def push(node: int, f1: Array, f2: Array) -> None:
            heapq.heappush(frontier, (-self.forms[node].at(f1, f2), -node, f1, f2))

        if dca.assembly.root >= 0:
            push(dca.assembly.root, base, np.zeros(6))
        while frontier and math.sqrt(max(0.0, -frontier[0][0])) > tolerance * largest:
            _, number, f1, f2 = heapq.heappop(frontier)
            kind, left, right, i = dca.assembly.nodes[-number, [NODE_KIND, LEFT, RIGHT, INDEX]].tolist()
            if kind in (JOIN, HANG):
                x, children = self._pass(kind, left, right, i, f1, f2)
                rows = model.v_slice(i)
                qdd[rows] = x
                computed.append(i)
                largest = max(largest, float(np.linalg.norm(self.root_weights[rows] * x)))
                for child in children:
                    push(*child)
            elif kind == BODY and left >= 0:
                cluster = dca.nodes[-number]
                push(left, cluster.phi11 @ (f1 + f2) + cluster.b1, np.zeros(6))  # type: ignore[union-attr]
            elif kind != BODY:
                push(left, f1, f2)
                push(right, f1, f2)
        worst = math.sqrt(max(0.0, -frontier[0][0])) if frontier else 0.0
        return Choice(qdd, sorted(computed), worst / largest if largest > 0.0 else 0.0)

    def _pass(
        self, kind: int, left: int, right: int, i: int, f1: Array, f2: Array
    ) -> tuple[Array, list[tuple[int, Array, Array]]]:
        """q̈ of a joint and the inputs of its node's children."""
        nodes, joint = self.dca.nodes, self.dca.joints[i]
        if kind == HANG:
            x, f = eq.pass_hang(nodes[left], joint, f1)  # type: ignore[arg-type]
            return x, [(left, f, np.zeros(6))]
        x, f = eq.pass_join(nodes[left], nodes[right], joint, f1, f2)  # type: ignore[arg-type]
        return x, [(left, f1, -joint.X.T @ f), (right, f, f2)]


def carried(branch: Quadratic, body: eq.Cluster | eq.Branch) -> Quadratic:
    """A(C) of what hangs from a body, over the wrenches on the body: its acceleration is a = Φ (f1 + f2) + b."""
    assert isinstance(body, eq.Cluster)
    phi, b = body.phi11, body.b1
    psi = phi @ branch.psi11 @ phi
    p = phi @ (branch.p1 + 2.0 * branch.psi11 @ b)
    return Quadratic(psi, psi, psi, p, p, float(branch.eta + b @ branch.p1 + b @ branch.psi11 @ b))
