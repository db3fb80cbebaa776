"""Door: outside data become checked float64 columns by position, or one sentence that says what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Integral
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _refusals as checks
from ._arrays import Flags, average, blocks
from ._refusals import Hint, Rule
from ._vocabulary import Array, Centre, DroppedRowsWarning, Side, Support

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoFrame

Draws = npt.NDArray[np.floating[Any]]
DROP_HINT = Hint("pass {missing} to leave such rows out", {"missing": "drop"})
DRAW = ("has a draw that is not", "have a draw that is not")
CONVERT = "Hint: convert it to float first."
# Size of numbers other than 0: the squares and quotients of what lies between fit float64.
SMALLEST = 1e-100
LARGEST = 1e100
EXACT = 2**53  # beyond it float64 rounds integers
KINDS = {"U": "text", "T": "text", "S": "bytes", "b": "booleans"}
SWAP = Hint("swap {lower} and {upper}", {"lower": None, "upper": None})
ASCENDING = Rule(
    "lower", "not exceed `upper`", ("does", "do"), "sort crossing quantiles first", SWAP
)
CONTAINED = Rule(
    "y_pred",
    "lie between `lower` and `upper`",
    ("does not", "do not"),
    checks.FLOOR_HINT,
    Hint(
        f"check that predictions and bounds belong to the same model, or {checks.FLOOR_HINT.text}",
        checks.FLOOR_HINT.arguments,
    ),
)


POSITIVE = Rule(
    "unit",
    "be above 0",
    ("is not", "are not"),
    "leave such rows out, or give them a unit of their own",
)


def finite(name: str, hint: str | Hint = DROP_HINT) -> Rule:
    """Return the rule for missing and infinite values."""
    return Rule(name, "be finite", ("is not", "are not"), hint)


def exact(name: str) -> Rule:
    """Return the rule for numbers that float64 would round."""
    return Rule(
        name,
        "fit float64 exactly",
        ("does not", "do not"),
        "subtract a common offset from all columns first",
    )


def of_common_size(name: str, what: str = "all columns") -> Rule:
    """Return the rule for numbers whose squares and quotients float64 must hold."""
    must = f"be 0 or from {SMALLEST:g} to {LARGEST:g} in size"
    return Rule(name, must, ("is not", "are not"), f"divide {what} by a common unit first")


def apart(name: str) -> Rule:
    """Return the rule for bounds, whose distance from `y_pred` is divided by."""
    must = f"be `y_pred` itself or lie from {SMALLEST:g} to {LARGEST:g} away from it"
    return Rule(name, must, ("is not", "are not"), "divide all columns by a common unit first")


def near(name: str, other: str) -> Rule:
    """Return the rule for columns whose difference float64 must hold."""
    hint = "divide all columns by a common unit first"
    return Rule(name, f"lie within float64 range of `{other}`", ("does not", "do not"), hint)


def not_negative(name: str) -> Rule:
    """Return the rule for weights."""
    return Rule(name, "not be negative", ("is", "are"), "leave such rows out or give them weight 0")


class CheckedColumns(NamedTuple):
    """Columns of one shape without missing values, what rows weigh and are divided by, and which rows they are."""

    data: dict[str, Array]
    weight: Array | None
    unit: Array | None
    kept: Flags | None  # None: all of them


def columns(
    data: Mapping[str, Any],
    weight: Any,
    missing: str,
    *,
    unit: Any = None,
    weight_name: str = "weight",
    hint: str | Hint = DROP_HINT,
) -> CheckedColumns:
    """Return columns of one shape without missing values, with raw weights and units."""
    checks.choice("missing", missing, ("raise", "drop"))
    arrays = {name: numbers(name, value) for name, value in data.items()}
    first = next(iter(arrays))
    shape = arrays[first].shape
    _refuse_other_shapes(arrays, first)
    for name, given in ((weight_name, weight), ("unit", unit)):
        if given is not None:
            arrays[name] = _per_row(name, given, first, shape)
    kept = _without_missing(arrays, drop=missing == "drop", hint=hint)
    shape = arrays[first].shape
    raw_weight = arrays.pop(weight_name, None)
    if raw_weight is not None:
        raw_weight = _weights(weight_name, raw_weight, shape)
    raw_unit = arrays.pop("unit", None)
    if raw_unit is not None:
        raw_unit = _units(raw_unit, shape)
    return CheckedColumns(arrays, raw_weight, raw_unit, kept)


def _refuse_other_shapes(arrays: Mapping[str, Array], first: str) -> None:
    """Refuse columns that differ in shape from the `first`, and columns without rows."""
    shape = arrays[first].shape
    for name, array in arrays.items():
        if array.shape != shape:
            hint = "rows are matched by position, never by an index"
            if {array.shape, shape} == {shape[:1], (*shape[:1], 1)}:
                hint = "flatten a single column with .ravel()"
            raise ValueError(
                f"`{name}` must have the shape of `{first}`: {array.shape} against {shape}. Hint: {hint}."
            )
    if 0 in shape:
        raise ValueError(
            f"`{first}` must hold at least one row: its shape is {shape}. Hint: check earlier filters."
        )


def _per_row(name: str, value: Any, first: str, shape: tuple[int, ...]) -> Array:
    """Return weights or units: one value per row, or per row and output."""
    array = numbers(name, value)
    if array.shape not in (shape, shape[:1]):
        what = {"unit": "measure all rows in one unit"}.get(name, "weight rows equally")
        raise ValueError(
            f"`{name}` must have one value per row: its shape is {array.shape} where `{first}` has {shape}. "
            f"Hint: leave `{name}` out to {what}."
        )
    return array


def numbers(name: str, value: Any) -> Array:
    """Copy `value` by position into a float64 array of one or two dimensions."""
    out = floats(name, value)
    if out.ndim not in (1, 2):
        hint = "reshape it to (rows, outputs)" if out.ndim else "put a single value into a list"
        raise ValueError(
            f"`{name}` must have one dimension, or two for several outputs; it has {out.ndim}. Hint: {hint}."
        )
    return out


def floats(name: str, value: Any) -> Array:
    """Copy `value` into a float64 array; refuse what is no number or does not fit exactly; masked values become NaN."""
    value, mask = _unmasked(value)
    raw = _raw(name, value)
    kind = raw.dtype.kind
    if kind == "O" or _may_be_rounded(value, raw):
        out = _from_objects(name, _as_objects(value, raw))
    elif kind in "iuf":
        with np.errstate(over="ignore"):
            out = np.array(raw, dtype=np.float64, order="C")
    else:
        held = KINDS.get(kind, raw.dtype.name)
        raise TypeError(f"`{name}` must hold numbers; it holds {held}. {CONVERT}")
    if mask is not None:
        out[mask] = np.nan
    return out


def _unmasked(value: Any) -> tuple[Any, Flags | None]:
    """Return a value without its mask, and which of its items that hides; None where it has none."""
    if isinstance(value, list | tuple):
        if not any(isinstance(item, np.ma.MaskedArray) for item in value):
            return value, None
        value = np.ma.array([np.nan if item is np.ma.masked else item for item in value])
    if not isinstance(value, np.ma.MaskedArray):
        return value, None
    return value.filled(0), np.ma.getmaskarray(value)


def _may_be_rounded(value: Any, raw: npt.NDArray[Any]) -> bool:
    """Whether an integer may be among the numbers that float64 does not hold exactly."""
    kind = raw.dtype.kind
    if not raw.ndim or not raw.size:
        return False
    if kind in "iu":
        return raw.dtype.itemsize > 4 and max(-int(raw.min()), int(raw.max())) > EXACT
    # numpy has rounded the integers of a list that holds a float too
    return kind == "f" and isinstance(value, list | tuple) and bool((np.abs(raw) >= EXACT).any())


def _as_objects(value: Any, raw: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the numbers as they were given."""
    if raw.dtype.kind == "f":
        given = np.array(value, dtype=object)
        if given.shape == raw.shape:
            return given
    return raw.astype(object)


