"""Trajectories and structures: DCD, XTC, PDB and mmCIF, by OpenMM's writers."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.checks import numbers, one_of
from linkwork.dynamics.inputs import as_state
from linkwork.errors import MissingExtraError, StateError
from linkwork.model.state import State
from linkwork.molecules import extras
from linkwork.molecules.checks import path_of, several

if TYPE_CHECKING:
    from linkwork.molecules.molecule import Molecule

FloatArray = NDArray[np.float64]

STYLES = ("cartoon", "stick")
RANGES = {".pdb": (-99.9, 999.9)}  # [nm] what coordinates a file can hold: eight characters of Å in a PDB file
OTHER_RANGE = (-1e6, 1e6)  # [nm] single precision, and integers of 1e-3 nm in XTC
EVEN = 1e-6  # part of a frame's time by which frames may be off even spacing: DCD and XTC know one spacing


def write_states(molecule: Molecule, path: str | Path, states: Any, times: ArrayLike | None) -> None:
    file = path_of(path, "path")
    frames, when = _frames(molecule, states, times)
    writers = {".dcd": _write_dcd, ".xtc": _write_xtc, ".pdb": _write_models, ".cif": _write_models}
    writer = writers.get(file.suffix.lower())
    if writer is None:
        raise StateError(f"'{file.name}' ends in '{file.suffix}'; molecules are written as {', '.join(writers)}.")
    if molecule.topology is None:
        raise StateError(f"molecule '{molecule.name}' has no topology to write.")
    spacing = _spacing(when)
    for state in frames:  # all of them before the file is begun
        _refuse_far_atoms(molecule, molecule.positions(state), file.suffix.lower())
    writer(molecule, file, (molecule.positions(state) for state in frames), spacing)


def _refuse_far_atoms(molecule: Molecule, positions: FloatArray, suffix: str) -> None:
    """Refuses coordinates [nm], shape (a, 3), that files of this kind cannot hold."""
    least, most = RANGES.get(suffix, OTHER_RANGE)
    bad = np.flatnonzero(~((positions >= least) & (positions <= most)).all(axis=1))
    if bad.size:
        x, y, z = positions[bad[0]]
        raise StateError(
            f"{molecule.atoms.describe(int(bad[0]))} stands at ({x:.6g}, {y:.6g}, {z:.6g}) nm; {suffix} files hold "
            f"coordinates from {least:g} to {most:g} nm. Move the molecule nearer to the origin."
        )


def _frames(molecule: Molecule, states: Any, times: ArrayLike | None) -> tuple[list[State], FloatArray]:
    if isinstance(states, State):
        found: list[State] = [states]
        when: Any = [0.0] if times is None else times
    elif hasattr(states, "states") and hasattr(states, "times"):  # a recording
        found, when = list(states.states), states.times if times is None else times
    else:
        found = several(states, "states", "give a lw.State, several, or a recording")
        when = np.arange(len(found), dtype=float) if times is None else times
    if not found:
        raise StateError("there are no states to write.")
    for state in found:
        as_state(molecule.model, state)
    instants = numbers(when, (len(found),), "times", f"{len(found)} frames")
    if not np.isfinite(instants).all():
        raise StateError("times have numbers that are not finite.")
    return found, instants


def _spacing(times: FloatArray) -> float:
    if len(times) < 2:
        return 1.0
    steps = np.diff(times)
    if not (steps > 0.0).all() or np.ptp(steps) > EVEN * steps.mean() * len(steps):
        raise StateError("frames of a trajectory are evenly spaced in time; these are not. Choose every k-th frame.")
    return float(steps.mean())


def _write_dcd(molecule: Molecule, file: Path, frames: Iterable[FloatArray], spacing: float) -> None:
    app, unit = extras.app("writing DCD"), extras.need("openmm.unit", "writing DCD")
    with file.open("wb") as stream:
        dcd = app.DCDFile(stream, molecule.topology, spacing * unit.picosecond)
        for positions in frames:
            dcd.writeModel(positions * unit.nanometer)


def _write_xtc(molecule: Molecule, file: Path, frames: Iterable[FloatArray], spacing: float) -> None:
    app, unit = extras.app("writing XTC"), extras.need("openmm.unit", "writing XTC")
    file.unlink(missing_ok=True)
    xtc = app.XTCFile(str(file), molecule.topology, spacing * unit.picosecond)
    for positions in frames:
        xtc.writeModel(positions * unit.nanometer)


def _write_models(molecule: Molecule, file: Path, frames: Iterable[FloatArray], spacing: float) -> None:
    app = extras.app("writing a structure")
    with file.open("w", encoding="utf-8") as stream:
        _stream_models(molecule, app.PDBFile if file.suffix.lower() == ".pdb" else app.PDBxFile, stream, list(frames))


def _stream_models(molecule: Molecule, writer: Any, stream: Any, frames: list[FloatArray]) -> None:
    """Models of a PDB or mmCIF file, numbered from 1 where there are several."""
    unit = extras.need("openmm.unit", "writing a structure")
    is_pdb = writer.__name__ == "PDBFile"
    writer.writeHeader(molecule.topology, stream, **({} if is_pdb else {"keepIds": True}))
    for k, positions in enumerate(frames):
        number = {"modelIndex": k + 1} if len(frames) > 1 else {}
        writer.writeModel(molecule.topology, positions * unit.nanometer, stream, keepIds=True, **number)
    if is_pdb:
        writer.writeFooter(molecule.topology, stream)


def notebook_view(molecule: Molecule, states: Any, style: str) -> Any:
    """py3Dmol's view of some states."""
    one_of(style, STYLES, "style")
    try:
        import py3Dmol
    except ImportError as error:
        raise MissingExtraError("a view in a notebook needs the package py3Dmol: pip install py3Dmol.") from error
    frames, _ = _frames(molecule, states, None)
    positions = [molecule.positions(state) for state in frames]
    for frame in positions:
        _refuse_far_atoms(molecule, frame, ".pdb")
    text = StringIO()
    _stream_models(molecule, extras.app("a view").PDBFile, text, positions)
    view = py3Dmol.view(width=640, height=420)
    view.addModelsAsFrames(text.getvalue(), "pdb")
    view.setStyle({style: {"color": "spectrum"} if style == "cartoon" else {}})
    view.zoomTo()
    if len(frames) > 1:
        view.animate({"loop": "backAndForth"})
    return view
