"""What a variational step of a tree keeps of the steps before: momenta that go on, and mean velocities for the guess.

Coordinates at the ends of the last steps follow from the mean velocities w of these; a polynomial through them, continued
to the end of the next step, is its guess, whatever the lengths of all these steps:

    U(0) = 0,   U(-h₁) = -h₁ w₁,   U(-h₁ - h₂) = -h₁ w₁ - h₂ w₂, ...      u ≈ U(h) = Σ aₖ wₖ        (9)  docs/integrators.md

With how many terms is decided by how well each number of them would have done in the last step: smooth motion is continued
by the cubic of four, waves that the steps hardly resolve by the line of two. In the beginning a step of almost no length
with the velocities there stands for a history. What is remembered holds as long as coordinates and velocities are those
that the last step left, on the same version of the linkage.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.simulation.moving import END_LINKAGE, GUESS_TERMS, HISTORY, LINKAGE, moving_of

# Rows of `stages`: coordinates and velocities at the end; mean velocities of the last substeps, the latest first, with one
# more number each, the length.
END_Q, END_V, MEAN_V = HISTORY + 1, HISTORY + 2, HISTORY + 3
REMEMBERED = 4
NO_LENGTH = 1e-3  # part of a step that stands for none


@routine
def remembers(table):
    """Whether the last step ended at the present state of the same linkage."""
    s = moving_of(table)
    found = s.numbers[END_LINKAGE] == s.numbers[LINKAGE] + 1.0
    for k in range(s.q.shape[0]):
        found = found and s.stages[END_Q, k] == s.q[k]
    for k in range(s.v.shape[0]):
        found = found and s.stages[END_V, k] == s.v[k]
    return found


@routine
def remember_end(table):
    """The present state as the one that the last step left."""
    s = moving_of(table)
    s.numbers[END_LINKAGE] = s.numbers[LINKAGE] + 1.0
    for k in range(s.q.shape[0]):
        s.stages[END_Q, k] = s.q[k]
    for k in range(s.v.shape[0]):
        s.stages[END_V, k] = s.v[k]


@routine
def begin_history(table, h):
    """The history of a linkage that has none: its velocities v, for a moment."""
    s = moving_of(table)
    last = s.q.shape[0]
    for row in range(MEAN_V, MEAN_V + REMEMBERED):
        s.stages[row, last] = 0.0
    s.stages[MEAN_V, last] = NO_LENGTH * h
    s.numbers[GUESS_TERMS] = 2.0
    for k in range(s.v.shape[0]):
        s.stages[MEAN_V, k] = s.v[k]


@inlined
def is_beginning(table):
    """Whether nothing is known but velocities."""
    s = moving_of(table)
    return s.stages[MEAN_V + 1, s.q.shape[0]] == 0.0


@routine
def remember_mean(table, span):
    """The displacements u of a substep of `span` [s] that was just made."""
    s = moving_of(table)
    choose_terms(table, span)
    last = s.q.shape[0]
    for row in range(MEAN_V + REMEMBERED - 1, MEAN_V, -1):
        s.stages[row, last] = s.stages[row - 1, last]
        for k in range(s.v.shape[0]):
            s.stages[row, k] = s.stages[row - 1, k]
    s.stages[MEAN_V, last] = span
    for k in range(s.v.shape[0]):
        s.stages[MEAN_V, k] = s.u[k] / span


@inlined
def ahead(lengths, k, h):
    """aₖ of (9): what the mean velocity of the k-th last of steps of these lengths counts for in the next one of h [s]."""
    found = 0.0
    node = 0.0  # where the polynomial is given: 0, -h₁, -h₁ - h₂, ...
    for i in range(len(lengths)):
        node -= lengths[i]
        if i >= k and lengths[i] > 0.0:
            part = 1.0  # Lagrange's polynomial of this node at h
            other = 0.0
            for e in range(len(lengths) + 1):
                if e != i + 1 and (e == 0 or lengths[e - 1] > 0.0):
                    part *= (h - other) / (node - other)
                if e < len(lengths):
                    other -= lengths[e]
            found -= part
    return found * lengths[k]


@inlined
def weights(table, terms, h):
    """a₁ to a₄ of (9), of which as many count as there are terms."""
    s = moving_of(table)
    last = s.q.shape[0]
    lengths = (
        s.stages[MEAN_V, last],
        s.stages[MEAN_V + 1, last] if terms > 1 else 0.0,
        s.stages[MEAN_V + 2, last] if terms > 2 else 0.0,
        s.stages[MEAN_V + 3, last] if terms > 3 else 0.0,
    )
    return ahead(lengths, 0, h), ahead(lengths, 1, h), ahead(lengths, 2, h), ahead(lengths, 3, h)


@inlined
def continued(s, a, k):
    """The guess for degree of freedom k."""
    u = a[0] * s.stages[MEAN_V, k] + a[1] * s.stages[MEAN_V + 1, k]
    return u + a[2] * s.stages[MEAN_V + 2, k] + a[3] * s.stages[MEAN_V + 3, k]


@routine
def guess_from_history(table, h):
    """(9): displacements in the step of h [s] into u."""
    s = moving_of(table)
    a = weights(table, s.numbers[GUESS_TERMS], h)
    for k in range(s.v.shape[0]):
        s.u[k] = continued(s, a, k)


@routine
def choose_terms(table, h):
    """As many terms for the next guess as would have been best for the displacements u of the last step."""
    s = moving_of(table)
    best = math.inf
    for terms in range(2, REMEMBERED + 1):
        if s.stages[MEAN_V + terms - 1, s.q.shape[0]] > 0.0:
            a = weights(table, float(terms), h)  # as it is kept: one form of `weights` to compile
            error = 0.0
            for k in range(s.v.shape[0]):
                off = s.u[k] - continued(s, a, k)
                error += off * off
            if error <= best:
                best = error
                s.numbers[GUESS_TERMS] = terms
