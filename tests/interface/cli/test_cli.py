"""The command line as scripts and people meet it: help, exit codes, messages without tracebacks, JSON that parses."""

import json
import subprocess
import sys

import pytest

import linkwork as lw
from linkwork.cli import main, program
from linkwork.cli.commands.bench import benchmark_file, benchmark_folder, benchmark_names
from linkwork.cli.demo_parts import PARTS
from linkwork.cli.exit_codes import DONE, INTERRUPTED, MISSED, REFUSED, WRONG_USAGE
from linkwork.cli.mechanism import library_models

SCREEN_LINES = 40  # an error longer than this scrolls its own beginning away

TWO_LINKS = """<?xml version="1.0"?>
<robot name="two_links">
  <link name="base"/>
  <link name="upper">
    <inertial><mass value="1.5"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial>
  </link>
  <link name="lower">
    <inertial><mass value="0.5"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""


@pytest.fixture
def run(capsys):
    """Runs `linkwork ...` in this process; gives exit code, stdout, stderr."""

    def call(*words: str):
        code = main(list(words))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize("words", [[], ["--help"], ["info", "--help"], ["demo", "--help"], ["bench", "--help"]])
def test_help(run, words):
    code, out, err = run(*words)
    assert code == DONE
    assert "usage: linkwork" in out
    assert not err


def test_help_of_every_benchmark(run):
    names = benchmark_names(benchmark_folder())
    assert "dynamics" in names
    for name in names:
        code, out, _ = run("bench", name, "--help")
        assert code == DONE
        assert "--json" in out
        assert "--quick" in out


def test_version(run):
    assert run("--version")[:2] == (DONE, f"linkwork {lw.__version__}\n")


@pytest.mark.parametrize(
    "words", [["fly"], ["info", "chain", "--wings"], ["demo", "sing"], ["bench", "dynamics", "--wings"]]
)
def test_wrong_usage(run, words):
    code, _, err = run(*words)
    assert code == WRONG_USAGE
    assert "usage:" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["info"], "--list"),
        (["info", "chian"], "did you mean 'chain'"),
        (["info", "missing.urdf"], "no file 'missing.urdf'"),
        (["info", "chain", "joints"], "key=value"),
        (["info", "chain", "joints=[3"], "is not TOML"),
        (["info", "chain", "a.joints=3"], "one name"),
        (["info", "chain", "wings=2"], "no parameter 'wings'"),
        (["info", "chain", "joints=many"], "joints"),
        (["info", "chain", "joints=-1"], "joints"),
        (["bench", "nothing"], "dynamics"),
    ],
)
def test_refusals_say_why_on_one_screen(run, words, says):
    code, out, err = run(*words)
    assert code == REFUSED
    assert not out
    assert err.startswith("linkwork: ")
    assert says in err
    assert len(err.splitlines()) <= SCREEN_LINES


def test_a_bad_file_is_refused_with_its_name(run, tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text("<robot name='broken'><link name='a'/>", encoding="utf-8")
    code, _, err = run("info", str(path))
    assert code == REFUSED
    assert "broken.urdf" in err


def test_a_folder_is_refused(run, tmp_path):
    code, _, err = run("info", str(tmp_path))
    assert code == REFUSED
    assert str(tmp_path) in err


def test_info_of_a_library_model(run):
    code, out, _ = run("info", "chain", "joints=12")
    assert code == DONE
    assert "12 Revolute" in out


@pytest.mark.parametrize(
    ("words", "joints"),
    [
        (["chain", "joints=3", "joint=universal"], {"Universal": 3}),
        (["double_pendulum", "lengths=[1, 0.5]"], {"Revolute": 2}),
        (["chain", "joints=3", "joints="], {"Revolute": 100}),
        (["chain", 'axes="same"', "joints=2"], {"Revolute": 2}),
    ],
)
def test_parameters_are_toml(run, words, joints):
    """The same grammar as of `linkwork run --set`: values in TOML, names without quotes, nothing takes one away."""
    code, out, err = run("info", *words, "--json")
    assert code == DONE, err
    assert json.loads(out)["joints"] == joints


def test_info_as_json(run):
    code, out, _ = run("info", "chain", "--set", "joints=7", "--json")
    facts = json.loads(out)
    assert code == DONE
    assert facts["bodies"] == facts["nv"] == facts["depth"] == 7
    assert facts["joints"] == {"Revolute": 7}
    assert facts["leaves"] == facts["trees"] == 1
    assert facts["warnings"] == []


@pytest.mark.parametrize("words", [["joints=7", "--json"], ["--json", "joints=7"]])
def test_settings_stand_before_or_after_options(run, words):
    code, out, _ = run("info", "chain", *words)
    assert code == DONE
    assert json.loads(out)["bodies"] == 7


def test_info_of_a_file(run, tmp_path):
    path = tmp_path / "two_links.urdf"
    path.write_text(TWO_LINKS, encoding="utf-8")
    code, out, _ = run("info", str(path), "--json")
    facts = json.loads(out)
    assert code == DONE
    assert facts["name"] == "two_links"
    assert facts["nv"] == 2
    assert facts["mass"] == pytest.approx(2.0)
    assert facts["limited_joints"] == 1


def test_info_list_names_every_model(run):
    code, out, _ = run("info", "--list", "--json")
    assert code == DONE
    assert set(json.loads(out)) == set(library_models())
    assert "chain" in run("info", "--list")[1]


def test_demo_plays_every_act(run, tmp_path):
    code, out, _ = run("demo", "--quick", "--out", str(tmp_path))
    assert code == DONE
    assert all(name in out for name in PARTS)
    assert "drifted" in out
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_demo_plays_one_act(run, tmp_path):
    code, out, _ = run("demo", "swing", "--quick", "--no-picture", "--out", str(tmp_path))
    assert code == DONE
    assert "molecule" not in out
    assert not list(tmp_path.iterdir())


def test_bench_writes_every_figure(run, tmp_path):
    path = tmp_path / "deep" / "results.json"
    code, out, _ = run("bench", "dynamics", "--quick", "--strict", "--json", str(path))
    assert code == DONE
    assert "not judged" in out
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["benchmark"] == "dynamics"
    assert {"date", "cpu", "cores", "python", "packages"} <= set(written["environment"])
    assert {"linkwork", "numpy", "numba"} <= set(written["environment"]["packages"])
    assert {row["contestant"] for row in written["results"]} >= {"linkwork"}
    assert all(row["median_s"] > 0 for row in written["results"])
    assert written["requirements"]


def test_strict_bench_reports_a_miss(monkeypatch, run):
    class Missed:
        passed = False

        def show(self, screen):
            screen.print("a table")

    benchmark = type("benchmark", (), {"run": staticmethod(lambda options: Missed()), "__doc__": "A benchmark."})
    monkeypatch.setattr("linkwork.cli.commands.bench.load_benchmark", lambda folder, name: benchmark)
    assert run("bench", "dynamics")[0] == DONE
    assert run("bench", "dynamics", "--strict")[0] == MISSED


def test_benchmarks_are_files_and_folders_that_define_run(tmp_path):
    for name, text in {
        "__init__.py": '"""Benchmarks."""',
        "one_file.py": "def run(options): ...",
        "helper.py": "def running(options): ...",
        "folder/__init__.py": "def configure(parser): ...\n\ndef run(options): ...",
        "folder/cases.py": "def run(options): ...",
        "shared/__init__.py": "from .parts import run",
        "data/readme.txt": "def run",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert benchmark_names(tmp_path) == ["folder", "one-file"]
    assert benchmark_file(tmp_path, "one-file") == tmp_path / "one_file.py"
    assert benchmark_file(tmp_path, "folder") == tmp_path / "folder" / "__init__.py"


def test_bench_lists_benchmarks(run):
    code, out, _ = run("bench")
    assert code == DONE
    assert "dynamics" in out


def _raising(error):
    def raise_it():
        raise error

    return raise_it


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "interrupted"),
        (MemoryError(), REFUSED, "out of memory"),
        (PermissionError(13, "Permission denied", "secret.urdf"), REFUSED, "secret.urdf: Permission denied"),
        (lw.StateError("q[3] is nan."), REFUSED, "q[3] is nan."),
    ],
)
def test_failures_become_exit_codes(capsys, error, code, says):
    assert program.guarded(_raising(error)) == code
    assert says in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_failure():
    """`linkwork info --list | head -1`: no traceback, exit code 0."""
    command = [sys.executable, "-m", "linkwork", "info", "chain", "joints=3000", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaint = process.stderr.read().decode()
        process.stderr.close()
        code = process.wait(timeout=60)
    assert (code, complaint) == (DONE, "")
