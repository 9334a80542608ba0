"""Sweep: many runs of a scene or of a Python function with other parameters, kept in one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linkwork.core.checks import as_path, integer, shown
from linkwork.core.messages.describe import described
from linkwork.core.messages.progress import progress_bar
from linkwork.ensemble import engine
from linkwork.ensemble.axes import setting_key
from linkwork.ensemble.design import Vary, make_points, run_seed
from linkwork.ensemble.functions import function_needed, function_subject
from linkwork.ensemble.journal import Journal, read_journal
from linkwork.ensemble.plan import KEEP, Plan, as_stored, read_plan, refuse_other, write_plan
from linkwork.ensemble.table import SweepTable, is_sweep
from linkwork.ensemble.work import FAILED, RESERVED, RUNS, FunctionWork, Outcome, SceneWork, Work
from linkwork.errors import LinkworkError
from linkwork.record.store.lock import WriterLock
from linkwork.scene.reading.settings import Settings, as_settings, override
from linkwork.scene.scene import Scene

MOST_WARMED = 16  # kinds of runs whose kernels are compiled before the workers start


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped a sweep; every finished run is kept, and runs under way are as far as their last checkpoint.

    table: the results so far.
    """

    def __init__(self, table: SweepTable):
        self.table = table
        super().__init__(f"stopped after {len(table)} runs; kept in '{table.folder}', resume to go on")


