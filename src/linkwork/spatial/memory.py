"""Between tuples and rows of arrays: tuples live in registers, rows in memory."""

from linkwork.core.jit import inlined


@inlined
def three(a, o):
    return (a[o], a[o + 1], a[o + 2])


@inlined
def put3(a, o, x):
    a[o], a[o + 1], a[o + 2] = x


@inlined
def load3(a, i, o):
    return (a[i, o], a[i, o + 1], a[i, o + 2])


@inlined
def load4(a, i, o):
    return (a[i, o], a[i, o + 1], a[i, o + 2], a[i, o + 3])


@inlined
def load6(a, i, o):
    return (a[i, o], a[i, o + 1], a[i, o + 2], a[i, o + 3], a[i, o + 4], a[i, o + 5])


@inlined
def load9(a, i, o):
    return load6(a, i, o) + load3(a, i, o + 6)


@inlined
def load10(a, i, o):
    return load6(a, i, o) + load4(a, i, o + 6)


@inlined
def store3(a, i, o, x):
    a[i, o] = x[0]
    a[i, o + 1] = x[1]
    a[i, o + 2] = x[2]


@inlined
def store4(a, i, o, x):
    a[i, o] = x[0]
    a[i, o + 1] = x[1]
    a[i, o + 2] = x[2]
    a[i, o + 3] = x[3]


@inlined
def store6(a, i, o, x):
    a[i, o] = x[0]
    a[i, o + 1] = x[1]
    a[i, o + 2] = x[2]
    a[i, o + 3] = x[3]
    a[i, o + 4] = x[4]
    a[i, o + 5] = x[5]


@inlined
def store9(a, i, o, x):
    store6(a, i, o, x)
    store3(a, i, o + 6, x[6:])


@inlined
def store10(a, i, o, x):
    store6(a, i, o, x)
    store4(a, i, o + 6, x[6:])


@inlined
def add_to6(a, i, o, x):
    a[i, o] += x[0]
    a[i, o + 1] += x[1]
    a[i, o + 2] += x[2]
    a[i, o + 3] += x[3]
    a[i, o + 4] += x[4]
    a[i, o + 5] += x[5]


@inlined
def add_to9(a, i, o, x):
    add_to6(a, i, o, x)
    a[i, o + 6] += x[6]
    a[i, o + 7] += x[7]
    a[i, o + 8] += x[8]


# ------------------------------------------------------------------------------------------- 6x6 blocks, row after row


@inlined
def load_block(a, i, o):
    """The six rows of a block."""
    return (
        load6(a, i, o),
        load6(a, i, o + 6),
        load6(a, i, o + 12),
        load6(a, i, o + 18),
        load6(a, i, o + 24),
        load6(a, i, o + 30),
    )


@inlined
def store_block(a, i, o, X):
    store6(a, i, o, X[0])
    store6(a, i, o + 6, X[1])
    store6(a, i, o + 12, X[2])
    store6(a, i, o + 18, X[3])
    store6(a, i, o + 24, X[4])
    store6(a, i, o + 30, X[5])


@inlined
def add_to_block(a, i, o, X):
    add_to6(a, i, o, X[0])
    add_to6(a, i, o + 6, X[1])
    add_to6(a, i, o + 12, X[2])
    add_to6(a, i, o + 18, X[3])
    add_to6(a, i, o + 24, X[4])
    add_to6(a, i, o + 30, X[5])
