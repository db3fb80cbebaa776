"""Columns: what each number of a result is called, how it is written and what it means.

Terminal, notebook and page are made from these lists: a number is shown by one entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from uccurve._vocabulary import SUMMARY
from uccurve.points import Estimate
from uccurve.words.formats import (
    DASH,
    Cell,
    Format,
    amount,
    count,
    coverage,
    factor,
    in_column,
    number,
    percent,
    pvalue,
    share,
    short,
    told_apart,
    width_name,
    words,
)

if TYPE_CHECKING:
    from uccurve.results import (
        AssessmentSettings,
        Comparison,
        LevelRow,
        ModelRow,
        Segment,
        SegmentWinner,
    )

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
UNITS = {"raw": "in units of y", "std": "in standard deviations of y"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table of results.

    Attributes
    ----------
    name : str
        What identifies it within its table.
    heading, help : str
        What it is called and what it means. Both may name what was asked for, as in ``{coverage}``; see `filled`.
    format : callable
        Writes the value, and the ends of its interval where it is an `Estimate`.
    read : callable
        Takes the value from a row; None where the row has none.
    group : str
        The table that it belongs to.
    brief : bool
        Whether tables of text leave its interval out.
    """

    name: str
    heading: str
    format: Format
    help: str
    read: Callable[[Any], Any]
    group: Group = "verdict"
    brief: bool = False

    def cell(self, row: Any, *, interval: bool = True) -> Cell:
        """Text of a row and, where it has one, its interval."""
        return self._cell(self.read(row), interval=interval)

    def cells(self, rows: Sequence[Any], *, interval: bool = True) -> list[Cell]:
        """Texts of all rows, numbers with the same decimals."""
        values = [self.read(row) for row in rows]
        if not all(isinstance(value, float | Estimate) for value in values):
            return [self._cell(value, interval=interval) for value in values]
        estimates = [_as_estimate(value, interval=interval) for value in values]
        if self.format in NUMERIC:
            return in_column(self.format, estimates)
        return [self._cell(value, interval=interval) for value in values]

    def _cell(self, value: Any, *, interval: bool) -> Cell:
        if value is None:
            return Cell(DASH)
        if not isinstance(value, Estimate):
            return self.format(value)
        if interval:
            return self.format(value.value, value.low, value.high)
        return self.format(value.value)

    @property
    def is_text(self) -> bool:
        """Whether it holds words, which are aligned on the left."""
        return self.format is words


NUMERIC: tuple[Format, ...] = (number, factor, amount, share, percent)

NEW_ROW = "new rows are covered with probability {coverage} (split conformal prediction)."
CHOSEN = "The verdict's own may be wider: it allows for having chosen among the models."
KEPT = (
    "Kept, unless the {level} confidence interval of the coverage lies outside {coverage} by more than the tolerance; "
    "unclear where the interval is too wide to tell."
)
HALF_WIDTH = "Mean {width} (bandwidth) with the model's own {move}, {unit}."
SCORE = "Interval score with the model's own {move}, {unit}. Lower is better."
CRPS = "CRPS with each level at its best scale, {unit}. Lower is better."
SKILL = "How much lower the score as shipped is than that of a constant band around the same predictions, as shipped."
CRPS_SKILL = (
    "How much lower the potential CRPS is than that of a constant band around the same predictions."
)
DIFFERENCE = "First minus second, with its {level} confidence interval. Lower is better."
SHORT = "Probability of a coverage this low by chance, adjusted for all segments of the model."
AT_MOST = "Upper bound of the coverage as shipped that holds for all segments of the model at once."
OWN = "What this part of the rows alone would need."
AHEAD = "How much lower its score is than that of the next model."
NEXT = "Paired t test against the next model, adjusted for all pairs of models and all segments of the feature."
WINNER = "The model with the smallest score as shipped on these rows."
MODEL_WIDTH = 12  # characters of a model's name as the heading of a column


def _scale(row: ModelRow | Segment) -> Estimate | None:
    return row.move.estimate if row.move.kind == "scale" else None


def _shift(row: ModelRow | Segment) -> Estimate | None:
    return row.move.estimate if row.move.kind == "shift" else None


