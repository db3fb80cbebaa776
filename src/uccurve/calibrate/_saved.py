"""Calibrations by group, and as JSON: numbers and names, no code, all of it checked when it is read back."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._saved import (
    ANY,
    COUNT,
    NUMBER,
    PROPORTION,
    SIZE,
    TEXT,
    Growing,
    Kind,
    Named,
    exactly,
    list_of,
    or_null,
    parsed,
)
from uccurve._vocabulary import Vary
from uccurve.evidence.units import labels as one_per_row
from uccurve.results import SCHEMA

Label = (
    str | int | tuple[str | int, ...]
)  # what names a group; a tuple where there are several keys
Keys = tuple[str, ...] | None  # names of the keys; None for one key without a name
HEAD = {"kind": "uccurve.IntervalCalibrator", "version": 4}
SETTINGS = (
    "coverage",
    "conformal",
    "confidence",
    "vary",
    "tails",
    "fallback",
)  # of an `IntervalCalibrator`
LABELS = list_of(Kind("a label", lambda value: type(value) in (str, int)), "a list of str and int")
SHAPE = {
    **{name: exactly(value) for name, value in HEAD.items()},
    "settings": dict.fromkeys(SETTINGS, ANY),  # the calibrator refuses those that it does not take
    "keys": or_null(list_of(TEXT, "a list of names")),
    "calibrations": [
        {
            "group": or_null(LABELS),
            "rows": COUNT,
            "lower": NUMBER,
            "upper": NUMBER,
            "miss_rate": or_null(SIZE),
        },
    ],
}
VARIED: tuple[Vary, ...] = ("scale", "shift")
VERDICT = {
    "headline": TEXT,
    "model": TEXT,
    "scale": or_null(SIZE),
    "shift": or_null(NUMBER),
    "coverage": PROPORTION,
}
ASSESSMENT = Growing(
    {
        "schema": exactly(SCHEMA),
        "verdict": Growing(VERDICT),
        "models": Named(Growing({"n": COUNT})),
    }
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was learnt from one group, or from all rows.

    >>> Calibration(rows=200, lower=1.2, upper=1.2, miss_rate=0.095)
    Calibration(rows=200, lower=1.2, upper=1.2, miss_rate=0.095)

    Attributes
    ----------
    rows : int
        Number of rows behind it.
    lower, upper : float
        Scale (or shift) of the lower and of the upper bands, the same but for separate tails.
    miss_rate : float
        Of these rows, once they are calibrated; nan where only the verdict of an assessment is known.
    """

    rows: int
    lower: float
    upper: float
    miss_rate: float


class SavedVerdict(NamedTuple):
    """What the verdict of an assessment ships: how bands are moved, for which coverage, from how many rows."""

    vary: Vary
    move: float
    coverage: float
    rows: int


def read_verdict(text: str | bytes) -> SavedVerdict:
    """Return what the JSON of an assessment ships; ValueError where that is nothing, or the text is something else."""
    try:
        data = parsed(text, ASSESSMENT)
    except ValueError as error:
        raise ValueError(
            f"`assessment` must be one, or the JSON that its to_json wrote: {error}."
        ) from None
    verdict = data["verdict"]
    row = data["models"].get(verdict["model"])
    if row is None:
        raise ValueError("`assessment` must have the model of its verdict among its models.")
    for vary in VARIED:
        if verdict[vary] is not None:
            return SavedVerdict(vary, float(verdict[vary]), float(verdict["coverage"]), row["n"])
    raise ValueError(
        f"`assessment` names no factor that would ship: {verdict['headline']} "
        "Hint: assess more rows, or ask for less coverage."
    )


# What was learnt, by group; None is all rows, for want of groups or as the fallback of those never seen.
Calibrations = dict[Label | None, Calibration]


def write(
    settings: Mapping[str, Any], keys: Keys, calibrations: Mapping[Label | None, Calibration]
) -> str:
    """Write the settings and what was learnt; floats are written so that they read back exactly."""
    learnt = [
        {"group": label if label is None or isinstance(label, tuple) else [label]}
        | asdict(calibration)
        | {"miss_rate": None if isnan(calibration.miss_rate) else calibration.miss_rate}
        for label, calibration in calibrations.items()
    ]
    return json.dumps(
        {**HEAD, "settings": settings, "keys": keys, "calibrations": learnt}, allow_nan=False
    )


def read(text: str | bytes) -> tuple[dict[str, Any], Keys, Calibrations]:
    """Return the settings and what was learnt; ValueError where the text holds anything else."""
    data = parsed(text, SHAPE)
    settings, keys = data["settings"], data["keys"]
    learnt: Calibrations = {}
    for one in data["calibrations"]:
        group = one.pop("group")
        if group is not None and (not group or len(group) != (1 if keys is None else len(keys))):
            raise ValueError("a `group` must have one label for each of its `keys`")
        label = group and (tuple(group) if len(group) > 1 else group[0])
        if label in learnt:
            raise ValueError("each group must occur once")
        if one["miss_rate"] is None:
            one["miss_rate"] = nan
        learnt[label] = found = Calibration(**one)
        if settings["tails"] != "separate" and found.lower != found.upper:
            raise ValueError("`lower` and `upper` must be the same but for separate `tails`")
        if settings["vary"] != "shift" and min(found.lower, found.upper) < 0:
            raise ValueError("a scale must not be negative")
    if (None in learnt) != (settings["fallback"] is not None or [*learnt] == [None]):
        raise ValueError("the group null must stand alone, or be the `fallback`")
    return settings, None if keys is None else tuple(keys), learnt


def grouped(groups: Any, n: int) -> tuple[Keys, dict[Label, npt.NDArray[np.intp]]]:
    """Return the keys and the row numbers of each group, from one label per row, or from a mapping of several keys.

    >>> grouped({"site": ["N", "S", "N"], "hour": [1, 1, 1]}, 3)
    (('site', 'hour'), {('N', 1): array([0, 2]), ('S', 1): array([1])})
    """
    if isinstance(groups, Mapping) and not groups:
        raise ValueError("`groups` must have at least one key; it is empty.")
    named = (
        {f"groups[{key!r}]": column for key, column in groups.items()}
        if isinstance(groups, Mapping)
        else None
    )
    columns = []
    for name, column in (named or {"groups": groups}).items():
        columns.append(one_per_row(name, column, n).tolist())
        for row, label in enumerate(columns[-1]):
            if not isinstance(label, str | int):
                raise TypeError(
                    f"`{name}` must hold str or int labels; row {row} holds {label!r}. "
                    "Hint: convert labels to str first, and name the rows without a group."
                )
    rows: dict[Any, list[int]] = {}
    for row, label in enumerate(columns[0] if len(columns) == 1 else zip(*columns, strict=True)):
        rows.setdefault(label, []).append(row)
    keys = tuple(map(str, groups)) if isinstance(groups, Mapping) else None
    return keys, {label: np.array(found) for label, found in rows.items()}
