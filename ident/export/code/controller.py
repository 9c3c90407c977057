"""What every file for a controller holds: functions of the base parameters, a test vector, what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.estimate.estimate import rounded
from ident.export.identified import Identified
from ident.export.text import number
from ident.model import Coupled, LoadFriction, Model, SmoothCoulomb, coupled_drives, coupled_motors, torque
from ident.model.standard import COULOMB
from ident.model.term import Term
from ident.model.terms import kind_of, plain, restored
from ident.regression.base import base_parameters
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL
from ident.symbolic.functions import TURNING, controller_functions, signals_of, states_of
from ident.symbolic.newton_euler import identifier
from ident.symbolic.program import Program

#: Width of the tanh in Coulomb friction where the fit had another law [rad/s; m/s]: 76 % of the friction at this speed.
COULOMB_WIDTH = 0.01
CONVENTIONS = (
    "Units: SI, rad; q, qd, qdd in the order of the joints below, as the robot's description counts them.",
    "Torques [N m; prismatic: N] are on the joint side, as the joint moves the links.",
    "inverse_dynamics: M qdd + C qd + gravity, WITHOUT friction: add friction to predict the torque of the log.",
    "gravity: the torque that holds the arm still, springs and offsets included. mass_matrix: drive inertia included.",
    "friction: viscous * qd + coulomb * tanh(qd / width), for whatever law of Coulomb friction was fitted.",
    "regressor: inverse_dynamics + friction = Y phi, phi the base parameters below.",
    "Link parameters: m, h = m * centre of mass, tensor about the link frame's ORIGIN, link axes, tensor signs",
    "(Ixy = -integral of x y dm). The functions are made of phi alone: what torque cannot show is left out.",
    "Not in this file: joint limits, torque limits, collision, flexibility, delay, motor gains.",
)

_COUNTED = ("multiplications", "additions", "sines and cosines")
_TAKEN = {
    "temperature": "temperature: of each joint [degC], an argument of friction and regressor.",
    "time": "time: one number [s], since the controller's start as since a recording's; an argument of both, too.",
    "z": "z: states of hysteresis friction, -1..1, 0 at first, an argument of both; presliding(z, dq) gives the next.",
    "dq": "dq: how far each joint went since the last cycle, from filtered positions, for noise is travel, too.",
}
_LOADED = (
    "friction takes q, qd, qdd: load_friction is value * |load| * tanh(qd / width), the load being the torque of the",
    "bodies that the fit took for it (1 m, 1 hx, ... above): of CAD, or without CAD the links that were fitted.",
)


@dataclass(frozen=True, eq=False)
class Controller:
    """Functions and numbers for one robot.

    name: the robot's as an identifier; functions: see `controller_functions`; phi (b,): base parameters, phi_lines:
    what each is, and its standard error; inertials (n, 10); state (3, n), signals: a test vector of motion and of what
    friction needs beside it, expected: by the batch functions there, for Coulomb friction of `width`; about: lines for
    the file's head.
    """

    name: str
    robot: Robot
    functions: tuple[Program, ...]
    phi: Array
    phi_lines: tuple[str, ...]
    inertials: Array
    state: Array
    signals: dict[str, Array]
    expected: dict[str, Array]
    width: float
    about: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.robot.n

    @property
    def rare(self) -> tuple[str, ...]:
        """Functions that the programs need beside sin, cos and tanh, see `Program.rare`."""
        return tuple(dict.fromkeys(name for program in self.functions for name in program.rare))


def controller(item: Identified, target: str) -> Controller:
    """Return the functions of a result; raises ModelError without robot or where a term cannot be told apart."""
    robot, base = item.geometry(target), item.estimate.base
    width, widths, law = _width(item)
    terms, left = _terms(item, robot, width, widths)
    model = Model(robot, terms)
    own = base_parameters(model) if left else base
    kept = [k for k, name in enumerate(base.standard) if name not in left]
    theta = item.theta[kept]
    if model.names != tuple(base.standard[k] for k in kept):
        raise ModelError(f"the joint terms of '{robot.name}' have names that its joints and motors do not explain")
    phi = rounded(own.K @ theta)
    errors = item.estimate.covariance.standard_errors
    known = {base.expression(k): f"+- {error:.1e}" for k, error in enumerate(errors) if np.isfinite(error)}
    expressions = [own.expression(k) for k in range(len(own.names))]
    head, notes = item.without(left)
    functions = controller_functions(model, own, theta)
    state, signals, expected = _test(model, theta, width)
    about = (
        *head,
        *CONVENTIONS,
        f"width of Coulomb friction's tanh: {width:g} rad/s (m/s), {law}.",
        *(
            f"{'friction' if kind.friction else 'inverse_dynamics'} also: {kind.name}: {kind.law}."
            for kind in dict.fromkeys(term.kind for term in terms)
            if kind.name not in plain()
        ),
        *(_TAKEN[name] for name in signals),
        *([f"z belongs to {', '.join(model.names[k] for k in states_of(model))}."] if "z" in signals else []),
        *(_LOADED if any(isinstance(term, LoadFriction) for term in terms) else ()),
        f"Gravity in the base frame: {', '.join(map(number, robot.gravity))} m/s^2.",
        *notes,
        "Multiplications, additions and sines, cosines, tanh a call: "
        + "; ".join(f"{p.name} {', '.join(str(p.operations[key]) for key in _COUNTED)}" for p in functions)
        + ".",
    )
    return Controller(
        name=identifier(robot.name, "robot"),
        robot=robot,
        functions=functions,
        phi=phi,
        phi_lines=tuple(f"{text} ({known.get(text, 'not determined by data')})" for text in expressions),
        inertials=item.inertials,
        state=state,
        signals=signals,
        expected=expected,
        width=width,
        about=about,
        notes=notes,
    )


def body_line(link: str) -> str:
    """Return what a row of the links' parameters holds."""
    return f"{link}: {', '.join(INERTIAL)}"


