"""A robot's geometry for formulas, and recursions from link to link: Newton and Euler (Luh, Walker, Paul, J. Dyn. Syst.
Meas. Control 102, 1980).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL, PSEUDO_INERTIA_MAP, symmetric, upper
from ident.symbolic.program import Objects

#: Sines and cosines of multiples of pi/12, and the direction cosine of a cube's diagonal.
_EXACT = np.array(
    [0.0, 0.25881904510252074, 0.5, 0.5**0.5, 0.75**0.5, 0.9659258262890683, 1.0, (1 / 3) ** 0.5, (2 / 3) ** 0.5]
)
_ROUNDING = 1e-14


def tidy_cosine(x: float) -> float:
    """Return the number of `_EXACT` that x is but for rounding, or else x: cos(pi/2) becomes 0."""
    k = int(np.argmin(np.abs(_EXACT - abs(x))))
    return math.copysign(_EXACT[k], x) if abs(_EXACT[k] - abs(x)) < _ROUNDING else tidy(x)


def tidy(x: float, scale: float = 1.0) -> float:
    """Return x without the digits that rounding left: 0 below 1e-15 of scale, 0.3 for 0.1 + 0.2."""
    if abs(x) < 0.1 * _ROUNDING * scale:
        return 0.0
    short = float(f"{x:.13g}")
    return short if abs(short - x) <= 2.0 * math.ulp(x) else float(x)


def _each(function: Callable[[float], float], values: ArrayLike) -> Objects:
    return np.asarray(np.vectorize(function, otypes=[object])(np.asarray(values, dtype=float)))


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Joints i = 0 .. n-1 as in `Robot`, entries numbers or symbols.

    parents (n); revolute (n); rotations (n, 3, 3), positions (n, 3): placements in the parent's frame;
    axes (n, 3), points (n, 3): the joints' lines in their own link's frame; gravity (3,) in the base frame.
    """

    parents: tuple[int, ...]
    revolute: tuple[bool, ...]
    rotations: Objects
    positions: Objects
    axes: Objects
    points: Objects
    gravity: Objects

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.parents)

    def carriers(self, link: int) -> list[int]:
        """Return the joints that carry a link, from the base on, the link's own joint last."""
        found = [link]
        while self.parents[found[0]] >= 0:
            found.insert(0, self.parents[found[0]])
        return found

    def placed(self, i: int, q: Objects) -> tuple[Objects, Objects]:
        """Return rotation (3, 3) and position (3,) of link i's frame seen from its parent's at joint positions q."""
        placement, position, axis, point = self.rotations[i], self.positions[i], self.axes[i], self.points[i]
        if not self.revolute[i]:
            return placement, position + (placement @ axis) * q[i]
        c, s = np.cos(q[i : i + 1])[0], np.sin(q[i : i + 1])[0]
        along = np.outer(axis, axis)
        still, across = placement @ along, placement @ (np.eye(3).astype(object) - along)
        turned = placement @ skew(axis)
        still, across, turned = (_each(tidy_cosine, x) for x in (still, across, turned))  # products of cosines
        rotation = still + c * across + s * turned  # Rodrigues
        return rotation, position + placement @ point - rotation @ point


def mechanism(robot: Robot) -> Mechanism:
    """Return the geometry of a robot with tidy numbers."""
    joints = robot.joints
    return Mechanism(
        parents=robot.parents,
        revolute=tuple(not joint.slides for joint in joints),
        rotations=_each(tidy_cosine, [joint.placement.rotation for joint in joints]),
        positions=_each(tidy, [joint.placement.position for joint in joints]),
        axes=_each(tidy_cosine, [joint.axis for joint in joints]),
        points=_each(tidy, [joint.point for joint in joints]),
        gravity=_each(lambda x: tidy(x, float(np.linalg.norm(robot.gravity))), robot.gravity),
    )


def cross(a: Objects, b: Objects) -> Objects:
    """Return a x b."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dtype=object)


def skew(a: Objects) -> Objects:
    """Return the matrix of a x."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]], dtype=object)


