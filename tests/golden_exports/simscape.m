% Identified parameters of 'small', written by ident on 2025-03-01.
% Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
% Validation passed: in a test, with offset, which is not in this file.
% Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
% Units: kg, m, kg m^2, rad. Frame: the link's own. Inertia block, type Custom: CenterOfMass in that frame;
% MomentsOfInertia [Ixx Iyy Izz] and ProductsOfInertia [Iyz Izx Ixy] about the CENTRE of mass, axes parallel to the
% frame, tensor signs (Iyz = -integral of y z dm). Joint blocks: DampingCoefficient is viscous friction, SI;
% driveInertia and coulomb have no parameter of a joint block: use an Inertia and a friction block on its shaft.
% Not in this file, the controller has to add it: shoulder.offset 0.05, slide.offset -0.4 (offset: constant torque).
clear link joint
link(1).name = 'arm';
link(1).Mass = 4.0;
link(1).CenterOfMass = [-0.05 0.01 0.02];
link(1).MomentsOfInertia = [0.03 0.04 0.025];
link(1).ProductsOfInertia = [0.003 -0.002 0.001];
link(2).name = 'hand';
link(2).Mass = 1.5;
link(2).CenterOfMass = [0.02 0.0 -0.1];
link(2).MomentsOfInertia = [0.008 0.009 0.004];
link(2).ProductsOfInertia = [0.0 0.0005 0.0];
joint(1).name = 'shoulder';
joint(1).DampingCoefficient = 0.5;
joint(1).driveInertia = 0.1;
joint(1).coulomb = 0.7;
joint(2).name = 'slide';
joint(2).DampingCoefficient = 6.0;
joint(2).driveInertia = 3.4;
joint(2).coulomb = 8.0;
