"""Calibrate: learn on held-out rows which scale or shift to ship, then apply it to new intervals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Array, Axes, Vary
from uccurve._distributions import clopper_pearson, conformal_rank
from uccurve.compare._formats import counted
from uccurve.curve import UCC, rank_leaving
from uccurve.intervals import Intervals
from uccurve.points import OperatingPoint

from ._groups import Keys, Label, grouped
from ._saved import SETTINGS, Calibration, Calibrations, read, write

__all__ = ["Calibration", "IntervalCalibrator"]

Tails = Literal["joint", "separate"]
Fallback = Literal["pooled"]
Labels = npt.ArrayLike | Mapping[Any, Any]


class IntervalCalibrator:
    """Learn the scale or shift that brings intervals to a target, on rows the model has not seen.

    Give exactly one target: a coverage (or miss rate), a half-width, or a cost.

    Parameters
    ----------
    coverage, miss_rate : float, optional
        Share of new observations that shall lie inside, or that may lie outside; one of the two.
    bandwidth : float, optional
        Half the mean width, in units of ``y_true``.
    cost : float, optional
        The c of ``c * x + (1 - c) * y`` on `axes`; the scale of minimum cost is chosen.
    axes : tuple of two metrics
        For `cost` only.
    conformal : bool
        For a coverage only: reach it for new rows, with a guarantee, rather than for the calibration rows.
    confidence : float, optional
        Reach at least the coverage in this share of all calibration sets, rather than on average over them.
    vary : {"scale", "shift"}
        Multiply both bands by a factor, or add an amount to both.
    tails : {"joint", "separate"}
        One factor for both sides, or one for each side, which then misses half of the rows that may be missed.
    fallback : {"pooled"}, optional
        What calibrates groups that `fit` has not seen, or with too few rows: a calibration from all rows. Without it
        they are refused.

    Attributes
    ----------
    calibrations_ : mapping from group to `Calibration`
        After `fit`; without groups its one key is None.

    Notes
    -----
    **The guarantee.** With ``conformal=True``, for a new row exchangeable with the n calibration rows (independent
    draws of one distribution are) and intervals that come from a model which saw neither,

        P(new observation inside its calibrated interval) >= coverage,

    for any distribution, any model and any n that is accepted, on average over calibration sets. The scale is the
    critical scale of rank ceil((n + 1) coverage): split conformal prediction with normalised residuals, and with
    ``vary="shift"`` conformalised quantile regression. Where no critical scales tie, the probability is also at most
    ``coverage + 1 / (n + 1)``. One calibration set does better or worse, see `coverage_range`; with `confidence` the
    rank is higher, so that this share of them reaches the coverage. With groups (Mondrian conformal prediction) the
    guarantee holds within every group, with separate tails on each side. It does not hold under drift, for one given
    value of the features, for groups that fall back on all rows, or with ``conformal=False``, which at n = 20 and a
    target of 95% covers 90.5%.

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic Learning in a Random World.
    Vovk (2012), Conditional Validity of Inductive Conformal Predictors.
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-Free Predictive Inference for Regression.
    Romano, Patterson and Candès (2019), Conformalized Quantile Regression.

    Examples
    --------
    >>> held_out = Intervals.from_bands([1, 2, 3, 8], y_pred=[0, 0, 0, 0], lower_band=[1, 1, 2, 2])
    >>> calibrator = IntervalCalibrator(coverage=0.8).fit(held_out)
    >>> calibrator
    IntervalCalibrator(coverage=0.8; scale 4 from 4 rows)
    >>> lower, upper = calibrator.apply_bounds(y_pred=[10.0], lower=[9.0], upper=[12.0])
    >>> lower.tolist(), upper.tolist()
    ([6.0], [18.0])
    """

    __slots__ = ("_alpha", "_keys", "_learnt", *SETTINGS)
    coverage: float | None
    miss_rate: float | None
    bandwidth: float | None
    cost: float | None

    def __init__(
        self,
        *,
        coverage: float | None = None,
        miss_rate: float | None = None,
        bandwidth: float | None = None,
        cost: float | None = None,
        axes: Axes = HEADLINE,
        conformal: bool = True,
        confidence: float | None = None,
        vary: Vary = "scale",
        tails: Tails = "joint",
        fallback: Fallback | None = None,
    ) -> None:
        given = {"coverage": coverage, "miss_rate": miss_rate, "bandwidth": bandwidth, "cost": cost}
        self._alpha = None if coverage is miss_rate is None else checks.miss_rate_of(coverage, miss_rate)
        target = checks.only("target", given, tuple(given))
        if target is None:
            raise ValueError("give one target to calibrate for: coverage=, miss_rate=, bandwidth= or cost=.")
        number = checks.real(*target, 0, np.inf if bandwidth is not None else 1)
        if self._alpha is not None:  # the decimal that was meant, also by a float32
            number = float(self._alpha if coverage is None else 1 - self._alpha)
        for name in given:
            setattr(self, name, number if name == target[0] else None)
        self.axes = checks.axes(axes)
        if cost is None and self.axes != HEADLINE:
            raise ValueError("`axes` needs a cost as the target.")
        checks.choice("vary", vary, ("scale", "shift"))
        checks.choice("tails", tails, ("joint", "separate"))
        if fallback is not None:
            checks.choice("fallback", fallback, ("pooled",))
        self.vary, self.tails, self.fallback = vary, tails, fallback
        self.conformal = checks.flag("conformal", conformal)
        self.confidence = None if confidence is None else checks.real("confidence", confidence, 0, 1)
        for option, asked in (("confidence", confidence is not None), ("tails", tails == "separate")):
            if asked and self._alpha is None:
                raise ValueError(f"`{option}` needs a coverage as the target.")
        if confidence is not None and not conformal:
            raise ValueError("`confidence` needs conformal=True: it is about new rows.")
        self._learnt: Calibrations = {}
        self._keys: Keys = None

    @property
    def calibrations_(self) -> Mapping[Label | None, Calibration]:
        """What `fit` found, by group; without groups the one key is None."""
        learnt = self._fitted
        return {label: one for label, one in learnt.items() if label is not None} or dict(learnt)

    @property
    def pooled_(self) -> Calibration | None:
        """What groups fall back on that `fit` has not seen; None where nothing was asked for."""
        return self._fitted.get(None) if len(self._fitted) > 1 else None

    @property
    def scale_(self) -> float:
        """The factor for both bands, where there is one for all rows."""
        return self._single().point.scale

    @property
    def shift_(self) -> float:
        """The amount to add to both bands, where there is one for all rows."""
        return self._single().point.shift

    def fit(self, intervals: Intervals, *, groups: Labels | None = None) -> Self:
        """Learn from held-out `intervals`, optionally for each group by itself; returns the calibrator. O(n log n).

        Parameters
        ----------
        intervals : Intervals
            Of rows on which the model was not trained.
        groups : array_like of str or int, or mapping, optional
            One label per row, known for new rows too (a region, a horizon), or several keys by name. Each group (each
            combination of labels) gets a calibration of its own.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 3, 8], y_pred=[0, 0, 0, 0], lower_band=[1, 1, 1, 1])
        >>> by_site = IntervalCalibrator(coverage=0.5).fit(iv, groups=["a", "a", "b", "b"])
        >>> {site: found.point.scale for site, found in by_site.calibrations_.items()}
        {'a': 2.0, 'b': 8.0}
        """
        curve = UCC(intervals, vary=self.vary)
        whole: Calibrations = {None: self._learn(curve)} if groups is None or self.fallback else {}
        keys, parts = (None, {}) if groups is None else grouped(groups, len(intervals))
        learnt: Calibrations = {}
        refused: list[str] = []
        for label, rows in parts.items():
            try:
                learnt[label] = self._learn(UCC(intervals[rows], vary=self.vary))
            except ValueError as error:
                refused.append(f"{label!r} ({counted(len(rows), 'row')}): {error}")
        if refused and not (whole and learnt):
            raise ValueError(f"{len(refused)} of {len(parts)} groups cannot be calibrated, first {refused[0]}")
        self._learnt, self._keys = learnt | whole, keys
        return self

    def apply(self, intervals: Intervals, *, groups: Labels | None = None) -> Intervals:
        """Return `intervals` with calibrated bands. O(n).

        Examples
        --------
        >>> held_out = Intervals.from_bands([1, 2, 3], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> IntervalCalibrator(coverage=0.75).fit(held_out).apply(held_out)
        Intervals(3 rows, miss_rate 0, bandwidth 3)
        """
        lower, upper = self._moves(groups, intervals)
        return intervals._moved(**{self.vary: (lower, upper)})

    def apply_bounds(
        self,
        y_pred: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        *,
        groups: Labels | None = None,
        min_band: float | None = None,
    ) -> tuple[Array, Array]:
        """Return calibrated ``(lower, upper)`` of new rows, whose observations nobody knows yet. O(n).

        Parameters
        ----------
        y_pred, lower, upper : array_like
            As for `Intervals.from_bounds`.
        groups : array_like or mapping, optional
            Needed if and only if `fit` had them.
        min_band : float, optional
            As for `Intervals.from_bounds`, the number that the calibration rows had. A percentage is refused: it would
            depend on which new rows come together.

        Examples
        --------
        >>> held_out = Intervals.from_bands([1, 2, 3], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> by_shift = IntervalCalibrator(coverage=0.75, vary="shift").fit(held_out)
        >>> [bound.tolist() for bound in by_shift.apply_bounds([5.0, 7.0], [4.0, 7.0], [6.0, 7.5])]
        [[2.0, 5.0], [8.0, 9.5]]
        """
        if isinstance(min_band, str):
            raise ValueError(f"`min_band` must be a number in units of y_true here; got {min_band!r}.")
        new = self.apply(Intervals.from_bounds(y_pred, y_pred, lower, upper, min_band=min_band), groups=groups)
        return new.lower, new.upper

    def coverage_range(self, rows: int, *, share: float = 0.95) -> tuple[float, float]:
        """Return the coverages of new rows between which this share of calibration sets of that many `rows` lies.

        For independent rows whose critical scales do not tie, the coverage that one calibration set leads to has a
        Beta distribution: of rank j among n rows, Beta(j, n + 1 - j), for any model and any distribution.

        Examples
        --------
        >>> [round(end, 3) for end in IntervalCalibrator(coverage=0.95).coverage_range(200)]
        [0.916, 0.976]
        """
        if self._alpha is None:
            raise ValueError("`coverage_range` needs a coverage as the target.")
        alpha, confidence = self._per_tail(self._alpha)
        rank = conformal_rank(rows, alpha, confidence) if self.conformal else rank_leaving(rows, alpha)
        if self.tails == "separate":
            rank = 2 * rank - rows - 1  # of the interval between two order statistics
        low = clopper_pearson(rank, rows, share)[0] if rank > 0 else 0.0
        return low, clopper_pearson(max(rank - 1, 0), rows, share)[1]

    def to_json(self) -> str:
        """Write the fitted calibration as JSON, every number exactly.

        Examples
        --------
        >>> held_out = Intervals.from_bands([1, 2, 3], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> text = IntervalCalibrator(coverage=0.75).fit(held_out).to_json()
        >>> IntervalCalibrator.from_json(text).scale_
        3.0
        """
        return write({name: getattr(self, name) for name in SETTINGS}, self._keys, self._fitted)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote; anything else is refused. Nothing in the text is ever run."""
        try:
            settings, keys, learnt = read(text)
            self = cls(**settings)
        except (TypeError, ValueError) as error:
            why = str(error).rstrip(".")
            raise ValueError(f"`text` must be a calibration written by to_json: {why}.") from None
        self._keys, self._learnt = keys, learnt
        return self

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in SETTINGS}
        words = [f"{name}={value!r}" for name, value in given.items() if value != SETTINGS[name]]
        return f"IntervalCalibrator({', '.join(words)}; {self._state()})"

    def _state(self) -> str:
        if not self._learnt:
            return "not fitted"
        found = self.calibrations_
        rows = sum(one.rows for one in found.values())
        values = [value for one in found.values() for value in one.moves(self.vary)]
        if None not in found:
            return f"{self.vary} {min(values):.4g} to {max(values):.4g} in {len(found)} groups from {rows} rows"
        sides = " below and ".join(f"{value:.4g}" for value in values) + (" above" if len(values) > 1 else "")
        return f"{self.vary} {sides} from {rows} rows"

    @property
    def _fitted(self) -> Calibrations:
        if not self._learnt:
            raise ValueError("this IntervalCalibrator is not fitted. Hint: call fit(intervals) on held-out rows first.")
        return self._learnt

    def _per_tail(self, alpha: Fraction) -> tuple[Fraction, float | None]:
        """Return the miss rate and the confidence of each tail; half of what may go wrong where there are two."""
        if self.tails == "joint":
            return alpha, self.confidence
        return alpha / 2, None if self.confidence is None else (1 + self.confidence) / 2

    def _single(self) -> Calibration:
        calibrations = self.calibrations_
        if None not in calibrations:
            seen = checks.shown([*calibrations])
            raise ValueError(f"there is one calibration per group: {seen}. Hint: pass `groups`, see calibrations_.")
        return calibrations[None]

    def _learn(self, curve: UCC) -> Calibration:
        intervals = curve.intervals
        if intervals._weight is not None and not intervals._weight.any():
            raise ValueError("`weight` must not be zero in every row.")
        if self.conformal and self._alpha is not None and intervals.y_true.ndim == 2:
            raise ValueError(
                "`conformal` counts exchangeable rows, and the outputs of one row are not. "
                "Hint: calibrate each output by itself, or pass conformal=False."
            )
        if self.tails == "joint":
            return Calibration(len(intervals), self._find(curve))
        y, p, weight = intervals.y_true, intervals.y_pred, intervals._weight
        below = Intervals.from_bands(np.minimum(y, p), p, intervals.lower_band, weight=weight)  # misses below only
        above = Intervals.from_bands(np.maximum(y, p), p, intervals.upper_band, weight=weight)
        lower, upper = (getattr(self._find(UCC(side, vary=self.vary)), self.vary) for side in (below, above))
        moved = intervals._moved(**{self.vary: (lower, upper)})
        return Calibration(len(intervals), UCC(moved).at(1.0), (lower, upper))

    def _find(self, curve: UCC) -> OperatingPoint:
        if self.cost is not None:
            return curve.cheapest(self.cost, axes=self.axes)
        if self._alpha is None:
            return curve.find(bandwidth=self.bandwidth)
        miss_rate, confidence = self._per_tail(self._alpha)
        return curve.find(miss_rate=miss_rate, conformal=self.conformal, confidence=confidence)

    def _moves(self, groups: Labels | None, intervals: Intervals) -> tuple[Any, Any]:
        """Return the scale (or shift) of the lower and of the upper bands: for all rows, or for each."""
        if groups is None:
            moves = self._single().moves(self.vary)
            return moves[0], moves[-1]
        learnt = self.calibrations_
        if None in learnt:
            raise ValueError("`groups` were not given to fit. Hint: fit with groups, or leave them out here.")
        keys, parts = grouped(groups, len(intervals))
        if keys != self._keys:
            raise ValueError(f"`groups` must have the keys that fit had: {self._keys}; got {keys}.")
        unseen = [label for label in parts if label not in learnt]
        if unseen and None not in self._learnt:
            raise ValueError(
                f"`groups` must have been seen at fit: {len(unseen)} of {len(parts)} were not, first {unseen[0]!r}. "
                f'Seen: {checks.shown([*learnt])}. Hint: fallback="pooled" uses all rows for them.'
            )
        lower, upper = np.empty((2, len(intervals), *[1] * (intervals.y_true.ndim - 1)))
        for label, rows in parts.items():
            moves = (self._learnt.get(label) or self._learnt[None]).moves(self.vary)
            lower[rows], upper[rows] = moves[0], moves[-1]
        return lower, upper
