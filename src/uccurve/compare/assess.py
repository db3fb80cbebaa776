"""Assess: one call that says which model's intervals are better, by how much, whether that is noise, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import FALLING, HEADLINE, Axes, Range, Unit
from uccurve._progress import Progress, Tick, watched
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.profile import Profile

from .assessment import Assessment, AssessmentSettings, Comparison, ModelRow, Segment
from .binomial import clopper_pearson, tail
from .bootstrap import interval_estimates
from .crossings import Crossings, crossings
from .folds import joined, same_rows
from .permutation import permutation_test
from .question import Question, meant_to_miss
from .replicates import Settings
from .segments import Part, holm, parts
from .units import Units, block_length, positive

Models = Intervals | Mapping[str, Intervals | Sequence[Intervals]]
GAINS: tuple[tuple[str, Axes], ...] = (
    ("gain_bandwidth_miss_rate", ("bandwidth", "miss_rate")),
    ("gain_excess_deficit", ("excess", "deficit")),
    ("gain_bandwidth_deficit", ("bandwidth", "deficit")),
)


def assess(
    models: Models,
    *,
    by: Any = None,
    bins: int = 4,
    rows: Sequence[Any] | None = None,
    block: int | npt.ArrayLike | None = None,
    axes: Axes = HEADLINE,
    miss_rate: Range = (0.0, 0.5),
    c: float = 0.1,
    alpha: float | None = None,
    target: float | None = None,
    unit: Unit = "raw",
    confidence_level: float = 0.95,
    n_resamples: int = 1999,
    n_permutations: int = 9999,
    seed: int | None = 0,
    progress: Progress = None,
) -> Assessment:
    """Assess the intervals of one model, or decide between several.

    Parameters
    ----------
    models : Intervals, or mapping of names to Intervals
        Intervals of the same rows. A list of Intervals in place of one holds folds of a cross-validation, or repeated
        runs: they are joined.
    by : array_like or mapping, optional
        Labels or numbers, one a row (of the joined folds), to assess segments of the rows too; a mapping has several
        features by name.
    bins : int
        Into how many bins of equal count a numeric feature is cut.
    rows : list of array_like, optional
        Names of the rows of each fold where rows come more than once. A row's repetitions are swapped and resampled
        together. Without it, folds with the same ``y_true`` in the same order are taken for runs over the same rows.
    block : int or array_like, optional
        Rows that hang together, as in `permutation_test` and `bootstrap`.
    axes : tuple of str
        For the rank, the pairwise tests, the partial gain, costs and crossings.
    miss_rate : tuple of float
        Range for the partial gain.
    c : float
        Weight of the first axis in the cost.
    alpha : float, optional
        Share of observations that the intervals are meant to miss: gives interval scores.
    target : float, optional
        Miss rate that segments are held against; by default `alpha`, or else the model's own miss rate.
    unit : {"raw", "std"} or float
    confidence_level : float
    n_resamples, n_permutations : int
        For the intervals of the gains and for the tests.
    seed : int, optional
    progress : bool or callable, optional
        As in `permutation_test`.

    Returns
    -------
    Assessment

    Notes
    -----
    The exact interval of a miss rate counts rows; of weighted rows and of rows that hang together it counts the
    effective number ``sum(W)**2 / sum(W**2)`` of units with weights W (Korn and Graubard 1998). P-values of pairs and
    of a model's segments are adjusted by Holm's method.

    Examples
    --------
    >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
    >>> sharp = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
    >>> a = assess({"sharp": sharp, "flat": sharp.constant()}, axes=("bandwidth", "deficit"))
    >>> [row.name for row in a.ranking], a.comparisons[0].better, round(a.comparisons[0].pvalue, 4)
    (['sharp', 'flat'], 'sharp', 0.0156)
    """
    settings = AssessmentSettings(
        axes=checks.axes(axes),
        miss_rate=checks.span("miss_rate", miss_rate),
        c=checks.real("c", c, 0, 1),
        alpha=None if alpha is None else meant_to_miss(alpha),
        target=target if target is None else checks.real("target", target, 0, 1),
        unit=unit,
        confidence_level=Settings(confidence_level, "BCa", n_resamples).confidence_level,
        n_resamples=n_resamples,
        n_permutations=positive("n_permutations", n_permutations),
        seed=seed,
    )
    folds = _folds(models)
    intervals = {name: joined(folds_of_one) for name, folds_of_one in folds.items()}
    comparable = _refuse_other_rows(intervals)
    most = max(folds.values(), key=len)  # a model whose folds are already joined does not tell what repeats
    job = _Job(settings, intervals, _together(most, rows, block), comparable)
    segments = [] if by is None else parts(by, len(next(iter(intervals.values()))), bins)
    with watched(progress, "assessment") as tick:
        return job.done(segments, tick)


def _folds(models: Any) -> dict[str, Sequence[Intervals]]:
    """Return the models as lists of folds by name."""
    if isinstance(models, Intervals):
        return {"model": [models]}
    pairs = list(models.items()) if isinstance(models, Mapping) else None
    if pairs is None:
        raise TypeError(
            f"`models` must be Intervals or a mapping of names to Intervals; got {type(models).__name__}. "
            'Hint: {"GBR": one, "Meta": other}.'
        )
    if not pairs:
        raise ValueError("`models` must hold at least one model; it is empty.")
    names = [str(name) for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"`models` must have different names: {name!r} comes {names.count(name)} times.")
    return {str(name): [given] if isinstance(given, Intervals) else _listed(name, given) for name, given in pairs}


def _listed(name: Any, given: Any) -> Sequence[Intervals]:
    if isinstance(given, Sequence) and not isinstance(given, str):
        return given
    raise TypeError(f"`models` must map names to Intervals or lists of them; {name!r} is {type(given).__name__}.")


def _refuse_other_rows(intervals: Mapping[str, Intervals]) -> bool:
    """Return whether all models share their predictions; refuse models of different observations."""
    (name, first), *others = intervals.items()
    for other, one in others:
        if one.y_true.shape != first.y_true.shape:
            raise ValueError(f"`models` must have the same rows: {other!r} has {len(one)}, {name!r} has {len(first)}.")
        different = np.flatnonzero((one.y_true != first.y_true).reshape(len(one), -1).any(axis=1))
        if len(different):
            raise ValueError(
                f"`models` must have the same y_true: {other!r} differs from {name!r} in {len(different)} of "
                f"{len(one)} rows, first row {different[0]}. Hint: put the rows of all models in the same order."
            )
        if not np.array_equal(one.weight, first.weight):
            raise ValueError(f"`models` must have the same weights: those of {other!r} and {name!r} differ.")
    return all(np.array_equal(one.y_pred, first.y_pred) for _, one in others)


def _together(folds: Sequence[Intervals], rows: Sequence[Any] | None, block: Any) -> Any:
    """Return which rows hang together: repetitions of one row, and blocks as given."""
    repeated = same_rows(folds, rows)
    if repeated is None or block is None:
        return repeated if block is None else block
    if np.ndim(block) == 0:
        return repeated // block_length(block, int(repeated.max()) + 1)
    raise ValueError(
        "give `rows` (or runs over the same rows) or labels in `block`, not both. Hint: give a row's runs one label."
    )


class _Job:
    """One assessment: what was asked, of which rows."""

    def __init__(
        self, settings: AssessmentSettings, intervals: Mapping[str, Intervals], block: Any, comparable: bool
    ) -> None:
        self._settings, self._intervals, self._block, self._comparable = settings, intervals, block, comparable
        self._notes: list[str] = []

    def done(self, segments: list[Part], tick: Tick | None) -> Assessment:
        pairs = list(combinations(self._intervals, 2))
        steps = iter(_steps(tick, len(self._intervals) * (1 + len(segments)) + len(pairs)))
        rows = [self._row(name, one, self._block, next(steps)) for name, one in self._intervals.items()]
        comparisons = [self._compare(*pair, next(steps)) for pair in pairs]
        held = [self._segment(row, part, next(steps)) for row in rows for part in segments]
        self._note_on(rows)
        return Assessment(
            rows=tuple(_ranked(rows, self._gains())),
            comparisons=tuple(_adjusted(comparisons, 1 - self._settings.confidence_level)),
            crossings=tuple(self._crossings(pairs)),
            segments=tuple(_failing(held, 1 - self._settings.confidence_level)),
            comparable=self._comparable,
            notes=tuple(dict.fromkeys(self._notes)),
            settings=self._settings,
            intervals=MappingProxyType(dict(self._intervals)),
        )

    def _row(self, name: str, intervals: Intervals, block: Any, tick: Tick | None) -> ModelRow:
        settings, units = self._settings, Units.of(intervals, block)
        gains = self._gain_intervals(intervals, units, tick)
        curve = UCC(intervals)  # after the gains, which need memory of their own
        point = curve.at(1.0, unit=settings.unit)
        effective = units.effective(Profile.of(intervals, "scale").weight)
        low, high = clopper_pearson(_near_whole(point.miss_rate * effective), effective, settings.confidence_level)
        best = curve.cheapest(settings.c, axes=settings.axes, unit=settings.unit)
        areas = {name: curve.area(axes=axes, unit=settings.unit) for name, axes in GAINS}
        score = None if settings.alpha is None else 2 * point.bandwidth + 2 / settings.alpha * point.deficit
        return ModelRow(
            name=name,
            rank=0,
            n=len(intervals),
            miss_rate=point.miss_rate,
            miss_rate_low=low,
            miss_rate_high=high,
            bandwidth=point.bandwidth,
            excess=point.excess,
            deficit=point.deficit,
            overshoot=point.overshoot,
            **{name.replace("gain", "area"): area for name, area in areas.items()},
            **gains,
            concentration=curve.concentration(axes=settings.axes if FALLING.intersection(settings.axes) else HEADLINE),
            cost=curve.cost(settings.c, axes=settings.axes, unit=settings.unit),
            cheapest_cost=best.cost if best.cost is not None else float("nan"),
            cheapest_scale=best.scale,
            band_error=point.overshoot + point.deficit,
            interval_score=score,
        )

    def _gain_intervals(self, intervals: Intervals, units: Units, tick: Tick | None) -> dict[str, float]:
        """Return the three gains and the partial one with the ends of their intervals, nan where there are none."""
        settings = self._settings
        questions = {name: Question("gain", axes, "scale") for name, axes in GAINS}
        questions["partial_gain"] = Question("gain", settings.axes, "scale", ("miss_rate", settings.miss_rate))
        gains = {name: question.value(intervals) for name, question in questions.items()}
        finite = [name for name in questions if np.isfinite(gains[name]) and units.count > 1]
        how = Settings(settings.confidence_level, "BCa", settings.n_resamples)
        rng = np.random.default_rng(settings.seed)
        asked = [questions[name] for name in finite]
        found = interval_estimates(intervals, asked, units, how, rng=rng, tick=tick) if asked else []
        ends = {name: (one.low, one.high) for name, one in zip(finite, found, strict=True)}
        out: dict[str, float] = {}
        for name, gain in gains.items():
            low, high = ends.get(name, (float("nan"), float("nan")))
            out |= {name: gain, f"{name}_low": low, f"{name}_high": high}
        return out

    def _gains(self) -> list[float]:
        return [UCC(one).gain(axes=self._settings.axes) for one in self._intervals.values()]

    def _compare(self, first: str, second: str, tick: Tick | None) -> Comparison:
        settings = self._settings
        statistic: Literal["area", "gain"] = "area" if self._comparable else "gain"
        try:
            test = permutation_test(
                self._intervals[first],
                self._intervals[second],
                statistic=statistic,
                axes=settings.axes,
                unit=settings.unit,
                n_resamples=settings.n_permutations,
                seed=settings.seed,
                block=self._block,
                progress=tick or False,
            )
        except ValueError as error:  # an infinite area: said, not hidden
            return Comparison(first, second, statistic, float("nan"), float("nan"), float("nan"), None, str(error))
        return Comparison(first, second, statistic, test.statistic, test.pvalue, test.pvalue, None, test.note)

    def _crossings(self, pairs: Sequence[tuple[str, str]]) -> list[Crossings]:
        axes = self._settings.axes
        if not self._comparable or axes[0] == axes[1]:
            return []
        models = self._intervals
        return [crossings(models[a], models[b], axes=axes, names=(a, b), unit=self._settings.unit) for a, b in pairs]

    def _segment(self, row: ModelRow, part: Part, tick: Tick | None) -> Segment | None:
        intervals = self._intervals[row.name]
        if intervals._weight is not None and not intervals._weight[part.rows].any():
            self._notes.append(f"segment {part.feature} {part.label} carries no weight and is left out")
            return None
        chosen = intervals[part.rows]
        block = self._block
        if block is not None:
            labels = np.arange(len(intervals)) // block if np.ndim(block) == 0 else np.asarray(block)
            block = labels[part.rows]
        own = self._row(row.name, chosen, block, tick)
        settings = self._settings
        target = next((value for value in (settings.target, settings.alpha) if value is not None), row.miss_rate)
        effective = Units.of(chosen, block).effective(Profile.of(chosen, "scale").weight)
        pvalue = tail(_near_whole(own.miss_rate * effective), effective, target)
        return Segment(part.feature, part.label, own, target, pvalue, pvalue, False)

    def _note_on(self, rows: Sequence[ModelRow]) -> None:
        if not self._comparable:
            self._notes.append(
                "y_pred differ between models: raw areas and curves judge predictions and intervals together, so "
                "models are ranked and tested by their gains over their own constant bands, and curves are not compared"
            )
        for row in rows:
            intervals = self._intervals[row.name]
            if intervals.raised:
                self._notes.append(f"{row.name}: {intervals.raised} bands were raised by min_band")
            if intervals.dropped:
                self._notes.append(f"{row.name}: {intervals.dropped} rows with missing values were dropped")
            if not np.isfinite(row.area_bandwidth_miss_rate):
                never = int(np.isinf(Profile.of(intervals, "scale").critical).sum())
                self._notes.append(
                    f"{row.name}: {never} rows have an error on the side of a zero band, which no scale covers; "
                    "their areas are infinite (min_band raises such bands)"
                )
            elif 0 < row.concentration <= max(1, row.n // 50):
                axes = "/".join(self._settings.axes)
                self._notes.append(f"{row.name}: {row.concentration} of {row.n} rows carry half of the area on {axes}")


def _steps(tick: Tick | None, total: int) -> Iterator[Tick | None]:
    """Return a tick for each of several steps that moves the one bar by its share."""
    for step in range(total):
        if tick is None:
            yield None
        else:
            yield partial(_part_of, tick, step, total)


def _part_of(tick: Tick, step: int, steps: int, done: int, total: int) -> None:
    tick(1000 * step + 1000 * done // total, 1000 * steps)


def _near_whole(value: float) -> float:
    """Return the whole number that rounding moved a count away from, or the value."""
    return float(round(value)) if abs(value - round(value)) < 1e-6 else value


def _ranked(rows: Sequence[ModelRow], gains: Sequence[float]) -> list[ModelRow]:
    """Rank by gain; gains that only rounding tells apart keep the order of the rows."""
    order = sorted(range(len(rows)), key=lambda i: -round(gains[i], 12) if gains[i] == gains[i] else np.inf)
    ranks = {place: rank for rank, place in enumerate(order, 1)}
    return [replace(row, rank=ranks[i]) for i, row in enumerate(rows)]


def _adjusted(comparisons: Sequence[Comparison], level: float) -> list[Comparison]:
    tested = [one for one in comparisons if np.isfinite(one.pvalue)]
    adjusted = iter(holm([one.pvalue for one in tested]))
    out = []
    for one in comparisons:
        if not np.isfinite(one.pvalue):
            out.append(one)
            continue
        pvalue = next(adjusted)
        lower = one.first if one.difference < 0 else one.second
        higher = one.second if one.difference < 0 else one.first
        better = (lower if one.statistic == "area" else higher) if pvalue <= level else None
        out.append(replace(one, pvalue_holm=pvalue, better=better))
    return out


def _failing(segments: Sequence[Segment | None], level: float) -> list[Segment]:
    """Adjust each model's p-values for all of its segments."""
    held = [one for one in segments if one is not None]
    out = {}
    for name in dict.fromkeys(one.row.name for one in held):
        own = [i for i, one in enumerate(held) if one.row.name == name]
        for i, pvalue in zip(own, holm([held[i].pvalue for i in own]), strict=True):
            out[i] = replace(held[i], pvalue_holm=pvalue, fails=pvalue <= level)
    return [out[i] for i in range(len(held))]
