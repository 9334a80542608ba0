"""What a bundle is inside kernels: one address in a table, from which the arrays that are asked for by name are read.

A view is one word, however many arrays its bundle has: to hand it on to a subroutine costs nothing. Each array that a
subroutine asks for is read once, where the subroutine gets the view (`ReadOnce`): as if all had been read there,
without unused ones. So the compiler has a few arrays per subroutine instead of dozens, and loops find their addresses
in registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import ir as numba_ir
from numba.core import types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model

ADDRESS, ROWS, COLUMNS, ENTRIES = 0, 1, 2, 3  # of each array in a table


class View(types.Type):
    """The bundle whose arrays are described in a table from the array number `first` on."""

    def __init__(self, name: str, arrays: dict[str, types.Array], first: int):
        self.arrays = arrays
        self.place = {array: first + k for k, array in enumerate(arrays)}
        super().__init__(f"View({name}, {first})")


@register_model(View)
class _ViewModel(models.PrimitiveModel):
    def __init__(self, manager: Any, view: View):
        super().__init__(manager, view, ir.IntType(64).as_pointer())


@infer_getattr
class _ViewAttributes(AttributeTemplate):
    key = View

    def generic_resolve(self, view: Any, name: str) -> Any:  # type: ignore[override]
        return view.arrays.get(name)


@lower_getattr_generic(View)
def _read_array(context: Any, builder: Any, view: View, entry: Any, name: str) -> Any:
    """The array as Numba's structure, made of the three numbers in the table; no memory of its own, no owner."""
    kind = view.arrays[name]
    number = context.get_value_type(types.intp)
    item = ir.Constant(number, context.get_abi_sizeof(context.get_data_type(kind.dtype)))

    def load(offset: int) -> Any:
        return builder.load(builder.gep(entry, [number(ENTRIES * view.place[name] + offset)]))

    def packed(values: list[Any]) -> Any:
        whole = ir.ArrayType(number, len(values))(ir.Undefined)
        for k, value in enumerate(values):
            whole = builder.insert_value(whole, value, k)
        return whole

    rows = load(ROWS)
    shape, strides, count = [rows], [item], rows
    if kind.ndim == 2:
        columns = load(COLUMNS)
        shape, strides, count = [rows, columns], [builder.mul(columns, item), item], builder.mul(rows, columns)
    data = builder.inttoptr(load(ADDRESS), context.get_data_type(kind.dtype).as_pointer())
    model = context.data_model_manager[kind]
    fields = {"nitems": count, "itemsize": item, "data": data}
    fields |= {"shape": packed(shape), "strides": packed(strides)}
    array = model.get_value_type()(None)
    for field, value in fields.items():
        array = builder.insert_value(array, value, model.get_field_position(field))
    return array


@register_pass(mutates_CFG=False, analysis_only=False)
class ReadOnce(FunctionPass):
    """Reads each array of a view once, right where the variable that holds the view is set; needs types."""

    _name = "read_arrays_of_views_once"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        types_of, blocks = state.typemap, state.func_ir.blocks
        assignments = [
            (block, statement)
            for block in blocks.values()
            for statement in block.body
            if isinstance(statement, numba_ir.Assign)
        ]
        settings: dict[str, int] = {}  # how often a variable that holds a view is set
        reads: dict[str, dict[str, list[numba_ir.Assign]]] = {}  # variable → array → statements that ask for it
        for _, statement in assignments:
            if isinstance(types_of.get(statement.target.name), View):
                settings[statement.target.name] = settings.get(statement.target.name, 0) + 1
            value = statement.value
            asks = isinstance(value, numba_ir.Expr) and value.op == "getattr"
            if asks and isinstance(types_of.get(value.value.name), View):
                reads.setdefault(value.value.name, {}).setdefault(value.attr, []).append(statement)
        changed = False
        for block, statement in assignments:
            holder = statement.target
            if settings.get(holder.name) == 1 and holder.name in reads:
                place = block.body.index(statement)
                block.body[place + 1 : place + 1] = _read_here(state, holder, reads[holder.name])
                changed = True
        return changed


def _read_here(state: Any, holder: Any, wanted: dict[str, list[Any]]) -> list[Any]:
    """Statements that read the arrays; those that asked for them become copies."""
    made = []
    for name, statements in wanted.items():
        target = numba_ir.Var(holder.scope, f"{holder.name}.read.{name}", holder.loc)
        state.typemap[target.name] = state.typemap[holder.name].arrays[name]
        made.append(numba_ir.Assign(numba_ir.Expr.getattr(holder, name, holder.loc), target, holder.loc))
        for statement in statements:
            statement.value = target
    return made
