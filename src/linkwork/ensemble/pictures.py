"""Pictures of a sweep: curves over one parameter, heat maps over two, scatter over samples; one panel per result.

What suits is chosen from the sweep itself: parameters that take few values span curves and maps, those with as many values
as there are runs are scattered. Needs matplotlib, the extra `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.extras import needed
from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.ensemble.table import SweepTable
from linkwork.errors import LinkworkError

SIZE = (4.8, 3.7)  # width and height of a panel [inch]
IN_A_ROW = 3
MOST_PANELS = 12
MOST_CURVES = 10  # in one panel: more cannot be distinguished
GRID_FILLED = 0.5  # part of a grid of two parameters that runs must fill for a map
LOG_SPAN = 30.0  # largest by smallest value from which an evenly spaced logarithm is drawn as one
KINDS = ("auto", "curves", "map", "scatter")


class Panel(NamedTuple):
    title: str
    draw: Callable[[Any], None]


def save_sweep_plot(
    table: SweepTable, path: str | Path, over: Sequence[str] = (), results: Sequence[str] = (), kind: str = "auto"
) -> list[str]:
    """Draws a sweep into a file; returns the titles of its panels.

    over: parameters on the axes, one or two; results: columns or patterns. Without them: what varies, and all results.
    kind: "curves", "map", "scatter", or "auto" to choose.
    """
    message = "drawing needs matplotlib; install it with: pip install '.[plots]'"
    FigureCanvasAgg = needed("matplotlib.backends.backend_agg", message).FigureCanvasAgg
    Figure = needed("matplotlib.figure", message).Figure
    if kind not in KINDS:
        raise LinkworkError(f"there is no kind of plot '{kind}'{did_you_mean_or_list(kind, KINDS)}")
    if not len(table):
        raise LinkworkError(f"sweep '{table.folder}' has no finished run to draw.")
    panels = sweep_panels(table, _chosen_over(table, over), _chosen_results(table, results), kind)
    columns = min(IN_A_ROW, len(panels)) if len(panels) != 4 else 2
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    failed = f", {len(table.failed)} failed" if table.failed else ""
    figure.suptitle(f"{table.plan.title}: {len(table):,} runs{failed}", fontsize=12)
    for k, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, k + 1)
        axes.set_title(panel.title, fontsize=10)
        axes.tick_params(which="both", labelsize=8)
        panel.draw(axes)
    figure.savefig(path, dpi=130)
    return [panel.title for panel in panels]


def sweep_panels(table: SweepTable, over: list[str], results: list[str], kind: str) -> list[Panel]:
    kind = kind if kind != "auto" else _suitable(table, over)
    if kind == "map" and len(over) < 2:
        raise LinkworkError("a map needs two parameters; name them with --over.")
    made = []
    for result in results:
        values = numeric(table[result])
        if kind == "map":
            made.append(Panel(result, _Map(table, over[0], over[1], values).draw))
        elif kind == "curves":
            made.append(Panel(result, _Curves(table, over, result, values).draw))
        else:
            made += [Panel(f"{result} by {name}", _Scatter(table, name, result, values).draw) for name in over]
    return made[:MOST_PANELS]


def _chosen_over(table: SweepTable, over: Sequence[str]) -> list[str]:
    for name in over:
        if name not in table.columns:
            raise LinkworkError(f"the sweep has no column '{name}'{did_you_mean_or_list(name, table.parameters)}")
    varied = [name for name in table.parameters if len(levels(table[name])) > 1]
    return list(over) or varied or [*table.parameters[:1]] or ["seed"]


def _chosen_results(table: SweepTable, results: Sequence[str]) -> list[str]:
    known = [name for name in table.results if np.isfinite(numeric(table[name])).any()]
    if not results:
        varying = [name for name in known if np.unique(finite(numeric(table[name]))).size > 1]
        known = varying or known
        if not known:
            raise LinkworkError(f"sweep '{table.folder}' has no results that are numbers.")
        return known[:MOST_PANELS]
    found: dict[str, None] = {}
    for words in results:
        chosen = matching(words, known)
        if not chosen:
            raise LinkworkError(f"the sweep has no result '{words}'{did_you_mean_or_list(words, known)}")
        found |= dict.fromkeys(known[k] for k in chosen)
    return list(found)


def _suitable(table: SweepTable, over: list[str]) -> str:
    counts = [len(levels(table[name])) for name in over]
    if len(over) == 1:
        return "curves"
    few = all(count <= max(MOST_CURVES, len(table) ** 0.5 + 1) for count in counts)
    if len(over) == 2 and min(counts) > 3 and few and np.prod(counts) * GRID_FILLED <= len(table):
        return "map"
    return "curves" if few and np.prod(counts) <= 2 * len(table) else "scatter"


# ------------------------------------------------------------------------------------------------------------------ panels


class _Curves:
    """A result over the first parameter; one curve for each combination of the others, the mean where runs repeat."""

    def __init__(self, table: SweepTable, over: list[str], result: str, values: FloatArray):
        self.x_name, self.others, self.result, self.values = over[0], over[1:], result, values
        self.x = table[over[0]]
        self.groups = list(zip(*(table[name] for name in over[1:]), strict=True)) if over[1:] else [()] * len(table)

    def draw(self, axes: Any) -> None:
        places, names = _axis_places(self.x)
        for k, group in enumerate(list(dict.fromkeys(map(_hashable, self.groups)))[:MOST_CURVES]):
            chosen = np.array([_hashable(g) == group for g in self.groups]) & np.isfinite(self.values)
            at = np.unique(places[chosen])
            each = [self.values[chosen & (places == p)] for p in at]
            means = np.array([part.mean() for part in each])
            label = ", ".join(f"{name} = {short_text(v)}" for name, v in zip(self.others, group, strict=True))
            (line,) = axes.plot(at, means, "o-", markersize=3, linewidth=1.2, color=f"C{k}", label=label or None)
            if any(part.size > 1 for part in each):
                low, high = [part.min() for part in each], [part.max() for part in each]
                axes.fill_between(at, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axes.grid(color="0.92")
        _label_axis(axes, self.x_name, places, names)
        _scale_values(axes, self.values)
        axes.set_ylabel(self.result, fontsize=8)
        if self.others:
            axes.legend(fontsize=7)


class _Map:
    """A result over two parameters; empty where no run succeeded, the mean where several did."""

    def __init__(self, table: SweepTable, x: str, y: str, values: FloatArray):
        self.names, self.values = (x, y), values
        self.columns = (table[x], table[y])

    def draw(self, axes: Any) -> None:
        x, y = (levels(column) for column in self.columns)
        sums, counts = np.zeros((len(y), len(x))), np.zeros((len(y), len(x)))
        for a, b, value in zip(*map(list, self.columns), self.values, strict=True):
            if np.isfinite(value):
                sums[y.index(_hashable(b)), x.index(_hashable(a))] += value
                counts[y.index(_hashable(b)), x.index(_hashable(a))] += 1
        with np.errstate(invalid="ignore"):
            shown = axes.imshow(sums / counts, origin="lower", aspect="auto", cmap="viridis")
        for which, name, values in (("x", self.names[0], x), ("y", self.names[1], y)):
            step = max(1, -(-len(values) // 8))
            getattr(axes, f"set_{which}ticks")(range(0, len(values), step), [short_text(v) for v in values[::step]])
            getattr(axes, f"set_{which}label")(name, fontsize=8)
        axes.figure.colorbar(shown, ax=axes).ax.tick_params(labelsize=7)


class _Scatter:
    """A result over one parameter, a point for each run."""

    def __init__(self, table: SweepTable, name: str, result: str, values: FloatArray):
        self.name, self.result, self.x, self.values = name, result, table[name], values

    def draw(self, axes: Any) -> None:
        places, names = _axis_places(self.x)
        axes.plot(places, self.values, ".", markersize=4, alpha=0.6)
        axes.grid(color="0.92")
        _label_axis(axes, self.name, places, names)
        _scale_values(axes, self.values)
        axes.set_ylabel(self.result, fontsize=8)


# ------------------------------------------------------------------------------------------------------------------ values


def numeric(column: Any) -> FloatArray:
    """A column as numbers; NaN for what is not one (booleans are 0 and 1), shape (len,)."""
    if isinstance(column, np.ndarray):
        return column.astype(float)
    return np.array([float(value) if isinstance(value, int | float) else np.nan for value in column])


def finite(values: FloatArray) -> FloatArray:
    return values[np.isfinite(values)]


def levels(column: Any) -> list[Any]:
    """Different values of a column: numbers ascending, anything else in order of appearance."""
    found = list(dict.fromkeys(_hashable(value) for value in column))
    return sorted(found) if isinstance(column, np.ndarray) else found


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def _axis_places(column: Any) -> tuple[FloatArray, list[str] | None]:
    """Where values stand on an axis: numbers by themselves, anything else one after the other with names."""
    if isinstance(column, np.ndarray):
        return column.astype(float), None
    known = levels(column)
    return np.array([known.index(_hashable(value)) for value in column], dtype=float), [short_text(v) for v in known]


def _label_axis(axes: Any, name: str, places: FloatArray, names: list[str] | None) -> None:
    if names is not None:
        axes.set_xticks(range(len(names)), names)
    elif _is_logarithmic(np.unique(finite(places))):
        axes.set_xscale("log")
    axes.set_xlabel(name, fontsize=8)


def _scale_values(axes: Any, values: FloatArray) -> None:
    shown = finite(values)
    if shown.size and shown.min() > 0.0 and shown.max() > LOG_SPAN**2 * shown.min():
        axes.set_yscale("log")


def _is_logarithmic(places: FloatArray) -> bool:
    """Whether values are spread over orders of magnitude, more evenly so in their logarithms."""
    if places.size < 3 or places[0] <= 0.0 or places[-1] < LOG_SPAN * places[0]:
        return False
    return _unevenness(np.log(places)) < _unevenness(places)


def _unevenness(places: FloatArray) -> float:
    """Spread of the distances between neighbours, relative to their mean."""
    distances = np.diff(places)
    return float(distances.std() / distances.mean())


def short_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
