% Identified parameters of 'small', written by ident on 2025-03-01.
% Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
% Validation passed: in a test, with drive inertia, viscous friction, Coulomb friction and offset, which are not in this file.
% Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
% Units: SI, rad. Frame of body i: origin on joint i's line, z along it; model.frame{i} is that frame's rotation
% seen from the link's own axes. mcI(mass, centre, tensor): tensor about the CENTRE of mass, tensor signs
% (Ixy = -integral of x y dm). model.a{i} (spatial_v2_extended): m, h (3), Ixx Iyy Izz Iyz Ixz Ixy about the body
% frame's ORIGIN.
% Not in this file, the controller has to add it: shoulder.drive_inertia 0.1, slide.drive_inertia 3.4, shoulder.viscous 0.5, slide.viscous 6, shoulder.coulomb 0.7, slide.coulomb 8, shoulder.offset 0.05, slide.offset -0.4 (drive_inertia: torque = value * qdd: rotor inertia seen at the joint; viscous: torque = value * qd; coulomb: torque = value * sign(qd), or the smooth law of the model; offset: constant torque).
model = struct();
model.NB = 2;
model.parent = [0 1];
model.gravity = [0.0 0.0 -9.81];
% joint 1: shoulder
model.name{1} = 'shoulder';
model.jtype{1} = 'Rz';
model.frame{1} = [1.0 0.0 0.0; 0.0 1.1102230246251565e-16 1.0; 0.0 -1.0 1.1102230246251565e-16];
model.Xtree{1} = blkdiag([1.0 0.0 0.0; 0.0 1.0 0.0; 0.0 0.0 1.0], [1.0 0.0 0.0; 0.0 1.0 0.0; 0.0 0.0 1.0]) * xlt([0.0 0.0 0.0]);
model.I{1} = mcI(4.0, [0.05 -0.02 0.41], [0.03 0.002 0.001; 0.002 0.025 -0.003; 0.001 -0.003 0.04]);
model.a{1} = [4.0; 0.2; -0.08; 1.6400000000000001; 0.7040000000000001; 0.7074; 0.05159999999999998; 0.029800000000000004; -0.081; 0.006000000000000001];
% joint 2: slide
model.name{2} = 'slide';
model.jtype{2} = 'Pz';
model.frame{2} = [1.0 0.0 0.0; 0.0 -1.0 0.0; 0.0 0.0 -1.0];
model.Xtree{2} = blkdiag([1.0 0.0 0.0; 0.0 -1.1102230246251565e-16 -1.0; 0.0 1.0 -1.1102230246251565e-16], [1.0 0.0 0.0; 0.0 -1.1102230246251565e-16 -1.0; 0.0 1.0 -1.1102230246251565e-16]) * xlt([0.09999999999999998 0.0 0.4]);
model.I{2} = mcI(1.5, [0.27 0.0 0.1], [0.008 0.0 -0.0005; 0.0 0.009 0.0; -0.0005 0.0 0.004]);
model.a{2} = [1.5; 0.405; 0.0; 0.15; 0.022999999999999993; 0.13335; 0.11335; 0.0; -0.041; 0.0];
