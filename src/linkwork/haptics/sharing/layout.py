"""The memory that the loops share: where each word stands. A driver in another language reads and writes the same words.

One array of 8-byte words, little-endian as the processor has them: float64, or int64 where the comment says integer. Times
are integers, nanoseconds of CLOCK_MONOTONIC. docs/haptics.md has the same as a table.

A *mailbox* is a place where one writer publishes messages that many readers read whole (`seqlock`): word 0 the buffer
that was written last (integer), words 1 and 2 the sequence numbers of the two buffers (integers, odd while being
written), from word 8 on the two buffers, one after the other.
"""

from __future__ import annotations

from linkwork.dynamics.paths.path_segments import network_words

MAGIC = 0x4C_57_48_41_50_54_49_43  # "LWHAPTIC"
LAYOUT = 2  # changes whenever a word moves
GRASPS = 64  # at most, in one session

# -------------------------------------------------------------------------------------------------- header, all integers
H_MAGIC, H_LAYOUT, H_GRASPS, H_WORDS = 0, 1, 2, 3
H_STOP = 4  # not 0: the coupling loop ends
H_RUNS = 5  # 1 while the coupling loop runs
H_PERIOD = 6  # [ns] of the coupling loop
H_SPIN = 7  # [ns] before a tick, in which the loop busy-waits
H_TICKS = 8  # of the coupling loop so far
H_MISSED = 9  # ticks that came a whole period late or more
H_RETRIES = 10  # readings that met the writer and began anew
H_LAST_TICK = 11  # time of the last tick
HEADER = 64

# ------------------------------------------------------------------------------------------------------------ mailboxes
P_LATEST, P_SEQUENCE, P_BUFFERS = 0, 1, 8

# -------------------------------------------------------------------- snapshot: from the simulation to the coupling loop
S_TIME = 0  # when it was written (integer)
S_COUNT = 1  # hands in it (integer)
S_SIM_TIME = 2  # [s] of the simulation
S_WORDS = 3  # of the whole snapshot (integer)
S_JUNCTIONS = 4  # of the tree of segments (integer), which stands behind the records: `paths.path_segments`
S_ROWS = 5  # rows of constraints (integer), behind the tree: 6 numbers for each hand in each row
S_AT_ROWS = 6  # the word at which they begin (integer)
S_GRASPS = 8  # from here on one record per hand

# Record of a hand. Vectors and matrices refer to the axes of the world and to the point that is held.
R_SLOT = 0  # its places for device and output (integer)
R_GRASP = 1  # number of the grasp, another one each time (integer)
R_POINT = 2  # 3: the point held [m]
R_ROTATION = 5  # 9: of the body held
R_TWIST = 14  # 6: angular velocity of the body, velocity of the point [rad/s, m/s]
R_FEED = 20  # 6: what the body feels from joints, weight and other loads without hands [N·m, N]
R_STIFFNESS, R_DAMPING = 26, 27  # of the coupling [N/m, N·s/m]
R_TURN_STIFFNESS, R_TURN_DAMPING = 28, 29  # [N·m/rad, N·m·s/rad]; zero: a hand of three degrees of freedom
R_FORCE_LIMIT, R_TORQUE_LIMIT = 30, 31  # [N, N·m]
R_LENGTH_SCALE, R_FORCE_SCALE = 32, 33  # world metres per device metre, device newtons per world newton
R_FEEL = 34  # what the hand feels: FEEL_REACTIONS or FEEL_SPRING (integer)
R_WATCHDOG, R_FADE = 35, 36  # [ns] (integers)
R_ORIGIN = 37  # 3: world point that belongs to the device point R_DEVICE_ORIGIN
R_DEVICE_ORIGIN = 40  # 3
R_TURN = 43  # 4: quaternion; the hand's rotation in the world is the device's times this one
R_PASSIVE = 47  # 1: the hand gets no energy that the coupling would not have given, but for R_ALLOWANCE (integer)
R_HOLD = 48  # [s] for which the simulation holds a force
R_DRIFT = 49  # 6: acceleration of the body and of the point without hands [rad/s², m/s²]
R_YIELD = 56  # 36: how much of a force is left when the body yields to it within R_HOLD, row by row
R_JUNCTION = 92  # the junction of its body in the tree (integer)
R_ALLOWANCE = 93  # [J] that the hand may get beyond what the coupling would have given, in the device's units
R_INTO = 96  # 36: wrench at the point held, axes of the world → about the body's origin, in its frame
R_OUT = 132  # 36: acceleration of the body, in its frame → inertia times it, at the point held, axes of the world
RECORD = 168
FEEL_REACTIONS, FEEL_SPRING = 0, 1

