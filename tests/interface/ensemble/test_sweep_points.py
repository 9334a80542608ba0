"""Points of a sweep: axes, grids, samples, seeds and tables; and what is refused of them."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.ensemble import Between, Normal
from linkwork.ensemble.axes import Listed, parse_axis, setting_key
from linkwork.ensemble.design import SAMPLERS, make_points, run_seed, unit_samples


def square(x, seed):
    return {"y": x * x}


@pytest.mark.parametrize(
    ("words", "axis"),
    [
        ("100,1000", Listed((100, 1000))),
        ("1:10:10", Listed(tuple(range(1, 11)))),
        ("1:2:3", Listed((1.0, 1.5, 2.0))),
        ("rk4, dormand_prince", Listed(("rk4", "dormand_prince"))),
        ("[0, 0, 1], [0, 1, 0]", Listed(([0, 0, 1], [0, 1, 0]))),
        ('"a,b", true', Listed(("a,b", True))),
        ("1:10", Between(1.0, 10.0)),
        ("1e-6:1e-2:log", Between(1e-6, 1e-2, log=True)),
        ("normal(2, 0.1)", Normal(2.0, 0.1)),
    ],
)
def test_words_of_an_axis(words, axis):
    found = parse_axis(words)
    assert found == axis
    if isinstance(axis, Listed):
        assert [type(value) for value in found.values] == [type(value) for value in axis.values]


def test_a_logarithmic_range():
    values = np.array(parse_axis("1e-6:1e-2:5:log").values)
    assert values == pytest.approx([1e-6, 1e-5, 1e-4, 1e-3, 1e-2], rel=1e-12)  # ten digits more than anyone reads


def test_a_grid_takes_every_combination_in_order():
    points = make_points({"a": [1, 2], "b": ["x", "y", "z"]}, None, "sobol", 0, 1)
    assert points.names == ("a", "b")
    assert points.rows == [(1, "x"), (1, "y"), (1, "z"), (2, "x"), (2, "y"), (2, "z")]
    assert make_points({"a": [1, 2]}, None, "sobol", 0, 2).rows == [(1,), (1,), (2,), (2,)]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samples_depend_on_the_seed_only(sampler):
    axes = {"a": "0:1", "b": "1e-6:1e-2:log", "c": "normal(5, 2)", "d": [1, 2, 3]}
    one, same, other = (make_points(axes, 64, sampler, seed, 1).rows for seed in (1, 1, 2))
    assert one == same
    assert one != other
    a, b, c, d = (np.array(column) for column in zip(*one, strict=True))
    assert a.min() >= 0
    assert a.max() < 1
    assert b.min() >= 1e-6
    assert b.max() <= 1e-2
    # 64 independent samples of these means have deviations 0.036 and 0.25; six of them is one seed in a billion
    assert abs(a.mean() - 0.5) < 6 * 0.036
    assert abs(c.mean() - 5.0) < 6 * 0.25
    assert set(d.tolist()) == {1, 2, 3}


def test_low_discrepancy_samples_fill_every_cell():
    """64 points of a scrambled Sobol sequence: exactly one in each of 64 slices of each axis. Chance would miss a third."""
    places = unit_samples("sobol", 64, 3, 7)
    for column in places.T:
        assert sorted((column * 64).astype(int).tolist()) == list(range(64))


def test_seeds_of_runs_differ_and_stay_exact_in_tables():
    seeds = [run_seed(5, run) for run in range(2000)]
    assert len(set(seeds)) == 2000
    assert max(seeds) < 2**53
    assert seeds[7] == run_seed(5, 7) != run_seed(6, 7)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_points_from_a_table(suffix, tmp_path):
    path = tmp_path / f"points{suffix}"
    if suffix == ".csv":
        path.write_text('x,name\n1.5,rk4\n-2e-3,"[1, 2]"\n')
    else:
        pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"x": [1.5, -2e-3], "name": ["rk4", "[1, 2]"]}), path)
    points = make_points(path, None, "sobol", 0, 1)
    assert points.names == ("x", "name")
    assert [row[0] for row in points.rows] == [1.5, -2e-3]
    assert points.rows[0][1] == "rk4"


def test_keys_as_people_write_them():
    given = {"load": [{"force": [0, 0, 0]}], "motor": [{}, {}]}
    assert setting_key("load.force[2]", given) == "load.0.force.2"
    assert setting_key("model.joints", given) == "model.parameters.joints"
    assert setting_key("model.copies", given) == "model.copies"
    assert setting_key("motor[1].effort", given) == "motor.1.effort"
    with pytest.raises(lw.LinkworkError, match="2 tables"):
        setting_key("motor.effort", given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vary": {"x": "0:1"}}, "how many samples"),
        ({"vary": {"x": []}}, "empty"),
        ({"vary": {"x": "5:1:3"}}, "the lower end comes first"),
        ({"vary": {"x": "-1:1:log"}, "sample": 2}, "above 0"),
        ({"vary": {"x": "1:2:0.5"}}, "how many values"),
        ({"vary": {"x": [float("nan")]}}, "nan is not a value"),
        ({"vary": ["x"]}, "write key=values"),
        ({"vary": ["x=1", "x=2"]}, "varied twice"),
        ({"vary": {"x": [1]}, "sample": 0}, "sample is 0"),
        ({"vary": {"x": [1]}, "sample": 2, "sampler": "sobl"}, "did you mean 'sobol'"),
        ({"vary": {"seed": [1]}}, "column of that name"),
        ({"vary": {"y": [1]}}, "does not take"),
        ({"vary": {}}, "needs 'x'"),
        ({"vary": [{"x": 1}, {"y": 1}]}, "all points name the same keys"),
        ({"vary": "no_such.csv"}, "no such table"),
        ({"vary": {"x": [1]}, "keep": "all"}, "keep is 'all'"),
        ({"vary": {"x": range(10_000), "seed2": range(10_000)}}, "at most"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(lw.LinkworkError, match=message):
        lw.Sweep(square, **arguments)
