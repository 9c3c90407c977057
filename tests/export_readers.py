"""Readers of exported files, sharing no code with the writers: each gives links for which Pinocchio finds torques."""

from __future__ import annotations

import re
import sys
import types
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pinocchio as pin
from identified import case

from ident.estimate.estimate import Estimate
from ident.export.gate import NUMBERS, VERDICT, fingerprint
from ident.regression import base_parameters


@dataclass
class Read:
    """One joint and its link: frame of the link in the parent's at zero, axis and a point of it in the link's frame."""

    joint: str
    kind: str
    parent: int
    rotation: np.ndarray
    position: np.ndarray
    axis: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray  # about the centre of mass
    point: np.ndarray = field(default_factory=lambda: np.zeros(3))
    armature: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0


def torque_of(reads: list[Read], gravity, joints, q, qd, qdd) -> np.ndarray:
    """Return Pinocchio's torque of what was read, columns in the order of `joints`, armature and viscous included."""
    model = pin.Model()
    model.gravity.linear = np.asarray(gravity, dtype=float)
    ids = []
    for r in reads:
        moving = pin.JointModelRevoluteUnaligned if r.kind == "revolute" else pin.JointModelPrismaticUnaligned
        start = r.position + r.rotation @ r.point
        if r.parent >= 0:
            start = start - reads[r.parent].point
        axis = np.asarray(r.axis) / np.linalg.norm(r.axis)
        k = model.addJoint(ids[r.parent] if r.parent >= 0 else 0, moving(*axis), pin.SE3(r.rotation, start), r.joint)
        model.appendBodyToJoint(k, pin.Inertia(r.mass, np.asarray(r.com), r.inertia), pin.SE3(np.eye(3), -r.point))
        ids.append(k)
    order = [model.idx_vs[model.getJointId(name)] for name in joints]
    back = np.argsort(order)
    data = model.createData()
    out = np.array([pin.rnea(model, data, *(x[back] for x in s))[order] for s in zip(q, qd, qdd, strict=True)])
    by = {r.joint: r for r in reads}
    return out + qdd * [by[j].armature for j in joints] + qd * [by[j].viscous for j in joints]


def six(xx, xy, xz, yy, yz, zz) -> np.ndarray:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)


def about_com(mass, com, about_origin) -> np.ndarray:
    c = np.asarray(com)
    return about_origin - mass * (c @ c * np.eye(3) - np.outer(c, c))


def estimate_of(robot, model, theta, *, validated: bool = True) -> Estimate:
    """Return an estimate of this robot that claims theta; only what an export reads is of meaning."""
    base = base_parameters(model)
    ones = np.ones(robot.n)
    made = replace(
        case().constrained,
        **{"robot": robot.name, "links": robot.links, "joints": robot.joint_names, "base": base},
        **{
            "phi": base.K @ theta,
            "theta": theta,
            "sigma": ones,
            "rows": ones,
            "rms": ones,
            "relative": ones,
            "floor": None,
        },
        covariance=replace(case().wls.covariance, matrix=np.eye(len(base.names))),
        provenance={},
    )
    if validated:
        made = replace(made, provenance={VERDICT: "passed: in a test", NUMBERS: fingerprint(made)})
    return made


# ---- MATLAB -----------------------------------------------------------------------------------------------------


def matlab_value(text: str) -> Any:
    """Return a number, string or matrix of MATLAB's notation."""
    text = text.strip().rstrip(";").strip()
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text.startswith("["):
        transpose = text.endswith("'")
        rows = [[float(x) for x in row.split()] for row in text.rstrip("'")[1:-1].split(";")]
        array = np.array(rows[0] if len(rows) == 1 else rows)
        return array.T if transpose else array
    return {"true": True, "false": False}.get(text) if text in ("true", "false") else float(text)


def code(text: str, mark: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith(mark)]


