"""What CAD files say, and what they tell about themselves: `ident cad read` and `ident cad check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ident.cad import (
    SI,
    Cad,
    Finding,
    LinkVerdict,
    Sheet,
    check_cad,
    examine,
    examine_table,
    examine_together,
    read_frames,
    read_sheet,
    read_source,
    require_consistent,
    write_cad,
)
from ident.cad.read import is_sheet
from ident.cad.sheets.read import find_sheets
from ident.cad.sheets.readings import unsigned
from ident.cad.sheets.sheet import Products
from ident.compare.shape import Misfit, against_shapes
from ident.errors import CadError, InputError, RobotError
from ident.estimate import neutral_prior
from ident.estimate.prior import implausible
from ident.geometry.capsules import collision_clouds
from ident.pipelines.estimated import require_apart
from ident.robot import read_robot
from ident.robot.robot import DESCRIPTIONS
from ident.robot.urdf import parse_document, to_robot
from ident.robot.xml import parse_xml, read_bytes
from ident.spatial.inertia import Pose


@dataclass(frozen=True, eq=False)
class Shapes:
    """What the collision shapes of a URDF contradict in its numbers.

    judged: links that have both; links: of the robot; untold: why nothing was compared, "" where it was.
    """

    misfits: tuple[Misfit, ...] = ()
    judged: int = 0
    links: int = 0
    untold: str = ""


@dataclass(frozen=True, eq=False)
class CheckedCad:
    """What CAD numbers tell about themselves: reports by link (or why one cannot be read), or one table of links.

    findings: by link, "" for those of the table or of all reports together; verdicts: whether each link can exist; fix:
    what to do where one cannot ("" else). robot: the file of the robot whose links a table has.
    """

    reports: Mapping[str, Sheet | CadError]
    cad: Cad | None
    verdicts: tuple[LinkVerdict, ...]
    findings: Mapping[str, tuple[Finding, ...]]
    shapes: Shapes = Shapes()
    fix: str = ""
    robot: Path | None = None

    @property
    def unsigned(self) -> tuple[str, ...]:
        """The links whose reports cannot be read before the sign of their products is said."""
        return tuple(k for k, r in self.reports.items() if isinstance(r, Sheet) and unsigned(r))

    @property
    def problems(self) -> int:
        """How many problems there are."""
        found = sum(isinstance(report, CadError) for report in self.reports.values())
        found += sum((v.status == "impossible") + len(v.doubts) for v in self.verdicts)
        found += sum(f.verdict == "problem" for told in self.findings.values() for f in told)
        return found + sum(misfit.gross for misfit in self.shapes.misfits)


def cad_read(
    source: str | Path,
    out: str | Path | None = None,
    *,
    products: str | None = None,
    frames: Path | None = None,
    robot: Path | None = None,
) -> Cad:
    """Return what a report, a folder of reports LINK.txt, a table, a URDF or an MJCF says of links, in SI.

    out: table (.csv, .toml) to write it to. products: the sign of a report's printed products, "tensor" or "positive".
    frames: a .toml file with the poses of the output frames of reports. robot: whose links there must be.
    Raises InputError for another ending of `out`, CadError and RobotError.
    """
    table_ending(out)
    if out is not None:
        require_apart(out, (Path(source), frames, robot))
    poses, sign = words_of(frames, products)
    cad = read_source(Path(source), None if robot is None else read_robot(robot), poses, sign)
    if out is not None:
        convention = cad.table.convention if cad.table else replace(SI, tensor_at="center_of_mass")
        write_cad(cad, convention, out)
    return cad


def cad_check(source: str | Path, meshes: Path | None = None, robot: Path | None = None) -> CheckedCad:
    """Return what numbers tell about their own signs, points and units; needs no log and no robot.

    source: as for `cad_read`; links of a URDF are also held against their own collision shapes, whose meshes lie in
    the folder `meshes`, by default the URDF's own. robot: whose links a table must have. A report of a folder that
    cannot be read is one of its problems. Raises InputError for a folder of meshes that is none, CadError and
    RobotError for a file that cannot be read.
    """
    source = Path(source)
    urdf = source.suffix.lower() in DESCRIPTIONS
    if meshes is not None and not (urdf and meshes.is_dir()):
        problem = "is no folder" if urdf else "is for a URDF"
        raise InputError(problem, key="--meshes", fix="Leave it out" if not urdf else "Give the folder of the meshes")
    if not source.is_dir() and not is_sheet(source):
        cad, fix = read_source(source, None if robot is None else read_robot(robot)), ""
        try:
            require_consistent(cad)
        except CadError as cause:
            fix = f"{cause.fix}."
        shapes = _shapes(source, (meshes or source.parent).resolve()) if urdf else Shapes()
        return CheckedCad({}, cad, _judged(cad, robot), {"": tuple(examine_table(cad))}, shapes, fix, robot)
    reports: dict[str, Sheet | CadError] = {}
    for link, path in (find_sheets(source) if source.is_dir() else {source.stem: source}).items():
        try:
            reports[link] = read_sheet(path)
        except CadError as cause:
            if not source.is_dir():
                raise
            reports[link] = cause
    read = {link: report for link, report in reports.items() if isinstance(report, Sheet)}
    findings = {link: tuple(examine(report)) for link, report in read.items()}
    return CheckedCad(reports, None, (), findings | {"": tuple(examine_together(read))})


def _judged(cad: Cad, robot: Path | None) -> tuple[LinkVerdict, ...]:
    """Return what each link's numbers say, also against the lengths of the robot where there is one."""
    verdicts = check_cad(cad)
    if robot is None or any(v.status == "impossible" for v in verdicts):
        return verdicts
    arm = read_robot(robot)
    odd = implausible(arm, cad.for_robot(arm), neutral_prior(arm))
    return tuple(
        replace(v, doubts=tuple(x.removeprefix(f"{v.link}: ") for x in odd if x.startswith(f"{v.link}: ")))
        if not v.doubts
        else v
        for v in verdicts
    )


def _shapes(source: Path, folder: Path) -> Shapes:
    """Return what the links' own shapes contradict in a URDF."""
    data = read_bytes(source)
    if parse_xml(data, file=source.name).tag == "mujoco":
        return Shapes()
    try:
        urdf = parse_document(data, file=source.name)
        robot = to_robot(urdf)
        clouds = collision_clouds(urdf, robot, folder)
    except RobotError as cause:
        return Shapes(untold=f"numbers and shapes were not compared: {cause} (--meshes names another folder of meshes)")
    if robot.inertials is None or not clouds:
        return Shapes()
    links = {link: p for link, p in zip(robot.links, robot.inertials, strict=True) if p[0] > 0}
    misfits = against_shapes(links, {link: cloud.surface() for link, cloud in clouds.items()})
    return Shapes(tuple(misfits), sum(link in clouds for link in links), len(robot.links))


def table_ending(out: str | Path | None) -> None:
    """Raise InputError for a table to write that is neither .csv nor .toml."""
    if out is not None and Path(out).suffix not in (".csv", ".toml"):
        raise InputError(f"ends in '{Path(out).suffix}'", file=out, fix="Choose .csv or .toml")


def words_of(frames: Path | None, products: str | None) -> tuple[dict[str, Pose] | None, Products | None]:
    """Return output frames by link, and the sign of products, as they are given; CadError for another word."""
    if products not in (None, "tensor", "positive"):
        raise CadError(f"unknown word '{products}'", key="--products", fix="Write tensor or positive")
    return None if frames is None else read_frames(frames), products  # type: ignore[return-value]
