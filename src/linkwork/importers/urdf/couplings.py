"""The <mimic> elements of a URDF as couplings of joints."""

from __future__ import annotations

from linkwork.importers.report import Report
from linkwork.importers.urdf.joint import UrdfJoint
from linkwork.model.linkage import Linkage


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
