"""Assess: one call that says which model's intervals to ship, at what scale, how sure that is, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Array, Axes, Range, Unit
from uccurve._paths import Path
from uccurve._progress import Progress, watched
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._blocks import Blocks, generator, positive
from ._evidence import holm, interval, paired_t_test
from ._influence import weights
from ._model import Model
from ._models import curves_by_name
from .bootstrap import bootstrap
from .crossings import Crossings, crossings
from .results import Assessment, AssessmentSettings, Comparison, ModelRow
from .segments import assessed_segments, segment_rows
from .verdict import verdict

Models = Intervals | UCC | Mapping[Any, Any]
SHOWN = 0.9
"""Coverage that scales and half-widths are shown for where none was asked for."""
KEPT_ROWS = 1_000_000
"""Rows of all models together up to which sorted curves are kept in memory between crossings."""


def assess(
    models: Models,
    *,
    coverage: float | None = None,
    by: Any = None,
    bins: int = 4,
    rows: Sequence[Any] | None = None,
    block: int | npt.ArrayLike | None = None,
    axes: Axes = HEADLINE,
    partial: Range | None = None,
    c: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    seed: int | None = 0,
    progress: Progress = None,
) -> Assessment:
    """Assess the intervals of one model, or decide between several.

    Parameters
    ----------
    models : Intervals, UCC, or mapping from names to models
        A model is Intervals, a `UCC` of any path, a mapping from level to Intervals, or a list of these for the folds
        of a cross-validation or repeated runs, which are joined. All models must have the same rows.
    coverage : float, optional
        Coverage that the intervals promise, such as 0.9: models are ranked by their interval score at this coverage,
        and told whether they keep it. Without it they are ranked by their potential CRPS.
    by : array_like or mapping, optional
        One label or number per row (of the joined folds), to assess segments of the rows too; a mapping has several
        features by name.
    bins : int
        Number of equal-count bins into which a numeric feature is cut.
    rows : list of array_like, optional
        Names of the rows of each fold where rows come more than once: a row's repetitions form one block. Without it,
        folds with the same ``y_true`` in the same order are treated as runs over the same rows.
    block : int or array_like, optional
        Dependent rows: a number of consecutive rows (time series), or one label per row (groups, repeated measures).
    axes : tuple of str
        For crossings, concentration, partial gain and cost.
    partial : tuple of float, optional
        Range of the miss rate for a partial gain.
    c : float, optional
        Weight of the first axis in a cost.
    unit : {"raw", "std"} or float
    confidence_level : float
    n_resamples : int, optional
        Bootstrap intervals with this many resamples instead of those by influence.
    seed : int, optional
        For these resamples; nothing else is random.
    progress : bool or callable, optional
        A progress bar; by default at a terminal.

    Returns
    -------
    Assessment

    Notes
    -----
    Intervals and tests come from the influence of each row, which needs one sort per model: t quantiles on the log
    scale with one degree of freedom less than there are blocks. Pairs are compared by the paired t test of what ranks
    the models, segments by one-sided tests; both are adjusted by Holm's method. The interval of a coverage is that of
    Clopper and Pearson for the effective number of rows (Korn and Graubard 1998).

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> a = assess({"sharp": sharp, "flat": sharp.constant()}, coverage=0.5)
    >>> [row.name for row in a.ranking], a.verdict.model, round(a.verdict.scale, 2)
    (['sharp', 'flat'], 'sharp', 1.03)
    """
    alpha = checks.miss_rate_of(SHOWN if coverage is None else coverage)
    curves, repeated = curves_by_name(models, rows)
    first = next(iter(curves.values()))
    blocks = Blocks.of(first.intervals, block, row_ids=repeated)
    settings = AssessmentSettings(
        coverage=None if coverage is None else float(1 - alpha),
        axes=checks.axes(axes),
        partial=None if partial is None else checks.span("partial", partial),
        c=None if c is None else checks.real("c", c, 0, 1),
        unit=unit,
        confidence_level=_confidence(confidence_level),
        n_resamples=None if n_resamples is None else positive("n_resamples", n_resamples),
        seed=seed,
        block=_described(blocks, block),
        ranked_by="crps" if coverage is None else "score",
        shown_coverage=float(1 - alpha),
    )
    generator(seed)
    job = _Job(settings, curves, alpha, (blocks, block), first._unit(unit))
    with watched(progress, "assessment") as tick:
        return job.assessment(by, bins, tick)


def _confidence(level: float) -> float:
    if not 0 < checks.real("confidence_level", level) < 1:
        raise ValueError(
            f"`confidence_level` must lie between 0 and 1, both excluded; got {level:g}. Hint: 95% is 0.95."
        )
    return float(level)


def _described(blocks: Blocks, block: Any) -> str | None:
    if blocks.independent:
        return None
    return f"blocks of {block} rows" if block is not None and np.ndim(block) == 0 else f"{blocks.count} blocks"


class _Job:
    """One assessment: what was asked, of which models."""

    def __init__(
        self,
        settings: AssessmentSettings,
        curves: Mapping[str, UCC],
        alpha: Fraction,
        dependence: tuple[Blocks, Any],
        unit: float,
    ) -> None:
        self._settings, self._curves, self._alpha, self._unit = settings, curves, alpha, unit
        self._blocks, self._block = dependence
        first, *others = (curve.intervals.y_pred for curve in curves.values())
        self._comparable = all(np.array_equal(one, first) for one in others)

    def assessment(self, by: Any, bins: int, tick: Any) -> Assessment:
        rows, ranking, segments, notes = [], {}, [], list(self._notes())
        parts = [] if by is None else segment_rows(by, self._blocks, bins)
        for i, (name, curve) in enumerate(self._curves.items()):
            model = Model(name, curve, self._alpha, self._blocks, self._settings.confidence_level)
            segments += assessed_segments(model, parts, self._settings, self._unit)
            rows.append(self._row(model))
            notes += _model_notes(model, rows[-1], self._settings)
            ranking[name] = model.score_rows if self._settings.ranked_by == "score" else model.crps_rows
            if tick is not None:
                tick(i + 1, len(self._curves))
        rows = self._ranked(rows)
        comparisons = self._comparisons(rows, ranking)
        rows = [replace(row, pvalue=_against_the_best(row, rows, comparisons)) for row in rows]
        found = self._crossings()
        return Assessment(
            rows=tuple(rows),
            comparisons=tuple(comparisons),
            crossings=tuple(found),
            segments=tuple(segments),
            notes=tuple(dict.fromkeys(notes)),
            settings=self._settings,
            verdict=verdict(rows, self._settings, comparisons=comparisons, segments=segments, crossings=found),
            curves=self._curves,
            comparable=self._comparable,
        )

    def _row(self, model: Model) -> ModelRow:
        settings, unit = self._settings, self._unit
        fields: dict[str, Any] = {
            **model.coverage(),
            **model.calibration(unit),
            **model.scores(unit),
            **model.metrics(unit),
            **model.areas(unit),
        }
        fields["promise"] = None if settings.coverage is None else _promise(fields, settings.coverage)
        if settings.partial is not None:
            gain = model.curve.gain(axes=settings.axes, unit=settings.unit, miss_rate=settings.partial)
            fields |= {"partial_gain": gain, "partial_gain_low": nan, "partial_gain_high": nan}
        if settings.c is not None:
            fields |= _costs(model.curve, settings)
        if settings.n_resamples is not None:
            fields |= self._resampled(model.curve, fields)
        return ModelRow(
            name=model.name,
            rank=0,
            n=len(model.delivered),
            pvalue=nan,
            decomposition=model.decomposition(unit),
            concentration=model.concentration(settings.axes),
            level=model.level,
            **fields,
        )

    def _resampled(self, curve: UCC, fields: Mapping[str, float]) -> dict[str, float]:
        """Bootstrap intervals in place of those by influence."""
        settings = self._settings
        asked: dict[str, dict[str, Any]] = {
            name: {"statistic": name, "coverage": settings.shown_coverage} for name in ("score", "half_width", "scale")
        }
        asked["skill"] = {"statistic": "skill"}
        for axes in checks.SUMMARY:
            asked[f"gain_{'_'.join(axes)}"] = {"statistic": "gain", "axes": axes}
        if settings.partial is not None:
            asked["partial_gain"] = {"statistic": "gain", "axes": settings.axes, "miss_rate": settings.partial}
        out: dict[str, float] = {}
        for name, options in asked.items():
            if np.isfinite(fields[name]):
                found = bootstrap(
                    curve._delivered_curve(1 - self._alpha) if "coverage" in options else curve,
                    **options,
                    unit=settings.unit,
                    confidence_level=settings.confidence_level,
                    n_resamples=settings.n_resamples or 0,
                    seed=settings.seed,
                    block=self._block,
                    progress=False,
                )
                out |= {f"{name}_low": found.low, f"{name}_high": found.high}
        return out

    def _ranked(self, rows: Sequence[ModelRow]) -> list[ModelRow]:
        """Rank by what ranks; values that differ by rounding alone keep the order given."""
        values = [getattr(row, self._settings.ranked_by) for row in rows]
        size = max((abs(value) for value in values if np.isfinite(value)), default=1.0) or 1.0
        order = sorted(
            range(len(rows)), key=lambda i: round(values[i] / size, 12) if values[i] == values[i] else np.inf
        )
        ranks = {place: rank for rank, place in enumerate(order, 1)}
        return [replace(row, rank=ranks[i]) for i, row in enumerate(rows)]

    def _comparisons(self, rows: Sequence[ModelRow], ranking: Mapping[str, Array]) -> list[Comparison]:
        pairs = list(combinations([row.name for row in rows], 2))
        found = [self._compared(first, second, ranking) for first, second in pairs]
        adjusted = holm([one.pvalue for one in found])
        level = 1 - self._settings.confidence_level
        return [
            replace(
                one, pvalue_holm=p, better=(one.first if one.difference < 0 else one.second) if p <= level else None
            )
            for one, p in zip(found, adjusted, strict=True)
        ]

    def _compared(self, first: str, second: str, ranking: Mapping[str, Array]) -> Comparison:
        """Paired t test of the difference of two models' contributions."""
        share = weights(self._curves[first]._path()) if self._weighted else 1 / len(ranking[first])
        change = ranking[first] - ranking[second]
        largest = max(float(np.sum(np.abs(ranking[name]) * share)) for name in (first, second))
        difference = float(np.sum(change * share))
        difference = difference if abs(difference) > 1e-12 * largest else 0.0  # but for rounding the same
        change -= difference
        change *= share
        statistic, size = self._settings.ranked_by, self._unit
        if self._blocks.count < 2:
            return Comparison(first, second, statistic, difference / size, nan, nan, nan, nan, None, ONE_BLOCK)
        low, high = interval(difference, change, self._blocks, self._settings.confidence_level)
        pvalue = paired_t_test(change, difference, self._blocks, size=largest)
        return Comparison(first, second, statistic, difference / size, low / size, high / size, pvalue, pvalue, None)

    @property
    def _weighted(self) -> bool:
        return next(iter(self._curves.values())).intervals._weight is not None

    def _crossings(self) -> list[Crossings]:
        axes = self._settings.axes
        if not self._comparable or axes[0] == axes[1]:
            return []
        found = []
        for (first, a), (second, b) in combinations(self._curves.items(), 2):
            if a.vary == b.vary:
                found.append(crossings(a, b, axes=axes, names=(first, second), unit=self._settings.unit))
                if len(a.intervals) * len(self._curves) > KEPT_ROWS:
                    a._forget_order()
                    b._forget_order()
        return found

    def _notes(self) -> list[str]:
        notes = []
        if not self._comparable:
            notes.append(
                "the models' predictions differ: score and CRPS judge predictions and bands together, skill and gains "
                "the bands alone"
            )
        if self._blocks.count < 2:
            notes.append(ONE_BLOCK)
        return notes


