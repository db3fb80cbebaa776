"""Calibrations as JSON: numbers and names, no code, and everything is checked when it is read back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, NoReturn

from uccurve._checks import METRICS
from uccurve.points import OperatingPoint

from ._groups import Label

KIND, VERSION = "uccurve.IntervalCalibrator", 2
TARGETS = ("coverage", "miss_rate", "bandwidth", "cost")
SETTINGS = ("axes", "confidence", "conformal", "fallback", "tails", "vary")
_POINT = ("scale", "shift", *METRICS)


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


@dataclass(frozen=True, slots=True)
class Learnt:
    """What `fit` found: a calibration for each group (None: for all rows), and one for groups never seen."""

    calibrations: dict[Label | None, Calibration]
    keys: tuple[str, ...] | None = None
    pooled: Calibration | None = None


def write(settings: dict[str, Any], learnt: Learnt) -> str:
    """Write the settings and what was learnt; floats are written so that they read back exactly."""
    calibrations = [{"group": label, **_record(one)} for label, one in learnt.calibrations.items()]
    found = {
        "keys": learnt.keys,
        "calibrations": calibrations,
        "pooled": None if learnt.pooled is None else _record(learnt.pooled),
    }
    return json.dumps({"kind": KIND, "version": VERSION, **settings, **found}, allow_nan=False)


def read(text: str | bytes) -> tuple[dict[str, Any], Learnt]:
    """Return the settings and what was learnt, or raise a ValueError that says what is wrong."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"`text` must be the str or bytes that to_json wrote; got {type(text).__name__}.")
    data = parse(text)
    if not isinstance(data, dict):
        refuse(f"it holds {type(data).__name__}, not an object")
    if data.pop("kind", None) != KIND:
        refuse(f"its `kind` is not {KIND!r}")
    if (version := data.pop("version", None)) != VERSION:
        refuse(f"its `version` is {version!r:.40}; this release reads {VERSION}")
    found = {name: data.pop(name, None) for name in ("keys", "calibrations", "pooled")}
    _keys(data, set(SETTINGS), set(TARGETS), "settings")
    if not isinstance(data["conformal"], bool):
        refuse("`conformal` must be true or false")
    for name in set(TARGETS) & data.keys():
        _number(name, data[name])
    return data, _learnt(found, data)


def parse(text: str | bytes) -> Any:
    """Return what JSON text holds; NaN, repeated keys and deep nests are refused."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        refuse(f"{error}" if isinstance(error, ValueError) else "it is nested too deeply")


def refuse(why: str) -> NoReturn:
    """Raise the sentence about text that nobody wrote with to_json."""
    raise ValueError(f"`text` must be a calibration written by to_json: {why}.") from None


def _record(one: Calibration) -> dict[str, Any]:
    point = {name: value for name, value in asdict(one.point).items() if name in (*_POINT, "cost")}
    return {"rows": one.rows, "tails": one.tails, **point}


def _learnt(found: dict[str, Any], settings: dict[str, Any]) -> Learnt:
    keys, given, pooled = found["keys"], found["calibrations"], found["pooled"]
    if keys is not None and not (isinstance(keys, list) and keys and all(isinstance(key, str) for key in keys)):
        refuse("`keys` must be a list of names, or null")
    if not isinstance(given, list) or not given:
        refuse("`calibrations` must be a list that is not empty")
    calibrations = [_labelled(one, settings, keys) for one in given]
    labels = [label for label, _ in calibrations]
    if len(set(labels)) < len(labels) or (None in labels and len(labels) > 1):
        refuse("each group must occur once, and the group null only alone")
    if (pooled is not None) != (settings["fallback"] == "pooled" and None not in labels):
        refuse("`pooled` does not fit its `fallback`")
    return Learnt(
        dict(calibrations),
        None if keys is None else tuple(keys),
        None if pooled is None else _calibration(pooled, settings),
    )


def _labelled(one: Any, settings: dict[str, Any], keys: Any) -> tuple[Label | None, Calibration]:
    if not isinstance(one, dict):
        refuse("each calibration must be an object")
    if "group" not in one:
        refuse("its calibration lacks `group`")
    label = one.pop("group")
    parts = label if isinstance(label, list) else [label]
    if not (label is None or all(isinstance(part, str | int) for part in parts)) or not parts:
        refuse(f"a `group` must be a str, an int, a list of these or null; got {label!r:.40}")
    if isinstance(label, list) != (keys is not None and len(keys) > 1) or (label is None and keys is not None):
        refuse("a `group` must have one label for each of its `keys`")
    if isinstance(label, list) and len(label) != len(keys):
        refuse("a `group` must have one label for each of its `keys`")
    return tuple(label) if isinstance(label, list) else label, _calibration(one, settings)


def _calibration(one: Any, settings: dict[str, Any]) -> Calibration:
    if not isinstance(one, dict):
        refuse("each calibration must be an object")
    _keys(one, {"rows", "tails", "cost", *_POINT}, set(), "calibration")
    rows = one["rows"]
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        refuse(f"`rows` must be an integer of at least 1; got {rows!r:.40}")
    values = {name: _number(name, one[name]) for name in _POINT}
    if one["cost"] is not None:
        values["cost"] = _number("cost", one["cost"])
    if any(values[name] < 0 for name in ("scale", *METRICS)):
        refuse("the scale and the metrics must not be negative")
    tails, vary = _tails(one["tails"], settings), settings["vary"]
    still, stays_at = ("shift", 0.0) if vary == "scale" else ("scale", 1.0)
    if values[still] != stays_at or (tails is not None and (values["scale"], values["shift"]) != (1, 0)):
        refuse(f"vary={vary!r:.40} does not fit its scale and shift")
    return Calibration(rows, OperatingPoint(**values), tails)


def _tails(given: Any, settings: dict[str, Any]) -> tuple[float, float] | None:
    if (given is not None) != (settings["tails"] == "separate"):
        refuse("`tails` of a calibration do not fit those of its settings")
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != 2:
        refuse("`tails` must be two numbers")
    lower, upper = (_number("tails", value) for value in given)
    if settings["vary"] == "scale" and min(lower, upper) < 0:
        refuse("the scale and the metrics must not be negative")
    return lower, upper


def _keys(data: dict[str, Any], needed: set[str], allowed: set[str], what: str) -> None:
    missing, unknown = sorted(needed - data.keys()), sorted(data.keys() - needed - allowed)
    if missing or unknown:
        word, names = ("lack", missing) if missing else ("have unknown", unknown)
        refuse(f"its {what} {word} {', '.join(f'`{name:.40}`' for name in names[:5])}")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e308 or not isfinite(value):
        refuse(f"`{name}` must be a finite number; got {value!r:.40}")
    return float(value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key is repeated")
    return data