NAME = Column("name", "model", words, "Name of the model.", lambda row: row.name)

_VERDICT = (
    Column("score", "score as shipped", number, SCORE, lambda row: row.score),
    Column("crps", "potential CRPS", number, CRPS, lambda row: row.crps),
    Column(
        "pvalue",
        "adjusted p",
        pvalue,
        "Paired t test against the best model (Holm).",
        lambda row: row.pvalue,
    ),
    Column("half_width", "{width} as shipped", number, HALF_WIDTH, lambda row: row.half_width),
    Column(
        "scale",
        "own factor",
        factor,
        f"With its bands multiplied by this, {NEW_ROW} {CHOSEN}",
        _scale,
        brief=True,
    ),
    Column(
        "shift",
        "own shift",
        amount,
        f"With this added to its bands, {NEW_ROW} {CHOSEN}",
        _shift,
        brief=True,
    ),
    Column(
        "coverage",
        "coverage as delivered",
        share,
        "Share of the rows inside.",
        lambda row: row.coverage,
    ),
    Column("promise", "promise", words, KEPT, lambda row: row.promise),
    Column("skill", "skill", percent, SKILL, lambda row: row.skill, brief=True),
    Column(
        "reference_skill",
        "skill vs. {reference}",
        percent,
        "How much lower the score as shipped is than that of {reference}.",
        lambda row: row.reference_skill,
    ),
)


def _part(name: str, heading: str, meaning: str, read: Callable[[ModelRow], float]) -> Column:
    """Return a column of the table that says where a score comes from."""
    return Column(name, heading, number, meaning, read, "scores")


_SCORES = (
    _part(
        "climatology",
        "one interval",
        "Score of one interval for all rows, between the quantiles of y.",
        lambda row: row.decomposition.climatology,
    ),
    _part(
        "prediction",
        "predictions save",
        "What the predictions save over that.",
        lambda row: row.decomposition.prediction,
    ),
    _part(
        "constant",
        "constant band",
        "Score of the constant band around the predictions, as shipped.",
        lambda row: row.decomposition.constant,
    ),
    _part(
        "bands",
        "bands save",
        "What the bands save over that; negative where a constant band is better.",
        lambda row: row.decomposition.bands,
    ),
    _part(
        "shipped",
        "as shipped",
        "Score as shipped. Lower is better.",
        lambda row: row.decomposition.shipped,
    ),
    _part(
        "rescaling",
        "rescaling saves",
        "What the factor (or shift) saves over the intervals as delivered.",
        lambda row: row.decomposition.rescaling,
    ),
    _part(
        "delivered", "as delivered", "Score as delivered.", lambda row: row.decomposition.delivered
    ),
    _part(
        "best",
        "smallest",
        "The smallest score over all scales (or shifts).",
        lambda row: row.decomposition.best,
    ),
    _part(
        "slack",
        "slack",
        "What the promise of coverage costs: the score as shipped above the smallest one.",
        lambda row: row.decomposition.slack,
    ),
)


def _delivered(
    name: str, heading: str, form: Format, meaning: str, read: Callable[[ModelRow], Any]
) -> Column:
    """Return a column of the table of what was delivered."""
    return Column(name, heading, form, meaning, read, "delivered")


MISS_RATE = "Share of the rows outside their interval."
EXCESS = "Distance to the nearer bound where a row is covered, averaged over all rows."
DEFICIT = "Distance to the nearer bound where a row is missed, averaged over all rows."
ROWS = "Number of rows that carry weight; several outputs count one by one."
LEVEL = "Nominal coverage of the delivered interval, for a model of several levels."
_DELIVERED = (
    _delivered("rank", "rank", count, "By the {ranks}; 1 is best.", lambda row: row.rank),
    _delivered("n", "rows", count, ROWS, lambda row: row.n),
    _delivered("level", "level", coverage, LEVEL, lambda row: row.level),
    _delivered("miss_rate", "miss rate", share, MISS_RATE, lambda row: row.delivered.miss_rate),
    _delivered(
        "missed_above", "above", share, "Share above the upper bound.", lambda row: row.missed_above
    ),
    _delivered(
        "missed_below", "below", share, "Share below the lower bound.", lambda row: row.missed_below
    ),
    _delivered(
        "bandwidth", "bandwidth", number, "Mean {width}.", lambda row: row.delivered.bandwidth
    ),
    _delivered("excess", "excess", number, EXCESS, lambda row: row.delivered.excess),
    _delivered("deficit", "deficit", number, DEFICIT, lambda row: row.delivered.deficit),
    _delivered(
        "overshoot",
        "overshoot",
        number,
        "The excess on the side of the error.",
        lambda row: row.delivered.overshoot,
    ),
)


