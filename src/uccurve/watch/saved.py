"""Saved: a monitor as JSON, which is read back by the checked reader or refused."""

from __future__ import annotations

from dataclasses import asdict
from math import inf, isfinite, nan
from typing import Any

from uccurve._saved import (
    COUNT,
    NUMBER,
    SIZE,
    TEXT,
    Growing,
    Kind,
    among,
    check,
    exactly,
    list_of,
    or_null,
    version,
)

from .days import TAILS, Day, Label, is_before
from .series import Series, Watch

KIND = "uccurve.Monitor"
SCHEMA = 1
LABELS = list_of(Kind("a label", lambda value: type(value) in (str, int)), "a list of text or of integers")
COUNTS = list_of(COUNT, "a list of integers of at least 1")
SIZES = list_of(SIZE, "a list of finite numbers of at least 0")
SHARES = list_of(Kind("a share", lambda value: SIZE.holds(value) and value <= 1), "a list of numbers from 0 to 1")
GAPPED = list_of(or_null(NUMBER), "a list of finite numbers or null")
TAIL = Kind("scales", lambda value: value is None or _are_scales(value))
SHAPE = Growing(
    {
        "kind": exactly(KIND),
        "schema": version(SCHEMA),
        "watch": Growing(
            {
                "coverage": Kind("a number between 0 and 1", lambda value: NUMBER.holds(value) and 0 < value < 1),
                "false_alarm_every": SIZE,
                "side": among("both", "narrow", "wide"),
                "tolerance": or_null(SIZE),
                "calibrated_on": or_null(COUNT),
                "period": or_null(COUNT),
                "challenger": or_null(TEXT),
            }
        ),
        "acknowledged": LABELS,
    }
)
SERIES = Growing({"model": TEXT, "group": or_null(TEXT), "acknowledged": LABELS})
COLUMNS = {
    "label": LABELS,
    "rows": COUNTS,
    "missed": SHARES,
    "effective": SIZES,
    "scales": list_of(TAIL, f"a list of null or of {len(TAILS)} ascending scales, null where infinite"),
    "score": GAPPED,
    "half_width": GAPPED,
    "skill": GAPPED,
    "watched": COUNTS,
}
NUMBERS = ("score", "half_width", "skill")


def state(watch: Watch, series: list[Series], acknowledged: list[Label]) -> dict[str, Any]:
    """Return what JSON holds of a monitor."""
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "watch": asdict(watch),
        "acknowledged": acknowledged,
        "series": [_written(part) for part in series],
    }


def restored(data: dict[str, Any]) -> tuple[Watch, list[Series], list[Label]]:
    """Return what `state` wrote; its outline was checked by `SHAPE`."""
    watch = Watch(**{name: data["watch"][name] for name in Watch.__dataclass_fields__})
    check(data.get("series"), Kind("a list", lambda value: isinstance(value, list)), "series")
    series: list[Series] = []
    for place, part in enumerate(data["series"]):
        check(part, SERIES, f"series[{place}]")
        series.append(_read(part, f"series[{place}].days"))
    return watch, series, data["acknowledged"]


def _written(series: Series) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for day in series.days:
        columns["label"].append(day.label)
        columns["rows"].append(day.rows)
        columns["missed"].append(day.missed)
        columns["effective"].append(day.effective)
        columns["scales"].append([_finite(scale) for scale in day.scales] or None)
        columns["score"].append(_finite(day.score))
        columns["half_width"].append(_finite(day.half_width))
        columns["skill"].append(_finite(day.skill))
        columns["watched"].append(day.watched)
    part = {"model": series.model, "group": series.group}
    return {**part, "acknowledged": series.acknowledged, "days": columns}


def _read(part: dict[str, Any], where: str) -> Series:
    columns: Any = part.get("days")
    check(columns, Growing(COLUMNS), where)
    lengths = {len(columns[name]) for name in COLUMNS}
    if len(lengths) > 1:
        raise ValueError(f"the lists of `{where}` must have one length")
    series = Series(part["model"], part["group"], acknowledged=part["acknowledged"])
    for place in range(len(columns["label"])):
        day = _day(columns, place)
        if series.days and not is_before(series.days[-1].label, day.label):
            raise ValueError(f"in `{where}`, `label` must be in order")
        series.days.append(day)
    return series


def _day(columns: dict[str, list[Any]], place: int) -> Day:
    scales = columns["scales"][place] or []
    return Day(
        label=columns["label"][place],
        rows=columns["rows"][place],
        missed=float(columns["missed"][place]),
        effective=float(columns["effective"][place]),
        scales=tuple(_or(scale, inf) for scale in scales),
        score=_or(columns["score"][place], nan),
        half_width=_or(columns["half_width"][place], nan),
        skill=_or(columns["skill"][place], nan),
        watched=columns["watched"][place],
    )


def _are_scales(value: Any) -> bool:
    """Whether a value is a list of as many ascending scales as there are tails, null at the end where infinite."""
    if not isinstance(value, list) or len(value) != len(TAILS):
        return False
    known = [scale for scale in value if scale is not None]
    rest = value[len(known) :]
    return all(map(SIZE.holds, known)) and known == sorted(known) and rest == [None] * len(rest)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _or(value: float | None, other: float) -> float:
    return other if value is None else float(value)
