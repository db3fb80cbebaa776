"""Refusals: outside data becomes float64 arrays here, or one sentence that says what to do."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Metric = Literal["bandwidth", "miss_rate", "excess", "deficit", "overshoot"]
Axes = tuple[Metric, Metric]
METRICS: tuple[Metric, ...] = get_args(Metric)
HEADLINE: Axes = ("bandwidth", "miss_rate")
SUMMARY: tuple[Axes, ...] = (HEADLINE, ("bandwidth", "deficit"), ("excess", "deficit"))
"""The axes that every summary shows: the paper's headline and the two proper ones."""
FLOOR_HINT = 'pass min_band="5%" (of the mean half-width) or a number in units of y_true to raise such bands'


class DroppedRowsWarning(UserWarning):
    """Rows with a missing value were dropped because ``missing="drop"`` asked for it."""


def numbers(name: str, value: Any) -> Array:
    """Copy `value` by position into a float64 array; refuse what float64 cannot hold exactly."""
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        raw = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"`{name}` must be a regular array of numbers: {error}.") from None
    if raw.dtype.kind == "O":
        raw = _from_objects(name, raw)
    if raw.dtype.kind not in "iuf":
        raise TypeError(f"`{name}` must hold numbers; it holds {raw.dtype.name}. Hint: convert it to float first.")
    if raw.ndim not in (1, 2):
        raise ValueError(f"`{name}` must have one dimension, or two for several outputs; it has {raw.ndim}.")
    with np.errstate(over="ignore"):
        out = np.array(raw, dtype=np.float64, order="C")
    _refuse_rounding(name, raw, out)
    return out


def _from_objects(name: str, raw: npt.NDArray[Any]) -> Array:
    def number(item: Any) -> float:
        if item is None or type(item).__name__ in ("NAType", "NaTType"):
            return float("nan")
        if isinstance(item, (str, bytes)):
            raise TypeError
        return float(item)

    out = np.empty(raw.shape)
    for place, item in np.ndenumerate(raw):
        try:
            out[place] = number(item)
        except (TypeError, ValueError):
            raise TypeError(
                f"`{name}` must hold numbers; row {place[0]} holds {type(item).__name__}. "
                "Hint: convert it to float first."
            ) from None
    return out


def _refuse_rounding(name: str, raw: npt.NDArray[Any], out: Array) -> None:
    if raw.dtype.kind in "iu" and raw.dtype.itemsize == 8:
        large = np.flatnonzero((raw.ravel() > 2**53) | (raw.ravel() < -(2**53)))
        lossy = [int(i) for i in large if int(out.flat[i]) != int(raw.flat[i])]
    elif raw.dtype.itemsize > 8:
        lossy = np.flatnonzero((out.astype(raw.dtype) != raw) & ~np.isnan(raw)).tolist()
    else:
        return
    if lossy:
        raise ValueError(
            f"`{name}` must fit float64 exactly: {len(lossy)} of {raw.size} values do not, "
            f"first {raw.flat[lossy[0]]}. Hint: subtract a common offset from all columns first."
        )


class Rule(NamedTuple):
    """What a column must be, how to say that a row or several break it, and what to do."""

    name: str
    must: str
    verbs: tuple[str, str]
    hint: str


def rows(bad: npt.NDArray[np.bool_], rule: Rule, detail: Callable[[Any], object]) -> None:
    """Raise the sentence that counts the `bad` rows and shows the first; return where there are none."""
    if not bad.any():
        return
    per_row = bad.reshape(len(bad), -1).any(axis=1)
    count, place = int(np.count_nonzero(per_row)), tuple(int(i) for i in np.argwhere(bad)[0])
    where = f"row {place[0]}" if bad.ndim == 1 else f"row {place[0]}, output {place[1]}"
    total = f"{len(bad)} row{'s' if len(bad) > 1 else ''}"
    raise ValueError(
        f"`{rule.name}` must {rule.must}: {count} of {total} {rule.verbs[count > 1]}, first {where} "
        f"({detail(place)!s}). Hint: {rule.hint}."
    )


def table(columns: Mapping[str, Any], weight: Any, missing: str) -> tuple[list[Array], Array | None, int]:
    """Columns of one shape without missing values, their raw weights, and how many rows were dropped."""
    choice("missing", missing, ("raise", "drop"))
    data = {name: numbers(name, value) for name, value in columns.items()}
    shape = next(iter(data.values())).shape
    for name, array in data.items():
        if array.shape != shape:
            raise ValueError(
                f"`{name}` must have the shape of `{next(iter(data))}`: {array.shape} against {shape}. "
                "Hint: rows are matched by position, never by an index."
            )
    if weight is not None:
        data["weight"] = _weights(numbers("weight", weight), shape)
    if 0 in shape:
        raise ValueError(
            f"`{next(iter(data))}` must hold at least one row: it is empty. Hint: check the filter before."
        )
    finite = {name: np.isfinite(array) for name, array in data.items()}
    dropped = 0
    if missing == "drop":
        dropped = _drop(data, finite)
    else:
        for name, good in finite.items():
            rule = Rule(name, "be finite", ("is not", "are not"), 'pass missing="drop" to leave such rows out')
            rows(~good, rule, data[name].__getitem__)
    raw_weight = data.pop("weight", None)
    if raw_weight is not None:
        _check_weights(raw_weight)
    return list(data.values()), raw_weight, dropped


