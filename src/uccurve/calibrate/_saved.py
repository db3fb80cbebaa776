"""Calibrations as JSON: numbers and names, no code, and nothing taken on trust when read back."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from math import isfinite
from typing import Any, NoReturn

from uccurve._checks import METRICS
from uccurve.points import OperatingPoint

KIND, VERSION = "uccurve.IntervalCalibrator", 1
Found = tuple[str | int | None, int, OperatingPoint]
"""Group, number of rows, operating point."""

_SETTINGS = {"axes", "conformal", "vary"}
_TARGETS = {"miss_rate", "bandwidth", "cost"}
_POINT = [field.name for field in fields(OperatingPoint)]


def write(settings: dict[str, Any], found: list[Found]) -> str:
    """Write the settings and what was learnt; floats are written so that they read back exactly."""
    calibrations = [{"group": label, "rows": rows, **asdict(point)} for label, rows, point in found]
    return json.dumps({"kind": KIND, "version": VERSION, **settings, "calibrations": calibrations}, allow_nan=False)


def read(text: str | bytes) -> tuple[dict[str, Any], list[Found]]:
    """Return the settings and what was learnt, or raise a ValueError that says what is wrong."""
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"`text` must be the str or bytes that to_json wrote; got {type(text).__name__}.")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        _refuse(f"{error}" if isinstance(error, ValueError) else "it is nested too deeply")
    if not isinstance(data, dict):
        _refuse(f"it holds {type(data).__name__}, not an object")
    if data.pop("kind", None) != KIND:
        _refuse(f"its `kind` is not {KIND!r}")
    if (version := data.pop("version", None)) != VERSION:
        _refuse(f"its `version` is {version!r:.40}; this release reads {VERSION}")
    calibrations = data.pop("calibrations", None)
    _keys(data, _SETTINGS, _TARGETS, "settings")
    if not isinstance(data["conformal"], bool):
        _refuse("`conformal` must be true or false")
    for name in _TARGETS & data.keys():
        _number(name, data[name])
    if not isinstance(calibrations, list) or not calibrations:
        _refuse("`calibrations` must be a list that is not empty")
    found = [_calibration(one, data["vary"]) for one in calibrations]
    labels = [label for label, _, _ in found]
    if len(set(labels)) < len(labels) or (None in labels and len(labels) > 1):
        _refuse("each group must occur once, and the group null only alone")
    return data, found


def _calibration(one: Any, vary: Any) -> Found:
    if not isinstance(one, dict):
        _refuse("each calibration must be an object")
    _keys(one, {"group", "rows", *_POINT}, set(), "calibration")
    label, rows = one.pop("group"), one.pop("rows")
    if not (label is None or isinstance(label, (str, int))):
        _refuse(f"a `group` must be a str, an int or null; got {label!r:.40}")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        _refuse(f"`rows` must be an int of at least 1; got {rows!r:.40}")
    values = {name: _number(name, value) for name, value in one.items() if not (name == "cost" and value is None)}
    if any(values[name] < 0 for name in ("scale", *METRICS)):
        _refuse("the scale and the metrics must not be negative")
    still, stays_at = ("shift", 0.0) if vary == "scale" else ("scale", 1.0)
    if values[still] != stays_at:
        _refuse(f"vary={vary!r:.40} does not fit its scale and shift")
    return label, rows, OperatingPoint(**values)


def _keys(data: dict[str, Any], needed: set[str], allowed: set[str], what: str) -> None:
    missing, unknown = sorted(needed - data.keys()), sorted(data.keys() - needed - allowed)
    if missing or unknown:
        word, names = ("lack", missing) if missing else ("have unknown", unknown)
        _refuse(f"its {what} {word} {', '.join(f'`{name:.40}`' for name in names[:5])}")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e308 or not isfinite(value):
        _refuse(f"`{name}` must be a finite number; got {value!r:.40}")
    return float(value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key is repeated")
    return data


def _refuse(why: str) -> NoReturn:
    raise ValueError(f"`text` must be a calibration written by to_json: {why}.") from None
