"""Results: what `assess` found, as data that words, tables, pages and files are made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import nan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from uccurve._refusals import miss_rate_of, nearest
from uccurve._vocabulary import Axes, Range, Side, Unit
from uccurve.points import Decomposition, Estimate, Move, OperatingPoint
from uccurve.words import tables
from uccurve.words.formats import listed, short

if TYPE_CHECKING:
    from uccurve.crossings import Crossings

Promise = Literal["kept", "too narrow", "too wide", "unclear"]
Ranking = Literal["score", "crps"]
SCHEMA = 2  # version of what `to_dict` and `to_json` return
USUAL_TOLERANCE = (
    0.05  # share of the miss rate by which a coverage may differ from the promised one
)
# A coverage interval that reaches down to this many times the promised odds of a miss tells hardly anything.
TELLING = 3


@dataclass(frozen=True, slots=True)
class Promised:
    """A promised coverage, and how far the delivered one may lie from it and still keep the promise."""

    coverage: float
    tolerance: float

    @classmethod
    def of(cls, coverage: float) -> Promised:
        """Return a promise with the usual tolerance: 5% of the miss rate."""
        return cls(coverage, USUAL_TOLERANCE * float(miss_rate_of(coverage)))

    @property
    def lowest(self) -> float:
        """Smallest coverage that keeps the promise, with room for rounding."""
        return self.coverage - self.tolerance - 1e-12

    @property
    def highest(self) -> float:
        """Largest coverage that keeps the promise, with room for rounding."""
        return self.coverage + self.tolerance + 1e-12

    def kept_by(self, coverage: Estimate, inside: Estimate | None = None) -> Promise:
        """Whether a coverage keeps it.

        Bands are too wide only where the share of rows strictly `inside` their interval says so: of counts many lie
        exactly on a bound, and intervals that are right cover more than they promise if these count as covered.
        """
        if not coverage.has_interval:
            return "unclear"
        if coverage.high < self.lowest:
            return "too narrow"
        if (inside or coverage).low > self.highest:
            return "too wide"
        odds = (1 - coverage.low) * self.coverage
        if odds > TELLING * (1 - self.coverage) * coverage.low:
            return "unclear"
        return "kept"


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One level of a model: what its own interval of that level covers, and the factor that it needs.

    Attributes
    ----------
    level : float
        Nominal coverage.
    coverage : Estimate
        Observed coverage, as delivered.
    promise : {"kept", "too narrow", "too wide", "unclear"} or None
        Whether that is the level; None where nothing is known about chance.
    missed_above, missed_below : float
        Share of the observations above the upper and below the lower bound.
    scale : Estimate
        Factor on this level's bands with which a new row is covered with probability `level`.
    half_width : float
        Half the mean width as delivered.
    """

    model: str
    level: float
    coverage: Estimate
    promise: Promise | None
    missed_above: float
    missed_below: float
    scale: Estimate
    half_width: float


@dataclass(frozen=True, slots=True)
class PIT:
    """Histogram of the probability integral transform: where observations fall among a model's own quantiles.

    Attributes
    ----------
    edges : tuple of float
        Probabilities of the model's quantiles, from 0 to 1: the bins are what lies between two of them.
    density : tuple of Estimate
        Observed share of each bin over its probability, 1 throughout for a calibrated model. The intervals are a
        simultaneous band: with the confidence level, it contains all bins of a calibrated model.
    """

    edges: tuple[float, ...]
    density: tuple[Estimate, ...]

    @property
    def is_flat(self) -> bool:
        """Whether all bins lie inside the band, so that the histogram shows no miscalibration."""
        slack = 1 + 1e-12
        return all(
            density.low <= density.value * slack and density.value <= density.high * slack
            for density in self.density
        )


