"""MATLAB files and MAT files, run and loaded by GNU Octave.

What this proves: an interpreter of the MATLAB language takes every .m file that is written, without a warning; the
function for controllers and the model for spatial_v2 give the torques of the batch functions there; scripts for
toolboxes call what their documentation names, with that order of arguments and those sizes, and the numbers that arrive
give the torques; MATLAB's own `load`, as Octave has it, reads the MAT files.

What it does not prove: rigidBodyTree, Link and SerialLink, mcI and xlt are stand-ins of this file that keep what they
are given and check it by the documentation. That the toolboxes compute with it as documented, and that MATLAB, Simulink
and MATLAB Coder themselves take the files, nobody has tried.

Needs octave-cli 7 or newer (Debian: octave).
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from export_readers import Read, about_com, rtb_read, six
from oracles import random_bodies
from test_export_controllers import Example as Controlled
from test_export_controllers import arm3, example
from test_export_round_trip import Example, chain, tree, with_geometry

from ident.dynamics import inverse_dynamics
from ident.estimate.estimate import rounded
from ident.export.code.controller import COULOMB_WIDTH
from ident.export.formats import FORMATS, export_to, file_name, format_named
from ident.model import DriveInertia, NonlinearViscous, Offset, SmoothCoulomb, Spring, Viscous, coupled_drives
from ident.robot import Joint, MDHJoint, Robot, from_mdh
from ident.robot.robot import Transmission
from ident.spatial.inertia import Pose

SEEDS = range(5)
TOOLBOXES = {
    "rigidBodyTree.m": """
classdef rigidBodyTree < handle
  properties
    BaseName = 'base';
    DataFormat = 'struct';
    Gravity = [0 0 0];
    Bodies = {};
  end
  methods
    function robot = rigidBodyTree(name, value)
      if ~strcmp(name, 'DataFormat') || ~any(strcmp(value, {'struct', 'row', 'column'}))
        error('rigidBodyTree: %s', name);
      end
      robot.DataFormat = value;
    end
    function set.Gravity(robot, value)
      robot.Gravity = sized(value, [1 3]);
    end
    function addBody(robot, body, parent)
      names = [{robot.BaseName}, cellfun(@(b) b.Name, robot.Bodies, 'UniformOutput', false)];
      joints = cellfun(@(b) b.Joint, robot.Bodies, 'UniformOutput', false);
      if any(strcmp(body.Name, names)) || any(strcmp(body.Joint.Name, joints)) || ~any(strcmp(parent, names))
        error('addBody: %s below %s', body.Name, parent);
      end
      robot.Bodies{end + 1} = struct('Name', body.Name, 'Parent', find(strcmp(parent, names)) - 2, ...
        'Mass', body.Mass, 'CenterOfMass', body.CenterOfMass, 'Inertia', body.Inertia, 'Joint', body.Joint.Name, ...
        'Type', body.Joint.Type, 'Axis', body.Joint.JointAxis, 'Transform', body.Joint.JointToParentTransform, ...
        'Limits', body.Joint.PositionLimits);
    end
  end
end
""",
    "rigidBody.m": """
classdef rigidBody < handle
  properties
    Name
    Joint
    Mass = 1;
    CenterOfMass = [0 0 0];
    Inertia = [1 1 1 0 0 0];
  end
  methods
    function body = rigidBody(name)
      body.Name = name;
      body.Joint = rigidBodyJoint([name '_jnt'], 'fixed');
    end
    function set.Mass(body, value)
      body.Mass = sized(value, [1 1]);
    end
    function set.CenterOfMass(body, value)
      body.CenterOfMass = sized(value, [1 3]);
    end
    function set.Inertia(body, value)
      body.Inertia = sized(value, [1 6]);
    end
  end
end
""",
    "rigidBodyJoint.m": """
