"""Settled chains and piles: the forces that MuJoCo and Drake find, within their softness. All read one and the same file.

Drake is asked where it is installed (`pip install drake`, 42 MB); it is not part of the extra `dev`.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import linkwork as lw

H, STEPS = 1e-3, 20_000
LINKS = 6
# Of the weight: bodies sink into each other by 1e-4 to 1e-3 m, which turns what they lean on, and forces with it; a tenth
# of this is seen.
SOFT = 1e-2
# Drake gives a capsule on a plane one point: the last link of the draped chain, which lies on the floor, rocks from one end
# to the other for ever (0.03 to 0.1 rad/s), and 2.4 % of the weight with it. The mean over so many steps is the force.
ROCKING = 2000
LENGTH, RADIUS, MASS = 0.1, 0.01, 0.1  # of a link
PEG, PEG_RADIUS, FLOOR = np.array([0.25, -0.08]), 0.05, -0.15


def draped():
    """A chain of hinges, held at one end, that lies without friction over a peg and with its other end on the floor."""
    bits = 'contype="1" conaffinity="2" friction="0 0 0"'
    link = f'<geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01" mass="0.1" {bits}/>'
    hinge = '<joint axis="0 1 0" damping="0.02"/>'
    bodies = (
        "".join(f'<body name="link_{i}" pos="{0.0 if i == 0 else 0.1} 0 0">{hinge}{link}' for i in range(LINKS))
        + "</body>" * LINKS
    )
    stand = 'contype="2" conaffinity="1" friction="0 0 0"'
    return f"""<mujoco><option gravity="0 0 -9.81"/><worldbody>
      <geom name="floor" type="plane" size="5 5 1" pos="0 0 -0.15" {stand}/>
      <geom name="peg" type="cylinder" size="0.05 0.5" pos="0.25 0 -0.08" euler="90 0 0" {stand}/>
      {bodies}</worldbody></mujoco>"""


def pile():
    """Three balls in a trough of two walls without friction: two below, one on them; they move in a plane."""
    slides = '<joint type="slide" axis="1 0 0" damping="0.5"/><joint type="slide" axis="0 0 1" damping="0.5"/>'
    ball = '<geom size="0.1" mass="1" friction="0 0 0"/>'
    places = ((-0.11, 0.1), (0.11, 0.1), (0.0, 0.28))
    bodies = "".join(f'<body name="ball_{k}" pos="{x} 0 {z}">{slides}{ball}</body>' for k, (x, z) in enumerate(places))
    return f"""<mujoco><option gravity="0 0 -9.81"/><worldbody>
      <geom name="floor" type="plane" size="5 5 1" friction="0 0 0"/>
      <geom name="left" type="box" size="0.1 1 1" pos="-0.32 0 0.5" friction="0 0 0"/>
      <geom name="right" type="box" size="0.1 1 1" pos="0.32 0 0.5" friction="0 0 0"/>
      {bodies}</worldbody></mujoco>"""


def by_linkwork(text, tmp_path):
    """Force of each obstacle and each other body on all bodies, by pair of names."""
    path = tmp_path / "scene.xml"
    path.write_text(text, encoding="utf-8")
    model = lw.load(path).compile()
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.advance(H, STEPS)
    assert np.abs(sim.state.v).max() < 1e-3
    assert max(-point.gap for point in sim.contacts) < 1e-4 * 0.1  # of a link
    return total({(point.body, point.other): 0 for point in sim.contacts}, sim.contacts)


def total(pairs, points):
    forces = {frozenset(pair): np.zeros(3) for pair in pairs}
    for point in points:
        forces[frozenset((point.body, point.other))] += np.array(point.force) * (1 if point.body < point.other else -1)
    return forces


def by_mujoco(text):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    model.opt.timestep, model.opt.cone = H, mujoco.mjtCone.mjCONE_ELLIPTIC
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    forces, six = {}, np.zeros(6)
    for k in range(data.ncon):
        contact = data.contact[k]
        mujoco.mj_contactForce(model, data, k, six)
        frame = contact.frame.reshape(3, 3)
        names = [
            named(model, g) for g in (contact.geom1, contact.geom2)
        ]  # the normal points from the first to the second
        force = frame.T @ six[:3] * (1 if names[1] < names[0] else -1)
        forces[frozenset(names)] = forces.get(frozenset(names), np.zeros(3)) + force
    return forces


def named(model, geom):
    body = int(model.geom_bodyid[geom])
    if body > 0:
        return model.body(body).name
    kind = model.geom(geom).name
    return kind if model.geom_type[geom] == 0 else "world"  # the importer puts all but planes on one body of the world


def by_drake(text):
    pytest.importorskip("pydrake", reason="Drake is not installed: pip install drake")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=H)
    Parser(plant).AddModelsFromString(text.replace("<mujoco>", '<mujoco model="scene">'), "xml")
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(H * STEPS)
    context = plant.GetMyContextFromRoot(simulator.get_context())
    forces = {}
    for step in range(ROCKING):
        simulator.AdvanceTo(H * (STEPS + step + 1))
        results = plant.get_contact_results_output_port().Eval(context)
        for k in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(k)
            a, b = (plant.get_body(index).name() for index in (info.bodyA_index(), info.bodyB_index()))
            force = np.array(info.contact_force()) * (1 if b < a else -1) / ROCKING  # on B
            forces[frozenset((a, b))] = forces.get(frozenset((a, b)), np.zeros(3)) + force
    return forces


def without_worlds(forces):
    """All that stands in the world under one name, as Drake has it: forces on each body together."""
    found = {}
    for pair, force in forces.items():
        bodies = sorted(name for name in pair if name.startswith(("link", "ball")))
        key = tuple(bodies) if len(bodies) == 2 else bodies[0]
        (other,) = pair - {bodies[0]}
        up = force if len(bodies) == 2 or bodies[0] < other else -force
        found[key] = found.get(key, np.zeros(3)) + up
    for a, b in (
        ("link_2", "link_3"),
        ("link_4", "link_5"),
    ):  # on the peg; on the floor
        if a in found and b in found:
            found[a] = found[a] + found.pop(b)
    return found


@pytest.mark.parametrize(
    ("scene", "program"), [(draped, "mujoco"), (draped, "drake"), (pile, "mujoco"), (pile, "drake")]
)
def test_forces_of_what_has_settled(scene, program, tmp_path):
    text = scene()
    ours = without_worlds(by_linkwork(text, tmp_path))
    theirs = without_worlds(by_mujoco(text) if program == "mujoco" else by_drake(text))
    weight = 9.81 * (3.0 if scene is pile else 0.1 * LINKS)
    for key in {*ours, *theirs}:
        a, b = ours.get(key, np.zeros(3)), theirs.get(key, np.zeros(3))
        assert b == pytest.approx(a, abs=SOFT * weight), key
    if scene is pile:
        carried = sum(force[2] for key, force in ours.items() if isinstance(key, str))
        assert carried == pytest.approx(weight, rel=1e-6)
        assert math.isfinite(carried)


# ---------------------------------------------------------------------------------------------- where the energy is least


def joints_of(q):
    """Places of the hinges and of the end of the draped chain in its plane, (7, 2): the chain is held at the origin."""
    angle = np.cumsum(q)
    ways = LENGTH * np.stack([np.cos(angle), -np.sin(angle)], axis=1)
    return np.vstack([np.zeros(2), np.cumsum(ways, axis=0)])


def height_energy(q):
    places = joints_of(q)
    return MASS * 9.81 * (0.5 * (places[1:] + places[:-1])[:, 1]).sum()


def clearances(q):
    """Of each link from the peg, and of each hinge and the end from the floor, (12,) [m]."""
    places = joints_of(q)
    from_peg = []
    for a, b in itertools.pairwise(places):
        share = np.clip((PEG - a) @ (b - a) / LENGTH**2, 0.0, 1.0)
        from_peg.append(np.linalg.norm(a + share * (b - a) - PEG) - PEG_RADIUS - RADIUS)
    return np.array([*from_peg, *(places[1:, 1] - RADIUS - FLOOR)])


def test_the_draped_chain_rests_where_its_energy_is_least(tmp_path):
    """Statics by a solver that knows nothing of motion: least height under non-penetration; multipliers are the forces."""
    from scipy.optimize import approx_fprime, minimize

    path = tmp_path / "scene.xml"
    path.write_text(draped(), encoding="utf-8")
    model = lw.load(path).compile()
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.advance(H, STEPS)
    start = np.array([0.1, 0.1, 0.2, 0.3, 0.2, -0.5])
    allowed = {"type": "ineq", "fun": clearances}
    least = minimize(
        height_energy, start, constraints=allowed, method="SLSQP", options={"maxiter": 2000, "ftol": 1e-15}
    )
    touching = np.flatnonzero(clearances(least.x) < 1e-7)
    assert touching.tolist() == [2, 3, 10, 11]  # two links on the peg, the last one on the floor with both ends
    slopes = approx_fprime(least.x, clearances, 1e-7)[touching]
    pressed = np.linalg.lstsq(slopes.T, approx_fprime(least.x, height_energy, 1e-7), rcond=None)[0]
    ours = dict.fromkeys(("link_2", "link_3", "floor"), 0.0)
    for point in sim.contacts:
        ours[point.body if point.body in ours else "floor"] += float(np.linalg.norm(point.force))
    weight = 9.81 * MASS * LINKS
    # rest is a slack (1e-3 of the margin) and a creep of 1e-3 rad/s away; differences of 1e-7 are divided by 1e-7 m
    assert ours["link_2"] == pytest.approx(pressed[0], abs=1e-4 * weight)
    assert ours["link_3"] == pytest.approx(pressed[1], abs=1e-4 * weight)
    assert ours["floor"] == pytest.approx(pressed[2] + pressed[3], abs=1e-4 * weight)
    assert height_energy(sim.state.q) == pytest.approx(least.fun, rel=1e-5)
