"""A trajectory as a C99 header that evaluates it at any time."""

from __future__ import annotations

import re
from pathlib import Path

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.bases import DEGREE, Fourier, FourierAndPolynomial, PeriodicSpline, pieces_of_b_spline
from ident.excitation.trajectory import Trajectory, origin, require_joints
from ident.export.text import filled
from ident.files import write_whole
from ident.robot.robot import Robot
from ident.symbolic.newton_euler import identifier


def write_trajectory(path: str | Path, robot: Robot, trajectory: Trajectory) -> Path:
    """Write a header that needs nothing but math.h and allocates nothing, whole or not at all.

    It defines NAME_JOINTS, NAME_DURATION [s] and `void NAME_evaluate(double t, double q[], double qd[], double qdd[])`,
    with NAME the file's name as an identifier. A periodic motion repeats itself for any t; another one stays at its
    start before 0 and at its end after NAME_DURATION.
    Raises ExcitationError for joints other than the robot's or a basis other than the three of this package, InputError
    when the place cannot be written to.
    """
    require_joints(trajectory.joints, robot)
    basis = trajectory.basis
    if not isinstance(basis, Fourier | PeriodicSpline):
        raise ExcitationError(f"there is no C code for the basis {type(basis).__name__}")
    spline = basis if isinstance(basis, PeriodicSpline) else None
    path = Path(path)
    name = identifier(path.stem, "trajectory")
    n, size = trajectory.coefficients.shape
    joints = ", ".join(f"{j} [{unit}]" for j, unit in zip(trajectory.joints, robot.units("position"), strict=True))
    text = filled(
        "code/trajectory.h.j2",
        motion=_comment(f"Motion for {origin(robot)}."),
        joints=_comment(f"Joints: {joints}."),
        name=name,
        big=name.upper(),
        n=n,
        size=size,
        duration=trajectory.duration,
        coefficients=trajectory.coefficients,
        table=_table,
        degree=DEGREE,
        fourier=None if spline else basis,
        polynomial=basis if isinstance(basis, FourierAndPolynomial) else None,
        spline=spline,
        pieces=pieces_of_b_spline(spline.degree) if spline else None,
    )
    return write_whole(path, text)


def _table(rows: Array) -> str:
    return "{\n" + ",\n".join(f"    {{{', '.join(map(repr, row))}}}" for row in rows.tolist()) + "}"


def _comment(text: str) -> str:
    """Return ASCII text that can neither end a comment nor begin a trigraph."""
    return re.sub(r"[^ -~]|[*?\\]", "_", text)
