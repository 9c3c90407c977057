"""Coulomb friction that grows with the load on the joint, as that of gears does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model.standard import COULOMB, SIGN
from ident.model.term import Kind, Term, shape, slopes_of
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL


@dataclass(frozen=True)
class LoadFriction:
    """tau_j = mu_j |load_j(q, qd, qdd)| f(qd_j), mu_j without a unit.

    load_j: torque that links with the `inertials` (n, 10), such as CAD's, need at the joint; f: the column of
    `law`, some Coulomb friction. The term is linear in mu as the inertials are given: where they are off by a factor,
    mu takes it up, and little is lost. Gears that drive better than they are driven (load qd > 0 or < 0) differ from
    this by a multiple of load_j itself, which the bodies' parameters hold already: no log tells that from a gain of the
    joint's torque ([calibrate] gains). joints: as in `Coulomb`. Source: Hamon, Gautier, Garrec, "Dynamic
    identification of robots with a dry friction model depending on load and velocity", IROS 2010.
    """

    inertials: tuple[tuple[float, ...], ...] = ()
    law: Term = SIGN
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("load",)
    kind: ClassVar[Kind] = Kind(
        "load_friction",
        "load friction",
        "torque = value * |torque of links of a table (of the first 1 m, 1 hx, ...)| * sign(qd), or the law of "
        + COULOMB.name,
        ("1", "1"),
        friction=True,
    )

    @staticmethod
    def of(inertials: ArrayLike, law: Term) -> LoadFriction:
        """Return the term with the load of inertials (n, 10) at the law's joints; ModelError when one is not finite."""
        given = frozen(inertials, (None, 10), "inertials of the load", ModelError)
        return LoadFriction(tuple(tuple(float(x) for x in row) for row in given), law, law.joints)

    def at_work(self, others: Sequence[Term], robot: Robot, inertials: ArrayLike) -> list[LoadFriction]:
        """Return this term with inertials: each joint with the law of its Coulomb friction, or with the sign."""
        found, left = list[LoadFriction](), list(self.joints or robot.joint_names)
        for law in (*(x for x in others if x.kind == COULOMB), SIGN):
            own = tuple(j for j in left if law.joints is None or j in law.joints)
            if own:
                found.append(LoadFriction.of(inertials, replace(law, joints=own)))  # type: ignore[type-var]
                left = [j for j in left if j not in own]
        return found

    @property
    def remembers(self) -> bool:
        """Whether its law does."""
        return bool(getattr(self.law, "remembers", False))

    def column(self, q: Array, qd: Array, qdd: Array, load: Array) -> Array:
        """Return |load| f(qd), f being the law's column."""
        return np.abs(load) * self.law.column(q, qd, qdd)

    def slopes(self, q: Array, qd: Array, qdd: Array, load: Array) -> list[Array]:
        """Return the derivatives of the column by q, qd, qdd and the load."""
        own = [np.abs(load) * slope for slope in slopes_of(self.law, q, qd, qdd)]
        return [*own, np.sign(load) * self.law.column(q, qd, qdd)]

    def continuous(self, q: Array, qd: Array, width: float, load: Array) -> Array:
        """Return |load| times what is simulated of the law."""
        law: Any = self.law
        smooth = law.continuous(q, qd, width) if hasattr(law, "continuous") else law.column(q, qd, qd)
        return np.asarray(np.abs(load) * smooth)

    def symbol(self, q: Any, qd: Any, qdd: Any, load: Any) -> Any:
        """Return |load| f(qd) of symbols, of a law that has some."""
        law: Any = self.law
        return np.abs(load) * law.symbol(q, qd, qdd)

    @property
    def shape(self) -> Mapping[str, float]:
        """The law's own shape, and the inertials as {"1 m": ..., "1 hx": ..., ...}, links counted from 1."""
        numbers = {
            f"{i} {part}": x for i, body in enumerate(self.inertials, 1) for part, x in zip(INERTIAL, body, strict=True)
        }
        return {**shape(self.law), **numbers}

    @staticmethod
    def restored(
        given: Mapping[str, float], joints: tuple[str, ...], other: Callable[..., Term | None]
    ) -> LoadFriction | None:
        """Return the term whose `shape` is given, None when it is none; other(kind, shape, joints) returns its law.

        Raises ModelError where a number of a body is missing.
        """
        rows: list[list[float]] = []
        while f"{len(rows) + 1} m" in given:
            try:
                rows.append([given[f"{len(rows) + 1} {part}"] for part in INERTIAL])
            except KeyError as cause:
                raise ModelError(f"the load of load friction lacks the number {cause}", fix="Fit again") from None
        law = other(COULOMB.name, {key: x for key, x in given.items() if " " not in key}, joints)
        return None if law is None else LoadFriction.of(np.array(rows).reshape(-1, 10), law)