def zeros(*shape: int) -> Objects:
    """Return an array of the number 0."""
    return np.zeros(shape).astype(object)


_LONGEST = 40


def identifier(text: str, default: str) -> str:
    """Return `text` with all but ASCII letters and digits turned into `_`, `default` in front where it cannot begin so.

    At most 40 characters, never empty.
    """
    safe = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:_LONGEST].rstrip("_")
    return safe if safe and not safe[0].isdigit() else f"{default}_{safe}".rstrip("_")


def parameter_names(robot: Robot) -> tuple[str, ...]:
    """Return `link2_hx` for `link2.hx` and so on, (10 n) in the order of the standard parameters.

    Links that would be called alike get their number behind.
    """
    safe = [identifier(link, "link") for link in robot.links]
    numbered = [f"{name}_{i + 1}" if safe.count(name) > 1 else name for i, name in enumerate(safe)]
    links = numbered if len(set(numbered)) == len(numbered) else [f"link{i + 1}" for i in range(robot.n)]
    return tuple(f"{link}_{part}" for link in links for part in INERTIAL)


def joint_names(letter: str, n: int) -> tuple[str, ...]:
    """Return q1 .. qn, or qd1 .., qdd1 .."""
    return tuple(f"{letter}{i + 1}" for i in range(n))


def inverse_dynamics(arm: Mechanism, inertials: Objects, q: Objects, qd: Objects, qdd: Objects) -> Objects:
    """Return tau (n,) of links with inertials (n, 10); q, qd, qdd (n,)."""
    poses, rates = _outward(arm, q, qd, qdd)
    forces, moments = [], []
    for (w, wd, B, a), (m, *rest) in zip(rates, inertials, strict=True):
        h, inertia = np.array(rest[:3], dtype=object), symmetric(np.array(rest[3:], dtype=object))
        forces.append(m * a + B @ h)
        moments.append(inertia @ wd + cross(w, inertia @ w) + cross(h, a))
    tau = zeros(arm.n)
    for i in reversed(range(arm.n)):
        f, n = forces[i], moments[i]
        axis, point = arm.axes[i], arm.points[i]
        tau[i] = axis @ n + cross(point, axis) @ f if arm.revolute[i] else axis @ f
        if arm.parents[i] >= 0:
            rotation, position = poses[i]
            f = rotation @ f
            forces[arm.parents[i]] = forces[arm.parents[i]] + f
            moments[arm.parents[i]] = moments[arm.parents[i]] + rotation @ n + cross(position, f)
    return tau


def regressor(arm: Mechanism, q: Objects, qd: Objects, qdd: Objects) -> Objects:
    """Return Y (n, 10 n): the torque per unit of each link parameter.

    The wrench of link p on itself is f = m a + B h, n = I wd + w x I w + h x a; joint j, which carries it and moves its
    frame with angular velocity u and velocity v per unit of qd, takes u.n + v.f of it.
    """
    poses, rates = _outward(arm, q, qd, qdd)
    Y = zeros(arm.n, 10 * arm.n)
    for p, (moved, (w, wd, B, a)) in enumerate(zip(twists(arm, poses), rates, strict=True)):
        for j, (u, v) in moved.items():
            uw = cross(u, w)
            Y[j, 10 * p] = v @ a
            Y[j, 10 * p + 1 : 10 * p + 4] = B.T @ v + cross(a, u)  # u . (h x a) = h . (a x u)
            full = np.outer(u, wd) + np.outer(uw, w)  # u . (w x I w) = (u x w) . I w
            Y[j, 10 * p + 4 : 10 * p + 10] = [
                full[r, c] + full[c, r] if r != c else full[r, r] for r in range(3) for c in range(r, 3)
            ]
    return Y


