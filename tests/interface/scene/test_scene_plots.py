"""Panels of a plot: what they choose to show of a recording, and in which units."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.core.units import MOLECULAR, given_in, unit, units_of
from linkwork.scene.plots.joints import joint_panels
from linkwork.scene.plots.motion import motion_panels
from linkwork.scene.plots.panel import fitting_unit
from linkwork.scene.plots.paths import path_panels
from linkwork.scene.plots.work import energy_panels, work_panels

pytest.importorskip("zarr", reason="the extra `record` is not installed")
figure_module = pytest.importorskip("matplotlib.figure", reason="the extra `plots` is not installed")


def drawn(panel):
    """The axes that a panel draws into."""
    axes = figure_module.Figure().add_subplot()
    panel.draw(axes)
    axes.figure.canvas.draw()
    return axes


def record(path, model, states, **scalars):
    """A recording of the given coordinates, with the given numbers at each frame."""
    with lw.Recorder(path) as recorder:
        recorder.begin(model)
        for k, q in enumerate(states):
            recorder.append(0.1 * k, k, model.state(q), scalars={name: values[k] for name, values in scalars.items()})
    return lw.Recording(path)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(3.0, (1.0, "m")), (0.02, (1.0, "m")), (0.019, (1e-3, "mm")), (1.4e-8, (1e-9, "nm")), (0.0, (1.0, "m"))],
)
def test_units_fit_the_size(size, expected):
    assert fitting_unit(size, "m") == expected


def test_runs_of_molecules_are_shown_in_their_units():
    assert units_of({"units": "molecular"})["s"] == "ps"
    assert units_of({"units": "SI"}) == units_of({}) == {}
    with given_in(MOLECULAR):
        assert fitting_unit(1e-3, "m") == (1.0, "nm")
        assert unit("rad or m") == "rad or nm"
        assert unit("rad/s² or m/s²") == "rad/ps² or nm/ps²"
        assert unit("N·m or N") == "kJ/mol or kJ/mol/nm"
    assert unit("rad or m") == "rad or m"


@pytest.fixture
def chain():
    return lw.library.chain(40).compile()


def test_the_map_has_a_row_for_each_joint_that_moves(chain, tmp_path):
    states = np.zeros((11, 40))
    for k, joint in enumerate((4, 17, 30)):
        states[1 + k :, joint] = 0.1 * (1 + k)
    states[5:, 20] = 1e-9  # nothing beside the others
    (panel,) = motion_panels(record(tmp_path / "run", chain, states))
    assert panel.title == "moving joints: 3 of 40"
    axes = drawn(panel)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["4", "17", "30"]
    shown = axes.collections[0].get_array()
    expected = np.zeros((3, 10))
    for k in range(3):
        expected[k, k] = 0.1 * (1 + k)
    assert np.ma.filled(shown.reshape(3, 10), 0.0) == pytest.approx(expected)


def test_few_joints_have_no_map(tmp_path):
    model = lw.library.chain(6).compile()
    assert not motion_panels(record(tmp_path / "run", model, np.linspace(0.0, 1.0, 5)[:, None] * np.ones(6)))


def test_joints_nobody_chose_are_those_that_moved_most(chain, tmp_path):
    states = np.ones((5, 40))
    states[:, 7] += np.linspace(0.0, 2.0, 5)
    states[:, 3] -= np.linspace(0.0, 3.0, 5)
    recording = record(tmp_path / "run", chain, states)
    (panel,) = joint_panels(recording, ())
    lines = drawn(panel).get_lines()
    assert [line.get_label() for line in lines] == ["link_3", "link_7"]
    assert lines[0].get_ydata() == pytest.approx(np.linspace(0.0, -3.0, 5))  # from where they began
    (panel,) = joint_panels(recording, ["link_7"])
    assert drawn(panel).get_lines()[0].get_ydata() == pytest.approx(np.linspace(1.0, 3.0, 5))  # as they are


def test_small_ways_far_from_the_origin_are_drawn_from_their_start(chain, tmp_path):
    """The end of a chain of 4 m moves by centimetres: labelled from 4 m on, the numbers of the axis would overlap."""
    states = np.zeros((5, 40))
    states[:, 39] = np.linspace(0.0, 0.05, 5)
    states[:, 38] = np.linspace(0.0, 0.5, 5)
    recording = record(tmp_path / "run", chain, states)
    (panel,) = path_panels(recording, ["link_39"])
    axes = drawn(panel)
    assert "from the start [m]" in axes.get_xlabel() + axes.get_ylabel()
    assert axes.get_lines()[0].get_xydata()[0] == pytest.approx([0.0, 0.0])


def test_ways_along_one_axis_are_drawn_over_time(tmp_path):
    linkage = lw.Linkage("slider")
    linkage.add_body("cart", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()
    (panel,) = path_panels(record(tmp_path / "run", model, [[0.0], [1e-3], [4e-3]]), ["cart"])
    axes = drawn(panel)
    assert panel.title == "paths over time"
    assert axes.get_ylabel() == "x, from the start [mm]"
    assert axes.get_lines()[0].get_ydata() == pytest.approx([0.0, 1.0, 4.0])


def test_energy_that_does_not_change_takes_no_panel(chain, tmp_path):
    states = np.zeros((4, 40))
    still = record(tmp_path / "still", chain, states, potential_energy=np.full(4, -7e5), energy=np.full(4, -7e5))
    assert not energy_panels(still)
    fall = np.array([0.0, 1.0, 4.0, 9.0])
    falling = record(
        tmp_path / "falls", chain, states, kinetic_energy=fall, potential_energy=50.0 - fall, energy=np.full(4, 50.0)
    )
    (panel,) = energy_panels(falling)
    lines = {line.get_label(): line.get_ydata() for line in drawn(panel).get_lines()}
    assert lines["kinetic"] == pytest.approx(fall)
    assert lines["potential"] == pytest.approx(-fall)
    assert lines["total"] == pytest.approx(0.0)


def test_a_bound_is_drawn_with_its_tolerance(tmp_path):
    settings = {"model.parameters.joints": 300, "run.steps": 60, "method.tolerance": 0.01}
    recording = lw.run_scene("molecule_one_force", tmp_path / "run", settings, progress=False)
    panel = next(panel for panel in work_panels(recording) if panel.title == "error bound")
    axes = drawn(panel)
    bound, tolerance = axes.get_lines()
    assert tolerance.get_label() == "tolerance"
    assert set(tolerance.get_ydata()) == {0.01}
    assert np.nanmax(bound.get_ydata()) <= 0.01
    assert axes.get_ylabel() == "error, relative joint"