@described
class Sweep:
    """Many runs of a scene, or of a Python function, that differ in their parameters and seeds.

    subject: a scene file, the name of a built-in scene, a Scene, or a function of the parameters that returns a number or
      a table of numbers by name; the function's argument `seed`, if it has one, takes the seed of each run.
    vary: axes by key: a list of values, words such as "1:10:10", "1e-6:1e-2:5:log" or "normal(2, 0.1)", or the same with
      their key, "method.tolerance=1e-3,1e-4"; or the points themselves, as a list of tables or a CSV or Parquet file.
    sample: draws so many points from all axes at once; without it every combination of the values is a point.
    sampler: "sobol", "halton", "latin" or "random".
    seed: decides samples and the seeds of the runs. repeat: runs at each point, which differ in their seeds only.
    settings: overrides of the scene in all runs. seed_keys: keys of the scene that take the seed of each run.
    keep: "recordings", or "scalars" for the table only. results: which scalars, with .first, .last, .min, .max or .mean.
    """

    def __init__(
        self,
        subject: str | Path | Scene | Callable[..., Any],
        vary: Vary = (),
        sample: int | None = None,
        *,
        sampler: str = "sobol",
        seed: int = 0,
        repeat: int = 1,
        settings: Settings = (),
        seed_keys: Sequence[str] = (),
        keep: str = "recordings",
        results: Sequence[str] = (),
    ):
        if not isinstance(keep, str) or keep not in KEEP:
            raise LinkworkError(f"keep is {keep!r}; it is 'recordings' or 'scalars'.")
        seed, repeat = integer(seed, 0, "seed"), integer(repeat, 1, "repeat")
        sample = None if sample is None else integer(sample, 1, "sample")
        points = make_points(vary, sample, sampler, seed, repeat)
        for value, what in ((seed_keys, "seed_keys"), (results, "results")):
            if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
                raise LinkworkError(f"{what} must be a list of names, not {shown(value)}.")
        taken = [name for name in points.names if name in RESERVED]
        if taken:
            raise LinkworkError(f"a parameter cannot be called '{taken[0]}': every table has a column of that name.")
        self._function: Callable[..., Any] | None = None
        if callable(subject) and not isinstance(subject, Scene):
            if settings or seed_keys or results:
                raise LinkworkError(
                    "settings, seed_keys and results belong to scenes; a function takes its parameters."
                )
            self._function, about, keep = subject, function_subject(subject, points.names), "scalars"
        else:
            about = _scene_subject(subject, settings, points.names, seed_keys)
        self.plan = as_stored(Plan(about, points.names, points.rows, seed, tuple(seed_keys), tuple(results), keep))
        if self._function is None and points.rows:
            self._work(Path()).scene(self.plan.parameters(0), run_seed(seed, 0))  # type: ignore[union-attr]

    @classmethod
    def of(cls, out: str | Path, function: Callable[..., Any] | None = None) -> Sweep:
        """The sweep that was begun in a folder, from the plan kept there.

        function: what a sweep of a function calls; needed to run what is missing. Nothing is imported on a folder's word:
        without it such a sweep can be looked at only.
        """
        plan = read_plan(as_path(out, "a sweep"))
        made = cls.__new__(cls)
        made.plan, made._function = plan, None
        if function is not None:
            made._function = _same_function(plan, function)
        return made

    def __len__(self) -> int:
        return len(self.plan.rows)

    def run(
        self,
        out: str | Path,
        *,
        workers: int | None = None,
        threads: int = 1,
        scheduler: str | None = None,
        client: Any = None,
        resume: bool = False,
        retry_failed: bool = False,
        progress: bool | None = None,
        on_start: Callable[[str], None] | None = None,
    ) -> SweepTable:
        """Performs the runs that are missing and returns the table.

        out: folder of the sweep. resume: go on with the one in it. retry_failed: do those that failed again.
        workers: processes on this machine, by default as many as cores and memory allow; 0 runs here, one after the other.
        threads: that each run may use. scheduler: address of a Dask scheduler instead; client: a dask.distributed.Client.
        progress: None shows a bar on a terminal and in a notebook. on_start(words): called when the workers are there.
        Raises SweepInterrupted after Ctrl-C, SweepError where disk or scheduler fail; finished runs are kept in both cases.
        """
        workers, threads = engine.checked_workers(workers), integer(threads, 1, "threads")
        if self.plan.is_function and self._function is None:
            raise LinkworkError(function_needed(self.plan.subject))
        out = as_path(out, "a sweep").absolute()
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(out)
        try:
            missing = self._begin(out, resume or retry_failed, retry_failed)
            if missing:
                self._perform(out, missing, workers, threads, scheduler, client, progress, on_start)
        finally:
            lock.release()
        return SweepTable(out)

    # ------------------------------------------------------------------------------------------------------------- running

    def _begin(self, out: Path, resume: bool, retry_failed: bool) -> list[int]:
        """The plan in its place; which runs are missing."""
        if is_sweep(out):
            if not resume:
                raise LinkworkError(
                    f"there is a sweep in '{out}' already; go on with it (--resume, resume=True), or choose another folder."
                )
            refuse_other(read_plan(out), self.plan, out)
        elif resume:
            raise LinkworkError(f"there is no sweep in '{out}' to go on with; leave --resume (resume=True) out.")
        else:
            if out.exists() and any(out.iterdir()):
                raise LinkworkError(f"'{out}' is not empty and not a sweep; choose another folder.")
            write_plan(out, self.plan)
        if self.plan.keep == "recordings":
            (out / RUNS).mkdir(exist_ok=True)
        kept = read_journal(out, len(self))
        done = {run for run, outcome in kept.items() if not (retry_failed and outcome["status"] == FAILED)}
        if done and len(done) == len(self):
            SweepTable(out).write()
        return [run for run in range(len(self)) if run not in done]

    def _work(self, out: Path) -> Work:
        if self._function is not None:
            return FunctionWork(self._function)
        about = {name: value for name, value in self.plan.subject.items() if name != "kind"}
        kept = str(out) if self.plan.keep == "recordings" else None
        return SceneWork(**about, seed_keys=self.plan.seed_keys, results=self.plan.results, out=kept)

    def _perform(
        self,
        out: Path,
        missing: list[int],
        workers: int | None,
        threads: int,
        scheduler: str | None,
        client: Any,
        progress: bool | None,
        on_start: Callable[[str], None] | None,
    ) -> None:
        work = self._work(out)
        tasks = (engine.Task(run, self.plan.parameters(run), run_seed(self.plan.seed, run)) for run in missing)
        journal = Journal(out)
        try:
            with _tables_written(out, journal), progress_bar(len(self), self.plan.title, progress) as bar:
                tally = _Tally(journal, bar, len(self) - len(missing))
                if workers == 0 and client is None and scheduler is None:
                    engine.run_here(work, tasks, tally.add)
                    return
                local = client is None and scheduler is None
                if local:
                    _warm(work, self.plan, missing)
                with _client(client, scheduler, workers, threads, len(missing)) as found:
                    if on_start is not None:
                        on_start(_where(found))
                    one_first = local and isinstance(work, FunctionWork)
                    engine.run_on_dask(found, work, tasks, tally.add, one_first)
        except KeyboardInterrupt:
            raise SweepInterrupted(SweepTable(out)) from None


