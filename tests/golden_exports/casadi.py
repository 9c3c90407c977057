# Identified parameters of 'small', written by ident on 2025-03-01.
# Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
# Validation passed: in a test.
# Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
# Units: SI, rad; q, qd, qdd in the order of the joints below, as the robot's description counts them.
# Torques [N m; prismatic: N] are on the joint side, as the joint moves the links.
# inverse_dynamics: M qdd + C qd + gravity, WITHOUT friction: add friction to predict the torque of the log.
# gravity: the torque that holds the arm still, springs and offsets included. mass_matrix: drive inertia included.
# friction: viscous * qd + coulomb * tanh(qd / width), for whatever law of Coulomb friction was fitted.
# regressor: inverse_dynamics + friction = Y phi, phi the base parameters below.
# Link parameters: m, h = m * centre of mass, tensor about the link frame's ORIGIN, link axes, tensor signs
# (Ixy = -integral of x y dm). The functions are made of phi alone: what torque cannot show is left out.
# Not in this file: joint limits, torque limits, collision, flexibility, delay, motor gains.
# width of Coulomb friction's tanh: 0.01 rad/s (m/s), a choice: the law that was fitted is another one (dead_zone 0).
# Gravity in the base frame: 0.0, 0.0, -9.81 m/s^2.
# Multiplications, additions and sines, cosines, tanh a call: inverse_dynamics 26, 23, 0; gravity 0, 0, 0; mass_matrix 3, 3, 0; friction 6, 2, 2; regressor 15, 11, 2.
# Each function is a casadi.Function of columns q, qd, qdd (n, 1), such as inverse_dynamics(q, qd, qdd).
import numpy as np
from casadi import SX, Function, cos, exp, fabs, sign, sin, tanh

JOINTS = ('shoulder', 'slide',)
COULOMB_WIDTH = 0.01  # rad/s (m/s)
#: Base parameters: what each is made of, and its standard error.
PHI = np.array([
    0.1762,  # arm.Iyy + 0.01 arm.m + 0.2 arm.hx + hand.Iyy + shoulder.drive_inertia (+- 1.0e+00)
    1.5,  # hand.m (+- 1.0e+00)
    0.03,  # hand.hx (+- 1.0e+00)
    -0.15,  # hand.hz (+- 1.0e+00)
    3.4,  # slide.drive_inertia (+- 1.0e+00)
    0.5,  # shoulder.viscous (+- 1.0e+00)
    6.0,  # slide.viscous (+- 1.0e+00)
    0.7,  # shoulder.coulomb (+- 1.0e+00)
    8.0,  # slide.coulomb (+- 1.0e+00)
    0.05,  # shoulder.offset (+- 1.0e+00)
    -0.4,  # slide.offset (+- 1.0e+00)
])


def _inverse_dynamics():
    """Return tau: M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]."""
    q = SX.sym("q", 2)
    q2 = q[1]
    qd = SX.sym("qd", 2)
    qd1 = qd[0]
    qd2 = qd[1]
    qdd = SX.sym("qdd", 2)
    qdd1 = qdd[0]
    qdd2 = qdd[1]
    v1 = qd1*qd1
    v2 = 0.1*qdd1
    v3 = q2*v1 - 0.25*qdd1 - v2 - qdd2
    v4 = 0.1*v1 + 0.25*v1 + q2*qdd1 + 2.0*qd1*qd2
    v5 = 1.5*v3 + 0.15*v1 - 0.03*qdd1
    v6 = 0.036199999999999996*qdd1 + 0.020000000000000004*qdd1 - 0.008*v1 + 0.15*v4 - 0.03*v3 + q2*(1.5*v4 + 0.03*v1 + 0.15*qdd1) - 0.25*v5
    tau = SX.zeros(2)
    tau[0] = v6 - 0.1*(v5 - (0.2*qdd1 + 0.08*v1)) + v2 + 0.05
    tau[1] = 3.4*qdd2 - 0.4 - v5
    return Function("inverse_dynamics", [q, qd, qdd], [tau], ["q", "qd", "qdd"], ["tau"])


def _gravity():
    """Return g: torque that holds the arm still at q [N m; N]."""
    q = SX.sym("q", 2)
    g = SX.zeros(2)
    g[0] = 0.05
    g[1] = -0.4
    return Function("gravity", [q], [g], ["q"], ["g"])


