"""Model: the numbers of one model in an assessment, from one path, one order and one constant reference."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from uccurve._areas import rounding_of_area, row_shares
from uccurve._arrays import Flags
from uccurve._distributions import order_statistic_ranks
from uccurve._paths import Path, ScalePath
from uccurve._ramps import Ramps
from uccurve._refusals import miss_rate_of
from uccurve._rowscores import WISRows
from uccurve._scoring import decomposition, interval_score, quantiles, rows_carrying, saved_share
from uccurve._vocabulary import FALLING, HEADLINE, SUMMARY, Array, Axes
from uccurve.assess.levels import LevelRow, Promise, pit, potential_wis, wis_rows
from uccurve.curve import UCC
from uccurve.evidence import contributions as influence
from uccurve.evidence.tests import coverage_interval, effective_rows, interval
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.points import Curve
from uccurve.results import AssessmentSettings, ModelRow


class Target(NamedTuple):
    """The t that reaches a coverage for a new row, its interval, and how fast t grows with the coverage there."""

    t: float
    low: float
    high: float
    sparsity: float


class Model:
    """One model: its curve as given, and the delivered intervals at the asked coverage, which are what is scaled.

    The two are the same path but for a model of several levels.
    """

    def __init__(self, name: str, curve: UCC, settings: AssessmentSettings, blocks: Blocks) -> None:
        self.name, self.curve, self.settings, self.blocks = name, curve, settings, blocks
        self.alpha, self.confidence_level = miss_rate_of(settings.shown_coverage), settings.confidence_level
        self.unit = curve._unit(settings.unit)  # what numbers are divided by
        self._scaled_curve = curve._delivered_curve(1 - self.alpha)
        self.delivered = self._scaled_curve.intervals
        self.level = min(float(1 - self.alpha), curve.levels[-1]) if curve.levels else None

    @cached_property
    def path(self) -> Path:
        """Rows of the delivered intervals."""
        return self._scaled_curve._path()

    @cached_property
    def _whole_path(self) -> Path:
        """Rows of the curve as given."""
        return self.curve._path() if self.curve.levels else self.path

    @property
    def _whole_ramps(self) -> Ramps:
        """Vertices of the curve as given."""
        return self.curve._ramps(self._whole_path)

    @cached_property
    def covered(self) -> Flags:
        """Which rows lie inside their delivered interval."""
        return self.path.critical <= self.path.delivered

    @cached_property
    def target(self) -> Target:
        """Scale (or shift) of the conformal rank, and the order statistics around it.

        Weighted or dependent rows have the ranks of as many independent rows as they are worth.
        """
        path, n, q = self.path, len(self.path), 1 - self.alpha
        t = t_for_coverage(path, q)
        if self.blocks.count < 2:
            return Target(t, nan, nan, nan)
        reached = path.critical <= quantiles(path.critical, path.weight, q)[0]
        count = max(int(effective_rows(reached, path.weight, self.blocks, self.confidence_level)[1]), 1)
        low, high = order_statistic_ranks(count, q, self.confidence_level)
        low, high = low * n // count, n + 1 if high > count else ceil(high * n / count)
        first, last = Fraction(max(low, 1), n), Fraction(min(high, n), n)
        around, beyond = quantiles(path.critical, path.weight, first, last)
        sparsity = (beyond - around) / float(last - first) if last > first else nan
        return Target(t, around if low > 0 else path.start, beyond if high <= n else np.inf, sparsity)

    @cached_property
    def best_t(self) -> float:
        """The t with the smallest interval score."""
        return self._scaled_curve._ramps(self.path).lower_hull().best_t(float(self.alpha))

    def score_rows(self, t: float) -> Array:
        """Each row's interval score at one t, in units of y_true; at the best t that is its part of the best score."""
        rows = self.path.contributions(t, {"bandwidth": 2.0, "deficit": 2 / float(self.alpha)})
        rows *= self.path.unit
        return rows

    @cached_property
    def crps_rows(self) -> Array:
        """Each row's part of the potential CRPS, in units of y_true; their mean is the potential CRPS."""
        return influence.crps_contributions(self._whole_path, self._whole_ramps)

    @property
    def scaled_crps_rows(self) -> Array:
        """The same of multiples of the delivered interval, which for a model of several levels is another path."""
        return influence.crps_contributions(self.path, self._scaled_curve._ramps(self.path))

    def constant_crps_rows(self) -> Array:
        """The same of a constant band around the same predictions."""
        constant = self.path.constant()
        return influence.crps_contributions(constant, Ramps(constant))

    def row(self, constant_rows: Array) -> ModelRow:
        """All numbers of the model; its rank and p-value depend on the others.

        `constant_rows` are those of the constant band, made before the model's own order takes memory.
        """
        path, settings = self.path, self.settings
        fields: dict[str, Any] = self._coverage_of(self.delivered, path) | self._calibration()
        fields |= self._scores(constant_rows)
        sizes = self.curve._sizes(path, settings.unit)
        fields |= {name: value * sizes[name] for name, value in path.at(path.delivered).items()}
        for axes in SUMMARY:
            fields |= self._areas(axes)
        axes = settings.axes if FALLING.intersection(settings.axes) else HEADLINE
        x, y = axes if axes[1] in FALLING else axes[::-1]
        return ModelRow(
            name=self.name,
            n=len(path),
            promise=promise_of(fields, settings.coverage),
            decomposition=decomposition(path, self.delivered, self.alpha, self.best_t, self.unit),
            concentration=rows_carrying(0.5, row_shares(self._whole_ramps, self._whole_path, y, x)),
            level=self.level,
            **fields,
            **partial_gain_and_costs(self.curve, settings),
            **self._level_fields(),
        )

    def _coverage_of(self, iv: Intervals, path: Path) -> dict[str, float]:
        """Coverage as delivered, with its interval, and the misses on either side."""
        covered, low, high = path.critical <= path.delivered, nan, nan
        if self.blocks.count > 1:
            low, high = coverage_interval(covered, path.weight, self.blocks, self.confidence_level)
        return {
            "coverage": path.mean(covered),
            "coverage_low": low,
            "coverage_high": high,
            "missed_above": float(np.average(iv.y_true > iv.upper, weights=iv._weight)),
            "missed_below": float(np.average(iv.y_true < iv.lower, weights=iv._weight)),
        }

    def _calibration(self) -> dict[str, float]:
        """Factor (or shift) for the target and the half-width there, with their intervals."""
        path, (t, low, high, sparsity) = self.path, self.target
        width, score, change = np.inf, nan, None
        if np.isfinite(t):
            point = path.at(t)
            width, score = point["bandwidth"], interval_score(point, float(self.alpha))
            change = influence.half_width_influence(path, t, float(1 - self.alpha), sparsity)
        moved = {"shift": t * path.unit} if path.vary == "shift" else {"scale": t, "scale_low": low, "scale_high": high}
        moved["shipped_score"] = score * path.unit / self.unit
        return moved | self._with_interval("half_width", width, change, path.unit / self.unit)

    def _scores(self, constant_rows: Array) -> dict[str, float]:
        """Best interval score, potential CRPS and skill, with their intervals."""
        score, crps = self.score_rows(self.best_t), self.crps_rows
        out: dict[str, float] = {}
        for name, rows in (("score", score), ("crps", crps)):
            out |= self._with_interval(name, self.path.mean(rows), self._log_influence(rows), 1 / self.unit)
        both = crps, constant_rows
        return out | self._saved("skill", [*map(self.path.mean, both)], [*map(self._log_influence, both)])

    def _areas(self, axes: Axes) -> dict[str, float]:
        """One of the paper's areas and its gain over the constant band, with their intervals."""
        path, ramps, name = self._whole_path, self._whole_ramps, "_".join(axes)
        size = float(np.power(path.unit / self.unit, sum(metric != "miss_rate" for metric in axes)))
        area = influence.whole_area(path, ramps, axes)
        change = self._log_influence(influence.area_contributions(path, ramps, axes), 2)
        rows = influence.constant_area_contributions(path, axes)
        values, changes = (area, path.mean(rows) / 2), (change, self._log_influence(rows, 2))
        gain = self._saved(f"gain_{name}", values, changes, rounding_of_area(path, axes))
        return self._with_interval(f"area_{name}", area, change, size) | gain

    @cached_property
    def wis_rows(self) -> WISRows:
        """Each row's weighted interval score of the delivered levels, in units of y_true."""
        return wis_rows(self._levels)

    @property
    def _levels(self) -> dict[float, Intervals]:
        return dict(zip(self.curve.levels, self.curve._levels, strict=True))

    def _level_fields(self) -> dict[str, Any]:
        """Calibration of a model's own levels, their PIT histogram and weighted interval score."""
        if not self.curve.levels:
            return {}
        levels, rows = self._levels, []
        paths = {level: ScalePath.of(intervals) for level, intervals in levels.items()}
        for level, path in paths.items():
            fields: dict[str, Any] = self._coverage_of(levels[level], path)
            fields |= {"promise": promise_of(fields, level), "half_width": path.mean_half_width * path.unit / self.unit}
            scale = t_for_coverage(path, 1 - miss_rate_of(level))
            rows.append(LevelRow(model=self.name, level=level, scale=scale, **fields))
        score, mean = self.wis_rows.score, self.path.mean
        return {
            "levels": tuple(rows),
            "pit": pit(levels, self.blocks, self.confidence_level),
            "potential_wis": potential_wis(paths) / self.unit,
            **self._with_interval("wis", mean(score), self._log_influence(score), 1 / self.unit),
            **{f"wis_{name}": mean(part) / self.unit for name, part in self.wis_rows._asdict().items()},
        }

    def _log_influence(self, rows: Array | None, degree: int = 1) -> Array | None:
        return None if rows is None else influence.log_influence(self.path, rows, degree=degree)

    def _with_interval(self, name: str, value: float, change: Array | None, size: float) -> dict[str, float]:
        """A positive value and its interval by the influence of each row on its logarithm."""
        low, high = interval(value, change, self.blocks, self.confidence_level, log=True)
        return {name: value * size, f"{name}_low": low * size, f"{name}_high": high * size}

    def _saved(
        self, name: str, values: Sequence[float], changes: Sequence[Array | None], negligible: float = 0.0
    ) -> dict[str, float]:
        """Share that is saved, and its interval, from the model's value and change and those of the constant band."""
        (mine, constant), (change, reference) = values, changes
        saved = saved_share(constant, mine, negligible)
        difference = None if change is None or reference is None or not isfinite(saved) else change - reference
        ratio = mine / constant if constant else nan
        low, high = interval(ratio, difference, self.blocks, self.confidence_level, log=True)
        return {name: saved, f"{name}_low": 1 - high, f"{name}_high": 1 - low}


