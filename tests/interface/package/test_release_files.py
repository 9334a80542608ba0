"""What surrounds a release agrees with the package: workflows, recipe, citation, changelog, the paper, tools."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import linkwork as lw

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra `docs`")

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
BENCHMARKS = ROOT / "benchmarks"


def read(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_names_what_exists(path):
    """YAML that GitHub reads: triggers, jobs, steps; targets, scripts and benchmarks that they call are here."""
    flow = read(path)
    assert flow[True], "`on` is read as a truth value by YAML 1.1, by GitHub as the triggers"
    for name, job in flow["jobs"].items():
        assert job["runs-on"], name
        for step in job["steps"]:
            assert len({"uses", "run"} & set(step)) == 1, (name, step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1")), step
            command = step.get("run", "")
            assert set(re.findall(r"\bmake (\w+)", command)) <= TARGETS
            for script in re.findall(r"python (tools/\S+)", command):
                assert (ROOT / script).is_file(), script
        asked = job.get("needs", [])
        assert set([asked] if isinstance(asked, str) else asked) <= set(flow["jobs"])
        for benchmark in job.get("strategy", {}).get("matrix", {}).get("benchmark", ()):
            stem = benchmark.replace("-", "_")
            assert (BENCHMARKS / f"{stem}.py").is_file() or (BENCHMARKS / stem / "__init__.py").is_file(), benchmark


def test_tests_run_on_the_oldest_python_that_is_allowed():
    matrix = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    oldest = min(tuple(map(int, python.split("."))) for python in matrix["python"])
    assert f">={oldest[0]}.{oldest[1]}" == PROJECT["requires-python"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_of_issues_are_read(path):
    form = read(path)
    if path.stem != "config":
        assert {"name", "description", "body"} <= set(form)
        ids = [field["id"] for field in form["body"] if "id" in field]
        assert len(set(ids)) == len(ids)


def test_the_recipe_is_that_of_the_package():
    """conda-forge's form: Jinja first, then YAML."""
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    (version,) = re.findall(r'{% set version = "(.*?)" %}', text)
    assert version == lw.__version__
    plain = re.sub(r"{%.*?%}", "", text).replace("{{ version }}", version).replace("{{ PYTHON }}", "python")
    recipe = yaml.safe_load(plain)
    needs = {re.sub(r"\s", "", line) for line in recipe["requirements"]["run"]}
    assert needs == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    assert recipe["about"]["license"] == PROJECT["license"]


def test_the_citation_is_of_this_version():
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == lw.__version__
    for reference in citation["references"]:
        assert reference["title"]
        assert reference["authors"]


def test_the_changelog_begins_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (\S+) \((.*?)\)$", text, re.MULTILINE)
    assert sections[0][0] == lw.__version__
    assert len({version for version, _ in sections}) == len(sections)
    for k, (version, when) in enumerate(sections):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", when) or (k == 0 and when == "unreleased"), version


PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")


def test_the_paper_has_the_form_of_its_journal():
    """JOSS: a head of YAML, these sections, a thousand words; what is cited is in the bibliography, and no more."""
    head, body = PAPER.split("---\n", 2)[1:]
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(yaml.safe_load(head))
    sections = re.findall(r"^# (.*)$", body, re.MULTILINE)
    assert sections[:2] == ["Summary", "Statement of need"]
    assert {"State of the field", "Methods", "Quality control", "References"} <= set(sections)
    assert 750 <= len(re.findall(r"\w[\w'’-]*", body)) <= 1750  # the journal's limits
    cited = set(re.findall(r"@(\w+)", body))
    entries = re.findall(r"^@\w+{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited == set(entries)
    assert len(set(entries)) == len(entries)
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", body, re.DOTALL):
        assert (ROOT / "paper" / picture).is_file(), picture


# ------------------------------------------------------------------------------------------------------------------- tools


def tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_extra_has_a_smoke_set_and_two_rows():
    """All but the developers' own: an extra that nobody tries with its oldest packages has a bound that means nothing."""
    extras = set(PROJECT["optional-dependencies"]) - {"dev"}
    assert set(tool("smoke_extras").EXTRAS) == extras
    rows = tool("version_matrix").rows()
    for extra in extras:
        oldest, newest = (row for row in rows if row.extra == extra)
        own = [re.split("[<=>]", pin)[0] for pin in PROJECT["optional-dependencies"][extra]]
        for name in own:
            assert any(re.fullmatch(rf"{re.escape(name)}==[\d.]+", pin) for pin in oldest.pins), name
            assert any(re.match(rf"{re.escape(name)}>=", pin) for pin in newest.pins), name


def test_the_oldest_of_all_is_what_the_package_allows():
    oldest = next(row for row in tool("version_matrix").rows() if row.name == "oldest of all")
    for wanted in PROJECT["dependencies"]:
        name, least = re.match(r"([\w-]+)>=([\d.]+)", wanted).groups()
        (pin,) = (pin for pin in oldest.pins if pin.startswith(f"{name}=="))
        assert pin.partition("==")[2].startswith(least)


def test_every_benchmark_page_says_how_old_it_is():
    pages = {path.name for path in (ROOT / "docs" / "benchmarks").glob("*.md")} - {"index.md"}
    text = (ROOT / "docs" / "benchmarks" / "index.md").read_text(encoding="utf-8")
    ages = text.partition("<!-- begin ages -->")[2].partition("<!-- end ages -->")[0]
    assert set(re.findall(r"^\| \[\w+\]\((\w+\.md)\) \| \d{4}-", ages, re.MULTILINE)) == pages


def test_history_of_benchmarks_grows_on_a_branch_of_its_own(tmp_path):
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        done = subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.split()

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "code")
    (tmp_path / "results").mkdir()
    for name in ("dynamics", "dca"):
        (tmp_path / "results" / f"{name}.json").write_text(f'"{name}"', encoding="utf-8")
        keep = [sys.executable, str(ROOT / "tools" / "keep_history.py"), "results", "--branch", "history"]
        subprocess.run(keep, cwd=tmp_path, check=True, capture_output=True)
    kept = git("ls-tree", "-r", "--name-only", "history")
    assert [name.partition("/")[2] for name in kept] == ["dca.json", "dynamics.json"]
    assert len(git("rev-list", "history")) == 2
    assert git("show", f"history:{kept[0]}") == ['"dca"']
    assert git("status", "--porcelain", "--untracked-files=no") == []
