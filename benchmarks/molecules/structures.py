"""Where structures of `linkwork bench molecules` come from: files at hand, or the package MDAnalysisTests on the index.

`pip install MDAnalysisTests` (60 MB) brings adenylate kinase, BPTI and ubiquitin. Of a structure that is not there the
report says so.
"""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import linkwork as lw

from ..harness import Report, progress

AT_HAND = Path(__file__).parents[3] / "shared" / "data" / "proteins"
OF_PACKAGE = {"adk": "adk_open.pdb", "bpti": "mmcif/5PTI.cif.gz", "ubiquitin": "1ubq-less-optional.mmtf"}


def packaged(name: str) -> Path | None:
    """The file of a structure in MDAnalysisTests; None where the package is absent."""
    return in_package("MDAnalysisTests", f"data/{OF_PACKAGE[name]}")


def in_package(package: str, path: str) -> Path | None:
    """A file that comes with a package; None where the package is absent."""
    found = importlib.util.find_spec(package)
    for place in [] if found is None else list(found.submodule_search_locations or []):
        if (Path(place) / path).is_file():
            return Path(place) / path
    return None


def small_proteins(report: Report, folder: Path, quick: bool) -> dict[str, Any]:
    """Trp-cage's stand-in, crambin (in the folder), BPTI and ubiquitin, relaxed, as far as their files are there."""
    if quick:
        return {"peptide GAKC": lw.molecules.peptide("GAKC", relax=True, seed=1)}
    made = {"NLYIQWLKDGGPSSGRPPPS (Trp-cage's sequence, a helix)": lw.molecules.peptide(
        "NLYIQWLKDGGPSSGRPPPS", helix=True, caps=False, relax=True, seed=1
    )}  # fmt: skip
    files: dict[str, Path | None] = {
        "crambin": folder / "1CRN.pdb" if (folder / "1CRN.pdb").is_file() else None,
        "BPTI": packaged("bpti"),
        "ubiquitin": packaged("ubiquitin"),
    }
    for name, file in files.items():
        if file is None:
            report.notes.append(f"{name}: there is no file; `pip install MDAnalysisTests` brings BPTI and ubiquitin.")
            continue
        progress(f"reading {name}")
        made[name] = lw.molecules.load(readable(file), relax=True, seed=1, drop=())
    return made


def readable(file: Path) -> Path:
    """The file, or one in PDB format beside the temporary files where only MDAnalysis reads it (MMTF)."""
    if not file.name.endswith(".mmtf"):
        return file
    import tempfile

    import MDAnalysis

    made = Path(tempfile.mkdtemp()) / f"{file.name.partition('-')[0]}.pdb"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the file does not say
        MDAnalysis.Universe(str(file)).atoms.write(str(made))
    return made
