"""Features: columns of any kind as numbers or labels, with what is left out and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Indices
from uccurve._vocabulary import Array

FeatureKind = Literal["number", "date", "flag", "category"]
HINT = 'Hint: pass a data frame, or {"temperature": array}.'
KEY_SHARE = 0.5  # labels of which more are distinct name rows rather than groups


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """One column, one value per row.

    Attributes
    ----------
    kind : {"number", "date", "flag", "category"}
    values : array
        Numbers, seconds since 1970 for dates, 0 and 1 for flags, places among `labels` for categories; NaN where
        missing.
    labels : tuple of str
        Of a category; empty for others.
    """

    name: str
    kind: FeatureKind
    values: Array
    labels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Indices) -> Feature:
        """Return the feature at some rows."""
        return replace(self, values=self.values[rows])

    @property
    def known(self) -> Array:
        """The values that are not missing."""
        return self.values[~np.isnan(self.values)]

    @property
    def distinct(self) -> int:
        """How many values differ; missing is one of them."""
        has_missing = bool(np.isnan(self.values).any())
        return len(np.unique(self.known)) + has_missing


def read_features(given: Any, rows: int | None = None) -> list[Feature]:
    """Return the columns of a data frame, or of a mapping from name to array.

    Examples
    --------
    >>> [
    ...     one.kind
    ...     for one in read_features(
    ...         {"temp": [1.5, 2.0], "weekend": [True, False], "city": ["A", None]}, 2
    ...     )
    ... ]
    ['number', 'flag', 'category']
    """
    features: list[Feature] = []
    for name, column in _columns(given):
        feature = feature_of(str(name), column)
        features.append(feature)
    if not features:
        raise ValueError(f"`features` must have at least one column; it has none. {HINT}")
    for feature in features:
        _refuse_length(feature, len(features[0]) if rows is None else rows)
    return features


def usable(features: Iterable[Feature]) -> tuple[list[Feature], list[str]]:
    """Return the features in which regions can be sought, and a note on each one that is left out."""
    kept: list[Feature] = []
    notes: list[str] = []
    for feature in features:
        reason = _why_useless(feature)
        if reason is None:
            kept.append(feature)
        else:
            notes.append(f"feature {feature.name} was left out: {reason}")
    return kept, notes


def feature_of(name: str, given: Any) -> Feature:
    """Return one column as a feature, by what it holds."""
    if isinstance(given, np.ma.MaskedArray):
        filled: Any = given.astype(object)
        given = filled.filled(None)
    array = np.asarray(given)
    if array.ndim != 1:
        raise ValueError(
            f"`features[{name!r}]` must hold one value per row; it has {array.ndim} dimensions. "
            "Hint: pass one column for each feature."
        )
    kind = array.dtype.kind
    if kind == "b":
        return Feature(name, "flag", array.astype(np.float64))
    if kind in "iuf":
        return Feature(name, "number", array.astype(np.float64))
    if kind in "mM":
        return _of_times(name, array)
    return _of_objects(name, array.tolist())


def _columns(given: Any) -> Iterator[tuple[Any, Any]]:
    """Yield names and columns."""
    if isinstance(given, Mapping):
        yield from given.items()
        return
    import narwhals as nw

    try:
        frame = nw.from_native(given)
    except TypeError:
        kind = type(given).__name__
        raise TypeError(
            f"`features` must be a data frame or a mapping of arrays; got {kind}. {HINT}"
        ) from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    for name in eager.columns:
        yield name, eager[name].to_numpy()


def _refuse_length(feature: Feature, rows: int) -> None:
    if len(feature) != rows:
        raise ValueError(
            f"`features[{feature.name!r}]` must hold one value per row: {checks.counted(len(feature), 'value')} "
            f"for {checks.counted(rows, 'row')}. Hint: leave out the values of rows that were dropped."
        )


def _why_useless(feature: Feature) -> str | None:
    """Return why no region can be sought in a feature; None where one can."""
    distinct = feature.distinct
    if distinct < 2:
        return "it has one value in all rows"
    if feature.kind == "category" and distinct > KEY_SHARE * len(feature):
        return f"it names rows, with {distinct:,} distinct labels in {len(feature):,} rows"
    return None


def _of_times(name: str, array: npt.NDArray[Any]) -> Feature:
    """Return dates as seconds since 1970, durations as a number of seconds."""
    seconds = array.astype(f"{array.dtype.kind}8[us]").astype(np.float64) / 1e6
    seconds[np.isnat(array)] = np.nan
    kind: FeatureKind = "date" if array.dtype.kind == "M" else "number"
    return Feature(name, kind, seconds)


def _of_objects(name: str, items: list[Any]) -> Feature:
    """Return what Python objects hold: flags, numbers and dates where all are, else labels."""
    known = [item for item in items if not is_missing(item)]
    if known and all(isinstance(item, bool | np.bool_) for item in known):
        return Feature(name, "flag", _numbers(items))
    if known and all(_is_number(item) for item in known):
        return Feature(name, "number", _numbers(items))
    if known and all(isinstance(item, date) for item in known):
        seconds = [None if is_missing(item) else _seconds(item) for item in items]
        return Feature(name, "date", _numbers(seconds))
    return _of_labels(name, items)


def _of_labels(name: str, items: list[Any]) -> Feature:
    """Return labels of any kind as text."""
    texts = [None if is_missing(item) else str(item) for item in items]
    labels = sorted({text for text in texts if text is not None})
    place = {label: number for number, label in enumerate(labels)}
    codes = [None if text is None else place[text] for text in texts]
    return Feature(name, "category", _numbers(codes), tuple(labels))


def _numbers(items: Iterable[Any]) -> Array:
    return np.array([np.nan if is_missing(item) else float(item) for item in items])


def is_missing(item: Any) -> bool:
    """Whether a value is None, NaN, or the missing value of any library."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float | np.floating) and bool(np.isnan(item))


def _is_number(item: Any) -> bool:
    if isinstance(item, bool | np.bool_):
        return False
    return isinstance(item, int | float | np.number) or type(item).__name__ == "Decimal"


def _seconds(moment: date) -> float:
    """Return the seconds since 1970; a moment without a time zone is taken as it reads."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(0))
    return moment.replace(tzinfo=UTC).timestamp()
