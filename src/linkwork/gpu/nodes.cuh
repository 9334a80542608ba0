// The arithmetic of one node of the assembly tree: docs/theory/dca.md, equation by equation. One thread does one node in one sample,
// in registers. M = C Cᵀ (Cholesky) takes the place of L D Lᵀ, so D = 1 in equations (10) and (11).

// A cluster as its parent node reads it. A single body has one block for both handles and between them (2).
struct Cluster {
  const Real *phi11, *phi22, *phi21, *b1, *b2;
  long long stride, bias_stride;
  bool is_body;

  LW_METHOD Real at11(int e) const { return phi11[e * stride]; }
  LW_METHOD Real at22(int e) const { return phi22[e * stride]; }
  LW_METHOD Real at21(int i, int j) const { return is_body ? phi11[LW_AT(i, j) * stride] : phi21[(6 * i + j) * stride]; }
};

LW_FN Cluster cluster_at(const Tables& T, int child, long long b) {
  Cluster c;
  if (child < 0) {  // a body without branches: Φ = I⁻¹ from the model's table, b = Φ f
    Item body = of_body(T, -1 - child, b), inertia = of_inertia(T, -1 - child, b);
    c.phi11 = c.phi22 = c.phi21 = T.phi + inertia.at;
    c.b1 = c.b2 = T.force + body.at;
    c.stride = inertia.stride, c.bias_stride = body.stride, c.is_body = true;
    return c;
  }
  Item slot = of_slot(T, child, b);
  c.stride = c.bias_stride = slot.stride;
  c.is_body = (T.node[child] & 3) == BODY;
  c.phi11 = T.top + slot.at;
  c.b1 = c.phi11 + 21 * slot.stride;
  c.phi22 = c.is_body ? c.phi11 : T.bottom + slot.at;
  c.b2 = c.phi22 + 21 * slot.stride;
  c.phi21 = T.cross + slot.at;
  return c;
}

// What joint freedoms make of a gap: s = C⁻¹ S, N = sᵀ s + J, and N⁻¹ Q.
template <int D>
struct Constraint {
  Vec6 s[D];
  Real J[D], lift[D];  // lift: N⁻¹ Q
  Real n, alpha;       // of one freedom: N⁻¹ and the step of (11), α = (1 - √(J/N)) / ρ written without a difference
  Sym6 N;              // of several: Cholesky factor of N
};

template <int D>
LW_FN bool constrain(const Sym6& C, const Freedoms<D>& F, Constraint<D>& K) {
  LW_UNROLL for (int a = 0; a < D; a++) K.s[a] = forward(C, F.S[a]), K.J[a] = F.J[a];
  if constexpr (D == 1) {
    Real N = dot(K.s[0], K.s[0]) + K.J[0];
    K.n = 1 / N;
    K.alpha = K.n / (1 + root(K.J[0] * K.n));
    K.lift[0] = K.n * F.Q[0];
    return N > 0;
  } else {
    LW_UNROLL for (int a = 0; a < D; a++) {
      LW_UNROLL for (int c = 0; c <= a; c++) K.N.m[LW_AT(a, c)] = dot(K.s[a], K.s[c]) + (a == c ? K.J[a] : 0);
    }
    bool ok = factor(K.N);
    Vec6 Q;
    LW_UNROLL for (int a = 0; a < D; a++) Q.x[a] = F.Q[a];
    Q = backward(K.N, forward(K.N, Q));
    LW_UNROLL for (int a = 0; a < D; a++) K.lift[a] = Q.x[a];
    return ok;
  }
}

// t ← t - s G, with G = N⁻¹ k, or α k for one freedom; returns kᵀ N⁻¹ Q, k = sᵀ t.                                    (10), (11)
template <int D>
LW_FN Real project(const Constraint<D>& K, Vec6& t, Vec6& G) {
  Real lift = 0;
  if constexpr (D == 1) {
    Real k = dot(K.s[0], t);
    lift = k * K.lift[0];
    t = sub(t, scale(K.alpha * k, K.s[0]));
  } else {
    LW_UNROLL for (int a = 0; a < D; a++) G.x[a] = dot(K.s[a], t), lift += G.x[a] * K.lift[a];
    G = backward(K.N, forward(K.N, G));
    LW_UNROLL for (int a = 0; a < D; a++) t = sub(t, scale(G.x[a], K.s[a]));
  }
  return lift;
}

