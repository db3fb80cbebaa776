"""Saved calibrations: what `calibrate --save` learnt, as JSON, and read back and checked for `apply`."""

import json
from dataclasses import dataclass
from typing import Any, Self

from uccurve._refusals import as_written
from uccurve._saved import ANY, FLAG, SIZE, TEXT, exactly, list_of, or_null, parsed
from uccurve.adapters._names import Bounds, Columns
from uccurve.calibrate import IntervalCalibrator

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


@dataclass(frozen=True, slots=True)
class SavedModel:
    """One model: where its columns were, and what was learnt for each pair of bounds."""

    name: str
    columns: Columns
    calibrators: tuple[IntervalCalibrator, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as `of` reads it."""
        levels = [
            {**bounds._asdict(), "level": None if bounds.level is None else float(bounds.level)}
            | {"calibrator": json.loads(calibrator.to_json())}
            for bounds, calibrator in zip(self.columns.bounds, self.calibrators, strict=True)
        ]
        return {
            "name": self.name,
            "pred": self.columns.pred,
            "median": self.columns.median,
            "levels": levels,
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """Return the model that `to_dict` wrote."""
        bounds, calibrators = [], []
        for level in data["levels"]:
            told = None if level["level"] is None else as_written(level["level"])
            bounds.append(Bounds(level["lower"], level["upper"], told))
            try:
                calibrators.append(IntervalCalibrator.from_json(json.dumps(level["calibrator"])))
            except ValueError as error:
                raise ValueError(
                    f"in a `calibrator`, {str(error).partition('to_json: ')[2]}"
                ) from None
        return cls(
            data["name"],
            Columns(data["pred"], tuple(bounds), median=data["median"]),
            tuple(calibrators),
        )


@dataclass(frozen=True, slots=True)
class SavedCalibration:
    """What was learnt from one file."""

    models: tuple[SavedModel, ...]
    by: tuple[str, ...] = ()
    min_band: float | None = None
    sort_crossing: bool = False

    def to_json(self) -> str:
        """Return it as JSON text."""
        data = {
            **HEAD,
            "by": self.by,
            "min_band": self.min_band,
            "sort_crossing": self.sort_crossing,
        }
        data["models"] = [model.to_dict() for model in self.models]
        return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)

    @classmethod
    def read(cls, source: Source) -> Self:
        """Read what `to_json` wrote; anything else is refused."""
        try:
            data = parsed(source.json_text(), SHAPE)
            models = tuple(map(SavedModel.of, data["models"]))
        except ValueError as error:
            why = str(error).rstrip(".")
            raise ValueError(
                f"{source.label} must be a calibration that `calibrate --save` wrote: {why}."
            ) from None
        return cls(models, tuple(data["by"]), data["min_band"], data["sort_crossing"])
