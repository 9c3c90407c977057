"""Every target that a result can be exported to: one registry, from which lists, errors and commands are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ident.errors import InfeasibleError, InputError, require_known
from ident.estimate.estimate import Estimate
from ident.export import parameters
from ident.export import robotics_toolbox as rtb
from ident.export.code import c, python
from ident.export.code.matlab import function_name, write_matlab_function
from ident.export.existing import with_paths
from ident.export.identified import MOTOR, SPRING, Exported, Identified, Source, Written, identified
from ident.export.mjcf import write_mjcf
from ident.export.payload import Payload, payload_call
from ident.export.sdf import write_sdf
from ident.export.text import Script
from ident.export.urdf import write_identified_urdf
from ident.files import file_word, write_whole
from ident.model import Offset
from ident.robot.robot import Robot
from ident.robot.xml import read_bytes
from ident.symbolic.newton_euler import identifier


@dataclass(frozen=True)
class Format:
    """A target of a whole robot: its name, the ending of its files, what it is, and the function that writes it.

    edits: whether an existing file of this format can be edited in place; keeps: its geometry stays then. tail: what a
    file's name has after the robot's; by default the format's name, where others have the same ending.
    """

    name: str
    suffix: str
    one_line: str
    write: Callable[[Identified], Written]
    edits: bool = False
    tail: str | None = None
    keeps: bool = False


@dataclass(frozen=True)
class PayloadFormat:
    """A target of one load at the flange."""

    name: str
    suffix: str
    one_line: str

    def write(self, load: Payload) -> str:
        """Return the file's content."""
        return payload_call(self.name, load)


_PINOCCHIO = Script("pinocchio.py.j2", "a Pinocchio script", MOTOR, "on line")
_SPATIAL = Script("spatial_v2.m.j2", "a spatial_v2 script", frame="along z")
_KDL = Script("kdl.hpp.j2", "a KDL header", MOTOR[:2])
_SIMSCAPE = Script("simscape.m.j2", places=MOTOR)
_ROS2 = Script("ros2.yaml.j2", places=(*MOTOR, Offset.kind, SPRING))
_MJCF = "MuJoCo: inertials, armature, damping, friction, springs; edits the given file"
_SDF = "SDFormat (Gazebo): inertials, damping, friction, springs; edits the given file"
_MATLAB = "MATLAB function: the same for Simulink and MATLAB Coder"
_MAT = "parameters, base parameters and covariance for MATLAB and scipy"

FORMATS = (
    Format("json", ".json", "all parameters with conventions, error bars and provenance", parameters.write_json),
    Format("csv", ".csv", "standard parameters with units and who decided on them", parameters.write_csv, tail=""),
    Format("csv-base", ".csv", "base parameters with combinations and standard errors", parameters.write_base_csv),
    Format("mat", ".mat", _MAT, parameters.write_mat, tail=""),
    Format("urdf", ".urdf", "URDF: inertials, damping, friction; edits the given file", write_identified_urdf, True),
    Format("mjcf", ".xml", _MJCF, write_mjcf, True, keeps=True),
    Format("sdf", ".sdf", _SDF, write_sdf, True, keeps=True),
    Format("pinocchio", ".py", "Python script: dynamic-parameter vectors, build_model(), apply_to()", _PINOCCHIO),
    Format("spatial-v2", ".m", "MATLAB script: Featherstone's spatial_v2 model", _SPATIAL),
    Format("kdl", ".hpp", "C++ header: Orocos KDL tree", _KDL),
    Format("rigid-body-tree", ".m", "MATLAB script: rigidBodyTree", parameters.write_rigid_body_tree),
    Format("rigid-body-tree-mat", ".mat", "MAT file: rigidBodyTree's numbers", parameters.write_rigid_body_tree_mat),
    Format("rtb-python", ".py", "Python script: Robotics Toolbox DHRobot (DH, modified DH)", rtb.write_rtb_python),
    Format("rtb-matlab", ".m", "MATLAB script: Robotics Toolbox SerialLink (DH, modified DH)", rtb.write_rtb_matlab),
    Format("simscape", ".m", "MATLAB script: values of Simscape Multibody inertia blocks", _SIMSCAPE),
    Format("ros2", ".yaml", "ROS 2 parameter file", _ROS2),
    Format("c", ".h", "C99 header: inverse dynamics, gravity, mass matrix, friction, regressor", c.write_c_header),
    Format("cpp", ".hpp", "C++11 header: the same as templates for double and float", c.write_cpp_header, tail=""),
    Format("python", ".py", "Python module (numpy): the same for any number of samples", python.write_module, tail=""),
    Format("jax", ".py", "JAX module: the same for jax.numpy, to be compiled and differentiated", python.write_jax),
    Format("casadi", ".py", "CasADi module: the same as casadi.Function, to be differentiated", python.write_casadi),
    Format("matlab", ".m", _MATLAB, write_matlab_function, tail=function_name("")),
)

