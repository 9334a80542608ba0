"""Division, square root, exponential and comparison of eight doubles at once, beside the sums and products of `simd`."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from linkwork.core.calls import function_named
from linkwork.core.jit import inlined
from linkwork.spatial.simd import LANES, splat, v8

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
        function = function_named(builder, kind, f"llvm.sqrt.v{LANES}f64")
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


_ROUNDING = 6755399441055744.0  # 1.5 · 2⁵²: a number added to it is rounded, and stands in the lowest bits
_LOG2_E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10


@intrinsic
def _rounded(typingctx, x):
    """Every lane rounded to a whole number. The two sums must not be joined: they get no flags."""

    def codegen(context, builder, signature, args):
        magic = ir.Constant(args[0].type, [_ROUNDING] * LANES)
        return builder.fsub(builder.fadd(args[0], magic), magic)

    return v8(v8), codegen


@intrinsic
def _times_power_of_two(typingctx, x, n):
    """x 2ⁿ for whole numbers n that keep the exponent in its range."""

    def codegen(context, builder, signature, args):
        whole = ir.VectorType(ir.IntType(64), LANES)
        magic = ir.Constant(args[1].type, [_ROUNDING] * LANES)
        n = builder.bitcast(builder.fadd(args[1], magic), whole)
        shifted = builder.shl(n, ir.Constant(whole, [52] * LANES))
        return builder.bitcast(builder.add(builder.bitcast(args[0], whole), shifted), args[0].type)

    return v8(v8, v8), codegen


@inlined
def vexp(x):
    """exp of every lane, for -700 < x < 700; relative error 1e-11: Taylor to the ninth power on |y| ≤ ½ ln 2."""
    n = _rounded(_LOG2_E * x)
    y = x - _LN2_HIGH * n - _LN2_LOW * n
    y2 = y * y
    y4 = y2 * y2
    low = (splat(1.0) + y) + y2 * (splat(0.5) + (1.0 / 6.0) * y)  # in pairs: no long chain of sums that wait
    middle = (splat(1.0 / 24.0) + (1.0 / 120.0) * y) + y2 * (splat(1.0 / 720.0) + (1.0 / 5040.0) * y)
    high = splat(1.0 / 40320.0) + (1.0 / 362880.0) * y
    return _times_power_of_two(low + y4 * (middle + y4 * high), n)


@intrinsic
def _rough_inverse_root(typingctx, x):
    """1/√x of every lane in single precision."""

    def codegen(context, builder, signature, args):
        short = ir.VectorType(ir.FloatType(), LANES)
        kind = ir.FunctionType(short, [short])
        function = function_named(builder, kind, f"llvm.sqrt.v{LANES}f32")
        root = builder.call(function, [builder.fptrunc(args[0], short)])
        return builder.fpext(builder.fdiv(ir.Constant(short, [1.0] * LANES), root), args[0].type)

    return v8(v8), codegen


@inlined
def vrsqrt(x):
    """1/√x of every lane, for 1e-37 < x < 1e38; relative error 1e-14: single precision and one step of Newton's method."""
    y = _rough_inverse_root(x)
    return y * (splat(1.5) - (0.5 * x) * (y * y))
