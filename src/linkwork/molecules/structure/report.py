"""What was done to a structure on the way to a linkage: one line per change, nothing in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from linkwork.core.messages.describe import tabled


@tabled
class Change(NamedTuple):
    kind: str  # "altloc", "ligand", "water", "ion", "hydrogens", "residue", "gap", "end", "atoms", "protonation", ...
    where: str  # chain:residue, a chain, or "" for the whole structure
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where + ': ' if self.where else ''}{self.what}"


@tabled
@dataclass
class PreparationReport:
    """Every change that was made, in the order it was made."""

    source: str
    changes: list[Change] = field(default_factory=list)

    def note(self, kind: str, where: str, what: str) -> None:
        self.changes.append(Change(kind, where, what))

    def of(self, kind: str) -> list[Change]:
        return [change for change in self.changes if change.kind == kind]

    def summary(self) -> str:
        """One line: how many changes of each kind."""
        counts = Counter(change.kind for change in self.changes)
        return f"{self.source}: " + (", ".join(f"{n} {kind}" for kind, n in counts.items()) or "no change")

    def __str__(self) -> str:
        return "\n".join([self.source, *(f"  {change}" for change in self.changes)])

    def __len__(self) -> int:
        return len(self.changes)
