"""Linkwork and MuJoCo agree: real models read by both, and random trees written as MJCF.

MuJoCo's conventions, met only here: a free joint's velocity is [v in the world; ω in the body], ours [ω; v] in the body.
With v_mujoco = B(q) v_ours, mass matrices are Bᵀ M B and efforts Bᵀ τ; accelerations gain B' v = [R (ω × v); 0].
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.helpers.robots import MJCFS, URDFS

import linkwork as lw

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra mjcf)")

# MuJoCo refuses the inertia of romeo and tiago_dual, which break the triangle inequality.
LEFT_OUT = ("romeo", "tiago_dual", "gymnasium_ant")  # bodies of the ant have no names
FILES = [path for name, path in (MJCFS | URDFS).items() if name not in LEFT_OUT]
STATES = 3

# Both compute in doubles (ε = 1e-16); MuJoCo stores inertia as principal moments with a quaternion, which costs another few
# ε. Accelerations lose the condition number of the mass matrix, some 1e6 for humanoids whose fingers weigh grams.
# That leaves 1e-10 at worst; 1e-9 is ten times that (seen: 3e-13).
TOLERANCE = 1e-9


def assert_close(ours, theirs, what: str) -> None:
    """Relative to the size of the whole vector or matrix: single entries may cancel to nothing."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape, what
    assert np.isfinite(ours).all(), what
    assert np.linalg.norm(ours - theirs) <= TOLERANCE * np.linalg.norm(theirs), what


class Counterpart:
    """A MuJoCo model without constraints, and where it keeps each of our coordinates."""

    def __init__(self, model: lw.Model, theirs):
        self.model, self.theirs = model, theirs
        # Contacts, limits, equalities, dry friction and actuators are beyond a linkage.
        off = mujoco.mjtDisableBit
        theirs.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_ACTUATION
        theirs.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        self.data = mujoco.MjData(theirs)
        # Bodies welded to the world count in MuJoCo's energy and centre of mass, not in ours: they never move.
        still = theirs.body_weldid == 0
        theirs.body_mass[still] = 0.0
        theirs.body_inertia[still] = 0.0
        mujoco.mj_setConst(theirs, self.data)
        self.q_order, self.v_order, self.free = self._orders()
        assert sorted(self.v_order) == list(range(theirs.nv)), "every degree of freedom has one counterpart"

    def _orders(self):
        q, v, free = [], [], []
        for i, joint in enumerate(self.model.joints):
            body = self.theirs.body(self.model.body_names[i])
            j, start_q = int(body.jntadr[0]), self.model.q_slice(i).start
            k, d = int(self.theirs.jnt_qposadr[j]), int(self.theirs.jnt_dofadr[j])
            q += range(k, k + joint.nq)
            if isinstance(joint, lw.Free):
                v += [d + n for n in (3, 4, 5, 0, 1, 2)]
                free.append((start_q, self.model.v_slice(i).start))
            else:
                v += range(d, d + joint.nv)
        return np.array(q, dtype=int), np.array(v, dtype=int), free

    def q(self, q: np.ndarray) -> np.ndarray:
        """MuJoCo's qpos: our coordinates, plus `ref` for hinges and sliders."""
        ref = self.theirs.qpos0[self.q_order]
        for i, joint in enumerate(self.model.joints):
            if isinstance(joint, lw.Free | lw.Spherical):
                ref[self.model.q_slice(i)] = 0.0
        out = np.empty(self.theirs.nq)
        out[self.q_order] = q + ref
        return out

    def B(self, q: np.ndarray) -> np.ndarray:
        """v_mujoco = B v_ours, shape (nv, nv)."""
        B = np.eye(self.model.nv)
        for start_q, start_v in self.free:
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, q[start_q + 3 : start_q + 7])
            B[start_v + 3 : start_v + 6, start_v + 3 : start_v + 6] = R.reshape(3, 3)
        out = np.empty_like(B)
        out[self.v_order] = B
        return out

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """d(B)/dt v: what MuJoCo's acceleration has besides B v̇."""
        bent = np.zeros(self.model.nv)
        for _, k in self.free:
            bent[k + 3 : k + 6] = np.cross(v[k : k + 3], v[k + 3 : k + 6])
        return self.B(q) @ bent


