// The nodes of joints of one freedom again, six threads per node: thread q does column q. The same equations (docs/theory/dca.md) in a
// third of the time: a sixth of the instructions one after the other, and registers for more threads. What the columns must know
// of each other goes through `share`, 32 nodes side by side. Between phases all columns of a node wait for each other.

enum { SHARE_G = 0, SHARE_M = 36, SHARE_Z = 57, SHARED = 93, NODES_OF_BLOCK = 32 };

struct Share {
  Real* at;  // entry e of this node is at[e * NODES_OF_BLOCK]
  LW_METHOD Real& operator[](int e) const { return at[e * NODES_OF_BLOCK]; }
};

// What thread q keeps between phases.
struct Column {
  Vec6 y, z;
};

LW_FN void store_row(Real* table, const Item& at, int row, int entry, Real value) {
  table[(row + entry) * at.stride + at.at] = value;
}

// Thread q stores the entries that are its own of numbers all six have.
template <int N>
LW_FN void store_mine(Real* table, const Item& at, int q, const Real* values) {
  LW_UNROLL for (int e = 0; e < N; e++)
    if (e % 6 == q) table[e * at.stride + at.at] = values[e];
}

LW_FN Sym6 shared_matrix(const Share& share) {
  Sym6 M;
  LW_UNROLL for (int e = 0; e < 21; e++) M.m[e] = share[SHARE_M + e];
  return M;
}

// Phase 1: column q of X Φ22ᴬ.
LW_FN void column_1(const Tables& T, long long s, long long b, int q, const Share& share) {
  if ((T.node[s] & 3) != JOIN) return;
  Item joint = of_body(T, T.index[s], b);
  const Cluster A = cluster_at(T, T.left[s], b);
  Vec6 column;
  LW_UNROLL for (int l = 0; l < 6; l++) column.x[l] = A.at22(l >= q ? l * (l + 1) / 2 + q : q * (q + 1) / 2 + l);
  column = twist_to_child(load_pose(T.pose, joint.stride, joint.at), column);
  LW_UNROLL for (int l = 0; l < 6; l++) share[SHARE_G + 6 * l + q] = column.x[l];
}

// Phase 2: row q of M, its lower half. JOIN: X Φ22ᴬ Xᵀ + Φ11ᴮ (4). HANG: Φ11. BODY: I + K (9).
LW_FN void column_2(const Tables& T, long long s, long long b, int q, const Share& share) {
  int kind = T.node[s] & 3, row = q * (q + 1) / 2;
  if (kind == JOIN) {
    Item joint = of_body(T, T.index[s], b);
    const Cluster B = cluster_at(T, T.right[s], b);
    Vec6 g;
    LW_UNROLL for (int l = 0; l < 6; l++) g.x[l] = share[SHARE_G + 6 * q + l];
    g = twist_to_child(load_pose(T.pose, joint.stride, joint.at), g);
    LW_UNROLL for (int l = 0; l < 6; l++)
      if (l <= q) share[SHARE_M + row + l] = g.x[l] + B.at11(row + l);
  } else if (kind == HANG) {
    const Cluster B = cluster_at(T, T.left[s], b);
    LW_UNROLL for (int l = 0; l < 6; l++)
      if (l <= q) share[SHARE_M + row + l] = B.at11(row + l);
  } else if (kind == BODY) {
    Item branch = of_slot(T, T.left[s], b);
    Sym6 I = rigid_inertia(T, T.index[s], b);
    LW_UNROLL for (int e = 0; e < 21; e++)
      if (e >= row && e <= row + q) share[SHARE_M + e] = I.m[e] + T.top[e * branch.stride + branch.at];
  } else {
    add_branches_row(T, s, b, q);
  }
}