def partial_gain_and_costs(curve: Curve, settings: AssessmentSettings) -> dict[str, Any]:
    """Return the partial gain and the costs of a curve, where they were asked for."""
    how: Any = {"axes": settings.axes, "unit": settings.unit}
    found: dict[str, Any] = {}
    if settings.partial is not None:
        found["partial_gain"] = curve.gain(**how, miss_rate=settings.partial)
        found |= {"partial_gain_low": nan, "partial_gain_high": nan}
    if settings.c is not None:
        best = curve.cheapest(settings.c, **how)
        found |= {"cost": curve.cost(settings.c, **how), "cheapest_cost": best.cost}
        found["cheapest_scale"] = best.shift if curve.vary == "shift" else best.scale
    return found


def promise_of(fields: Mapping[str, float], coverage: float | None) -> Promise | None:
    """Whether a coverage is kept; None where none was asked for or nothing is known about chance."""
    if coverage is None or isnan(fields["coverage_low"]):
        return None
    if fields["coverage_high"] < coverage:
        return "too narrow"
    return "too wide" if fields["coverage_low"] > coverage else "kept"


def t_for_coverage(path: Path, q: Fraction) -> float:
    """The t of the conformal rank, infinite for too few rows; with unequal weights the smallest that reaches q."""
    share = Fraction(ceil((len(path) + 1) * q), len(path)) if path.equally_weighted else q
    return quantiles(path.critical, path.weight, share)[0]