def _area(x: str, y: str) -> Column:
    """Return the column of one of the paper's areas."""
    key = f"{x}_{y}"
    heading = f"{y} vs. {x}".replace("_", " ")
    meaning = "Area under this curve. Lower is better."
    return Column(f"area_{key}", heading, number, meaning, lambda row: row.areas.get(key), "areas")


def _gain(x: str, y: str) -> Column:
    """Return the column of one of the paper's gains."""
    key = f"{x}_{y}"
    heading = f"{y} vs. {x}".replace("_", " ")
    meaning = "Share of the constant band's area saved."
    return Column(f"gain_{key}", heading, percent, meaning, lambda row: row.gains.get(key), "gains")


PARTIAL_GAIN = "Gain on {axes} within this range of the miss rate."
CONCENTRATION = "Fewest rows with half the area on {axes}."
_CURVES = (
    Column("crps", "potential CRPS", number, CRPS, lambda row: row.crps, "areas", brief=True),
    Column(
        "crps_skill", "skill of the CRPS", percent, CRPS_SKILL, lambda row: row.crps_skill, "areas"
    ),
    *(_area(x, y) for x, y in SUMMARY),
    *(_gain(x, y) for x, y in SUMMARY),
    Column(
        "partial_gain",
        "partial ({range})",
        percent,
        PARTIAL_GAIN,
        lambda row: row.partial_gain,
        "gains",
    ),
    Column(
        "concentration",
        "rows with half the area",
        count,
        CONCENTRATION,
        lambda row: row.concentration or None,
        "gains",
    ),
)


def _cost(name: str, heading: str, meaning: str, read: Callable[[Any], float]) -> Column:
    """Return a column of the table of costs, which is empty where no cost was asked for."""
    return Column(
        name,
        heading,
        number,
        meaning,
        lambda row: None if row.cost is None else read(row.cost),
        group="cost",
    )


_COSTS = (
    _cost("cost", "as delivered", "Cost as delivered.", lambda cost: cost.delivered),
    _cost(
        "cheapest",
        "minimum",
        "Minimum cost over all scales (or shifts).",
        lambda cost: cost.cheapest,
    ),
    _cost(
        "cheapest_at",
        "at scale",
        "The scale (or shift) at that minimum.",
        lambda cost: cost.cheapest_at,
    ),
)


def _wis(name: str, heading: str, meaning: str, read: Callable[[Any], Any]) -> Column:
    """Return a column of the table of weighted interval scores, which is empty where a model has one level."""
    return Column(
        name,
        heading,
        number,
        meaning,
        lambda row: None if row.wis is None else read(row.wis),
        group="levels",
    )


UNDER = "Underprediction: from observations above the intervals."
OVER = "Overprediction: from observations below the intervals."
_WIS = (
    _wis(
        "wis",
        "WIS",
        "Weighted interval score of the delivered levels. Lower is better.",
        lambda wis: wis.score,
    ),
    _wis(
        "dispersion",
        "dispersion",
        "The part of it that comes from the width.",
        lambda wis: wis.dispersion,
    ),
    _wis("underprediction", "under", UNDER, lambda wis: wis.underprediction),
    _wis("overprediction", "over", OVER, lambda wis: wis.overprediction),
    _wis(
        "potential",
        "recalibrated",
        "WIS with each level at its best factor.",
        lambda wis: wis.potential,
    ),
)

# Columns of `ModelRow`.
MODELS: tuple[Column, ...] = (NAME, *_VERDICT, *_SCORES, *_DELIVERED, *_CURVES, *_COSTS, *_WIS)


