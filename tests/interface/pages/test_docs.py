"""What the documentation says holds: it builds without a warning, nothing in it points nowhere, and its code runs."""

import ast
import html.parser
import importlib.util
import os
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest
from tests.helpers import pages
from tests.helpers.browser_pages import CHROMIUM, faults_in_browser

import linkwork as lw
from linkwork.cli.commands.bench import benchmark_folder, benchmark_names
from linkwork.simulation.moving import Moving

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(DOCS).as_posix()): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
# Pages with blocks that stand for a user's own files and numbers. They are read, and their names checked, but not run.
# Why not is said here; every other page with code runs.
FRAGMENTS = {
    "formats.md": "arm.urdf and cat.xml are the reader's; files of both kinds are read in test_urdf.py and test_mjcf.py",
    "api/gpu.md": "so does this one",
    "gpu.md": "it needs a GPU and PyTorch; the same calls run in test_gpu.py of tests/laws and tests/interface",
    "theory/rerooting.md": "so are x, y, z and walk.bvh; the same steps run in examples/mocap_inverse_dynamics.py",
}
WITH_CODE = sorted(name for name, text in PAGES.items() if pages.blocks(text, "python", "sh"))
needs_mkdocs = pytest.mark.skipif(
    not importlib.util.find_spec("mkdocs") or not importlib.util.find_spec("mkdocstrings_handlers"),
    reason="mkdocs is not installed (extra `docs`)",
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian: apt-get install chromium)")


class Marks(html.parser.HTMLParser):
    """What a page of the site offers and asks for."""

    def __init__(self, page: Path):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []  # a person follows them
        self.parts: list[str] = []  # a browser fetches them
        self.words: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        self.ids |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.parts.append(given["href"])
        elif "src" in given:
            self.parts.append(given["src"])

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def build(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Builds the site as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=root,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # about the builder's successor, not about our pages
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site: its folder, and the marks of every page by its path."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    said = (done.stdout + done.stderr).splitlines()
    assert any("Documentation built" in line for line in said)
    assert not [line for line in said if line.strip() and not line.startswith("INFO")], "the build has something to say"
    return folder, {path: Marks(path) for path in folder.rglob("*.html") if path.name != "404.html"}


@needs_mkdocs
def test_no_link_points_nowhere(site):
    folder, marks = site
    broken = []
    for path, page in marks.items():
        for link in page.links + page.parts:
            url = urllib.parse.urlsplit(link)
            if url.scheme in ("http", "https", "mailto"):
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            anchor = urllib.parse.unquote(url.fragment)
            if not target.exists() or (anchor and target in marks and anchor not in marks[target].ids | {"__top"}):
                broken.append(f"{path.relative_to(folder)} → {link}")
    assert not broken


@needs_mkdocs
@needs_chromium
@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
def test_pages_fit_the_screen_and_show_their_pictures(site, width):
    """Code and tables scroll by themselves; a page never does sideways."""
    assert faults_in_browser(site[0], width) == []


@needs_chromium
def test_a_page_that_does_not_fit_is_seen(tmp_path):
    (tmp_path / "wide.html").write_text('<!doctype html><h1>A</h1><div style="width: 700px">wide</div>')
    (tmp_path / "bare.html").write_text('<!doctype html><h1>A</h1><img src="nowhere.png">')
    assert faults_in_browser(tmp_path, 390) == ["bare.html lacks nowhere.png", "wide.html is 708 wide"]


@needs_mkdocs
def test_reading_it_needs_no_network(site):
    folder, marks = site
    fetched = [part for page in marks.values() for part in page.parts]
    styles = [path.read_text(encoding="utf-8") for path in folder.rglob("*.css")]
    fetched += [url for style in styles for url in re.findall(r"(?:@import |url\()[\"']?([^\"')]+)", style)]
    assert len(fetched) > len(marks)
    assert not [part for part in fetched if urllib.parse.urlsplit(part).netloc]


@needs_mkdocs
def test_every_page_is_in_the_navigation():
    yaml = pytest.importorskip("yaml")
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]

    def entries(node):
        if isinstance(node, str):
            return [node]
        return [entry for child in (node.values() if isinstance(node, dict) else node) for entry in entries(child)]

    assert sorted(entries(nav)) == sorted(PAGES)


