// Identified parameters of 'two', written by ident on 2026-11-22.
// Result: estimator constrained, sha256 5ad3f91ed99934de4dae840704286739014329af3d98af389eb9f9c10bfa2d24.
// Validation passed: error 0.486 % of the torque on held-out steps.
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
// width of Coulomb friction's tanh: 0.05 rad/s (m/s), as fitted.
// Gravity in the base frame: 0.0, -9.81, 0.0 m/s^2.
// Multiplications, additions and sines, cosines, tanh a call: inverse_dynamics 25, 19, 4; gravity 18, 10, 4; mass_matrix 4, 3, 2; friction 6, 2, 2; regressor 20, 10, 6.
// Include this file and call its functions. They allocate nothing; results may stand on arguments.
// Numbers are double, or float with -DTWO_FLOAT. To try it, include it in try.c, and
// gcc -std=c99 -O2 -DTWO_EXAMPLE try.c -o try -lm && ./try
#ifndef TWO_H
#define TWO_H

#include <math.h>

#ifdef TWO_FLOAT
typedef float two_real;
#define TWO_SIN sinf
#define TWO_COS cosf
#define TWO_TANH tanhf
#define TWO_FABS fabsf
#define TWO_TOLERANCE 1e-5f
#else
typedef double two_real;
#define TWO_SIN sin
#define TWO_COS cos
#define TWO_TANH tanh
#define TWO_FABS fabs
#define TWO_TOLERANCE 1e-9
#endif
#ifndef TWO_COULOMB_WIDTH
#define TWO_COULOMB_WIDTH 0.05 // rad/s (m/s); the self test holds for this one
#endif
#define TWO_JOINTS 2
#define TWO_BASE_PARAMETERS 13

static const char *const two_joint_names[2] = {
    "shoulder",
    "elbow",
};

// base parameters phi: what each is made of, and its standard error
static const two_real two_phi[13] = {
    (two_real)0.600352377862, // upper.hx + 0.3 lower.m (+- 4.6e-04)
    (two_real)0.0002095926559, // upper.hy (+- 1.8e-04)
    (two_real)0.255153906772, // upper.Izz + 0.09 lower.m + shoulder.drive_inertia (+- 1.5e-04)
    (two_real)0.09991448439, // lower.hx (+- 2.2e-04)
    -(two_real)0.00023439315, // lower.hy (+- 1.1e-04)
    (two_real)0.0201925806039, // lower.Izz (+- 5.4e-05)
    (two_real)0.04989879, // elbow.drive_inertia (+- 9.0e-05)
    (two_real)0.4000327, // shoulder.viscous (+- 6.9e-04)
    (two_real)0.199859, // elbow.viscous (+- 7.9e-04)
    (two_real)0.600715, // shoulder.coulomb (+- 1.2e-03)
    (two_real)0.300401, // elbow.coulomb (+- 1.5e-03)
    (two_real)0.097579, // shoulder.offset (+- 4.8e-03)
    -(two_real)0.099166, // elbow.offset (+- 1.8e-03)
};

static const two_real two_links[2][10] = {
    {(two_real)2.00971, (two_real)0.301762377862, (two_real)0.0002095926559, (two_real)0.0, (two_real)0.002000021858418084, -(two_real)3.147079838722798e-05, (two_real)0.0, (two_real)0.0653102849132106, (two_real)0.0, (two_real)0.06531030677162868}, // upper: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
    {(two_real)0.9953, (two_real)0.09991448439, -(two_real)0.00023439315, (two_real)0.0, (two_real)0.001000495199586825, (two_real)2.3529861073845e-05, (two_real)0.0, (two_real)0.020192085404319857, (two_real)0.0, (two_real)0.020192580603906683}, // lower: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
};

