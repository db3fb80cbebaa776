"""Following: a factor that moves with the misses, by experts of several speeds (adaptive conformal inference)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._paths import ScalePath
from uccurve._saved import (
    NUMBER,
    SHARE,
    WHOLE,
    Growing,
    Kind,
    exactly,
    list_of,
    sealed,
    unsealed,
    version,
)
from uccurve._vocabulary import Array
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from . import Calibration, IntervalCalibrator

RATES = np.array(
    [0.02, 0.05, 0.1, 0.2, 0.4, 0.8]
)  # by how much each expert moves, the slowest first
FORGETTING = 0.97  # share of an earlier day's loss that is left a day later
SHARPNESS = 5.0  # how much the better expert counts
FURTHEST = 50.0  # logarithm of the largest factor
KIND = "uccurve.FollowingCalibrator"
SCHEMA = 1


def _are_experts(value: Any) -> bool:
    numbers = list_of(NUMBER, "numbers")
    return numbers.holds(value) and len(value) == len(RATES)


EXPERTS = Kind(f"a list of {len(RATES)} finite numbers", _are_experts)
SHAPE = Growing(
    {
        "kind": exactly(KIND),
        "schema": version(SCHEMA),
        "coverage": Kind(
            "a number between 0 and 1", lambda value: NUMBER.holds(value) and 0 < value < 1
        ),
        "days": Kind("an integer of at least 0", lambda value: type(value) is int and value >= 0),
        "logs": EXPERTS,
        "losses": EXPERTS,
        "rows": WHOLE,
        "miss_rate": SHARE,
    }
)


class FollowingCalibrator:
    """Follow the factor on the bands that keeps a coverage, day after day, however errors drift.

    Six experts move the logarithm of their factor by their own misses, from slowly to fast; they are weighted by how
    they have done lately. Nobody has to choose between a fixed factor and one that is refitted on the last weeks.

    Parameters
    ----------
    coverage : float
        The share of new observations that should lie inside.

    Notes
    -----
    After a day with critical scales k an expert of rate g whose share of misses was m moves its log factor c by
    ``g (m - alpha) / (4 alpha)``. Its loss is ``alpha exp(c) + mean(max(0, k - exp(c)))``, the pinball loss of the
    scales, relative to the experts' mean and forgotten by .97 per day. Weights are ``exp(-5 (loss - smallest))``.

    References
    ----------
    Gibbs and Candès (2021), Adaptive Conformal Inference Under Distribution Shift.

    Examples
    --------
    >>> follow = FollowingCalibrator(coverage=0.75)
    >>> rows = Intervals.from_bands([1.0, -2.0, 0.5, 3.0], [0.0] * 4, [1.0] * 4)
    >>> round(follow.update(rows), 6)
    3.0
    >>> lower, upper = follow.apply(y_pred=[10.0], lower=[9.0], upper=[11.0])
    >>> lower.tolist(), upper.tolist()
    ([7.0], [13.0])
    """

    __slots__ = ("_alpha", "_coverage", "_days", "_logs", "_losses", "_miss_rate", "_rows")

    def __init__(self, *, coverage: float) -> None:
        self._alpha = float(checks.miss_rate_of(coverage))
        self._coverage = float(coverage)
        self._days = 0
        self._logs = np.zeros(len(RATES))
        self._losses = np.zeros(len(RATES))
        self._rows = 0
        self._miss_rate = 0.0

    @property
    def coverage(self) -> float:
        """The share of new observations that should lie inside."""
        return self._coverage

    @property
    def days(self) -> int:
        """Number of days that were followed."""
        return self._days

    @property
    def factor(self) -> float:
        """Factor on the bands of the next day."""
        weights = np.exp(-SHARPNESS * (self._losses - self._losses.min()))
        return float(np.exp(np.average(self._logs, weights=weights)))

    def fit(self, intervals: Intervals) -> Self:
        """Start from the conformal factor of a reference period; without it, from that of the first day."""
        start = UCC(intervals).find(coverage=self.coverage, conformal=True)
        self._logs = np.full(len(RATES), np.log(max(start.scale, np.exp(-FURTHEST))))
        self._losses = np.zeros(len(RATES))
        self._days = 1
        self._rows = len(intervals)
        self._miss_rate = start.miss_rate
        return self

    def update(self, intervals: Intervals) -> float:
        """Learn from the rows of one day, with their outcomes; returns the factor of the next day.

        Parameters
        ----------
        intervals : Intervals
            Of the model itself, before any factor.
        """
        if not intervals.has_prediction:
            raise ValueError(
                "a factor follows bands, and a bound without a prediction has none: only a shift can move it. "
                "Hint: pass intervals with y_pred."
            )
        path = ScalePath.of(intervals)
        if not self._days:
            self._start(path.critical)
        shipped = self.factor
        if self._days:
            self._move(path)
        self._days += 1
        self._rows = len(intervals)
        self._miss_rate = path.mean(path.critical > shipped)
        return self.factor

    def apply(
        self, y_pred: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike
    ) -> tuple[Array, Array]:
        """Return calibrated ``(lower, upper)`` of new rows, whose observations nobody knows yet."""
        rows = Intervals.from_bounds(y_pred, y_pred, lower, upper)
        calibrated = rows.calibrated(scale=self.factor)
        return calibrated.lower, calibrated.upper

    def calibrator(self) -> IntervalCalibrator:
        """Return a calibration of today's factor, such as `uccurve apply` takes; its rows are those of the last day.

        Examples
        --------
        >>> follow = FollowingCalibrator(coverage=0.75)
        >>> factor = follow.update(
        ...     Intervals.from_bands([1.0, -2.0, 0.5, 3.0], [0.0] * 4, [1.0] * 4)
        ... )
        >>> follow.calibrator()
        IntervalCalibrator(coverage=0.75, conformal=False; scale 3 from 4 rows)
        """
        if not self._days:
            raise ValueError(
                "this FollowingCalibrator has followed no day. Hint: call update(intervals) first."
            )
        learnt = Calibration(self._rows, self.factor, self.factor, self._miss_rate)
        return IntervalCalibrator.of_calibration(learnt, coverage=self.coverage)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON has it."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "coverage": self.coverage,
            "days": self.days,
            "logs": self._logs.tolist(),
            "losses": self._losses.tolist(),
            "rows": self._rows,
            "miss_rate": self._miss_rate,
        }

    def copy(self) -> Self:
        """Return another one of the same state."""
        return self.from_dict(self.to_dict())

    def to_json(self) -> str:
        """Write the state.

        Examples
        --------
        >>> follow = FollowingCalibrator(coverage=0.9)
        >>> FollowingCalibrator.from_json(follow.to_json()).factor
        1.0
        """
        return sealed(self.to_dict())

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote; anything else is refused."""
        try:
            return cls.from_dict(unsealed(text, SHAPE))
        except ValueError as error:
            raise ValueError(
                f"`text` must be the state of a FollowingCalibrator: {error}."
            ) from None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Restore what `to_dict` returned and `SHAPE` has checked."""
        self = cls(coverage=data["coverage"])
        self._days = data["days"]
        self._logs = np.array(data["logs"], np.float64)
        self._losses = np.array(data["losses"], np.float64)
        self._rows = data["rows"]
        self._miss_rate = float(data["miss_rate"])
        return self

    def __repr__(self) -> str:
        days = checks.counted(self.days, "day")
        return f"FollowingCalibrator(coverage={self.coverage:g}; factor {self.factor:.4g} after {days})"

    def _start(self, critical: Array) -> None:
        """Start from the conformal factor of the first day, or from its largest scale where that needs more rows."""
        rank = int(np.ceil((len(critical) + 1) * (1 - self._alpha) - 1e-9))
        scales = np.sort(critical[np.isfinite(critical)])
        if len(scales):
            start = scales[min(rank, len(scales)) - 1]
            self._logs[:] = np.log(np.clip(start, np.exp(-FURTHEST), np.exp(FURTHEST)))

    def _move(self, path: ScalePath) -> None:
        """Move every expert by its own misses, and remember how it did."""
        losses = np.empty(len(RATES))
        for expert, log in enumerate(self._logs):
            factor = float(np.exp(log))
            missed = path.mean(path.critical > factor)
            losses[expert] = self._loss(path, factor)
            step = RATES[expert] * (missed - self._alpha) / (4 * self._alpha)
            self._logs[expert] = np.clip(log + step, -FURTHEST, FURTHEST)
        mean = losses.mean()
        if mean > 0:
            self._losses = FORGETTING * self._losses + losses / mean

    def _loss(self, path: ScalePath, factor: float) -> float:
        """Return the pinball loss of the scales; a row that no factor covers weighs on all experts alike."""
        finite = np.where(np.isfinite(path.critical), path.critical, 0)
        return self._alpha * factor + path.mean(np.maximum(finite - factor, 0))
