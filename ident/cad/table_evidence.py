"""What a table of links tells by itself about its point and the sign of its products: under which readings every link
can exist. The declared reading is never changed by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ident.cad.check import check_cad
from ident.cad.convention import PRODUCTS, TENSOR_AT
from ident.cad.sheets.evidence import Finding
from ident.cad.sheets.readings import SAID, UNDECIDED
from ident.cad.table import Cad, cad_of

_AT = {"center_of_mass": "about the centre of mass", "link_origin": "about the link's origin"}


def examine_table(cad: Cad) -> tuple[Finding, ...]:
    """Return what the numbers of a table with printed numbers tell about its declared convention.

    A reading is refuted by a link that could not exist under it, beyond the rounding of its digits.
    """
    if cad.table is None:
        return ()
    declared = cad.table.convention
    impossible: dict[tuple[str, str], list[str]] = {}
    for at in TENSOR_AT:
        for sign in PRODUCTS:
            convention = replace(declared, tensor_at=at, products=sign)  # type: ignore[arg-type]
            read = cad_of(replace(cad.table, convention=convention), cad.source)
            impossible[at, sign] = [v.link for v in check_cad(read) if v.status == "impossible"]
    left = [key for key, links in impossible.items() if not links]
    return (
        _finding("point", 0, declared.tensor_at, _AT, left, impossible, len(cad.links)),
        _finding("products", 1, declared.products, SAID, left, impossible, len(cad.links)),
    )


def _finding(
    about: str,
    k: int,
    declared: str,
    said: Mapping[str, str],
    left: list[tuple[str, str]],
    impossible: dict[tuple[str, str], list[str]],
    count: int,
) -> Finding:
    worst = {word: min(len(links) for key, links in impossible.items() if key[k] == word) for word in said}
    counts = "; ".join(f"{said[word]}: {n} of {count} links impossible" for word, n in worst.items())
    words = {key[k] for key in left}
    if len(words) != 1:
        return Finding(about, "undecided", UNDECIDED.replace("report", "table"), f"{counts}; declared is {declared}")
    (word,) = words
    if word == declared:
        return Finding(about, "decided", said[word], f"{counts}; it is declared so")
    return Finding(about, "problem", f"{said[word]}, not {said[declared]} as declared", counts)
