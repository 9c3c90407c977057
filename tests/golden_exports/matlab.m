function [tau, f, g, M, Y] = small_dynamics(q, qd, qdd)
% SMALL_DYNAMICS Dynamics of 2 joints; save this file as small_dynamics.m.
% Identified parameters of 'small', written by ident on 2025-03-01.
% Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
% Validation passed: in a test.
% Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
% Units: SI, rad; q, qd, qdd in the order of the joints below, as the robot's description counts them.
% Torques [N m; prismatic: N] are on the joint side, as the joint moves the links.
% inverse_dynamics: M qdd + C qd + gravity, WITHOUT friction: add friction to predict the torque of the log.
% gravity: the torque that holds the arm still, springs and offsets included. mass_matrix: drive inertia included.
% friction: viscous * qd + coulomb * tanh(qd / width), for whatever law of Coulomb friction was fitted.
% regressor: inverse_dynamics + friction = Y phi, phi the base parameters below.
% Link parameters: m, h = m * centre of mass, tensor about the link frame's ORIGIN, link axes, tensor signs
% (Ixy = -integral of x y dm). The functions are made of phi alone: what torque cannot show is left out.
% Not in this file: joint limits, torque limits, collision, flexibility, delay, motor gains.
% width of Coulomb friction's tanh: 0.01 rad/s (m/s), a choice: the law that was fitted is another one (dead_zone 0).
% Gravity in the base frame: 0.0, 0.0, -9.81 m/s^2.
% Multiplications, additions and sines, cosines, tanh a call: inverse_dynamics 26, 23, 0; gravity 0, 0, 0; mass_matrix 3, 3, 0; friction 6, 2, 2; regressor 15, 11, 2.
% Joints, in the order of q (2x1, as qd and qdd): 'shoulder', 'slide'
% tau: M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]
% f: viscous and Coulomb friction at qd [N m; N]
% g: torque that holds the arm still at q [N m; N]
% M: M(q), drive inertia included [kg m^2; kg m; kg]
% Y: Y with Y phi = inverse_dynamics + friction
% Outputs are double, or single where q is. Feed forward tau + f.
%
% Base parameters phi: what each is made of, and its standard error:
% phi(1) = 0.1762: arm.Iyy + 0.01 arm.m + 0.2 arm.hx + hand.Iyy + shoulder.drive_inertia (+- 1.0e+00)
% phi(2) = 1.5: hand.m (+- 1.0e+00)
% phi(3) = 0.03: hand.hx (+- 1.0e+00)
% phi(4) = -0.15: hand.hz (+- 1.0e+00)
% phi(5) = 3.4: slide.drive_inertia (+- 1.0e+00)
% phi(6) = 0.5: shoulder.viscous (+- 1.0e+00)
% phi(7) = 6.0: slide.viscous (+- 1.0e+00)
% phi(8) = 0.7: shoulder.coulomb (+- 1.0e+00)
% phi(9) = 8.0: slide.coulomb (+- 1.0e+00)
% phi(10) = 0.05: shoulder.offset (+- 1.0e+00)
% phi(11) = -0.4: slide.offset (+- 1.0e+00)
% Links:
% arm: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz = 4.0 -0.2 0.04 0.08 0.032 0.003 0.002 0.0516 0.0022 0.0354
% hand: m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz = 1.5 0.03 0.0 -0.15 0.023 0.0 0.0035 0.0246 0.0 0.0046
%
% Test vector, computed by other code:
% q = [0.375 1.192]';
% qd = [0.827 0.005]';
% qdd = [-0.6 1.121]';
% tau = [-1.03372534 3.434445598]';
% f = [1.1135 3.72693725808]';
% g = [0.05 -0.4]';
%#codegen
tau = inverse_dynamics(q, qd, qdd);
f = friction(qd);
g = gravity(q);
M = mass_matrix(q);
Y = regressor(q, qd, qdd);
end

function tau = inverse_dynamics(q, qd, qdd)
% M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]
q2 = q(2);
qd1 = qd(1);
qd2 = qd(2);
qdd1 = qdd(1);
qdd2 = qdd(2);
v1 = qd1*qd1;
v2 = 0.1*qdd1;
v3 = q2*v1 - 0.25*qdd1 - v2 - qdd2;
v4 = 0.1*v1 + 0.25*v1 + q2*qdd1 + 2.0*qd1*qd2;
v5 = 1.5*v3 + 0.15*v1 - 0.03*qdd1;
v6 = 0.036199999999999996*qdd1 + 0.020000000000000004*qdd1 - 0.008*v1 + 0.15*v4 - 0.03*v3 + q2*(1.5*v4 + 0.03*v1 + 0.15*qdd1) - 0.25*v5;
tau = zeros(2, 1, 'like', q);
tau(1) = v6 - 0.1*(v5 - (0.2*qdd1 + 0.08*v1)) + v2 + 0.05;
tau(2) = 3.4*qdd2 - 0.4 - v5;
end

function f = friction(qd)
% viscous and Coulomb friction at qd [N m; N]
qd1 = qd(1);
qd2 = qd(2);
per_width = 1/0.01; % one over the width of the tanh
v1 = tanh(qd1*per_width);
v2 = tanh(qd2*per_width);
f = zeros(2, 1, 'like', qd);
f(1) = 0.5*qd1 + 0.7*v1;
f(2) = 6.0*qd2 + 8.0*v2;
end

function g = gravity(q)
% torque that holds the arm still at q [N m; N]
g = zeros(2, 1, 'like', q);
g(1) = 0.05;
g(2) = -0.4;
end

function M = mass_matrix(q)
% M(q), drive inertia included [kg m^2; kg m; kg]
q2 = q(2);
M = zeros(2, 2, 'like', q);
M(1, 1) = 0.15*q2 - q2*(-1.5*q2 - 0.15) + 0.38095000000000007;
M(1, 2) = 0.555;
M(2, 1) = 0.555;
M(2, 2) = 4.9;
end

function Y = regressor(q, qd, qdd)
% Y with Y phi = inverse_dynamics + friction
q2 = q(2);
qd1 = qd(1);
qd2 = qd(2);
qdd1 = qdd(1);
qdd2 = qdd(2);
per_width = 1/0.01; % one over the width of the tanh
v1 = qd1*qd1;
v2 = q2*qdd1;
v3 = q2*v1;
v4 = v3 - 0.25*qdd1 - 0.1*qdd1 - qdd2;
v5 = 0.1*v1 + 0.25*v1 + v2 + 2.0*qd1*qd2;
v6 = tanh(qd1*per_width);
v7 = tanh(qd2*per_width);
Y = zeros(2, 11, 'like', q);
Y(1, 1) = qdd1;
Y(1, 2) = q2*v5 - 0.35*v4;
Y(1, 3) = v3 + 0.35*qdd1 - v4;
Y(1, 4) = 0.35*v1 - v2 - v5;
Y(1, 6) = qd1;
Y(1, 8) = v6;
Y(1, 10) = 1.0;
Y(2, 2) = -v4;
Y(2, 3) = qdd1;
Y(2, 4) = v1;
Y(2, 5) = qdd2;
Y(2, 7) = qd2;
Y(2, 9) = v7;
Y(2, 11) = 1.0;
end
