"""Saved results: what an earlier command wrote as JSON, read back and checked, for `apply` and `gate` to use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from uccurve._checks import as_written
from uccurve._shapes import ANY, FLAG, SIZE, TEXT, exactly, list_of, or_null, parsed
from uccurve.adapters._names import Bounds, Columns
from uccurve.calibrate.calibrator import IntervalCalibrator

from ._sources import Source

HEAD = {"kind": "uccurve.calibration", "version": 3}
LEVEL = {"lower": TEXT, "upper": TEXT, "level": or_null(SIZE), "calibrator": ANY}
SHAPE = {
    **{name: exactly(value) for name, value in HEAD.items()},
    "by": list_of(TEXT, "a list of names"),
    "min_band": or_null(SIZE),
    "sort_crossing": FLAG,
    "models": [{"name": TEXT, "pred": TEXT, "median": FLAG, "levels": [LEVEL]}],
}
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
        data = {**HEAD, "by": self.by, "min_band": self.min_band, "sort_crossing": self.sort_crossing, "models": models}
        return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)

    @classmethod
    def read(cls, source: Source) -> SavedCalibration:
        """Read what `to_json` wrote; anything else is refused."""
        try:
            data = parsed(json_text(source), SHAPE)
            models = tuple(map(_model, data["models"]))
        except ValueError as error:
            why = str(error).rstrip(".")
            raise ValueError(
                f"{source.label} must be a calibration that `uccurve calibrate --save` wrote: {why}."
            ) from None
        return cls(models, tuple(data["by"]), data["min_band"], data["sort_crossing"])


def json_text(source: Source) -> bytes:
    """Return the text of a file or a pipe that begins like a JSON object; nothing of any other."""
    if isinstance(source.content, list):
        return b""
    with source.opened() as stream:
        text = stream.read(64)
        return text + stream.read(LIMIT) if text.lstrip().startswith(b"{") else b""


def _levels(one: SavedModel) -> list[dict[str, Any]]:
    return [
        {"lower": bounds.lower, "upper": bounds.upper, "level": None if bounds.level is None else float(bounds.level)}
        | {"calibrator": json.loads(calibrator.to_json())}
        for bounds, calibrator in zip(one.columns.bounds, one.calibrators, strict=True)
    ]


def _model(one: dict[str, Any]) -> SavedModel:
    bounds = tuple(
        Bounds(level["lower"], level["upper"], None if level["level"] is None else as_written(level["level"]))
        for level in one["levels"]
    )
    try:
        calibrators = tuple(IntervalCalibrator.from_json(json.dumps(level["calibrator"])) for level in one["levels"])
    except ValueError as error:
        raise ValueError(f"in a `calibrator`, {str(error).partition('to_json: ')[2]}") from None
    return SavedModel(one["name"], Columns(one["pred"], bounds, median=one["median"]), calibrators)
