"""Intervals of the experiments' models, and what the paper's tables say of them: areas, costs, "MAE", and claims."""

from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from uccurve import UCC, Intervals, permutation_test

from .experiment import Arrays, Cells, Floats, Models, row

Axes = tuple[Literal["overshoot", "excess", "bandwidth"], Literal["deficit", "miss_rate"]]
ED: Axes = ("overshoot", "deficit")
BM: Axes = ("bandwidth", "miss_rate")
PRINTED: Axes = ("excess", "deficit")
# Our models and the axes whose area they minimise; for symmetric bands the second area also decides the ED area.
OURS: dict[str, Any] = {
    "Ours (BM)": ("bandwidth", "miss_rate"),
    "Ours (ED)": ("bandwidth", "deficit"),
}
PERFECT = "Eps-Perfect"
FLOOR = "5%"
COST_FACTOR = 0.1
SIGNIFICANT, RESAMPLES = 0.01, 1999

SUMMARY = "Summary metrics"
GAINS = "Gains over the constant band, %"
EXCESS = "Excess as the appendix defines it"
REPAIR = "Repaired bands"


# ---- intervals


def banded(rows: Any, half: Floats) -> Floats:
    """Return symmetric intervals around rows of y_true and y_pred, as parts keep them: also of lower and upper."""
    y_true, y_pred, *_ = rows
    return np.stack([y_true, y_pred, y_pred - half, y_pred + half])


def repaired(rows: Floats, floor: str | None = FLOOR) -> Intervals:
    """Return intervals with bands of at least a share of the mean half-width; bounds that cross change places.

    >>> repaired(np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 4.0], [3.0, 0.5]])).upper
    array([3., 4.])
    """
    bounds = np.sort(rows[2:], axis=0)  # separate quantile models may cross
    return Intervals.from_bounds(*rows[:2], *bounds, min_band=floor)


def flat(iv: Intervals) -> Intervals:
    """Return the constant band with half-width 1, so that a scale tuned on one set means the same width on another."""
    return Intervals.from_bands(iv.y_true, iv.y_pred, np.ones_like(iv.y_pred))


def with_constant(models: Models) -> Models:
    """Return the models with the constant band in second place."""
    (first, iv), *rest = models.items()
    return {first: iv, "Constant": flat(iv), **dict(rest)}


def beside_constants(models: Models) -> Models:
    """Return models with predictions of their own, each followed by the constant band around these."""
    return {
        k: one
        for n, iv in models.items()
        for k, one in ((n, iv), (f"Constant ({n})", iv.constant()))
    }


def models_of(part: Arrays, names: Iterable[str], period: str) -> Models:
    """Return repaired intervals by model, the constant band second; perfect bands and ours are left as they are."""
    floors = dict.fromkeys((PERFECT, *OURS))
    return with_constant(
        {name: repaired(part[f"{period} {name}"], floors.get(name, FLOOR)) for name in names}
    )


# ---- summary metrics


def tuned(held_out: Models, axes: Axes, unit: float = 1.0) -> dict[str, float]:
    """Return the scale with the lowest cost on the held-out rows, by model."""
    return {
        n: UCC(iv).cheapest(COST_FACTOR, axes=axes, unit=unit).scale for n, iv in held_out.items()
    }


def costs(curve: UCC, axes: Axes, scale: float, unit: float = 1.0) -> dict[str, float]:
    """Return area, cost at the tuned scale and minimum cost on one pair of axes."""
    return {
        "area": curve.area(axes=axes, unit=unit),
        "cost": curve.cost(COST_FACTOR, axes=axes, at=scale, unit=unit),
        "optimal cost": curve.cheapest(COST_FACTOR, axes=axes, unit=unit).cost or 0.0,
    }


