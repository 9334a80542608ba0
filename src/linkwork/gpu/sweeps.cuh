// The entry points: one launch per level (or for all bodies). On the device one thread takes one item in one sample; compiled as
// plain C++ the same items are done in a loop, so that a test without a GPU runs every line of the arithmetic.

#ifdef __CUDACC__
#define LW_SWEEP(name)                                                                        \
  extern "C" __global__ void __launch_bounds__(128) name(const Tables T, int first, int count) { \
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;                           \
    if (t >= count * T.batch) return;                                                         \
    if (T.batch == 1)                                                                         \
      name##_item(T, first + t, 0);                                                           \
    else                                                                                      \
      name##_item(T, first + t / T.batch, t % T.batch);                                       \
  }
#else
#define LW_SWEEP(name)                                                   \
  extern "C" void name(const Tables* T, int first, int count) {          \
    for (int k = first; k < first + count; k++)                          \
      for (long long b = 0; b < T->batch; b++) name##_item(*T, k, b);    \
  }
#endif

// Several narrow levels in one launch of one block, which waits between them: a launch each would take longer than their work.
// Where the root is among them, the block goes up, begins at the root and comes down again in that same launch.
// Here `first` and `count` are levels, and `what` says which of these are done, in this order.
enum { UP = 1, FROM_STILL = 2, FROM_GRAVITY = 4, DOWN = 8 };
#ifdef __CUDACC__
#define LW_IN_ONE_BLOCK(name) \
  extern "C" __global__ void __launch_bounds__(192) name(const Tables T, int first, int count, int what)
#define LW_IS_FIRST (threadIdx.x == 0 && threadIdx.y == 0)
#define LW_WAIT __syncthreads()
#define LW_LEVEL(act, k)                                                                                          \
  for (int s = T.level_first[k] + threadIdx.y * 32 + threadIdx.x; s < T.level_first[(k) + 1]; s += 192) act(T, s, 0); \
  LW_WAIT
