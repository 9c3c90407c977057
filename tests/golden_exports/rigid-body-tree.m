% Identified parameters of 'small', written by ident on 2025-03-01.
% Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
% Validation passed: in a test, with drive inertia, viscous friction, Coulomb friction and offset, which are not in this file.
% Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
% Units: SI, rad. Frame of a body: the link's axes, its origin on the joint's line (as in a URDF).
% Inertia = [Ixx Iyy Izz Iyz Ixz Ixy] about the body frame's ORIGIN (not the centre of mass), tensor signs
% (Ixy = -integral of x y dm). rigidBodyTree has no drive inertia and no joint friction.
% Not in this file, the controller has to add it: shoulder.drive_inertia 0.1, slide.drive_inertia 3.4, shoulder.viscous 0.5, slide.viscous 6, shoulder.coulomb 0.7, slide.coulomb 8, shoulder.offset 0.05, slide.offset -0.4 (drive_inertia: torque = value * qdd: rotor inertia seen at the joint; viscous: torque = value * qd; coulomb: torque = value * sign(qd), or the smooth law of the model; offset: constant torque).
robot = rigidBodyTree('DataFormat', 'row');
robot.BaseName = 'base';
robot.Gravity = [0.0 0.0 -9.81];

body = rigidBody('arm');
body.Joint = rigidBodyJoint('shoulder', 'revolute');
setFixedTransform(body.Joint, [1.0 0.0 0.0 0.0; 0.0 1.1102230246251565e-16 -1.0 0.0; 0.0 1.0 1.1102230246251565e-16 0.0; 0.0 0.0 0.0 1.0]);
body.Joint.JointAxis = [0.0 1.0 1.1102230246251565e-16];
body.Mass = 4.0;
body.CenterOfMass = [0.05 0.41 0.02];
body.Inertia = [0.7040000000000001 0.05159999999999998 0.7074 -0.029800000000000076 -0.00600000000000001 -0.081];
body.Joint.PositionLimits = [-2.0 2.0];
addBody(robot, body, 'base');

body = rigidBody('hand');
body.Joint = rigidBodyJoint('slide', 'prismatic');
setFixedTransform(body.Joint, [1.0 0.0 0.0 0.09999999999999998; 0.0 1.0 0.0 0.4; 0.0 0.0 1.0 4.4408920985006264e-17; 0.0 0.0 0.0 1.0]);
body.Joint.JointAxis = [0.0 0.0 -1.0];
body.Mass = 1.5;
body.CenterOfMass = [0.27 0.0 -0.1];
body.Inertia = [0.022999999999999993 0.13335 0.11334999999999999 0.0 0.041 0.0];
body.Joint.PositionLimits = [0.0 0.5];
addBody(robot, body, 'arm');
