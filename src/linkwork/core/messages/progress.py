"""Progress bars: shown on a terminal and in a notebook, silent elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from linkwork.core.checks import flag

REFRESH = 0.2  # [s] between two pictures of the bar in a notebook
WIDTH = 40  # characters of that bar


@contextmanager
def progress_bar(total: int, label: str, show: bool | None = None) -> Iterator[Callable[[int, str], None]]:
    """A function (done, note) that moves the bar. `show` None means: on a terminal (of standard error) or in a notebook."""
    show = None if show is None else flag(show, "progress")
    if not (sys.stderr.isatty() or in_notebook() if show is None else show):
        yield _silent
        return
    if in_notebook():
        bar = NotebookBar(total, label)
        try:
            yield bar.move
        finally:
            bar.draw()
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
    with Progress(*columns, console=Console(stderr=True)) as bar_:
        task = bar_.add_task(label, total=total, note="")

        def move(done: int, note: str) -> None:
            bar_.update(task, completed=done, note=note)

        yield move


def in_notebook() -> bool:
    """Whether a kernel of IPython runs this: cells show what is displayed, and standard error is not a terminal."""
    ipython = sys.modules.get("IPython")  # a notebook has it; others need not import it
    shell: Any = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """One line of text under the cell, replaced as it moves; needs no widgets."""

    def __init__(self, total: int, label: str):
        self._total, self._label = max(1, total), label
        self._done, self._note = 0, ""
        self._first_done: int | None = None
        self._began = self._drawn_at = time.monotonic()
        display: Any = import_module("IPython.display").display
        self._handle = display(self._picture(), raw=True, display_id=True)

    def move(self, done: int, note: str) -> None:
        if self._first_done is None:
            self._first_done, self._began = done, time.monotonic()  # a resumed run begins in the middle
        self._done, self._note = done, note
        if time.monotonic() - self._drawn_at >= REFRESH:
            self.draw()

    def draw(self) -> None:
        self._drawn_at = time.monotonic()
        self._handle.update(self._picture(), raw=True)

    def _picture(self) -> dict[str, str]:
        full = WIDTH * min(self._done, self._total) // self._total
        bar = "█" * full + "░" * (WIDTH - full)
        line = f"{self._label} {bar} {self._done:,}/{self._total:,} {self._remaining()} {self._note}"
        return {"text/plain": line.rstrip()}

    def _remaining(self) -> str:
        steps = self._done - (self._first_done or 0)
        if steps <= 0:
            return "-:--:--"
        left = (self._total - self._done) * (time.monotonic() - self._began) / steps
        return f"{int(left) // 3600}:{int(left) // 60 % 60:02d}:{int(left) % 60:02d}"


def _silent(done: int, note: str) -> None:
    pass
