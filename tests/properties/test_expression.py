"""Expressions of scenes: the same numbers as Python's, faults with their column, and no way to anything else."""

import math
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.errors import LinkworkError, StateError
from linkwork.scene.reading.expression import DEEPEST, FUNCTIONS, LONGEST, Expression, ExpressionError

# Names as Python knows them; the scene's own spelling stands beside.
PYTHON = {
    "clamp": lambda x, low, high: min(high, max(low, x)),
    "step": lambda x: 1.0 if x >= 0 else 0.0,
    "pulse": lambda x, start, length: 1.0 if start <= x < start + length else 0.0,
    "smoothstep": lambda x, a, b: (
        (0.0 if x < a else 1.0) if a >= b else (lambda s: s * s * (3 - 2 * s))(min(1.0, max(0.0, (x - a) / (b - a))))
    ),
    "If": lambda c, a, b: a if c else b,
    "floor": lambda x: float(math.floor(x)),
    "abs": abs, "min": min, "max": max, "pi": math.pi, "pow": math.pow, "flag": float,
    **{name: getattr(math, name) for name in
       ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")},
}  # fmt: skip

numbers = st.floats(min_value=0.0, max_value=50.0, allow_nan=False).map(lambda x: (repr(x), repr(x)))
leaves = st.one_of(numbers, st.sampled_from([("t", "t"), ("i", "i"), ("pi", "pi"), (".5", "0.5"), ("2e-3", "2e-3")]))
BLANKS = st.sampled_from(["", " ", "  "])


@st.composite
def pairs(draw, inner):
    """An expression in both spellings, fully bracketed or not."""
    kind = draw(st.sampled_from(["sum", "product", "sign", "power", "comparison", "call", "brackets", "chain"]))
    a, b, c = draw(inner), draw(inner), draw(inner)
    gap = draw(BLANKS)
    if kind == "sum":
        sign = draw(st.sampled_from("+-"))
        return f"({a[0]}{gap}{sign}{gap}{b[0]})", f"({a[1]} {sign} {b[1]})"
    if kind == "product":
        sign = draw(st.sampled_from("*/"))
        return f"({a[0]}{gap}{sign}{gap}{b[0]})", f"({a[1]} {sign} {b[1]})"
    if kind == "sign":
        return f"(-{gap}{a[0]})", f"(-{a[1]})"
    if kind == "power":
        return f"({a[0]}{gap}^{gap}{b[0]})", f"pow({a[1]}, {b[1]})"
    if kind == "comparison":
        sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
        return f"({a[0]}{gap}{sign}{gap}{b[0]})", f"flag({a[1]} {sign} {b[1]})"
    if kind == "brackets":
        return f"({gap}{a[0]}{gap})", f"({a[1]})"
    if kind == "chain":  # precedence without brackets: the leaves carry their own
        return f"({a[0]} + {b[0]} * {c[0]} - {a[0]})", f"({a[1]} + {b[1]} * {c[1]} - {a[1]})"
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    size = FUNCTIONS[name].least
    parts = [a, b, c][:size]
    other = {"if": "If"}.get(name, name)
    return f"{name}({', '.join(p[0] for p in parts)})", f"{other}({', '.join(p[1] for p in parts)})"


expressions = st.recursive(leaves, pairs, max_leaves=12)


@settings(max_examples=400, deadline=None)
@given(expressions, st.floats(min_value=-10.0, max_value=10.0), st.integers(min_value=0, max_value=9))
def test_the_same_numbers_as_python(pair, t, i):
    """Generated expressions in both spellings; Python evaluates its own under the same names, and nothing else."""
    ours, python = pair
    try:
        expected = float(eval(python, {"__builtins__": {}}, {**PYTHON, "t": t, "i": float(i)}))
    except (ValueError, ZeroDivisionError, OverflowError):
        expected = math.nan
    expression = Expression(ours, ("t", "i"))
    if math.isfinite(expected):
        assert expression(t=t, i=float(i)) == expected  # the same operations in the same order: not a bit apart
    else:
        with pytest.raises(StateError, match="no finite value"):
            expression(t=t, i=float(i))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^3^2", 512.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("8/4/2", 1.0),
        ("1-2-3", -4.0),
        ("1 + 2*3 < 8", 1.0),
        ("if(t > 1, log(t), 0)", 0.0),  # log(0) is never asked for
        ("if(1, 5, 1/0)", 5.0),
        ("pulse(0.5, 0, 1) + pulse(1, 0, 1)", 1.0),
        ("clamp(7, -1, 1)", 1.0),
        ("smoothstep(0.5, 0, 1)", 0.5),
        ("step(0) + step(-1e-9)", 1.0),
        ("max(1, 2, 3) - min(4, 5, 6)", -1.0),
        ("1e3 + .5 + 2.", 1002.5),
    ],
)
def test_values(text, value):
    assert Expression(text)(t=0.0) == value


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "ends here"),
        ("1 +", 4, "ends here"),
        ("sin(t", 6, "is missing"),
        ("(1 + 2", 7, "column 1"),
        ("1 + + ", 6, "ends here"),
        ("2 ** 3", 4, "^"),
        ("t t", 3, "not expected"),
        ("2t", 2, "A product needs its sign"),
        ("2(t + 1)", 2, "A product needs its sign"),
        ("sine(t)", 1, "did you mean 'sin'"),
        ("x + 1", 1, "there is no 'x'; there are t"),
        ("sin", 1, "sin(x)"),
        ("sin(1, 2)", 1, "sin(x)"),
        ("clamp(1)", 1, "clamp(x, low, high)"),
        ("1 < 2 < 3", 7, "not expected"),
        ("3 $ 4", 3, "no meaning"),
        ("t.real", 2, "no meaning"),
        ("1e999", 1, "too large"),
        ("max(1,)", 7, "a number, a name"),
    ],
)
def test_faults_give_their_column(text, column, words):
    with pytest.raises(ExpressionError) as caught:
        Expression(text)
    assert caught.value.column == column
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "open(t)", "t.__class__", "().__class__", "[t]", "{t}", "t if t else t", "lambda: 1", "t; t",
        "exec(1)", "eval(1)", "'a'", '"a"', "print(1)", "f'{t}'", "t := 1", "t = 1", "0x10", "1_000", "1j", "~t", "t % 2",
        "t // 2", "t and t", "not t", "True", "None", "t @ t", "t[0]", "globals()", "\\", "`t`", "#", "sin.real", "π",
    ],
)  # fmt: skip
def test_nothing_else_is_reachable(text):
    with pytest.raises(ExpressionError):
        Expression(text)


@given(st.text(max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_number_or_a_linkwork_error(text):
    with suppress(LinkworkError):
        assert math.isfinite(Expression(text)(t=0.7))


def test_depth_and_length_are_limited():
    """Deep nesting is refused before it could exhaust Python's stack; long flat sums are not deep."""
    Expression("(" * DEEPEST + "1" + ")" * DEEPEST)
    for deep in ("(" * 500 + "1" + ")" * 500, "-" * 500 + "1", "^".join(["1"] * 500), "sin(" * 300 + "1" + ")" * 300):
        with pytest.raises(ExpressionError, match="levels deep"):
            Expression(deep)
    assert Expression("+".join(["1"] * 900))(t=0.0) == 900.0
    with pytest.raises(ExpressionError, match="at most"):
        Expression("1" * (LONGEST + 1))


def test_used_variables_are_known():
    """What does not depend on time is evaluated once, so what depends on it must be known."""
    assert Expression("sin(t) + i", ("t", "i", "n")).used == {"t", "i"}
    assert Expression("2*pi").used == frozenset()