def rigid_body_tree(text: str) -> tuple[list[Read], np.ndarray]:
    reads, names, gravity, base = [], [], None, None
    now: dict[str, Any] = {}
    for line in code(text, "%"):
        if line.startswith("robot.Gravity"):
            gravity = matlab_value(line.partition("=")[2])
        elif line.startswith("robot.BaseName"):
            base = matlab_value(line.partition("=")[2])
        elif found := re.match(r"body = rigidBody\((.*)\);", line):
            now = {"link": matlab_value(found[1])}
        elif found := re.match(r"body\.Joint = rigidBodyJoint\(('.*'), ('.*')\);", line):
            now |= {"joint": matlab_value(found[1]), "kind": matlab_value(found[2])}
        elif found := re.match(r"setFixedTransform\(body\.Joint, (.*)\);", line):
            now["T"] = matlab_value(found[1])
        elif found := re.match(r"body\.(?:Joint\.)?(\w+) = (.*);", line):
            now[found[1]] = matlab_value(found[2])
        elif found := re.match(r"addBody\(robot, body, (.*)\);", line):
            parent = matlab_value(found[1])
            xx, yy, zz, yz, xz, xy = now["Inertia"]
            reads.append(
                Read(
                    now["joint"], now["kind"], -1 if parent == base else names.index(parent), now["T"][:3, :3],
                    now["T"][:3, 3], now["JointAxis"], now["Mass"], now["CenterOfMass"],
                    about_com(now["Mass"], now["CenterOfMass"], six(xx, xy, xz, yy, yz, zz)),
                )
            )  # fmt: skip
            names.append(now["link"])
    return reads, gravity


def spatial_v2(text: str) -> tuple[list[Read], np.ndarray]:
    values = dict(re.findall(r"^model\.(\S+) = (.*);$", text, re.M))
    n = int(values["NB"])
    parents = [int(x) - 1 for x in np.atleast_1d(matlab_value(values["parent"]))]
    reads = []
    for i in range(1, n + 1):
        tree = re.fullmatch(r"blkdiag\((\[.*?\]), \1\) \* xlt\((\[.*?\])\)", values[f"Xtree{{{i}}}"])
        body = re.fullmatch(r"mcI\((.*?), (\[.*?\]), (\[.*?\])\)", values[f"I{{{i}}}"])
        assert tree
        assert body
        mass, com, inertia = (matlab_value(x) for x in body.groups())
        vector = matlab_value(values[f"a{{{i}}}"]).ravel()
        m, h, (xx, yy, zz, yz, xz, xy) = vector[0], vector[1:4], vector[4:]
        assert np.allclose(about_com(m, h / m, six(xx, xy, xz, yy, yz, zz)), inertia, rtol=1e-9, atol=1e-12)
        kind = {"'Rz'": "revolute", "'Pz'": "prismatic"}[values[f"jtype{{{i}}}"]]
        rotation = matlab_value(tree[1]).T
        reads.append(
            Read(
                matlab_value(values[f"name{{{i}}}"]), kind, parents[i - 1], rotation, matlab_value(tree[2]),
                np.array([0.0, 0, 1]), mass, com, inertia,
            )
        )  # fmt: skip
    return reads, matlab_value(values["gravity"])


