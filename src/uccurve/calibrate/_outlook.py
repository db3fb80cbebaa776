"""Outlook: what blocks of calibration rows say of the next block, and whether the factor drifts."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import nan, sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._distributions import t_quantile, t_tail
from uccurve._paths import Path
from uccurve._vocabulary import Array, Vary
from uccurve.curve import UCC
from uccurve.evidence.contributions import factor_ends
from uccurve.evidence.inference import effective_rows, share_estimate, share_of
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.points import UNKNOWN, Estimate
from uccurve.words.formats import counted, p, share

FEWEST = 4  # blocks from which on the next one can be told anything of
MOST = 50  # blocks that are predicted at most, each by a calibration of its own
DRIFTS = 0.05


class Calibrates(Protocol):
    """What learns a calibration and applies it."""

    def fit(self, intervals: Intervals, *, groups: Any = None) -> Any:
        """Learn from some rows."""

    def apply(self, intervals: Intervals, *, groups: Any = None) -> Intervals:
        """Calibrate others."""


class Trend(NamedTuple):
    """How the coverage of blocks moves from the first to the last, and the two-sided p-value of that."""

    first: float
    last: float
    pvalue: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What dependent calibration rows say of a factor and of the coverage that it will have.

    Attributes
    ----------
    blocks : int
        Number of blocks.
    move : Estimate
        The factor (or shift) with its confidence interval; nan where each side or group has its own.
    new_rows : Estimate
        Coverage of new rows in the long run.
    next_block : Estimate
        Coverage to expect of one new block, with the range that it should lie in.
    trend : Trend
        Coverage of the calibrated blocks, the first and the last by a straight line through all of them.

    Notes
    -----
    The range of the next block rests on what would have happened: each block of the later half, at most the last 50,
    is calibrated by all blocks before it, as the next one will be by all of them. With d the root mean square of the
    differences between these m coverages and the target, the range is ``target -+ t_m d``. It holds for blocks that
    are exchangeable, and nearly so where they drift slowly. The trend is a least-squares line through the coverages
    of the blocks with the factor that all of them share.

    Examples
    --------
    >>> from uccurve import IntervalCalibrator
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(20), 50)
    >>> y = rng.normal(size=1000) * np.exp(rng.normal(0, 0.1, 20))[day]
    >>> iv = Intervals.from_bands(y, np.zeros(1000), np.ones(1000))
    >>> calibrator = IntervalCalibrator(coverage=0.9).fit(iv, block=day)
    >>> print(calibrator.outlook_)
    20 blocks: new rows 90.1% [87.6, 92.2], the next block 77.2% to 100%.
    """

    blocks: int
    move: Estimate
    new_rows: Estimate
    next_block: Estimate
    trend: Trend

    @property
    def drifts(self) -> bool:
        """Whether the coverage of the blocks changes significantly over time (5%)."""
        return self.trend.pvalue < DRIFTS

    def __str__(self) -> str:
        return " ".join([self._coverage(), *self.warnings])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against relying on the factor, in full sentences."""
        if self.blocks < FEWEST:
            return (
                f"Only {counted(self.blocks, 'block')}: what the next one will cover is unknown.",
            )
        if not self.drifts:
            return ()
        needed = "larger" if self.trend.last < self.trend.first else "smaller"
        moves = f"from {share(self.trend.first)} to {share(self.trend.last)}"
        drift = (
            f"The factor drifts: from the first to the last block coverage moves {moves} "
            f"({p(self.trend.pvalue)}), so recent blocks need a {needed} one. "
            "Calibrate on recent blocks only, or follow it day by day."
        )
        return (drift,)

    def _coverage(self) -> str:
        rows = self.new_rows
        told = f"{counted(self.blocks, 'block')}: new rows {share(rows.value)}"
        if rows.has_interval:
            told += f" [{100 * rows.low:.1f}, {100 * rows.high:.1f}]"
        if not self.next_block.has_interval:
            return f"{told}."
        return (
            f"{told}, the next block {share(self.next_block.low)} to {share(self.next_block.high)}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationRows:
    """Rows that a factor is learnt from, with what is known of each."""

    intervals: Intervals
    groups: Any
    blocks: Blocks

    def of_blocks(self, first: int, after: int) -> tuple[Intervals, Any]:
        """Return the rows of the blocks from `first` to before `after`, and their groups."""
        numbers = self.blocks.of_row
        rows = np.unique(self.blocks.row[(numbers >= first) & (numbers < after)])
        return self.intervals[rows], _chosen(self.groups, rows)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor (or shift) for all rows, and the miss rate that it leaves."""

    kind: Vary
    value: float
    miss_rate: Fraction

    def estimate(self, intervals: Intervals, effective: float, confidence_level: float) -> Estimate:
        """Return it with the order statistics around it, of rows that are worth so many independent ones."""
        path = UCC(intervals, vary=self.kind).path()
        low, high = factor_ends(path, 1 - self.miss_rate, effective, confidence_level)
        return Estimate(self.value, low, high)