classdef rigidBodyJoint < handle
  properties
    Name
    Type
    JointAxis = [0 0 1];
    PositionLimits = [];
    JointToParentTransform = eye(4);
  end
  methods
    function joint = rigidBodyJoint(name, type)
      if ~any(strcmp(type, {'fixed', 'revolute', 'prismatic'}))
        error('rigidBodyJoint: %s', type);
      end
      joint.Name = name;
      joint.Type = type;
    end
    function set.JointAxis(joint, value)
      joint.JointAxis = sized(value, [1 3]) / norm(value);
    end
    function set.PositionLimits(joint, value)
      if diff(sized(value, [1 2])) < 0
        error('PositionLimits');
      end
      joint.PositionLimits = value;
    end
    function setFixedTransform(joint, T)
      R = sized(T, [4 4])(1:3, 1:3);
      if norm(R * R' - eye(3)) > 1e-12 || det(R) < 0 || ~isequal(T(4, :), [0 0 0 1])
        error('setFixedTransform');
      end
      joint.JointToParentTransform = T;
    end
  end
end
""",
    "sized.m": """
function value = sized(value, wanted)
  if ~isa(value, 'double') || ~isequal(size(value), wanted) || ~all(isfinite(value(:)))
    error('wanted finite numbers of size %s', mat2str(wanted));
  end
end
""",
    "Link.m": """
function link = Link(dh, convention)
  sized(dh, [1 6]);
  if ~any(strcmp(convention, {'standard', 'modified'}))
    error('Link: %s', convention);
  end
  link = struct('theta', dh(1), 'd', dh(2), 'a', dh(3), 'alpha', dh(4), 'sigma', dh(5), 'offset', dh(6), ...
    'mdh', strcmp(convention, 'modified'), 'flip', false, 'm', [], 'r', [], 'I', [], 'Jm', [], 'G', [], 'B', [], ...
    'Tc', [], 'qlim', []);
end
""",
    "SerialLink.m": """
function robot = SerialLink(links, varargin)
  if ~isequal(fieldnames(links), fieldnames(Link(zeros(1, 6), 'standard'))) || numel(unique([links.mdh])) ~= 1
    error('SerialLink: a property that Link has not, or mixed conventions');
  end
  for link = links
    cellfun(@(field, n) sized(link.(field), [1 n]), {'m', 'r', 'I', 'Jm', 'G', 'B', 'Tc'}, {1, 3, 6, 1, 1, 1, 2}, ...
      'UniformOutput', false);
    if link.Tc(1) < 0 || link.Tc(2) > 0 || ~any(link.sigma == [0 1]) || ~any(numel(link.qlim) == [0 2])
      error('SerialLink: friction, kind or limits');
    end
  end
  options = struct(varargin{:});
  robot = struct('links', {links}, 'name', options.name, 'base', sized(options.base, [4 4]), ...
    'gravity', sized(options.gravity, [1 3]));
end
""",
    # Featherstone, "Rigid Body Dynamics Algorithms" (2008): (2.63), (2.21), (2.31), tables 2.8 and 5.1; motion first
    "mcI.m": """
function I = mcI(m, c, Ic)
  C = cross3(sized(c, [1 3]));
  I = [sized(Ic, [3 3]) - m * C * C, m * C; -m * C, m * eye(3)];
end
""",
    "cross3.m": "function C = cross3(c)\n  C = [0 -c(3) c(2); c(3) 0 -c(1); -c(2) c(1) 0];\nend\n",
    "xlt.m": "function X = xlt(r)\n  X = [eye(3), zeros(3); -cross3(sized(r, [1 3])), eye(3)];\nend\n",
    "newton_euler.m": """
function tau = newton_euler(model, q, qd, qdd)
  for i = 1:model.NB
    if strcmp(model.jtype{i}, 'Rz')
      E = [cos(q(i)) sin(q(i)) 0; -sin(q(i)) cos(q(i)) 0; 0 0 1];
      S{i} = [0 0 1 0 0 0]';
      X{i} = blkdiag(E, E) * model.Xtree{i};
    else
      S{i} = [0 0 0 0 0 1]';
      X{i} = xlt([0 0 q(i)]) * model.Xtree{i};
    end
    if model.parent(i) == 0
      before = zeros(6, 1);
      pushed = -[0 0 0 model.gravity]';
    else
      before = v{model.parent(i)};
      pushed = a{model.parent(i)};
    end
    v{i} = X{i} * before + S{i} * qd(i);
    crm = [cross3(v{i}(1:3)), zeros(3); cross3(v{i}(4:6)), cross3(v{i}(1:3))];
    a{i} = X{i} * pushed + S{i} * qdd(i) + crm * S{i} * qd(i);
    f{i} = model.I{i} * a{i} - crm' * model.I{i} * v{i};
  end
  for i = model.NB:-1:1
    tau(i) = S{i}' * f{i};
    if model.parent(i) > 0
      f{model.parent(i)} = f{model.parent(i)} + X{i}' * f{i};
    end
  end
end
""",
}


def octave(folder: Path, script: str, **given: Any) -> dict[str, Any]:
    """Return the fields that a script of Octave, run in this folder, sets in `out`; `given` are its variables."""
    for name, text in TOOLBOXES.items():
        (folder / name).write_text(text.lstrip())
    scipy.io.savemat(folder / "in.mat", {**given, "out": {"none": 0.0}}, oned_as="row")
    (folder / "main.m").write_text(f"load('in.mat');\n{script}\nsave('-v6', 'out.mat', '-struct', 'out');\n")
    command = ["octave-cli", "--norc", "--no-history", "--no-window-system", "main.m"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert done.stdout == ""
    found: dict[str, Any] = scipy.io.loadmat(folder / "out.mat", simplify_cells=True)
    return found


def each(values: Any) -> list[Any]:
    """Return a list of the elements of an array of structures, also where it had one alone."""
    return [values] if isinstance(values, dict) else list(values)


# The function for MATLAB, Simulink and MATLAB Coder


def called(x: Controlled, folder: Path) -> dict[str, np.ndarray]:
    name = x.write("matlab", folder / file_name(format_named("matlab"), x.robot.name)).stem
    script = f"""
for k = 1:rows(q)
  [tau(:, 1, k), f(:, 1, k), g(:, 1, k), M(:, :, k), Y(:, :, k)] = {name}(q(k, :)', qd(k, :)', qdd(k, :)');
  [t, u, v, w, z] = {name}(single(q(k, :)'), single(qd(k, :)'), single(qdd(k, :)'));
  assert(all(cellfun(@(x) isa(x, 'single'), {{t, u, v, w, z}})));
  rough(:, 1, k) = double(t);
end
assert(isequal({name}(q(1, :), qd(1, :), qdd(1, :)), tau(:, 1, 1)));
out = struct('tau', tau, 'f', f, 'g', g, 'M', M, 'Y', Y, 'rough', rough);
"""
    octave(folder, script, **x.given)
    raw = scipy.io.loadmat(folder / "out.mat")
    # Octave's arrays end where their sizes become 1
    found = {key: raw[key].reshape(*raw[key].shape[:2], -1).transpose(2, 0, 1) for key in ("tau", "f", "g", "M", "Y")}
    rough = raw["rough"].reshape((*found["tau"].shape[1:], -1)).transpose(2, 0, 1)
    assert np.abs(rough - found["tau"]).max() < 1e-5 * max(np.abs(found["tau"]).max(), np.abs(found["g"]).max(), 1.0)
    return {
        "inverse_dynamics": found["tau"][..., 0], "friction": found["f"][..., 0], "gravity": found["g"][..., 0],
        "mass_matrix": found["M"], "regressor": found["Y"],
    }  # fmt: skip


def with_shapes(x: Controlled) -> Controlled:
    """Say in the result which law of friction was fitted."""
    x.estimate = replace(x.estimate, shapes=x.model.shapes)
    return x


@pytest.mark.parametrize("seed", SEEDS)
def test_the_function_for_controllers(seed: int, tmp_path: Path) -> None:
    x = example(seed)
    x.check(called(x, tmp_path), 1e-9)


def test_the_function_of_seven_joints_with_nonlinear_viscous_friction(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    robot = from_mdh("arm 7", [MDHJoint(*rng.uniform(-1, 1, 4)) for _ in range(7)])
    terms = (DriveInertia(), Viscous(), NonlinearViscous(0.3), SmoothCoulomb(0.02), Offset(), Spring(rest=0.4))
    x = with_shapes(Controlled(robot, terms, seed=5))
    x.check(called(x, tmp_path), 1e-9)


def test_the_function_of_a_coupled_wrist(tmp_path: Path) -> None:
    motors = Transmission(("m1", "m2", "m3"), [[50, 0, 0], [0, 60, 0], [0, 30, 40]])
    robot = replace(arm3().robot, transmission=motors)
    one, two = robot.joint_names[:2]
    drives = coupled_drives(robot, SmoothCoulomb(COULOMB_WIDTH))
    terms = (DriveInertia(joints=(one, two)), *drives, SmoothCoulomb(COULOMB_WIDTH, joints=(one,)), Offset())
    x = Controlled(robot, terms)
    x.check(called(x, tmp_path), 1e-9)


def test_the_function_of_one_joint_without_friction(tmp_path: Path) -> None:
    joint = Joint("int", "prismatic", -1, Pose.identity(), np.array([0.0, 0, 1]))
    x = Controlled(Robot("class", (joint,), ("end",), gravity=np.zeros(3)), terms=())
    x.check(called(x, tmp_path), 1e-12)


# Scripts


def made(x: Example, form: str, folder: Path) -> None:
    """Write an export where Octave's script finds it as `made`."""
    export_to(form, x.estimate, folder / "made.m", robot=x.robot)


def read_tree(bodies: list[dict[str, Any]]) -> list[Read]:
    reads = []
    for b in bodies:
        xx, yy, zz, yz, xz, xy = b["Inertia"]
        T, inertia = b["Transform"], about_com(b["Mass"], b["CenterOfMass"], six(xx, xy, xz, yy, yz, zz))
        parent = int(b["Parent"])
        reads.append(
            Read(
                b["Joint"], b["Type"], parent, T[:3, :3], T[:3, 3], b["Axis"], b["Mass"], b["CenterOfMass"], inertia
            )
        )  # fmt: skip
    return reads


TREE = "out = struct('bodies', [robot.Bodies{:}], 'gravity', robot.Gravity, 'base', robot.BaseName);"


@pytest.mark.parametrize("seed", SEEDS)
def test_rigid_body_tree(seed: int, tmp_path: Path) -> None:
    x = tree(seed)
    made(x, "rigid-body-tree", tmp_path)
    found = octave(tmp_path, f"made; {TREE}")
    bodies = each(found["bodies"])
    assert [b["Name"] for b in bodies] == list(x.robot.links)
    assert found["base"] == x.robot.base
    x.close(x.torque(read_tree(bodies), found["gravity"]))
    for b, joint in zip(bodies, x.robot.joints, strict=True):
        ends = [joint.limits.lower, joint.limits.upper]
        assert list(b["Limits"]) == (ends if np.isfinite(ends).all() else [])


@pytest.mark.parametrize("seed", SEEDS)
def test_mat_file_of_a_rigid_body_tree(seed: int, tmp_path: Path) -> None:
    """The tree that its user makes of it in a loop."""
    x = tree(seed)
    export_to("rigid-body-tree-mat", x.estimate, tmp_path / "made.mat", robot=x.robot)
    script = f"""
s = load('made.mat');
assert(ischar(s.about) && iscellstr(s.body) && iscellstr(s.joint) && iscellstr(s.jointType) && iscellstr(s.parent));
robot = rigidBodyTree('DataFormat', 'row');
robot.BaseName = base;
robot.Gravity = s.Gravity;
for k = 1:numel(s.body)
  body = rigidBody(s.body{{k}});
  body.Joint = rigidBodyJoint(s.joint{{k}}, s.jointType{{k}});
  setFixedTransform(body.Joint, s.fixedTransform(:, :, k));
  body.Joint.JointAxis = s.jointAxis(k, :);
  body.Mass = s.Mass(k);
  body.CenterOfMass = s.CenterOfMass(k, :);
  body.Inertia = s.Inertia(k, :);
  addBody(robot, body, s.parent{{k}});
end
{TREE}
"""
    found = octave(tmp_path, script, base=x.robot.base)
    x.close(x.torque(read_tree(each(found["bodies"])), found["gravity"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_robotics_toolbox(seed: int, tmp_path: Path) -> None:
    x = chain(seed)
    made(x, "rtb-matlab", tmp_path)
    robot = octave(tmp_path, "made; out.robot = robot;")["robot"]
    links = each(robot["links"])
    reads = rtb_read(links, robot["base"], x.robot.joint_names)
    x.close(x.torque(reads, -robot["gravity"]), drive=True, viscous=True)
    assert [r.coulomb for r in reads] == x.coulomb.tolist()
    assert [link["Tc"][1] for link in links] == (-x.coulomb).tolist()
    assert all(link["qlim"].tolist() == [-3.0, 3.0] for link in links)
    assert robot["name"] == "arm"


@pytest.mark.parametrize("seed", SEEDS)
def test_spatial_v2_moves_as_ours(seed: int, tmp_path: Path) -> None:
    """Newton-Euler by Featherstone's conventions, written here in MATLAB's language, with the model as it is made."""
    x = tree(seed)
    made(x, "spatial-v2", tmp_path)
    script = """
made;
for k = 1:rows(q)
  out.tau(k, :) = newton_euler(model, q(k, :), qd(k, :), qdd(k, :));
end
for i = 1:model.NB  % the vector of spatial_v2_extended is the same body
  a = sized(model.a{i}, [10 1]);
  H = cross3(a(2:4));
  I = [a(5) a(10) a(9); a(10) a(6) a(8); a(9) a(8) a(7)];
  out.vector(i) = norm([I, H; -H, a(1) * eye(3)] - model.I{i}) / norm(model.I{i});
  out.frame(i) = norm(model.frame{i}' * model.frame{i} - eye(3));
end
out.names = model.name;
"""
    found = octave(tmp_path, script, q=x.q, qd=x.qd, qdd=x.qdd)
    ours = inverse_dynamics(x.robot, x.bodies, x.q, x.qd, x.qdd)
    assert np.abs(found["tau"] - ours).max() < 1e-9 * np.abs(ours).max()
    x.close(found["tau"])
    assert found["names"].tolist() == list(x.robot.joint_names)
    assert np.max(found["vector"]) < 1e-12
    assert np.max(found["frame"]) < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_simscape(seed: int, tmp_path: Path) -> None:
    x = tree(seed)
    made(x, "simscape", tmp_path)
    found = octave(tmp_path, "made; out.link = link; out.joint = joint;")
    links, joints = each(found["link"]), each(found["joint"])
    assert [b["name"] for b in links] == list(x.robot.links)
    bodies = []
    for b in links:
        (xx, yy, zz), (yz, zx, xy) = b["MomentsOfInertia"], b["ProductsOfInertia"]
        bodies.append((b["Mass"], b["CenterOfMass"], six(xx, xy, zx, yy, yz, zz)))
    x.close(x.torque(with_geometry(x, bodies), x.robot.gravity))
    for joint, *numbers in zip(joints, x.robot.joint_names, x.viscous, x.drive, x.coulomb, strict=True):
        assert [joint[k] for k in ("name", "DampingCoefficient", "driveInertia", "coulomb")] == numbers


def test_mat_file(tmp_path: Path) -> None:
    x = tree(3)
    export_to("mat", x.estimate, tmp_path / "made.mat", robot=x.robot)
    texts = ("about", "covariance_kind")
    lists = ("names", "link_names", "joint_names", "columns", "base_names")
    tests = " && ".join([*(f"ischar(s.{k})" for k in texts), *(f"iscellstr(s.{k})" for k in lists)])
    script = f"""
s = load('made.mat');
assert({tests} && isequal(size(s.theta), [numel(s.names) 1]) && isequal(size(s.phi), [numel(s.base_names) 1]));
assert(norm(s.K * s.theta - s.phi) <= 1e-9 * norm(s.phi));
assert(isequal(reshape(s.links', [], 1), s.theta(1:numel(s.links))));
out = s;
"""
    found = octave(tmp_path, script)
    e = x.estimate
    numbers = {"theta": x.theta, "links": x.bodies, "phi": rounded(e.base.K @ x.theta), "K": e.base.K}
    for name, wanted in {**numbers, "covariance": e.covariance.matrix}.items():
        assert np.array_equal(found[name], wanted), name
    wanted_names = (e.base.standard, e.links, e.joints, None, e.base.names)
    for name, wanted_list in zip(lists, wanted_names, strict=True):
        if wanted_list is not None:
            assert found[name].tolist() == list(wanted_list)


EVIL = ("it's'); error('x", "50% %{", "... [1 2", "Gelenk ä µ", "end", '"a\\n"')


def evil() -> Example:
    """Return a robot whose names would be code, if they were not quoted."""
    plain = chain(4).robot
    joints = tuple(replace(joint, name=name) for joint, name in zip(plain.joints, EVIL, strict=False))
    links = tuple(f"{name} link" for name in EVIL[: plain.n])
    return Example(
        replace(
            plain, name=EVIL[0], joints=joints, links=links, inertials=random_bodies(np.random.default_rng(0), plain.n)
        ),
        4,
    )


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("rigid-body-tree", "cellfun(@(b) b.Joint, robot.Bodies, 'UniformOutput', false)"),
        ("rtb-matlab", "{robot.name}"),
        ("spatial-v2", "model.name"),
        ("simscape", "{joint.name}"),
    ],
)
def test_names_are_no_code(form: str, names: str, tmp_path: Path) -> None:
    x = evil()
    made(x, form, tmp_path)
    # letters as numbers: Octave counts the bytes of UTF-8
    found = octave(tmp_path, f"made; names = {names}; for k = 1:numel(names) out.x{{k}} = double(names{{k}}); end")["x"]
    letters = [found] if form == "rtb-matlab" else list(found)
    wanted = EVIL[:1] if form == "rtb-matlab" else EVIL[: x.robot.n]
    assert [bytes(np.atleast_1d(text).astype(np.uint8)).decode() for text in letters] == list(wanted)


@pytest.mark.parametrize("form", ["mat", "rigid-body-tree-mat"])
def test_names_in_mat_files(form: str, tmp_path: Path) -> None:
    """In ASCII: of UTF-8 in a MAT file, Octave 7 keeps as many bytes as there are letters."""
    x = evil()
    export_to(form, x.estimate, tmp_path / "made.mat", robot=x.robot)
    field = "joint_names" if form == "mat" else "joint"
    found = octave(tmp_path, f"s = load('made.mat'); out.x = s.{field};")["x"]
    assert len(found) == x.robot.n
    for name, wanted in zip(found, EVIL, strict=False):
        assert name == wanted or not wanted.isascii()


def test_names_in_the_function(tmp_path: Path) -> None:
    robot = evil().robot
    x = Controlled(replace(robot, name=EVIL[0]), seed=2)
    x.check(called(x, tmp_path), 1e-9)


def test_every_format_for_matlab_is_tested_here() -> None:
    tested = {"matlab", "rigid-body-tree", "rigid-body-tree-mat", "rtb-matlab", "spatial-v2", "simscape", "mat"}
    assert tested == {f.name for f in FORMATS if f.suffix in {".m", ".mat"}}
