"""Segments: the rows by label or by equal-count bins of a feature, and how each model does on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan, nan
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags, Indices
from uccurve._distributions import clopper_pearson, order_statistic_ranks
from uccurve._paths import Path
from uccurve._refusals import miss_rate_of
from uccurve._scoring import conformal_t, saved_share
from uccurve._vocabulary import Array
from uccurve.assess.memory import RowsSource
from uccurve.assess.source import Source
from uccurve.evidence.inference import (
    effective_rows,
    holm,
    paired_t_test,
    segment_test,
    share_estimate,
    share_tail,
)
from uccurve.evidence.units import Blocks, codes, labels, positive, sums
from uccurve.points import UNKNOWN, Estimate, Move
from uccurve.results import AcrossSegments, AssessmentSettings, Segment, SegmentWinner

MOST_LABELS = 50  # integers with at most so many different values are labels


class SegmentRows(NamedTuple):
    """Rows of one segment: their numbers among the flattened rows that carry weight, and their blocks."""

    feature: str
    label: str
    rows: Indices
    blocks: Blocks


def segment_rows(by: Any, blocks: Blocks, bins: int = 4) -> list[SegmentRows]:
    """Segments by each feature of `by`: an array of labels or numbers, or a mapping of such by name; None for none.

    Floats with more than `bins` different values, and integers with more than 50, are cut into `bins` bins that hold as
    many rows each as ties allow.
    """
    bins = positive("bins", bins)
    if by is None:
        return []
    if isinstance(by, Mapping):
        features = [(f"by[{feature!r}]", str(feature), values) for feature, values in by.items()]
    else:
        features = [("by", str(getattr(by, "name", None) or "segment"), by)]
    segments: list[SegmentRows] = []
    for argument, feature, values in features:
        array = labels(argument, values, blocks.given)
        code, names = codes(argument, array)
        if _is_cut(array, len(names), bins):
            code, names = _bins(array, code, bins)
        segments += _split(feature, code[blocks.row], names, blocks)
    return segments


class AsShipped(NamedTuple):
    """What each row of a model says with the factor (or shift) that ships."""

    source: RowsSource
    t: float
    covered: npt.NDArray[np.bool_]
    width: Array
    score: Array
    constant_score: Array

    @classmethod
    def of(cls, source: RowsSource, t: float) -> "AsShipped":
        """Look at all rows once."""
        path = source.path
        alpha = float(source.alpha)
        constant = source.constant.path
        constant_t = source.constant.t
        if not (isfinite(t) and isfinite(constant_t)):
            nothing = np.full(len(path), nan)
            return cls(source, nan, np.zeros(len(path), np.bool_), nothing, nothing, nothing)
        width = path.half_widths_at(t)
        score = path.score_rows(t, alpha)
        return cls(
            source, t, source.covered_at(t), width, score, constant.score_rows(constant_t, alpha)
        )


class Covered(NamedTuple):
    """Share of the rows of a segment inside their interval, and how many independent rows it is worth."""

    share: float
    effective: float


NOTHING_SHIPS = Covered(nan, nan)


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """What is known of one model on one segment, from rows at hand or from their sums.

    Attributes
    ----------
    feature, label : str
    n, blocks : int
        Rows, and units among them.
    delivered, shipped : Covered
        As delivered, and with the factor (or shift) that ships.
    t : float
        Factor (or shift) that this segment alone would need.
    half_width, score, constant_score : float
        As shipped, in the caller's unit; the last is that of the constant band.
    against_rest : float
        p-value of a coverage below that of the model's other rows; nan where a coverage is promised.
    """

    feature: str
    label: str
    n: int
    blocks: int
    delivered: Covered
    shipped: Covered
    t: float
    half_width: float
    score: float
    constant_score: float
    against_rest: float


def assessed_segments(shipped: AsShipped, parts: Sequence[SegmentRows]) -> list[Segment]:
    """One model on each segment, with the factor (or shift) that ships; p-values adjusted for all segments.

    Against a promised coverage: the one-sided tail for bands that are too narrow. Without a promise: whether the
    segment is covered less often than the model's other rows.
    """
    return tested_segments([_facts(shipped, part) for part in parts], shipped.source)


FEWEST_ACROSS = 5  # segments of a feature from which models are compared over them


def winners_of(
    models: Sequence[AsShipped], parts: Sequence[SegmentRows], reference: str | None = None
) -> list[SegmentWinner]:
    """Return the best model of each segment by its score as shipped; the `reference` takes no part.

    The best is tested against the next one by the paired t test of the rows' scores, summed over blocks. p-values are
    multiplied by the number of pairs of models, and adjusted by Holm's method for all segments of the feature.
    """
    rivals = [model for model in models if model.source.name != reference and isfinite(model.t)]
    if len(rivals) < 2:
        return []
    pairs = len(rivals) * (len(rivals) - 1) / 2
    winners = [_winner(rivals, part, pairs) for part in parts]
    adjusted: list[SegmentWinner] = []
    for of_feature in _by_feature(winners).values():
        pvalues = holm([winner.pvalue for winner in of_feature])
        for winner, pvalue in zip(of_feature, pvalues, strict=True):
            adjusted.append(replace(winner, pvalue=pvalue))
    return adjusted


class OfFeature(Protocol):
    """What is about one segment of a feature."""

    @property
    def feature(self) -> str:
        """The feature."""


Item = TypeVar("Item", bound=OfFeature)


def _by_feature(items: Sequence[Item]) -> dict[str, list[Item]]:
    """Return items by their feature, in the order in which features come."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.feature, []).append(item)
    return groups


