// The joint calculus: pose, motion subspace, bias, springs and dampers, integration. The same as model/kernels/joint_kernels.py.

LW_FN void sine_cosine(Real x, Real* s, Real* c) {
#ifdef __CUDACC__
  if (sizeof(Real) == 8) {
    double a, b;
    sincos((double)x, &a, &b);
    *s = (Real)a;
    *c = (Real)b;
  } else {
    float a, b;
    sincosf((float)x, &a, &b);
    *s = (Real)a;
    *c = (Real)b;
  }
#else
  *s = std::sin(x);
  *c = std::cos(x);
#endif
}

// Rotation by `angle` about a unit axis (the identity when the axis is zero), from the half angle: small angles keep their digits.
LW_FN void rotation_about(const Real* a, Real angle, Real* R) {
  Real half_sine, half_cosine;
  sine_cosine((Real)0.5 * angle, &half_sine, &half_cosine);
  Real s = 2 * half_sine * half_cosine, k = 2 * half_sine * half_sine, x = a[0], y = a[1], z = a[2];
  R[0] = 1 - k * (y * y + z * z), R[1] = k * x * y - s * z, R[2] = k * x * z + s * y;
  R[3] = k * x * y + s * z, R[4] = 1 - k * (x * x + z * z), R[5] = k * y * z - s * x;
  R[6] = k * x * z - s * y, R[7] = k * y * z + s * x, R[8] = 1 - k * (x * x + y * y);
}

LW_FN void quaternion_matrix(const Real* q, Real* R) {
  Real w = q[0], x = q[1], y = q[2], z = q[3];
  R[0] = 1 - 2 * (y * y + z * z), R[1] = 2 * (x * y - w * z), R[2] = 2 * (x * z + w * y);
  R[3] = 2 * (x * y + w * z), R[4] = 1 - 2 * (x * x + z * z), R[5] = 2 * (y * z - w * x);
  R[6] = 2 * (x * z - w * y), R[7] = 2 * (y * z + w * x), R[8] = 1 - 2 * (x * x + y * y);
}

