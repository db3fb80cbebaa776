"""Segments: the rows by label or by equal-count bins of a feature, and how each model does on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._paths import Path
from uccurve._ramps import Ramps
from uccurve._scoring import interval_score, saved_share

from ._blocks import Blocks, Flags, Indices, codes, labels, positive
from ._evidence import coverage_interval, coverage_tail, holm, segment_test
from ._model import Model, t_for_coverage
from .results import Segment, segment_title

if TYPE_CHECKING:
    from .results import AssessmentSettings


class SegmentRows(NamedTuple):
    """Rows of one segment: their numbers among the flattened rows that carry weight, and their blocks."""

    feature: str
    label: str
    rows: Indices
    blocks: Blocks

    @property
    def title(self) -> str:
        """Feature and label; the label alone where the feature has no name of its own."""
        return segment_title(self.feature, self.label)


def segment_rows(by: Any, blocks: Blocks, bins: int = 4) -> list[SegmentRows]:
    """Segments by each feature of `by`: an array of labels or numbers, or a mapping of such by name; None for none.

    Numbers with more than `bins` different values are cut into `bins` bins that hold as many rows each as ties allow.
    """
    count = positive("bins", bins)
    parts = [] if by is None else _split(by, blocks, count)
    return [SegmentRows(feature, label, rows, blocks.subset(rows)) for feature, label, rows in parts if len(rows)]


def assessed_segments(model: Model, parts: Sequence[SegmentRows], settings: AssessmentSettings) -> list[Segment]:
    """One model on each segment, p-values adjusted for all of them.

    Against a promised coverage: the one-sided tail for bands that are too narrow. Without a promise: whether the
    segment is covered less often than the model's other rows.
    """
    return adjusted_segments([_assessed(model, part, settings) for part in parts], settings.confidence_level)


def adjusted_segments(found: Sequence[Segment], confidence_level: float) -> list[Segment]:
    """Adjust the p-values for all segments of a model, and say which of them fail and which stay short."""
    delivered, shipped = holm([one.pvalue for one in found]), holm([one.shipped_pvalue for one in found])
    level, out = 1 - confidence_level, []
    for one, p, left in zip(found, delivered, shipped, strict=True):
        short = (p if isnan(left) else left) <= level
        out.append(replace(one, pvalue_holm=p, fails=p <= level, shipped_pvalue=left, short=short))
    return out


def _assessed(model: Model, part: SegmentRows, settings: AssessmentSettings) -> Segment:
    path = model.path.subset(part.rows)
    covered = model.covered[part.rows]
    low, high, _ = coverage_interval(covered, path.weight, part.blocks, settings.confidence_level)
    shipped = path.critical <= model.target.t
    tested, to_ship = part.blocks.count > 1, np.isfinite(model.target.t)
    t, size, shifted = t_for_coverage(path, 1 - model.alpha), path.unit / model.unit, path.vary == "shift"
    ramps = Ramps(path)
    hull = ramps.lower_hull()
    return Segment(
        feature=part.feature,
        label=part.label,
        model=model.name,
        n=len(part.rows),
        coverage=float(np.average(covered, weights=path.weight)),
        coverage_low=low,
        coverage_high=high,
        scale=nan if shifted else t,
        half_width=ramps.value("bandwidth", t) * size if np.isfinite(t) else np.inf,
        score=_score(ramps, hull.best_t(float(model.alpha)), float(model.alpha)) * size,
        skill=saved_share(_constant_crps(path), ramps.potential_crps(hull)),
        target=settings.coverage,
        pvalue=_pvalue(model, part, covered, settings) if tested else nan,
        pvalue_holm=nan,
        fails=False,
        shift=t * path.unit if shifted else nan,
        shipped_coverage=float(np.average(shipped, weights=path.weight)) if to_ship else nan,
        shipped_pvalue=_pvalue(model, part, shipped, settings) if tested and to_ship and settings.coverage else nan,
    )


def _score(ramps: Ramps, t: float, alpha: float) -> float:
    return interval_score({"bandwidth": ramps.value("bandwidth", t), "deficit": ramps.value("deficit", t)}, alpha)


def _constant_crps(path: Path) -> float:
    """Potential CRPS of a constant band around the same predictions: half the mean of the larger of two errors."""
    order = np.argsort(path.error)
    weight = np.full(len(path), 1 / len(path)) if path.weight is None else path.weight[order] / path.total
    return float(np.sum(path.error[order] * weight * (np.cumsum(weight) - weight / 2)))


def _pvalue(model: Model, part: SegmentRows, covered: Flags, settings: AssessmentSettings) -> float:
    path = model.path
    weight = None if path.weight is None else path.weight[part.rows]
    if settings.coverage is not None:
        level = settings.confidence_level
        return coverage_tail(covered, weight, part.blocks, settings.coverage, confidence_level=level)
    segment = np.zeros(len(path), np.bool_)
    segment[part.rows] = True
    return segment_test(model.covered, path.weight, model.blocks, segment)


def _split(by: Any, blocks: Blocks, bins: int) -> list[tuple[str, str, Indices]]:
    features = by if isinstance(by, Mapping) else {str(getattr(by, "name", None) or "segment"): by}
    found = []
    for name, values in features.items():
        argument = f"by[{name!r}]" if isinstance(by, Mapping) else "by"
        array = labels(argument, values, blocks.rows)
        code, names = codes(argument, array)
        if array.dtype.kind in "iuf" and len(names) > bins:
            code, names = _bins(array, code, bins)
        of_row = code[blocks.row]
        order = np.argsort(of_row.astype(np.min_scalar_type(len(names))), kind="stable")  # small integers are fast
        ends = np.searchsorted(of_row[order], np.arange(len(names) + 1))
        found += [(str(name), str(names[i]), order[ends[i] : ends[i + 1]]) for i in range(len(names))]
    return found


def _bins(values: npt.NDArray[Any], code: Indices, bins: int) -> tuple[Indices, list[str]]:
    """Cut between different values, as near to equal counts as that allows."""
    counts = np.bincount(code)
    middle = np.cumsum(counts) - counts / 2
    chosen = np.minimum((middle * bins / len(values)).astype(np.intp), bins - 1)
    used, renumbered = np.unique(chosen, return_inverse=True)
    of_row = renumbered[code]
    names = []
    for i in range(len(used)):
        low, high = values[of_row == i].min(), values[of_row == i].max()
        names.append(f"{low:.4g} to {high:.4g}" if low < high else f"{low:.4g}")
    return of_row, names