def _raw(name: str, value: Any) -> npt.NDArray[Any]:
    try:
        raw = np.asarray(value)
    except ValueError as error:
        what = str(error).rstrip(".")
        if "inhomogeneous" in what:
            what = "its rows differ in length"
        raise ValueError(
            f"`{name}` must be a regular array of numbers: {what}. Hint: give every row as many outputs as the others."
        ) from None
    except Exception as error:  # noqa: BLE001  # whatever the library behind the value raises
        raise TypeError(
            f"`{name}` must be an array of numbers: {str(error).rstrip('.')}. {CONVERT}"
        ) from None
    if raw.ndim == 0 and raw.dtype.kind == "O":
        hint = "Hint: pass a list or an array."
        raise TypeError(
            f"`{name}` must be an array or a list of numbers; got {type(value).__name__}. {hint}"
        )
    return raw


def _from_objects(name: str, raw: npt.NDArray[Any]) -> Array:
    """Floats, NaN for the missing values of any library; refuse text and integers that a float cannot hold."""
    out = np.full(raw.shape, np.nan)
    rounded = np.zeros(raw.shape, np.bool_)
    for place, item in np.ndenumerate(raw):
        if item is None or type(item).__name__ in ("NAType", "NaTType"):
            continue
        try:
            out[place] = checks.number(item)
            rounded[place] = _is_rounded(item, float(out[place]))
        except OverflowError:
            rounded[place] = True
        except (TypeError, ValueError):
            held = "text" if isinstance(item, str) else type(item).__name__
            raise TypeError(
                f"`{name}` must hold numbers; row {place[0]} holds {held}. {CONVERT}"
            ) from None
    checks.rows(rounded, exact(name), lambda at: checks.shown(raw[at], str))
    return out


