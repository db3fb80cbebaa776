"""Intervals: the only door for data. Behind it shape, sign, order and NaN are settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from . import _door as door
from . import _refusals as checks
from ._arrays import Flags, average
from ._door import ENDLESS, Facts
from ._vocabulary import Array, Centre, Side, Support

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Missing = Literal["raise", "drop"]
COLUMNS = ("y_true", "y_pred", "lower", "upper", "lower_band", "upper_band")


class Options(TypedDict, total=False):
    """What every way to build `Intervals` from arrays takes; see `Intervals.from_bounds`."""

    side: Side | None
    weight: npt.ArrayLike | None
    min_band: float | str | None
    missing: Missing
    support: tuple[float | None, float | None] | None
    unit: float | str | npt.ArrayLike | None


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Intervals:
    """Observations with their predictions and prediction intervals, checked once and frozen.

    Build it with one of the ``from_`` methods. Input of any kind (arrays, lists, pandas, Polars) is taken
    by position: a pandas index is never used for alignment. Two-dimensional data are several outputs.

    Attributes
    ----------
    y_true, y_pred, lower, upper : read-only arrays of float64
        In the shape given and in units of `y_true`; bounds whose band ``min_band`` raised are moved with it, and bounds
        beyond the `support` lie on its end. A bound that is not judged is infinite.
    lower_band, upper_band : read-only arrays
        Distances from ``y_pred`` to the bounds as given, infinite where there is no bound.
    side : {"both", "upper", "lower"}
        Which bounds are judged.
    support : tuple of float
        What `y_true` can be.
    unit : array or None
        What each row is divided by before anything is averaged; None where all rows are measured alike.
    kept : read-only array of bool
        Which of the given rows are in; after ``missing="drop"`` some are not.
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
    _facts: Facts

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "build Intervals with Intervals.from_bounds, from_bands, from_std, from_samples, "
            "from_quantile or from_frame."
        )

    # ---- ways to build them

    @classmethod
    def from_bounds(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike | None = None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        *,
        side: Side | None = None,
        weight: npt.ArrayLike | None = None,
        min_band: float | str | None = None,
        missing: Missing = "raise",
        support: tuple[float | None, float | None] | None = None,
        unit: float | str | npt.ArrayLike | None = None,
    ) -> Self:
        """Intervals from their bounds, in units of `y_true`.

        Parameters
        ----------
        y_true, y_pred, lower, upper : array_like
            Observed, predicted, and the two bounds; all of one shape, matched by position. Two bounds without `y_pred`
            are judged around their middle. With one bound alone (the other left out, or infinite in every row) that
            bound is judged; without `y_pred` only a shift can move it.
        side : {"both", "upper", "lower"}, optional
            Judge only one of two given bounds.
        weight : array_like, optional
            One weight per row, not negative; they are divided by their sum.
        min_band : float or str, optional
            Raise every smaller or negative band to this: a number in units of `y_true`, or a percentage of
            the mean half-width such as ``"5%"``. Without it a `y_pred` outside its interval is refused.
        missing : {"raise", "drop"}
            Refuse rows with NaN or infinity, or drop them with a `DroppedRowsWarning`.
        support : tuple, optional
            What `y_true` can be, such as ``(0, None)``: bounds end there, whatever moves them.
        unit : {"raw", "std"}, float or array_like, optional
            What rows are divided by before anything is averaged: one number, or one per row such as the size of its
            series. Factors do not change, averages do; shifts are in units of the row.

        Examples
        --------
        >>> iv = Intervals.from_bounds(
        ...     [1, 2], y_pred=[1, 5], lower=[0, 1], upper=[2, 4], min_band=0.5
        ... )
        >>> iv.upper_band.tolist(), iv.upper.tolist(), iv.raised
        ([1.0, 0.5], [2.0, 5.5], 1)
        >>> Intervals.from_bounds([1, 2], y_pred=[1, 1], upper=[3, 4])
        Intervals(2 rows, upper bound, miss_rate 0, bandwidth 2.5)
        """
        judged, given = door.judged_side({"lower": lower, "upper": upper}, side)
        if missing != "drop":
            door.refuse_mixture(given)
        columns = {"y_true": y_true, "y_pred": y_pred} | given
        if y_pred is None:
            del columns["y_pred"]
        single, per_row = door.unit_of(unit)
        read = door.columns(columns, weight, missing, unit=per_row)
        data = read.data
        if judged == "both":
            door.ascending(data["lower"], data["upper"])
        facts = cls._facts_of(read, judged, support, single)
        if y_pred is None:
            centre: Centre = "middle" if judged == "both" else "bound"
            facts = replace(facts, centre=centre)
            data["y_pred"] = _centre_of(data, facts)
        y = data["y_true"]
        p = data["y_pred"]
        door.refuse_unfit(facts.unit, **data)
        door.refuse_outside(facts.support, y_true=y)
        if facts.centre != "bound":
            door.refuse_outside(facts.support, y_pred=p)
        bands = {}
        if "lower" in given:
            bands["lower"] = p - data["lower"]
        if "upper" in given:
            bands["upper"] = data["upper"] - p
        for name, band in bands.items():
            door.refuse_extreme(band, door.apart(name))
        facts = _raised_bounds(data, bands, min_band, facts)
        return cls._of(facts, y, p, data, bands)

    @classmethod
    def from_bands(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        lower_band: npt.ArrayLike | None,
        upper_band: npt.ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> Self:
        """Intervals from the distances between `y_pred` and the bounds; one array makes symmetric bands.

        With ``lower_band=None`` the upper bound alone is judged. The options are those of `from_bounds`.

        Examples
        --------
        >>> Intervals.from_bands(
        ...     [1, 2], y_pred=[1, 5], lower_band=[1, 2], upper_band=[3, 4]
        ... ).upper.tolist()
        [4.0, 9.0]
        """
        bands = {"lower_band": lower_band, "upper_band": upper_band}
        if lower_band is not None and upper_band is None:
            del bands["upper_band"]
        return cls._from_columns({"y_true": y_true, "y_pred": y_pred}, bands, **options)

    @classmethod
    def from_std(
        cls,
        y_true: npt.ArrayLike,
        mean: npt.ArrayLike,
        std: npt.ArrayLike,
        **options: Unpack[Options],
    ) -> Self:
        """Symmetric intervals of one predicted standard deviation around the predicted mean.

        The options are those of `from_bounds`.

        Examples
        --------
        >>> Intervals.from_std([1, 2], mean=[1, 5], std=[0.5, 2]).lower.tolist()
        [0.5, 3.0]
        """
        return cls._from_columns({"y_true": y_true, "mean": mean}, {"std": std}, **options)

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
            Probability between the two quantiles; with ``side="upper"`` that below the upper bound.
        **options
            Those of `from_bounds`.

        Examples
        --------
        >>> iv = Intervals.from_samples([1.0], [[0.0], [1.0], [2.0], [3.0], [4.0]], level=0.5)
        >>> iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()
        ([2.0], [1.0], [3.0])
        """
        level = checks.real("level", level, 0, 1)
        draws = door.first_axis("draws", samples, door.numbers("y_true", y_true).shape)
        side = options.get("side")
        outside = (1 - level) / 2 if side in (None, "both") else 1 - max(level, 0.5)
        points = [outside, 0.5, 1 - outside]
        lower, middle, upper = door.draw_quantiles(draws, points, options.get("missing"))
        return cls.from_bounds(y_true, middle, lower, upper, **options)

    @classmethod
    def from_quantile(
        cls,
        y_true: npt.ArrayLike,
        quantile: npt.ArrayLike,
        *,
        level: float = 0.95,
        y_pred: npt.ArrayLike | None = None,
        side: Literal["upper", "lower"] = "upper",
        **options: Any,
    ) -> Self:
        """One predicted quantile as a bound: what `y_true` should stay below (or above) with probability `level`.

        Parameters
        ----------
        quantile : array_like
            The predicted bound.
        level : float
            Share of the observations that the bound promises to cover, at least 0.5: an upper bound is its `level`
            quantile, a lower bound the quantile at ``1 - level`` (P10 is ``level=0.9, side="lower"``).
        y_pred : array_like, optional
            Prediction on the other side of the bound. Without one the bound can be shifted, but not scaled.
        side : {"upper", "lower"}
        **options
            Those of `from_bounds`.

        Examples
        --------
        >>> Intervals.from_quantile([1, 5], [4, 4], level=0.9)
        Intervals(2 rows, upper bound without a prediction, miss_rate 0.5)
        """
        checks.choice("side", side, door.SIDES[1:])
        coverage = float(checks.proportion("level", level))
        if coverage < 0.5:
            raise ValueError(
                f"`level` must be at least 0.5, the share of observations that a bound covers; got {level:g}. "
                f'Hint: the {level:g} quantile as a lower bound is level={1 - level:g}, side="lower".'
            )
        bound: dict[str, Any] = {side: quantile}
        made = cls.from_bounds(y_true, y_pred, **bound, **options)
        return made._with(replace(made._facts, level=coverage))

    @classmethod
    def from_frame(
        cls,
        frame: IntoFrame,
        *,
        y_true: str = "y_true",
        y_pred: str | None = "y_pred",
        lower: str | None = "lower",
        upper: str | None = "upper",
        weight: str | None = None,
        unit: str | float | None = None,
        **options: Any,
    ) -> Self:
        """Intervals from the named columns of any data frame that narwhals supports; lazy ones are collected.

        Pass None for what the frame lacks: a prediction, or one of the bounds. A `unit` in text names a column, or is
        ``"raw"`` or ``"std"``. The other options are those of `from_bounds`.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"y": [1, 2], "yhat": [1, 5], "lo": [0, 3], "hi": [2, 6]})
        >>> Intervals.from_frame(frame, y_true="y", y_pred="yhat", lower="lo", upper="hi")
        Intervals(2 rows, miss_rate 0.5, bandwidth 1.25)
        """
        names: dict[str, Any] = {
            "y_true": y_true,
            "y_pred": y_pred,
            "lower": lower,
            "upper": upper,
            "weight": weight,
        }
        if isinstance(unit, str) and unit not in ("raw", "std"):
            names["unit"] = unit
        else:
            options["unit"] = unit
        given = {role: name for role, name in names.items() if name is not None}
        data = door.frame_columns(frame, given)
        return cls.from_bounds(**data, **options)

    @classmethod
    def _from_columns(
        cls,
        middle: Mapping[str, Any],
        bands: Mapping[str, Any],
        *,
        side: Side | None = None,
        weight: Any = None,
        min_band: Any = None,
        missing: Missing = "raise",
        support: Any = None,
        unit: Any = None,
    ) -> Self:
        """Intervals from observations and predictions and one or two bands, under the names their caller uses."""
        if len(bands) == 2:
            judged, given = door.judged_side(bands, side)
        else:
            checks.choice("side", side or "both", door.SIDES)
            judged, given = side or "both", dict(bands)
        single, per_row = door.unit_of(unit)
        read = door.columns({**middle, **given}, weight, missing, unit=per_row)
        facts = cls._facts_of(read, judged, support, single)
        widths = [read.data[name] for name in given]
        if min_band is not None:
            masks = door.raise_bands(min_band, widths, facts.weight, facts.unit)
            raised = sum(int(np.count_nonzero(mask)) for mask in masks)
            if judged == "both" and len(widths) == 1:
                raised *= 2
            facts = replace(facts, raised=raised)
        for name, band in zip(given, widths, strict=True):
            rule = checks.Rule(name, "not be negative", ("is", "are"), checks.FLOOR_HINT)
            checks.rows(band < 0, rule, band.__getitem__)
        door.refuse_unfit(facts.unit, **read.data)
        for name in middle:
            door.refuse_outside(facts.support, **{name: read.data[name]})
        y, p = (read.data[name] for name in middle)
        below, above = _below_and_above(judged, widths)
        return cls._from_bands(facts, y, p, below, above)

    @classmethod
    def _facts_of(
        cls, read: door.CheckedColumns, side: Side, support: Any, single: float | None
    ) -> Facts:
        y = next(iter(read.data.values()))
        dropped = 0
        if read.kept is not None:
            dropped = int(np.count_nonzero(~read.kept))
        return Facts(
            weight=read.weight,
            unit=door.units_per_row(single, read.unit, y, read.weight),
            dropped=dropped,
            kept=read.kept,
            side=side,
            support=door.support_of(support),
        )

    @classmethod
    def _of(
        cls,
        facts: Facts,
        y: Array,
        p: Array,
        bounds: Mapping[str, Array],
        bands: Mapping[str, Array],
    ) -> Self:
        """Intervals from checked columns; bounds end where the support does, and one that is not judged is infinite."""
        columns = {"y_true": y, "y_pred": p}
        for sign, name in ((-1, "lower"), (1, "upper")):
            bound = np.broadcast_to(sign * np.inf, y.shape)
            band = np.broadcast_to(np.inf, y.shape)
            if name in bands:
                bound = bounds[name]
                band = bands[name]
                if facts.support != ENDLESS:
                    bound = np.clip(bound, *facts.support)
            columns[name] = bound
            columns[f"{name}_band"] = band
        return cls._frozen(facts, **columns)

    @classmethod
    def _from_bands(
        cls, facts: Facts, y: Array, p: Array, below: Array | None, above: Array | None
    ) -> Self:
        """Intervals from checked bands, None on the side that is not judged."""
        bands = {}
        bounds = {}
        if below is not None:
            bands["lower"] = below
            bounds["lower"] = door.bounds(-1, y, p, below)
        if above is not None:
            bands["upper"] = above
            bounds["upper"] = door.bounds(1, y, p, above)
        return cls._of(facts, y, p, bounds, bands)

    @classmethod
    def _frozen(cls, facts: Facts, **columns: Array) -> Self:
        self = object.__new__(cls)
        for array in (*columns.values(), facts.weight, facts.unit, facts.kept):
            if array is not None:
                array.setflags(write=False)
        for name, column in columns.items():
            object.__setattr__(self, name, column)
        object.__setattr__(self, "_facts", facts)
        return self

    def _with(self, facts: Facts) -> Self:
        """The same columns, of which other facts are known."""
        return self._frozen(facts, **{name: getattr(self, name) for name in COLUMNS})

    def measured_in(self, unit: npt.ArrayLike) -> Self:
        """The same intervals with another unit per row, which it is divided by before anything is averaged."""
        read = door.columns({"y_true": self.y_true}, None, "raise", unit=unit)
        columns = {name: getattr(self, name) for name in ("y_true", "y_pred")}
        door.refuse_unfit(read.unit, **columns)
        return self._with(replace(self._facts, unit=read.unit))

    # ---- rows

    def __len__(self) -> int:
        return len(self.y_true)

    def __getitem__(self, rows: slice | Sequence[int] | Flags | npt.NDArray[np.integer]) -> Self:
        """Some of the rows, by a slice, a mask or their numbers; `raised` and `dropped` stay those of the whole."""
        chosen = _chosen_rows(rows, len(self))
        parts = {name: getattr(self, name)[chosen] for name in self._column_names()}
        if not len(parts["y_true"]):
            raise ValueError(
                f"at least one row must be chosen: {checks.shown(rows)} chooses none of {len(self)}."
            )
        facts = self._facts
        weight = None if facts.weight is None else facts.weight[chosen]
        if weight is not None and not weight.any():
            raise ValueError("`weight` must not be zero in every row that is chosen.")
        unit = None if facts.unit is None else facts.unit[chosen]
        parts.setdefault("upper_band", parts["lower_band"])
        return self._frozen(replace(facts, weight=weight, unit=unit, kept=None), **parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are frozen too."""
        columns = {name: getattr(self, name) for name in self._column_names()}
        return partial(_restored, type(self), self._facts, **columns), ()

    def _column_names(self) -> tuple[str, ...]:
        """Names of the columns that make up these intervals: where they are symmetric, one band is enough."""
        return COLUMNS[:-1] if self.symmetric else COLUMNS

    # ---- facts

    @property
    def side(self) -> Side:
        """Which bounds are judged."""
        return self._facts.side

    @property
    def support(self) -> Support:
        """What `y_true` can be: the smallest and the largest value, infinite where there is none."""
        return self._facts.support

    @property
    def unit(self) -> Array | None:
        """What each row is divided by before anything is averaged; None where all rows are measured alike."""
        return self._facts.unit

    @property
    def kept(self) -> Flags:
        """Which of the given rows are in."""
        kept = self._facts.kept
        return np.broadcast_to(True, len(self)) if kept is None else kept

    @property
    def raised(self) -> int:
        """How many bands `min_band` raised."""
        return self._facts.raised

    @property
    def dropped(self) -> int:
        """How many rows ``missing="drop"`` left out."""
        return self._facts.dropped

    @property
    def level(self) -> float | None:
        """Coverage that the bounds were made for, where it was said."""
        return self._facts.level

    @property
    def from_middle(self) -> bool:
        """Whether there was no prediction, so that two bounds are judged around their middle."""
        return self._facts.centre == "middle"

    @property
    def has_prediction(self) -> bool:
        """Whether bands have a length that can be scaled: a single bound without a prediction has none."""
        return self._facts.centre != "bound"

    @property
    def symmetric(self) -> bool:
        """Whether both bands are one array; equal bounds given apart may differ in their last digits."""
        return self.lower_band is self.upper_band

    @property
    def _weight(self) -> Array | None:
        """Raw weights; None where rows count alike."""
        return self._facts.weight

    @property
    def weight(self) -> Array:
        """Weight of each row; they sum to 1."""
        if self._weight is None:
            return np.broadcast_to(1.0 / self.y_true.size, self.y_true.shape)
        weight: Array = self._weight / self._weight.sum()
        weight.setflags(write=False)
        return weight

    @property
    def half_width(self) -> float:
        """Mean half-width as delivered, in units of the rows; of a single bound its mean distance from `y_pred`."""
        parts = []
        if self.side != "upper":
            parts.append(np.minimum(self.lower_band, self.y_pred - self.support[0]))
        if self.side != "lower":
            parts.append(np.minimum(self.upper_band, self.support[1] - self.y_pred))
        widths = parts[0] if len(parts) == 1 else parts[0] / 2 + parts[1] / 2
        return average(self.in_units(widths), self._weight)

    def in_units(self, values: Array) -> Array:
        """Values of the rows in the units of the rows."""
        return values if self.unit is None else values / self.unit

    # ---- other intervals

    def constant(self, *, symmetric: bool = True) -> Self:
        """Return the reference: same observations and predictions, equal bands as wide as these are on average.

        Not `symmetric`, the lower and the upper bands keep their own means. Where rows have units, bands are equal in
        these.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2], upper_band=[3, 4])
        >>> iv.constant().lower_band, iv.constant(symmetric=False).lower_band
        (array([2.5, 2.5]), array([1.5, 1.5]))
        """
        both = checks.flag("symmetric", symmetric)
        bands = [self.in_units(band) for band in self._judged_bands()]
        if both and len(bands) == 2:
            bands = [bands[0] / 2 + bands[1] / 2]
        means = [average(band, self._weight) for band in bands]
        if not any(means):
            means = [1.0] * len(means)
        size = np.broadcast_to(1.0, self.y_true.shape) if self.unit is None else self.unit
        below, above = _below_and_above(self.side, [mean * size for mean in means])
        facts = replace(self._facts, raised=0)
        return self._from_bands(facts, self.y_true, self.y_pred, below, above)

    def _judged_bands(self) -> list[Array]:
        """Bands of the bounds that are judged."""
        if self.side == "both":
            return [self.lower_band, self.upper_band]
        return [self.upper_band if self.side == "upper" else self.lower_band]

    def calibrated(self, *, scale: float = 1.0, shift: float = 0.0) -> Self:
        """Intervals with both bands multiplied by `scale`, then widened by `shift`, at least 0.

        An observation that the scale or shift covers by its rank lies within the bounds that come out,
        whatever rounding did to the product. Shifts are in units of the row; a single bound may move past `y_pred`.

        Examples
        --------
        >>> iv = Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2])
        >>> iv.calibrated(scale=2, shift=-3).lower_band.tolist()
        [0.0, 1.0]
        """
        scale = checks.real("scale", scale, 0)
        shift = checks.real("shift", shift)
        if scale == 1 and shift == 0:
            return self
        return self._moved((scale, scale), (shift, shift))

    def _moved(
        self, scale: tuple[Any, Any] = (1.0, 1.0), shift: tuple[Any, Any] = (0.0, 0.0)
    ) -> Self:
        """Intervals with the lower and the upper bands moved by their own scale and shift, of all rows or of each."""
        if not self.has_prediction and np.any(np.asarray(scale) != 1):
            raise ValueError(NO_PREDICTION.format("`scale`"))
        below = above = None
        if self.side != "upper":
            below = _moved_bands(self, -1, self.lower_band, scale[0], shift[0])
        if self.side != "lower":
            above = _moved_bands(self, 1, self.upper_band, scale[1], shift[1])
        if (
            self.symmetric
            and below is not None
            and above is not None
            and np.array_equal(below, above)
        ):
            above = below
        return self._from_bands(self._facts, self.y_true, self.y_pred, below, above)

    def towards(self, outer: Self, share: float) -> Self:
        """Intervals between these and wider ones of the same rows, by a share of the way."""
        pairs = zip(self._judged_bands(), outer._judged_bands(), strict=True)
        bands = [band + share * (wider - band) for band, wider in pairs]
        if self.symmetric and outer.symmetric:
            del bands[1]
        below, above = _below_and_above(self.side, bands)
        return self._from_bands(outer._facts, outer.y_true, outer.y_pred, below, above)

    @classmethod
    def join(cls, parts: Sequence[Intervals]) -> Intervals:
        """Intervals of all parts one after the other, such as the folds of a cross-validation; weights included.

        Examples
        --------
        >>> one = Intervals.from_bands([1, 2], y_pred=[1, 5], lower_band=[1, 2])
        >>> Intervals.join([one, one])
        Intervals(4 rows, miss_rate 0.5, bandwidth 1.5)
        """
        _refuse_unlike(parts)
        if len(parts) == 1:
            return parts[0]
        first = parts[0]._facts
        facts = replace(
            first,
            weight=_joined([part._weight for part in parts], parts),
            unit=_joined([part.unit for part in parts], parts),
            raised=sum(part.raised for part in parts),
            dropped=sum(part.dropped for part in parts),
            kept=np.concatenate([part.kept for part in parts]),
        )
        names = COLUMNS[:-1] if all(part.symmetric for part in parts) else COLUMNS
        columns = {}
        for name in names:
            columns[name] = np.concatenate([getattr(part, name) for part in parts])
        columns.setdefault("upper_band", columns["lower_band"])
        return cls._frozen(facts, **columns)

    def __repr__(self) -> str:
        outside = (self.y_true < self.lower) | (self.y_true > self.upper)
        outputs = f" x {self.y_true.shape[1]} outputs" if self.y_true.ndim == 2 else ""
        words = [checks.counted(len(self), "row") + outputs]
        if self.side != "both":
            alone = "" if self.has_prediction else " without a prediction"
            words.append(f"{self.side} bound{alone}")
        words.append(f"miss_rate {average(outside, self._weight):.4g}")
        if self.has_prediction:
            words.append(f"bandwidth {self.half_width:.4g}")
        if self.raised:
            words.append(f"{checks.counted(self.raised, 'band')} raised")
        if self.dropped:
            words.append(f"{checks.counted(self.dropped, 'row')} dropped")
        return f"Intervals({', '.join(words)})"


