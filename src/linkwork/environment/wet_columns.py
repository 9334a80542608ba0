"""Columns of the table of wetted bodies, and entries of the numbers of a fluid, as kernels read them."""

WET_MIDDLE, WET_AXIS, WET_LENGTH, WET_RADIUS, WET_VOLUME = 0, 3, 6, 7, 8
WET_CROSS, WET_DRAG = 9, 10  # d Cₙ and π d Cₜ [m]
WET_ADDED = 11  # added mass across the axis [kg]
WET_STREAM = 12  # 3: velocity of the stream at the middle, where a function gives it, in the world [m/s]
WET_COLUMNS = 15

DENSITY, SURFACE, FLOOR, BED_STIFFNESS, BED_DAMPING, BED_FRICTION, BED_SLOW = range(7)
TIME, WAVE_HEIGHT, WAVE_NUMBER, WAVE_RATE, WAVE_X, WAVE_Y, WAVE_PHASE, WAVE_DEPTH = range(7, 15)
WATER_NUMBERS = 15
