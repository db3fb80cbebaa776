"""Segments: the rows by label or by equal-count bins of a feature, and how each model does on them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Indices
from uccurve._paths import Path
from uccurve._ramps import Ramps
from uccurve._scoring import interval_score, saved_share
from uccurve._vocabulary import Metric
from uccurve.assess.model import Model, t_for_coverage
from uccurve.evidence.contributions import weights
from uccurve.evidence.tests import coverage_interval, coverage_tail, holm, segment_test
from uccurve.evidence.units import Blocks, codes, labels, positive
from uccurve.results import Segment


class SegmentRows(NamedTuple):
    """Rows of one segment: their numbers among the flattened rows that carry weight, and their blocks."""

    feature: str
    label: str
    rows: Indices
    blocks: Blocks


def segment_rows(by: Any, blocks: Blocks, bins: int = 4) -> list[SegmentRows]:
    """Segments by each feature of `by`: an array of labels or numbers, or a mapping of such by name; None for none.

    Numbers with more than `bins` different values are cut into `bins` bins that hold as many rows each as ties allow.
    """
    found, bins = list[SegmentRows](), positive("bins", bins)
    features = by if isinstance(by, Mapping) else {str(getattr(by, "name", None) or "segment"): by}
    for feature, values in features.items() if by is not None else ():
        argument = f"by[{feature!r}]" if isinstance(by, Mapping) else "by"
        array = labels(argument, values, blocks.rows)
        code, names = codes(argument, array)
        if array.dtype.kind in "iuf" and len(names) > bins:
            code, names = _bins(array, code, bins)
        of_row = code[blocks.row]
        order = np.argsort(of_row.astype(np.min_scalar_type(len(names))), kind="stable")  # small integers are fast
        ends = np.cumsum(np.bincount(of_row, minlength=len(names)))
        for label, rows in zip(names, np.split(order, ends[:-1]), strict=True):
            if len(rows):
                found.append(SegmentRows(str(feature), str(label), rows, blocks.subset(rows)))
    return found


def assessed_segments(model: Model, parts: Sequence[SegmentRows]) -> list[Segment]:
    """One model on each segment, p-values adjusted for all of them.

    Against a promised coverage: the one-sided tail for bands that are too narrow. Without a promise: whether the
    segment is covered less often than the model's other rows.
    """
    return adjusted_segments([_assessed(model, part) for part in parts], model.confidence_level)


def adjusted_segments(found: Sequence[Segment], confidence_level: float) -> list[Segment]:
    """Adjust the p-values for all segments of a model, and say which of them fail and which stay short."""
    delivered, shipped = holm([one.pvalue for one in found]), holm([one.shipped_pvalue for one in found])
    level, out = 1 - confidence_level, []
    for one, p, left in zip(found, delivered, shipped, strict=True):
        short = (p if isnan(left) else left) <= level
        out.append(replace(one, pvalue_holm=p, fails=p <= level, shipped_pvalue=left, short=short))
    return out


def _assessed(model: Model, part: SegmentRows) -> Segment:
    whole, level, alpha, settings = model.path, model.confidence_level, float(model.alpha), model.settings
    path, covered = whole.subset(part.rows), model.covered[part.rows]
    shipped = path.critical <= model.target.t if isfinite(model.target.t) else None
    low, high = coverage_interval(covered, path.weight, part.blocks, level)
    pvalue = shipped_pvalue = nan
    if part.blocks.count > 1 and settings.coverage is None:
        segment = np.zeros(len(whole), np.bool_)
        segment[part.rows] = True
        pvalue = segment_test(model.covered, whole.weight, model.blocks, segment)
    elif part.blocks.count > 1:
        how = path.weight, part.blocks, level
        pvalue = coverage_tail(covered, *how, promised=1 - model.alpha)
        shipped_pvalue = nan if shipped is None else coverage_tail(shipped, *how, promised=1 - model.alpha)
    t, size, shifted = t_for_coverage(path, 1 - model.alpha), path.unit / model.unit, path.vary == "shift"
    ramps = Ramps(path)
    hull = ramps.lower_hull()
    best_t = hull.best_t(alpha)
    best: dict[Metric, float] = {name: ramps.value(name, best_t) for name in ("bandwidth", "deficit")}
    return Segment(
        feature=part.feature,
        label=part.label,
        model=model.name,
        n=len(part.rows),
        coverage=path.mean(covered),
        coverage_low=low,
        coverage_high=high,
        scale=nan if shifted else t,
        half_width=ramps.value("bandwidth", t) * size if isfinite(t) else inf,
        score=interval_score(best, alpha) * size,
        skill=saved_share(_constant_crps(path), ramps.potential_crps(hull)),
        target=settings.coverage,
        pvalue=pvalue,
        shift=t * path.unit if shifted else nan,
        shipped_coverage=nan if shipped is None else path.mean(shipped),
        shipped_pvalue=shipped_pvalue,
    )


def _constant_crps(path: Path) -> float:
    """Potential CRPS of a constant band around the same predictions: half the mean of the larger of two errors."""
    order = np.argsort(path.error)
    weight = np.broadcast_to(weights(path), len(path))[order]
    return float(np.sum(path.error[order] * weight * (np.cumsum(weight) - weight / 2)))


def _bins(values: npt.NDArray[Any], code: Indices, bins: int) -> tuple[Indices, list[str]]:
    """Cut between different values, as near to equal counts as that allows."""
    counts = np.bincount(code)
    middle = np.cumsum(counts) - counts / 2
    chosen = np.minimum((middle * bins / len(values)).astype(np.intp), bins - 1)
    used, renumbered = np.unique(chosen, return_inverse=True)
    of_row = renumbered[code]
    ends = [(part.min(), part.max()) for part in (values[of_row == i] for i in range(len(used)))]
    return of_row, [f"{low:.4g} to {high:.4g}" if low < high else f"{low:.4g}" for low, high in ends]
