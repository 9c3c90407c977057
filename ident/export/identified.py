"""What every writer of a model gets: verified bodies and joint terms, the robot, and what the file says of itself.

Numbers have the digits that they deserve: as many as their standard errors allow, and as many as a body needs to exist.
A body is rounded as it is understood and as most files hold it: mass, centre of mass, tensor about the centre. Its ten
parameters about the link's frame are the exact products of these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import EstimationError, InfeasibleError, ModelError
from ident.estimate.estimate import DIGITS, Estimate, require_same, rounded, undetermined_told
from ident.estimate.prior import natural_jacobian
from ident.export.gate import admitted, fingerprint
from ident.model import DriveInertia, Hysteresis, Spring, Viscous
from ident.model.standard import COULOMB
from ident.model.term import Kind
from ident.model.terms import kind_of, law_of, plain
from ident.robot.robot import Robot
from ident.robot.unknown import applied
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import Pose, consistency, steiner, transformed, upper


@dataclass(frozen=True)
class Exported:
    """A file that was written; `notes` say what it cannot hold and what its user has to know."""

    path: Path
    notes: tuple[str, ...] = ()


def exportable(estimate: Estimate, robot: Robot | None = None) -> Array:
    """Return theta (p,) with the digits that are written, see `deserved`.

    Links of `robot` to which other bodies are fixed keep 12 digits, for a file's own share is what is left of them.
    Raises EstimationError when only base parameters are known, InfeasibleError when a link of these numbers
    cannot exist.
    """
    if estimate.theta is None:
        problem = f"'{estimate.estimator}' determines base parameters only, and no file of links can be made of them."
        fix = "Use the constrained fit, which returns bodies that can exist."
        raise EstimationError(f"{problem} {fix}", estimate=estimate)
    theta = frozen(rounded(estimate.theta), (len(estimate.base.standard),), "theta", ModelError)
    for i, link in enumerate(estimate.links):
        found = consistency(theta[10 * i : 10 * i + 10])
        if not found.consistent:
            problem = f"{link} cannot exist ({'; '.join(found.failures())}), so nothing was exported."
            raise InfeasibleError(f"{problem} Use the constrained fit.", estimate=estimate)
    merged = {robot.links[b.link] for b in robot.fixed if b.link >= 0 and b.inertial is not None} if robot else ()
    return deserved(estimate, keep=merged)


#: The places that simulators have for joint terms.
MOTOR = ARMATURE, DAMPING, FRICTION = DriveInertia.kind, Viscous.kind, COULOMB
SPRING = Spring.kind
#: What a place holds beside its own kind: once a joint slides, hysteresis is Coulomb friction.
HELD = {FRICTION: (Hysteresis.kind,)}


#: A file's content, and notes on what it cannot hold and what its user has to know.
Written = tuple[bytes | str, tuple[str, ...]]


@dataclass(frozen=True)
class Source:
    """A file that is edited in place: its name in messages, and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True, eq=False)
