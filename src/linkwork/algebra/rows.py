"""Rows of tables as records with fields: `b = bodies[i]; b.V = X @ V + S * q̇`.

    class Body(Rows, tree=dict(parent=int, kind=int), work=dict(X=Pose, V=Twist)): ...

    bodies = Body(tree, work)  # of arrays (rows, columns), in kernels and in Python
    bodies[i].V                # columns 12 to 17 of row i of `work`, as a Twist

The columns of a table follow one another in the order of its fields. `at("I", Twist)` puts a field where another begins,
for what a later sweep writes over it. A field is read where the text reads it and written where the text writes it.

Widths are constants of the code: `fits` checks tables at the door, and with bounds checking (NUMBA_BOUNDSCHECK=1) each
access checks its row and the width. Rows keep no array alive, so a function that makes arrays hands them to a routine,
which makes rows of them; rows of its own are refused when it compiles.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import config, types

from linkwork.algebra.tracing import DOUBLE, LONG, Integer, Kind, Number, Value, _size


def at(field: str, kind: Any) -> tuple[str, Any]:
    """A field of this kind where another one begins."""
    return field, kind


class Rows:
    """Rows of several tables as one record. Subclasses say what the columns of each table are."""

    type: Any
    place: dict[str, tuple[str, range, Any]]
    width: dict[str, int]
    holds_ints: dict[str, bool]

    def __init_subclass__(cls, **tables: dict[str, Any]):
        cls.place, cls.width, cls.holds_ints = {}, dict.fromkeys(tables, 0), {}
        for table, fields in tables.items():
            for name, kind in fields.items():
                first, of = cls.width[table], kind
                if isinstance(kind, tuple):
                    first, of = cls.place[kind[0]][1].start, kind[1]
                columns = range(first, first + _size(of))
                cls.place[name] = (table, columns, of)
                cls.width[table] = max(cls.width[table], columns.stop)
            cls.holds_ints[table] = int in fields.values()
        heads = [(LONG if ints else DOUBLE).as_pointer() for ints in cls.holds_ints.values()]
        layout = ", ".join(
            f"{name} {table}[{c.start}:{c.stop}] {k.__name__}" for name, (table, c, k) in cls.place.items()
        )
        # Of each table its address and its number of rows; the row.
        code = ir.LiteralStructType([*heads, *[LONG] * len(heads), LONG])
        cls.type = Kind(cls, code, f"{cls.__module__}.{cls.__qualname__}({layout})")

    def __init__(self, *tables: Any, row: Any = 0):
        if len(tables) != len(self.width):
            raise TypeError(
                f"{type(self).__name__} takes {len(self.width)} tables ({', '.join(self.width)}), not {len(tables)}"
            )
        self.__dict__.update(tables=dict(zip(self.width, tables, strict=True)), row=row)
        for name, table in self.tables.items():
            if isinstance(table, Table):
                table.expect(name, self.width[name], self.holds_ints[name])

    @classmethod
    def fits(cls, *tables: Any) -> None:
        """Refuses arrays with other columns than the code reads; for whoever allocates them."""
        for (name, width), array in zip(cls.width.items(), tables, strict=True):
            dtype = "int64" if cls.holds_ints[name] else "float64"
            if array.ndim != 2 or array.shape[1] != width or array.dtype != dtype or not array.flags.c_contiguous:
                raise TypeError(
                    f"{cls.__name__}.{name}: contiguous rows of {width} {dtype} are needed, not {array.dtype}{array.shape}."
                )

    def __getitem__(self, i: Any) -> Any:
        return type(self)(*self.tables.values(), row=i)

    def __getattr__(self, name: str) -> Any:
        try:
            table, columns, kind = self.place[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name}") from None
        numbers = [self.tables[table][self.row, k] for k in columns]
        return numbers[0] if kind in (int, float) else kind(*numbers)

    def __setattr__(self, name: str, value: Any) -> None:
        table, columns, kind = self.place[name]
        if kind not in (int, float) and not isinstance(value, kind):
            raise TypeError(f"{name} is a {kind.__name__}, not a {type(value).__name__}")
        for k, x in zip(columns, value.x if isinstance(value, Value) else (value,), strict=True):
            self.tables[table][self.row, k] = x

    @classmethod
    def entered(cls, kind: Kind, context: Any, builder: Any, part: Any) -> Any:
        """As a formula has it: tables of code."""
        n = len(cls.width)
        tables = [
            Table(context, builder, part(k), part(n + k), width, Integer if cls.holds_ints[name] else Number)
            for k, (name, width) in enumerate(cls.width.items())
        ]
        return cls(*tables, row=Integer(builder, part(2 * n)))

    def leave(self, builder: Any) -> Any:
        tables = list(self.tables.values())
        row = self.row.code if isinstance(self.row, Integer) else LONG(self.row)
        whole = ir.Constant(self.type.code, ir.Undefined)
        for k, code in enumerate([*(t.address for t in tables), *(t.rows for t in tables), row]):
            whole = builder.insert_value(whole, code, k)
        return whole


class Table:
    """An array (rows, columns) of the code that is made; indexed as an array of NumPy is."""

    def __init__(self, context: Any, builder: Any, address: Any, rows: Any, width: Any, kind: Any):
        self.context, self.builder, self.address, self.rows = context, builder, address, rows
        self.width, self.kind = width, kind

    @classmethod
    def entered(cls, kind: types.Array, context: Any, builder: Any, code: Any) -> Table:
        if kind.ndim != 2 or kind.layout != "C" or kind.dtype not in (types.float64, types.int64):
            raise TypeError(f"rows need a contiguous two-dimensional array of float64 or int64, not {kind}")
        of = Integer if kind.dtype == types.int64 else Number
        if builder is None:
            return cls(context, None, None, None, None, of)
        if context.enable_nrt:
            raise TypeError("rows keep no array alive: a function that makes arrays hands them to a routine")
        array = context.make_array(kind)(context, builder, code)
        shape = [builder.extract_value(array.shape, k) for k in range(2)]
        return cls(context, builder, array.data, shape[0], shape[1], of)

    def expect(self, name: str, width: int, holds_ints: bool) -> None:
        """The width that the code is made for; a number that the array knows only when it runs is checked if bounds are."""
        if (self.kind is Integer) != holds_ints:
            raise TypeError(f"table {name} holds {'integers' if holds_ints else 'floats'}")
        if self.builder is not None and not isinstance(self.width, int):
            self._check(
                self.builder.icmp_signed("==", self.width, LONG(width)), f"table {name} has not {width} columns"
            )
        self.width = width

    def _check(self, holds: Any, message: str) -> None:
        if not getattr(config, "BOUNDSCHECK", 0):
            return
        with self.builder.if_then(self.builder.not_(holds), likely=False):
            self.context.call_conv.return_user_exc(self.builder, IndexError, (message,))

    def _place(self, at: Any) -> Any:
        row, k = at
        code = row.code if isinstance(row, Integer) else LONG(row)
        self._check(self.builder.icmp_unsigned("<", code, self.rows), "a row beyond its table")
        return self.builder.gep(self.address, [self.builder.add(self.builder.mul(code, LONG(self.width)), LONG(k))])

    def __getitem__(self, at: Any) -> Any:
        return self.kind(self.builder, self.builder and self.builder.load(self._place(at)))

    def __setitem__(self, at: Any, x: Any) -> None:
        if self.builder is None:
            return
        if self.kind is Integer:
            code = x.code if isinstance(x, Integer) else LONG(x)
        else:
            code = x.double() if isinstance(x, Number) else DOUBLE(float(x))
        self.builder.store(code, self._place(at))
