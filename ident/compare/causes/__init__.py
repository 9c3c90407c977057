"""What is wrong with a robot file or a log: mistakes weighed against each other by how well the torques follow."""