def _is_rounded(item: Any, number: float) -> bool:
    """Whether an integer is another one than the float that it became."""
    if not isinstance(item, Integral | Decimal | Fraction) or not isfinite(number):
        return False
    return bool(item == int(item)) and int(number) != int(item)


def _without_missing(arrays: dict[str, Array], *, drop: bool, hint: str | Hint) -> Flags | None:
    """Refuse rows with NaN or infinity, or take them out of all arrays; return which stay, None where all do."""
    good = {name: np.isfinite(array) for name, array in arrays.items()}
    bad = [name for name, flags in good.items() if not flags.all()]
    if not bad:
        return None
    if not drop:
        checks.rows(~good[bad[0]], finite(bad[0], hint), arrays[bad[0]].__getitem__)
    whole = np.ones(len(good[bad[0]]), np.bool_)
    for name in bad:
        whole &= good[name].reshape(len(whole), -1).all(axis=1)
    total = len(whole)
    dropped = int(np.count_nonzero(~whole))
    if dropped == total:
        names = " or ".join(f"`{name}`" for name in bad)
        raise ValueError(
            f"`missing` must leave at least one row: all {total} have a missing or infinite value in {names}. "
            "Hint: look at these columns first."
        )
    for key, array in arrays.items():
        arrays[key] = array[whole]
    message = f"dropped {dropped} of {total} rows: a value is missing or infinite, first in row {np.argmin(whole)}"
    warnings.warn(message, DroppedRowsWarning, stacklevel=outside())
    return np.asarray(whole)