class Identified:
    """Numbers that may be written.

    inertials (n, 10): of the moving links, about their frames' origins, verified feasible as they are; terms: joint
    parameters by name; head: lines that every file carries. robot and source are None where they were not given.
    """

    estimate: Estimate
    theta: Array
    head: tuple[str, ...]
    robot: Robot | None = None
    source: Source | None = None

    @property
    def inertials(self) -> Array:
        """The inertials of the links (n, 10)."""
        return self.theta[: 10 * len(self.estimate.links)].reshape(-1, 10)

    @property
    def phi(self) -> Array:
        """The base parameters (b,) of these numbers: K theta."""
        return rounded(self.estimate.base.K @ self.theta)

    @property
    def terms(self) -> Mapping[str, float]:
        """Joint parameters by name, such as joint3.viscous."""
        first = 10 * len(self.estimate.links)
        return dict(zip(self.estimate.base.standard[first:], self.theta[first:].tolist(), strict=True))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Joint parameters of which nothing is known, neither by the logs nor by the prior: 0 stands for them."""
        return tuple(name for name in self.estimate.undetermined if not self.terms[name])

    def geometry(self, target: str) -> Robot:
        """Return the robot; raises ModelError for a target that cannot do without."""
        if self.robot is None:
            problem = f"{target} needs the geometry of the robot"
            raise ModelError(problem, fix="Give the robot that was identified: --robot")
        return self.robot

    @property
    def rests(self) -> Mapping[str, float]:
        """Where springs are slack [rad; m] by joint, as far as known; none where a file counts from other zeros."""
        other = self.source is not None and any(u.kind == "zero" for u in applied(self.estimate.calibration)[0])
        own = {joint: self.estimate.shapes.get(f"{joint}.{SPRING.name}", {}) for joint in self.estimate.joints}
        return {joint: shape["rest"] for joint, shape in own.items() if "rest" in shape and not other}

    def per_joint(self, kind: Kind) -> Mapping[str, float]:
        """Return the joints' own parameters of one kind, and what else its place holds, by joint.

        Those of coupled motors have other names. Those of which nothing is known, neither by the logs nor by the prior,
        are left out, and springs whose rest is not known.
        Raises ModelError for a negative drive inertia or friction, which no simulator takes.
        """
        found = {
            joint: float(rounded(np.array(sum(self.terms[name] for name in own))))
            for joint in self.estimate.joints
            if (own := self._held(joint, kind)) and (kind != SPRING or joint in self.rests)
        }
        for joint, value in found.items():
            if value < 0 and plain()[kind.name].nonnegative:
                problem = f"{joint}.{kind.name} is {value:g}, wanted at least 0"
                raise ModelError(problem, fix="Fit with the constrained estimator, which keeps it there")
        return found

    def _held(self, joint: str, kind: Kind) -> list[str]:
        """Return the names of a joint's own parameters that a place of this kind holds."""
        kinds = {kind, *HELD.get(kind, ())}
        own = (name for name in self.terms if name.rpartition(".")[0] == joint and kind_of(name) in kinds)
        return [name for name in own if name not in self.unknown]

    def about(self, *places: Kind) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return head and notes of a file of a target that has these places only for joint terms."""
        placed = {name for kind in places for joint in self.per_joint(kind) for name in self._held(joint, kind)}
        head, notes = self.without([name for name in self.terms if name not in placed and name not in self.unknown])
        remembers = [name for name in self.terms if name in placed and kind_of(name) in HELD[FRICTION]]
        if remembers:
            values = ", ".join(f"{name} {self.terms[name]:.10g}" for name in remembers)
            notes += (f"Counted as Coulomb friction here, without the way on which it builds up: {values}.",)
        return head, notes

    def without(self, left: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return head and notes of a file that lacks these joint parameters: what was validated had them."""
        if not left:
            return self.head, ()
        kinds = {kind.name: kind for name in left if (kind := kind_of(name))}
        words = [*(kind.words for kind in kinds.values()), *(name for name in left if not kind_of(name))]
        named = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        lacks = f", with {named}, which {'is' if len(words) == 1 else 'are'} not in this file."
        head = tuple(f"{line[:-1]}{lacks}" if line.startswith("Validation ") else line for line in self.head)
        values = ", ".join(f"{name} {self.terms[name]:.10g}" for name in left)
        laws = "; ".join(f"{kind.name}: {kind.law}" for kind in kinds.values())
        note = f"Not in this file, the controller has to add it: {values}{f' ({laws})' if laws else ''}."
        return head, (note,)


def identified(
    estimate: Estimate,
    *,
    robot: Robot | None = None,
    source: Source | None = None,
    when: str = "",
    unvalidated: bool = False,
    kept: bool = False,
) -> Identified:
    """Return the numbers of an estimate for the writers.

    when: a date for the files' heads, so that the same call writes the same bytes. kept: the file's geometry stays as
    it was before a calibration. Raises what `exportable` and `admitted` raise, and ModelError for another robot or
    another order of its joints.
    """
    if robot is not None:
        require_same(estimate, robot)
    theta = exportable(estimate, robot)
    validation = admitted(estimate, unvalidated=unvalidated)
    head = (
        f"Identified parameters of '{estimate.robot}', written by ident{f' on {when}' if when else ''}.",
        f"Result: estimator {estimate.estimator}, sha256 {fingerprint(estimate)}.",
        validation,
        told(estimate),
        *_calibrated(estimate, kept),
        *_laws(estimate),
        *undetermined_told(estimate.undetermined, estimate.base.standard, theta),
    )
    return Identified(estimate, theta, head, robot, source)


