"""Saved calibrations: what `calibrate` learnt for each model of a file, for `apply` to use on later ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from uccurve._outputs import shown_path
from uccurve.calibrate.calibrator import IntervalCalibrator

KIND, VERSION = "uccurve.calibration", 1
LIMIT = 64 << 20
"""Bytes that a saved calibration may have."""


@dataclass(frozen=True, slots=True)
class SavedModel:
    """One model (or one of its levels): where its columns were, and what was learnt."""

    name: str
    pred: str
    lower: str
    upper: str
    calibrator: IntervalCalibrator

    @property
    def columns(self) -> tuple[str, str, str]:
        """Prediction and bounds."""
        return self.pred, self.lower, self.upper


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
            {"name": one.name, "pred": one.pred, "lower": one.lower, "upper": one.upper}
            | {"calibrator": json.loads(one.calibrator.to_json())}
            for one in self.models
        ]
        data = {"kind": KIND, "version": VERSION, "by": self.by, "min_band": self.min_band}
        return json.dumps(
            data | {"sort_crossing": self.sort_crossing, "models": models},
            indent=2,
            allow_nan=False,
            ensure_ascii=False,
        )

    @classmethod
    def read(cls, path: str) -> SavedCalibration:
        """Read what `to_json` wrote; anything else is refused."""
        place = Path(path)
        if place.stat().st_size > LIMIT:
            _refuse(path, "it is too large")
        try:
            data = json.loads(place.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            _refuse(path, "it is not JSON")
        if not isinstance(data, dict) or data.get("kind") != KIND:
            _refuse(path, f"its `kind` is not {KIND!r}")
        if data.get("version") != VERSION:
            _refuse(path, f"its `version` is {data.get('version')!r:.40}; this release reads {VERSION}")
        return cls(
            tuple(_model(path, one) for one in _list(path, data, "models", at_least=1)),
            tuple(_text(path, "by", name) for name in _list(path, data, "by")),
            _minimum(path, data.get("min_band")),
            data.get("sort_crossing") is True,
        )


def _model(path: str, one: Any) -> SavedModel:
    if not isinstance(one, dict):
        _refuse(path, "each of its `models` must be an object")
    name, pred, lower, upper = (_text(path, key, one.get(key)) for key in ("name", "pred", "lower", "upper"))
    try:
        return SavedModel(name, pred, lower, upper, IntervalCalibrator.from_json(json.dumps(one.get("calibrator"))))
    except ValueError as error:
        _refuse(path, str(error).partition(": ")[2].rstrip("."))


def _list(path: str, data: dict[str, Any], name: str, at_least: int = 0) -> list[Any]:
    found = data.get(name)
    if not isinstance(found, list) or len(found) < at_least:
        _refuse(path, f"`{name}` must be a list")
    return found


def _text(path: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        _refuse(path, f"`{name}` must be text")
    return value


def _minimum(path: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        _refuse(path, "`min_band` must be a number of at least 0, or null")
    return float(value)


def _refuse(path: str, why: str) -> NoReturn:
    raise ValueError(
        f"{shown_path(path)} must be a calibration that `uccurve calibrate --save` wrote: {why}."
    ) from None