def check_agreement(counterpart: Counterpart, seed: int) -> None:
    model, theirs, data = counterpart.model, counterpart.theirs, counterpart.data
    rng = np.random.default_rng(seed)
    q = np.concatenate([_anywhere(joint, rng) for joint in model.joints])  # limits are off in both
    state = lw.State(q, rng.normal(size=model.nv))
    effort, acceleration = rng.normal(size=(2, model.nv))
    B, drift = counterpart.B(q), counterpart.drift(q, state.v)

    data.qpos, data.qvel = counterpart.q(q), B @ state.v
    data.qfrc_applied = np.linalg.solve(B.T, effort)
    mujoco.mj_forward(theirs, data)
    assert_close(lw.forward_dynamics(model, state, effort), np.linalg.solve(B, data.qacc - drift), "accelerations")
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, M)
    assert_close(lw.mass_matrix(model, state), B.T @ M @ B, "mass matrix")
    energy = lw.energy(model, state)
    assert_close(energy.potential, data.energy[0], "potential energy")
    assert_close(energy.kinetic, data.energy[1], "kinetic energy")
    mujoco.mj_subtreeVel(theirs, data)
    com = lw.center_of_mass(model, state)
    momentum = lw.momentum(model, state, about=com)
    assert_close(com, data.subtree_com[0], "centre of mass")
    assert_close(momentum.linear, data.subtree_linvel[0] * theirs.body_subtreemass[0], "linear momentum")
    assert_close(momentum.angular, data.subtree_angmom[0], "angular momentum")
    data.qfrc_applied = 0.0
    data.qacc = B @ acceleration + drift
    mujoco.mj_inverse(theirs, data)
    assert_close(lw.inverse_dynamics(model, state, acceleration), B.T @ data.qfrc_inverse, "inverse dynamics")


def _anywhere(joint: lw.Joint, rng: np.random.Generator) -> np.ndarray:
    if isinstance(joint, lw.Free | lw.Spherical):
        return joint.random(rng)
    return rng.uniform(-2.0, 2.0, joint.nq)


def compile_without_meshes(path: Path):
    """MuJoCo's model of a file; meshes, which are absent, carry no inertia in these files."""
    # MuJoCo warns of double_pendulum's limits, 0 and 0, by writing a log file where the tests run; limits are off here.
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    spec = mujoco.MjSpec.from_file(str(path))
    mujoco.set_mju_user_warning(before)
    for geom in [geom for geom in spec.geoms if geom.meshname]:
        spec.delete(geom)
    for asset in [*spec.meshes, *spec.textures, *spec.materials]:
        spec.delete(asset)
    for geom in spec.geoms:
        geom.material = ""
    return spec.compile()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_robots(path):
    counterpart = Counterpart(
        lw.load(path, missing_meshes="skip").compile().without_loops, compile_without_meshes(path)
    )
    for seed in range(STATES):
        check_agreement(counterpart, seed)


def _words(numbers) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(numbers))


def _mjcf_joints(body: lw.Body, with_options: bool, rng: np.random.Generator) -> list[str]:
    def options(ref: str) -> str:
        if not with_options:
            return ""
        k, d, a, r, s = map(float, rng.uniform(0.1, 2.0, 5))
        return f' stiffness="{k}" damping="{d}" armature="{a}"' + (f' {ref}="{r}" springref="{s}"' if ref else "")

    if isinstance(body.joint, lw.Free):
        if not with_options:
            return ["<freejoint/>"]
        k, d = map(float, rng.uniform(0.1, 2.0, 2))  # no rotor: MuJoCo's acts in the world's axes, see mjcf_joints.py
        return [f'<joint type="free" stiffness="{k}" damping="{d}"/>']
    if isinstance(body.joint, lw.Spherical):
        return [f'<joint type="ball" pos="{_words(body.joint.point)}"{options("")}/>']
    found = []
    for axis, slide, center in body.joint.screws:
        kind = f'type="hinge" axis="{_words(axis)}"' if any(axis) else f'type="slide" axis="{_words(slide)}"'
        found.append(f'<joint {kind} pos="{_words(center)}"{options("ref")}/>')
    return found


def write_mjcf(linkage: lw.Linkage, path: Path, *, options: bool, seed: int = 0) -> None:
    """A linkage as MJCF, with random springs, dampers, rotors and references on its joints."""
    rng = np.random.default_rng(seed)
    children: dict[str, list[lw.Body]] = {}
    for body in linkage:
        children.setdefault(body.parent, []).append(body)

    def element(body: lw.Body) -> str:
        mass, com = body.inertia.mass, body.inertia.com
        xx, xy, xz, yy, yz, zz = body.inertia.moments
        R = np.reshape(body.placement.rotation, (3, 3))
        return (
            f'<body name="{body.name}" pos="{_words(body.placement.xyz)}" xyaxes="{_words([R[:, 0], R[:, 1]])}">'
            f'<inertial pos="{_words(com)}" mass="{mass!r}" fullinertia="{_words([xx, yy, zz, xy, xz, yz])}"/>'
            + "".join(_mjcf_joints(body, options, rng) + [element(child) for child in children.get(body.name, [])])
            + "</body>"
        )

    bodies = "".join(map(element, children["world"]))
    gravity = f'<option gravity="{_words(linkage.gravity)}"/>'
    path.write_text(f'<mujoco><compiler angle="radian"/>{gravity}<worldbody>{bodies}</worldbody></mujoco>')


