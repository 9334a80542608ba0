"""Makes the picture of docs/proteins.md: `python docs/make_protein_pictures.py`.

Needs the extras `plots` and `proteins`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import linkwork as lw

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.molecules.dynamics import Pulling, pull_linkage

FILE = Path(__file__).parent / "pictures" / "helix_pulled.png"
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


def main() -> None:
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
    twin = right.twinx()
    twin.plot(path.extension, 100.0 * path.content, color="#d1433b", lw=1.4)
    twin.set_ylabel("hydrogen bonds of the helix [%]", color="#d1433b")
    twin.set_ylim(0, 105)
    figure.tight_layout()
    figure.savefig(FILE)


if __name__ == "__main__":
    main()
