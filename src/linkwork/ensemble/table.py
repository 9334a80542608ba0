"""The table of a sweep: one row per run with parameters, seed, results, status, error and version; in CSV.

Numbers are written so that reading gives the same bits. The table depends on the sweep and its outcomes only: neither the
order in which runs finished nor times and places are in it, so it is the same, byte for byte, however often the sweep
was stopped and on however many workers it ran. Times are in timings.csv beside it.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import as_path
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.extras import needed
from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.ensemble.design import run_seed
from linkwork.ensemble.journal import read_journal
from linkwork.ensemble.plan import PLAN, Plan, read_plan
from linkwork.ensemble.work import FAILED, SweepError, recording_of
from linkwork.errors import LinkworkError
from linkwork.record.recording import Recording

TABLE, TIMINGS = "table.csv", "timings.csv"


@tabled
class SweepTable:
    """The results of a sweep, read from its folder; also while it runs.

    len(table): finished runs. parameters, results: names of columns. `table["energy"]` is a column, `table.row(k)` a row.
    """

    def __init__(self, folder: str | Path):
        self.folder = as_path(folder, "a sweep")
        self.plan: Plan = read_plan(self.folder)
        self._outcomes = read_journal(self.folder, len(self.plan.rows))
        self._runs = sorted(self._outcomes)

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.plan.names

    @property
    def results(self) -> tuple[str, ...]:
        """In the order in which they first appear, run by run."""
        return tuple(dict.fromkeys(name for run in self._runs for name in self._outcomes[run]["results"]))

    @property
    def columns(self) -> tuple[str, ...]:
        return ("run", *self.parameters, "seed", *self.results, "status", "error", "version")

    @property
    def failed(self) -> list[int]:
        """Numbers of the runs that failed."""
        return [run for run in self._runs if self._outcomes[run]["status"] == FAILED]

    @property
    def missing(self) -> int:
        """How many runs are still to be done."""
        return len(self.plan.rows) - len(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def row(self, k: int) -> dict[str, Any]:
        """Row k by column; None where a run has no such result."""
        return dict(zip(self.columns, self._cells(self._runs[k], self.results), strict=True))

    def rows(self) -> Iterable[tuple[Any, ...]]:
        names = self.results
        return (self._cells(run, names) for run in self._runs)

    def _cells(self, run: int, results: Sequence[str]) -> tuple[Any, ...]:
        outcome = self._outcomes[run]
        values = outcome["results"]
        return (
            run,
            *self.plan.rows[run],
            run_seed(self.plan.seed, run),
            *(values.get(name) for name in results),
            outcome["status"],
            outcome["error"],
            outcome["version"],
        )

    def __getitem__(self, column: str) -> Any:
        """A column: numbers as an array with NaN where there are none, shape (len,); anything else as a list."""
        if column not in self.columns:
            raise LinkworkError(f"the sweep has no column '{column}'{did_you_mean_or_list(column, self.columns)}")
        at = self.columns.index(column)
        values = [cells[at] for cells in self.rows()]
        return numbers(values) if all(value is None or is_number(value) for value in values) else values

    def error(self, run: int) -> str:
        """Why a run failed; empty where it did not."""
        return str(self._outcomes[run]["error"])

    def recording(self, run: int) -> Recording:
        """The recording of a run, if the sweep keeps them."""
        return Recording(recording_of(self.folder, run))

    def timings(self) -> dict[str, Any]:
        """Wall time [s] and place of each finished run, and their numbers."""
        outcomes = [self._outcomes[run] for run in self._runs]
        return {
            "run": np.array(self._runs),
            "wall_s": np.array([outcome["wall_s"] for outcome in outcomes]),
            "where": [outcome["where"] for outcome in outcomes],
        }

    # ------------------------------------------------------------------------------------------------------------- writing

    def write(self) -> Path:
        """Writes table.csv and timings.csv into the sweep's folder, each whole or not at all."""
        times = self.timings()
        _write_csv(self.folder / TIMINGS, list(times), zip(*times.values(), strict=True))
        _write_csv(self.folder / TABLE, self.columns, self.rows())
        return self.folder / TABLE

    def to_parquet(self, path: str | Path) -> None:
        """The same as a Parquet file, for which pyarrow is needed; columns of mixed kinds become text."""
        message = "writing Parquet needs pyarrow; install it with: pip install pyarrow"
        pyarrow, parquet = needed("pyarrow", message), needed("pyarrow.parquet", message)
        columns = dict(zip(self.columns, zip(*self.rows(), strict=True), strict=True)) if len(self) else {}
        made = {}
        for name, values in columns.items():
            kinds = {type(value) for value in values if value is not None}
            is_plain = len(kinds) <= 1 or kinds <= {int, float}
            is_plain = is_plain and all(is_number(value) for value in values if type(value) is int)
            kept = values if is_plain and kinds.isdisjoint({list, dict}) else [cell(value) for value in values]
            made[name] = pyarrow.array([float(x) for x in kept] if kinds == {int, float} else kept)
        parquet.write_table(pyarrow.table(made), path)

    def __repr__(self) -> str:
        return f"SweepTable('{self.folder}', {len(self)} of {len(self.plan.rows)} runs, {len(self.failed)} failed)"


def is_number(value: Any) -> bool:
    """Whether arrays keep a value: a float, or a whole number of 64 bits. Longer ones stay what they are."""
    return isinstance(value, float) or (type(value) is int and -(2**63) <= value < 2**63)


def numbers(values: Iterable[Any]) -> FloatArray:
    """As an array, NaN for None; of whole numbers if all are."""
    listed = list(values)
    if listed and all(isinstance(value, int) for value in listed):
        return np.array(listed)
    return np.array([np.nan if value is None else value for value in listed], dtype=float)


def cell(value: Any) -> str:
    """A value as text that reads back as the same: numbers by their shortest digits, lists as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return repr(float(value))
    return value if isinstance(value, str) else json.dumps(value, default=int)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([cell(value) for value in row] for row in rows)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise SweepError(
            f"cannot write '{path}': {error.strerror}. Every finished run is kept in the journal; make room and resume."
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def is_sweep(folder: Path) -> bool:
    """Whether a folder is that of a sweep."""
    return (folder / PLAN).is_file()
