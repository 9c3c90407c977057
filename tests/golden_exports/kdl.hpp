// Identified parameters of 'small', written by ident on 2025-03-01.
// Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
// Validation passed: in a test, with Coulomb friction and offset, which are not in this file.
// Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
// Units: SI, rad. Frame: the link's own (the segment's tip). RigidBodyInertia(mass, centre, RotationalInertia):
// tensor about the CENTRE of mass, link axes, order Ixx Iyy Izz Ixy Ixz Iyz, tensor signs (Ixy = -integral x y dm).
// Joint(name, origin, axis, type, scale, offset, inertia, damping): inertia = drive inertia, damping = viscous.
// TreeIdSolver_RNE, ChainIdSolver_RNE and ChainDynParam use the joint's inertia in full, damping not at all.
// Not in this file, the controller has to add it: shoulder.coulomb 0.7, slide.coulomb 8, shoulder.offset 0.05, slide.offset -0.4 (coulomb: torque = value * sign(qd), or the smooth law of the model; offset: constant torque).
#pragma once
#include <kdl/tree.hpp>

// the order of q: shoulder, slide
// gravity in the base frame: 0.0 0.0 -9.81 m/s^2
inline KDL::Tree identified_tree() {
  KDL::Tree tree("base");
  tree.addSegment(
      KDL::Segment("arm",
                   KDL::Joint("shoulder", KDL::Vector(0.0, 0.0, 0.0),
                              KDL::Vector(0.0, 0.0, 1.0),
                              KDL::Joint::RotAxis, 1, 0, 0.1, 0.5),
                   KDL::Frame(KDL::Rotation(1.0, 0.0, 0.0, 0.0, 1.1102230246251565e-16, -1.0, 0.0, 1.0, 1.1102230246251565e-16),
                              KDL::Vector(0.1, 0.0, 0.4)),
                   KDL::RigidBodyInertia(4.0, KDL::Vector(-0.05, 0.01, 0.02),
                       KDL::RotationalInertia(0.03, 0.04, 0.025, 0.001, -0.002, 0.003))),
      "base");
  tree.addSegment(
      KDL::Segment("hand",
                   KDL::Joint("slide", KDL::Vector(0.0, 0.0, 0.0),
                              KDL::Vector(0.0, 0.0, -1.0),
                              KDL::Joint::TransAxis, 1, 0, 3.4, 6.0),
                   KDL::Frame(KDL::Rotation(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
                              KDL::Vector(0.25, 0.0, 0.0)),
                   KDL::RigidBodyInertia(1.5, KDL::Vector(0.02, 0.0, -0.1),
                       KDL::RotationalInertia(0.008, 0.009, 0.004, 0.0, 0.0005, 0.0))),
      "arm");
  return tree;
}
