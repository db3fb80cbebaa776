"""Columns: what each number of a result is called, how it is written and what it means.

Terminal, page, frame, JSON and streamed output are made from these lists. A number that can be computed from a row is
one entry here with its `value`; any other is one entry here and a field of `ModelRow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uccurve._vocabulary import SUMMARY
from uccurve.words.formats import (
    DASH,
    Cell,
    Format,
    amount,
    count,
    coverage,
    factor,
    number,
    percent,
    pvalue,
    share,
    short,
    words,
)

if TYPE_CHECKING:
    from uccurve.results import AssessmentSettings

Group = Literal["verdict", "scores", "delivered", "areas", "gains", "cost", "levels"]
# Tables of models and their titles, in the order in which they are shown.
TITLES: Mapping[Group, str] = {
    "verdict": "Models, best first",
    "scores": "Where the score at {coverage} comes from, {unit}",
    "delivered": "As delivered, {unit}",
    "areas": "Over all scales: potential CRPS and areas under the curve",
    "gains": "Gains over the constant band",
    "cost": "Cost {cost}",
    "levels": "Weighted interval score over all levels, {unit}",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table of results.

    Attributes
    ----------
    field : str
        Attribute of the row, or of an attribute (``decomposition.score``). Where the row also has ``field_low`` and
        ``field_high``, these are its confidence interval.
    heading, help : str
        What it is called and what it means. Both may name what was asked for, as in ``{coverage}``; see `filled`.
    format : callable
        Writes the value, and the ends of its interval where it has one.
    group : str
        The table that it belongs to.
    value : callable, optional
        Computes the value from the row where it is no attribute.
    brief : bool
        Whether tables of text leave its interval out.
    """

    field: str
    heading: str
    format: Format
    help: str
    group: Group = "verdict"
    value: Callable[[Any], Any] | None = None
    brief: bool = False

    def read(self, row: Any) -> Any:
        """Value of a row; None where the row has none."""
        if self.value is not None:
            return self.value(row)
        outer, _, inner = self.field.partition(".")
        found = getattr(row, outer, None)
        return getattr(found, inner, None) if inner else found

    def cell(self, row: Any, *, interval: bool = True) -> Cell:
        """Text of a row and, where it has one, its interval."""
        value = self.read(row)
        if value is None:
            return Cell(DASH)
        ends = [getattr(row, f"{self.field}{end}", None) for end in ("_low", "_high")]
        return self.format(value, *ends) if interval and None not in ends else self.format(value)

    @property
    def is_text(self) -> bool:
        """Whether it holds words, which are aligned on the left."""
        return self.format is words


NEW_ROW = "they cover a new row with probability {coverage} (split conformal prediction)."
KEPT = "Kept where the {level} confidence interval of the coverage contains {coverage}."
HALF_WIDTH = "Mean half-width (bandwidth) of the intervals to ship, {unit}."
SCORE = "Interval score at its best scale, {unit}. Lower is better."
CRPS = "CRPS with each level at its best scale, {unit}. Lower is better."
SKILL = "How much lower the potential CRPS is than that of a constant band around the same predictions."
SHIPPED = "Score with the factor for {coverage}, as it would be shipped."
DIFFERENCE = "First minus second, with its {level} confidence interval. Lower is better."
SHORT = "Probability of a coverage this low by chance (as shipped, where one is promised), adjusted for all segments."
NAME = Column("name", "model", words, "Name of the model.")
_SCORES = tuple(
    Column(f"decomposition.{field}", heading, number, meaning, "scores")
    for field, heading, meaning in (
        ("climatology", "one interval", "Score of the best single interval for all rows."),
        ("prediction", "predictions save", "What the predictions save over that."),
        ("uncertainty", "constant band", "Score of the best constant band around the predictions."),
        ("discrimination", "bands save", "What the bands save over that; negative where a constant band is better."),
        ("best_score", "at best scale", "Score at the scale that is best for it."),
        ("best_scale", "best scale", "That scale, or shift."),
        ("miscalibration", "wrong scale costs", "What the delivered scale costs over the best one."),
        ("score", "as delivered", "Score as delivered. Lower is better."),
    )
)
_DELIVERED = tuple(
    Column(field, heading, form, meaning, "delivered")
    for field, heading, form, meaning in (
        ("rank", "rank", count, "By the {ranks}; 1 is best."),
        ("n", "rows", count, "Number of rows that carry weight; several outputs count one by one."),
        ("level", "level", coverage, "Nominal coverage of the delivered interval, for a model of several levels."),
        ("miss_rate", "miss rate", share, "Share of the rows outside their interval."),
        ("missed_above", "above", share, "Share of the rows above the upper bound."),
        ("missed_below", "below", share, "Share of the rows below the lower bound."),
        ("bandwidth", "bandwidth", number, "Mean half-width of the intervals."),
        ("excess", "excess", number, "Distance to the nearer bound where a row is covered, averaged over all rows."),
        ("deficit", "deficit", number, "Distance to the nearer bound where a row is missed, averaged over all rows."),
        ("overshoot", "overshoot", number, "The excess on the side of the error only."),
    )
)


