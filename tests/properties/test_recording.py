"""Whatever frames are written, committed, lost and written again: a recording holds exactly those that count."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.record import Recorder, Recording

pytest.importorskip("zarr", reason="the extra `record` is not installed")

JOINTS = 5
MODEL = lw.library.chain(joints=JOINTS).compile()
BOUNDED = settings(max_examples=15, deadline=None, derandomize=True)  # a failure seen once is seen by everybody

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=64),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, 5e-324]),
)
changes = st.dictionaries(st.integers(0, 2 * JOINTS - 1), numbers, max_size=2 * JOINTS)
scalars = st.dictionaries(st.sampled_from(["energy", "bound", "late"]), numbers, max_size=3)
frames = st.tuples(st.just("frame"), changes, scalars)
others = st.tuples(st.sampled_from(["flush", "checkpoint", "crash"]))
stories = st.lists(st.one_of(frames, frames, frames, others), max_size=40)


class Shadow:
    """What a recording must hold, kept as plain lists."""

    def __init__(self):
        self.states, self.scalars = [], []
        self.x = np.zeros(2 * JOINTS)

    def append(self, changed, scalars):
        for place, value in changed.items():
            self.x[place] = value
        self.states.append(self.x.copy())
        self.scalars.append(scalars)

    def cut(self, length):
        del self.states[length:], self.scalars[length:]
        self.x = self.states[-1].copy() if self.states else np.zeros(2 * JOINTS)


def play(path, story):
    """Plays a story; a crash loses everything since the last checkpoint."""
    shadow = Shadow()
    recorder = Recorder(path)
    recorder.begin(MODEL)
    recorder.checkpoint({"mark": 0})
    mark = 0
    for kind, *what in story:
        if kind == "frame":
            shadow.append(*what)
            k = len(shadow.states) - 1
            recorder.append(0.5 * k, k, lw.State(shadow.x[:JOINTS].copy(), shadow.x[JOINTS:].copy()), what[1])
        elif kind == "flush":
            recorder.flush()
        elif kind == "checkpoint":
            mark = len(shadow.states)
            recorder.checkpoint({"mark": mark})
        else:
            del recorder  # with the process goes its lock, and nothing is written
            recorder = Recorder.resume(path)
            assert recorder.saved == {"mark": mark}
            shadow.cut(mark)
            assert len(recorder) == mark
    recorder.close()
    return shadow


@BOUNDED
@given(stories)
def test_a_recording_holds_exactly_what_counts(story):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        shadow = play(path, story)
        recording = Recording(path)
        count = len(shadow.states)
        assert len(recording) == count
        assert recording.times.tolist() == [0.5 * k for k in range(count)]
        assert recording.steps.tolist() == list(range(count))
        expected = np.array(shadow.states).reshape(count, 2 * JOINTS)
        order = np.random.default_rng(count).permutation(count)
        for k in order.tolist():
            assert np.concatenate(recording.state(k)).tobytes() == expected[k].tobytes()
        assert recording.coordinates(range(2 * JOINTS)).tobytes() == expected.tobytes()
        names = {name for scalars in shadow.scalars for name in scalars}
        assert names <= set(recording.scalars)  # a scalar whose frames were all lost may stay behind, as NaN
        for name, values in recording.scalars.items():
            wanted = np.array([scalars.get(name, np.nan) for scalars in shadow.scalars])
            np.testing.assert_array_equal(values, wanted)


@BOUNDED
@given(st.lists(st.tuples(changes, scalars), min_size=1, max_size=30), st.data())
def test_chunks_of_any_size_hold_the_same(story, data):
    """The lengths of chunks decide how much is written when, and nothing else."""
    from linkwork.record import layout

    rows = data.draw(st.integers(1, 9))
    kept = layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS
    try:
        layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS = rows, rows + 1, 3 * rows
        with tempfile.TemporaryDirectory() as folder:
            shadow = play(Path(folder) / "run", [("frame", *frame) for frame in story] + [("flush",)])
            recording = Recording(Path(folder) / "run")
            for k, x in enumerate(shadow.states):
                assert np.concatenate(recording.state(k)).tobytes() == x.tobytes()
            got = recording.coordinates([3, 1])
            assert got.tobytes() == np.array(shadow.states)[:, [3, 1]].tobytes()
    finally:
        layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS = kept
