// Where every number of a linkage stands in device memory, and how nodes read and write it.
// All tables are structures of arrays: entry e of item k in sample b is at [(e * items + k) * batch + b], so that neighbouring
// threads (samples, or items of one level) touch neighbouring numbers. `gpu/tables.py` mirrors this struct field by field.

enum { FIXED, HELICAL, SPHERICAL, FREE, COMPOUND };            // joint kinds, as in model/layout.py
enum { BODY, JOIN, HANG, SUM };                                // node kinds, as in assembly/node_table.py

struct Tables {
  long long bodies, slots, freedoms, batch;
  long long inertia_batch, gravity_batch;  // `batch` where every sample has its own, else 1
  long long has_wrenches, depths, root;    // root: slot of the node that hangs on the world
  long long coordinates;                   // nq
  long long strands, strand_length;        // and most bodies of one strand
  long long q_entry, q_sample, v_entry, v_sample, effort_entry, effort_sample;  // strides of the caller's arrays
  double h;                                // step of `integrate` [s]
  // bodies, in the order of the device (int32)
  const int *number;  // (n,)  body in the model's order
  const int *kind, *q0, *v0, *dof, *screw0, *keeps_force;
  // slots of the assembly tree, level by level
  const int *node, *left, *right, *index;  // children: slot, or -1 - body for a body without branches
  const int *level_first;                  // (levels + 1,)  first slot of each level
  const int *strand_slot, *strand_body;    // (strands,) slot of the node over each; (strand_length, strands) its bodies, then -1
  // the tree by depth, for the sweep body by body
  const int *depth_first, *by_depth, *parent, *child_first, *child;
  // the model
  const Real *placement;  // (12, n)  joint's zero frame in the parent: rotation, position
  const Real *screw;      // (9, n)   axis, slide, center
  const Real *column;     // (6, n)   motion subspace of a joint of one freedom; zero for other joints
  const Real *screws;     // (m, 9)   primitives of compound joints
  const Real *passive;    // (3, nv)  damping, stiffness, armature
  const Real *rest;       // (nq,)
  const Real *inertia;    // (10, n, inertia_batch)
  Real *phi;              // (21, n, inertia_batch)  inverse inertias
  const Real *gravity;    // (3, gravity_batch)
  // arrays of the caller, which `take` copies; null for zeros
  const Real *from_q, *from_v, *from_effort;
  // state and loads, in the model's order
  Real *q, *v;            // (nq, batch), (nv, batch)
  Real *effort;           // (nv, batch)
  const Real *wrenches;   // (6 n, batch)
  Real *qdd;              // (nv, batch)
  // what sweeps compute, by body
  Real *pose;    // (12, n, batch)  in the parent body
  Real *rate;    // (6, n, batch)   S q̇; later c; in inverse dynamics S q̈ + c
  Real *twist;   // (6, n, batch)
  Real *force;   // (6, n, batch)   f = f_ext - V x* I V of bodies with branches or in strands, b = Φ f of the others
  Real *total;   // (nv, batch)     efforts with springs and dampers
  Real *world;   // (12, n, batch)  poses in the world
  Real *energy;  // (2, n, batch)
  Real *moved;   // (6, n, batch)   where `spread` writes: twist, or force as acceleration
  // and by slot
  Real *top;     // (27, slots, batch)  JOIN: Φ11, b1. BODY: Φ, b. HANG, SUM: K, p
  Real *bottom;  // (27, slots, batch)  JOIN: Φ22, b2
  Real *cross;   // (36, slots, batch)  JOIN: Φ21. During kinematics: pose of the last body in the first (12), relative motion (6)
  Real *keep;    // (27, slots, batch)  JOIN, HANG: factor of M, β
  Real *input;   // (12, slots, batch)  f1, f2 of clusters; acceleration of the carrier of branches
  Real *pivots;       // (13, n, batch)  of joints in strands: U/D, h/D, u/D
  Real *articulated;  // (27, n, batch)  of the sweep body by body: articulated inertia and bias wrench
  // of gradients: what comes in, then by body, then what goes out; null where not asked for
  const Real *weights;  // (nv, batch)     λ
  Real *mu;             // (nv, batch)     M⁻¹ λ
  Real *acceleration, *virtual_twist;  // (6, n, batch)
  Real *passed, *momentum, *twisted;   // (6, n, batch)  F, A and B of a body and all beyond it
  Real *through;        // (6, n, batch)   where a solve writes the wrench through each joint
  Real *by_q, *by_v, *by_stiffness;    // (nv, batch)
  Real *by_inertia;     // (10, n, batch)
  Real *by_gravity;     // (3, n, batch)   of bases; zero elsewhere
  int *status;   // 1 + body (in the model's order) whose joint could not be solved, or 0
};

// ---------------------------------------------------------------------------------------------- rows of a table

template <int N>
LW_FN void load(const Real* table, long long stride, long long at, Real* out) {
  LW_UNROLL for (int e = 0; e < N; e++) out[e] = table[e * stride + at];
}

template <int N>
LW_FN void store(Real* table, long long stride, long long at, const Real* values) {
  LW_UNROLL for (int e = 0; e < N; e++) table[e * stride + at] = values[e];
}

LW_FN Vec6 load6(const Real* table, long long stride, long long at) {
  Vec6 out;
  load<6>(table, stride, at, out.x);
  return out;
}

LW_FN Pose load_pose(const Real* table, long long stride, long long at) {
  Pose out;
  load<9>(table, stride, at, out.R);
  load<3>(table + 9 * stride, stride, at, out.p);
  return out;
}

LW_FN void store_pose(Real* table, long long stride, long long at, const Pose& T) {
  store<9>(table, stride, at, T.R);
  store<3>(table + 9 * stride, stride, at, T.p);
}

// Entries of one body or one slot in one sample.
struct Item {
  long long stride, at;
};

LW_FN Item of_body(const Tables& T, long long i, long long b) { return Item{T.bodies * T.batch, i * T.batch + b}; }
LW_FN Item of_slot(const Tables& T, long long s, long long b) { return Item{T.slots * T.batch, s * T.batch + b}; }
LW_FN Item of_inertia(const Tables& T, long long i, long long b) {
  return Item{T.bodies * T.inertia_batch, i * T.inertia_batch + (T.inertia_batch > 1 ? b : 0)};
}

LW_FN Sym6 rigid_inertia(const Tables& T, long long i, long long b) {
  Real I[10];
  Item it = of_inertia(T, i, b);
  load<10>(T.inertia, it.stride, it.at, I);
  return rigid(I);
}

LW_FN Vec6 world_acceleration(const Tables& T, long long b) {  // the world accelerates by -g
  long long at = T.gravity_batch > 1 ? b : 0;
  Vec6 a = zero6();
  LW_UNROLL for (int c = 0; c < 3; c++) a.x[3 + c] = -T.gravity[c * T.gravity_batch + at];
  return a;
}

LW_FN void report_failure(const Tables& T, long long i) {
#ifdef __CUDACC__
  atomicMax(T.status, T.number[i] + 1);
#else
  if (*T.status < T.number[i] + 1) *T.status = T.number[i] + 1;
#endif
}