#else
#define LW_IN_ONE_BLOCK(name)                                                                                                \
  static void name##_on(const Tables& T, int first, int count, int what);                                                    \
  extern "C" void name(const Tables* T, int first, int count, int what) { name##_on(*T, first, count, what); }              \
  static void name##_on(const Tables& T, int first, int count, int what)
#define LW_IS_FIRST true
#define LW_WAIT
#define LW_LEVEL(act, k) \
  for (int s = T.level_first[k]; s < T.level_first[(k) + 1]; s++) act(T, s, 0)
#endif

// Parts that are compiled apart, each when it is first needed: 1 trees of joints of one freedom, 2 nodes of several freedoms,
// 3 body by body, 4 gradients; 0 is all of them.
#ifndef LW_PART
#define LW_PART 0
#endif


#define LW_IS_NODE(s) (T.node[s] >= 0)  // between groups of a level slots are empty

#if LW_PART == 0 || LW_PART == 1
// ------------------------------------------------------------------------------------------------------------------ bodies

LW_FN void invert_inertias_item(const Tables& T, long long i, long long b) {
  if (b >= T.inertia_batch) return;
  Item at = of_inertia(T, i, b);
  Sym6 M = rigid_inertia(T, i, b);
  factor(M);
  store<21>(T.phi, at.stride, at.at, inverse(M).m);                                                                  // (2)
}
LW_SWEEP(invert_inertias)

// Takes over the caller's state and efforts, however they stand in memory, and forgets failures of earlier calls.
LW_FN void take_item(const Tables& T, long long k, long long b) {
  long long at = k * T.batch + b;
  if (k < T.coordinates) T.q[at] = T.from_q[k * T.q_entry + b * T.q_sample];
  if (k < T.freedoms) {
    T.v[at] = T.from_v ? T.from_v[k * T.v_entry + b * T.v_sample] : 0;
    T.effort[at] = T.from_effort ? T.from_effort[k * T.effort_entry + b * T.effort_sample] : 0;
  }
  if (at == 0) *T.status = 0;
}
LW_SWEEP(take)

LW_FN void joint_poses_item(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Motion m = body_motion(T, i, b);
  store_pose(T.pose, body.stride, body.at, m.T);
  store<6>(T.rate, body.stride, body.at, m.V.x);
}
LW_SWEEP(joint_poses)

LW_FN void joint_states_item(const Tables& T, long long i, long long b) {
  joint_poses_item(T, i, b);
  total_effort(T, i, b);
}
LW_SWEEP(joint_states)

// c of each joint, and f = f_ext - V x* I V of each body: as b = Φ f of bodies that nodes read as clusters.
LW_FN void biases_item(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Vec6 V = load6(T.twist, body.stride, body.at), VJ = load6(T.rate, body.stride, body.at), c = cross_motion(V, VJ);
  if (T.kind[i] == COMPOUND) c = add(c, compound_motion(T, i, b, 0).c);
  store<6>(T.rate, body.stride, body.at, c.x);
  Vec6 f = sub(applied_wrench(T, i, b), cross_force(V, times(rigid_inertia(T, i, b), V)));
  if (!T.keeps_force[i]) {
    Item inertia = of_inertia(T, i, b);
    Sym6 phi;
    load<21>(T.phi, inertia.stride, inertia.at, phi.m);
    f = times(phi, f);                                                                                               // (2)
  }
  store<6>(T.force, body.stride, body.at, f.x);
}
LW_SWEEP(biases)

// S q̈ + c of each joint: the relative acceleration across it.
LW_FN void relative_accelerations_item(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Vec6 V = load6(T.twist, body.stride, body.at), VJ = load6(T.rate, body.stride, body.at), c = cross_motion(V, VJ);
  if (T.kind[i] == COMPOUND) c = add(c, compound_motion(T, i, b, 0).c);
  Freedoms<6> F = freedoms<6>(T, i, b);
  for (int a = 0; a < T.dof[i]; a++) c = add(c, scale(T.qdd[(T.v0[i] + a) * T.batch + b], F.S[a]));
  store<6>(T.rate, body.stride, body.at, c.x);
}
LW_SWEEP(relative_accelerations)

// f = I a + V x* I V - f_ext in the place of the acceleration.
LW_FN void body_wrenches_item(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Sym6 I = rigid_inertia(T, i, b);
  Vec6 V = load6(T.twist, body.stride, body.at), a = load6(T.force, body.stride, body.at);
  Vec6 f = sub(add(times(I, a), cross_force(V, times(I, V))), applied_wrench(T, i, b));
  store<6>(T.force, body.stride, body.at, f.x);
}
LW_SWEEP(body_wrenches)

LW_FN void body_energies_item(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b), inertia = of_inertia(T, i, b);
  Real I[10], moment[3], kinetic, potential = spring_energy(T, i, b);
  load<10>(T.inertia, inertia.stride, inertia.at, I);
  Vec6 V = load6(T.twist, body.stride, body.at), minus_g = world_acceleration(T, b);
  Pose P = load_pose(T.world, body.stride, body.at);
  kinetic = dot(V, times(rigid(I), V));
  for (int d = 0; d < T.dof[i]; d++) {
    Real v = velocity(T, T.v0[i] + d, b);
    kinetic += T.passive[2 * T.freedoms + T.v0[i] + d] * v * v;
  }
  turn(P.R, I + 1, moment);
  LW_UNROLL for (int c = 0; c < 3; c++) potential += minus_g.x[3 + c] * (moment[c] + I[0] * P.p[c]);
  T.energy[body.at] = (Real)0.5 * kinetic;
  T.energy[body.stride + body.at] = potential;
}
LW_SWEEP(body_energies)

LW_FN void twists_to_world_item(const Tables& T, long long i, long long b) {
  Item body = of_body(T, i, b);
  Pose P = load_pose(T.world, body.stride, body.at);
  Vec6 V = load6(T.twist, body.stride, body.at), out;
  turn(P.R, V.x, out.x);
  turn(P.R, V.x + 3, out.x + 3);
  store<6>(T.twist, body.stride, body.at, out.x);
}
LW_SWEEP(twists_to_world)

