"""Mending inertias that no body has: the nearest one that some distribution of the same mass has.

A body's second moments Σ = ∫ x xᵀ dm = ½ tr(I) 1 − I are never negative. Where those of a file are, their negative
eigenvalues become zero: in the Frobenius norm of Σ nothing physical is nearer. Mass, centre of mass and axes stay.
"""

from __future__ import annotations

import numpy as np

from linkwork.importers.report import Report
from linkwork.importers.urdf.link import Link
from linkwork.model.inertia import Inertia


def repair_inertias(links: dict[str, Link], report: Report) -> None:
    """Replaces unphysical moments, each with a warning that gives both; other faults stay for `compile()` to report."""
    for link in links.values():
        faults = link.inertia.faults()
        if not faults or not link.inertia.mass > 0.0 or not np.isfinite(link.inertia.matrix).all():
            continue
        before = link.inertia
        link.inertia = nearest_physical(before)
        report.note(
            link.line,
            f"link '{link.name}': {faults[0]}",
            f"mended to ({', '.join(f'{moment:g}' for moment in principal(link.inertia))}) kg·m², the nearest that a body "
            "of this mass can have",
        )


def nearest_physical(inertia: Inertia) -> Inertia:
    """The same mass and centre of mass with the nearest moments that obey the triangle inequality."""
    moments, axes = np.linalg.eigh(inertia.matrix)
    second = np.maximum(0.5 * moments.sum() - moments, 0.0)
    mended = (axes * (second.sum() - second)) @ axes.T
    return Inertia(inertia.mass, inertia.com, 0.5 * (mended + mended.T))


def principal(inertia: Inertia) -> list[float]:
    """Principal moments, the smallest first [kg·m²]."""
    return [float(moment) for moment in np.linalg.eigvalsh(inertia.matrix)]
