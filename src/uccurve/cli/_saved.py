"""Saved results: what an earlier command wrote as JSON, read back and checked, for `apply` and `gate` to use."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from uccurve.adapters._names import Bounds, Columns
from uccurve.calibrate.calibrator import IntervalCalibrator

from ._sources import Source

KIND, VERSION = "uccurve.calibration", 2
LIMIT = 64 << 20
"""Bytes that a saved result may have."""


@dataclass(frozen=True, slots=True)
class SavedModel:
    """One model: where its columns were, and what was learnt for each pair of bounds."""

    name: str
    columns: Columns
    calibrators: tuple[IntervalCalibrator, ...]


@dataclass(frozen=True, slots=True)
class SavedCalibration:
    """What was learnt from one file."""

    models: tuple[SavedModel, ...]
    by: tuple[str, ...] = ()
    min_band: float | None = None
    sort_crossing: bool = False

    def to_json(self) -> str:
        """Return it as JSON text."""
        models = [
            {"name": one.name, "pred": one.columns.pred, "median": one.columns.median, "levels": _levels(one)}
            for one in self.models
        ]
        data = {"kind": KIND, "version": VERSION, "by": self.by, "min_band": self.min_band}
        data |= {"sort_crossing": self.sort_crossing, "models": models}
        return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)

    @classmethod
    def read(cls, source: Source) -> SavedCalibration:
        """Read what `to_json` wrote; anything else is refused."""
        data = json_object(source) or {}
        try:
            _require(bool(data), "it is not a JSON object")
            _require(data.get("kind") == KIND, f"its `kind` is not {KIND!r}")
            version, least = data.get("version"), data.get("min_band")
            _require(version == VERSION, f"its `version` is {version!r:.40}; this release reads {VERSION}")
            by = _list(data, "by")
            _require(all(isinstance(name, str) for name in by), "`by` must hold names")
            is_number = isinstance(least, int | float) and not isinstance(least, bool) and least >= 0
            _require(least is None or is_number, "`min_band` must be a number of at least 0, or null")
            models = [_model(one) for one in _list(data, "models")]
            _require(bool(models), "`models` must not be empty")
        except ValueError as error:
            raise ValueError(
                f"{source.label} must be a calibration that `uccurve calibrate --save` wrote: {error}."
            ) from None
        return cls(tuple(models), tuple(by), least, data.get("sort_crossing") is True)


def json_object(source: Source) -> dict[str, Any] | None:
    """Return the JSON object that a file or a pipe holds; None where it holds something else."""
    if isinstance(source.content, list):
        return None
    with source.opened() as stream:
        text = stream.read(64)
        if not text.lstrip().startswith(b"{"):
            return None
        text += stream.read(LIMIT)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _levels(one: SavedModel) -> list[dict[str, Any]]:
    return [
        {"lower": bounds.lower, "upper": bounds.upper, "level": None if bounds.level is None else str(bounds.level)}
        | {"calibrator": json.loads(calibrator.to_json())}
        for bounds, calibrator in zip(one.columns.bounds, one.calibrators, strict=True)
    ]


def _model(one: Any) -> SavedModel:
    levels = _list(one, "levels")
    _require(bool(levels), "`levels` must not be empty")
    bounds = [Bounds(_text(level, "lower"), _text(level, "upper"), _level(level)) for level in levels]
    try:
        calibrators = [IntervalCalibrator.from_json(json.dumps(level.get("calibrator"))) for level in levels]
    except ValueError as error:
        raise ValueError(str(error).partition(": ")[2].rstrip(".")) from None
    columns = Columns(_text(one, "pred"), tuple(bounds), median=one.get("median") is True)
    return SavedModel(_text(one, "name"), columns, tuple(calibrators))


def _level(level: dict[str, Any]) -> Fraction | None:
    text = level.get("level")
    is_share = isinstance(text, str) and re.fullmatch(r"[0-9]{1,9}/[1-9][0-9]{0,9}", text) is not None
    _require(text is None or is_share, "each `level` must be a share such as 9/10, or null")
    return None if text is None else Fraction(text)


def _field(data: Any, name: str, kind: type, word: str) -> Any:
    found = data.get(name) if isinstance(data, dict) else None
    _require(isinstance(found, kind), f"`{name}` must be {word}")
    return found


def _list(data: Any, name: str) -> list[Any]:
    return list(_field(data, name, list, "a list"))


def _text(data: Any, name: str) -> str:
    return str(_field(data, name, str, "text"))


def _require(condition: bool, why: str) -> None:
    if not condition:
        raise ValueError(why)