def _both(pair: Comparison) -> str:
    return f"{short(pair.first, 18)} vs. {short(pair.second, 18)}"


# Columns of `Comparison`.
PAIRS: tuple[Column, ...] = (
    Column("pair", "pair", words, "Two models.", _both),
    Column("difference", "difference in {ranks}", number, DIFFERENCE, lambda pair: pair.difference),
    Column("pvalue", "p", pvalue, "Paired t test.", lambda pair: pair.pvalue),
    Column(
        "pvalue_holm",
        "adjusted p",
        pvalue,
        "Adjusted for all pairs by Holm's method.",
        lambda pair: pair.pvalue_holm,
    ),
    Column(
        "better",
        "better",
        words,
        "The better model, where the difference is significant.",
        lambda pair: pair.better,
    ),
)

RESULT = "Whether the first model is better or worse, where the difference is significant."


def _result(pair: Comparison) -> str | None:
    if pair.better is None:
        return None
    return "better" if pair.better == pair.first else "worse"


# Columns of `Comparison` where the first model of all pairs is in the title.
OTHERS: tuple[Column, ...] = (
    Column("other", "vs.", words, "The other model.", lambda pair: pair.second),
    *PAIRS[1:-1],
    Column("result", "result", words, RESULT, _result),
)

# Columns of `LevelRow`.
LEVELS: tuple[Column, ...] = (
    Column("model", "model", words, "Name of the model.", lambda row: row.model),
    Column("level", "level", coverage, "Nominal coverage.", lambda row: row.level),
    Column(
        "coverage",
        "coverage as delivered",
        share,
        "Share of the rows inside.",
        lambda row: row.coverage,
    ),
    Column(
        "promise", "promise", words, "Whether the coverage is the level.", lambda row: row.promise
    ),
    Column(
        "missed_above", "above", share, "Share above the upper bound.", lambda row: row.missed_above
    ),
    Column(
        "missed_below", "below", share, "Share below the lower bound.", lambda row: row.missed_below
    ),
    Column(
        "scale",
        "factor",
        factor,
        "With the bands multiplied by this, the level is kept.",
        lambda row: row.scale,
    ),
    Column(
        "half_width",
        "{width}",
        number,
        "Mean {width} as delivered, {unit}.",
        lambda row: row.half_width,
    ),
)


def _tested_pvalue(segment: Segment) -> float:
    """Adjusted p-value as shipped or, where nothing is, as delivered."""
    return segment.pvalue if isnan(segment.shipped_pvalue) else segment.shipped_pvalue


def _state(segment: Segment) -> str:
    if not segment.is_tested:
        return "not tested"
    if segment.short:
        return "falls short"
    return "no longer fails" if segment.fails else "not shown to fail"


# Columns of `Segment`.
SEGMENTS: tuple[Column, ...] = (
    Column("title", "segment", words, "Feature and label.", lambda segment: segment.title),
    Column("model", "model", words, "Name of the model.", lambda segment: segment.model),
    Column("n", "rows", count, "Number of rows of the segment.", lambda segment: segment.n),
    Column(
        "coverage",
        "coverage as delivered",
        share,
        "Share of its rows inside.",
        lambda segment: segment.coverage,
    ),
    Column(
        "shipped_coverage",
        "as shipped",
        share,
        "The same as shipped.",
        lambda segment: segment.shipped_coverage,
        brief=True,
    ),
    Column("at_most", "at most", share, AT_MOST, lambda segment: segment.at_most),
    Column("scale", "own factor", factor, OWN, _scale, brief=True),
    Column("shift", "own shift", amount, OWN, _shift, brief=True),
    Column("skill", "skill", percent, SKILL, lambda segment: segment.skill),
    Column("pvalue", "adjusted p", pvalue, SHORT, _tested_pvalue),
    Column(
        "state", "as shipped it", words, "What the test of the coverage as shipped says.", _state
    ),
)