// A product with W: of projected columns, and what armature leaves along several freedoms (after (11)).
template <int D>
LW_FN Real product(const Constraint<D>& K, const Vec6& y, const Vec6& Gy, const Vec6& z, const Vec6& Gz) {
  Real x = dot(y, z);
  if constexpr (D > 1) {
    LW_UNROLL for (int a = 0; a < D; a++) x += K.J[a] * Gy.x[a] * Gz.x[a];
  }
  return x;
}

// What the way back needs of a joint: the factor C of M, and β.
LW_FN void keep_elimination(const Tables& T, const Item& at, const Sym6& C, const Vec6& beta) {
  store<21>(T.keep, at.stride, at.at, C.m);
  store<6>(T.keep + 21 * at.stride, at.stride, at.at, beta.x);
}

// ------------------------------------------------------------------------------------------------------------ leaf to root

template <int D>
LW_FN bool join(const Tables& T, long long s, long long b) {
  long long i = T.index[s];
  Item at = of_slot(T, s, b), joint = of_body(T, i, b);
  const Cluster A = cluster_at(T, T.left[s], b), B = cluster_at(T, T.right[s], b);
  const Pose X = load_pose(T.pose, joint.stride, joint.at);
  Sym6 M;
  LW_UNROLL for (int e = 0; e < 21; e++) M.m[e] = A.at22(e);
  M = congruent(M, ToChild{X});
  LW_UNROLL for (int e = 0; e < 21; e++) M.m[e] += B.at11(e);                                                        // (4)
  Vec6 beta = sub(twist_to_child(X, load6(A.b2, A.bias_stride, 0)), load6(B.b1, B.bias_stride, 0));
  beta = add(beta, load6(T.rate, joint.stride, joint.at));                                                           // (4)
  bool ok = factor(M);
  keep_elimination(T, at, M, beta);
  Constraint<D> K;
  ok = constrain(M, freedoms<D>(T, i, b), K) && ok;
  Vec6 Y[6], GY[D > 1 ? 6 : 1], G, G_eta, eta = forward(M, beta);
  project(K, eta, G_eta);
  LW_UNROLL for (int q = 0; q < 6; q++) {  // Y: columns of C⁻¹ P21, projected                                            (10)
    LW_UNROLL for (int l = 0; l < 6; l++) Y[q].x[l] = A.at21(l, q);
    Y[q] = forward(M, twist_to_child(X, Y[q]));
    Real lift = project(K, Y[q], G);
    if constexpr (D > 1) GY[q] = G;
    T.top[(21 + q) * at.stride + at.at] = A.b1[q * A.bias_stride] - product(K, Y[q], G, eta, G_eta) - lift;          // (6)
  }
  LW_UNROLL for (int r = 0; r < 6; r++) {
    LW_UNROLL for (int q = 0; q <= r; q++)
      T.top[LW_AT(r, q) * at.stride + at.at] =
          A.at11(LW_AT(r, q)) - product(K, Y[r], GY[D > 1 ? r : 0], Y[q], GY[D > 1 ? q : 0]);                        // (10)
  }
  if (T.node[s] & 8) return ok;  // a HANG above asks only for the upper handle
  Vec6 Z[6], GZ[D > 1 ? 6 : 1];
  LW_UNROLL for (int q = 0; q < 6; q++) {  // Z: columns of C⁻¹ Φ12ᴮ, projected
    LW_UNROLL for (int l = 0; l < 6; l++) Z[q].x[l] = B.at21(q, l);
    Z[q] = forward(M, Z[q]);
    Real lift = project(K, Z[q], G);
    if constexpr (D > 1) GZ[q] = G;
    T.bottom[(21 + q) * at.stride + at.at] = B.b2[q * B.bias_stride] + product(K, Z[q], G, eta, G_eta) + lift;       // (6)
    LW_UNROLL for (int r = 0; r < 6; r++)
      T.cross[(6 * q + r) * at.stride + at.at] = product(K, Z[q], G, Y[r], GY[D > 1 ? r : 0]);                       // (10)
  }
  LW_UNROLL for (int r = 0; r < 6; r++) {
    LW_UNROLL for (int q = 0; q <= r; q++)
      T.bottom[LW_AT(r, q) * at.stride + at.at] =
          B.at22(LW_AT(r, q)) - product(K, Z[r], GZ[D > 1 ? r : 0], Z[q], GZ[D > 1 ? q : 0]);                        // (10)
  }
  return ok;
}