NO_PREDICTION = (
    "{} needs a prediction to measure the bound from, and these intervals have none. "
    'Hint: pass `y_pred`, or move the bound by vary="shift".'
)


def _restored(cls: type[Intervals], facts: Facts, **columns: Array) -> Intervals:
    """Intervals from a copy or a pickle."""
    columns.setdefault("upper_band", columns["lower_band"])
    return cls._frozen(facts, **columns)


def _centre_of(data: Mapping[str, Array], facts: Facts) -> Array:
    """The middle of two bounds, within the support; a single bound itself."""
    if facts.centre == "bound":
        return data[facts.side].copy()
    middle = data["lower"] / 2 + data["upper"] / 2
    return middle if facts.support == ENDLESS else np.clip(middle, *facts.support)


def _raised_bounds(
    data: dict[str, Array], bands: Mapping[str, Array], min_band: Any, facts: Facts
) -> Facts:
    """Raise bands and move their bounds in place; without a minimum refuse predictions outside their interval."""
    y = data["y_true"]
    p = data["y_pred"]
    if min_band is None:
        outside = np.zeros(y.shape, np.bool_)
        for band in bands.values():
            outside |= band < 0
        ends = data.get("lower"), data.get("upper")
        checks.rows(outside, door.CONTAINED, lambda at: _place(p[at], at, ends))
        return facts
    raised = 0
    masks = door.raise_bands(min_band, [*bands.values()], facts.weight, facts.unit)
    for (name, band), small in zip(bands.items(), masks, strict=True):
        side = -1 if name == "lower" else 1
        data[name][small] = door.bounds(side, y[small], p[small], band[small])
        door.kept_in_range("min_band", data[name])
        raised += int(np.count_nonzero(small))
    return replace(facts, raised=raised)