def _winner(models: Sequence[AsShipped], part: SegmentRows, pairs: float) -> SegmentWinner:
    """Return the best model of one segment, tested against the next one."""
    weight = _weight_of(models[0].source.path, part.rows)
    scores = [model.score[part.rows] for model in models]
    means = [float(np.dot(weight, score)) for score in scores]
    first, second = np.argsort(means, kind="stable")[:2].tolist()
    best, following = models[first], models[second]
    difference = means[second] - means[first]
    influence = weight * (scores[second] - scores[first] - difference)
    misses = [part.blocks.with_any(~model.covered[part.rows]) for model in (best, following)]
    spread = part.blocks.spread(influence).limited(min(misses) - 1)
    pvalue = paired_t_test(difference, spread, size=means[second])
    return SegmentWinner(
        feature=part.feature,
        label=part.label,
        n=len(part.rows),
        model=best.source.name,
        score=means[first] / best.source.unit,
        runner_up=following.source.name,
        ahead=saved_share(means[second], means[first]),
        pvalue=min(pvalue * pairs, 1.0) if pvalue >= 0 else nan,
    )


def _weight_of(path: Path, rows: Indices) -> Array:
    """Weights of some rows, which sum to 1."""
    if path.weight is None:
        return np.full(len(rows), 1 / len(rows))
    weight: Array = path.weight[rows]
    share: Array = weight / weight.sum()
    return share


def across_segments(
    segments: Sequence[Segment], winners: Sequence[SegmentWinner], settings: AssessmentSettings
) -> list[AcrossSegments]:
    """Return each model over the segments of a feature, each of which counts once."""
    across: list[AcrossSegments] = []
    winners_of = _by_feature(winners)
    for feature, of_feature in _by_feature(segments).items():
        skills_of: dict[str, list[float]] = {}
        for segment in of_feature:
            skills = skills_of.setdefault(segment.model, [])
            if isfinite(segment.skill):
                skills.append(segment.skill)
        if len(of_feature) < FEWEST_ACROSS * len(skills_of):
            continue
        best = [winner.model for winner in winners_of.get(feature, ())]
        for model, skills in skills_of.items():
            skills.sort()
            share = best.count(model) / len(best) if best and model != settings.reference else None
            median = _median(skills, settings.confidence_level)
            across.append(AcrossSegments(feature, model, len(skills), share, median))
    return across


