"""Values that nobody means, and texts and bytes that were changed: the raw material of hostile inputs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

NUMBERS = (
    0,
    -1,
    1,
    7,
    0.5,
    -0.0,
    1e-320,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    -float("inf"),
    10**400,
    -(10**400),
    2**63,
)
WORDS = (
    "nan",
    "inf",
    "-1",
    "1e999",
    "9" * 400,
    "²",
    "0x10",
    "",
    " ",
    "[bold]",
    "[/]",
    "\x00",
    "é",
    "%s",
    "{}",
    "../..",
    "NaN",
)


def odd_value(rng: random.Random) -> Any:
    """Anything but what is asked for, most of the time."""
    makers = (
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(WORDS),
        lambda: rng.choice((None, True, False, b"q", 1j, (), [], {}, {"q": 1}, object(), set(), range(3), int)),
        lambda: [rng.choice(NUMBERS) for _ in range(rng.randrange(8))],
        lambda: np.full(
            rng.choice(((), (0,), (3,), (6,), (3, 3), (2, 6), (1, 1, 1))), rng.choice((0.0, 1.0, np.nan, np.inf))
        ),
        lambda: np.array([rng.choice(("a", None, 1.0))] * rng.randrange(1, 4), dtype=object),
        lambda: [[1.0], [1.0, 2.0]],
    )
    return rng.choice(makers)()


def changed_text(text: str, rng: random.Random) -> str:
    """A text with one to three changes: words exchanged, numbers made extreme, lines moved, removed or doubled."""
    for _ in range(rng.randrange(1, 4)):
        lines = text.split("\n")
        k = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            lines[k] = lines[rng.randrange(len(lines))]
        elif kind == 1:
            del lines[k]
        elif kind == 2:
            lines.insert(k, lines[k])
        elif kind == 3:
            words = lines[k].split(" ")
            words[rng.randrange(len(words))] = str(rng.choice((*WORDS, *map(str, NUMBERS[:12]))))
            lines[k] = " ".join(words)
        elif kind == 4 and lines[k]:
            at = rng.randrange(len(lines[k]))
            lines[k] = lines[k][:at] + rng.choice("0-.e<>\"'[]{}=\x00é ") + lines[k][at + rng.randrange(2) :]
        else:
            lines = lines[: k + 1]
        text = "\n".join(lines)
    return text


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes with a bit flipped, cut short, or a part doubled."""
    kind = rng.randrange(4) if data else 3
    at = rng.randrange(len(data)) if data else 0
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at : at + 16] + data[at:]
    if kind == 2:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return b""
