"""Resampled: bootstrap intervals in a model's row, for those who ask for them."""

from dataclasses import replace
from math import isfinite
from typing import Literal

from uccurve._vocabulary import HEADLINE, SUMMARY, Axes, Range
from uccurve.assess.memory import RowsSource
from uccurve.assess.rows import axes_name
from uccurve.points import Estimate, Move
from uccurve.resampling.bootstrap import bootstrap
from uccurve.results import ModelRow


def resampled_row(row: ModelRow, source: RowsSource) -> ModelRow:
    """Return the row with bootstrap intervals in place of those by influence."""
    settings = source.settings
    asked = settings.shown_coverage
    gains = dict(row.gains)
    for axes in SUMMARY:
        name = axes_name(axes)
        gains[name] = _resampled(gains[name], source, "gain", axes=axes)
    partial = row.partial_gain
    if partial is not None:
        partial = _resampled(
            partial, source, "gain", axes=settings.axes, miss_rate=settings.partial
        )
    move = _resampled(row.move.estimate, source, "scale", coverage=asked)
    return replace(
        row,
        move=Move(row.move.kind, move),
        half_width=_resampled(row.half_width, source, "half_width", coverage=asked),
        crps_skill=_resampled(row.crps_skill, source, "skill"),
        gains=gains,
        partial_gain=partial,
    )


def _resampled(
    estimate: Estimate,
    source: RowsSource,
    statistic: Literal["gain", "skill", "scale", "half_width"],
    *,
    axes: Axes = HEADLINE,
    miss_rate: Range | None = None,
    coverage: float | None = None,
) -> Estimate:
    """Return an estimate with its bootstrap interval; as it is where it is not finite."""
    settings = source.settings
    if not isfinite(estimate.value) or settings.n_resamples is None:
        return estimate
    interval = bootstrap(
        source.curve,
        statistic=statistic,
        axes=axes,
        miss_rate=miss_rate,
        coverage=coverage,
        unit=settings.unit,
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
        block=source.units,
        progress=False,
    )
    return Estimate(estimate.value, interval.low, interval.high)