@dataclass(frozen=True, slots=True)
class SegmentLine:
    """One segment of all models: its coverage in each, as shipped, and which model scores best in it."""

    title: str
    n: int
    by_model: Mapping[str, Segment]
    tested: SegmentWinner | None = None

    @property
    def winner(self) -> str | None:
        """The model with the smallest score as shipped; None where there is one model."""
        if self.tested is not None:
            return self.tested.model
        if len(self.by_model) < 2:
            return None
        return min(self.by_model.values(), key=lambda segment: segment.score).model


def segment_columns(models: Sequence[str], most: int | None = None) -> list[Column]:
    """One column for each of the first models: the coverage of each segment as shipped, marked where it falls short."""
    named = dict(zip(models, told_apart(models, MODEL_WIDTH), strict=True))
    return [
        Column("title", "segment", words, "Feature and label.", lambda line: line.title),
        Column("n", "rows", count, "Number of rows of the segment.", lambda line: line.n),
        *(_model_column(model, named[model]) for model in models[:most]),
        Column("winner", "best score", words, WINNER, lambda line: named.get(line.winner)),
        Column(
            "pvalue", "adjusted p", pvalue, NEXT, lambda line: line.tested and line.tested.pvalue
        ),
    ]


def _model_column(model: str, name: str) -> Column:
    meaning = f"Coverage as shipped of {short(model)}."
    heading = name.replace("{", "{{").replace("}", "}}")  # it is filled in as the others are
    meaning = meaning.replace("{", "{{").replace("}", "}}")
    return Column(model, heading, _segment_cell, meaning, lambda line: line.by_model.get(model))


def _segment_cell(segment: Segment) -> Cell:
    as_shipped = segment.shipped_coverage.value
    shown = segment.coverage.value if isnan(as_shipped) else as_shipped
    sign = "✗ " if segment.short else ""
    return Cell(f"{sign}{share(shown)}")


# Columns of `SegmentWinner`.
WINNERS: tuple[Column, ...] = (
    Column("title", "segment", words, "Feature and label.", lambda winner: winner.title),
    Column("n", "rows", count, "Number of rows of the segment.", lambda winner: winner.n),
    Column("model", "best as shipped", words, "Smallest score there.", lambda winner: winner.model),
    Column("score", "score", number, "Its score, {unit}.", lambda winner: winner.score),
    Column("runner_up", "next", words, "The next model.", lambda winner: winner.runner_up),
    Column("ahead", "ahead by", percent, AHEAD, lambda winner: winner.ahead),
    Column("pvalue", "adjusted p", pvalue, NEXT, lambda winner: winner.pvalue),
)

# Columns of `AcrossSegments`.
ACROSS: tuple[Column, ...] = (
    Column("model", "model", words, "Name of the model.", lambda across: across.model),
    Column(
        "best_in",
        "best in",
        share,
        "Share of them in which it has the smallest score as shipped.",
        lambda across: across.best_in,
    ),
    Column("skill", "median skill", percent, "Median over them.", lambda across: across.skill),
)

FOUND = "Probability of such a coverage by chance, adjusted for all regions that were tested."
BOUND = "Bound of the coverage as shipped that holds for all regions at once."
AFTER = (
    "Coverage with a factor of its own, learnt on the half of the data where the pocket was found."
)

# Columns of `Pocket`.
POCKETS: tuple[Column, ...] = (
    Column("title", "pocket", words, "The region in words.", lambda pocket: pocket.title),
    Column("model", "model", words, "Name of the model.", lambda pocket: pocket.model),
    Column("n", "rows", count, "Number of rows of the region.", lambda pocket: pocket.n),
    Column(
        "kind", "as shipped it is", words, "What its intervals are.", lambda pocket: pocket.kind
    ),
    Column(
        "coverage",
        "coverage as shipped",
        share,
        "On the half of the data that had no part in finding it.",
        lambda pocket: pocket.coverage,
    ),
    Column("bound", "bound", share, BOUND, lambda pocket: pocket.bound),
    Column("pvalue", "adjusted p", pvalue, FOUND, lambda pocket: pocket.pvalue),
    Column("scale", "own factor", factor, OWN, _scale, brief=True),
    Column("shift", "own shift", amount, OWN, _shift, brief=True),
    Column("after", "coverage then", share, AFTER, lambda pocket: pocket.after, brief=True),
)


