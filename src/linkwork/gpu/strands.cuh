// Strands (assembly/levels.py): some bodies without branches one behind the other, joints of at most one freedom, done by one thread body
// after body: the lowest levels of the assembly tree without a way through memory for each node. With the wrenches f1 and f2 that a
// strand's first and last body get from outside, and their accelerations a1 and a2, a strand is first
//   f1 = I a1 + p - Q f2,   a2 = Qᵀ a1 + G f2 + g
// (of one body I, p = -f, Q = 1, G = g = 0), which each joint before it changes as in the articulated-body algorithm; then, as every
// cluster, Φ11 = I⁻¹, Φ21 = Qᵀ I⁻¹, Φ22 = Qᵀ I⁻¹ Q + G, b1 = -I⁻¹ p, b2 = Qᵀ b1 + g.

struct Tail {  // of a strand, from some body to its last
  Sym6 I, G;
  Vec6 Q[6], p, g;  // Q: its columns
};

LW_FN int strand_body(const Tables& T, int k, long long r) { return k < T.strand_length ? T.strand_body[k * T.strands + r] : -1; }

// The last body alone.
LW_FN void start_tail(const Tables& T, long long i, long long b, Tail& x) {
  Item body = of_body(T, i, b);
  x.I = rigid_inertia(T, i, b);
  x.p = scale(-1, load6(T.force, body.stride, body.at));
  x.g = zero6();
  LW_UNROLL for (int e = 0; e < 21; e++) x.G.m[e] = 0;
  LW_UNROLL for (int q = 0; q < 6; q++) {
    x.Q[q] = zero6();
    x.Q[q].x[q] = 1;
  }
}

// Over joint i, which carries the tail, to the frame before it. U/D, h/D and u/D are kept: q̈ = u/D + h/D · f2 - U/D · a'.
LW_FN bool pass_tail(const Tables& T, long long i, long long b, Tail& x) {
  Item body = of_body(T, i, b);
  Freedoms<1> F = freedoms<1>(T, i, b);
  Pivot<1> P;
  bool ok = pivot(F, x.I, x.p, P);
  const Pose X = load_pose(T.pose, body.stride, body.at);
  const Vec6 c = load6(T.rate, body.stride, body.at), U = scale(P.n, P.U[0]);
  Real u = P.n * P.u[0];
  store<6>(T.pivots, body.stride, body.at, U.x);
  T.pivots[12 * body.stride + body.at] = u;
  LW_UNROLL for (int r = 0; r < 6; r++) {
    LW_UNROLL for (int q = 0; q <= r; q++) x.I.m[LW_AT(r, q)] -= U.x[r] * P.U[0].x[q];
  }
  x.p = add(add(x.p, scale(P.u[0], U)), times(x.I, c));
  Vec6 h;
  LW_UNROLL for (int q = 0; q < 6; q++) {
    h.x[q] = dot(F.S[0], x.Q[q]);
    x.Q[q] = sub(x.Q[q], scale(h.x[q], U));
    x.g.x[q] += h.x[q] * u + dot(x.Q[q], c);
    x.Q[q] = wrench_to_parent(X, x.Q[q]);
  }
  LW_UNROLL for (int r = 0; r < 6; r++) {
    Real share = P.n * h.x[r];
    T.pivots[(6 + r) * body.stride + body.at] = share;
    LW_UNROLL for (int q = 0; q <= r; q++) x.G.m[LW_AT(r, q)] += share * h.x[q];
  }
  x.I = congruent(x.I, ToParent{X});
  x.p = wrench_to_parent(X, x.p);
  return ok;
}

