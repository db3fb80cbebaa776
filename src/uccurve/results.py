"""Results: what `assess` found, as data that tables, pages and files are made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite, isnan, nan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from uccurve._refusals import nearest
from uccurve.assess.levels import PIT, LevelRow, Promise
from uccurve.words import tables as _tables
from uccurve.words.columns import frame_columns, plain, record
from uccurve.words.formats import axes_in_words, listed, short

if TYPE_CHECKING:
    from uccurve._vocabulary import Axes, Range, Unit
    from uccurve.crossings import Crossings
    from uccurve.points import Decomposition

FEW = 50
SCHEMA = 1  # version of what `to_dict` and `to_json` return


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model: its coverage as delivered, the factor for the target, what ranks it, and the paper's numbers.

    Half-widths, scores, metrics, areas and costs are in the assessment's unit. `*_low` and `*_high` are the ends of
    confidence intervals. What is infinite or undefined is ``inf`` or ``nan``. "The target" is the coverage that was
    asked for, or 0.9 where none was.

    Attributes
    ----------
    rank : int
        1 is best, by `score` where a coverage was asked for, by `crps` otherwise.
    n : int
        Number of rows that carry weight; several outputs count one by one.
    coverage : float
        Share of the rows inside their interval, as delivered.
    promise : {"kept", "too narrow", "too wide"} or None
        Whether that is the coverage asked for; None where none was.
    missed_above, missed_below : float
        Shares of the rows above the upper bound and below the lower bound, as delivered.
    scale : float
        Factor on the bands that reaches the target; infinite where none does, nan for a model calibrated by a shift.
    shift : float
        Amount added to the bands that reaches the target, for a model calibrated by a shift; nan for others.
    half_width : float
        Mean half-width of the intervals with that factor.
    score : float
        Interval score at the target, at the scale that is best for it.
    shipped_score : float
        Interval score at the target with the factor that reaches it, which is what would be shipped.
    pvalue : float
        Adjusted p-value of the pair with the best model, on what ranks the models; nan for the best model itself.
    crps, skill : float
        Potential CRPS, and 1 minus its ratio to that of a constant band around the same predictions.
    decomposition : Decomposition
        What predictions, bands and calibration contribute to the score as delivered.
    miss_rate, bandwidth, excess, deficit, overshoot : float
        The paper's metrics, as delivered.
    concentration : int
        Smallest number of rows that make up half of the area on the assessment's axes; streamed, an upper end of it.
    partial_gain : float or None
        Gain on the assessment's axes within its range; None where no range was asked for.
    cost, cheapest_cost, cheapest_scale : float or None
        Cost as delivered, the minimum cost, and the scale (or shift) at that minimum; None where no cost was asked for.
    level : float or None
        Nominal coverage of the interval that counts as delivered, for a model of several levels.
    wis : float
        Weighted interval score of the delivered levels, the sum of `wis_dispersion`, `wis_underprediction` and
        `wis_overprediction`; nan for a model of one level.
    potential_wis : float
        The same with each level at the factor that is best for it: what recalibration could save.
    levels : tuple of LevelRow
        The model's own levels, narrowest first; empty for a model of one level.
    pit : PIT or None
        Where observations fall among the quantiles that the levels are made of.
    """

    name: str
    rank: int = 0
    n: int
    coverage: float
    coverage_low: float
    coverage_high: float
    promise: Promise | None
    missed_above: float
    missed_below: float
    scale: float = nan
    scale_low: float = nan
    scale_high: float = nan
    shift: float = nan
    half_width: float
    half_width_low: float
    half_width_high: float
    score: float
    score_low: float
    score_high: float
    pvalue: float = nan
    crps: float
    crps_low: float
    crps_high: float
    skill: float
    skill_low: float
    skill_high: float
    decomposition: Decomposition
    miss_rate: float
    bandwidth: float
    excess: float
    deficit: float
    overshoot: float
    area_bandwidth_miss_rate: float
    area_bandwidth_miss_rate_low: float
    area_bandwidth_miss_rate_high: float
    area_bandwidth_deficit: float
    area_bandwidth_deficit_low: float
    area_bandwidth_deficit_high: float
    area_excess_deficit: float
    area_excess_deficit_low: float
    area_excess_deficit_high: float
    gain_bandwidth_miss_rate: float
    gain_bandwidth_miss_rate_low: float
    gain_bandwidth_miss_rate_high: float
    gain_bandwidth_deficit: float
    gain_bandwidth_deficit_low: float
    gain_bandwidth_deficit_high: float
    gain_excess_deficit: float
    gain_excess_deficit_low: float
    gain_excess_deficit_high: float
    concentration: int
    partial_gain: float | None = None
    partial_gain_low: float | None = None
    partial_gain_high: float | None = None
    cost: float | None = None
    cheapest_cost: float | None = None
    cheapest_scale: float | None = None
    level: float | None = None
    shipped_score: float = nan
    wis: float = nan
    wis_low: float = nan
    wis_high: float = nan
    wis_dispersion: float = nan
    wis_underprediction: float = nan
    wis_overprediction: float = nan
    potential_wis: float = nan
    levels: tuple[LevelRow, ...] = ()
    pit: PIT | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired test of two models on what ranks them, or on their WIS.

    `difference` is the first model's value minus the second's, with its confidence interval from `low` to `high`.
    `pvalue_holm` is adjusted for all pairs; `better` is None where it exceeds 1 - confidence_level.
    """

    first: str
    second: str
    statistic: Literal["score", "crps", "wis"]
    difference: float
    low: float
    high: float
    pvalue: float
    pvalue_holm: float = nan
    better: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One model on the rows of one segment.

    `scale` (or `shift`, for a model calibrated by one) is what this segment alone would need for the target. `target`
    is the promised coverage, or None where the segment is held against the model's other rows. `pvalue_holm` is
    adjusted for all segments of the model; where it is at most 1 - confidence_level the segment `fails`: it is
    covered less often than it should be, as delivered.

    `shipped_coverage` is its coverage with the factor (or shift) that all rows of the model need, and `shipped_pvalue`
    the adjusted p-value of that. The segment is `short` where that factor leaves it significantly below the promise;
    where nothing is promised, or no factor found, a segment that fails is short.
    """

    feature: str
    label: str
    model: str
    n: int
    coverage: float
    coverage_low: float
    coverage_high: float
    scale: float
    half_width: float
    score: float
    skill: float
    target: float | None
    pvalue: float
    pvalue_holm: float = nan
    fails: bool = False
    shift: float = nan
    shipped_coverage: float = nan
    shipped_pvalue: float = nan
    short: bool = False

    @property
    def title(self) -> str:
        """Feature and label; the label alone where the feature has no name of its own."""
        return self.label if self.feature == "segment" else f"{self.feature} {self.label}"

    @property
    def short_pvalue(self) -> float:
        """Adjusted p-value that `short` is judged by: as shipped or, where nothing is, as delivered."""
        return self.pvalue_holm if isnan(self.shipped_pvalue) else self.shipped_pvalue

    @property
    def short_coverage(self) -> float:
        """Coverage that `short` is judged by: as shipped or, where nothing is, as delivered."""
        return self.coverage if isnan(self.shipped_pvalue) else self.shipped_coverage


