// Load seen from the flange, which is the frame 'tool0'; written by ident.
// Difference of two results: sha256 0123 with load, sha256 4567 without.
// WARNING: NOT VALIDATED on a held-out recording with the load.
// Standard errors: mass 0.02 kg; centre 0.001, 0.001, 0.002 m; Ixx Ixy Ixz Iyy Iyz Izz 0.0004, 0.0004, 0.0004, 0.0004, 0.0004, 0.0004 kg m^2.
// Products of inertia: as they are; they count as zero where all three are within their standard errors.
// Units: kg, m, kg m^2. F_x_Cload: centre of mass in the FLANGE frame. load_inertia: 3 x 3, column-major, about the
// load's centre of mass, flange axes, tensor signs (Ixy = -integral of x y dm).
// The end effector itself is set in Desk: give here what is carried beyond it.
robot.setLoad(2.805, {{0.0123, -0.0456, 0.0789}}, {{0.01230, 0.00110, -0.00070, 0.00110, 0.01450, 0.00030, -0.00070, 0.00030, 0.01010}});
