"""Report data: curves and rows in the few numbers that a page can carry, with what that costs in accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve._checks import METRICS, Array
from uccurve.compare._formats import short
from uccurve.curve import UCC
from uccurve.plots._curves import constant_curve, delivered_at, knob, position
from uccurve.plots._thinning import knots
from uccurve.protocol import Curve

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, ModelRow

BUDGET, LEAST, MOST = 12_000, 150, 3_000
"""Vertices that a page carries: of all models together, and of one model at least and at most."""
FLAT = 0.25
"""Vertices of a constant band, which is smooth, for each of a model."""
CANDIDATES = 20_000
"""Vertices among which they are chosen."""
SAMPLE, LEVELS = 60, 9
"""Rows whose intervals a page shows, and levels that it carries of each."""
DIGITS = 6


def explorer_data(found: Assessment) -> dict[str, Any]:
    """All that the curve explorer needs: curves, constant bands, and some rows of every model, best model first."""
    settings, ranking = found.settings, found.ranking
    curves: dict[str, Curve] = {row.name: found.curves[row.name] for row in ranking}
    flat = _constants(curves, shared=found.comparable)
    most = int(np.clip(BUDGET / (len(curves) + FLAT * len(flat)), LEAST, MOST))
    first = curves[found.verdict.model]
    return {
        "axes": list(settings.axes),
        "cost": settings.c,
        "coverage": settings.shown_coverage,
        "comparable": found.comparable,
        "chosen": list(curves).index(found.verdict.model),
        "rows": ranking[0].n,
        "units": _units(first, settings.unit),
        "models": [_model(row, curves[row.name], settings.shown_coverage, most) for row in ranking],
        "references": [{"name": name, "curve": curve_data(curve, int(FLAT * most))} for name, curve in flat.items()],
    }


def _model(row: ModelRow, curve: Curve, coverage: float, most: int) -> dict[str, Any]:
    target = _target(row, curve, coverage)
    delivered = delivered_at(curve, row.level)
    exactly = [delivered, *([] if target is None else [target])]
    return {
        "name": short(row.name),
        "knob": knob(curve),
        "delivered": delivered,
        "widest": curve.levels[-1] if isinstance(curve, UCC) and curve.levels else None,
        "target": None if target is None else rounded(np.array([target]))[0],
        "curve": curve_data(curve, most, exactly),
        "sample": sample_data(curve) if isinstance(curve, UCC) else None,
    }


def _constants(curves: dict[str, Curve], *, shared: bool) -> dict[str, UCC]:
    """Return the constant bands' curves: one where predictions are shared, else one per model."""
    found = {f"constant band of {short(name)}": constant_curve(curve) for name, curve in curves.items()}
    flat = {name: curve for name, curve in found.items() if curve is not None}
    return {"constant band": next(iter(flat.values()))} if shared and flat else flat


def _target(row: ModelRow, curve: Curve, coverage: float) -> float | None:
    """Scale (or shift) that the verdict asks for; of several levels, where the curve reaches the coverage."""
    if curve.vary == "levels":
        try:
            return position(curve.find(coverage=coverage), curve)
        except ValueError:
            return None
    t = row.shift if curve.vary == "shift" else row.scale
    return t if np.isfinite(t) else None


def _standard_deviation(curve: Curve) -> float | None:
    """Return the standard deviation of y_true; None where it does not vary or no rows are kept."""
    if not isinstance(curve, UCC):
        return None
    y, weight = curve.intervals.y_true, curve.intervals.weight
    return float(np.sqrt(np.sum(weight * (y - np.sum(weight * y)) ** 2))) or None


def _units(curve: Curve, asked: str | float) -> dict[str, float]:
    """Return what values in units of y may be divided by, the unit that was asked for first."""
    std = _standard_deviation(curve)
    known = {"that of y": 1.0} | ({} if std is None else {"standard deviations of y": std})
    if isinstance(asked, str):
        return dict(reversed(known.items())) if asked == "std" else known
    return {f"units of {asked:g}": float(asked)} | known


