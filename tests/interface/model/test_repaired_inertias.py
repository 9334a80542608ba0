"""Files with inertias that no body has: refused or kept as written by default, mended where that is asked for."""

import numpy as np
import pytest
from tests.helpers.robots import NEEDED, packaged_robots

import linkwork as lw
from linkwork.importers.unphysical import nearest_physical

URDF = """<robot name="r"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.1 0 0" rpy="0.3 0.2 0.1"/><mass value="2"/>
<inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


def second_moments(inertia: lw.Inertia) -> np.ndarray:
    return 0.5 * np.trace(inertia.matrix) * np.eye(3) - inertia.matrix


@pytest.mark.parametrize("moments", [(0.1, 0.1, 1.0), (1.0, -0.2, 0.9), (-0.1, -0.1, 0.5)])
def test_mended_inertias_compile(tmp_path, moments):
    file = tmp_path / "arm.urdf"
    file.write_text(URDF.format(*moments))
    linkage = lw.load(file, repair=True)
    (warning,) = [line for line in linkage.warnings if "mended" in line]
    assert "arm.urdf:2" in warning
    assert not linkage["arm"].inertia.faults()
    assert linkage["arm"].inertia.mass == 2.0
    assert linkage.compile().nv == 1


def test_nothing_physical_is_nearer():
    rng = np.random.default_rng(1)
    for _ in range(20):
        R = lw.Pose(quaternion=rng.normal(size=4)).matrix[:3, :3]
        broken = lw.Inertia(1.0, (0.1, 0.2, 0.3), R @ np.diag(rng.normal(size=3) + np.array([0, 0, 2])) @ R.T)
        mended = nearest_physical(broken)
        distance = np.linalg.norm(second_moments(mended) - second_moments(broken))
        assert np.linalg.eigvalsh(second_moments(mended)).min() >= -1e-14 * np.abs(mended.matrix).max()
        for _ in range(50):  # other bodies, near and far
            X = rng.normal(size=(3, 3)) * rng.uniform(0, 2)
            assert np.linalg.norm(X @ X.T - second_moments(broken)) >= distance - 1e-12
            nearby = second_moments(mended) + 1e-3 * X @ X.T
            assert np.linalg.norm(nearby - second_moments(broken)) >= distance - 1e-12


def test_physical_inertias_stay(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(URDF.format(0.1, 0.2, 0.25))
    assert lw.load(file, repair=True)["arm"].inertia == lw.load(file)["arm"].inertia
    inertia = lw.Inertia.box(2.0, (0.1, 0.2, 0.3))
    assert np.abs(nearest_physical(inertia).matrix - inertia.matrix).max() <= 1e-16


# ------------------------------------------------------------------------------------------------ files that others wrote

ROBOTS = packaged_robots()
MENDED = {"LElbowYaw_link", "body", "LHipPitch_link", "RHipPitch_link"}


@pytest.mark.skipif(ROBOTS is None, reason=NEEDED)
def test_a_real_robot_with_negative_moments_is_refused_or_mended():
    file = ROBOTS / "romeo_description" / "urdf" / "romeo_laas_small.urdf"
    with pytest.raises(lw.ModelError, match=r"romeo_laas_small\.urdf:358: body 'LHipPitch_link'.*must not be negative"):
        lw.load(file, missing_meshes="skip").compile()
    linkage = lw.load(file, missing_meshes="skip", repair=True)
    warnings = [line for line in linkage.warnings if "mended" in line]
    assert {name for line in warnings for name in MENDED if f"'{name}'" in line} == MENDED
    assert len(warnings) == len(MENDED)
    model = linkage.compile()
    assert model.nv == 31
    assert np.linalg.eigvalsh(lw.mass_matrix(model, model.neutral())).min() > 0.0
    assert np.isfinite(lw.forward_dynamics(model, model.random_state(1))).all()


FILES = sorted(ROBOTS.rglob("*.urdf")) if ROBOTS is not None else []
NOT_URDF = {"ur3.urdf"}  # has no <link>


@pytest.mark.skipif(ROBOTS is None, reason=NEEDED)
def test_every_robot_of_the_package_is_read():
    assert len(FILES) > 60
    refused = set()
    for file in FILES:
        try:
            model = lw.load(file, missing_meshes="skip", repair=True).compile()
        except lw.FormatError:
            refused.add(file.name)
        else:
            assert np.isfinite(model.mass).all(), file.name
    assert refused <= NOT_URDF
