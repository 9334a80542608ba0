"""view: opens a page on what it is given, whatever it is."""

from __future__ import annotations

import contextlib
import io
import time
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.checks import positive, shown
from linkwork.core.messages.progress import in_notebook
from linkwork.core.uncopied import Uncopied
from linkwork.dynamics.inputs import as_state
from linkwork.errors import LinkworkError, StateError
from linkwork.model.linkage import Linkage
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.molecules.molecule import Molecule
from linkwork.record.recording import Recording
from linkwork.scene import Scene
from linkwork.statics.modes import Modes
from linkwork.viewer.live import Live
from linkwork.viewer.playback import Playback
from linkwork.viewer.server import LOCAL, PORT, address, open_server
from linkwork.viewer.still import Still
from linkwork.viewer.vibration import Vibration

STEP = 1e-3  # [s] where nothing says what suits the simulation
OF_MOLECULES = 2e-3  # [ps]
CUTOFF, ROOM_TEMPERATURE = 1.0, 300.0  # [nm], [K] of a molecule that is simulated

Subject = Model | Linkage | Molecule | Recording | Scene | Any
Page = Live | Playback | Still | Vibration


class Viewer(Uncopied):
    """An open page. Closes with `close()`, at the end of a `with` block, or with the program.

    url: where it is. page: what it shows (Live, Playback, Still or Vibration). server: the viser server.
    """

    def __init__(self, server: Any, page: Page):
        self.server, self.page, self.url = server, page, address(server)
        self.is_open = True

    def wait(self) -> None:
        """Serves the page until it is closed or Ctrl-C is pressed."""
        try:
            while self.is_open:
                time.sleep(0.2)
        finally:
            self.close()

    def close(self) -> None:
        """Ends the server and what runs beside it; twice does no harm."""
        if self.is_open:
            self.is_open = False
            self.page.close()
            with contextlib.redirect_stdout(io.StringIO()):  # viser says that it stopped
                self.server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        """What the page can do: `play`, `pause`, `step`, `reset`, `seek`, ..."""
        if name.startswith("_") or name == "page":
            raise AttributeError(name)
        return getattr(self.page, name)

    def __repr__(self) -> str:
        return f"Viewer({self.url if self.is_open else 'closed'}, {type(self.page).__name__.lower()})"

    def _repr_html_(self) -> str:
        """The page itself, in a notebook."""
        if not self.is_open:
            return f"<code>{self!r}</code>"
        frame = f'<iframe src="{self.url}" width="100%" height="520" style="border:0"></iframe>'
        return f'{frame}<br><a href="{self.url}">{self.url}</a>'


class Serving(NamedTuple):
    """How a page is served: host, port, whether it opens in a browser, and whether the call waits until Ctrl-C."""

    host: str = LOCAL
    port: int = PORT
    browser: bool | None = None
    block: bool = False


def open_page(
    subject: Subject,
    other: Recording | None,
    serving: Serving,
    *,
    state: State | None = None,
    modes: Modes | None = None,
    h: float | None = None,
    live: bool = False,
    play: bool = False,
) -> Viewer:
    """`lw.view`, which says what its arguments are. A notebook shows the page below the cell."""
    browser, block = serving.browser, serving.block
    for name, value in (("live", live), ("play", play), ("block", block), ("browser", browser)):
        if not isinstance(value, bool | np.bool_) and not (name == "browser" and value is None):
            raise StateError(f"{name} is {shown(value)}; it must be True or False.")
    step = None if h is None else positive(h, "h")
    if isinstance(subject, Molecule):
        state = subject.state if state is None else state
        subject = _simulated(subject, state) if live else subject.model
    source, step = _prepared(subject, state, step, live)
    if other is not None and not (isinstance(source, Recording) and isinstance(other, Recording)):
        raise LinkworkError("only two recordings can be compared: view(recording, other).")
    if modes is not None and not isinstance(source, Model):
        raise LinkworkError("modes are shown of a model at a state: view(model, state=rest.state, modes=found).")
    server = open_server(serving.host, serving.port, _title(subject, source))
    try:
        page = _page(server, source, other, state, step, modes)
    except BaseException:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
        raise
    viewer = Viewer(server, page)
    if play and not isinstance(page, Still):
        page.play()
    if browser if browser is not None else (block and not in_notebook()):
        import webbrowser

        webbrowser.open(viewer.url)
    if block:
        viewer.wait()
    return viewer


def _prepared(subject: Subject, state: State | None, h: float | None, live: bool) -> tuple[Any, float]:
    """What to show: linkages compiled, scenes built; and the step [s]."""
    if isinstance(subject, Scene):
        return subject.build(), subject.h if h is None else h
    if isinstance(subject, Linkage):
        subject = subject.compile()
    if isinstance(subject, Model) and live:
        from linkwork.full.simulation import FullDynamics

        subject = FullDynamics(subject, subject.neutral() if state is None else state)
    is_simulation = all(hasattr(subject, name) for name in ("advance", "state", "model", "scalars", "checkpoint"))
    if not (isinstance(subject, Model | Recording) or is_simulation):
        raise LinkworkError(
            f"a {type(subject).__name__} cannot be viewed; give a Model, a Linkage, a Molecule, a simulation, a Scene or a "
            "Recording."
        )
    default = OF_MOLECULES if getattr(subject, "units", {}) else STEP
    return subject, default if h is None else h


def _simulated(molecule: Molecule, state: State) -> Any:
    """A molecule under its force field, in a bath of room temperature."""
    from linkwork.full.simulation import FullDynamics
    from linkwork.simulation.thermal.langevin import Langevin

    return FullDynamics(
        molecule.model, state, field=molecule.field(cutoff=CUTOFF), thermostat=Langevin(ROOM_TEMPERATURE)
    )


def _title(subject: Any, source: Any) -> str:
    """What the page is called: as the scene, or as the model."""
    if isinstance(subject, Scene):
        return subject.title
    if isinstance(source, Recording) and isinstance(source.metadata.get("title"), str):
        return str(source.metadata["title"])
    return str((source if isinstance(source, Model) else source.model).name)


def _page(
    server: Any, source: Any, other: Recording | None, state: State | None, h: float, modes: Modes | None
) -> Page:
    if isinstance(source, Recording):
        return Playback(server, source, other)
    if isinstance(source, Model):
        checked = source.neutral() if state is None else State(*as_state(source, state))
        if modes is not None:
            return Vibration(server, source, checked, modes)
        return Still(server, source, checked)
    return Live(server, source, h)
