"""Band: how far a whole curve may be off because its rows are a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import FALLING, HEADLINE, Array, Axes, Unit, Vary
from uccurve._progress import Progress, Tick, watched
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.profile import Profile

from .bootstrap import Seed
from .question import Question
from .replicates import Settings
from .resamples import Resamples
from .sweep import Sweep
from .units import Units, positive

Kind = Literal["pointwise", "simultaneous"]
TIE = 1e-12
"""Share of an axis below which two places on it are taken for one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConfidenceBand:
    """Lower and upper ends for y at some places on x, as read-only arrays.

    A pointwise band holds the true curve at any one place with the given confidence; a simultaneous band at all places
    at once.
    """

    axes: Axes
    x: Array
    y: Array
    low: Array
    high: Array
    kind: Kind
    confidence_level: float

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return (
            f"ConfidenceBand({self.kind}, {self.confidence_level * 100:g} %, {'/'.join(self.axes)}, "
            f"{len(self)} places, mean width {np.mean(self.high - self.low):.4g})"
        )


def confidence_band(
    intervals: Intervals,
    *,
    axes: Axes = HEADLINE,
    vary: Vary = "scale",
    unit: Unit = "raw",
    kind: Kind = "pointwise",
    confidence_level: float = 0.95,
    n_points: int = 201,
    n_resamples: int = 999,
    seed: Seed = None,
    block: int | npt.ArrayLike | None = None,
    progress: Progress = None,
) -> ConfidenceBand:
    """Confidence band of the curve, from drawing the rows again with replacement.

    Parameters
    ----------
    intervals : Intervals
    axes, vary, unit
        As in `UCC`.
    kind : {"pointwise", "simultaneous"}
        For any one place on x: percentiles of the resampled curves. For all at once: as many standard errors as the
        largest deviation of a resampled curve has with the given confidence (the sup-t band of Montiel Olea and
        Plagborg-Møller 2019).
    confidence_level : float
    n_points : int
        At how many places at the most; they are spread evenly over the vertices of the curve.
    n_resamples, seed, block, progress
        As in `bootstrap`.

    Returns
    -------
    ConfidenceBand

    Examples
    --------
    >>> iv = Intervals.from_bands([1, 2, 4, 3], y_pred=[0] * 4, lower_band=[1, 1, 4, 2])
    >>> band = confidence_band(iv, seed=0)
    >>> band.x.tolist(), band.y.tolist()
    ([0.0, 2.0, 3.0, 4.0], [1.0, 0.5, 0.25, 0.0])
    >>> bool((band.low <= band.y).all() and (band.y <= band.high).all())
    True
    """
    checks.choice("kind", kind, ("pointwise", "simultaneous"))
    settings = Settings(confidence_level, "percentile", n_resamples)
    if n_resamples < 2:
        raise ValueError(f"`n_resamples` must be at least 2 for a band; got {n_resamples}.")
    question = Question.of(intervals, statistic="area", axes=axes, vary=vary, c=None, alpha=None, unit=unit)
    x, y = _places(intervals, question, positive("n_points", n_points))
    resamples = Resamples(Units.of(intervals, block), n_resamples, np.random.default_rng(seed))
    with watched(progress, "resamples") as tick:
        curves = _curves(intervals, question, x, resamples, tick)
    ends = _pointwise(curves, settings) if kind == "pointwise" else _simultaneous(curves, y, settings)
    limit = 1.0 if question.axes[1] == "miss_rate" else np.inf
    low, high = (np.clip(end, 0, limit) for end in ends)
    for array in (x, y, low, high):
        array.setflags(write=False)
    return ConfidenceBand(question.axes, x, y, low, high, kind, settings.confidence_level)


def _places(intervals: Intervals, question: Question, count: int) -> tuple[Array, Array]:
    """Places on x that are spread evenly over the vertices of the curve, and y there."""
    points = UCC(intervals, vary=question.vary).points(axes=question.axes, unit=question.unit)
    chosen = np.unique(np.linspace(0, len(points) - 1, min(count, len(points))).round().astype(np.intp))
    x, first = np.unique(points.x[chosen], return_index=True)
    last = len(chosen) - 1 - np.unique(points.x[chosen][::-1], return_index=True)[1]
    keep = last if question.axes[0] not in FALLING else first
    return x, points.y[chosen[keep]]


def _curves(
    intervals: Intervals, question: Question, x: Array, resamples: Resamples, tick: Tick | None
) -> npt.NDArray[np.float64]:
    """Return y of each resampled curve (lines) at the places."""
    profile = Profile.of(intervals, question.vary)
    sweep = Sweep(profile, question)
    weight = np.ones((len(profile.error), 1)) if profile.weight is None else profile.weight[:, None]
    out = np.empty((resamples.count, len(x)))
    done = 0
    for batch in resamples.batches(sweep.batch):
        xs, ys = sweep.curves(batch * weight)
        for line_x, line_y in zip(xs, ys, strict=True):
            out[done] = _at(line_x, line_y, x, question.axes)
            done += 1
        if tick:
            tick(done, resamples.count)
    return out


def _at(x: Array, y: Array, places: Array, axes: Axes) -> Array:
    """Return y of one curve at the places; where only rounding keeps x from a place, it is there."""
    slack = TIE * max(x[0], x[-1])
    if axes[0] == "miss_rate":  # the least t that reaches the level
        place = np.searchsorted(-x, -places - slack)
    elif axes[1] != "miss_rate":
        return np.interp(places, x, y) if axes[0] not in FALLING else np.interp(places, x[::-1], y[::-1])
    elif axes[0] in FALLING:
        place = len(x) - 1 - np.searchsorted(x[::-1], places - slack)
    else:
        place = np.searchsorted(x, places + slack, side="right") - 1
    return np.asarray(y[np.clip(place, 0, len(y) - 1)])


def _pointwise(curves: Array, settings: Settings) -> tuple[Array, Array]:
    tail = (1 - settings.confidence_level) / 2
    low, high = np.quantile(curves, (tail, 1 - tail), axis=0)
    return low, high


def _simultaneous(curves: Array, y: Array, settings: Settings) -> tuple[Array, Array]:
    error = curves.std(axis=0, ddof=1)
    deviation = np.abs(curves - y)
    np.divide(deviation, error, out=deviation, where=error > 0)
    reach = np.quantile(np.where(error > 0, deviation, 0).max(axis=1), settings.confidence_level)
    return y - reach * error, y + reach * error
