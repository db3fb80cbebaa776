"""Calibrate: learn on held-out rows which scale or shift to ship, then apply it to new intervals."""

from collections.abc import Mapping
from fractions import Fraction
from math import nan
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._distributions import clopper_pearson, conformal_rank
from uccurve._vocabulary import Array, Vary
from uccurve.curve import UCC, rank_leaving
from uccurve.evidence.units import Blocks
from uccurve.intervals import Intervals
from uccurve.results import Assessment
from uccurve.words.formats import counted

from ._outlook import CalibrationRows, Factor, Outlook, outlook_of
from ._saved import (
    SETTINGS,
    Calibration,
    Calibrations,
    Keys,
    Label,
    grouped,
    read,
    read_verdict,
    write,
)

__all__ = ["Calibration", "IntervalCalibrator", "Outlook"]

Tails = Literal["joint", "separate"]
Fallback = Literal["pooled"]
Labels = npt.ArrayLike | Mapping[Any, Any]


class IntervalCalibrator:
    """Learn the scale or shift that brings intervals to a target, on rows the model has not seen.

    For a half-width or a minimum cost no guarantee is needed: pass the scale of ``UCC.find(bandwidth=...)`` or of
    ``UCC.cheapest(c)`` to `Intervals.calibrated`.

    Parameters
    ----------
    coverage, miss_rate : float, optional
        Share of new observations that should lie inside, or may lie outside; one of the two.
    conformal : bool
        Reach the coverage for new rows, with a guarantee, rather than for the calibration rows.
    confidence : float, optional
        Reach at least the coverage in this share of all calibration sets, rather than on average over them.
    vary : {"scale", "shift"}
        Multiply both bands by a factor, or add an amount to both.
    tails : {"joint", "separate"}
        One factor for both sides, or one for each side, each with half of the miss rate.
    fallback : {"pooled"}, optional
        What calibrates groups that `fit` has not seen, or with too few rows: a calibration from all rows. Without it
        they are refused.

    Attributes
    ----------
    calibrations_ : mapping from group to `Calibration`
        After `fit`. The key None stands for all rows: the only key without groups, and the `fallback` beside them.
    outlook_ : Outlook or None
        After `fit` with `block`: the factor with its interval, what the next block will cover, whether it drifts.

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

    __slots__ = ("_alpha", "_keys", "_learnt", "outlook_", *SETTINGS)

    def __init__(
        self,
        *,
        coverage: float | None = None,
        miss_rate: float | None = None,
        conformal: bool = True,
        confidence: float | None = None,
        vary: Vary = "scale",
        tails: Tails = "joint",
        fallback: Fallback | None = None,
    ) -> None:
        if coverage is miss_rate is None:
            raise ValueError("give a target to calibrate for: coverage= or miss_rate=.")
        self._alpha = checks.miss_rate_of(coverage, miss_rate)
        self.coverage = float(1 - self._alpha)
        checks.choice("vary", vary, ("scale", "shift"))
        checks.choice("tails", tails, ("joint", "separate"))
        if fallback is not None:
            checks.choice("fallback", fallback, ("pooled",))
        self.vary, self.tails, self.fallback = vary, tails, fallback
        self.conformal = checks.flag("conformal", conformal)
        self.confidence = (
            None if confidence is None else checks.real("confidence", confidence, 0, 1)
        )
        if confidence is not None and not conformal:
            raise ValueError("`confidence` needs conformal=True: it is about new rows.")
        self._learnt: Calibrations = {}
        self._keys: Keys = None
        self.outlook_: Outlook | None = None

    @classmethod
    def of_calibration(
        cls, calibration: Calibration, *, coverage: float, vary: Vary = "scale"
    ) -> Self:
        """Return a calibrator that moves bands by what was learnt elsewhere; it promises nothing for new rows.

        Examples
        --------
        >>> IntervalCalibrator.of_calibration(Calibration(200, 1.2, 1.2, 0.1), coverage=0.9).scale_
        1.2
        """
        self = cls(coverage=coverage, conformal=False, vary=vary)
        self._learnt = {None: calibration}
        return self

    @classmethod
    def from_assessment(cls, assessment: Assessment | str | bytes) -> Self:
        """Return a calibrator that ships what the verdict of an assessment, or of its JSON, names.

        The factor allows for the choice among the models, which one that is fitted on the same rows does not.

        Examples
        --------
        >>> from uccurve import assess
        >>> y = [1.0, 2.0, 4.0, 0.5, 3.0, 2.5, 5.0, 1.5]
        >>> iv = Intervals.from_bands(y, [0.0] * 8, [0.9, 2.2, 3.9, 0.6, 2.8, 2.6, 5.2, 1.3])
        >>> IntervalCalibrator.from_assessment(assess(iv, coverage=0.5))
        IntervalCalibrator(coverage=0.5, conformal=False; scale 1.026 from 8 rows)
        """
        text = assessment.to_json() if isinstance(assessment, Assessment) else assessment
        saved = read_verdict(text)
        calibration = Calibration(saved.rows, saved.move, saved.move, nan)
        return cls.of_calibration(calibration, coverage=saved.coverage, vary=saved.vary)

    @property
    def calibrations_(self) -> Mapping[Label | None, Calibration]:
        """What `fit` found, by group; None is all rows: the one key without groups, or the fallback beside them."""
        if not self._learnt:
            raise ValueError(
                "this IntervalCalibrator is not fitted. Hint: call fit(intervals) on held-out rows first."
            )
        return self._learnt

    @property
    def scale_(self) -> float:
        """The factor for both bands, where there is one for all rows."""
        return self._single().upper if (self.vary, self.tails) == ("scale", "joint") else 1.0

    @property
    def shift_(self) -> float:
        """The amount to add to both bands, where there is one for all rows."""
        return self._single().upper if (self.vary, self.tails) == ("shift", "joint") else 0.0

    def fit(
        self,
        intervals: Intervals,
        *,
        groups: Labels | None = None,
        block: int | npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from held-out `intervals`, optionally for each group by itself; returns the calibrator. O(n log n).

        Parameters
        ----------
        intervals : Intervals
            Of rows on which the model was not trained.
        groups : array_like of str or int, or mapping, optional
            One label per row, known for new rows too (a region, a horizon), or several keys by name. Each group (each
            combination of labels) gets a calibration of its own.
        block : int or array_like, optional
            Dependent rows: a number of consecutive rows, or one label per row whose order is that of time (a date, a
            forecast origin). The factor stays what it is; `outlook_` then says how sure it is and what the next block
            will cover.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 3, 8], y_pred=[0, 0, 0, 0], lower_band=[1, 1, 1, 1])
        >>> by_site = IntervalCalibrator(coverage=0.5).fit(iv, groups=["a", "a", "b", "b"])
        >>> {site: found.upper for site, found in by_site.calibrations_.items()}
        {'a': 2.0, 'b': 8.0}
        """
        intervals = UCC(intervals).intervals  # which refuses what is none
        whole: Calibrations = (
            {None: self._learn(intervals)} if groups is None or self.fallback else {}
        )
        keys, parts = (None, {}) if groups is None else grouped(groups, len(intervals))
        learnt: Calibrations = {}
        refused: list[str] = []
        for label, rows in parts.items():
            try:
                learnt[label] = self._learn(intervals[rows])
            except ValueError as error:
                refused.append(f"{label!r} ({counted(len(rows), 'row')}): {error}")
        if refused and not (whole and learnt):
            raise ValueError(
                f"{len(refused)} of {len(parts)} groups cannot be calibrated, first {refused[0]}"
            )
        self._learnt = learnt | whole
        self._keys = keys
        self.outlook_ = None if block is None else self._outlook(intervals, groups, block)
        return self

    def apply(self, intervals: Intervals, *, groups: Labels | None = None) -> Intervals:
        """Return `intervals` with calibrated bands. O(n).

        Examples
        --------
        >>> held_out = Intervals.from_bands([1, 2, 3], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> IntervalCalibrator(coverage=0.75).fit(held_out).apply(held_out)
        Intervals(3 rows, miss_rate 0, bandwidth 3)
        """
        return intervals._moved(**{self.vary: self._moves(groups, intervals)})

    def apply_bounds(
        self,
        y_pred: npt.ArrayLike | None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        *,
        groups: Labels | None = None,
        min_band: float | None = None,
    ) -> tuple[Array, Array]:
        """Return calibrated ``(lower, upper)`` of new rows, whose observations nobody knows yet. O(n).

        Parameters
        ----------
        y_pred, lower, upper : array_like
            As for `Intervals.from_bounds`: one of the bounds may be left out, and comes out infinite.
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
            raise ValueError(
                f"`min_band` must be a number in units of y_true here; got {min_band!r}."
            )
        known: Any = next((column for column in (y_pred, lower, upper) if column is not None), None)
        try:
            intervals = Intervals.from_bounds(known, y_pred, lower, upper, min_band=min_band)
        except checks.Refusal as error:
            raise _with_number(error, y_pred, lower, upper) from None
        new = self.apply(intervals, groups=groups)
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
        alpha, confidence = self._per_tail()
        rank = (
            conformal_rank(rows, alpha, confidence) if self.conformal else rank_leaving(rows, alpha)
        )
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
        return write(self._settings(), self._keys, self.calibrations_)

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
        usual: Any = type(self).__init__.__kwdefaults__
        words = [
            f"{name}={value!r}" for name, value in self._settings().items() if value != usual[name]
        ]
        state = "not fitted"
        if self._learnt:
            groups = [one for label, one in self._learnt.items() if label is not None]
            found = groups or [*self._learnt.values()]
            moves = [move for one in found for move in (one.lower, one.upper)]
            state = (
                f"{moves[0]:.4g}"
                if self.tails == "joint"
                else f"{moves[0]:.4g} below and {moves[1]:.4g} above"
            )
            if groups:
                state = f"{min(moves):.4g} to {max(moves):.4g} in {len(groups)} groups"
            state = f"{self.vary} {state} from {sum(one.rows for one in found)} rows"
        return f"IntervalCalibrator({', '.join(words)}; {state})"

    def _outlook(
        self, intervals: Intervals, groups: Labels | None, block: int | npt.ArrayLike
    ) -> Outlook:
        """Return what blocks of the calibration rows say."""
        factor = None
        if groups is None and self.tails == "joint":
            factor = Factor(self.vary, self._single().upper, self._alpha)
        return outlook_of(
            CalibrationRows(intervals, groups, Blocks.of(intervals, block)),
            self.apply(intervals, groups=groups),
            type(self)(**self._settings()),
            target=self.coverage,
            factor=factor,
        )

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SETTINGS}

    def _per_tail(self) -> tuple[Fraction, float | None]:
        """Return the miss rate and the confidence of each tail; half of what may go wrong where there are two."""
        if self.tails == "joint":
            return self._alpha, self.confidence
        return self._alpha / 2, None if self.confidence is None else (1 + self.confidence) / 2

    def _single(self) -> Calibration:
        if [*self.calibrations_] != [None]:
            seen = checks.shown([*self._learnt])
            raise ValueError(
                f"there is one calibration per group: {seen}. Hint: pass `groups`, see calibrations_."
            )
        return self._learnt[None]

    def _learn(self, intervals: Intervals) -> Calibration:
        """Find the scale (or shift) of both bands together, or of each by the errors on its side."""
        if self.conformal and intervals.y_true.ndim == 2:
            raise ValueError(
                "`conformal` counts exchangeable rows, and the outputs of one row are not. "
                "Hint: calibrate each output by itself, or pass conformal=False."
            )
        parts = [intervals]
        if self.tails == "separate":
            if intervals.side != "both":
                raise ValueError(
                    f'`tails="separate"` needs two bounds; these intervals have a single {intervals.side} one. '
                    "Hint: leave it out."
                )
            y, p, weight = intervals.y_true, intervals.y_pred, intervals._weight
            below = Intervals.from_bands(np.minimum(y, p), p, intervals.lower_band, weight=weight)
            parts = [
                below,
                Intervals.from_bands(np.maximum(y, p), p, intervals.upper_band, weight=weight),
            ]
        miss_rate, confidence = self._per_tail()
        curves = [UCC(part, vary=self.vary) for part in parts]
        points = [
            c.find(miss_rate=miss_rate, conformal=self.conformal, confidence=confidence)
            for c in curves
        ]
        moves = getattr(points[0], self.vary), getattr(points[-1], self.vary)
        both = (
            points[0]
            if self.tails == "joint"
            else UCC(intervals._moved(**{self.vary: moves})).at(1.0)
        )
        return Calibration(len(intervals), *moves, both.miss_rate)

    def _moves(self, groups: Labels | None, intervals: Intervals) -> tuple[Any, Any]:
        """Return the scale (or shift) of the lower and of the upper bands: for all rows, or for each."""
        if groups is None:
            one = self._single()
            return one.lower, one.upper
        learnt = self.calibrations_
        if [*learnt] == [None]:
            raise ValueError(
                "`groups` were not given to fit. Hint: fit with groups, or leave them out here."
            )
        keys, parts = grouped(groups, len(intervals))
        if keys != self._keys:
            raise ValueError(f"`groups` must have the keys that fit had: {self._keys}; got {keys}.")
        unseen = [label for label in parts if label not in learnt]
        if unseen and None not in learnt:
            raise checks.Refusal(
                f"`groups` must have been seen at fit: {len(unseen)} of {len(parts)} were not, first {unseen[0]!r}. "
                f"Seen: {checks.shown([*learnt])}.",
                checks.Hint("{fallback} uses all rows for them", {"fallback": "pooled"}),
            )
        lower, upper = np.empty((2, len(intervals), *[1] * (intervals.y_true.ndim - 1)))
        for label, rows in parts.items():
            one = learnt.get(label) or learnt[None]
            lower[rows], upper[rows] = one.lower, one.upper
        return lower, upper


def _with_number(error: checks.Refusal, y_pred: Any, lower: Any, upper: Any) -> checks.Refusal:
    """Return a refusal that names the minimum band as a number, where it asks for one."""
    if "min_band" not in error.hint.arguments:
        return error
    ends = [np.asarray(end, np.float64) for end in (lower, upper) if end is not None]
    first = np.asarray(y_pred, np.float64) if len(ends) == 1 else ends[0]
    half_width = float(np.mean(np.abs(ends[-1] - first))) / len(ends)
    share = checks.floor(error.hint.arguments["min_band"], half_width)
    text = "give {min_band} (5% of the mean half-width here) to the calibration rows and to these"
    return checks.Refusal(error.what, checks.Hint(text, {"min_band": float(f"{share:.3g}")}))
