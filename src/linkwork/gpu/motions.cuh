// Motions on the assembly tree: twists, accelerations, poses and wrenches of all bodies in O(log n) depth. A JOIN knows the pose of
// its last body in its first and the motion u of the one relative to the other (in the last body's frame); both are products over
// the cluster. What the first body does then says what every body does.

struct Stretch {  // of a cluster: from its first to its last body
  Pose T;
  Vec6 u;
};

LW_FN Stretch stretch_of(const Tables& T, int child, long long b) {
  if (child < 0 || (T.node[child] & 3) == BODY) return Stretch{identity_pose(), zero6()};
  Item at = of_slot(T, child, b);
  return Stretch{load_pose(T.cross, at.stride, at.at), load6(T.cross + 12 * at.stride, at.stride, at.at)};
}

LW_FN void stretch_join(const Tables& T, long long s, long long b) {
  Item at = of_slot(T, s, b), joint = of_body(T, T.index[s], b);
  Stretch A = stretch_of(T, T.left[s], b), B = stretch_of(T, T.right[s], b);
  Pose X = load_pose(T.pose, joint.stride, joint.at);
  Vec6 u = add(twist_to_child(X, A.u), load6(T.rate, joint.stride, joint.at));
  u = add(twist_to_child(B.T, u), B.u);
  store_pose(T.cross, at.stride, at.at, compose(compose(A.T, X), B.T));
  store<6>(T.cross + 12 * at.stride, at.stride, at.at, u.x);
}

LW_FN void move_child(const Tables& T, int child, long long b, const Vec6& V) {
  if (child < 0) {
    Item body = of_body(T, -1 - child, b);
    store<6>(T.moved, body.stride, body.at, V.x);
  } else {
    Item at = of_slot(T, child, b);
    store<6>(T.input, at.stride, at.at, V.x);
  }
}

// From the motion of a node's first body (or carrier) to that of its children's.
LW_FN void spread_node(const Tables& T, long long s, long long b) {
  int kind = T.node[s] & 3;
  Item at = of_slot(T, s, b), joint = of_body(T, T.index[s], b);
  Vec6 V = load6(T.input, at.stride, at.at);
  if (kind == JOIN) {
    Stretch A = stretch_of(T, T.left[s], b);
    Vec6 last = add(twist_to_child(A.T, V), A.u);
    move_child(T, T.left[s], b, V);
    last = twist_to_child(load_pose(T.pose, joint.stride, joint.at), last);
    move_child(T, T.right[s], b, add(last, load6(T.rate, joint.stride, joint.at)));
  } else if (kind == HANG) {
    V = twist_to_child(load_pose(T.pose, joint.stride, joint.at), V);
    move_child(T, T.left[s], b, add(V, load6(T.rate, joint.stride, joint.at)));
  } else {
    if (kind == BODY) store<6>(T.moved, joint.stride, joint.at, V.x);
    move_child(T, T.left[s], b, V);
    if (kind == SUM) move_child(T, T.right[s], b, V);
  }
}

LW_FN void place_child(const Tables& T, int child, long long b, const Pose& P) {
  if (child < 0) {
    Item body = of_body(T, -1 - child, b);
    store_pose(T.world, body.stride, body.at, P);
  } else {
    Item at = of_slot(T, child, b);
    store_pose(T.input, at.stride, at.at, P);
  }
}

LW_FN void place_node(const Tables& T, long long s, long long b) {
  int kind = T.node[s] & 3;
  Item at = of_slot(T, s, b), joint = of_body(T, T.index[s], b);
  Pose P = load_pose(T.input, at.stride, at.at);
  if (kind == JOIN) {
    place_child(T, T.left[s], b, P);
    P = compose(P, stretch_of(T, T.left[s], b).T);
    place_child(T, T.right[s], b, compose(P, load_pose(T.pose, joint.stride, joint.at)));
  } else if (kind == HANG) {
    place_child(T, T.left[s], b, compose(P, load_pose(T.pose, joint.stride, joint.at)));
  } else {
    if (kind == BODY) store_pose(T.world, joint.stride, joint.at, P);
    place_child(T, T.left[s], b, P);
    if (kind == SUM) place_child(T, T.right[s], b, P);
  }
}

// ---------------------------------------------------------------------------------------- inverse dynamics: wrenches

LW_FN Vec6 gathered(const Tables& T, int child, long long b) {
  Item at = child < 0 ? of_body(T, -1 - child, b) : of_slot(T, child, b);
  return load6(child < 0 ? T.force : T.top, at.stride, at.at);
}

// Sum of the wrenches on a cluster's bodies, seen at its first body; of branches, seen at their carrier.
LW_FN void gather_node(const Tables& T, long long s, long long b) {
  int kind = T.node[s] & 3;
  Item at = of_slot(T, s, b), joint = of_body(T, T.index[s], b);
  Vec6 F = gathered(T, T.left[s], b);
  if (kind == JOIN) {
    Vec6 below = wrench_to_parent(load_pose(T.pose, joint.stride, joint.at), gathered(T, T.right[s], b));
    F = add(F, wrench_to_parent(stretch_of(T, T.left[s], b).T, below));
  } else if (kind == HANG) {
    F = wrench_to_parent(load_pose(T.pose, joint.stride, joint.at), F);
  } else if (kind == SUM) {
    F = add(F, gathered(T, T.right[s], b));
  } else {
    F = add(F, load6(T.force, joint.stride, joint.at));
  }
  store<6>(T.top, at.stride, at.at, F.x);
}

// Q = Sᵀ f + J q̈ less springs and dampers, for the joint that passes f.
LW_FN void joint_effort(const Tables& T, long long i, long long b, const Vec6& f) {
  Freedoms<6> F = freedoms<6>(T, i, b);
  for (int a = 0; a < T.dof[i]; a++) {
    long long at = (T.v0[i] + a) * T.batch + b;
    T.total[at] = dot(F.S[a], f) + F.J[a] * T.qdd[at] - T.total[at];
  }
}

// The wrench through each joint, from what arrives at a cluster's last body from beyond it.
LW_FN void wrench_node(const Tables& T, long long s, long long b) {
  int kind = T.node[s] & 3;
  Item at = of_slot(T, s, b), joint = of_body(T, T.index[s], b);
  if (kind == JOIN) {
    Vec6 beyond = load6(T.input, at.stride, at.at);
    Vec6 f = add(gathered(T, T.right[s], b), wrench_to_parent(stretch_of(T, T.right[s], b).T, beyond));
    joint_effort(T, T.index[s], b, f);
    hand_down(T, T.right[s], b, beyond, zero6());
    hand_down(T, T.left[s], b, wrench_to_parent(load_pose(T.pose, joint.stride, joint.at), f), zero6());
  } else if (kind == HANG) {
    joint_effort(T, T.index[s], b, gathered(T, T.left[s], b));
    hand_down(T, T.left[s], b, zero6(), zero6());
  }
}