def dh_frames(kind: str, mdh: bool, values: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A (4, 4) at zero, and axis and point of the joint in the link's frame, from Corke's parameters."""

    def screw(axis, angle, along):
        t = np.eye(4)
        t[:3, :3] = pin.exp3(angle * np.asarray(axis, dtype=float))
        t[:3, 3] = along * np.asarray(axis)
        return t

    theta = values["theta"] + (values["offset"] if kind == "revolute" else 0)
    d = values["d"] + (values["offset"] if kind == "prismatic" else 0)
    x, z = (1, 0, 0), (0, 0, 1)
    if mdh:
        return screw(x, values["alpha"], values["a"]) @ screw(z, theta, d), np.array(z), np.zeros(3)
    beyond = screw(z, 0, d) @ screw(x, values["alpha"], values["a"])
    return screw(z, theta, 0) @ beyond, beyond[:3, :3].T @ z, np.linalg.inv(beyond)[:3, 3]


def rtb_read(links: list[dict[str, Any]], base: np.ndarray, names) -> list[Read]:
    reads = []
    for i, v in enumerate(links):
        kind = "prismatic" if v["sigma"] else "revolute"
        at_zero, axis, point = dh_frames(kind, v["mdh"], v)
        if i == 0:
            at_zero = base @ at_zero
        xx, yy, zz, xy, yz, xz = v["I"]
        gear = v["G"]
        reads.append(
            Read(
                names[i], kind, i - 1, at_zero[:3, :3], at_zero[:3, 3], axis, v["m"], np.array(v["r"]),
                six(xx, xy, xz, yy, yz, zz), point, v["Jm"] * gear**2, v["B"] * gear**2, v["Tc"][0] * abs(gear),
            )
        )  # fmt: skip
    return reads


def rtb_matlab(text: str, names) -> tuple[list[Read], np.ndarray]:
    links: dict[int, dict[str, Any]] = {}
    for line in code(text, "%"):
        if found := re.match(r"links\((\d+)\) = Link\((\[.*\]), '(\w+)'\);", line):
            theta, d, a, alpha, sigma, offset = matlab_value(found[2])
            links[int(found[1])] = {
                "theta": theta, "d": d, "a": a, "alpha": alpha, "sigma": sigma, "offset": offset,
                "mdh": found[3] == "modified",
            }  # fmt: skip
        elif found := re.match(r"links\((\d+)\)\.(\w+) = (.*);", line):
            links[int(found[1])][found[2]] = matlab_value(found[3])
    found = re.search(r"'base', (\[.*?\]), (?:'tool', \[.*?\], )?'gravity', (\[.*?\])\);", text)
    assert found
    return rtb_read([links[i + 1] for i in range(len(links))], matlab_value(found[1]), names), -matlab_value(found[2])


def rtb_python(text: str, names) -> tuple[list[Read], np.ndarray]:
    """Run the script against a toolbox that only remembers."""
    toolbox, math = types.ModuleType("roboticstoolbox"), types.ModuleType("spatialmath")
    toolbox.DHLink = lambda **values: values  # type: ignore[attr-defined]
    toolbox.DHRobot = lambda links, **values: (links, values)  # type: ignore[attr-defined]
    math.SE3 = lambda matrix, check: matrix  # type: ignore[attr-defined]
    space: dict[str, Any] = {}
    before = {k: sys.modules.get(k) for k in ("roboticstoolbox", "spatialmath")}
    sys.modules |= {"roboticstoolbox": toolbox, "spatialmath": math}
    try:
        exec(compile(text, "rtb.py", "exec"), space)
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    links, values = space["robot"]
    return rtb_read(links, values["base"], names), np.array(values["gravity"])


# ---- C++, XML ---------------------------------------------------------------------------------------------------


def kdl(text: str) -> tuple[list[Read], np.ndarray]:
    number = r"[-+0-9.eE]+"

    def vector(name: str, count: int) -> str:
        return rf"KDL::{name}\(({', '.join([number] * count)})\)"

    pattern = (
        r'Segment\("(?P<link>[^"]*)",\s*KDL::Joint\("(?P<joint>[^"]*)", ' + vector("Vector", 3) + r",\s*"
        + vector("Vector", 3) + rf",\s*KDL::Joint::(?P<kind>\w+), 1, 0, (?P<ia>{number}), (?P<fv>{number})\),\s*"
        + r"KDL::Frame\(" + vector("Rotation", 9) + r",\s*" + vector("Vector", 3) + r"\),\s*KDL::RigidBodyInertia\("
        + rf"(?P<m>{number}), " + vector("Vector", 3) + r",\s*" + vector("RotationalInertia", 6)
        + r'\)\),\s*"(?P<parent>[^"]*)"\);'
    )  # fmt: skip
    reads, names = [], []
    for found in re.finditer(pattern, text):
        lists = [np.array([float(x) for x in g.split(",")]) for g in found.groups() if g and "," in g]
        origin, axis, rotation, position, com, inertia = lists
        xx, yy, zz, xy, xz, yz = inertia
        rotation = rotation.reshape(3, 3)
        kind = {"RotAxis": "revolute", "TransAxis": "prismatic"}[found["kind"]]
        parent = names.index(found["parent"]) if found["parent"] in names else -1
        point = rotation.T @ (origin - position)
        reads.append(
            Read(
                found["joint"], kind, parent, rotation, position, rotation.T @ axis, float(found["m"]), com,
                six(xx, xy, xz, yy, yz, zz), point, float(found["ia"]), float(found["fv"]),
            )
        )  # fmt: skip
        names.append(found["link"])
    gravity = re.search(r"// gravity in the base frame: (.*) m/s", text)
    assert gravity
    return reads, np.array([float(x) for x in gravity[1].split()])


def sdf_read(text: str, gravity) -> tuple[list[Read], np.ndarray]:
    """Return joints of an SDF whose poses may be relative to anything; not in tree order in the file."""
    model = ET.fromstring(text.encode()).find("model")
    assert model is not None

    def placed(name: str) -> pin.SE3:
        if name in ("", "__model__"):
            return pin.SE3.Identity()
        element = next(e for e in model if e.tag in ("link", "joint", "frame") and e.get("name") == name)
        pose = element.find("pose")
        own, to = pin.SE3.Identity(), ""
        if pose is not None:
            x = [float(w) for w in (pose.text or "0 0 0 0 0 0").split()]
            own, to = pin.SE3(pin.rpy.rpyToMatrix(*x[3:]), np.array(x[:3])), pose.get("relative_to", "")
        if not to and element.tag == "joint":
            to = str(element.findtext("child")).strip()
        return placed(to) * own

    joints = [j for j in model.findall("joint") if j.get("type") != "fixed"]
    child = {str(j.findtext("child")).strip(): j for j in joints}
    order: list[ET.Element] = []

    def visit(joint: ET.Element) -> None:
        if joint in order:
            return
        parent = str(joint.findtext("parent")).strip()
        if parent in child:
            visit(child[parent])
        order.append(joint)

    for joint in joints:
        visit(joint)
    reads: list[Read] = []
    links = [str(j.findtext("child")).strip() for j in order]
    for joint, link in zip(order, links, strict=True):
        parent = str(joint.findtext("parent")).strip()
        before = placed(parent) if parent in links else pin.SE3.Identity()
        frame = placed(link)
        relative = before.inverse() * frame
        at = placed(str(joint.get("name")))
        axis = frame.rotation.T @ at.rotation @ [float(w) for w in str(joint.findtext("axis/xyz")).split()]
        element = next(e for e in model.findall("link") if e.get("name") == link)
        pose = [float(w) for w in str(element.findtext("inertial/pose")).split()]
        turn = pin.rpy.rpyToMatrix(*pose[3:])
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        inertia = turn @ six(*(float(str(element.findtext(f"inertial/inertia/{k}"))) for k in names)) @ turn.T
        reads.append(
            Read(
                str(joint.get("name")), str(joint.get("type")), links.index(parent) if parent in links else -1,
                relative.rotation, relative.translation, axis, float(str(element.findtext("inertial/mass"))),
                np.array(pose[:3]), inertia, frame.inverse().act(at.translation),
                viscous=float(joint.findtext("axis/dynamics/damping") or 0),
                coulomb=float(joint.findtext("axis/dynamics/friction") or 0),
            )
        )  # fmt: skip
    return reads, np.asarray(gravity)


def mujoco_torque(text: str, joints, q, qd, qdd) -> tuple[np.ndarray, Any]:
    """Return MuJoCo's inverse dynamics without dry friction, columns in the order of `joints`, and its model."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    order = [int(model.jnt_dofadr[model.joint(name).id]) for name in joints]
    out = np.empty_like(q)
    for s in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = 0, 0, 0
        data.qpos[order], data.qvel[order], data.qacc[order] = q[s], qd[s], qdd[s]
        mujoco.mj_inverse(model, data)
        out[s] = data.qfrc_inverse[order]
    return out, model