def build_linkage(seed: int, kinds: list[str], bodies: int = 15) -> lw.Linkage:
    """Random trees of what MuJoCo has: free bodies on the world, and any number of hinges and sliders on one body."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("forest", gravity=(1.0, -2.0, -9.0))
    for i in range(bodies):
        kind = kinds[i % len(kinds)]
        parent = f"body_{rng.integers(i)}" if i and kind != "free" else "world"
        box = lw.Inertia.box(rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5, 3))
        inertia = box.at(lw.Pose(rng.uniform(-0.5, 0.5, 3), quaternion=rng.normal(size=4)))
        here = lw.Pose(rng.uniform(-0.5, 0.5, 3), quaternion=rng.normal(size=4))
        linkage.add_body(f"body_{i}", parent, _random_joint(kind, rng), here, inertia)
    return linkage


def _random_joint(kind: str, rng: np.random.Generator) -> lw.Joint:
    def vector():
        return tuple(rng.uniform(-1.0, 1.0, 3))

    if kind == "compound":
        return lw.Compound(
            [lw.Revolute(vector(), point=vector()), lw.Prismatic(vector()), lw.Revolute(vector(), vector())]
        )
    return {
        "revolute": lambda: lw.Revolute(vector(), point=vector()),
        "prismatic": lambda: lw.Prismatic(vector()),
        "universal": lambda: lw.Universal(vector(), vector()),
        "cylindrical": lambda: lw.Cylindrical(vector()),
        "planar": lambda: lw.Planar(vector()),
        "spherical": lambda: lw.Spherical(vector()),
        "free": lw.Free,
        "fixed": lw.Fixed,
    }[kind]()


KINDS = ["free", "revolute", "compound", "prismatic", "spherical", "universal", "fixed", "cylindrical", "planar"]


@pytest.mark.parametrize("options", [False, True], ids=["plain", "springs_dampers_rotors_refs"])
@pytest.mark.parametrize("kind", [[kind] for kind in KINDS if kind != "fixed"] + [KINDS], ids="-".join)
def test_random_trees(kind, options, tmp_path):
    path = tmp_path / "forest.xml"
    for seed in range(2):
        write_mjcf(build_linkage(seed, kind), path, options=options, seed=seed)
        counterpart = Counterpart(lw.load(path).compile(), mujoco.MjModel.from_xml_path(str(path)))
        check_agreement(counterpart, seed)


def test_a_linkage_survives_the_way_through_mjcf(tmp_path):
    """Written out and read back, a linkage has the same motion: the importer is compared with Linkwork, not with MuJoCo."""
    linkage = build_linkage(7, [kind for kind in KINDS if kind != "free"])  # MuJoCo places free bodies by q alone
    path = tmp_path / "forest.xml"
    write_mjcf(linkage, path, options=False)
    ours, back = linkage.compile(), lw.load(path).compile()
    assert ours.body_names == back.body_names
    state = ours.random_state(1)
    assert_close(lw.forward_dynamics(back, state), lw.forward_dynamics(ours, state), "accelerations")
    assert_close(lw.body_poses(back, state), lw.body_poses(ours, state), "poses")


def test_inertia_defaults_and_includes_come_from_mujoco(tmp_path):
    (tmp_path / "arm.xml").write_text(
        '<mujoco><worldbody><body name="arm"><joint/><geom fromto="0 0 0 0 0 1"/></body></worldbody></mujoco>'
    )
    path = tmp_path / "scene.xml"
    path.write_text(
        '<mujoco><default><geom type="capsule" size="0.1" density="500"/><joint axis="0 1 0" damping="0.5"/></default>'
        '<include file="arm.xml"/></mujoco>'
    )
    model = lw.load(path).compile()
    assert model.joints[0].axis == (0.0, 1.0, 0.0)
    counterpart = Counterpart(model, mujoco.MjModel.from_xml_path(str(path)))
    for seed in range(STATES):
        check_agreement(counterpart, seed)
