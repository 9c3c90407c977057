"""URDF files, new and edited in place, read by urdfdom, the parser of ROS.

Proved for random trees with fixed bodies: `check_urdf` parses the file, says nothing against it, and finds the robot's
links, each below its own. What the numbers mean there is shown by Pinocchio, which reads with the same urdfdom, in
`test_export_round_trip.py`.

Needs Debian's liburdfdom-tools (3.0).
"""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from export_examples import Example, tree
from random_robots import random_pair


def links_below(text: str) -> dict[str, int]:
    """Return the depth of each link in the tree that check_urdf prints, the root's 0."""
    root, *rest = text.partition("root Link: ")[2].splitlines()
    depths = {root.split()[0]: 0}
    for line in rest:
        indent = len(line) - len(line.lstrip(" "))
        depths[line.partition(":")[2].strip()] = indent // 4
    return depths


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("edited", [False, True])
def test_check_urdf(tmp_path, seed, edited):
    if edited:
        text, robot = random_pair(np.random.default_rng(seed), 1 + seed % 7)
        (tmp_path / "in.urdf").write_text(text)
        x = Example(robot, seed)
        x.text("urdf", tmp_path, source=tmp_path / "in.urdf")
    else:
        x = tree(seed)
        x.text("urdf", tmp_path)
    done = subprocess.run(["check_urdf", tmp_path / "out"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    depths = links_below(done.stdout)
    assert set(depths) >= {x.robot.base, *x.robot.links}
    for joint, link in zip(x.robot.joints, x.robot.links, strict=True):
        parent = x.robot.base if joint.parent < 0 else x.robot.links[joint.parent]
        assert depths[link] > depths[parent]
