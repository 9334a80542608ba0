"""Shapes and meshes that cannot be: an error of Linkwork that names the body, never a crash and never a raw exception."""

import math
import subprocess
import sys

import numpy as np
import pytest
from tests.helpers.meshes import CUBE, FACES, write_obj

import linkwork as lw
from linkwork.contact.geometry.mesh_files import FLAT, hull_corners, thickness

VALUES = [None, True, "x", b"x", [1], [], (1, 2), (1, 2, 3, 4), ([1], 1, 1), {}, object(), math.nan, math.inf, -1.0, 1j,
          10**400, -(10**400), 2**63, np.zeros((2, 2)), np.float32(1.0), (10**400, 1, 1), [[1, 2], [3]], 1e308]  # fmt: skip
GOOD = {
    lw.Box: {"size": (1.0, 1.0, 1.0)},
    lw.Sphere: {"radius": 1.0},
    lw.Capsule: {"radius": 1.0, "length": 1.0},
    lw.Cylinder: {"radius": 1.0, "length": 1.0},
    lw.HeightField: {"heights": ((0.0, 0.0), (0.0, 0.0)), "size": (1.0, 1.0)},
    lw.Plane: {},
    lw.Mesh: {"file": "none.obj", "scale": (1.0, 1.0, 1.0), "path": ""},
}
SURFACE = ("placement", "friction", "restitution", "group", "mask", "visual_only", "owner")


def compiled(shape, obstacle):
    linkage = lw.Linkage("one")
    moving = [] if obstacle else [shape]
    linkage.add_body("b", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 1.0), shapes=[lw.Sphere(0.1), *moving])
    if obstacle:
        linkage.add_obstacle("thing", shape)
    return linkage.compile()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("obstacle", [False, True], ids=["body", "obstacle"])
@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.__name__)
def test_whatever_a_shape_is_given(kind, obstacle):
    """Each argument takes each of many values: it is refused in words, or the shape can touch and be shown."""
    refused = []
    for name in (*GOOD[kind], *SURFACE):
        for value in VALUES:
            try:
                model = compiled(kind(**{**GOOD[kind], name: value}), obstacle)
                nearest = lw.clearance(model, model.neutral())
                assert nearest is None or not math.isnan(nearest.distance)
            except lw.LinkworkError as error:
                refused.append(str(error))
    assert len(refused) > 50
    assert max(map(len, refused)) < 3000


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (lw.Box(([1], 1, 1)), "3 finite numbers"),
        (lw.Sphere(1.0, placement=None), "must be a lw.Pose"),
        (lw.Sphere(1.0, group=2**63), "64 bits"),
        (lw.Sphere(1.0, friction=10**400), "finite number ≥ 0"),
        (lw.HeightField(np.zeros((2, 2)), None), "2 finite numbers"),
    ],
)
def test_the_words(shape, words):
    with pytest.raises(lw.ModelError, match=words):
        compiled(shape, isinstance(shape, lw.HeightField))


@pytest.mark.parametrize("limits", [(-math.inf, -math.inf), (math.inf, math.inf), (math.nan, 1.0), (1.0, 0.0)])
def test_limits_that_leave_nothing(limits):
    linkage = lw.Linkage("one")
    linkage.add_body("b", joint=lw.Revolute((0, 0, 1), limits=limits), inertia=lw.Inertia.sphere(1.0, 1.0))
    with pytest.raises(lw.ModelError, match="limits"):
        linkage.compile()


def test_limits_as_wide_as_numbers_go():
    linkage = lw.Linkage("one")
    linkage.add_body("b", joint=lw.Revolute((0, 0, 1), limits=(-1e308, 1e308)), inertia=lw.Inertia.sphere(1.0, 1.0))
    assert np.isfinite(linkage.compile().random_state(1).q).all()


# ------------------------------------------------------------------------------------------------------------------ meshes


def with_mesh(file):
    linkage = lw.Linkage("one")
    linkage.add_body("plate", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 1.0), shapes=[lw.Mesh(str(file))])
    return linkage.compile()


@pytest.mark.parametrize(
    "content",
    [
        "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n",
        "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n",
        "v 0 0 0\nv 0 0 0\nv 0 0 0\nf 1 2 3\n",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
        "v 1e200 0 0\nv 0 1e200 0\nv 0 0 1e200\nv 0 0 0\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n",
        "f 1 1 1\n", "v 0 0 0\nf 1\n", "v a b c\n", "v 0 0 0\nf\n", "v 0 0 0\nf 99999999999999999999 1 1\n", "",
    ],
)  # fmt: skip
def test_meshes_without_a_volume(tmp_path, content):
    (tmp_path / "m.obj").write_text(content)
    pytest.importorskip("coal")
    with pytest.raises(lw.LinkworkError, match=r"m\.obj"):
        lw.Collisions(with_mesh(tmp_path / "m.obj"))


def test_a_moving_mesh_that_is_flat_is_refused_by_name(tmp_path):
    pytest.importorskip("coal")
    flat = CUBE * (1.0, 1.0, 0.0)
    with pytest.raises(lw.ModelError, match=r"body 'plate': mesh .* is flat"):
        lw.Collisions(with_mesh(write_obj(tmp_path / "flat.obj", points=flat)))
    line = CUBE * (1.0, 1e-9, 1e-9)
    with pytest.raises(lw.ModelError, match="body 'plate'"):
        lw.Collisions(with_mesh(write_obj(tmp_path / "line.obj", points=line)))
    thin = CUBE * (1.0, 1.0, 1e-3)
    assert lw.Collisions(with_mesh(write_obj(tmp_path / "thin.obj", points=thin))) is not None


CAMPAIGN = """
import numpy as np
import linkwork as lw
from linkwork.contact.geometry.mesh_files import hull_corners

for seed in range(400):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 40))
    points = rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-16, 0, 3)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    points = (points @ turn + rng.normal(size=3) * rng.choice([0.0, 1.0, 1e3, 1e6])) * 10.0 ** rng.uniform(-30, 30)
    try:
        found = hull_corners(points[rng.integers(count, size=(60, 3))], "body")
        assert np.isfinite(found).all() and len(found) >= 4
    except lw.ModelError:
        pass
print("whole")
"""


def test_hulls_of_points_near_planes_and_lines():
    """In a process of its own: the library that makes hulls used to end it."""
    pytest.importorskip("coal")
    done = subprocess.run([sys.executable, "-c", CAMPAIGN], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "whole", done.stderr[-2000:]


def test_thickness_is_that_of_a_box(rng):
    for _ in range(50):
        edges = np.sort(10.0 ** rng.uniform(-4, 0, 3))
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        found = thickness(CUBE * edges @ turn + rng.normal(size=3))
        assert 0.3 * edges[0] <= found <= 1.01 * edges[0]
    assert thickness(CUBE[:1]) == 0.0


def test_the_hull_is_where_the_mesh_is(rng):
    pytest.importorskip("coal")
    for scale in (1e-6, 1.0, 1e6):
        points = scale * (CUBE + np.array([3.0, -2.0, 5.0]))
        found = hull_corners(points[np.array(FACES)], "body")
        assert np.sort(found, axis=0) == pytest.approx(np.sort(points, axis=0), abs=1e-12 * scale * 10)
    assert FLAT < 1e-3  # a plate of 1 mm and a metre is not flat
