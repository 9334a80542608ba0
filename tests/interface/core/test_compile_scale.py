"""A long linkage compiles as a short one does. How fast and in how much memory is measured by `linkwork bench compile`."""

import linkwork as lw

JOINTS = 50_000


def test_a_long_linkage_built_body_by_body_compiles():
    linkage, parent = lw.Linkage("long"), "world"
    for i in range(JOINTS):
        name = f"body_{i}"
        inertia = lw.Inertia(1.0, (0, 0, -0.05), (1e-3, 1e-3, 1e-4))
        linkage.add_body(name, parent, lw.Revolute((0, 1, 0)), lw.Pose(xyz=(0, 0, -0.1)), inertia)
        parent = name
    model = linkage.compile()
    assert model.n_bodies == model.depth == model.nv == JOINTS
    assert model.random_state(0).q.shape == (JOINTS,)
