"""Files of an arm of two joints in a vertical plane."""

ROBOT = """
name = "two"
convention = "dh"
length = "m"
angle = "rad"
gravity = [0, -9.81, 0]

[[joint]]
name = "shoulder"
link = "upper"
a = 0.4
alpha = 0
d = 0
limits = { lower = -2, upper = 2, velocity = 3, acceleration = 20, effort = 30 }

[[joint]]
name = "elbow"
link = "lower"
a = 0.3
alpha = 0
d = 0
limits = { lower = -2.5, upper = 2.5, velocity = 4, acceleration = 30, effort = 10 }
"""
CAD = """# mass = "kg"
# length = "m"
# inertia = "kg m^2"
# tensor_at = "center_of_mass"
# products = "tensor"
link,m,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz
upper,3,-0.2,0,0,0.004,0,0,0.04,0,0.04
lower,1.5,-0.15,0,0,0.002,0,0,0.012,0,0.012
"""
