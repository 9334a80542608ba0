"""The state of a simulation in the hand: a copy that cannot be written to, because writing would change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import StateError
from linkwork.model.state import State

ADVICE = (
    "the state of a simulation is a copy to read; to write to it would not move the simulation. Change a copy and put "
    "it in: state = sim.state.copy(); state.q[...] = ...; sim.set_state(state)."
)


class ReadOnly(np.ndarray[Any, Any]):
    """An array that says what to do instead when it is written to. What is computed from it is an ordinary array."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise StateError(ADVICE)
        super().__setitem__(key, value)

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        raise StateError(ADVICE)

    __isub__ = __imul__ = __itruediv__ = __ipow__ = __iadd__

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __array_finalize__(self, source: Any) -> None:
        """Nothing is kept beside the numbers."""

    def copy(self, order: Any = "C") -> NDArray[np.float64]:  # type: ignore[override]
        """An ordinary array with the same numbers."""
        return np.array(self, order=order, subok=False)

    def __deepcopy__(self, memory: dict[int, Any] | None, /) -> NDArray[np.float64]:  # type: ignore[override]
        return self.copy()

    def __reduce__(self) -> Any:
        return self.copy().__reduce__()


def read_only_state(q: NDArray[np.float64], v: NDArray[np.float64]) -> State:
    """A state that cannot be written to, in the memory of q (nq,) and v (nv,), which must be copies already."""
    return State(_read_only(q), _read_only(v))


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    view = array.view(ReadOnly)
    view.flags.writeable = False
    return view
