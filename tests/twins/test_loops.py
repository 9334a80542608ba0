"""Closed chains against Pinocchio's and MuJoCo's constrained dynamics, on models all of them accept."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1))
LENGTH = 0.3
LINK = lw.Inertia.box(0.8, (LENGTH, 0.1, 0.06)).at(lw.Pose((0.5 * LENGTH, 0, 0)))
BEND = np.array([0.4, -0.5, 0.3, 0.7, 0.5, -0.2, 0.6, 0.4])


def chain() -> lw.Linkage:
    linkage = lw.Linkage("chain")
    for k, axis in enumerate(AXES):
        parent, place = (f"link_{k - 1}", lw.Pose((LENGTH, 0, 0))) if k else ("world", lw.Pose())
        linkage.add_body(f"link_{k}", parent, lw.Revolute(axis), place, LINK)
    return linkage


def closed(joint: lw.Joint, body_a: str) -> tuple[lw.Model, lw.State, lw.Pose, lw.Pose]:
    """The chain with its last link tied to a point of another body, where it happens to be at BEND."""
    open_model = chain().compile()
    T = lw.body_poses(open_model, open_model.state(BEND))
    tip = lw.Pose((LENGTH, 0.02, -0.01), rpy=(0.2, -0.1, 0.3))
    carrier = np.eye(4) if body_a == "world" else T[open_model.body(body_a)]
    anchor = lw.Pose(matrix=np.linalg.inv(carrier) @ T[-1] @ tip.matrix)
    linkage = chain()
    linkage.add_loop(joint, body_a, "link_7", (anchor, tip), name="tie")
    model = linkage.compile()
    rng = np.random.default_rng(5)
    return model, lw.close_loops(model, model.state(BEND, rng.normal(size=8))), anchor, tip


@pytest.mark.parametrize("body_a", ["world", "link_1"])
@pytest.mark.parametrize("joint", [lw.Spherical(), lw.Fixed()], ids=["ball", "weld"])
def test_pinocchio(joint, body_a):
    pin = pytest.importorskip("pinocchio")
    model, state, anchor, tip = closed(joint, body_a)
    theirs = pin.Model()
    parent = 0
    moment = np.diag(0.8 / 12.0 * np.array([0.1**2 + 0.06**2, LENGTH**2 + 0.06**2, LENGTH**2 + 0.1**2]))
    for k, axis in enumerate(AXES):
        place = pin.SE3(np.eye(3), np.array([LENGTH, 0, 0]) if k else np.zeros(3))
        parent = theirs.addJoint(parent, pin.JointModelRevoluteUnaligned(*map(float, axis)), place, f"joint_{k}")
        theirs.appendBodyToJoint(parent, pin.Inertia(0.8, np.array([0.5 * LENGTH, 0, 0]), moment), pin.SE3.Identity())
    theirs.gravity.linear = np.array([0, 0, -9.81])
    kind = pin.ContactType.CONTACT_3D if joint.nv else pin.ContactType.CONTACT_6D
    first = 0 if body_a == "world" else theirs.getJointId("joint_1")
    constraint = pin.RigidConstraintModel(
        kind, theirs, first, pin.SE3(anchor.matrix), parent, pin.SE3(tip.matrix), pin.ReferenceFrame.LOCAL
    )
    data = theirs.createData()
    constraints, constraint_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    constraints.append(constraint)
    constraint_data.append(constraint.createData())
    pin.initConstraintDynamics(theirs, data, constraints, constraint_data)
    settings = pin.ProximalSettings(1e-14, 1e-12, 20)
    effort = np.random.default_rng(6).normal(size=8)
    expected = pin.constraintDynamics(theirs, data, state.q, state.v, effort, constraints, constraint_data, settings)
    solution = lw.constrained_dynamics(model, state, effort)
    # Pinocchio's proximal iterations stop at 1e-12 of the constraint; ε times the condition of both is below that.
    assert solution.acceleration == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())


def test_mujoco():
    """MuJoCo's constraints are soft; a weld of a ball joint ("connect") at impedance 1 - 1e-6 is hard to some 1e-4."""
    mujoco = pytest.importorskip("mujoco")
    model, state, anchor, tip = closed(lw.Spherical(), "world")
    bodies = ""
    for k, axis in reversed(list(enumerate(AXES))):
        place = f"{LENGTH} 0 0" if k else "0 0 0"
        box = f"{0.5 * LENGTH} 0.05 0.03"
        bodies = (
            f'<body name="link_{k}" pos="{place}"><joint axis="{axis[0]} {axis[1]} {axis[2]}"/>'
            f'<geom type="box" size="{box}" pos="{0.5 * LENGTH} 0 0" mass="0.8" contype="0" conaffinity="0"/>'
            f"{bodies}</body>"
        )
    at = " ".join(map(str, tip.xyz))
    xml = f"""<mujoco><option gravity="0 0 -9.81" solver="Newton" tolerance="0" iterations="200"/>
      <worldbody>{bodies}</worldbody>
      <equality>
        <connect body1="link_7" anchor="{at}" solref="-1e-9 -1e-9" solimp="0.999999 0.999999 1"/>
      </equality></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(theirs)
    theirs.eq_data[0, 3:6] = anchor.xyz  # where the world's side of the ball is at BEND, not at zero angles
    effort = np.random.default_rng(6).normal(size=8)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = state.q, state.v, effort
    mujoco.mj_forward(theirs, data)
    solution = lw.constrained_dynamics(model, state, effort)
    assert solution.acceleration == pytest.approx(data.qacc, abs=1e-3 * np.abs(data.qacc).max())
