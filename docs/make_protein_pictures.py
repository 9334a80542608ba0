"""Makes the pictures of docs/proteins.md: `python docs/make_protein_pictures.py [helix] [hand] [active]`.

Needs the extras `plots`, `proteins` and `viewer`. Those of bacteriorhodopsin need its structure, `--structure 1PY6.pdb`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.molecules import STRUCTURE
from benchmarks.molecules.dynamics import Pulling, pull_linkage
from benchmarks.molecules.hand import ACTIVE, CUTOFF, HELD, follow_loops

FOLDER = Path(__file__).parent / "pictures"
FILE = FOLDER / "helix_pulled.png"
BACKBONE = ("N", "CA", "C", "CH3")
ELEMENT_COLORS = {1: "#c9ccd1", 6: "#4a4f57", 7: "#3b6fd1", 8: "#d1433b"}


def sticks(axes, molecule: lw.molecules.Molecule, x: np.ndarray, shift: float) -> None:
    """Bonds as lines, the backbone wide; without hydrogens."""
    z = molecule.atoms.elements
    for a, b in molecule.atoms.bonds:
        if 1 in (z[a], z[b]):
            continue
        wide = molecule.atoms.names[a] in BACKBONE and molecule.atoms.names[b] in BACKBONE
        middle = 0.5 * (x[a] + x[b])
        for end, atom in ((x[a], a), (x[b], b)):
            axes.plot(
                [end[0], middle[0]],
                [end[1] + shift, middle[1] + shift],
                color=ELEMENT_COLORS[int(z[atom])],
                lw=2.6 if wide else 1.2,
                solid_capstyle="round",
                zorder=float(end[2]),
            )


def helix(structure: Path) -> None:
    molecule = lw.molecules.peptide("A" * 20, helix=True, relax=True, seed=1)
    path = pull_linkage(molecule, molecule.field(), Pulling(speed=0.16), 4e-3, seed=0, frames=200)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), dpi=110, width_ratios=(1.1, 1.0))
    states = {"at the start": molecule.state, "pulled by 3.2 nm": path.last}
    ends = [molecule.atom("A:0:CH3"), int(molecule.select(residue_name="NME", atoms="C")[0])]
    for k, (label, state) in enumerate(states.items()):
        x = molecule.positions(state)
        along = x[ends[1]] - x[ends[0]]
        frame = np.linalg.qr(np.column_stack([along, [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]]))[0]
        frame[:, 0] *= np.sign(frame[:, 0] @ along)
        y = (x - x[ends[0]]) @ frame
        sticks(left, molecule, y, -1.6 * k)
        content = lw.molecules.helix_content(molecule, state)
        left.text(0.0, -1.6 * k + 0.62, f"{label}: {content:.0%} of the helix's hydrogen bonds", fontsize=8.5)
    left.set_aspect("equal")
    left.axis("off")
    force = lw.molecules.FORCE_IN_PN * path.force
    right.plot(path.extension, force, color="#3b6fd1", lw=0.8, alpha=0.5)
    smooth = np.convolve(np.pad(force, 5, mode="edge"), np.ones(11) / 11, mode="valid")
    right.plot(path.extension, smooth, color="#3b6fd1", lw=1.8)
    right.set_xlabel("distance of the ends [nm]")
    right.set_ylabel("force [pN]", color="#3b6fd1")
    bonds = right.twinx()
    bonds.plot(path.extension, 100.0 * path.content, color="#d1433b", lw=1.4)
    bonds.set_ylabel("hydrogen bonds of the helix [%]", color="#d1433b")
    bonds.set_ylim(0, 105)
    figure.tight_layout()
    figure.savefig(FILE)


def protein(structure: Path) -> lw.molecules.Molecule:
    return lw.molecules.load(structure, chains="A", ends=True, relax=True, seed=1)


def hand(structure: Path) -> None:
    """Figure 5 of Morin and Redon (2007), on bacteriorhodopsin."""
    molecule = protein(structure)
    loops = follow_loops(molecule, 600, ACTIVE)
    steps = np.arange(len(loops.step))
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(7.2, 4.8), dpi=110, sharex=True, height_ratios=(2.2, 1.0))
    upper.plot(steps, 1e6 * smooth(loops.step), color="#1b4f8a", lw=1.0, label="simulation loop, one step")
    upper.plot(steps, 1e6 * smooth(loops.tick), color="#c2541d", lw=1.2, label="coupling loop, one tick")
    upper.axhline(50.0, color="#6b7176", lw=0.8, ls=":")
    upper.text(steps[-1], 57.0, "coupling loop in the paper", color="#6b7176", fontsize=8, ha="right")
    upper.set_yscale("log")
    upper.set_ylabel("processor time [µs]")
    upper.legend(fontsize=8, frameon=False, loc="center left")
    lower.plot(steps, loops.active, color="#1b4f8a", lw=1.0)
    lower.set_yscale("log", base=10)
    lower.set_yticks([ACTIVE, molecule.n_torsions], [str(ACTIVE), str(molecule.n_torsions)])
    lower.minorticks_off()
    lower.set_ylabel("active torsions")
    lower.set_xlabel("step of 2 fs; shaded: a hand holds an atom")
    for axes in (upper, lower):
        axes.grid(alpha=0.25)
        for a, b in HELD:
            axes.axvspan(a * len(steps), b * len(steps), color="#f3e3d6", zorder=0)
    upper.set_title(f"bacteriorhodopsin, {molecule.n_torsions} torsions, later {ACTIVE} of them", fontsize=10)
    figure.tight_layout()
    figure.savefig(FOLDER / "protein_loops.png")


def smooth(values: np.ndarray) -> np.ndarray:
    """Median of seven."""
    padded = np.pad(values, 3, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 7), axis=1)


def active(structure: Path) -> None:
    """What the viewer draws: bodies that active torsions carry are orange."""
    from linkwork.viewer.frames import framing, ground_height, up_of
    from linkwork.viewer.render import Renderer
    from linkwork.viewer.shapes.colors import by_activity
    from linkwork.viewer.shapes.instances import instances_of

    molecule = lw.molecules.load(structure, chains="A", relax=True, seed=1)
    model, field = molecule.model, molecule.field(cutoff=CUTOFF)
    sim = lw.AdaptiveDynamics(
        model, molecule.state, max_active_joints=ACTIVE, field=field, integrator="kick_drift_kick"
    )
    sim.advance(2e-3, 11)
    instances, up, T = instances_of(model), up_of(model), lw.body_poses(model, sim.state)
    corners = instances.corners(T)
    camera = framing(corners, up)
    near = camera._replace(position=camera.look_at + 0.76 * (camera.position - camera.look_at))
    drawn = Renderer(instances, near, ground_height(corners, up, []), 760, 640)
    drawn.draw(T, by_activity(model, sim.active_bodies)).save(FOLDER / "protein_active.png")


PICTURES = {"helix": helix, "hand": hand, "active": active}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(PICTURES), choices=[*PICTURES])
    parser.add_argument("--structure", type=Path, default=STRUCTURE)
    options = parser.parse_args()
    for name in options.names:
        PICTURES[name](options.structure)
