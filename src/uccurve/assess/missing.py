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
    masks = {name: kept_rows(curve) for name, curve in curves.items()}
    common = _common(masks)
    if common is None or common.all():
        return Aligned(dict(curves), None, None)
    known = {name: mask for name, mask in masks.items() if mask is not None}
    if missing == "raise" and len({mask.tobytes() for mask in known.values()}) > 1:
        raise _other_rows(known)
    on_common = {name: _restricted(curve, masks[name], common) for name, curve in curves.items()}
    return Aligned(on_common, common, missing_rows(masks, common))


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
    masks = [kept_rows(curve) for curve in curves.values()]
    known = [mask for mask in masks if mask is not None]
    same_length = len({len(mask) for mask in known}) == 1
    return same_length and len({mask.tobytes() for mask in known}) > 1


def missing_rows(masks: Mapping[str, Flags | None], common: Flags) -> Missing:
    """Return what was left out, and whose rows they were."""
    total = len(common)
    kept = int(np.count_nonzero(common))
    lacking = {
        name: 0 if mask is None else total - int(np.count_nonzero(mask))
        for name, mask in masks.items()
    }
    return Missing(dropped=total - kept, kept=kept, lacking=lacking)


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
        code, found = codes("by", array)
        left = np.unique(code[kept])
        lost = sorted(set(range(len(found))) - set(left.tolist()))
        names += [f"{feature} {found[number]}".strip() for number in lost]
    return tuple(names)


def _common(masks: Mapping[str, Flags | None]) -> Flags | None:
    """Rows that all models have; None where that cannot be said."""
    known = [mask for mask in masks.values() if mask is not None]
    if not known or len({len(mask) for mask in known}) > 1:
        return None
    common: Flags = np.logical_and.reduce(known)
    if len(known) > 1 and not common.any():
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
    masks = {name: kept_rows(curve) for name, curve in curves.items()}
    known = [mask for mask in masks.values() if mask is not None]
    anywhere: Flags = np.logical_or.reduce(known)
    return missing_rows(masks, anywhere)


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
    ratios: dict[str, list[float]] = {row.name: [0.0] for row in rows}
    for pair in comparisons:
        if pair.ratio > 0:
            ratios[pair.first].append(log(pair.ratio))
            ratios[pair.second].append(-log(pair.ratio))
    reach = {row.name: row.move.is_reachable or settings.coverage is None for row in rows}
    return {
        name: exp(sum(logs) / len(rows)) if reach[name] else inf for name, logs in ratios.items()
    }


def _pair(first: RowsSource, second: RowsSource, settings: AssessmentSettings) -> Comparison:
    """Compare two models on the rows that both have."""
    masks = [kept_rows(source.curve) for source in (first, second)]
    if masks[0] is None or masks[1] is None:
        raise ValueError(
            '`missing="pairwise"` needs to know which rows were dropped. Hint: build all models alike.'
        )
    shared = masks[0] & masks[1]
    if not shared.any():
        raise ValueError(
            f"`models` must share rows pair by pair: {first.name!r} and {second.name!r} have none in common. "
            "Hint: leave one of them out."
        )
    left = _source_on(first, shared[masks[0]])
    right = _source_on(second, shared[masks[1]], left.units)
    statistic = SCORE if settings.ranked_by == "score" else CRPS
    test = PairTest(left.units, settings.ranked_by, settings.confidence_level)
    return test.of(
        Contender(left.name, left.evidence(statistic)),
        Contender(right.name, right.evidence(statistic)),
    )


def _source_on(source: RowsSource, rows: Flags, units: Blocks | None = None) -> RowsSource:
    """Return a model on some of its rows."""
    own = units or source.units.subset(rows[source.units.row])
    return RowsSource(source.name, rows_of(source.curve, rows), source.settings, own)
