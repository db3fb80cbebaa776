"""Features: columns of any kind as numbers or labels, with what is left out and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._arrays import Flags, Indices
from uccurve._saved import FLAG, NUMBER, TEXT, among, list_of, or_null
from uccurve._vocabulary import Array
from uccurve.words.formats import listed, short

FeatureKind = Literal["number", "date", "flag", "category"]
HINT = 'Hint: pass a data frame, or {"temperature": array}.'
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")
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
    >>> columns = {"temp": [1.5, 2.0], "weekend": [True, False], "city": ["A", None]}
    >>> [feature.kind for feature in read_features(columns, 2)]
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


def at_rows(features: Iterable[Feature], rows: Indices) -> list[Feature]:
    """Return features at some rows."""
    return [feature.take(rows) for feature in features]


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
    absent = np.fromiter(map(is_missing, items), np.bool_, len(items))
    known = np.empty(len(items), object)
    known[:] = items
    known = known[~absent]
    if len(known) and all(map(_is_flag, known)):
        return Feature(name, "flag", _filled(absent, known))
    if len(known) and all(map(_is_number, known)):
        return Feature(name, "number", _filled(absent, known))
    if len(known) and all(map(_is_date, known)):
        return Feature(name, "date", _filled(absent, list(map(_seconds, known))))
    if len(known) and all(map(_is_written_date, known)):
        return _of_dates(name, absent, known)
    return _of_labels(name, absent, known)


def _of_dates(name: str, absent: Flags, known: npt.NDArray[Any]) -> Feature:
    """Return dates that are written as text, as files have them; labels where one of them is no date."""
    moments = np.full(len(absent), "NaT", "datetime64[us]")
    try:
        moments[~absent] = known.astype("datetime64[us]")
    except ValueError:
        return _of_labels(name, absent, known)
    return _of_times(name, moments)


def _of_labels(name: str, absent: Flags, known: npt.NDArray[Any]) -> Feature:
    """Return labels of any kind as text."""
    labels, place = np.unique(list(map(str, known)), return_inverse=True)
    return Feature(name, "category", _filled(absent, place), tuple(labels.tolist()))


def _filled(absent: Flags, known: Any) -> Array:
    """Return one number per row, NaN where there is none."""
    numbers = np.full(len(absent), np.nan)
    numbers[~absent] = np.asarray(known, np.float64)
    return numbers


def is_missing(item: Any) -> bool:
    """Whether a value is None, NaN, or the missing value of any library."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float | np.floating) and bool(np.isnan(item))


def _is_flag(item: Any) -> bool:
    return isinstance(item, bool | np.bool_)


def _is_date(item: Any) -> bool:
    return isinstance(item, date)


def _is_written_date(item: Any) -> bool:
    return isinstance(item, str) and ISO_DATE.fullmatch(item) is not None


def _is_number(item: Any) -> bool:
    if _is_flag(item):
        return False
    return isinstance(item, int | float | np.number) or type(item).__name__ == "Decimal"


def _seconds(moment: date) -> float:
    """Return the seconds since 1970; a moment without a time zone is taken as it reads."""
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time(0))
    return moment.replace(tzinfo=UTC).timestamp()


ELSEWHERE = "elsewhere"  # what rows in no region are called
LABELS_SHOWN = 4
DAY = 86_400
CONDITION_SHAPE = {
    "feature": TEXT,
    "kind": among("number", "date", "flag", "category"),
    "above": or_null(NUMBER),
    "at_most": or_null(NUMBER),
    "labels": list_of(TEXT, "a list of text"),
    "excluded": FLAG,
    "known": FLAG,
    "missing": FLAG,
}
REGION_SHAPE = {"conditions": [CONDITION_SHAPE]}