def calibrated_by_fold(
    rows: Mapping[str, Floats], fold: Mapping[str, Floats], unit: float
) -> Intervals:
    """Return test intervals with the scale or shift of each fold that is cheapest on its held-out rows."""
    found = []
    for number in np.unique(fold["test"]):
        held_out, test = (
            repaired(rows[period][:, fold[period] == number]) for period in ("held out", "test")
        )
        points = [
            UCC(held_out, vary=vary).cheapest(COST_FACTOR, axes=ED, unit=unit)
            for vary in ("scale", "shift")
        ]
        best = min(points, key=lambda point: point.cost or 0.0)
        found.append(test.calibrated(scale=best.scale, shift=best.shift))
    whole = Intervals.join(found)
    return Intervals.from_bands(
        whole.y_true, whole.y_pred, whole.lower_band, whole.upper_band, min_band=FLOOR
    )


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


def summary(test: Models, scales: Mapping[str, float], unit: float | None = None) -> Cells:
    """Return every number of a summary table, the gains, the excess as printed, and what the repair of bands did.

    Real data have a unit, and their "MAE" is the squared error; else it is taken at the best scale of the test rows.
    """
    cells = Cells()
    for name, iv in test.items():
        curve, scale = UCC(iv), scales[name]
        for kind, axes in (("ED", ED), ("BM", BM)):
            cells |= row(
                SUMMARY,
                name,
                {f"{kind} {m}": v for m, v in costs(curve, axes, scale, unit or 1.0).items()},
            )
        best = curve.cheapest(COST_FACTOR, axes=ED).scale
        cells[SUMMARY, name, "MAE"] = (
            squared_error(curve, scale) if unit else absolute_error(curve, best)
        )
        cells |= row(EXCESS, name, costs(curve, PRINTED, scale, unit or 1.0))
        cells[REPAIR, name, "bands raised, %"] = 50.0 * iv.raised / len(iv)
        cells[REPAIR, name, "rows that carry half of the BM area, %"] = (
            100.0 * curve.concentration() / len(iv)
        )
        if name != "Constant":
            cells |= row(
                GAINS, name, {"ED": 100 * curve.gain(axes=ED), "BM": 100 * curve.gain(axes=BM)}
            )
    return cells


# ---- claims


def ranked(cells: Cells, measure: str, *names: str) -> bool:
    """Return whether the named models' values rise in the given order."""
    return all(a < b for a, b in pairwise(cells[SUMMARY, name, measure] for name in names))


def smallest(cells: Cells, measure: str, name: str, others: Iterable[str]) -> bool:
    """Return whether a model's value is below that of all others."""
    return all(ranked(cells, measure, name, other) for other in others if other != name)


def all_differ(models: Models, *, axes: Axes, seed: int, **options: Any) -> bool:
    """Return whether each pair's areas differ at p < 0.01 by the paired permutation test."""
    options |= {"axes": axes, "n_resamples": RESAMPLES, "seed": seed}
    return all(
        permutation_test(a, b, **options).pvalue < SIGNIFICANT
        for a, b in combinations(models.values(), 2)
    )


def crossing(
    a: Intervals, b: Intervals, *, axes: Axes, margin: float = 0.03, floor: float = 0.05
) -> bool:
    """Return whether each curve is clearly below the other somewhere: by more than `margin` of their height there.

    Heights below `floor` of the start are left out: at the very end some pair of rows always crosses.
    """
    curves = [UCC(iv).points(axes=axes) for iv in (a, b)]
    x = np.linspace(0.0, max(points.x[-1] for points in curves), 20_000)
    if axes[1] == "miss_rate":  # it keeps the value of the last vertex
        heights = np.stack(
            [points.y[np.searchsorted(points.x, x, side="right") - 1] for points in curves]
        )
    else:
        heights = np.stack([np.interp(x, points.x, points.y) for points in curves])
    heights = heights[:, heights.min(axis=0) > floor * max(points.y[0] for points in curves)]
    difference = (heights[0] - heights[1]) / heights.mean(axis=0)
    return bool(difference.max() > margin and difference.min() < -margin)
