"""URDF → Linkage: a strict reader that reports every fault with file and line, and everything it does not keep."""

from __future__ import annotations

from pathlib import Path

from linkwork.importers.attributes import AttributeReader
from linkwork.importers.report import Report
from linkwork.importers.unphysical import accept_unphysical_inertia, repair_inertias, weld_what_weighs_nothing
from linkwork.importers.urdf.drives import add_couplings, add_drives
from linkwork.importers.urdf.joint import UrdfJoint, read_joint
from linkwork.importers.urdf.link import Link, read_link
from linkwork.importers.urdf.tree import check_joint_names, find_root, joints_by_child, unique_links
from linkwork.importers.xml_tree import Element, read_xml
from linkwork.model.joints import Fixed, Free
from linkwork.model.linkage import WORLD, Linkage

ROOT_JOINT = "root_joint"


def load_urdf(path: str | Path, *, floating: bool = False, strict: bool = False, repair: bool = False) -> Linkage:
    """Reads a URDF file.

    floating: whether the root link floats freely (a Free joint named "root_joint") or is fixed to the world.
    strict: leave unphysical inertia and joints without mass behind them to be refused by `compile()`; by default they are
    accepted with a warning where the equations of motion keep a solution.
    repair: replace moments of inertia that no body can have by the nearest that one can, with a warning for each.
    """
    report = Report(path)
    read = AttributeReader(report)
    robot = read_xml(path)
    if robot.tag != "robot":
        report.fault(robot.line, f"the root element is <{robot.tag}>; a URDF begins with <robot>.")
        report.raise_faults()
    read.unknown(robot, ("name", "version"), ("link", "joint", "transmission", "gazebo"))
    _refuse_xacro(robot, report)
    links = unique_links([read_link(element, read) for element in robot.all("link")], report)
    joints = [read_joint(element, read) for element in robot.all("joint")]
    check_joint_names(joints, report)
    above = joints_by_child(joints, links, report)
    root = find_root(links, above, report)
    report.raise_faults()

    parents_first = _parents_first(root, joints)
    if repair:
        repair_inertias(links, report)
    if not strict:
        weld_what_weighs_nothing(links, above, parents_first, report)
        accept_unphysical_inertia(links, above, parents_first, not floating, report)
    names = _body_names(links, root, floating, report)
    linkage = Linkage(robot.attributes.get("name", "").strip() or Path(path).stem)
    taken = {joint.name for joint in joints}
    for name in parents_first:
        _add(linkage, links[name], above.get(name), names, floating, taken, report)
    add_couplings(joints, linkage, report)
    add_drives(robot, linkage, names, read)
    linkage.warnings += report.warnings()
    return linkage


def _refuse_xacro(robot: Element, report: Report) -> None:
    found = [child for child in robot.children if child.tag.startswith("xacro:")]
    if found:
        report.fault(
            found[0].line, f"<{found[0].tag}> is a xacro macro; expand the file first: xacro in.xacro > out.urdf."
        )


def _parents_first(root: str, joints: list[UrdfJoint]) -> list[str]:
    """Links in the order of a walk from the root, children in the order of the file."""
    below: dict[str, list[str]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint.child)
    order, waiting = [], [root]
    while waiting:
        name = waiting.pop()
        order.append(name)
        waiting.extend(reversed(below.get(name, ())))
    return order


def _body_names(links: dict[str, Link], root: str, floating: bool, report: Report) -> dict[str, str]:
    """Body name of each link: its own, but a link called "world" is the ground itself, or is renamed."""
    names = {name: name for name in links}
    if WORLD in links:
        link = links[WORLD]
        if root == WORLD and not floating and not link.shapes:
            return names
        new = WORLD + "_link"
        while new in links:
            new += "_"
        names[WORLD] = new
        report.note(link.line, f"link '{WORLD}'", f"this name belongs to the ground; the body is called '{new}'")
    return names


def _add(
    linkage: Linkage,
    link: Link,
    joint: UrdfJoint | None,
    names: dict[str, str],
    floating: bool,
    taken: set[str],
    report: Report,
) -> None:
    source = report.where(link.line)
    body = names[link.name]
    if body == WORLD:
        return
    if joint is not None:
        linkage.add_body(
            body,
            names[joint.parent],
            joint.joint,
            joint.placement,
            link.inertia,
            joint_name=joint.name,
            shapes=link.shapes,
            source=source,
        )
        return
    root_joint = ROOT_JOINT
    while root_joint in taken:
        root_joint += "_"
    kind = Free() if floating else Fixed()
    linkage.add_body(body, joint=kind, inertia=link.inertia, joint_name=root_joint, shapes=link.shapes, source=source)
