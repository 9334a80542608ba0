"""Typesets the equations of the theory pages as MathML when the site is built: no script, nothing fetched.

Equations are written in plain characters, as in the code: indented blocks with a tag such as (7) at their right. Digits
behind a letter are indices, raised and lowered characters are what they look like. Browsers lay MathML out themselves.
"""

from __future__ import annotations

import html
import re
from typing import Any

TAG = re.compile(r"\s{2,}(\(\d+[a-z]?\))\s*$")
RAISED = dict(
    zip(
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀᴬᴮᶜ",
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "−", "T", "A", "B", "C"],
        strict=True,
    )
)
LOWERED = dict(
    zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₙ", ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "i", "j", "k", "n"], strict=True)
)
PART = re.compile(
    rf"(?P<gap>\s{{2,}})|(?P<name>(?![{''.join(RAISED)}{''.join(LOWERED)}])[^\W\d_][\u0300-\u036f]*)(?P<index>\d*)(?:_(?P<under>\w+?(?=[^A-Za-z0-9]|$)))?(?P<low>[{''.join(LOWERED)}]*)(?P<high>[{''.join(RAISED)}]*)"
    rf"|(?P<number>\d+(?:\.\d+)?)|(?P<closing>[)\]|‖])(?P<power>[{''.join(RAISED)}]*)|(?P<word>[A-Za-z]{{3,}})|(?P<sign>\+=|×\*|\S)"
)
SIGNS = "=+-−≤≥→"
LONG = 14  # characters that are not cut
# A word, and what follows it where that is prose: its spaces stay.
WORD = re.compile(r"[A-Za-z]{3,}(?:_[A-Za-z]+)*(?: (?:of|a|the|to|in|and|per|by|at|its|that|is|[a-z]{3,})(?![\w(]))*")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Hook of mkdocs: blocks that hold a tagged equation become mathematics."""
    lines, out, block = markdown.split("\n"), [], []
    fenced = False
    for line in [*lines, ""]:
        fenced ^= line.startswith("```")
        if line.startswith("    ") and not fenced and (block or not out or not out[-1].strip()):
            block.append(line)
            continue
        if block:
            out += [typeset(block)] if any(TAG.search(row) for row in block) else block
            block = []
        out.append(line)
    return "\n".join(out[:-1] if out and out[-1] == "" else out)


def typeset(block: list[str]) -> str:
    rows = []
    for line in block:
        found = TAG.search(line)
        tag = found.group(1) if found else ""
        text = line[: found.start()] if found else line
        parts = "".join(f'<span class="part">{part_of_line(part)}</span>' for part in re.split(r"\s{2,}", text.strip()))
        rows.append(f'<div class="line">{parts}<span class="tag">{tag}</span></div>')
    return f'<div class="equation">{"".join(rows)}</div>'


def part_of_line(text: str) -> str:
    """One piece of mathematics for each stretch that may stand on a line of its own where the page is narrow."""
    return "".join(f'<math displaystyle="true">{row(stretch)}</math>' for stretch in stretches(text))


def stretches(text: str) -> list[str]:
    """A long equation cut before signs that stand outside of all brackets; the signs begin what follows."""
    found, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        is_sign = depth == 0 and letter in SIGNS and text[at - 1 : at] == text[at + 1 : at + 2] == " "
        if is_sign and at - begin >= LONG and len(text) - at >= LONG // 2:
            found.append(text[begin : at - 1])
            begin = at
    return [*found, text[begin:]]


def row(text: str) -> str:
    made, at = [], 0
    if text[:2].strip() in tuple(SIGNS):  # a sign that goes on from the line above keeps its room
        made.append(f'<mo form="infix">{html.escape(text[0])}</mo>')
        at = 1
    while at < len(text):
        word = WORD.match(text, at)
        if word:
            made.append(f"<mtext>{html.escape(word.group())}</mtext>")
            at = word.end()
            continue
        part = PART.match(text, at)
        if part is None:
            at += 1
            continue
        made.append(element(part))
        at = part.end()
    return f"<mrow>{''.join(made)}</mrow>"


def element(part: re.Match[str]) -> str:
    if part["gap"]:
        return '<mspace width="2em"></mspace>'
    if part["number"]:
        return f"<mn>{part['number']}</mn>"
    if part["closing"]:
        return scripted(f"<mo>{html.escape(part['closing'])}</mo>", "", "".join(RAISED[c] for c in part["power"]))
    if part["name"]:
        low = part["index"] + (part["under"] or "") + "".join(LOWERED[c] for c in part["low"])
        return scripted(f"<mi>{html.escape(part['name'])}</mi>", low, "".join(RAISED[c] for c in part["high"]))
    sign = part["word"] or part["sign"]
    if sign in RAISED:
        return f"<msup><mrow></mrow><mi>{RAISED[sign]}</mi></msup>"
    return f"<mo>{html.escape(LOWERED.get(sign, sign))}</mo>"


def scripted(base: str, low: str, high: str) -> str:
    if low and high:
        return f"<msubsup>{base}<mn>{low}</mn><mi>{high}</mi></msubsup>"
    if low:
        return f"<msub>{base}<mn>{low}</mn></msub>"
    return f"<msup>{base}<mi>{high}</mi></msup>" if high else base
