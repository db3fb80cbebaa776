"""Model: the numbers of one model in an assessment, from one path, one order and one constant reference."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from math import ceil, nan
from typing import Any, NamedTuple

import numpy as np

from uccurve._areas import row_shares
from uccurve._checks import FALLING, HEADLINE, SUMMARY, Array, Axes
from uccurve._distributions import order_statistic_ranks
from uccurve._paths import Path
from uccurve._ramps import Ramps
from uccurve._scoring import decomposition, quantiles, rows_carrying, saved_share
from uccurve.curve import UCC
from uccurve.points import Decomposition

from . import _influence as influence
from ._blocks import Blocks
from ._evidence import coverage_interval, interval

NAMES = tuple("_".join(axes) for axes in SUMMARY)
Ends = tuple[float, float]
UNKNOWN: Ends = (nan, nan)


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

    def __init__(self, name: str, curve: UCC, alpha: Fraction, blocks: Blocks, confidence_level: float) -> None:
        self.name, self.curve, self.alpha = name, curve, alpha
        self.blocks, self.confidence_level = blocks, confidence_level
        self._own = curve._delivered_curve(1 - alpha)
        self.delivered = self._own.intervals
        self.level = min(float(1 - alpha), curve.levels[-1]) if curve.levels else None

    @cached_property
    def path(self) -> Path:
        """Rows of the delivered intervals."""
        return self._own._path()

    @cached_property
    def ramps(self) -> Ramps:
        """Vertices of their curve."""
        return Ramps(self.path)

    @cached_property
    def whole_path(self) -> Path:
        """Rows of the curve as given."""
        return self.curve._path() if self.curve.levels else self.path

    @cached_property
    def whole_ramps(self) -> Ramps:
        """Vertices of the curve as given."""
        return Ramps(self.whole_path) if self.curve.levels else self.ramps

    def ends(self, value: float, change: Array | None, *, log: bool = True) -> Ends:
        """Confidence interval of a value by the influence of each row on it, or on its logarithm."""
        if change is None or self.blocks.count < 2:
            return UNKNOWN
        return interval(value, change, self.blocks, self.confidence_level, log=log)

    def coverage(self) -> dict[str, float]:
        """Coverage as delivered, with its interval, and the misses on either side."""
        covered = self.path.critical <= self.path.delivered
        low, high = UNKNOWN
        if self.blocks.count > 1:
            low, high, _ = coverage_interval(covered, self.path.weight, self.blocks, self.confidence_level)
        y, weight = self.delivered.y_true, self.delivered._weight
        above, below = y > self.delivered.upper, y < self.delivered.lower
        share = self.path.mean(covered.astype(np.float64))
        return {
            "coverage": share,
            "coverage_low": low,
            "coverage_high": high,
            "missed_above": float(np.average(above, weights=weight)),
            "missed_below": float(np.average(below, weights=weight)),
        }

    @cached_property
    def target(self) -> Target:
        """Scale (or shift) of the conformal rank, and the order statistics around it."""
        return target(self.path, self.alpha, self.blocks, self.confidence_level)

    def calibration(self, unit: float) -> dict[str, float]:
        """Factor (or shift) for the target and the half-width there, with their intervals."""
        path, (t, low, high, sparsity) = self.path, self.target
        shifted = path.vary == "shift"
        width, change = np.inf, None
        if np.isfinite(t):
            width = path.at(t)["bandwidth"]
            change = influence.half_width_influence(path, t, float(1 - self.alpha), sparsity)
        ends = self.ends(width, change)
        size = path.unit / unit
        return {
            "scale": nan if shifted else t,
            "scale_low": nan if shifted else low,
            "scale_high": nan if shifted else high,
            "shift": t * path.unit if shifted else nan,
            **_with_ends("half_width", width * size, (ends[0] * size, ends[1] * size)),
        }

    @cached_property
    def best_t(self) -> float:
        """The t with the smallest interval score."""
        return self.ramps.lower_hull().best_t(float(self.alpha))

    @cached_property
    def score_rows(self) -> Array:
        """Each row's interval score at the common best t, in units of y_true."""
        rows = influence.score_contributions(self.path, self.best_t, float(self.alpha))
        rows *= self.path.unit
        return rows

    @cached_property
    def crps_rows(self) -> Array:
        """Each row's part of the potential CRPS, in units of y_true; their mean is the potential CRPS."""
        return _crps_rows(self.whole_path, self.whole_ramps)

    def scores(self, unit: float) -> dict[str, float]:
        """Best interval score, potential CRPS and skill, with their intervals."""
        path, constant = self.path, self.path.constant()
        flat_rows = _crps_rows(constant, Ramps(constant))  # before the model's own order takes memory
        out: dict[str, float] = {}
        for name, own in (("score", self.score_rows), ("crps", self.crps_rows)):
            value = path.mean(own)
            low, high = self.ends(value, influence.log_influence(path, own, value))
            out |= _with_ends(name, value / unit, (low / unit, high / unit))
        return out | _with_ends("skill", *self._skill(flat_rows))

    def _skill(self, flat_rows: Array) -> tuple[float, Ends]:
        """Share of the constant band's potential CRPS that is saved, and its interval."""
        crps, flat = self.path.mean(self.crps_rows), self.path.mean(flat_rows)
        ratio = influence.log_influence(self.path, self.crps_rows, crps)
        reference = influence.log_influence(self.path, flat_rows, flat)
        if ratio is None or reference is None:
            return saved_share(flat, crps), UNKNOWN
        ratio -= reference
        low, high = self.ends(crps / flat, ratio)
        return saved_share(flat, crps), (1 - high, 1 - low)

    def decomposition(self, unit: float) -> Decomposition:
        """What predictions, bands and calibration contribute to the score as delivered."""
        return decomposition(self.path, self.delivered, self.alpha, self.best_t, unit)

    def areas(self, unit: float) -> dict[str, float]:
        """The paper's areas and gains over the constant band, with their intervals."""
        out: dict[str, float] = {}
        for name, axes in zip(NAMES, SUMMARY, strict=True):
            for kind, value, ends in self._area(axes, unit):
                out |= _with_ends(f"{kind}_{name}", value, ends)
        return out

    def _area(self, axes: Axes, unit: float) -> Iterator[tuple[str, float, Ends]]:
        path, ramps = self.whole_path, self.whole_ramps
        value = influence.whole_area(path, ramps, axes)
        rows = influence.area_contributions(path, ramps, axes)
        own = None if rows is None else influence.log_influence(path, rows, value, degree=2)
        size = (path.unit / unit) ** sum(name != "miss_rate" for name in axes)
        low, high = self.ends(value, own)
        yield "area", value * size, (low * size, high * size)
        flat_rows = influence.constant_area_contributions(path, axes)
        flat = nan if flat_rows is None else path.mean(flat_rows) / 2
        reference = None if flat_rows is None else influence.log_influence(path, flat_rows, flat, degree=2)
        gain = saved_share(flat, value, self.curve._rounding(axes))
        ratio = None if own is None or reference is None or not np.isfinite(gain) else own - reference
        low, high = self.ends(value / flat if flat else nan, ratio)
        yield "gain", gain, (1 - high, 1 - low)

    def concentration(self, axes: Axes) -> int:
        """How few rows carry half of the area."""
        axes = axes if FALLING.intersection(axes) else HEADLINE
        falling = next(name for name in (axes[1], axes[0]) if name in FALLING)
        other = axes[0] if falling == axes[1] else axes[1]
        return rows_carrying(0.5, row_shares(self.whole_ramps, self.whole_path, falling, other))

    def metrics(self, unit: float) -> dict[str, float]:
        """The paper's five metrics as delivered."""
        size = self.path.unit / unit
        values = self.path.at(self.path.delivered)
        return {name: value * (1.0 if name == "miss_rate" else size) for name, value in values.items()}


