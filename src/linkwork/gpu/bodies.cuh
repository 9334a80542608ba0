// Forward dynamics body by body (articulated-body algorithm, docs/theory/forward_dynamics.md), for many samples of a small linkage:
// the same equations as dynamics/aba.py. A body collects from its children, so bodies of one depth can be done by different threads.

LW_FN Vec6 applied_wrench(const Tables& T, long long i, long long b) {
  Vec6 f = zero6();
  if (T.has_wrenches) {
    long long k = 6 * (long long)T.number[i];
    LW_UNROLL for (int c = 0; c < 6; c++) f.x[c] = T.wrenches[(k + c) * T.batch + b];
  }
  return f;
}

LW_FN void total_effort(const Tables& T, long long i, long long b) {
  for (int d = 0; d < T.dof[i]; d++) {
    long long at = (T.v0[i] + d) * T.batch + b;
    T.total[at] = T.effort[at];
  }
  add_passive_effort(T, i, b, T.total);
}

// V = X V_λ + S q̇,  c = c_J + V x S q̇
LW_FN void velocity_of_body(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Motion m = body_motion(T, i, b);
  Vec6 V = m.V;
  if (T.parent[i] >= 0) {
    Item parent = of_body(T, T.parent[i], b);
    V = add(twist_to_child(m.T, load6(T.twist, parent.stride, parent.at)), V);
  }
  store_pose(T.pose, body.stride, body.at, m.T);
  store<6>(T.twist, body.stride, body.at, V.x);
  store<6>(T.rate, body.stride, body.at, add(m.c, cross_motion(V, m.V)).x);
  total_effort(T, i, b);
}

// U = I S, D = Sᵀ U + J (its factor), u = τ - Sᵀ p of one body's joint.
template <int D>
struct Pivot {
  Vec6 U[D];
  Real u[D], n;
  Sym6 N;
};

template <int D>
LW_FN bool pivot(const Freedoms<D>& F, const Sym6& I, const Vec6& p, Pivot<D>& out) {
  LW_UNROLL for (int a = 0; a < D; a++) out.U[a] = times(I, F.S[a]), out.u[a] = F.Q[a] - dot(F.S[a], p);
  if constexpr (D == 1) {
    Real N = dot(F.S[0], out.U[0]) + F.J[0];
    out.n = 1 / N;
    const Real* s = F.S[0].x;
    // What N would be, at most, for an inertia of this size: below rounding of that, the joint resists with nothing.
    Real most = (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) * (I.m[0] + I.m[2] + I.m[5]);
    most += (s[3] * s[3] + s[4] * s[4] + s[5] * s[5]) * (I.m[9] + I.m[14] + I.m[20]);
    return N > smallest_pivot() * most;
  } else {
    LW_UNROLL for (int a = 0; a < D; a++) {
      LW_UNROLL for (int c = 0; c <= a; c++) out.N.m[LW_AT(a, c)] = dot(F.S[a], out.U[c]) + (a == c ? F.J[a] : 0);
    }
    return factor(out.N);
  }
}

// Adds what body i and all beyond it weigh at its parent: Xᵀ (I - U D⁻¹ Uᵀ) X and Xᵀ (p + I_a c + U D⁻¹ u).
template <int D>
LW_FN void add_to_parent(const Tables& T, long long i, long long b, Sym6& I_parent, Vec6& p_parent) {
  Item body = of_body(T, i, b);
  Sym6 I;
  load<21>(T.articulated, body.stride, body.at, I.m);
  Vec6 p = load6(T.articulated + 21 * body.stride, body.stride, body.at), lift = zero6();
  Pivot<D> P;
  if (!pivot(freedoms<D>(T, i, b), I, p, P)) report_failure(T, i);
  if constexpr (D == 1) {
    LW_UNROLL for (int r = 0; r < 6; r++) {
      LW_UNROLL for (int q = 0; q <= r; q++) I.m[LW_AT(r, q)] -= P.n * P.U[0].x[r] * P.U[0].x[q];
    }
    lift = scale(P.n * P.u[0], P.U[0]);
  } else {
    Vec6 H[6], h;  // rows of U times the inverse factor: U D⁻¹ Uᵀ = H Hᵀ
    LW_UNROLL for (int a = 0; a < D; a++) h.x[a] = P.u[a];
    h = forward(P.N, h);
    LW_UNROLL for (int q = 0; q < 6; q++) {
      LW_UNROLL for (int a = 0; a < D; a++) H[q].x[a] = P.U[a].x[q];
      H[q] = forward(P.N, H[q]);
      lift.x[q] = dot(H[q], h);
    }
    LW_UNROLL for (int r = 0; r < 6; r++) {
      LW_UNROLL for (int q = 0; q <= r; q++) I.m[LW_AT(r, q)] -= dot(H[r], H[q]);
    }
  }
  p = add(add(p, lift), times(I, load6(T.rate, body.stride, body.at)));
  const Pose X = load_pose(T.pose, body.stride, body.at);
  I = congruent(I, ToParent{X});
  LW_UNROLL for (int e = 0; e < 21; e++) I_parent.m[e] += I.m[e];
  p_parent = add(p_parent, wrench_to_parent(X, p));
}

LW_FN void inertia_of_body(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Sym6 I = rigid_inertia(T, i, b);
  Vec6 V = load6(T.twist, body.stride, body.at);
  Vec6 p = sub(cross_force(V, times(I, V)), applied_wrench(T, i, b));
  for (int k = T.child_first[i]; k < T.child_first[i + 1]; k++) {
    long long child = T.child[k];
    if (T.dof[child] > 1)
      add_to_parent<6>(T, child, b, I, p);
    else
      add_to_parent<1>(T, child, b, I, p);
  }
  store<21>(T.articulated, body.stride, body.at, I.m);
  store<6>(T.articulated + 21 * body.stride, body.stride, body.at, p.x);
}

// a' = X a_λ + c,  q̈ = D⁻¹ (u - Uᵀ a'),  a = a' + S q̈. The twist's place takes the acceleration.
template <int D>
LW_FN void acceleration_of_body(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Vec6 a;
  if (T.parent[i] >= 0) {
    Item parent = of_body(T, T.parent[i], b);
    a = load6(T.twist, parent.stride, parent.at);
  } else {
    a = world_acceleration(T, b);
  }
  a = add(twist_to_child(load_pose(T.pose, body.stride, body.at), a), load6(T.rate, body.stride, body.at));
  Sym6 I;
  load<21>(T.articulated, body.stride, body.at, I.m);
  Vec6 p = load6(T.articulated + 21 * body.stride, body.stride, body.at), x = zero6();
  Freedoms<D> F = freedoms<D>(T, i, b);
  Pivot<D> P;
  if (!pivot(F, I, p, P)) report_failure(T, i);
  LW_UNROLL for (int k = 0; k < D; k++) x.x[k] = P.u[k] - dot(P.U[k], a);
  if constexpr (D == 1)
    x.x[0] *= P.n;
  else
    x = backward(P.N, forward(P.N, x));
  LW_UNROLL for (int k = 0; k < D; k++) {
    if (k < T.dof[i]) T.qdd[(T.v0[i] + k) * T.batch + b] = x.x[k];
    a = add(a, scale(x.x[k], F.S[k]));
  }
  store<6>(T.twist, body.stride, body.at, a.x);
}
