"""Two more derivations of the equations of motion, to compare the recursions with: Lagrange's equations from energies,
differentiated as they stand on the tape (forward and reverse mode, Griewank and Walther 2008), and as traces of 4x4
matrices (Uicker 1965; Paul, Robot Manipulators, 1981, chapter 6).

T_p is link p's frame seen from the base, A_p seen from its parent's. A joint's motion is generated in its own frame,
after its own transform: dA_j/dq_j = A_j Q_j, so that U_pj = dT_p/dq_j = T_j Q_j A_j+1 .. A_p, which holds for standard
and modified DH alike. With S_j = T_j Q_j T_j^-1 this is U_pj = S_j T_p, the second derivative is
U_pjk = S_j S_k T_p for j before k, and

    D_ij = sum_p tr(U_pj J_p U_pi^T), h_ijk = sum_p tr(U_pjk J_p U_pi^T), g_i = -sum_p m_p g^T U_pi r_p

sum over the links that all the joints named carry. These sums are taken first: W_m = sum_p T_p J_p T_p^T over the links
that joint m carries leaves D_ij = tr(S_j W_m S_i^T), h_ijk = tr(S_j S_k W_m S_i^T) with m the last of the joints.
h_ijk are the Christoffel symbols of D, so C_ij = sum_k h_ijk qd_k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.spatial.inertia import symmetric
from ident.symbolic.closed_form import twice_kinetic
from ident.symbolic.newton_euler import Mechanism, cross, skew, zeros
from ident.symbolic.program import Node, Objects, Program, Scalar, needed


def evaluate(program: Program, **arrays: ArrayLike) -> Array:
    """Return the output (N, *shape) for inputs (N, k) or, the same for all samples, (1, k).

    Raises ModelError when an input is missing, unknown, of another shape or not finite.
    """
    if set(arrays) != set(program.inputs):
        raise ModelError(f"{program.name} takes {', '.join(program.inputs)}; got {', '.join(arrays) or 'nothing'}")
    values: dict[str, Array] = {}
    samples = 1
    for array, labels in program.inputs.items():
        given = checked(arrays[array], (None, len(labels)), array, ModelError)
        if len(given) != samples and 1 not in (len(given), samples):
            raise ModelError(f"{array} has {len(given)} samples, the inputs before it {samples}")
        samples = max(samples, len(given))
        values.update(zip(labels, given.T, strict=True))
    found: dict[int, Array] = {}

    def value(x: Scalar) -> Array | float:
        return found[x.index] if isinstance(x, Node) else x

    for node in program.nodes:
        a = [value(x) for x in node.args]
        found[node.index] = values[node.label] if node.op == "input" else _EVALUATE[node.op](*a)
    out = np.empty((samples, program.entries.size))
    for k, x in enumerate(program.flat):
        out[:, k] = value(x)
    return out.reshape(samples, *program.entries.shape)


_EVALUATE: dict[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "neg": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "power": lambda x, p: np.copysign(np.abs(x) ** p, x),
}


def _partials(node: Node) -> list[tuple[Node, Scalar]]:
    """Return each node that this one is made of, with the derivative by it."""
    args = node.args
    match node.op:
        case "+":
            found: list[tuple[Any, Scalar]] = [(args[0], 1.0), (args[1], 1.0)]
        case "-":
            found = [(args[0], 1.0), (args[1], -1.0)]
        case "*":
            found = [(args[0], args[1]), (args[1], args[0])]
        case "neg":
            found = [(args[0], -1.0)]
        case "sin":
            found = [(args[0], args[0].cos())]  # type: ignore[union-attr]
        case "cos":
            found = [(args[0], -args[0].sin())]  # type: ignore[union-attr]
        case "tanh":
            found = [(args[0], 1.0 - node * node)]
        case "power":
            raise ModelError("a power of the speed has no derivative in code")
        case _:
            found = []
    return [(arg, d) for arg, d in found if isinstance(arg, Node)]


def gradient(output: Scalar, inputs: Sequence[Node]) -> Objects:
    """Return the derivatives of one number by each input (reverse mode): little dearer than the number itself."""
    slope: dict[int, Scalar] = {output.index: 1.0} if isinstance(output, Node) else {}
    for node in reversed(needed([output])):
        for arg, partial in _partials(node) if node.index in slope else ():
            slope[arg.index] = slope.get(arg.index, 0.0) + slope[node.index] * partial
    return np.array([slope.get(x.index, 0.0) for x in inputs], dtype=object)


def rate(outputs: Sequence[Scalar], rates: Mapping[Node, Scalar]) -> Objects:
    """Return the derivatives of the outputs when inputs change at the given rates (forward mode)."""
    change: dict[int, Scalar] = {node.index: r for node, r in rates.items()}
    for node in needed(outputs):
        if node.op != "input":
            total: Scalar = 0.0
            for arg, partial in _partials(node):
                total = total + partial * change.get(arg.index, 0.0)
            change[node.index] = total
    return np.array([change.get(x.index, 0.0) if isinstance(x, Node) else 0.0 for x in outputs], dtype=object)


def lagrange(arm: Mechanism, theta: Objects, q: Objects, qd: Objects, qdd: Objects) -> Objects:
    """Return tau (n,) of links with parameters theta (n, 10); q, qd, qdd (n,) are nodes of one tape.

    The energies are differentiated as they stand on the tape: dK/dqd and dK/dq backward, d/dt forward along qd, qdd.
    """
    K = kinetic_energy(arm, theta, q, qd)
    momentum = gradient(K, [*qd])
    time: dict[Node, Scalar] = dict(zip([*q, *qd], [*qd, *qdd], strict=True))
    return np.asarray(rate([*momentum], time) - gradient(K, [*q]) + lagrange_gravity(arm, theta, q))


def lagrange_gravity(arm: Mechanism, theta: Objects, q: Objects) -> Objects:
    """Return dP/dq (n,); q are nodes of one tape."""
    return gradient(potential_energy(arm, theta, q), [*q])


def kinetic_energy(arm: Mechanism, theta: Objects, q: Objects, qd: Objects) -> Scalar:
    """Return K [J]."""
    total: Scalar = 0.0
    for p, columns in enumerate(jacobians(arm, q)):
        v = sum((columns[j][0] * qd[j] for j in columns), zeros(3))
        w = sum((columns[j][1] * qd[j] for j in columns), zeros(3))
        total = total + 0.5 * twice_kinetic(theta[p], (w, v), (w, v))
    return total


def potential_energy(arm: Mechanism, theta: Objects, q: Objects) -> Scalar:
    """Return P = -sum g . (m p + R h) [J] of links at p with orientation R."""
    total: Scalar = 0.0
    poses: list[tuple[Objects, Objects]] = []
    for i in range(arm.n):
        rotation, position = arm.placed(i, q)
        if arm.parents[i] >= 0:
            before, start = poses[arm.parents[i]]
            rotation, position = before @ rotation, start + before @ position
        poses.append((rotation, position))
        total = total - arm.gravity @ (theta[i, 0] * position + rotation @ theta[i, 1:4])
    return total


def jacobians(arm: Mechanism, q: Objects) -> list[dict[int, tuple[Objects, Objects]]]:
    """Return of every link, for each joint that carries it, the link's velocity v of its origin and w per unit of qd.

    In the link's frame, where they depend only on the joints in between.
    """
    found = []
    for p in range(arm.n):
        rotation, position = np.eye(3).astype(object), zeros(3)  # link p's frame seen from link j's
        columns: dict[int, tuple[Objects, Objects]] = {}
        for j in reversed(arm.carriers(p)):
            axis = arm.axes[j]
            arm_of = position - arm.points[j]
            w = rotation.T @ axis if arm.revolute[j] else zeros(3)
            v = rotation.T @ (cross(axis, arm_of) if arm.revolute[j] else axis)
            columns[j] = (v, w)
            turn, shift = arm.placed(j, q)
            rotation, position = turn @ rotation, shift + turn @ position
        found.append(columns)
    return found


def traces(arm: Mechanism, theta: Objects, q: Objects, qd: Objects, qdd: Objects) -> Objects:
    """Return tau (n,) = D qdd + C qd + g; theta (n, 10), q, qd, qdd (n,)."""
    return np.asarray(
        traces_mass_matrix(arm, theta, q) @ qdd
        + traces_coriolis_matrix(arm, theta, q, qd) @ qd
        + traces_gravity(arm, theta, q)
    )


def traces_mass_matrix(arm: Mechanism, theta: Objects, q: Objects) -> Objects:
    """Return D (n, n)."""
    S, W = _generators_and_composites(arm, theta, q)
    D = zeros(arm.n, arm.n)
    for j in range(arm.n):
        SW = S[j] @ W[j]
        for i in arm.carriers(j):
            D[i, j] = D[j, i] = _trace(SW, S[i])
    return D


def traces_gravity(arm: Mechanism, theta: Objects, q: Objects) -> Objects:
    """Return g (n,): the torque that holds the arm still."""
    S, W = _generators_and_composites(arm, theta, q)
    return np.array([-(arm.gravity @ (S[i] @ W[i][:, 3])[:3]) for i in range(arm.n)], dtype=object)


def traces_coriolis_matrix(arm: Mechanism, inertials: Objects, q: Objects, qd: Objects) -> Objects:
    """Return C (n, n), that of the Christoffel symbols: dD/dt - 2 C is skew."""
    S, W = _generators_and_composites(arm, inertials, q)
    C = zeros(arm.n, arm.n)
    for m in range(arm.n):
        chain = arm.carriers(m)
        for a, j in enumerate(chain):
            for k in chain[a:]:
                # the last of i and k is m
                SSW = S[j] @ (S[k] @ W[m])
                for i in chain if k == m else [m]:
                    h = _trace(SSW, S[i])
                    C[i, j] = C[i, j] + h * qd[k]
                    if j != k:
                        C[i, k] = C[i, k] + h * qd[j]
    return C


def _generators_and_composites(arm: Mechanism, inertials: Objects, q: Objects) -> tuple[list[Objects], list[Objects]]:
    """Return S_i and W_i of every joint, 4x4 in the base frame."""
    T: list[Objects] = []
    S: list[Objects] = []
    W: list[Objects] = []
    for i in range(arm.n):
        A = zeros(4, 4)
        A[:3, :3], A[:3, 3] = arm.placed(i, q)
        A[3, 3] = 1.0
        T.append(T[arm.parents[i]] @ A if arm.parents[i] >= 0 else A)
        S.append(zeros(4, 4))
        axis = T[i][:3, :3] @ arm.axes[i]
        if arm.revolute[i]:
            S[i][:3, :3] = skew(axis)
            S[i][:3, 3] = cross(T[i][:3, :3] @ arm.points[i] + T[i][:3, 3], axis)
        else:
            S[i][:3, 3] = axis
        W.append(T[i] @ _pseudo_inertia(inertials[i]) @ T[i].T)
    for i in reversed(range(arm.n)):
        if arm.parents[i] >= 0:
            W[arm.parents[i]] = W[arm.parents[i]] + W[i]
    return S, W


def _pseudo_inertia(inertials: Objects) -> Objects:
    """Return J (4, 4) of one link's parameters (10,)."""
    inertia = symmetric(inertials[4:])
    J = zeros(4, 4)
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3).astype(object) - inertia
    J[:3, 3] = J[3, :3] = inertials[1:4]
    J[3, 3] = inertials[0]
    return J


def _trace(left: Objects, right: Objects) -> object:
    """Return tr(left right^T)."""
    return (left * right).sum()
