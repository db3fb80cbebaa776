"""Report data: curves and rows in the few numbers that a page can carry, with what that costs in accuracy."""

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np

from uccurve._arrays import Indices, evenly
from uccurve._vocabulary import METRICS, Array
from uccurve.curve import UCC
from uccurve.intervals import standard_deviation
from uccurve.plots._curves import constant_curve, delivered_at, knob, knots, reached
from uccurve.points import Curve
from uccurve.results import Assessment, ModelRow
from uccurve.words.formats import short

BUDGET, LEAST, MOST = (
    12_000,
    150,
    3_000,
)  # vertices of all models together, and of one model at least and at most
FLAT = 0.25  # vertices of a constant band, which is smooth, for each of a model
CANDIDATES = 20_000  # vertices among which they are chosen
SAMPLE, LEVELS = 60, 9  # rows whose intervals a page shows, and levels that it carries of each


def explorer_data(found: Assessment) -> dict[str, Any]:
    """All that the curve explorer needs: curves, constant bands, and some rows of every model, best model first."""
    settings, ranking = found.settings, found.ranking
    curves = [found.curves[row.name] for row in ranking]
    constants = [
        flat
        for flat in map(constant_curve, curves[:1] if found.comparable else curves)
        if flat is not None
    ]
    most = int(np.clip(BUDGET / (len(curves) + FLAT * len(constants)), LEAST, MOST))
    chosen = [row.name for row in ranking].index(found.verdict.model)
    return {
        "axes": list(settings.axes),
        "cost": settings.c,
        "coverage": settings.shown_coverage,
        "comparable": found.comparable,
        "chosen": chosen,
        "rows": ranking[0].n,
        "units": _units(curves[chosen], settings.unit),
        "models": [
            _model(*pair, settings.shown_coverage, most)
            for pair in zip(ranking, curves, strict=True)
        ],
        "references": [curve_data(flat, int(FLAT * most)) for flat in constants],
    }


def _model(row: ModelRow, curve: Curve, coverage: float, most: int) -> dict[str, Any]:
    target = row.shift if curve.vary == "shift" else row.scale
    if curve.vary == "levels":  # where the curve reaches the coverage, not the factor on one level
        point = reached(curve, coverage)
        target = np.nan if point is None else point.scale
    delivered, known = delivered_at(curve, row.level), [target] if np.isfinite(target) else []
    return {
        "name": short(row.name),
        "knob": knob(curve),
        "delivered": delivered,
        "widest": curve.levels[-1] if isinstance(curve, UCC) and curve.levels else None,
        "target": rounded(np.array(known))[0] if known else None,
        "curve": curve_data(curve, most, [delivered, *known]),
        "sample": sample_data(curve) if isinstance(curve, UCC) else None,
    }


def _units(curve: Curve, asked: str | float) -> dict[str, float]:
    """Return what values in units of y may be divided by, the unit that was asked for first."""
    known = {"that of y": 1.0}
    if isinstance(curve, UCC):
        with suppress(ValueError):  # where y_true does not vary
            known["standard deviations of y"] = standard_deviation(
                curve.intervals.y_true, curve.intervals.weight
            )
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
    >>> data = curve_data(
    ...     UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
    ... )
    >>> data["t"], data["miss_rate"], data["exact"], data["off"]
    ([0.0, 1.0, 2.0], [1.0, 0.333333, 0.0], True, 0.0)
    """
    table = copy(curve).table()  # what a curve sorts it keeps, and the page needs it once
    t, columns = table[knob(curve)], np.stack([table[name] for name in METRICS])
    whole = len(t) <= most
    kept, off = (np.arange(len(t)), 0.0) if whole else _chosen(t, columns, most)
    if not whole:
        after = np.searchsorted(t, exactly)
        kept = np.unique(
            np.concatenate([kept, np.clip([after - 1, after], 0, len(t) - 1).ravel()])
        ).astype(np.intp)
    facts = {
        "exact": whole and isinstance(curve, UCC),
        "off": off,
        "vertices": len(t),
        "end": float(t[-1]),
    }
    t, columns, delivered = t[kept], columns[:, kept], delivered_at(curve)
    if t[-1] < delivered:  # the curve goes on as far as the model as delivered
        point = curve.at(delivered)
        t = np.append(t, delivered)
        columns = np.column_stack([columns, [getattr(point, name) for name in METRICS]])
    return {
        "t": rounded(t),
        **dict(zip(map(str, METRICS), map(rounded, columns), strict=True)),
        **facts,
    }


def sample_data(curve: UCC, most: int = SAMPLE) -> dict[str, Any]:
    """Observations, predictions and bands of some rows, evenly chosen and ordered by prediction.

    Of several levels, bands are lists: one per level, at the scales in ``knots``.
    """
    intervals = curve.intervals
    order = np.argsort(intervals.y_pred.ravel(), kind="stable")
    rows = order[evenly(len(order), most)]
    data: dict[str, Any] = {
        name: rounded(getattr(intervals, name).ravel()[rows]) for name in ("y_true", "y_pred")
    }
    scales = [curve.levels[i] / curve.levels[-1] for i in evenly(len(curve.levels), LEVELS)]
    steps = [curve.intervals_at(scale) for scale in scales] or [intervals]
    for name in ("lower_band", "upper_band"):
        data[name] = [rounded(getattr(step, name).ravel()[rows]) for step in steps]
    return {"row": rows.tolist(), **data, "knots": scales}


def rounded(values: Array) -> list[float]:
    """Return numbers to six digits, which no screen tells from more."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def _chosen(t: Array, columns: Array, most: int) -> tuple[Indices, float]:
    """Vertices to carry, and the largest relative distance from any vertex to the lines between them."""
    by_t = np.searchsorted(t, np.linspace(t[0], t[-1], CANDIDATES // 10)).clip(0, len(t) - 1)
    some = np.unique(np.concatenate([evenly(len(t), CANDIDATES), by_t]))
    miss = columns[METRICS.index("miss_rate")]
    settled = columns[:, np.argmax(miss <= max(0.01, float(miss[-1])))]
    sizes = np.where(settled > 0, settled, np.maximum(columns.max(axis=1), 1e-300))
    falling = [METRICS.index("miss_rate"), METRICS.index("deficit")]
    sizes[falling] = columns[falling, 0]
    scaled = columns / sizes[:, None]
    kept = some[knots(t[some], scaled[:, some], most)]
    off = max(float(np.abs(row - np.interp(t, t[kept], row[kept])).max()) for row in scaled)
    return kept, off