// Semi-implicit Euler: v ← v + h q̈, q ← q ⊕ h v.
LW_FN void integrate_item(const Tables& T, long long i, long long b) {
  for (int d = 0; d < T.dof[i]; d++) {
    long long at = (T.v0[i] + d) * T.batch + b;
    T.v[at] += (Real)T.h * T.qdd[at];
  }
  integrate_joint(T, i, b, (Real)T.h);
}
LW_SWEEP(integrate)

// ------------------------------------------------------------------------------------------------------------ at the world

LW_FN void start_still_item(const Tables& T, long long s, long long b) { hand_down(T, s, b, zero6(), zero6()); }
LW_SWEEP(start_still)

LW_FN void start_gravity_item(const Tables& T, long long s, long long b) {
  hand_down(T, s, b, world_acceleration(T, b), zero6());
}
LW_SWEEP(start_gravity)

LW_FN void start_place_item(const Tables& T, long long s, long long b) { place_child(T, s, b, identity_pose()); }
LW_SWEEP(start_place)

// At the root, between the ways up and down.
LW_FN void start_item(const Tables& T, int what) {
  if (LW_IS_FIRST && what & FROM_STILL) start_still_item(T, T.root, 0);
  if (LW_IS_FIRST && what & FROM_GRAVITY) start_gravity_item(T, T.root, 0);
}

// ------------------------------------------------------------------------------------------------------------------- nodes


LW_FN void stretch_item(const Tables& T, long long s, long long b) {
  if (LW_IS_NODE(s) && (T.node[s] & 3) == JOIN) stretch_join(T, s, b);
}
LW_SWEEP(stretch)

LW_FN void spread_item(const Tables& T, long long s, long long b) {
  if (LW_IS_NODE(s)) spread_node(T, s, b);
}
LW_SWEEP(spread)

LW_FN void place_item(const Tables& T, long long s, long long b) {
  if (LW_IS_NODE(s)) place_node(T, s, b);
}
LW_SWEEP(place)

LW_FN void gather_item(const Tables& T, long long s, long long b) {
  if (LW_IS_NODE(s)) gather_node(T, s, b);
}
LW_SWEEP(gather)

LW_FN void wrenches_item(const Tables& T, long long s, long long b) {
  if (LW_IS_NODE(s)) wrench_node(T, s, b);
}
LW_SWEEP(wrenches)

LW_IN_ONE_BLOCK(narrow_twists) {
  for (int k = first; what & UP && k < first + count; k++) {
    LW_LEVEL(stretch_item, k);
  }
  start_item(T, what);
  LW_WAIT;
  for (int k = first + count - 1; what & DOWN && k >= first; k--) {
    LW_LEVEL(spread_item, k);
  }
}
#endif

#if LW_PART == 0 || LW_PART == 2
// Nodes whose joints have several freedoms: a launch of their own, so that their many numbers burden no other node.
LW_FN void assemble_several_item(const Tables& T, long long s, long long b) {
  if (!LW_IS_NODE(s)) return;
  bool ok = (T.node[s] & 3) == JOIN ? join<6>(T, s, b) : hang<6>(T, s, b);
  if (!ok) report_failure(T, T.index[s]);
}
LW_SWEEP(assemble_several)

LW_FN void substitute_several_item(const Tables& T, long long s, long long b) {
  if (!LW_IS_NODE(s)) return;
  if ((T.node[s] & 3) == JOIN)
    pass_join<6>(T, s, b);
  else
    pass_hang<6>(T, s, b);
}
LW_SWEEP(substitute_several)
#endif

#if LW_PART == 0 || LW_PART == 1
LW_FN void assemble_item(const Tables& T, long long s, long long b) {
  if (!LW_IS_NODE(s)) return;
  int kind = T.node[s] & 3;
  bool ok = true;
  if (kind == JOIN)
    ok = join<1>(T, s, b);
  else if (kind == HANG)
    ok = hang<1>(T, s, b);
  else if (kind == BODY)
    ok = body_with_branches(T, s, b);
  else
    add_branches(T, s, b);
  if (!ok) report_failure(T, T.index[s]);
}
LW_SWEEP(assemble)

