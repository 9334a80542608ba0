"""Expressions of scene files: a small grammar with its own parser. Nothing but the functions below is reachable.

    comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]        1 where it holds, 0 where not
    sum        = term {("+" | "-") term}
    term       = sign {("*" | "/") sign}
    sign       = ("-" | "+") sign | power
    power      = atom ["^" sign]                                          from the right: 2^3^2 = 2^9
    atom       = number | name | name "(" comparison {"," comparison} ")" | "(" comparison ")"

A parsed expression is a tree of closures: each takes the variables and returns a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.errors import LinkworkError, StateError

Variables = Mapping[str, float]
Node = Callable[[Variables], float]

LONGEST = 2000  # characters: more is a program, and belongs into Python
DEEPEST = 60  # nested parentheses, signs and powers: far inside Python's own limit of recursion

CONSTANTS = {"pi": math.pi}


class ExpressionError(LinkworkError):
    """An expression that does not follow the grammar; `column` counts from 1."""

    def __init__(self, text: str, column: int, message: str):
        self.text, self.column = text, column
        shown = text if len(text) <= 60 else text[:57] + "..."
        super().__init__(f'"{shown}", column {column}: {message}')


# --------------------------------------------------------------------------------------------------------------- functions


def _step(x: float) -> float:
    return 1.0 if x >= 0.0 else 0.0


def _pulse(x: float, start: float, length: float) -> float:
    return 1.0 if start <= x < start + length else 0.0


def _smoothstep(x: float, start: float, end: float) -> float:
    """0 before `start`, 1 after `end`, and 3s² - 2s³ between: its slope is continuous."""
    if start >= end:
        return _step(x - start)
    s = min(1.0, max(0.0, (x - start) / (end - start)))
    return s * s * (3.0 - 2.0 * s)


def _clamp(x: float, low: float, high: float) -> float:
    return min(high, max(low, x))


class Function(NamedTuple):
    least: int  # arguments
    most: int
    call: Callable[..., float]
    usage: str


MANY = 100  # arguments of min and max
FUNCTIONS: dict[str, Function] = {
    **{
        name: Function(1, 1, getattr(math, name), f"{name}(x)")
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")
    },
    "abs": Function(1, 1, abs, "abs(x)"),
    "floor": Function(1, 1, lambda x: float(math.floor(x)), "floor(x)"),
    "min": Function(2, MANY, min, "min(a, b, ...)"),
    "max": Function(2, MANY, max, "max(a, b, ...)"),
    "clamp": Function(3, 3, _clamp, "clamp(x, low, high)"),
    "step": Function(1, 1, _step, "step(x)"),
    "pulse": Function(3, 3, _pulse, "pulse(t, start, length)"),
    "smoothstep": Function(3, 3, _smoothstep, "smoothstep(t, start, end)"),
    "if": Function(3, 3, lambda c, a, b: a if c else b, "if(condition, a, b)"),
}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}

# ------------------------------------------------------------------------------------------------------------------ tokens

TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<sign><=|>=|==|!=|[-+*/^(),<>])
    )""",
    re.VERBOSE,
)


class Token(NamedTuple):
    kind: str  # "number", "name", "sign" or "end"
    text: str
    column: int


def _tokens(text: str) -> list[Token]:
    found, place = [], 0
    while text[place:].strip():
        match = TOKEN.match(text, place)
        if match is None:
            start = place + len(text[place:]) - len(text[place:].lstrip())
            raise ExpressionError(text, start + 1, f"{text[start]!r} has no meaning here.")
        kind = str(match.lastgroup)
        found.append(Token(kind, match[kind], match.start(kind) + 1))
        place = match.end()
    found.append(Token("end", "", len(text.rstrip()) + 1))
    return found


# ------------------------------------------------------------------------------------------------------------------ parser


