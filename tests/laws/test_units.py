"""Linkages and models carry their units, and Boltzmann's constant follows them."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.core.units import BOLTZMANN, MOLECULAR

JOULES = 1.602176634e-19 * 1.03642696e-2  # of one kJ/mol, from electron volts


def chain(units, joints=40):
    """The same numbers in either unit."""
    linkage = lw.Linkage("chain", gravity=(0.0, 0.0, 0.0), units=units)
    for k in range(joints):
        parent = "world" if k == 0 else f"link_{k - 1}"
        inertia = lw.Inertia.sphere(2.0, 0.3).at(lw.Pose((0, 0, -0.5)))
        axis = ((1, 0, 0), (0, 1, 0))[k % 2]
        linkage.add_body(f"link_{k}", parent, lw.Revolute(axis), lw.Pose((0, 0, -1.0 if k else 0.0)), inertia)
    return linkage


def test_the_constants_are_one_constant():
    """k in J/K and in kJ/mol/K, by an electron volt of 96.485 kJ/mol."""
    assert BOLTZMANN["molecular"] * JOULES == pytest.approx(BOLTZMANN["SI"], rel=1e-7)
    assert BOLTZMANN["molecular"] == lw.molecules.BOLTZMANN


@pytest.mark.parametrize("units", ["SI", "molecular"])
@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_thermostat_holds_the_temperature_in_the_units_of_the_model(units, make):
    """½ kT per freedom: 2 E / (nv k) is 300 K, within four standard deviations of 300 K √(2 / samples)."""
    model = chain(units).compile()
    k = BOLTZMANN[units]
    h = 1.0 / np.sqrt(k * 300.0)  # thermal motion is as fast in units of its own: h of a hundredth of it
    bath = lw.Langevin(300.0, friction=300.0 / h, seed=2)
    options = {} if make is lw.FullDynamics else {"max_active_joints": model.nv}
    sim = make(model, model.neutral(), thermostat=bath, **options)
    energies = []
    for _ in range(60):  # every step forgets the last
        sim.step(0.01 * h)
        energies.append(lw.energy(model, sim.state).kinetic)
    found = 2.0 * float(np.mean(energies)) / (model.nv * k)
    assert found == pytest.approx(300.0, rel=4.0 * np.sqrt(2.0 / (60 * model.nv)) + 0.05)
    drawn = lw.Langevin(300.0).start(model).thermal_velocity(sim.state.q)
    now = lw.molecules.temperature(model, lw.State(sim.state.q, drawn))
    assert now == pytest.approx(300.0, rel=5.0 * np.sqrt(2.0 / model.nv))


def test_units_go_where_the_model_goes(tmp_path):
    linkage = chain("molecular", 3)
    model = linkage.compile()
    assert model.units == model.without_loops.units == "molecular"
    assert lw.reroot(model, model.neutral(), 2).model.units == "molecular"
    sim = lw.FullDynamics(model, model.neutral())
    assert sim.units == MOLECULAR
    assert sim.settings()["units"] == "molecular"
    assert lw.FullDynamics(chain("SI", 2).compile(), chain("SI", 2).compile().neutral()).units == {}
    with pytest.raises(lw.ModelError, match=r"in molecular units and 'scene' in SI ones"):
        lw.Linkage("scene").merge(linkage)
    with pytest.raises(lw.LinkworkError, match="units"):
        lw.Linkage("strange", units="nm")
    assert lw.Linkage("falling", units="molecular").gravity == (0.0, 0.0, -9.81e-15)  # [nm/ps²]
    assert any("nm, ps and Da" in lost for lost in linkage.to_urdf(tmp_path / "chain.urdf"))


def test_recordings_keep_units(tmp_path):
    pytest.importorskip("zarr", reason="recordings need Zarr")
    model = chain("molecular", 3).compile()
    sim = lw.FullDynamics(model, model.neutral())
    with lw.Recorder(tmp_path / "run") as recorder:
        sim.run(1e-3, 5, record=recorder, progress=False)
    recording = lw.Recording(tmp_path / "run")
    assert recording.units == MOLECULAR
    assert recording.model.units == "molecular"