def _mass_matrix():
    """Return M: M(q), drive inertia included [kg m^2; kg m; kg]."""
    q = SX.sym("q", 2)
    q2 = q[1]
    M = SX.zeros(2, 2)
    M[0, 0] = 0.15*q2 - q2*(-1.5*q2 - 0.15) + 0.38095000000000007
    M[0, 1] = 0.555
    M[1, 0] = 0.555
    M[1, 1] = 4.9
    return Function("mass_matrix", [q], [M], ["q"], ["M"])


def _friction():
    """Return f: viscous and Coulomb friction at qd [N m; N]."""
    qd = SX.sym("qd", 2)
    qd1 = qd[0]
    qd2 = qd[1]
    per_width = 1.0 / COULOMB_WIDTH
    v1 = tanh(qd1*per_width)
    v2 = tanh(qd2*per_width)
    f = SX.zeros(2)
    f[0] = 0.5*qd1 + 0.7*v1
    f[1] = 6.0*qd2 + 8.0*v2
    return Function("friction", [qd], [f], ["qd"], ["f"])


def _regressor():
    """Return Y: Y with Y phi = inverse_dynamics + friction."""
    q = SX.sym("q", 2)
    q2 = q[1]
    qd = SX.sym("qd", 2)
    qd1 = qd[0]
    qd2 = qd[1]
    qdd = SX.sym("qdd", 2)
    qdd1 = qdd[0]
    qdd2 = qdd[1]
    per_width = 1.0 / COULOMB_WIDTH
    v1 = qd1*qd1
    v2 = q2*qdd1
    v3 = q2*v1
    v4 = v3 - 0.25*qdd1 - 0.1*qdd1 - qdd2
    v5 = 0.1*v1 + 0.25*v1 + v2 + 2.0*qd1*qd2
    v6 = tanh(qd1*per_width)
    v7 = tanh(qd2*per_width)
    Y = SX.zeros(2, 11)
    Y[0, 0] = qdd1
    Y[0, 1] = q2*v5 - 0.35*v4
    Y[0, 2] = v3 + 0.35*qdd1 - v4
    Y[0, 3] = 0.35*v1 - v2 - v5
    Y[0, 5] = qd1
    Y[0, 7] = v6
    Y[0, 9] = 1.0
    Y[1, 1] = -v4
    Y[1, 2] = qdd1
    Y[1, 3] = v1
    Y[1, 4] = qdd2
    Y[1, 6] = qd2
    Y[1, 8] = v7
    Y[1, 10] = 1.0
    return Function("regressor", [q, qd, qdd], [Y], ["q", "qd", "qdd"], ["Y"])


inverse_dynamics = _inverse_dynamics()
gravity = _gravity()
mass_matrix = _mass_matrix()
friction = _friction()
regressor = _regressor()


def self_test():
    """Raise AssertionError where a function differs from what other code computed for one state."""
    q, qd, qdd = [0.375, 1.192], [0.827, 0.005], [-0.6, 1.121]
    total = inverse_dynamics(q, qd, qdd).full() + friction(qd).full()
    scale = np.abs(total).max() + np.abs(gravity(q).full()).max()
    terms = regressor(q, qd, qdd).full() * PHI
    checks = {'regressor': np.abs(terms.sum(axis=1) - total[:, 0]).max() / max(scale, np.abs(terms).max())}
    expected = np.array([-1.03372534, 3.434445598])
    checks['inverse_dynamics'] = np.abs(inverse_dynamics(q, qd, qdd).full().ravel() - expected).max() / scale
    expected = np.array([0.05, -0.4])
    checks['gravity'] = np.abs(gravity(q).full().ravel() - expected).max() / scale
    expected = np.array([2.869846, 0.555, 0.555, 4.9])
    checks['mass_matrix'] = np.abs(mass_matrix(q).full().ravel() - expected).max() / np.abs(expected).max()
    expected = np.array([1.1135, 3.72693725808])
    checks['friction'] = np.abs(friction(qd).full().ravel() - expected).max() / scale
    wrong = [name for name, error in checks.items() if not error <= 1e-9]
    if wrong:
        raise AssertionError(f"wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    self_test()
    print("self test: ok")
