"""Division, square root and comparison of eight doubles at once, beside the sums and products of `simd`."""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from linkwork.spatial.simd import LANES, v8

_FLAGS = ("contract", "nsz", "arcp")


@intrinsic
def vdiv(typingctx, a, b):
    """a / b in every lane."""

    def codegen(context, builder, signature, args):
        return builder.fdiv(args[0], args[1], flags=_FLAGS)

    return v8(v8, v8), codegen


@intrinsic
def vsqrt(typingctx, a):
    """Square root of every lane."""

    def codegen(context, builder, signature, args):
        vector = ir.VectorType(ir.DoubleType(), LANES)
        kind = ir.FunctionType(vector, [vector])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return builder.call(function, [args[0]])

    return v8(v8), codegen


@intrinsic
def vselect_less(typingctx, a, b, yes, no):
    """`yes` in the lanes where a < b, `no` in the others."""

    def codegen(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return v8(v8, v8, v8, v8), codegen


@intrinsic
def vbits_less(typingctx, a, b):
    """One bit per lane, set where a < b: the first lane is the lowest."""

    def codegen(context, builder, signature, args):
        bits = builder.bitcast(builder.fcmp_ordered("<", args[0], args[1]), ir.IntType(LANES))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(v8, v8), codegen
