"""Scene files on disk, for the tests of scenes: a good one to spoil, and what the reader says about it."""

from pathlib import Path

import pytest

from linkwork.errors import FormatError
from linkwork.scene import Scene

GOOD = """\
title = "a chain"
gravity = [0, 0, -9.81]

[model]
library = "chain"
parameters = { joints = 6 }

[state]
q = { link_0 = 0.3 }

[[load]]
body = "link_5"
force = ["sin(t)", 0, 0]

[[joint]]
joint = "link_*"
damping = 0.001

[method]
kind = "full"

[run]
h = 0.001
duration = 0.01
"""


def write_scene(folder: Path, text: str = GOOD, name: str = "scene.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def faults_of(path, settings=()) -> FormatError:
    with pytest.raises(FormatError) as caught:
        Scene.read(path, settings)
    return caught.value
