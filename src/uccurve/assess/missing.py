"""Missing rows: which models lack which rows, and what is left to compare."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags
from uccurve.assess.models import rows_of
from uccurve.curve import UCC
from uccurve.evidence.labels import codes, labels
from uccurve.results import Missing

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
    if (
        missing == "raise"
        and len({mask.tobytes() for mask in masks.values() if mask is not None}) > 1
    ):
        return Aligned(dict(curves), None, None)  # which is refused where rows are compared
    on_common = {name: _restricted(curve, masks[name], common) for name, curve in curves.items()}
    return Aligned(on_common, common, missing_rows(masks, common))


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
