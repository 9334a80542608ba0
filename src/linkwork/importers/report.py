"""What an importer found: faults that make a file unreadable, and notes on what could not be kept."""

from __future__ import annotations

from pathlib import Path

from linkwork.errors import FormatError

LINES_SHOWN = 3  # of a group of like notes; the count stands for the rest


class Report:
    """Gathers faults and notes with their lines, so that all are reported together, in the order of the file."""

    def __init__(self, file: str | Path):
        self.file = str(file)
        self._faults: list[tuple[int, str]] = []
        self._notes: dict[tuple[str, str], list[tuple[int, str]]] = {}

    def where(self, line: int) -> str:
        """file:line; a line below 1 is unknown (an included file, a whole model)."""
        return f"{self.file}:{line}" if line > 0 else self.file

    def fault(self, line: int, message: str) -> None:
        self._faults.append((line, message))

    def note(self, line: int, subject: str, reason: str, *, group: str | None = None) -> None:
        """Something that is not kept. Notes of one `group` and reason become one line that counts them."""
        self._notes.setdefault((group or f"{line} {subject}", reason), []).append((line, subject))

    @property
    def fault_count(self) -> int:
        return len(self._faults)

    def raise_faults(self) -> None:
        if self._faults:
            found = sorted(self._faults, key=lambda fault: fault[0])
            count = "1 fault" if len(found) == 1 else f"{len(found)} faults"
            raise FormatError(f"{self.file}: {count}", [f"{self.where(line)}: {message}" for line, message in found])

    def warnings(self) -> list[str]:
        groups = sorted(self._notes.items(), key=lambda item: item[1][0][0])
        return [f"{self._headed(found)}: {reason}" for (_, reason), found in groups]

    def _headed(self, found: list[tuple[int, str]]) -> str:
        (line, subject), *others = found
        text = f"{self.where(line)}: {subject}"
        if others:
            text += f" and {len(others)} more like it"
            lines = sorted({other for other, _ in others if other > 0} - {line})
            if lines:
                shown = ", ".join(map(str, lines[:LINES_SHOWN])) + (", ..." if len(lines) > LINES_SHOWN else "")
                text += f" (line{'s' if len(lines) > 1 else ''} {shown})"
        return text