@dataclass(frozen=True, slots=True)
class AssessmentSettings:
    """What the assessment was asked for.

    `ranked_by` says what ranks the models and is tested; `shown_coverage` is the coverage asked for, or 0.9.
    `block` says in words which rows are dependent; None: none are.
    """

    coverage: float | None
    axes: Axes
    partial: Range | None
    c: float | None
    unit: Unit
    confidence_level: float
    ranked_by: Literal["score", "crps"]
    shown_coverage: float
    n_resamples: int | None = None
    seed: int | None = None
    block: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to ship, and how sure that is.

    Attributes
    ----------
    model : str
        The model to ship.
    scale : float
        What to multiply its bands by; nan for a model calibrated by a `shift`, infinite where no factor will do.
    coverage : float
        The coverage that this is for.
    half_width, score : float
        Mean half-width of the intervals to ship; the model's interval score at its best scale.
    runner_up : str or None
        The next best model; None where there is only one.
    pvalue : float
        Adjusted p-value of the difference between the two; nan where there is none.
    decided : bool
        Whether the model is shown to be better than the runner-up.
    text : str
        The verdict in words.
    reasons : tuple of str
        What lies behind it, one sentence each.
    shift : float
        What to add to the bands, for a model calibrated by a shift; nan for others.
    level : float or None
        Nominal coverage of the interval that is scaled, for a model of several levels.
    """

    model: str
    scale: float
    coverage: float
    half_width: float
    score: float
    runner_up: str | None
    pvalue: float
    decided: bool
    text: str
    reasons: tuple[str, ...]
    shift: float = nan
    level: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assessment:
    """The result of `assess`.

    Attributes
    ----------
    rows : tuple of ModelRow
        One per model, in the order given.
    comparisons : tuple of Comparison
        One per pair of models, on what ranks them.
    crossings : tuple of Crossings
        One per pair of models whose curves are compared.
    segments : tuple of Segment
        One per model and segment, where `by` was given.
    notes : tuple of str
        What a reader must know before trusting the numbers.
    settings : AssessmentSettings
    verdict : Verdict
    curves : mapping of str to Curve
        The curves themselves, folds joined.
    comparable : bool
        Whether all models share their predictions, so that raw areas and curves compare their intervals alone.
    wis_comparisons : tuple of Comparison
        One per pair of models on their WIS, where all models have the same levels.
    """

    rows: tuple[ModelRow, ...]
    comparisons: tuple[Comparison, ...]
    crossings: tuple[Crossings, ...]
    segments: tuple[Segment, ...]
    notes: tuple[str, ...]
    settings: AssessmentSettings
    verdict: Verdict
    curves: Mapping[str, Any]
    comparable: bool
    wis_comparisons: tuple[Comparison, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", MappingProxyType(dict(self.curves)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles carry the curves as a dict, because a mapping proxy cannot be pickled."""
        values = (getattr(self, field.name) for field in fields(self))
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)

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
        """Segments that are covered less often than they should be, as delivered, surest first."""
        return tuple(sorted((one for one in self.segments if one.fails), key=lambda one: (one.pvalue_holm, one.pvalue)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists; models by name. What is infinite or undefined is None."""
        parts = {
            "schema": SCHEMA,
            "verdict": asdict(self.verdict),
            "models": {row.name: record(row) for row in self.rows},
            "comparisons": [asdict(one) for one in self.comparisons],
            "crossings": [asdict(one) | {"dominant": one.dominant} for one in self.crossings],
            "segments": [asdict(one) for one in self.segments],
            "notes": self.notes,
            "settings": asdict(self.settings),
        }
        if self.wis_comparisons:
            parts["wis_comparisons"] = [asdict(one) for one in self.wis_comparisons]
        return {name: plain(part) for name, part in parts.items()}

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        text = json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates, as JSON escapes them

    def to_frame(self, backend: Any = None) -> Any:
        """Data frame with one row per model: pandas or Polars, whichever is installed, or a `backend` of narwhals."""
        return _tables.frame(frame_columns(self.rows), backend)

    def to_text(self, *, full: bool = False) -> str:
        """Return the verdict and tables as text; `full` adds reasons, decomposition, the paper's numbers, all pairs."""
        return _tables.text(self, full=full)

    def to_html(self, *, title: str | None = None) -> str:
        """Return a page with verdict, curves and tables that stands alone."""
        from uccurve.report._page import page

        return str(page(self, title=title))

    def plot(self, *args: Any, **options: Any) -> Any:
        """Draw the assessment with matplotlib; see `uccurve.plots.figures.assessment` for the options."""
        from uccurve.plots.figures import assessment

        return assessment(self, *args, **options)

    def __repr__(self) -> str:
        return _tables.text(self)

    def _repr_html_(self) -> str:
        return _tables.html(self)


def few_rows(row: ModelRow, settings: AssessmentSettings) -> str:
    """Return that half of a model's area lies on few rows, where it does: on one row in `FEW`, or fewer.

    Of fewer rows than that, from ten: on a single one. An infinite area lies on the rows that no factor covers.
    """
    if not (row.n >= 10 and 0 < row.concentration <= max(1, row.n // FEW) and isfinite(row.area_bandwidth_miss_rate)):
        return ""
    rows = f"{row.concentration:,} of {row.n:,} rows {'carries' if row.concentration == 1 else 'carry'}"
    return f"{rows} half the area of {short(row.name)} ({axes_in_words(settings.axes)})"


def _unknown(name: object, names: Sequence[str]) -> str:
    is_or_are = "is" if len(names) == 1 else "are"
    return f"no model is called {short(repr(name))}; there {is_or_are} {listed(names)}.{nearest(name, names)}"
