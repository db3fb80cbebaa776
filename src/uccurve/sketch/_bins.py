"""Bins: rows counted and summed by the size of one number, in bins that are the same everywhere.

A number belongs to the bin of its nearest float with a few significant bits: `resolution` bins per factor of two. Two
products and two differences find that float, and these are the same to the last bit in every engine; a logarithm is
not, and costs more than all the rest. Numbers are moved by half a bin first, so that 1, the scale as delivered, is the
upper end of its bin at every resolution. What a sketch keeps of its rows are three histograms of such bins and a few
totals; its JSON has a digest of the numbers, so that no changed or damaged text is read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags, Indices
from uccurve._door import ENDLESS
from uccurve._paths import ScalePath
from uccurve._refusals import shown
from uccurve._vocabulary import Array
from uccurve.intervals import Intervals

RESOLUTIONS = (16, 32, 64, 128)
PER_OCTAVE = RESOLUTIONS[0]  # bins per factor of two unless another resolution is asked for
OCTAVES = (
    256  # bins cover 2**-OCTAVES to 2**OCTAVES; the first and the last one take everything beyond
)
_DOWN = 2.0**-49  # keeps the product that splits a number within float64

Integers = npt.NDArray[np.int64]
T = TypeVar("T")


def checked(resolution: Any) -> int:
    """Return a number of bins per factor of two that there is."""
    if isinstance(resolution, bool) or resolution not in RESOLUTIONS:
        raise ValueError(
            f"`resolution` must be one of {', '.join(map(str, RESOLUTIONS))}; got {shown(resolution)}."
        )
    return int(resolution)


def bits(resolution: int) -> int:
    """Significant bits of the floats that mark bins."""
    return resolution.bit_length()


def last(resolution: int = PER_OCTAVE) -> int:
    """Return the number of the last bin of finite numbers; the next takes infinity, the one before the first 0.

    Infinity is the critical scale of uncoverable rows; what is less than 1e-307 is 0.
    """
    return OCTAVES * resolution


class Splitting(NamedTuple):
    """How `mark` splits a number, and how the bits of a mark become the place of its bin among all bins."""

    scaling: float  # moves numbers by half a bin, and down
    split: float
    shift: int  # bits that follow those of the mark
    below: int  # what the leading bits are at the place 0, which takes zero
    end: int  # place of infinity, the last

    @classmethod
    def at(cls, resolution: int) -> Self:
        """Bins of one resolution."""
        kept, end = bits(resolution), last(resolution)
        below = (1022 - 49) * resolution - end - 1
        return cls((1 + 2.0**-kept) * _DOWN, 2.0 ** (53 - kept) + 1, 53 - kept, below, 2 * end + 2)


def mark(number: T, resolution: int = PER_OCTAVE) -> T:
    """Return the float that marks the bin of a number, an array or a column: Veltkamp's splitting.

    >>> [float(mark(x)) for x in (0.98, 1.0, 1.02)] == [mark(1.0), mark(1.0), mark(1.03)]
    True
    """
    bins = Splitting.at(resolution)
    moved: Any = number * bins.scaling  # type: ignore[operator]  # anything with arithmetic
    high: Any = moved * bins.split
    return high - (high - moved)  # type: ignore[no-any-return]


def bin_of(marks: Array, resolution: int = PER_OCTAVE) -> Integers:
    """Bins as ascending integers; bin 0 ends at 1/2, bin `resolution` at 1, and so on."""
    head, exponent = np.frexp(np.where(np.isfinite(marks), marks, 0.0) / _DOWN)
    numbers = (
        exponent.astype(np.int64) * resolution
        + (head * 2 * resolution).astype(np.int64)
        - resolution
    )
    end = last(resolution)
    return np.select(
        [~np.isfinite(marks), marks == 0], [end + 1, -end - 1], np.clip(numbers, -end, end)
    )


def bins(numbers: Array, resolution: int = PER_OCTAVE) -> Integers:
    """Bins of nonnegative numbers.

    >>> bins(np.array([0.0, 0.5, 0.501, 1.0, 1.001, np.inf])).tolist()
    [-4097, 0, 1, 16, 17, 4097]
    >>> bins(np.array([0.5, 0.501, 1.0]), resolution=64).tolist()
    [0, 1, 64]
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return bin_of(mark(numbers, resolution), resolution)


