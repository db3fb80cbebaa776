"""Intervals: the only door for data. Behind it shape, sign, order and NaN are settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from . import checks
from .checks import Array

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Missing = Literal["raise", "drop"]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Intervals:
    """Observations with their predictions and prediction intervals, checked once and frozen.

    Build it with one of the ``from_`` methods. Input of any kind (arrays, lists, pandas, Polars) is taken
    by position: a pandas index is never used for alignment. Two-dimensional data are several outputs.

    Attributes
    ----------
    y_true, y_pred, lower, upper : read-only arrays of float64
        As given, in the shape given.
    lower_band, upper_band : read-only arrays
        Distances from ``y_pred`` to the bounds, never negative.
    raised : int
        How many bands ``min_band`` raised.
    dropped : int
        How many rows ``missing="drop"`` left out.

    Examples
    --------
    >>> iv = Intervals.from_bounds([1, 2, 9], y_pred=[1, 3, 5], lower=[0, 1, 3], upper=[3, 4, 7])
    >>> iv
    Intervals(3 rows, miss_rate 0.3333, bandwidth 1.667)
    >>> iv.lower_band.tolist()
    [1.0, 2.0, 2.0]
    """

    y_true: Array
    y_pred: Array
    lower: Array
    upper: Array
    lower_band: Array
    upper_band: Array
    raised: int
    dropped: int
    _weight: Array | None

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("build Intervals with Intervals.from_bounds, from_bands, from_std, from_samples or from_frame.")

    @classmethod
    def _of(cls, weight: Array | None, raised: int, dropped: int, **arrays: Array) -> Self:
        self = object.__new__(cls)
        for name, array in (*arrays.items(), ("_weight", weight)):
            if array is not None and array.flags.writeable:
                array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "raised", raised)
        object.__setattr__(self, "dropped", dropped)
        return self

    @classmethod
    def from_bounds(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        *,
        weight: npt.ArrayLike | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
    ) -> Self:
        """Intervals from their bounds, in units of `y_true`.

        Parameters
        ----------
        y_true, y_pred, lower, upper : array_like
            Observed, predicted, and the two bounds; all of one shape, matched by position.
        weight : array_like, optional
            One weight a row, not negative; they are divided by their sum.
        min_band : float or str, optional
            Raise every smaller or negative band to this: a number in units of `y_true`, or a percentage of
            the mean half-width such as ``"5%"``. Without it a `y_pred` outside its interval is refused.
        missing : {"raise", "drop"}
            Refuse rows with NaN or infinity, or drop them with a `DroppedRowsWarning`.

        Examples
        --------
        >>> iv = Intervals.from_bounds([1, 2], y_pred=[1, 5], lower=[0, 1], upper=[2, 4], min_band=0.5)
        >>> iv.upper_band.tolist(), iv.upper.tolist(), iv.raised
        ([1.0, 0.5], [2.0, 5.5], 1)
        """
        columns = {"y_true": y_true, "y_pred": y_pred, "lower": lower, "upper": upper}
        (y, p, lo, up), w, dropped = checks.table(columns, weight, missing)
        checks.ascending(lo, up)
        with np.errstate(over="ignore"):
            below, above = p - lo, up - p
            checks.finite_differences(y - p, below, above)
        if min_band is None:
            checks.contained(p, lo, up, (below < 0) | (above < 0))
            return cls._of(w, 0, dropped, y_true=y, y_pred=p, lower=lo, upper=up, lower_band=below, upper_band=above)
        least = checks.floor(min_band, _mean_half_width(below, above, w))
        low, high = below < least, above < least
        below[low], above[high] = least, least
        lo[low], up[high] = p[low] - least, p[high] + least
        _follow_bands(y, p, (lo, up), (below, above), (low, high))
        raised = int(low.sum() + high.sum())
        return cls._of(w, raised, dropped, y_true=y, y_pred=p, lower=lo, upper=up, lower_band=below, upper_band=above)

    @classmethod
    def from_bands(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        lower_band: npt.ArrayLike,
        upper_band: npt.ArrayLike | None = None,
        *,
        weight: npt.ArrayLike | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
    ) -> Self:
        """Intervals from the distances between `y_pred` and the bounds; one array makes symmetric bands.

        Examples
        --------
        >>> Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2], upper_band=[3, 4]).upper.tolist()
        [4.0, 9.0]
        """
        columns = {"y_true": y_true, "y_pred": y_pred, "lower_band": lower_band}
        if upper_band is not None:
            columns["upper_band"] = upper_band
        (y, p, *bands), w, dropped = checks.table(columns, weight, missing)
        raised = 0
        if min_band is not None:
            least = checks.floor(min_band, _mean_half_width(bands[0], bands[-1], w))
            for band in bands:
                raised += int((band < least).sum()) * (3 - len(bands))
                np.maximum(band, least, out=band)
        for name, band in zip(("lower_band", "upper_band"), bands, strict=False):
            rule = checks.Rule(name, "not be negative", ("is", "are"), checks.FLOOR_HINT)
            checks.rows(band < 0, rule, band.__getitem__)
        return cls._from_checked(y, p, bands[0], bands[-1], weight=w, raised=raised, dropped=dropped)

    @classmethod
    def _from_checked(
        cls, y: Array, p: Array, below: Array, above: Array, *, weight: Array | None, raised: int = 0, dropped: int = 0
    ) -> Self:
        with np.errstate(over="ignore"):
            lo, up = p - below, p + above
            checks.finite_differences(y - p, lo, up)
        _follow_bands(y, p, (lo, up), (below, above))
        return cls._of(
            weight, raised, dropped, y_true=y, y_pred=p, lower=lo, upper=up, lower_band=below, upper_band=above
        )

    @classmethod
    def from_std(
        cls,
        y_true: npt.ArrayLike,
        mean: npt.ArrayLike,
        std: npt.ArrayLike,
        *,
        weight: npt.ArrayLike | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
    ) -> Self:
        """Symmetric intervals of one predicted standard deviation around the predicted mean.

        Examples
        --------
        >>> Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2]).lower.tolist()
        [0.5, 3.0]
        """
        return cls.from_bands(y_true, mean, std, weight=weight, min_band=min_band, missing=missing)

    @classmethod
    def from_samples(
        cls,
        y_true: npt.ArrayLike,
        samples: npt.ArrayLike,
        *,
        level: float = 0.9,
        weight: npt.ArrayLike | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
    ) -> Self:
        """Central intervals of draws from a predictive distribution, around their median.

        Parameters
        ----------
        samples : array_like
            Draws on the first axis, then the shape of `y_true`.
        level : float
            Probability between the two quantiles.

        Examples
        --------
        >>> iv = Intervals.from_samples([1.0], [[0.0], [1.0], [2.0], [3.0], [4.0]], level=0.5)
        >>> iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()
        ([2.0], [1.0], [3.0])
        """
        level = checks.real("level", level, 0, 1)
        draws, observed = np.asarray(samples), np.asarray(y_true)
        if draws.ndim < 2 or draws.shape[1:] != observed.shape or not len(draws):
            raise ValueError(
                f"`samples` must have draws on the first axis, then the shape of `y_true`: "
                f"{draws.shape} against (draws, {', '.join(map(str, observed.shape))})."
            )
        flat = checks.numbers("samples", draws.reshape(len(draws), -1))
        quantiles = np.quantile(flat, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
        lower, middle, upper = (q.reshape(observed.shape) for q in quantiles)
        return cls.from_bounds(y_true, middle, lower, upper, weight=weight, min_band=min_band, missing=missing)

    @classmethod
    def from_frame(
        cls,
        frame: IntoFrame,
        *,
        y_true: str = "y_true",
        y_pred: str = "y_pred",
        lower: str = "lower",
        upper: str = "upper",
        weight: str | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
    ) -> Self:
        """Intervals from the named columns of any data frame that narwhals knows; lazy ones are collected.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"y": [1, 2], "yhat": [1, 5], "lo": [0, 3], "hi": [2, 6]})
        >>> Intervals.from_frame(frame, y_true="y", y_pred="yhat", lower="lo", upper="hi")
        Intervals(2 rows, miss_rate 0.5, bandwidth 1.25)
        """
        from .frames import columns

        names = {"y_true": y_true, "y_pred": y_pred, "lower": lower, "upper": upper, "weight": weight}
        data = columns(frame, {role: name for role, name in names.items() if name is not None})
        return cls.from_bounds(**data, min_band=min_band, missing=missing)

    def __len__(self) -> int:
        return len(self.y_true)

    def __getitem__(self, rows: slice | Flags | npt.NDArray[np.intp]) -> Self:
        """Some of the rows, by a slice, a mask or their numbers."""
        names = ("y_true", "y_pred", "lower", "upper", "lower_band")
        arrays = {name: getattr(self, name)[rows] for name in names}
        arrays["upper_band"] = arrays["lower_band"] if self.symmetric else self.upper_band[rows]
        return self._of(None if self._weight is None else self._weight[rows], self.raised, self.dropped, **arrays)

    @property
    def symmetric(self) -> bool:
        """Whether both bands are one array; equal bounds given apart may differ in their last digits."""
        return self.lower_band is self.upper_band

    @property
    def weight(self) -> Array:
        """Weight of each row; they sum to 1."""
        if self._weight is None:
            return np.broadcast_to(1.0 / self.y_true.size, self.y_true.shape)
        weight: Array = self._weight / self._weight.sum()
        weight.setflags(write=False)
        return weight

    def constant(self) -> Self:
        """Return the reference: same observations and predictions, equal bands as wide as these are on average.

        Examples
        --------
        >>> Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2], upper_band=[3, 4]).constant().lower_band
        array([2.5, 2.5])
        """
        width = _mean_half_width(self.lower_band, self.upper_band, self._weight) or 1.0
        band = np.broadcast_to(width, self.y_true.shape)
        return self._from_checked(self.y_true, self.y_pred, band, band, weight=self._weight)

    def calibrated(self, *, scale: float = 1.0, shift: float = 0.0) -> Self:
        """Intervals with both bands multiplied by `scale`, then widened by `shift`, at least 0.

        An observation that the scale or shift covers by its rank lies within the bounds that come out,
        whatever rounding did to the product.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2])
        >>> iv.calibrated(scale=2, shift=-3).lower_band.tolist()
        [0.0, 1.0]
        """
        scale, shift = checks.real("scale", scale, 0), checks.real("shift", shift)
        if scale == 1 and shift == 0:
            return self
        below, above = (self._moved(side, scale, shift) for side in (-1, 1))
        symmetric = self.symmetric and np.array_equal(below, above)
        return self._from_checked(
            *(self.y_true, self.y_pred, below, below if symmetric else above),
            weight=self._weight,
            raised=self.raised,
            dropped=self.dropped,
        )

    def _moved(self, side: int, scale: float, shift: float) -> Array:
        """Bands of one side after calibration; those at an observation cover it if and only if its rank says so."""
        band = self.upper_band if side > 0 else self.lower_band
        moved = np.maximum(scale * band + shift, 0)
        error = side * (self.y_true - self.y_pred)
        with np.errstate(divide="ignore", invalid="ignore"):
            covered = error - scale * band <= shift if shift else ~(error / band > scale)
        active = error > 0
        moved[active & covered] = np.maximum(moved, error)[active & covered]
        missed = active & ~covered
        moved[missed] = np.minimum(moved, np.nextafter(error, 0))[missed]
        return moved

    def sides(self) -> tuple[Array, Flags | None, Array, Array]:
        """Return |error|, whether it lies above the prediction (None: symmetric bands), and both bands, flattened."""
        error = (self.y_true - self.y_pred).ravel()
        lower, upper = self.lower_band.ravel(), self.upper_band.ravel()
        above = None if self.symmetric else error >= 0
        return np.abs(error, out=error), above, lower, upper if above is not None else lower

    def __repr__(self) -> str:
        outside = (self.y_true < self.lower) | (self.y_true > self.upper)
        miss_rate = np.average(outside, weights=self._weight)
        half_width = _mean_half_width(self.lower_band, self.upper_band, self._weight)
        rows = f"{len(self)} row{'s' if len(self) > 1 else ''}"
        if self.y_true.ndim == 2:
            rows += f" x {self.y_true.shape[1]} outputs"
        notes = [f"{self.raised} bands raised"] * bool(self.raised) + [f"{self.dropped} rows dropped"] * bool(
            self.dropped
        )
        return (
            ", ".join([f"Intervals({rows}", f"miss_rate {miss_rate:.4g}", f"bandwidth {half_width:.4g}", *notes]) + ")"
        )


def _follow_bands(
    y: Array,
    p: Array,
    bounds: tuple[Array, Array],
    bands: tuple[Array, Array],
    rows: tuple[Flags, Flags] | None = None,
) -> None:
    """Move a bound by one step of float64 where rounding left an observation on another side of it than of its band."""
    for side, bound, band, some in zip((-1, 1), bounds, bands, rows or (True, True), strict=True):
        error = side * (y - p)
        covered = error <= band
        wrong = np.nonzero((error > 0) & (covered != (side * y <= side * bound)) & some)
        bound[wrong] = np.where(covered, y, np.nextafter(y, -side * np.inf))[wrong]


def _mean_half_width(below: Array, above: Array, weight: Array | None) -> float:
    """Mean of (below + above) / 2, formed so that huge bands do not overflow."""
    half = below / 2 + above / 2
    return float(np.mean(half) if weight is None else np.sum(half * (weight / weight.sum())))
