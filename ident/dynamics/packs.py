"""A number type for Numba kernels: the same number of eight samples side by side, one SIMD register.

After it the steps that every recursive algorithm shares: vectors (tuples of three numbers), rotations (of nine, row by
row), link poses, link motions; each number a pack or a float.

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


# Vectors, link poses, link motions ------------------------------------------------------------------------------------


@njit(inline="always")
def add(a: Any, b: Any) -> Any:
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@njit(inline="always")
def minus(a: Any, b: Any) -> Any:
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@njit(inline="always")
def times(s: Any, a: Any) -> Any:
    """Return s a."""
    return (s * a[0], s * a[1], s * a[2])


@njit(inline="always")
def dot(a: Any, b: Any) -> Any:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(inline="always")
def cross(a: Any, b: Any) -> Any:
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@njit(inline="always")
def turn(r: Any, a: Any) -> Any:
    """Return R a: a vector of the child's frame seen in the parent's."""
    return (
        r[0] * a[0] + r[1] * a[1] + r[2] * a[2],
        r[3] * a[0] + r[4] * a[1] + r[5] * a[2],
        r[6] * a[0] + r[7] * a[1] + r[8] * a[2],
    )


@njit(inline="always")
def turn_back(r: Any, a: Any) -> Any:
    """Return R^T a: a vector of the parent's frame seen in the child's."""
    return (
        r[0] * a[0] + r[3] * a[1] + r[6] * a[2],
        r[1] * a[0] + r[4] * a[1] + r[7] * a[2],
        r[2] * a[0] + r[5] * a[1] + r[8] * a[2],
    )


@njit(inline="always")
def symmetric(s: Any, a: Any) -> Any:
    """Return S a for the symmetric S with entries (xx, xy, xz, yy, yz, zz)."""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


@njit(inline="always")
def turned_symmetric(r: Any, s: Any) -> Any:
    """Return R S R^T for symmetric S."""
    x = symmetric(s, (r[0], r[1], r[2]))
    y = symmetric(s, (r[3], r[4], r[5]))
    z = symmetric(s, (r[6], r[7], r[8]))
    return (
        r[0] * x[0] + r[1] * x[1] + r[2] * x[2],
        r[3] * x[0] + r[4] * x[1] + r[5] * x[2],
        r[6] * x[0] + r[7] * x[1] + r[8] * x[2],
        r[3] * y[0] + r[4] * y[1] + r[5] * y[2],
        r[6] * y[0] + r[7] * y[1] + r[8] * y[2],
        r[6] * z[0] + r[7] * z[1] + r[8] * z[2],
    )


@njit(inline="always")
def row(table: Any, i: int) -> Any:
    """Return row i of an (n, 3) table of floats."""
    return (table[i, 0], table[i, 1], table[i, 2])


@njit(inline="always")
def load3(work: Any, k: int) -> Any:
    """Return the vector in packs k to k + 2."""
    return (load(work, k), load(work, k + 1), load(work, k + 2))


@njit(inline="always")
def store3(work: Any, k: int, a: Any) -> None:
    """Write a vector into packs k to k + 2."""
    store(work, k, a[0])
    store(work, k + 1, a[1])
    store(work, k + 2, a[2])


@njit(inline="always")
def load9(work: Any, k: int) -> Any:
    """Return the rotation in packs k to k + 8."""
    a, b, c = load3(work, k), load3(work, k + 3), load3(work, k + 6)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@njit(inline="always")
def link_pose(tree: Any, i: int, q: Any, rotation: Any, position: Any) -> None:
    """Write link i's frame seen from its parent's frame: packs 9 i of rotation, packs 3 i of position."""
    r = tree.rotation[i]
    x, y, z = row(tree.axis, i)
    if tree.turning[i] == 1:
        s, c = sine_cosine(q)
        k = 1.0 - c  # Rodrigues' formula
        e0 = (c + k * (x * x), k * (x * y) - s * z, k * (x * z) + s * y)
        e1 = (k * (x * y) + s * z, c + k * (y * y), k * (y * z) - s * x)
        e2 = (k * (x * z) - s * y, k * (y * z) + s * x, c + k * (z * z))
        p = row(tree.point, i)
        shift = (p[0] - dot(e0, p), p[1] - dot(e1, p), p[2] - dot(e2, p))
        for a in range(3):
            of_row = add(add(times(r[a, 0], e0), times(r[a, 1], e1)), times(r[a, 2], e2))
            store3(rotation, 9 * i + 3 * a, of_row)
            store(position, 3 * i + a, tree.position[i, a] + dot(row(r, a), shift))
    else:
        for a in range(3):
            store3(rotation, 9 * i + 3 * a, row(r, a))
            store(position, 3 * i + a, tree.position[i, a] + dot(row(r, a), (x, y, z)) * q)


@njit(inline="always")
def link_motion(tree: Any, i: int, qd: Any, qdd: Any, r: Any, p: Any, w: Any, al: Any, a: Any) -> None:
    """Write angular velocity w, angular acceleration al and acceleration a (gravity subtracted) of link i's origin.

    Packs 3 i of the work arrays, from those of the parent; r, p: link i's frame seen from its parent's.
    """
    parent = tree.parent[i]
    u, v = row(tree.angular, i), row(tree.linear, i)
    turning = times(qd * qd, cross(u, v))
    if parent < 0:
        g = tree.gravity
        store3(w, 3 * i, times(qd, u))
        store3(al, 3 * i, times(qdd, u))
        store3(a, 3 * i, add(turn_back(r, (-g[0], -g[1], -g[2])), add(times(qdd, v), turning)))
    else:
        wp, alp = load3(w, 3 * parent), load3(al, 3 * parent)
        carried = add(load3(a, 3 * parent), add(cross(alp, p), cross(wp, cross(wp, p))))
        wi = turn_back(r, wp)
        store3(w, 3 * i, add(wi, times(qd, u)))
        store3(al, 3 * i, add(turn_back(r, alp), add(cross(wi, times(qd, u)), times(qdd, u))))
        coriolis = times(2.0, cross(wi, times(qd, v)))
        store3(a, 3 * i, add(turn_back(r, carried), add(coriolis, add(times(qdd, v), turning))))


@njit(inline="always")
def link_twists(tree: Any, i: int, n: int, r: Any, p: Any, u: Any, v: Any) -> None:
    """Write the unit twist (u, v), seen in link i's frame, of every joint j that carries it: packs 3 (n i + j)."""
    parent = tree.parent[i]
    j = parent
    while j >= 0:
        uj, vj = load3(u, 3 * (n * parent + j)), load3(v, 3 * (n * parent + j))
        store3(u, 3 * (n * i + j), turn_back(r, uj))
        store3(v, 3 * (n * i + j), turn_back(r, add(vj, cross(uj, p))))
        j = tree.parent[j]
    store3(u, 3 * (n * i + i), row(tree.angular, i))
    store3(v, 3 * (n * i + i), row(tree.linear, i))


@njit(inline="always")
def zero_packs(work: Any, k: int, many: int) -> None:
    """Write zeros into packs k to k + many - 1."""
    for j in range(k, k + many):
        store(work, j, pack_of(0.0))
