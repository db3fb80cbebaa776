"""Rules: regions of the features as data, which are saved, read back and applied to new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from uccurve._arrays import Flags
from uccurve._saved import FLAG, NUMBER, TEXT, among, list_of, or_null
from uccurve.pockets.features import Feature, FeatureKind
from uccurve.words.formats import listed, short

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
        named = [label in self.labels for label in feature.labels]
        inside = np.array([*named, False]) != self.excluded
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
        above = None if self.above is None else self._value_in_words(self.above)
        at_most = None if self.at_most is None else self._value_in_words(self.at_most)
        if above is not None and at_most is not None:
            return f"{above} < {name} ≤ {at_most}"
        if above is not None:
            return f"{name} > {above}"
        return name if at_most is None else f"{name} ≤ {at_most}"

    def _value_in_words(self, value: float) -> str:
        if self.kind != "date":
            return f"{value:.6g}"
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
    return [asdict(region) for region in regions]


def from_data(data: Sequence[Mapping[str, Any]]) -> tuple[Region, ...]:
    """Return what `to_data` wrote, and `REGION_SHAPE` has checked."""
    regions: list[Region] = []
    for region in data:
        conditions = [_condition(item) for item in region["conditions"]]
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
