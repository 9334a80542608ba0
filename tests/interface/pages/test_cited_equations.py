"""Equations are cited by page and number, in code and on other pages: the pages exist, and the numbers stand on them.

A page cites an equation of another page with its section, `[contact](contact.md#the-coupled-law), 17`: where equations are
numbered anew, an old number is one of another section, though it still stands on the page.
"""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
spec = importlib.util.spec_from_file_location("equations", DOCS / "equations.py")
equations = importlib.util.module_from_spec(spec)
spec.loader.exec_module(equations)

PAGE = re.compile(r"(?:docs/)?((?:theory/)?[a-z_]+)\.md")
# "equation (3)", "by (3)", "theory/x.md (3)", "theory/x.md, 3)", and "# (3)" behind a line
CITED = re.compile(
    r"(?:equations? |[Ee]q\. |\bby |\.md,? |# )\((\d+)\)(?= |,|\.|;|$)|(?<=\.md, )(\d+)(?=\))", re.MULTILINE
)
NUMBERS = r"\d+[a-z]?(?:(?:,| to| and)\s\d+[a-z]?)*"
# "[contact](contact.md#rows), 13 and 14" and "(13) of [contact](contact.md#rows)" between pages
BEHIND_A_LINK = re.compile(rf"\]\(([^)#\s]*\.md)(?:#([^)\s]+))?\)(?:,\s({NUMBERS})(?=[).,;:])|\s\(({NUMBERS})\))")
BEFORE_A_LINK = re.compile(
    rf"\(({NUMBERS})\)(?: (?:to|and) \((\d+)\))?\s(?:of|in)\s\[[^]]*\]\(([^)#\s]*\.md)(?:#([^)\s]+))?\)"
)
SECTION = re.compile(r"\]\(([^)#\s]*\.md)\),\ssection\s(\d+)")
# Numbers of the page itself: "by (3)", "(3) is", "(3, backwards)"; not those of a paper or of a file.
OWN = re.compile(r"(?<![\w\])`])\((\d{1,2}[a-z]?)(?=\)|, [a-z])(?!\)\s(?:of|to|and)\s)")
FILES = {
    path: text
    for path in sorted((ROOT / "src").rglob("*.py"))
    if PAGE.search(text := path.read_text(encoding="utf-8")) and "theory/" in text
}


def numbers_on(page: Path) -> set[str]:
    rows = [row for row in page.read_text(encoding="utf-8").split("\n") if row.startswith("    ")]
    found = {match[1] for row in rows if (match := equations.TAG.search(row))}
    return {re.sub(r"\D", "", number) for number in found} | set(re.findall(r"\((\d+)\)", "\n".join(rows)))


def dangling(text: str, root: Path = DOCS) -> list[str]:
    """Pages that are not there, and numbers that stand on none of the pages a file cites."""
    pages = {name for name in PAGE.findall(text) if name.startswith("theory/")}
    missing = [f"{name}.md" for name in sorted(pages) if not (root / f"{name}.md").is_file()]
    known: set[str] = set().union(*(numbers_on(root / f"{name}.md") for name in pages if f"{name}.md" not in missing))
    if not known:  # a page without numbered equations is cited as a whole
        return missing
    cited = [bracketed or plain for bracketed, plain in CITED.findall(text)]
    return missing + [f"({number})" for number in cited if number not in known]


def test_the_check_sees_a_number_that_is_not_there():
    assert dangling("docs/theory/dca.md\nx = 1  # (997)\n") == ["(997)"]
    assert dangling("what the law adds (docs/theory/dca.md, 997)") == ["(997)"]
    assert dangling("docs/theory/nowhere.md") == ["theory/nowhere.md"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT / "src" / "linkwork").as_posix())
def test_cited_equations_are_there(path):
    assert not dangling(FILES[path])


def prose(text: str) -> str:
    """A page without code, tables and equations."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`", "``", re.sub(r"^(?:\||    ).*$", "", text, flags=re.MULTILINE))


def slug(title: str) -> str:
    """The anchor of a heading, as the site makes it."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


def by_section(text: str) -> dict[str, set[str]]:
    """Numbers of the equations of each section, those of its subsections included."""
    found: dict[str, set[str]] = {}
    open_: list[tuple[int, str]] = []
    for row in re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split("\n"):
        if heading := re.match(r"(#+) (.*)", row):
            open_ = [(depth, name) for depth, name in open_ if depth < len(heading[1])]
            open_.append((len(heading[1]), slug(heading[2])))
            found.setdefault(open_[-1][1], set())
        elif tag := re.search(r"\s{2,}\((\d+[a-z]?)\)\s*$|[^.] \((\d+)\):$", row):  # an equation, or a table below
            for _, name in open_:
                found[name].add(tag[1] or tag[2])
    return found


def numbers_in(cited: str) -> list[str]:
    """ "5 to 7, 9" is 5, 6, 7, 9."""
    numbers: list[str] = []
    for part in re.split(r",\s|\sand\s", cited):
        first, _, last = re.sub(r"\s", " ", part).partition(" to ")
        numbers += [str(k) for k in range(int(first), int(last) + 1)] if last else [first]
    return numbers


def dangling_on_page(text: str, page: Path) -> list[str]:
    """Numbers that a page cites, of itself or of another one, and that do not stand where they should."""
    plain = prose(text)
    wrong = []
    cited = [(name, section, numbers or others) for name, section, numbers, others in BEHIND_A_LINK.findall(plain)]
    cited += [
        (name, section, f"{first} and {last}" if last else first)
        for first, last, name, section in BEFORE_A_LINK.findall(plain)
    ]
    for name, section, numbers in cited:
        other = (page.parent / name).resolve()
        known = by_section(other.read_text(encoding="utf-8")) if other.is_file() else {}
        if not section:
            wrong.append(f"{name}, {numbers}: the section is missing")
        there = known.get(section, set()) if section else set(numbers_in(numbers))
        wrong += [f"{name}#{section}, {number}" for number in numbers_in(numbers) if number not in there]
    for name, number in SECTION.findall(plain):
        headings = (page.parent / name).read_text(encoding="utf-8")
        if not re.search(rf"^#+ {number}\. ", headings, flags=re.MULTILINE):
            wrong.append(f"{name}, section {number}")
    own = set().union(*by_section(text).values()) if "\n#" in f"\n{text}" else set()
    return wrong + [f"({number})" for number in OWN.findall(plain) if number not in own]


OTHER = """# Law
## Rows

    u = J v            (2)

## The coupled law

    λ = P(λ - u)       (17)
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n([law](law.md#the-coupled-law), 17)", []),
        ("# A\nby (2) of [law](law.md#rows)", []),
        ("# A\n([law](law.md#the-coupled-law), 2)", ["law.md#the-coupled-law, 2"]),  # numbered anew: another equation
        ("# A\n([law](law.md), 17)", ["law.md, 17: the section is missing"]),
        ("# A\n([law](law.md#rows), 1 to 2)", ["law.md#rows, 1"]),
        ("# A\nas in [law](law.md), section 3", ["law.md, section 3"]),
        ("# A\n\n    a = b      (1)\n\nby (1), and by (3)", ["(3)"]),
        ("# A\n(16) of the paper", []),
    ],
)
def test_the_check_of_pages_sees_a_number_of_another_place(text, found, tmp_path):
    (tmp_path / "law.md").write_text(OTHER, encoding="utf-8")
    assert dangling_on_page(text, tmp_path / "a.md") == found


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_equations_that_pages_cite_are_there(page):
    assert not dangling_on_page(page.read_text(encoding="utf-8"), page)