def _crps_rows(path: Path, ramps: Ramps) -> Array:
    rows = influence.crps_contributions(path, ramps, ramps.lower_hull())
    rows *= path.unit
    return rows


def target(path: Path, alpha: Fraction, blocks: Blocks, confidence_level: float) -> Target:
    """The t that reaches a coverage, and the order statistics around it."""
    n, q = len(path), 1 - alpha
    if path.equally_weighted and blocks.independent:
        low, high = order_statistic_ranks(n, q, confidence_level)
    else:
        low, high = _effective_ranks(path, q, blocks, confidence_level)
    first, last = Fraction(max(low, 1), n), Fraction(min(high, n), n)
    around, beyond = quantiles(path.critical, path.weight, first, last)
    sparsity = (beyond - around) / float(last - first) if last > first else nan
    ends = around if low > 0 else path.start, beyond if high <= n else np.inf
    return Target(t_for_coverage(path, q), *ends, sparsity)


def t_for_coverage(path: Path, q: Fraction) -> float:
    """The t of the conformal rank, infinite for too few rows; with unequal weights the smallest that reaches q."""
    share = Fraction(ceil((len(path) + 1) * q), len(path)) if path.equally_weighted else q
    return quantiles(path.critical, path.weight, share)[0]


def _effective_ranks(path: Path, q: Fraction, blocks: Blocks, confidence_level: float) -> tuple[int, int]:
    """Ranks around a quantile of weighted or dependent rows: those of as many independent rows as they are worth."""
    n = len(path)
    if blocks.count < 2:
        return 0, n + 1
    (t,) = quantiles(path.critical, path.weight, q)
    _, _, effective = coverage_interval(path.critical <= t, path.weight, blocks, confidence_level)
    count = max(int(effective), 1)
    low, high = order_statistic_ranks(count, q, confidence_level)
    return (low * n) // count, n + 1 if high > count else ceil(high * n / count)


def _with_ends(name: str, value: float, ends: Ends) -> dict[str, Any]:
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
