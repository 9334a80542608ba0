"""Limits that URDF and MJCF files give to joints act: positions stop there, motors are neither stronger nor faster."""

from __future__ import annotations

import pytest
from tests.helpers.contact_setups import KINDS, simulate

import linkwork as lw

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-0.3" upper="0.4" effort="6" velocity="0.8"/></joint>
</robot>"""

MJCF = """<mujoco><compiler angle="radian"/><worldbody><body name="rod">
  <joint name="elbow" axis="0 1 0" range="-0.3 0.4" limited="true"/>
  <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.001"/></body></worldbody></mujoco>"""


def model_of(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return lw.load(path).compile()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "text"), [("arm.urdf", URDF), ("arm.xml", MJCF)])
@pytest.mark.parametrize(("target", "end"), [(1.0, 0.4), (-1.0, -0.3)])
def test_a_joint_of_a_file_stops_at_its_limits(kind, name, text, target, end, tmp_path):
    if name.endswith("xml"):
        pytest.importorskip("mujoco")
    model = model_of(tmp_path, name, text)
    (joint,) = model.joint_names
    sim = simulate(kind, model, model.neutral())
    sim.set_motor(joint, position=target, stiffness=200.0, damping=5.0)
    fastest, strongest = 0.0, 0.0
    for _ in range(2000):
        sim.advance(1e-3)
        fastest, strongest = max(fastest, abs(sim.state.v[0])), max(strongest, abs(sim.efforts.motors[0]))
    assert sim.state.q[0] == pytest.approx(end, abs=1e-6)
    assert abs(sim.state.v[0]) < 1e-6
    assert sim.efforts.limits[0] * target < 0.0  # it presses back
    if name.endswith("urdf"):
        assert strongest <= 6.0
        assert fastest <= 0.8 * (1.0 + 1e-6)
        assert strongest > 5.9
        assert fastest > 0.7
