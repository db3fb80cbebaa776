"""Intervals of the experiments' models: as parts keep them, crossing and tiny bands repaired, and constant ones."""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from uccurve import Intervals

from .experiment import Parts
from .findings import Floats, Models
from .store import Arrays

Axes = tuple[Literal["overshoot", "excess", "bandwidth"], Literal["deficit", "miss_rate"]]
ED: Axes = ("overshoot", "deficit")
BM: Axes = ("bandwidth", "miss_rate")
OURS: dict[str, Any] = {"Ours (BM)": ("bandwidth", "miss_rate"), "Ours (ED)": ("bandwidth", "deficit")}
"""Our models and the axes whose area they minimise; for symmetric bands the second area also decides the ED area."""
PERFECT = "Eps-Perfect"
FLOOR = "5%"


def banded(y_true: Floats, y_pred: Floats, half: Floats) -> Floats:
    """Return symmetric intervals as parts keep them: rows of y_true, y_pred, lower and upper."""
    return np.stack([y_true, y_pred, y_pred - half, y_pred + half])


def uncrossed(rows: Floats) -> Floats:
    """Return rows of y_true, y_pred, lower and upper with the bounds in order: separate quantile models may cross.

    >>> uncrossed(np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 4.0], [3.0, 3.5]]))[2:]
    array([[0. , 3.5],
           [3. , 4. ]])
    """
    return np.concatenate([rows[:2], np.sort(rows[2:], axis=0)])


def repaired(rows: Floats, floor: str | None = FLOOR) -> Intervals:
    """Return intervals with their bounds in order and bands of at least a share of the mean half-width."""
    return Intervals.from_bounds(*uncrossed(rows), min_band=floor)


def models_of(part: Arrays, names: Iterable[str], period: str) -> Models:
    """Return repaired intervals by model, the constant band second; a perfect band is left as it is."""
    return with_constant({n: repaired(part[f"{period} {n}"], None if n == PERFECT else FLOOR) for n in names})


def all_models(parts: Parts, names: Iterable[str], period: str) -> Models:
    """Return the paper's models and ours around the same prediction."""
    found = models_of(parts["intervals"], names, period)
    y_true, y_pred = found["GBR"].y_true, found["GBR"].y_pred
    bands = {name: parts["area bands"][f"{period} {name}"].ravel() for name in OURS}
    return found | {name: Intervals.from_bands(y_true, y_pred, band) for name, band in bands.items()}


def with_constant(models: Models) -> Models:
    """Return the models with the constant band in second place."""
    (first, iv), *rest = models.items()
    return {first: iv, "Constant": flat(iv), **dict(rest)}


def flat(iv: Intervals) -> Intervals:
    """Return the constant band with half-width 1, so that a scale tuned on one set means the same width on another."""
    return Intervals.from_bands(iv.y_true, iv.y_pred, np.ones_like(iv.y_pred))


def beside_constants(models: Models) -> Models:
    """Return models with predictions of their own, each followed by the constant band around these."""
    return {k: one for n, iv in models.items() for k, one in ((n, iv), (f"Constant ({n})", iv.constant()))}
