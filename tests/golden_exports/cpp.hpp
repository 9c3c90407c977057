// Identified parameters of 'small', written by ident on 2025-03-01.
// Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
// Validation passed: in a test.
// Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
// Units: SI, rad; q, qd, qdd in the order of the joints below, as the robot's description counts them.
// Torques [N m; prismatic: N] are on the joint side, as the joint moves the links.
// inverse_dynamics: M qdd + C qd + gravity, WITHOUT friction: add friction to predict the torque of the log.
// gravity: the torque that holds the arm still, springs and offsets included. mass_matrix: drive inertia included.
// friction: viscous * qd + coulomb * tanh(qd / width), for whatever law of Coulomb friction was fitted.
// regressor: inverse_dynamics + friction = Y phi, phi the base parameters below.
// Link parameters: m, h = m * centre of mass, tensor about the link frame's ORIGIN, link axes, tensor signs
// (Ixy = -integral of x y dm). The functions are made of phi alone: what torque cannot show is left out.
// Not in this file: joint limits, torque limits, collision, flexibility, delay, motor gains.
// width of Coulomb friction's tanh: 0.01 rad/s (m/s), a choice: the law that was fitted is another one (dead_zone 0).
// Gravity in the base frame: 0.0, 0.0, -9.81 m/s^2.
// Multiplications, additions and sines, cosines, tanh a call: inverse_dynamics 26, 23, 0; gravity 0, 0, 0; mass_matrix 3, 3, 0; friction 6, 2, 2; regressor 15, 11, 2.
// Include this file and call its functions. They allocate nothing; results may stand on arguments.
// Real is double, float, or any type like them that has sin, cos and tanh. To try it, include it in try.cpp,
// g++ -std=c++11 -O2 -DSMALL_DYNAMICS_EXAMPLE try.cpp -o try && ./try
#ifndef SMALL_DYNAMICS_HPP
#define SMALL_DYNAMICS_HPP

#include <cmath>