def across_series(
    models: Sequence[AsShipped], series: Any, settings: AssessmentSettings
) -> list[AcrossSegments]:
    """Return each model over series, told by one label per row, from its scores alone."""
    first = models[0].source
    given = labels("series", series, first.units.given)
    code, names = codes("series", given)
    of_row = code[first.units.row]
    name = getattr(series, "name", None)
    feature = name if isinstance(name, str) and name else "series"
    if len(names) < FEWEST_ACROSS:
        return []
    scores: dict[str, Array] = {}
    skills: dict[str, Array] = {}
    for model in models:
        path = model.source.path
        score = sums(of_row, path.weighted(model.score), len(names))
        constant = sums(of_row, path.weighted(model.constant_score), len(names))
        scores[model.source.name] = score
        with np.errstate(divide="ignore", invalid="ignore"):
            skills[model.source.name] = 1 - score / constant
    rivals = [model for model in scores if model != settings.reference]
    winner = np.argmin([scores[model] for model in rivals], axis=0)
    across = []
    for rival, skill in skills.items():
        best_in = None
        if rival in rivals and len(rivals) > 1:
            best_in = float(np.mean(winner == rivals.index(rival)))
        known = np.sort(skill[np.isfinite(skill)]).tolist()
        median = _median(known, settings.confidence_level)
        across.append(AcrossSegments(feature, rival, len(names), best_in, median))
    return across


def _median(values: Sequence[float], confidence_level: float) -> Estimate:
    """Median of sorted values, with the interval that their order gives."""
    if not values:
        return UNKNOWN
    low, high = order_statistic_ranks(len(values), 0.5, confidence_level)
    ends = (-inf, *values, inf)
    return Estimate(float(np.median(values)), ends[max(low, 0)], ends[min(high, len(values) + 1)])


def tested_segments(facts: Sequence[SegmentFacts], source: Source) -> list[Segment]:
    """One model on each segment, p-values adjusted for all segments."""
    tested = sum(segment.blocks > 1 for segment in facts)
    segments = [segment_of(segment, source, tested) for segment in facts]
    return adjusted_segments(segments, source.settings.confidence_level)


def adjusted_segments(segments: Sequence[Segment], confidence_level: float) -> list[Segment]:
    """Adjust the p-values for all segments of a model, and say which of them fail and which stay short."""
    delivered = holm([segment.pvalue for segment in segments])
    shipped = holm([segment.shipped_pvalue for segment in segments])
    level = 1 - confidence_level
    out = []
    for segment, pvalue, shipped_pvalue in zip(segments, delivered, shipped, strict=True):
        decisive = shipped_pvalue if shipped_pvalue >= 0 else pvalue
        judged = replace(
            segment,
            pvalue=pvalue,
            shipped_pvalue=shipped_pvalue,
            fails=pvalue <= level,
            short=decisive <= level,
        )
        out.append(judged)
    return out


def upper_bound(share: float, effective: float, confidence_level: float, segments: int) -> float:
    """Upper bound of a coverage that holds for so many segments at once; nan where nothing is known about chance."""
    if not effective >= 1:
        return nan
    each = 1 - 2 * (1 - confidence_level) / segments
    return clopper_pearson(share * effective, effective, max(each, 0.0))[1]


