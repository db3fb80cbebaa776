"""Hand-made results: rows, pairs and segments with the numbers that a test is about, and plausible others."""

from collections.abc import Sequence
from dataclasses import fields, replace
from math import nan
from typing import Any

from uccurve.crossings import Crossings
from uccurve.points import Decomposition
from uccurve.results import Assessment, AssessmentSettings, Comparison, ModelRow, Segment
from uccurve.words.verdict import verdict

SETTINGS = AssessmentSettings(
    coverage=0.9,
    axes=("bandwidth", "miss_rate"),
    partial=None,
    c=None,
    unit="raw",
    confidence_level=0.95,
    n_resamples=None,
    seed=None,
    block=None,
    ranked_by="score",
    shown_coverage=0.9,
)
OPEN = replace(SETTINGS, coverage=None, ranked_by="crps")
"""Settings where no coverage was asked for."""
PROMISES = {"kept": 0.904, "too narrow": 0.839, "too wide": 0.957, None: 0.871}


def decomposition(**given: float) -> Decomposition:
    """Parts that add up: climatology 3900, predictions save 1900, bands save 290, the wrong scale costs 12."""
    part = {"climatology": 3900.0, "prediction": 1900.0, "discrimination": 290.0, "miscalibration": 12.0} | given
    uncertainty = part["climatology"] - part["prediction"]
    best = uncertainty - part["discrimination"]
    rest = {"uncertainty": uncertainty, "best_score": best, "score": best + part["miscalibration"], "best_scale": 0.95}
    return Decomposition(**(rest | part))


def row(name: str = "OLS", rank: int = 1, **given: Any) -> ModelRow:
    """One model; the ends of an interval that are not given lie 4% beside its value."""
    promise = given.get("promise", "kept")
    values: dict[str, Any] = {
        "n": 2000,
        "coverage": PROMISES[promise],
        "promise": promise,
        "missed_above": 0.06,
        "missed_below": 0.036,
        "scale": 0.966,
        "shift": nan,
        "half_width": 686.2,
        "score": 1710.0,
        "pvalue": nan,
        "crps": 201.0,
        "skill": 0.123,
        "decomposition": decomposition(),
        "miss_rate": 1 - PROMISES[promise],
        "bandwidth": 710.3,
        "excess": 402.5,
        "deficit": 17.1,
        "overshoot": 420.9,
        "area_bandwidth_miss_rate": 310.0,
        "area_bandwidth_deficit": 91000.0,
        "area_excess_deficit": 45000.0,
        "gain_bandwidth_miss_rate": 0.021,
        "gain_bandwidth_deficit": 0.243,
        "gain_excess_deficit": -0.017,
        "concentration": 240,
    } | given
    known = {field.name for field in fields(ModelRow)}
    for key in [key for key in values if f"{key}_low" in known and values[key] is not None]:
        spread = abs(values[key]) * 0.04
        values = {f"{key}_low": values[key] - spread, f"{key}_high": values[key] + spread} | values
    return ModelRow(name=name, rank=rank, **values)


def mean8(**given: Any) -> ModelRow:
    """The runner-up: predictions worse, bands nearly as good."""
    values = {
        "promise": "too narrow",
        "scale": 1.36,
        "half_width": 727.4,
        "score": 1850.0,
        "pvalue": 0.03,
        "crps": 214.0,
        "skill": 0.081,
        "decomposition": decomposition(prediction=1780.0, discrimination=270.0, miscalibration=150.0),
    }
    return row("Mean8", 2, **(values | given))


def pair(first: str, second: str, pvalue: float = 0.03, **given: Any) -> Comparison:
    values: dict[str, Any] = {
        "statistic": "score",
        "difference": -140.0,
        "low": -264.0,
        "high": -16.0,
        "pvalue": pvalue / 3,
        "pvalue_holm": pvalue,
        "better": first if pvalue <= 0.05 else None,
    }
    return Comparison(first, second, **(values | given))


def segment(label: str, model: str = "OLS", *, fails: bool = True, **given: Any) -> Segment:
    values: dict[str, Any] = {
        "feature": "hour",
        "n": 83,
        "coverage": 0.71 if fails else 0.92,
        "coverage_low": 0.6,
        "coverage_high": 0.95,
        "scale": 1.62 if fails else 0.93,
        "half_width": 810.0,
        "score": 2400.0,
        "skill": 0.05,
        "target": 0.9,
        "pvalue": 0.0004 if fails else 0.7,
        "pvalue_holm": 0.0096 if fails else 1.0,
    }
    values |= given
    values.setdefault("shipped_coverage", values["coverage"] - 0.01)
    values.setdefault("shipped_pvalue", nan if values["target"] is None else values["pvalue_holm"])
    values.setdefault("short", fails)
    return Segment(label=label, model=model, fails=fails, **values)


def crossing(first: str, second: str, told: str) -> Crossings:
    """Crossings of two curves that say this."""
    vary: Any = ("scale", "scale")
    return Crossings((first, second), ("bandwidth", "miss_rate"), vary, (), (), (0.5, 0.5), told)


def assessment(
    rows: Sequence[ModelRow],
    *,
    settings: AssessmentSettings = SETTINGS,
    notes: Sequence[str] = (),
    curves: Any = None,
    **evidence: Any,
) -> Assessment:
    """An assessment of the rows, with the verdict that they lead to."""
    parts: Any = {name: tuple(evidence.get(name, ())) for name in ("comparisons", "crossings", "segments")}
    found = verdict(rows, settings, comparisons=parts["comparisons"], segments=parts["segments"])
    own = curves if curves is not None else {row.name: object for row in rows}
    return Assessment(
        rows=tuple(rows), notes=tuple(notes), settings=settings, verdict=found, curves=own, comparable=False, **parts
    )
