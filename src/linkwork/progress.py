"""Progress bars: shown on a terminal, silent elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, label: str, show: bool | None = None) -> Iterator[Callable[[int, str], None]]:
    """A function (done, note) that moves the bar. `show` None means: only when standard error is a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, note="")

        def move(done: int, note: str) -> None:
            bar.update(task, completed=done, note=note)

        yield move


def _silent(done: int, note: str) -> None:
    pass
