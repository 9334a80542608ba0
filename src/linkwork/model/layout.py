"""Where each number of a compiled model stands: the columns of its tables.

Kernels read three tables, so that a call from Python unpacks few arrays and a body's data share cache lines.
"""

# Joint kinds as kernels number them. Cylindrical, Universal and Planar joints are compounds of screws.
FIXED, HELICAL, SPHERICAL, FREE, COMPOUND = range(5)

# tree (n, 6) int64: one row per body
PARENT = 0  # body that carries this one; -1 is the world
KIND = 1
Q = 2  # first coordinate of the joint in q
V = 3  # first velocity of the joint in v
DOF = 4  # degrees of freedom, 0 to 6
SCREW = 5  # first row of a compound joint in the table of screws
TREE_COLUMNS = 6

# body (n, 32) float64: one row per body
ROTATION = 0  # 9: the joint's zero frame in the parent body, rotation
POSITION = 9  # 3: and position [m]
INERTIA = 12  # 10: mass [kg], m c [kg·m], inertia about the origin [kg·m²], xx xy xz yy yz zz
AXIS = 22  # 3: screw of a helical joint: unit axis of rotation (zero for a prismatic joint)
SLIDE = 25  # 3: displacement along the axis for each unit of q [m/rad, or 1]
CENTER = 28  # 3: a point of the axis (or the centre of a spherical joint), in the body frame [m]
BODY_COLUMNS = 32

# screws (m, 9) float64: the primitives of compound joints: axis, slide, center as above
SCREW_AXIS, SCREW_SLIDE, SCREW_CENTER, SCREW_COLUMNS = 0, 3, 6, 9

# dof (nv, 4) float64: one row per degree of freedom
DAMPING = 0  # [N·s/m or N·m·s]
STIFFNESS = 1  # [N/m or N·m]
ARMATURE = 2  # reflected rotor inertia [kg or kg·m²]
DOF_COLUMNS = 4
