"""Fonts for names that matplotlib's own font has no signs for, such as Chinese ones."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ident.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Fonts with Chinese, Japanese and Korean signs as systems install them.
CJK = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Microsoft YaHei", "SimHei", "PingFang SC", "Hiragino Sans GB", "Heiti SC", "Arial Unicode MS",
)  # fmt: skip


def legible(figure: Figure) -> Figure:
    """Give texts beyond Latin, Greek and Cyrillic the installed fonts that may have their signs; return the figure."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if any(ord(sign) > 0x2E7F for sign in text.get_text()):
            text.set(fontfamily=["DejaVu Sans", *_installed()], fontweight="normal")  # few of them have a bold face
    return figure


def save_figure(figure: Figure, path: Path, dpi: int = 130) -> Path:
    """Write a figure to a .png, .svg or .pdf file, whole or not at all; InputError where it cannot be written."""
    content = io.BytesIO()
    legible(figure).savefig(content, format=path.suffix[1:], dpi=dpi)
    return write_whole(path, content.getvalue())


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import get_font_names

    known = set(get_font_names())
    return tuple(font for font in CJK if font in known)
