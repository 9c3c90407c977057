"""Paths of meshes and textures in a URDF or MJCF that is written to another folder: they go on naming the same files.

Source: MuJoCo XML reference: compiler (meshdir, texturedir; assetdir sets both, what stands later holds), asset/mesh,
asset/hfield, asset/skin, flexcomp (file in meshdir), asset/texture (file, fileright ... in texturedir), asset/model
(file beside the MJCF). In a URDF a filename without scheme lies beside the URDF.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from ident.robot.xml import Edit, Element, attribute_edit, exchanged, first_child_edit, parse_xml

#: The settings of an MJCF's <compiler> that name a folder, and the elements whose files lie there.
_FOLDERS = {"meshdir": ("mesh", "hfield", "skin", "flexcomp"), "texturedir": ("texture",)}


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
    for element in _all(root):
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
    found = [e for e in _all(root) if e.tag in _FOLDERS[setting]]
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


def _all(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _all(child)
