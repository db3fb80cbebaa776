"""Door: bounds, bands, units and supports as given become checked columns, or one sentence that says why not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays as arrays
from . import _refusals as checks
from ._arrays import Flags
from ._refusals import Hint, Rule
from ._vocabulary import Array, Centre, Side, Support

ENDLESS: Support = (-np.inf, np.inf)
SIDES: tuple[Side, ...] = ("both", "upper", "lower")
SIDE_HINT = "pass {side} to judge that bound alone"


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known of the rows of intervals beside their columns.

    Attributes
    ----------
    weight, unit : array or None
        Raw weights, and what each row is divided by; None where all are alike.
    kept : array of bool or None
        Which of the given rows these are; None where all of them are.
    centre : {"prediction", "middle", "bound"}
        What bands are measured from: a given prediction, the middle of two bounds, or the only bound.
    level : float or None
        Coverage that the bounds were made for, where it was said.
    """

    weight: Array | None = None
    unit: Array | None = None
    raised: int = 0
    dropped: int = 0
    kept: Flags | None = None
    side: Side = "both"
    support: Support = ENDLESS
    centre: Centre = "prediction"
    level: float | None = None


def judged_side(bounds: Mapping[str, Any], side: Any) -> tuple[Side, dict[str, Any]]:
    """Return which bounds are judged, and these bounds; one that is infinite in every row is none.

    `bounds` holds the lower and the upper one, None where there is none.
    """
    if side is not None:
        checks.choice("side", side, SIDES)
    given = {
        name: arrays.numbers(name, value) for name, value in bounds.items() if value is not None
    }
    if not given:
        raise TypeError("give `lower`, `upper` or both: there is no bound to judge.")
    for sign, name in zip((-1, 1), bounds, strict=True):
        if name in given and side in (None, "both") and _is_none(given[name], sign):
            del given[name]
    if not given:
        raise ValueError(
            "`lower` and `upper` must not both be infinite: there is no bound to judge."
        )
    lower, upper = (name in given for name in bounds)
    found: Side = "both" if lower and upper else "upper" if upper else "lower"
    if side is None or side == found:
        return found, given
    wanted = list(bounds)[side == "upper"]
    if side == "both" or wanted not in given:
        raise ValueError(f"`side` must be {found!r}: no other bound is given; got {side!r}.")
    return side, {wanted: given[wanted]}


def _is_none(bound: Array, sign: int) -> bool:
    """Whether a bound is infinite in every row that has one."""
    if np.isfinite(bound.flat[0] if bound.size else 0.0):
        return False
    given = bound[~np.isnan(bound)]
    return bool(given.size) and bool((given == sign * np.inf).all())


def refuse_mixture(bounds: Mapping[str, Array]) -> None:
    """Refuse bounds of which some are infinite and some are not."""
    for name, bound in bounds.items():
        infinite, other = (-np.inf, "upper") if name.startswith("lower") else (np.inf, "lower")
        rule = Rule(
            name,
            "be finite, or infinite in every row",
            ("is not", "are not"),
            Hint(SIDE_HINT, {"side": other}),
        )
        checks.rows(bound == infinite, rule, bound.__getitem__)


def support_of(value: Any) -> Support:
    """Return both ends of a support, infinite where there is none.

    >>> support_of((0, None)), support_of(None)
    ((0.0, inf), (-inf, inf))
    """
    if value is None:
        return ENDLESS
    try:
        low, high = value
        ends = (
            -np.inf if low is None else checks.number(low),
            np.inf if high is None else checks.number(high),
        )
    except (TypeError, ValueError, OverflowError):
        ends = (np.nan, np.nan)
    if not ends[0] < ends[1]:
        raise ValueError(
            "`support` must be (low, high) with low < high, None where there is no end, such as (0, None); "
            f"got {checks.shown(value)}."
        )
    for end in ends:
        if np.isfinite(end):
            arrays.refuse_extreme(np.array([end]), arrays.of_common_size("support"))
    return ends


def refuse_outside(support: Support, **columns: Array) -> None:
    """Refuse observations and predictions that the support excludes."""
    low, high = support
    if support == ENDLESS:
        return
    written = ", ".join("None" if np.isinf(end) else f"{end:g}" for end in support)
    for name, column in columns.items():
        rule = Rule(
            name,
            f"lie within `support` ({written})",
            ("does not", "do not"),
            "widen `support`, or leave it out",
        )
        checks.rows((column < low) | (column > high), rule, column.__getitem__)


def unit_of(value: Any) -> tuple[float | None, Any]:
    """Return one unit for all rows (nan for the standard deviation) or None, and a unit per row or None."""
    if value is None:
        return None, None
    if isinstance(value, str) or np.ndim(value) == 0:
        size = checks.unit(value)
        return (np.nan if size is None else None if size == 1 else size), None
    return None, value


def units_per_row(
    single: float | None, per_row: Array | None, y: Array, weight: Array | None
) -> Array | None:
    """Return what each row is divided by."""
    if single is None:
        return per_row
    if np.isnan(single):
        equal = np.broadcast_to(1.0, y.shape)
        share = equal if weight is None else weight
        single = standard_deviation(y, share / share.sum())
    return np.broadcast_to(single, y.shape)


def refuse_unfit(unit: Array | None, **columns: Array) -> None:
    """Refuse numbers that are too small or too large to calculate with, also in the units of their rows."""
    for name, column in columns.items():
        arrays.refuse_extreme(column, arrays.of_common_size(name))
        if unit is not None:
            rule = arrays.of_common_size(name)._replace(
                must=f"be 0 or from {arrays.SMALLEST:g} to {arrays.LARGEST:g} in units of its row",
                hint="measure all columns and `unit` in a common unit first",
            )
            arrays.refuse_extreme(column / unit, rule)


def raise_bands(
    min_band: Any, bands: Sequence[Array], weight: Array | None, unit: Array | None
) -> list[Flags]:
    """Raise smaller bands to the minimum, in place, and return which were; a percentage is that of the mean half-width.

    Where rows have units, the mean is taken in these, and the minimum is one in each row's own.
    """
    half_widths = bands[0] if len(bands) == 1 else bands[0] / 2 + bands[1] / 2
    if unit is not None:
        half_widths = half_widths / unit
    minimum: Any = checks.floor(min_band, arrays.average(half_widths, weight))
    if isinstance(min_band, str) and unit is not None:
        minimum = minimum * unit
    minimum = np.broadcast_to(minimum, half_widths.shape)
    raised = []
    for band in bands:
        small = band < minimum
        band[small] = minimum[small]
        raised.append(small)
    return raised


def bounds(side: int, y: Array, p: Array, band: Array) -> Array:
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


def standard_deviation(y: Array, weight: npt.NDArray[Any]) -> float:
    """Weighted population standard deviation of y_true; the weights sum to 1."""
    seen = y[weight > 0]
    if seen.min() == seen.max():
        raise ValueError('`unit="std"` needs a y_true that varies; all values are equal.')
    mean = np.sum(weight * y)
    return float(np.sqrt(np.sum(weight * (y - mean) ** 2)))
