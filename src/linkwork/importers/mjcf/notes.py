"""What a MuJoCo model holds that a linkage cannot: listed, never dropped silently."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from linkwork.importers.mjcf.couplings import coupling_equalities
from linkwork.importers.report import Report

NAMES_SHOWN = 5


def note_what_is_not_kept(mujoco: Any, model: Any, report: Report) -> None:
    def note(subject: str, reason: str) -> None:
        report.note(0, subject, reason)

    for count, kind, names, reason in (
        (
            model.ntendon,
            "tendon",
            _names(model.tendon, model.ntendon),
            "not kept, nor their springs and limits; equalities of fixed ones are",
        ),
        (model.nkey, "keyframe", _names(model.key, model.nkey), "not kept"),
        (model.npair, "contact pair", "", "not kept, but its geoms are"),
        (model.nflex, "flex", "", "deformable bodies are not simulated"),
        (model.nskin, "skin", "", "only for display; not kept"),
        (model.nplugin, "plugin", "", "not kept"),
        (model.ncam, "camera", "", "only for display; not kept"),
        (model.nlight, "light", "", "only for display; not kept"),
    ):
        if count:
            note(_counted(int(count), kind) + names, reason)
    _note_equalities(mujoco, model, note)
    _note_joint_terms(model, note)
    _note_tendon_inertia(model, note)
    _note_flags(mujoco, model, note)
    _note_medium(model, note)


def _counted(count: int, kind: str) -> str:
    return f"{count} {kind}" + ("" if count == 1 else "es" if kind.endswith("x") else "s")


def _names(getter: Any, count: int) -> str:
    names = [name for k in range(min(int(count), NAMES_SHOWN)) if (name := getter(k).name)]
    if not names:
        return ""
    return " (" + ", ".join(names) + (", ..." if count > len(names) else "") + ")"


def _note_equalities(mujoco: Any, model: Any, note: Any) -> None:
    couplings = coupling_equalities(mujoco, model)
    others = [int(t) for k, t in enumerate(model.eq_type) if k not in couplings]
    kinds = Counter(mujoco.mjtEq(t).name.removeprefix("mjEQ_").lower() for t in others)
    for kind, count in kinds.items():
        body = int(mujoco.mjtObj.mjOBJ_BODY)
        pairs = [
            f"{model.body(int(a)).name}–{model.body(int(b)).name}"
            for a, b, t, o in zip(model.eq_obj1id, model.eq_obj2id, model.eq_type, model.eq_objtype, strict=True)
            if mujoco.mjtEq(int(t)).name.lower().endswith(kind) and int(o) == body and b >= 0
        ][:NAMES_SHOWN]
        between = f" ({', '.join(pairs)}{', ...' if len(pairs) < count else ''})" if pairs else ""
        note(
            f"{_counted(count, kind + ' constraint')}{between}", "not kept; the linkage is the tree without these loops"
        )


def _note_joint_terms(model: Any, note: Any) -> None:
    per_joint = (
        (model.dof_dampingpoly, model.dof_jntid, "nonlinear damping", "only the linear term is kept"),
        (model.jnt_stiffnesspoly, np.arange(model.njnt), "nonlinear stiffness", "only the linear term is kept"),
    )
    for values, joints, what, reason in per_joint:
        if not len(joints):
            continue
        nonzero = np.asarray(values).reshape(len(joints), -1).any(axis=1)
        found = sorted(set(np.asarray(joints)[nonzero].tolist()))
        if found:
            names = [model.joint(j).name or f"joint {j}" for j in found[:NAMES_SHOWN]]
            dots = ", ..." if len(found) > NAMES_SHOWN else ""
            note(f"{what} of {_counted(len(found), 'joint')} ({', '.join(names)}{dots})", reason)
    if plastic := getattr(model, "nplastic", 0):  # absent in MuJoCo 3.9
        note(f"plastic springs of {plastic} joints", "springs are elastic here")


def _note_tendon_inertia(model: Any, note: Any) -> None:
    heavy = [t for t in range(model.ntendon) if model.tendon_armature[t]]
    if heavy:
        names = ", ".join(f"{model.tendon(t).name or t}: {model.tendon_armature[t]:g}" for t in heavy[:NAMES_SHOWN])
        dots = ", ..." if len(heavy) > NAMES_SHOWN else ""
        note(f"inertia of {_counted(len(heavy), 'tendon')} ({names}{dots})", "it couples joints, and is not kept")


def _note_flags(mujoco: Any, model: Any, note: Any) -> None:
    """Switches of <flag>: those that are obeyed say so, those that mean nothing here too."""
    off = int(model.opt.disableflags)
    for bit, what, reason in (
        ("SPRING", "springs are switched off (<flag spring>)", "obeyed: stiffness is left out"),
        ("DAMPER", "dampers are switched off (<flag damper>)", "obeyed: damping is left out"),
        ("GRAVITY", "gravity is switched off (<flag gravity>)", "obeyed: gravity is zero"),
        ("LIMIT", "limits are switched off (<flag limit>)", "obeyed: limits are left out"),
        ("CONTACT", "contact is switched off (<flag contact>)", "obeyed: shapes are for display only"),
    ):
        if off & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{bit}", 0)):
            note(what, reason)


def _note_medium(model: Any, note: Any) -> None:
    if model.ngravcomp:
        note(f"gravity compensation of {_counted(int(model.ngravcomp), 'body part')}", "not kept; full gravity acts")
    if model.opt.density or model.opt.viscosity or np.any(model.opt.wind):
        note(f"medium of density {model.opt.density:g}, viscosity {model.opt.viscosity:g}", "fluid forces are not kept")
