"""Recordings as tables: names, units and numbers."""

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    linkage = lw.library.chain(3)
    linkage.sensors.append(lw.sensors.Encoder("angle", "link_1", every=2, latency=0.01))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.state(q=[0.1, 0.2, 0.3]))
    path = tmp_path_factory.mktemp("tables") / "run"
    sim.run(1e-3, 20, record=path, every=5, sensors=lw.Sensors(sim), progress=False)
    return lw.Recording(path)


def test_pandas(recording):
    pytest.importorskip("pandas")
    table = recording.to_pandas()
    assert table.index.name == "time"
    np.testing.assert_array_equal(table.index, recording.times)
    np.testing.assert_array_equal(table["q", "link_1"], recording.joint("link_1")[:, 0])
    np.testing.assert_array_equal(table["v", "link_2"], recording.joint_velocity("link_2")[:, 0])
    np.testing.assert_array_equal(table["scalar", "energy"], recording.scalars["energy"])
    assert table.attrs["units"]["energy"] == "J"


def test_xarray(recording):
    pytest.importorskip("xarray")
    data = recording.to_xarray()
    np.testing.assert_array_equal(data["q"].sel(coordinate="link_1"), recording.joint("link_1")[:, 0])
    assert data["q"].attrs["units"] == "rad or m"
    assert data["energy"].attrs["units"] == "J"
    assert data["angle"].shape == (10, 2)
    np.testing.assert_array_equal(
        data["angle"].sel({"angle.channel": "position"}), recording.sensor("angle").values[:, 0]
    )
    assert data.attrs["model"] == "chain"


def test_every_column_has_its_unit(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    linkage = lw.Linkage("parts")
    part = lw.Inertia.sphere(1.0, 0.1)
    joints = (
        lw.Free(),
        lw.Spherical(),
        lw.Prismatic((1, 0, 0)),
        lw.Screw((0, 0, 1), pitch=0.1),
        lw.Cylindrical((0, 1, 0)),
    )
    for k, joint in enumerate(joints):
        linkage.add_body(f"b{k}", "world" if k == 0 else f"b{k - 1}", joint, lw.Pose((0.2, 0, 0)), part)
    model = linkage.compile()
    lw.FullDynamics(model, model.neutral()).run(1e-3, 3, record=tmp_path / "run", progress=False)
    recording = lw.Recording(tmp_path / "run")
    units = recording.to_pandas().attrs["units"]
    table = recording.to_pandas()
    assert all(column in units for column in table.columns)
    of_q = ["m"] * 3 + ["1"] * 8 + ["m", "rad", "rad", "m"]
    of_v = ["rad/s"] * 3 + ["m/s"] * 3 + ["rad/s"] * 3 + ["m/s", "rad/s", "rad/s", "m/s"]
    assert [units[column] for column in table.columns if column[0] == "q"] == of_q
    assert [units[column] for column in table.columns if column[0] == "v"] == of_v
    assert units["time"] == "s"
    data = recording.to_xarray()
    assert data["coordinate.unit"].values.tolist() == of_q
    assert data["velocity.unit"].values.tolist() == of_v
