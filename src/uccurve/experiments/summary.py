"""The paper's summary metrics (areas, costs, optimal costs and what it calls MAE), and how its claims are checked."""

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from uccurve import UCC, Intervals, permutation_test

from .bands import BM, ED, Axes
from .findings import Cells, Models, row

PRINTED: Axes = ("excess", "deficit")
COST_FACTOR = 0.1
SIGNIFICANT, RESAMPLES = 0.01, 1999

SUMMARY = "Summary metrics"
GAINS = "Gains over the constant band, %"
EXCESS = "Excess as the appendix defines it"
REPAIR = "Repaired bands"


def tuned(held_out: Models, axes: Axes, unit: float = 1.0) -> dict[str, float]:
    """Return the scale with the lowest cost on the held-out rows, by model."""
    return {n: UCC(iv).cheapest(COST_FACTOR, axes=axes, unit=unit).scale for n, iv in held_out.items()}


def costs(curve: UCC, axes: Axes, scale: float, unit: float = 1.0) -> dict[str, float]:
    """Return area, cost at the tuned scale and minimum cost on one pair of axes."""
    return {
        "area": curve.area(axes=axes, unit=unit),
        "cost": curve.cost(COST_FACTOR, axes=axes, at=scale, unit=unit),
        "optimal cost": curve.cheapest(COST_FACTOR, axes=axes, unit=unit).cost or 0.0,
    }


def absolute_error(curve: UCC, scale: float) -> float:
    """Return the mean of |error - scaled band| on the error's side (the paper's MAE): overshoot plus deficit."""
    point = curve.at(scale)
    return point.overshoot + point.deficit


def squared_error(curve: UCC, scale: float) -> float:
    """Return the mean of (error - scaled band)^2 on the error's side: the nearest to the paper's MAE of real data."""
    iv = curve.intervals
    error = iv.y_true - iv.y_pred
    active = np.where(error >= 0, iv.upper_band, iv.lower_band)
    return float(np.mean((np.abs(error) - scale * active) ** 2))


def summary_cells(
    test: Models, scales: Mapping[str, float], mae: Callable[[UCC, float], float], *, unit: float = 1.0
) -> Cells:
    """Return every number of a summary table, the gains, the excess as printed, and what the repair of bands did."""
    cells: Cells = {}
    for name, iv in test.items():
        curve, scale = UCC(iv), scales[name]
        for kind, axes in (("ED", ED), ("BM", BM)):
            cells |= row(SUMMARY, name, {f"{kind} {m}": v for m, v in costs(curve, axes, scale, unit).items()})
        cells[SUMMARY, name, "MAE"] = mae(curve, scale)
        cells |= row(EXCESS, name, costs(curve, PRINTED, scale, unit))
        cells[REPAIR, name, "bands raised, %"] = 50.0 * iv.raised / len(iv)
        cells[REPAIR, name, "rows that carry half of the BM area, %"] = 100.0 * curve.concentration() / len(iv)
        if name != "Constant":
            cells |= row(GAINS, name, {"ED": 100 * curve.gain(axes=ED), "BM": 100 * curve.gain(axes=BM)})
    return cells


def ranked(cells: Cells, measure: str, *names: str) -> bool:
    """Return whether the named models' values rise in the given order."""
    return all(a < b for a, b in pairwise(cells[SUMMARY, name, measure] for name in names))


def smallest(cells: Cells, measure: str, name: str, others: Iterable[str]) -> bool:
    """Return whether a model's value is below that of all others."""
    return all(ranked(cells, measure, name, other) for other in others if other != name)


def all_differ(models: Models, *, axes: Axes, seed: int, **options: Any) -> bool:
    """Return whether each pair's areas differ at p < 0.01 by the paired permutation test."""
    tests = (
        permutation_test(a, b, axes=axes, n_resamples=RESAMPLES, seed=seed, **options)
        for a, b in combinations(models.values(), 2)
    )
    return all(test.pvalue < SIGNIFICANT for test in tests)


def crossing(a: Intervals, b: Intervals, *, axes: Axes, margin: float = 0.03, floor: float = 0.05) -> bool:
    """Return whether each curve is clearly below the other somewhere: by more than `margin` of their height there.

    Heights below `floor` of the start are left out: at the very end some pair of rows always crosses.
    """
    curves = [UCC(iv).points(axes=axes) for iv in (a, b)]
    x = np.linspace(0.0, max(points.x[-1] for points in curves), 20_000)
    if axes[1] == "miss_rate":  # it keeps the value of the last vertex
        heights = np.stack([points.y[np.searchsorted(points.x, x, side="right") - 1] for points in curves])
    else:
        heights = np.stack([np.interp(x, points.x, points.y) for points in curves])
    heights = heights[:, heights.min(axis=0) > floor * max(points.y[0] for points in curves)]
    difference = (heights[0] - heights[1]) / heights.mean(axis=0)
    return bool(difference.max() > margin and difference.min() < -margin)
