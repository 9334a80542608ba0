"""The page "I have a robot file" with the commonest of them: a Panda, whose gripper has a mimic joint."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.robots import URDFS

import linkwork as lw

PAGE = Path(__file__).parents[3] / "docs" / "start" / "robot.md"


def test_the_page_takes_a_panda(capsys):
    """Its questions and answers; what touches is compiled and run by the page's own test."""
    panda = URDFS.get("panda")
    if panda is None:
        pytest.skip(reason="the Panda's file comes with example-robot-data")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)[:2]
    code = blocks[0].replace('lw.library.snake().to_urdf("snake.urdf", overwrite=True)', "pass")
    code = code.replace('lw.load("snake.urdf")', f'lw.load({str(panda)!r}, missing_meshes="skip")')
    assert "snake" not in code
    names: dict[str, object] = {}
    exec(code + blocks[1], names)
    model = names["model"]
    assert isinstance(model, lw.Model)
    assert model.couplings, "the fingers mimic each other"
    assert capsys.readouterr().out.splitlines()[-1] == "True"  # what holds the robot against gravity does
    hand = model.body_names[-1]
    goal = model.state(np.concatenate([[0.1, 0.4, -0.2, -1.5, 0.3, 1.2, 0.5], [0.02, 0.02]]))
    found = lw.reach(model, model.neutral(), {hand: lw.Pose(matrix=lw.body_poses(model, goal)[-1])})
    assert found.reached
    assert found.gap <= 1e-12