def lower_ends(bin: Integers, resolution: int = PER_OCTAVE) -> Array:  # noqa: A002
    """Largest number below each bin; 0 for those that take everything down to it.

    >>> lower_ends(np.array([1, 17])).tolist(), lower_ends(bins(np.array([0.0, 1e-200]))).tolist()
    ([0.5, 1.0], [0.0, 0.0])
    """
    octave, part = np.divmod(bin - 1, resolution)
    ends = np.ldexp(
        (2.0 * (resolution + part) + 1) / (4 * resolution) / (1 + 2.0 ** -bits(resolution)), octave
    )
    for _ in range(2):  # the last digit is left to the bins themselves
        ends = np.where(bins(ends, resolution) < bin, ends, np.nextafter(ends, 0.0))
        more = np.nextafter(ends, np.inf)
        ends = np.where(bins(more, resolution) < bin, more, ends)
    return np.where(bin <= -last(resolution), 0.0, ends)


def sums_by(group: Indices, values: Array, count: int = 0) -> Array:
    """Sum of the values in each group."""
    return np.bincount(group, values, count).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Histogram:
    """Number of rows, maximum and some sums of each nonempty bin."""

    bin: Integers
    rows: Integers
    maximum: Array
    sums: Mapping[str, Array]

    @classmethod
    def empty(cls, names: Sequence[str]) -> Self:
        """No rows yet."""
        return cls(
            np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), dict.fromkeys(names, NOTHING)
        )

    @classmethod
    def grouped(
        cls, numbers: Integers, rows: Integers, maximum: Array, sums: Mapping[str, Array]
    ) -> Self:
        """Combine the entries of each bin. O(n)."""
        order = np.argsort(
            numbers.astype(np.int16 if np.abs(numbers).max(initial=0) < 2**15 else np.int32),
            kind="stable",
        )
        chosen = numbers[order]
        starts = np.flatnonzero(np.diff(chosen, prepend=chosen[:1] - 1))
        return cls(
            chosen[starts],
            np.add.reduceat(rows[order], starts),
            np.maximum.reduceat(maximum[order], starts),
            {name: np.add.reduceat(values[order], starts) for name, values in sums.items()},
        )

    @classmethod
    def of_rows(
        cls, numbers: Array, sums: Mapping[str, Array], resolution: int = PER_OCTAVE
    ) -> Self:
        """Put single rows into their bins."""
        return cls.grouped(
            bins(numbers, resolution), np.ones(len(numbers), np.int64), numbers, sums
        )

    @classmethod
    def union(cls, parts: Sequence[Self]) -> Self:
        """Rows of all parts."""
        bin_, rows, maximum = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS
        )
        sums = {name: np.concatenate([part.sums[name] for part in parts]) for name in parts[0].sums}
        return cls.grouped(bin_, rows, maximum, sums)

    @property
    def infinite(self) -> Flags:
        """Which bin is that of infinity."""
        return np.isinf(self.maximum)

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS} | dict(self.sums)

    def where(self, keep: Flags) -> Self:
        """Only some bins."""
        sums = {name: values[keep] for name, values in self.sums.items()}
        return type(self)(self.bin[keep], self.rows[keep], self.maximum[keep], sums)

    def total(self, name: str) -> float:
        """Sum over all bins."""
        return float(self.sums[name].sum())

    @cached_property
    def rounding(self) -> float:
        """Relative error of a float64 sum over any bins, in whatever order it was formed."""
        return float(
            (int(self.rows.max(initial=0)) + len(self.rows) + 64) * np.finfo(np.float64).eps
        )

    def agrees(self, other: Self) -> bool:
        """Whether bins, counts and maxima are equal, and sums equal up to the order of summation."""
        if not all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ARRAYS):
            return False
        slack = (self.rows + 64) * np.finfo(np.float64).eps
        return all(
            bool(np.all(np.abs(v - other.sums[n]) <= slack * np.abs(v)))
            for n, v in self.sums.items()
        )


ARRAYS = ("bin", "rows", "maximum")
NOTHING = np.empty(0)


# ---- what a sketch keeps


# What each histogram sums, times the weights: `product` is the error times the number that is binned.
SUMS = {
    "critical": ("weight", "active", "width", "error", "scale", "product"),
    "crossover": ("gap", "error", "product"),
    "errors": ("weight", "error", "product"),
}
EMPTY = {name: Histogram.empty(sums) for name, sums in SUMS.items()}
TOTALS = ("y_sum", "y_squares", "weight_squares")
EXTREMES = ("lightest", "heaviest")  # of the weights
COUNTS = ("raised", "dropped")
HEAD = {"format": "uccurve sketch", "version": 4, "octaves": OCTAVES}
LONGEST = 2**27  # maximum number of characters of JSON that is read; the largest sketch has fewer
NEED_ROWS = "Hint: use a UCC of the rows, or assess."
OVERFLOW = (
    "the sums of the rows must stay within float64: they do not. "
    "Hint: divide all columns by a common unit first."
)