def _width(item: Identified) -> tuple[float, dict[str, float], str]:
    """Return the widest tanh, each joint's by the name of its friction, and why they are that: as fitted, if they are.

    A result that has another law of Coulomb friction anywhere gets COULOMB_WIDTH at all joints.
    """
    laws = {
        name: tuple((key, x) for key, x in shape.items() if " " not in key)  # without the bodies of a load
        for name, shape in item.estimate.shapes.items()
        if kind_of(name) in TURNING
    }
    if laws and all([kind for kind, _ in law] == ["tanh"] for law in laws.values()):
        each = {name: law[0][1] for name, law in laws.items()}
        widest = max(each.values())
        owners = {name.rpartition(".")[0]: x for name, x in each.items() if x != widest}
        others = ", ".join(f"{x:g} at {owner}" for owner, x in owners.items())
        return widest, each, f"as fitted{f'; {others}, narrower in the same ratio' if others else ''}"
    if not laws:
        return COULOMB_WIDTH, {}, "a choice: the result does not say which law was fitted"
    told = " and ".join(sorted({" ".join(f"{kind} {value:g}" for kind, value in law) for law in laws.values()}))
    return COULOMB_WIDTH, {}, f"a choice: the law that was fitted is another one ({told})"


def _terms(
    item: Identified, robot: Robot, width: float, widths: Mapping[str, float]
) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """Return the joint terms that code is made of, in the order of the names, and the names of those left out.

    widths: of the tanh of each Coulomb friction by name; width: of those without.
    """
    shares = {drive.motor: drive.shares for drive in coupled_drives(robot) if drive.motor in coupled_motors(robot)}
    terms: list[Term] = []
    left: list[str] = []
    for name in item.terms:
        owner, _, kind = name.rpartition(".")
        smooth = SmoothCoulomb(widths.get(name, width), (owner,))
        law: Term | None = (
            smooth if kind == COULOMB.name else restored(kind, item.estimate.shapes.get(name, {}), (owner,))
        )
        law = replace(law, law=smooth) if isinstance(law, LoadFriction) else law
        own = owner in shares or owner in robot.joint_names or hasattr(law, "along")
        if law is None or not hasattr(law, "symbol") or not own:
            left.append(name)
        else:
            terms.append(Coupled(owner, shares[owner], law) if owner in shares else law)
    return tuple(terms), tuple(left)


def _test(model: Model, theta: Array, width: float) -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Return a state (3, n), signals, and what each function gives there, by the batch functions of `ident.model`."""
    n = model.robot.n
    state = np.random.default_rng(7).uniform(-1.5, 1.5, (3, n)).round(3)
    state[1, -1] = 0.5 * width  # where the tanh bends
    rest = np.zeros((1, n))
    q, qd, qdd = state[:, None]

    resists = [(kind := kind_of(name)) is not None and kind.friction for name in model.names]
    examples = {"temperature": 25.0 + 1.5 * np.arange(n), "time": np.array([40.0])}
    given, states = {name: examples[name] for name in signals_of(model) if name in examples}, states_of(model)
    signals = {name: x if name == "time" else x[None] for name, x in given.items()}
    carried = np.isin(np.arange(len(theta)), list(states))  # whose column is a path's, not that of a state

    def tau(q: Array, qd: Array, qdd: Array, friction: bool = False) -> Array:
        own = np.where((np.array(resists) == friction) & ~carried, theta, 0.0)
        return torque(model, own, q, qd, qdd, signals=signals)

    every = np.repeat(q, n, axis=0)
    gravity = tau(q, rest, rest)
    found = {
        "inverse_dynamics": tau(q, qd, qdd)[0],
        "gravity": gravity[0],
        "mass_matrix": (tau(every, np.zeros((n, n)), np.eye(n)) - gravity).T,
        "friction": tau(q, qd, qdd, friction=True)[0],
    }
    if states:
        path = np.random.default_rng(8).normal(0.0, 1e-3, (4, n)).cumsum(axis=0)
        before, after = np.array([x.column(*[(path @ row)[None]] * 3)[0, 2:] for x, row in states.values()]).T
        given |= {"z": rounded(before), "dq": rounded(path[3] - path[2])}
        found["friction"] += sum(theta[k] * z * row for z, (k, (_, row)) in zip(before, states.items(), strict=True))
        found["presliding"] = after
    return state, given, {key: rounded(value) for key, value in found.items()}