template <int D>
LW_FN bool hang(const Tables& T, long long s, long long b) {
  long long i = T.index[s];
  Item at = of_slot(T, s, b), joint = of_body(T, i, b);
  const Cluster B = cluster_at(T, T.left[s], b);
  const Pose X = load_pose(T.pose, joint.stride, joint.at);
  Sym6 M;
  LW_UNROLL for (int e = 0; e < 21; e++) M.m[e] = B.at11(e);
  Vec6 beta = sub(load6(T.rate, joint.stride, joint.at), load6(B.b1, B.bias_stride, 0));
  bool ok = factor(M);
  keep_elimination(T, at, M, beta);
  Constraint<D> K;
  ok = constrain(M, freedoms<D>(T, i, b), K) && ok;
  Vec6 Y[6], GY[D > 1 ? 6 : 1], G, G_eta, eta = forward(M, beta);
  project(K, eta, G_eta);
  LW_UNROLL for (int q = 0; q < 6; q++) {  // columns of C⁻¹ X
    Vec6 unit = zero6();
    unit.x[q] = 1;
    Y[q] = forward(M, twist_to_child(X, unit));
    Real lift = project(K, Y[q], G);
    if constexpr (D > 1) GY[q] = G;
    T.top[(21 + q) * at.stride + at.at] = product(K, Y[q], G, eta, G_eta) + lift;                                    // (7)
  }
  LW_UNROLL for (int r = 0; r < 6; r++) {
    LW_UNROLL for (int q = 0; q <= r; q++)
      T.top[LW_AT(r, q) * at.stride + at.at] = product(K, Y[r], GY[D > 1 ? r : 0], Y[q], GY[D > 1 ? q : 0]);         // (7)
  }
  return ok;
}

// A body that took over its branches.
LW_FN bool body_with_branches(const Tables& T, long long s, long long b) {
  long long i = T.index[s];
  Item at = of_slot(T, s, b), body = of_body(T, i, b), branch = of_slot(T, T.left[s], b);
  Sym6 M = rigid_inertia(T, i, b);
  LW_UNROLL for (int e = 0; e < 21; e++) M.m[e] += T.top[e * branch.stride + branch.at];
  Vec6 f = sub(load6(T.force, body.stride, body.at), load6(T.top + 21 * branch.stride, branch.stride, branch.at));
  bool ok = factor(M);
  Vec6 a = backward(M, forward(M, f));
  Sym6 phi = inverse(M);
  store<21>(T.top, at.stride, at.at, phi.m);                                                                         // (9)
  store<6>(T.top + 21 * at.stride, at.stride, at.at, a.x);
  return ok;
}

LW_FN void add_branches(const Tables& T, long long s, long long b) {
  Item at = of_slot(T, s, b), one = of_slot(T, T.left[s], b), other = of_slot(T, T.right[s], b);
  LW_UNROLL for (int e = 0; e < 27; e++)
    T.top[e * at.stride + at.at] = T.top[e * one.stride + one.at] + T.top[e * other.stride + other.at];              // (8)
}

// A sixth of it, for six threads per node.
LW_FN void add_branches_row(const Tables& T, long long s, long long b, int q) {
  Item at = of_slot(T, s, b), one = of_slot(T, T.left[s], b), other = of_slot(T, T.right[s], b);
  for (int e = q; e < 27; e += 6)
    T.top[e * at.stride + at.at] = T.top[e * one.stride + one.at] + T.top[e * other.stride + other.at];              // (8)
}

// ------------------------------------------------------------------------------------------------------------ root to leaf

