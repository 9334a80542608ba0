"""Real files that a strict reader would refuse: moments no body has, and joints with nothing to move behind them.

Such files load, with a warning that gives the numbers, as long as the equations of motion keep a solution:
- A link whose moments break the triangle inequality keeps them as written, and so does one with negative moments when what
  moves with it as one rigid body has none in sum. Otherwise it stays a fault, which compiling the linkage reports. Whether
  such a robot can be solved depends on its joints: the dynamics report it.
- A joint with no mass at all behind it has no equation of motion (0 · q̈ = τ); its link is welded to its parent, at q = 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from linkwork.importers.report import Report
from linkwork.importers.urdf.joint import UrdfJoint
from linkwork.importers.urdf.link import Link
from linkwork.model.inertia import NEGATIVE_TOLERANCE, SHORTEST, Inertia
from linkwork.model.joints import Fixed
from linkwork.spatial.pose import Pose

NAMES_SHOWN = 50


@dataclass(frozen=True, slots=True, init=False)
class InertiaAsWritten(Inertia):
    """An unphysical inertia that was reported and judged harmless, so that compiling does not refuse it again."""

    def faults(self, length: float = 0.0) -> list[str]:
        return []


def weld_what_weighs_nothing(
    links: dict[str, Link], above: dict[str, UrdfJoint], parents_first: list[str], report: Report
) -> None:
    heavy: set[str] = set()  # links with mass, or with mass behind them
    for name in reversed(parents_first):
        joint = above.get(name)
        if not links[name].inertia.is_massless or name in heavy:
            heavy.add(name)
            if joint is not None:
                heavy.add(joint.parent)
    welded: list[str] = []
    lines: list[int] = []
    for name in parents_first:
        joint = above.get(name)
        if name not in heavy and joint is not None and not isinstance(joint.joint, Fixed):
            joint.joint = Fixed()
            welded.append(joint.name)
            lines.append(links[name].line)
    if welded:
        names = ", ".join(f"'{name}'" for name in welded[:NAMES_SHOWN]) + (", ..." if len(welded) > NAMES_SHOWN else "")
        report.note(
            min(lines),
            f"{len(welded)} joint{'s' if len(welded) > 1 else ''} with 0 kg behind, {names}",
            "a moving body needs mass > 0, so the links are welded to their parents at q = 0",
        )


def accept_unphysical_inertia(
    links: dict[str, Link], above: dict[str, UrdfJoint], parents_first: list[str], on_ground: bool, report: Report
) -> None:
    """`on_ground`: the root is fixed in the world, so nothing depends on the inertia of what is welded to it."""
    suspects = [name for name in parents_first if links[name].inertia.faults()]
    if not suspects:
        return
    host: dict[str, str] = {}
    pose: dict[str, Pose] = {}  # in the host
    for name in parents_first:
        joint = above.get(name)
        if joint is not None and isinstance(joint.joint, Fixed):
            host[name], pose[name] = host[joint.parent], pose[joint.parent] @ joint.placement
        else:
            host[name], pose[name] = name, Pose()
    root = parents_first[0]
    hosts = {host[name] for name in suspects}
    groups: dict[str, list[str]] = {name: [] for name in hosts}
    for name in parents_first:
        if host[name] in hosts:
            groups[host[name]].append(name)
    for name in suspects:
        members = groups[host[name]]
        still = on_ground and host[name] == root
        if not still and not _is_solvable(links[member].inertia.at(pose[member]) for member in members):
            continue
        link = links[name]
        (fault,) = link.inertia.faults()
        together = "it does not move" if still else "the equations of motion keep a solution"
        report.note(link.line, f"link '{name}': {fault}", f"kept as written, since {together}; mend the file")
        link.inertia = InertiaAsWritten(link.inertia.mass, link.inertia.com, link.inertia.matrix)


def _is_solvable(parts: Iterable[Inertia]) -> bool:
    """Whether parts that move as one have mass and no negative moments; the triangle inequality may still be broken."""
    total = Inertia.total(parts)
    if not (total.mass > 0.0 and np.isfinite(total.matrix).all()):
        return False
    low, _, high = np.linalg.eigvalsh(total.matrix)
    return bool(low >= -NEGATIVE_TOLERANCE * max(high, total.mass * max(math.hypot(*total.com), SHORTEST) ** 2))


# -------------------------------------------------------------------------------------------- inertias that no body has

# Mending inertias that no body has: the nearest one that some distribution of the same mass has.
#
# A body's second moments Σ = ∫ x xᵀ dm = ½ tr(I) 1 − I are never negative. Where those of a file are, their negative
# eigenvalues become zero: in the Frobenius norm of Σ nothing physical is nearer. Mass, centre of mass and axes stay.


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