def _calibrated(estimate: Estimate, kept: bool) -> tuple[str, ...]:
    """Return what was calibrated of the robot's geometry, and which positions a file then takes; () for nothing."""
    used = zip(*applied(estimate.calibration), strict=True)
    found = [f"{u.name} {value:.6g} {u.unit}" for u, value in used if u.kind in ("tilt", "zero", "length")]
    if not found:
        return ()
    here = "The geometry here has it, and takes positions as the log counts them"
    if kept:
        here = "The geometry here is as it was before: give it the log's positions plus a joint's zero"
    return (f"Calibrated, and what the numbers hold for: {', '.join(found)}. {here}.",)


def _laws(estimate: Estimate) -> list[str]:
    """Return the laws of parameters that have numbers beside them, with these: without, their values mean nothing.

    The bodies of a load are the same for many joints: they come once, behind the laws, a line each.
    """
    found, tables = dict[str, dict[str, list[str]]](), dict[tuple[str, ...], list[str]]()
    for name in estimate.base.standard:
        if (own := estimate.shapes.get(name)) and (law := law_of(name, own)):
            told = ", ".join(f"{number} {x:.10g}" for number, x in own.items() if " " not in number)
            found.setdefault(law, {}).setdefault(f" ({told})" if told else "", []).append(name)
            if bodies := tuple(f"{number} {x:.10g}" for number, x in own.items() if " " in number):
                tables.setdefault(bodies, []).append(name)
    each = {law: [f"{', '.join(names)}{told}" for told, names in same.items()] for law, same in found.items()}
    lines = [f"{', '.join(who)}: {law}." for law, who in each.items()]
    for bodies, names in tables.items():
        of = ", ".join(names) if len(tables) > 1 else names[0].rpartition(".")[2]
        whose = (f"Table of {of}, {link} about its frame's origin" for link in estimate.links)
        lines += [f"{who}: {', '.join(bodies[10 * i : 10 * i + 10])}." for i, who in enumerate(whose)]
    return lines


def moved(body: Array, pose: Pose) -> Array:
    """Return the body (10,) in another frame, `pose` being its own seen from there, feasible as returned.

    A body at the edge of what can exist may be left outside by rounding; its moments then grow by at most 1e-12.
    """
    out = transformed(body, pose)
    size = float(np.abs(out[4:]).max())
    for share in (0.0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12):
        candidate = out.copy()
        candidate[[4, 7, 9]] += share * size
        if consistency(candidate).consistent:
            return candidate
    raise InfeasibleError("; ".join(consistency(out).failures()))


#: Together the rounded numbers move no combination of base parameters by more than this share of its standard error.
SHARE = 0.1
#: Size of a body's last digits against their scale: at most COARSEST, and FINEST where no standard error is known.
COARSEST, FINEST = 1e-3, 1e-6
_MOMENTS = (0, 3, 5)  # of xx xy xz yy yz zz
#: Eigenvalues of the correlations that are zero but for rounding, as fewer segments than parameters leave them: these
#: combinations have no standard error, and one of a hundredth of their parameters' is taken.
_ZERO, _TAKEN = 1e-12, 1e-4


def deserved(estimate: Estimate, keep: Collection[str] = ()) -> Array:
    """Return theta (p,) with the digits that its standard errors deserve, every link that can exist still able to.

    A number that enters base parameters is cut where its last digit is worth a tenth of the least of their standard
    errors, and all of them one digit later until together they move no combination of base parameters by more than a
    tenth of its standard error: |W K (rounded - theta)| <= 0.1 with W' W the inverse covariance. What no standard error
    speaks of keeps six digits. Links in `keep`, and everything where no standard error is known at all, keep 12.
    """
    if estimate.theta is None:
        raise ValueError("there are no standard parameters to round")
    exact = rounded(estimate.theta)
    (whiten, errors), K = _whitening(estimate), estimate.base.K
    if not len(whiten):
        return exact
    for finer in range(DIGITS + 1):
        theta = exact.copy()
        for i, link in enumerate(estimate.links):
            place = slice(10 * i, 10 * i + 10)
            if link not in keep:
                theta[place] = _body(exact[place], K[:, place], errors, finer)
        for k in range(10 * len(estimate.links), len(theta)):
            size = abs(exact[k])  # one digit stays
            theta[k] = float(_cut(exact[k], _unit(K[:, k], errors, size, size, finer)))
        if np.linalg.norm(whiten @ (K @ (theta - exact))) <= SHARE:
            return theta
    return exact


