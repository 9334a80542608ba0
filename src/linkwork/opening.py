"""What opens a file with a linkage, or a page with a mechanism. Importers and viewer are loaded by the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from linkwork.model.linkage import Linkage
    from linkwork.model.state import State
    from linkwork.record.recording import Recording
    from linkwork.statics.modes import Modes
    from linkwork.viewer.view import Viewer


def load(path: str | Path, **options: Any) -> Linkage:
    """Reads a linkage from a file: .urdf, .xml or .mjcf (MJCF), .bvh and .asf (motion capture, with `motion` beside it).

    options: `missing_meshes="skip"`, `"capsule"` or `"error"` says what becomes of mesh files that are not there (URDF and
    MJCF); `floating`, `strict` (URDF); `unit`, `mass`, `masses` and more (motion capture). See docs/formats.md.
    Raises FormatError with file and line of every fault; what a file says that Linkwork cannot keep is listed in the
    linkage's `warnings`.
    """
    from linkwork.importers import load_file

    return load_file(path, **options)


def view(
    subject: Any,
    other: Recording | None = None,
    *,
    state: State | None = None,
    modes: Modes | None = None,
    h: float | None = None,
    live: bool = False,
    play: bool = False,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool | None = None,
    block: bool = False,
) -> Viewer:
    """Opens a page with a mechanism in 3-D: a simulation runs on it, a recording plays, a model is posed by sliders.

    subject: a simulation, Scene, Recording, Model, Linkage or Molecule. other: a second recording, shown beside the first.
    state: of a model (neutral by default). modes: of `lw.modes` at this state, in which the model then swings.
    h: time step of a simulation [s]; 1 ms, 2 fs of molecules, or that of the scene.
    live: simulate a model or linkage with FullDynamics, a molecule under its force field at 300 K. play: begin at once.
    host: this computer only by default; "0.0.0.0" lets others in. port: or the next that is free.
    browser: open it in a browser; by default where a program asks for it with `block`. block: serve until Ctrl-C.
    Needs the extra `viewer`.
    """
    from linkwork.viewer.view import Serving, open_page

    serving = Serving(host, port, browser, block)
    return open_page(subject, other, serving, state=state, modes=modes, h=h, live=live, play=play)
