"""Intervals: the only door for data. Behind it shape, sign, order and NaN are settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from . import _refusals as checks
from ._arrays import Flags
from ._vocabulary import Array, Side

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Missing = Literal["raise", "drop"]
COLUMNS = ("y_true", "y_pred", "lower", "upper", "lower_band", "upper_band")
GIVEN = ("y_true", "y_pred", "lower_band", "upper_band")


class Options(TypedDict, total=False):
    """What every way to build `Intervals` from arrays takes."""

    weight: npt.ArrayLike | None
    min_band: float | str | None
    missing: Missing


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Intervals:
    """Observations with their predictions and prediction intervals, checked once and frozen.

    Build it with one of the ``from_`` methods. Input of any kind (arrays, lists, pandas, Polars) is taken
    by position: a pandas index is never used for alignment. Two-dimensional data are several outputs.

    Attributes
    ----------
    y_true, y_pred, lower, upper : read-only arrays of float64
        In the shape given; bounds whose band ``min_band`` raised are moved with it.
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
        raise TypeError(
            "build Intervals with Intervals.from_bounds, from_bands, from_std, from_samples or from_frame."
        )

    @classmethod
    def _of(cls, weight: Array | None, raised: int = 0, dropped: int = 0, **columns: Array) -> Self:
        """Intervals from checked columns, which are frozen; without an `upper_band` they are symmetric."""
        self = object.__new__(cls)
        for name, array in (
            {"upper_band": columns["lower_band"], "_weight": weight} | columns
        ).items():
            if array is not None:
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
            One weight per row, not negative; they are divided by their sum.
        min_band : float or str, optional
            Raise every smaller or negative band to this: a number in units of `y_true`, or a percentage of
            the mean half-width such as ``"5%"``. Without it a `y_pred` outside its interval is refused.
        missing : {"raise", "drop"}
            Refuse rows with NaN or infinity, or drop them with a `DroppedRowsWarning`.

        Examples
        --------
        >>> iv = Intervals.from_bounds(
        ...     [1, 2], y_pred=[1, 5], lower=[0, 1], upper=[2, 4], min_band=0.5
        ... )
        >>> iv.upper_band.tolist(), iv.upper.tolist(), iv.raised
        ([1.0, 0.5], [2.0, 5.5], 1)
        """
        columns = {"y_true": y_true, "y_pred": y_pred, "lower": lower, "upper": upper}
        (y, p, lo, up), w, dropped = arrays.columns(columns, weight, missing)
        arrays.ascending(lo, up)
        for name, column in zip(columns, (y, p, lo, up), strict=True):
            arrays.refuse_extreme(column, arrays.of_common_size(name))
        below, above = p - lo, up - p
        for name, band in (("lower", below), ("upper", above)):
            arrays.refuse_extreme(band, arrays.apart(name))
        raised = 0
        if min_band is None:
            outside = (below < 0) | (above < 0)
            checks.rows(
                outside, arrays.CONTAINED, lambda at: f"{p[at]!s} outside [{lo[at]!s}, {up[at]!s}]"
            )
        else:
            minimum = checks.floor(min_band, mean_half_width(below, above, w))
            for side, bound, band in ((-1, lo, below), (1, up, above)):
                small = band < minimum
                band[small] = minimum
                bound[small] = _bounds(side, y[small], p[small], band[small])
                arrays.kept_in_range("min_band", bound)
                raised += int(np.count_nonzero(small))
        return cls._of(
            w,
            raised,
            dropped,
            y_true=y,
            y_pred=p,
            lower=lo,
            upper=up,
            lower_band=below,
            upper_band=above,
        )

    @classmethod
    def from_bands(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        lower_band: npt.ArrayLike,
        upper_band: npt.ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> Self:
        """Intervals from the distances between `y_pred` and the bounds; one array makes symmetric bands.

        The options are those of `from_bounds`: weight, min_band, missing.

        Examples
        --------
        >>> Intervals.from_bands(
        ...     [1, 2], y_pred=[1, 5], lower_band=[1, 2], upper_band=[3, 4]
        ... ).upper.tolist()
        [4.0, 9.0]
        """
        columns = {"y_true": y_true, "y_pred": y_pred, "lower_band": lower_band}
        if upper_band is not None:
            columns["upper_band"] = upper_band
        return cls._from_columns(columns, **options)

    @classmethod
    def _from_columns(
        cls,
        columns: dict[str, Any],
        weight: Any = None,
        min_band: Any = None,
        missing: Missing = "raise",
    ) -> Self:
        """Intervals from observations, predictions and one or two bands, under the names their caller uses."""
        (y, p, below, *second), w, dropped = arrays.columns(columns, weight, missing)
        above, names, raised = second[0] if second else below, [*columns], 0
        if min_band is not None:
            minimum = checks.floor(min_band, mean_half_width(below, above, w))
            for band in (below, *second):
                raised += int(np.count_nonzero(band < minimum)) * (1 if second else 2)
                np.maximum(band, minimum, out=band)
        for name, band in zip(names[2:], (below, *second), strict=True):
            rule = checks.Rule(name, "not be negative", ("is", "are"), checks.FLOOR_HINT)
            checks.rows(band < 0, rule, band.__getitem__)
        names += [] if second else names[-1:]
        return cls._from_checked(
            y, p, below, above, names, weight=w, raised=raised, dropped=dropped
        )

    @classmethod
    def _from_checked(
        cls,
        y: Array,
        p: Array,
        below: Array,
        above: Array,
        names: Sequence[str] = GIVEN,
        **facts: Any,
    ) -> Self:
        """Intervals from bands that are not negative; `names` are the caller's for the four arrays."""
        for name, column in zip(names, (y, p, below, above), strict=True):
            arrays.refuse_extreme(column, arrays.of_common_size(name))
        lo, up = _bounds(-1, y, p, below), _bounds(1, y, p, above)
        return cls._of(
            **facts, y_true=y, y_pred=p, lower=lo, upper=up, lower_band=below, upper_band=above
        )

    @classmethod
    def from_std(
        cls,
        y_true: npt.ArrayLike,
        mean: npt.ArrayLike,
        std: npt.ArrayLike,
        **options: Unpack[Options],
    ) -> Self:
        """Symmetric intervals of one predicted standard deviation around the predicted mean.

        The options are those of `from_bounds`: weight, min_band, missing.

        Examples
        --------
        >>> Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2]).lower.tolist()
        [0.5, 3.0]
        """
        return cls._from_columns({"y_true": y_true, "mean": mean, "std": std}, **options)

    @classmethod
    def from_samples(
        cls,
        y_true: npt.ArrayLike,
        samples: npt.ArrayLike,
        *,
        level: float = 0.9,
        **options: Unpack[Options],
    ) -> Self:
        """Central intervals of draws from a predictive distribution, around their median.

        Parameters
        ----------
        samples : array_like
            Draws on the first axis, then the shape of `y_true`.
        level : float
            Probability between the two quantiles.
        **options
            Those of `from_bounds`: weight, min_band, missing.

        Examples
        --------
        >>> iv = Intervals.from_samples([1.0], [[0.0], [1.0], [2.0], [3.0], [4.0]], level=0.5)
        >>> iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()
        ([2.0], [1.0], [3.0])
        """
        level = checks.real("level", level, 0, 1)
        draws = arrays.first_axis("draws", samples, arrays.numbers("y_true", y_true).shape)
        points = [(1 - level) / 2, 0.5, (1 + level) / 2]
        lower, middle, upper = draw_quantiles(draws, points, options.get("missing"))
        return cls.from_bounds(y_true, middle, lower, upper, **options)

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
        """Intervals from the named columns of any data frame that narwhals supports; lazy ones are collected.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"y": [1, 2], "yhat": [1, 5], "lo": [0, 3], "hi": [2, 6]})
        >>> Intervals.from_frame(frame, y_true="y", y_pred="yhat", lower="lo", upper="hi")
        Intervals(2 rows, miss_rate 0.5, bandwidth 1.25)
        """
        from ._frames import columns

        names = {
            "y_true": y_true,
            "y_pred": y_pred,
            "lower": lower,
            "upper": upper,
            "weight": weight,
        }
        data = columns(frame, {role: name for role, name in names.items() if name is not None})
        return cls.from_bounds(**data, min_band=min_band, missing=missing)

    def __len__(self) -> int:
        return len(self.y_true)

    def __getitem__(self, rows: slice | Sequence[int] | Flags | npt.NDArray[np.integer]) -> Self:
        """Some of the rows, by a slice, a mask or their numbers; `raised` and `dropped` stay those of the whole."""
        chosen: Any = rows
        if not isinstance(rows, slice):
            chosen = np.asarray(rows, None if np.size(rows) else np.intp)
            if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
                what = "a slice, a mask or a list of row numbers"
                raise TypeError(f"rows are chosen by {what}; got {checks.shown(rows)}.")
        parts = {name: getattr(self, name)[chosen] for name in _columns(self)}
        if not len(parts["y_true"]):
            raise ValueError(
                f"at least one row must be chosen: {checks.shown(rows)} chooses none of {len(self)}."
            )
        weight = None if self._weight is None else self._weight[chosen]
        if weight is not None and not weight.any():
            raise ValueError("`weight` must not be zero in every row that is chosen.")
        return self._of(weight, self.raised, self.dropped, **parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are frozen too."""
        columns = {name: getattr(self, name) for name in _columns(self)}
        return partial(self._of, self._weight, self.raised, self.dropped, **columns), ()

    @property
    def side(self) -> Side:
        """Which bounds are judged."""
        return "both"

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

    def constant(self, *, symmetric: bool = True) -> Self:
        """Return the reference: same observations and predictions, equal bands as wide as these are on average.

        Not `symmetric`, the lower and the upper bands keep their own means.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2], upper_band=[3, 4])
        >>> iv.constant().lower_band, iv.constant(symmetric=False).lower_band
        (array([2.5, 2.5]), array([1.5, 1.5]))
        """
        both = checks.flag("symmetric", symmetric)
        sides = (
            ((self.lower_band, self.upper_band),)
            if both
            else ((self.lower_band,) * 2, (self.upper_band,) * 2)
        )
        widths = [mean_half_width(*side, self._weight) for side in sides]
        given = [
            np.broadcast_to(width if any(widths) else 1.0, self.y_true.shape) for width in widths
        ]
        return self._from_checked(
            self.y_true, self.y_pred, given[0], given[-1], weight=self._weight
        )

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
        return self._moved((scale, scale), (shift, shift))

    def _moved(
        self, scale: tuple[Any, Any] = (1.0, 1.0), shift: tuple[Any, Any] = (0.0, 0.0)
    ) -> Self:
        """Intervals with the lower and the upper bands moved by their own scale and shift, of all rows or of each."""
        below = _moved_bands(self, -1, self.lower_band, scale[0], shift[0])
        above = _moved_bands(self, 1, self.upper_band, scale[1], shift[1])
        above = below if self.symmetric and np.array_equal(below, above) else above
        facts: Any = {"weight": self._weight, "raised": self.raised, "dropped": self.dropped}
        return self._from_checked(self.y_true, self.y_pred, below, above, **facts)

    @classmethod
    def join(cls, parts: Sequence[Intervals]) -> Intervals:
        """Intervals of all parts one after the other, such as the folds of a cross-validation; weights included.

        Examples
        --------
        >>> one = Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2])
        >>> Intervals.join([one, one])
        Intervals(4 rows, miss_rate 0.5, bandwidth 1.5)
        """
        if not parts:
            raise ValueError("a list of folds must hold at least one Intervals; it is empty.")
        for i, part in enumerate(parts):
            if not isinstance(part, Intervals):
                raise TypeError(
                    f"a list of folds must hold Intervals; item {i} is {type(part).__name__}."
                )
            if part.y_true.shape[1:] != parts[0].y_true.shape[1:]:
                raise ValueError(
                    f"a list of folds must have the same outputs: fold {i} differs from fold 0."
                )
        if len(parts) == 1:
            return parts[0]
        weights = None
        if any(part._weight is not None for part in parts):
            weights = [
                np.ones(part.y_true.shape) if part._weight is None else part._weight
                for part in parts
            ]
        return cls._of(
            None if weights is None else np.concatenate(weights),
            sum(part.raised for part in parts),
            sum(part.dropped for part in parts),
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in _columns(*parts)
            },
        )

    def __repr__(self) -> str:
        outside = (self.y_true < self.lower) | (self.y_true > self.upper)
        miss_rate = arrays.average(outside, self._weight)
        half_width = mean_half_width(self.lower_band, self.upper_band, self._weight)
        outputs = f" x {self.y_true.shape[1]} outputs" if self.y_true.ndim == 2 else ""
        raised = f", {checks.counted(self.raised, 'band')} raised" if self.raised else ""
        dropped = f", {checks.counted(self.dropped, 'row')} dropped" if self.dropped else ""
        rows = checks.counted(len(self), "row") + outputs
        return f"Intervals({rows}, miss_rate {miss_rate:.4g}, bandwidth {half_width:.4g}{raised}{dropped})"


def _columns(*parts: Intervals) -> tuple[str, ...]:
    """Names of the columns that make up intervals: where all are symmetric, one band is enough."""
    return COLUMNS[:-1] if all(part.symmetric for part in parts) else COLUMNS


def draw_quantiles(samples: arrays.Draws, points: Sequence[float], missing: str | None) -> Array:
    """Ascending quantiles of draws; NaN in rows with a draw that is not finite, where such rows are to be dropped."""
    draws = np.array(samples, np.float64)
    bad: Flags = np.asarray(~np.isfinite(draws).all(axis=0))
    if missing != "drop":
        arrays.refuse_missing(arrays.finite("samples")._replace(verbs=arrays.DRAW), draws)
    draws[:, bad] = np.nan
    draws /= 2  # so that the distance between two draws fits float64
    found: Array = np.maximum.accumulate(2 * np.quantile(draws, points, axis=0))
    return found


def mean_half_width(below: Array, above: Array, weight: Array | None) -> float:
    """Mean of (below + above) / 2, formed so that huge bands do not overflow."""
    return arrays.average(below / 2 + above / 2, weight)


def standard_deviation(y: Array, weight: Array) -> float:
    """Weighted population standard deviation of y_true, formed so that huge values do not overflow."""
    seen = y[weight > 0]
    if seen.min() == seen.max():
        raise ValueError('`unit="std"` needs a y_true that varies; all values are equal.')
    exponent = int(np.frexp(np.abs(seen).max())[1])
    y = np.ldexp(y, -exponent)
    return float(np.ldexp(np.sqrt(np.sum(weight * (y - np.sum(weight * y)) ** 2)), exponent))


def _bounds(side: int, y: Array, p: Array, band: Array) -> Array:
    """Lower (-1) or upper (1) bounds; one step of float64 away where rounding would cover another row than the band."""
    bound: Array = p + band if side > 0 else p - band
    true, pred, edge, width = (array.reshape(-1) for array in (y, p, bound, band))
    for part in arrays.blocks(true.size):
        error = side * (true[part] - pred[part])
        covered = error <= width[part]
        wrong = (covered != (side * true[part] <= side * edge[part])) & (error > 0)
        if wrong.any():
            observed = true[part][wrong]
            edge[part][wrong] = np.where(
                covered[wrong], observed, np.nextafter(observed, -side * np.inf)
            )
    return bound


def _moved_bands(
    intervals: Intervals, side: int, band: Array, scale: Array | float, shift: Array | float
) -> Array:
    """Bands of one side after calibration; those at an observation cover it if and only if its rank says so."""
    p, shifted = intervals.y_pred, np.any(shift)
    error = side * (intervals.y_true - p)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = scale * band
        covered = error - scaled <= shift if shifted else ~(error / band > scale)
        out = np.maximum(scaled + shift, 0)
        arrays.kept_in_range("shift" if shifted else "scale", p + side * out)
    active = error > 0
    out[active & covered] = np.maximum(out, error)[active & covered]
    missed = active & ~covered
    out[missed] = np.minimum(out, np.nextafter(error, 0))[missed]
    return out