// q̈ of joint i and the wrench f through it, from the gap y.                                                               (5)
template <int D>
LW_FN Vec6 pass_joint(const Tables& T, long long i, long long b, const Sym6& C, const Vec6& y) {
  Freedoms<D> F = freedoms<D>(T, i, b);
  Constraint<D> K;
  constrain(C, F, K);
  Vec6 t = forward(C, y), x = zero6();
  LW_UNROLL for (int a = 0; a < D; a++) x.x[a] = F.Q[a] - dot(K.s[a], t);
  if constexpr (D == 1)
    x.x[0] *= K.n;
  else
    x = backward(K.N, forward(K.N, x));
  LW_UNROLL for (int a = 0; a < D; a++) {
    if (a < T.dof[i]) T.qdd[(T.v0[i] + a) * T.batch + b] = x.x[a];
    t = add(t, scale(x.x[a], K.s[a]));
  }
  Vec6 f = backward(C, t);
  if (T.through) {
    Item joint = of_body(T, i, b);
    store<6>(T.through, joint.stride, joint.at, f.x);
  }
  return f;
}

LW_FN void hand_down(const Tables& T, int child, long long b, const Vec6& f1, const Vec6& f2) {
  if (child < 0) return;  // a single body: its joints are done
  Item at = of_slot(T, child, b);
  store<6>(T.input, at.stride, at.at, f1.x);
  store<6>(T.input + 6 * at.stride, at.stride, at.at, f2.x);
}

template <int D>
LW_FN void pass_join(const Tables& T, long long s, long long b) {
  long long i = T.index[s];
  Item at = of_slot(T, s, b), joint = of_body(T, i, b);
  const Cluster A = cluster_at(T, T.left[s], b), B = cluster_at(T, T.right[s], b);
  const Pose X = load_pose(T.pose, joint.stride, joint.at);
  Vec6 f1 = load6(T.input, at.stride, at.at), f2 = load6(T.input + 6 * at.stride, at.stride, at.at);
  Vec6 upper = zero6(), y = load6(T.keep + 21 * at.stride, at.stride, at.at);
  LW_UNROLL for (int l = 0; l < 6; l++) {
    LW_UNROLL for (int q = 0; q < 6; q++) {
      upper.x[l] += A.at21(l, q) * f1.x[q];
      y.x[l] -= B.at21(q, l) * f2.x[q];
    }
  }
  y = add(y, twist_to_child(X, upper));                                                                              // (4)
  Sym6 C;
  load<21>(T.keep, at.stride, at.at, C.m);
  Vec6 f = pass_joint<D>(T, i, b, C, y);
  hand_down(T, T.left[s], b, f1, scale(-1, wrench_to_parent(X, f)));
  hand_down(T, T.right[s], b, f, f2);
}

template <int D>
LW_FN void pass_hang(const Tables& T, long long s, long long b) {
  long long i = T.index[s];
  Item at = of_slot(T, s, b), joint = of_body(T, i, b);
  const Pose X = load_pose(T.pose, joint.stride, joint.at);
  Vec6 a = load6(T.input, at.stride, at.at);
  Vec6 y = add(twist_to_child(X, a), load6(T.keep + 21 * at.stride, at.stride, at.at));
  Sym6 C;
  load<21>(T.keep, at.stride, at.at, C.m);
  hand_down(T, T.left[s], b, pass_joint<D>(T, i, b, C, y), zero6());
}

LW_FN void pass_body(const Tables& T, long long s, long long b) {
  Item at = of_slot(T, s, b);
  Vec6 f = add(load6(T.input, at.stride, at.at), load6(T.input + 6 * at.stride, at.stride, at.at));
  Sym6 phi;
  load<21>(T.top, at.stride, at.at, phi.m);
  Vec6 a = add(times(phi, f), load6(T.top + 21 * at.stride, at.stride, at.at));
  hand_down(T, T.left[s], b, a, zero6());
}

LW_FN void pass_branches(const Tables& T, long long s, long long b) {
  Item at = of_slot(T, s, b);
  Vec6 a = load6(T.input, at.stride, at.at);
  hand_down(T, T.left[s], b, a, zero6());
  hand_down(T, T.right[s], b, a, zero6());
}
