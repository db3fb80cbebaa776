"""Calibrations as JSON: numbers and names, no code, and everything is checked when it is read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from uccurve._shapes import ANY, COUNT, NUMBER, SIZE, TEXT, Kind, exactly, list_of, or_null, parsed

from ._groups import Keys, Label

HEAD = {"kind": "uccurve.IntervalCalibrator", "version": 4}
SETTINGS: Mapping[str, Any] = {
    "coverage": None,
    "conformal": True,
    "confidence": None,
    "vary": "scale",
    "tails": "joint",
    "fallback": None,
}
"""Parameters of `IntervalCalibrator` and their defaults."""
LABELS = list_of(Kind("a label", lambda value: type(value) in (str, int)), "a list of str and int")
SHAPE = {
    **{name: exactly(value) for name, value in HEAD.items()},
    "settings": dict.fromkeys(SETTINGS, ANY),  # the calibrator refuses those that it does not take
    "keys": or_null(list_of(TEXT, "a list of names")),
    "calibrations": [
        {"group": or_null(LABELS), "rows": COUNT, "lower": NUMBER, "upper": NUMBER, "miss_rate": SIZE},
    ],
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """What one group (or all rows) taught.

    Attributes
    ----------
    rows : int
        Number of rows behind it.
    lower, upper : float
        Scale (or shift) of the lower and of the upper bands, the same but for separate tails.
    miss_rate : float
        Of these rows, once they are calibrated.
    """

    rows: int
    lower: float
    upper: float
    miss_rate: float


Calibrations = dict[Label | None, Calibration]
"""What was learnt, by group; None is all rows, for want of groups or as the fallback of those never seen."""


def write(settings: Mapping[str, Any], keys: Keys, calibrations: Calibrations) -> str:
    """Write the settings and what was learnt; floats are written so that they read back exactly."""
    learnt = [
        {"group": label if label is None or isinstance(label, tuple) else [label], **asdict(one)}
        for label, one in calibrations.items()
    ]
    return json.dumps({**HEAD, "settings": settings, "keys": keys, "calibrations": learnt}, allow_nan=False)


def read(text: str | bytes) -> tuple[dict[str, Any], Keys, Calibrations]:
    """Return the settings and what was learnt; ValueError where the text holds anything else."""
    data = parsed(text, SHAPE)
    settings, keys = data["settings"], data["keys"]
    learnt: Calibrations = {}
    for one in data["calibrations"]:
        group = one["group"]
        if group is not None and (not group or len(group) != (1 if keys is None else len(keys))):
            raise ValueError("a `group` must have one label for each of its `keys`")
        label = group and (tuple(group) if len(group) > 1 else group[0])
        found = Calibration(one["rows"], *(float(one[name]) for name in ("lower", "upper", "miss_rate")))
        if label in learnt:
            raise ValueError("each group must occur once")
        if settings["tails"] != "separate" and found.lower != found.upper:
            raise ValueError("`lower` and `upper` must be the same but for separate `tails`")
        if settings["vary"] != "shift" and min(found.lower, found.upper) < 0:
            raise ValueError("a scale must not be negative")
        learnt[label] = found
    if (None in learnt) != (settings["fallback"] is not None or [*learnt] == [None]):
        raise ValueError("the group null must stand alone, or be the `fallback`")
    return settings, None if keys is None else tuple(keys), learnt
