# Identified parameters of 'small', written by ident on 2025-03-01.
# Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
# Validation passed: in a test, with offset, which is not in this file.
# Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
# Units: SI, rad. Frame: the link's DH frame. r: centre of mass; I = [Ixx Iyy Izz Ixy Iyz Ixz] about the CENTRE of
# mass, link axes, tensor signs (Ixy = -integral of x y dm). Jm, B, Tc belong to the MOTOR side in this toolbox;
# here G = 1, so that they are the joint's drive inertia, viscous and Coulomb friction. Before you set the gear
# ratio G, divide Jm and B by G^2 and Tc by |G|. The toolbox's dynamics ignore `flip`: frames whose joint counts
# against its axis are turned by half a turn about x, so that q keeps its sign.
# Not in this file, the controller has to add it: shoulder.offset 0.05, slide.offset -0.4 (offset: constant torque).
import numpy
from roboticstoolbox import DHLink, DHRobot
from spatialmath import SE3

links = [
    DHLink(d=0.4, alpha=-1.5707963267948966, theta=0.0, a=0.1, sigma=0, offset=0.0, m=4.0, r=[-0.05, -0.01, -0.02], I=[0.03, 0.04, 0.025, -0.001, 0.003, 0.002], Jm=0.1, G=1.0, B=0.5, Tc=[0.7, -0.7], mdh=False, qlim=[-2.0, 2.0]),  # 'shoulder'
    DHLink(d=0.0, alpha=-3.141592653589793, theta=0.0, a=0.25, sigma=1, offset=0.0, m=1.5, r=[0.02, 0.0, -0.1], I=[0.008, 0.009, 0.004, 0.0, 0.0, 0.0005], Jm=3.4, G=1.0, B=6.0, Tc=[8.0, -8.0], mdh=False, qlim=[0.0, 0.5]),  # 'slide'
]
# gravity: that of a falling body, as versions 1.1 to 1.5 take it (MATLAB's toolbox: its negative)
robot = DHRobot(links, name='small', base=SE3(numpy.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]), check=False), gravity=[0.0, 0.0, -9.81])