#ifndef LW_BLOCKS
#define LW_BLOCKS 2  // of a multiprocessor: how many registers a thread may have
#endif

// The same by columns: a block holds 32 items (x) and the six columns of each (y).
#ifdef __CUDACC__
LW_FN void by_columns(const Tables& T, bool is_there, long long s, long long b, const Share& share) {
  int q = threadIdx.y;
  Column my;
  if (is_there) column_1(T, s, b, q, share);
  __syncthreads();
  if (is_there) column_2(T, s, b, q, share);
  __syncthreads();
  if (is_there && !column_3(T, s, b, q, share, my)) report_failure(T, T.index[s]);
  __syncthreads();
  if (is_there) column_4(T, s, b, q, share, my);
}

extern "C" __global__ void __launch_bounds__(192, LW_BLOCKS) assemble_columns(const Tables T, int first, int count) {
  __shared__ Real memory[SHARED * NODES_OF_BLOCK];
  long long t = (long long)blockIdx.x * NODES_OF_BLOCK + threadIdx.x, s = first, b = 0;
  bool is_there = t < count * T.batch;
  if (is_there) {
    s += T.batch == 1 ? t : t / T.batch;
    b = T.batch == 1 ? 0 : t % T.batch;
    is_there = LW_IS_NODE(s);
  }
  by_columns(T, is_there, s, b, Share{memory + threadIdx.x});
}

LW_FN void assemble_level(const Tables& T, int k) {
  __shared__ Real memory[SHARED * NODES_OF_BLOCK];
  int end = T.level_first[k + 1];
  for (int at = T.level_first[k]; at < end; at += NODES_OF_BLOCK) {  // the same rounds for all threads
    int s = at + threadIdx.x;
    by_columns(T, s < end && LW_IS_NODE(s), s, 0, Share{memory + threadIdx.x});
    __syncthreads();
  }
}
#else
extern "C" void assemble_columns(const Tables* T, int first, int count) {
  Real memory[SHARED * NODES_OF_BLOCK];
  Share share{memory};
  Column my[6];
  for (int s = first; s < first + count; s++) {
    if (T->node[s] < 0) continue;
    for (long long b = 0; b < T->batch; b++) {
      for (int q = 0; q < 6; q++) column_1(*T, s, b, q, share);
      for (int q = 0; q < 6; q++) column_2(*T, s, b, q, share);
      for (int q = 0; q < 6; q++)
        if (!column_3(*T, s, b, q, share, my[q])) report_failure(*T, T->index[s]);
      for (int q = 0; q < 6; q++) column_4(*T, s, b, q, share, my[q]);
    }
  }
}

LW_FN void assemble_level(const Tables& T, int k) {
  assemble_columns(&T, T.level_first[k], T.level_first[k + 1] - T.level_first[k]);
}
#endif

LW_FN void substitute_item(const Tables& T, long long s, long long b) {
  if (!LW_IS_NODE(s)) return;
  int kind = T.node[s] & 3;
  if (kind == JOIN)
    pass_join<1>(T, s, b);
  else if (kind == HANG)
    pass_hang<1>(T, s, b);
  else if (kind == BODY)
    pass_body(T, s, b);
  else
    pass_branches(T, s, b);
}
LW_SWEEP(substitute)

LW_IN_ONE_BLOCK(narrow_solve) {
  for (int k = first; what & UP && k < first + count; k++) assemble_level(T, k);
  start_item(T, what);
  LW_WAIT;
  for (int k = first + count - 1; what & DOWN && k >= first; k--) {
    LW_LEVEL(substitute_item, k);
  }
}

// ----------------------------------------------------------------------------------------------------------------- strands

LW_FN void stretch_strands_item(const Tables& T, long long r, long long b) { stretch_strand(T, r, b); }
LW_SWEEP(stretch_strands)

