"""`linkwork walk` and `linkwork bench reroot` as people call them."""

import pytest

from linkwork.cli import main
from linkwork.cli.exit_codes import DONE, REFUSED


def test_walk_tells_the_gait_and_draws_it(tmp_path, capsys):
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
