"""Resampled: bootstrap intervals in a model's row, for those who ask for them."""

from dataclasses import replace
from math import isfinite
from typing import Literal

from uccurve._vocabulary import HEADLINE, SUMMARY, Axes, Range
from uccurve.assess.memory import RowsSource
from uccurve.assess.rows import axes_name
from uccurve.estimate import Estimate, Move
from uccurve.resampling.bootstrap import bootstrap
from uccurve.results import ModelRow


def resampled_row(row: ModelRow, source: RowsSource) -> ModelRow:
    """Return the row with bootstrap intervals in place of those by influence."""
    gains = {axes_name(axes): _gain(row.gains[axes_name(axes)], source, axes) for axes in SUMMARY}
    partial = row.partial_gain
    if partial is not None:
        partial = _gain(partial, source, source.settings.axes, source.settings.partial)
    return replace(
        row,
        move=Move(row.move.kind, _at_coverage(row.move.estimate, source, "scale")),
        half_width=_at_coverage(row.half_width, source, "half_width"),
        crps_skill=_resampled(row.crps_skill, source, "skill", HEADLINE, None, None),
        gains=gains,
        partial_gain=partial,
    )


def _gain(
    estimate: Estimate, source: RowsSource, axes: Axes, miss_rate: Range | None = None
) -> Estimate:
    return _resampled(estimate, source, "gain", axes, miss_rate, None)


def _at_coverage(
    estimate: Estimate, source: RowsSource, statistic: Literal["scale", "half_width"]
) -> Estimate:
    return _resampled(estimate, source, statistic, HEADLINE, None, source.settings.shown_coverage)


def _resampled(
    estimate: Estimate,
    source: RowsSource,
    statistic: Literal["gain", "skill", "scale", "half_width"],
    axes: Axes,
    miss_rate: Range | None,
    coverage: float | None,
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