// tau[2]: M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]
static inline void two_inverse_dynamics(const two_real *q, const two_real *qd, const two_real *qdd, two_real *tau)
{
    const two_real q1 = q[0];
    const two_real q2 = q[1];
    const two_real qd1 = qd[0];
    const two_real qd2 = qd[1];
    const two_real qdd1 = qdd[0];
    const two_real qdd2 = qdd[1];
    const two_real c1 = TWO_COS(q1);
    const two_real s1 = TWO_SIN(q1);
    const two_real c2 = TWO_COS(q2);
    const two_real s2 = TWO_SIN(q2);
    const two_real v1 = (two_real)9.81*s1 - (two_real)0.3*qd1*qd1;
    const two_real v2 = (two_real)9.81*c1 + (two_real)0.3*qdd1;
    const two_real v3 = qdd1 + qdd2;
    const two_real v4 = qd1 + qd2;
    const two_real v5 = v4*v4;
    const two_real v6 = (two_real)0.020192580603906683*v3 + (two_real)0.09991448439*(c2*v2 - s2*v1) + (two_real)0.00023439315*(c2*v1 + s2*v2);
    const two_real v7 = (two_real)0.15488730677162865*qdd1 + (two_real)5.889456826826219*c1 - (two_real)0.0020561039543790004*s1 + v6 + (two_real)0.3*(s2*((two_real)0.00023439315*v3 - (two_real)0.09991448439*v5) + c2*((two_real)0.09991448439*v3 + (two_real)0.00023439315*v5));
    tau[0] = v7 + (two_real)0.1002666*qdd1 + (two_real)0.097579;
    tau[1] = v6 + (two_real)0.04989879*qdd2 - (two_real)0.099166;
}

// g[2]: torque that holds the arm still at q [N m; N]
static inline void two_gravity(const two_real *q, two_real *g)
{
    const two_real q1 = q[0];
    const two_real q2 = q[1];
    const two_real c2 = TWO_COS(q2);
    const two_real s2 = TWO_SIN(q2);
    const two_real c1 = TWO_COS(q1);
    const two_real s1 = TWO_SIN(q1);
    const two_real v1 = (two_real)9.81*((two_real)0.09991448439*c2 + (two_real)0.00023439315*s2 + (two_real)0.6003523778619999)*c1 - (two_real)9.81*((two_real)0.09991448439*s2 - (two_real)0.00023439315*c2 + (two_real)0.0002095926559)*s1;
    const two_real v2 = (two_real)0.00023439315*((two_real)9.81*c2*s1 + (two_real)9.81*s2*c1) + (two_real)0.09991448439*((two_real)9.81*c2*c1 - (two_real)9.81*s2*s1);
    g[0] = v1 + (two_real)0.097579;
    g[1] = v2 - (two_real)0.099166;
}

// M[2][2], row by row: M(q), drive inertia included [kg m^2; kg m; kg]
static inline void two_mass_matrix(const two_real *q, two_real *M)
{
    const two_real q2 = q[1];
    const two_real c2 = TWO_COS(q2);
    const two_real s2 = TWO_SIN(q2);
    const two_real v1 = (two_real)0.09991448439*c2 + (two_real)0.00023439315*s2;
    const two_real v2 = (two_real)0.3*v1 + (two_real)0.020192580603906683;
    M[0] = (two_real)0.6*v1 + (two_real)0.27534648737553535;
    M[1] = v2;
    M[2] = v2;
    M[3] = (two_real)0.07009137060390669;
}

// f[2]: viscous and Coulomb friction at qd [N m; N]
static inline void two_friction(const two_real *qd, two_real *f)
{
    const two_real qd1 = qd[0];
    const two_real qd2 = qd[1];
    const two_real per_width = (two_real)(1.0 / TWO_COULOMB_WIDTH);
    const two_real v1 = TWO_TANH(qd1*per_width);
    const two_real v2 = TWO_TANH(qd2*per_width);
    f[0] = (two_real)0.4000327*qd1 + (two_real)0.600715*v1;
    f[1] = (two_real)0.199859*qd2 + (two_real)0.300401*v2;
}

