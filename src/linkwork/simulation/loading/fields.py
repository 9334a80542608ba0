"""Fields: potential energies of the poses of all bodies, such as force fields of molecules, evaluated at every stage.

A field is asked from Python, between two parts of the compiled step: poses out, wrenches back.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.errors import StateError
from linkwork.model.model import Model


class Field(Protocol):
    """A potential energy of the poses of all bodies, and the wrenches that follow from it."""

    @property
    def model(self) -> Model: ...

    def wrenches(self, poses: FloatArray, out: FloatArray) -> float:
        """Writes the wrench [torque; force] on each body, in its own frame at its origin, shape (n, 6).

        poses: rotation (nine numbers) and origin of each body in the world, shape (n, 12).
        Returns the energy. All in the units of the model.
        """
        ...


@runtime_checkable
class ClusterField(Protocol):
    """A field that leaves out what cannot change while bodies move as one. It has memory: each simulation takes a copy."""

    @property
    def model(self) -> Model: ...

    def wrenches(self, poses: FloatArray, out: FloatArray) -> float: ...

    def attach_to_pieces(self, piece: IntArray, pose: FloatArray) -> None:
        """Bodies of one number in `piece` (n,) are a rigid group from now on: `wrenches` takes and gives those of groups.

        pose: of each body in its group, shape (n, 12).
        """
        ...

    def wrenches_on_bodies(self, poses: FloatArray, out: FloatArray) -> None:
        """Wrenches of the last evaluation on all bodies (n, 6), what bodies of one rigid group do to each other left out.

        poses: of all bodies, shape (n, 12).
        """
        ...

    def copy(self) -> ClusterField:
        """The same field with a memory of its own, every body by itself."""
        ...


def own_field(field: Field | None, model: Model) -> Any:
    """The field as a simulation of a model uses it; refuses what is not a field, or one of another model."""
    if field is None:
        return None
    if not callable(getattr(field, "wrenches", None)):
        raise StateError(
            f"field is {field!r}, which has no method wrenches(poses, out); mol.field() makes one for a molecule."
        )
    other = getattr(field, "model", model)
    if other is not model:
        raise StateError(
            f"the field was made for model '{other.name}' with {other.n_bodies} bodies, which is another object than this "
            f"model '{model.name}' with {model.n_bodies}; make both from the same molecule."
        )
    return field.copy() if isinstance(field, ClusterField) else field
