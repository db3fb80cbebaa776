"""Calibrations as JSON: numbers and names, no code, and everything is checked when it is read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uccurve._checks import HEADLINE, METRICS
from uccurve._shapes import ANY, COUNT, NUMBER, SIZE, TEXT, Kind, exactly, list_of, or_null, parsed
from uccurve.points import OperatingPoint

from ._groups import Keys, Label

HEAD = {"kind": "uccurve.IntervalCalibrator", "version": 3}
SETTINGS: Mapping[str, Any] = {
    "coverage": None,
    "miss_rate": None,
    "bandwidth": None,
    "cost": None,
    "axes": HEADLINE,
    "conformal": True,
    "confidence": None,
    "vary": "scale",
    "tails": "joint",
    "fallback": None,
}
"""Parameters of `IntervalCalibrator` and their defaults."""
LABEL = Kind("a label", lambda value: type(value) in (str, int))
CALIBRATION: dict[str, Any] = {
    "group": or_null(list_of(LABEL, "a list of str and int")),
    "rows": COUNT,
    "moves": [NUMBER],
    **dict.fromkeys(METRICS, SIZE),
    "cost": or_null(SIZE),
}
SHAPE = {
    **{name: exactly(value) for name, value in HEAD.items()},
    "settings": dict.fromkeys(SETTINGS, ANY),  # the calibrator refuses those that it does not take
    "keys": or_null(list_of(TEXT, "a list of names")),
    "calibrations": [CALIBRATION],
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """What one group (or all rows) taught.

    Attributes
    ----------
    rows : int
        Number of rows behind it.
    point : OperatingPoint
        The scale or shift to ship, and the metrics of the calibrated rows; with separate tails the scale is 1.
    tails : tuple of float, optional
        The lower and the upper band's own scale (or shift), where the tails are separate.
    """

    rows: int
    point: OperatingPoint
    tails: tuple[float, float] | None = None

    def moves(self, vary: str) -> tuple[float, ...]:
        """Return the scale (or shift) of both bands, or that of each."""
        return self.tails or (getattr(self.point, vary),)


Calibrations = dict[Label | None, Calibration]
"""What was learnt, by group; None is all rows, for want of groups or as the fallback of those never seen."""


def write(settings: Mapping[str, Any], keys: Keys, calibrations: Calibrations) -> str:
    """Write the settings and what was learnt; floats are written so that they read back exactly."""
    learnt = [
        {"group": label if label is None or isinstance(label, tuple) else [label], "rows": one.rows}
        | {"moves": one.moves(settings["vary"])}
        | {name: getattr(one.point, name) for name in (*METRICS, "cost")}
        for label, one in calibrations.items()
    ]
    return json.dumps({**HEAD, "settings": settings, "keys": keys, "calibrations": learnt}, allow_nan=False)


def read(text: str | bytes) -> tuple[dict[str, Any], Keys, Calibrations]:
    """Return the settings and what was learnt; ValueError where the text holds anything else."""
    data = parsed(text, SHAPE)
    settings, keys = data["settings"], data["keys"]
    calibrations = [(_label(one["group"], keys), _calibration(one, settings)) for one in data["calibrations"]]
    labels = [label for label, _ in calibrations]
    if len(set(labels)) < len(labels):
        raise ValueError("each group must occur once")
    if (None in labels) != (settings["fallback"] is not None or labels == [None]):
        raise ValueError("the group null must stand alone, or be the `fallback`")
    return settings, None if keys is None else tuple(keys), dict(calibrations)


def _label(group: list[Any] | None, keys: list[str] | None) -> Label | None:
    if group is None:
        return None
    if len(group) != (1 if keys is None else len(keys)) or not group:
        raise ValueError("a `group` must have one label for each of its `keys`")
    return tuple(group) if len(group) > 1 else group[0]


def _calibration(one: dict[str, Any], settings: dict[str, Any]) -> Calibration:
    """Return a calibration whose moves fit the settings."""
    moves, vary, separate = one["moves"], settings["vary"], settings["tails"] == "separate"
    if len(moves) != 1 + separate:
        raise ValueError("`moves` must be two numbers for separate `tails`, else one")
    if vary != "shift" and min(moves) < 0:
        raise ValueError("a scale must not be negative")
    moved = {} if separate else {vary: float(moves[0])}
    metrics = {name: float(one[name]) for name in METRICS} | {"cost": one["cost"]}
    point = OperatingPoint(**{"scale": 1.0, "shift": 0.0} | moved | metrics)
    return Calibration(one["rows"], point, (float(moves[0]), float(moves[1])) if separate else None)