@dataclass(frozen=True, slots=True)
class WIS:
    """Weighted interval score of the delivered levels, and the parts that it is the sum of; `float()` takes the score.

    `potential` is the same with each level at the factor that is best for it: what recalibration could save.
    """

    score: Estimate
    dispersion: float
    underprediction: float
    overprediction: float
    potential: float

    def __float__(self) -> float:
        return self.score.value


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost as delivered, the minimum over all scales (or shifts), and the scale (or shift) at that minimum."""

    delivered: float
    cheapest: float
    cheapest_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model: its coverage as delivered, the factor for the target, its score as shipped, and the paper's numbers.

    Half-widths, scores, metrics, areas and costs are in the assessment's unit. What is infinite or undefined is ``inf``
    or ``nan``. "The target" is the coverage that was asked for, or 0.9 where none was. "As shipped" is with the factor
    (or shift) of this row, `move`; the verdict's own may differ by what choosing among models costs.

    Attributes
    ----------
    rank : int
        1 is best, by `score` where a coverage was asked for, by `crps` otherwise.
    n : int
        Number of rows that carry weight; several outputs count one by one.
    side : {"both", "upper", "lower"}
        Which bounds are judged.
    level : float or None
        Nominal coverage of the interval that counts as delivered, for a model of several levels.
    coverage : Estimate
        Share of the rows inside their interval, as delivered.
    promise : {"kept", "too narrow", "too wide", "unclear"} or None
        Whether that is the coverage asked for; None where none was.
    missed_above, missed_below : float
        Shares of the rows above the upper and below the lower bound, as delivered.
    degrees : float
        Degrees of freedom of the score as delivered, which rests on the units with a miss; 0 where there are too few.
    move : Move
        Factor on the bands (or amount added to them) that reaches the target; infinite where none does.
    half_width, score, skill : Estimate
        As shipped: mean half-width, interval score, and 1 minus the ratio of the score to that of the constant band as
        shipped.
    reference_skill : Estimate or None
        The same against the model that was named as the reference; None where none was.
    pvalue : float
        Adjusted p-value of the pair with the best model, on what ranks the models; nan for the best model itself, and
        where no test was possible.
    crps, crps_skill : Estimate
        Potential CRPS, and 1 minus its ratio to that of a constant band around the same predictions.
    delivered_score, best_score : Estimate
        Interval score as delivered, and at the scale that is best for it.
    decomposition : Decomposition
        What predictions, bands and calibration contribute to the score.
    delivered : OperatingPoint
        The paper's metrics as delivered.
    areas, gains : mapping of str to Estimate
        The paper's areas and gains, by axes such as ``"bandwidth_deficit"``.
    concentration : int
        Smallest number of rows that make up half of the area on the assessment's axes; streamed, an upper end of it.
    partial_gain : Estimate or None
        Gain on the assessment's axes within its range; None where no range was asked for.
    cost : Cost or None
        None where no cost was asked for.
    wis : WIS or None
    levels : tuple of LevelRow
        The model's own levels, narrowest first; empty for a model of one level.
    pit : PIT or None
        Where observations fall among the quantiles that the levels are made of.
    """

    name: str
    rank: int = 0
    n: int
    side: Side = "both"
    level: float | None = None
    coverage: Estimate
    promise: Promise | None
    missed_above: float
    missed_below: float
    degrees: float = 0.0
    move: Move
    half_width: Estimate
    score: Estimate
    skill: Estimate
    reference_skill: Estimate | None = None
    pvalue: float = nan
    crps: Estimate
    crps_skill: Estimate
    delivered_score: Estimate
    best_score: Estimate
    decomposition: Decomposition
    delivered: OperatingPoint
    areas: Mapping[str, Estimate]
    gains: Mapping[str, Estimate]
    concentration: int
    partial_gain: Estimate | None = None
    cost: Cost | None = None
    wis: WIS | None = None
    levels: tuple[LevelRow, ...] = ()
    pit: PIT | None = None

    @property
    def scale(self) -> Estimate:
        """Factor on the bands that reaches the target; nan for a model that is calibrated by a shift."""
        return self.move.scale

    @property
    def shift(self) -> Estimate:
        """Amount added to the bands that reaches the target; nan for a model that is calibrated by a factor."""
        return self.move.shift

    def may_ship_unchanged(self, settings: AssessmentSettings) -> bool:
        """Whether the model keeps its promise as delivered, and its observed coverage reaches the target.

        A promise that is kept is one that is not shown to be broken, which alone would not do.
        """
        if settings.coverage is None or self.promise != "kept":
            return False
        return self.coverage.value >= settings.promised.lowest


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired test of two models on what ranks them, or on their WIS.

    `difference` is the first model's value minus the second's, `ratio` the first over the second. `pvalue_holm` is
    adjusted for all pairs; both are nan where no test was possible. `better` is None where it exceeds
    1 - confidence_level.
    """

    first: str
    second: str
    statistic: Literal["score", "crps", "wis"]
    difference: Estimate
    pvalue: float
    pvalue_holm: float = nan
    better: str | None = None
    ratio: float = nan

    @property
    def is_tested(self) -> bool:
        """Whether a test was possible."""
        return self.pvalue >= 0


@dataclass(frozen=True, slots=True)
class Segment:
    """One model on the rows of one segment.

    Attributes
    ----------
    n, blocks : int
        Number of rows, and of blocks of dependent rows (as many as rows where these are independent).
    coverage, shipped_coverage : Estimate
        Share of the rows inside their interval: as delivered, and with the factor (or shift) that ships.
    move : Move
        Factor (or shift) that this segment alone would need for the target.
    half_width, score, skill : float
        As shipped, on these rows.
    target : float or None
        The promised coverage, or None where the segment is held against the model's other rows.
    pvalue, shipped_pvalue : float
        Probability of a coverage this low by chance, as delivered and as shipped, adjusted for all segments of the
        model; nan where it was not tested.
    at_most : float
        Upper bound of the coverage as shipped that holds for all segments of the model at once.
    fails, short : bool
        Whether the segment is covered significantly less often than it should be: as delivered, and as shipped.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> iv = Intervals.from_bands([1.0, 2, 3, 9], [0.0] * 4, [3.0] * 4)
    >>> first, _ = assess(iv, coverage=0.5, by={"site": ["N", "N", "S", "S"]}).segments
    >>> first.title, first.n, float(first.coverage)
    ('site N', 2, 1.0)
    """

    feature: str
    label: str
    model: str
    n: int
    blocks: int
    coverage: Estimate
    shipped_coverage: Estimate
    move: Move
    half_width: float
    score: float
    skill: float
    target: float | None
    pvalue: float = nan
    shipped_pvalue: float = nan
    at_most: float = nan
    fails: bool = False
    short: bool = False

    @property
    def title(self) -> str:
        """Feature and label; the label alone where the feature has no name of its own."""
        return self.label if self.feature == "segment" else f"{self.feature} {self.label}"

    @property
    def is_tested(self) -> bool:
        """Whether a test was possible; a segment that is a single block has none."""
        return self.pvalue >= 0 or self.shipped_pvalue >= 0


@dataclass(frozen=True, slots=True)
class SegmentWinner:
    """The model that scores best in one segment, as shipped.

    Attributes
    ----------
    n : int
        Number of rows of the segment.
    model, runner_up : str
        The model with the smallest score there, and the next one.
    score : float
        Interval score of the best model in the segment, with the factor (or shift) that ships.
    ahead : float
        Share of the next model's score that it saves.
    pvalue : float
        Of the paired test against the next model, adjusted for all pairs of models and all segments of the feature;
        nan where no test was possible.

    Examples
    --------
    >>> winner = SegmentWinner("site", "N", 80, "net", 3.0, "forest", ahead=0.25, pvalue=0.01)
    >>> f"{winner.title}: {winner.model} scores {winner.ahead:.0%} better than {winner.runner_up}"
    'site N: net scores 25% better than forest'
    """

    feature: str
    label: str
    n: int
    model: str
    score: float
    runner_up: str
    ahead: float
    pvalue: float = nan

    @property
    def title(self) -> str:
        """Feature and label; the label alone where the feature has no name of its own."""
        return self.label if self.feature == "segment" else f"{self.feature} {self.label}"


@dataclass(frozen=True, slots=True)
class AcrossSegments:
    """One model over the segments of a feature, each of which counts once.

    Attributes
    ----------
    segments : int
        Number of segments.
    best_in : float or None
        Share of the segments in which the model has the smallest score as shipped; None for the reference.
    skill : Estimate
        Median of its skill in the segments, with the interval that their order gives.

    Examples
    --------
    >>> series = AcrossSegments("series", "net", 69, best_in=0.59, skill=Estimate(0.12, 0.08, 0.15))
    >>> f"best in {series.best_in:.0%} of {series.segments} series, median skill {series.skill:.0%}"
    'best in 59% of 69 series, median skill 12%'
    """

    feature: str
    model: str
    segments: int
    best_in: float | None
    skill: Estimate


@dataclass(frozen=True, slots=True)
class Missing:
    """Rows that some models lack: what was dropped, and whose fault that was.

    Attributes
    ----------
    dropped : int
        Rows that were left out of the assessment.
    kept : int
        Rows that it rests on.
    lacking : mapping of str to int
        For each model, how many of all rows it lacks.
    vanished : tuple of str
        Segments none of whose rows are left.
    """

    dropped: int
    kept: int
    lacking: Mapping[str, int]
    vanished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """What choosing among models on the same rows costs the one that was chosen.

    Attributes
    ----------
    models : int
        How many models there were to choose from.
    own : Estimate
        The chosen model's own factor (or shift), as in its row.
    multiplier : float
        What multiplies that factor (is added to that shift), so that new rows are covered as promised; 1 (0) where
        nothing is spent.
    corrected : bool
        Whether the verdict's factor, half-width and score allow for the choice; False is said in words.
    folds : int
        Number of folds behind it; 0 where none were needed.
    """

    models: int
    own: Estimate
    multiplier: float = 1.0
    corrected: bool = True
    folds: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to ship, and how sure that is.

    Attributes
    ----------
    headline : str
        The decision in one sentence, the same wherever it is shown.
    text : str
        The headline and what a reader needs beside it.
    reasons : tuple of str
        What lies behind it, one sentence each.
    model : str
        The model to ship.
    scale : float
        What to multiply its bands by, 1 where it ships unchanged; nan for a model calibrated by a `shift`, infinite
        where no factor will do.
    shift : float
        What to add to the bands, for a model calibrated by a shift; nan for others.
    level : float or None
        Nominal coverage of the interval that is moved, for a model of several levels.
    coverage : float
        The coverage that this is for.
    half_width, score : Estimate
        Mean half-width and interval score of what ships.
    tied : tuple of str
        Models that are not shown to be worse than the best one, the best one left out.
    runner_up : str or None
        The next best model; None where there is only one.
    pvalue : float
        Adjusted p-value of the best model against the next; nan where there is none.
    decided : bool
        Whether no other model is tied with the best one; True for a single model.
    reachable : bool
        Whether a finite factor (or shift) reaches the coverage.
    unchanged : bool
        Whether the model ships as delivered.
    choice : Choice
        What choosing among the models costs.
    """

    headline: str
    text: str
    reasons: tuple[str, ...]
    model: str
    scale: float
    shift: float
    level: float | None
    coverage: float
    half_width: Estimate
    score: Estimate
    tied: tuple[str, ...]
    runner_up: str | None
    pvalue: float
    decided: bool
    reachable: bool
    unchanged: bool
    choice: Choice

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessmentSettings:
    """What the assessment was asked for.

    `ranked_by` says what ranks the models and is tested; `shown_coverage` is the coverage asked for, or 0.9.
    `tolerance` is how far a coverage may lie from the promised one and still keep it; `block` says in words which rows
    are dependent (None: none are), `row_unit` in what each row is measured (None: all in `unit`), `reference` names
    the model that skill is also measured against.
    """

    coverage: float | None
    shown_coverage: float
    ranked_by: Ranking
    side: Side = "both"
    tolerance: float = nan
    incumbent: str | None = None
    reference: str | None = None
    axes: Axes
    partial: Range | None = None
    c: float | None = None
    unit: Unit = "raw"
    row_unit: str | None = None
    confidence_level: float = 0.95
    n_resamples: int | None = None
    seed: int | None = None
    block: str | None = None

    @property
    def promised(self) -> Promised:
        """The promise that coverages are held against."""
        return Promised(self.shown_coverage, self.tolerance)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Assessment:
    """The result of `assess`, `assess_frame` and `assess_sketches`.

    Attributes
    ----------
    rows : tuple of ModelRow
        One per model, in the order given.
    comparisons, wis_comparisons : tuple of Comparison
        One per pair of models, on what ranks them; and on their WIS, where all models have the same levels.
    crossings : tuple of Crossings
        One per pair of models whose curves are compared.
    segments : tuple of Segment
        One per model and segment, where `by` was given.
    winners : tuple of SegmentWinner
        The best model of each segment, where there are several models of the same rows.
    across : tuple of AcrossSegments
        Each model over the segments of a feature with at least five of them, and over the series.
    pockets : Pockets or None
        Where shipped intervals fail, where `features` were given.
    notes : tuple of str
        What a reader must know before trusting the numbers.
    not_tested : tuple of str
        What could not be tested, one sentence each.
    missing : Missing or None
        Rows that were left out, and whose they were; None where none were.
    settings : AssessmentSettings
    verdict : Verdict
    curves : mapping of str to Curve
        The curves themselves, folds joined.
    comparable : bool
        Whether all models share their predictions, so that raw areas and curves compare their intervals alone.
    engine : str
        What held the rows: ``"memory"``, or the engine that streamed them.
    brackets : mapping of str to mapping
        For each model, both ends around each number that bins do not tell exactly; empty in memory. Confidence
        intervals contain them already.
    """

    rows: tuple[ModelRow, ...]
    comparisons: tuple[Comparison, ...]
    settings: AssessmentSettings
    verdict: Verdict
    curves: Mapping[str, Any]
    wis_comparisons: tuple[Comparison, ...] = ()
    crossings: tuple[Crossings, ...] = ()
    segments: tuple[Segment, ...] = ()
    winners: tuple[SegmentWinner, ...] = ()
    across: tuple[AcrossSegments, ...] = ()
    pockets: Any = None
    notes: tuple[str, ...] = ()
    not_tested: tuple[str, ...] = ()
    missing: Missing | None = None
    comparable: bool = True
    engine: str = "memory"
    brackets: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", MappingProxyType(dict(self.curves)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles carry the curves as a dict, because a mapping proxy cannot be pickled."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        values["curves"] = dict(self.curves)
        return _restored, (values,)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> ModelRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(_unknown(name, [row.name for row in self.rows]))

    @property
    def ranking(self) -> tuple[ModelRow, ...]:
        """The rows, best model first."""
        return tuple(sorted(self.rows, key=lambda row: row.rank))

    @property
    def failing(self) -> tuple[Segment, ...]:
        """Segments that are covered less often than they should be, as delivered, the most significant first."""
        failing = [segment for segment in self.segments if segment.fails]
        return tuple(sorted(failing, key=lambda segment: segment.pvalue))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists; models by name. What is infinite or undefined is None."""
        return tables.as_data(self, schema=SCHEMA)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        text = json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace").decode(
            "utf-8"
        )  # lone surrogates, as JSON escapes them

    def metrics(self) -> dict[str, float]:
        """Return the finite numbers of each model by flat names such as ``"GBR/score"``, as trackers log them."""
        return tables.metrics(self)

    def to_frame(self, backend: Any = None, *, full: bool = False) -> Any:
        """Data frame with one row per model in rank order; `full` adds the paper's numbers.

        It is a pandas or Polars frame, whichever is installed, or that of a `backend` of narwhals.
        """
        return tables.frame(tables.frame_columns(self.ranking, full=full), backend)

    def segments_frame(self, backend: Any = None) -> Any:
        """Data frame with one row per segment and model."""
        return tables.frame(tables.frame_columns(self.segments, full=True), backend)

    def to_text(self, *, full: bool = False) -> str:
        """Return the verdict and tables as text; `full` adds reasons, decomposition, the paper's numbers, all pairs."""
        return tables.text(self, full=full)

    def to_html(self, *, title: str | None = None) -> str:
        """Return a page with verdict, curves and tables that stands alone."""
        from uccurve.report._page import page

        return str(page(self, title=title))

    def plot(self, *args: Any, **options: Any) -> Any:
        """Draw the assessment with matplotlib; see `uccurve.plots.figures.assessment` for the options."""
        from uccurve.plots.figures import assessment

        return assessment(self, *args, **options)

    def __repr__(self) -> str:
        return tables.text(self)

    def _repr_html_(self) -> str:
        return tables.html(self)


def _restored(values: Mapping[str, Any]) -> Assessment:
    return Assessment(**values)


def _unknown(name: object, names: Sequence[str]) -> str:
    is_or_are = "is" if len(names) == 1 else "are"
    return f"no model is called {short(repr(name))}; there {is_or_are} {listed(names)}.{nearest(name, names)}"
