// Spatial algebra in registers, for CUDA and for plain C++: twists [ω; v], wrenches [n; f], poses, symmetric 6x6 matrices.
// Conventions as everywhere (docs/notation.md): a pose (R, p) takes points of the child frame to the parent; X takes a twist of
// the parent (carrier) frame to the child, wrenches go back with Xᵀ. A symmetric matrix is its lower triangle, row by row.
#ifdef __CUDACC__
#define LW_FN __device__ __forceinline__
#define LW_METHOD __device__ __forceinline__
#define LW_UNROLL _Pragma("unroll")
#else
#include <cmath>
#define LW_FN static inline
#define LW_METHOD inline
#define LW_UNROLL
#endif

#ifndef LW_REAL
#define LW_REAL double
#endif
typedef LW_REAL Real;

struct Vec6 { Real x[6]; };
struct Pose { Real R[9], p[3]; };
struct Sym6 { Real m[21]; };

#define LW_AT(i, j) ((i) >= (j) ? (i) * ((i) + 1) / 2 + (j) : (j) * ((j) + 1) / 2 + (i))  // of a packed symmetric matrix

LW_FN Real root(Real x) { return sizeof(Real) == 8 ? (Real)sqrt((double)x) : (Real)sqrtf((float)x); }

LW_FN Real inverse_root(Real x) {
#ifdef __CUDACC__
  return sizeof(Real) == 8 ? (Real)rsqrt((double)x) : (Real)rsqrtf((float)x);
#else
  return 1 / std::sqrt(x);
#endif
}

LW_FN Vec6 zero6() { return Vec6{{0, 0, 0, 0, 0, 0}}; }

LW_FN Vec6 add(const Vec6& a, const Vec6& b) {
  Vec6 c;
  LW_UNROLL for (int i = 0; i < 6; i++) c.x[i] = a.x[i] + b.x[i];
  return c;
}

LW_FN Vec6 sub(const Vec6& a, const Vec6& b) {
  Vec6 c;
  LW_UNROLL for (int i = 0; i < 6; i++) c.x[i] = a.x[i] - b.x[i];
  return c;
}

LW_FN Vec6 scale(Real s, const Vec6& a) {
  Vec6 c;
  LW_UNROLL for (int i = 0; i < 6; i++) c.x[i] = s * a.x[i];
  return c;
}

LW_FN Real dot(const Vec6& a, const Vec6& b) {
  Real s = 0;
  LW_UNROLL for (int i = 0; i < 6; i++) s += a.x[i] * b.x[i];
  return s;
}

LW_FN void cross3(const Real* a, const Real* b, Real* c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

LW_FN void turn(const Real* R, const Real* a, Real* b) {  // b = R a
  LW_UNROLL for (int i = 0; i < 3; i++) b[i] = R[3 * i] * a[0] + R[3 * i + 1] * a[1] + R[3 * i + 2] * a[2];
}

LW_FN void turn_back(const Real* R, const Real* a, Real* b) {  // b = Rᵀ a
  LW_UNROLL for (int i = 0; i < 3; i++) b[i] = R[i] * a[0] + R[3 + i] * a[1] + R[6 + i] * a[2];
}

// X V: a twist of the parent frame, seen in the child frame.
LW_FN Vec6 twist_to_child(const Pose& T, const Vec6& V) {
  Real wp[3], moved[3];
  Vec6 out;
  cross3(V.x, T.p, wp);
  LW_UNROLL for (int i = 0; i < 3; i++) moved[i] = V.x[3 + i] + wp[i];
  turn_back(T.R, V.x, out.x);
  turn_back(T.R, moved, out.x + 3);
  return out;
}

// Xᵀ F: a wrench of the child frame, seen in the parent frame.
LW_FN Vec6 wrench_to_parent(const Pose& T, const Vec6& F) {
  Real pf[3];
  Vec6 out;
  turn(T.R, F.x, out.x);
  turn(T.R, F.x + 3, out.x + 3);
  cross3(T.p, out.x + 3, pf);
  LW_UNROLL for (int i = 0; i < 3; i++) out.x[i] += pf[i];
  return out;
}

// X⁻ᵀ F: a wrench of the parent frame, seen in the child frame.
LW_FN Vec6 wrench_to_child(const Pose& T, const Vec6& F) {
  Real pf[3], moment[3];
  Vec6 out;
  cross3(T.p, F.x + 3, pf);
  LW_UNROLL for (int i = 0; i < 3; i++) moment[i] = F.x[i] - pf[i];
  turn_back(T.R, moment, out.x);
  turn_back(T.R, F.x + 3, out.x + 3);
  return out;
}

LW_FN Pose identity_pose() { return Pose{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}}; }

// Pose of c in a from the poses of b in a and of c in b.
LW_FN Pose compose(const Pose& A, const Pose& B) {
  Pose C;
  LW_UNROLL for (int i = 0; i < 3; i++) {
    LW_UNROLL for (int j = 0; j < 3; j++)
      C.R[3 * i + j] = A.R[3 * i] * B.R[j] + A.R[3 * i + 1] * B.R[3 + j] + A.R[3 * i + 2] * B.R[6 + j];
  }
  turn(A.R, B.p, C.p);
  LW_UNROLL for (int i = 0; i < 3; i++) C.p[i] += A.p[i];
  return C;
}

// V x S: rate of change of a twist S fixed in a frame that moves with V.
LW_FN Vec6 cross_motion(const Vec6& V, const Vec6& S) {
  Vec6 out;
  Real a[3], b[3];
  cross3(V.x, S.x, out.x);
  cross3(V.x, S.x + 3, a);
  cross3(V.x + 3, S.x, b);
  LW_UNROLL for (int i = 0; i < 3; i++) out.x[3 + i] = a[i] + b[i];
  return out;
}

