"""Report data: curves and rows in the few numbers that a page can carry, with what that costs in accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from uccurve._checks import METRICS, Array, Axes
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.plots._thinning import knots

BUDGET, LEAST, MOST = 12_000, 400, 3_000
"""Vertices that a page carries: of all curves together, and of one curve at least and at most."""
CANDIDATES = 20_000
"""Vertices among which they are chosen."""
SAMPLE = 60
"""Rows whose intervals a page shows."""
DIGITS = 7


def explorer_data(models: Mapping[str, UCC], *, axes: Axes, cost: float) -> dict[str, Any]:
    """All that the curve explorer needs: curves, constant bands, and some rows of every model."""
    curves = list(models.values())
    shared = all(np.array_equal(ucc.intervals.y_pred, curves[0].intervals.y_pred) for ucc in curves)
    constants = (
        {"constant band": curves[0]} if shared else {f"constant band of {name}": u for name, u in models.items()}
    )
    most = int(np.clip(BUDGET / (len(models) + len(constants)), LEAST, MOST))
    return {
        "axes": list(axes),
        "cost": cost,
        "vary": curves[0].vary,
        "delivered": 1.0 if curves[0].vary == "scale" else 0.0,
        "rows": curves[0].intervals.y_true.size,
        "std": _deviation(curves[0]),
        "models": [
            {"name": name, "curve": curve_data(ucc, most), "sample": sample_data(ucc.intervals)}
            for name, ucc in models.items()
        ],
        "references": [
            {"name": name, "curve": curve_data(UCC(ucc.intervals.constant(), vary=ucc.vary), most)}
            for name, ucc in constants.items()
        ],
    }


def _deviation(ucc: UCC) -> float | None:
    """Deviation of y_true; None where it does not vary."""
    intervals = ucc.intervals
    middle = np.sum(intervals.weight * intervals.y_true)
    return float(np.sqrt(np.sum(intervals.weight * (intervals.y_true - middle) ** 2))) or None


def curve_data(ucc: UCC, most: int = LEAST) -> dict[str, Any]:
    """Columns t and the five metrics, whether they are all vertices, and how far off lines between them are at most.

    The distance is relative: to 1 for the miss rate, and for the others to their value where 1 % are missed.

    Examples
    --------
    >>> data = curve_data(UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])))
    >>> data["t"], data["miss_rate"], data["exact"], data["off"]
    ([0.0, 1.0, 2.0], [1.0, 0.3333333, 0.0], True, 0.0)
    """
    table = ucc.table()
    t, columns = table[ucc.vary], np.stack([table[name] for name in METRICS])
    exact = len(t) <= most
    kept, off = (np.arange(len(t)), 0.0) if exact else _chosen(t, columns, most)
    facts = {"exact": exact, "off": off, "vertices": len(t), "end": float(t[-1])}
    t, columns = _extended(ucc, t[kept], columns[:, kept])
    return {"t": rounded(t), **dict(zip(map(str, METRICS), map(rounded, columns), strict=True)), **facts}


def sample_data(intervals: Intervals, most: int = SAMPLE) -> dict[str, Any]:
    """Observations, predictions and bands of some rows, evenly chosen and ordered by prediction."""
    order = np.argsort(intervals.y_pred.ravel(), kind="stable")
    rows = order[np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.intp))]
    names = ("y_true", "y_pred", "lower_band", "upper_band")
    return {"row": rows.tolist(), **{name: rounded(getattr(intervals, name).ravel()[rows]) for name in names}}


def rounded(values: Array) -> list[float]:
    """Numbers to seven digits, which no screen tells from more."""
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]


def _chosen(t: Array, columns: Array, most: int) -> tuple[np.ndarray, float]:
    """Vertices to carry, and the largest relative distance from any vertex to the lines between them."""
    by_rank = np.linspace(0, len(t) - 1, CANDIDATES).round().astype(np.intp)
    by_t = np.searchsorted(t, np.linspace(t[0], t[-1], CANDIDATES // 10)).clip(0, len(t) - 1)
    some = np.unique(np.concatenate([by_rank, by_t]))
    miss = columns[METRICS.index("miss_rate")]
    settled = columns[:, np.argmax(miss <= max(0.01, float(miss[-1])))]
    sizes = np.where(settled > 0, settled, np.maximum(columns.max(axis=1), 1e-300))
    sizes[[METRICS.index("miss_rate"), METRICS.index("deficit")]] = columns[[1, 3], 0]
    scaled = columns / sizes[:, None]
    kept = some[knots(t[some], scaled[:, some], tolerance=0.0, most=most)[0]]
    off = max(float(np.abs(row - np.interp(t, t[kept], row[kept])).max()) for row in scaled)
    return kept, off


def _extended(ucc: UCC, t: Array, columns: Array) -> tuple[Array, Array]:
    """The curve and what follows it, as far as the model as delivered where that lies beyond the end."""
    delivered = 1.0 if ucc.vary == "scale" else 0.0
    if t[-1] >= delivered:
        return t, columns
    after = np.linspace(t[-1], 1.2 * (delivered - t[-1]) + t[-1], 7)[1:]
    points = [ucc.at(float(value)) for value in [*after[:-2], delivered, after[-1]]]
    beyond = np.array([[getattr(point, name) for point in points] for name in METRICS])
    return np.append(t, [*after[:-2], delivered, after[-1]]), np.concatenate([columns, beyond], axis=1)
