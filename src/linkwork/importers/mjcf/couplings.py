"""Equalities between joints and fixed tendons of a MuJoCo model as couplings: linear ones; notes list the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.model.linkage import Linkage

Note = Callable[[str, str, str], None]
Terms = dict[str, float]  # coefficients of coordinates by joint


def add_couplings(mujoco: Any, model: Any, joints: dict[int, str], linkage: Linkage, note: Note) -> None:
    """joints: names of those in the linkage, by number. Coordinates count from `ref`, as MuJoCo's equalities do."""
    taken = {coupling.name for coupling in linkage.couplings}
    for k in coupling_equalities(mujoco, model):
        name = model.eq(k).name or f"equality_{k}"
        while name in taken:
            name += "_"
        made = _terms(mujoco, model, k, joints)
        if isinstance(made, str):
            note(f"equality '{name}'", f"not kept; {made}", f"equality {made}")
            continue
        taken.add(name)
        linkage.add_coupling(name, made, float(model.eq_data[k][0]))


def coupling_equalities(mujoco: Any, model: Any) -> list[int]:
    """Numbers of the equalities between joints or tendons."""
    kinds = (int(mujoco.mjtEq.mjEQ_JOINT), int(mujoco.mjtEq.mjEQ_TENDON))
    return [k for k in range(model.neq) if int(model.eq_type[k]) in kinds]


def _terms(mujoco: Any, model: Any, k: int, joints: dict[int, str]) -> Terms | str:
    """The left side of Σ c q = offset, or why it is not kept."""
    if not model.eq_active0[k]:
        return "it is switched off"
    if model.eq_data[k][2:5].any():
        return "its polynomial is not linear"
    is_joint = int(model.eq_type[k]) == int(mujoco.mjtEq.mjEQ_JOINT)
    left = _side(mujoco, model, int(model.eq_obj1id[k]), is_joint, joints)
    right: Terms | None = {}
    if int(model.eq_obj2id[k]) >= 0:
        right = _side(mujoco, model, int(model.eq_obj2id[k]), is_joint, joints)
    if left is None or right is None:
        return "a joint of it has no name or several degrees of freedom, or a tendon is spatial"
    slope = float(model.eq_data[k][1])
    total = dict(left)
    for joint, coefficient in right.items():
        total[joint] = total.get(joint, 0.0) - slope * coefficient
    total = {joint: coefficient for joint, coefficient in total.items() if coefficient != 0.0}
    return total or "it says nothing"


def _side(mujoco: Any, model: Any, number: int, is_joint: bool, joints: dict[int, str]) -> Terms | None:
    if not is_joint:
        return tendon_terms(mujoco, model, number, joints)
    axes = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    if number not in joints or int(model.jnt_type[number]) not in axes:
        return None
    return {joints[number]: 1.0}


def tendon_terms(mujoco: Any, model: Any, tendon: int, joints: dict[int, str]) -> Terms | None:
    """Length of a fixed tendon as a sum of coordinates; None for a spatial one."""
    first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    terms: Terms = {}
    for w in range(first, first + count):
        joint = int(model.wrap_objid[w])
        if int(model.wrap_type[w]) != int(mujoco.mjtWrap.mjWRAP_JOINT) or joint not in joints:
            return None
        terms[joints[joint]] = terms.get(joints[joint], 0.0) + float(model.wrap_prm[w])
    return terms


def driven_by_tendon(terms: Terms, linkage: Linkage) -> tuple[str, float] | None:
    """The joint that drives all others of a tendon, which couplings tie to it, and the tendon's length per turn of it.

    None where its joints move one by one, or where couplings have an offset.
    """
    first = next(iter(terms))
    ratio = {first: 1.0}
    pairs = [dict(x.joints) for x in linkage.couplings if len(x.joints) == 2 and x.offset == 0.0]
    for _ in pairs:
        for pair in pairs:
            (a, ca), (b, cb) = pair.items()
            if a in ratio:
                ratio.setdefault(b, -ratio[a] * ca / cb)
            elif b in ratio:
                ratio.setdefault(a, -ratio[b] * cb / ca)
    if not all(joint in ratio for joint in terms):
        return None
    length = sum(coefficient * ratio[joint] for joint, coefficient in terms.items())
    return (first, length) if length != 0.0 else None