// Y[2][13], row by row: Y with Y phi = inverse_dynamics + friction
static inline void two_regressor(const two_real *q, const two_real *qd, const two_real *qdd, two_real *Y)
{
    const two_real q1 = q[0];
    const two_real q2 = q[1];
    const two_real qd1 = qd[0];
    const two_real qd2 = qd[1];
    const two_real qdd1 = qdd[0];
    const two_real qdd2 = qdd[1];
    const two_real per_width = (two_real)(1.0 / TWO_COULOMB_WIDTH);
    const two_real c1 = TWO_COS(q1);
    const two_real s1 = TWO_SIN(q1);
    const two_real c2 = TWO_COS(q2);
    const two_real s2 = TWO_SIN(q2);
    const two_real v1 = (two_real)9.81*s1;
    const two_real v2 = (two_real)9.81*c1;
    const two_real v3 = v1 - (two_real)0.3*qd1*qd1;
    const two_real v4 = v2 + (two_real)0.3*qdd1;
    const two_real v5 = c2*v3 + s2*v4;
    const two_real v6 = c2*v4 - s2*v3;
    const two_real v7 = qdd1 + qdd2;
    const two_real v8 = qd1 + qd2;
    const two_real v9 = v8*v8;
    const two_real v10 = TWO_TANH(qd1*per_width);
    const two_real v11 = TWO_TANH(qd2*per_width);
    Y[0] = v2;
    Y[1] = -v1;
    Y[2] = qdd1;
    Y[3] = v6 + (two_real)0.3*c2*v7 - (two_real)0.3*s2*v9;
    Y[4] = -(v5 + (two_real)0.3*s2*v7 + (two_real)0.3*c2*v9);
    Y[5] = v7;
    Y[6] = (two_real)0.0;
    Y[7] = qd1;
    Y[8] = (two_real)0.0;
    Y[9] = v10;
    Y[10] = (two_real)0.0;
    Y[11] = (two_real)1.0;
    Y[12] = (two_real)0.0;
    Y[13] = (two_real)0.0;
    Y[14] = (two_real)0.0;
    Y[15] = (two_real)0.0;
    Y[16] = v6;
    Y[17] = -v5;
    Y[18] = v7;
    Y[19] = qdd2;
    Y[20] = (two_real)0.0;
    Y[21] = qd2;
    Y[22] = (two_real)0.0;
    Y[23] = v11;
    Y[24] = (two_real)0.0;
    Y[25] = (two_real)1.0;
}

static inline int two_differs(const two_real *found, const two_real *expected, int size, two_real scale)
{
    int wrong = 0;
    for (int k = 0; k < size; ++k)
        wrong |= !(TWO_FABS(found[k] - expected[k]) <= TWO_TOLERANCE * scale);
    return wrong;
}

// Return 0 when all functions give what other code computed for one state, or else the number of the first
// that does not: 1 inverse_dynamics, 2 gravity, 3 mass_matrix, 4 friction, 5 regressor.
static inline int two_self_test(void)
{
    static const two_real q[2] = {
        (two_real)0.375, (two_real)1.192,
    };
    static const two_real qd[2] = {
        (two_real)0.827, (two_real)0.025,
    };
    static const two_real qdd[2] = {
        -(two_real)0.6, (two_real)1.121,
    };
    static const two_real expected_inverse_dynamics[2] = {
        (two_real)5.43841001165, -(two_real)0.0143494093051,
    };
    static const two_real expected_gravity[2] = {
        (two_real)5.583030755, -(two_real)0.0931456168896,
    };
    static const two_real expected_mass_matrix[4] = {
        (two_real)0.297646322856, (two_real)0.0313424983442, (two_real)0.0313424983442, (two_real)0.0700913706039,
    };
    static const two_real expected_friction[2] = {
        (two_real)0.9315420429, (two_real)0.143816931158,
    };
    two_real scale = (two_real)5.58;
    two_real found[26], torque[2];
    two_inverse_dynamics(q, qd, qdd, found);
    if (two_differs(found, expected_inverse_dynamics, 2, scale)) return 1;
    two_gravity(q, found);
    if (two_differs(found, expected_gravity, 2, scale)) return 2;
    two_mass_matrix(q, found);
    if (two_differs(found, expected_mass_matrix, 4, (two_real)0.298)) return 3;
    two_friction(qd, found);
    if (two_differs(found, expected_friction, 2, scale)) return 4;
    two_regressor(q, qd, qdd, found);
    for (int j = 0; j < 2; ++j) { // Y phi - friction, to the size of the terms of its sum
        torque[j] = -expected_friction[j];
        for (int k = 0; k < 13; ++k) {
            const two_real term = found[13 * j + k] * (two_real)two_phi[k];
            torque[j] += term;
            if (term > scale) scale = term;
        }
    }
    return two_differs(torque, expected_inverse_dynamics, 2, scale) ? 5 : 0;
}

#ifdef TWO_EXAMPLE
#include <stdio.h>

int main(void)
{
    two_real q[2] = {0}, qd[2] = {0}, qdd[2] = {0}, tau[2], f[2];
    const int wrong = two_self_test();
    printf("self test: %s (%d)\n", wrong ? "WRONG" : "ok", wrong);
    for (int j = 0; j < 2; ++j) qd[j] = (two_real)0.1;
    two_inverse_dynamics(q, qd, qdd, tau); // what a controller feeds forward is the sum
    two_friction(qd, f);
    for (int j = 0; j < 2; ++j)
        printf("%s: %g\n", two_joint_names[j], (double)(tau[j] + f[j]));
    return wrong;
}
#endif

#endif
