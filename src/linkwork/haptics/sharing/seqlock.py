"""A mailbox between loops: one writer publishes whole messages, readers read the last one whole, and no loop waits.

Two buffers, each with a sequence number that is odd while it is written. The writer always takes the buffer that was not
written last; so a reader is disturbed only by a writer that publishes two messages while it reads one, and reads again.
"""

from __future__ import annotations

from linkwork.core.jit import inlined, kernel
from linkwork.haptics.sharing.atomics import (
    fence_after_reads,
    fence_before_writes,
    load_integer,
    load_word,
    store_integer,
    store_word,
)
from linkwork.haptics.sharing.layout import P_BUFFERS, P_LATEST, P_SEQUENCE

MOST_TRIES = 1000  # a writer would have to publish two messages during every one of them


@inlined
def publish(memory, mailbox, room, message, words):
    """Writes the first `words` of `message` into the mailbox at `mailbox`, whose buffers have `room` words."""
    buffer = 1 - load_integer(memory, mailbox + P_LATEST)
    sequence = load_integer(memory, mailbox + P_SEQUENCE + buffer)
    store_integer(memory, mailbox + P_SEQUENCE + buffer, sequence + 1)
    fence_before_writes()
    first = mailbox + P_BUFFERS + buffer * room
    for k in range(words):
        store_word(memory, first + k, message[k])
    store_integer(memory, mailbox + P_SEQUENCE + buffer, sequence + 2)
    store_integer(memory, mailbox + P_LATEST, buffer)


@inlined
def read(memory, mailbox, room, message, words):
    """Reads the first `words` of the last message into `message`; returns how often it began anew, -1 if never whole."""
    for k in range(MOST_TRIES):
        buffer = load_integer(memory, mailbox + P_LATEST) & 1
        before = load_integer(memory, mailbox + P_SEQUENCE + buffer)
        # A buffer that was written but not announced yet is not read: the next reader would find an older message.
        if before & 1 != 0 or load_integer(memory, mailbox + P_LATEST) != buffer:
            continue
        first = mailbox + P_BUFFERS + buffer * room
        for word in range(words):
            message[word] = load_word(memory, first + word)
        fence_after_reads()
        if load_integer(memory, mailbox + P_SEQUENCE + buffer) == before:
            return k
    return -1


@kernel
def publish_message(memory, mailbox, room, message):
    """For Python: publishes all of `message`."""
    publish(memory, mailbox, room, message, message.shape[0])


@kernel
def read_message(memory, mailbox, room, message):
    """For Python: reads all of `message`; returns how often it began anew, or -1."""
    return read(memory, mailbox, room, message, message.shape[0])


# ------------------------------------------------------------------------------------------------------------- its proof


@kernel
def write_in_series(memory, room, message, stop):
    """Publishes messages whose words are all one number, one after the other, until stop[0] is set; returns how many."""
    count = 0
    while load_integer(stop, 0) == 0:
        count += 1
        for k in range(room):
            message[k] = float(count)
        publish(memory, 0, room, message, room)
    return count


@kernel
def read_in_series(memory, room, message, reads, result):
    """Reads `reads` messages; result (4,): torn ones, ones older than one read before, readings begun anew, gave up."""
    last = 0.0
    for _ in range(reads):
        again = read(memory, 0, room, message, room)
        if again < 0:
            result[3] += 1
            continue
        result[2] += again
        for k in range(1, room):
            if message[k] != message[0]:
                result[0] += 1
                break
        if message[0] < last:
            result[1] += 1
        last = message[0]


@kernel
def set_flag(stop):
    """Tells `write_in_series` to end."""
    store_integer(stop, 0, 1)