def curve_data(curve: Curve, most: int = LEAST, exactly: Sequence[float] = ()) -> dict[str, Any]:
    """Columns t and the five metrics, whether they are all vertices, and the largest distance to lines between them.

    The distance is relative: to 1 for the miss rate, and for the others to their value where 1% are missed. The
    vertices on either side of the places in `exactly` are always carried.

    Examples
    --------
    >>> from uccurve import Intervals
    >>> data = curve_data(UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])))
    >>> data["t"], data["miss_rate"], data["exact"], data["off"]
    ([0.0, 1.0, 2.0], [1.0, 0.333333, 0.0], True, 0.0)
    """
    table = copy(curve).table()  # what a curve sorts it keeps, and the page needs it once
    t, columns = table[knob(curve)], np.stack([table[name] for name in METRICS])
    whole = len(t) <= most
    kept, off = (np.arange(len(t)), 0.0) if whole else _chosen(t, columns, most)
    if not whole:
        after = np.searchsorted(t, exactly)
        kept = np.unique(np.concatenate([kept, np.clip([after - 1, after], 0, len(t) - 1).ravel()])).astype(np.intp)
    facts = {"exact": whole and isinstance(curve, UCC), "off": off, "vertices": len(t), "end": float(t[-1])}
    t, columns = _extended(curve, t[kept], columns[:, kept])
    return {"t": rounded(t), **dict(zip(map(str, METRICS), map(rounded, columns), strict=True)), **facts}


def sample_data(curve: UCC, most: int = SAMPLE) -> dict[str, Any]:
    """Observations, predictions and bands of some rows, evenly chosen and ordered by prediction.

    Of several levels, bands are lists: one per level, at the scales in ``knots``.
    """
    intervals = curve.intervals
    order = np.argsort(intervals.y_pred.ravel(), kind="stable")
    rows = order[np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.intp))]
    data = {name: rounded(getattr(intervals, name).ravel()[rows]) for name in ("y_true", "y_pred")}
    levels = _levels(curve)
    steps = [curve.intervals_at(level=level) for level in levels] if levels else [intervals]
    bands = {
        name: [rounded(getattr(step, name).ravel()[rows]) for step in steps] for name in ("lower_band", "upper_band")
    }
    widest = levels[-1] if levels else 1.0
    return {"row": rows.tolist(), **data, **bands, "knots": [level / widest for level in levels]}


def _levels(curve: UCC) -> list[float]:
    """Return the levels to carry, evenly chosen."""
    levels = curve.levels
    places = np.unique(np.linspace(0, len(levels) - 1, min(LEVELS, len(levels))).round().astype(np.intp))
    return [levels[i] for i in places]


def rounded(values: Array) -> list[float]:
    """Return numbers to six digits, which no screen tells from more."""
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]


def _chosen(t: Array, columns: Array, most: int) -> tuple[np.ndarray, float]:
    """Vertices to carry, and the largest relative distance from any vertex to the lines between them."""
    by_rank = np.linspace(0, len(t) - 1, CANDIDATES).round().astype(np.intp)
    by_t = np.searchsorted(t, np.linspace(t[0], t[-1], CANDIDATES // 10)).clip(0, len(t) - 1)
    some = np.unique(np.concatenate([by_rank, by_t]))
    miss = columns[METRICS.index("miss_rate")]
    settled = columns[:, np.argmax(miss <= max(0.01, float(miss[-1])))]
    sizes = np.where(settled > 0, settled, np.maximum(columns.max(axis=1), 1e-300))
    falling = [METRICS.index("miss_rate"), METRICS.index("deficit")]
    sizes[falling] = columns[falling, 0]
    scaled = columns / sizes[:, None]
    kept = some[knots(t[some], scaled[:, some], tolerance=0.0, most=most)[0]]
    off = max(float(np.abs(row - np.interp(t, t[kept], row[kept])).max()) for row in scaled)
    return kept, off


def _extended(curve: Curve, t: Array, columns: Array) -> tuple[Array, Array]:
    """The curve and what follows it, as far as the model as delivered where that lies beyond the end."""
    delivered = delivered_at(curve)
    if t[-1] >= delivered:
        return t, columns
    after = np.linspace(t[-1], 1.2 * (delivered - t[-1]) + t[-1], 7)[1:]
    places = [*after[:-2], delivered, after[-1]]
    points = [curve.at(float(value)) for value in places]
    beyond = np.array([[getattr(point, name) for point in points] for name in METRICS])
    return np.append(t, places), np.concatenate([columns, beyond], axis=1)