def _drop(data: dict[str, Array], finite: Mapping[str, npt.NDArray[np.bool_]]) -> int:
    whole = np.logical_and.reduce([good.reshape(len(good), -1).all(axis=1) for good in finite.values()])
    total, dropped = len(whole), int((~whole).sum())
    if dropped == total:
        raise ValueError(f"`missing` must leave at least one row: all {total} rows have a missing value.")
    if dropped:
        for name in data:
            data[name] = data[name][whole]
        message = f"dropped {dropped} of {total} rows: they have a missing or infinite value"
        warnings.warn(message, DroppedRowsWarning, stacklevel=4)
    return dropped


def _weights(weight: Array, shape: tuple[int, ...]) -> Array:
    if weight.shape == shape[:1] and len(shape) == 2:
        return np.broadcast_to(weight[:, None], shape)
    if weight.shape != shape:
        raise ValueError(f"`weight` must have one value a row: {weight.shape} against {shape}.")
    return weight


def _check_weights(weight: Array) -> None:
    rule = Rule("weight", "not be negative", ("is", "are"), "leave such rows out or give them weight 0")
    rows(weight < 0, rule, weight.__getitem__)
    if not weight.any():
        raise ValueError(
            f"`weight` must not be zero in every row: all {len(weight)} are. "
            "Hint: leave `weight` out to count rows alike."
        )


def ascending(lower: Array, upper: Array) -> None:
    """Refuse intervals that are upside down."""

    def detail(at: Any) -> str:
        return f"{lower[at]!s} > {upper[at]!s}"

    rows(lower > upper, Rule("lower", "not exceed `upper`", ("does", "do"), "sort crossing quantiles first"), detail)


def contained(y_pred: Array, lower: Array, upper: Array, outside: npt.NDArray[np.bool_]) -> None:
    """Refuse predictions outside their own interval."""

    def detail(at: Any) -> str:
        return f"{y_pred[at]!s} outside [{lower[at]!s}, {upper[at]!s}]"

    rows(outside, Rule("y_pred", "lie between `lower` and `upper`", ("does not", "do not"), FLOOR_HINT), detail)


def finite_differences(*arrays: Array) -> None:
    """Refuse rows so far apart that float64 cannot hold their distance."""
    far = "lie within float64 reach of `y_pred` and the bounds"
    rule = Rule("y_true", far, ("does not", "do not"), "divide all columns by a common unit first")
    for array in arrays:
        rows(~np.isfinite(array), rule, array.__getitem__)


def floor(min_band: float | str, half_width: float) -> float:
    """Return the least band that `min_band` asks for, in units of y_true."""
    problem = ValueError(
        "`min_band` must be a number of at least 0 in units of y_true, or a percentage of the mean half-width "
        f'such as "5%"; {min_band!r} is neither.'
    )
    percent = isinstance(min_band, str) and min_band.strip().endswith("%")
    try:
        value = float(min_band.strip()[:-1]) if percent and isinstance(min_band, str) else float(min_band)
    except (TypeError, ValueError):
        raise problem from None
    if (isinstance(min_band, (str, bool)) and not percent) or not 0 <= value < np.inf:
        raise problem
    return value / 100 * half_width if percent else value


def choice(name: str, value: Any, options: Sequence[str]) -> None:
    """Refuse a `value` that is none of the `options`, with the nearest one."""
    if not (isinstance(value, str) and value in options):
        raise ValueError(
            f"`{name}` must be one of {', '.join(options)}; {value!r} is none of them{_nearest(value, options)}."
        )


def axes(value: Any) -> Axes:
    """Return two metric names, first x, then y."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"`axes` must be two of {', '.join(METRICS)}, first x, then y; got {value!r}.")
    for name in value:
        if not (isinstance(name, str) and name in METRICS):
            raise ValueError(
                f"`axes` must be two of {', '.join(METRICS)}; {name!r} is none of them{_nearest(name, METRICS)}."
            )
    return value[0], value[1]


def _nearest(value: Any, options: Sequence[str]) -> str:
    near = difflib.get_close_matches(value, options, n=1) if isinstance(value, str) else []
    return f" ({near[0]}?)" if near else ""


def real(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """Return one finite number between `low` and `high`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number; got {value!r}.") from None
    if not (low <= number <= high and np.isfinite(number)):
        span = (
            f" from {low:g} to {high:g}" if np.isfinite(high) else f" of at least {low:g}" if np.isfinite(low) else ""
        )
        raise ValueError(f"`{name}` must be a finite number{span}; got {value!r}.")
    return number


def span(name: str, value: Any) -> tuple[float, float]:
    """Return a range (low, high) of a metric."""
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be a range (low, high); got {value!r}.") from None
    if not 0 <= low <= high:
        raise ValueError(f"`{name}` must be a range (low, high) with 0 <= low <= high; got {value!r}.")
    return low, high


def only(what: str, **given: Any) -> tuple[Metric, Any] | None:
    """Return the one keyword that is not None; refuse several."""
    named = [(name, value) for name, value in given.items() if value is not None]
    if len(named) > 1:
        names = " and ".join(f"`{name}`" for name, _ in named)
        raise ValueError(f"give one {what} only; got {names}.")
    return named[0] if named else None  # type: ignore[return-value]  # the keywords are metric names by the signatures
