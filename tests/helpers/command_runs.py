"""The command line inside a test: `linkwork ...` in a folder with a small scene, and what a run left there."""

import numpy as np

from linkwork.cli import main
from linkwork.record.recording import Recording

SMALL = """\
title = "a small chain"
[model]
library = "chain"
parameters = { joints = 8 }
[[load]]
body = "link_7"
force = ["0.3*sin(5*t)", 0, 0]
[method]
kind = "full"
[run]
h = 0.001
duration = 0.05
[record]
every = 0.005
joints = ["link_0", "link_7"]
points = [{ body = "link_7", at = [0, 0, -0.1] }]
"""


def command_line(capsys, monkeypatch, folder):
    """A function that runs `linkwork ...` in this process and gives exit code, stdout, stderr."""
    monkeypatch.chdir(folder)
    (folder / "small.toml").write_text(SMALL)

    def call(*words: str):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return code, captured.out, captured.err

    return call


def states(path) -> list[bytes]:
    """Every frame of a recording, bit for bit."""
    recording = Recording(path)
    return [np.concatenate([[t], *recording.state(k)]).tobytes() for k, t in enumerate(recording.times)]