def _planes(kind: str, form: Format, meaning: str, group: Group) -> tuple[Column, ...]:
    """Return one column for each of the paper's planes."""
    return tuple(Column(f"{kind}_{x}_{y}", f"{y} vs. {x}".replace("_", " "), form, meaning, group) for x, y in SUMMARY)


def _difference(one: Any) -> tuple[float, float, float]:
    return one.difference, one.low, one.high


# Columns of `ModelRow`: every field, but for the ends of intervals.
MODELS: tuple[Column, ...] = (
    NAME,
    Column("coverage", "coverage as delivered", share, "Share of the rows inside their interval, as delivered."),
    Column("promise", "promise", words, KEPT),
    Column("scale", "factor for {coverage}", factor, f"Multiply the bands by this and {NEW_ROW}", brief=True),
    Column("shift", "shift for {coverage}", amount, f"Add this to the bands and {NEW_ROW}"),
    Column("half_width", "half-width at {coverage}", number, HALF_WIDTH),
    Column("score", "score at {coverage}", number, SCORE, "scores", brief=True),
    Column("crps", "potential CRPS", number, CRPS, "areas", brief=True),
    Column("pvalue", "adjusted p", pvalue, "Paired t test against the best model, adjusted for all pairs (Holm)."),
    Column("skill", "skill", percent, SKILL),
    *_SCORES,
    Column("shipped_score", "as shipped", number, SHIPPED, "scores"),
    *_DELIVERED,
    *_planes("area", number, "Area under this curve. Lower is better.", "areas"),
    *_planes("gain", percent, "Share of the constant band's area saved.", "gains"),
    Column("partial_gain", "partial ({range})", percent, "Gain on {axes} within this range of the miss rate.", "gains"),
    Column("concentration", "rows with half the area", count, "Fewest rows with half the area on {axes}.", "gains"),
    Column("cost", "as delivered", number, "Cost as delivered.", "cost"),
    Column("cheapest_cost", "minimum", number, "Minimum cost over all scales.", "cost"),
    Column("cheapest_scale", "at scale", number, "The scale (or shift) at that minimum.", "cost"),
    Column("wis", "WIS", number, "Weighted interval score of the delivered levels. Lower is better.", "levels"),
    Column("wis_dispersion", "dispersion", number, "The part of it that comes from the width.", "levels"),
    Column("wis_underprediction", "under", number, "Underprediction: from observations above the intervals.", "levels"),
    Column("wis_overprediction", "over", number, "Overprediction: from observations below the intervals.", "levels"),
    Column("potential_wis", "recalibrated", number, "WIS with each level at its best factor.", "levels"),
)

# Columns of `Comparison`.
PAIRS: tuple[Column, ...] = (
    Column(
        "pair", "pair", words, "Two models.", value=lambda one: f"{short(one.first, 18)} vs. {short(one.second, 18)}"
    ),
    Column("difference", "difference in {ranks}", lambda ends: number(*ends), DIFFERENCE, value=_difference),
    Column("pvalue", "p", pvalue, "Paired t test."),
    Column("pvalue_holm", "adjusted p", pvalue, "Adjusted for all pairs by Holm's method."),
    Column("better", "better", words, "The better model, where the difference is significant."),
)

# Columns of `LevelRow`.
LEVELS: tuple[Column, ...] = (
    Column("model", "model", words, "Name of the model."),
    Column("level", "level", coverage, "Nominal coverage."),
    Column("coverage", "coverage as delivered", share, "Share of the rows inside the interval of this level."),
    Column("promise", "promise", words, "Kept where the {level} confidence interval of the coverage contains it."),
    Column("missed_above", "above", share, "Share of the rows above the upper bound."),
    Column("missed_below", "below", share, "Share of the rows below the lower bound."),
    Column("scale", "factor", factor, "Multiply the bands of this level by this and they keep their promise."),
    Column("half_width", "half-width", number, "Mean half-width as delivered, {unit}."),
)

