"""The paper's summary metrics of one set of models: areas, costs, optimal costs and what it calls MAE."""

from collections.abc import Container, Iterable, Mapping
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from uccurve import UCC, CurvePoints, Intervals, permutation_test

from .experiment import Cell, Floats
from .store import Arrays

Axes = tuple[Literal["overshoot", "excess", "bandwidth"], Literal["deficit", "miss_rate"]]
ED: Axes = ("overshoot", "deficit")
BM: Axes = ("bandwidth", "miss_rate")
PRINTED: Axes = ("excess", "deficit")
COST_FACTOR = 0.1
FLOOR = "5%"
SIGNIFICANT, RESAMPLES = 0.01, 1999

SUMMARY = "Summary metrics"
GAINS = "Gains over the constant band, %"
EXCESS = "Excess as the appendix defines it"
REPAIR = "Repaired bands"


def uncrossed(rows: Floats) -> Floats:
    """Return rows of y_true, y_pred, lower and upper with the bounds in order: separate quantile models may cross.

    >>> uncrossed(np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 4.0], [3.0, 3.5]]))[2:]
    array([[0. , 3.5],
           [3. , 4. ]])
    """
    return np.concatenate([rows[:2], np.sort(rows[2:], axis=0)])


def models_of(part: Arrays, names: Iterable[str], period: str, *, floored: Container[str] = ()) -> dict[str, Intervals]:
    """Return intervals by model, the constant band second; bands of the `floored` models are raised to 5%."""
    found = {
        name: Intervals.from_bounds(*uncrossed(part[f"{period} {name}"]), min_band=FLOOR if name in floored else None)
        for name in names
    }
    return with_constant(found)


def with_constant(models: Mapping[str, Intervals]) -> dict[str, Intervals]:
    """Return the models with the constant band in second place."""
    (first, iv), *rest = models.items()
    return {first: iv, "Constant": flat(iv), **dict(rest)}


def flat(iv: Intervals) -> Intervals:
    """Return the constant band with half-width 1, so that a scale tuned on one set means the same width on another."""
    return Intervals.from_bands(iv.y_true, iv.y_pred, np.ones_like(iv.y_pred))


def beside_constants(models: Mapping[str, Intervals]) -> dict[str, Intervals]:
    """Return models with predictions of their own, each followed by the constant band around these."""
    return {key: one for name, iv in models.items() for key, one in ((name, iv), (constant(name), iv.constant()))}


def constant(name: str) -> str:
    """Return what the constant band around a model's predictions is called."""
    return f"Constant ({name})"


def tuned(held_out: Mapping[str, Intervals], axes: Axes, unit: float) -> dict[str, float]:
    """Return the scale with the lowest cost on the held-out rows, by model."""
    return {n: UCC(iv).cheapest(COST_FACTOR, axes=axes, unit=unit).scale for n, iv in held_out.items()}


def costs(curve: UCC, name: str, axes: Axes, scale: float, unit: float) -> dict[str, float]:
    """Return area, cost at the tuned scale and minimum cost on one pair of axes."""
    return {
        f"{name} area": curve.area(axes=axes, unit=unit),
        f"{name} cost": curve.cost(COST_FACTOR, axes=axes, at=scale, unit=unit),
        f"{name} optimal cost": curve.cheapest(COST_FACTOR, axes=axes, unit=unit).cost or 0.0,
    }


def absolute_error(curve: UCC, scale: float) -> float:
    """Return the mean of |error - scaled band| on the error's side (the paper's MAE): overshoot plus deficit."""
    point = curve.at(scale)
    return point.overshoot + point.deficit


def squared_error(iv: Intervals, scale: float) -> float:
    """Return the mean of (error - scaled band)^2 on the error's side: the nearest to the paper's MAE of real data."""
    error = iv.y_true - iv.y_pred
    active = np.where(error >= 0, iv.upper_band, iv.lower_band)
    return float(np.mean((np.abs(error) - scale * active) ** 2))


def summary_cells(
    test: Mapping[str, Intervals], scales: Mapping[str, float], *, unit: float, error: Literal["absolute", "squared"]
) -> dict[Cell, float]:
    """Return every number of a summary table, the gains, the excess as printed, and what the repair of bands did."""
    cells: dict[Cell, float] = {}
    for name, iv in test.items():
        curve, scale = UCC(iv), scales[name]
        best = curve.cheapest(COST_FACTOR, axes=ED, unit=unit).scale
        mae = absolute_error(curve, best) if error == "absolute" else squared_error(iv, scale)
        row = {**costs(curve, "ED", ED, scale, unit), **costs(curve, "BM", BM, scale, unit), "MAE": mae}
        printed = costs(curve, "ED", PRINTED, scale, unit)
        cells |= {(SUMMARY, name, measure): value for measure, value in row.items()}
        cells |= {(EXCESS, name, measure.replace("ED ", "")): value for measure, value in printed.items()}
        cells[REPAIR, name, "bands raised, %"] = 50.0 * iv.raised / len(iv)
        cells[REPAIR, name, "rows that carry half of the BM area, %"] = 100.0 * curve.concentration() / len(iv)
        if name != "Constant":
            cells |= {(GAINS, name, kind): 100 * curve.gain(axes=axes) for kind, axes in (("ED", ED), ("BM", BM))}
    return cells


def all_differ(models: Mapping[str, Intervals], *, axes: Axes, seed: int, **options: Any) -> bool:
    """Return whether each pair's areas differ at p < 0.01 by the paired permutation test."""
    tests = (
        permutation_test(a, b, axes=axes, n_resamples=RESAMPLES, seed=seed, **options)
        for a, b in combinations(models.values(), 2)
    )
    return all(test.pvalue < SIGNIFICANT for test in tests)


def ranked(cells: Mapping[Cell, float], measure: str, *names: str) -> bool:
    """Return whether the named models' values rise in the given order."""
    return all(a < b for a, b in pairwise(cells[SUMMARY, name, measure] for name in names))


def smallest(cells: Mapping[Cell, float], measure: str, name: str, others: Iterable[str]) -> bool:
    """Return whether a model's value is below that of all others."""
    return all(ranked(cells, measure, name, other) for other in others if other != name)


def crossing(a: Intervals, b: Intervals, *, axes: Axes, margin: float = 0.03, floor: float = 0.05) -> bool:
    """Return whether each curve is clearly below the other somewhere: by more than `margin` of their height there.

    Heights below `floor` of the start are left out: at the very end some pair of rows always crosses.
    """
    first, second = (UCC(iv).points(axes=axes) for iv in (a, b))
    x = np.linspace(0.0, max(first.x[-1], second.x[-1]), 20_000)
    heights = np.stack([height(points, x, step=axes[1] == "miss_rate") for points in (first, second)])
    heights = heights[:, heights.min(axis=0) > floor * max(first.y[0], second.y[0])]
    difference = (heights[0] - heights[1]) / heights.mean(axis=0)
    return bool(difference.max() > margin and difference.min() < -margin)


def height(points: CurvePoints, x: Floats, *, step: bool) -> Floats:
    """Return the curve's y at each x: that of the last vertex for a miss rate, else on the line between two."""
    if step:
        return np.asarray(points.y[np.searchsorted(points.x, x, side="right") - 1])
    return np.asarray(np.interp(x, points.x, points.y))