def twists(arm: Mechanism, poses: Iterable[tuple[Objects, Objects]]) -> Iterator[dict[int, tuple[Objects, Objects]]]:
    """Yield of each link, for each joint that carries it, its angular velocity u and its origin's v per unit of qd.

    In the link's frame, where they depend only on the joints in between; poses: of the links in their parents.
    """
    found: list[dict[int, tuple[Objects, Objects]]] = []
    for p, (rotation, position) in enumerate(poses):
        before = found[arm.parents[p]] if arm.parents[p] >= 0 else {}
        own = {j: (rotation.T @ u, rotation.T @ (v + cross(u, position))) for j, (u, v) in before.items()}
        found.append(own | {p: _twist(arm, p)})
        yield found[p]


def gravity(arm: Mechanism, inertials: Objects, q: Objects) -> Objects:
    """Return g (n,): the torque that holds the arm still.

    All that joint i carries weighs like one body of mass m and first moment h, which has to accelerate upwards by a:
    g_i = u.(h x a) + v.(m a) for the joint's twist (u, v).
    """
    bodies, g = composites(arm, inertials[:, :4], q), zeros(arm.n)
    accelerations: list[Objects] = []
    for i in range(arm.n):
        rotation, _ = arm.placed(i, q)
        a = rotation.T @ (accelerations[arm.parents[i]] if arm.parents[i] >= 0 else -arm.gravity)
        accelerations.append(a)
        u, v = _twist(arm, i)
        g[i] = a @ (cross(u, bodies[i][1:4]) + bodies[i][0] * v)
    return g


def mass_matrix(arm: Mechanism, inertials: Objects, q: Objects) -> Objects:
    """Return D (n, n): column i holds what the joints before take when joint i alone accelerates all that it carries.

    Composite bodies: Walker, Orin, J. Dyn. Syst. Meas. Control 104 (1982), method 3.
    """
    bodies, D = composites(arm, inertials, q), zeros(arm.n, arm.n)
    for i in range(arm.n):
        m, h, inertia = bodies[i][0], bodies[i][1:4], symmetric(bodies[i][4:])
        u, v = _twist(arm, i)
        f, n = m * v + cross(u, h), inertia @ u + cross(h, v)
        for j in reversed(arm.carriers(i)):
            u, v = _twist(arm, j)
            D[i, j] = D[j, i] = u @ n + v @ f
            rotation, position = arm.placed(j, q)
            f = rotation @ f
            n = rotation @ n + cross(position, f)
    return D


def composites(arm: Mechanism, inertials: Objects, q: Objects) -> list[Objects]:
    """Return of each link the parameters of all that it carries, itself included, in its frame.

    inertials (n, 10), or (n, 4) for mass and first moment alone, which is what is returned then.
    """
    bodies = [np.array(body, dtype=object) for body in inertials]
    for i in reversed(range(arm.n)):
        if arm.parents[i] >= 0:
            before = bodies[arm.parents[i]]
            bodies[arm.parents[i]] = before + _seen_from(bodies[i], *arm.placed(i, q))
    return bodies


def _seen_from(body: Objects, rotation: Objects, position: Objects) -> Objects:
    """Return a body's parameters in another frame: h' = R h + m p, I' = R I R^T + what the shift adds."""
    m, turned = body[0], rotation @ body[1:4]
    moved = np.concatenate([body[:1], turned + m * position])
    if len(body) == 4:
        return moved
    inertia = rotation @ symmetric(body[4:]) @ rotation.T
    # r r^T summed over the mass grows by p h'^T + (R h) p^T
    spread = np.outer(position, moved[1:4]) + np.outer(turned, position)
    tensor = inertia + np.trace(spread) * np.eye(3).astype(object) - spread
    return np.concatenate([moved, upper(tensor)])


def _twist(arm: Mechanism, i: int) -> tuple[Objects, Objects]:
    """Return the angular velocity of link i, and the velocity of its frame's origin, per unit of its joint's speed."""
    axis = arm.axes[i]
    return (axis, cross(arm.points[i], axis)) if arm.revolute[i] else (zeros(3), axis)