# Columns of `Segment`.
SEGMENTS: tuple[Column, ...] = (
    Column("title", "segment", words, "Feature and label."),
    Column("model", "model", words, "Name of the model."),
    Column("n", "rows", count, "Number of rows of the segment."),
    Column("coverage", "coverage as delivered", share, "Share of its rows inside their interval, as delivered."),
    Column("shipped_coverage", "as shipped", share, "The same with the factor (or shift) that all rows need."),
    Column("scale", "factor for {coverage}", factor, "What this segment alone would need."),
    Column("shift", "shift for {coverage}", amount, "What this segment alone would need."),
    Column("skill", "skill", percent, SKILL),
    Column("short_pvalue", "adjusted p", pvalue, SHORT),
)


PIT_SHAPE = Column(
    "pit",
    "PIT",
    words,
    "Whether observations fall evenly between the model's quantiles, within the {level} simultaneous band.",
    value=lambda row: None if row.pit is None else "flat" if row.pit.is_flat else "not flat",
)


def level_columns(levels: Iterable[float]) -> list[Column]:
    """One column per level of models that have several: what it covers and, where it is broken, its promise."""

    def column(level: float) -> Column:
        name, meaning = coverage(level).text, f"Coverage of the {coverage(level)} intervals as delivered."
        return Column(name, name, _level, meaning, value=lambda row: {one.level: one for one in row.levels}.get(level))

    return [NAME, *map(column, levels), PIT_SHAPE]


def _level(one: Any) -> Cell:
    return Cell(share(one.coverage).text, "" if one.promise in ("kept", None) else one.promise)


def written(row: Any, field: str) -> Cell:
    """Return how tables of models write a field, with its interval."""
    return next(column for column in MODELS if column.field == field).cell(row)


def chosen(columns: Iterable[Column], rows: Sequence[Any], settings: AssessmentSettings) -> list[Column]:
    """Columns that have something to show of any of the rows, their texts filled in."""
    return [
        replace(column, heading=filled(column.heading, settings), help=filled(column.help, settings))
        for column in columns
        if any(
            value is not None and not (isinstance(value, float) and isnan(value)) for value in map(column.read, rows)
        )
    ]


def model_columns(group: Group, rows: Sequence[Any], settings: AssessmentSettings) -> list[Column]:
    """Columns of one table of models: the name, then what belongs to the group and has something to show.

    Of score and CRPS, only the one that ranks is part of the verdict's table.
    """
    ranks = settings.ranked_by
    own = (one for one in MODELS[1:] if ("verdict" if one.field == ranks else one.group) == group)
    found = chosen(own, rows, settings)
    return [NAME, *found] if found else []


def filled(text: str, settings: AssessmentSettings) -> str:
    """Return a heading, help or title with what was asked for."""
    unit = {"raw": "in units of y", "std": "in standard deviations of y"}
    low, high = settings.partial or (0.0, 1.0)
    x, y = (name.replace("_", " ") for name in settings.axes)
    c = settings.c or 0.0
    return text.format(
        coverage=coverage(settings.shown_coverage),
        level=coverage(settings.confidence_level),
        unit=unit.get(str(settings.unit), f"in units of {settings.unit}"),
        ranks="score" if settings.ranked_by == "score" else "potential CRPS",
        axes=f"{y} vs. {x}",
        range=f"miss rate {low:g} to {high:g}",
        cost=f"{c:g} x {x} + {1 - c:g} x {y}",
    )


def record(row: Any) -> dict[str, Any]:
    """All fields of a model's row by name, and what columns compute from it."""
    return asdict(row) | {column.field: column.value(row) for column in MODELS if column.value is not None}


def frame_columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """All fields of the models' rows as columns but for tables of their own; parts of a decomposition are columns."""
    records = [record(row) for row in rows]
    for fields in records:
        del fields["levels"], fields["pit"]
        fields |= {f"decomposition_{name}": value for name, value in fields.pop("decomposition").items()}
    return {name: [fields[name] for fields in records] for name in records[0]}


def plain(value: Any) -> Any:
    """Return what JSON can hold; what is infinite or undefined is None.

    >>> plain({"scale": float("inf"), "axes": ("bandwidth", "miss_rate")})
    {'scale': None, 'axes': ['bandwidth', 'miss_rate']}
    """
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not isfinite(value) else value
