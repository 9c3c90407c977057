"""Arrays as the rest of the package wants them: float64, finite, of a known shape, read-only."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.errors import InputError, cut

Array = NDArray[np.float64]


def frozen(value: ArrayLike, shape: tuple[int | None, ...], name: str, error: type[InputError] = InputError) -> Array:
    """Return `value` as a read-only float64 array of `shape` (None: any length).

    Raises `error` when it is no array of numbers, has another shape, or holds NaN or infinity;
    the message names `name` and the first bad index.
    """
    try:
        if np.iscomplexobj(value):  # numpy would drop the imaginary part with a mere warning
            raise TypeError
        # what is read-only and its own is changed by nobody else
        shared = isinstance(value, np.ndarray) and value.flags.owndata and not value.flags.writeable
        array = np.array(value, dtype=np.float64, order="C", copy=None if shared else True)
    except (TypeError, ValueError) as cause:
        raise error(f"{name} must be numbers, got {cut(repr(value), 60)}") from cause
    if array.ndim != len(shape) or any(w is not None and w != g for w, g in zip(shape, array.shape, strict=True)):
        wanted = "(" + ", ".join("any" if s is None else str(s) for s in shape) + ")"
        raise error(f"{name} must have shape {wanted}, got {array.shape}")
    if not math.isfinite(array.sum()):  # a sum of finite numbers may overflow, so look again
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            index = tuple(int(i) for i in bad[0])
            at = f"[{', '.join(map(str, index))}]" if index else ""
            raise error(f"{name}{at} is {array[index]}, wanted a finite number")
    array.setflags(write=False)
    return array


def significant(x: float, digits: int) -> float:
    """Return a number of so many significant digits: readable, and the same choice on every machine."""
    return float(f"{x:.{digits}g}")


def or_one(sizes: Array) -> Array:
    """Return sizes that may be divided by: 1 where one is not above 0."""
    return np.where(sizes > 0, sizes, 1.0)


def runs(mask: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Return where a mask (rows,) is true: start and stop (k, 2) of each run of rows."""
    return np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).reshape(-1, 2)


def checked(value: ArrayLike, shape: tuple[int | None, ...], name: str, error: type[InputError] = InputError) -> Array:
    """Return `value` as a read-only C-contiguous float64 array of `shape`, without a copy where it is one already.

    Like `frozen`, for arguments that are read once and not kept; always read-only, so that a compiled kernel sees one
    type. Raises `error` on the same grounds.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.flags.c_contiguous:
        fits = value.ndim == len(shape) and all(w is None or w == g for w, g in zip(shape, value.shape, strict=True))
        if fits and math.isfinite(value.sum()):
            view = value.view()
            view.setflags(write=False)
            return view
    return frozen(value, shape, name, error)