// V x* F: rate of change of a wrench F fixed in a frame that moves with V.
LW_FN Vec6 cross_force(const Vec6& V, const Vec6& F) {
  Vec6 out;
  Real a[3], b[3];
  cross3(V.x, F.x, a);
  cross3(V.x + 3, F.x + 3, b);
  LW_UNROLL for (int i = 0; i < 3; i++) out.x[i] = a[i] + b[i];
  cross3(V.x, F.x + 3, out.x + 3);
  return out;
}

// The 6x6 of a rigid inertia: mass, first moment, moments about the origin (xx xy xz yy yz zz).
LW_FN Sym6 rigid(const Real* I) {
  return Sym6{{I[4],
               I[5], I[7],
               I[6], I[8], I[9],
               0, I[3], -I[2], I[0],
               -I[3], 0, I[1], 0, I[0],
               I[2], -I[1], 0, 0, 0, I[0]}};
}

LW_FN Vec6 times(const Sym6& M, const Vec6& a) {
  Vec6 out = zero6();
  LW_UNROLL for (int i = 0; i < 6; i++) {
    LW_UNROLL for (int j = 0; j < 6; j++) out.x[i] += M.m[LW_AT(i, j)] * a.x[j];
  }
  return out;
}

// B M Bᵀ for the map B of vectors that `map` applies: X (motions to the child) or Xᵀ (wrenches to the parent).
template <class Map>
LW_FN Sym6 congruent(const Sym6& M, Map map) {
  Real G[36];
  Sym6 out;
  LW_UNROLL for (int q = 0; q < 6; q++) {
    Vec6 column;
    LW_UNROLL for (int i = 0; i < 6; i++) column.x[i] = M.m[LW_AT(i, q)];
    column = map(column);
    LW_UNROLL for (int i = 0; i < 6; i++) G[6 * i + q] = column.x[i];
  }
  LW_UNROLL for (int i = 0; i < 6; i++) {
    Vec6 row;
    LW_UNROLL for (int q = 0; q < 6; q++) row.x[q] = G[6 * i + q];
    row = map(row);
    LW_UNROLL for (int q = 0; q <= i; q++) out.m[LW_AT(i, q)] = row.x[q];
  }
  return out;
}

struct ToChild {
  const Pose& T;
  LW_METHOD Vec6 operator()(const Vec6& V) const { return twist_to_child(T, V); }
};

struct ToParent {
  const Pose& T;
  LW_METHOD Vec6 operator()(const Vec6& F) const { return wrench_to_parent(T, F); }
};

// A pivot below this part of its diagonal entry is rounding, not an inertia: some 45 ulp of the sums that made it.
LW_FN Real smallest_pivot() { return sizeof(Real) == 8 ? (Real)1e-14 : (Real)5e-6; }

// M = C Cᵀ in place, with the inverses of the diagonal in its place; false if M is not positive definite.
LW_FN bool factor(Sym6& M) {
  bool ok = true;
  LW_UNROLL for (int j = 0; j < 6; j++) {
    Real whole = M.m[LW_AT(j, j)], pivot = whole;
    LW_UNROLL for (int k = 0; k < j; k++) pivot -= M.m[LW_AT(j, k)] * M.m[LW_AT(j, k)];
    ok = ok && pivot > smallest_pivot() * whole;
    Real inverse = inverse_root(pivot);
    M.m[LW_AT(j, j)] = inverse;
    LW_UNROLL for (int i = j + 1; i < 6; i++) {
      Real x = M.m[LW_AT(i, j)];
      LW_UNROLL for (int k = 0; k < j; k++) x -= M.m[LW_AT(i, k)] * M.m[LW_AT(j, k)];
      M.m[LW_AT(i, j)] = x * inverse;
    }
  }
  return ok;
}

LW_FN Vec6 forward(const Sym6& C, Vec6 y) {  // C⁻¹ y
  LW_UNROLL for (int i = 0; i < 6; i++) {
    LW_UNROLL for (int k = 0; k < i; k++) y.x[i] -= C.m[LW_AT(i, k)] * y.x[k];
    y.x[i] *= C.m[LW_AT(i, i)];
  }
  return y;
}

LW_FN Vec6 backward(const Sym6& C, Vec6 y) {  // C⁻ᵀ y
  LW_UNROLL for (int i = 5; i >= 0; i--) {
    LW_UNROLL for (int k = i + 1; k < 6; k++) y.x[i] -= C.m[LW_AT(k, i)] * y.x[k];
    y.x[i] *= C.m[LW_AT(i, i)];
  }
  return y;
}

// M⁻¹ from the factor C of M: columns of C⁻¹ first, then C⁻ᵀ C⁻¹.
LW_FN Sym6 inverse(const Sym6& C) {
  Real L[21];
  Sym6 out;
  LW_UNROLL for (int j = 0; j < 6; j++) {
    L[LW_AT(j, j)] = C.m[LW_AT(j, j)];
    LW_UNROLL for (int i = j + 1; i < 6; i++) {
      Real x = 0;
      LW_UNROLL for (int k = j; k < i; k++) x -= C.m[LW_AT(i, k)] * L[LW_AT(k, j)];
      L[LW_AT(i, j)] = x * C.m[LW_AT(i, i)];
    }
  }
  LW_UNROLL for (int i = 0; i < 6; i++) {
    LW_UNROLL for (int j = 0; j <= i; j++) {
      Real x = 0;
      LW_UNROLL for (int k = i; k < 6; k++) x += L[LW_AT(k, i)] * L[LW_AT(k, j)];
      out.m[LW_AT(i, j)] = x;
    }
  }
  return out;
}
