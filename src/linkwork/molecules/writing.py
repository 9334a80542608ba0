"""Trajectories and structures: DCD, XTC, PDB and mmCIF, by OpenMM's writers."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import numbers, one_of
from linkwork.dynamics.inputs import as_state
from linkwork.errors import MissingExtraError, StateError
from linkwork.model.state import State
from linkwork.molecules import extras
from linkwork.molecules.checks import path_of, several

if TYPE_CHECKING:
    from linkwork.molecules.molecule import Molecule

STYLES = ("cartoon", "stick")
RANGES = {".pdb": (-99.9, 999.9)}  # [nm] what coordinates a file can hold: eight characters of Å in a PDB file
OTHER_RANGE = (-1e6, 1e6)  # [nm] single precision, and integers of 1e-3 nm in XTC
EVEN = 1e-6  # part of a frame's time by which frames may be off even spacing: DCD files have one spacing
XTC_MAGIC, XTC_FEW = 1995, 9  # what a frame begins with; atoms up to which coordinates are not packed


def write_states(molecule: Molecule, path: str | Path, states: Any, times: ArrayLike | None) -> None:
    file = path_of(path, "path")
    frames, when = _frames(molecule, states, times)
    writers = {".dcd": _write_dcd, ".xtc": _write_xtc, ".pdb": _write_models, ".cif": _write_models}
    writer = writers.get(file.suffix.lower())
    if writer is None:
        raise StateError(f"'{file.name}' ends in '{file.suffix}'; molecules are written as {', '.join(writers)}.")
    if molecule.topology is None:
        raise StateError(f"molecule '{molecule.name}' has no topology to write.")
    for state in frames:  # all of them before the file is begun
        _refuse_far_atoms(molecule, molecule.positions(state), file.suffix.lower())
    writer(molecule, file, (molecule.positions(state) for state in frames), when)


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
        raise StateError(
            "frames of a DCD trajectory are evenly spaced in time; these are not. Choose every k-th frame, or write XTC."
        )
    return float(steps.mean())


def _write_dcd(molecule: Molecule, file: Path, frames: Iterable[FloatArray], times: FloatArray) -> None:
    app, unit = extras.app("writing DCD"), extras.need("openmm.unit", "writing DCD")
    spacing = _spacing(times)
    with file.open("wb") as stream:
        dcd = app.DCDFile(stream, molecule.topology, spacing * unit.picosecond, round(times[0] / spacing))
        for positions in frames:
            dcd.writeModel(positions * unit.nanometer)


def _write_xtc(molecule: Molecule, file: Path, frames: Iterable[FloatArray], times: FloatArray) -> None:
    app, unit = extras.app("writing XTC"), extras.need("openmm.unit", "writing XTC")
    if not (np.diff(times) > 0.0).all():
        raise StateError("times of a trajectory grow from frame to frame; these do not.")
    file.unlink(missing_ok=True)
    xtc = app.XTCFile(str(file), molecule.topology, 1.0 * unit.picosecond)
    for positions in frames:
        xtc.writeModel(positions * unit.nanometer)
    _set_xtc_times(file, times)


def _set_xtc_times(file: Path, times: FloatArray) -> None:
    """Writes the time [ps] of each frame into its header: OpenMM's writer has even spacing from zero alone."""
    with file.open("r+b") as stream:
        for time in times:
            start = stream.tell()
            magic, atoms = struct.unpack(">ii", stream.read(8))
            if magic != XTC_MAGIC:
                raise StateError(f"'{file.name}': OpenMM wrote frames of an unknown kind ({magic}); use .dcd instead.")
            stream.seek(start + 12)
            stream.write(struct.pack(">f", time))
            size = start + 56 + 12 * atoms  # header, box, number of atoms, coordinates
            if atoms > XTC_FEW:  # precision, range, and a packed block of its own length, in fours of bytes
                stream.seek(start + 88)
                size = start + 92 + -(-struct.unpack(">i", stream.read(4))[0] // 4) * 4
            stream.seek(size)


def _write_models(molecule: Molecule, file: Path, frames: Iterable[FloatArray], times: FloatArray) -> None:
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
