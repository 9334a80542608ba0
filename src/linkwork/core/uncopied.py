"""Objects that hold memory that kernels use by address, files or windows: they are made anew, not copied."""

from __future__ import annotations

from typing import Any, NoReturn

from linkwork.errors import LinkworkError


class Uncopied:
    """Refuses `copy.copy`, `copy.deepcopy` and `pickle`, with what to do instead."""

    _INSTEAD = "make another one"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise LinkworkError(f"a {type(self).__name__} cannot be copied or pickled; {self._INSTEAD}.")