def _outward(
    arm: Mechanism, q: Objects, qd: Objects, qdd: Objects
) -> tuple[list[tuple[Objects, Objects]], list[tuple[Objects, ...]]]:
    """Return each link's pose in its parent, and its rates w, wd, B, a in its own frame.

    w, wd: angular velocity and acceleration; B = [wd x] + [w x]^2, so that a + B r is the acceleration of a point r of
    the link, a that of its origin; the base accelerates upwards in place of gravity.
    """
    poses = [arm.placed(i, q) for i in range(arm.n)]
    rates: list[tuple[Objects, ...]] = []
    for i, (rotation, position) in enumerate(poses):
        axis, point = arm.axes[i], arm.points[i]
        if arm.parents[i] >= 0:
            w, wd, B, a = rates[arm.parents[i]]
            w, wd = rotation.T @ w, rotation.T @ wd
        else:
            w, wd, B, a = zeros(3), zeros(3), zeros(3, 3), -arm.gravity
        if arm.revolute[i]:
            start = arm.positions[i] + arm.rotations[i] @ point  # a point of the joint's line, in the parent
            a = rotation.T @ (a + B @ start)
            wd = wd + axis * qdd[i] + cross(w, axis) * qd[i]
            w = w + axis * qd[i]
            B = _spread(w, wd)
            a = a - B @ point
        else:
            a = rotation.T @ (a + B @ position) + axis * qdd[i] + 2.0 * cross(w, axis) * qd[i]
            B = _spread(w, wd)
        rates.append((w, wd, B, a))
    return poses, rates


def _spread(w: Objects, wd: Objects) -> Objects:
    """Return [wd x] + [w x]^2."""
    ww = np.outer(w, w)
    return np.asarray(skew(wd) + ww - np.trace(ww) * np.eye(3).astype(object))


def coriolis_matrix(arm: Mechanism, inertials: Objects, q: Objects, qd: Objects) -> Objects:
    """Return C (n, n), that of the Christoffel symbols: dD/dt - 2 C is skew.

    By 4x4 matrices (Uicker 1965; Paul, Robot Manipulators, 1981, chapter 6). T_p is link p's frame seen from the base,
    J_p its pseudo-inertia. Joint k moves all that it carries by dT_p/dq_k = S_k T_p, and for j before k the second
    derivative is S_j S_k T_p. So V_p = sum_k S_k qd_k over the joints that carry p leaves

        C_ij = sum_p tr((dS_j/dt + S_j V_p) T_p J_p T_p^T S_i^T), dS_j/dt = V_j S_j - S_j V_j

    over the links that i and j carry, which are those that m, the later one, carries: W_m is their sum of
    T_p J_p T_p^T, U_m that of V_p T_p J_p T_p^T.
    """
    T: list[Objects] = []
    S: list[Objects] = []
    V: list[Objects] = []
    W: list[Objects] = []
    for i, above in enumerate(arm.parents):
        T.append(np.eye(4).astype(object))
        T[i][:3, :3], T[i][:3, 3] = arm.placed(i, q)
        T[i] = T[above] @ T[i] if above >= 0 else T[i]
        rotation, position = T[i][:3, :3], T[i][:3, 3]
        u, v = (rotation @ x for x in _twist(arm, i))
        S.append(zeros(4, 4))
        S[i][:3, :3], S[i][:3, 3] = skew(u), v + cross(position, u)
        V.append(S[i] * qd[i] + (V[above] if above >= 0 else 0.0))
        W.append((PSEUDO_INERTIA_MAP @ _seen_from(inertials[i], rotation, position)).reshape(4, 4))
    U = [v @ w for v, w in zip(V, W, strict=True)]
    turned = [v @ s - s @ v for v, s in zip(V, S, strict=True)]  # dS_j/dt
    C = zeros(arm.n, arm.n)
    for m in reversed(range(arm.n)):
        F, G, H = turned[m] @ W[m] + S[m] @ U[m], S[m] @ W[m], S[m] @ U[m].T
        for k in arm.carriers(m):  # tr(X Y^T) is the sum of X * Y
            C[m, k] = (G * turned[k] + H * S[k]).sum()
            C[k, m] = (F * S[k]).sum()
        if (above := arm.parents[m]) >= 0:
            W[above], U[above] = W[above] + W[m], U[above] + U[m]
    return C
