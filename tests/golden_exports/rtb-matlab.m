% Identified parameters of 'small', written by ident on 2025-03-01.
% Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
% Validation passed: in a test, with offset, which is not in this file.
% Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
% Units: SI, rad. Frame: the link's DH frame. r: centre of mass; I = [Ixx Iyy Izz Ixy Iyz Ixz] about the CENTRE of
% mass, link axes, tensor signs (Ixy = -integral of x y dm). Jm, B, Tc belong to the MOTOR side in this toolbox;
% here G = 1, so that they are the joint's drive inertia, viscous and Coulomb friction. Before you set the gear
% ratio G, divide Jm and B by G^2 and Tc by |G|. The toolbox's dynamics ignore `flip`: frames whose joint counts
% against its axis are turned by half a turn about x, so that q keeps its sign.
% Not in this file, the controller has to add it: shoulder.offset 0.05, slide.offset -0.4 (offset: constant torque).
clear links
links(1) = Link([0.0 0.4 0.1 -1.5707963267948966 0 0.0], 'standard');
links(1).qlim = [-2.0 2.0];
links(1).m = 4.0;
links(1).r = [-0.05 -0.01 -0.02];
links(1).I = [0.03 0.04 0.025 -0.001 0.003 0.002];
links(1).Jm = 0.1;
links(1).G = 1.0;
links(1).B = 0.5;
links(1).Tc = [0.7 -0.7];
links(2) = Link([0.0 0.0 0.25 -3.141592653589793 1 0.0], 'standard');
links(2).qlim = [0.0 0.5];
links(2).m = 1.5;
links(2).r = [0.02 0.0 -0.1];
links(2).I = [0.008 0.009 0.004 0.0 0.0 0.0005];
links(2).Jm = 3.4;
links(2).G = 1.0;
links(2).B = 6.0;
links(2).Tc = [8.0 -8.0];
% gravity points up here: it is the acceleration of the base that weight amounts to
robot = SerialLink(links, 'name', 'small', 'base', [1.0 0.0 0.0 0.0; 0.0 1.0 0.0 0.0; 0.0 0.0 1.0 0.0; 0.0 0.0 0.0 1.0], 'gravity', [0.0 0.0 9.81]);