LW_FN void spread_strands_item(const Tables& T, long long r, long long b) { spread_strand(T, r, b); }
LW_SWEEP(spread_strands)

LW_FN void assemble_strands_item(const Tables& T, long long r, long long b) { assemble_strand(T, r, b); }
LW_SWEEP(assemble_strands)

LW_FN void substitute_strands_item(const Tables& T, long long r, long long b) { pass_strand(T, r, b); }
LW_SWEEP(substitute_strands)

#endif

// The bodies of one depth after the other: threads of a sample share those of a depth, and wait for each other.
#ifdef __CUDACC__
#define LW_EACH_DEPTH(from, to, step, act)                                                                 \
  for (int d = from; d != to; d += step) {                                                                 \
    if (b < T.batch)                                                                                       \
      for (int k = T.depth_first[d] + threadIdx.y; k < T.depth_first[d + 1]; k += blockDim.y) act(T, T.by_depth[k], b); \
    __syncthreads();                                                                                       \
  }
#endif

#if LW_PART == 0 || LW_PART == 3
// ------------------------------------------------------------------------------------------------------------ body by body

LW_FN void accelerate(const Tables& T, long long i, long long b) {
  if (T.dof[i] > 1)
    acceleration_of_body<6>(T, i, b);
  else
    acceleration_of_body<1>(T, i, b);
}

// All three sweeps of one sample. A block holds 32 samples (x) and some threads for each (y), which share the bodies of a depth.
#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(256) bodies(const Tables T, int, int) {
  long long b = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  int depths = (int)T.depths;
  LW_EACH_DEPTH(0, depths, 1, velocity_of_body)
  LW_EACH_DEPTH(depths - 1, -1, -1, inertia_of_body)
  LW_EACH_DEPTH(0, depths, 1, accelerate)
}
#else
extern "C" void bodies(const Tables* T, int, int) {
  int n = (int)T->bodies;
  for (long long b = 0; b < T->batch; b++) {
    for (int k = 0; k < n; k++) velocity_of_body(*T, T->by_depth[k], b);
    for (int k = n - 1; k >= 0; k--) inertia_of_body(*T, T->by_depth[k], b);
    for (int k = 0; k < n; k++) accelerate(*T, T->by_depth[k], b);
  }
}
#endif
#endif

#if LW_PART == 0 || LW_PART == 4
// --------------------------------------------------------------------------------------------------------------- gradients

LW_FN void take_weights_item(const Tables& T, long long i, long long b) { take_weights_of(T, i, b); }
LW_SWEEP(take_weights)

LW_FN void body_shares_item(const Tables& T, long long i, long long b) { body_shares_of(T, i, b); }
LW_SWEEP(body_shares)

LW_FN void pass_sums_item(const Tables& T, long long s, long long b) {
  if (LW_IS_NODE(s)) pass_sums_node(T, s, b);
}
LW_SWEEP(pass_sums)

LW_FN void joint_gradients_item(const Tables& T, long long i, long long b) { gradients_of_joint(T, i, b); }
LW_SWEEP(joint_gradients)

// Twists again, sums and gradients of one sample, body by body; accelerations and virtual twists are there.
#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(256) bodies_gradients(const Tables T, int, int) {
  long long b = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  int depths = (int)T.depths;
  LW_EACH_DEPTH(0, depths, 1, velocity_of_body)
  LW_EACH_DEPTH(depths - 1, -1, -1, sums_of_body)
  LW_EACH_DEPTH(0, depths, 1, gradients_of_joint)
}
#else
extern "C" void bodies_gradients(const Tables* T, int, int) {
  int n = (int)T->bodies;
  for (long long b = 0; b < T->batch; b++) {
    for (int k = 0; k < n; k++) velocity_of_body(*T, T->by_depth[k], b);
    for (int k = n - 1; k >= 0; k--) sums_of_body(*T, T->by_depth[k], b);
    for (int k = 0; k < n; k++) gradients_of_joint(*T, T->by_depth[k], b);
  }
}
#endif
#endif
