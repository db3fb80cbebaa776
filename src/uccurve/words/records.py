"""Records: results as plain data, for JSON, data frames and experiment trackers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve.estimate import Estimate, Move

if TYPE_CHECKING:
    from uccurve.results import Assessment, ModelRow

# Fields of a model's row that a data frame leaves out unless all were asked for; tables of their own are never in it.
DETAILS = (
    "missed_above",
    "missed_below",
    "decomposition",
    "delivered",
    "areas",
    "gains",
    "concentration",
)
OWN_TABLES = ("levels", "pit")
METRIC_FIELDS = (
    "score",
    "skill",
    "crps",
    "crps_skill",
    "coverage",
    "scale",
    "shift",
    "half_width",
    "wis",
)


def assessment(found: Assessment, *, schema: int) -> dict[str, Any]:
    """Return an assessment as plain dicts and lists, models by name; what is infinite or undefined is None."""
    crossings = [record(pair) | {"dominant": pair.dominant} for pair in found.crossings]
    return {
        "schema": schema,
        "verdict": record(found.verdict),
        "models": {row.name: record(row) for row in found.rows},
        "comparisons": plain(found.comparisons),
        "wis_comparisons": plain(found.wis_comparisons),
        "crossings": plain(crossings),
        "segments": plain(found.segments),
        "pockets": plain(found.pockets),
        "missing": plain(found.missing),
        "notes": plain(found.notes),
        "not_tested": plain(found.not_tested),
        "settings": record(found.settings),
        "engine": found.engine,
        "brackets": plain(found.brackets),
    }


def metrics(found: Assessment) -> dict[str, float]:
    """Return the finite numbers of each model by flat names."""
    out: dict[str, float] = {}
    for row in found.rows:
        for name in METRIC_FIELDS:
            value = getattr(row, name)
            if value is not None and isfinite(float(value)):
                out[f"{row.name}/{name}"] = float(value)
    return out


def columns(rows: Sequence[Any], *, full: bool = False) -> dict[str, list[Any]]:
    """Return the fields of results as columns: an estimate becomes three, such as score, score_low and score_high."""
    records = [_flat(row, full=full) for row in rows]
    names = list(dict.fromkeys(name for row in records for name in row))
    return {name: [row.get(name) for row in records] for name in names}


def record(result: Any) -> dict[str, Any]:
    """Return a result as a plain dict; a move is its scale and its shift, of which one is None."""
    out: dict[str, Any] = {}
    for item in fields(result):
        value = getattr(result, item.name)
        if isinstance(value, Move):
            out["scale"] = plain(value.scale)
            out["shift"] = plain(value.shift)
        else:
            out[item.name] = plain(value)
    return out


def plain(value: Any) -> Any:
    """Return what JSON can hold; what is infinite or undefined is None.

    >>> plain({"scale": float("inf"), "axes": ("bandwidth", "miss_rate")})
    {'scale': None, 'axes': ['bandwidth', 'miss_rate']}
    """
    if is_dataclass(value):
        return record(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value


def _flat(row: ModelRow | Any, *, full: bool) -> dict[str, Any]:
    """Return the fields of one result under flat names."""
    out: dict[str, Any] = {}
    for item in fields(row):
        if item.name in OWN_TABLES or (not full and item.name in DETAILS):
            continue
        value = getattr(row, item.name)
        if isinstance(value, Move):
            _put(out, "scale", value.scale)
            _put(out, "shift", value.shift)
        else:
            _put(out, item.name, value)
    return out


def _put(out: dict[str, Any], name: str, value: Any) -> None:
    """Add a value under its name, and the parts of what has parts under names of their own."""
    if isinstance(value, Estimate):
        out[name] = value.value
        out[f"{name}_low"] = value.low
        out[f"{name}_high"] = value.high
    elif is_dataclass(value):
        for item in fields(value):
            part = name if name == "wis" and item.name == "score" else f"{name}_{item.name}"
            _put(out, part, getattr(value, item.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _put(out, f"{name}_{key}", item)
    else:
        out[name] = value
