"""Faults of a scene: gathered with the line or the setting they come from, reported together."""

from __future__ import annotations

from collections.abc import Mapping

from linkwork.errors import FormatError
from linkwork.scene.reading.lines import KeyPath, Lines


def dotted(path: KeyPath) -> str:
    """("load", 0, "force", 2) → load[0].force[2]"""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class Faults:
    """What is wrong with a scene, each fault at a path into it.

    lines: of the file the scene came from. settings: the words of overrides, by the path they set.
    """

    def __init__(self, source: str, lines: Lines | None = None, settings: Mapping[KeyPath, str] | None = None):
        self.source = source
        self._lines = lines or {}
        self._settings = dict(settings or {})
        self._found: list[tuple[int, int, str]] = []

    def add(self, path: KeyPath, message: str) -> None:
        line, where = self._where(path)
        self._found.append((line, len(self._found), f"{where}: {message}"))

    def where(self, path: KeyPath) -> str:
        return self._where(path)[1]

    def _where(self, path: KeyPath) -> tuple[int, str]:
        """file:line or --set of the nearest part of the path that has one; settings stand behind all lines."""
        for k in range(len(path), -1, -1):
            if path[:k] in self._settings:
                return 10**9, f"--set {self._settings[path[:k]]}"
            if path[:k] in self._lines:
                line = self._lines[path[:k]]
                return line, f"{self.source}:{line}"
        return 0, self.source

    def __len__(self) -> int:
        return len(self._found)

    def raise_all(self) -> None:
        if self._found:
            count = "1 fault" if len(self._found) == 1 else f"{len(self._found)} faults"
            raise FormatError(f"{self.source}: {count}", [message for *_, message in sorted(self._found)])
