"""`linkwork walk` and `linkwork bench reroot` as people call them."""

import numpy as np
import pytest

from linkwork.cli import main
from linkwork.cli.exit_codes import DONE, REFUSED
from linkwork.errors import StateError
from linkwork.scenarios.walker.gait import FALLEN, Walker
from linkwork.scenarios.walker.simulation import WalkerSimulation


def test_walk_prints_the_gait_and_draws_it(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="draws")
    assert main(["walk", "--steps", "4", "--out", str(tmp_path)]) == DONE
    said = capsys.readouterr().out
    for word in ("4 steps", "period 0.734379", "Floquet multipliers", "stable", "walker.png"):
        assert word in said
    assert (tmp_path / "walker.png").stat().st_size > 20_000  # not blank


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--slope", "0"], "cannot keep a passive walker going"),
        (["--slope", "2"], "below a right angle"),
        (["--hip-mass", "-1"], "hip_mass"),
        (["--steps", "1"], "at least 2 steps"),
    ],
)
def test_walk_refuses_in_words(words, message, capsys):
    assert main(["walk", "--no-picture", *words]) == REFUSED
    assert message in capsys.readouterr().err


def test_bench_reroot_runs(capsys):
    assert main(["bench", "reroot", "--quick"]) == DONE
    assert "times faster than compiling" in capsys.readouterr().out


def test_a_step_in_which_the_walker_falls_is_taken_back():
    """On a slope where its gait is barely stable, and much disturbed, it falls; what was before stands."""
    sim = WalkerSimulation(Walker(slope=0.0524), disturbance=0.0)
    sim.step(0.01, 20)
    before, strikes = sim.checkpoint(), sim.strikes
    assert sim.settings()["slope"] == 0.0524
    pushed = dict(before, v=np.array([-6.0, 0.0]))
    sim.restore(pushed)
    with pytest.raises(StateError, match="the walker falls forward"):
        sim.step(0.01, 1000)
    assert 20 <= sim.steps_done < 1020
    assert sim.time == pytest.approx(0.01 * sim.steps_done)
    stance = abs(sim.checkpoint()["q"][0] + 0.0524)
    assert stance <= FALLEN  # the step that went beyond was taken back
    sim.restore(before)
    assert (sim.steps_done, sim.strikes) == (20, strikes)
    with pytest.raises(StateError, match="not a checkpoint of a walker"):
        sim.restore({"q": before["q"]})
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(StateError, match="h is"):
            sim.advance(wrong)