def _shape(row: ModelRow) -> str | None:
    """Whether a PIT histogram is shown not to be flat; None for a model without."""
    if row.pit is None:
        return None
    return "no evidence" if row.pit.is_flat else "not flat"


PIT_SHAPE = Column(
    "pit",
    "PIT",
    words,
    "Whether observations fall unevenly between the model's quantiles, by more than the {level} simultaneous band.",
    _shape,
)


def level_columns(levels: Iterable[float]) -> list[Column]:
    """One column per level of models that have several: what it covers and, where it is broken, its promise."""
    return [NAME, *map(_level_column, levels), PIT_SHAPE]


def _level_column(level: float) -> Column:
    name = coverage(level).text
    meaning = f"Coverage of the {name} intervals as delivered."
    return Column(name, name, _level_cell, meaning, lambda row: _level_of(row, level))


def _level_of(row: ModelRow, level: float) -> LevelRow | None:
    for level_row in row.levels:
        if level_row.level == level:
            return level_row
    return None


def _level_cell(level_row: LevelRow) -> Cell:
    promise = level_row.promise
    is_quiet = promise in ("kept", None)
    return Cell(share(level_row.coverage.value).text, "" if is_quiet else str(promise))


def written(row: ModelRow, name: str) -> Cell:
    """Return how tables of models write a number, with its interval.

    Raises
    ------
    KeyError
        Where no column has this name.
    """
    for column in MODELS:
        if column.name == name:
            return column.cell(row)
    raise KeyError(name)


def chosen(
    columns: Iterable[Column], rows: Sequence[Any], settings: AssessmentSettings
) -> list[Column]:
    """Columns that have something to show of any of the rows, their texts filled in."""
    return [in_words(column, settings) for column in columns if _shows_anything(column, rows)]


def in_words(column: Column, settings: AssessmentSettings) -> Column:
    """Return a column with its heading and help filled in."""
    heading = filled(column.heading, settings)
    meaning = filled(column.help, settings)
    return replace(column, heading=heading, help=meaning)


def _shows_anything(column: Column, rows: Sequence[Any]) -> bool:
    return any(_is_known(column.read(row)) for row in rows)


def _is_known(value: Any) -> bool:
    if isinstance(value, float | Estimate):
        return not isnan(float(value))
    return value is not None


def model_columns(group: Group, rows: Sequence[Any], settings: AssessmentSettings) -> list[Column]:
    """Columns of one table of models: the name, then what belongs to the group and has something to show.

    Of score and CRPS, only the one that ranks is part of the verdict's table.
    """
    other = "crps" if settings.ranked_by == "score" else "score"
    of_group = [column for column in MODELS[1:] if column.group == group]
    if group == "verdict":
        of_group = [column for column in of_group if column.name != other]
    shown = chosen(of_group, rows, settings)
    return [NAME, *shown] if shown else []


def filled(text: str, settings: AssessmentSettings) -> str:
    """Return a heading, help or title with what was asked for."""
    low, high = settings.partial or (0.0, 1.0)
    x, y = (name.replace("_", " ") for name in settings.axes)
    c = settings.c or 0.0
    return text.format(
        coverage=coverage(settings.shown_coverage),
        level=coverage(settings.confidence_level),
        unit=unit_in_words(settings),
        ranks="score" if settings.ranked_by == "score" else "potential CRPS",
        axes=f"{y} vs. {x}",
        range=f"miss rate {low:g} to {high:g}",
        cost=f"{c:g} × {x} + {1 - c:g} × {y}",
        move="factor (or shift)",
        width=width_name(settings.side),
        reference=short(settings.reference or "the reference", 18),
    )


def unit_in_words(settings: AssessmentSettings) -> str:
    """Return in what numbers are measured, such as in units of y."""
    if settings.row_unit is not None:
        return f"in units of {settings.row_unit}"
    return UNITS.get(str(settings.unit), f"in units of {settings.unit}")


def _as_estimate(value: float | Estimate, *, interval: bool) -> Estimate:
    if isinstance(value, Estimate):
        return value if interval else Estimate(value.value)
    return Estimate(value)
