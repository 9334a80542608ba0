"""Small sound files of every format, to be changed."""

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0 0 0"/>
      <mass value="1.5"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.003"/>
    </inertial>
    <collision>
      <geometry>
        <cylinder radius="0.05" length="0.4"/>
      </geometry>
    </collision>
  </link>
  <link name="lower">
    <inertial>
      <mass value="0.7"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.002"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0 0.1" rpy="0 0.1 0"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="10" velocity="3"/>
    <dynamics damping="0.1" friction="0"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/>
    <child link="lower"/>
    <origin xyz="0 0 0.4"/>
    <axis xyz="0 1 0"/>
  </joint>
</robot>"""

MJCF = """<mujoco model="arm">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81" timestep="0.002"/>
  <default>
    <joint damping="0.1" armature="0.01"/>
    <geom density="500"/>
  </default>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-1 1" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.05"/>
      <body name="lower" pos="0 0 -0.4">
        <joint name="elbow" type="ball"/>
        <geom type="box" size="0.05 0.05 0.2" pos="0 0 -0.2"/>
      </body>
    </body>
    <body name="loose" pos="1 0 1">
      <freejoint/>
      <geom type="sphere" size="0.1"/>
    </body>
  </worldbody>
  <equality>
    <connect body1="lower" body2="loose" anchor="0 0 -0.4"/>
  </equality>
</mujoco>"""

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 90 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT LeftUpLeg
  {
    OFFSET 10 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT LeftLeg
    {
      OFFSET 0 -40 0
      CHANNELS 1 Xrotation
      End Site
      {
        OFFSET 0 -42 0
      }
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.01
0 90 0 0 0 0 0 1 2 3
0 90 1 0 1 0 0 1 2 4
0 90 2 0 2 0 0 1 2 5"""

ASF = """:version 1.10
:name leg
:units
  mass 1.0
  length 0.45
  angle deg
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name lfemur
     direction 0.34 -0.94 0
     length 7.1
     axis 0 0 20 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
     id 2
     name ltibia
     direction 0.34 -0.94 0
     length 7.4
     axis 0 0 20 XYZ
    dof rx
    limits (-10.0 170.0)
  end
:hierarchy
  begin
    root lfemur
    lfemur ltibia
  end"""

FILES = {".urdf": URDF, ".xml": MJCF, ".bvh": BVH, ".asf": ASF}