LW_FN void quaternion_multiply(const Real* a, const Real* b, Real* c) {
  c[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  c[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  c[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  c[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

// Rotation vector of a unit quaternion, angle in [0, π].
LW_FN void quaternion_log(const Real* q, Real* r) {
  Real sign = q[0] < 0 ? (Real)-1 : (Real)1, w = sign * q[0];
  Real s = root(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), k;
  if (s < (Real)1e-4)
    k = 2 / w * (1 - s * s / (3 * w * w));
  else
    k = 2 * (Real)atan2((double)s, (double)w) / s;
  LW_UNROLL for (int d = 0; d < 3; d++) r[d] = sign * k * q[1 + d];
}

// A screw: turns by q about an axis through `center` and slides by q `slide`; nine numbers.
LW_FN Pose screw_pose(const Real* screw, Real q) {
  Pose T;
  Real turned[3];
  rotation_about(screw, q, T.R);
  turn(T.R, screw + 6, turned);
  LW_UNROLL for (int c = 0; c < 3; c++) T.p[c] = screw[6 + c] - turned[c] + q * screw[3 + c];
  return T;
}

LW_FN Vec6 screw_twist(const Real* screw) {
  Vec6 S;
  Real moment[3];
  cross3(screw + 6, screw, moment);
  LW_UNROLL for (int c = 0; c < 3; c++) S.x[c] = screw[c], S.x[3 + c] = screw[3 + c] + moment[c];
  return S;
}

LW_FN Real coordinate(const Tables& T, long long k, long long b) { return T.q[k * T.batch + b]; }
LW_FN Real velocity(const Tables& T, long long k, long long b) { return T.v[k * T.batch + b]; }

LW_FN void load_quaternion(const Tables& T, long long k, long long b, Real* q) {
  LW_UNROLL for (int c = 0; c < 4; c++) q[c] = coordinate(T, k + c, b);
}

// What a joint does at a state.
struct Motion {
  Pose T;   // of body i in its parent
  Vec6 V;   // S q̇
  Vec6 c;   // c_J: S' q̇, of compound joints only
};

// A compound joint: screws one after the other. Fills the columns of S when given.
LW_FN Motion compound_motion(const Tables& T, long long i, long long b, Vec6* S) {
  Motion out{identity_pose(), zero6(), zero6()};
  for (int d = 0; d < T.dof[i]; d++) {
    Real screw[9];
    LW_UNROLL for (int e = 0; e < 9; e++) screw[e] = T.screws[9 * (T.screw0[i] + d) + e];
    Pose step = screw_pose(screw, coordinate(T, T.q0[i] + d, b));
    if (S)
      for (int e = 0; e < d; e++) S[e] = twist_to_child(step, S[e]);  // the screws before this one, seen behind it
    Vec6 s = screw_twist(screw), Vs = scale(velocity(T, T.v0[i] + d, b), s);
    if (S) S[d] = s;
    out.T = compose(out.T, step);
    out.V = add(twist_to_child(step, out.V), Vs);
    out.c = add(twist_to_child(step, out.c), cross_motion(out.V, Vs));
  }
  return out;
}

LW_FN Motion body_motion(const Tables& T, long long i, long long b) {
  Motion out{identity_pose(), zero6(), zero6()};
  long long n = T.bodies, k = T.q0[i], j = T.v0[i];
  int kind = T.kind[i];
  if (kind == HELICAL) {
    Real screw[9];
    load<9>(T.screw, n, i, screw);
    out.T = screw_pose(screw, coordinate(T, k, b));
    out.V = scale(velocity(T, j, b), load6(T.column, n, i));
  } else if (kind == COMPOUND) {
    out = compound_motion(T, i, b, 0);
  } else if (kind == SPHERICAL) {
    Real q[4], center[3], turned[3], w[3];
    load_quaternion(T, k, b, q);
    load<3>(T.screw + 6 * n, n, i, center);
    quaternion_matrix(q, out.T.R);
    turn(out.T.R, center, turned);
    LW_UNROLL for (int c = 0; c < 3; c++) out.T.p[c] = center[c] - turned[c], w[c] = out.V.x[c] = velocity(T, j + c, b);
    cross3(center, w, out.V.x + 3);
  } else if (kind == FREE) {
    Real q[4];
    load_quaternion(T, k + 3, b, q);
    quaternion_matrix(q, out.T.R);
    LW_UNROLL for (int c = 0; c < 3; c++) out.T.p[c] = coordinate(T, k + c, b);
    LW_UNROLL for (int c = 0; c < 6; c++) out.V.x[c] = velocity(T, j + c, b);
  }
  out.T = compose(load_pose(T.placement, n, i), out.T);
  return out;
}

// The freedoms of a joint, padded to D: an absent one has S = 0, armature 1 and no effort, and so moves nothing.
template <int D>
struct Freedoms {
  Vec6 S[D];
  Real Q[D], J[D];
};

template <int D>
LW_FN Freedoms<D> freedoms(const Tables& T, long long i, long long b) {
  Freedoms<D> F;
  int d = T.dof[i];
  if (D == 1) {
    F.S[0] = load6(T.column, T.bodies, i);
  } else {
    LW_UNROLL for (int a = 0; a < D; a++) F.S[a] = zero6();
    int kind = T.kind[i];
    if (kind == COMPOUND) {
      compound_motion(T, i, b, F.S);
    } else if (kind == HELICAL) {
      F.S[0] = load6(T.column, T.bodies, i);
    } else if (kind == FREE) {
      LW_UNROLL for (int a = 0; a < D; a++) F.S[a].x[a] = 1;
    } else if (kind == SPHERICAL) {
      Real c[3];
      load<3>(T.screw + 6 * T.bodies, T.bodies, i, c);
      Vec6 columns[3] = {{{1, 0, 0, 0, c[2], -c[1]}}, {{0, 1, 0, -c[2], 0, c[0]}}, {{0, 0, 1, c[1], -c[0], 0}}};
      LW_UNROLL for (int a = 0; a < 3; a++) F.S[a < D ? a : 0] = columns[a];
    }
  }
  LW_UNROLL for (int a = 0; a < D; a++) {
    bool is_there = a < d;
    F.Q[a] = is_there ? T.total[(T.v0[i] + a) * T.batch + b] : 0;
    F.J[a] = is_there ? T.passive[2 * T.freedoms + T.v0[i] + a] : 1;
  }
  return F;
}

LW_FN bool is_sprung(const Real* stiffness) { return stiffness[0] != 0 || stiffness[1] != 0 || stiffness[2] != 0; }

// What the spring of a ball resists the rotation vector r from rest with: Jl⁻¹(r) K r, the gradient of ½ r·K r.
LW_FN void ball_spring_pull(const Real* stiffness, const Real* r, Real* pull) {
  LW_UNROLL for (int d = 0; d < 3; d++) pull[d] = stiffness[d] * r[d];
  if (stiffness[0] == stiffness[1] && stiffness[0] == stiffness[2]) return;
  Real angle2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], c, once[3], twice[3];
  if (angle2 < (Real)1e-4) {
    c = (Real)(1.0 / 12.0) + angle2 * (Real)(1.0 / 720.0) + angle2 * angle2 * (Real)(1.0 / 30240.0);
  } else {
    Real half = (Real)0.5 * sqrt(angle2);
    c = (1 - half / tan(half)) / angle2;
  }
  cross3(r, pull, once);
  cross3(r, once, twice);
  LW_UNROLL for (int d = 0; d < 3; d++) pull[d] += (Real)-0.5 * once[d] + c * twice[d];
}

// Springs and dampers of joint i: subtracts their resistance from efforts (nv, batch).
LW_FN void add_passive_effort(const Tables& T, long long i, long long b, Real* effort) {
  long long k = T.q0[i], j = T.v0[i], nv = T.freedoms, B = T.batch;
  const Real *damping = T.passive, *stiffness = T.passive + nv;
  int kind = T.kind[i];
  for (int d = 0; d < T.dof[i]; d++) effort[(j + d) * B + b] -= damping[j + d] * velocity(T, j + d, b);
  if (kind == HELICAL || kind == COMPOUND) {
    for (int d = 0; d < T.dof[i]; d++)
      effort[(j + d) * B + b] -= stiffness[j + d] * (coordinate(T, k + d, b) - T.rest[k + d]);
  } else if ((kind == SPHERICAL && is_sprung(stiffness + j)) ||
             (kind == FREE && (is_sprung(stiffness + j) || stiffness[j + 3] != 0))) {
    int turn_at = kind == SPHERICAL ? 0 : 3;
    Real back[4], now[4], r[3], product[4], pull[3];
    load_quaternion(T, k + turn_at, b, now);
    LW_UNROLL for (int c = 0; c < 4; c++) back[c] = (c ? -1 : 1) * T.rest[k + turn_at + c];
    quaternion_multiply(back, now, product);
    quaternion_log(product, r);
    ball_spring_pull(stiffness + j, r, pull);
    LW_UNROLL for (int d = 0; d < 3; d++) effort[(j + d) * B + b] -= pull[d];
    if (kind == FREE) {
      Real x[3], R[9], local[3];
      LW_UNROLL for (int c = 0; c < 3; c++) x[c] = coordinate(T, k + c, b) - T.rest[k + c];
      quaternion_matrix(now, R);
      turn_back(R, x, local);
      LW_UNROLL for (int d = 0; d < 3; d++) effort[(j + 3 + d) * B + b] -= stiffness[j + 3 + d] * local[d];
    }
  }
}

LW_FN Real spring_energy(const Tables& T, long long i, long long b) {
  long long k = T.q0[i], j = T.v0[i];
  const Real* stiffness = T.passive + T.freedoms;
  int kind = T.kind[i];
  Real energy = 0;
  if (kind == HELICAL || kind == COMPOUND) {
    for (int d = 0; d < T.dof[i]; d++) {
      Real x = coordinate(T, k + d, b) - T.rest[k + d];
      energy += (Real)0.5 * stiffness[j + d] * x * x;
    }
  } else if (kind == SPHERICAL || kind == FREE) {
    int turn_at = kind == SPHERICAL ? 0 : 3;
    Real back[4], now[4], r[3], product[4];
    load_quaternion(T, k + turn_at, b, now);
    LW_UNROLL for (int c = 0; c < 4; c++) back[c] = (c ? -1 : 1) * T.rest[k + turn_at + c];
    quaternion_multiply(back, now, product);
    quaternion_log(product, r);
    LW_UNROLL for (int d = 0; d < 3; d++) energy += (Real)0.5 * stiffness[j + d] * r[d] * r[d];
    if (kind == FREE)
      for (int d = 0; d < 3; d++) {
        Real x = coordinate(T, k + d, b) - T.rest[k + d];
        energy += (Real)0.5 * stiffness[j + 3] * x * x;
      }
  }
  return energy;
}

// Position part of exp of the twist [w; v] on SE(3): where a point carried by it for unit time ends.
LW_FN void exp_position(const Real* w, const Real* v, Real* out) {
  Real angle2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], a, c, wv[3], wwv[3];
  if (angle2 < (Real)1e-4) {
    a = (Real)0.5 - angle2 / 24 + angle2 * angle2 / 720;
    c = 1 / (Real)6 - angle2 / 120 + angle2 * angle2 / 5040;
  } else {
    Real angle = root(angle2), half_sine, half_cosine;
    sine_cosine((Real)0.5 * angle, &half_sine, &half_cosine);
    a = 2 * half_sine * half_sine / angle2;
    c = (angle - 2 * half_sine * half_cosine) / (angle2 * angle);
  }
  cross3(w, v, wv);
  cross3(w, wv, wwv);
  LW_UNROLL for (int d = 0; d < 3; d++) out[d] = v[d] + a * wv[d] + c * wwv[d];
}

// q ← q ⊕ v h for joint i.
LW_FN void integrate_joint(const Tables& T, long long i, long long b, Real h) {
  long long k = T.q0[i], j = T.v0[i], B = T.batch;
  int kind = T.kind[i];
  if (kind == SPHERICAL || kind == FREE) {
    int turn_at = kind == SPHERICAL ? 0 : 3;
    Real w[3], now[4], step[4], next[4], s, c;
    LW_UNROLL for (int d = 0; d < 3; d++) w[d] = h * velocity(T, j + d, b);
    load_quaternion(T, k + turn_at, b, now);
    if (kind == FREE) {
      Real u[3], moved[3], x[3], R[9];
      LW_UNROLL for (int d = 0; d < 3; d++) u[d] = h * velocity(T, j + 3 + d, b);
      exp_position(w, u, moved);
      quaternion_matrix(now, R);
      turn(R, moved, x);
      LW_UNROLL for (int d = 0; d < 3; d++) T.q[(k + d) * B + b] += x[d];
    }
    Real angle = root(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    sine_cosine((Real)0.5 * angle, &s, &c);
    Real ratio = angle < (Real)1e-4 ? (Real)0.5 - angle * angle / 48 : s / angle;
    step[0] = c;
    LW_UNROLL for (int d = 0; d < 3; d++) step[1 + d] = ratio * w[d];
    quaternion_multiply(now, step, next);
    Real norm = root(next[0] * next[0] + next[1] * next[1] + next[2] * next[2] + next[3] * next[3]);
    LW_UNROLL for (int d = 0; d < 4; d++) T.q[(k + turn_at + d) * B + b] = next[d] / norm;
  } else {
    for (int d = 0; d < T.dof[i]; d++) T.q[(k + d) * B + b] += h * velocity(T, j + d, b);
  }
}