ONE_BLOCK = "all rows form one block, so nothing can be said about chance"


def _promise(fields: Mapping[str, float], coverage: float) -> str:
    if fields["coverage_high"] < coverage:
        return "too narrow"
    return "too wide" if fields["coverage_low"] > coverage else "kept"


def _costs(curve: UCC, settings: AssessmentSettings) -> dict[str, float | None]:
    c = settings.c if settings.c is not None else nan
    best = curve.cheapest(c, axes=settings.axes, unit=settings.unit)
    return {
        "cost": curve.cost(c, axes=settings.axes, unit=settings.unit),
        "cheapest_cost": best.cost,
        "cheapest_scale": best.shift if curve.vary == "shift" else best.scale,
    }


def _against_the_best(row: ModelRow, rows: Sequence[ModelRow], comparisons: Sequence[Comparison]) -> float:
    best = next(one.name for one in rows if one.rank == 1)
    pair = {row.name, best}
    return next((one.pvalue_holm for one in comparisons if {one.first, one.second} == pair), nan)


def _model_notes(model: Model, row: ModelRow, settings: AssessmentSettings) -> list[str]:
    """What a reader must know of one model before trusting its numbers."""
    intervals, notes = model.delivered, []
    if intervals.raised:
        notes.append(f"{row.name}: {intervals.raised} bands were raised by min_band")
    if intervals.dropped:
        notes.append(f"{row.name}: {intervals.dropped} rows with missing values were dropped")
    if np.isinf(model.target.t):
        notes.append(_out_of_reach(model, settings))
    elif not model.path.equally_weighted:
        notes.append(
            f"{row.name}: rows have unequal weights, so the factor is the smallest whose weighted coverage reaches "
            "the target, without the correction for new rows"
        )
    uncoverable = int(np.isinf(model.path.critical).sum())
    if uncoverable:
        notes.append(
            f"{row.name}: {uncoverable} rows have an error on the side of a zero band, which no factor covers; "
            "areas are infinite (min_band raises such bands)"
        )
    elif 0 < row.concentration <= max(1, row.n // 50):
        axes = " vs. ".join(settings.axes[::-1])
        notes.append(f"{row.name}: {row.concentration} of {row.n} rows carry half of the area on {axes}")
    if model.path.vary == "scale" and _asymmetry(model.path) > 0.01:
        notes.append(
            "some bands are asymmetric: the gain on deficit vs. excess can reward asymmetry that carries no "
            "information; score, skill and the gain on deficit vs. bandwidth cannot"
        )
    return notes


def _asymmetry(path: Path) -> float:
    """Mean difference between the two bands, as a share of the mean width."""
    width = path.mean(path.lower_band + path.upper_band)
    return path.mean(np.abs(path.upper_band - path.lower_band)) / width if width > 0 else 0.0


def _out_of_reach(model: Model, settings: AssessmentSettings) -> str:
    share = f"{settings.shown_coverage:.4g}"
    if np.isinf(model.path.critical).any():
        return f"{model.name}: no factor reaches a coverage of {share}; too many errors lie on the side of a zero band"
    return (
        f"{model.name}: {len(model.path)} rows are too few to promise a coverage of {share} for new rows; "
        "no factor is sure to reach it"
    )
