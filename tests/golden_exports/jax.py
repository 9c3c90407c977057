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
# q, qd, qdd (..., n): one sample or any number; results (..., n), (..., n, n), (..., n, b).
# They can be jitted, mapped and differentiated; for 64 bits: jax.config.update("jax_enable_x64", True).
import jax
import jax.numpy as jnp
import numpy as np
from jax.numpy import cos, sin, tanh

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
#: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each link.
LINKS = {
    'arm': (4.0, -0.2, 0.04, 0.08, 0.032, 0.003, 0.002, 0.0516, 0.0022, 0.0354),
    'hand': (1.5, 0.03, 0.0, -0.15, 0.023, 0.0, 0.0035, 0.0246, 0.0, 0.0046),
}


def inverse_dynamics(q, qd, qdd):
    """Return tau (..., 2): M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]."""
    q = jnp.asarray(q, dtype=float)
    if q.shape[-1:] != (2,):
        raise ValueError("the last axis of q must be 2")
    qd = jnp.asarray(qd, dtype=float)
    if qd.shape[-1:] != (2,):
        raise ValueError("the last axis of qd must be 2")
    qdd = jnp.asarray(qdd, dtype=float)
    if qdd.shape[-1:] != (2,):
        raise ValueError("the last axis of qdd must be 2")
    q2 = q[..., 1]
    qd1 = qd[..., 0]
    qd2 = qd[..., 1]
    qdd1 = qdd[..., 0]
    qdd2 = qdd[..., 1]
    v1 = qd1*qd1
    v2 = 0.1*qdd1
    v3 = q2*v1 - 0.25*qdd1 - v2 - qdd2
    v4 = 0.1*v1 + 0.25*v1 + q2*qdd1 + 2.0*qd1*qd2
    v5 = 1.5*v3 + 0.15*v1 - 0.03*qdd1
    v6 = 0.036199999999999996*qdd1 + 0.020000000000000004*qdd1 - 0.008*v1 + 0.15*v4 - 0.03*v3 + q2*(1.5*v4 + 0.03*v1 + 0.15*qdd1) - 0.25*v5
    tau = jnp.zeros((*jnp.broadcast_shapes(q.shape[:-1], qd.shape[:-1], qdd.shape[:-1]), 2))
    tau = tau.at[..., 0].set(v6 - 0.1*(v5 - (0.2*qdd1 + 0.08*v1)) + v2 + 0.05)
    tau = tau.at[..., 1].set(3.4*qdd2 - 0.4 - v5)
    return tau


def gravity(q):
    """Return g (..., 2): torque that holds the arm still at q [N m; N]."""
    q = jnp.asarray(q, dtype=float)
    if q.shape[-1:] != (2,):
        raise ValueError("the last axis of q must be 2")
    g = jnp.zeros((*jnp.broadcast_shapes(q.shape[:-1]), 2))
    g = g.at[..., 0].set(0.05)
    g = g.at[..., 1].set(-0.4)
    return g


def mass_matrix(q):
    """Return M (..., 2, 2): M(q), drive inertia included [kg m^2; kg m; kg]."""
    q = jnp.asarray(q, dtype=float)
    if q.shape[-1:] != (2,):
        raise ValueError("the last axis of q must be 2")
    q2 = q[..., 1]
    M = jnp.zeros((*jnp.broadcast_shapes(q.shape[:-1]), 2, 2))
    M = M.at[..., 0, 0].set(0.15*q2 - q2*(-1.5*q2 - 0.15) + 0.38095000000000007)
    M = M.at[..., 0, 1].set(0.555)
    M = M.at[..., 1, 0].set(0.555)
    M = M.at[..., 1, 1].set(4.9)
    return M