PAYLOAD_FORMATS = (
    PayloadFormat("ur", ".script", "Universal Robots: set_target_payload"),
    PayloadFormat("franka", ".cpp", "Franka: libfranka setLoad"),
    PayloadFormat("kuka", ".dat", "KUKA: LOAD_DATA (principal axes)"),
    PayloadFormat("abb", ".mod", "ABB: RAPID loaddata (principal axes)"),
    PayloadFormat("fanuc", ".txt", "Fanuc: PAYLOAD SET screen (inertia's unit to be checked)"),
    PayloadFormat("yaskawa", ".txt", "Yaskawa: tool load information"),
    PayloadFormat("doosan", ".cpp", "Doosan: set_workpiece_weight of the C++ API, no inertia"),
    PayloadFormat("mecademic", ".txt", "Mecademic: SetPayload, no inertia"),
    PayloadFormat("toshiba", ".txt", "Toshiba / Shibaura: PAYLOAD, absolute offsets, no inertia"),
)


def listing() -> tuple[tuple[str, str, str], ...]:
    """Return name, ending and one line of every format, those of one load last."""
    loads = tuple((f.name, f.suffix, f"load: {f.one_line}") for f in PAYLOAD_FORMATS)
    return tuple((f.name, f.suffix, f.one_line) for f in FORMATS) + loads


def format_named(name: str) -> Format:
    """Return the format of a whole robot; raises InputError with the nearest name."""
    names = [row[0] for row in listing()]
    require_known([name], names, InputError, "there is no format", fix="List them: ident export --list")
    known = {f.name: f for f in FORMATS}
    if name not in known:
        problem = f"'{name}' takes one load at the flange, not a robot"
        raise InputError(problem, fix="Identify the load first: ident payload")
    return known[name]


def payload_format_named(name: str) -> PayloadFormat:
    """Return the format of one load; raises InputError with the nearest name."""
    known = {f.name: f for f in PAYLOAD_FORMATS}
    require_known([name], known, InputError, "there is no payload format", fix=f"Use one of {', '.join(known)}")
    return known[name]


def file_name(form: Format, robot: str) -> str:
    """Return how a file is called that is given no name: as the robot, by an identifier where code calls the file.

    No two formats have the same, so that exporting one never overwrites another: `arm.csv`, `arm_csv_base.csv`.
    """
    name = file_word(robot, "robot")
    name = identifier(name, "robot") if form.suffix in {".m", ".py"} else name
    shared = sum(other.suffix == form.suffix for other in FORMATS) > 1
    tail = f"_{form.name.replace('-', '_')}" if shared and form.tail is None else form.tail or ""
    return f"{name}{tail}{form.suffix}"


def export_to(
    name: str,
    estimate: Estimate,
    path: str | Path,
    *,
    robot: Robot | None = None,
    source: str | Path | None = None,
    when: str = "",
    unvalidated: bool = False,
    folder: str | Path | None = None,
) -> Exported:
    """Write an estimate in a format of `FORMATS`, whole or not at all.

    robot: as its file describes it; a new file has it as it was calibrated.
    source: an existing URDF, MJCF or SDF to edit in place. when: a date for the file's head, which is otherwise the
    same for the same result. unvalidated: write although no validation is recorded (`with_validation`) or it failed.
    folder: in which the file will lie, by default that of `path`; relative paths in `source`, as of meshes, are written
    as seen from it.
    Raises InputError for an unknown format or an unreadable file, EstimationError, InfeasibleError, ModelError and
    RobotError where the result must not or cannot be written so; each in one sentence.
    """
    form = format_named(name)
    given = None
    if source is not None:
        if not form.edits:
            places = ", ".join(f.name for f in FORMATS if f.edits)
            raise InputError(f"a file cannot be edited in place as '{name}'", file=source, fix=f"That is for {places}")
        place, at = Path(source), Path(path).parent if folder is None else Path(folder)
        given = Source(place.name, with_paths(read_bytes(place), place.name, place.parent, at))
    if robot is not None and given is None:
        robot = estimate.corrected(robot)
    kept = given is not None and form.keeps
    item = identified(estimate, robot=robot, source=given, when=when, unvalidated=unvalidated, kept=kept)
    try:
        content, notes = form.write(item)
    except InfeasibleError as cause:
        out = "" if given else " Of several formats leave this one out."
        raise InfeasibleError(f"{name}: {cause}{out}", estimate=estimate) from cause
    return Exported(write_whole(path, content), notes)
