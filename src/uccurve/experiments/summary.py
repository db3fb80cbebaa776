"""The paper's summary metrics of one set of models: areas, costs, optimal costs and what it calls MAE."""

from collections.abc import Container, Iterable, Mapping
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from uccurve import UCC, CurvePoints, Intervals

from .experiment import Cell
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
MEASURES = ("ED area", "ED cost", "ED optimal cost", "BM area", "BM cost", "BM optimal cost", "MAE")


def uncrossed(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Rows of y_true, y_pred, lower and upper with the bounds in order: separate quantile models may cross.

    >>> uncrossed(np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 4.0], [3.0, 3.5]]))[2:]
    array([[0. , 3.5],
           [3. , 4. ]])
    """
    return np.concatenate([rows[:2], np.sort(rows[2:], axis=0)])


def models_of(part: Arrays, names: Iterable[str], period: str, *, floored: Container[str] = ()) -> dict[str, Intervals]:
    """Intervals by model with the constant band in second place; bands of the `floored` models are raised to 5 %."""
    found = {
        name: Intervals.from_bounds(*uncrossed(part[f"{period} {name}"]), min_band=FLOOR if name in floored else None)
        for name in names
    }
    first, *rest = found
    return {first: found[first], "Constant": flat(found[first]), **{name: found[name] for name in rest}}


def flat(iv: Intervals) -> Intervals:
    """The constant band with half-width 1, so that a scale tuned on one set means the same width on another."""
    return Intervals.from_bands(iv.y_true, iv.y_pred, np.ones_like(iv.y_pred))


def tuned(held_out: Mapping[str, Intervals], axes: Axes, unit: float) -> dict[str, float]:
    """The scale of least cost on the held-out rows, by model."""
    return {n: UCC(iv).cheapest(COST_FACTOR, axes=axes, unit=unit).scale for n, iv in held_out.items()}


def costs(curve: UCC, name: str, axes: Axes, scale: float, unit: float) -> dict[str, float]:
    """Area, cost at the tuned scale and least cost on one pair of axes."""
    return {
        f"{name} area": curve.area(axes=axes, unit=unit),
        f"{name} cost": curve.cost(COST_FACTOR, axes=axes, at=scale, unit=unit),
        f"{name} optimal cost": curve.cheapest(COST_FACTOR, axes=axes, unit=unit).cost or 0.0,
    }


def absolute_error(curve: UCC, scale: float) -> float:
    """Mean |error - scaled band| on the error's side (the paper's remark on MAE): overshoot plus deficit."""
    point = curve.at(scale)
    return point.overshoot + point.deficit


def squared_error(iv: Intervals, scale: float) -> float:
    """Mean (error - scaled band)^2 on the error's side: what the paper's MAE columns of real data come nearest to."""
    error = iv.y_true - iv.y_pred
    active = np.where(error >= 0, iv.upper_band, iv.lower_band)
    return float(np.mean((np.abs(error) - scale * active) ** 2))


def summary_cells(
    test: Mapping[str, Intervals], scales: Mapping[str, float], *, unit: float, error: Literal["absolute", "squared"]
) -> dict[Cell, float]:
    """Every number of a summary table, the gains, the excess as printed, and what the repair of bands did."""
    cells: dict[Cell, float] = {}
    for name, iv in test.items():
        curve = UCC(iv)
        best = curve.cheapest(COST_FACTOR, axes=ED, unit=unit).scale
        mae = absolute_error(curve, best) if error == "absolute" else squared_error(iv, scales[name])
        row = {**costs(curve, "ED", ED, scales[name], unit), **costs(curve, "BM", BM, scales[name], unit), "MAE": mae}
        cells |= {(SUMMARY, name, measure): value for measure, value in row.items()}
        cells |= {
            (EXCESS, name, m.replace("ED ", "")): v for m, v in costs(curve, "ED", PRINTED, scales[name], unit).items()
        }
        cells[REPAIR, name, "bands raised, %"] = 50.0 * iv.raised / len(iv)
        cells[REPAIR, name, "rows that carry half of the BM area, %"] = 100.0 * curve.concentration() / len(iv)
        if name != "Constant":
            cells |= {
                (GAINS, name, axes_name): 100 * curve.gain(axes=axes) for axes_name, axes in (("ED", ED), ("BM", BM))
            }
    return cells


def published(table: Mapping[str, tuple[float, ...]]) -> dict[Cell, float]:
    """The paper's summary table, and the gains and excess columns that follow from it."""
    cells = {(SUMMARY, n, m): v for n, row in table.items() for m, v in zip(MEASURES, row, strict=True)}
    for name, row in table.items():
        cells |= {(EXCESS, name, column): row[place] for place, column in enumerate(("area", "cost", "optimal cost"))}
        if name != "Constant":
            gains = {kind: 1 - row[place] / table["Constant"][place] for kind, place in (("ED", 0), ("BM", 3))}
            cells |= {(GAINS, name, kind): 100 * gain for kind, gain in gains.items()}
    return cells


def all_differ(models: Mapping[str, Intervals], *, axes: Axes, seed: int, **options: Any) -> bool:
    """Whether each pair's areas differ at p < 0.01 by the paired permutation test."""
    from uccurve import permutation_test

    tests = (
        permutation_test(a, b, axes=axes, n_resamples=RESAMPLES, seed=seed, **options)
        for a, b in combinations(models.values(), 2)
    )
    return all(test.pvalue < SIGNIFICANT for test in tests)


def ranked(cells: Mapping[Cell, float], measure: str, *names: str, table: str = SUMMARY) -> bool:
    """Whether the named models' values rise in the given order."""
    values = [cells[table, name, measure] for name in names]
    return all(a < b for a, b in pairwise(values))


def crossing(a: Intervals, b: Intervals, *, axes: Axes, margin: float = 0.03, floor: float = 0.05) -> bool:
    """Whether each curve is clearly below the other somewhere: by more than `margin` of their height there.

    Heights below `floor` of the start are left out: at the very end some pair of rows always crosses.
    """
    first, second = (UCC(iv).points(axes=axes) for iv in (a, b))
    x = np.linspace(0.0, max(first.x[-1], second.x[-1]), 20_000)
    heights = np.stack([height(points, x, step=axes[1] == "miss_rate") for points in (first, second)])
    heights = heights[:, heights.min(axis=0) > floor * max(first.y[0], second.y[0])]
    difference = (heights[0] - heights[1]) / heights.mean(axis=0)
    return bool(difference.max() > margin and difference.min() < -margin)


def height(points: CurvePoints, x: np.ndarray[Any, Any], *, step: bool) -> np.ndarray[Any, Any]:
    """The curve's y at each x: of the last vertex before it for a miss rate, on the line between two otherwise."""
    if step:
        return np.asarray(points.y[np.searchsorted(points.x, x, side="right") - 1])
    return np.asarray(np.interp(x, points.x, points.y))
