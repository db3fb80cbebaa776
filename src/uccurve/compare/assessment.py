"""Assessment: what `assess` found, as data that tables, pages and files can be made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Literal

from uccurve._checks import Axes
from uccurve.intervals import Intervals

from . import tables
from .crossings import Crossings

if TYPE_CHECKING:
    from uccurve._checks import Unit


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model (or one model on one segment): its intervals as delivered, its areas, gains and costs.

    Metrics, areas and costs are in the assessment's unit. `*_low` and `*_high` are ends of confidence intervals: exact
    ones of the miss rate, bootstrap ones of the gains. What is infinite or undefined is ``inf`` or ``nan``.

    Attributes
    ----------
    rank : int
        By the gain on the assessment's axes, 1 is best.
    partial_gain : float
        Gain on the assessment's axes within its range of the miss rate.
    concentration : int
        How few rows carry half of the area on the assessment's axes.
    cost, cheapest_cost, cheapest_scale : float
        Cost as delivered, the least cost on the curve, and the scale that has it.
    band_error : float
        Mean distance between the error and the band on its side, ``mean |r - z|``.
    interval_score : float or None
        Where a level was given.
    """

    name: str
    rank: int
    n: int
    miss_rate: float
    miss_rate_low: float
    miss_rate_high: float
    bandwidth: float
    excess: float
    deficit: float
    overshoot: float
    area_bandwidth_miss_rate: float
    area_excess_deficit: float
    area_bandwidth_deficit: float
    gain_bandwidth_miss_rate: float
    gain_bandwidth_miss_rate_low: float
    gain_bandwidth_miss_rate_high: float
    gain_excess_deficit: float
    gain_excess_deficit_low: float
    gain_excess_deficit_high: float
    gain_bandwidth_deficit: float
    gain_bandwidth_deficit_low: float
    gain_bandwidth_deficit_high: float
    partial_gain: float
    partial_gain_low: float
    partial_gain_high: float
    concentration: int
    cost: float
    cheapest_cost: float
    cheapest_scale: float
    band_error: float
    interval_score: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired permutation test of two models; `pvalue_holm` is adjusted for all pairs, `better` None without proof."""

    first: str
    second: str
    statistic: Literal["area", "gain"]
    difference: float
    pvalue: float
    pvalue_holm: float
    better: str | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """One model on the rows of one segment.

    `pvalue` is the probability of as many misses if the miss rate were `target`; `pvalue_holm` is adjusted for all
    segments of the model, and where it is at most 1 - confidence_level the segment `fails`.
    """

    feature: str
    label: str
    row: ModelRow
    target: float
    pvalue: float
    pvalue_holm: float
    fails: bool


@dataclass(frozen=True, slots=True)
class AssessmentSettings:
    """What the assessment was asked for."""

    axes: Axes
    miss_rate: tuple[float, float]
    c: float
    alpha: float | None
    target: float | None
    unit: Unit
    confidence_level: float
    n_resamples: int
    n_permutations: int
    seed: int | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assessment:
    """What `assess` found.

    Attributes
    ----------
    rows : tuple of ModelRow
        One a model, in the order given.
    comparisons : tuple of Comparison
        One a pair of models.
    crossings : tuple of Crossings
        One a pair of models, where their curves compare.
    segments : tuple of Segment
        One a model and segment, with ``by``.
    comparable : bool
        Whether all models share their predictions, so that raw areas and curves compare.
    notes : tuple of str
        What a reader must know before trusting the numbers.
    settings : AssessmentSettings
    intervals : mapping of str to Intervals
        The rows themselves, folds joined.
    """

    rows: tuple[ModelRow, ...]
    comparisons: tuple[Comparison, ...]
    crossings: tuple[Crossings, ...]
    segments: tuple[Segment, ...]
    comparable: bool
    notes: tuple[str, ...]
    settings: AssessmentSettings
    intervals: Mapping[str, Intervals]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> ModelRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no model is called {name!r}; there are {', '.join(row.name for row in self.rows)}")

    @property
    def ranking(self) -> tuple[ModelRow, ...]:
        """The rows, best gain first."""
        return tuple(sorted(self.rows, key=lambda row: row.rank))

    @property
    def failing(self) -> tuple[Segment, ...]:
        """Segments that miss more than their target beyond chance, the surest first."""
        return tuple(sorted((one for one in self.segments if one.fails), key=lambda one: (one.pvalue_holm, one.pvalue)))

    @property
    def weakest(self) -> tuple[Segment, ...]:
        """Segments by how little their bands know, worst `headline_gain` first; those without a gain are left out."""
        told = [one for one in self.segments if not isnan(getattr(one.row, self.headline_gain))]
        return tuple(sorted(told, key=lambda one: float(getattr(one.row, self.headline_gain))))

    @property
    def headline_gain(self) -> str:
        """Name of the gain on the assessment's axes; on bandwidth/miss_rate where it is none of the three."""
        names = (f"gain_{one}_{other}" for one, other in (self.settings.axes, self.settings.axes[::-1]))
        known = {field.name for field in fields(ModelRow)}
        return next((name for name in names if name in known), "gain_bandwidth_miss_rate")

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists; models by name. What is infinite or undefined is None."""
        models = {row.name: {key: value for key, value in asdict(row).items() if key != "name"} for row in self.rows}
        parts = {
            "models": models,
            "comparisons": [asdict(one) for one in self.comparisons],
            "crossings": [{**asdict(one), "dominant": one.dominant} for one in self.crossings],
            "segments": [asdict(one) for one in self.segments],
            "comparable": self.comparable,
            "notes": self.notes,
            "settings": asdict(self.settings),
        }
        return {name: _plain(part) for name, part in parts.items()}

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)

    def to_frame(self, backend: Any = None) -> Any:
        """Data frame with one row a model: of pandas or Polars, whichever is there, or of a `backend` of narwhals."""
        return tables.frame(_columns(self.rows), backend)

    def segments_frame(self, backend: Any = None) -> Any:
        """Data frame with one row a model and segment."""
        own = ("feature", "label", "target", "pvalue", "pvalue_holm", "fails")
        columns = {name: [getattr(one, name) for one in self.segments] for name in own}
        return tables.frame(_columns([one.row for one in self.segments]) | columns, backend)

    def to_html(self) -> str:
        """Return a page with curves and tables that stands alone."""
        from uccurve.report._page import page

        return str(page(self))

    def plot(self, **options: Any) -> Any:
        """Draw curves, gains and segments with matplotlib; see `uccurve.plots.figures.assessment` for the options."""
        from uccurve.plots.figures import assessment

        return assessment(self, **options)

    def __repr__(self) -> str:
        return tables.text(self)

    def _repr_html_(self) -> str:
        return tables.html(self)


def _columns(rows: Sequence[ModelRow]) -> dict[str, list[Any]]:
    return {field.name: [getattr(row, field.name) for row in rows] for field in fields(ModelRow)}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