// Phase 3: factor of M, gap and constraint (all six alike), then columns q of Y and Z and biases.            (4), (6), (7), (10)
LW_FN bool column_3(const Tables& T, long long s, long long b, int q, const Share& share, Column& my) {
  int kind = T.node[s] & 3;
  if (kind == SUM) return true;
  long long i = T.index[s];
  Item at = of_slot(T, s, b), joint = of_body(T, i, b);
  Sym6 M = shared_matrix(share);
  bool ok = factor(M);
  if (kind == BODY) {  // column q of Φ = (I + K)⁻¹, and b = Φ (f - p)
    Item branch = of_slot(T, T.left[s], b);
    Vec6 unit = zero6();
    LW_UNROLL for (int l = 0; l < 6; l++) unit.x[l] = l == q;
    my.y = backward(M, forward(M, unit));
    Vec6 f = sub(load6(T.force, joint.stride, joint.at), load6(T.top + 21 * branch.stride, branch.stride, branch.at));
    store_row(T.top, at, 21, q, dot(my.y, f));                                                                       // (9)
    return ok;
  }
  const Pose X = load_pose(T.pose, joint.stride, joint.at);
  const Cluster B = cluster_at(T, kind == JOIN ? T.right[s] : T.left[s], b);
  Vec6 beta = sub(load6(T.rate, joint.stride, joint.at), load6(B.b1, B.bias_stride, 0)), unused;
  if (kind == JOIN) {
    const Cluster A = cluster_at(T, T.left[s], b);
    beta = add(beta, twist_to_child(X, load6(A.b2, A.bias_stride, 0)));
    LW_UNROLL for (int l = 0; l < 6; l++) my.y.x[l] = A.at21(l, q);
  } else {
    LW_UNROLL for (int l = 0; l < 6; l++) my.y.x[l] = l == q;
  }
  store_mine<21>(T.keep, at, q, M.m);
  store_mine<6>(T.keep + 21 * at.stride, at, q, beta.x);
  Constraint<1> K;
  ok = constrain(M, freedoms<1>(T, i, b), K) && ok;
  Vec6 eta = forward(M, beta);
  project(K, eta, unused);
  my.y = forward(M, twist_to_child(X, my.y));
  Real lift = project(K, my.y, unused), bias = dot(my.y, eta) + lift;
  LW_UNROLL for (int l = 0; l < 6; l++) share[SHARE_G + 6 * q + l] = my.y.x[l];
  if (kind == HANG) {
    store_row(T.top, at, 21, q, bias);                                                                               // (7)
    return ok;
  }
  const Cluster A = cluster_at(T, T.left[s], b);
  store_row(T.top, at, 21, q, A.b1[q * A.bias_stride] - bias);                                                       // (6)
  if (T.node[s] & 8) return ok;  // a HANG above asks only for the upper handle
  LW_UNROLL for (int l = 0; l < 6; l++) my.z.x[l] = B.at21(q, l);
  my.z = forward(M, my.z);
  lift = project(K, my.z, unused);
  store_row(T.bottom, at, 21, q, B.b2[q * B.bias_stride] + dot(my.z, eta) + lift);                                   // (6)
  LW_UNROLL for (int l = 0; l < 6; l++) share[SHARE_Z + 6 * q + l] = my.z.x[l];
  return ok;
}

LW_FN Real shared_dot(const Share& share, int from, int column, const Vec6& y) {
  Real x = 0;
  LW_UNROLL for (int l = 0; l < 6; l++) x += share[from + 6 * column + l] * y.x[l];
  return x;
}

// Phase 4: row q of the symmetric blocks (lower half) and of Φ21.                                                      (7), (10)
LW_FN void column_4(const Tables& T, long long s, long long b, int q, const Share& share, const Column& my) {
  int kind = T.node[s] & 3, row = q * (q + 1) / 2;
  if (kind == SUM) return;
  Item at = of_slot(T, s, b);
  if (kind != JOIN) {  // HANG: K. BODY: Φ, of which thread q has column q.
    LW_UNROLL for (int l = 0; l < 6; l++)
      if (l <= q) store_row(T.top, at, row, l, kind == BODY ? my.y.x[l] : shared_dot(share, SHARE_G, l, my.y));
    return;
  }
  const Cluster A = cluster_at(T, T.left[s], b), B = cluster_at(T, T.right[s], b);
  LW_UNROLL for (int l = 0; l < 6; l++)
    if (l <= q) store_row(T.top, at, row, l, A.at11(row + l) - shared_dot(share, SHARE_G, l, my.y));
  if (T.node[s] & 8) return;
  LW_UNROLL for (int l = 0; l < 6; l++)
    if (l <= q) store_row(T.bottom, at, row, l, B.at22(row + l) - shared_dot(share, SHARE_Z, l, my.z));
  LW_UNROLL for (int l = 0; l < 6; l++) store_row(T.cross, at, 6 * q, l, shared_dot(share, SHARE_G, l, my.z));
}
