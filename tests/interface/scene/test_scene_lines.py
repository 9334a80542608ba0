"""Lines of keys in scene files, nasty ones included."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.scene_files import GOOD

from linkwork.scene.reading.lines import key_lines

NASTY = '''\
# a comment with = and [brackets]
a = 1 # [not.a.table]
"quoted.key" = "text with # no comment and [x] = y"
'literal \\ key' = 'C:\\path'
b.c."d.e" = [ 1, 2,
  3, # a comment with ] in it
  [ 4,
    5 ], "]", """ ] "" """,
]
long = """first
[no.table]
x = 1
"""
literal = \'\'\'
[[nor.this]]
''\'\'\'
table = { x = 1, "y" = { z = [1,
  2] } }
when = 1979-05-27 07:32:00
after = true

[plain]
key = 1

[ spaced . "out table" ]
key = -1.5e+3

[[list]]
x = 1
[list.inner]
y = 2
[[list.deep]]
z = 3
[[list.deep]]
z = 4

[[list]]
x = 5
[[list.deep]]
z = 6
"\\u00e9\\"" = 7
'''


def test_lines_of_nasty_files():
    lines = key_lines(NASTY)
    text = NASTY.splitlines()
    assert lines["a",] == 2
    assert lines["quoted.key",] == 3
    assert lines["literal \\ key",] == 4
    assert lines["b", "c", "d.e"] == 5
    assert lines["b", "c", "d.e", 2] == 6
    assert lines["b", "c", "d.e", 3, 1] == 8
    assert lines["b", "c", "d.e", 5] == 8
    for key in ("long", "literal", "table", "when", "after"):
        assert text[lines[key,] - 1].startswith(f"{key} =")
    assert lines["table", "y", "z", 1] == lines["table",] + 1
    assert text[lines["plain", "key"] - 1] == "key = 1"
    assert text[lines["spaced", "out table", "key"] - 1] == "key = -1.5e+3"
    for path, row in {
        ("list", 0, "x"): "x = 1", ("list", 0, "inner", "y"): "y = 2", ("list", 0, "deep", 1, "z"): "z = 4",
        ("list", 1, "x"): "x = 5", ("list", 1, "deep", 0, "z"): "z = 6",
    }.items():  # fmt: skip
        assert text[lines[path] - 1] == row
    assert lines["list", 1, "deep", 0, 'é"'] == len(text)
    assert text[lines["list", 1] - 1] == "[[list]]"
    assert lines["list", 1] > lines["list", 0]


def paths_of(value, path=()):
    """Every path into parsed TOML."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_of(inner, (*path, key))
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from paths_of(inner, (*path, k))


@pytest.mark.parametrize("text", [NASTY, NASTY.replace("\n", "\r\n"), GOOD])
def test_every_key_that_python_finds_has_a_line(text):
    lines = key_lines(text)
    found = set(paths_of(tomllib.loads(text)))
    assert found == set(lines)


keys = st.from_regex(r"\A[a-z]{1,3}\Z")
values = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)


def as_toml(value) -> str:
    """A value on one or several lines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[\n" + ",\n".join(as_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {as_toml(v)}' for k, v in value.items()) + " }"
    return str(value)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(keys, st.dictionaries(keys, values, max_size=4), min_size=1, max_size=4))
def test_lines_of_generated_files(tables):
    """Values with any strings inside never lead the scanner astray: keys stand on the lines they were written to."""
    text, expected = "", {}
    for name, table in tables.items():
        expected[name,] = text.count("\n") + 1
        text += f"[{name}]\n"
        for key, value in table.items():
            expected[name, key] = text.count("\n") + 1
            text += f"{key} = {as_toml(value)}\n"
    try:
        found = set(paths_of(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:  # JSON writes surrogates apart, which TOML refuses
        return
    lines = key_lines(text)
    assert set(lines) == found
    assert {path: lines[path] for path in expected} == expected
