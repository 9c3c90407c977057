"""The KDL header, compiled by g++ against the real Orocos KDL.

Proved, to 1e-9 of the largest torque, for random trees and chains of 1-8 revolute and prismatic joints beside their
frames: the header compiles alone without a warning; joints are numbered in the order that the file states, in copies of
the tree too; `TreeIdSolver_RNE`, `ChainIdSolver_RNE` and `ChainDynParam` give this package's torque with the whole of
the drive inertia and without friction; every joint carries its viscous friction as damping; the last link's frame is
where it is here.

Needs g++ and Debian's liborocos-kdl-dev (1.5).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from export_examples import TOLERANCE, Example, tree
from oracles import random_tree

from ident.robot.robot import frame_poses

COMPILE = ["g++", "-std=c++17", "-isystem", "/usr/include/eigen3"]
TREES, CHAINS = range(12), range(8)
PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <kdl/chaindynparam.hpp>
#include <kdl/chainidsolver_recursive_newton_euler.hpp>
#include <kdl/treefksolverpos_recursive.hpp>
#include <kdl/treeidsolver_recursive_newton_euler.hpp>
@HEADERS@
static double next() { double x; if (std::scanf("%lf", &x) != 1) std::exit(2); return x; }
static KDL::JntArray array(int n) { KDL::JntArray a(n); for (int i = 0; i < n; ++i) a(i) = next(); return a; }
static void put(double x) { std::printf("%.17g ", x); }
static void put(const KDL::JntArray& a) { for (unsigned i = 0; i < a.rows(); ++i) put(a(i)); }
static void ok(int code) { if (code < 0) std::exit(3); }

static void run(const KDL::Tree& made, const KDL::Tree& tree, const std::string& last, bool is_chain) {
  const int n = tree.getNrOfJoints();
  const int samples = static_cast<int>(next());
  const double x = next(), y = next(), z = next();
  const KDL::Vector gravity(x, y, z);
  put(n);
  for (const auto& s : made.getSegments()) if (tree.getSegment(s.first)->second.q_nr != s.second.q_nr) std::exit(5);
  for (int i = 0; i < n; ++i)
    for (const auto& s : tree.getSegments())
      if (s.second.segment.getJoint().getType() != KDL::Joint::Fixed && static_cast<int>(s.second.q_nr) == i) {
        std::printf("%s ", s.second.segment.getJoint().getName().c_str());
        put(s.second.segment.getJoint().getDamping());
      }
  KDL::Chain chain;
  if (is_chain && !tree.getChain(tree.getRootSegment()->first, last, chain)) std::exit(4);
  for (int s = 0; s < samples; ++s) {
    const KDL::JntArray q = array(n), v = array(n), a = array(n);
    KDL::JntArray tau(n), own(n), weight(n);
    KDL::TreeIdSolver_RNE solver(tree, gravity);
    ok(solver.CartToJnt(q, v, a, KDL::WrenchMap(), tau));
    put(tau);
    KDL::Frame end;
    ok(KDL::TreeFkSolverPos_recursive(tree).JntToCart(q, end, last));
    for (int i = 0; i < 3; ++i) for (int k = 0; k < 4; ++k) put(end(i, k));
    if (!is_chain) continue;
    KDL::ChainIdSolver_RNE one(chain, gravity);
    ok(one.CartToJnt(q, v, a, KDL::Wrenches(chain.getNrOfSegments()), tau));
    put(tau);
    KDL::ChainDynParam parts(chain, gravity);
    KDL::JntSpaceInertiaMatrix mass(n);
    ok(parts.JntToMass(q, mass));
    ok(parts.JntToCoriolis(q, v, own));
    ok(parts.JntToGravity(q, weight));
    KDL::Multiply(mass, a, tau);
    for (int i = 0; i < n; ++i) put(tau(i) + own(i) + weight(i));
  }
  std::printf("\\n");
}

int main() {
@CALLS@
}
"""


def robots() -> list[tuple[Example, bool]]:
    """Return examples, and whether each is a chain."""
    made = [(tree(seed), False) for seed in TREES]
    for seed in CHAINS:
        chain = random_tree(np.random.default_rng(50 + seed), 1 + seed, points=True, branches=False)
        made.append((Example(chain, seed), True))
    return made


def order_in(path: Path, x: Example) -> list[int]:
    """Return the robot's numbers of KDL's joints, from the header's comment."""
    line = next(line for line in path.read_text().splitlines() if line.startswith("// the order of q: "))
    return [x.robot.joint_names.index(name) for name in line.partition(": ")[2].split(", ")]


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Return each robot and what KDL says of it."""
    folder = tmp_path_factory.mktemp("kdl")
    made = robots()
    headers, calls, words = "", "", []
    for i, (x, is_chain) in enumerate(made):
        (folder / f"r{i}.hpp").write_text(x.text("kdl", folder))
        headers += f'namespace r{i} {{\n#include "r{i}.hpp"\n}}\n'
        own = f'"{x.robot.links[-1]}", {str(is_chain).lower()}'
        calls += f"  {{ const KDL::Tree t = r{i}::identified_tree(); run(t, KDL::Tree(t), {own}); }}\n"
        states = np.stack([x.q, x.qd, x.qdd], axis=1)[:, :, order_in(folder / f"r{i}.hpp", x)]
        words += [len(x.q), *x.robot.gravity, *states.ravel()]
    (folder / "main.cpp").write_text(PROGRAM.replace("@HEADERS@", headers).replace("@CALLS@", calls))
    subprocess.run([*COMPILE, "main.cpp", "-o", "main", "-lorocos-kdl"], cwd=folder, check=True)
    text = " ".join(repr(float(w)) for w in words)
    out = subprocess.run([folder / "main"], input=text, capture_output=True, text=True, check=True).stdout
    orders = [order_in(folder / f"r{i}.hpp", x) for i, (x, _) in enumerate(made)]
    return [(*pair, order, line.split()) for pair, order, line in zip(made, orders, out.splitlines(), strict=True)]


def test_a_header_compiles_alone_without_a_warning(tmp_path):
    path = tmp_path / "robot.hpp"
    path.write_text(tree(1).text("kdl", tmp_path))
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only", "-x", "c++"]
    (tmp_path / "use.cpp").write_text('#include "robot.hpp"\n#include "robot.hpp"\nint main() { identified_tree(); }\n')
    subprocess.run([*COMPILE, *strict, tmp_path / "use.cpp"], check=True)


@pytest.mark.parametrize("i", range(len(TREES) + len(CHAINS)))
def test_kdl(read, i):
    x, is_chain, order, words = read[i]
    n = x.robot.n
    assert int(words[0]) == n
    joints = words[1 : 1 + 2 * n]
    assert joints[::2] == [x.robot.joint_names[k] for k in order]
    assert [float(w) for w in joints[1::2]] == x.viscous[order].tolist()
    expected = x.ours("drive_inertia")[:, order]
    scale = np.abs(expected).max()
    found = np.array([float(w) for w in words[1 + 2 * n :]]).reshape(len(x.q), -1)
    for row, tau, q in zip(found, expected, x.q, strict=True):
        torques = [row[:n], row[n + 12 : 2 * n + 12], row[2 * n + 12 :]] if is_chain else [row[:n]]
        for torque in torques:
            assert np.abs(torque - tau).max() < TOLERANCE * scale
        frame = frame_poses(x.robot, q)[x.robot.links[-1]]
        assert np.abs(row[n : n + 12].reshape(3, 4) - frame.matrix[:3]).max() < TOLERANCE


def test_some_tree_is_not_in_depth_first_order(read):
    assert any(order != sorted(order) for _, _, order, _ in read)
