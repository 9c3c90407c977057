// Load seen from the flange, which is the frame 'tool0'; written by ident.
// Difference of two results: sha256 0123 with load, sha256 4567 without.
// WARNING: NOT VALIDATED on a held-out recording with the load.
// Standard errors: mass 0.02 kg; centre 0.001, 0.001, 0.002 m; Ixx Ixy Ixz Iyy Iyz Izz 0.0004, 0.0004, 0.0004, 0.0004, 0.0004, 0.0004 kg m^2.
// Units: kg, mm. fCog: centre of gravity in the flange's frame; the load replaces the one before. There is no
// inertia: it is left out. In automatic mode collision detection and the TCP SLF check have to be muted, else the
// robot makes a protective stop. Changing the tool sets the load to zero.
float fCog[3] = {12.3f, -45.6f, 78.9f};
drfl.set_workpiece_weight(2.805f, fCog, COG_REFERENCE_FLANGE, ADD_UP_REPLACE);
