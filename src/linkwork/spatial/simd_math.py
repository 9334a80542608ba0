"""Division, square root, exponential and comparison of vectors of doubles, beside the sums and products of `simd`."""

from llvmlite import ir
from numba import TypingError
from numba.core import types
from numba.extending import intrinsic

from linkwork.core.calls import function_named
from linkwork.core.jit import inlined
from linkwork.spatial.simd import splat_lanes

_FLAGS = ("contract", "nsz", "arcp")


@intrinsic
def vdiv(typingctx, a, b):
    """a / b in every lane."""

    def codegen(context, builder, signature, args):
        return builder.fdiv(args[0], args[1], flags=_FLAGS)

    return a(a, a), codegen


@intrinsic
def vsqrt(typingctx, a):
    """Square root of every lane."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(args[0].type, [args[0].type])
        function = function_named(builder, kind, f"llvm.sqrt.v{args[0].type.count}f64")
        return builder.call(function, [args[0]])

    return a(a), codegen


@intrinsic
def vabs(typingctx, a):
    """Size of every lane."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(args[0].type, [args[0].type])
        return builder.call(function_named(builder, kind, f"llvm.fabs.v{args[0].type.count}f64"), [args[0]])

    return a(a), codegen


@intrinsic
def vselect_less(typingctx, a, b, yes, no):
    """`yes` in the lanes where a < b, `no` in the others. Numbers stand for themselves in all lanes."""
    given = (a, b, yes, no)
    vector = next((t for t in given if t != types.float64), None)
    if vector is None or any(t not in (vector, types.float64) for t in given):
        raise TypingError(f"vselect_less compares vectors of one length and numbers, not {given}.")

    def codegen(context, builder, signature, args):
        lanes = context.get_value_type(vector).count
        a, b, yes, no = (
            splat_lanes(builder, value, lanes) if t == types.float64 else value
            for t, value in zip(given, args, strict=True)
        )
        return builder.select(builder.fcmp_ordered("<", a, b), yes, no)

    return vector(*given), codegen


@intrinsic
def vbits_less(typingctx, a, b):
    """One bit per lane, set where a < b: the first lane is the lowest."""

    def codegen(context, builder, signature, args):
        bits = builder.bitcast(builder.fcmp_ordered("<", args[0], args[1]), ir.IntType(args[0].type.count))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(a, a), codegen


_ROUNDING = 6755399441055744.0  # 1.5 · 2⁵²: a number added to it is rounded, and stands in the lowest bits


@intrinsic
def _rounded(typingctx, x):
    """Every lane rounded to a whole number. The two sums must not be joined: they get no flags."""

    def codegen(context, builder, signature, args):
        magic = ir.Constant(args[0].type, [_ROUNDING] * args[0].type.count)
        return builder.fsub(builder.fadd(args[0], magic), magic)

    return x(x), codegen


@intrinsic
def _times_power_of_two(typingctx, x, n):
    """x 2ⁿ for whole numbers n that keep the exponent in its range."""

    def codegen(context, builder, signature, args):
        whole = ir.VectorType(ir.IntType(64), args[0].type.count)
        magic = ir.Constant(args[1].type, [_ROUNDING] * args[0].type.count)
        n = builder.bitcast(builder.fadd(args[1], magic), whole)
        shifted = builder.shl(n, ir.Constant(whole, [52] * args[0].type.count))
        return builder.bitcast(builder.add(builder.bitcast(args[0], whole), shifted), args[0].type)

    return x(x, x), codegen


# 2^y on |y| ≤ ½, near the best polynomial of its degree: relative error 4e-11
_POWER = (
    0.9999999999616803,
    0.6931471807284548,
    0.24022651198163683,
    0.0555041035342101,
    0.009618027252820138,
    0.001333392258308283,
    0.00015469291421517514,
    1.520191761170128e-05,
)


@inlined
def vexp2(x):
    """2^x of every lane, for -1000 < x < 1000; relative error 4e-11."""
    n = _rounded(x)
    y = x - n
    y2 = y * y
    low = (_POWER[0] + _POWER[1] * y) + y2 * (_POWER[2] + _POWER[3] * y)
    high = (_POWER[4] + _POWER[5] * y) + y2 * (_POWER[6] + _POWER[7] * y)
    return _times_power_of_two(low + (y2 * y2) * high, n)  # in pairs: no long chain of sums that wait


@intrinsic
def _rough_inverse_root(typingctx, x):
    """1/√x of every lane in single precision."""

    def codegen(context, builder, signature, args):
        short = ir.VectorType(ir.FloatType(), args[0].type.count)
        kind = ir.FunctionType(short, [short])
        function = function_named(builder, kind, f"llvm.sqrt.v{args[0].type.count}f32")
        root = builder.call(function, [builder.fptrunc(args[0], short)])
        return builder.fpext(builder.fdiv(ir.Constant(short, [1.0] * args[0].type.count), root), args[0].type)

    return x(x), codegen


@inlined
def vrsqrt(x):
    """1/√x of every lane, for 1e-37 < x < 1e38; relative error 1e-14: single precision and one step of Newton's method."""
    y = _rough_inverse_root(x)
    return y * (1.5 - (0.5 * x) * (y * y))
