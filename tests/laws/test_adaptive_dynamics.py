"""The laws of adaptive steps: full dynamics where all joints move, prescribed joints where some do not, the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.conftest import with_options
from tests.helpers.loads import efforts_of, wrenches_of
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.loading.load_columns import LOAD_STIFFNESS, LOAD_TARGET

SHAPES = {
    "chain": {"branching": 0.0, "bodies": 12, "seed": 1},
    "tree": {"bodies": 14, "seed": 2, "base": lw.Free()},
    "bush": {"branching": 1.0, "bodies": 14, "seed": 3},
    "forest": {
        "branching": 0.6,
        "bodies": 16,
        "roots": 5,
        "seed": 4,
        "kinds": ("free", "revolute", "spherical", "screw"),
    },
}


SHAPES["floating"] = {**SHAPES["forest"], "armature": False, "damping": False}  # free bases whose momentum is kept


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def model(request, make_tree):
    """All joint kinds, with springs, dampers and armature, on fixed and floating bases."""
    return make_tree(**{"damping": True, "stiffness": True, "armature": True, **request.param})


def hinges(model):
    """Joints that can carry a motor."""
    return [n for n, j in zip(model.joint_names, model.joints, strict=True) if isinstance(j, lw.Revolute | lw.Compound)]


class Show:
    """Plays the same loads, efforts and motors to any number of simulations, some of them other ones in every step."""

    def __init__(self, sims, rng):
        self.sims, self.model, self.rng = sims, sims[0].model, rng
        n = self.model.n_bodies
        body, other, third = (int(b) for b in rng.integers(n, size=3))
        at, force, torque, target = rng.normal(size=(4, 3))
        self.pushed = [s.apply_wrench(body, force=force, torque=torque, frame="body", at=at) for s in sims]
        self.blown = [s.apply_wrench(other, force=2 * force, torque=torque, frame="world", at=at) for s in sims]
        self.held = [s.apply_spring(third, target=target, stiffness=4.0, at=-at) for s in sims]
        for name in hinges(self.model)[:2]:
            for s in sims:
                s.set_motor(name, position=0.4, velocity=-0.2, stiffness=2.0, damping=0.3)
        for i, joint in enumerate(self.model.joints):
            if joint.nv:
                effort = rng.normal(size=joint.nv)
                for s in sims:
                    s.set_effort(self.model.joint_names[i], effort)

    def go_on(self):
        force, target = 3.0 * self.rng.normal(size=3), self.rng.normal(size=3)
        i = int(self.rng.integers(self.model.n_bodies))
        effort = self.rng.normal(size=self.model.joints[i].nv)
        for k, s in enumerate(self.sims):
            s.change_wrench(self.pushed[k], force=force)
            s.change_wrench(self.blown[k], torque=force)
            s.move_target(self.held[k], target)
            if effort.size:
                s.set_effort(self.model.joint_names[i], effort)


def distance(model, one, other):
    """Largest difference of coordinates and velocities of two states."""
    return max(np.abs(model.difference(one.q, other.q)).max(), np.abs(one.v - other.v).max())


# ------------------------------------------------------------------------------------------------------- all joints active


def test_with_all_joints_active_it_equals_full_dynamics(model, rng):
    """Loads and efforts change in every step; a thousand of them.

    The step is short enough for no case to be chaotic on the way: what differs is rounding (1e-16 of accelerations of
    order 100, with condition numbers up to 1e4), which a thousand steps of 2e-4 s carry along and do not blow up.
    """
    state = model.random_state(rng, speed=0.5)
    full = lw.FullDynamics(model, state)
    ours = lw.AdaptiveDynamics(model, state, tolerance=0.0)
    show = Show([full, ours], rng)
    scale = 1.0
    for _ in range(1000):
        show.go_on()
        full.step(2e-4)
        report = ours.step(2e-4)
        scale = max(scale, np.abs(full.state.v).max())
    bases = sum(isinstance(j, lw.Free) and model.parent[i] < 0 for i, j in enumerate(model.joints))
    assert report.n_active == sum(j.nv > 0 for j in model.joints) - bases
    assert report.error_bound == 0.0
    assert report.reached
    # the equations of a variational step are solved to a tolerance, which a thousand steps carry along
    close = 1e-9 if full.integrator == "semi_implicit_euler" else 1e-6
    assert distance(model, full.state, ours.state) < close * scale
    assert distance(model, state, ours.state) > 0.05  # it did move
    assert report.energy == pytest.approx(lw.energy(model, full.state).total, rel=1e-6 if close > 1e-9 else 1e-8)


def kind_on_free_base(joint):
    """Two chains of one joint kind on a free base."""
    linkage = lw.Linkage("kind", gravity=(1.0, -2.0, -9.0))
    box = lw.Inertia.box(1.0, (0.3, 0.4, 0.5)).at(lw.Pose((0.1, 0.2, -0.1), rpy=(0.3, 0.2, 0.1)))
    linkage.add_body("base", "world", lw.Free(), inertia=box)
    for k in range(4):
        linkage.add_body(f"b{k}", f"b{k - 2}" if k > 1 else "base", joint, lw.Pose((0.3, 0.1, 0.2), rpy=(0, 0, k)), box)
    return linkage.compile()


def test_with_every_joint_kind_it_equals_a_plain_loop(joint, rng):
    """v ← v + h q̈, q ← q ⊕ h v with q̈ from `forward_dynamics`: nothing of it is shared with the step.

    Free joints go straight on while their axes turn (docs/integrators.md).
    """
    model = kind_on_free_base(joint)
    state = model.random_state(rng)
    sim = lw.AdaptiveDynamics(model, state, tolerance=0.0, keep_momentum=False, integrator="semi_implicit_euler")
    h, steps = 1e-3, 200
    q, v = state
    names = [name for name, one in zip(model.joint_names, model.joints, strict=True) if isinstance(one, lw.Free)]
    free = [(model.q_slice(name), model.v_slice(name)) for name in names]
    for _ in range(steps):
        qdd = lw.forward_dynamics(model, lw.State(q, v))
        for _, j in free:
            qdd[j][3:] += np.cross(v[j][:3], v[j][3:])
        v = v + h * qdd
        start, q = q, model.integrate(q, v, h)
        for k, j in free:
            R = Rotation.from_quat(start[k][3:], scalar_first=True)
            q[k.start : k.start + 3] = start[k][:3] + h * R.apply(v[j][3:])
            v[j.start + 3 : j.stop] = Rotation.from_rotvec(h * v[j][:3]).inv().apply(v[j][3:])
    sim.step(h, steps)
    assert distance(model, lw.State(q, v), sim.state) < 1e-10 * max(1.0, np.abs(v).max())


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_with_every_joint_kind_all_integrators_equal_full_dynamics(joint, rng, integrator):
    """A thousand steps with springs, dampers, a load of the world and one of a body: the same to rounding.

    Rounding differs where rigid nodes are moved to frames of groups; a thousand steps of 2e-4 s carry it along.
    """
    model = kind_on_free_base(with_options(rng, joint, damping=True, stiffness=True, armature=True))
    state = model.random_state(rng, speed=0.5)
    full = lw.FullDynamics(model, state, integrator=integrator)
    ours = lw.AdaptiveDynamics(model, state, tolerance=0.0, integrator=integrator)
    for sim in (full, ours):
        sim.apply_wrench("b3", (0.3, -0.2, 0.1), (0.1, 0.2, 0.3), at=(0.1, 0.2, 0.3))
        sim.apply_wrench("b2", (0.3, -0.2, 0.1), (0.1, 0.2, 0.3), frame="body")
        sim.advance(2e-4, 1000)
    assert ours.report.error_bound == 0.0
    scale = max(1.0, np.abs(full.state.v).max(), np.abs(full.acceleration).max() * 2e-4)
    # The midpoint rule solves its equations to 1e-12 of the velocities, and ends where iterations happen to end.
    solved = 1e-12 * scale * 1000 if integrator == "implicit_midpoint" else 0.0
    assert distance(model, full.state, ours.state) < rounding(condition=100.0, scale=scale, steps=1000) + 10.0 * solved
    assert distance(model, state, ours.state) > 0.05  # it did move


# ------------------------------------------------------------------------------------------------------ some joints active


def test_a_hybrid_step_has_the_accelerations_of_prescribed_joints(model, rng):
    """Inactive joints have none: `hybrid_dynamics` with those prescribed at zero, through many regions."""
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.5), max_active_joints=5, update_every=4, integrator="semi_implicit_euler"
    )
    show = Show([sim], rng)
    sizes = set()
    for _ in range(40):
        show.go_on()
        sim.max_active_joints = int(rng.integers(0, model.n_bodies // 2))
        sim.update_region(4e-3)
        state = sim.state
        active = set(sim.active_joints)
        prescribed = {
            name: np.zeros(joint.nv)
            for name, joint in zip(model.joint_names, model.joints, strict=True)
            if name not in active and joint.nv
        }
        truth, _ = lw.hybrid_dynamics(model, state, prescribed, efforts_of(sim), wrenches_of(sim))
        sim.step(1e-10)  # so short that its accelerations are those of the state before it
        same = rounding(condition=1e4, scale=1.0 + np.abs(truth).max())  # of the mass matrices of these linkages
        assert sim.acceleration == pytest.approx(truth, rel=0, abs=same + 1e-8 * np.abs(truth).max())
        inactive = np.ones(model.nv, dtype=bool)
        for name in active:
            inactive[model.v_slice(name)] = False
        assert (sim.state.v[inactive] == 0.0).all()
        sizes.add(len(prescribed))
        sim.step(1e-3, 2)
    assert len(sizes) > 3


def test_runge_kutta_is_of_fourth_order_while_joints_are_held_and_loads_move(model, rng):
    """Some joints are pinned inactive, loads turn with the world: what a finer run finds is approached with h⁴."""
    state = model.random_state(rng, speed=0.5)
    held = [name for name, joint in zip(model.joint_names, model.joints, strict=True) if joint.nv][2:8:2]

    def run(steps):
        sim = lw.AdaptiveDynamics(model, state, tolerance=0.0, integrator="rk4")
        Show([sim], np.random.default_rng(5))
        for name in held:
            sim.pin_inactive(name)
        sim.step(0.08 / steps, steps)
        return sim.state

    truth = run(640)
    errors = [distance(model, run(steps), truth) for steps in (20, 40)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)


def test_energy_and_momentum_are_those_of_the_state(model, rng):
    sim = lw.AdaptiveDynamics(model, model.random_state(rng, speed=0.5), max_active_joints=4, update_every=3)
    show = Show([sim], rng)
    for _ in range(40):
        show.go_on()
        sim.max_active_joints = int(rng.integers(0, model.n_bodies // 2))
        report = sim.step(1e-3, int(rng.integers(1, 5)))
        ours, truth = sim.energy, lw.energy(model, sim.state)
        scale = 1e-12 * (1.0 + abs(truth.kinetic) + abs(truth.potential))
        assert ours.kinetic == pytest.approx(truth.kinetic, rel=0, abs=scale)
        assert ours.potential == pytest.approx(truth.potential, rel=0, abs=100 * scale)
        assert report.energy == ours.total
        momentum = lw.momentum(model, sim.state)
        size = 1.0 + np.abs(momentum.linear).max() + np.abs(momentum.angular).max()
        assert sim.momentum.linear == pytest.approx(momentum.linear, rel=0, abs=1e-11 * size)
        assert sim.momentum.angular == pytest.approx(momentum.angular, rel=0, abs=1e-11 * size)
    scalars = sim.scalars()
    assert scalars["energy"] == sim.report.energy
    assert scalars["n_active"] == sim.report.n_active


# -------------------------------------------------------------------------------------------------------------- same bits


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_same_start_same_bits_however_steps_are_cut(model, integrator):
    def run(chunks):
        state = model.random_state(7, speed=0.5)
        sim = lw.AdaptiveDynamics(model, state, max_active_joints=5, update_every=7, integrator=integrator)
        Show([sim], np.random.default_rng(5))
        for n in chunks:
            report = sim.step(1e-3, n)
        return report, sim.state, sim.time, sim.steps_done, sim.active_joints

    one, again, cut = run([300]), run([300]), run([1] * 100 + [13] * 10 + [70])
    assert one[0] == again[0] == cut[0]
    for other in (again, cut):
        assert (one[1].q == other[1].q).all()
        assert (one[1].v == other[1].v).all()
    assert one[3:] == again[3:] == cut[3:]
    assert one[2] == pytest.approx(cut[2], rel=rounding(operations=300))  # times of 300 steps are added up
    assert one[0].region_changes > 4


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_checkpoint_goes_on_in_the_same_bits(model, integrator):
    """Taken at any moment: between updates, with pins, with loads and efforts changed since."""

    def make():
        state = model.random_state(7, speed=0.5)
        sim = lw.AdaptiveDynamics(model, state, max_active_joints=5, update_every=7, integrator=integrator)
        return sim, Show([sim], np.random.default_rng(5))

    sim, show = make()
    sim.step(1e-3, 23)
    sim.pin_active(model.joint_names[-1])
    sim.pin_inactive(model.joint_names[-2])
    sim.step(1e-3, 30)
    show.go_on()
    saved = sim.checkpoint()
    other, other_show = make()
    other.step(1e-3, 11)  # somewhere else
    other.pin_active(model.joint_names[-3])
    table = saved["load_table"]
    for load, mine in zip(other.loads, sim.loads, strict=True):  # the loads are the caller's to apply again
        if load.is_fixed or not table[mine.rows, LOAD_STIFFNESS].any():
            other.change_wrench(load, force=mine.force, torque=mine.torque)
        else:
            other.move_target(load, table[mine.rows[0], LOAD_TARGET : LOAD_TARGET + 3])
    other.restore(saved)
    assert other.report == sim.report
    assert other.active_joints == sim.active_joints
    other_show.rng = np.random.default_rng(9)
    show.rng = np.random.default_rng(9)
    for _ in range(60):
        show.go_on()
        other_show.go_on()
        assert sim.step(1e-3, 5) == other.step(1e-3, 5)
    sim.unpin(model.joint_names[-1])
    other.unpin(model.joint_names[-1])
    sim.step(1e-3, 50)
    other.step(1e-3, 50)
    assert (sim.state.q == other.state.q).all()
    assert (sim.state.v == other.state.v).all()
    assert sim.time == other.time
    assert sim.steps_done == other.steps_done
