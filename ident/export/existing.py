"""An existing model file that is edited in place: the same joints in the same places, what is fixed to which link, and
paths of meshes and textures, which go on naming the same files when it is written to another folder.

Source of the paths: MuJoCo XML reference: compiler (meshdir, texturedir; assetdir sets both, what stands later holds),
asset/mesh, asset/hfield, asset/skin, flexcomp (file in meshdir), asset/texture (file, fileright ... in texturedir),
asset/model (file beside the MJCF). In a URDF a filename without scheme lies beside the URDF.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError, RobotError, nearest
from ident.export.identified import moved
from ident.robot.mjcf import FoundBody, FoundJoint
from ident.robot.robot import Robot
from ident.robot.urdf_write import com_numbers
from ident.robot.xml import Edit, Element, attribute_edit, exchanged, first_child_edit, parse_xml
from ident.spatial.inertia import Pose, transformed

#: Lengths [m] and directions of a file are often rounded to five or six digits; frames that differ by less are equal.
CLOSE = 2e-5
#: The settings of an MJCF's <compiler> that name a folder, and the elements whose files lie there.
_FOLDERS = {"meshdir": ("mesh", "hfield", "skin", "flexcomp"), "texturedir": ("texture",)}


def own_bodies(
    robot: Robot, inertials: Array, found: Mapping[str, FoundBody], joints: Mapping[str, FoundJoint], file: str
) -> Array:
    """Return the robot's links (n, 10) in the frames of the file's bodies, without what the file fixes to them.

    The rule of the split: a body that the file fixes to a link (or moves by a joint that the robot does not have,
    which is then held, at zero if the robot does not say where) keeps what the file says of it, and the link takes the
    rest. Names decide which is which; the order in the file does not matter. The file's frames may differ from the
    robot's, its joints may not.
    Raises RobotError, naming the first link or joint that is missing or elsewhere, InfeasibleError where the rest
    cannot exist.
    """
    for what, names, known in (("link", robot.links, set(found)), ("joint", robot.joint_names, set(joints))):
        for name in names:
            if name not in known:
                problem = f"the file has no {what} '{name}', which was identified{nearest(name, known)}"
                fix = "Give the model of the identified robot, with the same names, or write a new file"
                raise RobotError(problem, file=file, fix=fix)
    base = found[robot.base].pose if robot.base in found else Pose.identity()
    at_zero = robot.poses(np.zeros(robot.n))
    out, same = np.empty_like(inertials), np.empty(robot.n, dtype=bool)
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        there = base @ at_zero[i]
        _same_joint(robot, i, there, joints[joint.name], found, file)
        frame = found[link].pose.inverse() @ there
        same[i] = np.abs(frame.matrix - np.eye(4)).max() < CLOSE  # the same frame, up to the file's rounding
        out[i] = inertials[i] if same[i] else moved(inertials[i], frame)
    for key, body in found.items():
        if key in robot.links or (body.inertial is None and body.unclear is None):
            continue
        carrier = _carrier(key, found, robot)
        if carrier is None:
            continue
        i = robot.links.index(carrier)
        if body.inertial is None:
            problem = f"'{key}' is fixed to link '{carrier}', and {body.unclear}, so its share cannot be told apart"
            fix = f"Give '{key}' an <inertial> of its own, with mass 0 if it has none"
            raise RobotError(problem, file=file, fix=fix)
        pose = found[carrier].pose.inverse() @ body.pose
        if same[i] and robot.frames.get(key, (-1, pose))[0] == i:
            pose = robot.frames[key][1]  # held where the robot has it
        share = transformed(body.inertial, pose)
        out[i] = out[i] - share
        try:
            com_numbers(out[i], size=float(np.abs(inertials[i, 4:]).max()))
        except InfeasibleError as cause:
            raise InfeasibleError(
                f"link '{carrier}' cannot be written into {file}: its {inertials[i, 0]:.6g} kg include '{key}', which "
                f"the file fixes to it with {body.inertial[0]:.6g} kg, and the rest cannot exist ({cause}). "
                f"Correct the <inertial> of '{key}', or set it to zero so that the link takes all."
            ) from cause
    return out


def _same_joint(
    robot: Robot, i: int, there: Pose, joint: FoundJoint, found: Mapping[str, FoundBody], file: str
) -> None:
    own = robot.joints[i]
    axis = there.rotation @ own.axis
    point = there.rotation @ own.point + there.position
    parent = robot.base if own.parent < 0 else robot.links[own.parent]
    carrier = _carrier(robot.links[i], found, robot)
    problem = None
    if joint.body != robot.links[i]:
        problem = f"it moves '{joint.body}', wanted '{robot.links[i]}'"
    elif joint.kind != own.kind:
        problem = f"it is {joint.kind}, wanted {own.kind}"
    elif (carrier or robot.base) != parent:
        problem = f"it hangs on '{carrier or robot.base}', wanted '{parent}'"
    elif np.abs(joint.axis - axis).max() > CLOSE:
        problem = f"at zero position its axis is {_short(joint.axis)}, wanted {_short(axis)}, seen from the base"
    elif not own.slides and np.linalg.norm(np.cross(axis, joint.point - point)) > CLOSE:
        problem = "its axis passes elsewhere"
    if problem is not None:
        fix = "Give the model of the identified robot, its base body named as the robot's base, or write a new file"
        raise RobotError(f"joint '{own.name}' is another one than the robot's: {problem}", file=file, fix=fix)


def _carrier(key: str, found: Mapping[str, FoundBody], robot: Robot) -> str | None:
    """Return the identified link that carries a body, None for the base and what stands on it."""
    above = found[key].parent
    while above is not None and above not in robot.links:
        above = found[above].parent
    return above


def _short(vector: Array) -> str:
    return "(" + ", ".join(f"{x + 0.0:.4g}" for x in vector) + ")"


def commented(data: bytes, root: Element, comment: str) -> Edit:
    """Return the edit that puts a comment before the root element, in place of the one of an earlier export."""
    mark = comment[:28].encode()  # "<!-- Identified parameters of"
    start = data.rfind(mark, 0, root.start)
    if start >= 0 and data[start : root.start].count(b"-->") == 1:
        return start, data.index(b"-->", start) + 3, comment.encode()
    return root.start, root.start, comment.encode() + b"\n"


# ---- paths ----------------------------------------------------------------------------------------------------------


def with_paths(data: bytes, file: str, old: Path, new: Path) -> bytes:
    """Return the bytes of a URDF or MJCF `file` of the folder `old` with paths that hold in the folder `new`.

    Only relative paths of what exists are changed; other files, SDF too, are returned as they are. Raises RobotError
    for what is no XML.
    """
    old, new = Path(os.path.realpath(old)), Path(os.path.realpath(new))  # .. of a link leads to its target's parent
    if old == new:
        return data
    root = parse_xml(data, file=file)
    found = ((e, name) for e, name in _named(root) if _exists(e, name, old))
    edits = [attribute_edit(e, name, _seen(old / _path(e, name), new)) for e, name in found]
    if root.tag == "mujoco" and (unset := [name for name in _FOLDERS if _lacks(root, name, old)]):
        edits.append(_folders_edit(root, dict.fromkeys(unset, _seen(old, new))))
    return exchanged(data, edits)


def _named(root: Element) -> Iterator[tuple[Element, str]]:
    """Yield the elements, each with its attribute, that name what lies beside the file."""
    if root.tag not in ("mujoco", "robot"):
        return
    for element in root.everything():
        if element.tag == "compiler":
            yield from ((element, name) for name in (*_FOLDERS, "assetdir"))
        elif root.tag == "mujoco" and element.tag == "model":
            yield element, "file"
        elif root.tag == "robot" and element.tag in ("mesh", "texture"):
            yield element, "filename"


def _exists(element: Element, name: str, old: Path) -> bool:
    """Return whether an attribute is a relative path to what is there."""
    there = os.path.isdir if name in (*_FOLDERS, "assetdir") else os.path.isfile
    return name in element.attributes and not _path(element, name).is_absolute() and there(old / _path(element, name))


def _path(element: Element, name: str) -> Path:
    return Path(element.values[name].replace("\\", "/"))


def _lacks(root: Element, setting: str, old: Path) -> bool:
    """Return whether an MJCF names files beside itself, as it has no folder for this kind."""
    if any(name in c.attributes for c in root.all("compiler") for name in (setting, "assetdir")):
        return False
    found = [e for e in root.everything() if e.tag in _FOLDERS[setting]]
    return any(_exists(e, name, old) for e in found for name in e.attributes if name.startswith("file"))


def _folders_edit(root: Element, folders: dict[str, str]) -> Edit:
    """Return the edit that gives an MJCF's last <compiler>, or a new one, these settings."""
    text = "".join(f' {name}="{folder}"' for name, folder in folders.items())
    for compiler in reversed(root.all("compiler")):
        at = compiler.start + 1 + len(compiler.tag)
        return at, at, text.encode()
    return first_child_edit(root, f"<compiler{text}/>")  # on its line, so that errors name the lines of the given file


def _seen(path: Path, folder: Path) -> str:
    """Return a path as it is named in a file of a folder; absolute only where none leads there, as on another drive."""
    try:
        text = Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        text = path.as_posix()
    return escape(text, {'"': "&quot;", "'": "&apos;"})
