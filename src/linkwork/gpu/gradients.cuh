// Gradients of forward dynamics, docs/theory/derivatives.md: with weights λ, μ = M⁻¹λ and virtual twists w = X w_λ + S μ, sums over all
// that hangs from a body of F = I a + V x* I V - f_ext, A = I w and B, own part -w x* I V - I (V x w), to which children add Xᵀ (B + (S q̇) x* A).
// The same equations as derivatives/sweeps/adjoint.py, whose gradients are those of -L here. On the assembly tree F and A are the wrenches through the
// joints in the two solves, for q̈ and for μ; a and w follow from them body by body. Sums of I a and I w over long linkages would cost digits.

struct Three {
  Vec6 F, A, B;
};

LW_FN Three load_three(const Tables& T, const Item& at) {
  return Three{load6(T.passed, at.stride, at.at), load6(T.momentum, at.stride, at.at), load6(T.twisted, at.stride, at.at)};
}

LW_FN Three to_parent(const Pose& X, const Three& a) {
  return Three{wrench_to_parent(X, a.F), wrench_to_parent(X, a.A), wrench_to_parent(X, a.B)};
}

// ------------------------------------------------------------------------------------------------------------- bodies and nodes

// Loads of the second solve: efforts λ on a linkage at rest, without gravity.
LW_FN void take_weights_of(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Vec6 none = zero6();
  store<6>(T.rate, body.stride, body.at, none.x);
  store<6>(T.force, body.stride, body.at, none.x);
  for (int d = 0; d < T.dof[i]; d++) {
    long long at = (T.v0[i] + d) * T.batch + b;
    T.total[at] = T.weights[at];
  }
}

LW_FN Vec6 joint_twist(const Tables& T, long long i, long long b, const Real* x) {  // S x
  Freedoms<6> F = freedoms<6>(T, i, b);
  Vec6 V = zero6();
  for (int a = 0; a < T.dof[i]; a++) V = add(V, scale(x[(T.v0[i] + a) * T.batch + b], F.S[a]));
  return V;
}

// Gradient of x · I y with respect to mass, first moment and moments of inertia.
LW_FN void bilinear(const Vec6& x, const Vec6& y, Real* out) {
  const Real *u = x.x, *a = x.x + 3, *w = y.x, *c = y.x + 3;
  Real cu[3], wa[3];
  cross3(c, u, cu);
  cross3(w, a, wa);
  out[0] = a[0] * c[0] + a[1] * c[1] + a[2] * c[2];
  LW_UNROLL for (int d = 0; d < 3; d++) out[1 + d] = cu[d] - wa[d];
  out[4] = u[0] * w[0], out[5] = u[0] * w[1] + u[1] * w[0], out[6] = u[0] * w[2] + u[2] * w[0];
  out[7] = u[1] * w[1], out[8] = u[1] * w[2] + u[2] * w[1], out[9] = u[2] * w[2];
}

LW_FN void inertia_gradient(const Tables& T, const Item& body, const Vec6& w, const Vec6& a, const Vec6& V, const Vec6& bent) {
  if (!T.by_inertia) return;
  Real one[10], other[10];
  bilinear(w, a, one);
  bilinear(bent, V, other);
  LW_UNROLL for (int e = 0; e < 10; e++) T.by_inertia[e * body.stride + body.at] = other[e] - one[e];
}

// On the assembly tree: a and w of a body from the wrenches through its joints; its own part of B, with what children add by A, into `force`.
LW_FN void body_shares_of(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b), inertia = of_inertia(T, i, b);
  Sym6 I = rigid_inertia(T, i, b), phi;
  load<21>(T.phi, inertia.stride, inertia.at, phi.m);
  Vec6 V = load6(T.twist, body.stride, body.at), h = times(I, V), B = zero6();
  Vec6 Ia = load6(T.passed, body.stride, body.at), Iw = load6(T.momentum, body.stride, body.at);
  for (int k = T.child_first[i]; k < T.child_first[i + 1]; k++) {
    Item child = of_body(T, T.child[k], b);
    const Pose X = load_pose(T.pose, child.stride, child.at);
    Vec6 A = load6(T.momentum, child.stride, child.at);
    Ia = sub(Ia, wrench_to_parent(X, load6(T.passed, child.stride, child.at)));
    Iw = sub(Iw, wrench_to_parent(X, A));
    B = add(B, wrench_to_parent(X, cross_force(load6(T.rate, child.stride, child.at), A)));
  }
  Ia = add(sub(Ia, cross_force(V, h)), applied_wrench(T, i, b));
  Vec6 a = times(phi, Ia), w = times(phi, Iw), bent = cross_motion(V, w);
  B = sub(B, add(cross_force(w, h), times(I, bent)));
  store<6>(T.acceleration, body.stride, body.at, a.x);
  store<6>(T.virtual_twist, body.stride, body.at, w.x);
  store<6>(T.force, body.stride, body.at, B.x);
  inertia_gradient(T, body, w, a, V, bent);
}

