"""The table of nodes of an assembly tree: kinds of nodes, and what its columns hold."""

BODY, JOIN, HANG, SUM = range(4)  # kinds of nodes

# Columns of the node table, one row per node; children are numbered before parents, every subtree is one run of numbers.
NODE_KIND = 0
LEFT = 1  # JOIN: upper cluster. HANG: the cluster. SUM: a branch. BODY: its branches, or -1
RIGHT = 2  # JOIN: lower cluster. SUM: a branch. otherwise -1
INDEX = 3  # BODY: the body. JOIN, HANG: the joint (by the body it carries). SUM: -1
UP = 4  # parent node, -1 at the root
ROLE = 5  # how the parent uses a cluster: UPPER, LOWER (of a JOIN) or TOP (of a HANG)
FIRST = 6  # first node of the subtree
SOLID = 7  # 1: BODY or JOIN of a rigid stretch of welded bodies; HANG: such a stretch, welded to its carrier. Else 0
NODE_COLUMNS = 8

UPPER, LOWER, TOP = range(3)
