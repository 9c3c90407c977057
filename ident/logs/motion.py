"""Motion: what the regressor needs of a recording, filtered and differentiated."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import LogError
from ident.shown import shows


@shows
@dataclass(frozen=True, eq=False)
class Motion:
    """One recording, processed: joint positions, velocities, accelerations and torques on the joint side.

    t (N,) [s]; q, qd, qdd (N, n) [rad, rad/s, rad/s^2] (m for prismatic joints); tau (N, n) [N m] or [N].
    `decimation`: factors by which regressor columns and torque are low-pass filtered and thinned alike (`decimate`),
    one after the other, when the motion is compressed; () for none. With M = N / (product of the factors), rounded
    up, `keep` (M, n) says which rows of each joint count. `blocks` are the (start, stop) rows after decimation that
    form one segment each (one R factor and one cluster); rows outside all blocks only lead the thinning's filters in
    and out (parts of a streamed recording have such rows). `stretches`, where the recording repeats a period: which
    stretch of it each block is; blocks of one stretch are repeats, and one segment together. `name` says which
    recording it is. `noise` (n,): how noisy the torque is at least, after decimation; by default nothing is known.
    Raises LogError on shapes that do not fit or numbers that are not finite.
    """

    name: str
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    keep: np.ndarray
    decimation: tuple[int, ...] = ()
    blocks: tuple[tuple[int, int], ...] = field(default=())
    stretches: tuple[int, ...] = field(default=())
    noise: ArrayLike = 0.0
    repeats: bool = False

    def __post_init__(self) -> None:
        shape = np.shape(self.q)
        if len(shape) != 2:
            raise LogError(f"q must have shape (samples, joints), got {shape}", key=self.name)
        for what in ("q", "qd", "qdd", "tau"):
            object.__setattr__(self, what, frozen(getattr(self, what), shape, f"{self.name}: {what}", LogError))
        object.__setattr__(self, "t", frozen(self.t, (shape[0],), f"{self.name}: t", LogError))
        object.__setattr__(self, "decimation", tuple(int(d) for d in self.decimation))
        object.__setattr__(self, "noise", np.broadcast_to(np.asarray(self.noise, dtype=np.float64), shape[1]))
        rows = self.rows
        keep = np.asarray(self.keep, dtype=bool)
        if keep.shape != (rows, shape[1]):
            raise LogError(f"keep must have shape ({rows}, {shape[1]}), got {keep.shape}", key=self.name)
        keep.setflags(write=False)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "blocks", tuple(self.blocks) or ((0, rows),))
        if self.stretches and len(self.stretches) != len(self.blocks):
            raise LogError(
                f"{len(self.stretches)} stretches for {len(self.blocks)} blocks, wanted one each", key=self.name
            )

    @property
    def rows(self) -> int:
        """Number of rows per joint after decimation."""
        rows = len(self.q)
        for factor in self.decimation:
            rows = -(-rows // factor)
        return rows

    def fingerprint(self) -> str:
        """Return a hash (hex) of all the numbers, so that the same motion is not counted twice."""
        digest = hashlib.blake2b(repr((self.decimation, self.blocks, self.stretches)).encode(), digest_size=32)
        for part in (self.t, self.q, self.qd, self.qdd, self.tau, self.keep):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()
