"""Rotations, poses and inertial parameters."""
