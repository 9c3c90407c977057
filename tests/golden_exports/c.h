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
// Numbers are double, or float with -DSMALL_FLOAT. To try it, include it in try.c, and
// gcc -std=c99 -O2 -DSMALL_EXAMPLE try.c -o try -lm && ./try
#ifndef SMALL_H
#define SMALL_H

#include <math.h>

#ifdef SMALL_FLOAT
typedef float small_real;
#define SMALL_SIN sinf
#define SMALL_COS cosf
#define SMALL_TANH tanhf
#define SMALL_FABS fabsf
#define SMALL_TOLERANCE 1e-5f
#else
typedef double small_real;
#define SMALL_SIN sin
#define SMALL_COS cos
#define SMALL_TANH tanh
#define SMALL_FABS fabs
#define SMALL_TOLERANCE 1e-9
#endif
#ifndef SMALL_COULOMB_WIDTH
#define SMALL_COULOMB_WIDTH 0.01 // rad/s (m/s); the self test holds for this one
#endif
#define SMALL_JOINTS 2
#define SMALL_BASE_PARAMETERS 11

static const char *const small_joint_names[2] = {
    "shoulder",
    "slide",
};

// base parameters phi: what each is made of, and its standard error
static const small_real small_phi[11] = {
    (small_real)0.1762, // arm.Iyy + 0.01 arm.m + 0.2 arm.hx + hand.Iyy + shoulder.drive_inertia (+- 1.0e+00)
    (small_real)1.5, // hand.m (+- 1.0e+00)
    (small_real)0.03, // hand.hx (+- 1.0e+00)
    -(small_real)0.15, // hand.hz (+- 1.0e+00)
    (small_real)3.4, // slide.drive_inertia (+- 1.0e+00)
    (small_real)0.5, // shoulder.viscous (+- 1.0e+00)
    (small_real)6.0, // slide.viscous (+- 1.0e+00)
    (small_real)0.7, // shoulder.coulomb (+- 1.0e+00)
    (small_real)8.0, // slide.coulomb (+- 1.0e+00)
    (small_real)0.05, // shoulder.offset (+- 1.0e+00)
    -(small_real)0.4, // slide.offset (+- 1.0e+00)
};

static const small_real small_links[2][10] = {
    {(small_real)4.0, -(small_real)0.2, (small_real)0.04, (small_real)0.08, (small_real)0.032, (small_real)0.003, (small_real)0.002, (small_real)0.0516, (small_real)0.0022, (small_real)0.0354}, // arm: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
    {(small_real)1.5, (small_real)0.03, (small_real)0.0, -(small_real)0.15, (small_real)0.023, (small_real)0.0, (small_real)0.0035, (small_real)0.0246, (small_real)0.0, (small_real)0.0046}, // hand: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
};

// tau[2]: M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]
static inline void small_inverse_dynamics(const small_real *q, const small_real *qd, const small_real *qdd, small_real *tau)
{
    const small_real q2 = q[1];
    const small_real qd1 = qd[0];
    const small_real qd2 = qd[1];
    const small_real qdd1 = qdd[0];
    const small_real qdd2 = qdd[1];
    const small_real v1 = qd1*qd1;
    const small_real v2 = (small_real)0.1*qdd1;
    const small_real v3 = q2*v1 - (small_real)0.25*qdd1 - v2 - qdd2;
    const small_real v4 = (small_real)0.1*v1 + (small_real)0.25*v1 + q2*qdd1 + (small_real)2.0*qd1*qd2;
    const small_real v5 = (small_real)1.5*v3 + (small_real)0.15*v1 - (small_real)0.03*qdd1;
    const small_real v6 = (small_real)0.036199999999999996*qdd1 + (small_real)0.020000000000000004*qdd1 - (small_real)0.008*v1 + (small_real)0.15*v4 - (small_real)0.03*v3 + q2*((small_real)1.5*v4 + (small_real)0.03*v1 + (small_real)0.15*qdd1) - (small_real)0.25*v5;
    tau[0] = v6 - (small_real)0.1*(v5 - ((small_real)0.2*qdd1 + (small_real)0.08*v1)) + v2 + (small_real)0.05;
    tau[1] = (small_real)3.4*qdd2 - (small_real)0.4 - v5;
}

// g[2]: torque that holds the arm still at q [N m; N]
static inline void small_gravity(const small_real *q, small_real *g)
{
    (void)q;
    g[0] = (small_real)0.05;
    g[1] = -(small_real)0.4;
}

// M[2][2], row by row: M(q), drive inertia included [kg m^2; kg m; kg]
static inline void small_mass_matrix(const small_real *q, small_real *M)
{
    const small_real q2 = q[1];
    M[0] = (small_real)0.15*q2 - q2*(-(small_real)1.5*q2 - (small_real)0.15) + (small_real)0.38095000000000007;
    M[1] = (small_real)0.555;
    M[2] = (small_real)0.555;
    M[3] = (small_real)4.9;
}

// f[2]: viscous and Coulomb friction at qd [N m; N]
static inline void small_friction(const small_real *qd, small_real *f)
{
    const small_real qd1 = qd[0];
    const small_real qd2 = qd[1];
    const small_real per_width = (small_real)(1.0 / SMALL_COULOMB_WIDTH);
    const small_real v1 = SMALL_TANH(qd1*per_width);
    const small_real v2 = SMALL_TANH(qd2*per_width);
    f[0] = (small_real)0.5*qd1 + (small_real)0.7*v1;
    f[1] = (small_real)6.0*qd2 + (small_real)8.0*v2;
}

