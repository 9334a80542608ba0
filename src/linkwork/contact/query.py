"""The numbers of a search, query (24,): what it is after, in query[MODE], and what it has found."""

CONTACTS, CLEARANCE, COLLISION, PASSING = 0.0, 1.0, 2.0, 3.0
MODE, MARGIN, STEP, LEAST, SHAPE_S, SHAPE_T, FOUND_NORMAL, FOUND_A, FOUND_B = 0, 1, 2, 3, 4, 5, 6, 9, 12
MEETING, FASTEST, CLEAR, THIN, QUERY = 15, 16, 17, 18, 24
SEARCHES, DISTANCES = 19, 20  # work of this step so far: searches for contacts, distances of solids that they asked for
