"""Indices of arrays in kernels count from the start of the array: none of them means a place from its end.

Numba looks at every index that is a variable, and adds the length of the array where it is negative. Steps of small
linkages are made of short loops over rows of tables, where that took a tenth of the time: an instruction or two per row,
and the lengths of all arrays in registers that other numbers need. No kernel has such an index but for constants
(`a[-1]`), which stay as they are. With bounds checking a negative index is an error, as one beyond the end is.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass


@register_pass(mutates_CFG=False, analysis_only=False)
class CountFromStart(FunctionPass):
    """Takes variables that index arrays as numbers without a sign, which Numba takes as they are; needs types."""

    _name = "count_indices_from_the_start"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        statements = [statement for block in state.func_ir.blocks.values() for statement in block.body]
        made_of = _parts_of_tuples(statements)
        changed = False
        for statement in statements:
            access, index = _access(statement)
            if access is None or _has_negative_constant(state.typemap, made_of, index):
                continue
            signature = state.calltypes[access]
            array, kind, *value = signature.args
            unsigned = _unsigned(kind) if isinstance(array, types.Array) else None
            if unsigned is not None:
                del state.calltypes[access]  # which may be set once only
                state.calltypes[access] = signature.replace(args=(array, unsigned, *value))
                changed = True
        return changed


def _parts_of_tuples(statements: list[Any]) -> dict[str, list[Any]]:
    """Variables that hold tuples → the variables that these are made of."""
    parts: dict[str, list[Any]] = {}
    for statement in statements:
        value = statement.value if isinstance(statement, ir.Assign) else None
        if isinstance(value, ir.Expr) and value.op == "build_tuple":
            parts.setdefault(statement.target.name, []).extend(value.items)
    return parts


def _access(statement: Any) -> tuple[Any, Any]:
    """What reads or writes an element, by Numba's types, and the variable that is its index; or nothing."""
    if isinstance(statement, ir.SetItem):
        return statement, statement.index
    if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr) and statement.value.op == "getitem":
        return statement.value, statement.value.index
    return None, None


def _has_negative_constant(types_of: Any, made_of: dict[str, list[Any]], index: Any) -> bool:
    """Whether an index is a negative constant or has one among its numbers, or where they come from is not known."""
    kind = types_of[index.name]
    if isinstance(kind, types.BaseTuple) and index.name not in made_of:
        return True
    parts = [types_of[part.name] for part in made_of.get(index.name, [index])]
    return any(isinstance(part, types.IntegerLiteral) and part.literal_value < 0 for part in parts)


def _unsigned(kind: Any) -> Any:
    """The type of an index of whole numbers without their signs; None where others are among them."""
    if isinstance(kind, types.Integer):
        return types.uintp
    if isinstance(kind, types.UniTuple | types.Tuple) and all(isinstance(part, types.Integer) for part in kind.types):
        return types.UniTuple(types.uintp, len(kind))
    return None