@dataclass(frozen=True, slots=True)
class Condition:
    """What one feature must be.

    Attributes
    ----------
    above, at_most : float or None
        Ends of the range of a number, a date (seconds since 1970) or a flag (0 and 1).
    labels : tuple of str
        Of a category: those that are in, or with `excluded` those that are not.
    excluded : bool
    known, missing : bool
        Whether rows with a value, and rows without one, can be in.
    """

    feature: str
    kind: FeatureKind
    above: float | None = None
    at_most: float | None = None
    labels: tuple[str, ...] = ()
    excluded: bool = False
    known: bool = True
    missing: bool = False

    def holds(self, feature: Feature) -> Flags:
        """Return which rows fulfil it."""
        absent = np.isnan(feature.values)
        inside = (
            self._holds_label(feature) if self.kind == "category" else self._holds_number(feature)
        )
        return np.where(absent, self.missing, inside & self.known)

    def _holds_number(self, feature: Feature) -> Flags:
        inside = np.ones(len(feature), np.bool_)
        if self.above is not None:
            inside &= feature.values > self.above
        if self.at_most is not None:
            inside &= feature.values <= self.at_most
        return inside

    def _holds_label(self, feature: Feature) -> Flags:
        named = np.isin([*feature.labels, ""], self.labels)
        named[-1] = False
        inside = named != self.excluded
        place = np.where(np.isnan(feature.values), -1, feature.values)
        flags: Flags = inside[place.astype(np.intp)]
        return flags

    def __str__(self) -> str:
        name = short(self.feature)
        if not self.known:
            return f"{name} is missing"
        if self.kind == "flag" and not self.missing:
            return self._flag_in_words(name)
        words = (
            self._labels_in_words(name) if self.kind == "category" else self._range_in_words(name)
        )
        if words == name:
            return f"{name} is known"
        is_stated = self.missing and not self.excluded
        return f"({words} or missing)" if is_stated else words

    def _flag_in_words(self, name: str) -> str:
        if self.above is not None:
            return name
        return f"not {name}" if self.at_most is not None else f"{name} is known"

    def _labels_in_words(self, name: str) -> str:
        named = listed(self.labels, LABELS_SHOWN)
        if not self.excluded:
            return f"{name} = {named}" if len(self.labels) == 1 else f"{name} in ({named})"
        return f"{name} ≠ {named}" if len(self.labels) == 1 else f"{name} not in ({named})"

    def _range_in_words(self, name: str) -> str:
        above = None if self.above is None else value_in_words(self.above, self.kind)
        at_most = None if self.at_most is None else value_in_words(self.at_most, self.kind)
        if above is not None and at_most is not None:
            return f"{above} < {name} ≤ {at_most}"
        if above is not None:
            return f"{name} > {above}"
        return name if at_most is None else f"{name} ≤ {at_most}"


def value_in_words(value: float, kind: FeatureKind) -> str:
    """Return a number, or a date.

    >>> (
    ...     value_in_words(31.5, "number"),
    ...     value_in_words(86_400.0, "date"),
    ...     value_in_words(3600.0, "date"),
    ... )
    ('31.5', '1970-01-02', '1970-01-01 01:00')
    """
    if kind != "date":
        return f"{value + 0.0:.6g}"  # which has no negative zero
    moment = datetime.fromtimestamp(value, UTC)
    return f"{moment:%Y-%m-%d}" if value % DAY == 0 else f"{moment:%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class Region:
    """Rows that fulfil all conditions; without any, all rows.

    Examples
    --------
    >>> from uccurve.pockets.features import read_features
    >>> hot = Region(
    ...     (Condition("temp", "number", above=31.5), Condition("weekend", "flag", above=0.5))
    ... )
    >>> print(hot)
    temp > 31.5 and weekend
    >>> hot.holds(read_features({"temp": [30, 33, 35], "weekend": [True, True, False]}, 3)).tolist()
    [False, True, False]
    """

    conditions: tuple[Condition, ...] = ()

    def holds(self, features: Sequence[Feature]) -> Flags:
        """Return which rows lie in the region."""
        by_name = {feature.name: feature for feature in features}
        inside = np.ones(len(features[0]), np.bool_)
        for condition in self.conditions:
            feature = by_name.get(condition.feature)
            _refuse_other(condition, feature, [*by_name])
            assert feature is not None  # noqa: S101  # refused above
            inside &= condition.holds(feature)
        return inside

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or "all rows"


def labels_of_rows(regions: Sequence[Region], features: Sequence[Feature]) -> list[str]:
    """Return the region of each row in words: the first that holds, or `ELSEWHERE`."""
    place = np.full(len(features[0]), len(regions))
    for number, region in reversed([*enumerate(regions)]):
        place[region.holds(features)] = number
    names = [*map(str, regions), ELSEWHERE]
    return [names[number] for number in place.tolist()]


def to_data(regions: Sequence[Region]) -> list[dict[str, Any]]:
    """Return regions as plain data that JSON can hold."""
    return list(map(asdict, regions))


def from_data(data: Sequence[Mapping[str, Any]]) -> tuple[Region, ...]:
    """Return what `to_data` wrote, and `REGION_SHAPE` has checked."""
    regions: list[Region] = []
    for region in data:
        conditions = map(_condition, region["conditions"])
        regions.append(Region(tuple(conditions)))
    return tuple(regions)


def _condition(data: Mapping[str, Any]) -> Condition:
    return Condition(
        feature=data["feature"],
        kind=data["kind"],
        above=data["above"],
        at_most=data["at_most"],
        labels=tuple(data["labels"]),
        excluded=data["excluded"],
        known=data["known"],
        missing=data["missing"],
    )


def _refuse_other(condition: Condition, feature: Feature | None, names: Sequence[str]) -> None:
    """Refuse features that lack the one of a condition, or hold something else in it."""
    if feature is None:
        raise ValueError(
            f"`features` must have {condition.feature!r}, which a region is made of; it has {listed(names)}."
        )
    if feature.kind == condition.kind or not len(feature.known):
        return
    if {feature.kind, condition.kind} == {"flag", "number"}:
        return
    raise ValueError(
        f"`features[{condition.feature!r}]` must hold what it held when the regions were found: a {condition.kind}; "
        f"it holds a {feature.kind}. Hint: read the column as the same type."
    )
