"""A number type for Numba kernels: the same number of eight samples side by side, one SIMD register.

A kernel written with packs reads like one for a single sample. Sums, differences, products and quotients of packs
and floats work lane by lane; multiply-adds may be fused, nothing else is reordered. Numba caches a kernel by its own
file only: after a change here or in a file of inlined helpers, touch the files of the kernels that use it.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 8
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INT = ir.IntType(32)
_FUSED = ("contract",)


class PackType(types.Type):
    """The type of a pack."""

    def __init__(self) -> None:
        super().__init__(name="Pack")


pack = PackType()


@register_model(PackType)
class _PackModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _splat(builder: Any, value: Any) -> Any:
    if value.type == _VECTOR:
        return value
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES))


def _arithmetic(operation: Any, instruction: str) -> None:
    class Template(AbstractTemplate):
        def generic(self, args: Any, _keywords: Any) -> Any:
            packs_or_floats = all(kind in (pack, types.float64) for kind in args)
            return signature(pack, *args) if len(args) == 2 and pack in args and packs_or_floats else None

    def lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        a, b = (_splat(builder, x) for x in args)
        return getattr(builder, instruction)(a, b, flags=_FUSED)

    infer_global(operation)(Template)
    for kinds in ((pack, pack), (pack, types.float64), (types.float64, pack)):
        lower_builtin(operation, *kinds)(lower)


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
_arithmetic(operator.truediv, "fdiv")


@infer_global(operator.neg)
class _Negative(AbstractTemplate):
    def generic(self, args: Any, _keywords: Any) -> Any:
        return signature(pack, pack) if args == (pack,) else None


@lower_builtin(operator.neg, pack)
def _negative(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    return builder.fneg(args[0])


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array)


def _address(context: Any, builder: Any, kind: Any, array: Any, k: Any) -> Any:
    start = builder.mul(k, ir.Constant(k.type, LANES))
    pointer = builder.gep(_data(context, builder, kind, array).data, [start])
    return builder.bitcast(pointer, _VECTOR.as_pointer())


def _rows(context: Any, builder: Any, kind: Any, array: Any, first: Any, column: Any) -> Any:
    """Yield the addresses of array[first + lane, column], the last row standing in for those beyond it."""
    data = _data(context, builder, kind, array)
    height, width = cgutils.unpack_tuple(builder, data.shape, 2)
    last = builder.sub(height, ir.Constant(height.type, 1))
    for lane in range(LANES):
        row = builder.add(first, ir.Constant(first.type, lane))
        row = builder.select(builder.icmp_signed("<", row, last), row, last)
        yield lane, builder.gep(data.data, [builder.add(builder.mul(row, width), column)])


@intrinsic
def load(_typing: Any, array: Any, k: Any) -> Any:
    """Return pack k of a flat work array."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, sig.args[0], args[0], args[1]), align=8)

    return pack(array, types.intp), code


@intrinsic
def store(_typing: Any, array: Any, k: Any, value: Any) -> Any:
    """Write pack k of a flat work array; a float goes into every lane."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _address(context, builder, sig.args[0], args[0], args[1])
        builder.store(_splat(builder, args[2]), address, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@intrinsic
def gather(_typing: Any, array: Any, first: Any, column: Any) -> Any:
    """Return array[first + lane, column] of a C-contiguous (N, m) array; rows beyond the last repeat the last."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = ir.Constant(_VECTOR, ir.Undefined)
        for lane, address in _rows(context, builder, sig.args[0], *args):
            value = builder.insert_element(value, builder.load(address), ir.Constant(_INT, lane))
        return value

    return pack(array, types.intp, types.intp), code


@intrinsic
def scatter(_typing: Any, array: Any, first: Any, column: Any, value: Any) -> Any:
    """Write array[first + lane, column] of a C-contiguous (N, m) array.

    Lanes beyond the last row write to the last row: they hold its numbers, having been gathered from it.
    """

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        number = _splat(builder, args[3])
        for lane, address in _rows(context, builder, sig.args[0], *args[:3]):
            builder.store(builder.extract_element(number, ir.Constant(_INT, lane)), address)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, value), code


@intrinsic
def pack_of(_typing: Any, value: Any) -> Any:
    """Return a pack with the same float in every lane."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _splat(builder, args[0])

    return pack(types.float64), code


@intrinsic
def nearest_integer(_typing: Any, value: Any) -> Any:
    """Return every lane rounded to the nearest integer."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.rint.v{LANES}f64"), args)

    return pack(pack), code


@intrinsic
def where_positive(_typing: Any, test: Any, yes: Any, no: Any) -> Any:
    """Return `yes` in the lanes where test > 0, `no` in the others."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        positive = builder.fcmp_ordered(">", args[0], ir.Constant(_VECTOR, [0.0] * LANES))
        return builder.select(positive, args[1], args[2])

    return pack(pack, pack, pack), code


# pi / 2 in three parts, the first two with 33 bits: products with |n| < 2^20 are exact (Cody and Waite 1980).
_HALF_PI_1, _HALF_PI_2, _HALF_PI_3 = 1.5707963267341256, 6.0771005063039659e-11, 2.0222662487959506e-21


@njit(inline="always")
def sine_cosine(x: Any) -> Any:
    """Return sin and cos of a pack, right to 2.3e-16 up to |x| = 1e5 and to the spacing of floats at x beyond.

    Minimax polynomials on |r| < pi / 4 with the coefficients that fdlibm publishes (k_sin.c, k_cos.c).
    """
    n = nearest_integer(x * (2.0 / 3.141592653589793))
    r = ((x - n * _HALF_PI_1) - n * _HALF_PI_2) - n * _HALF_PI_3
    z = r * r
    p = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * p))
    s = r + r * z * (-1.66666666666666324348e-01 + z * p)
    p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11)
    p = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p))
    c = 1.0 - (0.5 * z - z * z * p)
    # n mod 4: 0 (s, c), 1 (c, -s), 2 (-s, -c), 3 (-c, s)
    half = n * 0.5 - nearest_integer(n * 0.5)  # 0 where n is even, else +-0.5
    quarter = n * 0.25 - nearest_integer(n * 0.25)  # 0, 0.25, +-0.5, -0.25
    odd = half * half - 0.125
    sine, cosine = where_positive(odd, c, s), where_positive(odd, s, c)
    return (
        where_positive((quarter + 0.125) * (0.375 - quarter), sine, -sine),
        where_positive((0.125 - quarter) * (quarter + 0.375), cosine, -cosine),
    )