MOST_ROWS = 6 * GRASPS  # what constraints do to so many hands has no more independent rows
SNAPSHOT_WORDS = S_GRASPS + GRASPS * RECORD + network_words(GRASPS) + MOST_ROWS * 6 * GRASPS
JUNCTIONS = 2 * GRASPS  # at most

# --------------------------------------------------------------------------- reading: from a device to the coupling loop
D_TIME = 0  # when it was read (integer)
D_POSITION = 1  # 3 [m]
D_QUATERNION = 4  # 4: w, x, y, z
D_VELOCITY = 8  # 3 [m/s]
D_TURN_RATE = 11  # 3: angular velocity [rad/s]
D_BUTTONS = 14  # one bit per button (integer)
READING_WORDS = 16

# --------------------------------------------------------------- output: from the coupling loop to device and simulation
O_TIME = 0  # of the tick (integer)
O_GRASP = 1  # the grasp it belongs to (integer)
O_STATE = 2  # IDLE, HELD, FADING or RELEASED (integer)
O_WRENCH = 3  # 6: what the hand does to the body, at the point held, axes of the world [N·m, N]
O_FELT = 9  # 6: what the device makes the hand feel, in the device's newtons and metres
O_GAIN = 15  # 1 while all is well, 0 after a release
O_ENERGY = 16  # [J] that the device gave to the hand since the grasp, in the device's units
O_LEAST = 17  # [J] the least that O_ENERGY was, and O_MOST the most
O_MOST = 18
O_HAND = 19  # 3: where the hand is in the world [m]
OUTPUT_WORDS = 24
IDLE, HELD, FADING, RELEASED = range(4)
STATES = ("idle", "held", "fading", "released")

# ---------------------------------------------------------------------------- histograms of the coupling loop (integers)
# Bin k counts times from 2^(k/16) to 2^((k+1)/16) ns; the last word of each is the longest.
BINS_PER_OCTAVE = 16
BINS = 40 * BINS_PER_OCTAVE  # up to 18 minutes
HISTOGRAM = BINS + 8
LONGEST = BINS
T_TICK, T_INTERVAL, T_AGE = 0, 1, 2  # work of a tick; time between ticks; age of the snapshot used
HISTOGRAMS = 3

# ---------------------------------------------------------------------------- what the coupling loop keeps of each slot
M_GRASP, M_ENERGY, M_LEAST, M_MOST, M_RELEASED, M_FELT, M_POSITION, M_TURN = 0, 1, 2, 3, 4, 5, 11, 14
M_SPRING, M_PULL, M_TIME = (
    18,
    19,
    25,
)  # the same meter for the coupling's own force, and that force; time of the last tick
M_MOVED, M_TURNED = 26, 29  # way and turn of the hand between the last two ticks
MEMORY_WORDS = 32


def mailbox_words(message: int) -> int:
    return P_BUFFERS + 2 * message


SNAPSHOT = HEADER
READINGS = SNAPSHOT + mailbox_words(SNAPSHOT_WORDS)  # one mailbox per slot
OUTPUTS = READINGS + GRASPS * mailbox_words(READING_WORDS)
STATISTICS = OUTPUTS + GRASPS * mailbox_words(OUTPUT_WORDS)
REMEMBERED = STATISTICS + HISTOGRAMS * HISTOGRAM
WORDS = REMEMBERED + GRASPS * MEMORY_WORDS

READING_POST = mailbox_words(READING_WORDS)
OUTPUT_POST = mailbox_words(OUTPUT_WORDS)
