"""Hand-made results: rows, pairs and segments with the numbers that a test is about, and plausible others."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan
from typing import Any

from uccurve.crossings import Crossings
from uccurve.points import Decomposition, Estimate, Move, OperatingPoint
from uccurve.results import (
    Assessment,
    AssessmentSettings,
    Choice,
    Comparison,
    Missing,
    ModelRow,
    Segment,
    Verdict,
)
from uccurve.words.verdict import worded

SETTINGS = AssessmentSettings(
    coverage=0.9,
    shown_coverage=0.9,
    ranked_by="score",
    tolerance=0.005,
    axes=("bandwidth", "miss_rate"),
)
OPEN = replace(SETTINGS, coverage=None, ranked_by="crps")
"""Settings where no coverage was asked for."""
PROMISES = {"kept": 0.904, "too narrow": 0.839, "too wide": 0.957, "unclear": 0.871, None: 0.871}
UNREACHABLE = Estimate(inf, inf, inf)
POINT = OperatingPoint(
    scale=1.0,
    shift=0.0,
    miss_rate=0.096,
    bandwidth=710.3,
    excess=402.5,
    deficit=17.1,
    overshoot=420.9,
)
PLANES = ("bandwidth_miss_rate", "bandwidth_deficit", "excess_deficit")


def estimate(value: float, spread: float = 0.04) -> Estimate:
    """A value whose interval reaches 4% of it to either side."""
    reach = abs(value) * spread
    return Estimate(value, value - reach, value + reach)


def scaled(value: float) -> Move:
    """A factor on the bands."""
    return Move("scale", estimate(value) if value < inf else UNREACHABLE)


def shifted(value: float) -> Move:
    """An amount added to the bands."""
    return Move("shift", estimate(value) if value < inf else UNREACHABLE)


def decomposition(
    *,
    climatology: float = 3900.0,
    prediction: float = 1900.0,
    bands: float = 290.0,
    rescaling: float = 12.0,
    slack: float = 5.0,
) -> Decomposition:
    """Parts that add up."""
    constant = climatology - prediction
    shipped = constant - bands
    return Decomposition.of(
        delivered=shipped + rescaling,
        shipped=shipped,
        constant=constant,
        climatology=climatology,
        best=shipped - slack,
    )


def row(name: str = "OLS", rank: int = 1, **given: Any) -> ModelRow:
    """One model; a number that is given for an estimate gets an interval of 4% to either side."""
    promise = given.get("promise", "kept")
    values: dict[str, Any] = {
        "n": 2000,
        "coverage": Estimate(
            PROMISES[promise], PROMISES[promise] - 0.013, PROMISES[promise] + 0.012
        ),
        "promise": promise,
        "missed_above": 0.06,
        "missed_below": 0.036,
        "move": scaled(0.966),
        "half_width": estimate(686.2),
        "score": estimate(1710.0),
        "skill": estimate(0.145),
        "crps": estimate(201.0),
        "crps_skill": estimate(0.123),
        "delivered_score": estimate(1722.0),
        "best_score": estimate(1705.0),
        "decomposition": decomposition(),
        "delivered": POINT,
        "areas": dict(zip(PLANES, map(estimate, (310.0, 91000.0, 45000.0)), strict=True)),
        "gains": dict(zip(PLANES, map(estimate, (0.021, 0.243, -0.017)), strict=True)),
        "concentration": 240,
    }
    return ModelRow(name=name, rank=rank, **(values | given))


def mean8(**given: Any) -> ModelRow:
    """The runner-up: predictions worse, bands nearly as good."""
    values: dict[str, Any] = {
        "promise": "too narrow",
        "move": scaled(1.36),
        "half_width": estimate(727.4),
        "score": estimate(1850.0),
        "pvalue": 0.03,
        "crps": estimate(214.0),
        "skill": estimate(0.121),
        "decomposition": decomposition(prediction=1780.0, bands=270.0, rescaling=150.0),
    }
    return row("Mean8", **({"rank": 2} | values | given))


def lost(name: str, rank: int, **given: Any) -> ModelRow:
    """A model that nothing brings to the target."""
    values: dict[str, Any] = {
        "promise": "too narrow",
        "move": scaled(inf),
        "half_width": UNREACHABLE,
        "score": UNREACHABLE,
        "skill": Estimate(nan),
    }
    return row(name, rank, **(values | given))


def pair(first: str, second: str, pvalue: float = 0.03, **given: Any) -> Comparison:
    values: dict[str, Any] = {
        "statistic": "score",
        "difference": Estimate(-140.0, -264.0, -16.0),
        "pvalue": pvalue / 3,
        "pvalue_holm": pvalue,
        "better": first if pvalue <= 0.05 else None,
    }
    return Comparison(first, second, **(values | given))


def segment(label: str, model: str = "OLS", *, fails: bool = True, **given: Any) -> Segment:
    values: dict[str, Any] = {
        "feature": "hour",
        "n": 83,
        "blocks": 83,
        "coverage": Estimate(0.71, 0.6, 0.8) if fails else Estimate(0.92, 0.84, 0.97),
        "shipped_coverage": Estimate(0.70, 0.59, 0.79) if fails else Estimate(0.91, 0.83, 0.96),
        "move": scaled(1.62 if fails else 0.93),
        "half_width": 810.0,
        "score": 2400.0,
        "skill": 0.05,
        "target": 0.9,
        "pvalue": 0.0096 if fails else 1.0,
        "shipped_pvalue": 0.0096 if fails else 1.0,
        "at_most": 0.83 if fails else 0.98,
        "short": fails,
    }
    return Segment(label=label, model=model, fails=fails, **(values | given))


def crossing(first: str, second: str, told: str) -> Crossings:
    """Crossings of two curves that say this."""
    vary: Any = ("scale", "scale")
    return Crossings((first, second), ("bandwidth", "miss_rate"), vary, (), (), (0.5, 0.5), told)


def decision(
    rows: Sequence[ModelRow],
    *,
    model: str | None = None,
    tied: Sequence[str] = (),
    unchanged: bool = False,
    multiplier: float | None = None,
    corrected: bool = True,
    coverage: float = 0.9,
) -> Verdict:
    """A decision for a model, by default the best one, that has no words yet."""
    ranking = sorted(rows, key=lambda item: (not item.move.is_reachable, item.rank))
    chosen = next((item for item in ranking if item.name == model), ranking[0])
    own = chosen.move.estimate
    is_shift = chosen.move.kind == "shift"
    if multiplier is None:
        multiplier = 0.0 if is_shift else 1.0
    calibrated = own.value + multiplier if is_shift else own.value * multiplier
    as_delivered = 0.0 if is_shift else 1.0
    moved = as_delivered if unchanged else calibrated
    return Verdict(
        headline="",
        text="",
        reasons=(),
        model=chosen.name,
        scale=nan if is_shift else moved,
        shift=moved if is_shift else nan,
        level=chosen.level,
        coverage=coverage,
        half_width=chosen.half_width,
        score=chosen.score,
        tied=tuple(tied),
        runner_up=ranking[1].name if len(ranking) > 1 else None,
        pvalue=ranking[1].pvalue if len(ranking) > 1 else nan,
        decided=not tied,
        reachable=chosen.move.is_reachable,
        unchanged=unchanged,
        choice=Choice(len(rows), own, multiplier, corrected),
    )


def verdict(
    rows: Sequence[ModelRow],
    settings: AssessmentSettings = SETTINGS,
    *,
    comparisons: Sequence[Comparison] | None = None,
    segments: Sequence[Segment] = (),
    missing: Missing | None = None,
    not_tested: Sequence[str] = (),
    **decided: Any,
) -> Verdict:
    """A decision in words; without comparisons, all pairs differ significantly but for those that are tied."""
    plain = decision(rows, coverage=settings.shown_coverage, **decided)
    pairs = comparisons
    if pairs is None:
        pairs = [_pair_of(plain, other.name) for other in rows if other.name != plain.model]
    return worded(
        plain,
        rows=rows,
        settings=settings,
        comparisons=pairs,
        segments=segments,
        missing=missing,
        not_tested=not_tested,
    )


def _pair_of(decided: Verdict, other: str) -> Comparison:
    is_open = bool(decided.tied)
    return pair(decided.model, other, 0.41 if is_open else 0.03)


def assessment(
    rows: Sequence[ModelRow],
    *,
    settings: AssessmentSettings = SETTINGS,
    notes: Sequence[str] = (),
    curves: Any = None,
    comparisons: Sequence[Comparison] | None = None,
    segments: Sequence[Segment] = (),
    crossings: Sequence[Crossings] = (),
    missing: Missing | None = None,
    not_tested: Sequence[str] = (),
    **decided: Any,
) -> Assessment:
    """An assessment of the rows, with the verdict that they lead to."""
    told = verdict(
        rows,
        settings,
        comparisons=comparisons,
        segments=segments,
        missing=missing,
        not_tested=not_tested,
        **decided,
    )
    return Assessment(
        rows=tuple(rows),
        comparisons=tuple(comparisons or ()),
        crossings=tuple(crossings),
        segments=tuple(segments),
        notes=tuple(notes),
        not_tested=tuple(not_tested),
        missing=missing,
        settings=settings,
        verdict=told,
        curves=curves if curves is not None else {item.name: object for item in rows},
        comparable=False,
    )
