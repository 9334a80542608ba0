"""Equilibria by others: the elastica by Exudyn, the catenary by MoorDyn, each beside Linkwork's row of the table."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..harness import TableReport, progress
from .closed import catenary
from .problems import ELASTICA, elastica

LOAD, SEGMENTS = 3, 100
SAG, PULL = 26.543750914, 0.603639388
STRETCH = 1e7  # [N] MoorDyn's lines stretch; this one by 6e-5 of its length
LINE = f"""--------------------- MoorDyn Input File ----------------------------------------------------
a catenary
---------------------- LINE TYPES -----------------------------------------------------------
TypeName   Diam    Mass/m     EA     BA/-zeta    EI    Cd  Ca  CdAx  CaAx
(name)     (m)     (kg/m)     (N)    (N-s/-)   (N-m^2) (-) (-) (-) (-)
main  1e-6 1.0 {STRETCH} -0.8 0 1.0 0 0 0
---------------------- POINTS ---------------------------------------------------------------
ID Attachment X Y Z M V CdA CA
(#) (-) (m) (m) (m) (kg) (m^3) (m^2) (-)
1 Fixed 0 0 100 0 0 0 0
2 Fixed 80 0 100 0 0 0 0
---------------------- LINES ----------------------------------------------------------------
ID LineType AttachA AttachB UnstrLen NumSegs LineOutputs
(#) (name) (#) (#) (m) (-) (-)
1 main 1 2 100 {SEGMENTS} -
---------------------- OPTIONS --------------------------------------------------------------
0 writeLog
0.0005 dtM
9.81 g
500 WtrDpth
1.0 dtIC
60 TmaxIC
1e-6 threshIC
---------------------- OUTPUTS --------------------------------------------------------------
--------------------- need this line --------------------------------------------------------
"""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Libraries that write to the screen by themselves do not, meanwhile."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def by_exudyn(n: int) -> tuple[float, float]:
    """Largest error of drop and shortening of the elastica, and processor time [s]."""
    import exudyn as exu
    from exudyn.beams import GenerateStraightLineANCFCable2D
    from exudyn.utilities import Cable2D, Force, MarkerNodePosition

    mbs = exu.SystemContainer().AddSystem()
    cable = Cable2D(physicsMassPerLength=1.0, physicsBendingStiffness=1.0, physicsAxialStiffness=1e6)
    made = GenerateStraightLineANCFCable2D(
        mbs, positionOfNode0=[0, 0, 0], positionOfNode1=[1, 0, 0], numberOfElements=n, cableTemplate=cable,
        massProportionalLoad=[0, 0, 0], fixedConstraintsNode0=[1, 1, 1, 1], fixedConstraintsNode1=[0, 0, 0, 0],
    )  # fmt: skip
    marker = mbs.AddMarker(MarkerNodePosition(nodeNumber=made[0][-1]))
    mbs.AddLoad(Force(markerNumber=marker, loadVector=[0, -LOAD, 0]))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.staticSolver.numberOfLoadSteps = 5
    settings.staticSolver.verboseMode = 0
    settings.staticSolver.newton.relativeTolerance = 1e-9
    settings.solutionSettings.writeSolutionToFile = False
    settings.linearSolverType = exu.LinearSolverType.EigenSparse
    begun = time.process_time()
    mbs.SolveStatic(settings)
    taken = time.process_time() - begun
    x, y, _ = mbs.GetNodeOutput(made[0][-1], exu.OutputVariableType.Position)
    drop, shortening, _ = ELASTICA[LOAD]
    return max(abs(-y - drop), abs(1.0 - x - shortening)), taken


def by_moordyn() -> tuple[float, float, float]:
    """Errors of sag and largest tension of the catenary, as parts, and processor time [s]."""
    import moordyn

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _quiet():
        Path("line.txt").write_text(LINE, encoding="utf-8")
        system = moordyn.Create("line.txt")
        begun = time.process_time()
        moordyn.Init(system, [], [])
        taken = time.process_time() - begun
        line = moordyn.GetLine(system, 1)
        sag = 100.0 - min(moordyn.GetLineNodePos(line, k)[2] for k in range(SEGMENTS + 1))
        pull = moordyn.GetLineFairTen(line) / 981.0
        moordyn.Close(system)
    return abs(sag / SAG - 1.0), abs(pull / PULL - 1.0), taken


def add_rest_peers(report: TableReport) -> None:
    rows = []
    found, _, seconds = min((elastica(LOAD)(SEGMENTS) for _ in range(5)), key=lambda solved: solved[2])
    error = float(np.abs(np.subtract(found, ELASTICA[LOAD])).max())
    rows.append([f"elastica, P L²/EI = {LOAD}", "Linkwork", f"{1e3 * seconds:.2f} ms", f"{error:.1e}"])
    progress("the elastica by Exudyn")
    try:
        error, seconds = by_exudyn(SEGMENTS)
        rows.append([f"elastica, P L²/EI = {LOAD}", "Exudyn", f"{1e3 * seconds:.2f} ms", f"{error:.1e}"])
    except ImportError:
        report.notes.append("Exudyn is not installed; the elastica was not compared with it.")
    progress("the catenary by MoorDyn")
    (sag,), _, seconds = min((catenary("sag")(SEGMENTS) for _ in range(5)), key=lambda solved: solved[2])
    (pull,), *_ = catenary("tension")(SEGMENTS)
    said = f"sag {abs(sag / SAG - 1.0):.1e}, tension {abs(pull / PULL - 1.0):.1e}"
    rows.append(["catenary", "Linkwork", f"{1e3 * seconds:.2f} ms", said])
    try:
        sag, pull, seconds = by_moordyn()
        said = f"sag {sag:.1e}, tension {pull:.1e}"
        rows.append(["catenary", "MoorDyn", f"{1e3 * seconds:.2f} ms", said])
    except ImportError:
        report.notes.append("MoorDyn is not installed; the catenary was not compared with it.")
    title = f"equilibria of {SEGMENTS} segments by others"
    report.add_table("rest", title, ["problem", "program", "time", "error"], rows)