namespace small_dynamics {

constexpr int joints = 2, base_parameters = 11;
constexpr double coulomb_width = 0.01; // rad/s (m/s)

constexpr const char *joint_names[2] = {
    "shoulder",
    "slide",
};

// base parameters phi: what each is made of, and its standard error
constexpr double phi[11] = {
    0.1762, // arm.Iyy + 0.01 arm.m + 0.2 arm.hx + hand.Iyy + shoulder.drive_inertia (+- 1.0e+00)
    1.5, // hand.m (+- 1.0e+00)
    0.03, // hand.hx (+- 1.0e+00)
    -0.15, // hand.hz (+- 1.0e+00)
    3.4, // slide.drive_inertia (+- 1.0e+00)
    0.5, // shoulder.viscous (+- 1.0e+00)
    6.0, // slide.viscous (+- 1.0e+00)
    0.7, // shoulder.coulomb (+- 1.0e+00)
    8.0, // slide.coulomb (+- 1.0e+00)
    0.05, // shoulder.offset (+- 1.0e+00)
    -0.4, // slide.offset (+- 1.0e+00)
};

constexpr double links[2][10] = {
    {4.0, -0.2, 0.04, 0.08, 0.032, 0.003, 0.002, 0.0516, 0.0022, 0.0354}, // arm: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
    {1.5, 0.03, 0.0, -0.15, 0.023, 0.0, 0.0035, 0.0246, 0.0, 0.0046}, // hand: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
};

// tau[2]: M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]
template <typename Real>
void inverse_dynamics(const Real *q, const Real *qd, const Real *qdd, Real *tau)
{
    using std::sin;
    using std::cos;
    using std::tanh;
    const Real q2 = q[1];
    const Real qd1 = qd[0];
    const Real qd2 = qd[1];
    const Real qdd1 = qdd[0];
    const Real qdd2 = qdd[1];
    const Real v1 = qd1*qd1;
    const Real v2 = Real(0.1)*qdd1;
    const Real v3 = q2*v1 - Real(0.25)*qdd1 - v2 - qdd2;
    const Real v4 = Real(0.1)*v1 + Real(0.25)*v1 + q2*qdd1 + Real(2.0)*qd1*qd2;
    const Real v5 = Real(1.5)*v3 + Real(0.15)*v1 - Real(0.03)*qdd1;
    const Real v6 = Real(0.036199999999999996)*qdd1 + Real(0.020000000000000004)*qdd1 - Real(0.008)*v1 + Real(0.15)*v4 - Real(0.03)*v3 + q2*(Real(1.5)*v4 + Real(0.03)*v1 + Real(0.15)*qdd1) - Real(0.25)*v5;
    tau[0] = v6 - Real(0.1)*(v5 - (Real(0.2)*qdd1 + Real(0.08)*v1)) + v2 + Real(0.05);
    tau[1] = Real(3.4)*qdd2 + Real(-0.4) - v5;
}

// g[2]: torque that holds the arm still at q [N m; N]
template <typename Real>
void gravity(const Real *q, Real *g)
{
    using std::sin;
    using std::cos;
    using std::tanh;
    (void)q;
    g[0] = Real(0.05);
    g[1] = Real(-0.4);
}

// M[2][2], row by row: M(q), drive inertia included [kg m^2; kg m; kg]
template <typename Real>
void mass_matrix(const Real *q, Real *M)
{
    using std::sin;
    using std::cos;
    using std::tanh;
    const Real q2 = q[1];
    M[0] = Real(0.15)*q2 - q2*(-Real(1.5)*q2 + Real(-0.15)) + Real(0.38095000000000007);
    M[1] = Real(0.555);
    M[2] = Real(0.555);
    M[3] = Real(4.9);
}

// f[2]: viscous and Coulomb friction at qd [N m; N]
template <typename Real>
void friction(const Real *qd, Real *f, double width = coulomb_width)
{
    using std::sin;
    using std::cos;
    using std::tanh;
    const Real qd1 = qd[0];
    const Real qd2 = qd[1];
    const Real per_width = (Real)(1.0 / width);
    const Real v1 = tanh(qd1*per_width);
    const Real v2 = tanh(qd2*per_width);
    f[0] = Real(0.5)*qd1 + Real(0.7)*v1;
    f[1] = Real(6.0)*qd2 + Real(8.0)*v2;
}

// Y[2][11], row by row: Y with Y phi = inverse_dynamics + friction
template <typename Real>
void regressor(const Real *q, const Real *qd, const Real *qdd, Real *Y, double width = coulomb_width)
{
    using std::sin;
    using std::cos;
    using std::tanh;
    const Real q2 = q[1];
    const Real qd1 = qd[0];
    const Real qd2 = qd[1];
    const Real qdd1 = qdd[0];
    const Real qdd2 = qdd[1];
    const Real per_width = (Real)(1.0 / width);
    const Real v1 = qd1*qd1;
    const Real v2 = q2*qdd1;
    const Real v3 = q2*v1;
    const Real v4 = v3 - Real(0.25)*qdd1 - Real(0.1)*qdd1 - qdd2;
    const Real v5 = Real(0.1)*v1 + Real(0.25)*v1 + v2 + Real(2.0)*qd1*qd2;
    const Real v6 = tanh(qd1*per_width);
    const Real v7 = tanh(qd2*per_width);
    Y[0] = qdd1;
    Y[1] = q2*v5 - Real(0.35)*v4;
    Y[2] = v3 + Real(0.35)*qdd1 - v4;
    Y[3] = Real(0.35)*v1 - v2 - v5;
    Y[4] = Real(0.0);
    Y[5] = qd1;
    Y[6] = Real(0.0);
    Y[7] = v6;
    Y[8] = Real(0.0);
    Y[9] = Real(1.0);
    Y[10] = Real(0.0);
    Y[11] = Real(0.0);
    Y[12] = -v4;
    Y[13] = qdd1;
    Y[14] = v1;
    Y[15] = qdd2;
    Y[16] = Real(0.0);
    Y[17] = qd2;
    Y[18] = Real(0.0);
    Y[19] = v7;
    Y[20] = Real(0.0);
    Y[21] = Real(1.0);
}

template <typename Real>
bool differs(const Real *found, const Real *expected, int size, Real scale)
{
    const Real tolerance = Real(sizeof(Real) < sizeof(double) ? 1e-5 : 1e-9);
    bool wrong = false;
    for (int k = 0; k < size; ++k)
        wrong |= !(std::abs(found[k] - expected[k]) <= tolerance * scale);
    return wrong;
}

// Return 0 when all functions give what other code computed for one state, or else the number of the first
// that does not: 1 inverse_dynamics, 2 gravity, 3 mass_matrix, 4 friction, 5 regressor.
template <typename Real>
int self_test()
{
    const Real q[2] = {
        (Real)0.375, (Real)1.192,
    };
    const Real qd[2] = {
        (Real)0.827, (Real)0.005,
    };
    const Real qdd[2] = {
        -(Real)0.6, (Real)1.121,
    };
    const Real expected_inverse_dynamics[2] = {
        -(Real)1.03372534, (Real)3.434445598,
    };
    const Real expected_gravity[2] = {
        (Real)0.05, -(Real)0.4,
    };
    const Real expected_mass_matrix[4] = {
        (Real)2.869846, (Real)0.555, (Real)0.555, (Real)4.9,
    };
    const Real expected_friction[2] = {
        (Real)1.1135, (Real)3.72693725808,
    };
    Real scale = (Real)3.73;
    Real found[22], torque[2];
    inverse_dynamics(q, qd, qdd, found);
    if (differs(found, expected_inverse_dynamics, 2, scale)) return 1;
    gravity(q, found);
    if (differs(found, expected_gravity, 2, scale)) return 2;
    mass_matrix(q, found);
    if (differs(found, expected_mass_matrix, 4, (Real)4.9)) return 3;
    friction(qd, found);
    if (differs(found, expected_friction, 2, scale)) return 4;
    regressor(q, qd, qdd, found);
    for (int j = 0; j < 2; ++j) { // Y phi - friction, to the size of the terms of its sum
        torque[j] = -expected_friction[j];
        for (int k = 0; k < 11; ++k) {
            const Real term = found[11 * j + k] * (Real)phi[k];
            torque[j] += term;
            if (term > scale) scale = term;
        }
    }
    return differs(torque, expected_inverse_dynamics, 2, scale) ? 5 : 0;
}

} // namespace small_dynamics

#ifdef SMALL_DYNAMICS_EXAMPLE
#include <cstdio>

int main()
{
    typedef double Real;
    Real q[2] = {}, qd[2] = {}, qdd[2] = {}, tau[2], f[2];
    const int wrong = small_dynamics::self_test<Real>() + 10 * small_dynamics::self_test<float>();
    std::printf("self test: %s (%d)\n", wrong ? "WRONG" : "ok", wrong);
    for (int j = 0; j < 2; ++j) qd[j] = Real(0.1);
    small_dynamics::inverse_dynamics(q, qd, qdd, tau); // what a controller feeds forward is the sum
    small_dynamics::friction(qd, f);
    for (int j = 0; j < 2; ++j)
        std::printf("%s: %g\n", small_dynamics::joint_names[j], double(tau[j] + f[j]));
    return wrong;
}
#endif

#endif