@dataclass(frozen=True, slots=True, eq=False)
class SketchState:
    """Three histograms and a few totals of rows that carry weight.

    `critical` bins all rows by their critical scale, `crossover` those whose wider band is on the side of the error by
    the scale from which their other bound is the nearer one, and `errors` all rows by their error, which is the
    critical scale in a constant band of 1. Rows without weights weigh 1.
    """

    critical: Histogram = EMPTY["critical"]
    crossover: Histogram = EMPTY["crossover"]
    errors: Histogram = EMPTY["errors"]
    weighted: bool = False
    y_sum: float = 0.0
    y_squares: float = 0.0
    weight_squares: float = 0.0
    lightest: float = np.inf
    heaviest: float = 0.0
    raised: int = 0
    dropped: int = 0
    resolution: int = PER_OCTAVE

    def __post_init__(self) -> None:
        sums = [
            values for histogram in self.histograms.values() for values in histogram.sums.values()
        ]
        totals = np.array([getattr(self, name) for name in TOTALS])
        if not all(np.isfinite(values).all() for values in (*sums, totals)):
            raise ValueError(OVERFLOW)

    @classmethod
    def of(cls, intervals: Intervals, resolution: int = PER_OCTAVE) -> Self:
        """State of rows in memory."""
        _refuse_other_kinds(intervals)
        path = ScalePath.of(intervals)
        y = intervals.in_units(intervals.y_true).ravel()
        if len(path) < len(y):  # rows without weight are left out
            y = y[np.flatnonzero(intervals.weight)]
        weight = np.ones(len(y)) if path.weight is None else path.weight
        with np.errstate(over="ignore"):
            bands = {
                "active": path.active,
                "width": path.lower_band + path.upper_band,
                "error": path.error,
            }
            columns = {"weight": weight, **bands}
            return cls(
                **_histograms(columns, path.critical, resolution),
                weighted=path.weight is not None,
                y_sum=float(np.sum(weight * y)),
                y_squares=float(np.sum(weight * y * y)),
                weight_squares=float(np.sum(weight * weight)),
                lightest=float(weight.min(initial=np.inf)),
                heaviest=float(weight.max(initial=0.0)),
                raised=intervals.raised,
                dropped=intervals.dropped,
                resolution=resolution,
            )

    @property
    def histograms(self) -> Mapping[str, Histogram]:
        """All histograms by name."""
        return {"critical": self.critical, "crossover": self.crossover, "errors": self.errors}

    @property
    def rows(self) -> int:
        """Number of rows that carry weight."""
        return int(self.critical.rows.sum())

    @property
    def total(self) -> float:
        """Sum of the weights; the number of rows without any."""
        return self.critical.total("weight")

    @property
    def unequal(self) -> bool:
        """Whether some rows count more than others."""
        return self.lightest < self.heaviest

    @property
    def effective(self) -> float:
        """Number of rows of equal weight that say as much (Kish 1965)."""
        return self.total**2 / self.weight_squares if self.unequal else float(self.rows)

    @classmethod
    def union(cls, states: Sequence[Self]) -> Self:
        """State of the rows of all of them."""
        resolutions = sorted(
            {state.resolution for state in states if state.rows} or {states[0].resolution}
        )
        if len(resolutions) > 1:
            raise ValueError(
                f"sketches must have one `resolution` to be merged; these have {' and '.join(map(str, resolutions))}, "
                "whose bins do not nest. Hint: make them again with one."
            )
        parts: dict[str, Any] = {
            name: Histogram.union([state.histograms[name] for state in states]) for name in SUMS
        }
        return cls(
            **parts,
            **{name: sum(getattr(state, name) for state in states) for name in (*TOTALS, *COUNTS)},
            weighted=any(state.weighted for state in states),
            lightest=min(state.lightest for state in states),
            heaviest=max(state.heaviest for state in states),
            resolution=resolutions[0],
        )

    def agrees(self, other: Self) -> bool:
        """Whether both hold the same rows: equal bins, counts and maxima, and sums equal up to rounding."""
        if any(
            getattr(self, name) != getattr(other, name)
            for name in ("weighted", "resolution", *EXTREMES, *COUNTS)
        ):
            return False
        slack = self.errors.rounding * np.array(
            [(self.total * self.y_squares) ** 0.5, self.y_squares, self.weight_squares]
        )
        off = np.array([getattr(self, name) - getattr(other, name) for name in TOTALS])
        return bool(np.all(np.abs(off) <= slack)) and all(
            histogram.agrees(other.histograms[name]) for name, histogram in self.histograms.items()
        )


def _refuse_other_kinds(intervals: Intervals) -> None:
    """Refuse rows whose sums would say something else."""
    if intervals.side != "both":
        raise ValueError(
            f"a sketch judges both bounds, and these intervals judge the {intervals.side} one alone. {NEED_ROWS}"
        )
    if intervals.support != ENDLESS:
        raise ValueError(f"a sketch knows no `support` at which bounds end. {NEED_ROWS}")