LW_FN void assemble_strand(const Tables& T, long long r, long long b) {
  int last = 1;
  while (strand_body(T, last + 1, r) >= 0) last++;
  Tail x;
  start_tail(T, strand_body(T, last, r), b, x);
  for (int k = last; k > 0; k--) {
    if (!pass_tail(T, strand_body(T, k, r), b, x)) report_failure(T, strand_body(T, k, r));
    long long i = strand_body(T, k - 1, r);
    Item body = of_body(T, i, b);
    Sym6 I = rigid_inertia(T, i, b);
    LW_UNROLL for (int e = 0; e < 21; e++) x.I.m[e] += I.m[e];
    x.p = sub(x.p, load6(T.force, body.stride, body.at));
  }
  Item at = of_slot(T, T.strand_slot[r], b);
  if (!factor(x.I)) report_failure(T, strand_body(T, 0, r));
  Vec6 b1 = forward(x.I, scale(-1, x.p));
  LW_UNROLL for (int q = 0; q < 6; q++) {
    x.Q[q] = forward(x.I, x.Q[q]);
    T.bottom[(21 + q) * at.stride + at.at] = x.g.x[q] + dot(x.Q[q], b1);
    LW_UNROLL for (int l = 0; l <= q; l++) T.bottom[LW_AT(q, l) * at.stride + at.at] = x.G.m[LW_AT(q, l)] + dot(x.Q[q], x.Q[l]);
  }
  LW_UNROLL for (int q = 0; q < 6; q++) {
    Vec6 row = backward(x.I, x.Q[q]);
    LW_UNROLL for (int l = 0; l < 6; l++) T.cross[(6 * q + l) * at.stride + at.at] = row.x[l];
  }
  b1 = backward(x.I, b1);
  store<6>(T.top + 21 * at.stride, at.stride, at.at, b1.x);
  Sym6 phi = inverse(x.I);
  store<21>(T.top, at.stride, at.at, phi.m);
}

// Accelerations of a strand's joints, first to last, from the wrenches on its ends.
LW_FN void pass_strand(const Tables& T, long long r, long long b) {
  Item at = of_slot(T, T.strand_slot[r], b);
  const Vec6 f1 = load6(T.input, at.stride, at.at), f2 = load6(T.input + 6 * at.stride, at.stride, at.at);
  Sym6 phi;
  load<21>(T.top, at.stride, at.at, phi.m);
  Vec6 a = add(times(phi, f1), load6(T.top + 21 * at.stride, at.stride, at.at)), through = f1;
  LW_UNROLL for (int q = 0; q < 6; q++) {
    LW_UNROLL for (int l = 0; l < 6; l++) a.x[l] += T.cross[(6 * q + l) * at.stride + at.at] * f2.x[q];
  }
  long long before = strand_body(T, 0, r);
  for (int k = 1; k < T.strand_length; k++) {
    long long i = strand_body(T, k, r);
    if (i < 0) return;
    Item body = of_body(T, i, b);
    const Pose X = load_pose(T.pose, body.stride, body.at);
    if (T.through) {  // what the body before got and does not need for itself
      Item other = of_body(T, before, b);
      through = add(through, sub(load6(T.force, other.stride, other.at), times(rigid_inertia(T, before, b), a)));
      through = wrench_to_child(X, through);
      store<6>(T.through, body.stride, body.at, through.x);
      before = i;
    }
    a = add(twist_to_child(X, a), load6(T.rate, body.stride, body.at));
    Real qdd = T.pivots[12 * body.stride + body.at];
    qdd -= dot(load6(T.pivots, body.stride, body.at), a);
    qdd += dot(load6(T.pivots + 6 * body.stride, body.stride, body.at), f2);
    if (T.dof[i]) T.qdd[T.v0[i] * T.batch + b] = qdd;
    a = add(a, scale(qdd, load6(T.column, T.bodies, i)));
  }
}

// Pose of a strand's last body in its first, and motion of the one relative to the other: as `stretch_join`.
LW_FN void stretch_strand(const Tables& T, long long r, long long b) {
  Item at = of_slot(T, T.strand_slot[r], b);
  Stretch x{identity_pose(), zero6()};
  for (int k = 1; k < T.strand_length; k++) {
    long long i = strand_body(T, k, r);
    if (i < 0) break;
    Item body = of_body(T, i, b);
    const Pose X = load_pose(T.pose, body.stride, body.at);
    x.T = compose(x.T, X);
    x.u = add(twist_to_child(X, x.u), load6(T.rate, body.stride, body.at));
  }
  store_pose(T.cross, at.stride, at.at, x.T);
  store<6>(T.cross + 12 * at.stride, at.stride, at.at, x.u.x);
}

// From the motion of a strand's first body to that of every body.
LW_FN void spread_strand(const Tables& T, long long r, long long b) {
  Item at = of_slot(T, T.strand_slot[r], b);
  Vec6 V = load6(T.input, at.stride, at.at);
  for (int k = 0; k < T.strand_length; k++) {
    long long i = strand_body(T, k, r);
    if (i < 0) return;
    Item body = of_body(T, i, b);
    if (k) V = add(twist_to_child(load_pose(T.pose, body.stride, body.at), V), load6(T.rate, body.stride, body.at));
    store<6>(T.moved, body.stride, body.at, V.x);
  }
}
