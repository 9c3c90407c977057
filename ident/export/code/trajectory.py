"""A trajectory as a C99 header that evaluates it at any time."""

from __future__ import annotations

import re
from pathlib import Path

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.fourier import Fourier
from ident.excitation.fourier_polynomial import DEGREE, FourierAndPolynomial
from ident.excitation.periodic_spline import PeriodicSpline, pieces_of_b_spline
from ident.excitation.rows import origin, require_joints
from ident.excitation.trajectory import Trajectory
from ident.files import write_whole
from ident.robot.robot import Robot
from ident.symbolic.names import identifier


def write_trajectory(path: str | Path, robot: Robot, trajectory: Trajectory) -> Path:
    """Write a header that needs nothing but math.h and allocates nothing, whole or not at all.

    It defines NAME_JOINTS, NAME_DURATION [s] and `void NAME_evaluate(double t, double q[], double qd[], double qdd[])`,
    with NAME the file's name as an identifier. A periodic motion repeats itself for any t; another one stays at its
    start before 0 and at its end after NAME_DURATION.
    Raises ExcitationError for joints other than the robot's or a basis other than the three of this package, InputError
    when the place cannot be written to.
    """
    require_joints(trajectory.joints, robot)
    path = Path(path)
    name = identifier(path.stem, "trajectory")
    tables, functions = _basis(trajectory, name)
    n, size = trajectory.coefficients.shape
    joints = ", ".join(f"{j} [{unit}]" for j, unit in zip(trajectory.joints, robot.units("position"), strict=True))
    text = f"""\
/* {_comment(f"Motion for {origin(robot)}.")}
   {_comment(f"Joints: {joints}.")}
   Times in s, q in rad or m, qd per s, qdd per s^2. */
#ifndef {name.upper()}_H
#define {name.upper()}_H

#include <math.h>

#define {name.upper()}_JOINTS {n}
#define {name.upper()}_DURATION {trajectory.duration!r} /* s */

static const double {name}_coefficients[{n}][{size}] = {_table(trajectory.coefficients)};
{tables}
static inline void {name}_evaluate(double t, double q[{n}], double qd[{n}], double qdd[{n}])
{{
    double b[{size}] = {{0}}, bd[{size}] = {{0}}, bdd[{size}] = {{0}}; /* basis functions and derivatives */
    int j, k;
{functions}\
    for (j = 0; j < {n}; j++) {{
        q[j] = qd[j] = qdd[j] = 0.0;
        for (k = 0; k < {size}; k++) {{
            const double c = {name}_coefficients[j][k];
            q[j] += c * b[k];
            qd[j] += c * bd[k];
            qdd[j] += c * bdd[k];
        }}
    }}
}}

#endif
"""
    return write_whole(path, text)


def _basis(trajectory: Trajectory, name: str) -> tuple[str, str]:
    """Return tables and statements that fill b, bd and bdd."""
    match trajectory.basis:
        case Fourier() as basis:
            return "", _fourier(basis)
        case FourierAndPolynomial() as basis:
            return "", _stop(basis) + _fourier(basis.fourier) + _polynomial(basis)
        case PeriodicSpline() as basis:
            pieces = pieces_of_b_spline(basis.degree)
            table = f"static const double {name}_pieces[{basis.degree + 1}][{basis.degree + 1}] = {_table(pieces)};\n"
            return table, _spline(basis, name)
        case other:
            raise ExcitationError(f"there is no C code for the basis {type(other).__name__}")


def _stop(basis: FourierAndPolynomial) -> str:
    return f"""\
    if (!(t > 0.0)) t = 0.0;
    if (t > {basis.duration!r}) t = {basis.duration!r};
"""


def _fourier(basis: Fourier) -> str:
    return f"""\
    b[0] = 1.0;
    for (k = 1; k <= {basis.harmonics}; k++) {{
        const double w = k * {basis.base!r}, s = sin(w * t), c = cos(w * t);
        b[2 * k - 1] = s / w;
        bd[2 * k - 1] = c;
        bdd[2 * k - 1] = -w * s;
        b[2 * k] = -c / w;
        bd[2 * k] = s;
        bdd[2 * k] = w * c;
    }}
"""


def _polynomial(basis: FourierAndPolynomial) -> str:
    return f"""\
    {{
        const double T = {basis.duration!r}, s = t / T;
        double p = 1.0, pd = 0.0, pdd = 0.0; /* s^k and its derivatives */
        for (k = 1; k <= {DEGREE}; k++) {{
            pdd = s * pdd + 2.0 * pd / T;
            pd = s * pd + p / T;
            p = s * p;
            b[{basis.fourier.size - 1} + k] = p;
            bd[{basis.fourier.size - 1} + k] = pd;
            bdd[{basis.fourier.size - 1} + k] = pdd;
        }}
    }}
"""


def _spline(basis: PeriodicSpline, name: str) -> str:
    d, m = basis.degree, basis.intervals
    return f"""\
    {{
        const double rate = {m / basis.duration!r}; /* intervals per s */
        double x = t * rate, u;
        int interval, power;
        if (!(fabs(x) < 1e15)) x = 0.0;
        u = x - floor(x);
        interval = (int)fmod(floor(x), {m}.0);
        for (j = 0; j <= {d}; j++) {{
            double p = 0.0, pd = 0.0, pdd = 0.0; /* piece j of the B-spline at u, by Horner's rule */
            for (power = {d}; power >= 0; power--) {{
                pdd = u * pdd + 2.0 * pd;
                pd = u * pd + p;
                p = u * p + {name}_pieces[j][power];
            }}
            k = (interval - j + {2 * m}) % {m};
            b[k] = p;
            bd[k] = rate * pd;
            bdd[k] = rate * rate * pdd;
        }}
    }}
"""


def _table(rows: Array) -> str:
    return "{\n" + ",\n".join(f"    {{{', '.join(map(repr, row))}}}" for row in rows.tolist()) + "}"


def _comment(text: str) -> str:
    """Return ASCII text that can neither end a comment nor begin a trigraph."""
    return re.sub(r"[^ -~]|[*?\\]", "_", text)
