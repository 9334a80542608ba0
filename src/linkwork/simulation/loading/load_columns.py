"""Columns of the table of loads that the world holds.

Point in the body, force and torque in the axes of the world, and the world point and stiffness of a spring.
"""

LOAD_AT, LOAD_FORCE, LOAD_TORQUE, LOAD_TARGET, LOAD_STIFFNESS = 0, 3, 6, 9, 12
LOAD_COLUMNS = 16
