"""Two checkouts in turns: `benchmarks/against.py`."""

import re
from pathlib import Path

from benchmarks import against

ROOT = Path(__file__).parents[3]
SMALL = "robots: snake of 12"


def test_a_checkout_beside_itself(capsys):
    assert against.main([str(ROOT), SMALL, "--rounds", "3"]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    here, there, ratio = (float(number) for number in re.findall(r"\d+\.\d+", row.removeprefix(SMALL))[:3])
    assert row.startswith(SMALL)
    assert min(here, there, ratio) > 0.0


def test_a_folder_without_the_package_is_reported(tmp_path, capsys):
    """Not compared with the package that happens to be installed."""
    (tmp_path / "src").mkdir()
    assert against.main([str(tmp_path), SMALL, "--rounds", "3"]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row == f"{SMALL:40}  does not run there: there is no package in {tmp_path / 'src'}"
