"""Draw `docs/picture.svg`, what the project does in one picture: python docs/generate/picture.py.

Its figures are those of the demo (README.md shows the commands that print them).
"""

from __future__ import annotations

from pathlib import Path

INK, SOFT, LINE, BLUE, GREEN, RED = "#1f2933", "#52606d", "#9aa5b1", "#2251cc", "#1b7a3d", "#b42318"
FILES = (
    ("robot.urdf", "joints, or a DH table"),
    ("log.csv", "positions, torques or currents"),
    ("cad.csv", "masses, centres, inertias"),
)
ROWS = (
    ("parameter", "CAD", "identified ± 95 %", "CAD is", SOFT),
    ("link2.hx", "0.04581", "0.04121 ± 0.00018", "contradicted", RED),
    ("link3.hx", "0.01363", "0.012272 ± 0.000023", "contradicted", RED),
    ("link4.hy", "-0.002029", "-0.0016655 ± 0.0000046", "contradicted", RED),
)
SAID = ("Every link can exist: checked exactly.", "1.11 % of a motion never seen is missed; CAD alone: 46.7 %.")


def text(x: float, y: float, words: str, size: int = 14, fill: str = INK, *more: str) -> str:
    """Return one line of text."""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" {" ".join(more)}>{words}</text>'


def arrow(x: float, y: float, to: float) -> str:
    """Return a horizontal arrow."""
    return (
        f'<path d="M{x} {y} H{to - 7}" stroke="{LINE}" stroke-width="2" fill="none"/>'
        f'<path d="M{to - 8} {y - 5} L{to} {y} L{to - 8} {y + 5} Z" fill="{LINE}"/>'
    )


def box(x: float, y: float, width: float, height: float, stroke: str = LINE) -> str:
    """Return a rounded frame."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="#fff" stroke="{stroke}"/>'


def picture() -> str:
    """Return the drawing."""
    bold, code = 'font-weight="600"', 'font-family="monospace"'
    parts = []
    for i, (name, what) in enumerate(FILES):
        y = 24 + 74 * i
        parts += [box(16, y, 220, 56), text(30, y + 24, name, 15, INK, code, bold), text(30, y + 44, what, 13, SOFT)]
        parts.append(
            f'<path d="M236 {y + 28} C260 {y + 28} 250 126 274 126" stroke="{LINE}" stroke-width="2" fill="none"/>'
        )
    parts += [box(274, 84, 136, 84, BLUE), text(296, 120, "ident init", 16, BLUE, code, bold)]
    parts += [text(296, 148, "ident run", 16, BLUE, code, bold), arrow(410, 126, 440)]
    parts += [box(440, 16, 504, 220), text(458, 44, "Parameters, error bars, verdict", 15, INK, bold)]
    for i, (name, cad, found, verdict, colour) in enumerate(ROWS):
        y, style = 72 + 24 * i, code if i else ""
        ink = INK if i else SOFT
        parts += [text(458, y, name, 13, ink, style), text(558, y, cad, 13, ink, style)]
        parts += [text(646, y, found, 13, ink, style), text(838, y, verdict, 13, colour)]
    parts += [text(458, 182 + 26 * i, "✓ " + words, 14, GREEN) for i, words in enumerate(SAID)]
    parts += [text(440, 260, "report.html · parameters.json · URDF, MJCF, C, MATLAB and 26 more formats", 13, SOFT)]
    said = "Files in, parameters out: robot.urdf, log.csv and cad.csv go through ident init and ident run"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 276" width="960" height="276" role="img" '
        f'aria-label="{said}" font-family="system-ui, sans-serif"><title>{said}</title>'
        '<rect width="960" height="276" rx="12" fill="#f5f7fa"/>'
    )
    return head + "\n" + "\n".join(parts) + "\n</svg>\n"


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("picture.svg").write_text(picture(), encoding="utf-8")