// The sum of B at each body, from what arrives at a cluster's last body from beyond it; as `wrench_node`.
LW_FN void pass_sums_node(const Tables& T, long long s, long long b) {
  int kind = T.node[s] & 3;
  Item at = of_slot(T, s, b), joint = of_body(T, T.index[s], b);
  if (kind == JOIN) {
    Vec6 beyond = load6(T.input, at.stride, at.at);
    Vec6 B = add(gathered(T, T.right[s], b), wrench_to_parent(stretch_of(T, T.right[s], b).T, beyond));
    store<6>(T.twisted, joint.stride, joint.at, B.x);
    hand_down(T, T.right[s], b, beyond, zero6());
    hand_down(T, T.left[s], b, wrench_to_parent(load_pose(T.pose, joint.stride, joint.at), B), zero6());
  } else if (kind == HANG) {
    store<6>(T.twisted, joint.stride, joint.at, gathered(T, T.left[s], b).x);
    hand_down(T, T.left[s], b, zero6(), zero6());
  }
}

// Body by body: sums of a body from those of its children; a and w are there.
LW_FN void sums_of_body(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Sym6 I = rigid_inertia(T, i, b);
  Vec6 V = load6(T.twist, body.stride, body.at), a = load6(T.acceleration, body.stride, body.at);
  Vec6 w = load6(T.virtual_twist, body.stride, body.at), h = times(I, V), bent = cross_motion(V, w);
  Three x;
  x.F = sub(add(times(I, a), cross_force(V, h)), applied_wrench(T, i, b));
  x.A = times(I, w);
  x.B = scale(-1, add(cross_force(w, h), times(I, bent)));
  for (int k = T.child_first[i]; k < T.child_first[i + 1]; k++) {
    Item child = of_body(T, T.child[k], b);
    Three y = load_three(T, child);
    y.B = add(y.B, cross_force(joint_twist(T, T.child[k], b, T.v), y.A));
    y = to_parent(load_pose(T.pose, child.stride, child.at), y);
    x = Three{add(x.F, y.F), add(x.A, y.A), add(x.B, y.B)};
  }
  store<6>(T.passed, body.stride, body.at, x.F.x);
  store<6>(T.momentum, body.stride, body.at, x.A.x);
  store<6>(T.twisted, body.stride, body.at, x.B.x);
  inertia_gradient(T, body, w, a, V, bent);
}

// ------------------------------------------------------------------------------------------------------------- springs of balls

LW_FN Real curl(Real angle2) {  // c of model/kernels/ball_spring.py
  if (angle2 < (Real)1e-4) return (Real)(1.0 / 12.0) + angle2 * (Real)(1.0 / 720.0) + angle2 * angle2 * (Real)(1.0 / 30240.0);
  Real half = (Real)0.5 * root(angle2);
  return (1 - half / tan(half)) / angle2;
}

LW_FN Real curl_slope(Real angle2) {
  if (angle2 < (Real)1e-2)
    return (Real)(1.0 / 720.0) + angle2 * (Real)(1.0 / 15120.0) + angle2 * angle2 * (Real)(1.0 / 403200.0) +
           angle2 * angle2 * angle2 * (Real)(1.0 / 11975040.0);
  Real half = (Real)0.5 * root(angle2), sine, cosine;
  sine_cosine(half, &sine, &cosine);
  Real across = half * cosine / sine, falls = (across / half - half / (sine * sine)) / (8 * half);
  return (-falls - (1 - across) / angle2) / angle2;
}

