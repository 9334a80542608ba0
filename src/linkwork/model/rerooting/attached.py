"""What names joints, after some of them were turned round: couplings, actuators and sensors, and rods made of them.

The coordinate of a turned joint changes sign (`reversal`). Couplings and actuators keep their meaning with coefficients
and gears of the other sign; sensors read as before (`reversed`). Rods need nothing: who reads them asks which piece a joint
carries. What names the joint on the world, which is replaced, has no joint any more, and is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkwork.core.arrays import IntArray
from linkwork.model.model import Model
from linkwork.model.sensors import JointSensor


def attached_faults(model: Model, chain: IntArray) -> list[str]:
    """What loses its joint when the one on the world is replaced."""
    gone = _names(model, chain[-1:])
    names = [(f"coupling '{x.name}'", joint) for x in model.couplings for joint, _ in x.joints]
    names += [(f"actuator '{x.name}'", x.joint) for x in model.actuators]
    names += [(f"sensor '{x.name}'", x.on) for x in model.sensors if isinstance(x, JointSensor)]
    found = [
        f"{what} is on joint '{joint}', which connects the tree to the world and is replaced; leave it out of the linkage"
        for what, joint in names
        if joint in gone
    ]
    base = model.body_names[chain[-1]]
    return found + [
        f"rod '{rod.name}' is clamped in the world, and its joint there, that of '{base}', is replaced; keep the clamped "
        "piece by linkage.compile(merge_fixed=False)"
        for rod in model.rods
        if base in rod.bodies and model.body(rod.start.body) < 0
    ]


def turned_attachments(model: Model, chain: IntArray) -> dict[str, Any]:
    """Couplings, actuators and sensors where the joints of all bodies of `chain` but the last are turned."""
    turned = _names(model, chain[:-1])
    return {
        "couplings": tuple(
            replace(x, joints=tuple((joint, -c if joint in turned else c) for joint, c in x.joints))
            for x in model.couplings
        ),
        "actuators": tuple(replace(x, gear=-x.gear) if x.joint in turned else x for x in model.actuators),
        "sensors": tuple(
            replace(x, reversed=not x.reversed) if isinstance(x, JointSensor) and x.on in turned else x
            for x in model.sensors
        ),
    }


def _names(model: Model, bodies: IntArray) -> set[str]:
    """Joints of these bodies, and what was merged into them, by name."""
    if not (model.couplings or model.actuators or model.sensors):
        return set()
    chosen = set(bodies.tolist())
    parts = {name for name, (body, _, _) in model.joint_parts.items() if body in chosen}
    return parts | {model.joint_names[i] for i in chosen}
