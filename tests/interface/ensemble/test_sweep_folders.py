"""Folders of sweeps from anywhere: looking at one runs nothing, damage is an error, and never another number."""

import json
import random
import shutil
import zlib

import pytest
from tests.helpers.command_runs import command_line

import linkwork as lw
from linkwork.cli.exit_codes import DONE, REFUSED
from linkwork.ensemble.journal import JOURNAL
from linkwork.ensemble.plan import PLAN, POINTS
from linkwork.record.store.checksums import document_sum

RUNS = 6


def cube(x, y):
    return {"z": x**3 + y, "word": "odd" if x % 2 else "even", "seldom": None if x % 2 else float(x)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a finished sweep."""
    folder = tmp_path_factory.mktemp("whole") / "s"
    lw.Sweep(cube, {"x": range(RUNS // 2), "y": [0.1, 0.7]}).run(folder, workers=0)
    return folder


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "s")


def contents(folder):
    table = lw.SweepTable(folder)
    return repr([table.columns, *table.rows(), table.timings()])


# ---------------------------------------------------------------------------------------------------------- nothing is run


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    return command_line(capsys, monkeypatch, tmp_path)


@pytest.fixture
def trap(run, tmp_path):
    """A sweep of a function whose file leaves a trace where it is imported; two of its runs are missing."""
    pytest.importorskip("cloudpickle", reason="cloudpickle comes with Dask (extra `sweep`)")
    trace = tmp_path / "trace"
    (tmp_path / "study.py").write_text(
        f"from pathlib import Path\nPath({str(trace)!r}).touch()\n\ndef twice(x):\n    return 2 * x\n"
    )
    assert run("sweep", "study.py:twice", "--vary", "x=1,2,3", "--workers", 0, "--out", "s")[0] == DONE
    file = tmp_path / "s" / JOURNAL
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    trace.unlink()
    return trace


def test_looking_at_a_folder_imports_nothing(trap, run, tmp_path):
    assert len(lw.Sweep.of(tmp_path / "s")) == 3
    assert len(lw.SweepTable(tmp_path / "s")) == 1
    assert run("plot", "s", "--table")[0] == DONE
    assert not trap.exists()


def test_a_folder_alone_runs_no_program(trap, run, tmp_path):
    code, _, err = run("sweep", "--resume", "--out", "s", "--workers", 0)
    assert code == REFUSED
    assert "study.py:twice --resume" in err
    assert "--trust" in err
    with pytest.raises(lw.LinkworkError, match="function=twice"):
        lw.Sweep.of(tmp_path / "s").run(tmp_path / "s", workers=0, resume=True)
    assert not trap.exists()
    assert run("sweep", "small.toml", "--trust", "--vary", "run.h=1e-3", "--out", "t")[0] == REFUSED


@pytest.mark.parametrize("words", [("--trust",), ("study.py:twice",)])
def test_it_goes_on_where_the_user_says_so(trap, run, words):
    assert run("sweep", *words, "--resume", "--out", "s", "--workers", 0)[0] == DONE
    assert trap.exists()
    assert lw.SweepTable("s")["result"].tolist() == [2, 4, 6]


def test_the_function_of_the_caller(copy):
    (copy / JOURNAL).unlink()
    table = lw.Sweep.of(copy, function=cube).run(copy, workers=0, resume=True)
    assert table["z"].tolist() == [x**3 + y for x in range(RUNS // 2) for y in (0.1, 0.7)]
    with pytest.raises(lw.LinkworkError, match="'cube', not 'other'"):
        lw.Sweep.of(copy, function=other)
    with pytest.raises(lw.LinkworkError, match="function must be"):
        lw.Sweep.of(copy, function="cube")


def other(x, y):
    return x + y


# ------------------------------------------------------------------------------------------------------------------ damage


@pytest.mark.parametrize("name", [PLAN, POINTS, JOURNAL])
def test_a_changed_byte_is_an_error_or_changes_nothing(whole, copy, name):
    """Every digit of every number, and 300 bytes anywhere."""
    expected, data, chance = contents(whole), (copy / name).read_bytes(), random.Random(name)
    places = [k for k, byte in enumerate(data) if chr(byte).isdigit()] + chance.choices(range(len(data)), k=300)
    for k in places:
        sign = chance.choice([b for b in b"0123456789" if b != data[k]]) if chr(data[k]).isdigit() else data[k] ^ 4
        (copy / name).write_bytes(data[:k] + bytes([sign]) + data[k + 1 :])
        try:
            found = contents(copy)
        except lw.FormatError:
            continue
        assert found == expected or (name == JOURNAL and data[k] == ord("\n"))  # the last line torn: not done


def test_lines_that_are_lost_or_exchanged(copy):
    for name in (POINTS, PLAN):
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(b"".join(reversed(data.splitlines(keepends=True))))
        with pytest.raises(lw.FormatError, match="damaged"):
            lw.SweepTable(copy)
        (copy / name).unlink()
        with pytest.raises(lw.FormatError):
            lw.SweepTable(copy)
        (copy / name).write_bytes(data)
    (copy / JOURNAL).unlink()
    (copy / JOURNAL).mkdir()
    with pytest.raises(lw.FormatError, match="not a file"):
        lw.SweepTable(copy)


HOSTILE = [None, True, -1, 0, 1.5, 10**400, float("nan"), float("inf"), "", "x", [], [[]], {}, {"x": 1}, ["x", "x"], 2**63,
           ["run"], [1], [None]]  # fmt: skip


def sealed(about):
    about = {name: value for name, value in about.items() if name != "sum"}
    return {**about, "sum": document_sum(about)}


def paths_in(document, before=()):
    if isinstance(document, dict):
        for name, value in document.items():
            yield (*before, name)
            yield from paths_in(value, (*before, name))


def exchanged(document, path, value):
    if not path:
        return value
    return {**document, path[0]: exchanged(document[path[0]], path[1:], value)}


@pytest.mark.parametrize("name", [PLAN, JOURNAL])
def test_whatever_a_folder_says_is_refused_in_words(copy, name):
    """With right checksums: as a program with a fault, or somebody, might write it."""
    lines = [(copy / PLAN).read_text()] if name == PLAN else (copy / JOURNAL).read_text().splitlines()
    document, refused = json.loads(lines[0]), 0
    for path in paths_in(document):
        for value in HOSTILE:
            made = json.dumps(sealed(exchanged(document, path, value)))
            (copy / name).write_text("\n".join([made, *lines[1:]]) + "\n")
            try:
                contents(copy)
                repr([lw.SweepTable(copy)[column] for column in lw.SweepTable(copy).columns])
                lw.SweepTable(copy).write()
            except lw.LinkworkError:
                refused += 1
    assert refused > 50


def test_points_of_another_kind_are_refused(copy):
    about = json.loads((copy / PLAN).read_text())
    lines = (copy / POINTS).read_text().splitlines()
    for line in ("3", "null", "[1]", "[1, 2, 3]", "[1, NaN]", "{}", "[1, 1e999]", "[" * 100_000, "[1,"):
        points = "\n".join([line, *lines[1:]]) + "\n"
        (copy / POINTS).write_text(points)
        (copy / PLAN).write_text(json.dumps(sealed({**about, "points_sum": zlib.crc32(points.encode())})))
        with pytest.raises(lw.FormatError, match="damaged"):
            lw.SweepTable(copy)


def test_a_range_with_more_values_than_runs_are_possible():
    for words in ("x=1:2:1000000000", "x=1:2:" + "9" * 5000, "x=1:2:1000000000:log"):
        with pytest.raises(lw.LinkworkError, match="at most 10,000,000"):
            lw.Sweep(cube, [words, "y=1"])