// Y[2][11], row by row: Y with Y phi = inverse_dynamics + friction
static inline void small_regressor(const small_real *q, const small_real *qd, const small_real *qdd, small_real *Y)
{
    const small_real q2 = q[1];
    const small_real qd1 = qd[0];
    const small_real qd2 = qd[1];
    const small_real qdd1 = qdd[0];
    const small_real qdd2 = qdd[1];
    const small_real per_width = (small_real)(1.0 / SMALL_COULOMB_WIDTH);
    const small_real v1 = qd1*qd1;
    const small_real v2 = q2*qdd1;
    const small_real v3 = q2*v1;
    const small_real v4 = v3 - (small_real)0.25*qdd1 - (small_real)0.1*qdd1 - qdd2;
    const small_real v5 = (small_real)0.1*v1 + (small_real)0.25*v1 + v2 + (small_real)2.0*qd1*qd2;
    const small_real v6 = SMALL_TANH(qd1*per_width);
    const small_real v7 = SMALL_TANH(qd2*per_width);
    Y[0] = qdd1;
    Y[1] = q2*v5 - (small_real)0.35*v4;
    Y[2] = v3 + (small_real)0.35*qdd1 - v4;
    Y[3] = (small_real)0.35*v1 - v2 - v5;
    Y[4] = (small_real)0.0;
    Y[5] = qd1;
    Y[6] = (small_real)0.0;
    Y[7] = v6;
    Y[8] = (small_real)0.0;
    Y[9] = (small_real)1.0;
    Y[10] = (small_real)0.0;
    Y[11] = (small_real)0.0;
    Y[12] = -v4;
    Y[13] = qdd1;
    Y[14] = v1;
    Y[15] = qdd2;
    Y[16] = (small_real)0.0;
    Y[17] = qd2;
    Y[18] = (small_real)0.0;
    Y[19] = v7;
    Y[20] = (small_real)0.0;
    Y[21] = (small_real)1.0;
}

static inline int small_differs(const small_real *found, const small_real *expected, int size, small_real scale)
{
    int wrong = 0;
    for (int k = 0; k < size; ++k)
        wrong |= !(SMALL_FABS(found[k] - expected[k]) <= SMALL_TOLERANCE * scale);
    return wrong;
}

// Return 0 when all functions give what other code computed for one state, or else the number of the first
// that does not: 1 inverse_dynamics, 2 gravity, 3 mass_matrix, 4 friction, 5 regressor.
static inline int small_self_test(void)
{
    static const small_real q[2] = {
        (small_real)0.375, (small_real)1.192,
    };
    static const small_real qd[2] = {
        (small_real)0.827, (small_real)0.005,
    };
    static const small_real qdd[2] = {
        -(small_real)0.6, (small_real)1.121,
    };
    static const small_real expected_inverse_dynamics[2] = {
        -(small_real)1.03372534, (small_real)3.434445598,
    };
    static const small_real expected_gravity[2] = {
        (small_real)0.05, -(small_real)0.4,
    };
    static const small_real expected_mass_matrix[4] = {
        (small_real)2.869846, (small_real)0.555, (small_real)0.555, (small_real)4.9,
    };
    static const small_real expected_friction[2] = {
        (small_real)1.1135, (small_real)3.72693725808,
    };
    small_real scale = (small_real)3.73;
    small_real found[22], torque[2];
    small_inverse_dynamics(q, qd, qdd, found);
    if (small_differs(found, expected_inverse_dynamics, 2, scale)) return 1;
    small_gravity(q, found);
    if (small_differs(found, expected_gravity, 2, scale)) return 2;
    small_mass_matrix(q, found);
    if (small_differs(found, expected_mass_matrix, 4, (small_real)4.9)) return 3;
    small_friction(qd, found);
    if (small_differs(found, expected_friction, 2, scale)) return 4;
    small_regressor(q, qd, qdd, found);
    for (int j = 0; j < 2; ++j) { // Y phi - friction, to the size of the terms of its sum
        torque[j] = -expected_friction[j];
        for (int k = 0; k < 11; ++k) {
            const small_real term = found[11 * j + k] * (small_real)small_phi[k];
            torque[j] += term;
            if (term > scale) scale = term;
        }
    }
    return small_differs(torque, expected_inverse_dynamics, 2, scale) ? 5 : 0;
}

#ifdef SMALL_EXAMPLE
#include <stdio.h>

int main(void)
{
    small_real q[2] = {0}, qd[2] = {0}, qdd[2] = {0}, tau[2], f[2];
    const int wrong = small_self_test();
    printf("self test: %s (%d)\n", wrong ? "WRONG" : "ok", wrong);
    for (int j = 0; j < 2; ++j) qd[j] = (small_real)0.1;
    small_inverse_dynamics(q, qd, qdd, tau); // what a controller feeds forward is the sum
    small_friction(qd, f);
    for (int j = 0; j < 2; ++j)
        printf("%s: %g\n", small_joint_names[j], (double)(tau[j] + f[j]));
    return wrong;
}
#endif

#endif