def _place(predicted: float, at: Any, ends: Sequence[Array | None]) -> str:
    """Say where a prediction lies."""
    lower, upper = ends
    low = "-inf" if lower is None else str(lower[at])
    high = "inf" if upper is None else str(upper[at])
    return f"{predicted!s} outside [{low}, {high}]"


def _below_and_above(side: Side, bands: Sequence[Array]) -> tuple[Array | None, Array | None]:
    """Return the lower and the upper bands of one or two given ones."""
    if side == "both":
        return bands[0], bands[-1]
    return (None, bands[-1]) if side == "upper" else (bands[0], None)


def _chosen_rows(rows: Any, count: int) -> Any:
    """Return a slice, a mask or row numbers as numpy takes them."""
    if isinstance(rows, slice):
        return rows
    chosen = np.asarray(rows, None if np.size(rows) else np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        what = "a slice, a mask or a list of row numbers"
        raise TypeError(f"rows are chosen by {what}; got {checks.shown(rows)}.")
    if chosen.dtype.kind == "b" and len(chosen) != count:
        entries = "entry" if len(chosen) == 1 else "entries"
        raise IndexError(
            f"a mask must have one entry per row: it has {len(chosen)} {entries} for {checks.counted(count, 'row')}."
        )
    if chosen.dtype.kind != "b":
        beyond = chosen[(chosen < -count) | (chosen >= count)]
        if len(beyond):
            raise IndexError(f"rows are numbered from 0 to {count - 1}; got {beyond[0]}.")
    return chosen


def _refuse_unlike(parts: Sequence[Intervals]) -> None:
    """Refuse folds that cannot be one set of intervals."""
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
        for name in ("side", "support", "level", "has_prediction"):
            if getattr(part, name) != getattr(parts[0], name):
                raise ValueError(
                    f"a list of folds must have the same {name}: fold {i} differs from fold 0."
                )


def _joined(columns: Sequence[Array | None], parts: Sequence[Intervals]) -> Array | None:
    """Weights or units of all parts, 1 where a part has none; None where no part has any."""
    if all(column is None for column in columns):
        return None
    filled = []
    for column, part in zip(columns, parts, strict=True):
        filled.append(np.ones(part.y_true.shape) if column is None else column)
    return np.concatenate(filled)


def _moved_bands(
    intervals: Intervals, side: int, band: Array, scale: Array | float, shift: Array | float
) -> Array:
    """Bands of one side after calibration; those at an observation cover it if and only if its rank says so."""
    p = intervals.y_pred
    shifted = bool(np.any(shift))
    error = side * (intervals.y_true - p)
    amount = shift if intervals.unit is None else shift * intervals.unit
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = scale * band
        covered = ~(error / band > scale)
        if shifted:
            covered = intervals.in_units(error - scaled) <= shift
        out = scaled + amount
        if intervals.side == "both":
            out = np.maximum(out, 0)
        door.kept_in_range("shift" if shifted else "scale", p + side * out)
    held = error > 0
    if intervals.side != "both" and shifted:
        held = np.ones(error.shape, np.bool_)
    covers = held & covered
    out[covers] = np.maximum(out, error)[covers]
    misses = held & ~covered
    out[misses] = np.minimum(out, np.nextafter(error, -np.inf))[misses]
    return out