def _histograms(
    columns: dict[str, Array], critical: Array, resolution: int
) -> dict[str, Histogram]:
    gap, twice = 2 * columns["active"] - columns["width"], 2 * columns["error"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossover = twice / gap
    rows = np.flatnonzero((gap > 0) & np.isfinite(crossover))
    wider = {name: column[rows] for name, column in (columns | {"gap": gap}).items()}
    return {
        "critical": _histogram("critical", critical, columns, resolution),
        "crossover": _histogram("crossover", crossover[rows], wider, resolution),
        "errors": _histogram("errors", columns["error"], columns, resolution),
    }


def _histogram(
    name: str, numbers: Array, columns: Mapping[str, Array], resolution: int
) -> Histogram:
    weight, factors = (
        columns["weight"],
        {**columns, "scale": numbers, "product": columns["error"] * numbers},
    )
    sums = {key: weight if key == "weight" else weight * factors[key] for key in SUMS[name]}
    return tidy(Histogram.of_rows(numbers, sums, resolution))


def tidy(histogram: Histogram) -> Histogram:
    """Drop the infinite sums of uncoverable rows: those that are multiplied by the critical scale."""
    sums = {
        name: np.where(histogram.infinite, 0.0, values) if name in ("scale", "product") else values
        for name, values in histogram.sums.items()
    }
    return Histogram(histogram.bin, histogram.rows, histogram.maximum, sums)


# ---- JSON


def to_json(state: SketchState) -> str:
    """Write a sketch: single numbers first, then the arrays of each histogram; infinity is null."""
    body: dict[str, Any] = HEAD | {"digest": _digest(state), "bits": bits(state.resolution)}
    body |= {name: getattr(state, name) for name in ("weighted", *COUNTS, *TOTALS, "heaviest")}
    body["lightest"] = state.lightest if state.rows else None
    for name, histogram in state.histograms.items():
        arrays = {key: values.tolist() for key, values in histogram.arrays.items()}
        body[name] = arrays | {
            "maximum": [None if value == np.inf else value for value in arrays["maximum"]]
        }
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def _digest(state: SketchState) -> str:
    """Digest of all numbers, however a database may have rewritten their text."""
    single = [
        state.resolution,
        state.weighted,
        *(getattr(state, name) for name in (*COUNTS, *TOTALS, *EXTREMES)),
    ]
    arrays = [
        values for histogram in state.histograms.values() for values in histogram.arrays.values()
    ]
    return sha256(
        b"".join(np.asarray(part, "<f8").tobytes() for part in (single, *arrays))
    ).hexdigest()


def from_json(text: str | bytes) -> SketchState:
    """Read a sketch; ValueError where the text is not one."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"`text` must be a str or bytes; got {type(text).__name__}.")
    if len(text) > LONGEST:
        raise _refusal(f"it must not be longer than {LONGEST} characters; it has {len(text)}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"it is not JSON ({type(error).__name__})") from None
    if not isinstance(body, dict):
        raise _refusal(f"it must be an object, not {type(body).__name__}")
    for name, value in HEAD.items():
        if body.get(name) != value or isinstance(body.get(name), bool):
            raise _refusal(f"`{name}` must be {value!r}, as this version of uccurve writes it")
    try:
        state = _read(body)
        same = json.loads(to_json(state)) == body
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        same = False
    if not same:
        raise _refusal("its names and numbers must be those that were written; some are not")
    return state


def _read(body: dict[str, Any]) -> SketchState:
    """State of what was written; an error of some kind, or another state, where it was changed."""
    resolution = {bits(resolution): resolution for resolution in RESOLUTIONS}[body["bits"]]
    parts: dict[str, Any] = {name: body[name] for name in (*COUNTS, *TOTALS, "heaviest")}
    parts["weighted"] = body["weighted"] is True
    parts["lightest"] = np.inf if body["lightest"] is None else body["lightest"]
    for name, sums in SUMS.items():
        if any(isinstance(value, bool | str) for values in body[name].values() for value in values):
            raise TypeError(name)
        given = {key: np.array(body[name][key], np.float64) for key in (*ARRAYS, *sums)}
        number, rows = (given[key].astype(np.int64) for key in ("bin", "rows"))
        maximum = np.where(np.isnan(given["maximum"]), np.inf, given["maximum"])  # null
        parts[name] = Histogram(number, rows, maximum, {key: given[key] for key in sums})
    return SketchState(**parts, resolution=resolution)


def _refusal(what: str) -> ValueError:
    return ValueError(
        f"`text` must be the JSON of a sketch: {what}. Hint: read what UCCSketch.to_json wrote."
    )