class _Parser:
    """Recursive descent: a method for each line of the grammar."""

    calls: ClassVar[Mapping[str, Callable[..., Any]]] = {}  # other functions for the same names

    def __init__(self, text: str, variables: Collection[str]):
        self.text, self.variables = text, variables
        self.tokens, self.place, self.depth = _tokens(text), 0, 0
        self.used: set[str] = set()

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def fail(self, message: str, token: Token | None = None) -> ExpressionError:
        return ExpressionError(self.text, (token or self.token).column, message)

    def take(self, *signs: str) -> str | None:
        """The sign that comes next, if it is one of these."""
        if self.token.kind == "sign" and self.token.text in signs:
            self.place += 1
            return self.tokens[self.place - 1].text
        return None

    def whole(self) -> Node:
        node = self.comparison()
        if self.token.kind != "end":
            hint = " Powers are written with ^." if self.token.text == "*" else ""
            if self.token.kind in ("number", "name") or self.token.text == "(":
                hint = " A product needs its sign: 2*t."
            raise self.fail(f"'{self.token.text}' is not expected here.{hint}")
        return node

    def deeper(self, parse: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail(f"more than {DEEPEST} levels deep; write it in parts.")
        node = parse()
        self.depth -= 1
        return node

    def comparison(self) -> Node:
        left = self.sum()
        sign = self.take(*COMPARISONS)
        if sign is None:
            return left
        right, compare = self.sum(), COMPARISONS[sign]
        return lambda env: 1.0 if compare(left(env), right(env)) else 0.0

    def sum(self) -> Node:
        parts = [(1.0, self.term())]
        while sign := self.take("+", "-"):
            parts.append((1.0 if sign == "+" else -1.0, self.term()))
        return _sum_of(parts) if len(parts) > 1 else parts[0][1]

    def term(self) -> Node:
        parts = [("*", self.sign())]
        while sign := self.take("*", "/"):
            parts.append((sign, self.sign()))
        return _product_of(parts) if len(parts) > 1 else parts[0][1]

    def sign(self) -> Node:
        found = self.take("-", "+")
        if found is None:
            return self.power()
        inner = self.deeper(self.sign)
        return inner if found == "+" else lambda env: -inner(env)

    def power(self) -> Node:
        base = self.atom()
        if self.take("^") is None:
            return base
        exponent = self.deeper(self.sign)
        return lambda env: math.pow(base(env), exponent(env))

    def atom(self) -> Node:
        token = self.token
        if self.take("("):
            node = self.deeper(self.comparison)
            if not self.take(")"):
                raise self.fail(f"a ')' is missing for the '(' in column {token.column}.")
            return node
        self.place += token.kind != "end"
        if token.kind == "number":
            return self.number(token)
        if token.kind == "name":
            return self.call(token) if self.token.text == "(" else self.variable(token)
        what = "the expression ends here" if token.kind == "end" else f"'{token.text}' stands here"
        hint = " Powers are written with ^." if token.text == "*" else ""
        raise self.fail(f"a number, a name or '(' is expected, but {what}.{hint}", token)

    def number(self, token: Token) -> Node:
        value = float(token.text)
        if not math.isfinite(value):
            raise self.fail(f"{token.text} is too large for a number.", token)
        return lambda env: value

    def variable(self, token: Token) -> Node:
        name = token.text
        if name in CONSTANTS:
            value = CONSTANTS[name]
            return lambda env: value
        if name in FUNCTIONS:
            raise self.fail(f"{name} is a function: write {FUNCTIONS[name].usage}.", token)
        if name not in self.variables:
            raise self.fail(
                f"there is no '{name}'{_hint(name, [*self.variables, *CONSTANTS])}",
                token,
            )
        self.used.add(name)
        return lambda env: env[name]

    def call(self, token: Token) -> Node:
        function = FUNCTIONS.get(token.text)
        if function is None:
            raise self.fail(
                f"there is no function '{token.text}'{_hint(token.text, FUNCTIONS)}",
                token,
            )
        self.take("(")
        arguments: list[Node] = []
        while not self.take(")"):
            if arguments and not self.take(","):
                raise self.fail(f"a ')' or ',' is missing in {token.text}(...).")
            arguments.append(self.deeper(self.comparison))
        if not function.least <= len(arguments) <= function.most:
            raise self.fail(f"{len(arguments)} arguments are given; write {function.usage}.", token)
        if token.text == "if":
            condition, yes, no = arguments
            return lambda env: yes(env) if condition(env) else no(env)  # the other side may be undefined
        call = self.calls.get(token.text, function.call)
        if len(arguments) == 1:
            (only,) = arguments
            return lambda env: call(only(env))
        return lambda env: call(*[argument(env) for argument in arguments])


def _hint(name: str, known: Iterable[str]) -> str:
    """Names here are short, so that a likeness of a half is much; and few, so that all can be listed."""
    return did_you_mean_or_list(name, known, shown=100, cutoff=0.5)


def _sum_of(parts: list[tuple[float, Node]]) -> Node:
    """Flat, so that a thousand terms do not make a thousand levels."""

    def node(env: Variables) -> float:
        total = parts[0][1](env)
        for sign, part in parts[1:]:
            total = total + sign * part(env)
        return total

    return node


def _product_of(parts: list[tuple[str, Node]]) -> Node:
    def node(env: Variables) -> float:
        total = parts[0][1](env)
        for sign, part in parts[1:]:
            total = total * part(env) if sign == "*" else total / part(env)
        return total

    return node


# ----------------------------------------------------------------------------------------------------- many at one moment


def _smoothsteps(x: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    s = np.clip((x - start) / (end - start), 0.0, 1.0)
    return np.asarray(np.where(start >= end, x >= start, s * s * (3.0 - 2.0 * s)))


VECTOR_CALLS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs")},
    "floor": np.floor,
    "clamp": lambda x, low, high: np.minimum(high, np.maximum(low, x)),
    "smoothstep": _smoothsteps,
}


class _VectorParser(_Parser):
    """The same grammar for variables that are arrays; NotImplementedError for the parts that have no such form."""

    calls = VECTOR_CALLS

    def comparison(self) -> Node:
        node = self.sum()
        if self.token.text in COMPARISONS:
            raise NotImplementedError
        return node

    def power(self) -> Node:
        base = self.atom()
        if self.take("^"):
            raise NotImplementedError
        return base

    def call(self, token: Token) -> Node:
        if token.text not in VECTOR_CALLS:
            raise NotImplementedError
        return super().call(token)


def vector_form(text: str, variables: Collection[str]) -> Callable[[Mapping[str, Any]], Any] | None:
    """An expression that is known to be sound as a function of arrays, evaluated at once; None where it has no such form.

    Where it is not defined the result is not finite.
    """
    try:
        node = _VectorParser(text, variables).whole()
    except NotImplementedError:
        return None
    return node


# ------------------------------------------------------------------------------------------------------------- interface


class Expression:
    """A parsed expression: call it with its variables by name.

    variables: names it may use; `used` are those it does.
    Raises ExpressionError with the column of the first fault.
    """

    def __init__(self, text: str, variables: Collection[str] = ("t",)):
        if len(text) > LONGEST:
            raise ExpressionError(text, LONGEST + 1, f"{len(text)} characters; at most {LONGEST} are read.")
        parser = _Parser(text, variables)
        self.text = text
        self._node = parser.whole()
        self.used = frozenset(parser.used)

    def __call__(self, **variables: float) -> float:
        try:
            value = float(self._node(variables))
        except (ValueError, ZeroDivisionError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            where = ", ".join(f"{name} = {variables[name]:g}" for name in sorted(self.used)) or "any time"
            raise StateError(f'"{self.text}" has no finite value at {where}; keep it away from there with if(...).')
        return value

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"
