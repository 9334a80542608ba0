"""Every shape on every obstacle: it drops a centimetre, comes to rest at the height of both and presses with its weight."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import KINDS, G, simulate
from ..helpers.meshes import write_obj

SIDEWAYS = (math.pi / 2, 0.0, 0.0)
DROP, MARGIN = 0.01, 1e-3  # [m; of the size of a shape] where bodies count as touching
SHAPES = {  # and how high their centres stand
    "sphere": (lambda file: lw.Sphere(0.1), 0.1),
    "box": (lambda file: lw.Box((0.2, 0.2, 0.2)), 0.1),
    "capsule": (lambda file: lw.Capsule(0.1, 0.1), 0.15),
    "cylinder": (lambda file: lw.Cylinder(0.1, 0.2), 0.1),
    "hull": (lambda file: lw.Mesh(file, scale=(0.2, 0.2, 0.2)), 0.1),
}
GROUNDS = {  # the top of each is at the origin
    "plane": (lambda file: lw.Plane(), lw.Pose()),
    "box": (lambda file: lw.Box((2.0, 2.0, 0.2)), lw.Pose((0, 0, -0.1))),
    "sphere": (lambda file: lw.Sphere(1.0), lw.Pose((0, 0, -1))),
    "capsule": (lambda file: lw.Capsule(1.0, 2.0), lw.Pose((0, 0, -1), rpy=SIDEWAYS)),
    "cylinder": (lambda file: lw.Cylinder(1.0, 2.0), lw.Pose((0, 0, -1), rpy=SIDEWAYS)),
    "end of a cylinder": (lambda file: lw.Cylinder(1.0, 0.2), lw.Pose((0, 0, -0.1))),
    "mesh": (lambda file: lw.Mesh(file, scale=(2.0, 2.0, 0.2)), lw.Pose((0, 0, -0.1))),
    "height field": (lambda file: lw.HeightField(np.zeros((5, 4)), (2.0, 2.0)), lw.Pose()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_things_rest_on_every_ground(kind, ground, shape, tmp_path):
    if shape == "hull" and importlib.util.find_spec("coal") is None:
        pytest.skip(reason="hulls of meshes that move need the extra contact")
    file = write_obj(tmp_path / "cube.obj")
    (make, height), (lay, pose) = SHAPES[shape], GROUNDS[ground]
    linkage = lw.Linkage("thing")
    linkage.add_body("thing", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[make(file)])
    linkage.add_obstacle("ground", lay(file), pose)
    model = linkage.compile()
    q = model.neutral().q
    q[2] = height + DROP
    sim = simulate(kind, model, model.state(q), lw.Contact(friction=0.5))
    report = sim.step(2e-3, 120)
    assert sim.state.q[2] == pytest.approx(height, abs=0.01 * MARGIN)  # 1e-6 of the height apart is seen
    assert np.abs(sim.state.v).max() < 1e-6  # ten times what the residual of solves (1e-8) leaves of h g
    assert sum(point.force[2] for point in sim.contacts) == pytest.approx(G, rel=1e-6)
    assert {(point.body, point.other) for point in sim.contacts} == {("thing", "ground")}
    assert report.contact.not_converged == 0
    flat = shape in ("box", "cylinder", "hull") and ground in (
        "plane",
        "box",
        "end of a cylinder",
        "mesh",
        "height field",
    )
    assert len(sim.contacts) >= (4 if flat else 1)  # faces that rest on each other have more than one point
