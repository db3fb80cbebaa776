"""Calibrate: learn on held-out rows which scale or shift to ship, then apply it to new intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from uccurve import _checks as checks
from uccurve._checks import HEADLINE, Array, Axes, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import OperatingPoint

from ._saved import read, write

Label = str | int
"""What names a group."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What one group (or all rows) taught: the operating point to ship, and from how many rows."""

    rows: int
    point: OperatingPoint


class IntervalCalibrator:
    """Learn the scale or shift that brings intervals to a target, on rows the model has not seen.

    Give exactly one target.

    Parameters
    ----------
    miss_rate : float, optional
        Share of new observations that may lie outside.
    bandwidth : float, optional
        Half the mean width, in units of ``y_true``.
    cost : float, optional
        The c of ``c * x + (1 - c) * y`` on `axes`; the scale of least cost is taken.
    axes : tuple of two metrics
        For `cost` only.
    conformal : bool
        For `miss_rate` only: reach it for new rows, with a guarantee, rather than for the calibration rows.
    vary : {"scale", "shift"}
        Multiply both bands by a factor, or add an amount to both.

    Attributes
    ----------
    calibrations_ : mapping from group to `Calibration`
        After `fit`; without groups its one key is None.

    Notes
    -----
    **The guarantee.** With ``conformal=True``, for a new row exchangeable with the n calibration rows (independent
    draws of one distribution are) and intervals that come from a model which saw neither,

        P(new observation outside its calibrated interval) <= miss_rate,

    for any distribution, any model and any n that is accepted, on average over calibration sets; one calibration set
    may do better or worse. The scale is the critical scale of rank ceil((n + 1)(1 - miss_rate)): split conformal
    prediction with normalised residuals, and with ``vary="shift"`` conformalised quantile regression. Where no
    critical scales tie, the probability is also at least ``miss_rate - 1 / (n + 1)``. With groups (Mondrian
    conformal prediction) it holds within every group. It does not hold under drift, for one given value of the
    features, or with ``conformal=False``, which at n = 20 and a target of 5 % misses 9.5 %.

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic Learning in a Random World.
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-Free Predictive Inference for Regression.
    Romano, Patterson and Candès (2019), Conformalized Quantile Regression.

    Examples
    --------
    >>> held_out = Intervals.from_bands([1, 2, 3, 8], y_pred=[0, 0, 0, 0], lower_band=[1, 1, 2, 2])
    >>> calibrator = IntervalCalibrator(miss_rate=0.2).fit(held_out)
    >>> calibrator
    IntervalCalibrator(miss_rate=0.2, vary='scale', conformal=True; scale 4 from 4 rows)
    >>> lower, upper = calibrator.apply_bounds(y_pred=[10.0], lower=[9.0], upper=[12.0])
    >>> lower.tolist(), upper.tolist()
    ([6.0], [18.0])
    """

    __slots__ = ("_calibrations", "axes", "bandwidth", "conformal", "cost", "miss_rate", "vary")

    def __init__(
        self,
        *,
        miss_rate: float | None = None,
        bandwidth: float | None = None,
        cost: float | None = None,
        axes: Axes = HEADLINE,
        conformal: bool = True,
        vary: Vary = "scale",
    ) -> None:
        target = checks.only("target", miss_rate=miss_rate, bandwidth=bandwidth, cost=cost)
        if target is None:
            raise ValueError("give one target to calibrate for: miss_rate=, bandwidth= or cost=.")
        checks.real(target[0], target[1], 0, np.inf if target[0] == "bandwidth" else 1)
        checks.choice("vary", vary, ("scale", "shift"))
        if not isinstance(conformal, bool):
            raise TypeError(f"`conformal` must be True or False; got {conformal!r}.")
        self.miss_rate, self.bandwidth, self.cost = (
            None if v is None else float(v) for v in (miss_rate, bandwidth, cost)
        )
        self.axes, self.conformal, self.vary = checks.axes(axes), conformal, vary
        self._calibrations: dict[Label | None, Calibration] | None = None

    @property
    def calibrations_(self) -> Mapping[Label | None, Calibration]:
        """What `fit` found, by group; without groups the one key is None."""
        if self._calibrations is None:
            raise ValueError("this IntervalCalibrator is not fitted. Hint: call fit(intervals) on held-out rows first.")
        return MappingProxyType(self._calibrations)

    @property
    def scale_(self) -> float:
        """The factor for both bands, where there is one for all rows."""
        return self._single().point.scale

    @property
    def shift_(self) -> float:
        """The amount to add to both bands, where there is one for all rows."""
        return self._single().point.shift

    def fit(self, intervals: Intervals, *, groups: npt.ArrayLike | None = None) -> Self:
        """Learn from held-out `intervals`, optionally for each group by itself; returns the calibrator. O(n log n).

        Parameters
        ----------
        intervals : Intervals
            Of rows on which the model was not trained.
        groups : array_like of str or int, optional
            One label a row, known for new rows too (a region, a horizon). Each group gets a calibration of its own.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2, 3, 8], y_pred=[0, 0, 0, 0], lower_band=[1, 1, 1, 1])
        >>> by_site = IntervalCalibrator(miss_rate=0.5).fit(iv, groups=["a", "a", "b", "b"])
        >>> {site: found.point.scale for site, found in by_site.calibrations_.items()}
        {'a': 2.0, 'b': 8.0}
        """
        if not isinstance(intervals, Intervals):
            raise TypeError(
                f"`intervals` must be Intervals; got {type(intervals).__name__}. Hint: see Intervals.from_bounds."
            )
        if groups is None:
            self._calibrations = {None: self._learn(intervals)}
            return self
        found: dict[Label | None, Calibration] = {}
        refused: list[str] = []
        places = _places(groups, len(intervals))
        for label, rows in places.items():
            try:
                found[label] = self._learn(intervals[rows])
            except ValueError as error:
                refused.append(f"{label!r} ({len(rows)} row{'s' if len(rows) > 1 else ''}): {error}")
        if refused:
            raise ValueError(f"{len(refused)} of {len(places)} groups cannot be calibrated, first {refused[0]}")
        self._calibrations = found
        return self

    def apply(self, intervals: Intervals, *, groups: npt.ArrayLike | None = None) -> Intervals:
        """Return `intervals` with calibrated bands. O(n).

        Examples
        --------
        >>> held_out = Intervals.from_bands([1, 2, 3], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> IntervalCalibrator(bandwidth=5).fit(held_out).apply(held_out)
        Intervals(3 rows, miss_rate 0, bandwidth 5)
        """
        calibrations = self.calibrations_
        if groups is None or None in calibrations:
            if groups is not None:
                raise ValueError("`groups` were not given to fit. Hint: fit with groups, or leave them out here.")
            point = self._single().point
            return intervals.calibrated(scale=point.scale, shift=point.shift)
        places = _places(groups, len(intervals))
        unseen = [label for label in places if label not in calibrations]
        if unseen:
            raise ValueError(
                f"`groups` must have been seen at fit: {len(unseen)} of {len(places)} were not, first {unseen[0]!r}. "
                f"Seen: {_listed(calibrations)}."
            )
        parts = []
        for label, rows in places.items():
            point = calibrations[label].point
            parts.append((rows, intervals[rows].calibrated(scale=point.scale, shift=point.shift)))
        return _joined(intervals, parts)

    def apply_bounds(
        self,
        y_pred: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        *,
        groups: npt.ArrayLike | None = None,
        min_band: float | None = None,
    ) -> tuple[Array, Array]:
        """Return calibrated ``(lower, upper)`` of new rows, whose observations nobody knows yet. O(n).

        Parameters
        ----------
        y_pred, lower, upper : array_like
            As for `Intervals.from_bounds`.
        groups : array_like, optional
            Needed if and only if `fit` had them.
        min_band : float, optional
            As for `Intervals.from_bounds`, the number that the calibration rows had. A percentage is refused: it would
            depend on which new rows come together.

        Examples
        --------
        >>> held_out = Intervals.from_bands([1, 2, 3], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> by_shift = IntervalCalibrator(miss_rate=0.25, vary="shift").fit(held_out)
        >>> [bound.tolist() for bound in by_shift.apply_bounds([5.0, 7.0], [4.0, 7.0], [6.0, 7.5])]
        [[2.0, 5.0], [8.0, 9.5]]
        """
        if isinstance(min_band, str):
            raise ValueError(f"`min_band` must be a number in units of y_true here; got {min_band!r}.")
        new = self.apply(Intervals.from_bounds(y_pred, y_pred, lower, upper, min_band=min_band), groups=groups)
        return new.lower, new.upper

    def to_json(self) -> str:
        """Write the fitted calibration as JSON, every number exactly.

        Examples
        --------
        >>> held_out = Intervals.from_bands([1, 2, 3], y_pred=[0, 0, 0], lower_band=[1, 1, 1])
        >>> text = IntervalCalibrator(miss_rate=0.25).fit(held_out).to_json()
        >>> IntervalCalibrator.from_json(text).scale_
        3.0
        """
        found = [(label, one.rows, one.point) for label, one in self.calibrations_.items()]
        return write({"axes": self.axes, "conformal": self.conformal, "vary": self.vary, **self._target()}, found)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote; anything else is refused. Nothing in the text is ever run."""
        settings, found = read(text)
        try:
            self = cls(**settings)
        except (TypeError, ValueError) as error:
            raise ValueError(f"`text` must be a calibration written by to_json: {error}") from None
        self._calibrations = {label: Calibration(rows, point) for label, rows, point in found}
        return self

    def __repr__(self) -> str:
        ((name, value),) = self._target().items()
        words = [f"{name}={value:g}", f"vary={self.vary!r}"]
        if name == "miss_rate":
            words.append(f"conformal={self.conformal}")
        elif name == "cost":
            words.append(f"axes={self.axes!r}")
        return f"IntervalCalibrator({', '.join(words)}; {self._state()})"

    def _state(self) -> str:
        if self._calibrations is None:
            return "not fitted"
        rows = sum(one.rows for one in self._calibrations.values())
        values = [getattr(one.point, self.vary) for one in self._calibrations.values()]
        if None in self._calibrations:
            return f"{self.vary} {values[0]:.4g} from {rows} rows"
        return f"{self.vary} {min(values):.4g} to {max(values):.4g} in {len(values)} groups from {rows} rows"

    def _target(self) -> dict[str, float]:
        given = {"miss_rate": self.miss_rate, "bandwidth": self.bandwidth, "cost": self.cost}
        return {name: value for name, value in given.items() if value is not None}

    def _single(self) -> Calibration:
        calibrations = self.calibrations_
        if None not in calibrations:
            raise ValueError(
                f"there is one calibration a group ({_listed(calibrations)}). Hint: pass `groups`, see calibrations_."
            )
        return calibrations[None]

    def _learn(self, intervals: Intervals) -> Calibration:
        if intervals._weight is not None and not intervals._weight.any():
            raise ValueError("`weight` must not be zero in every row.")
        curve = UCC(intervals, vary=self.vary)
        if self.cost is not None:
            point = curve.cheapest(self.cost, axes=self.axes)
        elif self.bandwidth is not None:
            point = curve.find(bandwidth=self.bandwidth)
        else:
            if self.conformal and intervals.y_true.ndim == 2:
                raise ValueError(
                    "`conformal` counts exchangeable rows, and the outputs of one row are not. "
                    "Hint: calibrate each output by itself, or pass conformal=False."
                )
            point = curve.find(miss_rate=self.miss_rate, conformal=self.conformal)
        return Calibration(len(intervals), point)


def _places(groups: npt.ArrayLike, n: int) -> dict[Label, npt.NDArray[np.intp]]:
    """Row numbers of each group, groups in order of appearance."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"`groups` must have one label a row: {labels.shape} against ({n},).")
    if labels.dtype.kind not in "OUTiub":
        raise TypeError(
            f"`groups` must hold str or int labels; it holds {labels.dtype.name}. Hint: convert it to str first."
        )
    places: dict[Any, list[int]] = {}
    for row, label in enumerate(labels.tolist()):
        if not isinstance(label, (str, int)):
            raise TypeError(
                f"`groups` must hold str or int labels; row {row} holds {label!r}. Hint: name the rows without a group."
            )
        places.setdefault(label, []).append(row)
    return {label: np.array(rows) for label, rows in places.items()}


def _listed(labels: Mapping[Label | None, Any], most: int = 10) -> str:
    names = [repr(label) for label in labels]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _joined(whole: Intervals, parts: list[tuple[npt.NDArray[np.intp], Intervals]]) -> Intervals:
    """Put the parts back where they were taken from."""
    moved = {name: getattr(whole, name).copy() for name in ("lower", "upper", "lower_band", "upper_band")}
    for rows, part in parts:
        for name, array in moved.items():
            array[rows] = getattr(part, name)
    kept = {"y_true": whole.y_true, "y_pred": whole.y_pred}
    return Intervals._of(whole._weight, whole.raised, whole.dropped, **kept, **moved)
