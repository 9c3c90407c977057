"""What a robot is described by, and how that says its gravity, zeros and couplings: words to be pasted into it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ident.errors import RobotError
from ident.files import data_path
from ident.robot.xml import parse_xml, read_bytes
from ident.tables import below, read_toml

#: Which file is to be changed: the robot's, the one that says what the log is, the experiment's, a CAD table.
File = Literal["robot", "log", "model", "table"]


@dataclass(frozen=True)
class Described:
    """What describes a robot: a Denavit-Hartenberg table ("dh"), a URDF or an MJCF, and that file's name.

    toml: whether a .toml has the table or names that file, and so takes further keys.
    """

    form: Literal["dh", "urdf", "mjcf"] = "dh"
    name: str = "robot.toml"
    toml: bool = True

    @property
    def offset(self) -> str:
        """How a zero is put right in the file of `offset_in`."""
        return "its offset" if self.form == "dh" else "its position, its `offset`, rad or m"

    @property
    def offset_in(self) -> File:
        """Which file a zero is put right in: a Denavit-Hartenberg table, else what the log is said to be."""
        return "robot" if self.form == "dh" else "log"

    @property
    def turned_in(self) -> File:
        """Which file a tilt is put right in: a URDF has no gravity, and the experiment finds it."""
        return "model" if self.form == "urdf" and not self.toml else "robot"

    def gravity(self, gravity: Iterable[float]) -> str:
        """Return gravity (3,) [m/s^2] in the base as it is written."""
        words = [f"{x + 0.0:.4g}" for x in gravity]
        if self.form == "mjcf" and not self.toml:
            return f'<option gravity="{" ".join(words)}"/>'
        return self.keys(f"`gravity = [{', '.join(words)}]`")

    def turned(self, about: str) -> str:
        """Return where gravity is turned by `{}` degrees about an axis."""
        found = below("calibrate", "gravity = true")
        if self.turned_in == "model":
            return f"{found}; a URDF has no gravity to turn"
        return f"turn gravity by {{}} degrees about {about}; or {found} in experiment.toml"

    def keys(self, said: str) -> str:
        """Return keys of a robot.toml with the file that they stand in, where there is none yet."""
        if self.toml:
            return f"{said} at its top" if said.startswith("`") else said
        what = "an MJCF" if self.form == "mjcf" else "a URDF"
        beside = "write a robot.toml beside it, and name that as robot in experiment.toml"
        return f'{what} has no place for that; {beside}: `urdf = "{self.name}"`, then {said}'

    def axis(self, xyz: Iterable[float]) -> str:
        """Return a joint's axis (3,) as it is written."""
        text = " ".join(f"{x:g}" for x in xyz)
        return f'axis="{text}"' if self.form == "mjcf" else f'<axis xyz="{text}"/>'


#: A Denavit-Hartenberg table.
DH = Described()


def described_by(robot_file: str | Path) -> Described:
    """Return what describes the robot of a robot file. Raises RobotError, InputError where it cannot be read."""
    path = Path(robot_file)
    toml = path.suffix.lower() == ".toml"
    named = read_toml(path, RobotError).get("urdf") if toml else path.name
    if not isinstance(named, str):
        return Described("dh", path.name)
    file = data_path(named, path.parent)
    root = parse_xml(read_bytes(file), file=file.name)
    return Described("mjcf" if root.tag == "mujoco" else "urdf", named, toml)
