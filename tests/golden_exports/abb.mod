! Load seen from the flange, which is the frame 'tool0'; written by ident.
! Difference of two results: sha256 0123 with load, sha256 4567 without.
! WARNING: NOT VALIDATED on a held-out recording with the load.
! Standard errors: mass 0.02 kg; centre 0.001, 0.001, 0.002 m; Ixx Ixy Ixz Iyy Iyz Izz 0.0004, 0.0004, 0.0004, 0.0004, 0.0004, 0.0004 kg m^2.
! Products of inertia: as they are; they count as zero where all three are within their standard errors.
! Units: kg, mm, kg m^2. loaddata := [mass, cog, aom, ix, iy, iz]: centre of gravity; quaternion w, x, y, z of the
! principal axes at it; principal moments about the CENTRE of gravity, about these axes.
! All in the WRIST (flange) frame: right for tooldata, and for a payload where tool0 is active or PayLoadsInWrist
! is set; else RAPID takes a payload's cog and aom in the active tool's frame.
PERS loaddata identified_load := [2.805, [12.3, -45.6, 78.9], [0.965118513, 0.035736280, 0.174866200, -0.191548915], 0.01213, 0.01496, 0.00981];
