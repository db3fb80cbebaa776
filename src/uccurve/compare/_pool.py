"""Pool: the rows of two models as one path, brought to one pace, so that rows can be swapped between the models.

A curve depends on which intervals a model passes through, not on how fast. A mixture of two models' rows does depend on
it, so both are first brought to one mean half-width, which leaves each of the two curves as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from uccurve._checks import Array
from uccurve._levels import LevelsPath
from uccurve._paths import Path, ScalePath, ShiftPath
from uccurve.curve import UCC

SomePath = TypeVar("SomePath", bound=Path)
BANDS = ("active", "lower_band", "upper_band")


def alike(a: UCC, b: UCC) -> tuple[UCC, UCC]:
    """Return curves over the same kind of path: one interval that is scaled is a model with one level."""
    if a.vary == b.vary:
        return a, b
    if "shift" in (a.vary, b.vary):
        raise ValueError(
            f"`a` and `b` must have bands that move alike: a's {_moves(a)}, b's {_moves(b)}. Hint: pass Intervals, or "
            "a UCC of each with the same `vary`."
        )
    one, two = (curve if curve.levels else UCC.from_levels({0.5: curve.intervals}) for curve in (a, b))
    return one, two


def _moves(curve: UCC) -> str:
    return "are shifted" if curve.vary == "shift" else "are scaled"


def pooled(first: SomePath, second: SomePath, *, same_pace: bool = True) -> SomePath:
    """Rows of the first, then rows of the second, in one unit and (by default) at one mean half-width."""
    unit = max(first.unit, second.unit)
    first, second = _in_unit(first, unit), _in_unit(second, unit)
    if same_pace:
        first, second = _paced(first, second)
    names = ["error", *BANDS, "critical", *(["actives", "others"] if isinstance(first, LevelsPath) else [])]
    both: dict[str, Any] = {
        name: np.concatenate([getattr(path, name) for path in (first, second)], axis=-1) for name in names
    }
    start = min(first.start, second.start)
    if first.vary == "shift":
        both["critical"][both["error"] == 0] = start
    if first.above is not None or second.above is not None:
        sides = (np.ones(len(path), np.bool_) if path.above is None else path.above for path in (first, second))
        both["above"] = np.concatenate(list(sides))
    if first.weight is not None and second.weight is not None:
        both["weight"] = np.concatenate([first.weight, second.weight])
    return replace(first, start=start, **both)


def _in_unit(path: SomePath, unit: float) -> SomePath:
    factor = path.unit / unit
    if factor == 1:
        return path
    names = ["error", *BANDS, *(["actives", "others"] if isinstance(path, LevelsPath) else [])]
    names += ["critical", "start"] if path.vary == "shift" else []
    return replace(path, unit=unit, **{name: getattr(path, name) * factor for name in names})


def _paced(first: Any, second: Any) -> tuple[Any, Any]:
    """Both paths with the same mean half-width at each t, or as delivered for shifts."""
    if isinstance(first, LevelsPath):
        widths = np.unique(np.concatenate([first.widths, second.widths]))
        widths = widths if len(widths) > 1 else np.array([0.0, 1.0])
        return _levels_at(first, widths), _levels_at(second, widths)
    if isinstance(first, ScalePath):
        one, two = first.mean_half_width, second.mean_half_width
        return first, _scaled(second, one / two) if min(one, two) > 0 else second
    one, two = (path.at(path.delivered)["bandwidth"] for path in (first, second))
    return _widened(first, two - one), _widened(second, one - two)


def _scaled(path: ScalePath, factor: float) -> ScalePath:
    if factor == 1:
        return path
    return replace(path, critical=path.critical / factor, **{name: getattr(path, name) * factor for name in BANDS})


def _widened(path: ShiftPath, amount: float) -> ShiftPath:
    if amount <= 0:
        return path
    bands = {name: getattr(path, name) + amount for name in BANDS}
    return replace(path, critical=path.critical - amount, start=path.start - amount, **bands)


def _levels_at(path: LevelsPath, widths: Array) -> LevelsPath:
    """The same intervals with knots where the mean half-width has these values, as shares of the widest."""
    t = path.at_half_width(widths)
    actives, others = (np.stack(bands) for bands in zip(*map(path.bands, t.tolist()), strict=True))
    covered = np.isfinite(path.critical)
    critical = np.where(covered, path.half_width(np.where(covered, path.critical, 0)) / widths[-1], np.inf)
    bands = {name: getattr(path, name) * t[-1] for name in BANDS}
    return replace(path, critical=critical, knots=widths / widths[-1], actives=actives, others=others, **bands)
