"""SDF files, new and edited in place, read by libsdformat, the parser of Gazebo.

Proved, to 1e-9, for random trees of revolute and prismatic joints: what libsdformat reads - masses, centres, tensors,
the links' poses and the joints' axes that it resolves itself - gives this package's torque, its limits, damping and
friction are the robot's, and it has no error, no warning and no failed check (those of `ign sdf --check`). Edited files
state poses in radians, degrees and quaternions, relative to the model, links, joints and frames, axes expressed
elsewhere, inertials with turned axes, springs, which stay, and those of versions 1.4 to 1.6 axes in the model's frame.

Needs g++, pkg-config and Debian's libsdformat-dev (12).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from export_examples import TOLERANCE, Example, tree
from export_readers import Read, six
from oracles import random_bodies, random_tree

from ident.robot.robot import Limits, Robot
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import Pose, rpy

SEEDS = range(12)
PROGRAM = """
#include <cstdio>
#include <sdf/sdf.hh>
static void put(const ignition::math::Pose3d& p) {
  const auto &x = p.Pos(); const auto &r = p.Rot();
  std::printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g ", x.X(), x.Y(), x.Z(), r.X(), r.Y(), r.Z(), r.W());
}
static bool bad(const sdf::Errors& errors) {
  for (const auto& e : errors) std::fprintf(stderr, "%s\\n", e.Message().c_str());
  return !errors.empty();
}
int main(int count, char** files) {
  for (int i = 1; i < count; ++i) {
    sdf::Root root;
    if (bad(root.Load(files[i]))) return 2;
    if (!sdf::checkCanonicalLinkNames(&root) || !sdf::checkFrameAttachedToNames(&root)
        || !sdf::checkFrameAttachedToGraph(&root) || !sdf::checkPoseRelativeToGraph(&root)
        || !sdf::checkJointParentChildLinkNames(&root) || !sdf::recursiveSiblingUniqueNames(root.Element())
        || !sdf::recursiveSameTypeUniqueNames(root.Element())
        || !sdf::recursiveSiblingNoDoubleColonInNames(root.Element())) return 3;
    const sdf::Model& model = *root.Model();
    std::printf("file %s\\n", model.Name().c_str());
    for (uint64_t k = 0; k < model.LinkCount(); ++k) {
      const sdf::Link& link = *model.LinkByIndex(k);
      const auto& body = link.Inertial();
      const auto moi = body.Moi();
      const auto& c = body.Pose().Pos();
      std::printf("link %s %.17g ", link.Name().c_str(), body.MassMatrix().Mass());
      std::printf("%.17g %.17g %.17g ", c.X(), c.Y(), c.Z());
      std::printf("%.17g %.17g %.17g ", moi(0, 0), moi(0, 1), moi(0, 2));
      std::printf("%.17g %.17g %.17g ", moi(1, 1), moi(1, 2), moi(2, 2));
      ignition::math::Pose3d pose;
      if (bad(link.SemanticPose().Resolve(pose, "__model__"))) return 4;
      put(pose);
      std::printf("\\n");
    }
    for (uint64_t k = 0; k < model.FrameCount(); ++k) {
      ignition::math::Pose3d pose;
      if (bad(model.FrameByIndex(k)->SemanticPose().Resolve(pose, "__model__"))) return 4;
      std::printf("frame %s ", model.FrameByIndex(k)->Name().c_str());
      put(pose);
      std::printf("\\n");
    }
    for (uint64_t k = 0; k < model.JointCount(); ++k) {
      const sdf::Joint& joint = *model.JointByIndex(k);
      if (joint.Type() == sdf::JointType::FIXED) continue;
      const char* kind = joint.Type() == sdf::JointType::REVOLUTE ? "revolute" : "prismatic";
      std::string parent, child;
      ignition::math::Pose3d pose;
      ignition::math::Vector3d xyz;
      const sdf::JointAxis& axis = *joint.Axis();
      if (bad(joint.ResolveParentLink(parent)) || bad(joint.ResolveChildLink(child))) return 5;
      if (bad(joint.SemanticPose().Resolve(pose, "__model__")) || bad(axis.ResolveXyz(xyz, "__model__"))) return 6;
      std::printf("joint %s %s %s %s ", joint.Name().c_str(), kind, parent.c_str(), child.c_str());
      std::printf("%.17g %.17g %.17g %.17g ", axis.Lower(), axis.Upper(), axis.Effort(), axis.MaxVelocity());
      std::printf("%.17g %.17g %.17g ", axis.Damping(), axis.Friction(), axis.SpringStiffness());
      std::printf("%.17g %.17g %.17g ", xyz.X(), xyz.Y(), xyz.Z());
      put(pose);
      std::printf("\\n");
    }
  }
}
"""


def pose_of(seven: np.ndarray) -> Pose:
    """Return a pose from x y z and a quaternion x y z w."""
    return Pose(pin.Quaternion(*seven[[6, 3, 4, 5]]).matrix(), seven[:3])


def text_of(values) -> str:
    return " ".join(repr(float(v)) for v in np.ravel(values))


def scrambled(rng: np.random.Generator, robot: Robot) -> str:
    """Return an SDF of the robot, with frames, ways of saying and numbers of its own."""
    at = dict(zip(robot.links, robot.poses(np.zeros(robot.n)), strict=True))
    frames = {name: pose @ Pose(rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3)) for name, pose in at.items()}
    frames[robot.base] = Pose.identity()
    frames["mark"] = Pose(rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3))
    links, joints = "", f'<frame name="mark">{written(rng, frames["mark"])}</frame>\n'
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        to = str(rng.choice(["mark", robot.base, robot.links[i - 1]])) if i and rng.random() < 0.6 else ""
        place = frames[to].inverse() @ frames[link] if to else frames[link]
        mass, com, (xx, xy, xz, yy, yz, zz) = com_numbers(random_bodies(rng, 1)[0])
        inertia = f"<ixx>{xx}</ixx><ixy>{xy}</ixy><ixz>{xz}</ixz><iyy>{yy}</iyy><iyz>{yz}</iyz><izz>{zz}</izz>"
        turned = f"<pose>{text_of([*com, *rng.uniform(-3, 3, 3)])}</pose>"
        body = f"<inertial>{turned}<mass>{mass}</mass><inertia>{inertia}</inertia></inertial>"
        links += f'<link name="{link}">{written(rng, place, to)}{body if rng.random() < 0.8 else ""}</link>\n'
        line = at[link] @ Pose(rpy(*rng.uniform(-3, 3, 3)), joint.point + rng.uniform(-1, 1) * joint.axis)
        axis = at[link].rotation @ joint.axis
        said = str(rng.choice(["", "mark", "__model__", link]))
        turn = line.rotation if not said else frames.get(said, Pose.identity()).rotation
        xyz = f'<xyz expressed_in="{said}">' if said else "<xyz>"
        dynamics = "<dynamics><spring_stiffness>3</spring_stiffness></dynamics>" if rng.random() < 0.5 else ""
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        joints += (
            f'<joint name="{joint.name}" type="{joint.kind}"><parent>{parent}</parent><child>{link}</child>'
            f"{written(rng, frames[link].inverse() @ line)}<axis>{xyz}{text_of(turn.T @ axis)}</xyz>"
            f"<limit><lower>-1</lower><upper>2</upper></limit>{dynamics}</axis></joint>\n"
        )
    return (
        f'<sdf version="1.9"><model name="mine" canonical_link="{robot.base}"><pose>1 2 3 0 0 1</pose>'
        f'<link name="{robot.base}"/>\n{links}{joints}</model></sdf>\n'
    )


def old(rng: np.random.Generator, robot: Robot, version: str) -> str:
    """Return an SDF of the robot of a version before 1.7: poses in the model's frame, axes there or the joint's."""
    links, joints = f'<link name="{robot.base}"/>\n', ""
    for joint, link, at in zip(robot.joints, robot.links, robot.poses(np.zeros(robot.n)), strict=True):
        frame = at @ Pose(rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3))
        line = at @ Pose(rpy(*rng.uniform(-3, 3, 3)), joint.point)
        inmodel = version == "1.4" or rng.random() < 0.5
        axis = at.rotation @ joint.axis if inmodel else line.rotation.T @ at.rotation @ joint.axis
        said = "<use_parent_model_frame>1</use_parent_model_frame>" if inmodel and version != "1.4" else ""
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        poses = [text_of([*p.position, *pin.rpy.matrixToRpy(p.rotation)]) for p in (frame, frame.inverse() @ line)]
        links += f'<link name="{link}"><pose>{poses[0]}</pose></link>\n'
        joints += (
            f'<joint name="{joint.name}" type="{joint.kind}"><parent>{parent}</parent><child>{link}</child>'
            f"<pose>{poses[1]}</pose><axis><xyz>{text_of(axis)}</xyz>{said}"
            "<limit><lower>-1</lower><upper>2</upper></limit></axis></joint>\n"
        )
    return f'<sdf version="{version}"><model name="mine">{links}{joints}</model></sdf>\n'


def written(rng: np.random.Generator, pose: Pose, to: str = "") -> str:
    """Return <pose> in radians, degrees or as a quaternion."""
    where = f' relative_to="{to}"' if to else ""
    angles = pin.rpy.matrixToRpy(pose.rotation)
    match rng.integers(3):
        case 0:
            return f"<pose{where}>{text_of([*pose.position, *angles])}</pose>"
        case 1:
            return f'<pose{where} degrees="true">{text_of([*pose.position, *np.degrees(angles)])}</pose>'
        case _:
            q = pin.Quaternion(pose.rotation).coeffs()
            return f'<pose{where} rotation_format="quat_xyzw">{text_of([*pose.position, *q])}</pose>'


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Return for each robot, new or edited, what libsdformat says of it, and the file."""
    folder = tmp_path_factory.mktemp("sdf")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "sdformat12"], capture_output=True, text=True, check=True
    )
    (folder / "main.cpp").write_text(PROGRAM)
    subprocess.run(["g++", "main.cpp", "-o", "main", *flags.stdout.split()], cwd=folder, check=True)
    made = [tree(seed) for seed in SEEDS]
    paths: list[Path] = []
    for i, x in enumerate(made):
        paths.append(folder / f"new{i}.sdf")
        paths[-1].write_text(x.text("sdf", folder))
    for seed in SEEDS:
        rng = np.random.default_rng(300 + seed)
        x = Example(random_tree(rng, int(rng.integers(1, 8)), points=True), seed)
        source = folder / "in.sdf"
        version = ("1.9", "1.4", "1.9", "1.6")[seed % 4]
        source.write_text(scrambled(rng, x.robot) if version == "1.9" else old(rng, x.robot, version))
        paths.append(folder / f"edited{seed}.sdf")
        paths[-1].write_text(x.text("sdf", folder, source=source))
        made.append(x)
    done = subprocess.run([folder / "main", *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    blocks = done.stdout.split("file ")[1:]
    return list(zip(made, blocks, [p.read_text() for p in paths], strict=True))


def parsed(block: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, tuple[list[str], np.ndarray]]]:
    """Return numbers of links (17,) and frames (7,) by name, and the joints' words and numbers."""
    links, frames, joints = {}, {}, {}
    for line in block.splitlines()[1:]:
        what, name, *words = line.split()
        if what == "joint":
            joints[name] = (words[:3], np.array([float(w) for w in words[3:]]))
        else:
            (links if what == "link" else frames)[name] = np.array([float(w) for w in words])
    return links, frames, joints


@pytest.mark.parametrize("i", range(2 * len(SEEDS)))
def test_libsdformat(read, i):
    x, block, text = read[i]
    links, frames, joints = parsed(block)
    poses = {name: pose_of(v[10:]) for name, v in links.items()}
    assert set(links) == {x.robot.base, *x.robot.links}
    reads = []
    for k, (joint, link) in enumerate(zip(x.robot.joints, x.robot.links, strict=True)):
        (kind, parent, child), v = joints[joint.name]
        assert (kind, child) == (joint.kind, link)
        assert parent == (x.robot.base if joint.parent < 0 else x.robot.links[joint.parent])
        if i < len(SEEDS):
            ends = joint.limits if np.isfinite(joint.limits.upper) else Limits(-1e16, 1e16)
            wanted = [ends.lower, ends.upper, joint.limits.effort, joint.limits.velocity]
            assert v[:4].tolist() == wanted
        else:
            assert v[:2].tolist() == [-1, 2]
        assert v[4:6].tolist() == [x.viscous[k], x.coulomb[k]]
        own = text.partition(f'<joint name="{joint.name}"')[2].partition("</joint>")[0]
        assert v[6] == (3.0 if "spring" in own else 0.0)
        place = poses[parent].inverse() @ poses[link]
        axis = poses[link].rotation.T @ v[7:10]
        body = links[link]
        reads.append(
            Read(
                joint.name, kind, joint.parent, place.rotation, place.position, axis, body[0], body[1:4],
                six(*body[4:10]), (poses[link].inverse() @ pose_of(v[10:])).position, viscous=v[4],
            )
        )  # fmt: skip
    expected = x.ours("viscous")
    found = x.torque(reads, x.robot.gravity)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
    if i < len(SEEDS):
        at = x.robot.poses(np.zeros(x.robot.n))
        for body in x.robot.fixed:
            wanted = body.pose if body.link < 0 else at[body.link] @ body.pose
            assert np.abs(pose_of(frames[body.name]).matrix - wanted.matrix).max() < TOLERANCE