def outlook_of(
    rows: CalibrationRows,
    calibrated: Intervals,
    fresh: Calibrates,
    *,
    target: float,
    factor: Factor | None,
    confidence_level: float = 0.95,
) -> Outlook:
    """Return what the blocks say of rows and what they are once `calibrated`; a `fresh` calibrator is fitted anew.

    `factor` is the one for all rows, where there is one.
    """
    blocks = rows.blocks
    path = _path(calibrated)
    covered = path.is_covered(path.delivered)
    effective = effective_rows(covered, path.weight, blocks, confidence_level)
    interval = UNKNOWN
    if factor is not None:
        interval = factor.estimate(rows.intervals, effective, confidence_level)
    return Outlook(
        blocks=blocks.count,
        move=interval,
        new_rows=share_estimate(share_of(covered, path.weight), effective, confidence_level),
        next_block=_next_block(rows, fresh, target, confidence_level),
        trend=_trend(_coverage_of_blocks(covered, path.weight, blocks)),
    )


def _chosen(groups: Any, rows: Indices) -> Any:
    """Return the groups of some rows, given as one label per row or as several keys."""
    if groups is None:
        return None
    if isinstance(groups, Mapping):
        return {key: _chosen(labels, rows) for key, labels in groups.items()}
    return np.asarray(groups)[rows]


def _next_block(
    rows: CalibrationRows, fresh: Calibrates, target: float, confidence_level: float
) -> Estimate:
    """Return the range of a new block's coverage, from blocks that are calibrated by those before them."""
    blocks = rows.blocks.count
    first = max(blocks // 2, blocks - MOST, 2)
    errors: list[float] = []
    for block in range(first, blocks):
        past, past_groups = rows.of_blocks(0, block)
        present, present_groups = rows.of_blocks(block, block + 1)
        try:
            fresh.fit(past, groups=past_groups)
            shipped = fresh.apply(present, groups=present_groups)
        except ValueError:  # too few rows so far, or a group that none of them has
            continue
        errors.append(_coverage(shipped) - target)
    if len(errors) < 2:
        return Estimate(target)
    reach = t_quantile((1 + confidence_level) / 2, len(errors)) * _root_mean_square(errors)
    return Estimate(target, max(0.0, target - reach), min(1.0, target + reach))


def _root_mean_square(values: list[float]) -> float:
    return sqrt(float(np.mean(np.square(values))))


def _coverage(intervals: Intervals) -> float:
    path = _path(intervals)
    return share_of(path.is_covered(path.delivered), path.weight)


def _path(intervals: Intervals) -> Path:
    """Return the rows on a path that intervals of any kind have."""
    return UCC(intervals, vary="shift").path()


def _coverage_of_blocks(covered: Flags, weight: Array | None, blocks: Blocks) -> Array:
    """Return the weighted share of covered rows in each block."""
    weights = np.ones(len(covered)) if weight is None else weight
    inside = blocks.sums(weights * covered)
    shares: Array = inside / blocks.sums(weights)
    return shares


def _trend(coverages: Array) -> Trend:
    """Fit a line through the coverages of blocks in their order, and test its slope."""
    blocks = len(coverages)
    if blocks < FEWEST:
        return Trend(nan, nan, nan)
    place = np.arange(blocks) - (blocks - 1) / 2
    squares = float(np.sum(place * place))
    mean = float(coverages.mean())
    slope = float(np.sum(place * coverages)) / squares
    rest = coverages - mean - slope * place
    error = sqrt(float(np.sum(rest * rest)) / (blocks - 2) / squares)
    pvalue = 1.0 if slope == 0 else 0.0
    if error > 0:
        pvalue = t_tail(slope / error, blocks - 2)
    reach = slope * float(place[-1])
    return Trend(mean - reach, mean + reach, pvalue)