@needs_mkdocs
@pytest.mark.parametrize("name", lw.__all__)
def test_every_public_name_has_an_entry(name, site):
    _, marks = site
    with_entry = [path for path, page in marks.items() if f"linkwork.{name}" in page.ids]
    assert [path.parent.name for path in with_entry] == ["api"], f"docs/api has no `::: linkwork.{name}`"


NAMESPACES = ("gpu", "haptics", "library", "molecules")
PUBLIC = [
    *(f"lw.{name}" for name in lw.__all__ if name not in NAMESPACES),
    *(f"lw.{space}.{name}" for space in NAMESPACES for name in getattr(lw, space).__all__),
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    """In a block of code on a page of docs/api; these blocks run (test_code_of_a_page_runs)."""
    code = [
        block.text for page, text in PAGES.items() if page.startswith("api/") for block in pages.blocks(text, "python")
    ]
    assert any(re.search(rf"\b{re.escape(name)}\b", block) for block in code), f"no example in docs/api shows {name}"


@needs_mkdocs
@pytest.mark.parametrize("name", lw.library.MODELS)
def test_every_library_model_has_an_entry(name, site):
    folder, marks = site
    builder = lw.library.MODELS[name]
    assert f"{builder.__module__}.{name}" in marks[folder / "api" / "library.html"].ids


@needs_mkdocs
def test_every_example_is_shown(site):
    folder, marks = site
    shown = re.sub(r"\s+", " ", marks[folder / "examples.html"].text)
    for example in (ROOT / "examples").glob("*.py"):
        assert re.sub(r"\s+", " ", example.read_text(encoding="utf-8")).strip() in shown, example.name


def test_the_make_target_builds_strictly():
    done = subprocess.run(["make", "-n", "docs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (command,) = [line for line in done.stdout.splitlines() if "mkdocs build" in line]
    assert "--strict" in command
    assert "--quiet" not in command, "a quiet build drops warnings before --strict can count them"


@needs_mkdocs
def test_a_link_that_points_nowhere_stops_the_build(tmp_path):
    """A build that passes proves something only if it can fail: our settings, one page, one bad link."""
    yaml = pytest.importorskip("yaml")
    ours = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    settings = {"site_name": "small", "validation": ours["validation"], "plugins": []}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "index.md"
    for link, passes in (("[here](index.md#here)", True), ("[nowhere](nowhere.md)", False), ("[no](#where)", False)):
        page.write_text(f"# Here\n\n{link}\n", encoding="utf-8")
        assert (build(tmp_path, tmp_path / "site").returncode == 0) == passes, link


BESIDE = {"coming_from.md": ("pinocchio", "mujoco")}  # pages with code of other libraries


@pytest.mark.parametrize("name", sorted(set(WITH_CODE) - set(FRAGMENTS)))
def test_code_of_a_page_runs(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="pages draw pictures (extra `plots`)")
    for package in BESIDE.get(name, ()):
        pytest.importorskip(package, reason=f"this page shows {package} too")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert pages.run_page(PAGES[name], f"docs/{name}", tmp_path) > 0


@pytest.mark.parametrize("name", sorted(FRAGMENTS))
def test_fragments_are_python(name):
    for block in pages.blocks(PAGES[name], "python"):
        ast.parse(block.text)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_names_that_pages_mention_exist(name):
    mentioned = set(re.findall(r"\blw\.((?:library\.)?[A-Za-z_]\w*)", PAGES[name]))
    missing = [word for word in mentioned if not hasattr(lw.library if "." in word else lw, word.split(".")[-1])]
    assert not missing


@pytest.mark.parametrize("name", benchmark_names(benchmark_folder()))
def test_every_benchmark_has_a_page(name):
    page = f"{name.replace('-', '_')}.md"
    assert f"linkwork bench {name}" in PAGES[f"benchmarks/{page}"]
    assert f"({page})" in PAGES["benchmarks/index.md"]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_lists_stand_apart(name):
    """A list that follows a line of text without an empty line between is shown as part of the paragraph."""
    prose = re.sub(r"^```.*?^```", "", PAGES[name], flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"^(?![-*|#>]|\d+\. | |<!--).+\n(?=(?:[-*]|\d+\.) )", prose, flags=re.MULTILINE)


READABLE = {**PAGES, "CONTRIBUTING.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


@pytest.mark.parametrize("name", sorted(READABLE))
def test_links_have_texts_that_read(name):
    """Neither the name of a file nor an address, and no word that means nothing by itself; no address outside of a link."""
    prose = re.sub(r"^```.*?^```|`[^`]*`(?!\])", "", READABLE[name], flags=re.MULTILINE | re.DOTALL)
    assert not bare_links(prose)
    assert not re.findall(r"(?<![(\w])https?://\S+", prose), "an address is not a text; make it a link"


def bare_links(prose):
    file = r"[\w./-]+\.(?:md|py|toml|html|json|css)|https?://.*|www\..*|here|this|link|click here"
    return [text for text, _ in LINK.findall(prose) if re.fullmatch(file, text.strip("` "), flags=re.IGNORECASE)]


def test_bare_links_are_seen():
    assert bare_links("see [notation.md](notation.md), [`docs/dca.md`](dca.md), [here](a.md)") == [
        "notation.md", "`docs/dca.md`", "here",
    ]  # fmt: skip
    assert not bare_links("see [notation](notation.md) and ![x.py](y.svg)")


# ------------------------------------------------------------------------------------------------- docstrings to Markdown


@pytest.fixture(scope="module")
def as_markdown():
    pytest.importorskip("griffe", reason="mkdocstrings is not installed (extra `docs`)")
    spec = importlib.util.spec_from_file_location("docstrings", DOCS / "docstrings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.as_markdown


def test_named_lines_become_a_list(as_markdown):
    text = (
        "Accelerations.\n\neffort: joint efforts [N·m],\n  shape (nv,). wrenches: as given.\nReturns them.\nCost: O(n)."
    )
    assert as_markdown(text, {"effort", "wrenches"}, 4) == (
        "Accelerations.\n\n- `effort`: joint efforts \\[N·m\\], shape (nv,).\n- `wrenches`: as given.\n\n"
        "Returns them.\n\nCost: O(n)."
    )


def test_only_names_of_the_object_begin_an_item(as_markdown):
    assert as_markdown("It says\nmeaning: nothing here.", {"effort"}, 4) == "It says meaning: nothing here."
    assert as_markdown("first and second: two.", {"first", "second"}, 4) == "- `first` and `second`: two."
    assert as_markdown("rest [rad], slack [m]: data", {"rest"}, 4) == "- `rest` \\[rad\\], slack \\[m\\]: data"


def test_a_line_that_was_full_goes_on(as_markdown):
    full = "x" * 100 + " ends (here)"
    assert as_markdown(f"{full}\nand goes on.", set(), 8) == f"{full} and goes on."
    assert as_markdown("Short.\nOn its own.", set(), 8) == "Short.\n\nOn its own."


def test_the_page_of_the_step_names_what_there_is():
    """Its files, the functions that it names in them, and its arrays."""
    text = PAGES["theory/step.md"]
    files = {path.relative_to(ROOT / "src/linkwork").as_posix(): path for path in (ROOT / "src/linkwork").rglob("*.py")}
    for named, functions in re.findall(r"`([\w/]+\.py)`(?:: ((?:`\w+`(?:, )?)+))?", text):
        found = [path for name, path in files.items() if f"/{name}".endswith(f"/{named}")]
        assert found, named
        for function in re.findall(r"\w+", functions):
            assert any(re.search(rf"def {function}\(", path.read_text(encoding="utf-8")) for path in found), function
    rows = ["|".join(row.split("|")[3:5]) for row in text.split("\n") if re.match(r"\| \d", row)]
    arrays = set(re.findall(r"\w+", " ".join(re.findall(r"`([a-z_, ]+)`", " ".join(rows)))))
    assert arrays <= set(Moving._fields), arrays - set(Moving._fields)