LW_FN void inverse_left(const Real* w, const Real* x, Real* out) {  // Jl⁻¹(w) x
  Real once[3], twice[3], c = curl(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  cross3(w, x, once);
  cross3(w, once, twice);
  LW_UNROLL for (int d = 0; d < 3; d++) out[d] = x[d] - (Real)0.5 * once[d] + c * twice[d];
}

// Gradients of μ · (pull of a ball's spring) with respect to a small rotation of the child, and to the three stiffnesses.
LW_FN void ball_spring_gradients(const Real* k, const Real* w, const Real* m, Real* by_turn, Real* by_k) {
  Real back[3] = {-w[0], -w[1], -w[2]}, p[3], g[3];
  inverse_left(back, m, p);
  LW_UNROLL for (int d = 0; d < 3; d++) by_k[d] = p[d] * w[d];
  if (k[0] == k[1] && k[0] == k[2]) {
    LW_UNROLL for (int d = 0; d < 3; d++) g[d] = k[d] * m[d];
    inverse_left(w, g, by_turn);
    return;
  }
  Real y[3], z[3], ym[3], wz[3], zm[3], mw[3], ymw[3], angle2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  LW_UNROLL for (int d = 0; d < 3; d++) y[d] = k[d] * w[d];
  cross3(w, y, z);
  cross3(y, m, ym);
  cross3(w, z, wz);
  cross3(z, m, zm);
  cross3(m, w, mw);
  cross3(y, mw, ymw);
  Real along = 2 * curl_slope(angle2) * (m[0] * wz[0] + m[1] * wz[1] + m[2] * wz[2]), c = curl(angle2);
  LW_UNROLL for (int d = 0; d < 3; d++) g[d] = k[d] * p[d] - (Real)0.5 * ym[d] + along * w[d] + c * (zm[d] + ymw[d]);
  inverse_left(w, g, by_turn);
}

// Of joint i: adds to by_q, and writes by_k, what springs give to μ · (pull of springs).
LW_FN void spring_gradients(const Tables& T, long long i, long long b, Real* by_q, Real* by_k) {
  long long k = T.q0[i], j = T.v0[i];
  const Real* stiffness = T.passive + T.freedoms;
  int kind = T.kind[i];
  if (kind == HELICAL || kind == COMPOUND) {
    for (int d = 0; d < T.dof[i]; d++) {
      Real mu = T.mu[(j + d) * T.batch + b];
      by_q[d] += stiffness[j + d] * mu;
      by_k[d] = mu * (coordinate(T, k + d, b) - T.rest[k + d]);
    }
  } else if (kind == SPHERICAL || kind == FREE) {
    int turn_at = kind == SPHERICAL ? 0 : 3;
    Real back[4], now[4], product[4], r[3], m[3], turned[3];
    load_quaternion(T, k + turn_at, b, now);
    LW_UNROLL for (int c = 0; c < 4; c++) back[c] = (c ? -1 : 1) * T.rest[k + turn_at + c];
    quaternion_multiply(back, now, product);
    quaternion_log(product, r);
    LW_UNROLL for (int d = 0; d < 3; d++) m[d] = T.mu[(j + d) * T.batch + b];
    ball_spring_gradients(stiffness + j, r, m, turned, by_k);
    LW_UNROLL for (int d = 0; d < 3; d++) by_q[d] += turned[d];
    if (kind == FREE) {
      Real x[3], R[9], local[3], pull[3], across[3];
      LW_UNROLL for (int c = 0; c < 3; c++) x[c] = coordinate(T, k + c, b) - T.rest[k + c];
      quaternion_matrix(now, R);
      turn_back(R, x, local);
      LW_UNROLL for (int d = 0; d < 3; d++) {
        Real mu = T.mu[(j + 3 + d) * T.batch + b];
        pull[d] = stiffness[j + 3 + d] * mu;
        by_k[3 + d] = mu * local[d];
      }
      cross3(pull, local, across);
      LW_UNROLL for (int d = 0; d < 3; d++) by_q[d] += across[d], by_q[3 + d] += pull[d];
    }
  }
}

// ------------------------------------------------------------------------------------------------------------------------ joints

// A product of screws is a chain of bodies without mass: down with V, a, w of what comes to each screw, then back.
LW_FN void compound_gradients(const Tables& T, long long i, long long b, Three x, Real* by_q, Real* by_v) {
  Pose step[6];
  Vec6 s[6], above[6], a_above[6], w_above[6], V = zero6(), a = world_acceleration(T, b), w = zero6();
  if (T.parent[i] >= 0) {
    Item parent = of_body(T, T.parent[i], b);
    V = load6(T.twist, parent.stride, parent.at), a = load6(T.acceleration, parent.stride, parent.at);
    w = load6(T.virtual_twist, parent.stride, parent.at);
  }
  Pose X = load_pose(T.placement, T.bodies, i);
  V = twist_to_child(X, V), a = twist_to_child(X, a), w = twist_to_child(X, w);
  for (int d = 0; d < T.dof[i]; d++) {
    long long at = (T.v0[i] + d) * T.batch + b;
    Real screw[9];
    LW_UNROLL for (int e = 0; e < 9; e++) screw[e] = T.screws[9 * (T.screw0[i] + d) + e];
    step[d] = screw_pose(screw, coordinate(T, T.q0[i] + d, b));
    s[d] = screw_twist(screw);
    above[d] = twist_to_child(step[d], V), a_above[d] = twist_to_child(step[d], a), w_above[d] = twist_to_child(step[d], w);
    Vec6 VJ = scale(T.v[at], s[d]);
    V = add(above[d], VJ);
    a = add(a_above[d], add(scale(T.qdd[at], s[d]), cross_motion(V, VJ)));
    w = add(w_above[d], scale(T.mu[at], s[d]));
  }
  for (int d = T.dof[i] - 1; d >= 0; d--) {
    Vec6 across = cross_force(s[d], x.A);
    by_v[d] = dot(s[d], x.B) + dot(above[d], across);
    x.B = add(x.B, scale(velocity(T, T.v0[i] + d, b), across));
    by_q[d] = dot(a_above[d], across) + dot(above[d], cross_force(s[d], x.B)) + dot(w_above[d], cross_force(s[d], x.F));
    x = to_parent(step[d], x);
  }
}

// A joint whose S is fixed in the body: ball, free joint, weld.
LW_FN void ball_gradients(const Tables& T, long long i, long long b, const Three& x, Real* by_q, Real* by_v) {
  Item body = of_body(T, i, b);
  Vec6 V = load6(T.twist, body.stride, body.at), VJ = joint_twist(T, i, b, T.v), above = sub(V, VJ);
  Vec6 faster = sub(x.B, cross_force(above, x.A)), B = add(x.B, cross_force(VJ, x.A));
  Vec6 a = sub(load6(T.acceleration, body.stride, body.at), add(joint_twist(T, i, b, T.qdd), cross_motion(V, VJ)));
  Vec6 w = sub(load6(T.virtual_twist, body.stride, body.at), joint_twist(T, i, b, T.mu));
  Vec6 turned = add(add(cross_force(a, x.A), cross_force(above, B)), cross_force(w, x.F));
  Freedoms<6> F = freedoms<6>(T, i, b);
  for (int d = 0; d < T.dof[i]; d++) by_v[d] = dot(F.S[d], faster), by_q[d] = -dot(F.S[d], turned);
}

// Gradients that end with joint i, from the sums of its body.
LW_FN void gradients_of_joint(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Three x = load_three(T, body);
  Real by_q[6] = {0, 0, 0, 0, 0, 0}, by_v[6] = {0, 0, 0, 0, 0, 0}, by_k[6] = {0, 0, 0, 0, 0, 0};
  int kind = T.kind[i];
  if (kind == HELICAL) {
    Vec6 s = load6(T.column, T.bodies, i), across = cross_force(s, x.A), V = load6(T.twist, body.stride, body.at);
    by_q[0] = dot(load6(T.acceleration, body.stride, body.at), across) + dot(V, cross_force(s, x.B));
    by_q[0] += dot(load6(T.virtual_twist, body.stride, body.at), cross_force(s, x.F));
    by_v[0] = dot(s, x.B) + dot(V, across);
  } else if (kind == COMPOUND) {
    compound_gradients(T, i, b, x, by_q, by_v);
  } else {
    ball_gradients(T, i, b, x, by_q, by_v);
  }
  spring_gradients(T, i, b, by_q, by_k);
  for (int d = 0; d < T.dof[i]; d++) {
    long long at = (T.v0[i] + d) * T.batch + b;
    T.by_q[at] = -by_q[d];
    T.by_v[at] = -(by_v[d] + T.passive[T.v0[i] + d] * T.mu[at]);
    if (T.by_stiffness) T.by_stiffness[at] = -by_k[d];
  }
  if (T.by_gravity) {  // the world accelerates by -g: the bases pass on what it gets
    Vec6 A = T.parent[i] < 0 ? wrench_to_parent(load_pose(T.pose, body.stride, body.at), x.A) : zero6();
    LW_UNROLL for (int c = 0; c < 3; c++) T.by_gravity[c * body.stride + body.at] = A.x[3 + c];
  }
}
