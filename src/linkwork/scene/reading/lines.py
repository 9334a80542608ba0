"""On which line of a TOML file each key stands. Python's parser gives values without lines, and messages need them.

The scanner trusts the text: it is used only after `tomllib` has accepted it. Paths are tuples of keys and, inside arrays
and arrays of tables, of indices: ("load", 0, "force", 2).
"""

from __future__ import annotations

import re

KeyPath = tuple[str | int, ...]
Lines = dict[KeyPath, int]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PLAIN = re.compile(r"[^\s,\]}#]+")  # numbers, booleans, dates without their blank
_CLOCK = re.compile(r" [0-9]{2}:")  # a date and its time may have a blank between them
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\", "e": "\x1b"}


def key_lines(text: str) -> Lines:
    """Line of every table, key and array element of a valid TOML document; lines count from 1."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str):
        self.text = text.replace("\r\n", "\n")
        self.place = 0
        self.line = 1
        self.counted = 0  # up to where lines have been counted
        self.lines: Lines = {}
        self.counts: dict[KeyPath, int] = {}  # elements of arrays of tables so far

    def scan(self) -> Lines:
        table: KeyPath = ()
        while True:
            self.skip(_BLANK)
            if self.place >= len(self.text):
                return self.lines
            if self.text[self.place] == "[":
                table = self.header()
            else:
                self.key_value(table)

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.place)
        self.place = found.end() if found else self.place

    def here(self) -> int:
        self.line += self.text.count("\n", self.counted, self.place)
        self.counted = self.place
        return self.line

    def note(self, path: KeyPath) -> None:
        line = self.here()
        for k in range(1, len(path) + 1):
            self.lines.setdefault(path[:k], line)

    def header(self) -> KeyPath:
        is_array = self.text.startswith("[[", self.place)
        line = self.here()
        self.place += 2 if is_array else 1
        keys = self.dotted()
        self.place += 2 if is_array else 1
        path: KeyPath = ()
        for k, key in enumerate(keys):
            path += (key,)
            if k < len(keys) - 1 or not is_array:
                if path in self.counts:  # a table inside the last element of an array of tables
                    path += (self.counts[path] - 1,)
                continue
            index = self.counts.get(path, 0)
            self.counts[path] = index + 1
            self.note(path)
            path += (index,)
        self.note(path)
        self.lines[path] = line
        return path

    def dotted(self) -> list[str]:
        keys = []
        while True:
            self.skip(_SPACE)
            keys.append(self.key())
            self.skip(_SPACE)
            if self.text[self.place : self.place + 1] != ".":
                return keys
            self.place += 1

    def key(self) -> str:
        if self.text[self.place] in "\"'":
            return self.string()
        found = _BARE.match(self.text, self.place)
        assert found is not None
        self.place = found.end()
        return found.group()

    def string(self) -> str:
        """The string that begins here; escapes are undone as far as keys need it."""
        quote = self.text[self.place]
        if self.text.startswith(quote * 3, self.place):
            self.place = self.end_of_long_string(quote)
            return ""
        start = self.place = self.place + 1
        while self.text[self.place] != quote:
            self.place += 2 if quote == '"' and self.text[self.place] == "\\" else 1
        raw = self.text[start : self.place]
        self.place += 1
        return raw if quote == "'" else _unescaped(raw)

    def end_of_long_string(self, quote: str) -> int:
        place = self.place + 3
        while not self.text.startswith(quote * 3, place):
            place += 2 if quote == '"' and self.text[place] == "\\" else 1
        place += 3
        while self.text.startswith(quote, place) and place < len(self.text):  # quotes may stand right before the end
            place += 1
        return place

    def key_value(self, table: KeyPath) -> None:
        self.here()
        path = table + tuple(self.dotted())
        self.note(path)
        self.place += 1  # the equals sign
        self.skip(_SPACE)
        self.value(path)

    def value(self, path: KeyPath) -> None:
        opening = self.text[self.place]
        if opening in "\"'":
            self.string()
        elif opening == "[":
            self.array(path)
        elif opening == "{":
            self.inline_table(path)
        else:
            self.skip(_PLAIN)
            if _CLOCK.match(self.text, self.place):
                self.place += 1
                self.skip(_PLAIN)

    def array(self, path: KeyPath) -> None:
        self.place += 1
        index = 0
        while True:
            self.skip(_BLANK)
            if self.text[self.place] == "]":
                self.place += 1
                return
            if self.text[self.place] == ",":
                self.place += 1
                continue
            self.note((*path, index))
            self.value((*path, index))
            index += 1

    def inline_table(self, path: KeyPath) -> None:
        self.place += 1
        while True:
            self.skip(_BLANK)
            if self.text[self.place] == "}":
                self.place += 1
                return
            if self.text[self.place] == ",":
                self.place += 1
                continue
            self.key_value(path)


def _unescaped(raw: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found.group(1)
        return chr(int(code[1:], 16)) if code[0] in "uUx" else _ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)", character, raw)
