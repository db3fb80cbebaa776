"""Missing rows: which models lack which rows, and how models are compared that do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, inf, log
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags
from uccurve._refusals import Hint, Refusal
from uccurve.assess.choice import Contender, PairTest, adjusted_comparisons
from uccurve.assess.memory import RowsSource
from uccurve.assess.source import CRPS, SCORE
from uccurve.curve import UCC
from uccurve.evidence.models import rows_of
from uccurve.evidence.units import Blocks, codes, labels
from uccurve.results import AssessmentSettings, Comparison, Missing, ModelRow
from uccurve.words.formats import joined, short

MissingRows = Literal["raise", "drop", "pairwise"]
CHOICES: tuple[MissingRows, ...] = get_args(MissingRows)


@dataclass(frozen=True, slots=True)
class Aligned:
    """Models on the rows that all of them have.

    Attributes
    ----------
    curves : mapping of str to UCC
    kept : array of bool or None
        Which of the given rows these are; None where no row was left out.
    missing : Missing or None
    """

    curves: dict[str, UCC]
    kept: Flags | None
    missing: Missing | None

    def labels(self, values: Any) -> Any:
        """Labels of the rows that are left, from labels of these or of all given rows."""
        if values is None or self.kept is None:
            return values
        if isinstance(values, Mapping):
            return {name: self.labels(array) for name, array in values.items()}
        if np.ndim(values) == 0 or len(values) != len(self.kept):
            return values
        return np.asarray(values)[self.kept]


def aligned(curves: Mapping[str, UCC], *, missing: MissingRows) -> Aligned:
    """Return models on the rows that all of them have, where rows were dropped from some."""
    masks = _masks(curves)
    common = _common(masks)
    if common is None or common.all():
        return Aligned(dict(curves), None, None)
    if missing == "raise" and _differ(masks):
        raise _other_rows(masks)
    on_common = {}
    for name, curve in curves.items():
        on_common[name] = _restricted(curve, masks.get(name), common)
    return Aligned(on_common, common, _missing_rows(curves, masks, common))


def _other_rows(masks: Mapping[str, Flags]) -> Refusal:
    """Return the refusal of models that lack different rows."""
    total = len(next(iter(masks.values())))
    lacking = []
    for name, mask in masks.items():
        lacking.append(f"{short(name)} lacks {total - np.count_nonzero(mask):,}")
    hint = Hint("pass {missing} to compare them on the rows that all have", {"missing": "drop"})
    return Refusal(f"`models` must have the same rows: of {total:,}, {joined(lacking)}.", hint)


def kept_rows(curve: UCC) -> Flags | None:
    """Which of the given rows a model has; None where that is not known."""
    return getattr(curve.intervals, "kept", None)


def lack_different_rows(curves: Mapping[str, UCC]) -> bool:
    """Whether models of the same given rows have different ones of them."""
    masks = _masks(curves)
    return _of_same_rows(masks) and _differ(masks)


def _masks(curves: Mapping[str, UCC]) -> dict[str, Flags]:
    """Which of the given rows each model has, where that is known."""
    masks = {}
    for name, curve in curves.items():
        kept = kept_rows(curve)
        if kept is not None:
            masks[name] = kept
    return masks


def _of_same_rows(masks: Mapping[str, Flags]) -> bool:
    return len(set(map(len, masks.values()))) == 1


def _differ(masks: Mapping[str, Flags]) -> bool:
    return len({mask.tobytes() for mask in masks.values()}) > 1


def _missing_rows(curves: Mapping[str, UCC], masks: Mapping[str, Flags], left: Flags) -> Missing:
    """Return what was left out, and whose rows they were."""
    lacking = dict.fromkeys(curves, 0)
    for name, mask in masks.items():
        lacking[name] = int(np.count_nonzero(~mask))
    kept = int(np.count_nonzero(left))
    return Missing(dropped=len(left) - kept, kept=kept, lacking=lacking)


def vanished_segments(by: Any, kept: Flags | None) -> tuple[str, ...]:
    """Return the segments of which no row is left."""
    if by is None or kept is None:
        return ()
    features: Mapping[str, Any] = by if isinstance(by, Mapping) else {"": by}
    names: list[str] = []
    for feature, values in features.items():
        if np.ndim(values) == 0 or len(values) != len(kept):
            continue
        array: npt.NDArray[Any] = labels("by", values, len(kept))
        if array.dtype.kind == "f":
            continue
        code, labelled = codes("by", array)
        rows_left = np.bincount(code[kept], minlength=len(labelled))
        gone = np.flatnonzero(rows_left == 0)
        names += [f"{feature} {labelled[number]}".strip() for number in gone]
    return tuple(names)


def _common(masks: Mapping[str, Flags]) -> Flags | None:
    """Rows that all models have; None where that cannot be said."""
    if not _of_same_rows(masks):
        return None
    common: Flags = np.logical_and.reduce(list(masks.values()))
    if len(masks) > 1 and not common.any():
        raise ValueError(
            "`models` must share at least one row: every row is missing from some model. "
            'Hint: leave out the model with the fewest rows, or pass missing="pairwise".'
        )
    return common


def _restricted(curve: UCC, mask: Flags | None, common: Flags) -> UCC:
    """Return a model on the common rows."""
    if mask is None or np.array_equal(mask, common):
        return curve
    return rows_of(curve, common[mask])


def pairwise_missing(curves: Mapping[str, UCC]) -> Missing:
    """Return whose rows are missing; a row is dropped where no model has it."""
    masks = _masks(curves)
    anywhere: Flags = np.logical_or.reduce(list(masks.values()))
    return _missing_rows(curves, masks, anywhere)


def pairwise_comparisons(
    sources: Sequence[RowsSource], settings: AssessmentSettings
) -> list[Comparison]:
    """Compare each pair on the rows that both have; refuse models that share none with any other."""
    pairs = [_pair(first, second, settings) for first, second in combinations(sources, 2)]
    return adjusted_comparisons(pairs, settings.confidence_level)


def pairwise_values(
    comparisons: Sequence[Comparison], rows: Sequence[ModelRow], settings: AssessmentSettings
) -> dict[str, float]:
    """Return what ranks each model: the geometric mean of its scores over those of each other one on shared rows."""
    logs = dict.fromkeys([row.name for row in rows], 0.0)
    for pair in comparisons:
        if pair.ratio > 0:
            logs[pair.first] += log(pair.ratio)
            logs[pair.second] -= log(pair.ratio)
    values = {}
    for row in rows:
        ranks = row.move.is_reachable or settings.coverage is None
        values[row.name] = exp(logs[row.name] / len(rows)) if ranks else inf
    return values


def _pair(first: RowsSource, second: RowsSource, settings: AssessmentSettings) -> Comparison:
    """Compare two models on the rows that both have."""
    has_first = kept_rows(first.curve)
    has_second = kept_rows(second.curve)
    if has_first is None or has_second is None:
        raise ValueError(
            '`missing="pairwise"` needs to know which rows were dropped. Hint: build all models alike.'
        )
    shared = has_first & has_second
    if not shared.any():
        raise ValueError(
            f"`models` must share rows pair by pair: {first.name!r} and {second.name!r} have none in common. "
            "Hint: leave one of them out."
        )
    left = _source_on(first, shared[has_first])
    right = _source_on(second, shared[has_second], left.units)
    statistic = SCORE if settings.ranked_by == "score" else CRPS
    test = PairTest(left.units, settings.ranked_by, settings.confidence_level)
    return test.of(
        Contender(left.name, left.evidence(statistic)),
        Contender(right.name, right.evidence(statistic)),
    )


def _source_on(source: RowsSource, rows: Flags, units: Blocks | None = None) -> RowsSource:
    """Return a model on some of its rows."""
    if units is None:
        units = source.units.subset(rows[source.units.row])
    return RowsSource(source.name, rows_of(source.curve, rows), source.settings, units)
