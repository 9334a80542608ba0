"""The <transmission>s of a URDF and the sensors of its <gazebo> extensions."""

from __future__ import annotations

from linkwork.importers.attributes import AttributeReader
from linkwork.importers.report import Report
from linkwork.importers.urdf.joint import UrdfJoint
from linkwork.importers.xml_tree import Element
from linkwork.model.actuators import Actuator
from linkwork.model.linkage import Linkage
from linkwork.model.sensors import ForceTorque, Imu, Range, Sensor, Touch

FRAME_SENSORS = {"imu": Imu, "contact": Touch, "ray": Range, "gpu_ray": Range}


def add_drives(robot: Element, linkage: Linkage, names: dict[str, str], read: AttributeReader) -> None:
    """Adds an effort actuator per transmission of one joint, and the sensors that Linkwork has; lists the others.

    names: of bodies, by the names of their links.
    """
    freedoms = {body.joint_name: body.joint.nv for body in linkage}
    for element in robot.all("transmission"):
        _add_transmission(element, linkage, freedoms, read)
    for element in robot.all("gazebo"):
        on = element.attributes.get("reference", "")
        for sensor in element.all("sensor"):
            _add_sensor(sensor, on, linkage, names, freedoms, read)
        if not element.children or any(child.tag != "sensor" for child in element.children):
            read.report.note(element.line, "<gazebo> in <robot>", "not read, but for sensors", group="gazebo")


def _add_transmission(element: Element, linkage: Linkage, freedoms: dict[str, int], read: AttributeReader) -> None:
    name = element.attributes.get("name", "").strip() or f"transmission_{len(linkage.actuators)}"
    joints = [child.attributes.get("name", "") for child in element.all("joint")]
    if len(joints) != 1 or freedoms.get(joints[0]) != 1:
        why = "it drives several joints" if len(joints) > 1 else "it drives no joint with one degree of freedom"
        read.report.note(element.line, f"<transmission> '{name}'", f"not kept; {why}", group=f"transmission {why}")
        return
    taken = {actuator.name for actuator in linkage.actuators}
    while name in taken:
        name += "_"
    linkage.actuators.append(Actuator(name, joints[0], source=read.report.where(element.line)))
    read.report.note(
        element.line,
        f"<transmission> '{name}'",
        "read as an actuator of effort at the joint; reduction and interface are not kept",
        group="transmission",
    )


def _add_sensor(
    element: Element, on: str, linkage: Linkage, names: dict[str, str], freedoms: dict[str, int], read: AttributeReader
) -> None:
    kind, name = element.attributes.get("type", ""), element.attributes.get("name", "").strip()
    source = read.report.where(element.line)
    taken = {sensor.name for sensor in linkage.sensors}
    found: Sensor | None = None
    if name and name not in taken and kind in FRAME_SENSORS and on in names:
        found = FRAME_SENSORS[kind](name, names[on], source=source)
    elif name and name not in taken and kind == "force_torque" and on in freedoms:
        found = ForceTorque(name, on, source=source)
    if found is None:
        read.report.note(element.line, f"sensor '{name}' ({kind})", "not kept", group=f"sensor {kind}")
        return
    linkage.sensors.append(found)
    if element.children:
        read.report.note(
            element.line, f"sensor '{name}' ({kind})", "rate, pose and noise of sensors are not kept", group="sensors"
        )


# ------------------------------------------------------------------------------------------------------------ couplings


def add_couplings(joints: list[UrdfJoint], linkage: Linkage, report: Report) -> None:
    """Couples joints to those they mimic, q = m q' + c; lists what cannot be kept."""
    freedoms = {body.joint_name: body.joint.nv for body in linkage}
    for joint in joints:
        mimic = joint.mimic
        if mimic is None:
            continue
        subject = f"joint '{joint.name}': <mimic> of joint '{mimic.leader}'"
        if freedoms.get(joint.name) != 1 or freedoms.get(mimic.leader) != 1:
            lost = joint.name if freedoms.get(joint.name) != 1 else mimic.leader
            why = f"not kept; joint '{lost}' does not move with one degree of freedom"
            report.note(mimic.line, subject, why, group="mimic of what does not move")
            continue
        pairs = {joint.name: 1.0}
        if mimic.leader == joint.name or mimic.multiplier == 0.0:
            if mimic.leader == joint.name:
                report.fault(mimic.line, f"{subject}: a joint cannot mimic itself.")
                continue
        else:
            pairs[mimic.leader] = -mimic.multiplier
        linkage.add_coupling(joint.name, pairs, mimic.offset, source=report.where(mimic.line))
