"""Which link hangs from which: a URDF must be one tree."""

from __future__ import annotations

import difflib

from linkwork.importers.report import Report
from linkwork.importers.urdf.joint import UrdfJoint
from linkwork.importers.urdf.link import Link

NAMES_SHOWN = 6
HINTS_GIVEN = 20  # looking for a similar name takes milliseconds, and an error shows no more faults than this


def unique_links(links: list[Link], report: Report) -> dict[str, Link]:
    by_name: dict[str, Link] = {}
    for link in links:
        first = by_name.setdefault(link.name, link)
        if first is not link and link.name:
            report.fault(link.line, f"link '{link.name}' exists already, on line {first.line}; names must be unique.")
    return by_name


def check_joint_names(joints: list[UrdfJoint], report: Report) -> None:
    by_name: dict[str, UrdfJoint] = {}
    for joint in joints:
        first = by_name.setdefault(joint.name, joint)
        if first is not joint and joint.name:
            report.fault(
                joint.line, f"joint '{joint.name}' exists already, on line {first.line}; names must be unique."
            )


def joints_by_child(joints: list[UrdfJoint], links: dict[str, Link], report: Report) -> dict[str, UrdfJoint]:
    """The joint each link hangs from; unknown links and second parents are faults."""
    above: dict[str, UrdfJoint] = {}
    for joint in joints:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name and name not in links:
                search = report.fault_count < HINTS_GIVEN
                close = difflib.get_close_matches(name, list(links)[:10_000], n=1) if search else []
                hint = f" Did you mean '{close[0]}'?" if close else ""
                report.fault(joint.line, f"joint '{joint.name}': its {role} link '{name}' does not exist.{hint}")
        if not joint.child:
            continue
        first = above.setdefault(joint.child, joint)
        if first is not joint:
            report.fault(
                joint.line,
                f"link '{joint.child}' has several parents: joint '{first.name}' (line {first.line}) and joint "
                f"'{joint.name}'. A URDF is a tree; cut the loop at one joint.",
            )
    return above


def find_root(links: dict[str, Link], above: dict[str, UrdfJoint], report: Report) -> str:
    """The link without a parent; cycles, no root and several roots are faults."""
    _check_cycles(links, above, report)
    roots = [name for name in links if name not in above]
    if not links:
        report.fault(1, "the robot has no <link>.")
    elif not roots:
        first = next(iter(links.values()))
        report.fault(
            first.line, "no link is the root: every one hangs from another. Remove the joint above one of them."
        )
    for name in roots[1:]:
        report.fault(
            links[name].line,
            f"link '{name}' hangs from no joint, like the root '{roots[0]}' (line {links[roots[0]].line}); a URDF is one "
            "tree. Add a joint above it.",
        )
    return roots[0] if roots else ""


def _check_cycles(links: dict[str, Link], above: dict[str, UrdfJoint], report: Report) -> None:
    """Walk up from every link, marking the walk; meeting one's own mark closes a cycle."""
    mark: dict[str, str] = {}
    for start in links:
        name = start
        while name in above and name not in mark:
            mark[name] = start
            name = above[name].parent
        if mark.get(name) == start:
            names, other = [name], above[name].parent
            while other != name:
                names.append(other)
                other = above[other].parent
            shown = " → ".join(names[:NAMES_SHOWN]) + (" → ..." if len(names) > NAMES_SHOWN else "")
            report.fault(
                above[name].line,
                f"links hang from each other in a cycle of {len(names)}: {shown} → {name}. Cut it at one joint.",
            )
