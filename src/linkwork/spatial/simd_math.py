"""Division, square root, exponential and comparison of vectors of doubles, beside the sums and products of `simd`."""

from llvmlite import ir
from numba import TypingError
from numba.core import types
from numba.extending import intrinsic

from linkwork.core.calls import function_named
from linkwork.core.jit import inlined
from linkwork.core.kernel_cache import processor_features
from linkwork.spatial.simd import LANES, splat_lanes

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


@intrinsic
def vselect_bits(typingctx, bits, yes, no):
    """`yes` in the lanes whose bit is set, `no` in the others; the first lane is the lowest bit. `no` may be a number."""
    if no not in (yes, types.float64) or not isinstance(bits, types.Integer):
        raise TypingError(f"vselect_bits takes bits, a vector and a vector or a number, not {(bits, yes, no)}.")

    def codegen(context, builder, signature, args):
        lanes = args[1].type.count
        mask = builder.bitcast(builder.trunc(args[0], ir.IntType(lanes)), ir.VectorType(ir.IntType(1), lanes))
        other = splat_lanes(builder, args[2], lanes) if no == types.float64 else args[2]
        return builder.select(mask, args[1], other)

    return yes(bits, yes, no), codegen


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


def _single_precision_root(builder, x):
    short = ir.VectorType(ir.FloatType(), x.type.count)
    kind = ir.FunctionType(short, [short])
    function = function_named(builder, kind, f"llvm.sqrt.v{x.type.count}f32")
    root = builder.call(function, [builder.fptrunc(x, short)])
    return builder.fpext(builder.fdiv(ir.Constant(short, [1.0] * x.type.count), root), x.type)


@intrinsic
def _near_inverse_root(typingctx, x):
    """1/√x of every lane, relative error 6e-5 at most where the processor has an instruction for that, else in single
    precision. Zero, below zero and not finite: no number one could use."""

    def codegen(context, builder, signature, args):
        lanes = args[0].type.count
        if lanes != LANES or "+avx512f" not in processor_features().split(","):
            return _single_precision_root(builder, args[0])
        kind = ir.FunctionType(args[0].type, [args[0].type, args[0].type, ir.IntType(8)])
        function = function_named(builder, kind, "llvm.x86.avx512.rsqrt14.pd.512")
        return builder.call(function, [args[0], ir.Constant(args[0].type, [0.0] * lanes), ir.IntType(8)(255)])

    return x(x), codegen


@inlined
def vrsqrt(x):
    """1/√x of every lane, for 1e-37 < x < 1e38; relative error 6e-13.

    With y (1 + d) = 1/√x the next y is y (1 + e/2 + 3e²/8), e = 1 - x y²; what is left is 5e³/16.
    """
    y = _near_inverse_root(x)
    e = 1.0 - x * (y * y)
    return y + y * (e * (0.5 + 0.375 * e))


_ROOT_HALF = 0x3FE6A09E667F3BCD  # bits of √½
_ONE, _FRACTION = 0x3FF0000000000000, 0x000FFFFFFFFFFFFF  # bits of 1, and those behind the exponent
_MAGIC = 0x4338000000000000  # bits of _ROUNDING


@intrinsic
def _split(typingctx, x):
    """n and m of x = 2ⁿ m with √½ ≤ m < √2, for normal numbers above zero."""

    def codegen(context, builder, signature, args):
        whole = ir.VectorType(ir.IntType(64), args[0].type.count)

        def every(number):
            return ir.Constant(whole, [number] * args[0].type.count)

        moved = builder.add(builder.bitcast(args[0], whole), every(_ONE - _ROOT_HALF))
        n = builder.add(builder.lshr(moved, every(52)), every(_MAGIC - 1023))
        magic = ir.Constant(args[0].type, [_ROUNDING] * args[0].type.count)
        n = builder.fsub(builder.bitcast(n, args[0].type), magic)
        m = builder.add(builder.and_(moved, every(_FRACTION)), every(_ROOT_HALF))
        return context.make_tuple(builder, signature.return_type, [n, builder.bitcast(m, args[0].type)])

    return types.UniTuple(x, 2)(x), codegen


@inlined
def vlog(x):
    """Natural logarithm of every lane, for normal numbers above zero; error 4e-16 and 4e-16 of it."""
    n, m = _split(x)
    t = vdiv(-1.0 + m, 1.0 + m)  # ln m = 2 artanh t, |t| ≤ 0.172
    z = t * t
    high = 1.0 / 11.0 + z * (1.0 / 13.0 + z * (1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0 + (1.0 / 21.0) * z))))
    series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * high)))
    return 0.6931471805599453 * n + (t + t + (t + t) * (z * series))
