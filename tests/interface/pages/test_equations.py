"""Equations of the theory pages: tagged blocks become MathML, everything else stays as it was written."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
spec = importlib.util.spec_from_file_location("equations", DOCS / "equations.py")
equations = importlib.util.module_from_spec(spec)
spec.loader.exec_module(equations)


def test_tagged_block_is_typeset():
    made = equations.on_page_markdown("Text\n\n    Φ21 = Φ12ᵀ W₀⁻¹ (a + b)²      (1)\n\nmore\n")
    assert "<msub><mi>Φ</mi><mn>21</mn></msub>" in made
    assert "<msubsup><mi>Φ</mi><mn>12</mn><mi>T</mi></msubsup>" in made
    assert "<msubsup><mi>W</mi><mn>0</mn><mi>−1</mi></msubsup>" in made
    assert "<msup><mo>)</mo><mi>2</mi></msup>" in made
    assert '<span class="tag">(1)</span>' in made
    assert made.startswith("Text\n")
    assert "\nmore" in made


def test_words_keep_their_spaces():
    assert "<mtext>own terms of a body</mtext>" in equations.row("own terms of a body")
    assert "<mtext>max</mtext>" in equations.row("max E1")


def test_long_equations_can_go_on_in_another_line():
    assert equations.stretches("b1 = b1ᴬ - YᵀD⁻¹ G_Y - kᵀN⁻¹Q") == ["b1 = b1ᴬ - YᵀD⁻¹ G_Y", "- kᵀN⁻¹Q"]
    assert equations.stretches("a = (first + second + third)") == [
        "a = (first + second + third)"
    ]  # not inside brackets
    assert '<mo form="infix">-</mo>' in equations.row("- kᵀN⁻¹Q")


@pytest.mark.parametrize(
    "text", ["    pip install this\n", "```\n    a = b     (1)\n```\n", "- item\n    goes on     (1)\n"]
)
def test_other_blocks_stay(text):
    assert equations.on_page_markdown(f"{text}\nend").startswith(text)


@pytest.mark.parametrize("page", sorted(DOCS.glob("theory/*.md")), ids=lambda page: page.stem)
def test_no_character_of_an_equation_is_lost(page):
    """What stands between the tags of MathML stands in the page, spaces, underscores and raised letters aside."""
    for block in re.findall(r"(?:^    .*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        rows = block.rstrip("\n").split("\n")
        if any(equations.TAG.search(row) for row in rows):
            shown = equations.html.unescape(re.sub(r"<[^>]*>", "", equations.typeset(rows)))
            plain = "".join({**equations.RAISED, **equations.LOWERED}.get(c, c) for c in block)
            assert sorted(re.sub(r"[\s_]", "", shown)) == sorted(re.sub(r"[\s_]", "", plain)), block


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_an_equation_has_a_number_of_its_own(page):
    """Code cites equations by page and number."""
    rows = [row for row in page.read_text(encoding="utf-8").split("\n") if row.startswith("    ")]
    tags = [found[1] for row in rows if (found := equations.TAG.search(row))]
    assert not [tag for tag in tags if tags.count(tag) > 1]


def test_the_page_of_contact_numbers_its_equations_in_order():
    """The page follows a step from its beginning to its end."""
    rows = (DOCS / "theory/contact.md").read_text(encoding="utf-8").split("\n")
    numbers = [int(found[1].strip("()")) for row in rows if (found := equations.TAG.search(row))]
    assert numbers == list(range(1, len(numbers) + 1))


def untagged(text: str) -> list[str]:
    """Blocks of equations, indented and outside of code, that have no number."""
    blocks = re.findall(
        r"(?:(?<=\n\n)|^)(?:    \S.*\n|     +\S.*\n)+", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    )
    return [
        block
        for block in blocks
        if re.search(r"[=←]", block) and not any(equations.TAG.search(row) for row in block.split("\n"))
    ]


def test_the_check_sees_an_equation_without_a_number():
    assert untagged("Text\n\n    a = b + c\n\nmore\n") == ["    a = b + c\n"]
    assert untagged("Text\n\n    a = b + c      (1)\n\nmore\n") == []
    assert untagged("Text\n\n```\n\n    a = b\n```\n") == []


@pytest.mark.parametrize("page", sorted(DOCS.glob("theory/*.md")), ids=lambda page: page.stem)
def test_every_equation_of_the_theory_has_a_number(page):
    assert not untagged(page.read_text(encoding="utf-8"))
