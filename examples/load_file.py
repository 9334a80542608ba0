"""A robot from a URDF file: what came in, and the three algorithms of forward dynamics on it.

Takes the path of a URDF or MJCF file; without one it writes a small robot to a temporary folder first.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw

CART = """<?xml version="1.0"?>
<robot name="cart">
  <link name="rail"/>
  <link name="cart">
    <inertial><mass value="1.0"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  </link>
  <link name="pole">
    <inertial>
      <origin xyz="0 0 0.5"/><mass value="0.2"/>
      <inertia ixx="0.017" ixy="0" ixz="0" iyy="0.017" iyz="0" izz="0.0001"/>
    </inertial>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/><limit lower="-2" upper="2" effort="50" velocity="5"/>
  </joint>
  <joint name="swing" type="continuous">
    <parent link="cart"/><child link="pole"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""


def main() -> None:
    if len(sys.argv) > 1:
        robot = lw.load(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cart.urdf"
            path.write_text(CART, encoding="utf-8")
            robot = lw.load(path)
    model = robot.compile()
    print(model, "with joints", ", ".join(model.joint_names[:8]))
    for warning in model.warnings:
        print("warning:", warning)

    rng = np.random.default_rng(1)
    state = model.random_state(rng)
    effort = rng.normal(size=model.nv)
    judge = lw.forward_dynamics(model, state, effort, algorithm="dense")
    for algorithm in ("aba", "unit_vector"):
        difference = np.abs(lw.forward_dynamics(model, state, effort, algorithm=algorithm) - judge).max()
        print(f"{algorithm} differs from dense by {difference:.1e}")


if __name__ == "__main__":
    main()