def deserved_base(estimate: Estimate, phi: Array) -> Array:
    """Return base parameters phi (b,), those of rounded theta, with digits by the same rule.

    Both roundings together move no combination by more than a tenth of its standard error.
    """
    whiten, errors = _whitening(estimate)
    exact = rounded(phi)
    for finer in range(DIGITS + 1 if len(whiten) else 0):
        units = [_unit(np.ones(1), errors[[k]], abs(x), np.inf, finer) for k, x in enumerate(exact)]
        out = np.array([float(_cut(x, unit)) for x, unit in zip(exact, units, strict=True)])
        if np.linalg.norm(whiten @ (out - estimate.phi)) <= SHARE:
            return out
    return exact


def told(estimate: Estimate) -> str:
    """Return what a file says about its digits."""
    if not len(_whitening(estimate)[0]):
        return f"Numbers have {DIGITS} digits: their standard errors are not known."
    return (
        f"Rounded as the standard errors ({estimate.covariance.kind}) deserve:"
        f" no combination of base parameters moves by over {SHARE:g} of its own."
    )


def _whitening(estimate: Estimate) -> tuple[Array, Array]:
    """Return W (r, b) with W' W the inverse covariance of the base parameters whose standard error is known, and these.

    Where that is singular, _TAKEN stands for what is zero. Standard errors (b,) are infinite where they are not known.
    """
    matrix = estimate.covariance.matrix
    errors = estimate.covariance.standard_errors
    known = np.flatnonzero(np.isfinite(errors) & (errors > 0))
    out = np.zeros((len(known), len(errors)))
    if len(known):
        correlation = matrix[np.ix_(known, known)] / np.outer(errors[known], errors[known])
        size, axes = np.linalg.eigh(correlation)
        out[:, known] = axes.T / np.sqrt(np.where(size > _ZERO, size, _TAKEN))[:, None] / errors[known]
    return out, np.where(np.isfinite(errors), errors, np.inf)


def _unit(slope: Array, errors: Array, scale: float, most: float, finer: int) -> Fraction:
    """Return the size of the last digit, a power of ten, of a number on which phi depends by `slope` (b,)."""
    seen = np.abs(slope) > 0
    with np.errstate(divide="ignore"):
        allowed = SHARE * float(np.min(errors[seen] / np.abs(slope[seen]), initial=np.inf))
    least = scale * 10.0 ** (1 - DIGITS)  # an error of 0 is that of a number at its bound
    known = bool(np.isfinite(allowed))
    largest = max(min(allowed, most), least) if known else FINEST * scale
    return Fraction(10) ** (int(np.floor(np.log10(largest))) - finer * known) if largest > 0 else Fraction(0)


def _cut(value: float | Fraction, unit: Fraction) -> Fraction:
    return round(Fraction(value) / unit) * unit if unit else Fraction(value)


def _body(body: Array, K: Array, errors: Array, finer: int) -> Array:
    """Return one body (10,), rounded as mass, centre and tensor about it; `K` (b, 10) are its columns."""
    if body[0] <= 0 or not consistency(body).consistent:
        return body
    try:
        mass, com, about_com = com_numbers(body)
    except InfeasibleError:
        return body
    slopes = K @ natural_jacobian(mass, np.array(com))
    length = float(np.sqrt(sum(body[[4, 7, 9]]) / 2 / mass))  # radius of gyration about the frame's origin
    moments = max(sum(about_com[k] for k in _MOMENTS), 1e-6 * mass * length**2)
    scales = [mass, *[length] * 3, *[moments] * 6]
    units = [_unit(slopes[:, k], errors, scales[k], COARSEST * scales[k], finer) for k in range(10)]
    cut = [_cut(value, unit) for value, unit in zip((mass, *com, *about_com), units, strict=True)]
    m, c, step = cut[0], cut[1:4], max(units[4:])
    for grown in range(10):  # rounding may leave a body at the edge outside: its three moments grow
        tensor = [x + grown * step if k in _MOMENTS else x for k, x in enumerate(cut[4:])]
        found = np.array([m, *(m * x for x in c), *(tensor + upper(steiner(m, c)))], dtype=np.float64)
        with suppress(InfeasibleError):
            if consistency(found).consistent:
                com_numbers(found)  # it can be read again
                return found
    return body