def segment_of(facts: SegmentFacts, source: Source, tested: int) -> Segment:
    """One model on one segment, one of so many that are tested."""
    settings = source.settings
    level = settings.confidence_level
    reaches = not isnan(facts.shipped.share)
    pvalue = facts.against_rest
    shipped_pvalue = nan
    if settings.coverage is not None and facts.blocks > 1:
        promised = 1 - miss_rate_of(settings.coverage)
        pvalue = share_tail(*facts.delivered, promised)
        shipped_pvalue = share_tail(*facts.shipped, promised)
    return Segment(
        feature=facts.feature,
        label=facts.label,
        model=source.name,
        n=facts.n,
        blocks=facts.blocks,
        coverage=share_estimate(*facts.delivered, level),
        shipped_coverage=share_estimate(*facts.shipped, level) if reaches else UNKNOWN,
        move=Move(source.kind, Estimate(facts.t)),
        half_width=facts.half_width,
        score=facts.score,
        skill=saved_share(facts.constant_score, facts.score) if reaches else nan,
        target=settings.coverage,
        pvalue=pvalue,
        shipped_pvalue=shipped_pvalue,
        at_most=upper_bound(*facts.shipped, level, max(tested, 1)) if reaches else nan,
    )


def _facts(shipped: AsShipped, part: SegmentRows) -> SegmentFacts:
    """What the rows of a segment say of a model."""
    source = shipped.source
    rows = part.rows
    path = source.path.subset(rows)
    as_shipped = NOTHING_SHIPS
    if isfinite(shipped.t):
        as_shipped = _covered(shipped.covered[rows], path, part.blocks, source)
    against_rest = nan
    if source.settings.coverage is None and part.blocks.count > 1:
        inside = np.zeros(source.n, np.bool_)
        inside[rows] = True
        against_rest = segment_test(source.covered, source.path.weight, source.units, inside)
    return SegmentFacts(
        feature=part.feature,
        label=part.label,
        n=len(rows),
        blocks=part.blocks.count,
        delivered=_covered(source.covered[rows], path, part.blocks, source),
        shipped=as_shipped,
        t=conformal_t(path, source.alpha),
        half_width=path.mean(shipped.width[rows]) / source.unit,
        score=path.mean(shipped.score[rows]) / source.unit,
        constant_score=path.mean(shipped.constant_score[rows]) / source.unit,
        against_rest=against_rest,
    )


def _covered(flags: Flags, path: Path, blocks: Blocks, source: RowsSource) -> Covered:
    level = source.settings.confidence_level
    return Covered(path.mean(flags), effective_rows(flags, path.weight, blocks, level))


def _split(
    feature: str, of_row: Indices, names: Sequence[Any], blocks: Blocks
) -> list[SegmentRows]:
    """Rows of each label that has any."""
    order = np.argsort(
        of_row.astype(np.min_scalar_type(len(names))), kind="stable"
    )  # small integers are fast
    ends = np.cumsum(np.bincount(of_row, minlength=len(names)))
    groups = zip(names, np.split(order, ends[:-1]), strict=True)
    return [
        SegmentRows(feature, str(label), rows, blocks.subset(rows))
        for label, rows in groups
        if len(rows)
    ]


def _is_cut(values: npt.NDArray[Any], different: int, bins: int) -> bool:
    """Whether a feature is numbers that are cut into bins, and no labels."""
    if values.dtype.kind in "iu":
        return different > max(bins, MOST_LABELS)
    return values.dtype.kind == "f" and different > bins


def _bins(values: npt.NDArray[Any], code: Indices, bins: int) -> tuple[Indices, list[str]]:
    """Cut between different values, as near to equal counts as that allows."""
    counts = np.bincount(code)
    middle = np.cumsum(counts) - counts / 2
    chosen = np.minimum((middle * bins / len(values)).astype(np.intp), bins - 1)
    used, renumbered = np.unique(chosen, return_inverse=True)
    of_row = renumbered[code]
    names = []
    for number in range(len(used)):
        part = values[of_row == number]
        names.append(_range(part.min(), part.max()))
    return of_row, names


def _range(low: float, high: float) -> str:
    """Smallest and largest value of a bin, in words."""
    return f"{low:.4g} to {high:.4g}" if low < high else f"{low:.4g}"
