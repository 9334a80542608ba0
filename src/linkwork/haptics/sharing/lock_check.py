"""Proof of the lock between loops by trial: a writer and a reader on two threads, as fast as they go."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from linkwork.haptics.sharing.seqlock import publish_message, read_in_series, set_flag, write_in_series

ROOM = 88  # words of a message: as many as a snapshot of one hand has


class LockCheck(NamedTuple):
    reads: int
    writes: int
    torn: int  # messages put together from two
    older: int  # messages older than one read before
    retries: int  # readings that met the writer and began anew
    given_up: int  # readings that never got a whole message


def check_lock(reads: int) -> LockCheck:
    """Reads so many messages while another thread writes."""
    memory, stop, result = np.zeros(8 + 2 * ROOM), np.zeros(1), np.zeros(4)
    publish_message(memory, 0, ROOM, np.zeros(ROOM))
    writes: list[int] = []
    writer = threading.Thread(target=lambda: writes.append(write_in_series(memory, ROOM, np.zeros(ROOM), stop)))
    writer.start()
    try:
        read_in_series(memory, ROOM, np.zeros(ROOM), reads, result)
    finally:
        set_flag(stop)
        writer.join()
    torn, older, retries, given_up = (int(x) for x in result)
    return LockCheck(reads, writes[0], torn, older, retries, given_up)