def outside() -> int:
    """How many calls lead from the caller to the first line outside this package: where a warning belongs."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and _package_of(frame) == package:
        frame = frame.f_back
        level += 1
    return level


def _package_of(frame: FrameType) -> str:
    """Return the package whose line a frame is at."""
    module: str = frame.f_globals["__name__"]
    return module.partition(".")[0]


def _weights(name: str, weight: Array, shape: tuple[int, ...]) -> Array:
    """Checked weights in the shape of the data; in units of a power of two where their sum could leave float64."""
    checks.rows(weight < 0, not_negative(name), weight.__getitem__)
    if not weight.any():
        raise ValueError(
            f"`{name}` must not be zero in every row: all {len(weight)} are. "
            f"Hint: leave `{name}` out to weight rows equally."
        )
    refuse_extreme(weight, of_common_size(name, "all weights"))
    return weight if weight.shape == shape else np.broadcast_to(weight[:, None], shape)


def _units(unit: Array, shape: tuple[int, ...]) -> Array:
    """Checked units in the shape of the data."""
    checks.rows(unit <= 0, POSITIVE, unit.__getitem__)
    refuse_extreme(unit, of_common_size("unit", "all units"))
    return unit if unit.shape == shape else np.broadcast_to(unit[:, None], shape)


def first_axis(what: str, samples: Any, shape: tuple[int, ...], count: int | None = None) -> Draws:
    """Draws or quantiles on the first axis, then the shape of `y_true`; plain floats are not copied."""
    array: Draws = samples if _is_plain(samples) else floats("samples", samples)
    if array.shape[1:] == shape and array.size and count in (None, len(array)):
        return array
    wanted = ", ".join(map(str, (count or what, *shape)))
    hint = ""
    if array.ndim > 1 and array.shape[:-1] == shape:
        hint = " Hint: move the last axis to the front."
    raise ValueError(
        f"`samples` must have {what} on the first axis, then the shape of `y_true`: {array.shape} against "
        f"({wanted}).{hint}"
    )


def _is_plain(samples: Any) -> bool:
    """Whether samples are an array of floats as it is."""
    if type(samples) is not np.ndarray:
        return False
    dtype = samples.dtype
    return bool(dtype.kind == "f" and dtype.itemsize <= 8)


def refuse_missing(rule: Rule, array: Draws, axis: int = 0) -> None:
    """Refuse rows with NaN or infinity in any of the draws or quantiles along an axis."""
    along = np.moveaxis(array, axis, -1)
    bad = np.asarray(~np.isfinite(along).all(axis=-1))
    checks.rows(bad, rule, lambda at: along[at][~np.isfinite(along[at])][0])


def ascending(lower: Array, upper: Array) -> None:
    """Refuse intervals that are upside down."""
    checks.rows(lower > upper, ASCENDING, lambda at: f"{lower[at]!s} > {upper[at]!s}")


def within_range(result: Array, **given: Array) -> None:
    """Refuse a first column so far from the second that float64 cannot hold the `result` of combining the two."""
    (name, values), (other, centre) = given.items()
    checks.rows(
        ~np.isfinite(result), near(name, other), lambda at: f"{values[at]!s} against {centre[at]!s}"
    )


def refuse_extreme(values: Array, rule: Rule) -> None:
    """Refuse numbers other than 0 that are too small or too large to calculate with."""
    sizes = np.abs(values)
    if sizes.max() <= LARGEST and sizes.min() >= SMALLEST:
        return
    extreme = (sizes > LARGEST) | ((sizes < SMALLEST) & (sizes > 0))
    checks.rows(extreme, rule, values.__getitem__)


def kept_in_range(name: str, bounds: Array) -> None:
    """Refuse a number that moves bounds too far to calculate with."""
    rule = Rule(
        name,
        f"keep the bounds within {LARGEST:g}",
        ("leaves it", "leave it"),
        "pass a smaller number",
    )
    checks.rows(~(np.abs(bounds) <= LARGEST), rule, bounds.__getitem__)


# ---- intervals

ENDLESS: Support = (-np.inf, np.inf)
SIDES: tuple[Side, ...] = ("both", "upper", "lower")
SIDE_HINT = "pass {side} to judge that bound alone"
SENTINEL_HINT = "where it stands for no bound, pass {side} to judge the other one alone"
OTHER_SIDE: Mapping[str, Side] = {
    "lower": "upper",
    "lower_band": "upper",
    "upper": "lower",
    "upper_band": "lower",
}


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
    given = {name: numbers(name, value) for name, value in bounds.items() if value is not None}
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
    bounds_given: Side = "upper" if upper else "lower"
    if lower and upper:
        bounds_given = "both"
    if side is None or side == bounds_given:
        return bounds_given, given
    wanted = list(bounds)[side == "upper"]
    if side == "both" or wanted not in given:
        raise ValueError(f"`side` must be {bounds_given!r}: no other bound is given; got {side!r}.")
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
            refuse_extreme(np.array([end]), of_common_size("support"))
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
        refuse_extreme(column, _rule_of_size(name, column, columns))
        if unit is not None:
            rule = of_common_size(name)._replace(
                must=f"be 0 or from {SMALLEST:g} to {LARGEST:g} in units of its row",
                hint="measure all columns and `unit` in a common unit first",
            )
            refuse_extreme(column / unit, rule)


def _rule_of_size(name: str, column: Array, columns: Mapping[str, Array]) -> Rule:
    """Return the rule for the size of a column; a huge bound beside another one may stand for none."""
    rule = of_common_size(name)
    other = OTHER_SIDE.get(name)
    if other is None or not any(key.startswith(other) for key in columns):
        return rule
    if np.abs(column).max() <= LARGEST:
        return rule
    return rule._replace(hint=Hint(SENTINEL_HINT, {"side": other}))


def raise_bands(
    min_band: Any, bands: Sequence[Array], weight: Array | None, unit: Array | None
) -> list[Flags]:
    """Raise smaller bands to the minimum, in place, and return which were; a percentage is that of the mean half-width.

    Where rows have units, the mean is taken in these, and the minimum is one in each row's own.
    """
    half_widths = bands[0] if len(bands) == 1 else bands[0] / 2 + bands[1] / 2
    if unit is not None:
        half_widths = half_widths / unit
    minimum: Any = checks.floor(min_band, average(half_widths, weight))
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
    for part in blocks(true.size):
        error = side * (true[part] - pred[part])
        covered = error <= width[part]
        wrong = (covered != (side * true[part] <= side * edge[part])) & (error > 0)
        if wrong.any():
            observed = true[part][wrong]
            edge[part][wrong] = np.where(
                covered[wrong], observed, np.nextafter(observed, -side * np.inf)
            )
    return bound


def draw_quantiles(samples: Draws, points: Sequence[float], missing: str | None) -> Array:
    """Ascending quantiles of draws; NaN in rows with a draw that is not finite, where such rows are to be dropped."""
    draws = np.array(samples, np.float64)
    bad: Flags = np.asarray(~np.isfinite(draws).all(axis=0))
    if missing != "drop":
        refuse_missing(finite("samples")._replace(verbs=DRAW), draws)
    draws[:, bad] = np.nan
    draws /= 2  # so that the distance between two draws fits float64
    quantiles: Array = np.maximum.accumulate(2 * np.quantile(draws, points, axis=0))
    return quantiles


def standard_deviation(y: Array, weight: npt.NDArray[Any]) -> float:
    """Weighted population standard deviation of y_true; the weights sum to 1."""
    seen = y[weight > 0]
    if seen.min() == seen.max():
        raise ValueError('`unit="std"` needs a y_true that varies; all values are equal.')
    mean = np.sum(weight * y)
    return float(np.sqrt(np.sum(weight * (y - mean) ** 2)))


# ---- data frames


def frame_columns(frame: IntoFrame, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns `names` (role to column name) of `frame` as arrays by role; lazy frames are collected."""
    import narwhals as nw

    chosen = opened(frame, names.items()).select(*dict.fromkeys(names.values()))
    eager = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
    return {role: eager[name].to_numpy() for role, name in names.items()}


def opened(
    frame: IntoFrame, names: Iterable[tuple[str, str | None]]
) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return `frame` for narwhals; refuse what is none or lacks one of the columns `names` (role and column name)."""
    import narwhals as nw

    try:
        native = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"`frame` must be a data frame that narwhals supports; got {type(frame).__name__}."
        ) from None
    except nw.exceptions.DuplicateError:
        raise ValueError(
            "`frame` must not have two columns of one name. Hint: rename or drop one."
        ) from None
    columns = native.collect_schema().names()
    for role, name in names:
        if name is not None and name not in columns:
            raise ValueError(
                f"`{role}` must name a column of `frame`; got {name!r}. Its columns are {', '.join(map(str, columns))}."
                f"{checks.nearest(name, columns)}"
            )
    return native
