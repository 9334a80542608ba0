"""Everything Linkwork raises on purpose derives from LinkworkError."""

from __future__ import annotations

from collections.abc import Sequence


class LinkworkError(Exception):
    """Something Linkwork refuses to do, with where, what, why and what to do about it.

    about: name of the parameter, body or joint that is at fault, where there is one.
    """

    def __init__(self, *message: object, about: str | None = None):
        super().__init__(*message)
        self.about = about


class FaultListError(LinkworkError):
    """An error that carries several faults, so that a user can mend all of them in one go."""

    SHOWN = 20  # more lines than this hide the message itself

    def __init__(self, headline: str, faults: Sequence[str] = (), about: str | None = None):
        self.headline = headline
        self.faults = list(faults)
        lines = [headline, *(f"  - {fault}" for fault in self.faults[: self.SHOWN])]
        if len(self.faults) > self.SHOWN:
            lines.append(f"  ... and {len(self.faults) - self.SHOWN} more of {len(self.faults)}")
        super().__init__("\n".join(lines), about=about)


class ModelError(FaultListError):
    """A linkage that describes no mechanism: cycles, unknown names, unphysical inertia, bad joints."""


class FormatError(FaultListError):
    """A file that cannot be read as what it claims to be; every fault carries file and line."""


class StateError(LinkworkError):
    """Numbers that do not fit the model (shape, NaN) or at which it cannot be solved.

    best: what a search reached that was to go further, where it has something to give.
    """

    def __init__(self, *message: object, about: str | None = None, best: object = None):
        super().__init__(*message, about=about)
        self.best = best


class MissingExtraError(LinkworkError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class DeviceError(LinkworkError):
    """A GPU that is missing, does not answer or has too little memory."""


class LinkworkWarning(UserWarning):
    """Something works, but not as well as was asked."""