@contextmanager
def _tables_written(out: Path, journal: Journal) -> Iterator[None]:
    """Closes the journal and writes the tables at the end; an error at that does not hide the one that ended the runs."""

    def write() -> None:
        journal.close()
        SweepTable(out).write()

    try:
        yield
    except BaseException as error:
        try:
            write()
        except Exception as other:
            error.add_note(f"and the tables in '{out}' could not be written: {other}")
        raise
    write()


class _Tally:
    """Keeps each outcome and moves the bar."""

    def __init__(self, journal: Journal, bar: Callable[[int, str], None], before: int):
        self._journal, self._bar = journal, bar
        self._before, self._count, self._failed, self._began = before, 0, 0, time.monotonic()
        bar(before, "")

    def add(self, outcome: Outcome) -> None:
        self._journal.append(outcome)
        self._count += 1
        self._failed += outcome.status == FAILED
        rate = self._count / max(time.monotonic() - self._began, 1e-9)
        failed = f"{self._failed} failed, " if self._failed else ""
        self._bar(self._before + self._count, f"{failed}{rate:.3g} runs/s")


@contextmanager
def _client(given: Any, scheduler: str | None, workers: int | None, threads: int, runs: int) -> Iterator[Any]:
    if given is not None:
        if scheduler is not None or workers is not None:
            raise LinkworkError("a client says where runs go; give it without scheduler and workers.")
        yield given
    elif scheduler is not None:
        if workers is not None:
            raise LinkworkError("the cluster of a scheduler has its own workers; give either of the two.")
        with engine.remote_client(scheduler) as client:
            yield client
    else:
        with engine.local_client(workers or engine.default_workers(runs, threads), threads) as client:
            yield client


def _where(client: Any) -> str:
    """The cluster in words, with the dashboard's address."""
    count = len(client.nthreads())
    return f"{count} worker{'s' if count != 1 else ''}, dashboard at {client.dashboard_link}"


def _warm(work: Work, plan: Plan, missing: list[int]) -> None:
    """Compiles the kernels of a scene once, here, before several workers would each do it.

    Which kernels a run calls is decided by names and switches, seldom by numbers: one run of each such kind is enough.
    """
    if not isinstance(work, SceneWork):
        return
    kinds: dict[tuple[Any, ...], int] = {}
    for run in missing:
        kind = tuple(value for value in plan.rows[run] if isinstance(value, str | bool))
        kinds.setdefault(kind, run)
        if len(kinds) >= MOST_WARMED:
            break
    for run in kinds.values():
        try:
            work.warm(plan.parameters(run), run_seed(plan.seed, run))
        except Exception:  # the run itself will say so, in its row
            continue


def _same_function(plan: Plan, function: Any) -> Callable[..., Any]:
    """The function of a kept sweep, given by the caller."""
    if not plan.is_function:
        raise LinkworkError(f"the sweep of '{plan.title}' runs a scene; it takes no function.")
    if not callable(function):
        raise LinkworkError(f"function must be the function that the sweep calls, not {shown(function)}.")
    name = function_subject(function, plan.names)["name"]
    if name != plan.title:
        raise LinkworkError(f"the sweep calls the function '{plan.title}', not '{name}'; give that one.")
    found: Callable[..., Any] = function
    return found


def _scene_subject(subject: Any, settings: Settings, names: Sequence[str], seed_keys: Sequence[str]) -> dict[str, Any]:
    """A scene in plain data, with the settings of all runs in it."""
    import tomllib

    from linkwork.scene.builtin_scenes import find_scene
    from linkwork.scene.scene import read_text

    if isinstance(subject, Scene):
        given, source, name, folder, text = subject.given, subject.source, subject.name, Path(), subject.text
    else:
        file = find_scene(subject)
        text = read_text(file, str(subject))
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            Scene.read(subject)  # says where
            raise
        source, name, folder = str(subject), file.stem, file.parent
    given, _ = override(given, as_settings(settings))
    keys = {key: setting_key(key, given) for key in names}
    for key in (*keys.values(), *seed_keys):
        as_settings({key: 0})  # refuses what is not a key
    return {
        "kind": "scene",
        "given": given,
        "source": source,
        "name": name,
        "folder": str(folder.absolute()),
        "text": text,
        "keys": keys,
    }
