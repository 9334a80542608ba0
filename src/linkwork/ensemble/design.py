"""Points of a sweep: which values its parameters take in each run, and the seed of each run.

A grid takes every combination, the last parameter fastest. Samples are drawn from all axes at once: at random, by a Latin
hypercube, or by the low-discrepancy sequences of Sobol and Halton (scrambled; scipy.stats.qmc). A table gives the points
row by row. All of it depends on the seed only, never on workers or time.
"""

from __future__ import annotations

import csv
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import as_path, shown
from linkwork.core.files import checked_file
from linkwork.core.messages.extras import needed
from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.ensemble.axes import MOST_RUNS, Axis, Listed, as_axis, parse_value, plain_value
from linkwork.errors import FormatError, LinkworkError

SAMPLERS = ("sobol", "halton", "latin", "random")
SEED_BITS = 53  # whole numbers that every reader of tables keeps exactly

Vary = Mapping[str, Any] | Sequence[str] | Sequence[Mapping[str, Any]] | str | Path


class Points(NamedTuple):
    """Runs of a sweep by their parameters."""

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]  # one value per name


def make_points(vary: Vary, sample: int | None, sampler: str, seed: int, repeat: int) -> Points:
    """vary: axes by key, words "key=axis", a list of points, or a CSV or Parquet file of them."""
    axes = _axes(vary)
    if axes is None:
        points = read_points(as_path(vary, "vary")) if isinstance(vary, str | Path) else _listed_points(vary)  # type: ignore[arg-type]
        if sample is not None:
            raise LinkworkError(
                "the points are listed already; samples are drawn from lists, ranges and distributions."
            )
    elif sample is not None:
        points = _samples(axes, sample, sampler, seed)
    else:
        points = _grid(axes)
    if len(points.rows) * repeat > MOST_RUNS:
        raise LinkworkError(f"this sweep has {len(points.rows) * repeat:,} runs; at most {MOST_RUNS:,} are possible.")
    return Points(points.names, [row for row in points.rows for _ in range(repeat)])


def run_seed(seed: int, run: int) -> int:
    """The seed of one run: of the sweep's seed and the run's number only."""
    (state,) = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1, np.uint64).tolist()
    return int(state) >> (64 - SEED_BITS)


def _axes(vary: Any) -> dict[str, Axis] | None:
    """Axes by key; None where the points are listed."""
    if isinstance(vary, Path) or (isinstance(vary, str) and "=" not in vary):
        return None
    if isinstance(vary, Mapping):
        return {str(key): as_axis(given, str(key)) for key, given in vary.items()}
    if not isinstance(vary, str | list | tuple):
        raise LinkworkError(f'vary is {shown(vary)}; give words "key=values", a table by key, or points as tables.')
    words = [vary] if isinstance(vary, str) else list(vary)
    if words and all(isinstance(word, Mapping) for word in words):
        return None
    axes: dict[str, Axis] = {}
    for word in words:
        key, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        if not equals or not key.strip() or not value.strip():
            raise LinkworkError(f"vary {word!r}: write key=values, such as method.tolerance=1e-6:1e-2:5:log.")
        if key.strip() in axes:
            raise LinkworkError(f"vary {word}: '{key.strip()}' is varied twice; give all its values in one list.")
        axes[key.strip()] = as_axis(value, key.strip())
    return axes


def _grid(axes: dict[str, Axis]) -> Points:
    for key, axis in axes.items():
        if not isinstance(axis, Listed):
            raise LinkworkError(
                f"vary {key}: a range without a count and a distribution have no end of values; say how many samples "
                "to draw (--samples, sample=), or how many values to take (low:high:count)."
            )
    lists = [axis.values for axis in axes.values() if isinstance(axis, Listed)]
    count = math.prod(len(values) for values in lists)
    if count > MOST_RUNS:
        raise LinkworkError(f"this grid has {count:,} points; at most {MOST_RUNS:,} runs are possible.")
    return Points(tuple(axes), list(itertools.product(*lists)))


def _samples(axes: dict[str, Axis], count: int, sampler: str, seed: int) -> Points:
    if not axes:
        raise LinkworkError(
            "nothing is varied, so there is nothing to sample; use repeat for runs that differ in seed."
        )
    if count > MOST_RUNS:
        raise LinkworkError(f"{count:,} samples are too many; at most {MOST_RUNS:,} runs are possible.")
    places = unit_samples(sampler, count, len(axes), seed)
    columns = [axis.at(places[:, k]) for k, axis in enumerate(axes.values())]
    return Points(tuple(axes), list(zip(*columns, strict=True)))


def unit_samples(sampler: str, count: int, dimensions: int, seed: int) -> FloatArray:
    """Points of the unit cube, shape (count, dimensions)."""
    if sampler not in SAMPLERS:
        raise LinkworkError(f"there is no sampler '{sampler}'{did_you_mean_or_list(sampler, SAMPLERS)}")
    rng = np.random.default_rng(seed)
    if sampler == "random":
        return rng.random((count, dimensions))
    message = f"the sampler '{sampler}' needs SciPy; install it with: pip install '.[sweep]', or take 'random'."
    qmc = needed("scipy.stats.qmc", message)
    made: Any = {"sobol": qmc.Sobol, "halton": qmc.Halton, "latin": qmc.LatinHypercube}[sampler]
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # Sobol is best at powers of two; other counts are the user's choice
        drawn: FloatArray = made(d=dimensions, rng=rng).random(count)
    return drawn


def _listed_points(rows: Sequence[Mapping[str, Any]]) -> Points:
    names = tuple(str(name) for name in rows[0])
    made = []
    for k, row in enumerate(rows):
        if tuple(map(str, row)) != names:
            raise LinkworkError(
                f"point {k} has {list(row)}, the first one {list(names)}; all points name the same keys."
            )
        made.append(tuple(plain_value(value) for value in row.values()))
    return Points(names, made)


def read_points(path: Path) -> Points:
    """Points of a table: a header with keys, one row per run. CSV as it is; Parquet with pyarrow."""
    if not path.is_file():
        raise FormatError(f"{path}: there is no such table of points; write axes as key=values.")
    checked_file(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path}: this is not a table of points: {error}.") from None
    if len(rows) < 2 or not all(name.strip() for name in rows[0]):
        raise FormatError(f"{path}: a table of points has a header with keys, and at least one row.")
    names = tuple(name.strip() for name in rows[0])
    if len(set(names)) < len(names):
        raise FormatError(f"{path}: two columns have the same name.")
    points = []
    for k, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != len(names):
            raise FormatError(f"{path}:{k}: this row has {len(row)} cells, the header {len(names)}.")
        try:
            points.append(tuple(plain_value(parse_value(cell)) for cell in row))
        except LinkworkError as error:
            raise FormatError(f"{path}:{k}: {error}") from None
    return Points(names, points)


def _read_parquet(path: Path) -> Points:
    message = "reading Parquet needs pyarrow; install it with: pip install pyarrow, or use CSV."
    parquet = needed("pyarrow.parquet", message)
    try:
        table: Any = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: this is not a Parquet file that can be read ({error}).") from None
    if not table.num_rows or not table.num_columns:
        raise FormatError(f"{path}: a table of points has at least one column and one row.")
    columns = [[plain_value(value) for value in table.column(k).to_pylist()] for k in range(table.num_columns)]
    return Points(tuple(table.column_names), list(zip(*columns, strict=True)))