def friction(qd):
    """Return f (..., 2): viscous and Coulomb friction at qd [N m; N]."""
    qd = jnp.asarray(qd, dtype=float)
    if qd.shape[-1:] != (2,):
        raise ValueError("the last axis of qd must be 2")
    qd1 = qd[..., 0]
    qd2 = qd[..., 1]
    per_width = 1.0 / COULOMB_WIDTH
    v1 = tanh(qd1*per_width)
    v2 = tanh(qd2*per_width)
    f = jnp.zeros((*jnp.broadcast_shapes(qd.shape[:-1]), 2))
    f = f.at[..., 0].set(0.5*qd1 + 0.7*v1)
    f = f.at[..., 1].set(6.0*qd2 + 8.0*v2)
    return f


def regressor(q, qd, qdd):
    """Return Y (..., 2, 11): Y with Y phi = inverse_dynamics + friction."""
    q = jnp.asarray(q, dtype=float)
    if q.shape[-1:] != (2,):
        raise ValueError("the last axis of q must be 2")
    qd = jnp.asarray(qd, dtype=float)
    if qd.shape[-1:] != (2,):
        raise ValueError("the last axis of qd must be 2")
    qdd = jnp.asarray(qdd, dtype=float)
    if qdd.shape[-1:] != (2,):
        raise ValueError("the last axis of qdd must be 2")
    q2 = q[..., 1]
    qd1 = qd[..., 0]
    qd2 = qd[..., 1]
    qdd1 = qdd[..., 0]
    qdd2 = qdd[..., 1]
    per_width = 1.0 / COULOMB_WIDTH
    v1 = qd1*qd1
    v2 = q2*qdd1
    v3 = q2*v1
    v4 = v3 - 0.25*qdd1 - 0.1*qdd1 - qdd2
    v5 = 0.1*v1 + 0.25*v1 + v2 + 2.0*qd1*qd2
    v6 = tanh(qd1*per_width)
    v7 = tanh(qd2*per_width)
    Y = jnp.zeros((*jnp.broadcast_shapes(q.shape[:-1], qd.shape[:-1], qdd.shape[:-1]), 2, 11))
    Y = Y.at[..., 0, 0].set(qdd1)
    Y = Y.at[..., 0, 1].set(q2*v5 - 0.35*v4)
    Y = Y.at[..., 0, 2].set(v3 + 0.35*qdd1 - v4)
    Y = Y.at[..., 0, 3].set(0.35*v1 - v2 - v5)
    Y = Y.at[..., 0, 5].set(qd1)
    Y = Y.at[..., 0, 7].set(v6)
    Y = Y.at[..., 0, 9].set(1.0)
    Y = Y.at[..., 1, 1].set(-v4)
    Y = Y.at[..., 1, 2].set(qdd1)
    Y = Y.at[..., 1, 3].set(v1)
    Y = Y.at[..., 1, 4].set(qdd2)
    Y = Y.at[..., 1, 6].set(qd2)
    Y = Y.at[..., 1, 8].set(v7)
    Y = Y.at[..., 1, 10].set(1.0)
    return Y


def self_test():
    """Raise AssertionError where a function differs from what other code computed for one state."""
    q, qd, qdd = [0.375, 1.192], [0.827, 0.005], [-0.6, 1.121]
    total = inverse_dynamics(q, qd, qdd) + friction(qd)
    scale = np.abs(total).max() + np.abs(gravity(q)).max()
    terms = regressor(q, qd, qdd) * PHI
    checks = {'regressor': np.abs(terms.sum(axis=-1) - total).max() / max(scale, np.abs(terms).max())}
    expected = np.array([-1.03372534, 3.434445598])
    checks['inverse_dynamics'] = np.abs(inverse_dynamics(q, qd, qdd).ravel() - expected).max() / scale
    expected = np.array([0.05, -0.4])
    checks['gravity'] = np.abs(gravity(q).ravel() - expected).max() / scale
    expected = np.array([2.869846, 0.555, 0.555, 4.9])
    checks['mass_matrix'] = np.abs(mass_matrix(q).ravel() - expected).max() / np.abs(expected).max()
    expected = np.array([1.1135, 3.72693725808])
    checks['friction'] = np.abs(friction(qd).ravel() - expected).max() / scale
    wrong = [name for name, error in checks.items() if not error <= 1e-9]
    if wrong:
        raise AssertionError(f"wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    self_test()
    print("self test: ok")
